"""The layouts that spans of OpenTelemetry are exported in, taken apart into plain ones."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from giskard.checks.importers._span_values import as_list, as_number, as_object, as_text, first, nanoseconds

__all__ = ["Event", "RawSpan", "plain_attributes", "plain_event", "raw_spans", "span_events", "trace_data"]

_RESOURCES = ("resourceSpans", "resource_spans", "batches")
_RESOURCE_LOGS = ("resourceLogs", "resource_logs")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
_SCOPE_LOGS = ("scopeLogs", "scope_logs")
_SCOPE_NAMES = {*_SCOPES, *_SCOPE_LOGS}
_FAILED = {2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR", "error"}


@dataclass(slots=True)
class Event:
    """Something that happened in a span; of a log record, its body is among the attributes."""

    name: str
    attributes: dict[str, Any]
    at: int | None = None


@dataclass(slots=True)
class RawSpan:
    """A span with plain attributes, whatever it was exported as.

    Parameters
    ----------
    trace_id, span_id, parent_id
        In lower-case hexadecimal as far as they are ids of OpenTelemetry; empty when they were not recorded.
    error
        The text of the failure, None when it did not fail.
    labels
        What was said of it: annotations of Phoenix.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str = ""
    start: int | None = None
    end: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    events: list[Event] = field(default_factory=list[Event])
    error: str | None = None
    kind: str | None = None
    labels: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def trace_data(value: Any) -> Mapping[str, Any] | None:
    """`value` when it is spans or logs as OTLP groups them: by resource, by scope."""
    data = as_object(value)
    for name in (*_RESOURCES, *_RESOURCE_LOGS):
        groups = data.get(name)
        if isinstance(groups, list) and all(isinstance(group, dict) for group in cast("list[Any]", groups)[:3]):
            named = cast("list[Any]", groups)
            if name != "batches" or any(_SCOPE_NAMES & as_object(group).keys() for group in named[:3]):
                return data
    inner = data.get("trace")
    return trace_data(inner) if isinstance(inner, dict) and len(data) < 4 else None


def raw_spans(value: Any) -> Iterator[RawSpan]:
    """The spans in one record: those of a batch, or a single one."""
    data = trace_data(value)
    if data is None:
        yield _single(as_object(value))
        return
    for group in as_list(first(data, *_RESOURCES)):
        for scoped in as_list(first(as_object(group), *_SCOPES)):
            for item in as_list(as_object(scoped).get("spans")):
                yield _single(as_object(item))


def span_events(value: Any) -> Iterator[tuple[str, str, Event]]:
    """The log records of a batch that were written within a span, with the ids of its trace and of itself."""
    for group in as_list(first(trace_data(value) or {}, *_RESOURCE_LOGS)):
        for scoped in as_list(first(as_object(group), *_SCOPE_LOGS)):
            for item in as_list(first(as_object(scoped), "logRecords", "log_records")):
                record = as_object(item)
                trace_id, span_id = _id(first(record, "traceId", "trace_id")), _id(first(record, "spanId", "span_id"))
                attributes = plain_attributes(record.get("attributes"))
                name = as_text(first(record, "eventName", "event_name")) or as_text(attributes.get("event.name"))
                if trace_id and span_id and name:
                    body = _value(record["body"]) if "body" in record else None
                    attributes |= as_object(body)
                    at = nanoseconds(first(record, "timeUnixNano", "time_unix_nano", "observedTimeUnixNano"))
                    yield trace_id, span_id, Event(name, attributes, at)


