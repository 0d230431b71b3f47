"""Messages in one neutral form, and the turns that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import construct
from giskard.checks.importers._contents import joined, plain, without_markers
from giskard.checks.importers._messages import Call, Message, Result, Role
from giskard.checks.importers._turns import Turn
from giskard.checks.importers.base import ReadOptions
from giskard.checks.utils.frozen import FrozenList, freeze_data

__all__ = ["Call", "Message", "Result", "Role", "Turns", "to_trace", "trace_of"]


def to_trace(
    messages: Iterable[Message], annotations: Mapping[str, Any], options: ReadOptions, *, records_calls: bool = True
) -> Trace[Any, Any]:
    """The turns that `messages` make, as a trace.

    A turn begins at each message of the user; messages of the user that follow each other make one.  What the system
    says before the first turn goes to ``annotations["system_prompt"]``; what it says later stays among the messages of
    the turn.

    Parameters
    ----------
    annotations
        ``source`` and whatever else is known of the conversation: ``conversation_id``, ``tools``, ``labels``; those
        that are None are left out.
    records_calls
        As of `Turns`.
    """
    turns = Turns(options, annotations.get("system_prompt"), records_calls=records_calls)
    for position, message in enumerate(messages):
        turns.add(message, position if message.index is None else message.index)
    return turns.trace(annotations)


def trace_of(turns: list[Interaction], annotations: Mapping[str, Any], prompt: Any) -> Trace[Any, Any]:
    """The trace of `turns`; annotations that are None are left out."""
    known: dict[str, Any] = {} if prompt is None else {"system_prompt": prompt}
    for name, value in annotations.items():
        if value is not None:
            known.setdefault(name, value)
    return construct(Trace, {"interactions": FrozenList(turns), "annotations": freeze_data(known)})


class Turns:
    """Takes the messages of a conversation one by one, and cuts them into turns.

    Parameters
    ----------
    prompt
        The system prompt, as far as it is known already.
    records_calls
        Whether the recording would hold calls of tools: then a turn without any has an empty list of them.

    Attributes
    ----------
    turn
        The turn that goes on.
    is_plain
        Whether messages may be given to the turn directly: no option changes them.
    """

    def __init__(self, options: ReadOptions, prompt: Any = None, *, records_calls: bool = True) -> None:
        self.turn: Turn | None = None
        self.is_plain = not options.stop_markers and not options.keep_raw
        self._prompt = prompt
        self._records_calls = records_calls
        self._markers = options.stop_markers
        self._keeps_raw = options.keep_raw
        self._done: list[Interaction] = []
        # Of messages before the first turn.
        self._ahead: list[Message] = []
        self._raw: list[Any] = []

    def add(self, message: Message, index: int) -> None:
        """The next message."""
        content, role = message.content, message.role
        if type(content) is list:
            content = plain(content, "" if role == "assistant" else "\n\n")
        if role == "system":
            self._instruct(content)
        elif role == "user":
            self._ask(message, content, index)
        else:
            self._act(message, content, index)
        if self.turn is not None:
            self.turn.note(message)
        if self._keeps_raw and message.raw is not None:
            if self.turn is None:
                self._raw.append(message.raw)
            else:
                self.turn.keep_raw(message.raw)

    def open(self) -> Turn:
        """The turn that goes on; the first one may begin without the user."""
        return self.begin() if self.turn is None else self.turn

    def begin(self) -> Turn:
        """A new turn."""
        if self.turn is not None:
            self._done.append(self.turn.finished())
        turn = self.turn = Turn()
        turn.records_calls = self._records_calls
        for message in self._ahead:
            turn.note(message)
        self._ahead = []
        if self._raw:
            turn.raw, self._raw = self._raw, []
        return turn

    def trace(self, annotations: Mapping[str, Any]) -> Trace[Any, Any]:
        """The trace of all turns, when there is no more message."""
        if any(message.role == "assistant" for message in self._ahead):  # asked for nothing, and said nothing
            self.begin()
        if self.turn is not None:
            self._done.append(self.turn.finished())
        return trace_of(self._done, annotations, self._prompt)

    def _ask(self, message: Message, content: Any, index: int) -> None:
        for result in message.results:
            self.open().take(result, index)
        asks = content is not None or not (message.results or message.calls)
        if asks and self._markers:
            content, asks = without_markers(content, self._markers)
        if asks:
            turn = self.turn
            if turn is None or turn.begun:
                turn = self.begin()
            turn.ask(content, message.name)
        if message.calls:
            self.open().call(message.calls, None, index)

    def _act(self, message: Message, content: Any, index: int) -> None:
        """What the assistant does, or a tool."""
        silent = content is None and not message.calls and not message.results
        if silent:  # it only tells what was thought, or spent
            if self.turn is None:
                self._ahead.append(message)
            elif message.role == "assistant":
                self.turn.begun = True
            return
        turn = self.open()
        for result in message.results:
            turn.take(result, index)
        if message.role == "tool":
            if content is not None:
                turn.take(Result(content, name=message.name), index)
        elif message.calls:
            turn.call(message.calls, content, index, message.name)
        elif content is not None:
            turn.say(content, index, message.name)

    def _instruct(self, content: Any) -> None:
        if content is None or content == self._prompt:
            return
        if self.turn is None:
            self._prompt = joined(self._prompt, content)
        elif self._prompt is None:
            self._prompt = content
        else:
            self.turn.instruct(content)
