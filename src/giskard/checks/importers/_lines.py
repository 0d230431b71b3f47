"""The JSON values of a file, line by line as long as each line is one: most files of recordings are of that kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from pydantic_core import from_json

from giskard.checks.importers import _values
from giskard.checks.importers._sources import READ_ERRORS
from giskard.checks.importers._text import PieceByPiece
from giskard.checks.importers._values import Entry, Value, values_of

__all__ = ["values_in"]


def values_in(file: BinaryIO, encoding: str | None, is_record: Callable[[Any], bool]) -> Iterator[Entry]:
    """The values that stand one after the other in a file.

    From the first line on that is no value by itself, the file is read piece by piece.

    Parameters
    ----------
    encoding
        Of the text; None for UTF-8, or what its first bytes say.
    is_record
        Whether an object is a record as a whole; asked with the beginning of a long one.
    """
    line = 0
    data, problem = b"", None
    while encoding is None:
        line += 1
        data, problem = _line(file)
        try:
            value = from_json(data)
        except (ValueError, TypeError):
            if not data:  # the end, or what cannot be read: that is told below
                break
            if data.isspace() and data.endswith(b"\n"):
                continue
            break
        yield Value(value, line)
    yield from values_of(PieceByPiece(_Behind(data, problem, file), encoding, line=max(line, 1)), is_record)


def _line(file: BinaryIO) -> tuple[bytes, BaseException | None]:
    """The next line, a part of it when it is long; or nothing, and why it cannot be read."""
    try:
        return file.readline(_values.LONG_LIST), None
    except READ_ERRORS as error:
        return b"", error


class _Behind:
    """A file before which stands what was read of it already, or what came of reading it."""

    __slots__ = ("_data", "_problem", "_read")

    def __init__(self, data: bytes, problem: BaseException | None, file: BinaryIO) -> None:
        self._data = data
        self._problem = problem
        self._read: Callable[[int], bytes] = getattr(file, "read1", file.read)

    def read(self, size: int) -> bytes:
        """At most `size` bytes."""
        if self._problem is not None:
            raise self._problem
        if self._data:
            data, self._data = self._data, b""
            return data
        return self._read(size)
