"""Tables as rows of cells: text with separators, Parquet."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, Final, NamedTuple, cast

from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.importers._columns import known_names
from giskard.checks.importers._sources import READ_ERRORS
from giskard.checks.importers.base import BadRecord

__all__ = ["ParquetSheet", "Row", "Sheet", "TextSheet", "Unreadable", "rewindable"]

Unreadable = Callable[[int, str], None]
"""Takes the place of a row that cannot be read, and the reason."""

_IN_MEMORY: Final = 16 * 1024 * 1024
_HEAD: Final = 64 * 1024


class Row(NamedTuple):
    """The cells of a row, in the order of the columns, and where it begins."""

    cells: Sequence[Any]
    place: int


class Sheet(ABC):
    """A table that can be read more than once.

    Parameters
    ----------
    names
        Of its columns, no two alike.
    place
        What the place of a row counts: ``line`` or ``row``.
    """

    names: list[str]
    place: str

    @abstractmethod
    def rows(self, unreadable: Unreadable | None = None, only: Sequence[str] | None = None) -> Iterator[Row]:
        """The rows from the first on, as a stream.

        Parameters
        ----------
        only
            The columns that are asked for: the cells of others may be None.
        """

    def first_rows(self, count: int) -> list[Row]:
        """The first few rows."""
        rows = cast("Generator[Row]", self.rows())
        with contextlib.closing(rows):
            return list(islice(rows, count))


def rewindable(stream: BinaryIO, at_random: bool = False) -> contextlib.AbstractContextManager[BinaryIO]:
    """`stream`, or a copy of it in memory or a temporary file: one that can be read again from its start.

    Parameters
    ----------
    at_random
        Whether it is read here and there, which costs dear in one that is unpacked on the way.
    """
    packed: Any = stream.fileobj if isinstance(stream, gzip.GzipFile) else None
    # What is packed says that it is seekable, whatever it lies in.
    if not stream.seekable() or (packed is not None and (at_random or not packed.seekable())):
        return _copied(stream)
    return contextlib.nullcontext(stream)


@contextlib.contextmanager
def _copied(stream: BinaryIO) -> Generator[BinaryIO]:
    with SpooledTemporaryFile[bytes](max_size=_IN_MEMORY) as copy:
        with contextlib.suppress(*READ_ERRORS):  # what there is before that can be read
            while chunk := stream.read(1024 * 1024):
                copy.write(chunk)
        copy.seek(0)
        yield cast("BinaryIO", copy)


def _unlike(names: Sequence[str]) -> list[str]:
    """The names of columns, those that are missing or there twice told apart."""
    found: list[str] = []
    for position, given in enumerate(names, 1):
        name = base = given.strip() or f"column_{position}"
        count = 1
        while name in found:
            count += 1
            name = f"{base}_{count}"
        found.append(name)
    return found


# --- text with separators ----------------------------------------------------------------

_SEPARATORS: Final = (",", ";", "\t", "|")
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A cell with more characters is a quote that was never closed.
_LONGEST_CELL: Final = 64 * 1024 * 1024
_FALLBACK: Final = "cp1252"


class TextSheet(Sheet):
    """A table as text: CSV, TSV, or with semicolons or bars between the cells.

    Parameters
    ----------
    stream
        Seekable; it stands at the start of the table.
    wanted
        The columns that were named: a header in which they are is cut rightly.
    encoding
        Of a text that does not say it itself; None for UTF-8, and what is likely where it is not that.

    Attributes
    ----------
    is_guessed
        Whether it is read in an encoding that is only likely.

    Raises
    ------
    BadRecord
        When it has no header.
    """

    place = "line"

    def __init__(self, stream: BinaryIO, wanted: Mapping[str, Any], encoding: str | None = None) -> None:
        self._stream = stream
        self._start = stream.tell()
        self.encoding, self.is_guessed = _encoding(stream, encoding)
        with self._opened() as text:
            head = text.read(_HEAD)
        self._leading, self.separator = _separator(head, wanted)
        problems: list[str] = []
        header = next(self._records(lambda _, reason: problems.append(reason)), None)
        if header is None:
            raise BadRecord((problems or ["the table is empty: its first line must name the columns"])[0])
        self.names = _unlike(header.cells)

    def rows(self, unreadable: Unreadable | None = None, only: Sequence[str] | None = None) -> Iterator[Row]:
        """The rows; those that have more cells than the header, or less, are unreadable."""
        width = len(self.names)
        with contextlib.closing(self._records(unreadable)) as records:
            next(records, None)
            for row in records:
                cells = row.cells
                if len(cells) > width and not any(cells[width:]):  # spreadsheets leave empty ones
                    row = Row(cells[:width], row.place)  # noqa: PLW2901
                if len(row.cells) == width:
                    yield row
                elif unreadable is not None:
                    unreadable(row.place, _ragged(row.cells, width))

    def _records(self, unreadable: Unreadable | None = None) -> Generator[Row]:
        """The header and all the rows that are not blank."""
        with self._opened() as text:
            for _ in range(self._leading):
                text.readline()
            ended: list[bool] = []
            reader = csv.reader(chain(text, _noting(ended)), delimiter=self.separator)
            done = False
            while not done:
                batch, done = _batch(reader, self._leading, ended, unreadable)
                yield from batch

    @contextlib.contextmanager
    def _opened(self) -> Generator[io.TextIOWrapper]:
        self._stream.seek(self._start)
        text = io.TextIOWrapper(self._stream, self.encoding, errors="replace", newline="")
        try:
            yield text
        finally:
            with contextlib.suppress(ValueError):  # whoever opened the stream has closed it
                text.detach()


def _noting(ended: list[bool]) -> Iterator[str]:
    """No more lines; but note that they were asked for."""
    ended.append(True)
    yield from ()


def _batch(reader: Any, leading: int, ended: list[bool], unreadable: Unreadable | None) -> tuple[list[Row], bool]:
    """The next rows, and whether they are the last; cells may be huge, but only while these are read."""
    rows: list[Row] = []
    size = 0
    with _huge_cells():
        while len(rows) < 500 and size < 1_000_000:
            place = leading + reader.line_num + 1
            try:
                cells: list[str] | None = next(reader, None)
            except csv.Error as error:
                if unreadable is not None:
                    unreadable(place, f"{error}; is a quote left open?")
                continue
            except READ_ERRORS as error:
                if unreadable is not None:
                    unreadable(place, f"the rest of the file could not be read ({error})")
                return rows, True
            if cells is None:
                return rows, True
            if ended:  # a row that is whole is given before another line is asked for
                if unreadable is not None:
                    last = leading + reader.line_num
                    unreadable(
                        _line_of_quote(cells[-1], last), f"a quote is left open: it goes on to line {last}, the last"
                    )
                return rows, True
            if cells:
                rows.append(Row(cells, place))
                size += sum(map(len, cells))
    return rows, False


def _line_of_quote(cell: str, last: int) -> int:
    """The line on which a cell begins that ends with the line `last`."""
    feeds = cell.count("\n") + cell.count("\r") - cell.count("\r\n")
    return last - feeds + cell.endswith(("\n", "\r"))


def _ragged(cells: Sequence[Any], width: int) -> str:
    has = f"the row has {len(cells)} cell{'' if len(cells) == 1 else 's'}, the header {width}"
    is_long = any("\n" in cell for cell in cells)
    return f"{has}{'; is a quote left open?' if is_long else ''}"


class _HugeCells:
    """Raises the limit of the `csv` module, which is one for the whole process, while something is read with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0
        self._before = 0

    @contextlib.contextmanager
    def __call__(self) -> Generator[None]:
        with self._lock:
            if not self._readers:
                self._before = csv.field_size_limit(_LONGEST_CELL)
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                if not self._readers:
                    csv.field_size_limit(self._before)


