"""Recording what models and targets answer, and replaying it: `cassette`."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable
from contextvars import Token
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

from giskard.checks.llm._cassette_file import CassetteError, CassetteFile, Kept, News, Recording
from giskard.checks.llm._described import RecordedCall, call, count, difference, listed, model_of
from giskard.checks.llm._json_text import from_data, to_data
from giskard.checks.llm._secrets import without_secrets
from giskard.checks.llm._shelves import Shelf, Shelves
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.recording import Answer, Ask, Asked, Entry, Worker, enter, leave
from giskard.checks.utils.ids import new_id

__all__ = [
    "Cassette",
    "CassetteError",
    "CassetteMismatchError",
    "CassetteMode",
    "RecordedCall",
    "UnusedRecordingWarning",
    "cassette",
]

CassetteMode = Literal["auto", "record", "replay", "strict"]
"""What to do with a call that is recorded, and with one that is not."""

F = TypeVar("F", bound="Callable[..., Any]")


class UnusedRecordingWarning(UserWarning):
    """A cassette holds recordings that its block did not ask for: they may be stale."""


class CassetteMismatchError(AssertionError):
    """In strict mode, the calls that were made are not those that are recorded."""


def cassette(path: str | os.PathLike[str], mode: CassetteMode = "auto") -> Cassette:
    """Record what models and targets answer within a ``with`` block, or replay it.

    The targets are `HTTPTarget`, `OpenAITarget` and `CommandTarget`; functions and `AgentTarget` run each time.

    Parameters
    ----------
    path
        A JSON file, made when something is recorded.
    mode
        ``"auto"`` replays what is recorded, and asks for and records what is not; ``"record"`` asks for all anew;
        ``"replay"`` asks nobody: a call that is not recorded, or not as often, is an error of the check that made it;
        ``"strict"`` is like that, and at the end of the block also a recording that was not used is an error.

    Raises
    ------
    CassetteError
        When the block is entered and `path` is no cassette, or one of a newer version.
    CassetteMismatchError
        At the end of a strict block.

    Examples
    --------
    >>> import asyncio, tempfile
    >>> from giskard.checks import Conformity, Interaction, Trace
    >>> from giskard.checks.testing.doubles import FakeGenerator
    >>> judge = FakeGenerator('{"reason": "It is an insult.", "passed": false}')
    >>> check = Conformity(rule="Be polite.", judge=judge)
    >>> trace = Trace(interactions=[Interaction(inputs="Hello!", outputs="Go away.")])
    >>> path = tempfile.mkdtemp() + "/polite.json"
    >>> for _ in range(2):
    ...     with cassette(path) as tape:
    ...         print(asyncio.run(check.run(trace)).status.value, len(tape.recorded), len(tape.replayed))
    fail 1 0
    fail 0 1
    """
    return Cassette(path, mode)


class Cassette:
    """What `cassette` gives: the recorder, and the account of what was recorded and replayed.

    Attributes
    ----------
    recorded, replayed, missing
        The calls that were recorded, replayed, and not found, as they came.
    unused
        The recordings that nobody asked for, or not as often as they were recorded; also while the block runs.
    scrubbed
        Of the recorded and the replayed ones, those with ``[secret]`` in the request or in the answer: a check that
        looks for keys does not find them in a recording.
    """

    is_cache = False

    def __init__(self, path: str | os.PathLike[str], mode: CassetteMode = "auto") -> None:
        if mode not in get_args(CassetteMode):
            raise ValueError(f"mode is {mode!r}, expected one of {', '.join(map(repr, get_args(CassetteMode)))}")
        self.path = Path(path)
        self.mode: CassetteMode = mode
        self.recorded: list[RecordedCall] = []
        self.replayed: list[RecordedCall] = []
        self.missing: list[RecordedCall] = []
        self.scrubbed: list[RecordedCall] = []
        self._file = CassetteFile(self.path)
        self._shelves = Shelves()
        self._unwritten: deque[News] = deque()
        self._worker = Worker()
        self._tokens: list[Token[Entry | None]] = []
        self._lock = threading.Lock()
        self._open = False
        self._run = ""

    # --- the block ---

    def open(self) -> Cassette:
        """Read the file; from now on `answer` can be asked.

        Raises
        ------
        CassetteError
            When there is a file that is no cassette.
        RuntimeError
            When it is open already.
        """
        if self._open:
            raise RuntimeError(
                f"the cassette {self._name} is entered already; make another one: cassette({self._name})"
            )
        for calls in (self.recorded, self.replayed, self.missing, self.scrubbed):
            calls.clear()
        found = self._file.read()
        self._shelves = Shelves(found)
        self._run = new_id()
        self._open = True
        return self

    def close(self) -> None:
        """Answer no more, and write what was recorded.

        Raises
        ------
        CassetteError, OSError
            When it cannot be written.
        """
        with self._lock:
            self._open = False
        self._worker.end()
        with self._worker.lock:
            self._write()
            if not self._only_replays:
                self._file.merge()

    def assert_matched(self, *, unused: bool = True) -> None:
        """Raise unless the calls that were made are those that are recorded: what a strict block does at its end.

        Parameters
        ----------
        unused
            Whether a recording that nobody asked for counts.

        Raises
        ------
        CassetteMismatchError
            Listing the calls that are not recorded and the recordings that were not used.
        """
        __tracebackhide__ = True
        problems: list[str] = []
        if self.missing:
            problems.append(f"{count(self.missing, 'call')} without a recording:\n{listed(self.missing)}")
        if unused and self.unused:
            problems.append(self._unused_text())
        if problems:
            what = "\n".join(problems)
            raise CassetteMismatchError(f"the cassette {self._name} does not match what was asked:\n{what}")

    def __enter__(self) -> Cassette:
        self.open()
        self._tokens.append(enter(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        __tracebackhide__ = True
        leave(self._tokens.pop())
        try:
            self.close()
        except (CassetteError, OSError) as problem:
            if error is None:
                raise
            error.add_note(f"The cassette was not written: {problem}")
        if error is not None:  # the block did not get to its end: what it would have asked for is not known
            return
        if self.mode == "strict":
            self.assert_matched()
        elif self.unused:
            message = f"the cassette {self._name} holds {self._unused_text()}"
            warnings.warn(message, UnusedRecordingWarning, stacklevel=2)

    def __call__(self, function: F) -> F:
        """`function` within a block of its own at each call: the cassette as a decorator."""
        path, mode = self.path, self.mode
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function!r:.80} is a generator, which runs after the call: use `with cassette({self._name}):` in it"
            )
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_async(*args: Any, **options: Any) -> Any:
                with cassette(path, mode):
                    return await function(*args, **options)

            return cast("F", run_async)

        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            with cassette(path, mode):
                return function(*args, **options)

        return cast("F", run)

    # --- what it is asked ---

    @property
    def is_open(self) -> bool:
        """Whether it answers."""
        return self._open

    @property
    def asks_anew(self) -> bool:
        """Whether it wants answers of the model itself, and not of a cache."""
        return self.mode == "record"

    @property
    def unused(self) -> list[RecordedCall]:
        """The recordings that nobody asked for, or not as often as they were recorded."""
        return list(self.unused_by_key().values())

    def unused_by_key(self) -> dict[str, RecordedCall]:
        """The same, by what tells them apart."""
        found: dict[str, RecordedCall] = {}
        with self._lock:
            for key, shelf in self._shelves.items():
                if shelf.served < len(shelf.at_first) and not shelf.news:
                    often = f"{shelf.served} of {len(shelf.at_first)} recorded answers used" if shelf.served else ""
                    found[key] = call(shelf.asked, often)
        return found

    def prune(self) -> None:
        """Take the recordings that nobody asked for out of the file; those that were used at least once stay whole.

        Raises
        ------
        RuntimeError
            While the block runs.
        """
        if self._open:
            raise RuntimeError("prune() was called within the block: what is not used is known at its end")
        with self._lock:
            never = [
                key for key, shelf in self._shelves.items() if shelf.at_first and not shelf.served and not shelf.news
            ]
        if never:
            self._file.merge(drop=never)

    async def answer(self, asked: Asked, ask: Ask) -> Answer:
        """The recording of a call; where there is none, or it is to be made anew, what `ask` gives.

        An answer that is new is in a file before it is given: no crash after that loses it.

        Raises
        ------
        ModelCallError
            Of kind "config", when there is none and nobody may be asked, or what came back is no JSON data.
        """
        asked, raw, secrets = self._clean(asked)
        with self._lock:
            shelf = self._shelves.find(asked, raw, secrets, anew=self.asks_anew)
            kept = None if self.asks_anew else shelf.next()
            if kept is not None:
                self.replayed.append(call(asked))
                if shelf.secrets or secrets or kept.secrets:
                    self.scrubbed.append(call(asked))
                return from_data(to_data(kept.answer)), "cassette"  # a copy: what one caller does to it is its own
            if self._only_replays:
                raise self._is_missing(asked, shelf)
            number = shelf.served
            shelf.served += 1
        found, source = await ask()
        if self._keep(shelf, number, asked, found):
            await self._worker.run(self._tried_to_write)
        return found, source

    @property
    def _only_replays(self) -> bool:
        return self.mode in ("replay", "strict")

    @property
    def _name(self) -> str:
        return repr(os.fspath(self.path))

    def _clean(self, asked: Asked) -> tuple[Asked, Asked, tuple[str, ...]]:
        """The call as it may be written, as it is, and where secrets were taken out."""
        try:
            request, secrets = without_secrets(asked.request)
            raw = cleaned = Asked(asked.kind, from_data(to_data(asked.request)), asked.trial, asked.sample)
            if secrets:
                cleaned = Asked(asked.kind, from_data(to_data(request)), asked.trial, asked.sample)
        except (TypeError, ValueError, RecursionError) as error:
            raise self._no_json("the request", asked, error) from error
        return cleaned, raw, tuple(secrets)

    def _keep(self, shelf: Shelf, number: int, asked: Asked, found: Any) -> bool:
        """Take note of a new answer; whether there is something to write."""
        try:
            cleaned, in_answer = without_secrets(found)
            kept = Kept(from_data(to_data(cleaned)), tuple(in_answer))
            digest = kept.digest
        except (TypeError, ValueError, RecursionError) as error:
            raise self._no_json("the answer", asked, error) from error
        with self._lock:
            if not self._open:
                return False  # whoever asked gets the answer, and the file stays as the end of the block left it
            after, replaced = shelf.following(digest, anew=self.asks_anew)
            recording = Recording(shelf.asked, [kept], shelf.secrets)
            self._unwritten.append(News(self._run, number, recording, replaced, after))
            self.recorded.append(call(asked))
            if shelf.secrets or in_answer:
                self.scrubbed.append(call(asked))
        return True

    def _tried_to_write(self) -> None:
        with contextlib.suppress(CassetteError, OSError):  # a full disk: again with the next one, or at the end
            self._write()

    def _write(self) -> None:
        """Write all that is not in a file yet, in the order in which it was recorded."""
        batch = list(self._unwritten)
        if batch:
            self._file.append(*batch)
            for _ in batch:
                self._unwritten.popleft()

    # --- what it says ---

    def _is_missing(self, asked: Asked, shelf: Shelf) -> ModelCallError:
        note = self._why_missing(asked, shelf)
        self.missing.append(call(asked, note))
        return ModelCallError(
            f"the cassette {self._name} has no recording of this call of {model_of(asked)!r} ({asked.kind}), and its "
            f"mode is {self.mode!r}: {note}. When the change is meant, record it with mode='auto', or all anew with "
            "mode='record'",
            kind="config",
        )

    def _why_missing(self, asked: Asked, shelf: Shelf) -> str:
        if shelf.at_first:
            times = "once" if len(shelf.at_first) == 1 else f"{len(shelf.at_first)} times"
            return f"it is recorded {times}, and asked for once more"
        # What nobody has asked for yet is likelier to be what the call was before it was changed.
        others = sorted((one for one in self._shelves.values() if one.at_first), key=lambda one: one.served > 0)
        if others:
            return difference(asked, (one.asked for one in others))
        return "it is empty" if self.path.exists() else "there is no such file"

    def _no_json(self, what: str, asked: Asked, error: Exception) -> ModelCallError:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return ModelCallError(
            f"{what} of this call of {model_of(asked)!r} ({asked.kind}) cannot be recorded in the cassette "
            f"{self._name}: {problem}; expected JSON data",
            kind="config",
        )

    def _unused_text(self) -> str:
        unused = self.unused
        return f"{count(unused, 'recording')} that nobody asked for:\n{listed(unused)}"

    def __repr__(self) -> str:
        counts = f"{len(self.recorded)} recorded, {len(self.replayed)} replayed, {len(self.missing)} missing"
        return f"<Cassette {self._name} mode={self.mode!r}: {counts}, {len(self.unused)} unused>"
