"""The coroutines that run things: a check, the checks over a trace, the attempts of a scenario."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple, cast

from giskard.checks.core.attempt import cancellations
from giskard.checks.core.check import Check, CodeCheck, NoVerdict
from giskard.checks.core.check_result import (
    CheckResult,
    CheckStatus,
    Verdict,
    any_verdict,
)
from giskard.checks.core.error_kinds import is_retryable
from giskard.checks.core.events import EventKind, Observers, RunEvent, RunObserver
from giskard.checks.core.exceptions import LimitExceededError
from giskard.checks.core.failures import as_details, error_kind_of, may_be_retried, must_stop, text_of
from giskard.checks.core.findings import Findings, complete_result
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.limits import Limit
from giskard.checks.core.models import construct
from giskard.checks.core.places import recorded_at
from giskard.checks.core.result import TestCaseError, TestCaseResult
from giskard.checks.core.timing import clock_since, milliseconds, start_of_run
from giskard.checks.utils.frozen import freeze
from giskard.checks.utils.ids import new_id, stable_ids
from giskard.checks.utils.lazy import asyncio
from giskard.checks.utils.pause import is_due, pause

__all__ = [
    "RunOptions",
    "cancelled",
    "identities",
    "nothing_was_checked",
    "run_check",
    "run_checks",
    "run_test_case",
    "skipped",
]


_NOBODY = Observers()
_NOWHERE: Mapping[str, Any] = {}
# Looked up once: members of an enum and methods of a class cost as much as a comparison that a check makes.
_PASS: Final = CheckStatus.PASS
_RUN_BY_CODE: Final[Any] = CodeCheck.run


class RunOptions(NamedTuple):
    """What holds for a whole run.

    Parameters
    ----------
    run_id
        The identity of the run; every result carries it.
    return_exception
        Whether what user code raises becomes an ERROR instead of coming out.
    strict
        Whether a pass in which nothing was checked is an ERROR.
    observers
        Who is told of each event.
    """

    run_id: str
    return_exception: bool = False
    strict: bool = False
    observers: Observers = _NOBODY

    @classmethod
    def of_a_new_run(
        cls, return_exception: bool = False, strict: bool = False, observers: Sequence[RunObserver] = ()
    ) -> RunOptions:
        """The options of a run that starts now."""
        return cls(new_id(), return_exception, strict, Observers(observers) if observers else _NOBODY)

    def observed_by(self, observer: RunObserver) -> RunOptions:
        """The same options with one observer more."""
        return self._replace(observers=self.observers.and_also(observer))


def identities(checks: Iterable[Check]) -> list[str]:
    """The ids of `checks`, stable over runs: the check's own, else its label; the second one ``label#2``."""
    return stable_ids([check.id or check.name or check.kind or type(check).__name__ for check in checks])


async def run_check(check: Check, trace: Trace, check_id: str, options: RunOptions) -> CheckResult:
    """The result of one check, with all that a report wants to know about it."""
    __tracebackhide__ = True
    start = perf_counter()
    asked = cancellations()
    try:
        if check.timeout is None:
            outcome = check.run(trace)
            result = await outcome if inspect.isawaitable(outcome) else outcome
        else:
            result = await _in_time(check, trace, check.timeout)
        if not isinstance(result, CheckResult):
            raise TypeError(_no_result(check, result))
    except NoVerdict as problem:
        result = problem.verdict().result()
    except BaseException as error:
        if must_stop(error) or not options.return_exception:
            raise
        result = _crashed(error).result()
    _stop_if_asked(asked)
    return finished(result, check, check_id, start)


def finished(result: CheckResult, check: Check, check_id: str, start: float) -> CheckResult:
    """A copy of `result` that says whose it is and when it was found; `start` is a ``perf_counter`` reading.

    It is a copy, with snapshots of the details, since the check may give the same objects again.
    """
    seconds = perf_counter() - start
    own = construct(type(result), dict(result.__dict__))
    details = {name: freeze(value) for name, value in result.details.items()}
    complete_result(own, details, type(check), check.__dict__, check_id=check_id, start=start, seconds=seconds)
    return own


async def _in_time(check: Check, trace: Trace, timeout: float) -> Any:
    limit = Limit(lambda: f"timeout after {timeout:g} s in the check {check.label!r}", seconds=timeout)
    result: Any = None
    try:
        async with limit:
            outcome = check.run(trace)
            result = await cast("Awaitable[Any]", outcome) if inspect.isawaitable(outcome) else outcome
    except LimitExceededError as error:
        if error is not limit.error:  # the check's own
            raise
        usage = result.usage if isinstance(result, CheckResult) else None  # of a verdict that came too late
        return CheckResult.error(str(error), error_kind="timeout", usage=usage)
    return result


def _no_result(check: Check, result: object) -> str:
    return (
        f"{type(check).__name__} returned {type(result).__name__}, expected a CheckResult; use CheckResult.success, "
        "failure, skip or error"
    )


def _crashed(error: BaseException) -> Verdict:
    message = f"{type(error).__name__}: {text_of(error)}"
    return Verdict(CheckStatus.ERROR, message, as_details(error), (), error_kind_of(error), may_be_retried(error))