_huge_cells = _HugeCells()


def _encoding(stream: BinaryIO, given: str | None) -> tuple[str, bool]:
    """The encoding of a text, and whether that is only likely."""
    start = stream.tell()
    head = stream.read(4096)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, False
    if given is not None:
        return given, False
    if len(head) >= 4 and (encoding := _without_mark(head)):
        return encoding, True
    stream.seek(start)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while chunk := stream.read(1024 * 1024):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return _FALLBACK, True
    except READ_ERRORS:  # which whoever reads the rows will meet again
        pass
    return "utf-8", False


def _without_mark(head: bytes) -> str | None:
    """UTF-16 that does not say so: every other byte of western text is zero."""
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        half = head[first::2]
        if half.count(0) > 0.7 * len(half) and not head[1 - first :: 2].count(0):
            return encoding
    return None


def _separator(head: str, wanted: Mapping[str, Any]) -> tuple[int, str]:
    """How many lines to leave out, and what stands between the cells: as Excel's first line says, else the header."""
    first, _, _ = head.partition("\n")
    said = first.strip().strip('"')
    if said.lower().startswith("sep=") and len(said) == 5:
        return 1, said[4]
    return 0, max(_SEPARATORS, key=lambda separator: _fitness(head, separator, wanted))


def _fitness(head: str, separator: str, wanted: Mapping[str, Any]) -> tuple[Any, ...]:
    """How well a separator fits: the header names what is known, and the rows are as wide as it."""
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
    rows: list[list[str]] = []
    with _huge_cells(), contextlib.suppress(csv.Error):
        rows.extend(row for row in islice(reader, 21) if row)
    if not rows:
        return (0, False, 0.0, 0)
    header, *others = rows
    if len(others) > 1:
        others.pop()  # which may be cut
    share = sum(len(row) == len(header) for row in others) / len(others) if others else 1.0
    names = [name.strip() for name in header]
    is_wide = len(header) > 1 and share > 0.5
    return (known_names(names, wanted), is_wide, 1.0 if is_wide else share, len(header))


