"""The conversations that the spans of a file make, whoever wrote them."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._span import Span
from giskard.checks.importers._span_history import in_told_order
from giskard.checks.importers._span_tree import Unit, units_of
from giskard.checks.importers._span_turns import Conversation
from giskard.checks.importers.base import Format, Reading, Record

__all__ = ["SpanFormat", "Spans"]

_UNRECORDED = "~"


class Spans:
    """Collects the spans of a load, in any order, and makes traces of them when all are there.

    Spans are grouped by trace; the root agent of each, or the outermost calls of models where there is none, gives a
    turn; the traces of one conversation are its turns, in the order of time.

    Parameters
    ----------
    format
        The name of the format that is read, for the report.
    """

    def __init__(self, format: str, reading: Reading) -> None:
        self._format = format
        self._reading = reading
        self._traces: dict[str, dict[str, Span]] = {}
        self._others: dict[tuple[str, str], list[Span]] = {}  # that have the id of one that is there
        self._labels: dict[tuple[str, str | None], dict[str, Any]] = {}
        self._of_conversations: dict[str, dict[str, Any]] = {}
        self._texts: dict[str, str] = {}
        self._own_ids: dict[str, str] = {}
        self._first: Record | None = None
        self.seen = 0

    def add(self, span: Span, record: Record) -> None:
        """One more span; one that is there already changes nothing, unless it says more.

        Another one that has its id is kept beside it, under an id of its own.
        """
        span.path, span.line = record.path, record.line
        if self._first is None:
            self._first = Record(None, record.path, record.line)
        self.seen += 1
        for message in (*span.inputs, *span.outputs):
            if type(message.content) is str:  # each call of a model repeats what was said before: keep it once
                message.content = self._texts.setdefault(message.content, message.content)
        spans = self._traces.setdefault(span.trace_id, {})
        other = spans.setdefault(span.span_id, span)
        if other is span:
            return
        if _told(span) > _told(other):
            spans[span.span_id], span = span, other
        if _digest(span) != _digest(spans[span.span_id]):  # which of them count is known when all are there
            self._others.setdefault((span.trace_id, span.span_id), []).append(span)

    def own_id(self, recorded: object) -> str:
        """An id for a span that was recorded without one; the same for the same span, and in the order of the file."""
        digest = _digest(recorded)
        return self._own_ids.setdefault(digest, f"{_UNRECORDED}{len(self._own_ids):012}")

    def label(self, trace_id: str, span_id: str | None, labels: Mapping[str, Any]) -> None:
        """What somebody said of a span, of a whole trace when `span_id` is None; it may come before them."""
        _add_labels(self._labels.setdefault((trace_id, span_id), {}), labels)

    def label_conversation(self, name: str, labels: Mapping[str, Any]) -> None:
        """What somebody said of a whole conversation."""
        _add_labels(self._of_conversations.setdefault(name, {}), labels)

    def traces(self) -> Iterator[Trace[Any, Any]]:
        """The conversations, in the order of time."""
        self._texts.clear()
        groups: dict[tuple[str, str], list[Unit]] = {}
        others = 0
        for trace_id in list(self._traces):
            spans = self._traces.pop(trace_id)
            self._add_others(trace_id, spans)
            try:
                others += sum(not span.dialect for span in spans.values())
                units = units_of(spans.values())
                self._tell_labels(trace_id, spans, units)
            except Exception as error:  # a shape that nobody thought of: the others are read all the same
                self._skip(next(iter(spans.values())), error)
                continue
            for unit in units:
                # A trace without a conversation is one of its own; its id may be somebody's name of a conversation.
                name = ("", trace_id) if unit.conversation is None else ("conversation", unit.conversation)
                groups.setdefault(name, []).append(unit)
        if not groups and self._first is not None and self.seen:
            reason = f"there are {self.seen} spans, and none of them is of an agent, a model or a tool"
            self._reading.skip(self._first, self._format, reason)
        elif others:
            self._reading.report.note(f"{self._format}: {others:,} spans of no agent, model or tool are in no turn")
        if self._labels:
            self._reading.report.note(f"{self._format}: labels of {len(self._labels):,} spans that are not there")
        for key in sorted(groups, key=lambda key: _began(groups[key], key)):
            units = groups.pop(key)
            try:
                trace = self._trace(_in_order(units), key[1])
            except Exception as error:
                self._skip(units[0].spans[0], error)
            else:
                yield trace

    def _add_others(self, trace_id: str, spans: dict[str, Span]) -> None:
        """Add the spans that have the id of another one, each under an id of its own."""
        for span_id, span in list(spans.items()) if self._others else ():
            kept = [span]
            for other in sorted(self._others.pop((trace_id, span_id), ()), key=_told, reverse=True):
                if all(_is_another(other, known) for known in kept):
                    kept.append(other)
            for number, other in enumerate(kept[1:], 2):
                other.span_id = f"{span_id}~{number}"
                spans[other.span_id] = other
            if len(kept) > 1:
                self._reading.report.note(f"{self._format}: {len(kept)} different spans have the id {span_id!r}")

    def _tell_labels(self, trace_id: str, spans: Mapping[str, Span], units: list[Unit]) -> None:
        """Give each turn what was said of its spans; the last one also what was said of the trace or of other spans."""
        whole = self._labels.pop((trace_id, None), {})
        for span_id, span in spans.items():
            span.labels |= self._labels.pop((trace_id, span_id), {})
        if not units:
            return
        in_turns = {span for unit in units for span in unit.spans}
        for span in sorted(spans.values(), key=lambda span: span.order):
            if span not in in_turns:
                whole = {**span.labels, **whole}
        answer = units[-1].spans[0]
        answer.labels = {**whole, **answer.labels}

    def _trace(self, units: list[Unit], name: str) -> Trace[Any, Any]:
        conversation = Conversation()
        for unit in units:
            conversation.add(unit)
        spans = [span for unit in units for span in unit.spans]
        annotations: dict[str, Any] = {"source": self._source(spans)}
        for span in spans:
            if span.conversation is not None:
                annotations.setdefault("conversation_id", span.conversation)
            for key, value in span.annotations.items():
                annotations.setdefault(key, value)
        if units[0].conversation is not None:
            annotations["conversation_id"] = name
        ids = dict.fromkeys(unit.trace_id for unit in units if not unit.trace_id.startswith(_UNRECORDED))
        if ids:
            annotations["trace_ids"] = list(ids)
        if units[0].conversation is not None and name in self._of_conversations:
            annotations["labels"] = self._of_conversations[name]
        options = self._reading.options
        tells = any(span.inputs or span.outputs or span.call is not None for span in spans)  # contents may be off
        return to_trace(conversation.messages(options.keep_raw), annotations, options, records_calls=tells)

    def _source(self, spans: list[Span]) -> dict[str, Any]:
        dialect = next((span.dialect for span in spans if span.dialect), self._format)
        return self._reading.source(Record(None, spans[0].path, spans[0].line), dialect)

    def _skip(self, span: Span, error: Exception) -> None:
        reason = f"the spans of trace {span.trace_id!r} could not be read: {type(error).__name__}: {error}"
        self._reading.skip(Record(None, span.path, span.line), self._format, reason)


def _add_labels(known: dict[str, Any], labels: Mapping[str, Any]) -> None:
    for name, value in labels.items():
        # Where two said different things the same one counts, in whatever order they come.
        if name not in known or repr(value) > repr(known[name]):
            known[name] = value


def _began(units: Iterable[Unit], name: tuple[str, str]) -> tuple[float, tuple[str, str]]:
    return min(unit.start for unit in units), name


def _in_order(units: list[Unit]) -> list[Unit]:
    """In the order in which they happened, as far as what was said tells, else of time."""
    units = sorted(units, key=lambda unit: (unit.start, unit.trace_id, "" if unit.root is None else unit.root.span_id))
    spoke: dict[Span, Unit] = {}
    for unit in units:
        near = [span for span, agent in unit.models if agent is None]
        near = sorted(near, key=lambda span: span.order)
        span = next((span for span in (unit.root, *near) if span is not None and span.inputs), None)
        if span is None:
            return units
        spoke[span] = unit
    told = in_told_order(spoke)
    return units if told is None else [spoke[span] for span in told]


def _told(span: Span) -> tuple[Any, ...]:
    """How much a span says, so that of several records of it the same one is kept in whatever order they come."""
    said = len(span.inputs) + len(span.outputs) + (span.call is not None)
    said += 0 if span.call is None else span.call.has_result
    where = (span.path or "", span.line or 0)
    return span.end is not None, said, span.end or 0, _digest(span), [-ord(letter) for letter in where[0]], -where[1]


def _is_another(span: Span, other: Span) -> bool:
    """Whether two records with one id are of two spans, rather than of one that was recorded in two states of it."""
    asked = bool(span.inputs and other.inputs) and repr(span.inputs) != repr(other.inputs)
    gave = bool(span.outputs and other.outputs) and repr(span.outputs) != repr(other.outputs)
    if span.start is None or other.start is None or span.start == other.start:
        return asked and gave
    call, known = span.call, other.call
    called = call is not None and known is not None and (call.name, call.arguments) != (known.name, known.arguments)
    return asked or gave or called


def _digest(recorded: object) -> str:
    return hashlib.sha256(repr(recorded).encode(errors="replace")).hexdigest()


class Collecting(Protocol):
    """What takes the records of a load, and makes conversations of them once all were seen."""

    def add(self, record: Record) -> None:
        """What a record holds."""
        ...

    def traces(self) -> Iterator[Trace[Any, Any]]:
        """The conversations."""
        ...


class SpanFormat(Format):
    """A format whose records are parts of a trace, in any order and perhaps in several files."""

    @abstractmethod
    def collecting(self, reading: Reading) -> Collecting:
        """What takes the records of a load."""

    def read(self, records: Iterator[Record], reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The conversations, once all records of all files were seen."""
        found: Collecting = reading.kept.pop(self.name, None) or self.collecting(reading)
        for record in records:
            try:
                found.add(record)
            except Exception as error:  # the others are read all the same
                reading.failed(record, self, error)
        if reading.more_files:
            reading.kept[self.name] = found
        else:
            yield from found.traces()

    def rest(self, reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The conversations of all files."""
        found: Collecting = reading.kept.pop(self.name)
        yield from found.traces()