async def run_checks(
    checks: Sequence[Check],
    ids: Sequence[str],
    trace: Trace,
    options: RunOptions,
    into: Findings,
    *,
    event: Mapping[str, Any] = _NOWHERE,
) -> bool:
    """Run all checks, in order, and put what they find `into` a list as it comes; whether all of them are PASS.

    `event` says where it is, to those who are told of each check.
    """
    __tracebackhide__ = True
    all_pass = True
    watched = bool(options.observers)
    check: Any
    for check, check_id in zip(checks, ids):  # noqa: B905 - of one length by construction
        if watched:
            _notify("check_started", check, check_id, options, event)
        start = perf_counter()
        try:
            found: Any
            if check.__class__.run is _RUN_BY_CODE and check.timeout is None:
                found = _verdict(check, trace, options)
                if type(found) is not Verdict:
                    found = await _settled(check, found, check_id, options, start)
            else:
                found = await run_check(check, trace, check_id, options)
        except BaseException:
            if watched:
                _notify("check_ended", check, check_id, options, event)
            raise
        if isinstance(found, Verdict):
            now = into.add(found, check, check_id, start)
        else:
            now = None
            into.add_result(found)
        if watched:
            _notify("check_ended", check, check_id, options, event, result=into.result(-1))
        if found.status is not _PASS:
            all_pass = False
        if is_due(now):
            await pause()
    return all_pass


def _notify(
    kind: EventKind,
    check: Check,
    check_id: str,
    options: RunOptions,
    event: Mapping[str, Any],
    *,
    result: CheckResult | None = None,
) -> None:
    where: dict[str, Any] = {
        **event,
        "run_id": options.run_id,
        "check_id": check_id,
        "subject": check,
        "result": result,
    }
    options.observers.notify(RunEvent(kind=kind, **where))


def _verdict(check: Any, trace: Trace, options: RunOptions) -> Any:
    """What a check that code decides gives at once, or something to wait for: the hot path."""
    __tracebackhide__ = True
    try:
        return check.verdict(trace)
    except NoVerdict as problem:
        return problem.verdict()
    except BaseException as error:
        # A GeneratorExit is the check's own: nobody closes a coroutine that does not wait.
        if (must_stop(error) and not isinstance(error, GeneratorExit)) or not options.return_exception:
            raise
        return _crashed(error)


async def _settled(
    check: Check, verdict: Any, check_id: str, options: RunOptions, start: float
) -> Verdict | CheckResult:
    """What a check gave that is no `Verdict`: waited for, when it can be; a `CheckResult` it may be too."""
    try:
        if inspect.isawaitable(verdict):
            asked = cancellations()
            verdict = await verdict
            _stop_if_asked(asked)
        if not isinstance(verdict, (Verdict, CheckResult)):
            raise TypeError(_no_result(check, verdict))
    except NoVerdict as problem:
        return problem.verdict()
    except BaseException as error:
        if must_stop(error) or not options.return_exception:
            raise
        return _crashed(error)
    return finished(verdict, check, check_id, start) if isinstance(verdict, CheckResult) else verdict


def _stop_if_asked(before: int) -> None:
    """Stop when somebody asked for it since `before` (see `cancellations`), and the check made nothing of it.

    Raises
    ------
    asyncio.CancelledError
        Then.
    """
    if cancellations() > before:
        raise asyncio.CancelledError


def skipped(check: Check, check_id: str, message: str = "not run") -> CheckResult:
    """The result of a check that something kept from running."""
    return finished(CheckResult.skip(message), check, check_id, perf_counter())


def cancelled() -> TestCaseError:
    """What is recorded of a step, or a test case, that a cancellation or Ctrl+C ended."""
    return TestCaseError(
        message="the run was cancelled before this was finished",
        exception_type="CancelledError",
        phase="cancelled",
        error_kind="cancelled",
        retryable=is_retryable("cancelled"),
    )


def nothing_was_checked() -> TestCaseError:
    """What a strict run reports of a pass without a verdict."""
    return TestCaseError(
        message="nothing was checked: no check gave a verdict (strict=True)",
        exception_type="NothingChecked",
        phase="checks",
        error_kind="nothing_checked",
    )


async def run_test_case(name: str | None, trace: Trace, checks: Sequence[Check], options: RunOptions) -> TestCaseResult:
    """Run the checks of a test case over its trace.

    A real cancellation, or Ctrl+C, comes out with what was finished as its ``partial_result``.
    """
    __tracebackhide__ = True
    start = start_of_run()
    results = Findings()
    ids = identities(checks)
    try:
        all_pass = await run_checks(checks, ids, trace, options, results)
    except BaseException as stopped:
        if must_stop(stopped):
            done = results.count()
            for check, check_id in zip(checks[done:], ids[done:], strict=True):
                results.add_result(skipped(check, check_id))
            partial = _case_result(name, trace, results, options, start, error=cancelled())
            partial.keep_conversation(trace)
            stopped.partial_result = partial  # type: ignore[attr-defined]
        raise
    error = nothing_was_checked() if options.strict and not any_verdict(results.statuses()) else None
    result = _case_result(name, trace, results, options, start, error=error)
    if not all_pass or error is not None:
        result.keep_conversation(trace)
    return result


def _case_result(
    name: str | None, trace: Trace, results: Findings, options: RunOptions, start: float, *, error: TestCaseError | None
) -> TestCaseResult:
    clock = clock_since(start)
    return construct(
        TestCaseResult,
        {
            "results": results,
            "duration_ms": milliseconds(clock),
            "last_interaction_index": None,
            "error": error,
            "name": name,
            "run_id": options.run_id,
            "timing": clock,
            "recorded_at": recorded_at(annotations) if (annotations := trace.annotations) else None,
        },
    )