# --- Parquet -----------------------------------------------------------------------------

_BATCH: Final = 256


class ParquetSheet(Sheet):
    """A table in Parquet; it is read in batches, so that memory does not grow with it.

    Raises
    ------
    BadRecord
        When it cannot be read as Parquet.
    MissingExtraError
        When the extra ``parquet`` is not installed.
    """

    place = "row"

    def __init__(self, stream: BinaryIO) -> None:
        try:
            self._file = _parquet_library().ParquetFile(stream, buffer_size=1024 * 1024)
            self._columns: list[str] = list(self._file.schema_arrow.names)
        except MissingExtraError:
            raise
        except Exception as error:
            raise BadRecord(f"the file cannot be read as Parquet: {error}") from None
        self.names = _unlike(self._columns)

    def rows(self, unreadable: Unreadable | None = None, only: Sequence[str] | None = None) -> Iterator[Row]:
        """The rows, counted from 1."""
        wanted = [name in only for name in self.names] if only is not None else [True] * len(self.names)
        asked = [column for column, is_wanted in zip(self._columns, wanted, strict=True) if is_wanted]
        place = 0
        try:
            for batch in self._file.iter_batches(batch_size=_BATCH, columns=asked, use_threads=False):
                columns = iter([_cells(batch.column(position)) for position in range(batch.num_columns)])
                nothing: list[Any] = [None] * batch.num_rows
                for cells in zip(*(next(columns, nothing) if has else nothing for has in wanted), strict=True):
                    place += 1
                    yield Row(cells, place)
        except Exception as error:
            if not type(error).__module__.startswith("pyarrow") and not isinstance(error, OSError | ValueError):
                raise
            if unreadable is not None:
                unreadable(place + 1, f"the file cannot be read from here on: {error}")


def _cells(column: Any) -> list[Any]:
    """The values of a column; those that Python has no value for are None, and maps are objects."""
    try:
        cells: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):  # a date before the year 1, a text that is no UTF-8
        cells = [_cell(value) for value in column]
    if str(column.type).startswith("map<"):
        return [None if pairs is None else {str(name): value for name, value in pairs} for pairs in cells]
    return cells


def _cell(value: Any) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError):
        if not str(value.type).startswith("timestamp[ns"):
            return None
    # Python's times have no nanoseconds.
    try:
        return value.cast("timestamp[us]", safe=False).as_py()
    except (ValueError, OverflowError):
        return None


def _parquet_library() -> Any:
    """The one door to the library: opened by the first table in Parquet, never by an import."""
    try:
        import pyarrow.parquet as library  # noqa: PLC0415  # pyright: ignore
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    return cast("Any", library)
