"""Items of OpenAI's Responses API: messages, calls, their outputs, and thoughts, in one list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from giskard.checks.importers._chat_messages import ROLES
from giskard.checks.importers._contents import plain
from giskard.checks.importers._lenient import known, listed, mapping, part_type, text
from giskard.checks.importers._messages import Call, Message, Result
from giskard.checks.importers.base import BadRecord

__all__ = ["are_items", "messages_of_items", "moved"]

# Calls that an answer may hold side by side: the caller runs them and sends back the outputs.
_CALLERS_OWN = frozenset(
    {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call"}
)
_OUTPUT = "_output"
_CALL = "_call"
# What an item of an unknown kind of call holds beside its arguments.
_NO_ARGUMENTS = frozenset(
    {"id", "type", "status", "call_id", "name", "output", "outputs", "result", "results", "error", "server_label"}
)
_KNOWN_TYPES = frozenset({"reasoning", "message", "item_reference", "mcp_approval_request", "mcp_list_tools"})
_FAILED = ("failed", "incomplete")


def are_items(value: Any) -> bool:
    """Whether `value` is a list of items, and no list of messages of another format: one of them has a type."""
    if not isinstance(value, list):
        return False
    items = cast("list[Any]", value)
    return bool(items) and all(map(_is_item, items[:8])) and any(map(_is_typed, items[:8]))


def _is_item(value: Any) -> bool:
    kind = part_type(value)
    if kind is None or kind == "message":
        record = mapping(value)
        role = record.get("role")
        return isinstance(role, str) and role in ROLES and "content" in record and "tool_calls" not in record
    return kind in _KNOWN_TYPES or _is_call(kind) or _is_output(kind)


def _is_typed(value: Any) -> bool:
    """Whether an item is one of this API's for sure."""
    kind = part_type(value)
    record = mapping(value)
    if kind == "reasoning":
        return "summary" in record or "encrypted_content" in record
    if kind is None or kind == "message":
        return any(part_type(part) in ("output_text", "input_text") for part in listed(record.get("content")))
    return _is_call(kind) or _is_output(kind)


def _is_call(kind: str) -> bool:
    return kind.endswith(_CALL)


def _is_output(kind: str) -> bool:
    return kind.endswith(_CALL + _OUTPUT)


def messages_of_items(value: Any, what: str = "items") -> list[Message]:
    """The messages that `value` makes: a text of the user, or a list of items.

    Raises
    ------
    BadRecord
        When it is something else.
    """
    if isinstance(value, str):
        return [Message("user", value)]
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise BadRecord(f"{what}: expected a text or a list of items, got {type(value).__name__}")
    messages: list[Message] = []
    for place, item in enumerate(cast("list[Any]", value)):
        if isinstance(item, str):
            messages.append(Message("user", item, index=place))
        elif not isinstance(item, dict):
            raise BadRecord(f"{what}: expected objects, got {type(item).__name__} at position {place}")
        else:
            _add(messages, mapping(item), place)
    return messages


def _add(messages: list[Message], item: dict[str, Any], place: int) -> None:
    kind = part_type(item)
    if kind is not None and kind in _CALLERS_OWN:
        call = _call(item, kind)
        before = _open_calls(messages)
        if before is None:
            messages.append(Message("assistant", calls=[call], index=place, raw=[item]))
        else:  # side by side with the call before it
            before.calls.append(call)
            before.raw = [*listed(before.raw), item]
        return
    message = _message(item, kind, place)
    message.index, message.raw = place, item
    messages.append(message)


def _open_calls(messages: list[Message]) -> Message | None:
    """The message with calls that another call belongs to: the latest, if nothing but thoughts came after it."""
    for message in reversed(messages):
        if message.calls and not any(call.has_result for call in message.calls):
            return message if message.content is None else None
        if message.role != "assistant" or not message.reasoning:
            return None
    return None


def _message(item: dict[str, Any], kind: str | None, place: int) -> Message:
    if kind is None or kind == "message" or ("role" in item and "content" in item):
        return _spoken(item, place)
    if kind == "reasoning":
        return Message("assistant", reasoning=_thoughts(item))
    if _is_output(kind):
        output = item.get("output")
        output = plain(output, "\n") if _are_parts(output) else output
        failed = item.get("status") in _FAILED
        return Message("tool", results=[Result(output, _id(item), error=failed)])
    if _is_call(kind):
        call = _call(item, kind)
        found = {"retrieved": item.get("results")} if kind == "file_search_call" else {}
        return Message("assistant", calls=[call], metadata=known(**found) or None)
    return Message("assistant", metadata={"other_items": [item]})


def _spoken(item: dict[str, Any], place: int) -> Message:
    name = item.get("role")
    role = ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        raise BadRecord(f"item {place}: its role is {name!r}; known are {', '.join(ROLES)}")
    content = item.get("content")
    message = Message(role, content)
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        message.refusal = any(part_type(part) == "refusal" for part in parts)
        if message.refusal:
            message.content = [_refusal(part) for part in parts]
        citations = [cite for part in parts for cite in listed(mapping(part).get("annotations"))]
        message.metadata = {"citations": citations} if citations else None
    if role == "tool":
        return Message("tool", results=[Result(content, _id(item))])
    return message


def _refusal(part: Any) -> Any:
    refusal = mapping(part).get("refusal")
    is_one = part_type(part) == "refusal" and isinstance(refusal, str)
    return {"type": "output_text", "text": refusal} if is_one else part


def _thoughts(item: Mapping[str, Any]) -> list[str]:
    parts = [*listed(item.get("summary")), *listed(item.get("content"))]
    found = [part if isinstance(part, str) else mapping(part).get("text") for part in parts]
    return [thought for thought in found if isinstance(thought, str) and thought]


def _are_parts(value: Any) -> bool:
    return isinstance(value, list) and all(part_type(part) is not None for part in cast("list[Any]", value))


def _id(item: Mapping[str, Any]) -> str | None:
    return text(item.get("call_id")) or text(item.get("tool_call_id")) or text(item.get("id"))


def _call(item: dict[str, Any], kind: str) -> Call:
    """The call that an item is; those of tools that OpenAI runs hold what came of it."""
    name = text(item.get("name")) or kind.removesuffix(_CALL)
    call = Call(name, _ARGUMENTS.get(kind, _other_arguments)(item), _id(item))
    if kind in _CALLERS_OWN:
        return call
    for key in ("output", "outputs", "results", "result"):
        if item.get(key) is not None:
            call.result, call.has_result = item[key], True
            break
    error = item.get("error")
    if error is None and item.get("status") in _FAILED:
        error = f"status {item['status']}"
    if error is not None:
        message = error if isinstance(error, str) else mapping(error).get("message")
        call.error, call.has_result = (message if isinstance(message, str) else str(error)), True
    return call


def _other_arguments(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in _NO_ARGUMENTS}


_ARGUMENTS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "function_call": lambda item: item.get("arguments"),
    "mcp_call": lambda item: item.get("arguments"),
    "custom_tool_call": lambda item: {"input": item.get("input")},
    "web_search_call": lambda item: mapping(item.get("action")) or _other_arguments(item),
    "file_search_call": lambda item: known(queries=item.get("queries")),
    "code_interpreter_call": lambda item: known(code=item.get("code")),
}


def moved(messages: Iterable[Message], by: int) -> list[Message]:
    """`messages`, with their positions counted on from `by`."""
    moved_messages = list(messages)
    for message in moved_messages:
        message.index = by + (message.index or 0)
    return moved_messages
