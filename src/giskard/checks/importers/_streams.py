"""Answers that came in pieces: server-sent events, and files that hold a piece a line."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._json import loads
from giskard.checks.importers._lenient import mapping
from giskard.checks.importers.base import Reading, Record, RecordFormat
from giskard.checks.utils.text import EVENT_LINE_END

__all__ = ["Piece", "StreamedFormat", "events_in"]

# So many answers may be under way at once; of more, the oldest is taken to be over.
_MOST_OPEN = 1000
# Where a logger puts a piece.
_WRAPPERS = ("data", "chunk", "event", "payload")
_NO_WRAPPER = frozenset(_WRAPPERS).isdisjoint


def events_in(text: str) -> list[Any] | None:
    """The data of the server-sent events in a text; None when it holds none.

    What is not JSON in them, such as ``[DONE]``, is left out.
    """
    events: list[Any] = []
    found = False
    data: list[str] = []
    for line in [*EVENT_LINE_END.split(text), ""]:
        if line.startswith("data:"):
            found = True
            data.append(line[5:].removeprefix(" "))
        elif not line.strip() and data:
            _add_event(events, "\n".join(data))
            data = []
    return events if found else None


def _add_event(events: list[Any], data: str) -> None:
    try:
        events.append(loads(data))
    except ValueError:  # some loggers leave out the empty lines between events
        for line in data.split("\n") if "\n" in data else ():
            _add_event(events, line)


@dataclass(slots=True)
class Piece:
    """What a record is a piece of.

    Parameters
    ----------
    key
        Of the answer; None when it goes on with the latest one.
    first, last
        Whether it begins an answer, or ends it.
    """

    key: str | None = None
    first: bool = False
    last: bool = False


class StreamedFormat(RecordFormat):
    """A format whose records may also be pieces of an answer: ``convert`` is given all pieces of one as a list."""

    @abstractmethod
    def piece(self, value: Mapping[str, Any]) -> Piece | None:
        """What an object is a piece of; None when it is no piece of this format."""

    def piece_in(self, value: Any) -> tuple[Any, Piece] | None:
        """The piece that `value` is, or that a logger put into it."""
        if not isinstance(value, dict):
            return None
        record = cast("dict[str, Any]", value)
        piece = self.piece(record)
        if piece is not None:
            return record, piece
        if _NO_WRAPPER(record):  # as most: millions are asked
            return None
        for name in _WRAPPERS:
            inner = mapping(record.get(name))
            piece = self.piece(inner)
            if piece is not None:
                return inner, piece
        return None

    def pieces_of(self, values: Any) -> list[Any] | None:
        """The pieces of an answer that is recorded as a list of them, or as the text of their events."""
        if isinstance(values, str):
            values = events_in(values)
        if not isinstance(values, list) or not values:
            return None
        found = [self.piece_in(value) for value in cast("list[Any]", values)]
        return [piece[0] for piece in found if piece is not None] or None

    def joined(self, records: Iterator[Record]) -> Iterator[Record]:
        """The records, with the pieces of each answer as one record that holds their list."""
        streams: dict[str, Record] = {}
        latest = ""
        begun = 0
        for record in records:
            found = self.piece_in(record.value)
            if found is None:
                yield record
                continue
            value, piece = found
            if piece.key is not None:
                latest = piece.key
            elif piece.first or not latest:
                if latest and latest[0] == "#":  # it has no end
                    yield streams.pop(latest)
                begun += 1
                latest = f"#{begun}"
            stream = streams.get(latest)
            if stream is None:
                stream = streams[latest] = Record([], record.path, record.line)
            stream.value.append(value)
            if piece.last:
                yield streams.pop(latest)
                latest = ""
            elif len(streams) > _MOST_OPEN:
                yield streams.pop(next(iter(streams)))
        yield from streams.values()

    def read(self, records: Iterator[Record], reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The traces of each record, and of the answers whose pieces are records."""
        return super().read(self.joined(records), reading)
