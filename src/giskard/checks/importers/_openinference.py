"""Spans as OpenInference has them: what Phoenix and Arize record and export."""

from __future__ import annotations

from typing import Any

from giskard.checks.importers._flat_keys import nested
from giskard.checks.importers._messages import Call, Message, Role
from giskard.checks.importers._otlp import RawSpan
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
    structured,
)

__all__ = ["from_openinference", "is_openinference"]

_KINDS: dict[str, Kind] = {
    "AGENT": "agent",
    "LLM": "llm",
    "TOOL": "tool",
    "RETRIEVER": "retriever",
    "RERANKER": "retriever",
    "CHAIN": "chain",
}
_PREFIXES = ("openinference.", "llm.input_messages", "llm.output_messages", "llm.token_count", "llm.model_name")


def is_openinference(raw: RawSpan) -> bool:
    """Whether the span is of this convention: its kind says so, or the names of its attributes."""
    if raw.kind is not None and raw.kind.upper() in _KINDS and raw.kind.isupper():
        return True
    return any(
        name.startswith(_PREFIXES) or name in ("openinference", "retrieval.documents") for name in raw.attributes
    ) or "token_count" in as_object(raw.attributes.get("llm"))


def from_openinference(raw: RawSpan) -> Span:
    """The span in the neutral form."""
    tree = nested(raw.attributes)
    kind = as_text(_at(tree, "openinference", "span", "kind")) or raw.kind or ""
    span = Span(raw.trace_id, raw.span_id, raw.parent_id, raw.name, _KINDS.get(kind.upper(), "other"), "openinference")
    span.start, span.end, span.error = raw.start, raw.end, raw.error
    span.conversation = as_text(_at(tree, "session", "id"))
    span.agent = as_text(_at(tree, "agent", "name"))
    for name, place in (("user_id", ("user", "id")), ("tags", ("tag", "tags")), ("metadata", ("metadata",))):
        value = structured(_at(tree, *place))
        if value not in (None, "", [], {}) and (name != "metadata" or isinstance(value, dict)):
            span.annotations[name] = value
    given, gave = _at(tree, "input", "value"), _at(tree, "output", "value")
    if span.kind == "llm":
        _add_model(span, as_object(tree.get("llm")), given, gave)
    elif span.kind == "tool":
        _add_tool(span, tree, given, gave)
    elif span.kind in ("agent", "chain"):
        span.inputs, span.outputs = said(given, "user"), said(gave, "assistant")
    elif span.kind == "retriever":
        documents = first(as_object(tree.get("retrieval")), "documents") or _at(tree, "reranker", "output_documents")
        span.documents = [_document(document) for document in as_list(documents)]
    for label in raw.labels:
        span.labels |= label_values(label)
    return span


def _at(tree: Any, *path: str) -> Any:
    for name in path:
        tree = as_object(tree).get(name)
    return tree


# --- models ------------------------------------------------------------------------------


def _add_model(span: Span, model: dict[str, Any], given: Any, gave: Any) -> None:
    span.inputs = _messages(model.get("input_messages"), "user") or said(given, "user")
    span.outputs = _messages(model.get("output_messages"), "assistant") or said(gave, "assistant")
    span.model = as_text(first(model, "model_name", "model"))
    span.finish_reason = as_text(model.get("finish_reason"))
    counted = as_object(model.get("token_count"))
    span.usage = counts(counted, {"input_tokens": ("prompt",), "output_tokens": ("completion",)})
    span.usage |= counts(as_object(counted.get("completion_details")), {"reasoning_tokens": ("reasoning",)})
    span.usage |= counts(as_object(counted.get("prompt_details")), {"cached_tokens": ("cache_read",)})
    span.cost_usd = as_number(_at(model, "cost", "total"))
    tools = [structured(_at(tool, "tool", "json_schema")) for tool in as_list(model.get("tools"))]
    tools = [tool for tool in tools if tool is not None]
    if tools:
        span.annotations["tools"] = tools


def _messages(items: Any, role: Role) -> list[Message]:
    found: list[Message] = []
    for item in as_list(structured(items)):
        fields = nested(as_object(item))
        message = fields.get("message", fields)
        found += said({**fields, **message} if isinstance(message, dict) else message, role, opaque=False)
    return found


# --- tools and documents -----------------------------------------------------------------


def _add_tool(span: Span, tree: dict[str, Any], given: Any, gave: Any) -> None:
    tool = as_object(tree.get("tool"))
    name = as_text(tool.get("name")) or as_text(_at(tree, "tool_call", "function", "name")) or span.name
    # What it was given; ``tool.parameters`` may be that too, or the schema of it.
    arguments = first(as_object(_at(tree, "tool_call", "function")), "arguments")
    call = Call(
        name, literal(next((v for v in (arguments, given, tool.get("parameters")) if v not in (None, "")), None))
    )
    call.id = as_text(_at(tree, "tool_call", "id")) or as_text(tool.get("id"))
    if gave is not None:
        call.result, failed = tool_outcome(gave)
        call.has_result = True
        if failed:
            span.error, call.result = span.error or str(call.result), None
    call.error = span.error
    span.call = call


def _document(item: Any) -> Any:
    fields = as_object(item)
    fields = as_object(fields.get("document")) or fields
    found = {name: structured(fields[name]) for name in ("id", "content", "score", "metadata") if name in fields}
    if isinstance(fields.get("content"), str):
        found["content"] = fields["content"]
    return found or item
