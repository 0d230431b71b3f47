"""The cache on disk: a database of SQLite, which several processes write.

A thread at a time uses it.  What fails is told by `CacheFile.problem`, and never ends a run.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from giskard.checks.llm._json_text import from_data

__all__ = ["CacheFile", "Row"]

T = TypeVar("T")

_VERSION = 1
_APPLICATION = 0x67636B61  # "gcka": whose file it is
_SECONDS_TO_WAIT = 1.0
_WRITES_BETWEEN_CLEANINGS = 200
_MOST_UNWRITTEN = 1_000

_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, answer TEXT NOT NULL, size INTEGER NOT NULL, made REAL NOT NULL, used REAL NOT NULL
) WITHOUT ROWID
"""

Row = tuple[str, str, int, float, float]
"""Key, answer as JSON, its size, when it was made, when it was used."""

_of_parents: list[Any] = []


class CacheFile:
    """The answers that are kept.

    Parameters
    ----------
    path
        The file.
    max_age, max_bytes
        What is older, or more, is dropped.

    Attributes
    ----------
    problem
        Why it is not used, None when it is.
    """

    def __init__(self, path: Path, max_age: float | None, max_bytes: int | None) -> None:
        self.path = path
        self.problem: str | None = None
        self._max_age = max_age
        self._max_bytes = max_bytes
        self._unwritten: deque[Row] = deque(maxlen=_MOST_UNWRITTEN)
        self._database: sqlite3.Connection | None = None
        self._closing: weakref.finalize[..., Any] | None = None
        self._process = 0
        self._writes = 0
        self._is_open = False
        self._waits = True
        self._patience = self._patience_set = 0.0

    def open(self) -> None:
        """Make it, when nothing is in the way."""
        self.problem = None
        self._is_open = True
        self._tried(self._connected, wait=False)

    def close(self) -> None:
        """Write what is not written yet, and let go of the file."""
        self._waits = True
        self.write()
        if self._writes:
            self._tried(self._clean)
        self._is_open = False
        self._disconnect()

    def clear(self) -> None:
        """Forget all answers."""
        self._unwritten.clear()
        self._tried(lambda: self._connected().execute("DELETE FROM answers"))
        if not self._is_open:
            self._disconnect()

    def get(self, key: str) -> dict[str, Any] | None:
        """An answer; None when there is none that is young enough, or the file cannot be read now."""
        if not self._is_open:
            return None
        unwritten = next((row for row in reversed(list(self._unwritten)) if row[0] == key), None)
        if unwritten is not None:
            return from_data(json.loads(unwritten[1]))
        return self._tried(lambda: self._get(key), wait=False)

    def add(self, row: Row) -> None:
        """Have it written by the next `write`; any thread may do so at any time."""
        self._unwritten.append(row)

    def write(self) -> None:
        """Write what was added; while another process holds the file, it stays for the next time."""
        batch = [self._unwritten.popleft() for _ in range(len(self._unwritten))]
        if not batch or not self._is_open:
            return
        if self._tried(lambda: self._write(batch)) is None:
            self._unwritten.extendleft(reversed(batch))
            return
        before, self._writes = self._writes, self._writes + len(batch)
        if before // _WRITES_BETWEEN_CLEANINGS < self._writes // _WRITES_BETWEEN_CLEANINGS:
            self._tried(self._clean)

    def wait_no_more(self) -> None:
        """Do not wait for another process until something could be written."""
        self._waits = False

    # --- what is in it ---

    def _get(self, key: str) -> dict[str, Any] | None:
        row = self._connected().execute("SELECT answer, made FROM answers WHERE key = ?", (key,)).fetchone()
        now = time.time()
        if row is None or (self._max_age is not None and not 0 <= now - row[1] <= self._max_age):
            return None
        if self._max_bytes is not None:
            with contextlib.suppress(sqlite3.OperationalError):  # another process writes: it counts as older than it is
                self._connected().execute("UPDATE answers SET used = ? WHERE key = ?", (now, key))
        return from_data(json.loads(row[0]))

    def _write(self, batch: list[Row]) -> bool:
        database = self._connected()
        with _transaction(database):
            database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", batch)
        return True

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

    # --- the connection ---

    def _tried(self, use: Callable[[], T], *, wait: bool = True) -> T | None:
        """What `use` gives; None when it fails.

        Another process writes for milliseconds; for one that does not let go we wait once, until something could be
        written again.
        """
        if self.problem is not None:
            return None
        self._patience = _SECONDS_TO_WAIT if wait and self._waits else 0.0
        try:
            found = use()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "busy" not in str(error):
                self._give_up(error)
            elif wait:
                self._waits = False
            return None
        except (sqlite3.Error, OSError, ValueError, _NotOurs) as error:
            self._give_up(error)
            return None
        self._waits = self._waits or wait
        return found

    def _give_up(self, error: Exception) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._disconnect()
        self.problem = (
            f"the model cache {os.fspath(self.path)!r} cannot be used, and models are asked without it: {error}; move "
            "the file away, or name another folder"
        )

    def _connected(self) -> sqlite3.Connection:
        """The connection of this process: one that was made before a fork is another process's."""
        if self._database is None or self._process != os.getpid():
            self._disconnect()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=self._patience, isolation_level=None, check_same_thread=False)
            try:
                _prepare(database)
            except BaseException:
                database.close()
                raise
            self._database, self._process, self._patience_set = database, os.getpid(), self._patience
            self._closing = weakref.finalize(self, _close, database, os.getpid())
        elif self._patience != self._patience_set:
            self._database.execute(f"PRAGMA busy_timeout = {int(1_000 * self._patience)}")
            self._patience_set = self._patience
        return self._database

    def _disconnect(self) -> None:
        closing, self._closing, self._database = self._closing, None, None
        if closing is not None:
            closing()


class _NotOurs(Exception):
    """The file is another program's, or of another version."""


def _close(database: sqlite3.Connection, process: int) -> None:
    """Close it; SQLite forbids to do so in a child of the process that opened it."""
    if process == os.getpid():
        database.close()
    else:
        _of_parents.append(database)


def _prepare(database: sqlite3.Connection) -> None:
    if _whose(database) != (_APPLICATION, _VERSION):
        with _transaction(database):  # of two processes that make the file, one waits for the other
            _make(database)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")


def _make(database: sqlite3.Connection) -> None:
    application, version = _whose(database)
    if application == _APPLICATION and version != _VERSION:
        raise _NotOurs(f"it is of version {version}, this version of giskard-checks has {_VERSION}")
    if application != _APPLICATION:
        if application or version or database.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
            raise _NotOurs("it is a database of another program")
        database.execute(_TABLE)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {_VERSION}")


def _whose(database: sqlite3.Connection) -> tuple[int, int]:
    """Whose file it is, and of which version."""
    application = database.execute("PRAGMA application_id").fetchone()[0]
    return application, database.execute("PRAGMA user_version").fetchone()[0]


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection) -> Generator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
