"""Traces of Langfuse: observations, traces and scores, from its API, its pages and its exports to files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._messages import Call
from giskard.checks.importers._span import Kind, Span
from giskard.checks.importers._span_labels import label_values
from giskard.checks.importers._span_messages import said, tool_outcome
from giskard.checks.importers._span_values import (
    as_list,
    as_number,
    as_object,
    as_text,
    counts,
    first,
    literal,
    nanoseconds,
    structured,
)
from giskard.checks.importers._spans import SpanFormat, Spans
from giskard.checks.importers.base import BadRecord, Reading, Record

__all__ = ["Langfuse"]

_KINDS: dict[str, Kind] = {
    "GENERATION": "llm",
    "AGENT": "agent",
    "TOOL": "tool",
    "RETRIEVER": "retriever",
    "CHAIN": "chain",
    "SPAN": "chain",
}
_TYPES = frozenset({*_KINDS, "EVENT", "EVALUATOR", "EMBEDDING", "GUARDRAIL"})
_USAGE = {
    "input_tokens": ("input", "input_tokens", "prompt_tokens", "promptTokens"),
    "output_tokens": ("output", "output_tokens", "completion_tokens", "completionTokens"),
    "reasoning_tokens": ("output_reasoning_tokens", "output_reasoning", "reasoning_tokens"),
    "cached_tokens": ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "cached_tokens"),
}
_OLD_USAGE = {
    "input_tokens": ("promptTokens", "prompt_tokens", "inputUsage"),
    "output_tokens": ("completionTokens", "completion_tokens", "outputUsage"),
}
_LEVEL_OF_ERRORS = "ERROR"


class Langfuse(SpanFormat):
    """Observations, traces and scores of Langfuse, in the spelling of its API or of its exports.

    A trace gives a turn, and the traces of one session give one conversation.  One file may hold records
    of all kinds.
    """

    name = "langfuse"

    def detect(self, value: Any) -> bool:
        """Whether it is an observation, a trace or a score."""
        if not isinstance(value, dict):
            return False
        record = cast("dict[str, Any]", value)
        return _is_observation(record) or _is_score(record) or _is_trace(record)

    def collecting(self, reading: Reading) -> _Observations:
        """What takes the records of a load."""
        return _Observations(Spans(self.name, reading), reading.options.keep_raw)


class _Observations:
    """The observations, traces and scores of a load."""

    def __init__(self, spans: Spans, keep_raw: bool) -> None:
        self._spans = spans
        self._keep_raw = keep_raw

    def add(self, record: Record) -> None:
        """What a record holds."""
        _read(as_object(record.value), self._spans, Record(None, record.path, record.line), self._keep_raw)

    def traces(self) -> Iterator[Trace[Any, Any]]:
        """The conversations."""
        yield from self._spans.traces()


def _is_observation(record: dict[str, Any]) -> bool:
    if ("traceId" in record and "parentObservationId" in record) or (
        "trace_id" in record and "parent_observation_id" in record
    ):
        return True
    kind = record.get("type")
    timed = {"traceId", "startTime"} <= record.keys() or {"trace_id", "start_time"} <= record.keys()
    return timed and isinstance(kind, str) and kind in _TYPES


def _is_score(record: dict[str, Any]) -> bool:
    if "name" not in record or not ({"traceId", "trace_id", "sessionId", "session_id"} & record.keys()):
        return False
    return bool({"dataType", "data_type"} & record.keys()) and bool(
        {"value", "stringValue", "string_value"} & record.keys()
    )


def _is_trace(record: dict[str, Any]) -> bool:
    if "id" not in record or "traceId" in record or "trace_id" in record:
        return False
    observed = as_list(record.get("observations"))
    if observed and _is_observation(as_object(observed[0])):
        return True
    named = "sessionId" in record or "session_id" in record
    return named and "timestamp" in record and "input" in record and "output" in record


def _read(record: dict[str, Any], spans: Spans, where: Record, keep_raw: bool) -> None:
    if _is_score(record):
        _read_score(record, spans)
    elif _is_observation(record):
        spans.add(_observation(record, keep_raw), where)
    elif as_text(record.get("id")):
        _read_trace(record, spans, where, keep_raw)
    else:
        raise BadRecord("expected an observation, a trace or a score of Langfuse; it has none of their ids")


# --- traces and scores -------------------------------------------------------------------


def _root_id(trace_id: str) -> str:
    """The id of the span that stands for a trace: observations without a parent are under it."""
    return f"trace:{trace_id}"


def _read_trace(record: dict[str, Any], spans: Spans, where: Record, keep_raw: bool) -> None:
    trace_id = cast("str", as_text(record["id"]))
    span = Span(trace_id, _root_id(trace_id), None, as_text(record.get("name")) or "", "chain", "langfuse")
    span.start = nanoseconds(first(record, "timestamp", "createdAt", "created_at"))
    seconds = as_number(record.get("latency"))
    span.latency_ms = None if seconds is None else seconds * 1000
    span.cost_usd = as_number(first(record, "totalCost", "total_cost"))
    span.inputs, span.outputs = said(record.get("input"), "user"), said(record.get("output"), "assistant")
    _add_session(span, record)
    if keep_raw:
        span.raw = {name: value for name, value in record.items() if name not in ("observations", "scores")}
    spans.add(span, where)
    for item in as_list(structured(record.get("observations"))):
        observation = as_object(item)
        if _is_observation({**observation, "traceId": trace_id}):
            spans.add(_observation({"traceId": trace_id, **observation}, keep_raw), where)
    for item in as_list(structured(record.get("scores"))):
        _read_score({"traceId": trace_id, **as_object(item)}, spans)


def _read_score(record: dict[str, Any], spans: Spans) -> None:
    labels = label_values(record)
    trace_id = as_text(first(record, "traceId", "trace_id"))
    session = as_text(first(record, "sessionId", "session_id"))
    if trace_id is not None:
        spans.label(trace_id, as_text(first(record, "observationId", "observation_id")), labels)
    elif session is not None:
        spans.label_conversation(session, labels)


def _add_session(span: Span, record: dict[str, Any]) -> None:
    span.conversation = as_text(first(record, "sessionId", "session_id"))
    user, tags = as_text(first(record, "userId", "user_id")), as_list(structured(record.get("tags")))
    metadata = structured(record.get("metadata"))
    if user is not None:
        span.annotations["user_id"] = user
    if tags:
        span.annotations["tags"] = tags
    if isinstance(metadata, dict) and metadata and span.parent_id in (None, _root_id(span.trace_id)):
        span.annotations["metadata"] = cast("dict[str, Any]", metadata)


# --- observations ------------------------------------------------------------------------


def _observation(record: dict[str, Any], keep_raw: bool) -> Span:
    trace_id = as_text(first(record, "traceId", "trace_id"))
    span_id = as_text(first(record, "id", "span_id"))
    if trace_id is None or span_id is None:
        raise BadRecord("an observation without an id of its own or of its trace")
    # Of a root it is null in JSON and an empty text in files.
    parent = as_text(first(record, "parentObservationId", "parent_observation_id"))
    kind = as_text(record.get("type")) or ""
    span = Span(trace_id, span_id, parent or _root_id(trace_id), as_text(record.get("name")) or "")
    span.kind, span.dialect = _KINDS.get(kind.upper(), "other"), "langfuse"
    span.start = nanoseconds(first(record, "startTime", "start_time"))
    span.end = nanoseconds(first(record, "endTime", "end_time"))
    span.latency_ms = _milliseconds(record.get("latency"))
    span.ttft_ms = _milliseconds(first(record, "timeToFirstToken", "time_to_first_token"))
    begun = nanoseconds(first(record, "completionStartTime", "completion_start_time"))
    if span.ttft_ms is None and begun is not None and span.start is not None and begun >= span.start:
        span.ttft_ms = (begun - span.start) / 1e6
    if record.get("level") == _LEVEL_OF_ERRORS:
        text = as_text(first(record, "statusMessage", "status_message"))
        span.error = text or "it failed; no text of it was recorded"
    _add_session(span, record)
    if span.kind == "tool":
        _add_tool(span, record)
    elif span.kind == "retriever":
        output = structured(record.get("output"))
        documents = first(as_object(output), "documents", "results")
        span.documents = as_list(output) or as_list(documents) or ([] if output in (None, "") else [output])
    elif span.kind != "other":
        span.inputs, span.outputs = said(record.get("input"), "user"), said(record.get("output"), "assistant")
    if span.kind == "llm":
        _add_model(span, record)
    if keep_raw:
        span.raw = record
    return span


def _milliseconds(seconds: Any) -> float | None:
    number = as_number(seconds)
    return None if number is None else number * 1000


def _add_model(span: Span, record: dict[str, Any]) -> None:
    span.model = as_text(first(record, "model", "provided_model_name", "providedModelName"))
    span.usage = counts(as_object(structured(first(record, "usageDetails", "usage_details", "usage"))), _USAGE)
    span.usage = span.usage or counts(record, _OLD_USAGE)
    costs = as_object(structured(first(record, "costDetails", "cost_details")))
    cost = first(costs, "total")
    span.cost_usd = as_number(first(record, "totalCost", "total_cost", "calculatedTotalCost") if cost is None else cost)
    if any(message.calls for message in span.outputs):
        return
    calls = as_list(structured(first(record, "toolCalls", "tool_calls")))
    found = said([{"role": "assistant", "tool_calls": calls}], "assistant")
    if calls and found and span.outputs:
        span.outputs[-1].calls = found[0].calls
    elif calls and found:
        span.outputs = found


def _add_tool(span: Span, record: dict[str, Any]) -> None:
    given = literal(record.get("input"))
    fields = as_object(given)
    # Some wrap the arguments, or write the whole call.
    inner = first(fields, "arguments", "args", "input") if {"name", "tool_name"} & fields.keys() else None
    call = Call(span.name, given if inner is None else literal(inner))
    call.id = as_text(first(as_object(structured(record.get("metadata"))), "tool_call_id", "toolCallId"))
    call.id = call.id or (as_text(first(fields, "id", "tool_call_id")) if inner is not None else None)
    output = record.get("output")
    if output is not None and output != "":
        call.result, failed = tool_outcome(output)
        call.has_result = True
        if failed and isinstance(call.result, str):
            span.error, call.result = span.error or call.result, None
    call.error = span.error
    span.call = call
