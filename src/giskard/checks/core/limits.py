"""Time limits: one way to set them, and to tell them from what user code raises."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from giskard.checks.core.exceptions import LimitExceededError
from giskard.checks.utils.lazy import asyncio

__all__ = ["Limit"]


class Limit:
    """A limit of the time that a block may take: ``async with Limit(…):``.

    What awaits is ended when the time is over.  What never awaits cannot be ended; it has exceeded the limit all the
    same when it comes to its end too late.  Whatever else the block raises comes out as it is, a TimeoutError of the
    user's code included.

    Parameters
    ----------
    message
        Makes the text of the error, once the time is over.
    seconds
        The time from the start of the block on.
    deadline
        A reading of the event loop's clock, in place of `seconds`.

    Attributes
    ----------
    error
        What the block ended with because of this limit: ``error is limit.error`` tells it from a limit of
        somebody else.
    stopped
        The cancellation that ended the block, when it was ended.

    Raises
    ------
    LimitExceededError
        From the block, when the time is over.
    """

    __slots__ = ("_deadline", "_message", "_seconds", "_timeout", "error", "stopped")

    _timeout: asyncio.Timeout

    def __init__(self, message: Callable[[], str], *, seconds: float = 0.0, deadline: float | None = None) -> None:
        self._message = message
        self._seconds = seconds
        self._deadline = deadline
        self.error: LimitExceededError | None = None
        self.stopped: BaseException | None = None

    async def __aenter__(self) -> Self:
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self._seconds
        self._timeout = asyncio.timeout_at(self._deadline)
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, error, traceback)
        except TimeoutError:  # it makes one of the cancellation that it asked for
            self.stopped = error
        else:
            if not self._is_exceeded(error):
                return
        self.error = LimitExceededError(self._message())
        raise self.error from None

    def _is_exceeded(self, error: BaseException | None) -> bool:
        if error is None:
            return self._deadline is not None and asyncio.get_running_loop().time() >= self._deadline
        # Code that was ended may turn the cancellation into a TimeoutError; one of a limit inside speaks for itself.
        return self._timeout.expired() and isinstance(error, TimeoutError) and not isinstance(error, LimitExceededError)
