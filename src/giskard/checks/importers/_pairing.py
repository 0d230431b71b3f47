"""Which call of a turn a result belongs to, where no id tells."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Loose", "answer", "pair"]


@dataclass(slots=True)
class Loose:
    """A result of which no id told the call.

    Parameters
    ----------
    calls_before
        How many calls of the turn came before it.
    shown
        As it stands among the messages.
    """

    value: Any
    error: str | None
    call_id: str | None
    name: str | None
    latency_ms: float | None
    calls_before: int
    shown: dict[str, Any]
    message_index: int


def answer(entry: dict[str, Any], value: Any, error: str | None, latency_ms: float | None) -> None:
    """Write a result into the entry of its call."""
    entry["result"] = value
    entry["error"] = error
    del entry["answered"]
    if latency_ms is not None:
        entry.setdefault("latency_ms", latency_ms)


def pair(calls: Iterable[dict[str, Any]], results: Iterable[Loose]) -> list[dict[str, Any]]:
    """Give results to the calls that are without one: by name, then by position.

    Returns
    -------
    list
        What is left of the results.
    """
    left = {place: entry for place, entry in enumerate(calls) if "answered" in entry}
    by_name: dict[str, deque[int]] = {}
    for place, entry in left.items():
        by_name.setdefault(entry["name"], deque()).append(place)
    nameless: list[Loose] = []
    for result in results:
        places = by_name.get(result.name or "")
        if places and places[0] < result.calls_before:
            _pair(left.pop(places.popleft()), result)
        else:
            nameless.append(result)
    orphans: list[dict[str, Any]] = []
    for result in nameless:
        fits = (place for place, entry in left.items() if _may_answer(result, place, entry))
        place = next(fits, None)
        if place is None:
            orphans.append(_orphan(result))
        else:
            _pair(left.pop(place), result)
    return orphans


def _may_answer(result: Loose, place: int, entry: Mapping[str, Any]) -> bool:
    """Whether a result may belong to a call that neither its id nor its name tells: one before it, of no other name."""
    return place < result.calls_before and (result.name is None or not entry["name"])


def _pair(entry: dict[str, Any], result: Loose) -> None:
    answer(entry, result.value, result.error, result.latency_ms)
    result.shown.setdefault("name", entry["name"])


def _orphan(result: Loose) -> dict[str, Any]:
    known = {"id": result.call_id, "name": result.name}
    return {
        **{key: value for key, value in known.items() if value is not None},
        **{"result": result.value, "error": result.error, "message_index": result.message_index},
    }
