"""Messages of OpenAI's chat completions, as many servers and libraries write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from giskard.checks.importers._contents import joined, plain
from giskard.checks.importers._conversation import Turns
from giskard.checks.importers._json import json_or_text
from giskard.checks.importers._lenient import first, known, listed, mapping, part_type, text
from giskard.checks.importers._messages import Call, Message, Result, Role
from giskard.checks.importers.base import BadRecord

__all__ = [
    "ROLES",
    "add_messages",
    "are_chat_messages",
    "calls_of",
    "chat_message",
    "message_of",
    "messages_of",
]

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
# `type`, for the type checker: of any value.
_type_of: Callable[[Any], type[Any]] = type


def are_chat_messages(value: Any) -> bool:
    """Whether `value` is a list of messages, by the first of them."""
    if not isinstance(value, list):
        return False
    messages = cast("list[Any]", value)
    return bool(messages) and all(_is_message(message) for message in messages[:3])


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    message = cast("dict[str, Any]", value)
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        return False
    return "content" in message or "tool_calls" in message or "function_call" in message or "refusal" in message


def messages_of(value: Any, what: str = "messages") -> list[Message]:
    """The messages of a list.

    Raises
    ------
    BadRecord
        When it is no list of messages.
    """
    if not isinstance(value, list):
        raise BadRecord(f"{what}: expected a list of messages, got {type(value).__name__}")
    return [message_of(message, place) for place, message in enumerate(cast("list[Any]", value))]


def add_messages(turns: Turns, value: Any, start: int = 0, fails: Callable[[str], bool] | None = None) -> int:
    """Give the messages of a list to `turns`, and say how many they are: `messages_of` for the many rows of a file.

    Nearly all messages are a text of somebody, calls, or the result of one: these are not made a `Message` first.

    Parameters
    ----------
    start
        The position of the first of them in the conversation.
    fails
        Says of the text of a result whether it tells of a failure.

    Raises
    ------
    BadRecord
        When it is no list of messages.
    """
    if not isinstance(value, list):
        raise BadRecord(f"messages: expected a list of messages, got {type(value).__name__}")
    messages = cast("list[Any]", value)
    for place, message in enumerate(messages, start):
        if _type_of(message) is not dict or not turns.is_plain or not _added(turns, message, place, fails):
            made = message_of(message, place)
            for result in made.results:
                if fails is not None and isinstance(result.content, str) and fails(result.content):
                    result.error = True
            turns.add(made, place)
    return len(messages)


def _added(turns: Turns, message: dict[str, Any], place: int, fails: Callable[[str], bool] | None) -> bool:
    """Whether a message was of those that are often seen, and given to `turns`."""
    role, content, size = message.get("role"), message.get("content"), len(message)
    is_text = type(content) is str
    turn = turns.turn
    if role == "user":
        if size == 2 and is_text:
            (turns.begin() if turn is None or turn.begun else turn).ask(content)
            return True
    elif role == "assistant":
        if size == 2 and is_text:
            (turn or turns.begin()).say(content, place)
            return True
        if size == 3 and (is_text or content is None) and (calls := _calls(message.get("tool_calls"))):
            (turn or turns.begin()).call(calls, content, place)
            return True
    elif role == "tool" and is_text and type(call_id := message.get("tool_call_id")) is str and call_id:
        name = message.get("name")
        if size == 3 or (size == 4 and type(name) is str):
            failed = True if fails is not None and fails(content) else None
            (turn or turns.begin()).take(Result(content, call_id, name, failed), place)
            return True
    return False


def message_of(value: Any, place: int = 0) -> Message:
    """A message.

    Parameters
    ----------
    place
        Its position, for errors.

    Raises
    ------
    BadRecord
        When it is no message.
    """
    if type(value) is not dict:
        raise BadRecord(f"message {place}: expected an object, got {type(value).__name__}")
    message = cast("dict[str, Any]", value)
    name = message.get("role")
    role = ROLES.get(name) if type(name) is str else None
    if role is None:
        raise BadRecord(f"message {place}: its role is {name!r}; known are {', '.join(ROLES)}")
    if role == "assistant":
        return _said(message)
    content = message.get("content")
    if role == "tool":
        return Message("tool", results=[_result(message, content)], raw=message)
    if len(message) == 2:
        return Message(role, content, raw=message)
    return Message(role, content, name=text(message.get("name")), timestamp=_time(message), raw=message)


def _time(message: Mapping[str, Any]) -> str | None:
    return text(message.get("timestamp")) or text(message.get("created_at"))


def _result(message: dict[str, Any], content: Any) -> Result:
    if type(content) is list:
        content = plain(content, "\n")
    failed = message.get("is_error") is True or message.get("status") == "error"
    return Result(content, _id(message.get("tool_call_id")), text(message.get("name")), failed)


def _id(value: Any) -> str | None:
    if type(value) is str:
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _said(message: dict[str, Any]) -> Message:
    """What the assistant said."""
    content, calls = message.get("content"), message.get("tool_calls")
    has_parts = type(message.get("content")) is list
    if len(message) == 2 and calls is None and not has_parts:
        return Message("assistant", content, raw=message)
    if calls is not None:
        made = _calls(calls)
        if len(message) == 3 and not has_parts:
            return Message("assistant", content, made, raw=message)
    else:
        made = _legacy_call(message.get("function_call"))
    said = Message("assistant", content, made, name=text(message.get("name")), timestamp=_time(message), raw=message)
    said.reasoning = _reasoning(message)
    _add_refusal(said, message)
    _add_media(said, message)
    said.metadata = known(citations=listed(message.get("annotations")) or None, weight=message.get("weight")) or None
    return said


def _calls(value: Any) -> list[Call]:
    """The calls of a message; what is no call is left out, as Parquet fills up with nothing."""
    if type(value) is str:
        value = json_or_text(value)
    calls: list[Call] = []
    for call in listed(value):
        if _type_of(call) is not dict:
            continue
        function = call.get("function")
        if _type_of(function) is dict and _type_of(name := function.get("name")) is str:
            call_id = call.get("id")
            if type(call_id) is not str:
                call_id = _id(call_id)
            calls.append(Call(name, function.get("arguments"), call_id or None))
        else:
            calls += _odd_call(call)
    return calls


def _odd_call(call: dict[str, Any]) -> list[Call]:
    """A call of a custom tool, which takes a text, or one that is written flat."""
    custom = mapping(call.get("custom"))
    if custom:
        return [Call(str(custom.get("name", "")), {"input": custom.get("input")}, _id(call.get("id")))]
    function = mapping(call.get("function"))
    name = call.get("name") or function.get("name") or text(call.get("function"))
    arguments = call.get("arguments", call.get("args", function.get("arguments")))
    if name is None and arguments is None:
        return []
    return [Call(str(name or ""), arguments, _id(call.get("id")))]


def _legacy_call(value: Any) -> list[Call]:
    if type(value) is str:
        value = json_or_text(value)
    call = mapping(value)
    name = call.get("name")
    return [Call(name, call.get("arguments"))] if isinstance(name, str) else []


def _reasoning(message: Mapping[str, Any]) -> list[str]:
    for name in ("reasoning_content", "reasoning", "thinking"):
        if thought := text(message.get(name)):
            return [thought]
    for name in ("reasoning_details", "thinking_blocks"):
        details = [mapping(detail) for detail in listed(message.get(name))]
        found = [detail.get("text") or detail.get("summary") or detail.get("thinking") for detail in details]
        if thoughts := [thought for thought in found if isinstance(thought, str) and thought]:
            return thoughts
    return []


def _add_refusal(said: Message, message: Mapping[str, Any]) -> None:
    """Take refusals for what was said: they are answers."""
    refusal = text(message.get("refusal"))
    if refusal is not None:
        said.refusal = True
        said.content = joined(plain(said.content) or None, refusal)
    else:
        parts = listed(said.content)
        if any(part_type(part) == "refusal" for part in parts):
            said.refusal = True
            said.content = [_refusal_text(part) if part_type(part) == "refusal" else part for part in parts]


def _refusal_text(part: Mapping[str, Any]) -> Any:
    refusal = part.get("refusal")
    return {"type": "text", "text": refusal} if isinstance(refusal, str) else part


def _add_media(said: Message, message: Mapping[str, Any]) -> None:
    """Take on what was spoken or drawn: the words of a spoken answer, and pictures as parts."""
    audio = mapping(message.get("audio"))
    if not said.content and (transcript := text(audio.get("transcript"))):
        said.content = transcript
    if images := listed(message.get("images")):
        said.content = joined(said.content or None, images)


# --- messages within other formats ---------------------------------------------------------

_THOUGHTS = {"reasoning", "thinking", "redacted_thinking"}


def chat_message(item: Any, place: int) -> Message:
    """A recorded message; thoughts among the parts of its content are no part of what it says.

    Parameters
    ----------
    place
        Its position, for the message of the error.

    Raises
    ------
    BadRecord
        When it has no role that is known.
    """
    made = message_of(item, place)
    parts = listed(made.content)
    if made.role == "assistant" and parts:
        said: list[Any] = []
        for part in parts:
            if part_type(part) not in _THOUGHTS:
                said.append(part)
            elif thought := text(first(part, "thinking", "reasoning", "text")):
                made.reasoning.append(thought)
        made.content = said or None
    return made


def calls_of(record: dict[str, Any]) -> list[Call]:
    """The calls of a message, whoever is said to have written it."""
    return message_of({**record, "role": "assistant", "content": None}).calls
