"""Asking one judge, or several, and what their answers come to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, TypeAlias

from pydantic import BaseModel

from giskard.checks.core.check import NoVerdict
from giskard.checks.core.failures import TargetFailure, must_stop, original_of
from giskard.checks.core.result import CheckResult, Metric
from giskard.checks.core.usage import Usage
from giskard.checks.llm.calls import model_name
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.structured import Answer, UnreadableReply, ask
from giskard.checks.llm.types import Message
from giskard.checks.utils.lazy import asyncio

__all__ = ["Question", "Vote", "ask_all", "ask_one", "side_by_side", "sum_of"]

Reader: TypeAlias = Callable[[Any], CheckResult]
Vote: TypeAlias = Callable[[Any, int, dict[str, Any]], Awaitable[CheckResult]]
"""Asks a judge for one verdict; it is given the judge, which sample of its answers is meant, and what is noted."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked, and the form of its answer."""

    messages: Sequence[Message]
    output_type: type[BaseModel]


async def ask_all(judges: Sequence[Any], votes: int, vote: Vote, noted: dict[str, Any]) -> CheckResult:
    """The verdict of the judges, each asked `votes` times: the only one, or what more than half of them say.

    Parameters
    ----------
    judges
        Who is asked.
    votes
        How often each of them.
    vote
        Asks one of them once.
    noted
        What the details of the result hold in any case.
    """
    if len(judges) == 1 and votes == 1:
        return await vote(judges[0], 0, noted)
    asked = [(judge, sample) for judge in judges for sample in range(votes)]
    # Two judges of one name are two: their samples must not be taken for each other's.
    names = [model_name(judge) for judge, _ in asked]
    samples = [names[:place].count(name) for place, name in enumerate(names)]
    results = await side_by_side(vote(judge, sample, {}) for (judge, _), sample in zip(asked, samples, strict=True))
    return _majority(results, names, noted)


async def side_by_side(votes: Iterable[Awaitable[CheckResult]]) -> list[CheckResult]:
    """The results of several votes, cast at the same time; when one of them raises, the others are given up."""
    tasks = [asyncio.ensure_future(_in_a_task(vote)) for vote in votes]
    try:
        return await asyncio.gather(*tasks)
    except BaseException as error:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise original_of(error) from None


async def _in_a_task(vote: Awaitable[CheckResult]) -> CheckResult:
    try:
        return await vote
    except Exception:
        raise
    except BaseException as error:  # SystemExit, which would end the event loop, and not this check
        if must_stop(error):
            raise
        raise TargetFailure from error


async def ask_one(judge: Any, sample: int, question: Question, read: Reader, noted: dict[str, Any]) -> CheckResult:
    """What one judge says to a question.

    Parameters
    ----------
    judge
        Who is asked.
    sample
        Which of its answers to this question is meant, from 0.
    question
        What it is asked.
    read
        Makes a result of the answer, or raises `NoVerdict`.
    noted
        What the details of the result hold in any case.
    """
    try:
        answer = await ask(judge, question.messages, question.output_type, sample=sample)
    except ModelCallError as error:
        details = {"judge": model_name(judge), **noted}
        return CheckResult.error(
            error.message, details, error_kind=error.kind, retryable=error.retryable, usage=error.usage
        )
    except UnreadableReply as error:
        details = {"judge": model_name(judge), "model": error.model, **noted, "raw": error.raw}
        said = "" if error.raw is None else f": {error.raw!r:.120}"
        message = f"the judge's reply could not be read, at the second try either: {error.problem}{said}"
        return CheckResult.error(message, details, error_kind="unreadable_verdict", usage=error.usage)
    try:
        result = read(answer.output)
    except NoVerdict as problem:
        result = problem.verdict().result()
        noted = {**noted, "raw": answer.raw}
    return _with_notes(result, answer, {"judge": model_name(judge), "model": answer.model, **noted})


def _with_notes(result: CheckResult, answer: Answer[Any], noted: dict[str, Any]) -> CheckResult:
    details = {**result.details, **noted}
    if answer.repaired:
        details["repaired"] = True
    if answer.source != "model":
        details["answered_by"] = answer.source
    usage = answer.usage if result.usage is None else result.usage
    return result.model_copy(update={"details": details, "usage": usage})


def _majority(results: Sequence[CheckResult], judges: Sequence[str], noted: dict[str, Any]) -> CheckResult:
    passed = [result for result in results if result.passed]
    failed = [result for result in results if result.failed]
    cast = len(passed) + len(failed)
    details: dict[str, Any] = {**noted, "votes": [_vote(*vote) for vote in zip(judges, results, strict=True)]}
    metrics = [Metric(name="votes", value=len(results)), Metric(name="votes_passed", value=len(passed))]
    if cast:
        share = len(passed) / cast
        metrics += [
            Metric(name="agreement", value=max(len(passed), len(failed)) / len(results)),
            Metric(name="spread", value=sqrt(share * (1 - share))),
        ]
    usage = sum_of([result.usage for result in results])
    counts = _counts(results)
    skipped = [result for result in results if result.skipped]
    for make, side in ((CheckResult.success, passed), (CheckResult.failure, failed), (CheckResult.skip, skipped)):
        if 2 * len(side) > len(results):
            first = side[0]
            details = {name: first.details[name] for name in first.details if name not in _OF_ONE} | details
            message = counts if first.message is None else f"{counts}: {first.message}"
            others = [result for result in (*passed, *failed) if result.status is not first.status]
            if others and others[0].message is not None:
                message += f"; against it: {others[0].message}"
            return make(message, details, [*first.metrics, *metrics], usage=usage)
    errors = [result for result in results if result.errored]
    # When no judge came to a verdict, the cause is theirs.
    kind = errors[0].error_kind if errors and not cast else "no_majority"
    why = f": {errors[0].message}" if errors else ""
    return CheckResult.error(
        f"no majority of {len(results)} votes: {counts}{why}",
        details,
        metrics,
        error_kind=kind or "no_majority",
        retryable=True,
        usage=usage,
    )


# What the details say of one judge, and the votes say of each.
_OF_ONE = frozenset({"judge", "model", "repaired", "answered_by", "raw"})


def _vote(judge: str, result: CheckResult) -> dict[str, Any]:
    vote: dict[str, Any] = {"judge": judge, "status": result.status.value, "message": result.message}
    for name in ("model", "repaired", "answered_by", "raw"):
        if name in result.details:
            vote[name] = result.details[name]
    if result.error_kind:
        vote["error_kind"] = result.error_kind
    return vote


def _counts(results: Sequence[CheckResult]) -> str:
    words = (("passed", "passed"), ("failed", "failed"), ("errored", "without a verdict"), ("skipped", "skipped"))
    counts = [(sum(bool(getattr(result, flag)) for result in results), word) for flag, word in words]
    return f"{len(results)} votes ({', '.join(f'{count} {word}' for count, word in counts if count)})"


def sum_of(usages: Sequence[Usage | None]) -> Usage | None:
    """What several calls used together; None when that is not known of one of them."""
    total: Usage | None = None
    for usage in usages:
        if usage is None:
            return None
        total = usage if total is None else total + usage
    return total
