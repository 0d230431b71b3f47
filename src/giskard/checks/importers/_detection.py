"""Which format a record is of."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from giskard.checks.importers._plain_chats import is_plain_row
from giskard.checks.importers._registry import format_named, names_of_formats, ranks, third_party
from giskard.checks.importers._values import WRAPPERS
from giskard.checks.importers.base import Format

__all__ = ["ENVELOPES", "Detector", "UnknownFormatError", "advice", "beginning", "shape_of"]

ENVELOPES = ("row", "record", "conversation", "trace", "data", "payload", "body", "message", "_source", "attributes")
"""The keys under which some exports put the record itself."""


class UnknownFormatError(ValueError):
    """No format was recognised, or more than one; the message says what was seen, and what ``format=`` may be."""


class Detector:
    """Says which format a record is of.

    Parameters
    ----------
    only
        The format that was asked for: no other is thought of.
    """

    def __init__(self, only: Format | None = None) -> None:
        self.only = only
        self._known: list[tuple[Format, ...]] = [] if only is None else [(only,)]
        self._further = ranks() if only is None else iter(())
        self._is_whole = only is not None
        self._plain = format_named("openai_chat") if only is None and not third_party()[0] else None

    def _ranks(self) -> Iterable[tuple[Format, ...]]:
        """The formats, in their order; those that come late are imported when it is their turn."""
        return self._known if self._is_whole else self._growing()

    def _growing(self) -> Iterator[tuple[Format, ...]]:
        place = 0
        while True:
            if place == len(self._known):
                rank = next(self._further, None)
                if rank is None:
                    self._is_whole = True
                    return
                self._known.append(rank)
            yield self._known[place]
            place += 1

    def of(self, value: Any) -> Format | None:
        """The format that a value is a record of.

        Raises
        ------
        UnknownFormatError
            When two formats say so of which neither goes before the other.
        """
        if self._plain is not None and is_plain_row(value):  # most rows are, and all others look long at them
            return self._plain
        for rank in self._ranks():
            found = None
            for format in rank:
                try:
                    says = format.detect(value)
                except Exception:  # a shape that it did not think of
                    continue
                if says:
                    if found is not None:
                        raise _unsure(found, format, value)
                    found = format
            if found is not None:
                return found
        return None

    def of_list(self, items: Sequence[Any]) -> tuple[Format | None, bool]:
        """What a list is: a format that knows the list as one record, or one that knows an item of it.

        Parameters
        ----------
        items
            The first of them.

        Returns
        -------
        tuple
            The format, and whether the whole list is one record.
        """
        for rank in self._ranks():
            for format in rank:
                if _says(format, items):
                    return self.of(items), True
                if any(_says(format, item) for item in items):
                    return format, False
        return None, False

    def inside(self, value: Any, depth: int = 2) -> list[Any] | Any | None:
        """The records that an export wraps in an object, or the record; None when there is none."""
        if not isinstance(value, dict) or not depth:
            return None
        held = cast("dict[str, Any]", value)
        for key, item in held.items():
            if key in WRAPPERS and isinstance(item, list):
                items = cast("list[Any]", item)
                head = items[:20]
                if self.of_list(head)[0] or any(self._holds(first, depth - 1) for first in head):
                    return items
        for key in ENVELOPES:
            item = held.get(key)
            if isinstance(item, dict):
                if self.of(item) is not None:
                    return cast("Any", item)
                found = self.inside(item, depth - 1)
                if found is not None:
                    return found
        return None

    def _holds(self, value: Any, depth: int) -> bool:
        if isinstance(value, list):
            return self.of_list(cast("list[Any]", value)[:20])[0] is not None
        return self.inside(value, depth) is not None


def _says(format: Format, value: Any) -> bool:
    try:
        return format.detect(value)
    except Exception:  # a shape that it did not think of
        return False


def _unsure(one: Format, other: Format, value: Any) -> UnknownFormatError:
    return UnknownFormatError(
        f"this may be {one.name} or {other.name}: {shape_of(value)}; "
        f"say which, with format={one.name!r} or format={other.name!r}"
    )


def shape_of(value: Any) -> str:
    """What a value looks like, by its keys and types: what it holds may be private."""
    kind = cast("type[Any]", type(value))
    if kind is dict:
        keys = list(map(str, cast("dict[Any, Any]", value)))
        shown = ", ".join(f"{key!r:.40}" for key in keys[:12])
        more = f" and {len(keys) - 12} more" if len(keys) > 12 else ""
        return f"an object with the keys {shown}{more}" if keys else "an object without keys"
    if kind is list:
        items = cast("list[Any]", value)
        if not items:
            return "an empty list"
        return f"a list, whose first item is {shape_of(items[0])}" if _depth(items) < 4 else "a list of lists"
    return _TYPES.get(kind, kind.__name__)


_TYPES = {str: "a text", int: "a number", float: "a number", bool: "true or false", type(None): "null"}


def _depth(value: Any) -> int:
    depth = 0
    while isinstance(value, list) and value and depth < 4:
        value, depth = cast("list[Any]", value)[0], depth + 1
    return depth


# Keys that tell where a record comes from, though it may lack what its format needs.
_TELLING = {
    "openai_chat": "messages role content tool_calls tool_call_id function_call choices",
    "anthropic": "stop_reason tool_use tool_result tool_use_id input_schema",
    "openai_responses": "output call_id instructions previous_response_id function_call_output",
    "gemini": "contents parts functionCall functionResponse usageMetadata candidates",
    "bedrock": "toolUse toolResult inferenceConfig stopReason toolUseId",
    "langchain": "lc kwargs additional_kwargs response_metadata invalid_tool_calls",
    "pydantic_ai": "part_kind kind parts model_name",
    "opentelemetry": "resourceSpans scopeSpans spans attributes traceId spanId context trace_id span_id",
    "langfuse": "traceId trace_id parentObservationId parent_observation_id observations",
    "langsmith": "run_type dotted_order parent_run_id inputs outputs",
    "sharegpt": "conversations from value",
    "tau_bench": "traj reward task_id trial",
    "a2a": "contextId artifacts history messageId taskId",
    "mcp": "jsonrpc method params result",
    "vercel": "parts toolCallId toolName role id",
    "claude_code": "sessionId parentUuid isSidechain uuid message",
    "huggingface": "prompt completion chosen rejected messages label",
    "table": "input output question answer prompt response expected query",
    "giskard": "interactions annotations inputs outputs final_trace schema_version",
}


def advice(values: Iterable[Any]) -> str:
    """What to do about values that no format recognises: the formats with which they have most keys in common."""
    keys: set[str] = set()
    for value in values:
        _collect_keys(value, keys, 4)
    shared = {name: len(keys.intersection(telling.split())) for name, telling in _TELLING.items()}
    near = sorted((name for name, count in shared.items() if count > 1), key=lambda name: -shared[name])[:3]
    names = f"nearest are {', '.join(near)}" if near else f"the formats are {', '.join(names_of_formats())}"
    return f"{names}; say which it is with format=, or bring one of your own: a subclass of Format"


def beginning(head: bytes) -> str | None:
    """What a file that is no JSON begins with, cut and escaped; None of one that seems to be JSON, or is empty."""
    head = head.lstrip(_BLANK)
    if not head or head[:1] in (b"{", b"["):
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head[:_SHOWN_BYTES])  # which may end within a character
    except UnicodeDecodeError:
        return f"{head[:16]!r}"
    if "\0" in text:
        return f"{head[:16]!r}"
    line = next(iter(text.splitlines()), "")
    return repr(line[:_SHOWN] + ("..." if len(line) > _SHOWN else ""))


_BLANK = b"\xef\xbb\xbf \t\r\n"
_SHOWN = 40
_SHOWN_BYTES = 200


def _collect_keys(value: Any, keys: set[str], depth: int) -> None:
    if not depth:
        return
    if isinstance(value, dict):
        held = cast("dict[Any, Any]", value)
        keys.update(key for key in held if isinstance(key, str))
        for item in list(held.values())[:50]:
            _collect_keys(item, keys, depth - 1)
    elif isinstance(value, list):
        for item in cast("list[Any]", value)[:10]:
            _collect_keys(item, keys, depth - 1)
