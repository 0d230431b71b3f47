"""Answers of models that are kept from run to run, for those who ask for it: `model_cache`.

A cassette is a part of a test and is looked at; the cache only saves time and money, and may be deleted at any time.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from contextvars import Token
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from giskard.checks.llm._cache_file import CacheFile, Row
from giskard.checks.llm._cassette_file import key_of
from giskard.checks.llm._json_text import to_data
from giskard.checks.llm._secrets import without_secrets
from giskard.checks.llm.recording import (
    Answer,
    Ask,
    Asked,
    Entry,
    Worker,
    enter,
    leave,
    recorder_for_all,
    set_recorder_for_all,
)
from giskard.checks.utils.lazy import logging

__all__ = ["ModelCache", "ModelCacheWarning", "default_folder", "model_cache", "use_model_cache"]

_FILE = "model-answers.sqlite3"
# What is asked of the system under test is what the test is about: it is asked each time.
_KINDS = ("chat", "embeddings")


class ModelCacheWarning(UserWarning):
    """The cache cannot be used; the run goes on without it."""


def model_cache(
    folder: str | os.PathLike[str] | None = None,
    *,
    max_age: float | timedelta | None = None,
    max_bytes: int | None = None,
) -> ModelCache:
    """Keep the answers of models within a ``with`` block, and give them again for the same request.

    A request is the same when the model and the server that it is at, the messages, the parameters, the schema, the
    number of the trial and that of the vote are. Live targets are always asked, and so is a generator of which nobody
    can tell in the next run whether it is the same. What came out of the cache says so: its source is ``"cache"``.

    Parameters
    ----------
    folder
        Where the cache is; left out, in the user's folder for caches (`default_folder`).
    max_age
        Seconds, or a timedelta, after which an answer is asked for anew.
    max_bytes
        How much it may hold; what was not used for the longest time goes first.

    Raises
    ------
    TypeError, ValueError
        When a limit is no positive number.

    Examples
    --------
    >>> import asyncio, tempfile
    >>> from giskard.checks.llm.calls import complete
    >>> from giskard.checks.llm.types import Message
    >>> from giskard.checks.testing.doubles import FakeGenerator
    >>> llm = FakeGenerator("Yes.", "No.")
    >>> with model_cache(tempfile.mkdtemp()) as cache:
    ...     for _ in range(2):
    ...         answer = asyncio.run(complete(llm, [Message("user", "Is it polite?")]))
    ...         print(answer.text, answer.source)
    Yes. model
    Yes. cache
    """
    return ModelCache(folder, max_age=max_age, max_bytes=max_bytes)


def use_model_cache(
    folder: str | os.PathLike[str] | None,
    *,
    max_age: float | timedelta | None = None,
    max_bytes: int | None = None,
) -> ModelCache | None:
    """Keep the answers of models in the whole process; None ends that.

    Asked for the folder that is in use, it changes nothing, so that it can be called as often as one likes.

    Returns
    -------
    ModelCache or None
        The cache.
    """
    before = recorder_for_all()
    if folder is None:
        after = None
    else:
        after = ModelCache(folder, max_age=max_age, max_bytes=max_bytes)
        if isinstance(before, ModelCache) and before.same_as(after):
            return before
        after.open()
    set_recorder_for_all(after)
    if isinstance(before, ModelCache):
        before.close()
    return after


def default_folder() -> Path:
    """Where the cache is when no folder is given: ``giskard-checks`` in the user's folder for caches."""
    if os.name == "nt":  # pragma: no cover
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":  # pragma: no cover
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "giskard-checks"


