"""Equality of values of any type: an answer where ``==`` gives an array, or raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["equal"]


def equal(one: Any, other: Any) -> bool:
    """Whether two recorded values are equal, arrays by their content.

    ``==`` decides wherever it gives an answer; containers in which it gives none are compared part by part.
    """
    try:
        return bool(one == other)
    except Exception:
        return _equal_parts(one, other)


def _equal_parts(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        ours, theirs = cast("Mapping[Any, Any]", one), cast("Mapping[Any, Any]", other)
        return ours.keys() == theirs.keys() and all(equal(value, theirs[key]) for key, value in ours.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        items, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(others) and all(equal(a, b) for a, b in zip(items, others, strict=True))
    array = cast("Any", one)
    return hasattr(array, "tolist") and hasattr(other, "tolist") and bool(array.tolist() == other.tolist())
