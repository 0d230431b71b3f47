"""Errors of user code: which of them end a run, and how they are told."""

from __future__ import annotations

from typing import Any

from giskard.checks.core.attempt import is_cancelled
from giskard.checks.core.error_kinds import ErrorKind, is_retryable
from giskard.checks.core.exceptions import (
    CallFailedError,
    ConfigurationError,
    InputGenerationException,
    InteractionGenerationError,
    LimitExceededError,
    MissingExtraError,
)
from giskard.checks.core.result import TestCaseError
from giskard.checks.utils.lazy import asyncio, traceback

__all__ = [
    "TargetFailure",
    "error_kind_of",
    "failure_of",
    "may_be_retried",
    "must_stop",
    "original_of",
    "text_of",
    "traceback_of",
]


class TargetFailure(Exception):
    """Carries what a user's function raised, also what would end a coroutine or the event loop."""


def must_stop(error: BaseException) -> bool:
    """Whether `error` ends the whole run: Ctrl+C, or a cancellation that somebody asked for.

    ``SystemExit``, a CancelledError that leaked out of user code and the like are errors of that code only.
    """
    if isinstance(error, asyncio.CancelledError):
        return is_cancelled()
    return isinstance(error, (KeyboardInterrupt, GeneratorExit))


def original_of(error: BaseException) -> BaseException:
    """The error that the user's code raised, out of those that carry it."""
    while isinstance(error, (InteractionGenerationError, TargetFailure)) and error.__cause__ is not None:
        error = error.__cause__
    return error


def text_of(error: BaseException) -> str:
    """``str(error)``, or a note of why there is none."""
    try:
        return str(error)
    except Exception as broken:
        return f"<{type(error).__name__} whose text cannot be made: its __str__ raises {type(broken).__name__}>"


def traceback_of(error: BaseException) -> str:
    """The traceback as text; without the messages when one of them cannot be made."""
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return "".join([*traceback.format_tb(error.__traceback__), f"{type(error).__name__}\n"])


def error_kind_of(error: BaseException) -> ErrorKind:
    """The ``error_kind`` of an exception; crash when it is the user's own."""
    if isinstance(error, CallFailedError):
        return error.kind
    if isinstance(error, LimitExceededError):
        return "timeout"
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    if isinstance(error, (ConfigurationError, MissingExtraError)):
        return "config"
    return "input_generation" if isinstance(error, InputGenerationException) else "crash"


def may_be_retried(error: BaseException) -> bool:
    """Whether what raised `error` may succeed at the next try."""
    return error.retryable if isinstance(error, CallFailedError) else is_retryable(error_kind_of(error))


def failure_of(error: BaseException, phase: str) -> TestCaseError:
    """What a step records of an error of user code; for the phases see `TestCaseError`."""
    original = original_of(error)
    return TestCaseError(
        message=text_of(original),
        exception_type=type(original).__name__,
        traceback=traceback_of(original),
        phase=phase,
        error_kind=error_kind_of(original),
        retryable=may_be_retried(original),
    )


def as_details(error: BaseException) -> dict[str, Any]:
    """The details of a check that crashed."""
    return {"exception_type": type(error).__name__, "traceback": traceback_of(error)}
