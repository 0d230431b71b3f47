"""Giving the event loop its turn during long stretches of work that never awaits.

Without it Ctrl+C, cancellations, time limits and other tasks would wait until a run of recorded conversations and
checks by code is over.
"""

from __future__ import annotations

from time import perf_counter

from giskard.checks.utils.lazy import asyncio

__all__ = ["is_due", "pause"]

_SECONDS = 0.01
# When the next pause is due, as a `perf_counter` reading; one for all threads, it need not be exact.
# Before the first question nothing has been done that the loop could have waited for.
_due = 0.0


def is_due(now: float | None = None) -> bool:
    """Whether the last pause, or the first question, is long enough ago; `now` is a reading of ``perf_counter``."""
    return (perf_counter() if now is None else now) >= (_due or _put_off())


def _put_off() -> float:
    global _due  # noqa: PLW0603
    _due = perf_counter() + _SECONDS
    return _due


async def pause() -> None:
    """Let the event loop do what waits."""
    _put_off()  # before it waits: of a thousand tasks that run side by side one pauses, not all
    await asyncio.sleep(0)