class ModelCache:
    """What `model_cache` gives.

    Attributes
    ----------
    hits, misses
        How many calls it answered, and how many it did not.
    """

    is_cache = True
    asks_anew = False

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        max_age: float | timedelta | None = None,
        max_bytes: int | None = None,
    ) -> None:
        # Absolute: a test may change the folder that it runs in.
        self.folder = (default_folder() if folder is None else Path(folder)).absolute()
        seconds = max_age.total_seconds() if isinstance(max_age, timedelta) else max_age
        self._limits = (
            _positive("max_age", seconds, "seconds, or a positive timedelta,"),
            _positive("max_bytes", max_bytes, "bytes"),
        )
        self.hits = 0
        self.misses = 0
        self._file = CacheFile(self.path, *self._limits)
        self._worker = Worker()
        self._counting = threading.Lock()
        self._told = False
        self._open = False
        self._tokens: list[Token[Entry | None]] = []

    @property
    def path(self) -> Path:
        """The file, a database of SQLite."""
        return self.folder / _FILE

    @property
    def is_open(self) -> bool:
        """Whether it answers; also when it has a `problem`, and all calls pass."""
        return self._open

    @property
    def problem(self) -> str | None:
        """Why it is not used, None when it is."""
        return self._file.problem

    def same_as(self, other: ModelCache) -> bool:
        """Whether it is open, in the same place as `other` and with the same limits."""
        mine = (self.folder.resolve(), self._limits)
        return self._open and mine == (other.folder.resolve(), other._limits)

    def open(self) -> ModelCache:
        """Answer from now on."""
        self.hits = self.misses = 0
        self._told = False
        self._open = True
        with self._worker.lock:
            self._file.open()
        self._tell()
        return self

    def close(self) -> None:
        """Answer no more, and let go of the file when all is written."""
        self._open = False
        self._file.wait_no_more()
        self._worker.end()
        with self._worker.lock:
            self._file.close()
        self._tell()

    def __enter__(self) -> ModelCache:
        if self._open:
            raise RuntimeError("this model_cache is entered already; make another one")
        self.open()
        self._tokens.append(enter(self))
        return self

    def __exit__(self, *_: object) -> None:
        leave(self._tokens.pop())
        self.close()

    def clear(self) -> None:
        """Forget all answers."""
        with self._worker.lock:
            self._file.clear()
        self._tell()

    async def answer(self, asked: Asked, ask: Ask) -> Answer:
        """The answer to the same call that was kept; else what `ask` gives, which is kept.

        It is written beside, and nobody waits for it: what a crash takes is asked for once more.
        """
        key = self._key(asked)
        if key is None:
            return await ask()
        known = await self._worker.run(lambda: self._file.get(key))
        self._tell()
        with self._counting:
            self.hits += known is not None
            self.misses += known is None
        if known is not None:
            return known, "cache"
        found, source = await ask()
        row = self._row(key, found)
        if row is not None and self._open and self.problem is None:
            self._file.add(row)
            self._worker.submit(self._file.write)
        return found, source

    # --- what is kept ---

    def _key(self, asked: Asked) -> str | None:
        """The key of a call; None when nothing is kept of it.

        It may be a target's, or have secrets in it, or nobody can tell who answers: another judge of the same name
        must not decide.
        """
        if asked.kind not in _KINDS or asked.identity is None or self.problem is not None:
            return None
        try:
            if without_secrets(asked.identity)[1] or without_secrets(asked.request)[1]:
                return None
            return sha256(f"{key_of(asked)}{asked.identity}".encode("utf-8", "backslashreplace")).hexdigest()
        except (TypeError, ValueError, RecursionError):  # no JSON data
            return None

    def _row(self, key: str, found: Any) -> Row | None:
        """What is kept of an answer; None when nothing is."""
        try:
            if without_secrets(found)[1]:
                return None
            text = json.dumps(to_data(found), ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):  # no JSON data
            return None
        now = time.time()
        return key, text, len(text.encode()), now, now

    def _tell(self) -> None:
        """Tell what the problem is, once."""
        problem = self.problem
        if problem is not None and not self._told:
            self._told = True
            _warn(problem)

    def __repr__(self) -> str:
        return f"<ModelCache {os.fspath(self.path)!r}: {self.hits} hits, {self.misses} misses>"


def _positive(name: str, value: Any, unit: str) -> Any:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}), expected a number of {unit} or None")
    if not value > 0:
        raise ValueError(f"{name} is {value!r}, expected a positive number of {unit} or None for no limit")
    return value


def _warn(message: str) -> None:
    """Warn; where warnings are errors, this one goes to the log: the run goes on."""
    try:
        warnings.warn(message, ModelCacheWarning, stacklevel=3)
    except ModelCacheWarning:
        logging.getLogger("giskard.checks").error(message)
