"""Tables of conversations: CSV and its kin, Parquet, and rows in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar, Final, cast

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._cells import LabelColumn, are_messages, data_in, transcript, value_of
from giskard.checks.importers._columns import Columns, find_columns, names_in
from giskard.checks.importers._exported_rows import (
    are_exported,
    can_read,
    format_of_rows,
    record_in,
    records_of,
    refusal,
)
from giskard.checks.importers._rows import RowReader
from giskard.checks.importers._sheets import ParquetSheet, Row, Sheet, TextSheet, Unreadable, rewindable
from giskard.checks.importers.base import BadRecord, FileFormat, Format, Reading, Record

__all__ = ["Table"]

_PARQUET: Final = b"PAR1"
_PACKED: Final = b"PK\x03\x04"
_OLD_EXCEL: Final = b"\xd0\xcf\x11\xe0"
_SEPARATORS: Final = ",;\t|"
# How many rows are looked at to see what a column holds.
_SAMPLE: Final = 20


class Table(FileFormat):
    """A table with a row for each turn, for each message, or for each conversation.

    What the columns hold is guessed from their names, unless ``columns=`` says so: a mapping of roles (``input``,
    ``output``, ``messages``, ``role``, ``content``, ``system``, ``conversation``, ``turn``, ``context``, ``expected``,
    ``label``, ``metadata``) to the names of columns; None for a role that no column has.

    Notes
    -----
    - Rows with the same ``conversation`` make one trace, ordered by ``turn``; they need not stand together.  Memory
      holds the rows of the conversations of which some are still to come: one at a time where they do stand together.
      A file with such a column, or with labels, is read twice.  Rows in JSON are all held if they have that column.
    - Text is read as UTF-8, as its byte order mark says, or else as Windows-1252, which the report then notes.
    - An empty cell is a missing value: no answer, and not an empty one.  The turn is then incomplete.
    - ``label`` columns go to ``metadata["labels"]`` under their names.  If all labels of a column are of one pair such
      as pass and fail, yes and no, or 1 and 0, they are read as booleans; if all are numbers, as numbers.
    - ``expected`` and ``context`` go to the metadata of the turn.  Where a row is a whole conversation without a column
      for its last answer, these and the labels go to the annotations.
    - Figures with a name that is known (latency, cost, tokens, model) stand in the metadata of the turn as those of any
      other format do.  Other columns are kept under ``metadata["columns"]``, where judges do not look: they may hold
      what somebody thought of the answer.  Those that ``columns={"metadata": [...]}`` names stand in the metadata under
      their own names, and no others are kept then.  Of a row that is a whole conversation, other columns go to the
      annotations under their own names.  In text they are texts, but for JSON objects and lists.
    - A table that Langfuse, LangSmith or Phoenix exported is read as those formats are, and rows of preferences as
      ``huggingface``; unless ``columns`` says what it holds, or ``format="table"``.
    """

    name = "table"
    aliases: ClassVar[tuple[str, ...]] = ("csv", "tsv", "parquet")
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".tab", ".psv", ".parquet", ".pq", ".xlsx", ".xls", ".ods")

    def detect(self, value: Any) -> bool:
        """Whether it is an object of which a question and an answer can be told by their names."""
        if not isinstance(value, dict):
            return False
        row = cast("dict[str, Any]", value)
        try:
            columns = find_columns(list(row), {}, lambda name: _is_talk(row[name]))
        except BadRecord:
            return False
        return all(
            name is not None and isinstance(row[name], str | None) for name in (columns.input, columns.output)
        ) and isinstance(row[cast("str", columns.input)], str)

    def recognises(self, head: bytes) -> bool:
        """Whether it begins as Parquet, a spreadsheet, or with a line that names a question and an answer."""
        if head.startswith((_PARQUET, _PACKED, _OLD_EXCEL)):
            return True
        first = head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \r\n").splitlines()[:1]
        if not first or first[0].startswith((b"{", b"[")):
            return False
        line = first[0].decode("utf-8", "replace")
        if line.lower().startswith(("sep=", '"sep=')):
            return True
        headers = [[cell.strip().strip('"') for cell in line.split(separator)] for separator in _SEPARATORS]
        return any(self.detect(dict.fromkeys(names, "")) or are_exported(names) for names in headers)

    def read_file(self, stream: BinaryIO, path: str | None, reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The traces of a table, as a stream."""
        return (trace for trace, _ in self.read_as(None, stream, path, reading))

    def read_as(
        self, format: Format | None, stream: BinaryIO, path: str | None, reading: Reading
    ) -> Iterator[tuple[Trace[Any, Any], str]]:
        """The traces of a table, whose rows may be records of another format."""
        with rewindable(stream) as table:
            start = table.tell()
            head = table.read(4)
            table.seek(start)
            if head in (_PACKED, _OLD_EXCEL):
                raise BadRecord("spreadsheets cannot be read as they are: save the sheet as CSV (UTF-8)")
            if head != _PARQUET:
                sheet = TextSheet(table, reading.options.columns, reading.options.encoding)
                if sheet.is_guessed:
                    where = "the table" if path is None else path
                    reading.report.note(
                        f"{where} is not UTF-8: it was read as {sheet.encoding}; encoding= says otherwise"
                    )
                yield from _traces(sheet, path, reading, format)
                return
            with rewindable(table, at_random=True) as parquet:
                yield from _traces(ParquetSheet(parquet), path, reading, format)

    def read(self, records: Iterator[Record], reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The traces of rows in JSON, each an object with a value for each column."""
        readers: dict[tuple[str, ...], RowReader] = {}
        groups: dict[tuple[Any, Any], tuple[RowReader, list[tuple[Record, Row]]]] = {}
        for record in records:
            try:
                reader, row = _row_of(record, readers, reading)
                reader.check(row)
            except (BadRecord, ConfigurationError) as problem:
                if isinstance(problem, ConfigurationError) and not readers:  # else the columns are named rightly
                    raise
                reading.skip(record, self.name, str(problem))
                continue
            conversation = reader.conversation(row)
            if conversation is None and reader.columns.role is None:
                yield from _made(reader, [row], record, reading, reading.source(record, self.name))
            else:
                groups.setdefault((record.path, conversation), (reader, []))[1].append((record, row))
        for reader, members in groups.values():
            record = members[0][0]
            source = reading.source(record, self.name)
            yield from _made(reader, [row for _, row in members], record, reading, source)


def _traces(
    sheet: Sheet, path: str | None, reading: Reading, asked: Format | None
) -> Iterator[tuple[Trace[Any, Any], str]]:
    """The traces of a sheet, each with the name of the format that its rows are of."""
    format = _format_of(sheet, reading, asked)
    if format is None:
        for trace in _Reading(sheet, path, reading).traces():
            yield trace, Table.name
        return
    for trace in format.read(records_of(sheet, path, reading, format), reading):
        yield trace, format.name


def _format_of(sheet: Sheet, reading: Reading, asked: Format | None) -> Format | None:
    """The format that the rows of a sheet are records of; None for a table of its own."""
    if (asked is None and reading.options.columns) or (asked is not None and asked.name == Table.name):
        return None
    sample = [record_in(sheet.names, row) for row in sheet.first_rows(_SAMPLE)]
    if asked is None:
        return format_of_rows(sample)
    if sample and not any(can_read(asked, row, reading.options) for row in sample):
        raise refusal(asked, sheet.names)
    return asked


class _Reading:
    """One table that is read: what its columns hold, what its labels mean, and where its conversations end."""

    def __init__(self, sheet: Sheet, path: str | None, reading: Reading) -> None:
        self._sheet = sheet
        self._path = path
        self._reading = reading
        self._sample: dict[str, list[Any]] | None = None
        options = reading.options
        columns = find_columns(sheet.names, options.columns, self._holds_talk)
        labels = {name: LabelColumn() for name in columns.label}
        self._reader = RowReader(sheet.names, columns, labels, options)
        self._last_of = self._survey(columns, labels) if labels or columns.conversation else {}

    def traces(self) -> Iterator[Trace[Any, Any]]:
        """The traces, each as soon as the last row of its conversation is read."""
        reader = self._reader
        is_one = reader.columns.role is not None and reader.columns.conversation is None
        groups: dict[str | None, list[Row]] = {}
        for number, row in self._rows(self._skip):
            try:
                reader.check(row)
            except BadRecord as problem:
                self._skip(row.place, str(problem))
            else:
                conversation = reader.conversation(row)
                if conversation is None and not is_one:
                    yield from self._made([row])
                    continue
                groups.setdefault(conversation, []).append(row)
            conversation = reader.conversation(row)
            if conversation in groups and self._last_of.get(conversation) == number:
                yield from self._made(groups.pop(conversation))
        for rows in groups.values():
            yield from self._made(rows)

    def _survey(self, columns: Columns, labels: dict[str, LabelColumn]) -> dict[str | None, int]:
        """Read all rows once: to know what the labels mean, and which row is the last one of a conversation."""
        last_of: dict[str | None, int] = {}
        only = [*columns.label, *((columns.conversation,) if columns.conversation else ())]
        for number, row in self._rows(only=only):
            if columns.conversation:
                last_of[self._reader.conversation(row)] = number
            for name, label in self._reader.label_cells(row).items():
                labels[name].learn(label)
        return last_of

    def _rows(self, unreadable: Unreadable | None = None, only: list[str] | None = None) -> Iterator[tuple[int, Row]]:
        """The rows that are not blank, numbered alike each time."""
        for number, row in enumerate(self._sheet.rows(unreadable, only)):
            if only is not None or not self._reader.is_blank(row):
                yield number, row

    def _made(self, rows: list[Row]) -> Iterator[Trace[Any, Any]]:
        source: dict[str, Any] = {**self._reading.source(Record(None, self._path), Table.name)}
        source[self._sheet.place] = rows[0].place
        return _made(self._reader, rows, Record(None, self._path, rows[0].place), self._reading, source)

    def _skip(self, place: int, reason: str) -> None:
        self._reading.skip(Record(None, self._path, place), Table.name, reason)

    def _holds_talk(self, name: str) -> bool:
        if self._sample is None:
            rows = self._sheet.first_rows(_SAMPLE)
            names = self._sheet.names
            self._sample = {column: [row.cells[at] for row in rows] for at, column in enumerate(names)}
        cells = [cell for cell in map(value_of, self._sample[name]) if cell is not None]
        return bool(cells) and all(map(_is_talk, cells))


def _made(
    reader: RowReader, rows: list[Row], record: Record, reading: Reading, source: dict[str, Any]
) -> Iterator[Trace[Any, Any]]:
    """The traces of the rows of a conversation, or nothing and a note why."""
    try:
        traces = list(reader.traces(rows, source))
    except Exception as error:  # the others are read all the same
        reading.failed(record, Table, error)
    else:
        yield from traces


def _row_of(record: Record, readers: dict[tuple[str, ...], RowReader], reading: Reading) -> tuple[RowReader, Row]:
    """A record as a row, and the reader of rows that have its columns."""
    value: Any = record.value
    if not isinstance(value, dict):
        raise BadRecord(f"expected an object with a value for each column, got {type(value).__name__}")
    value = cast("dict[str, Any]", value)
    # In JSON, what is missing is often left out.
    named = [name for name in names_in(reading.options.columns) if name not in value]
    if any(name in value for name in names_in(reading.options.columns)):
        value = {**value, **dict.fromkeys(named)}
    names = tuple(value)
    reader = readers.get(names)
    if reader is None:
        columns = find_columns(names, reading.options.columns, lambda name: _is_talk(value[name]))
        reader = readers[names] = RowReader(names, columns, {}, reading.options)
    return reader, Row(list(value.values()), record.line or 0)


def _is_talk(cell: Any) -> bool:
    """Whether a cell holds a whole conversation."""
    found = data_in(value_of(cell))
    if isinstance(found, str):
        return transcript(found) is not None
    if isinstance(found, dict):
        return any(map(are_messages, cast("dict[str, Any]", found).values()))
    return are_messages(found)
