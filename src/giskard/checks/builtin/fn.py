"""Checks that are a function of yours."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Generic

from pydantic import AfterValidator, Field, PlainValidator

from giskard.checks.core.attempt import off_the_loop
from giskard.checks.core.check import Check, CodeCheck, NoVerdict
from giskard.checks.core.exceptions import NoFreeThreadError
from giskard.checks.core.result import CheckResult, CheckStatus, Severity, Verdict
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.codec import import_callable
from giskard.checks.utils.frozen import FrozenDict, freeze, type_name
from giskard.checks.utils.injectable import is_async_callable

__all__ = ["FnCheck", "from_fn", "is_numpy_bool"]


# Shared by all checks that have none: nobody can change it.
_NO_DETAILS = FrozenDict()


def _callable(value: Any) -> Callable[..., Any]:
    if callable(value):
        return value
    if isinstance(value, str):
        return import_callable(value)
    raise ValueError(f"expected a callable or the import path of one, got {type(value).__name__}: {value!r:.200}")


@Check.register("fn")
class FnCheck(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """A check that asks a function: True is PASS, False is FAIL.

    Parameters
    ----------
    fn
        Called with the trace; sync or async.  It returns a bool, or a `CheckResult`, which then counts as it is.
        Anything else is an ERROR: a forgotten ``return`` is no verdict.  In data, an import path ``"module:name"``.
    success_message, failure_message
        The message of a PASS and of a FAIL.
    details
        Kept with the result.

    Notes
    -----
    A sync function runs in place; with a `timeout` it runs in a thread, so that it can be given up.
    """

    fn: Annotated[Callable[..., Any], PlainValidator(_callable)]
    success_message: str | None = None
    failure_message: str | None = None
    details: Annotated[dict[str, Any], AfterValidator(freeze)] = Field(default_factory=lambda: _NO_DETAILS)

    def verdict(self, trace: TraceT) -> Verdict | CheckResult | Awaitable[Verdict | CheckResult]:
        """The function's verdict on `trace`."""
        __tracebackhide__ = True
        fn = self.fn
        if self.timeout is not None and not is_async_callable(fn):
            return self._in_a_thread(lambda: fn(trace))
        answer = fn(trace)
        if answer is True:
            return Verdict(CheckStatus.PASS, self.success_message, self.details)
        return self._awaited(answer) if inspect.isawaitable(answer) else self._verdict(answer)

    async def _in_a_thread(self, call: Callable[[], Any]) -> Verdict | CheckResult:
        try:
            return self._verdict(await off_the_loop(call))
        except NoFreeThreadError as error:
            raise NoVerdict(str(error), kind="timeout", details=self.details) from None

    async def _awaited(self, answer: Awaitable[Any]) -> Verdict | CheckResult:
        return self._verdict(await answer)

    def _verdict(self, answer: Any) -> Verdict | CheckResult:
        if isinstance(answer, CheckResult):
            return answer
        if not isinstance(answer, bool) and not is_numpy_bool(answer):
            raise NoVerdict(
                f"the function returned {answer!r:.200} ({type_name(answer)}), expected True, False or a CheckResult",
                kind="bad_type",
                details=self.details,
            )
        if answer:
            return Verdict(CheckStatus.PASS, self.success_message, self.details)
        return Verdict(CheckStatus.FAIL, self.failure_message or f"{_name_of(self)} returned False", self.details)


def _name_of(check: FnCheck) -> str:
    return check.name or getattr(check.fn, "__qualname__", None) or repr(check.fn)


def is_numpy_bool(value: object) -> bool:
    """Whether `value` is a bool as NumPy has it."""
    kind = type(value)
    return kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")


def from_fn(
    fn: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    success_message: str | None = None,
    failure_message: str | None = None,
    details: dict[str, Any] | None = None,
    id: str | None = None,
    severity: Severity = "error",
    timeout: float | None = None,
) -> FnCheck:
    """A `FnCheck` of `fn`; see there."""
    return FnCheck(
        fn=fn,
        name=name,
        description=description,
        id=id,
        severity=severity,
        timeout=timeout,
        success_message=success_message,
        failure_message=failure_message,
        details=details or {},
    )
