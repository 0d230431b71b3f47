"""The door between a call to the outside and what may answer in its stead: a cassette, or the cache.

Whoever calls a model or a live target asks through `recorded`.  When nothing is entered, that is the call itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from giskard.checks.core.attempt import current_attempt
from giskard.checks.llm.types import Source

__all__ = [
    "Answer",
    "Ask",
    "Asked",
    "Entry",
    "Recorder",
    "active",
    "enter",
    "leave",
    "recorded",
    "recorder_for_all",
    "set_recorder_for_all",
]

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
