"""The turns up to now as messages of a chat, with the tools that were called in them: what a target goes on from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.tool_calls import BadToolCall, read_call
from giskard.checks.core.usage import ToolCall, value_of
from giskard.checks.targets._conversation import as_json, as_text, messages_of, to_json_text

__all__ = ["NO_RESULT", "conversation_values", "history_of"]

NO_RESULT: Final = "(no result)"
"""What is sent as the result of a call that has none: the protocol asks for one."""


def history_of(trace: Trace | None, since: int = 0) -> list[dict[str, Any]]:
    """The turns up to now, in the words of the chat completions protocol.

    What the assistant did in a turn, as ``metadata["tool_calls"]`` and ``metadata["intermediate"]`` tell of it, stands
    between what the user said and the answer: messages with ``tool_calls``, each followed by the results.  Turns whose
    outputs are messages already are taken as they are.

    Parameters
    ----------
    since
        How many turns are left out, from the first one.
    """
    messages: list[dict[str, Any]] = []
    ids = _Ids()
    for number, turn in enumerate(() if trace is None else trace.interactions):
        made = _messages(turn, ids)
        if number >= since:
            messages += made
    return messages


def _messages(turn: Interaction, ids: _Ids) -> list[dict[str, Any]]:
    asked = [] if turn.inputs is None else messages_of(turn.inputs, "user")  # else the assistant spoke first
    if _are_messages(turn.outputs):
        said = messages_of(turn.outputs, "assistant")
        ids.note(said)
        return [*asked, *said]
    is_open = turn.outputs is None and bool(turn.metadata.get("incomplete"))
    said = [] if is_open else messages_of(turn.outputs, "assistant")
    return [*asked, *_doings(turn, ids), *said]


def _are_messages(outputs: Any) -> bool:
    """Whether outputs are a message of the protocol, or several, which tell of their calls themselves."""
    items = cast("list[object]", outputs) if isinstance(outputs, list) else [outputs]
    return bool(items) and all(isinstance(item, dict) and "role" in item for item in items)


class _Ids:
    """The ids of calls: some servers refuse one that comes twice in a conversation, and a call without any."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._made = 0

    def note(self, messages: Sequence[dict[str, Any]]) -> None:
        """Keep the ids of messages that are sent as they are."""
        for message in messages:
            for call in message.get("tool_calls") or ():
                self._taken.add(str(value_of(call, "id")))

    def unique(self, own: str | None) -> str:
        """The id of a call, or one in its place."""
        found = own
        while not found or found in self._taken:
            self._made += 1
            found = f"{own or 'call'}_{self._made}"
        self._taken.add(found)
        return found


def _doings(turn: Interaction, ids: _Ids) -> Iterator[dict[str, Any]]:
    """What the assistant said and called before its answer, and what the tools gave back."""
    calls, texts = _calls(turn), _texts(turn)
    while calls or texts:
        at = calls[0].message_index if calls else None
        if texts and (at is None or texts[0][0] is None or texts[0][0] < at):
            yield {"role": "assistant", "content": as_text(texts.pop(0)[1])}
            continue
        content = as_text(texts.pop(0)[1]) if texts and texts[0][0] == at else None
        made = [calls.pop(0)]
        while at is not None and calls and calls[0].message_index == at:
            made.append(calls.pop(0))
        sent = [(ids.unique(call.id), call) for call in made]
        asked = [
            {"id": own, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
            for own, call in sent
        ]
        yield {"role": "assistant", "content": content, "tool_calls": asked}
        for own, call in sent:
            yield {"role": "tool", "tool_call_id": own, "content": _result(call)}


def _calls(turn: Interaction) -> list[ToolCall]:
    """The calls of a turn; what is none, in a recording, is no reason not to ask."""
    noted = turn.metadata.get("tool_calls")
    calls: list[ToolCall] = []
    for entry in cast("Sequence[Any]", noted) if isinstance(noted, (list, tuple)) else ():
        with contextlib.suppress(BadToolCall):
            calls.append(read_call(entry, "tool_calls"))
    return calls


def _texts(turn: Interaction) -> list[tuple[int | None, Any]]:
    """What the assistant said before its answer, each text with the position of its message."""
    found = turn.metadata.get("intermediate")
    items = cast("Sequence[Any]", found) if isinstance(found, (list, tuple)) else ()
    texts: list[tuple[int | None, Any]] = []
    for item in items:
        said = item if isinstance(item, str) else value_of(item, "text") or value_of(item, "content")
        if said is not None:
            texts.append((_position(item), said))
    return texts


def _position(item: Any) -> int | None:
    position = None if isinstance(item, str) else value_of(item, "message_index")
    return position if isinstance(position, int) else None


def _arguments(call: ToolCall) -> str:
    given = call.arguments
    return given if isinstance(given, str) else to_json_text(as_json(given, "the arguments of a call"))


def _result(call: ToolCall) -> str:
    if call.result is None:
        return NO_RESULT if call.error is None else call.error
    return as_text(call.result, "the result of a call")


def conversation_values(
    inputs: Any, trace: Trace | None, conversation_id: Any, trial: int, names: frozenset[str]
) -> dict[str, Any]:
    """The values of those placeholders that are asked for."""
    values: dict[str, Any] = {"conversation_id": conversation_id, "trial": trial}
    if "inputs" in names:
        values["inputs"] = as_json(inputs)
    if "history" in names:
        values["history"] = history_of(trace)
    if "messages" in names:
        values["messages"] = [*history_of(trace), *messages_of(inputs, "user")]
    if "annotations" in names:
        values["annotations"] = {} if trace is None else as_json(trace.annotations, "the annotations")
    return values
