"""Counts over the results: per rule, and against the recorded rewards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from giskard.checks import CheckResult, ScenarioResult, SuiteResult

__all__ = ["RuleTally", "against_rewards", "by_rule", "shortest_failing", "verdicts", "worst"]


@dataclass
class RuleTally:
    """What one rule found over all conversations."""

    name: str
    description: str
    warns: bool
    counts: Counter[str] = field(default_factory=Counter[str])

    @property
    def judged(self) -> int:
        """On how many conversations the rule reached a verdict."""
        return self.counts["pass"] + self.counts["fail"]

    @property
    def fail_rate(self) -> float:
        return self.counts["fail"] / self.judged if self.judged else 0.0


def verdicts(result: ScenarioResult[Any]) -> list[CheckResult]:
    """The results of all rules on one conversation."""
    return [check for step in result.steps for check in step.results]


def by_rule(suite: SuiteResult) -> list[RuleTally]:
    """One tally for each rule, in the order of the rules."""
    tallies: dict[str, RuleTally] = {}
    for conversation in suite.results:
        for check in verdicts(conversation):
            tally = tallies.setdefault(
                check.name,
                RuleTally(
                    name=check.name,
                    description=check.details.get("check_description") or "",
                    warns=check.severity == "warning",
                ),
            )
            tally.counts[check.status.value] += 1
    return list(tallies.values())


def worst(
    suite: SuiteResult, by: Callable[[RuleTally], float] = lambda tally: tally.counts["fail"]
) -> RuleTally | None:
    """The rule that fails most, warnings aside; None when none fails."""
    failing = [tally for tally in by_rule(suite) if tally.counts["fail"] and not tally.warns]
    return max(failing, key=by, default=None)


def shortest_failing(suite: SuiteResult, rule: str) -> ScenarioResult[Any] | None:
    """Of the conversations that break a rule, the one with the fewest messages."""
    failing = [
        conversation
        for conversation in suite.results
        if any(check.failed and check.name == rule for check in verdicts(conversation))
    ]
    return min(failing, key=_length, default=None)


def _length(conversation: ScenarioResult[Any]) -> int:
    trace = conversation.final_trace
    return 2 * len(trace.interactions) + 2 * len(trace.tool_calls)


def against_rewards(suite: SuiteResult) -> Counter[tuple[bool, bool]]:
    """How many conversations (passed the rules, got the reward)."""
    return Counter(
        (conversation.passed, conversation.final_trace.annotations["reward"] == 1) for conversation in suite.results
    )
