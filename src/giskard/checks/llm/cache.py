"""Answers of models that are kept from run to run, for those who ask for it: `model_cache`.

A cassette is a part of a test and is looked at; the cache only saves time and money, and may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Generator
from contextvars import Token
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from giskard.checks.llm._cassette_file import key_of
from giskard.checks.llm._json_text import from_data, to_data
from giskard.checks.llm._secrets import without_secrets
from giskard.checks.llm.recording import (
    Answer,
    Ask,
    Asked,
    Entry,
    enter,
    leave,
    recorder_for_all,
    set_recorder_for_all,
)
from giskard.checks.utils.lazy import logging

__all__ = ["ModelCache", "ModelCacheWarning", "default_folder", "model_cache", "use_model_cache"]

T = TypeVar("T")

_FILE = "model-answers.sqlite3"
_VERSION = 1
_APPLICATION = 0x67636B61  # "gcka": whose file it is
# What is asked of the system under test is what the test is about: it is asked each time.
_KINDS = ("chat", "embeddings")
_SECONDS_TO_WAIT = 5.0
_WRITES_BETWEEN_CLEANINGS = 200

_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, answer TEXT NOT NULL, size INTEGER NOT NULL, made REAL NOT NULL, used REAL NOT NULL
) WITHOUT ROWID
"""


_of_parents: list[Any] = []


class ModelCacheWarning(UserWarning):
    """The cache cannot be used; the run goes on without it."""


def model_cache(
    folder: str | os.PathLike[str] | None = None,
    *,
    max_age: float | timedelta | None = None,
    max_bytes: int | None = None,
) -> ModelCache:
    """Keep the answers of models within a ``with`` block, and give them again for the same request.

    A request is the same when the model, the messages, the parameters, the schema, the number of the trial and that of
    the vote are. Live targets are always asked. What came out of the cache says so: its source is ``"cache"``.

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
    problem
        Why it is not used, None when it is.
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
        self.folder = default_folder() if folder is None else Path(folder)
        seconds = max_age.total_seconds() if isinstance(max_age, timedelta) else max_age
        self._max_age = _positive("max_age", seconds, "seconds, or a positive timedelta,")
        self._max_bytes = _positive("max_bytes", max_bytes, "bytes")
        self.hits = 0
        self.misses = 0
        self.problem: str | None = None
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._closing: weakref.finalize[..., Any] | None = None
        self._process = 0
        self._writes = 0
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

    def same_as(self, other: ModelCache) -> bool:
        """Whether it is open, in the same place as `other` and with the same limits."""
        mine = (self.folder.resolve(), self._max_age, self._max_bytes)
        return self._open and mine == (other.folder.resolve(), other._max_age, other._max_bytes)

    def open(self) -> ModelCache:
        """Answer from now on."""
        self.hits = self.misses = 0
        self.problem = None
        self._open = True
        self._tried(self._connected)
        return self

    def close(self) -> None:
        """Answer no more, and let go of the file."""
        self._open = False
        if self._writes:
            self._tried(self._clean)
        with self._lock:
            self._disconnect()

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
        self._tried(lambda: self._connected().execute("DELETE FROM answers"))

    async def answer(self, asked: Asked, ask: Ask) -> Answer:
        """The answer to the same call that was kept; else what `ask` gives, which is kept."""
        key = self._key(asked)
        if key is None:
            return await ask()
        known = self._tried(lambda: self._get(key))
        with self._lock:
            self.hits += known is not None
            self.misses += known is None
        if known is not None:
            return known, "cache"
        found, source = await ask()
        self._keep(key, found)
        return found, source

    # --- what is kept ---

    def _key(self, asked: Asked) -> str | None:
        """The key of a call; None when nothing is kept of it: it is a target's, or there are secrets in it."""
        if asked.kind not in _KINDS or self.problem is not None:
            return None
        try:
            return None if without_secrets(asked.request)[1] else key_of(asked)
        except (TypeError, ValueError, RecursionError):  # no JSON data
            return None

    def _get(self, key: str) -> dict[str, Any] | None:
        row = self._connected().execute("SELECT answer, made FROM answers WHERE key = ?", (key,)).fetchone()
        now = time.time()
        if row is None or (self._max_age is not None and not 0 <= now - row[1] <= self._max_age):
            return None
        if self._max_bytes is not None:
            self._connected().execute("UPDATE answers SET used = ? WHERE key = ?", (now, key))
        return from_data(json.loads(row[0]))

    def _keep(self, key: str, found: Any) -> None:
        try:
            if without_secrets(found)[1]:
                return
            text = json.dumps(to_data(found), ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):  # no JSON data
            return
        now = time.time()
        row = (key, text, len(text.encode()), now, now)
        self._tried(lambda: self._connected().execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row))
        with self._lock:
            self._writes += 1
            much = self._writes % _WRITES_BETWEEN_CLEANINGS == 0
        if much:
            self._tried(self._clean)

    def _clean(self) -> None:
        """Drop what is too old, and what is too much."""
        if self._max_age is not None:
            self._connected().execute("DELETE FROM answers WHERE made < ?", (time.time() - self._max_age,))
        if self._max_bytes is not None:
            self._connected().execute(
                "DELETE FROM answers WHERE key IN (SELECT key FROM ("
                "SELECT key, SUM(size) OVER (ORDER BY used DESC, key) AS total FROM answers) WHERE total > ?)",
                (self._max_bytes,),
            )

    # --- the file ---

    def _tried(self, use: Callable[[], T]) -> T | None:
        """What `use` gives; None when the file fails, which is told once, and never ends a run."""
        if self.problem is not None:
            return None
        with self._lock:
            try:
                return use()
            except sqlite3.OperationalError as error:
                if "locked" in str(error) or "busy" in str(error):  # another process writes for seconds: without it
                    return None
                self._give_up(error)
            except (sqlite3.Error, OSError, ValueError, _NotOurs) as error:
                self._give_up(error)
        return None

    def _give_up(self, error: Exception) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._disconnect()
        self.problem = (
            f"the model cache {os.fspath(self.path)!r} cannot be used, and models are asked without it: {error}; move "
            "the file away, or name another folder"
        )
        _warn(self.problem)

    def _connected(self) -> sqlite3.Connection:
        """The connection of this process: one that was made before a fork is another process's."""
        if self._database is None or self._process != os.getpid():
            if self._closing is not None:  # SQLite forbids to close in a child what its parent has opened
                self._closing.detach()
                _of_parents.append(self._database)
            self.folder.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(
                self.path, timeout=_SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False
            )
            try:
                _prepare(database)
            except BaseException:
                database.close()
                raise
            self._database, self._process = database, os.getpid()
            self._closing = weakref.finalize(self, database.close)
        return self._database

    def _disconnect(self) -> None:
        closing, self._closing, self._database = self._closing, None, None
        if closing is not None:
            closing()

    def __repr__(self) -> str:
        return f"<ModelCache {os.fspath(self.path)!r}: {self.hits} hits, {self.misses} misses>"


class _NotOurs(Exception):
    """The file is another program's, or of another version."""


def _prepare(database: sqlite3.Connection) -> None:
    with _transaction(database):  # of two processes that make the file, one waits for the other
        application = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if application != _APPLICATION:
            if application or version or database.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
                raise _NotOurs("it is a database of another program")
            database.execute(_TABLE)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_VERSION}")
        elif version != _VERSION:
            raise _NotOurs(f"it is of version {version}, this version of giskard-checks has {_VERSION}")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection) -> Generator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


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
