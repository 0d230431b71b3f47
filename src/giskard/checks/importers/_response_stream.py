"""Typed events of OpenAI's Responses API, put together to the response that they tell of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giskard.checks.importers._lenient import listed, mapping, number, text

__all__ = ["ENDS", "is_event", "response_of_events"]

ENDS = frozenset({"response.completed", "response.failed", "response.incomplete", "response.cancelled"})
"""The events that end a response, and hold all of it."""


def is_event(value: Mapping[str, Any]) -> bool:
    """Whether an object is an event of a streamed response."""
    kind = value.get("type")
    return isinstance(kind, str) and kind.startswith("response.")


def response_of_events(events: list[Any]) -> dict[str, Any]:
    """The response of a stream; when it was cut off, as far as it came."""
    whole: dict[str, Any] = {}
    items: dict[int, dict[str, Any]] = {}
    for event in map(mapping, events):
        kind = text(event.get("type")) or ""
        response = mapping(event.get("response"))
        if response:
            whole = response
            if kind in ENDS:
                return response if listed(response.get("output")) else {**response, "output": _in_order(items)}
        elif kind == "error":
            whole = {**whole, "error": {key: event[key] for key in ("code", "message") if key in event}}
        else:
            _add(items, kind, event)
    return {"object": "response", **whole, "output": _in_order(items), "status": "incomplete"}


def _in_order(items: Mapping[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [items[place] for place in sorted(items)]


def _add(items: dict[int, dict[str, Any]], kind: str, event: Mapping[str, Any]) -> None:
    """Take an event into the item that it is about."""
    place = number(event.get("output_index"))
    index = len(items) if place is None else int(place)
    if kind in ("response.output_item.added", "response.output_item.done"):
        item = mapping(event.get("item"))
        if item:
            items[index] = dict(item)
    elif index in items:
        delta = event.get("delta")
        item = items[index]
        if not isinstance(delta, str):
            return
        if kind.endswith("_arguments.delta") or kind.endswith("_input.delta"):
            name = "arguments" if "arguments" in kind else "input"
            item[name] = (text(item.get(name)) or "") + delta
        elif kind in _PARTS:
            key, part_kind, field = _PARTS[kind]
            parts: list[Any] = list(listed(item.get(key)))
            place = number(event.get("content_index", event.get("summary_index")))
            at = min(int(place or 0), len(parts))
            part = dict(mapping(parts[at])) if at < len(parts) else {"type": part_kind}
            part[field] = (text(part.get(field)) or "") + delta
            item[key] = [*parts[:at], part, *parts[at + 1 :]]


# Where the text of a delta goes: the list of parts, the type of the part, and its field.
_PARTS = {
    "response.output_text.delta": ("content", "output_text", "text"),
    "response.refusal.delta": ("content", "refusal", "refusal"),
    "response.reasoning_summary_text.delta": ("summary", "summary_text", "text"),
    "response.reasoning_text.delta": ("content", "reasoning_text", "text"),
}
