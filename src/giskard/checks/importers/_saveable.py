"""What JSON keeps as it is: everything else is refused, with its place."""

from __future__ import annotations

import math
import re
from typing import Any, cast

from giskard.checks.utils.json_safe import describe

__all__ = ["CannotBeSavedError", "check_saveable"]

# Deeper than that not every parser reads; and integers of more digits Python itself does not.
_DEEPEST = 180
_MOST_BITS = 14_000
# JSON has one form for both, in which they come back as one character.
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SPLIT = "JSON has no form for a surrogate pair of two characters"
_FROZEN = "giskard.checks.utils.frozen"


class CannotBeSavedError(Exception):
    """The place in a trace, and why what is there would not come back as it was."""


def check_saveable(value: Any, place: str, depth: int = 0) -> None:
    """Refuse what JSON has no form for, or another one.

    Raises
    ------
    CannotBeSavedError
        For the first such value in it.
    """
    kind = cast("type[Any]", type(value))
    if kind is str:
        if not value.isascii() and _SPLIT_PAIR.search(value):
            raise CannotBeSavedError(f"{place}: {_SPLIT}")
    elif isinstance(value, dict) and (kind is dict or kind.__module__ == _FROZEN):
        _check_depth(place, depth)
        for key, item in cast("dict[Any, Any]", value).items():
            _check_key(key, place)
            if type(item) is not str or not item.isascii():
                check_saveable(item, f"{place}.{key}", depth + 1)
    elif isinstance(value, list) and (kind is list or kind.__module__ == _FROZEN):
        _check_depth(place, depth)
        for index, item in enumerate(cast("list[Any]", value)):
            if type(item) is not str or not item.isascii():
                check_saveable(item, f"{place}[{index}]", depth + 1)
    elif kind is int or kind is float:
        _check_number(cast("float", value), place)
    elif value is not None and kind is not bool:
        text = describe(cast("object", value))
        raise CannotBeSavedError(
            f"{place}: JSON has no form for {kind.__qualname__}: {text:.100}; to save its text instead, save "
            'Trace.model_validate(trace.model_dump(mode="json"))'
        )


def _check_depth(place: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise CannotBeSavedError(f"{place:.200}: nested deeper than {_DEEPEST} levels")


def _check_key(key: Any, place: str) -> None:
    if type(key) is not str:
        raise CannotBeSavedError(f"{place}: the key {key!r:.100} is {type(key).__name__}, and JSON has texts only")
    if not key.isascii() and _SPLIT_PAIR.search(key):
        raise CannotBeSavedError(f"{place}: {_SPLIT}")


def _check_number(number: float, place: str) -> None:
    if isinstance(number, int):
        if number.bit_length() > _MOST_BITS:
            raise CannotBeSavedError(f"{place}: an integer of more than 4,000 digits")
    elif not math.isfinite(number):
        raise CannotBeSavedError(f"{place}: JSON has no form for {number!r}")
