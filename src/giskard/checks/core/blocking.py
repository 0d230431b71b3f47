"""Async code for those who do not write any."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from giskard.checks.core.exceptions import RunInterruptedError
from giskard.checks.utils.lazy import asyncio

__all__ = ["blocking", "run_blocking"]

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")


def blocking(run: Callable[Concatenate[S, P], Coroutine[Any, Any, T]], what: str) -> Callable[Concatenate[S, P], T]:
    """The method ``run_sync`` beside an async method `run`: the same parameters and result, for scripts.

    Parameters
    ----------
    what
        The name that messages use for the object.
    """

    @functools.wraps(run)
    def run_sync(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        __tracebackhide__ = True
        method: Callable[P, Coroutine[Any, Any, T]] = getattr(self, run.__name__)  # a subclass may have its own
        return run_blocking(lambda: method(*args, **options), what)

    run_sync.__name__ = f"{run.__name__}_sync"
    run_sync.__qualname__ = f"{run.__qualname__}_sync"
    run_sync.__doc__ = _DOC.format(run=run.__name__, what=what)
    return run_sync


_DOC = """`{run}` for scripts: it takes the same arguments and returns the result itself.

        Raises
        ------
        RuntimeError
            When an event loop runs already, as in a notebook: write ``await {what}.{run}(…)`` there.
        RunInterruptedError
            On Ctrl+C; its ``result`` holds what was finished and marks what was not.
        """


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]], what: str) -> T:
    """The result of the coroutine that `make` gives, run to its end in an event loop of its own.

    Raises
    ------
    RuntimeError
        When an event loop runs already, as in a notebook: the message says to await instead.
    RunInterruptedError
        On Ctrl+C; its ``result`` holds what was finished and marks what was not.
    """
    __tracebackhide__ = True
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
