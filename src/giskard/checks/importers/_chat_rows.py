"""Traces as rows of chat messages, in the form in which OpenAI's fine-tuning takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._json import json_or_text
from giskard.checks.utils.equality import equal
from giskard.checks.utils.lazy import json

__all__ = ["chat_row"]

Message = dict[str, Any]


def chat_row(trace: Trace[Any, Any]) -> dict[str, Any]:
    """The messages of a trace, its tools and its id, as far as they are known.

    Raises
    ------
    ValueError
        When inputs or outputs are neither texts nor lists of parts: the turn is named.
    """
    annotations = trace.annotations
    messages: list[Message] = []
    if annotations.get("system_prompt") is not None:
        messages.append({"role": "system", "content": annotations["system_prompt"]})
    for number, turn in enumerate(trace.interactions, 1):
        messages += _turn(turn, number)
    row: dict[str, Any] = {"messages": messages}
    for name in ("tools", "conversation_id"):
        if annotations.get(name) is not None:
            row[name] = annotations[name]
    return row


def _turn(turn: Interaction[Any, Any], number: int) -> Iterator[Message]:
    for name, value in (("inputs", turn.inputs), ("outputs", turn.outputs)):
        if value is not None and not isinstance(value, (str, list)):
            raise ValueError(
                f"turn {number}, {name}: a message holds a text or a list of parts, not {type(value).__name__}; "
                "format='giskard' keeps any value"
            )
    calls: list[Any] = turn.metadata.get("tool_calls") or []
    left = _Calls(cast("Any", [call for call in calls if isinstance(call, Mapping)]))
    recorded: Any = turn.metadata.get("messages")
    if isinstance(recorded, list) and recorded:
        for item in cast("list[Any]", recorded):
            if isinstance(item, Mapping):
                yield from _recorded(cast("Mapping[str, Any]", item), left)
        return
    yield from _rebuilt(turn, left)


def _recorded(item: Mapping[str, Any], calls: _Calls) -> Iterator[Message]:
    """A message, as a turn holds it, in OpenAI's form."""
    role = item.get("role")
    if role == "tool":
        yield calls.result_of(item)
        return
    message: Message = {"role": role}
    if item.get("name") is not None:
        message["name"] = item["name"]
    message["content"] = item.get("content")
    asked = item.get("tool_calls")
    if isinstance(asked, list) and asked:
        message["tool_calls"] = [_call(call) for call in calls.taken(cast("list[Any]", asked))]
    yield message


def _rebuilt(turn: Interaction[Any, Any], calls: _Calls) -> Iterator[Message]:
    """The messages of a turn that has only its parts: calls that share a ``message_index`` were made at once."""
    if turn.inputs is not None:
        yield {"role": "user", "content": turn.inputs}
    said: list[Mapping[str, Any]] = turn.metadata.get("intermediate") or []
    at: dict[Any, Any] = {item.get("message_index"): item.get("text", item.get("content")) for item in said}
    groups: list[list[Mapping[str, Any]]] = []
    for call in calls.all:
        index = call.get("message_index")
        if groups and index is not None and groups[-1][0].get("message_index") == index:
            groups[-1].append(call)
        else:
            groups.append([call])
    for group in groups:
        content = at.pop(group[0].get("message_index"), None)
        yield {"role": "assistant", "content": content, "tool_calls": [_call(call) for call in group]}
        for call in group:
            if call.get("answered") is not False:
                yield _result(call, call)
    for content in at.values():
        yield {"role": "assistant", "content": content}
    if turn.outputs is not None:
        yield {"role": "assistant", "content": turn.outputs}


class _Calls:
    """The calls of a turn, of which the recorded messages tell the order only."""

    def __init__(self, calls: list[Mapping[str, Any]]) -> None:
        self.all = calls
        self._asked = list(calls)
        self._answered = list(calls)

    def taken(self, asked: list[Any]) -> list[Mapping[str, Any]]:
        """The next calls: as many as a message makes."""
        taken = self._asked[: len(asked)]
        del self._asked[: len(asked)]
        return taken or [call for call in asked if isinstance(call, Mapping)]

    def result_of(self, item: Mapping[str, Any]) -> Message:
        """The message of a result, with the error of its call."""
        for place, call in enumerate(self._answered):
            if call.get("id") == item.get("id") and call.get("answered") is not False and _is_of(item, call):
                return _result(self._answered.pop(place), item)
        return _result({"result": item.get("content"), "error": None}, item)


def _is_of(item: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    content = item.get("content")
    return equal(content, call.get("result")) or (call.get("result") is None and content == call.get("error"))


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    known = {} if call.get("id") is None else {"id": call["id"]}
    arguments = call.get("arguments")
    if not isinstance(arguments, str) and arguments is not None:  # a text is what could not be read
        arguments = _json(arguments)
    return {**known, "type": "function", "function": {"name": call.get("name"), "arguments": arguments}}


def _result(call: Mapping[str, Any], shown: Mapping[str, Any]) -> Message:
    message: Message = {"role": "tool"}
    if shown.get("id") is not None:
        message["tool_call_id"] = shown["id"]
    if shown.get("name") is not None:
        message["name"] = shown["name"]
    error = call.get("error")
    if error is not None:
        return {**message, "content": error, "is_error": True}
    return {**message, "content": _content(call.get("result"))}


def _content(result: Any) -> Any:
    """A result as text, from which it is read again: one that looks like JSON itself is quoted."""
    if result is None:
        return None
    if isinstance(result, str):
        read = json_or_text(result)
        return result if isinstance(read, str) and read == result else _json(result)
    return _json(result)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
