"""Why a model gave no answer."""

from __future__ import annotations

from giskard.checks.core.error_kinds import ErrorKind
from giskard.checks.core.exceptions import CallFailedError
from giskard.checks.core.usage import Usage

__all__ = ["ModelCallError"]


class ModelCallError(CallFailedError):
    """A model was asked and gave no answer; the message names the cause.

    Parameters
    ----------
    message
        Which model, what happened, and what to do.
    kind
        The ``error_kind`` of a check that cannot reach a verdict because of it; see
        `giskard.checks.core.error_kinds`.
    retryable
        Whether the same call may succeed later; it goes by the kind when it is not given.
    retry_after
        Seconds that the provider asked to wait, when it did.
    status
        The HTTP status of the answer, when there was one.
    usage
        What the tries used up, as far as it is known.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind = "model_error",
        retryable: bool | None = None,
        retry_after: float | None = None,
        status: int | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message, kind=kind, retryable=retryable, retry_after=retry_after, status=status)
        self.usage = usage
