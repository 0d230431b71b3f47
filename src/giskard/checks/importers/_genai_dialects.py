"""What frameworks write in names of their own into spans of models: Traceloop, the AI SDK, ADK, pydantic-ai."""

from __future__ import annotations

from typing import Any

from giskard.checks.importers._flat_keys import nested
from giskard.checks.importers._json import json_or_text
from giskard.checks.importers._messages import Call, Message
from giskard.checks.importers._span import Kind, Span
from giskard.checks.importers._span_history import split, talk
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

__all__ = ["adk", "framework_messages", "traceloop", "vercel"]


def framework_messages(attributes: dict[str, Any]) -> tuple[list[Message], list[Message]]:
    """What the span of an agent of pydantic-ai was told and gave: it keeps all messages of the run in one list."""
    told = said(first(attributes, "pydantic_ai.all_messages", "all_messages_events"), "user", opaque=False)
    before, question, after = split(talk(told))
    before = [*(message for message in told if message.role == "system"), *before]
    if "final_result" in attributes:
        final = structured(attributes["final_result"])
        if not after or after[-1].role != "assistant" or after[-1].content != final:
            after = [*after, Message("assistant", final)]
    return [*before, *question], after


# --- Traceloop ---------------------------------------------------------------------------

_TRACELOOP_KINDS: dict[str, Kind] = {"workflow": "chain", "task": "chain", "agent": "agent", "tool": "tool"}
_ASSOCIATED = "traceloop.association.properties."


def traceloop(span: Span, attributes: dict[str, Any]) -> None:
    """Add what OpenLLMetry writes: a flat attribute for each piece of a message, and what entities took and gave."""
    flat = any(name.startswith(("gen_ai.prompt.", "gen_ai.completion.")) for name in attributes)
    request = as_text(attributes.get("llm.request.type"))
    if not flat and request is None and not any(name.startswith("traceloop.") for name in attributes):
        return
    span.dialect = "traceloop"
    entity = _TRACELOOP_KINDS.get(as_text(attributes.get("traceloop.span.kind")) or "")
    if entity is not None and span.kind == "other":
        span.kind = entity
    elif request in ("chat", "completion") or (flat and span.kind == "other"):
        span.kind = "llm"
    if flat and not span.speaks:
        span.inputs = _flat_messages(attributes, "gen_ai.prompt.", "user")
        span.outputs = _flat_messages(attributes, "gen_ai.completion.", "assistant")[:1]
        span.finish_reason = span.finish_reason or next(
            (m.finish_reason for m in span.outputs if m.finish_reason), None
        )
    taken, gave = (_unquoted(attributes.get(f"traceloop.entity.{side}")) for side in ("input", "output"))
    if span.kind in ("agent", "chain") and not span.speaks:
        span.inputs, span.outputs = said(taken, "user", opaque=False), said(gave, "assistant", opaque=False)
    elif span.kind == "tool":
        _traceloop_tool(span, attributes, taken, gave)
    functions = nested(attributes, "llm.request.functions.")
    if functions:
        described = [functions[place] for place in sorted(functions, key=lambda name: (len(name), name))]
        parsed = [{name: structured(value) for name, value in as_object(tool).items()} for tool in described]
        span.annotations.setdefault("tools", parsed)
    names = ("conversation_id", "session_id", "thread_id", "chat_id")
    known = first(attributes, *(_ASSOCIATED + name for name in names))
    span.conversation = span.conversation or as_text(known)


def _unquoted(value: Any) -> Any:
    return json_or_text(value) if isinstance(value, str) and value.startswith('"') else value


def _flat_messages(attributes: dict[str, Any], prefix: str, role: Any) -> list[Message]:
    pieces = nested(attributes, prefix)
    found: list[Message] = []
    for place in sorted((name for name in pieces if name.isdecimal()), key=lambda name: (len(name), name)):
        fields = dict(as_object(pieces[place]))
        fields.setdefault("role", role)
        content = structured(fields.get("content"))
        if isinstance(content, list):  # the blocks of a message, as JSON
            fields["content"] = content
        found += said(fields, role)
    return found


def _traceloop_tool(span: Span, attributes: dict[str, Any], taken: Any, gave: Any) -> None:
    call = span.call or Call("")
    named = as_text(attributes.get("gen_ai.tool.name"))
    call.name = named or as_text(attributes.get("traceloop.entity.name")) or call.name or span.name
    if call.arguments is None:
        state = as_object(structured(taken))
        inner = first(state, "kwargs", "inputs", "input_str") if state else taken
        call.arguments = literal(inner) or (
            taken if not state else literal(first(state, "inputs", "input_str", "args"))
        )
    if not call.has_result and gave is not None:
        state = as_object(structured(gave))
        call.result, failed = tool_outcome(first(state, "output") if "output" in state else gave)
        call.has_result = True
        span.error = span.error or (str(call.result) if failed else None)
    call.error = span.error
    span.call = call


# --- the AI SDK of Vercel -----------------------------------------------------------------

_VERCEL_USAGE = {
    "input_tokens": ("ai.usage.inputTokens", "ai.usage.promptTokens"),
    "output_tokens": ("ai.usage.outputTokens", "ai.usage.completionTokens"),
    "reasoning_tokens": ("ai.usage.reasoningTokens",),
    "cached_tokens": ("ai.usage.cachedInputTokens",),
}
_METADATA = "ai.telemetry.metadata."


