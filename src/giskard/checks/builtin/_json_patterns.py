"""Patterns of places in JSON data: ``$.items[*].price``, ``$..id``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator

__all__ = ["PathPattern", "Pattern", "compile_pattern", "pattern_matches"]

# A name or an index of one step, None for any; and whether steps may stand before it.
_Segment: TypeAlias = tuple[bool, "str | int | None"]
Pattern: TypeAlias = tuple[_Segment, ...]

_SEGMENT: Final = re.compile(
    r"""(?P<dots>\.\.?)(?:(?P<name>[^\W\d][\w-]*)|(?P<any>\*))"""
    r"""|(?P<deep>\.\.)?\[(?:(?P<index>0|[1-9][0-9]{0,8})|(?P<every>\*)|(?P<quote>['"])(?P<quoted>.*?)(?P=quote))\]""",
    re.DOTALL,
)


def compile_pattern(text: str) -> Pattern:
    """The steps of a pattern.

    Raises
    ------
    ValueError
        When `text` is none.

    Examples
    --------
    >>> compile_pattern("$.items[*].price")
    ((False, 'items'), (False, None), (False, 'price'))
    """
    segments: list[_Segment] = []
    at = 1
    while text[:1] == "$" and at < len(text) and (match := _SEGMENT.match(text, at)):
        step: str | int | None = match["name"] if match["name"] is not None else match["quoted"]
        if match["index"] is not None:
            step = int(match["index"])
        segments.append((match["dots"] == ".." or match["deep"] is not None, step))
        at = match.end()
    if not segments or at != len(text):
        raise ValueError(
            f"{text!r:.200} is no pattern of places: expected '$' and then names, indices and '*', "
            "such as '$.total', '$.items[*].price' or '$..id'"
        )
    return tuple(segments)


def pattern_matches(pattern: Pattern, steps: Sequence[str | int]) -> bool:
    """Whether a place, given by the steps that lead to it, is one of the pattern's."""
    reached = {0}
    for step in steps:
        further: set[int] = set()
        for place in reached:
            if place < len(pattern):
                deep, wanted = pattern[place]
                if deep:
                    further.add(place)
                if wanted is None or (wanted == step and type(wanted) is type(step)):
                    further.add(place + 1)
        reached = further
    return len(pattern) in reached


def _checked(text: str) -> str:
    compile_pattern(text)
    return text


PathPattern: TypeAlias = Annotated[str, AfterValidator(_checked)]
"""The type of a field that holds a pattern."""
