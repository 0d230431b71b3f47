"""Why no verdict could be reached, in a word: the kinds of errors, and which of them may be gone at the next try."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

__all__ = ["ErrorKind", "KnownErrorKind", "is_retryable"]

KnownErrorKind: TypeAlias = Literal[
    "authentication",  # a model, or a target, does not take the key
    "bad_type",  # a value is not of a type that the check can judge
    "cancelled",  # the run was cancelled, or Ctrl+C was pressed
    "config",  # something was put together in a way that cannot run, or a package is missing
    "crash",  # user code raised an exception
    "input_generation",  # a generator of inputs could not make the next one
    "missing_value",  # there is nothing where the check looks
    "model_error",  # a model's server answered with an error of its own, or refused the request
    "network",  # a model, or a target, could not be reached
    "no_majority",  # several votes were cast, and no side has more than half of them
    "nothing_checked",  # a strict run passed without a verdict
    "quota",  # no credit is left for the calls of a model
    "rate_limit",  # a model, or a target, takes no more calls for now
    "refused",  # a model, or its content filter, would not answer
    "timeout",  # a time limit ran out
    "unknown",  # it was not said
    "unreadable_verdict",  # a judge answered, and not with a verdict
]
"""The kinds that this package reports."""

ErrorKind: TypeAlias = KnownErrorKind | str
"""The ``error_kind`` of a result: one of the known kinds, or a word of one's own."""

_RETRYABLE: Final = frozenset[str](
    {"cancelled", "input_generation", "network", "no_majority", "rate_limit", "timeout", "unreadable_verdict"}
)


def is_retryable(kind: ErrorKind | None) -> bool:
    """Whether an error of this kind may be gone when the same is tried again, unless its result says otherwise."""
    return kind in _RETRYABLE
