"""Runs of LangSmith, from its API and its exports, and the feedback on them."""

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

__all__ = ["LangSmith"]

_KINDS: dict[str, Kind] = {"llm": "llm", "tool": "tool", "retriever": "retriever", "chain": "chain"}
_USAGE = {"input_tokens": ("prompt_tokens",), "output_tokens": ("completion_tokens",)}
_THREADS = ("thread_id", "session_id", "conversation_id")
_DEEPEST = 100  # runs in runs


class LangSmith(SpanFormat):
    """Runs of LangSmith, and the feedback on them.

    A trace of runs gives a turn, and the traces of one thread give one conversation.
    """

    name = "langsmith"

    def detect(self, value: Any) -> bool:
        """Whether it is a run, or feedback on one."""
        if not isinstance(value, dict):
            return False
        record = cast("dict[str, Any]", value)
        if "run_type" in record:
            return bool({"dotted_order", "trace_id", "parent_run_id", "child_runs"} & record.keys())
        return _is_feedback(record)

    def collecting(self, reading: Reading) -> _Runs:
        """What takes the records of a load."""
        return _Runs(Spans(self.name, reading), reading.options.keep_raw)


class _Runs:
    """The runs of a load, and the feedback on them, which names the run and not its trace."""

    def __init__(self, spans: Spans, keep_raw: bool) -> None:
        self._spans = spans
        self._keep_raw = keep_raw
        self._feedback: list[dict[str, Any]] = []
        self._traces: dict[str, str] = {}

    def add(self, record: Record) -> None:
        """What a record holds."""
        value = as_object(record.value)
        if _is_feedback(value):
            self._feedback.append(value)
            return
        for run in _with_children(value):
            span = _span(run, self._keep_raw)
            self._traces[span.span_id] = span.trace_id
            self._spans.add(span, Record(None, record.path, record.line))

    def traces(self) -> Iterator[Trace[Any, Any]]:
        """The conversations."""
        for item in self._feedback:
            run_id = cast("str", as_text(item["run_id"]))
            trace_id = self._traces.get(run_id) or as_text(item.get("trace_id")) or ""
            self._spans.label(trace_id, run_id, _feedback(item))
        yield from self._spans.traces()


def _is_feedback(record: dict[str, Any]) -> bool:
    named = as_text(record.get("key")) is not None and as_text(record.get("run_id")) is not None
    return named and ("score" in record or "value" in record) and "run_type" not in record


def _feedback(item: dict[str, Any]) -> dict[str, Any]:
    source = as_object(item.get("feedback_source")).get("type")
    fields = {name: item[name] for name in ("key", "score", "value", "comment") if item.get(name) is not None}
    return label_values({**fields, **({"source": source} if isinstance(source, str) else {})})


