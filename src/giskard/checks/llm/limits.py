"""How many calls go to a model at once, and how fast: shared by all that ask the same model at the same server."""

from __future__ import annotations

import functools
import math
import random
from typing import Any, Final

from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.utils.lazy import asyncio

__all__ = ["Gate"]

_LONGEST: Final = 3600.0
"""Seconds that a gate stays closed at most: what a server asks beyond that is a mistake, and is asked for again."""


class Gate:
    """What all calls to one model at one server pass, in one event loop.

    Two generators that name the same limit share it, whichever of them a call comes from; those that name
    different ones hold to their own.
    """

    def __init__(self) -> None:
        self._slots: dict[int, asyncio.Semaphore] = {}
        self._paces: dict[float, Any] = {}
        self._open_at = 0.0
        self.reason = ""
        """What the server said when the gate was closed."""

    def slot(self, max_concurrency: int) -> asyncio.Semaphore:
        """A context manager that is entered by no more than so many calls at once."""
        slots = self._slots.get(max_concurrency)
        if slots is None:
            slots = self._slots[max_concurrency] = asyncio.Semaphore(max_concurrency)
        return slots

    def close_for(self, seconds: float, reason: str = "") -> None:
        """Let no call pass for so long: the server takes none."""
        until = asyncio.get_running_loop().time() + min(seconds, _LONGEST)
        if until > self._open_at:
            self._open_at, self.reason = until, reason

    @property
    def closed_for(self) -> float:
        """Seconds until calls may pass again."""
        return max(0.0, self._open_at - asyncio.get_running_loop().time()) if self._open_at else 0.0

    async def turn(self, requests_per_minute: float | None, *, patience: float = math.inf) -> bool:
        """Wait until the next call may go out.

        After a closed time the calls start a little apart, so that they do not all meet the same limit again.

        Parameters
        ----------
        requests_per_minute
            How fast calls may go out.
        patience
            Seconds: while the gate is to stay closed for longer, nobody waits for it.

        Returns
        -------
        bool
            Whether the call may go out; False when its patience is at its end.
        """
        while (seconds := self.closed_for) > 0:
            if seconds > patience:
                return False
            await asyncio.sleep(seconds + random.uniform(0, min(0.1 * seconds, 1.0)))
        if requests_per_minute is not None:
            pace = self._paces.get(requests_per_minute)
            if pace is None:
                pace = self._paces[requests_per_minute] = _limiter()(1, 60 / requests_per_minute)
            await pace.acquire()
        return True


@functools.cache
def _limiter() -> Any:
    """The one door to aiolimiter.  One call per interval instead of a minute's worth at once: no bursts."""
    try:
        from aiolimiter import AsyncLimiter  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("aiolimiter", "llm") from None
    return AsyncLimiter
