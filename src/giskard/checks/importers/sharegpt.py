"""Conversations in the form of ShareGPT."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._json import json_or_text, loads
from giskard.checks.importers._labels import KTO_LABEL, PREFERRED, columns
from giskard.checks.importers._lenient import dicts, first, known, listed, mapping, text
from giskard.checks.importers._messages import Call, Message, Result
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["ShareGPT"]

_USERS = {"human", "user"}
_ASSISTANTS = {"gpt", "assistant", "bing", "bard", "chatgpt", "claude", "gemini", "model", "bot"}
_CALLS = {"function_call", "tool_call", "function-call"}
_RESULTS = {"observation", "tool", "tool_response", "function_response", "function-response", "ipython"}
_SPEAKERS = _USERS | _ASSISTANTS | _CALLS | _RESULTS | {"system"}

# How some models write calls and results into what they say.
_TAGGED_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_TAGGED_RESULT = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)

_OWN = {"id", "conversations", "system", "tools", "chosen", "rejected", "kto_tag"}


class ShareGPT(RecordFormat):
    """Rows with ``conversations`` of ``from`` and ``value``, as chat data sets have them."""

    name = "sharegpt"

    def detect(self, value: Any) -> bool:
        """Whether it is an object with such ``conversations``."""
        some = listed(mapping(value).get("conversations"))[:3]
        return bool(some) and all(isinstance(_speaker(item), str) and _says(item) for item in some)

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Iterator[Trace[Any, Any]]:
        """The conversation of a row; two of them where it has a chosen and a rejected answer."""
        row = mapping(value)
        messages = list(_read(dicts(row.get("conversations"), "conversations")))
        if not messages:
            raise BadRecord("conversations is empty")
        annotations: dict[str, Any] = {
            "source": source,
            **columns(row, _OWN),
            **known(
                conversation_id=None if row.get("id") is None else str(row["id"]),
                system_prompt=text(row.get("system")),
                tools=json_or_text(row.get("tools")) or None,
            ),
        }
        endings = _endings(row)
        for ending, labels in endings:
            labelled = {**annotations.get("labels", {}), **labels}
            yield to_trace([*messages, *ending], {**annotations, "labels": labelled or None}, options)


def _endings(row: dict[str, Any]) -> list[tuple[list[Message], dict[str, Any]]]:
    """The messages that may follow the conversation, each with what people said of them."""
    if isinstance(row.get("chosen"), dict) and isinstance(row.get("rejected"), dict):
        return [(list(_read([mapping(row[key])])), {PREFERRED: key == "chosen"}) for key in ("chosen", "rejected")]
    if isinstance(row.get("kto_tag"), bool):
        return [([], {KTO_LABEL: row["kto_tag"]})]
    return [([], {})]


def _speaker(item: Any) -> Any:
    return first(mapping(item), "from", "role")


def _says(item: Any) -> bool:
    return "value" in item or ("content" in item and "role" in item)


def _read(items: list[dict[str, Any]]) -> Iterator[Message]:
    for place, item in enumerate(items):
        speaker = _speaker(item)
        if not isinstance(speaker, str) or speaker.lower() not in _SPEAKERS:
            raise BadRecord(f"message {place}: the speaker {speaker!r} is not known; there are {sorted(_SPEAKERS)}")
        made = _message(speaker.lower(), item["value"] if "value" in item else item.get("content"), place)
        made.raw = item
        yield made


def _message(speaker: str, value: Any, place: int) -> Message:
    if speaker in _USERS:
        return Message("user", value)
    if speaker == "system":
        return Message("system", value)
    if speaker in _CALLS:
        return Message("assistant", calls=_calls(value, place))
    if speaker in _RESULTS:
        tagged = _TAGGED_RESULT.findall(value) if isinstance(value, str) else []
        return Message("tool", results=[_tagged_result(found) for found in tagged] or [Result(value)])
    tagged = _TAGGED_CALL.findall(value) if isinstance(value, str) else []
    if not tagged:
        return Message("assistant", value)
    said = _TAGGED_CALL.sub("", value).strip()
    return Message("assistant", said or None, calls=[call for found in tagged for call in _calls(found, place)])


def _calls(value: Any, place: int) -> list[Call]:
    """The calls of a message, which is JSON text of one or of several."""
    try:
        found = loads(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    calls = listed(found) or [found]
    if not all(isinstance(mapping(call).get("name"), str) for call in calls):
        raise BadRecord(f"message {place}: expected a call as JSON with 'name' and 'arguments', got {value!r:.120}")
    return [
        Call(call["name"], first(call, "arguments", "parameters", "args"), id=text(call.get("id")))
        for call in map(mapping, calls)
    ]


def _tagged_result(found: str) -> Result:
    value = json_or_text(found.strip())
    if isinstance(value, dict) and {"name", "content"} <= mapping(value).keys():
        named = mapping(value)
        return Result(named["content"], id=text(named.get("tool_call_id")), name=text(named["name"]))
    return Result(value)
