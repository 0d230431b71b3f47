"""The door between a call to the outside and what may answer in its stead: a cassette, or the cache.

Whoever calls a model, or a target that can be recorded, asks through `recorded`.  When nothing is entered, that is the
call itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from giskard.checks.core.attempt import current_attempt
from giskard.checks.llm.types import Source

__all__ = [
    "Answer",
    "Ask",
    "Asked",
    "Entry",
    "Recorder",
    "Worker",
    "active",
    "enter",
    "leave",
    "recorded",
    "recorder_for_all",
    "set_recorder_for_all",
]

T = TypeVar("T")

Answer: TypeAlias = "tuple[dict[str, Any], Source]"
"""What came back, as JSON data, and where it came from."""

Ask: TypeAlias = Callable[[], Awaitable[Answer]]
"""Asks whoever is next in the line: the cache, or the model."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call to the outside, by what it means.

    Parameters
    ----------
    kind
        "chat", "embeddings" or "target".
    request
        JSON data: the model or the target, what is sent to it, and whatever changes its answer.
    trial
        The number of the attempt at the scenario, from 1; also 1 outside of a scenario.
    sample
        Which answer to the same question is asked for, from 0: votes differ in it.
    identity
        Who is asked, beyond the name in the request: the server, the settings of the object.  None when nobody can
        tell; the cache keeps apart what differs in it, and holds nothing without it.  A cassette takes no notice.
    """

    kind: str
    request: Mapping[str, Any]
    trial: int = 1
    sample: int = 0
    identity: str | None = None


class Recorder(Protocol):
    """What may answer instead of a model, and keeps the answers that models gave."""

    @property
    def is_open(self) -> bool:
        """Whether it answers; one that was closed lets all calls pass."""
        ...

    @property
    def is_cache(self) -> bool:
        """Whether it stands between a cassette and the model."""
        ...

    @property
    def asks_anew(self) -> bool:
        """Whether it wants answers of the model itself, and not of the cache behind it."""
        ...

    async def answer(self, asked: Asked, ask: Ask) -> Answer:
        """What it holds for a call, or what `ask` gives."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A recorder that was entered, and those that were before it."""

    recorder: Recorder
    outer: Entry | None


_entered: ContextVar[Entry | None] = ContextVar("giskard_checks_recorders", default=None)


class _ForAll:
    """The recorder of those that entered none: one for the process."""

    recorder: Recorder | None = None


def enter(recorder: Recorder) -> Token[Entry | None]:
    """Let `recorder` answer the calls made in this context, and in the tasks that are started in it.

    Returns
    -------
    Token
        What `leave` takes.
    """
    return _entered.set(Entry(recorder, _entered.get()))


def leave(token: Token[Entry | None]) -> None:
    """Go back to what was before `enter`.

    An async fixture may be left in another context than it was entered in: there is nothing to go back to then, and the
    recorder, which is closed by now, lets the calls pass.
    """
    try:
        _entered.reset(token)
    except ValueError:
        return


def set_recorder_for_all(recorder: Recorder | None) -> None:
    """Let `recorder` answer, in the whole process, the calls for which none of its kind is entered; None ends that."""
    _ForAll.recorder = recorder


def recorder_for_all() -> Recorder | None:
    """What `set_recorder_for_all` was given."""
    return _ForAll.recorder


def active() -> bool:
    """Whether a call may be answered, or kept, by a recorder; when not, `recorded` is nothing but the call."""
    return _entered.get() is not None or _ForAll.recorder is not None


