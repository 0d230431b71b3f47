"""Chats as most are recorded: texts, calls and results, one after the other, and nothing else.

Files hold millions of them, and most checks look at a part of each.  Such a chat is cut into turns at once; what the
metadata of a turn hold is worked out when somebody reads them, by the very code that reads all other chats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from giskard.checks.core.interaction.interaction import Interaction, record
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.tool_calls import NotedCall
from giskard.checks.importers._call_values import read_arguments
from giskard.checks.importers._chat_messages import add_messages
from giskard.checks.importers._contents import joined, without_markers
from giskard.checks.importers._conversation import Turns, trace_of
from giskard.checks.importers._messages import Message
from giskard.checks.importers.base import ReadOptions
from giskard.checks.utils.deferred import Deferred

__all__ = ["Fails", "is_plain_row", "plain_chat"]

Fails = Callable[[str], bool]
"""Says of the text that a tool gave back whether it tells of a failure."""

# `type`, for the type checker: of any value.
_type_of: Callable[[Any], type[Any]] = type


_ROW = frozenset({"messages", "tools", "functions", "parallel_tool_calls"})
_MESSAGE = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
_SPEAKERS = frozenset({"system", "developer", "user", "assistant", "tool"})
_TEXTS = frozenset({str, type(None)})
_NO_CALLS: Sequence[NotedCall] = ()


def is_plain_row(value: Any) -> bool:
    """Whether a record is a row of OpenAI chat at a glance: no other format looks at what there is in it."""
    if _type_of(value) is not dict or _type_of(messages := value.get("messages")) is not list or not messages:
        return False
    if len(value) > 1 and not _ROW.issuperset(value):
        return False
    try:
        for message in messages:
            if (
                _type_of(message) is not dict
                or _type_of(role := message["role"]) is not str
                or role not in _SPEAKERS
                or _type_of(message["content"]) not in _TEXTS
                or (len(message) > 2 and not _MESSAGE.issuperset(message))
            ):
                return False
    except KeyError:
        return False
    return True


class _Chat(NamedTuple):
    """What the turns of one conversation share."""

    messages: list[Any]
    options: ReadOptions
    fails: Fails | None
    noted: Message | None


def plain_chat(
    messages: Any,
    annotations: Mapping[str, Any],
    options: ReadOptions,
    fails: Fails | None = None,
    noted: Message | None = None,
) -> Trace[Any, Any] | None:
    """The trace of a chat, as `to_trace` gives it; None when there is more in it than texts, calls and results.

    Parameters
    ----------
    messages
        As they were parsed; nobody else may change them afterwards.
    noted
        What was noted beside the chat of the last answer in it.
    """
    if options.keep_raw or _type_of(messages) is not list:
        return None
    prompt = annotations.get("system_prompt")
    start = 0
    for message in messages:
        if _type_of(message) is not dict or message.get("role") not in ("system", "developer"):
            break
        content = message.get("content")
        if len(message) != 2 or _type_of(content) is not str:
            return None
        if content != prompt:
            prompt = joined(prompt, content)
        start += 1
    turns = _turns(_Chat(messages, options, fails, noted), start)
    return trace_of(turns, annotations, prompt) if turns else None


def _turns(chat: _Chat, start: int) -> list[Interaction] | None:  # noqa: PLR0912 - one pass over millions of messages
    messages, markers = chat.messages, chat.options.stop_markers
    turns: list[Interaction] = []
    # Of the turn that goes on.
    first, inputs, answer = start, None, None
    calls: list[tuple[Any, int]] = []
    failures: dict[str, str] = {}  # what failed, by the id of the call
    is_open = begun = False
    for place, message in enumerate(messages[start:], start):
        if _type_of(message) is not dict:
            return None
        try:
            role, content, size = message["role"], message["content"], len(message)
        except KeyError:
            return None
        if role == "assistant":
            is_open = begun = True
            if size == 2 and _type_of(content) is str:
                answer = content
            elif size == 3 and (_type_of(content) is str or content is None):
                if not _are_calls(message.get("tool_calls")):
                    return None
                calls += [(call, place) for call in message["tool_calls"]]
                answer = None
            else:
                return None
        elif role == "user":
            if size != 2 or _type_of(content) is not str:
                return None
            if markers:
                content, asks = without_markers(content, markers)
                if not asks:
                    continue
            if begun:
                known = _Metadata(chat, first, place, calls, failures, incomplete=answer is None)
                turns.append(record(inputs, answer, known))
                first, inputs, answer, calls, failures, begun = place, None, None, [], {}, False
            is_open = True
            inputs = content if inputs is None else joined(inputs, content)
        elif role == "tool" and _type_of(content) is str and _is_result(message, size):
            is_open = begun = True
            answer = None
            if chat.fails is not None and chat.fails(content):
                failures[message["tool_call_id"]] = content
        else:
            return None
    if is_open:
        known = _Metadata(chat, first, len(messages), calls, failures, incomplete=answer is None)
        turns.append(record(inputs, answer, known))
    return turns


def _is_result(message: dict[str, Any], size: int) -> bool:
    call_id = message.get("tool_call_id")
    if _type_of(call_id) is not str or not call_id:
        return False
    return size == 3 or (size == 4 and _type_of(message.get("name")) is str)


def _are_calls(given: Any) -> bool:
    """Whether these are calls as most are written."""
    if _type_of(given) is not list or not given:
        return False
    for call in given:
        function: Any = call.get("function") if _type_of(call) is dict else None
        if (
            _type_of(function) is not dict
            or _type_of(name := function.get("name")) is not str
            or _type_of(call_id := call.get("id")) is not str
            or not (name and call_id)
        ):
            return False
    return True


class _Metadata(Deferred):
    """The metadata of a turn, once they are read.

    Parameters
    ----------
    first, last
        Which of the messages are the turn's; without the last one.
    calls
        As they were recorded, each with the position of its message.
    failures
        The texts of failures that tools gave back, by the id of the call.
    """

    __slots__ = ("calls", "chat", "failures", "first", "incomplete", "last", "told")

    def __init__(
        self,
        chat: _Chat,
        first: int,
        last: int,
        calls: Sequence[tuple[Any, int]],
        failures: Mapping[str, str],
        *,
        incomplete: bool,
    ) -> None:
        self.chat = chat
        self.first = first
        self.last = last
        self.calls = calls
        self.incomplete = incomplete
        self.failures = failures
        self.told: bool | None = None

    def make(self) -> Any:
        messages, options, fails, noted = self.chat
        turns = Turns(options)
        add_messages(turns, messages[self.first : self.last], self.first, fails)
        if noted is not None and self.last == len(messages):
            turns.add(noted, self.last)
        return turns.open().finished().__dict__["metadata"]

    def ids_tell(self) -> bool:
        """Whether each id is that of one call and of at most one result after it: then it tells whose a result is."""
        if self.told is None:
            self.told = self._ids_tell()
        return self.told

    def _ids_tell(self) -> bool:
        placed = {call["id"]: place for call, place in self.calls}
        results: set[str] = set()
        for place in range(self.first, self.last):
            message = self.chat.messages[place]
            if message["role"] == "tool":
                call_id = message["tool_call_id"]
                if call_id in results or placed.get(call_id, place) >= place:
                    return False
                results.add(call_id)
        return len(placed) == len(self.calls)

    def glance(self, name: str) -> Any:
        """The ``tool_calls``, and whether the turn is ``incomplete``."""
        if name == "tool_calls":
            if not self.calls:
                return _NO_CALLS
            return [_Call(call, place, self, number) for number, (call, place) in enumerate(self.calls)]
        return self.incomplete if name == "incomplete" else None


class _Call(NotedCall):
    """A call of which nothing is read before it is asked for."""

    __slots__ = ("_call", "_metadata", "_number")

    def __init__(self, call: dict[str, Any], place: int, metadata: _Metadata, number: int) -> None:
        self.name = call["function"]["name"]
        self.id: str = call["id"]
        self.message_index = place
        self._call = call
        self._metadata = metadata
        self._number = number

    @property
    def entry(self) -> Mapping[str, Any]:
        """Its entry in the metadata."""
        return self._metadata.value["tool_calls"][self._number]

    @property
    def arguments(self) -> Any:
        """As those of a `ToolCall`."""
        return _arguments(self._call["function"].get("arguments"))

    @property
    def error(self) -> str | None:
        """As that of a `ToolCall`."""
        metadata = self._metadata
        if not metadata.failures:
            return None
        return metadata.failures.get(self.id) if metadata.ids_tell() else self.entry["error"]

    def kept(self, turn: int | None) -> tuple[int | None, str, Callable[[], Any], str | None]:
        """What a result keeps of the call."""
        given = self._call["function"].get("arguments")
        return turn, self.name, partial(_arguments, given), self.error


def _arguments(given: Any) -> Any:
    value = read_arguments(given)[0]
    return {} if value is None else value  # as of an entry in the metadata
