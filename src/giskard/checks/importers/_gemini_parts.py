"""Contents and parts of Gemini's API, in both of its spellings: ``functionCall`` and ``function_call``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from giskard.checks.importers._lenient import listed, mapping, text
from giskard.checks.importers._messages import Call, Message, Result, Role
from giskard.checks.importers.base import BadRecord

__all__ = ["contents_in", "either", "messages_of_content", "messages_of_contents"]

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "model": "assistant",
    "assistant": "assistant",
    "function": "tool",
    "tool": "tool",
    "system": "system",
}
_RAN = "code_execution"


def either(record: Any, name: str) -> Any:
    """The value under a key in camel case, or in snake case."""
    known = mapping(record)
    value = known.get(name)
    return known.get(_snake(name)) if value is None else value


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def contents_in(value: Any) -> list[Any]:
    """The contents that ``contents`` stands for: a text and a single content are allowed too."""
    if isinstance(value, str):
        return [{"role": "user", "parts": [{"text": value}]}]
    return [value] if isinstance(value, dict) else listed(value)


def messages_of_contents(value: Any) -> list[Message]:
    """The messages of a conversation.

    Raises
    ------
    BadRecord
        When one of its contents is none.
    """
    messages: list[Message] = []
    for place, content in enumerate(contents_in(value)):
        if isinstance(content, str):
            messages.append(Message("user", content, index=place))
        else:
            messages += messages_of_content(content, place)
    return messages


def messages_of_content(value: Any, place: int, speaker: str | None = None) -> list[Message]:
    """The messages that a content makes: several where code was run within it.

    Parameters
    ----------
    place
        Its position in the recording.
    speaker
        Whoever is known to speak: ``user``, or the name of an agent; by default its role tells.

    Raises
    ------
    BadRecord
        When it is no content.
    """
    if not isinstance(value, dict):
        raise BadRecord(f"content {place}: expected an object with parts, got {type(value).__name__}")
    content = mapping(value)
    name = content.get("role") or "user"
    role = _ROLES.get(name) if isinstance(name, str) else None
    agent = None
    if speaker is not None:
        role = "user" if speaker == "user" else "assistant"
        agent = speaker if role == "assistant" else None
    if role is None:
        raise BadRecord(f"content {place}: its role is {name!r}; known are {', '.join(_ROLES)}")
    parts = content.get("parts")
    if isinstance(parts, str):
        parts = [{"text": parts}]
    made = [Message(role, name=agent, index=place)]
    rank = 0
    for part in listed([parts] if isinstance(parts, dict) else parts):
        known = {"text": part} if isinstance(part, str) else mapping(part)
        kind = _rank(known)
        if kind is None:
            thought = text(known.get("text"))
            made[-1].reasoning += [] if thought is None else [thought]
            continue
        if kind < rank:
            made.append(Message(role, name=agent, index=place))
        rank = kind
        _add_part(made[-1], known, kind)
    if role != "user":  # a content that holds results alone is a tool's, whatever its role
        for message in made:
            if message.results and message.content is None and not message.calls:
                message.role = "tool"
    made[-1].raw = content
    return made


def _rank(part: Mapping[str, Any]) -> int | None:
    """0 for a result, 1 for what was said, 2 for a call, None for a thought."""
    if part.get("thought") is True:
        return None
    if either(part, "functionResponse") is not None or either(part, "codeExecutionResult") is not None:
        return 0
    if either(part, "functionCall") is not None or either(part, "executableCode") is not None:
        return 2
    return 1


def _add_part(message: Message, part: dict[str, Any], rank: int) -> None:
    if rank == 1:
        said = part.get("text")
        if not isinstance(said, str) or said or len(part) == 1:  # else it carries a signature only
            shown = {"type": "text", "text": said} if isinstance(said, str) else part
            message.content = [*listed(message.content), shown]
    elif rank == 2:
        message.calls.append(_call(part))
    else:
        message.results.append(_result(part))


def _call(part: Mapping[str, Any]) -> Call:
    code = mapping(either(part, "executableCode"))
    if code:
        return Call(_RAN, code)
    call = mapping(either(part, "functionCall"))
    arguments = call.get("args")
    return Call(text(call.get("name")) or "", {} if arguments is None else arguments, text(call.get("id")))


def _result(part: Mapping[str, Any]) -> Result:
    ran = mapping(either(part, "codeExecutionResult"))
    if ran:
        outcome = ran.get("outcome", "OUTCOME_OK")
        failed = outcome not in ("OUTCOME_OK", 1)
        return Result(ran.get("output"), None, _RAN, True if failed and ran.get("output") else failed and str(outcome))
    answer = mapping(either(part, "functionResponse"))
    given = answer.get("response")
    content, error = given, None
    if isinstance(given, dict) and len(cast("dict[str, Any]", given)) == 1 and "error" in given:
        content, error = cast("Any", given["error"]), True
    return Result(content, text(answer.get("id")), text(answer.get("name")), error if content is not None else None)
