"""What judges are measured at: whom they are asked, and how what they say is held against what people say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.judges_data import Labelled, Pair, Read, read_answers, read_pairs
from giskard.checks import Check, CheckResult, Interaction, Pairwise, Refusal, Trace
from giskard.checks.stats import cohen_kappa, wilson_interval

__all__ = ["TASKS", "Measured", "Outcome", "Share", "Task", "measure", "outcome_of"]


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    hits: int
    n: int

    def as_data(self) -> dict[str, Any]:
        """With the rate and its 95 % interval after Wilson; without a rate when there is nothing."""
        low, high = wilson_interval(self.hits, self.n)
        rate = self.hits / self.n if self.n else None
        return {"hits": self.hits, "n": self.n, "rate": rate, "low": low, "high": high}


@dataclass(frozen=True)
class Measured:
    """How one rater does against people.

    Parameters
    ----------
    positive, negative
        The true-positive and the true-negative rate, over what people are clear about; None where no rate is meant.
    agreement
        How often the rater says what a person says, over all that people said.
    kappa
        The same, beyond chance (Cohen's); None when it is not defined.
    """

    who: str
    positive: Share | None
    negative: Share | None
    agreement: Share
    kappa: float | None

    def as_data(self) -> dict[str, Any]:
        """With the rates and their intervals; the agreement has none."""
        return {
            "who": self.who,
            "true_positive": self.positive and self.positive.as_data(),
            "true_negative": self.negative and self.negative.as_data(),
            # Two people's labels of a pair meet one verdict: no interval can be had as if they were independent.
            "agreement": {"hits": self.agreement.hits, "n": self.agreement.n, "rate": _rate(self.agreement)},
            "kappa": self.kappa,
        }


def _rate(share: Share) -> float | None:
    return share.hits / share.n if share.n else None


@dataclass(frozen=True)
class Outcome:
    """What the judge said of an item.

    Parameters
    ----------
    label
        None when there is no verdict.
    """

    item: Any
    label: str | None
    result: CheckResult


@dataclass(frozen=True)
class Task:
    """Something that people labelled, and the judge that is held against them.

    Parameters
    ----------
    positive, negative
        The labels that the two rates are about.
    rates
        What the two rates say, for a reader.
    trace
        What the judge is shown of an item.
    label
        What a verdict says; None when the check came to none.
    truth
        The label that people are clear about; None when they are not.
    people
        What each person said.
    beside
        Others that are measured on the same items, to compare with.
    notes
        What else can be said of the outcomes.
    """

    name: str
    data: str
    things: str
    positive: str
    negative: str
    rates: tuple[str, str]
    read: Callable[[Path | None], Read]
    check: Callable[[Any], Check[Any, Any, Any]]
    trace: Callable[[Any], Trace[Any, Any]]
    label: Callable[[CheckResult], str]
    truth: Callable[[Any], str | None]
    people: Callable[[Any], Sequence[str]]
    beside: Callable[[Task, Sequence[Any]], list[Measured]]
    notes: Callable[[Sequence[Outcome]], dict[str, Any]] = field(default=lambda outcomes: {})


def outcome_of(task: Task, item: Any, result: CheckResult) -> Outcome:
    """What the result of a check says; an ERROR or a SKIP says nothing."""
    has_verdict = result.passed or result.failed
    return Outcome(item, task.label(result) if has_verdict else None, result)


def measure(task: Task, who: str, said: Iterable[tuple[Any, str]]) -> Measured:
    """How a rater does that said these labels of these items."""
    hits, totals = Counter[str](), Counter[str]()
    pairs: list[tuple[Hashable, Hashable]] = []
    for item, label in said:
        truth = task.truth(item)
        if truth is not None:
            totals[truth] += 1
            hits[truth] += label == truth
        pairs += [(person, label) for person in task.people(item)]
    positive, negative = (Share(hits[label], totals[label]) for label in (task.positive, task.negative))
    return Measured(who, positive, negative, *_agreed(pairs))


def _agreed(pairs: Sequence[tuple[Hashable, Hashable]]) -> tuple[Share, float | None]:
    kappa = cohen_kappa([first for first, _ in pairs], [second for _, second in pairs])
    return Share(sum(first == second for first, second in pairs), len(pairs)), kappa


def _people_with_each_other(who: str, people: Iterable[Sequence[Hashable]]) -> list[Measured]:
    pairs = [(labels[0], labels[1]) for labels in people if len(labels) == 2]
    return [Measured(who, None, None, *_agreed(pairs))] if pairs else []


# --- refusals ----------------------------------------------------------------------------


def _refuses(extent: str) -> str:
    return "answer" if extent == "none" else "refusal"


def _beside_refusals(task: Task, items: Sequence[Labelled]) -> list[Measured]:
    by_gpt4 = [(item, _refuses(item.gpt4)) for item in items if item.gpt4 is not None]
    found = [measure(task, "GPT-4 (data's)", by_gpt4)] if by_gpt4 else []
    people = ([_refuses(extent) for extent in item.people] for item in items)
    return found + _people_with_each_other("two people", people)


def _by_extent(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How often a refusal is seen, by what people call the answer; and what they say against what the judge does."""
    table = {human: Counter[str]() for human in ("full", "partial", "none")}
    for outcome in outcomes:
        if outcome.label is not None:
            table[outcome.item.extent][outcome.result.details["refusal"]] += 1
    seen = {human: Share(said["full"] + said["partial"], said.total()) for human, said in table.items()}
    return {
        "full_refusals_seen": seen["full"].as_data(),
        "partial_refusals_seen": seen["partial"].as_data(),
        "people_against_judge": {human: dict(said) for human, said in table.items()},
    }


REFUSAL = Task(
    name="refusal",
    data="XSTest",
    things="answers",
    positive="refusal",
    negative="answer",
    rates=("refusals seen", "answers left alone"),
    read=read_answers,
    check=lambda judge: Refusal(expected="refusal", judge=judge),
    trace=lambda item: Trace(interactions=[Interaction(inputs=item.question, outputs=item.answer)]),
    label=lambda result: _refuses(result.details["refusal"]),
    truth=lambda item: _refuses(item.extent),
    people=lambda item: [_refuses(item.extent)],
    beside=_beside_refusals,
    notes=_by_extent,
)


# --- pairs of answers --------------------------------------------------------------------

_PREFERRED = {"answer": "first", "baseline": "second", "tie": "tie"}


def _pair_trace(pair: Pair) -> Trace[Any, Any]:
    turn = Interaction(inputs=pair.question, outputs=pair.first, metadata={"other_answer": pair.second})
    return Trace(interactions=[turn])


def _both_prefer(pair: Pair) -> str | None:
    """The answer that both people prefer."""
    one, other = pair.people
    return one if one == other and one != "tie" else None


def _longer(pair: Pair) -> str:
    first, second = len(pair.first), len(pair.second)
    return "tie" if first == second else "first" if first > second else "second"


def _beside_pairs(task: Task, items: Sequence[Pair]) -> list[Measured]:
    longer = measure(task, "longer answer", [(pair, _longer(pair)) for pair in items])
    return [longer, *_people_with_each_other("two people", (pair.people for pair in items))]


def _by_order(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Whether the order in which the answers are shown decides, and how people's preferences meet the judge's."""
    judged = [outcome for outcome in outcomes if outcome.label is not None]
    orders = [order for outcome in judged for order in outcome.result.details.get("orders", [])]
    decided = [order for order in orders if order["preferred"] != "tie"]
    table = {human: Counter[str]() for human in ("first", "tie", "second")}
    for outcome in judged:
        for person in outcome.item.people:
            table[person][str(outcome.label)] += 1
    consistent = sum(bool(outcome.result.details.get("consistent")) for outcome in judged)
    return {
        "same_in_both_orders": Share(consistent, len(judged)).as_data(),
        "prefers_what_stands_first": Share(
            sum(order["preferred"] == order["first"] for order in decided), len(decided)
        ).as_data(),
        "ties": sum(outcome.label == "tie" for outcome in judged),
        "people_against_judge": {human: dict(said) for human, said in table.items()},
    }


PAIRWISE = Task(
    name="pairwise",
    data="RAGChecker",
    things="pairs",
    positive="first",
    negative="second",
    rates=("first preferred", "second preferred"),
    read=read_pairs,
    check=lambda judge: Pairwise(baseline_key="trace.last.metadata.other_answer", judge=judge),
    trace=_pair_trace,
    label=lambda result: _PREFERRED[result.details["preferred"]],
    truth=_both_prefer,
    people=lambda pair: pair.people,
    beside=_beside_pairs,
    notes=_by_order,
)

TASKS = {task.name: task for task in (REFUSAL, PAIRWISE)}
