"""What a target did instead of answering."""

from __future__ import annotations

from giskard.checks.core.exceptions import CallFailedError

__all__ = ["TargetError"]


class TargetError(CallFailedError):
    """The system under test was asked and gave no answer that can be used; the message says what it did.

    Parameters
    ----------
    message
        What was asked, what came back, and what to do.
    kind
        The ``error_kind`` of what cannot go on because of it; see `giskard.checks.core.error_kinds`.
    retryable
        Whether the same call may succeed later; it goes by the kind when it is not given.
    retry_after
        Seconds that the target asked to wait, when it did.
    status
        The HTTP status, or the exit code, when there was one.
    """
