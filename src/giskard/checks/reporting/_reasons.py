"""Reasons that are alike, brought together: what to look at first when many scenarios failed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from giskard.checks.core.result import CheckResult, ScenarioResult, TestCaseResult

__all__ = ["Reason", "group_reasons"]

# What differs between reasons that are alike: numbers and what stands in quotes.
_DIFFERS = re.compile(r"""'[^'\n]*'|"[^"\n]*"|\d[\d.,]*""")


@dataclass(slots=True)
class Reason:
    """A reason that several scenarios share.

    Parameters
    ----------
    message
        The reason itself; with "…" where it differs from one scenario to the next.
    scenarios
        The names of those that share it.
    """

    status: str
    check: str
    message: str
    scenarios: list[str] = field(default_factory=list[str])
    last: object = None
    """The result that was counted last: a scenario counts once, and names may be the same."""


def group_reasons(results: Iterable[ScenarioResult[Any]], status: str | None = None) -> list[Reason]:
    """The reasons of all that did not pass, the most frequent first; each scenario counts once in each.

    Parameters
    ----------
    status
        "skip" or "warning": the reasons of skipped checks, or of failed ones that only warn, instead.
    """
    groups: dict[tuple[str, str, str], Reason] = {}
    for result in results:
        for state, check, message in _reasons_of(result, status):
            key = (state, check, _DIFFERS.sub("…", message))
            reason = groups.get(key)
            if reason is None:
                groups[key] = Reason(state, check, message, [result.scenario_name], result)
                continue
            if reason.message != message:
                reason.message = key[2]
            if reason.last is not result:
                reason.scenarios.append(result.scenario_name)
                reason.last = result
    return sorted(groups.values(), key=lambda reason: -len(reason.scenarios))


def _reasons_of(result: ScenarioResult[Any], status: str | None) -> Iterable[tuple[str, str, str]]:
    for step in result.steps:
        if status is None and step.error is not None:
            yield "error", step.error.exception_type, _first_line(step.error.message)
        for check in step.results:
            if _is_asked_for(check, step, status):
                yield check.status.value, check.name, _first_line(check.message or "")


def _is_asked_for(check: CheckResult, step: TestCaseResult, status: str | None) -> bool:
    if status == "skip":
        return check.skipped
    if status == "warning":
        return check.failed and check.severity == "warning"
    return check.errored or (check.failed and check.severity == "error")


def _first_line(message: str) -> str:
    return message[:500].strip().partition("\n")[0]
