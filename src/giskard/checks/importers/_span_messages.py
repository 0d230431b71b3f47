"""Messages as logs of model calls hold them: each vendor's own shape, often several in one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from giskard.checks.importers._contents import plain
from giskard.checks.importers._messages import Call, Message, Result, Role
from giskard.checks.importers._span_values import as_list, as_object, as_text, counts, first, literal, structured

__all__ = ["said", "tool_outcome"]

_ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "agent": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "system": "system",
    "developer": "system",
    "systemmessage": "system",
    "tool": "tool",
    "function": "tool",
    "toolmessage": "tool",
    "functionmessage": "tool",
}
_TEXTS = frozenset({"text", "input_text", "output_text", "summary_text"})
_CALLS = frozenset({"tool_call", "tool-call", "tool_use", "server_tool_call", "server_tool_use", "function_call"})
_RESULTS = frozenset(
    {"tool_call_response", "tool-result", "tool_result", "server_tool_call_response", "function_call_output"}
)
_REASONING = frozenset({"reasoning", "thinking"})
_PLAIN = frozenset({"role", "parts", "finish_reason"})
_OPAQUE = frozenset({"redacted_thinking", "redacted-reasoning", "step-start"})

# What the parts of a state are called that hold what was said, in the order in which they are believed.
_SAID_IN = (
    *("messages", "input", "question", "query", "prompt", "prompts", "user_input", "user_message"),
    *("message", "text", "content"),
)
_SAID_OUT = (
    *("messages", "generations", "choices", "output", "answer", "response", "result", "final_output"),
    *("output_text", "message", "completion", "text", "content"),
)
_WRAPPERS = ("inputs", "outputs", "kwargs", "data", "value")
_HISTORIES = ("chat_history", "history")

_USAGE = {"input_tokens": ("input_tokens",), "output_tokens": ("output_tokens",)}
_DEEPEST = 6  # states in states; what lies deeper is data


def said(value: Any, role: Role, *, opaque: bool = True) -> list[Message]:
    """What was said, in whatever shape it was recorded.

    Parameters
    ----------
    value
        A text, a message, a list of them, JSON of these, or a state that holds them.
    role
        Who speaks where that is not said.
    opaque
        Whether a value in which nothing is found was said as it is; if not, nothing was.
    """
    value = structured(value)
    if value is None or value in ("", [], {}):
        return []
    if isinstance(value, str):
        return [Message(role, value)]
    found = list(_messages(value, role, 0))
    if not found and opaque:
        return [Message(role, value if isinstance(value, dict | list) else str(value))]
    return found


def _messages(value: Any, role: Role, depth: int) -> Iterator[Message]:
    if depth > _DEEPEST:
        return
    value = structured(value)
    if isinstance(value, list):
        yield from _of_list(cast("list[Any]", value), role, depth)
    elif isinstance(value, str):
        if value:
            yield Message(role, value)
    elif isinstance(value, dict):
        state = cast("dict[str, Any]", value)
        message = _message(state, role)
        if message is not None:
            yield message
        else:
            yield from _of_state(state, role, depth)


def _of_list(values: list[Any], role: Role, depth: int) -> Iterator[Message]:
    if len(values) == 2 and isinstance(values[1], str) and (speaker := _role(values[0])) is not None:
        yield Message(speaker, values[1])  # ("human", "What does it cost?")
        return
    if values and not any(isinstance(value, dict | list | str) for value in values):
        return
    if all(_is_part(value) for value in values):
        if values:
            yield _with_content(Message(role), values)
        return
    for value in values:
        if isinstance(value, dict | list | str):
            yield from _messages(value, role, depth + 1)


def _of_state(state: dict[str, Any], role: Role, depth: int) -> Iterator[Message]:
    if set(state) == {"args", "kwargs"}:  # how a function was called
        arguments = as_list(state["args"])
        yield from _messages(arguments if arguments else state["kwargs"], role, depth + 1)
        return
    names = _SAID_IN if role == "user" else _SAID_OUT
    for name in (*names, *_WRAPPERS):
        inner = state.get(name)
        if inner is None or inner in ("", []):
            continue
        if name in ("generations", "choices"):
            inner = _first_choice(inner)
        found = list(_messages(inner, role, depth + 1))
        if found:
            if role == "user":
                for history in _HISTORIES:
                    yield from _messages(as_list(structured(state.get(history))), "user", depth + 1)
            yield from found
            return
    if isinstance(state.get("contents"), list):  # of Gemini
        yield from _of_list(as_list(state["contents"]), role, depth)


def _first_choice(value: Any) -> Any:
    """The first answer, when a model was asked for several."""
    while isinstance(value, list):
        value = next(iter(cast("list[Any]", value)), None)
    choice = as_object(value)
    message = first(choice, "message", "delta")
    return value if message is None else message


# --- one message -------------------------------------------------------------------------


def _role(value: Any) -> Role | None:
    return _ROLES.get(value.strip().lower().removeprefix("role_")) if isinstance(value, str) else None


def _fields(item: dict[str, Any]) -> dict[str, Any]:
    """The fields of a message that a library of messages wrapped."""
    for name in ("message", "kwargs", "data"):
        inner = item.get(name)
        if isinstance(inner, dict) and "role" not in item and (name == "message" or "type" in item):
            fields = cast("dict[str, Any]", inner)
            path = as_list(item.get("id"))
            kind = item.get("type")
            named = as_text(path[-1]) if path else kind
            return fields if _role(first(fields, "role", "type")) else {**fields, "type": named}
    return item


def _plain_message(item: dict[str, Any]) -> Message | None:
    """A message of the commonest shapes, quickly: logs repeat them by the thousand; None for all others."""
    given = item.get("role")
    role = _ROLES.get(given) if type(given) is str else None
    if role is None:
        return None
    content = item.get("content")
    if type(content) is str and len(item) == 2 and role != "tool":
        return Message(role, content)
    parts = item.get("parts")
    if type(parts) is not list or item.keys() - _PLAIN:
        return None
    message = _with_content(Message(role), cast("Any", parts))
    message.finish_reason = as_text(item.get("finish_reason"))
    return None if role == "tool" and not message.results else message


def _message(item: dict[str, Any], default: Role) -> Message | None:
    """The message that `item` is; None when it is something else."""
    message = _plain_message(item)
    if message is not None:
        return message
    fields = _fields(item)
    kind = fields.get("type")
    role = _role(first(fields, "role", "author"))
    if role is None:
        role = _role(kind)
    if role is None and isinstance(fields.get("role"), str) and ("content" in fields or "parts" in fields):
        role = "assistant"  # an agent that has a name of its own for itself
    if role is None:
        if isinstance(kind, str) and kind in _CALLS | _RESULTS | _REASONING:
            return _with_content(Message("assistant" if kind not in _RESULTS else "tool"), [fields])
        if not ("tool_calls" in fields or ("parts" in fields and isinstance(fields["parts"], list))):
            return None
        role = "assistant" if default == "assistant" or "tool_calls" in fields else default
    message = Message(role, name=as_text(fields.get("name")) if role != "tool" else None)
    content = first(fields, "content", "parts", "contents", "text")
    if role == "tool":
        return _tool_message(message, fields, content)
    _with_content(message, content)
    _with_calls(message, fields)
    _with_reasoning(message, fields)
    if message.content is None and isinstance(fields.get("refusal"), str) and fields["refusal"]:
        message.content, message.refusal = fields["refusal"], True
    message.finish_reason = _finish_reason(fields)
    if "usage_metadata" in fields:
        message.usage = _usage(as_object(fields["usage_metadata"])) or None
    return message


def _usage(counted: dict[str, Any]) -> dict[str, Any]:
    """What LangChain counted for a message."""
    usage = counts(counted, _USAGE)
    usage |= counts(as_object(counted.get("output_token_details")), {"reasoning_tokens": ("reasoning",)})
    return usage | counts(as_object(counted.get("input_token_details")), {"cached_tokens": ("cache_read",)})


def _finish_reason(fields: dict[str, Any]) -> str | None:
    answer = as_object(first(fields, "response_metadata", "generation_info"))
    return as_text(first(fields, "finish_reason", "finishReason")) or as_text(
        first(answer, "finish_reason", "stop_reason")
    )


def _tool_message(message: Message, fields: dict[str, Any], content: Any) -> Message:
    if isinstance(content, list):
        inner = _with_content(Message("tool"), cast("list[Any]", content))
        if inner.results:
            message.results = inner.results
            return message
        content = inner.content
    call_id = as_text(first(fields, "tool_call_id", "toolCallId", "id"))
    failed = fields.get("status") == "error" or fields.get("is_error") is True
    message.results.append(Result(content, call_id, as_text(fields.get("name")), True if failed else None))
    return message


def _with_reasoning(message: Message, fields: dict[str, Any]) -> None:
    for name in ("reasoning_content", "reasoning"):
        text = fields.get(name)
        if isinstance(text, str) and text:
            message.reasoning.append(text)
            return


# --- its parts ---------------------------------------------------------------------------


def _is_part(value: Any) -> bool:
    """Whether `value` is a piece of a message rather than a message."""
    part = as_object(value)
    if "role" in part or not part:
        return False
    if "message_content" in part or as_text(part.get("type")) in _TEXTS | {
        "image_url",
        "image",
        "input_image",
        "file",
        "blob",
        "uri",
    }:
        return True
    return bool(part.keys() & {"functionCall", "functionResponse", "toolUse", "toolResult"})


def _with_content(message: Message, content: Any) -> Message:
    """`message` with the parts of `content` where each belongs."""
    if not isinstance(content, list):
        message.content = content
        return message
    kept: list[Any] = []
    for part in cast("list[Any]", content):
        if isinstance(part, dict):
            _take(message, _unwrapped(cast("dict[str, Any]", part)), kept)
        elif part is not None:
            kept.append(part)
    message.content = plain(kept, "" if message.role == "assistant" else "\n\n")
    return message


def _unwrapped(part: dict[str, Any]) -> dict[str, Any]:
    if type(part.get("type")) is str and "message_content" not in part:
        return part
    for name in ("message_content", "toolUse", "toolResult"):
        inner = part.get(name)
        if isinstance(inner, dict):
            kind = {"toolUse": "tool_use", "toolResult": "tool_result"}.get(name)
            return cast("dict[str, Any]", inner if kind is None else {**inner, "type": kind})
    for name, kind in (("functionCall", "function_call"), ("function_call", "function_call")):
        if isinstance(inner := part.get(name), dict):
            return {**cast("dict[str, Any]", inner), "type": kind}
    for name in ("functionResponse", "function_response"):
        if isinstance(inner := part.get(name), dict):
            return {**cast("dict[str, Any]", inner), "type": "tool_result"}
    return part


def _take(message: Message, part: dict[str, Any], kept: list[Any]) -> None:
    kind = part.get("type")
    if not isinstance(kind, str):
        kind = "text" if isinstance(first(part, "text", "content"), str) else None
    if kind in _TEXTS:
        text = first(part, "text", "content")
        if isinstance(text, str) and part.get("thought") is True:
            message.reasoning.append(text)
        elif text is not None:
            kept.append({"type": "text", "text": text} if isinstance(text, str) else text)
    elif kind in _CALLS:
        message.calls.append(_call(part))
    elif kind in _RESULTS:
        message.results.append(_result(part))
    elif kind in _REASONING:
        text = first(part, "content", "text", "thinking", "summary")
        texts = [as_object(piece).get("text") for piece in as_list(text)] if isinstance(text, list) else [text]
        message.reasoning += [piece for piece in texts if isinstance(piece, str) and piece]
    elif kind not in _OPAQUE:
        kept.append(part)


def _call(part: dict[str, Any]) -> Call:
    function = as_object(part.get("function"))
    inner = as_object(part.get("server_tool_call"))
    name = as_text(first(part, "name", "toolName", "tool_name")) or as_text(function.get("name"))
    arguments = first(part, "arguments", "args", "input")
    if arguments is None:
        arguments = first(function, "arguments", "args")
    if arguments is None and inner:
        name = name or as_text(inner.get("type"))
        arguments = first(inner, "arguments", "input") or {key: inner[key] for key in inner if key != "type"}
    call_id = as_text(first(part, "call_id", "toolCallId", "toolUseId", "tool_call_id", "id"))
    return Call(name or "", arguments, call_id)


def _result(part: dict[str, Any]) -> Result:
    content = first(part, "response", "result", "content", "output", "server_tool_call_response")
    failed = part.get("is_error") is True or part.get("isError") is True or part.get("status") == "error"
    if isinstance(content, dict) and content.keys() == {
        "type",
        "value",
    }:  # an output with its type, as AI SDK 5 writes it
        kind = cast("dict[str, Any]", content)["type"]
        failed = failed or (isinstance(kind, str) and kind.startswith("error"))
        content = cast("dict[str, Any]", content)["value"]
    elif isinstance(content, list):
        blocks = cast("list[Any]", content)
        content = plain(blocks)
        if len(blocks) == 1 and "json" in as_object(blocks[0]):
            content = blocks[0]["json"]
    name = as_text(first(part, "name", "toolName"))
    call_id = as_text(first(part, "call_id", "tool_use_id", "toolCallId", "toolUseId", "tool_call_id", "id"))
    return Result(content, call_id, name, True if failed else None)


def _with_calls(message: Message, fields: dict[str, Any]) -> None:
    """Add the calls that stand beside the content."""
    known = {call.id for call in message.calls if call.id is not None}
    extra = as_object(fields.get("additional_kwargs"))
    calls = as_list(structured(fields.get("tool_calls"))) or as_list(extra.get("tool_calls"))
    for item in [*calls, *as_list(fields.get("invalid_tool_calls"))]:
        fields_of = as_object(structured(item))
        call = _call(as_object(fields_of.get("tool_call")) or fields_of)
        if (call.name or call.id) and (call.id is None or call.id not in known):
            message.calls.append(call)
    legacy = as_object(structured(first(fields, "function_call") or extra.get("function_call")))
    if legacy.get("name") and not message.calls:
        message.calls.append(_call(legacy))


# --- what a tool gave back ---------------------------------------------------------------

_SHOWN_MESSAGE = re.compile(r"content=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?: |$)", re.DOTALL)


def tool_outcome(value: Any) -> tuple[Any, bool]:
    """What a tool gave back, taken out of the message that it was wrapped in, and whether that was a failure."""
    value = structured(value)
    if isinstance(value, str):
        shown = _SHOWN_MESSAGE.match(value)  # how a message prints itself
        if shown is not None:
            text = literal(f"[{shown[1]}]")
            return (as_list(text) or [value])[0], "status='error'" in value[shown.end() :]
        return value, False
    item = as_object(value)
    if _role(item.get("type")) == "tool" or _role(item.get("role")) == "tool" or "lc" in item:
        message = _message(item, "tool")
        if message is not None and message.results:
            return message.results[0].content, message.results[0].error is True
    return value, False
