"""Worker threads for blocking calls.

`concurrent.futures` and `anyio` wait for their threads when the interpreter ends: one target that hangs for
ever would hang the whole test run.  These threads are daemons, and a call that was given up keeps its thread until it
returns, so that never more calls run than the pool has threads.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, TypeVar

from giskard.checks.utils.lazy import asyncio

__all__ = ["NoFreeThread", "WorkerPool"]

T = TypeVar("T")

# Seconds that a call which was given up has at least to return.
_LEAST_PATIENCE = 0.02


class NoFreeThread(Exception):
    """All threads of a pool are held by calls that were given up and do not return."""


class _Job:
    """A call, who waits for it, and what has become of it."""

    __slots__ = ("call", "context", "future", "given_up", "loop", "lost_at", "started")

    def __init__(self, loop: asyncio.AbstractEventLoop, context: contextvars.Context, call: Callable[[], Any]) -> None:
        self.loop = loop
        self.future: asyncio.Future[tuple[bool, Any]] = loop.create_future()
        self.context = context
        self.call = call
        self.started: float | None = None  # while it runs
        self.given_up = False  # nobody waits for it any more
        self.lost_at = 0.0  # of a call that was given up: from then on nobody counts on its end


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
        self._given_up: set[_Job] = set()  # those that still run

    async def run(self, call: Callable[[], T]) -> T:
        """The result of `call`, made in a thread with a copy of the current context.

        Any exception of the call comes out, ``SystemExit`` included; ``StopIteration`` and ``GeneratorExit`` as
        the cause of a RuntimeError.

        Raises
        ------
        NoFreeThread
            When all threads are held by calls that were given up.  Each has as long to return as it had run until it
            was given up: a slow one does not take the thread from those that come after it, one that hangs does not
            keep them waiting for ever.
        """
        __tracebackhide__ = True
        job = _Job(asyncio.get_running_loop(), contextvars.copy_context(), call)
        self._submit(job)
        try:
            done, value = await job.future
        except BaseException:  # whoever waited for it was cancelled
            self._give_up(job)
            raise
        if done:
            return value
        try:
            if isinstance(value, (StopIteration, GeneratorExit)):  # they would end the coroutine that waits
                raise RuntimeError(f"the call raised {type(value).__name__}") from value
            raise value
        finally:
            value = None  # no cycle between the exception and this frame

    def _submit(self, job: _Job) -> None:
        with self._lock:
            if len(self._given_up) >= self._size and self._patience() <= 0:
                raise self._no_free_thread()
            self._free -= 1
            start = self._free < 0 and self._threads < self._size
            if start:
                self._threads += 1
                self._free += 1
        self._jobs.put(job)
        if start:
            threading.Thread(target=self._work, name="giskard-checks", daemon=True).start()
        elif self._given_up:
            self._refuse_waiting(job.loop)  # once it has waited long enough

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.started = monotonic()  # first, so that whoever gives it up now sees that it runs, or it is not made
            outcome = None if job.given_up or job.future.cancelled() else _outcome(job.context, job.call)
            with self._lock:
                job.started = None
                self._given_up.discard(job)
                self._free += 1
            if outcome is not None:
                _answer(job, outcome)
            del job, outcome

    def _give_up(self, job: _Job) -> None:
        job.given_up = True
        with self._lock:
            if job.started is None:  # it has not begun, and will not, or it has just ended
                return
            now = monotonic()
            job.lost_at = now + max(now - job.started, _LEAST_PATIENCE)
            self._given_up.add(job)
        if not job.loop.is_closed():
            self._refuse_waiting(job.loop)

    def _patience(self) -> float:
        """The seconds until nobody counts on any of the calls that hold all the threads."""
        return max(job.lost_at for job in self._given_up) - monotonic()

    def _refuse_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        """Fail the calls that wait for a thread once there is no hope of one; look again later when there is some."""
        with self._lock:
            if len(self._given_up) < self._size or self._jobs.empty():
                return
            patience = self._patience()
            waiting = self._take_waiting() if patience <= 0 else []
            outcomes = [(False, self._no_free_thread()) for _ in waiting]
        if patience > 0:
            loop.call_later(patience, self._refuse_waiting, loop)
        for job, outcome in zip(waiting, outcomes, strict=True):
            _answer(job, outcome)

    def _take_waiting(self) -> list[_Job]:
        """Empty the queue, which no thread reads now: all of them are held."""
        taken: list[_Job | None] = []
        with contextlib.suppress(Empty):
            while True:
                taken.append(self._jobs.get_nowait())
        waiting = [job for job in taken if job is not None]
        for _ in range(len(taken) - len(waiting)):
            self._jobs.put(None)
        self._free += len(waiting)
        return waiting

    def _no_free_thread(self) -> NoFreeThread:
        count = len(self._given_up)
        calls = f"{count} call{'s' if count > 1 else ''} that timed out {'have' if count > 1 else 'has'}"
        return NoFreeThread(
            f"no worker thread is free: {calls} not returned; give the function a time limit of its own, or write it "
            "as `async def`, so that it can be ended"
        )

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
    __tracebackhide__ = True
    try:
        return True, context.run(call)
    except BaseException as error:
        return False, error


def _answer(job: _Job, outcome: tuple[bool, Any]) -> None:
    try:
        job.loop.call_soon_threadsafe(_settle, job.future, outcome)
    except RuntimeError:  # the loop is closed: nobody waits any more
        return


def _settle(future: asyncio.Future[tuple[bool, Any]], outcome: tuple[bool, Any]) -> None:
    if not future.done():
        future.set_result(outcome)
