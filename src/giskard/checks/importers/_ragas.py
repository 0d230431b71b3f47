"""Samples of Ragas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._lenient import dicts, first, listed, mapping, text
from giskard.checks.importers._messages import Call, Message, Result
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["Ragas"]

_OF_RAGAS = {
    "response",
    "retrieved_contexts",
    "reference",
    "reference_contexts",
    "rubrics",
    "reference_tool_calls",
    "reference_topics",
    "multi_responses",
}

_OWN = {"user_input", "response", "retrieved_contexts", "source"}


class Ragas(RecordFormat):
    """Samples of one turn and of several, as data sets and results hold them; scores stay annotations."""

    name = "ragas"

    def detect(self, value: Any) -> bool:
        """Whether it has a ``user_input`` that is a text with an answer, or a list of messages with types."""
        row = mapping(value)
        asked = row.get("user_input")
        if isinstance(asked, str):
            return bool(row.keys() & _OF_RAGAS)
        return bool(asked) and all(mapping(item).get("type") in ("human", "ai", "tool") for item in listed(asked)[:3])

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """The conversation of a sample."""
        row = mapping(value)
        annotations = {key: item for key, item in row.items() if key not in _OWN and item is not None}
        annotations["source"] = source
        asked = row.get("user_input")
        if isinstance(asked, list):
            return to_trace(_read(dicts(asked, "user_input")), annotations, options)
        if asked is None:
            raise BadRecord("the sample has no user_input")
        retrieved = row.get("retrieved_contexts")
        metadata = {} if retrieved is None else {"retrieved": retrieved}
        answer = Message("assistant", row.get("response"), metadata=metadata, raw=row)
        return to_trace([Message("user", asked), answer], annotations, options, records_calls=False)


def _read(items: list[dict[str, Any]]) -> Iterator[Message]:
    for place, item in enumerate(items):
        kind, content = item.get("type"), item.get("content")
        if kind == "human":
            yield Message("user", content, raw=item)
        elif kind == "ai":
            calls = [
                Call(text(call.get("name")) or "", first(call, "args", "arguments"))
                for call in map(mapping, listed(item.get("tool_calls")))
            ]
            yield Message("assistant", content, calls=calls, raw=item)
        elif kind == "tool":
            yield Message("tool", results=[Result(content)], raw=item)
        else:
            raise BadRecord(f"message {place}: expected the type human, ai or tool, got {kind!r}")
