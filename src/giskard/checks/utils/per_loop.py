"""One object for each event loop: clients hold connections, and a connection lives in the loop that opened it."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Generic, TypeVar, cast
from weakref import ReferenceType, WeakKeyDictionary, ref

from giskard.checks.utils.lazy import asyncio

__all__ = ["PerLoop"]

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Makes an object for each event loop that asks for it, and closes it when that loop ends.

    Each object is held by an async generator of its loop: whoever ends a loop in an orderly way (``asyncio.run``,
    the runners of pytest) lets its generators close what they hold.  Where nobody did, the object is dropped
    with the loop.

    Parameters
    ----------
    make
        Makes the object, without waiting for anything.
    close
        Closes it, in its own loop.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[Any]]) -> None:
        self._make = make
        self._close = close
        self._held: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T, None]]]
        self._held = WeakKeyDictionary()
        self._lock = threading.Lock()  # loops run in several threads

    def get(self) -> T:
        """The object of the loop that runs now.

        Raises
        ------
        RuntimeError
            When none runs.
        """
        loop = asyncio.get_running_loop()
        held = self._held.get(loop)
        return self._new(loop) if held is None else held[0]

    async def aclose(self) -> None:
        """Close the object of the loop that runs now, if there is one; `get` makes another."""
        held = self._held.get(asyncio.get_running_loop())
        if held is not None:
            await held[1].aclose()

    def _new(self, loop: asyncio.AbstractEventLoop) -> T:
        holder = _holding(self._make(), self._close, ref(self), ref(loop))
        made = _started(holder)
        with self._lock:
            # An object refers to its loop through its connections, which keeps both: of loops that ended without
            # closing their generators they are dropped here.
            for ended in [other for other in list(self._held) if other.is_closed()]:
                del self._held[ended]
            self._held[loop] = made, holder
        return made

    def _forget(self, loop: asyncio.AbstractEventLoop | None) -> None:
        if loop is not None:
            with self._lock:
                self._held.pop(loop, None)

    def __deepcopy__(self, memo: dict[int, Any]) -> PerLoop[T]:
        return PerLoop(self._make, self._close)  # a copy has objects of its own

    def __reduce__(self) -> tuple[Any, ...]:
        return PerLoop, (self._make, self._close)


async def _holding(
    made: T,
    close: Callable[[T], Awaitable[Any]],
    owner: ReferenceType[PerLoop[T]],
    loop: ReferenceType[asyncio.AbstractEventLoop],
) -> AsyncGenerator[T, None]:
    """Yield `made` once, and close it when the loop, or `owner`, is gone: it refers to neither."""
    try:
        yield made
    finally:
        held_by = owner()
        if held_by is not None:
            held_by._forget(loop())  # pyright: ignore[reportPrivateUsage]
            del held_by
        await close(made)
        await asyncio.sleep(0)  # closed transports say so in the next turn of the loop


def _started(holder: AsyncGenerator[T, None]) -> T:
    """What `holder` yields first: it does not wait, so that no loop is needed to run it up to there.

    The loop that runs now learns of the generator by this, and will close it.
    """
    try:
        cast("Any", holder.__anext__()).send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it yields before it waits")
