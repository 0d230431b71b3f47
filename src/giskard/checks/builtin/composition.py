"""Checks made of other checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Generic

from pydantic import AfterValidator

from giskard.checks.core.check import Check, Checks, OneCheck
from giskard.checks.core.execution import RunOptions, identities, run_check
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import construct
from giskard.checks.core.result import CheckResult, CheckStatus, Metric
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.core.usage import Usage

__all__ = ["AllOf", "AnyOf", "Not"]

# A child that raises makes its parent raise: whoever runs the parent decides what becomes of that.
_OPTIONS: Final = RunOptions(run_id="")


def _not_empty(checks: Sequence[Any]) -> Sequence[Any]:
    if not checks:
        raise ValueError("give at least one check: over none there is no verdict")
    return checks


_SomeChecks = Annotated[Checks, AfterValidator(_not_empty)]


def _summary(result: CheckResult) -> dict[str, Any]:
    """What the parent's details keep of a child's result."""
    details = result.details
    summary: dict[str, Any] = {
        "name": result.name,
        "status": result.status.value,
        "message": result.message,
        "metrics": [{"name": metric.name, "value": metric.value} for metric in result.metrics],
        "duration_ms": details.get("duration_ms"),
    }
    if result.error_kind is not None:
        summary["error_kind"] = result.error_kind
    if "children" in details:
        summary["children"] = details["children"]
    return summary


def _usage(results: Sequence[CheckResult]) -> Usage | None:
    usages = [result.usage for result in results if result.usage is not None]
    return sum(usages[1:], usages[0]) if usages else None


def _given(child: CheckResult, results: Sequence[CheckResult], **changes: Any) -> CheckResult:
    """The result of a child as the result of its parent."""
    details = {**child.details, **_children(results)}
    return construct(type(child), {**child.__dict__, "details": details, "usage": _usage(results), **changes})


def _reasons(results: Sequence[CheckResult]) -> str:
    return "; ".join(f"{result.name}: {result.message or result.status.value}" for result in results)


def _children(results: Sequence[CheckResult]) -> dict[str, Any]:
    return {"children": [_summary(result) for result in results]}


def _metrics(results: Sequence[CheckResult]) -> list[Metric]:
    return [metric for result in results for metric in result.metrics]


async def _run_until(
    decides: Callable[[CheckResult], bool], checks: Sequence[Check], trace: Trace
) -> tuple[list[CheckResult], CheckResult | None]:
    """What ran, up to the first result that decides; and the parent's result: that one, SKIP of all, else None."""
    results: list[CheckResult] = []
    for check, name in zip(checks, identities(checks), strict=True):
        result = await run_check(check, trace, name, _OPTIONS)
        results.append(result)
        if decides(result):
            return results, _given(result, results)
    if all(result.skipped for result in results):
        message = f"all were skipped: {_reasons(results)}"
        return results, CheckResult.skip(message, _children(results), usage=_usage(results))
    return results, None


def _breaks(result: CheckResult) -> bool:
    return result.errored or (result.failed and result.severity == "error")


def _settles(result: CheckResult) -> bool:
    return result.passed or result.errored


@Check.register("all_of")
class AllOf(Check[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that all of several checks hold.

    They run in order up to the first one that is FAIL or ERROR, whose result is the result; a FAIL of a check with the
    severity "warning" does not count.  When all are skipped, so is this.

    Parameters
    ----------
    checks
        At least one check.
    """

    checks: _SomeChecks

    @property
    def inner_checks(self) -> Sequence[Check]:
        """Its checks."""
        return self.checks

    async def run(self, trace: TraceT) -> CheckResult:
        """PASS when no check is FAIL or ERROR."""
        results, decided = await _run_until(_breaks, self.checks, trace)
        if decided is not None:
            return decided
        counts = [(sum(result.status == state for result in results), state) for state in ("pass", "fail", "skip")]
        words = {"pass": "passed", "fail": "failed (warning)", "skip": "skipped"}
        message = ", ".join(f"{count} {words[state]}" for count, state in counts if count)
        return CheckResult.success(message, _children(results), _metrics(results), usage=_usage(results))


@Check.register("any_of")
class AnyOf(Check[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that at least one of several checks holds.

    They run in order up to the first one that is PASS or ERROR, whose result is the result: a check that could not
    tell is never passed over.  When none holds it is FAIL, with the reason of each; when all are skipped, SKIP.

    Parameters
    ----------
    checks
        At least one check.
    """

    checks: _SomeChecks

    @property
    def inner_checks(self) -> Sequence[Check]:
        """Its checks."""
        return self.checks

    async def run(self, trace: TraceT) -> CheckResult:
        """PASS when a check is PASS before any is ERROR."""
        results, decided = await _run_until(_settles, self.checks, trace)
        if decided is not None:
            return decided
        message = f"none holds: {_reasons(results)}"
        return CheckResult.failure(message, _children(results), _metrics(results), usage=_usage(results))


@Check.register("not")
class Not(Check[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a check does not hold: PASS and FAIL change places, ERROR and SKIP stay.

    Parameters
    ----------
    check
        The check to turn round.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, Not, StringMatching, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Hi", outputs="Hello")])
    >>> asyncio.run(Not(check=StringMatching(keyword="guarantee")).run(trace)).passed
    True
    """

    check: OneCheck

    @property
    def inner_checks(self) -> Sequence[Check]:
        """Its check."""
        return (self.check,)

    async def run(self, trace: TraceT) -> CheckResult:
        """The opposite of the check's verdict; its own result when it has none."""
        (name,) = identities([self.check])
        result = await run_check(self.check, trace, name, _OPTIONS)
        if not (result.passed or result.failed):
            return _given(result, [result])
        status = CheckStatus.FAIL if result.passed else CheckStatus.PASS
        message = f"not {result.name}: {result.message or result.status.value}"
        return _given(result, [result], status=status, message=message, severity="error")
