"""Checks that are a function of yours."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic

from pydantic import Field, field_validator

from giskard.checks.core.attempt import off_the_loop
from giskard.checks.core.check import Check
from giskard.checks.core.result import CheckResult
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.codec import import_callable
from giskard.checks.utils.injectable import is_async_callable

__all__ = ["FnCheck", "from_fn"]


@Check.register("fn")
class FnCheck(Check[In, Out, TraceT], Generic[In, Out, TraceT]):
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

    fn: Callable[..., Any]
    success_message: str | None = None
    failure_message: str | None = None
    details: dict[str, Any] = Field(default_factory=dict[str, Any])

    @field_validator("fn", mode="before")
    @classmethod
    def _import(cls, value: Any) -> Any:
        return import_callable(value) if isinstance(value, str) else value

    async def run(self, trace: TraceT) -> CheckResult:
        """The function's verdict on `trace`."""
        fn = self.fn
        if self.timeout is None or is_async_callable(fn):
            answer = fn(trace)
        else:
            answer = await off_the_loop(lambda: fn(trace))
        if answer is True or answer is False:
            return self._verdict(answer)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, CheckResult):
            return answer
        if isinstance(answer, bool) or _is_numpy_bool(answer):
            return self._verdict(bool(answer))
        return CheckResult.error(
            f"the function returned {answer!r:.200} ({type(answer).__name__}), expected True, False or a CheckResult",
            dict(self.details),
            error_kind="bad_type",
        )

    def _verdict(self, passed: bool) -> CheckResult:
        if passed:
            return CheckResult.success(self.success_message, dict(self.details))
        return CheckResult.failure(self.failure_message or f"{self.label} returned False", dict(self.details))


def _is_numpy_bool(value: Any) -> bool:
    kind: type[Any] = type(value)
    return kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")


def from_fn(
    fn: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    success_message: str | None = None,
    failure_message: str | None = None,
    details: dict[str, Any] | None = None,
) -> FnCheck[Any, Any, Any]:
    """A `FnCheck` of `fn`; see there."""
    return FnCheck(
        fn=fn,
        name=name,
        description=description,
        success_message=success_message,
        failure_message=failure_message,
        details=details or {},
    )