def _single(item: dict[str, Any]) -> RawSpan:
    """One span, as OTLP, the SDK of Python, Phoenix or a table of its columns has it."""
    context = as_object(first(item, "context", "spanContext"))
    trace_id = _id(first(item, "traceId", "trace_id", "context.trace_id") or first(context, "trace_id", "traceId"))
    span_id = _id(first(item, "spanId", "span_id", "context.span_id") or first(context, "span_id", "spanId"))
    attributes = plain_attributes(item.get("attributes"))
    for name, value in item.items():
        if name.startswith("attributes.") and value is not None:
            attributes[name.removeprefix("attributes.")] = value
    kind = as_text(first(item, "span_kind", "kind"))
    return RawSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=_id(first(item, "parentSpanId", "parent_span_id", "parent_id", "parentId")) or None,
        name=as_text(item.get("name")) or "",
        start=nanoseconds(first(item, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")),
        end=nanoseconds(first(item, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")),
        attributes=attributes,
        events=[plain_event(as_object(event)) for event in as_list(item.get("events"))],
        error=_failure(item, attributes),
        kind=kind,
        labels=[as_object(label) for name in ("annotations", "span_annotations") for label in as_list(item.get(name))],
    )


def plain_event(item: dict[str, Any]) -> Event:
    """An event of a span; its body, where it has one, is among the attributes."""
    at = nanoseconds(first(item, "timeUnixNano", "time_unix_nano", "timestamp", "time"))
    attributes = plain_attributes(item.get("attributes"))
    body = item.get("body")
    if body is not None:
        attributes |= as_object(_value(body))
    return Event(as_text(item.get("name")) or "", attributes, at)


def _failure(item: dict[str, Any], attributes: dict[str, Any]) -> str | None:
    """The text of a span's failure, from its status, its ``error.type`` and its exception."""
    status = item.get("status")
    code = first(as_object(status), "code", "status_code", "statusCode") if isinstance(status, dict) else status
    if code is None:
        code = first(item, "status_code", "statusCode")
    kind = as_text(attributes.get("error.type"))
    if not (isinstance(code, str | int) and code in _FAILED) and kind is None:
        return None
    text = as_text(first(as_object(status), "message", "description")) or as_text(
        first(item, "status_message", "statusMessage")
    )
    for event in as_list(item.get("events")):
        if as_object(event).get("name") == "exception":
            thrown = plain_attributes(as_object(event).get("attributes"))
            kind = kind or as_text(thrown.get("exception.type"))
            text = text or as_text(thrown.get("exception.message"))
    if kind is None or (text is not None and kind in text):
        return text or kind or "the span failed; no text of it was recorded"
    return f"{kind}: {text}" if text else kind


# --- ids and values ----------------------------------------------------------------------


def _id(value: Any) -> str:
    """An id in lower-case hexadecimal; base64, as mappings of protobuf write it, is decoded."""
    text = as_text(value) or ""
    if len(text) in (12, 24) and text.endswith("="):
        try:
            text = base64.b64decode(text, validate=True).hex()
        except (binascii.Error, ValueError):
            return text
    lower = text.lower()
    lower = lower.removeprefix("0x")
    if not lower.strip("0"):
        return ""  # of a root: no parent
    return lower if all(letter in "0123456789abcdef" for letter in lower) else text


def plain_attributes(value: Any) -> dict[str, Any]:
    """Attributes by name, from the list that OTLP has of them or the object that others write."""
    if isinstance(value, dict):
        found = cast("dict[Any, Any]", value)
        return {name: item for name, item in found.items() if isinstance(name, str)}
    made: dict[str, Any] = {}
    for item in as_list(value):
        pair = as_object(item)
        name = pair.get("key")
        if isinstance(name, str):
            made[name] = _value(pair.get("value"))
    return made


def _value(value: Any) -> Any:
    """The plain value of a typed one; integers of 64 bits are texts in JSON."""
    if not isinstance(value, dict):
        return value
    typed = cast("dict[str, Any]", value)
    if len(typed) != 1:
        return typed
    kind, inner = next(iter(typed.items()))
    match kind:
        case "stringValue" | "string_value" | "boolValue" | "bool_value" | "bytesValue" | "bytes_value":
            return inner
        case "intValue" | "int_value" | "doubleValue" | "double_value":
            number = as_number(inner)
            return inner if number is None else number
        case "arrayValue" | "array_value":
            return [_value(item) for item in as_list(as_object(inner).get("values"))]
        case "kvlistValue" | "kvlist_value":
            return plain_attributes(as_object(inner).get("values"))
        case _:
            return typed
