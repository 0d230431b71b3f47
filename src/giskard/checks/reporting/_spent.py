"""What the models that decided checks used, and how often they gave no verdict that could be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from giskard.checks.core.check_result import CheckResult
from giskard.checks.core.usage import Usage
from giskard.checks.reporting._parts import count

__all__ = ["Spent", "spent"]

# Above this share of unreadable verdicts a judge, and not what it judges, is what should be looked at.
_MANY = 0.1


class Spent(NamedTuple):
    """A line for a report, and whether it is a warning."""

    text: str
    warns: bool


def spent(checks: Sequence[CheckResult]) -> Spent | None:
    """What the checks that models decided used; None when there are none."""
    judged = [check for check in checks if _is_judged(check)]
    usages = [check.usage for check in checks if check.usage is not None]
    if not judged and not usages:
        return None
    silent = sum(check.usage is None for check in judged)
    parts = _figures(usages, silent)
    unreadable = sum(check.error_kind == "unreadable_verdict" for check in judged)
    recorded = sum(check.details.get("answered_by") is not None for check in judged)
    if recorded:
        parts.append(f"{count(recorded, 'verdict')} recorded or cached")
    if unreadable:
        parts.append(f"{unreadable:,} of {count(len(judged), 'verdict')} could not be read")
    return Spent(", ".join(parts), unreadable > _MANY * len(judged))


def _is_judged(check: CheckResult) -> bool:
    """Whether a model was asked for the verdict, once or several times."""
    votes = check.details.get("votes")
    return "judge" in check.details or (isinstance(votes, list) and bool(cast("list[Any]", votes)))


def _figures(usages: Sequence[Usage], silent: int) -> list[str]:
    """Calls, tokens and cost; what some of the checks do not know is not passed off as a sum."""
    if not usages:
        return ["usage unknown"]
    parts: list[str] = []
    for name, what in (("calls", "call"), ("total_tokens", "token"), ("cost", "cost")):
        known = [value for usage in usages if (value := getattr(usage, name)) is not None]
        missing = len(usages) - len(known) + silent
        if not known:
            parts.append("cost unknown" if name == "cost" else f"{what}s unknown")
            continue
        text = f"${sum(known):,.4f}" if name == "cost" else count(sum(known), what)
        parts.append(f"{text} (unknown for {count(missing, 'check')})" if missing else text)
    return parts
