"""Values of the kind that is asked for, out of records that may hold anything."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any, cast

from giskard.checks.importers.base import BadRecord

__all__ = [
    "batch",
    "dicts",
    "first",
    "known",
    "listed",
    "mapping",
    "moment",
    "number",
    "part_type",
    "text",
    "usage_of",
    "within",
]


def mapping(value: Any) -> dict[str, Any]:
    """`value` when it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """`value` when it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def batch(value: Any) -> list[Any]:
    """The items of a list; any other value as the only one."""
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def dicts(value: Any, what: str) -> list[dict[str, Any]]:
    """The items of a list of objects.

    Raises
    ------
    BadRecord
        When it is another thing, which the message calls `what`.
    """
    if not isinstance(value, list):
        raise BadRecord(f"{what}: expected a list of objects, got {type(value).__name__}")
    for place, item in enumerate(cast("list[Any]", value)):
        if not isinstance(item, dict):
            raise BadRecord(f"{what}: expected objects, got {type(item).__name__} at position {place}")
    return cast("list[dict[str, Any]]", value)


def text(value: Any) -> str | None:
    """`value` when it is a text that says something."""
    return value if isinstance(value, str) and value else None


def number(value: Any) -> float | None:
    """`value` when it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if isfinite(value) else None
    except OverflowError:  # an integer that is longer than any figure
        return None


def first(record: Mapping[str, Any], *names: str) -> Any:
    """The value of the first of `names` that is there and not None."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def within(record: Any, *path: str) -> Any:
    """What stands at the end of `path`, None when there is no such thing."""
    for name in path:
        record = mapping(record).get(name)
    return record


def known(**values: Any) -> dict[str, Any]:
    """The `values` that are not None: missing stays missing."""
    return {name: value for name, value in values.items() if value is not None}


def part_type(part: Any) -> str | None:
    """The ``type`` of a part of a content."""
    kind = mapping(part).get("type")
    return kind if isinstance(kind, str) else None


def moment(value: Any) -> str | None:
    """A time as ISO 8601: texts as they are, numbers as seconds or milliseconds since 1970."""
    if isinstance(value, str):
        return value or None
    seconds = number(value)
    if seconds is None:
        return None
    if abs(seconds) > 1e11:  # in seconds, that is the year 5138
        seconds /= 1000
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None


def usage_of(record: Any, **names: str | tuple[str, ...]) -> dict[str, Any] | None:
    """Tokens that were used: each of `names` says where its number may stand, nested keys with dots."""
    if not isinstance(record, dict):
        return None
    found: dict[str, Any] = {}
    for name, places in names.items():
        for place in (places,) if isinstance(places, str) else places:
            if (tokens := number(within(record, *place.split(".")))) is not None:
                found[name] = tokens
                break
    return found or None
