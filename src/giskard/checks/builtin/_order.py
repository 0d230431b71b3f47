"""Which of two values comes first.

Numbers with numbers, texts with texts (after normalisation, by code point), bytes with bytes,
bools with bools, times with times of their own kind, lists and tuples item by item, and objects of a class that defines
an order.  Everything else is `Incomparable`.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from numbers import Number
from typing import Any, cast

from giskard.checks.builtin._closeness import (
    EXACT,
    PLAIN_NUMBERS,
    TIMES,
    CompareOptions,
    is_exact,
    is_nan,
    numbers_equal,
    times_equal,
)
from giskard.checks.builtin._compare import Incomparable, is_array, is_row, is_set, kinds_of, values_equal
from giskard.checks.utils.normalization import normalize_string

__all__ = ["compare_order"]


def compare_order(actual: object, expected: object, options: CompareOptions = EXACT) -> int:
    """-1, 0 or 1: whether `actual` comes before `expected`, beside it, or after it.

    A tolerance makes close numbers and times equal, so that they are neither before nor after each other.

    Raises
    ------
    Incomparable
        When the two have no order: the types do not fit, one is NaN, one time has a time zone and the other none,
        or the items of two lists do not compare.

    Examples
    --------
    >>> compare_order(2, 3.5), compare_order("b", "a"), compare_order([1, 10], [1, 9])
    (-1, 1, 1)
    >>> compare_order(True, 1)
    Traceback (most recent call last):
        ...
    giskard.checks.builtin._compare.Incomparable: bool and int have no order
    """
    if type(actual) in PLAIN_NUMBERS and type(expected) in PLAIN_NUMBERS and is_exact(options):
        one, other = cast("float", actual), cast("float", expected)
        if one < other:
            return -1
        if one > other:
            return 1
        if one == other:
            return 0
    return _order(actual, expected, options)


def _order(actual: object, expected: object, options: CompareOptions) -> int:
    one, other = _unwrapped_scalar(actual), _unwrapped_scalar(expected)
    if isinstance(one, str) and isinstance(other, str):
        return _sign(*(normalize_string(text, options.form) for text in (one, other)))
    if isinstance(one, Number) and isinstance(other, Number):
        return _order_numbers(one, other, options)
    if isinstance(one, TIMES) and isinstance(other, TIMES):
        return _order_times(one, other, options)
    if is_row(one) and is_row(other):
        return _order_items(one, other, options)
    if is_set(one) or is_set(other):  # theirs is no order, but "is a part of"
        raise Incomparable(f"{kinds_of(one, other)} have no order")
    return _sign(one, other)


def _unwrapped_scalar(value: object) -> object:
    """A number of an array library as Python's own; anything else as it is."""
    if is_array(type(value)) and getattr(value, "shape", None) == ():
        return cast("Any", value).tolist()
    return value


def _order_numbers(one: Any, other: Any, options: CompareOptions) -> int:
    if isinstance(one, bool) != isinstance(other, bool):
        raise Incomparable(f"{kinds_of(one, other)} have no order")
    if isinstance(one, bool):
        return _sign(one, other)
    if is_nan(one) or is_nan(other):
        raise Incomparable(f"NaN has no order: {one!r} and {other!r}")
    if numbers_equal(one, other, options):
        return 0
    return _sign(one, other)


def _order_times(one: Any, other: Any, options: CompareOptions) -> int:
    clocks = isinstance(one, (datetime.datetime, datetime.time)) and type(one) is type(other)
    if clocks and (one.utcoffset() is None) != (other.utcoffset() is None):
        raise Incomparable(f"{kinds_of(one, other)} have no order: one has a time zone and the other has none")
    if times_equal(one, other, options):
        return 0
    return _sign(one, other)


def _order_items(one: Sequence[object], other: Sequence[object], options: CompareOptions) -> int:
    """The order of the first items that differ; of the lengths, when one list is the start of the other."""
    pending: list[tuple[object, object, CompareOptions]] = [(one, other, options)]
    seen: set[tuple[int, int]] = set()
    while pending:
        left, right, how = pending.pop()
        if is_row(left) and is_row(right):
            if (id(left), id(right)) not in seen:
                seen.add((id(left), id(right)))
                pending.append((len(left), len(right), EXACT))
                pending.extend(reversed([(*pair, how) for pair in zip(left, right, strict=False)]))
        elif not values_equal(left, right, how):
            return _order(left, right, how)
    return 0


def _sign(one: Any, other: Any) -> int:
    try:
        before, after, same = one < other, one > other, one == other
    except Exception as error:
        note = "" if isinstance(error, TypeError) else f" ({type(error).__name__}: {error})"
        raise Incomparable(f"{kinds_of(one, other)} have no order{note}") from error
    answers = (before, after, same)
    if sum(answer is True for answer in answers) != 1 or sum(answer is False for answer in answers) != 2:
        raise Incomparable(f"{kinds_of(one, other)} have no order")
    return -1 if before else 1 if after else 0
