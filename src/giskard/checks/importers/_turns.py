"""A turn in the making: from one message of the user to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from giskard.checks.core.interaction.interaction import Interaction, record
from giskard.checks.importers._call_values import read_arguments, read_result
from giskard.checks.importers._contents import joined
from giskard.checks.importers._messages import Call, Message, Result
from giskard.checks.importers._pairing import Loose, answer, pair
from giskard.checks.utils.frozen import FrozenDict, FrozenList, freeze_data

__all__ = ["Turn"]

_NO_CALLS = FrozenList()
_PLAIN = frozenset({FrozenDict, FrozenList, str, int, float, bool, type(None)})


class Turn:
    """Takes the messages of a turn one by one, and makes the interaction of them.

    All that is kept is frozen as it comes: what a JSON parser gave is held by nobody else, and is frozen only once
    though it is kept in several places.
    """

    inputs: Any = None
    answer: Any = None  # what the assistant said, as long as nothing came after it
    answer_index = 0
    begun = False  # whether anybody but the user did something
    # What dicts are made of: of frozen ones as long as all values are plain data, which nobody can change.
    made: Callable[..., dict[str, Any]] = FrozenDict
    records_calls = True  # whether a call would have been recorded
    is_resumed = False  # whether a result came after the latest call
    step = 0  # how often a message went on to call tools when it had results
    # What most turns have none of.
    calls: list[dict[str, Any]] | None = None
    waiting: dict[str, list[dict[str, Any]]] | None = None  # calls without a result, by id
    loose: list[Loose] | None = None
    intermediate: list[dict[str, Any]] | None = None
    noted: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None  # what formats say of it
    raw: list[Any] | None = None

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    # --- what happens in it -----------------------------------------------------------

    def ask(self, content: Any, name: str | None = None) -> None:
        """The user says something."""
        if type(content) is not str:
            content = self._kept(content)
        self.inputs = content if self.inputs is None else joined(self.inputs, content)
        self._show("user", content, name)

    def instruct(self, content: Any) -> None:
        """The system says something in the midst of the conversation."""
        self._show("system", self._kept(content), None)

    def say(self, content: Any, index: int, name: str | None = None) -> None:
        """The assistant says something."""
        if type(content) is not str:
            content = self._kept(content)
        if self.answer is not None:
            self._set_aside()
        self.begun = True
        self.answer, self.answer_index = content, index
        self._show("assistant", content, name)

    def call(self, calls: list[Call], content: Any, index: int, name: str | None = None) -> None:
        """The assistant calls tools, and may say something besides: before it calls them, or knowing their results."""
        if self.answer is not None:
            self._set_aside()
        self.begun = True
        if type(content) is not str:
            if content is not None:
                content = self._kept(content)
        elif not content:
            content = None
        waits = False
        done = 0
        for call in calls:
            if call.has_result:
                done += 1
            else:
                waits = True
        self._call(calls, content if waits else None, name, index)
        if done:
            self._take_own(calls)
        if content is not None:
            if waits:
                self.answer, self.answer_index = content, index
                self._set_aside()
            else:
                self.say(content, index, name)

    def take(self, result: Result, index: int) -> None:
        """A tool gives something back."""
        value, error = read_result(result)
        if type(value) not in _PLAIN:
            value = self._kept(value)
        self._take(value, error, result, index)

    def _take(self, value: Any, error: str | None, of: Result, index: int) -> None:
        if self.answer is not None:
            self._set_aside()
        self.begun = self.is_resumed = True
        content = error if value is None and error is not None else value
        waiting = self.waiting.get(of.id) if of.id is not None and self.waiting is not None else None
        if waiting:
            entry = waiting.pop(0)
            answer(entry, value, error, of.latency_ms)
            self.messages.append(self.made(role="tool", id=of.id, name=of.name or entry["name"], content=content))
            return
        shown = {**_without_none(role="tool", id=of.id, name=of.name), "content": content}
        self.messages.append(shown)
        calls_before = 0 if self.calls is None else len(self.calls)
        loose = Loose(value, error, of.id, of.name, of.latency_ms, calls_before, shown, index)
        if self.loose is None:
            self.loose = []
        self.loose.append(loose)

    def _call(self, calls: list[Call], content: Any, agent: str | None, index: int) -> None:
        if self.calls is None or self.waiting is None:
            self.calls, self.waiting = [], {}
        is_same = bool(self.calls) and self.calls[-1]["message_index"] == index
        self.step = self.step + self.is_resumed if is_same else 0
        self.is_resumed = False
        waiting = self.waiting
        shown: list[dict[str, Any]] = []
        for call in calls:
            entry = self._entry(call, index, agent)
            self.calls.append(entry)
            call_id = call.id
            if call_id is None:
                shown.append(self.made(name=call.name, arguments=entry["arguments"]))
                continue
            shown.append(self.made(id=call_id, name=call.name, arguments=entry["arguments"]))
            if not call.has_result:
                if call_id in waiting:
                    waiting[call_id].append(entry)
                else:
                    waiting[call_id] = [entry]
        if content is None and agent is None and self.made is FrozenDict:
            self.messages.append(FrozenDict(role="assistant", tool_calls=FrozenList(shown)))
        else:
            self._show("assistant", content, agent, shown)

    def _entry(self, call: Call, index: int, agent: str | None) -> dict[str, Any]:
        arguments, problem = read_arguments(call.arguments)
        if type(arguments) not in _PLAIN:
            arguments = self._kept(arguments)
        entry: dict[str, Any] = {
            "id": call.id,
            "name": call.name,
            "arguments": arguments,
            "result": None,
            "error": None,
            "answered": False,
            "message_index": index,
        }
        if self.step:
            entry["step"] = self.step
        problem = call.arguments_error or problem
        if problem is not None:
            entry["arguments_error"] = problem
        if call.latency_ms is not None:
            entry["latency_ms"] = call.latency_ms
        agent = call.agent or agent
        if agent is not None:
            entry["agent"] = agent
        if call.started_at is not None:
            entry["started_at"] = call.started_at
        return entry

    def _take_own(self, calls: list[Call]) -> None:
        """The results that were recorded in the latest calls themselves."""
        entries = (self.calls or [])[-len(calls) :]
        for call, entry in zip(calls, entries, strict=False):
            if call.has_result:
                value, error = read_result(Result(call.result, error=call.error))
                value = self._kept(value)
                self.is_resumed = True
                answer(entry, value, error, None)
                content = error if value is None and error is not None else value
                shown = {**_without_none(role="tool", id=call.id, name=call.name), "content": content}
                self.messages.append(self.made(shown))

    def _set_aside(self) -> None:
        """What was said is not the answer after all: something came after it."""
        said, self.answer = self.answer, None
        if said is not None and said != "":
            key = "text" if isinstance(said, str) else "content"
            if self.intermediate is None:
                self.intermediate = []
            self.intermediate.append({"message_index": self.answer_index, key: said})

    def _show(self, role: str, content: Any, name: str | None, calls: list[dict[str, Any]] | None = None) -> None:
        if name is None and calls is None and content is not None:  # what most messages are
            self.messages.append(self.made(role=role, content=content))
        else:
            if calls is not None and self.made is FrozenDict:
                calls = FrozenList(calls)
            self.messages.append(self.made(_without_none(role=role, name=name, content=content, tool_calls=calls)))

    def _kept(self, value: Any) -> Any:
        """A value as it is kept."""
        value = freeze_data(value)
        if type(value) not in _PLAIN:
            self.made = dict
        return value

    # --- what is known of it ----------------------------------------------------------

    def note(self, message: Message) -> None:
        """Keep what a message says beside its content."""
        noted = self.noted = self.noted or {}
        if message.usage is not None:
            _add_usage(noted, message.usage)
        if message.latency_ms is not None:
            noted["latency_ms"] = noted.get("latency_ms", 0) + message.latency_ms
        if message.cost_usd is not None:
            noted["cost_usd"] = noted.get("cost_usd", 0) + message.cost_usd
        if message.ttft_ms is not None:
            noted.setdefault("ttft_ms", message.ttft_ms)
        if message.model is not None:
            noted["model"] = message.model
        if message.finish_reason is not None:
            noted["finish_reason"] = message.finish_reason
        if message.timestamp is not None:
            noted.setdefault("timestamp", message.timestamp)
        if message.reasoning:
            noted.setdefault("reasoning", []).extend(message.reasoning)
        if message.refusal:
            noted["refusal"] = True
        if message.labels:
            noted.setdefault("labels", {}).update(message.labels)
        if message.metadata:
            self._note_extra(message.metadata)

    def _note_extra(self, metadata: Mapping[str, Any]) -> None:
        extra = self.extra = self.extra or {}
        for name, value in metadata.items():
            before = extra.get(name)
            if isinstance(before, list) and isinstance(value, list):
                extra[name] = [*cast("list[Any]", before), *cast("list[Any]", value)]
            elif name == "columns" and isinstance(before, dict) and isinstance(value, dict):
                extra[name] = {**cast("dict[str, Any]", before), **cast("dict[str, Any]", value)}
            elif value is not None:
                extra[name] = value

    def keep_raw(self, message: Any) -> None:
        """Keep a message as it was recorded."""
        if self.raw is None:
            self.raw = []
        self.raw.append(message)

    def finished(self) -> Interaction:
        """The interaction that the messages make."""
        orphans = pair(self.calls or (), self.loose) if self.loose is not None else None
        metadata: dict[str, Any] = {}
        if self.calls is not None:
            metadata["tool_calls"] = self.calls if self.made is dict else FrozenList(map(FrozenDict, self.calls))
        elif self.records_calls:
            metadata["tool_calls"] = _NO_CALLS
        metadata["messages"] = (
            FrozenList(self.messages) if self.made is FrozenDict and not self.loose else self.messages
        )
        if self.intermediate is not None:
            metadata["intermediate"] = self.intermediate
        if orphans:
            metadata["orphan_results"] = orphans
        if self.answer is None:
            metadata["incomplete"] = True
        if self.noted:
            metadata.update(self.noted)
        if self.raw is not None:
            metadata["raw"] = self.raw
        if self.extra is not None:
            metadata.update({name: value for name, value in self.extra.items() if name not in metadata})
        return record(self.inputs, self.answer, freeze_data(metadata))


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _add_usage(noted: dict[str, Any], usage: Mapping[str, Any]) -> None:
    total: dict[str, Any] = noted.setdefault("usage", {})
    for name, count in usage.items():
        if type(count) is int or type(count) is float:
            total[name] = total.get(name, 0) + count
