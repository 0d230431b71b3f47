"""What the rows of a table become: turns, messages, or whole conversations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from giskard.checks.core.interaction.interaction import Interaction, record
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import construct
from giskard.checks.importers._cells import (
    LabelColumn,
    are_messages,
    data_in,
    number_in,
    object_in,
    speaker,
    transcript,
    value_of,
)
from giskard.checks.importers._columns import Columns
from giskard.checks.importers._contents import without_markers
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._lenient import mapping
from giskard.checks.importers._messages import Message
from giskard.checks.importers._notes import CALLS, calls_in, noted
from giskard.checks.importers._registry import ranks
from giskard.checks.importers._sheets import Row
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat
from giskard.checks.utils.frozen import FrozenList, freeze_data

__all__ = ["RowReader"]


class RowReader:
    """Reads the rows of one table.

    Parameters
    ----------
    names
        Of its columns.
    labels
        What the labels of a column mean, by its name; those of others stay as they are.
    """

    def __init__(
        self, names: Sequence[str], columns: Columns, labels: Mapping[str, LabelColumn], options: ReadOptions
    ) -> None:
        self.columns = columns
        self._at = {name: position for position, name in enumerate(names)}
        self._labels = labels
        self._options = options

    # --- one row ----------------------------------------------------------------------

    def cell(self, row: Row, name: str | None) -> Any:
        """The cell of a column as plain data; None when it is empty, or no column has that role."""
        return None if name is None else value_of(row.cells[self._at[name]])

    def conversation(self, row: Row) -> str | None:
        """The conversation that a row belongs to."""
        name = self.cell(row, self.columns.conversation)
        return None if name is None else str(name)

    def is_blank(self, row: Row) -> bool:
        """Whether all its cells are empty: spreadsheets write such rows at their end."""
        return all(value_of(cell) is None for cell in row.cells)

    def label_cells(self, row: Row) -> dict[str, Any]:
        """The labels of a row as they are written, without those that are missing."""
        cells = ((name, self.cell(row, name)) for name in self.columns.label)
        return {name: cell for name, cell in cells if cell is not None}

    def check(self, row: Row) -> None:
        """See whether a row says something.

        Raises
        ------
        BadRecord
            When it does not.
        """
        columns = self.columns
        if columns.messages is not None:
            if self.cell(row, columns.messages) is None:
                raise BadRecord(f"the cell of {columns.messages!r} is empty")
        elif columns.role is not None:
            if speaker(self.cell(row, columns.role)) is None:
                name = self.cell(row, columns.role)
                raise BadRecord(f"the speaker {name!r} in {columns.role!r} is not known: user, assistant, system, tool")
        elif self.cell(row, columns.input) is None and self.cell(row, columns.output) is None:
            raise BadRecord(f"the cells of {columns.input!r} and {columns.output!r} are empty")

    # --- traces -----------------------------------------------------------------------

    def traces(self, rows: list[Row], source: dict[str, Any]) -> Iterable[Trace[Any, Any]]:
        """The traces of the rows of one conversation.

        Raises
        ------
        BadRecord
            When they hold none.
        """
        columns = self.columns
        rows = self._in_order(rows)
        annotations: dict[str, Any] = {"source": source}
        if (conversation := self.conversation(rows[0])) is not None:
            annotations["conversation_id"] = conversation
        prompts = (self.cell(row, columns.system) for row in rows)
        if (prompt := next((prompt for prompt in prompts if prompt is not None), None)) is not None:
            annotations["system_prompt"] = prompt
        if columns.role is not None:
            said = [self._message(row) for row in rows]
            return [to_trace(said, annotations, self._options, records_calls=CALLS in columns.metadata)]
        if columns.messages is not None:
            return [trace for row in rows for trace in self._talk(row, columns.messages, annotations)]
        if len(rows) == 1 and are_messages(object_in(self.cell(rows[0], columns.input))):
            return self._talk(rows[0], cast("str", columns.input), annotations)
        turns = [turn for row in rows for turn in self._turns(row)]
        if not turns:
            raise BadRecord("there is nothing in it but stop markers")
        return [_trace(turns, annotations)]

    def _in_order(self, rows: list[Row]) -> list[Row]:
        """The rows by their turn: as numbers, else as texts; in the order of the table when some say none."""
        name = self.columns.turn
        if name is None or len(rows) == 1:
            return rows
        turns = [self.cell(row, name) for row in rows]
        numbers = [number_in(turn.lstrip("0") or "0" if isinstance(turn, str) else turn) for turn in turns]
        if all(number is not None for number in numbers):
            keys: list[Any] = numbers
        elif all(isinstance(turn, str) for turn in turns):
            keys = turns
        else:
            return rows
        return [row for _, row in sorted(zip(keys, rows, strict=True), key=lambda pair: pair[0])]

    def _turns(self, row: Row) -> Iterable[Interaction]:
        """The turn of a row; none when its user only hangs up."""
        inputs = object_in(self.cell(row, self.columns.input))
        outputs = object_in(self.cell(row, self.columns.output))
        if self._options.stop_markers and inputs is not None:
            inputs, says_something = without_markers(inputs, self._options.stop_markers)
            if not says_something and outputs is None:
                return []
        metadata, calls = self._metadata(row)
        if calls:  # as they are for any other format
            turn = to_trace([Message("user", ""), Message("assistant", calls=calls)], {}, ReadOptions()).interactions[0]
            metadata[CALLS] = turn.metadata[CALLS]
        return [_turn(inputs, outputs, metadata)]

    def _message(self, row: Row) -> Message:
        metadata, calls = self._metadata(row)
        figures = {
            name: metadata.pop(name, None)
            for name in ("labels", "usage", "model", "finish_reason", "latency_ms", "ttft_ms", "cost_usd", "timestamp")
        }
        role = speaker(self.cell(row, self.columns.role))
        raw = metadata.pop("raw", None)
        return Message(
            role or "user",
            object_in(self.cell(row, self.columns.content)),
            calls=calls or [],
            metadata=metadata,
            raw=raw,
            **cast("Any", figures),
        )

    def _metadata(self, row: Row, of_turn: bool = True) -> tuple[dict[str, Any], Any]:
        """What a row says of its turn, or of its conversation, and the calls of tools in it."""
        columns = self.columns
        cells = {name: cell for name in columns.metadata if (cell := self.cell(row, name)) is not None}
        calls = calls_in(cells[CALLS]) if of_turn and CALLS in cells else None
        if calls:
            del cells[CALLS]
        metadata = noted(cells, of_turn, apart=of_turn and "metadata" not in self._options.columns)
        context = [cell for name in columns.context if (cell := data_in(self.cell(row, name))) is not None]
        if context:
            metadata["context"] = context[0] if len(columns.context) == 1 else context
        if (expected := object_in(self.cell(row, columns.expected))) is not None:
            metadata["expected"] = expected
        labels = {
            name: self._labels[name].read(cell) if name in self._labels else cell
            for name, cell in self.label_cells(row).items()
        }
        if labels:
            metadata["labels"] = labels
        if of_turn and self._options.keep_raw:
            metadata["raw"] = {name: row.cells[position] for name, position in self._at.items()}
        return metadata, calls

    # --- whole conversations ----------------------------------------------------------

    def _talk(self, row: Row, name: str, annotations: dict[str, Any]) -> list[Trace[Any, Any]]:
        """The conversation in a cell, and the answer to it where a column holds that.

        What else the row says is of the turn of that answer, else of the conversation.
        """
        output = object_in(self.cell(row, self.columns.output))
        metadata, _ = self._metadata(row, of_turn=output is not None)
        tools = data_in(self.cell(row, "tools")) if "tools" in self.columns.metadata else None
        if isinstance(tools, list):
            metadata.pop("tools", None)
            _leave_out(metadata, "columns", "tools")
        else:
            tools = None
        cell = data_in(self.cell(row, name))
        if isinstance(cell, str):
            said = transcript(cell)
            if said is None:
                raise BadRecord(f"the cell of {name!r} is neither a list of messages in JSON nor a transcript")
            found = [to_trace([*said, *_answer(output)], annotations, self._options, records_calls=False)]
        else:
            found = _converted(cell, output, tools, annotations, self._options)
        if output is None:
            return [_trace(trace.interactions, {**metadata, **trace.annotations, **annotations}) for trace in found]
        return [_with_last(trace, metadata, annotations) for trace in found]


def _leave_out(metadata: dict[str, Any], group: str, name: str) -> None:
    others = mapping(metadata.get(group))
    others.pop(name, None)
    if not others:
        metadata.pop(group, None)


def _answer(output: Any) -> list[Message]:
    return [] if output is None else [Message("assistant", output)]


def _converted(
    cell: Any, output: Any, tools: Any, annotations: dict[str, Any], options: ReadOptions
) -> list[Trace[Any, Any]]:
    """The traces of data in a cell, in whichever format it is."""
    value = _wrapped(cell, output, tools)
    for rank in ranks():
        for format in rank:
            if isinstance(format, RecordFormat) and format.detect(value):
                made = format.convert(value, annotations["source"], options)
                return [made] if isinstance(made, Trace) else list(made)
    raise BadRecord(f"the data in the cell is of no known format: {value!r:.100}")


def _wrapped(cell: Any, output: Any, tools: Any) -> Any:
    """Messages as a record of the format that they are in, and the answer to them among them."""
    if not isinstance(cell, list):
        return cell
    items = cast("list[Any]", cell)
    is_sharegpt = bool(items) and "from" in mapping(items[0])
    answer = {"from": "gpt", "value": output} if is_sharegpt else {"role": "assistant", "content": output}
    if output is not None and items[-1:] != [answer]:
        items = [*items, answer]
    if not is_sharegpt and "role" not in mapping(items[0] if items else None):
        return items
    wrapped = {"conversations" if is_sharegpt else "messages": items}
    return wrapped if tools is None else {**wrapped, "tools": tools}


def _turn(inputs: Any, outputs: Any, metadata: dict[str, Any]) -> Interaction:
    if outputs is None:
        metadata["incomplete"] = True
    return record(freeze_data(inputs), freeze_data(outputs), freeze_data(metadata))


def _trace(turns: Iterable[Interaction], annotations: Mapping[str, Any]) -> Trace[Any, Any]:
    return construct(Trace, {"interactions": FrozenList(turns), "annotations": freeze_data(dict(annotations))})


def _with_last(trace: Trace[Any, Any], metadata: dict[str, Any], annotations: dict[str, Any]) -> Trace[Any, Any]:
    """`trace`, and what is known of its last turn."""
    turns = list(trace.interactions)
    if turns:
        last = turns[-1]
        turns[-1] = record(last.inputs, last.outputs, {**last.metadata, **metadata})
    return _trace(turns, {**trace.annotations, **annotations})
