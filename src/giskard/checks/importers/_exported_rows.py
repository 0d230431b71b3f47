"""Tables whose rows are records of another format: exports of tracers, data sets with preferences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._cells import are_messages, data_in, value_of
from giskard.checks.importers._columns import listed
from giskard.checks.importers._registry import format_named
from giskard.checks.importers._sheets import Row, Sheet
from giskard.checks.importers.base import BadRecord, Format, Reading, ReadOptions, Record, RecordFormat

__all__ = ["are_exported", "can_read", "format_of_rows", "record_in", "records_of", "refusal"]

# Columns that the exports of a tracer have, and tables that people make do not: without one of them, a table that has
# ids and times next to its questions and answers is one of questions and answers.
_TELLING: Final[dict[str, tuple[str, ...]]] = {
    "opentelemetry": ("attributes", "gen_ai.", "traceloop.", "openinference.", "llm.", "resourceSpans"),
    "langsmith": ("run_type", "feedback_source"),
    "langfuse": ("traceId", "trace_id", "dataType", "data_type", "bookmarked"),
}


def format_of_rows(rows: Sequence[dict[str, Any]]) -> Format | None:
    """The format that the first rows of a table are records of, by their columns; None for tables of turns."""
    for name, telling in _TELLING.items():
        told = [row for row in rows if any(column.startswith(telling) for column in row)]
        if told and any(map(format_named(name).detect, told)):
            return format_named(name)
    data_set = format_named("huggingface")
    return data_set if any(_is_of_data_set(row) and data_set.detect(row) for row in rows) else None


def are_exported(names: Sequence[str]) -> bool:
    """Whether columns alone tell an export of a tracer."""
    return format_of_rows([dict.fromkeys(names)]) is not None


def records_of(sheet: Sheet, path: str | None, reading: Reading, format: Format) -> Iterator[Record]:
    """The rows as records of a format: JSON in cells is read."""
    names = sheet.names
    for row in sheet.rows(lambda place, reason: reading.skip(Record(None, path, place), format.name, reason)):
        if any(value_of(cell) is not None for cell in row.cells):
            yield Record(record_in(names, row), path, row.place)


def record_in(names: Sequence[str], row: Row) -> dict[str, Any]:
    """A row as an object; empty cells are null in it."""
    return {name: data_in(value_of(cell)) for name, cell in zip(names, row.cells, strict=True)}


def can_read(format: Format, row: dict[str, Any], options: ReadOptions) -> bool:
    """Whether a row is a record of the format that was asked for."""
    if format.detect(row):
        return True
    if not isinstance(format, RecordFormat):
        return False
    try:  # what it leaves to others when nobody asks for it
        made = format.convert(row, {}, options)
        return isinstance(made, Trace) or bool(list(made))
    except Exception:  # whatever it is that it did not think of
        return False


def refusal(format: Format, names: Sequence[str]) -> BadRecord:
    """Why a table is not of the format that was asked for."""
    return BadRecord(
        f"the rows of this table are no records of the format {format.name!r}; leave out format=, and say with "
        f"columns= what the columns hold, if their names do not tell. The columns are: {listed(names)}"
    )


def _is_of_data_set(row: dict[str, Any]) -> bool:
    """Whether it has pairs of answers, or a prompt and a completion that are messages."""
    return {"chosen", "rejected"} <= row.keys() or (are_messages(row.get("completion")) and "prompt" in row)
