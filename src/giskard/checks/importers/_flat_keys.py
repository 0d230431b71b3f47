"""Attributes whose names are paths, such as ``llm.input_messages.0.message.role``, as the objects they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["nested"]

_DEEPEST = 30  # parts of a name; what is longer is no path


def nested(flat: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The attributes whose name begins with `prefix`, without it, taken apart at their dots.

    Parts that are numbers make lists, without holes.  Objects and lists among the values may have such names too.
    """
    tree: dict[str, Any] = {}
    for name in sorted(name for name in flat if name.startswith(prefix)):  # the parents before the children
        parts = name[len(prefix) :].split(".")
        value = _value(flat[name])
        if value is None or len(parts) > _DEEPEST:
            continue
        node = tree
        for part in parts[:-1]:
            child = node.get(part)
            if isinstance(child, list):
                items = cast("list[Any]", child)
                child = node[part] = {str(place): item for place, item in enumerate(items)}
            elif not isinstance(child, dict):
                child = node[part] = {}
            node = cast("dict[str, Any]", child)
        before = node.get(parts[-1])
        if isinstance(before, dict) and isinstance(value, dict):
            cast("dict[str, Any]", before).update(cast("dict[str, Any]", value))
        elif not isinstance(before, dict):
            node[parts[-1]] = value
    return {name: _with_lists(value) for name, value in tree.items()}


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return nested({name: item for name, item in cast("dict[Any, Any]", value).items() if isinstance(name, str)})
    if isinstance(value, list):
        return [_value(item) for item in cast("list[Any]", value)]
    return value


def _with_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    items = {name: _with_lists(item) for name, item in cast("dict[str, Any]", value).items()}
    if items and all(name.isdecimal() and name.isascii() and len(name) < 10 for name in items):
        return [items[name] for name in sorted(items, key=int)]
    return items
