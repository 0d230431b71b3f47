"""Async code for those who do not write any."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from giskard.checks.core.exceptions import RunInterruptedError
from giskard.checks.utils.lazy import asyncio

__all__ = ["run_blocking"]

T = TypeVar("T")


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]], what: str) -> T:
    """The result of the coroutine that `make` gives, run to its end in an event loop of its own.

    Raises
    ------
    RuntimeError
        When an event loop runs already, as in a notebook: the message says to await instead.
    RunInterruptedError
        On Ctrl+C; its ``result`` holds what was finished and marks what was not.
    """
    if _loop_runs():
        raise RuntimeError(
            f"{what}.run_sync() was called while an event loop runs, as in a notebook: write `await {what}.run()` here"
        )
    try:
        return asyncio.run(make())
    except KeyboardInterrupt as interrupt:
        for error in (interrupt, interrupt.__context__):  # asyncio turns Ctrl+C into a cancellation first
            partial = getattr(error, "partial_result", None)
            if partial is not None:
                raise RunInterruptedError(partial) from interrupt
        raise


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