def vercel(span: Span, attributes: dict[str, Any]) -> None:
    """Add what the AI SDK writes: a span around all steps, one for each call of a model, one for each tool."""
    operation = (
        as_text(attributes.get("ai.operationId")) or (as_text(attributes.get("operation.name")) or "").split(" ")[0]
    )
    if not operation.startswith("ai."):
        return
    span.dialect = "vercel"
    if operation == "ai.toolCall":
        span.kind = "tool"
        call = Call(as_text(attributes.get("ai.toolCall.name")) or span.name, first(attributes, "ai.toolCall.args"))
        call.id, call.error = as_text(attributes.get("ai.toolCall.id")), span.error
        call.result = first(attributes, "ai.toolCall.result", "ai.toolCall.output")
        call.has_result = call.result is not None
        if call.arguments is None:
            call.arguments = attributes.get("ai.toolCall.input")
        span.call = call
        return
    step = operation.endswith((".doGenerate", ".doStream"))
    whole = operation in ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
    span.kind = "llm" if step else "agent" if whole else "other"
    if span.kind == "other":
        return
    prompt = as_object(structured(attributes.get("ai.prompt")))
    given = said(first(attributes, "ai.prompt.messages") or first(prompt, "messages", "prompt"), "user")
    given = given or said(attributes.get("ai.prompt") if not prompt else None, "user")
    system = said(prompt.get("system"), "system")
    span.inputs = [*system, *given] or span.inputs
    span.outputs = _vercel_answer(attributes) or span.outputs
    span.usage = span.usage or counts(attributes, _VERCEL_USAGE)
    span.model = as_text(first(attributes, "ai.response.model", "ai.model.id")) or span.model
    span.finish_reason = as_text(attributes.get("ai.response.finishReason")) or span.finish_reason
    span.ttft_ms = as_number(first(attributes, "ai.response.msToFirstChunk", "ai.stream.msToFirstChunk"))
    names = ("sessionId", "session_id", "threadId", "conversationId", "chatId")
    span.conversation = span.conversation or as_text(first(attributes, *(_METADATA + name for name in names)))
    tools = [structured(tool) for tool in as_list(attributes.get("ai.prompt.tools"))]
    if tools:
        span.annotations.setdefault("tools", tools)


def _vercel_answer(attributes: dict[str, Any]) -> list[Message]:
    text = first(attributes, "ai.response.text", "ai.result.text")
    answer = first(attributes, "ai.response.object", "ai.result.object")
    message = Message("assistant", text if text or answer is None else structured(answer))
    for item in as_list(structured(first(attributes, "ai.response.toolCalls", "ai.result.toolCalls"))):
        fields = as_object(item)
        arguments = first(fields, "input", "args")
        message.calls.append(Call(as_text(fields.get("toolName")) or "", arguments, as_text(fields.get("toolCallId"))))
    reasoning = attributes.get("ai.response.reasoning")
    if isinstance(reasoning, str) and reasoning:
        message.reasoning.append(reasoning)
    return [message] if message.content is not None or message.calls else []


# --- the Agent Development Kit of Google --------------------------------------------------

_ADK = "gcp.vertex.agent."
_ADK_USAGE = {
    "input_tokens": ("prompt_token_count", "promptTokenCount"),
    "output_tokens": ("candidates_token_count", "candidatesTokenCount"),
    "reasoning_tokens": ("thoughts_token_count", "thoughtsTokenCount"),
    "cached_tokens": ("cached_content_token_count", "cachedContentTokenCount"),
}


def adk(span: Span, attributes: dict[str, Any]) -> None:
    """Add what ADK writes: requests and answers of models, and calls of tools, as JSON."""
    if not any(name.startswith(_ADK) for name in attributes):
        return
    span.dialect = "adk"
    span.conversation = span.conversation or as_text(attributes.get(_ADK + "session_id"))
    request = as_object(structured(attributes.get(_ADK + "llm_request")))
    response = as_object(structured(attributes.get(_ADK + "llm_response")))
    if "(merged" in span.name:  # the sum of tools that ran at once; each has a span of its own
        span.kind = "other"
    elif span.kind == "tool" or (_ADK + "tool_call_args" in attributes and not request and not response):
        _adk_tool(span, attributes)
    elif request or response or _ADK + "llm_request" in attributes:
        span.kind = "llm"
        config = as_object(request.get("config"))
        system = said(first(config, "system_instruction", "systemInstruction"), "system")
        for message in system:
            message.role = "system"
        span.inputs = [*system, *said(request.get("contents"), "user")] or span.inputs
        span.outputs = said(response.get("content"), "assistant") or span.outputs
        span.usage = span.usage or counts(as_object(first(response, "usage_metadata", "usageMetadata")), _ADK_USAGE)
        span.model = span.model or as_text(request.get("model"))
        if config.get("tools"):
            span.annotations.setdefault("tools", config["tools"])
        if span.error is None:
            span.error = as_text(first(response, "error_message", "error_code"))


def _adk_tool(span: Span, attributes: dict[str, Any]) -> None:
    span.kind = "tool"
    call = span.call or Call(as_text(attributes.get("gen_ai.tool.name")) or span.name.removeprefix("execute_tool "))
    if call.arguments is None:
        call.arguments = attributes.get(_ADK + "tool_call_args")
    response = attributes.get(_ADK + "tool_response")
    if not call.has_result and response is not None and response != "<not serializable>":
        call.result, call.has_result = response, True
    call.id = call.id or as_text(attributes.get(_ADK + "tool_call_id"))
    call.error = span.error
    span.call = call