async def recorded(
    kind: str,
    request: Mapping[str, Any],
    call: Callable[[], Awaitable[dict[str, Any]]],
    sample: int = 0,
    *,
    identity: str | None = None,
) -> Answer:
    """The answer to a call: of the innermost cassette, of the innermost cache, or of the model.

    Parameters
    ----------
    kind
        "chat", "embeddings" or "target".
    request
        What the call means, as JSON data.  The attempt's number is added; secrets need not be taken out.
    call
        Makes the call, and gives JSON data.
    sample
        Which answer to the same question is asked for, from 0.
    identity
        Who is asked, as a text that is the same for all that answer alike, in every process: the server, the saved form
        of the generator.  None when that cannot be told; the answer is not cached then.  Cassettes take no notice.

    Raises
    ------
    ModelCallError
        What `call` raises; or, of kind "config", when a cassette that only replays has no recording, or when what came
        back is no JSON data.
    """

    async def ask_model() -> Answer:
        return await call(), "model"

    cassette, cache = _innermost()
    if cassette is None and cache is None:
        return await ask_model()
    attempt = current_attempt.get()
    asked = Asked(kind, request, 1 if attempt is None else attempt.trial, sample, identity)
    if cassette is None:
        return await _through(cache, asked, ask_model)

    async def ask_cache() -> Answer:
        return await _through(cache, asked, ask_model)

    return await cassette.answer(asked, ask_model if cassette.asks_anew else ask_cache)


async def _through(recorder: Recorder | None, asked: Asked, ask: Ask) -> Answer:
    return await ask() if recorder is None else await recorder.answer(asked, ask)


def _innermost() -> tuple[Recorder | None, Recorder | None]:
    """The cassette and the cache that were entered last, of those that are still open."""
    cassette: Recorder | None = None
    cache: Recorder | None = None
    entry = _entered.get()
    while entry is not None:
        recorder = entry.recorder
        if recorder.is_open:
            if recorder.is_cache:
                cache = cache or recorder
            else:
                cassette = cassette or recorder
        entry = entry.outer
    common = _ForAll.recorder
    if cache is None and common is not None and common.is_open:
        cache = common
    return cassette, cache


# --- files, beside the event loop --------------------------------------------------------


class Worker:
    """A thread of its own for what a recorder does with its file: a piece of work at a time, in the order given.

    A file may be slow, or another process may hold its lock: no event loop waits for that, and neither does a thread of
    the loop's pool, which a user's own functions may keep busy.  The thread is made when there is something to do.

    Attributes
    ----------
    lock
        Whoever uses what the work uses, in another thread, holds it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._starting = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        _workers.add(self)

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Have it done, with the lock held; it is done also when nobody waits for it."""

        def locked() -> T:
            with self.lock:
                return work()

        try:
            with self._starting:
                if self._threads is None:
                    self._threads = ThreadPoolExecutor(1, thread_name_prefix="giskard-recorder")
                return self._threads.submit(locked)
        except RuntimeError:  # no threads are started any more: the interpreter comes to its end
            done: Future[T] = Future()
            try:
                done.set_result(locked())
            except Exception as error:
                done.set_exception(error)
            return done

    async def run(self, work: Callable[[], T]) -> T:
        """Have it done, and wait for it; who is cancelled meanwhile waits no more, and it is done all the same."""
        loop = asyncio.get_running_loop()
        waiting = loop.create_future()

        def tell(_: Future[T]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed by now
                loop.call_soon_threadsafe(lambda: None if waiting.done() else waiting.set_result(None))

        done = self.submit(work)
        done.add_done_callback(tell)
        await waiting
        return done.result()

    def end(self) -> None:
        """Wait until all is done, and let go of the thread."""
        with self._starting:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()

    def forget(self) -> None:
        """In the child of a fork there is neither the thread nor whoever held a lock."""
        self.lock, self._starting = threading.Lock(), threading.Lock()
        self._threads = None


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()
_SECONDS_BEFORE_A_FORK = 5.0


class _Fork:
    """Forks the process between two pieces of work: in the child, one that is half done is never finished."""

    held: ClassVar[list[threading.Lock]] = []

    @classmethod
    def before(cls) -> None:
        locks = [worker.lock for worker in list(_workers)]
        cls.held = [lock for lock in locks if lock.acquire(timeout=_SECONDS_BEFORE_A_FORK)]

    @classmethod
    def after_in_parent(cls) -> None:
        held, cls.held = cls.held, []
        for lock in held:
            lock.release()

    @classmethod
    def after_in_child(cls) -> None:
        cls.held = []
        for worker in list(_workers):
            worker.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_Fork.before, after_in_parent=_Fork.after_in_parent, after_in_child=_Fork.after_in_child)
