"""How many calls go to a model at once, and how fast: shared by all that ask the same model at the same server."""

from __future__ import annotations

import functools
import random
from typing import Any

from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.utils.lazy import asyncio

__all__ = ["Gate"]


class Gate:
    """What all calls to one model at one server pass, in one event loop.

    Two generators that name the same limit share it, whichever of them a call comes from; those that name
    different ones hold to their own.
    """

    def __init__(self) -> None:
        self._slots: dict[int, asyncio.Semaphore] = {}
        self._paces: dict[float, Any] = {}
        self._open_at = 0.0

    def slot(self, max_concurrency: int) -> asyncio.Semaphore:
        """A context manager that is entered by no more than so many calls at once."""
        slots = self._slots.get(max_concurrency)
        if slots is None:
            slots = self._slots[max_concurrency] = asyncio.Semaphore(max_concurrency)
        return slots

    def close_for(self, seconds: float) -> None:
        """Let no call pass for so long: the server takes none."""
        self._open_at = max(self._open_at, asyncio.get_running_loop().time() + seconds)

    @property
    def closed_for(self) -> float:
        """Seconds until calls may pass again."""
        return max(0.0, self._open_at - asyncio.get_running_loop().time()) if self._open_at else 0.0

    async def turn(self, requests_per_minute: float | None) -> None:
        """Wait until the next call may go out.

        After a closed time the calls start a little apart, so that they do not all meet the same limit again.
        """
        while (seconds := self.closed_for) > 0:
            await asyncio.sleep(seconds + random.uniform(0, min(0.1 * seconds, 1.0)))
        if requests_per_minute is not None:
            pace = self._paces.get(requests_per_minute)
            if pace is None:
                pace = self._paces[requests_per_minute] = _limiter()(1, 60 / requests_per_minute)
            await pace.acquire()


@functools.cache
def _limiter() -> Any:
    """The one door to aiolimiter.  One call per interval instead of a minute's worth at once: no bursts."""
    try:
        from aiolimiter import AsyncLimiter  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("aiolimiter", "llm") from None
    return AsyncLimiter