def _with_children(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A run, and the runs that it holds where the API was asked for them too."""
    pending = [(run, 0)]
    while pending:
        current, depth = pending.pop()
        yield current
        if depth < _DEEPEST:
            for item in as_list(current.get("child_runs")):
                child = {"trace_id": current.get("trace_id") or current.get("id"), **as_object(item)}
                child.setdefault("parent_run_id", current.get("id"))
                pending.append((child, depth + 1))


# --- one run -----------------------------------------------------------------------------


def _span(run: dict[str, Any], keep_raw: bool) -> Span:
    run_id = as_text(run.get("id"))
    order = as_text(run.get("dotted_order"))
    if run_id is None and order is not None:
        run_id = _path(order)[-1]
    if run_id is None:
        raise BadRecord("a run without an id")
    path = _path(order) if order is not None else []
    parent = as_text(run.get("parent_run_id")) or (path[-2] if len(path) > 1 else None)
    trace_id = as_text(run.get("trace_id")) or (path[0] if path else run_id)
    span = Span(trace_id, run_id, parent, as_text(run.get("name")) or "")
    span.kind, span.dialect = _KINDS.get(as_text(run.get("run_type")) or "", "other"), "langsmith"
    span.start = nanoseconds(run.get("start_time")) or _started(order)
    span.end = nanoseconds(run.get("end_time"))
    span.latency_ms = None if (seconds := as_number(run.get("latency"))) is None else seconds * 1000
    begun = nanoseconds(run.get("first_token_time"))
    if begun is not None and span.start is not None and begun >= span.start:
        span.ttft_ms = (begun - span.start) / 1e6
    span.error = as_text(run.get("error"))
    if span.error is None and run.get("status") == "error":
        span.error = "the run failed; no text of it was recorded"
    extra = as_object(structured(run.get("extra")))
    metadata = as_object(structured(extra.get("metadata")))
    # The run's own session_id is the project.
    span.conversation = as_text(run.get("thread_id")) or as_text(first(metadata, *_THREADS))
    span.agent = as_text(first(metadata, "lc_agent_name", "agent_name"))
    if tags := [tag for tag in as_list(structured(run.get("tags"))) if isinstance(tag, str)]:
        span.annotations["tags"] = tags
    span.labels = _statistics(as_object(structured(run.get("feedback_stats"))))
    inputs, outputs = structured(run.get("inputs")), structured(run.get("outputs"))
    if span.kind == "tool":
        _add_tool(span, inputs, outputs, extra, metadata)
    elif span.kind == "retriever":
        found = first(as_object(outputs), "documents", "output")
        span.documents = [_document(item) for item in as_list(found)]
    elif span.kind != "other":
        span.inputs, span.outputs = said(inputs, "user"), said(outputs, "assistant")
        _add_counts(span, run)
    if span.kind == "llm":
        _add_model(span, as_object(outputs), extra, metadata)
    if keep_raw:
        span.raw = {name: value for name, value in run.items() if name != "child_runs"}
    return span


def _path(order: str) -> list[str]:
    """The ids in a ``dotted_order``, of the outermost run first: each stands after its start time."""
    return [part.partition("Z")[2] or part for part in order.split(".")]


def _started(order: str | None) -> int | None:
    """When a run began: ``20251009T085320005000Z`` in its ``dotted_order``."""
    stamp = (order or "").split(".")[-1].partition("Z")[0]
    day, _, clock = stamp.partition("T")
    if len(clock) < 6:
        return None
    return nanoseconds(f"{day[:4]}-{day[4:6]}-{day[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:6]}.{clock[6:] or 0:0<6}")


def _add_counts(span: Span, run: dict[str, Any]) -> None:
    span.usage = counts(run, _USAGE)
    details = as_object(structured(run.get("completion_token_details")))
    span.usage |= counts(details, {"reasoning_tokens": ("reasoning",)})
    details = as_object(structured(run.get("prompt_token_details")))
    span.usage |= counts(details, {"cached_tokens": ("cache_read",)})
    span.cost_usd = as_number(run.get("total_cost"))


def _add_model(span: Span, outputs: dict[str, Any], extra: dict[str, Any], metadata: dict[str, Any]) -> None:
    asked = as_object(structured(extra.get("invocation_params")))
    answered = first(as_object(outputs.get("llm_output")), "model_name", "model") or outputs.get("model")
    wanted = first(metadata, "ls_model_name") or first(asked, "model", "model_name")
    span.model = as_text(answered) or as_text(wanted)
    generation: Any = structured(outputs.get("generations"))
    while isinstance(generation, list):
        generation = next(iter(cast("list[Any]", generation)), None)
    information = as_object(as_object(generation).get("generation_info"))
    choice = next(iter(as_list(structured(outputs.get("choices")))), None)
    reason = as_text(first(information, "finish_reason", "stop_reason")) or as_text(
        as_object(choice).get("finish_reason")
    )
    span.finish_reason = reason
    said_usage = next((message.usage for message in span.outputs if message.usage), None)
    usage = as_object(outputs.get("usage_metadata")) or as_object(outputs.get("usage"))
    told = counts(usage, {name: (name, spelling[0]) for name, spelling in _USAGE.items()})
    span.usage = {**told, **(said_usage or {}), **span.usage}
    tools = structured(asked.get("tools"))
    if isinstance(tools, list) and tools:
        span.annotations["tools"] = cast("list[Any]", tools)


def _add_tool(span: Span, inputs: Any, outputs: Any, extra: dict[str, Any], metadata: dict[str, Any]) -> None:
    fields = as_object(inputs)
    call = Call(span.name, literal(fields["input"]) if fields.keys() == {"input"} else literal(inputs))
    if isinstance(call.arguments, str):
        call.arguments = fields or inputs  # a tool that takes one text
    call.id = as_text(first(extra, "tool_call_id") or first(metadata, "tool_call_id"))
    given = as_object(call.arguments)
    if given.get("type") == "tool_call" and "args" in given:
        call.arguments, call.id = given["args"], call.id or as_text(given.get("id"))
    if outputs is not None:
        gave = as_object(outputs)
        wrapped = outputs
        if gave.keys() <= {"output"}:
            wrapped = gave.get("output")
        if wrapped is not None:
            call.result, failed = tool_outcome(wrapped)
            call.has_result = True
            if failed and isinstance(call.result, str):
                span.error, call.result = span.error or call.result, None
    call.error = span.error
    span.call = call


def _document(item: Any) -> Any:
    fields = as_object(item)
    fields = as_object(fields.get("kwargs")) or fields
    names = {"id": ("id",), "content": ("page_content", "content"), "score": ("score",), "metadata": ("metadata",)}
    found = {name: value for name, places in names.items() if (value := first(fields, *places)) is not None}
    return found if "content" in found else item


def _statistics(stats: dict[str, Any]) -> dict[str, Any]:
    """The mean of each kind of feedback; of what has no mean, the value that was given most often."""
    found: dict[str, Any] = {}
    for name, item in stats.items():
        summary = as_object(item)
        mean = as_number(summary.get("avg"))
        values = as_object(summary.get("values"))
        if mean is not None and summary.get("n") != 0:
            found[name] = mean
        elif values:
            found[name] = max(values, key=lambda value: (as_number(values[value]) or 0, value))
    return found
