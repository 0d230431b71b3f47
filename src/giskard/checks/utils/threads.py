"""Worker threads for blocking calls.

`concurrent.futures` and `anyio` wait for their threads when the interpreter ends: one target that hangs for
ever would hang the whole test run.  These threads are daemons, and a call that was given up keeps its thread until it
returns, so that never more calls run than the pool has threads.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from giskard.checks.utils.lazy import asyncio

__all__ = ["WorkerPool"]

T = TypeVar("T")
# The loop and its future, the context, and the call.
_Job = tuple["asyncio.AbstractEventLoop", "asyncio.Future[Any]", contextvars.Context, Callable[[], Any]]


class WorkerPool:
    """Up to `size` threads, started when they are needed.

    Use it as ``with WorkerPool(size) as pool``: leaving it lets the threads end after what they do.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0  # threads that wait, less the jobs that wait for them

    async def run(self, call: Callable[[], T]) -> T:
        """The result of `call`, made in a thread with a copy of the current context.

        Any exception of the call comes out, ``SystemExit`` included; ``StopIteration`` as the cause of a
        RuntimeError.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[bool, Any]] = loop.create_future()
        self._submit((loop, future, contextvars.copy_context(), call))
        done, value = await future
        if done:
            return value
        try:
            if isinstance(value, StopIteration):
                raise RuntimeError("the call raised StopIteration") from value
            raise value
        finally:
            value = None  # no cycle between the exception and this frame

    def _submit(self, job: _Job) -> None:
        with self._lock:
            self._free -= 1
            start = self._free < 0 and self._threads < self._size
            if start:
                self._threads += 1
                self._free += 1
        self._jobs.put(job)
        if start:
            threading.Thread(target=self._work, name="giskard-checks", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            loop, future, context, call = job
            del job
            if not future.cancelled():
                outcome = _outcome(context, call)
                try:
                    loop.call_soon_threadsafe(_settle, future, outcome)
                except RuntimeError:  # the loop is closed: nobody waits any more
                    return
                del outcome
            del loop, future, context, call
            with self._lock:
                self._free += 1

    def close(self) -> None:
        """Let the threads end, each after its call; nothing waits for them."""
        with self._lock:
            threads, self._threads = self._threads, 0
        for _ in range(threads):
            self._jobs.put(None)

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _outcome(context: contextvars.Context, call: Callable[[], Any]) -> tuple[bool, Any]:
    try:
        return True, context.run(call)
    except BaseException as error:
        return False, error


def _settle(future: asyncio.Future[tuple[bool, Any]], outcome: tuple[bool, Any]) -> None:
    if not future.done():
        future.set_result(outcome)
