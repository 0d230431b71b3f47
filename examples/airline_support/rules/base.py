"""How a rule becomes a check.

A rule is a function that looks for the occasions on which it applies and says for each one what is
wrong there, if anything. From that, `rule` makes the verdict on a conversation: FAIL when something
is wrong, PASS when there was an occasion and nothing is wrong, SKIP when there was no occasion.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from giskard.checks import CheckResult, FnCheck, Trace

from ..story import Call, Story

__all__ = ["BAGS", "RULES", "Rule", "Rulings", "rule", "unless"]

Rulings = Iterator[tuple[Call | int, str | None]]
"""For each occasion: where it is (a call, or a turn), and what is wrong there or None."""

Verdict = Callable[[Trace[Any, Any]], CheckResult]
Severity = Literal["error", "warning"]

BAGS = ("bag", "luggage", "suitcase")


@dataclass(frozen=True)
class Rule:
    """A rule that is written as a function."""

    name: str
    description: str
    verdict: Verdict
    severity: Severity

    def check(self) -> FnCheck:
        return FnCheck(fn=self.verdict, name=self.name, description=self.description, severity=self.severity)


RULES: list[Rule] = []
"""Every rule that was made with `rule`, in the order in which they were written."""


def rule(
    description: str, *, occasion: str, severity: Severity = "error"
) -> Callable[[Callable[[Story], Rulings]], Verdict]:
    """Make a verdict on a trace of a function that rules on the occasions of a story.

    Parameters
    ----------
    description
        What must hold, in one line.
    occasion
        What a conversation must have for the rule to apply: a SKIP says that it was missing.
    severity
        With "warning" a FAIL is shown and does not fail the conversation.
    """

    def decorate(find: Callable[[Story], Rulings]) -> Verdict:
        @functools.wraps(find)
        def verdict(trace: Trace[Any, Any]) -> CheckResult:
            rulings = list(find(Story(trace)))
            broken = [_finding(where, problem) for where, problem in rulings if problem]
            if not rulings:
                return CheckResult.skip(message=f"no {occasion}")
            if not broken:
                return CheckResult.success(message=f"{occasion}: {len(rulings)} seen, all in order")
            first, others = broken[0], len(broken) - 1
            also = f" (and in {others} more place{'s' * (others > 1)})" if others else ""
            return CheckResult.failure(
                message=f"{first['where']}: {first['problem']}{also}",
                details={"occasions": len(rulings), "findings": broken},
            )

        RULES.append(Rule(find.__name__, description, verdict, severity))
        return verdict

    return decorate


def unless(fine: object, problem: str) -> str | None:
    """The problem, unless all is fine."""
    return None if fine else problem


def _finding(where: Call | int, problem: str) -> dict[str, Any]:
    if isinstance(where, int):
        return {"turn": where, "call": None, "where": f"turn {where}", "problem": problem}
    place = f"turn {where.turn}, call {where.number}, {where.name}"
    return {"turn": where.turn, "call": where.number, "where": place, "problem": problem}
