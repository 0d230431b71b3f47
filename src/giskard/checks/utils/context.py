"""Running a coroutine in a context of its own, in the same task."""

from __future__ import annotations

import contextvars
from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

__all__ = ["InContext"]

T = TypeVar("T")


class InContext(Generic[T]):
    """An awaitable that runs `coroutine` in `context`: what it sets in context variables stays there.

    A task of its own would do the same for the price of a trip through the event loop, and cleanup code of the
    coroutine would see another ``current_task``.
    """

    __slots__ = ("_context", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, T], context: contextvars.Context) -> None:
        self._coroutine = coroutine
        self._context = context

    def __await__(self) -> Generator[Any, Any, T]:
        __tracebackhide__ = True
        run, send, throw = self._context.run, self._coroutine.send, self._coroutine.throw
        try:
            waiting = run(send, None)
            while True:
                try:
                    answer = yield waiting
                except GeneratorExit:
                    run(self._coroutine.close)
                    raise
                except BaseException as error:
                    waiting = run(throw, error)
                else:
                    waiting = run(send, answer)
        except StopIteration as end:
            return end.value
