"""The errors of this package that callers may want to catch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giskard.checks.core.error_kinds import ErrorKind, is_retryable

if TYPE_CHECKING:
    from giskard.checks.core.interaction.trace import Trace

__all__ = [
    "CallFailedError",
    "ConfigurationError",
    "InputGenerationException",
    "InteractionGenerationError",
    "LimitExceededError",
    "MissingExtraError",
    "NoFreeThreadError",
    "RunInterruptedError",
    "UnknownFieldWarning",
]


class UnknownFieldWarning(UserWarning):
    """Data of another version held fields that this one does not know."""


class ConfigurationError(ValueError):
    """Something was put together in a way that cannot run; the message says what to do."""


class CallFailedError(RuntimeError):
    """A model, or a target, was called and gave no answer; the message names the cause.

    Attributes
    ----------
    kind
        The ``error_kind`` of what fails because of it; see `giskard.checks.core.error_kinds`.
    retryable
        Whether the same call may succeed later; it goes by the kind when it is not given.
    retry_after
        Seconds that the other side asked to wait, when it did.
    status
        The HTTP status of the answer, or the exit code, when there was one.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind = "crash",
        retryable: bool | None = None,
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.retryable = is_retryable(kind) if retryable is None else retryable
        self.retry_after = retry_after
        self.status = status

    def __str__(self) -> str:
        return self.message  # to which those who pass it on may add


class MissingExtraError(ImportError):
    """A feature needs a package that an extra of this distribution installs."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; install it with: pip install 'giskard-checks[{extra}]'")


class LimitExceededError(TimeoutError):
    """A time limit set on a target call, a check, a scenario or a suite ran out."""


class NoFreeThreadError(LimitExceededError):
    """A sync function was not called: functions that timed out, and do not return, hold all the worker threads."""


class InteractionGenerationError(RuntimeError):
    """An interaction could not be generated.

    Attributes
    ----------
    partial_trace
        All interactions that were completed before the failure, as a trace; the original error is
        ``__cause__``.
    """

    def __init__(self, message: str, partial_trace: Trace) -> None:
        super().__init__(message)
        self.partial_trace = partial_trace


class InputGenerationException(RuntimeError):
    """An input generator could not produce the next input of a conversation."""


class RunInterruptedError(KeyboardInterrupt):
    """Ctrl+C ended a run; `result` holds what was finished, and marks what was not."""

    def __init__(self, result: Any) -> None:
        super().__init__("the run was interrupted; what was finished is in .result")
        self.result = result
