"""The cosine of two vectors that a model gave, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from giskard.checks.builtin._shown import shown, type_name

__all__ = ["BadVectors", "cosine_of_two"]

# Of the same text twice, models give vectors that differ beyond this: what rounds to 1 is 1.
_DECIMALS: Final = 6

_NO_LISTS: tuple[type[Any], ...] = (str, bytes, Mapping)


class BadVectors(ValueError):
    """What a model gave is not two vectors that can be compared; the message says what is wrong."""


def cosine_of_two(vectors: Any) -> float:
    """The cosine of the angle between two vectors, from -1 to 1, rounded to six decimals.

    Raises
    ------
    BadVectors
        When there are not exactly two vectors, of one length and with finite numbers, neither of them null.

    Examples
    --------
    >>> cosine_of_two([[1, 0], [1, 1]])
    0.707107
    >>> cosine_of_two([[1e300, 1e300], [3e-320, 3e-320]])
    1.0
    """
    found = _items(vectors, "vectors")
    if len(found) != 2:
        raise BadVectors(f"the model gave {len(found)} vectors for 2 texts")
    first, second = (_unit(vector, place) for place, vector in enumerate(found))
    if len(first) != len(second):
        raise BadVectors(f"the model's vectors have {len(first)} and {len(second)} numbers, expected the same of both")
    cosine = math.fsum(a * b for a, b in zip(first, second, strict=True))
    return round(min(1.0, max(-1.0, cosine)), _DECIMALS) + 0.0  # no -0.0


def _items(value: Any, what: str) -> list[Any]:
    # Arrays of number libraries are no sequences, and have a length; what has none may go on for ever.
    if isinstance(value, _NO_LISTS) or not (hasattr(value, "__len__") and hasattr(value, "__iter__")):
        raise BadVectors(f"the model gave {type_name(value)} as {what}: {shown(value)}; expected a list")
    return list(value)


def _unit(vector: Any, place: int) -> list[float]:
    """The vector at length 1; it is scaled first, so that neither huge nor tiny numbers are lost in their squares."""
    numbers = [_number(item, place) for item in _items(vector, f"vector {place}")]
    greatest = max(map(abs, numbers), default=0.0)
    if greatest == 0:
        of = f"{len(numbers)} zeros" if numbers else "no numbers"
        raise BadVectors(f"the model's vector {place} is null ({of}): it is similar to nothing")
    scaled = [number / greatest for number in numbers]
    length = math.hypot(*scaled)
    return [number / length for number in scaled]


def _number(item: Any, place: int) -> float:
    try:
        number = math.nan if isinstance(item, (str, bytes, bool)) else float(item)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise BadVectors(f"the model's vector {place} holds {shown(item)}, expected finite numbers")
    return number
