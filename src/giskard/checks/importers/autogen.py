"""Conversations of several agents: AutoGen, and the failure logs of Who&When."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._chat_messages import calls_of
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._labels import columns
from giskard.checks.importers._lenient import dicts, first, known, listed, mapping, moment, text, usage_of
from giskard.checks.importers._messages import Call, Message, Result
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["AutoGen"]

_PEOPLE = {"human", "user", "user_proxy", "userproxy", "userproxyagent", "human_user", "admin"}
_TERMINALS = {"computer_terminal", "computerterminal"}
_SIGN_OFF = "TERMINATE"
_HOLDERS = ("history", "chat_history", "messages")
_MISTAKE = ("mistake_agent", "mistake_step", "mistake_reason")
_LABELS = (*_MISTAKE, "is_correct", "is_corrected")
_OWN = {*_HOLDERS, *_LABELS, "labels", "system_prompt", "question_ID"}
_NOTES = {"ThoughtEvent", "MemoryQueryEvent", "ModelClientStreamingChunkEvent"}


class AutoGen(RecordFormat):
    """Logs in which each message has a speaker: AutoGen's of both generations, and Who&When's."""

    name = "autogen"
    aliases = ("who_and_when", "ag2")

    def detect(self, value: Any) -> bool:
        """Whether it holds such messages, or is a list of messages with ``source`` and ``type``."""
        row = mapping(value)
        if isinstance(value, list):
            return _are_events(value)
        if _are_events(row.get("messages")):
            return True
        if "mistake_agent" in row or "mistake_step" in row:
            return _are_spoken(row.get("history"))
        return "chat_history" in row and ("summary" in row or "cost" in row) and _are_spoken(row["chat_history"])

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """The conversation: what people say begins a turn, what agents say to each other happens within it."""
        row = mapping(value)
        items = dicts(value if isinstance(value, list) else first(row, *_HOLDERS), "the messages")
        if not items:
            raise BadRecord("the history is empty")
        annotations = {"source": source, **_annotations(row)}
        if _are_events(items):
            return to_trace(_events(items), annotations, options)
        spoken = _spoken(items, text(row.get("question")))
        return _with_answer(to_trace(spoken, annotations, options, records_calls=False), items)


def _annotations(row: dict[str, Any]) -> dict[str, Any]:
    labels = {name: row[name] for name in _LABELS if row.get(name) is not None}
    step = labels.get("mistake_step")
    if isinstance(step, str) and step.strip().isdecimal():
        labels["mistake_step"] = int(step)
    if (kinds := row.get("labels")) is not None:
        labels |= mapping(kinds) if isinstance(kinds, dict) else {"labels": kinds}
    prompts = row.get("system_prompt")
    return {
        **columns(row, _OWN),
        **known(
            conversation_id=text(row.get("question_ID")),
            system_prompt=text(prompts),
            system_prompts=mapping(prompts) or None,  # one for each agent
            labels=labels or None,
        ),
    }


def _are_spoken(value: Any) -> bool:
    some = listed(value)[:3]
    return bool(some) and all("content" in mapping(item) and isinstance(item.get("role"), str) for item in some)


def _are_events(value: Any) -> bool:
    some = [mapping(item) for item in listed(value)[:3]]
    return bool(some) and all(
        isinstance(item.get("source"), str) and isinstance(item.get("type"), str) and "content" in item for item in some
    )


def _is_person(speaker: Any) -> bool:
    return isinstance(speaker, str) and speaker.lower().replace(" ", "_") in _PEOPLE


def _speaker(item: dict[str, Any]) -> tuple[str, bool]:
    """Who says a message, and whether that is a person.

    With names, roles only say whose turn it was in the eyes of one of the agents.
    """
    name = text(item.get("name"))
    speaker = str(name or item.get("role"))
    return speaker, _is_person(speaker)


def _spoken(items: list[dict[str, Any]], question: str | None) -> Iterator[Message]:
    """The messages of a group of agents.

    Where no person speaks, the question is what was asked, else the first message.
    """
    speakers = [_speaker(item) for item in items]
    asked = any(person for _, person in speakers)
    if not asked and question is not None:
        yield Message("user", question, index=-1)
    for index, item in enumerate(items):
        speaker, person = speakers[index]
        content, call_id = item.get("content"), text(item.get("tool_call_id"))
        if person or (not asked and question is None and index == 0):
            made = Message("user", content, name=speaker)
        elif item.get("role") in ("tool", "function") and call_id is not None:
            made = Message("tool", results=[Result(content, id=call_id, name=text(item.get("name")))])
        else:
            made = Message("assistant", content, calls=calls_of(item), name=speaker)
        made.raw, made.index = item, index
        yield made


def _with_answer(trace: Trace[Any, Any], items: list[dict[str, Any]]) -> Trace[Any, Any]:
    """The trace with the last thing that an agent said to the others as the answer.

    What comes after it may be a thought, a farewell, or what a program printed.  When the log ends with the latter,
    there is no answer yet.
    """
    said_last = items[-1] if items else {}
    if _may_answer(said_last) or not trace.interactions or "tool_calls" in trace.interactions[-1].metadata:
        return trace
    signed_off = False
    answer: int | None = None
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if _speaker(item)[1] or (_is_terminal(item) and not signed_off):
            break
        if _may_answer(item):
            answer = index
            break
        signed_off = signed_off or _says(item) == _SIGN_OFF
    *turns, last = trace.interactions
    notes = [*last.metadata.get("intermediate", ())]
    if last.outputs is not None:
        notes.append({"message_index": len(items) - 1, "text": last.outputs})
    metadata = {
        **{key: value for key, value in last.metadata.items() if key not in ("intermediate", "incomplete")},
        **known(
            intermediate=[note for note in notes if note["message_index"] != answer] or None,
            finish_reason=_SIGN_OFF if signed_off else None,
            incomplete=True if answer is None else None,
        ),
    }
    outputs = None if answer is None else items[answer].get("content")
    turns.append(Interaction(inputs=last.inputs, outputs=outputs, metadata=metadata))
    return Trace(interactions=turns, annotations=trace.annotations)


def _may_answer(item: dict[str, Any]) -> bool:
    thought = _speaker(item)[0].endswith("(thought)")
    return not (thought or _is_terminal(item) or _says(item) in (_SIGN_OFF, "", None))


def _is_terminal(item: dict[str, Any]) -> bool:
    """Whether the speaker is the program that runs what the agents write."""
    return _speaker(item)[0].lower().replace(" ", "_") in _TERMINALS


def _says(item: dict[str, Any]) -> str | None:
    content = item.get("content")
    return content.strip() if isinstance(content, str) else None


def _events(items: list[dict[str, Any]]) -> Iterator[Message]:
    """The messages of AutoGen from version 0.4 on, each with its type."""
    for index, item in enumerate(items):
        made = _event(item)
        made.raw, made.index = item, index
        made.timestamp = moment(item.get("created_at"))
        yield made


def _event(item: dict[str, Any]) -> Message:
    kind, speaker, content = str(item.get("type")), str(item.get("source")), item.get("content")
    usage = usage_of(item.get("models_usage"), input_tokens="prompt_tokens", output_tokens="completion_tokens")
    if kind == "ToolCallRequestEvent":
        calls = [
            Call(text(call.get("name")) or "", call.get("arguments"), id=text(call.get("id")))
            for call in map(mapping, listed(content))
        ]
        return Message("assistant", calls=calls, name=speaker, usage=usage)
    if kind == "ToolCallExecutionEvent":
        results = [
            Result(
                result.get("content"),
                id=text(result.get("call_id")),
                name=text(result.get("name")),
                error=result.get("is_error") is True or None,
            )
            for result in map(mapping, listed(content))
        ]
        return Message("tool", results=results)
    if kind == "ThoughtEvent" and isinstance(content, str):
        return Message("tool", reasoning=[content])
    if kind in _NOTES:
        return Message("tool", metadata={"notes": [{"kind": kind, "speaker": speaker, "content": content}]})
    if _is_person(speaker):
        return Message("user", content, name=speaker)
    return Message("assistant", content, name=speaker, usage=usage)
