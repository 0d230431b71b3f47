"""Spans as the conventions of OpenTelemetry for generative AI have them, in the current dialect and the one before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from giskard.checks.importers._genai_dialects import adk, framework_messages, traceloop, vercel
from giskard.checks.importers._messages import Call, Message, Role
from giskard.checks.importers._otlp import Event, RawSpan
from giskard.checks.importers._span import Kind, Span
from giskard.checks.importers._span_messages import said, tool_outcome
from giskard.checks.importers._span_values import as_list, as_number, as_object, as_text, counts, first, structured

__all__ = ["from_genai", "is_genai"]

_PREFIXES = ("gen_ai.", "ai.", "traceloop.", "gcp.vertex.agent.", "pydantic_ai.", "llm.request.", "llm.usage.", "mcp.")
_NAMES = ("all_messages_events", "tool_arguments")  # of older versions of pydantic-ai

_KINDS: dict[str, Kind] = {
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
    "chat": "llm",
    "text_completion": "llm",
    "completion": "llm",
    "generate_content": "llm",
    "execute_tool": "tool",
    "retrieval": "retriever",
}
_USAGE = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.aggregated_usage.input_tokens"),
    "output_tokens": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "gen_ai.aggregated_usage.output_tokens",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "llm.usage.reasoning_tokens",
    ),
    "cached_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "llm.usage.cache_read_input_tokens",
    ),
}
_EVENT_ROLES: dict[str, Role] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_DETAILS = "gen_ai.client.inference.operation.details"


def is_genai(raw: RawSpan) -> bool:
    """Whether the span was written by an instrumentation of models, agents or tools."""
    if any(name.startswith(_PREFIXES) or name in _NAMES for name in raw.attributes):
        return True
    return any(event.name.startswith("gen_ai.") for event in raw.events)


def from_genai(raw: RawSpan) -> Span:
    """The span in the neutral form."""
    attributes = raw.attributes
    for event in raw.events:
        if event.name == _DETAILS:
            attributes = {**event.attributes, **attributes}
    span = Span(raw.trace_id, raw.span_id, raw.parent_id, raw.name, _kind(attributes, raw.name), "otel_genai")
    span.start, span.end, span.error = raw.start, raw.end, raw.error
    span.conversation = as_text(first(attributes, "gen_ai.conversation.id", "session.id"))
    span.agent = as_text(first(attributes, "gen_ai.agent.name", "agent_name"))
    span.model = as_text(first(attributes, "gen_ai.response.model", "gen_ai.request.model"))
    reasons = attributes.get("gen_ai.response.finish_reasons")
    reasons = structured(reasons)
    span.finish_reason = as_text(reasons[0] if isinstance(reasons, list) and reasons else reasons)
    seconds = as_number(attributes.get("gen_ai.response.time_to_first_chunk"))
    span.ttft_ms = None if seconds is None else seconds * 1000
    span.usage = counts(attributes, _USAGE)
    span.cost_usd = as_number(first(attributes, "gen_ai.usage.cost", "operation.cost", "gen_ai.cost.total_cost"))
    _add_messages(span, attributes, raw.events)
    if span.kind == "other" and span.speaks and "gen_ai.operation.name" not in attributes:
        span.kind = "llm"
    _add_tool(span, attributes)
    _add_annotations(span, attributes)
    if span.kind == "retriever":
        documents = structured(attributes.get("gen_ai.retrieval.documents"))
        span.documents = as_list(documents)
    for dialect in (traceloop, vercel, adk):
        dialect(span, attributes)
    return span


def _kind(attributes: dict[str, Any], name: str) -> Kind:
    operation = as_text(attributes.get("gen_ai.operation.name"))
    if operation is not None:
        return _KINDS.get(operation, "other")
    if "gen_ai.tool.name" in attributes:
        return "tool"
    if "gen_ai.input.messages" in attributes or "gen_ai.output.messages" in attributes:
        return "llm"
    if "pydantic_ai.all_messages" in attributes or "all_messages_events" in attributes or name == "agent run":
        return "agent"
    if "gen_ai.request.model" in attributes or "gen_ai.response.model" in attributes:
        return "llm"
    return "other"


# --- messages ----------------------------------------------------------------------------


def _add_messages(span: Span, attributes: dict[str, Any], events: list[Event]) -> None:
    span.inputs = said(first(attributes, "gen_ai.input.messages"), "user")
    outputs = said(first(attributes, "gen_ai.output.messages"), "assistant")
    # Each is an answer to the same question: the first one was used.
    span.outputs = outputs if span.kind == "agent" else outputs[:1]
    if not span.speaks:
        span.inputs, span.outputs = _of_events(events)
    if not span.speaks:
        logged = structured(attributes.get("events"))
        span.inputs, span.outputs = _of_events(_logged(as_object(event)) for event in as_list(logged))
    if not span.speaks:
        span.inputs, span.outputs = framework_messages(attributes)
    if not span.speaks:
        span.inputs = said(attributes.get("gen_ai.prompt"), "user")
        span.outputs = said(attributes.get("gen_ai.completion"), "assistant")[:1]
    system = said(attributes.get("gen_ai.system_instructions"), "system")
    if system:
        for message in system:
            message.role = "system"
        span.inputs = [*system, *(message for message in span.inputs if message.role != "system")]
    _make_structured_answers(span, attributes)


def _logged(event: dict[str, Any]) -> Event:
    return Event(as_text(event.get("event.name")) or "", event)


def _of_events(events: Iterable[Event]) -> tuple[list[Message], list[Message]]:
    """The messages of the dialect that had an event for each: conventions up to 1.36."""
    given: list[Message] = []
    gave: list[Message] = []
    for event in sorted(events, key=lambda event: event.at or 0):
        body = {**event.attributes, **as_object(structured(event.attributes.get("gen_ai.event.content")))}
        if (role := _EVENT_ROLES.get(event.name)) is not None:
            given += _event_message(body, role)
        elif event.name == "gen_ai.choice" and as_number(body.get("index")) in (None, 0):
            message = structured(body.get("message"))
            inner = as_object(message)
            fields = {**body, **inner} if inner else {**body, "content": body.get("content", message)}
            gave += _event_message(fields, "assistant")
        elif event.name == "gen_ai.content.prompt":
            given += said(body.get("gen_ai.prompt"), "user")
        elif event.name == "gen_ai.content.completion":
            gave += said(body.get("gen_ai.completion"), "assistant")[:1]
    return given, gave


def _event_message(body: dict[str, Any], role: Role) -> list[Message]:
    names = ("content", "tool_calls", "name", "finish_reason", "reasoning")
    fields = {name: body[name] for name in names if body.get(name) is not None}
    if not fields.keys() - {"name", "finish_reason"}:
        return []  # what was said was not recorded
    call_id = first(body, "id", "tool_call_id")
    if role == "tool" and call_id is not None:
        fields["tool_call_id"] = call_id
    given = body.get("role")
    return said({**fields, "role": given if role == "assistant" and isinstance(given, str) else role}, role)


def _make_structured_answers(span: Span, attributes: dict[str, Any]) -> None:
    """Calls by which a model hands in an answer of a given type are that answer."""
    parameters = as_object(structured(attributes.get("model_request_parameters")))
    tools = {as_text(as_object(tool).get("name")) for tool in as_list(parameters.get("output_tools"))} - {None}
    for message in span.outputs if tools else []:
        for call in [call for call in message.calls if call.name in tools]:
            message.calls.remove(call)
            message.content = structured(call.arguments)


# --- tools and annotations ---------------------------------------------------------------


def _add_tool(span: Span, attributes: dict[str, Any]) -> None:
    if span.kind != "tool":
        return
    name = as_text(first(attributes, "gen_ai.tool.name", "tool_name"))
    name = name or span.name.removeprefix("execute_tool ").removeprefix("running tool: ")
    call = Call(name, first(attributes, "gen_ai.tool.call.arguments", "tool_arguments"))
    call.id = as_text(attributes.get("gen_ai.tool.call.id"))
    for key in ("gen_ai.tool.call.result", "tool_response"):
        if key in attributes and not call.has_result:
            result, failed = tool_outcome(attributes[key])
            call.result, call.has_result = result, True
            if failed and span.error is None and isinstance(result, str):
                span.error, call.result = result, None
    call.error = span.error
    span.call = call


def _add_annotations(span: Span, attributes: dict[str, Any]) -> None:
    tools = structured(attributes.get("gen_ai.tool.definitions"))
    if isinstance(tools, list) and tools:
        span.annotations["tools"] = tools
    user = as_text(first(attributes, "user.id", "enduser.id"))
    if user is not None:
        span.annotations["user_id"] = user
