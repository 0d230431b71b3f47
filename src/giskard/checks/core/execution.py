"""The coroutines that run things: a check, the checks over a trace, the attempts of a scenario."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, cast

from giskard.checks.core._models import construct
from giskard.checks.core.check import Check, CodeCheck, NoVerdict
from giskard.checks.core.events import Observers, RunEvent, RunObserver
from giskard.checks.core.failures import as_details, error_kind_of, must_stop, text_of
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.result import CheckResult, TestCaseError, TestCaseResult
from giskard.checks.core.timing import Timing
from giskard.checks.utils.ids import new_id

__all__ = ["RunOptions", "identities", "nothing_was_checked", "run_check", "run_checks", "run_test_case"]

AnyCheck = Check[Any, Any, Any]
AnyTrace = Trace[Any, Any]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What holds for a whole run.

    Parameters
    ----------
    return_exception
        Whether what user code raises becomes an ERROR instead of coming out.
    strict
        Whether a pass in which nothing was checked is an ERROR.
    observers
        Who is told of each event.
    run_id
        The identity of the run; every result carries it.
    """

    return_exception: bool = False
    strict: bool = False
    observers: Observers = field(default_factory=Observers)
    run_id: str = field(default_factory=new_id)

    def observed_by(self, observer: RunObserver) -> RunOptions:
        """The same options with one observer more."""
        return replace(self, observers=self.observers.and_also(observer))


def identities(checks: Iterable[AnyCheck], seen: dict[str, int] | None = None) -> list[str]:
    """The ids of `checks`, stable over runs: the check's own, else its label; the second one ``label#2``.

    Parameters
    ----------
    seen
        How often each name was met already; it is updated.
    """
    seen = {} if seen is None else seen
    ids: list[str] = []
    for check in checks:
        name = check.id or check.name or check.kind or type(check).__name__
        count = seen.get(name, 0) + 1
        seen[name] = count
        ids.append(name if count == 1 else f"{name}#{count}")
    return ids


async def run_check(check: AnyCheck, trace: AnyTrace, check_id: str, options: RunOptions) -> CheckResult:
    """The result of one check, with all that a report wants to know about it."""
    start = perf_counter()
    try:
        if check.timeout is None:
            outcome = check.run(trace)
            result = await outcome if inspect.isawaitable(outcome) else outcome
        else:
            result = await _in_time(check, trace, check.timeout)
        if not isinstance(result, CheckResult):
            raise TypeError(_no_result(check, result))
    except NoVerdict as problem:
        result = problem.result()
    except BaseException as error:
        if must_stop(error) or not options.return_exception:
            raise
        result = _crashed(error)
    return finished(result, check, check_id, start)


def finished(result: CheckResult, check: AnyCheck, check_id: str, start: float) -> CheckResult:
    """`result` with its check's name, configuration, identity and timing; `start` is a ``perf_counter`` reading."""
    timing = Timing.since(start)
    values = dict(result.__dict__)
    values["details"] = {
        **values["details"],
        "duration_ms": int(timing.seconds * 1000),
        "check_kind": check.kind or type(check).__name__,
        "check_name": check.name,
        "check_description": check.description,
        "check_spec": check.spec,
    }
    values["check_id"] = check_id
    values["severity"] = check.severity
    values["timing"] = timing
    return construct(type(result), values)


async def _in_time(check: AnyCheck, trace: AnyTrace, timeout: float) -> Any:
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            outcome = check.run(trace)
            return await cast("Awaitable[Any]", outcome) if inspect.isawaitable(outcome) else outcome
    except TimeoutError:
        if not limit.expired():  # the check's own
            raise
        message = f"timeout after {timeout:g} s in the check {check.label!r}"
        return CheckResult.error(message, error_kind="timeout", retryable=True)


def _no_result(check: AnyCheck, result: object) -> str:
    return (
        f"{type(check).__name__}.run returned {type(result).__name__}, expected a CheckResult; use "
        "CheckResult.success, failure, skip or error"
    )


def _crashed(error: BaseException) -> CheckResult:
    message = f"{type(error).__name__}: {text_of(error)}"
    return CheckResult.error(message, as_details(error), error_kind=error_kind_of(error))


async def run_checks(
    checks: Sequence[AnyCheck], ids: Sequence[str], trace: AnyTrace, options: RunOptions, into: list[CheckResult]
) -> None:
    """Run all checks, in order, and put their results `into` a list as they come."""
    observers = options.observers
    for check, check_id in zip(checks, ids, strict=True):
        if observers:
            event = {"run_id": options.run_id, "check_id": check_id, "subject": check}
            observers.notify(RunEvent(kind="check_started", **event))
            into.append(await run_check(check, trace, check_id, options))
            observers.notify(RunEvent(kind="check_ended", **event, result=into[-1]))
        else:
            into.append(await run_check(check, trace, check_id, options))


def nothing_was_checked() -> TestCaseError:
    """What a strict run reports of a pass without a verdict."""
    return TestCaseError(
        message="nothing was checked: no check gave a verdict (strict=True)",
        exception_type="NothingChecked",
        phase="checks",
        error_kind="nothing_checked",
    )


async def run_test_case(
    name: str | None, trace: AnyTrace, checks: Sequence[AnyCheck], options: RunOptions
) -> TestCaseResult:
    """Run the checks of a test case over its trace."""
    start = perf_counter()
    results: list[CheckResult] = []
    await run_checks(checks, identities(checks), trace, options, results)
    error = nothing_was_checked() if options.strict and all(result.skipped for result in results) else None
    timing = Timing.since(start)
    return construct(
        TestCaseResult,
        {
            "results": results,
            "duration_ms": timing.milliseconds,
            "last_interaction_index": None,
            "error": error,
            "name": name,
            "run_id": options.run_id,
            "timing": timing,
        },
    )
