"""Each record to the format that reads it; what one of them does wrong does not stop the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, cast

from giskard.checks.core.exceptions import ConfigurationError, MissingExtraError
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._detection import shape_of
from giskard.checks.importers._failures import told
from giskard.checks.importers._records import Found
from giskard.checks.importers._values import Unread
from giskard.checks.importers.base import Format, Reading, Record, RecordFormat

__all__ = ["Router"]

Made = tuple[Trace[Any, Any], str]

# So many records of another kind are read together while a format that groups its own is at work.
_TOGETHER = 1_000


class Router:
    """The traces of one file.

    Records that follow each other and are of one format, which reads each by itself, are one stream.  A format that
    groups records is given all of its records of the file as one stream: what stands between them is read meanwhile and
    comes out with its next trace; the records of a second such format wait until the first one is done.

    Parameters
    ----------
    found
        The records, and their formats.
    path
        Of the file.

    Attributes
    ----------
    recognised
        How many records were given to a format.
    strange
        The first values that no format recognised.
    """

    def __init__(self, found: Iterator[Found | Unread], path: str | None, reading: Reading) -> None:
        self._found = found
        self._path = path
        self._reading = reading
        self._ahead: tuple[Record, Format] | None = None
        self._waiting: deque[Made] = deque()
        self._aside: dict[str, tuple[Format, list[Record]]] = {}
        self.recognised = 0
        self.strange: list[Any] = []
        self.unread: Unread | None = None

    def __iter__(self) -> Iterator[Made]:
        while (following := self._next()) is not None:
            record, format = following
            self._ahead = following
            if isinstance(format, RecordFormat):
                yield from self._guarded(format, self._run(format))
            else:
                self._ahead = None
                yield from self._grouped(record, format)
        for format, records in list(self._aside.values()):
            yield from self._guarded(format, iter(records))

    def _next(self) -> tuple[Record, Format] | None:
        """The next record whose format is known; what else there is goes into the report."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            return ahead
        for found in self._found:
            if isinstance(found, Unread):
                self._note(found)
                continue
            record, format = found
            if format is not None:
                self.recognised += 1
                return record, format
            if len(self.strange) < 3:
                self.strange.append(record.value)
            self._reading.skip(record, None, f"of no known format: {shape_of(record.value)}")
        return None

    def _note(self, unread: Unread) -> None:
        self.unread = self.unread or unread
        more = "" if unread.last is None or unread.last <= unread.line else f" (up to line {unread.last})"
        self._reading.skip(Record(None, self._path, unread.line), None, unread.reason + more)

    def _run(self, format: Format) -> Iterator[Record]:
        """The next records, as long as they are of this format."""
        while (following := self._next()) is not None:
            if following[1] is not format:
                self._ahead = following
                return
            yield following[0]

    def _grouped(self, first: Record, format: Format) -> Iterator[Made]:
        """The traces of a format that groups its records, which are those of the whole file."""
        for trace in self._guarded(format, self._all_of(first, format)):
            yield trace
            while self._waiting:
                yield self._waiting.popleft()
        yield from self._all_waiting()

    def _all_waiting(self) -> Iterator[Made]:
        while self._waiting:
            yield self._waiting.popleft()

    def _all_of(self, first: Record, format: Format) -> Iterator[Record]:
        yield first
        others: list[Record] = []
        other: Format | None = None
        while (following := self._next()) is not None:
            record, kind = following
            if kind is format:
                self._read_meanwhile(other, others)
                other, others = None, []
                yield record
            elif not isinstance(kind, RecordFormat):
                self._aside.setdefault(kind.name, (kind, []))[1].append(record)
            else:
                if kind is not other or len(others) >= _TOGETHER:
                    self._read_meanwhile(other, others)
                    other, others = kind, []
                others.append(record)
        self._read_meanwhile(other, others)

    def _read_meanwhile(self, format: Format | None, records: list[Record]) -> None:
        if format is not None and records:
            self._waiting.extend(self._guarded(format, iter(records)))

    def _guarded(self, format: Format, records: Iterator[Record]) -> Iterator[Made]:
        """The traces that a format makes of records; when it fails, the rest of them is skipped."""
        records = _Watched(records)
        name = format.name
        try:
            for trace in format.read(records, self._reading):
                if not isinstance(cast("Any", trace), Trace):
                    raise TypeError(f"read gave {type(trace).__name__}, expected traces")
                yield trace, name
        except (ConfigurationError, MissingExtraError):  # of the call, and not of the file
            raise
        except Exception as error:
            if records.failed:  # what the format did not do is not for it to answer
                raise
            where = records.last or Record(None, self._path)
            self._reading.skip(where, name, told(error, format))
        else:
            return
        if not isinstance(format, RecordFormat):
            left = sum(1 for _ in records)
            if left:
                self._reading.skip(where, name, f"its {left} further records were not read because of that")


class _Watched(Iterator[Record]):
    """Records, of which the last one is remembered."""

    __slots__ = ("_next", "failed", "last")

    def __init__(self, records: Iterator[Record]) -> None:
        self._next = records.__next__
        self.last: Record | None = None
        self.failed = False

    def __next__(self) -> Record:
        try:
            record = self.last = self._next()
        except StopIteration:
            raise
        except BaseException:
            self.failed = True
            raise
        return record
