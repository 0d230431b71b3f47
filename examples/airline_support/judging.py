"""Two questions that code cannot decide, put to a model: they are asked when a key or a local server is set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from giskard.checks import (
    Check,
    Conformity,
    GoalCompletion,
    ScenarioResult,
    Suite,
    TestCase,
    Usage,
    get_default_judge,
)
from giskard.checks.core.exceptions import ConfigurationError

from .conversations import SupportTrace
from .tally import verdicts

__all__ = ["Judged", "Spent", "judge", "judge_name", "judges", "spent"]

CONSENT = """\
Before the assistant calls a tool that books, changes or cancels something, it has listed the details of that action to
the user, and the user has said yes to them. Looking something up, calculating, and transferring to a human agent need
no such yes."""

AT_ONCE = 8

# Any other conversation would meet the same.
HOPELESS = ("authentication", "quota", "config", "network")


def judges() -> list[Check[Any, Any, Any]]:
    """The questions: the policy's rule of consent, and whether the customer got what they came for."""
    return [
        Conformity(name="yes_before_change", description="No change without the customer's yes.", rule=CONSENT),
        GoalCompletion(
            name="goal_reached",
            description="The customer has in the end what they came for.",
            goal_key="trace.annotations.goal",
        ),
    ]


def judge_name() -> str | None:
    """Who would be asked; None when the environment names nobody."""
    try:
        judge = get_default_judge()
    except ConfigurationError:
        return None
    return judge if isinstance(judge, str) else getattr(judge, "model", type(judge).__name__)


@dataclass(frozen=True)
class Spent:
    """What some verdicts cost: sums of what is known, with how many verdicts it is not known of."""

    calls: int = 0
    tokens: int | None = None
    cost: float | None = None
    unknown: int = 0


@dataclass
class Judged:
    """What the judge said.

    Parameters
    ----------
    results
        One result a conversation.
    left
        How many conversations it was not asked about.
    why
        Why not.
    """

    results: list[ScenarioResult[Any]] = field(default_factory=list[ScenarioResult[Any]])
    left: int = 0
    why: str = ""


def judge(traces: Sequence[SupportTrace], budget: float, say: Callable[[Spent, int], None]) -> Judged:
    """Ask about the first conversation, and then, when that went well, about the others while the budget lasts.

    Parameters
    ----------
    budget
        US dollars for all; it counts where the price of the model is known.
    say
        Is told what the first conversation cost, and how many others there are.
    """
    judged = Judged(_ask(traces[:1]))
    failed = next((check for check in verdicts(judged.results[0]) if check.error_kind in HOPELESS), None)
    if failed is not None:
        return Judged(judged.results, len(traces) - 1, f"the judge cannot be asked: {failed.message}")
    say(spent(judged.results), len(traces) - 1)
    while rest := traces[len(judged.results) : len(judged.results) + AT_ONCE]:
        cost, done = spent(judged.results).cost, len(judged.results)
        if cost is not None and cost * (1 + len(rest) / done) > budget:
            return Judged(judged.results, len(traces) - done, f"more would cost more than the budget of ${budget:g}")
        judged.results += _ask(rest)
    return judged


def spent(results: Sequence[ScenarioResult[Any]]) -> Spent:
    """What the verdicts of some conversations cost."""
    usages = [check.usage or Usage() for result in results for check in verdicts(result)]
    tokens = [usage.total_tokens for usage in usages if usage.total_tokens is not None]
    costs = [usage.cost for usage in usages if usage.cost is not None]
    return Spent(
        calls=sum(usage.calls or 0 for usage in usages),
        tokens=sum(tokens) if tokens else None,
        cost=sum(costs) if costs else None,
        unknown=len(usages) - len(costs),
    )


def _ask(traces: Sequence[SupportTrace]) -> list[ScenarioResult[Any]]:
    suite = Suite(name="airline support, judged")
    for trace in traces:
        known = trace.annotations
        tags = [f"task:{known['task_id']}", f"reward:{known['reward']:g}"]
        suite.append(TestCase(name=known["conversation_id"], trace=trace, checks=judges(), tags=tags))
    return suite.run_sync(return_exception=True, parallel=True, max_concurrency=AT_ONCE, verbose=False).results
