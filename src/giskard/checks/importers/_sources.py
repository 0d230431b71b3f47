"""Where recorded conversations lie: files, folders, globs, standard input, open files; packed or not."""

from __future__ import annotations

import glob
import gzip
import io
import os
import sys
import zlib
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, TypeAlias, cast

__all__ = ["DAMAGED", "JSON_SUFFIXES", "READ_ERRORS", "SPREADSHEETS", "PathLike", "Source", "find_sources", "opened"]

PathLike: TypeAlias = "str | os.PathLike[str]"

DAMAGED: tuple[type[Exception], ...] = (gzip.BadGzipFile, EOFError, zlib.error)
"""What reading a packed file may raise that is damaged or cut off."""

READ_ERRORS: tuple[type[Exception], ...] = (OSError, *DAMAGED)
"""What reading a file may raise."""

JSON_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".jsonlines", ".har", ".trace"})
SPREADSHEETS = frozenset({".xlsx", ".xls", ".ods"})
"""They are looked for in folders only to say that they have to be saved as something else."""

_STDIN = "<stdin>"
_SPECIAL = "a pipe, socket or device"
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read.

    Parameters
    ----------
    path
        How it is called in the report; None for an open file without a name.
    file
        When it is open already; then it is not closed.
    """

    path: str | None
    file: IO[Any] | None = None

    @property
    def suffix(self) -> str:
        """The end of its name, in lower case, without that of gzip."""
        stem, last = os.path.splitext((self.path or "").lower())
        return os.path.splitext(stem)[1] if last == ".gz" else last


def find_sources(
    given: PathLike | IO[Any] | Iterable[PathLike | IO[Any]],
    suffixes: Collection[str],
    left_out: Counter[str] | None = None,
) -> list[Source]:
    """The files that `given` stands for, each once.

    Parameters
    ----------
    given
        A file, a folder, a glob, ``"-"`` for standard input, an open file, or several of these.
    suffixes
        The kinds of files that are read in folders, beside those of JSON.
    left_out
        Takes how many files of each other kind there are in the folders.

    Raises
    ------
    FileNotFoundError
        When one of them is not there, or stands for no file.
    """
    found: list[Source] = []
    left_out = Counter() if left_out is None else left_out
    for item in _items(given):
        found += _expanded(item, JSON_SUFFIXES.union(suffixes), left_out)
    if not found:
        raise FileNotFoundError("no path was given: the list of paths is empty")
    once: dict[object, Source] = {}
    for source in found:
        once.setdefault(id(source.file) if source.file else os.path.realpath(source.path or ""), source)
    return list(once.values())


def _items(given: object) -> Iterator[Any]:
    if isinstance(given, (str, os.PathLike)) or hasattr(given, "read"):
        yield given
    elif isinstance(given, Iterable) and not isinstance(given, (bytes, bytearray, dict)):
        yield from cast("Iterable[Any]", given)
    else:
        raise _no_path(cast("Any", given))


def _no_path(given: object) -> TypeError:
    return TypeError(f"expected a path, an open file, or a list of these, got {type(given).__name__}: {given!r:.100}")


def _expanded(item: Any, suffixes: Collection[str], left_out: Counter[str]) -> list[Source]:
    if hasattr(item, "read"):
        name = getattr(item, "name", None)
        return [Source(name if isinstance(name, str) else None, item)]
    if not isinstance(item, (str, os.PathLike)):
        raise _no_path(item)
    path = os.fspath(cast("PathLike", item))
    if path == "-":
        return [Source(_STDIN, sys.stdin.buffer if hasattr(sys.stdin, "buffer") else sys.stdin)]
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        return _in_folder(path, suffixes, left_out)
    if os.path.exists(path):
        return [Source(path)]
    if glob.has_magic(path):
        return _matching(path, suffixes, left_out)
    folder = os.path.dirname(path) or "."
    where = "" if os.path.isdir(folder) else f": its folder {folder!r} does not exist either"
    raise FileNotFoundError(f"there is no file or folder {path!r}{where}; the current folder is {os.getcwd()!r}")


def _matching(pattern: str, suffixes: Collection[str], left_out: Counter[str]) -> list[Source]:
    found: list[Source] = []
    for path in sorted(glob.glob(pattern, recursive=True)):
        if _is_special(path):
            left_out[_SPECIAL] += 1
        elif not os.path.isdir(path):
            found.append(Source(path))
        elif "**" not in pattern:  # which has the files below already
            found += [Source(file) for file in _files(path, suffixes, left_out)]
    if not found:
        raise FileNotFoundError(
            f"no file matches {pattern!r}; the current folder is {os.getcwd()!r}, and ** stands for any folders"
        )
    return found


def _in_folder(folder: str, suffixes: Collection[str], left_out: Counter[str]) -> list[Source]:
    found = [Source(path) for path in _files(folder, suffixes, left_out)]
    if not found:
        known = ", ".join(sorted(set(suffixes) - SPREADSHEETS))
        raise FileNotFoundError(
            f"the folder {folder!r} holds no file of a known kind ({known}, each also with .gz); "
            "name the files themselves to read them whatever they are called"
        )
    return found


def _files(folder: str, suffixes: Collection[str], left_out: Counter[str]) -> list[str]:
    """The files below a folder that may hold conversations, in order; what is hidden is left out."""
    found: list[str] = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            if name.startswith("."):
                continue
            suffix = Source(name).suffix
            if suffix in suffixes and _is_special(os.path.join(root, name)):
                left_out[_SPECIAL] += 1
            elif suffix in suffixes:
                found.append(os.path.join(root, name))
            else:
                left_out[suffix or "without a suffix"] += 1
    return sorted(found)


def _is_special(path: str) -> bool:
    """Whether it is a pipe, a socket or a device: reading one that nobody meant may wait for ever."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextmanager
def opened(source: Source) -> Generator[BinaryIO]:
    """The bytes of a file, unpacked when it is gzip; text files are encoded again.

    Raises
    ------
    OSError
        When it cannot be opened.
    """
    if source.file is not None:
        yield _unpacked(_peekable(source.file))
        return
    with open(cast("str", source.path), "rb") as file:
        yield _unpacked(file)


def _peekable(file: Any) -> io.BufferedReader:
    if isinstance(file, io.BufferedReader):
        return cast("io.BufferedReader", file)
    return io.BufferedReader(_Pieces(file))


def _unpacked(file: io.BufferedReader) -> BinaryIO:
    if file.peek(2)[:2] != _GZIP:
        return file
    return cast("BinaryIO", gzip.GzipFile(fileobj=file, mode="rb"))


class _Pieces(io.RawIOBase):
    """An open file of the user's, text or bytes, as bytes; closing this leaves it open."""

    def __init__(self, file: IO[Any]) -> None:
        self._file = file
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._rest:
            piece: str | bytes = self._file.read(len(buffer))
            self._rest = piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else bytes(piece)
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)
