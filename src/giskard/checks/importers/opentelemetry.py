"""Traces of OpenTelemetry: the conventions for generative AI in all their dialects, and OpenInference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._genai import from_genai, is_genai
from giskard.checks.importers._openinference import from_openinference, is_openinference
from giskard.checks.importers._otlp import Event, RawSpan, plain_event, raw_spans, span_events, trace_data
from giskard.checks.importers._span import Span
from giskard.checks.importers._span_values import as_list, as_object
from giskard.checks.importers._spans import SpanFormat, Spans
from giskard.checks.importers.base import BadRecord, Reading, Record

__all__ = ["OpenTelemetry"]

# Names that nobody else gives to anything.
_OURS = ("gen_ai.", "traceloop.", "openinference.", "llm.input_messages.", "llm.request.type", "pydantic_ai.")
_IDS = (("traceId", "spanId"), ("trace_id", "span_id"))
_OF_SPANS = ("attributes", "startTimeUnixNano", "start_time_unix_nano", "start_time", "parentSpanId")


class OpenTelemetry(SpanFormat):
    """Spans of agents and models: OTLP in JSON, what an SDK prints, exports of Phoenix.

    A trace of spans gives a turn; the traces of one session or conversation are the turns of one conversation.
    """

    name = "opentelemetry"
    aliases = ("otlp", "otel", "otel_genai", "openinference", "phoenix", "traceloop")

    def detect(self, value: Any) -> bool:
        """Whether it is a batch of spans or logs of OTLP, a span, or the bare attributes or events of one."""
        if not isinstance(value, dict):
            return False
        record = cast("dict[str, Any]", value)
        return trace_data(record) is not None or _is_span(record) or _is_bare(record)

    def collecting(self, reading: Reading) -> _Collected:
        """What takes the records of a load."""
        return _Collected(Spans(self.name, reading), reading)


class _Collected:
    """The spans of a load, and what was logged in them: the two are exported apart."""

    def __init__(self, spans: Spans, reading: Reading) -> None:
        self._spans = spans
        self._reading = reading
        self._keep_raw = reading.options.keep_raw
        self._empty: Record | None = None
        self._silent: dict[tuple[str, str], tuple[RawSpan, Record]] = {}  # models whose words may have been logged
        self._logged: dict[tuple[str, str], tuple[list[Event], Record]] = {}

    def add(self, record: Record) -> None:
        """What a record holds."""
        value = as_object(record.value)
        bare = trace_data(value) is None and not _is_span(value)
        if bare and not _is_bare(value):
            raise BadRecord("expected spans, or the attributes or events of one")
        where = Record(None, record.path, record.line)
        for raw in _bare_spans(value) if bare else raw_spans(value):
            if not raw.trace_id or not raw.span_id:
                if not raw.attributes and not raw.events:
                    raise BadRecord("a span without ids and attributes")
                own = self._spans.own_id(raw)
                raw.trace_id, raw.span_id = raw.trace_id or own, raw.span_id or own
            span = self._add(raw, where)
            if not span.speaks and span.kind in ("llm", "agent"):
                self._silent[raw.trace_id, raw.span_id] = (raw, where)
        for trace_id, span_id, event in () if bare else span_events(value):
            if event.name.startswith("gen_ai."):
                self._logged.setdefault((trace_id, span_id), ([], where))[0].append(event)
        if not self._spans.seen and not self._logged and self._empty is None:
            self._empty = where

    def traces(self) -> Iterator[Trace[Any, Any]]:
        """The conversations."""
        for (trace_id, span_id), (events, logged_in) in self._logged.items():
            known = self._silent.get((trace_id, span_id))
            raw, record = known or (RawSpan(trace_id, span_id, None), logged_in)
            if known is None:
                raw.start = min((event.at for event in events if event.at is not None), default=None)
            self._add(replace(raw, events=[*raw.events, *events]), record)
        if self._empty is not None and not self._spans.seen:
            self._reading.skip(self._empty, OpenTelemetry.name, "there is no span in it")
        self._silent.clear()
        self._logged.clear()
        yield from self._spans.traces()

    def _add(self, raw: RawSpan, record: Record) -> Span:
        span = _neutral(raw)
        if self._keep_raw and span.kind != "other":
            events = [{"name": event.name, **event.attributes} for event in raw.events]
            span.raw = {"name": raw.name, "attributes": raw.attributes, **({"events": events} if events else {})}
        self._spans.add(span, record)
        return span


def _neutral(raw: RawSpan) -> Span:
    """A span by the convention that it follows; one that follows none is there for its place in the tree."""
    if is_openinference(raw):
        span = from_openinference(raw)
        if span.speaks or span.call is not None or not is_genai(raw):
            return span
        other = from_genai(raw)
        return other if other.kind != "other" else span
    if is_genai(raw):
        return from_genai(raw)
    return Span(raw.trace_id, raw.span_id, raw.parent_id, raw.name, start=raw.start, end=raw.end, error=raw.error)


# --- what a record is --------------------------------------------------------------------


def _is_span(record: dict[str, Any]) -> bool:
    context = record.get("context", record.get("spanContext"))
    if isinstance(context, dict):
        return any(trace in context and span in context for trace, span in _IDS)
    if "context.trace_id" in record and "context.span_id" in record:
        return True
    return any(trace in record and span in record for trace, span in _IDS) and any(key in record for key in _OF_SPANS)


def _is_bare(record: dict[str, Any]) -> bool:
    """Whether it is attributes or events of a span, without the span, or an object of such."""
    if _are_attributes(record):
        return True
    values = list(record.values())
    return 0 < len(values) < 100 and all(_are_attributes(value) or _are_events(value) for value in values)


def _are_attributes(value: Any) -> bool:
    names = as_object(value)
    if isinstance(inner := names.get("attributes"), dict):
        names = cast("dict[str, Any]", inner)
    return sum(name.startswith(_OURS) for name in names) > 1


def _are_events(value: Any) -> bool:
    events = as_list(value)
    return bool(events) and all(
        isinstance(name := as_object(event).get("name"), str) and name.startswith("gen_ai.") for event in events[:3]
    )


def _bare_spans(record: dict[str, Any]) -> Iterator[RawSpan]:
    for value in [record] if _are_attributes(record) else record.values():
        if _are_events(value):
            yield RawSpan("", "", None, events=[plain_event(as_object(event)) for event in as_list(value)])
        else:
            held = as_object(value)
            inner = held.get("attributes")
            attributes = cast("dict[str, Any]", inner) if isinstance(inner, dict) else held
            yield RawSpan("", "", None, name=str(held.get("name") or ""), attributes=attributes)
