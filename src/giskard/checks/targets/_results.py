"""What the results of other packages' agents hold: the answer, the tools that were called, what was used."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from giskard.checks.core.usage import ToolCall, Usage, usage_of, value_of
from giskard.checks.targets._chat import arguments_of, content_text

__all__ = ["output_of", "tool_calls_in", "usage_in"]

# Where results keep the answer, as attributes, in this order.
_OUTPUTS: Final = (
    "final_output",
    "output",
    "content",
    "text",
    "answer",
    "response",
    "raw",
    "chat_message",
    "message",
    "result",
)
# The keys of a result that is a dict, and has nothing but these.
_OF_EXECUTORS: Final = frozenset({"input", "output", "chat_history", "history", "intermediate_steps"})
_DEPTH: Final = 5


def output_of(result: Any, depth: int = 0) -> Any:
    """The answer in a result; the result itself when it is plain data, or has none that is known."""
    if depth > _DEPTH or result is None or isinstance(result, (str, bytes, int, float)):
        return result
    if isinstance(result, Mapping):
        return _in_mapping(cast("Mapping[str, Any]", result), depth)
    if isinstance(result, Sequence):
        return cast("Any", result)
    first = _first_choice(result)
    if first is not None:
        return output_of(first, depth + 1)
    for name in _OUTPUTS:
        found = getattr(result, name, None)
        if found is not None and not callable(found):
            if name == "content":
                text = content_text(found)
                return found if text is None else text
            return output_of(found, depth + 1) if _is_message(found) or isinstance(found, Mapping) else found
    messages = getattr(result, "messages", None)
    if isinstance(messages, Sequence) and messages:
        return output_of(messages[-1], depth + 1)
    return result


def _in_mapping(result: Mapping[str, Any], depth: int) -> Any:
    if "role" in result and "content" in result:
        text = content_text(result["content"])
        return result["content"] if text is None else text
    for name in ("messages", "replies"):
        items = result.get(name)
        if isinstance(items, Sequence) and items and not isinstance(items, str):
            return output_of(items[-1], depth + 1)
    first = _first_choice(result)
    if first is not None:
        return output_of(first, depth + 1)
    if "output" in result and _OF_EXECUTORS.issuperset(result):
        return result["output"]
    parts: list[Any] = [part for part in result.values() if isinstance(part, Mapping) and "replies" in part]
    return output_of(parts[0], depth + 1) if len(parts) == 1 else result


def _first_choice(result: Any) -> Any:
    choices = value_of(result, "choices")
    return value_of(choices[0], "message") if isinstance(choices, Sequence) and choices else None


def _is_message(value: Any) -> bool:
    return any(hasattr(value, name) for name in ("content", "chat_message", "choices")) or (
        hasattr(value, "role") and hasattr(value, "text")
    )


# --- tools -------------------------------------------------------------------------------


def tool_calls_in(result: Any) -> list[ToolCall]:
    """The calls of tools that a result tells of, of its last turn, with what they gave."""
    calls: dict[Any, ToolCall] = {}
    for position, message in enumerate(_of_last_turn(_messages(result))):
        for part in _parts(message):
            _note(part, position, calls)
    return list(calls.values())


def _messages(result: Any) -> list[Any]:
    for name in ("new_messages", "new_items", "messages"):
        found = value_of(result, name)
        if callable(found):
            found = found()
        if isinstance(found, Sequence) and not isinstance(found, str):
            return list(cast("Sequence[Any]", found))
    first = _first_choice(result)
    return [result if first is None else first]


def _of_last_turn(messages: list[Any]) -> list[Any]:
    """The messages after the last one of the user: a state holds the whole conversation."""
    users = [i for i, message in enumerate(messages) if _role(message) in ("user", "human")]
    return messages[users[-1] + 1 :] if users else messages


def _role(message: Any) -> Any:
    role = value_of(message, "role") or value_of(message, "type")
    return getattr(role, "value", role)


def _parts(message: Any) -> list[Any]:
    """What a message is made of, as far as it may tell of tools."""
    parts: list[Any] = [message]
    for name in ("tool_calls", "parts", "content", "raw_item"):
        found = value_of(message, name)
        if isinstance(found, Sequence) and not isinstance(found, (str, bytes)):
            parts += cast("Sequence[Any]", found)
        elif name == "raw_item" and found is not None:
            parts.append(found)
    return parts


def _note(part: Any, position: int, calls: dict[Any, ToolCall]) -> None:
    """Add the call that `part` is, or its result to the call that it answers."""
    if isinstance(part, (str, bytes)) or part is None:
        return
    function = value_of(part, "function")
    source = part if function is None else function
    name = value_of(source, "name") or value_of(source, "tool_name")
    arguments = next((a for key in ("arguments", "args") if (a := value_of(source, key)) is not None), None)
    ids = [value_of(part, key) for key in ("tool_call_id", "call_id", "id")]
    own = next((id for id in ids if isinstance(id, str)), None)
    if isinstance(name, str) and arguments is not None and not _is_answer(part):
        key = own if own is not None else len(calls)
        calls.setdefault(key, ToolCall(id=own, name=name, arguments=arguments_of(arguments), message_index=position))
        return
    if own in calls and calls[own].result is None and calls[own].error is None:
        given = next((v for key in ("output", "content", "result") if (v := value_of(part, key)) is not None), None)
        if given is not None:
            failed = (
                value_of(part, "is_error") is True
                or value_of(part, "status") == "error"
                or _kind(part) == "retry-prompt"
            )
            calls[own] = calls[own].model_copy(update={"error": str(given)} if failed else {"result": given})


def _is_answer(part: Any) -> bool:
    return _kind(part) in ("tool-return", "function_call_output", "tool") or value_of(part, "role") == "tool"


def _kind(part: Any) -> Any:
    return value_of(part, "part_kind") or value_of(part, "type")


# --- usage -------------------------------------------------------------------------------


def usage_in(result: Any) -> Usage | None:
    """What a result says that its turn used; None when it says nothing."""
    usage = value_of(result, "usage")
    if usage is None:
        usage = value_of(value_of(result, "context_wrapper"), "usage")
    if usage is None:
        usage = value_of(result, "token_usage")
    if inspect.ismethod(usage):
        usage = usage()
    if usage is not None:
        return usage_of(usage)
    found = [value_of(message, "usage_metadata") for message in _of_last_turn(_messages(result))]
    each = [made for data in found if data is not None and (made := usage_of(data)) is not None]
    return sum(each[1:], each[0]) if each else None
