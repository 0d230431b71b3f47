"""Content blocks of Anthropic's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from giskard.checks.importers._contents import plain
from giskard.checks.importers._lenient import listed, mapping, part_type, text
from giskard.checks.importers._messages import Call, Message, Result, Role
from giskard.checks.importers.base import BadRecord

__all__ = ["are_block_messages", "has_own_block", "messages_of_content"]

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_RESULT = "tool_result"
_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def _is_result(kind: str | None) -> bool:
    """Whether a block is a result: of the caller's tools, or of one of Anthropic's such as ``web_search``."""
    return kind is not None and kind.endswith(_RESULT)


def has_own_block(message: Any) -> bool:
    """Whether a message holds a block that no other format has."""
    blocks = listed(mapping(message).get("content"))
    return any((kind := part_type(block)) in _CALLS or kind in _THOUGHTS or _is_result(kind) for block in blocks)


def are_block_messages(value: Any) -> bool:
    """Whether `value` is a list of messages, and one of them has a block that no other format has."""
    if not isinstance(value, list):
        return False
    messages = [mapping(message) for message in cast("list[Any]", value)]
    return all(_has_role(message) for message in messages[:3]) and any(map(has_own_block, messages))


def _has_role(message: Mapping[str, Any]) -> bool:
    role = message.get("role")
    return isinstance(role, str) and role in _ROLES and "content" in message and "tool_calls" not in message


def messages_of_content(value: Any, place: int) -> list[Message]:
    """The messages that a message of Anthropic's makes: several where the model called, got a result, and went on.

    Parameters
    ----------
    place
        Its position in the recording.

    Raises
    ------
    BadRecord
        When it is no message.
    """
    if not isinstance(value, dict):
        raise BadRecord(f"message {place}: expected an object, got {type(value).__name__}")
    message = mapping(value)
    name = message.get("role")
    role = _ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        raise BadRecord(f"message {place}: its role is {name!r}; known are {', '.join(_ROLES)}")
    content = message.get("content")
    if not isinstance(content, list):
        return [Message(role, content, index=place, raw=message)]
    made = _segments(role, cast("list[Any]", content), place)
    made[-1].raw = message
    return made


def _segments(role: Role, blocks: list[Any], place: int) -> list[Message]:
    """A message for each run of results, content and calls, in this order."""
    made = [Message(role, index=place)]
    rank = 0
    for block in blocks:
        kind = part_type(block)
        if kind in _THOUGHTS:
            made[-1].reasoning += _thoughts(mapping(block))
            continue
        block_rank = 0 if _is_result(kind) else 2 if kind in _CALLS else 1
        if block_rank < rank:
            made.append(Message(role, index=place))
        rank = block_rank
        segment = made[-1]
        if block_rank == 0:
            segment.results.append(_result(mapping(block)))
        elif block_rank == 1:
            segment.content = [*listed(segment.content), block]
            _add_citations(segment, mapping(block))
        else:
            segment.calls.append(_call(mapping(block)))
    return made


def _thoughts(block: Mapping[str, Any]) -> list[str]:
    thought = text(block.get("thinking"))  # redacted ones cannot be read
    return [] if thought is None else [thought]


def _add_citations(segment: Message, block: Mapping[str, Any]) -> None:
    if citations := listed(block.get("citations")):
        held = listed((segment.metadata or {}).get("citations"))
        segment.metadata = {**(segment.metadata or {}), "citations": [*held, *citations]}


def _call(block: Mapping[str, Any]) -> Call:
    return Call(text(block.get("name")) or "", block.get("input"), text(block.get("id")))


def _result(block: Mapping[str, Any]) -> Result:
    content = block.get("content")
    if isinstance(content, list) and all(part_type(part) == "text" for part in cast("list[Any]", content)):
        content = plain(content, "\n")
    code = mapping(content).get("error_code")
    error = code if isinstance(code, str) else block.get("is_error") is True
    return Result(content, text(block.get("tool_use_id")), error=error)
