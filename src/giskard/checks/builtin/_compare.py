"""When two values are equal, and which of two comes first.

Python's own ``==`` says that True is 1, that a list is never a tuple and that an array has no answer;
its ``<`` puts NaN nowhere.  A test needs one clear answer for data of any origin, or a clear "cannot
tell".  The rules, for `find_difference` and `values_equal`:

- Numbers are equal by value whatever their type: ``1 == 1.0 == Decimal(1) == Fraction(1)``.  A bool equals
  only a bool, also inside containers and as a key.  NaN equals nothing, not even itself.
- Texts are equal when their normalised forms are (see `CompareOptions.form`); keys are compared as they are.
- A tuple equals a list of equal items, a named tuple the dict of its fields too; mappings are equal by their
  items, sets by their members.
- A model, a dataclass or an array equals its plain data, on either side; an enum member equals its value.
- Other objects are equal when their ``==`` says so.
- A tolerance holds for every number, or every time, inside the containers; members of sets are compared exactly.

For `compare_order`: numbers with numbers, texts with texts (after normalisation, by code point), bytes with bytes,
bools with bools, times with times of their own kind, lists and tuples item by item, and objects of a class that defines
an order.  Everything else is `Incomparable`.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from numbers import Number, Rational
from typing import Any, NamedTuple, TypeAlias, TypeGuard, cast

from pydantic import BaseModel, RootModel
from pydantic_core import to_jsonable_python

from giskard.checks.builtin._shown import type_name
from giskard.checks.utils.normalization import NormalizationForm, normalize_data, normalize_string
from giskard.checks.utils.plain import SCALARS, is_mock_call, is_named_tuple, record_items

__all__ = [
    "CompareOptions",
    "Difference",
    "Incomparable",
    "compare_order",
    "find_difference",
    "values_equal",
]

Tolerance: TypeAlias = float | Decimal | datetime.timedelta


class Incomparable(TypeError):
    """Two values have no order, or no verdict on their equality."""


class CompareOptions(NamedTuple):
    """How closely two values are compared."""

    form: NormalizationForm | None = None
    """The normal form of the texts on both sides."""
    tolerance: Tolerance | None = None
    """The greatest absolute difference of two equal numbers; a timedelta: of two equal times."""
    relative_tolerance: float | Decimal | None = None
    """The greatest difference of two equal numbers, as a share of the greater magnitude (as `math.isclose`)."""


class Difference(NamedTuple):
    """Where two values differ first."""

    path: tuple[object, ...]
    """Keys and indices that lead to the place; empty when the two values themselves differ."""
    reason: str
    """What is different there; empty when the values at `path` are all that there is to say."""
    actual: object
    expected: object


_EXACT = CompareOptions()
_NUMBERS: frozenset[type] = frozenset({int, float})
# A linked list of the keys that lead to a pair of values: cheap to extend, read on failure only.
_Trail: TypeAlias = "tuple[_Trail, object] | None"
_TIMES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
_BYTES = (bytes, bytearray, memoryview)
_SOME_DAY = datetime.date(2000, 1, 1)
_AnyMapping: TypeAlias = Mapping[Any, Any]


def values_equal(actual: object, expected: object, options: CompareOptions = _EXACT) -> bool:
    """Whether the two values are equal, by the rules of this module.

    Raises
    ------
    Incomparable
        When the ``==`` of an object in them raises, or answers neither True nor False.

    Examples
    --------
    >>> values_equal({"fee": 3, "tags": ("a",)}, {"fee": 3.0, "tags": ["a"]})
    True
    >>> values_equal([True], [1])
    False
    >>> values_equal(0.1 + 0.2, 0.3), values_equal(0.1 + 0.2, 0.3, CompareOptions(tolerance=1e-9))
    (False, True)
    """
    return find_difference(actual, expected, options) is None


def find_difference(actual: object, expected: object, options: CompareOptions = _EXACT) -> Difference | None:
    """The first place where the two values differ, or None when they are equal.

    Data of any depth is compared, also data that holds itself.

    Raises
    ------
    Incomparable
        As `values_equal`.

    Examples
    --------
    >>> find_difference({"a": [1, 2]}, {"a": [1, 3]}).path
    ('a', 1)
    """
    kind = type(actual)
    if kind is type(expected) and kind in SCALARS:
        same = actual == expected or _leaves_equal(actual, expected, options)
        return None if same else Difference((), "", actual, expected)
    return _find(actual, expected, options, {})


def compare_order(actual: object, expected: object, options: CompareOptions = _EXACT) -> int:
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
    if type(actual) in _NUMBERS and type(expected) in _NUMBERS and _is_exact(options):
        one, other = cast("float", actual), cast("float", expected)
        if one < other:
            return -1
        if one > other:
            return 1
        if one == other:
            return 0
    return _order(actual, expected, options)


def _is_exact(options: CompareOptions) -> bool:
    return options.tolerance is None and options.relative_tolerance is None


# --- equality ----------------------------------------------------------------------------


def _find(
    actual: object, expected: object, options: CompareOptions, seen: dict[tuple[int, int], object]
) -> Difference | None:
    pending: list[tuple[object, object, _Trail]] = [(actual, expected, None)]
    # Pairs met before need no second look: had they differed, this would be over.  `seen` keeps
    # the values so that no other object takes their id meanwhile.
    while pending:
        left, right, trail = pending.pop()
        kind = type(left)
        if kind is type(right) and kind in SCALARS:
            if left == right or _leaves_equal(left, right, options):
                continue
            return Difference(_path(trail), "", left, right)
        key = (id(left), id(right))
        if key in seen:
            continue
        seen[key] = (left, right)
        if _is_record(left) != _is_record(right):
            found = _record_difference(left, right, options, seen)
            if found is None:
                continue
            return found._replace(path=_path(trail) + found.path)
        one, other = _unwrapped(left), _unwrapped(right)
        if _is_mapping(one) is not _is_mapping(other):
            one, other = _by_name(one), _by_name(other)
        if _is_mapping(one) and _is_mapping(other):
            reason = _pair_values(one, other, trail, pending)
        elif _is_sequence(one) and _is_sequence(other):
            reason = _pair_items(one, other, trail, pending)
        elif _is_set(one) and _is_set(other):
            reason = _pair_members(one, other, trail, pending, options)
        else:
            reason = None if _leaves_equal(one, other, options) else ""
        if reason is not None:
            return Difference(_path(trail), reason, left, right)
    return None


def _path(trail: _Trail) -> tuple[object, ...]:
    keys: list[object] = []
    while trail is not None:
        trail, key = trail
        keys.append(key)
    return tuple(reversed(keys))


def _is_record(value: object) -> bool:
    return isinstance(value, BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type))


def _record_difference(
    left: object, right: object, options: CompareOptions, seen: dict[tuple[int, int], object]
) -> Difference | None:
    """The first difference of a record from plain data: its attributes, or one of the forms it is written in."""
    left_is_record = _is_record(left)
    record, data = (left, right) if left_is_record else (right, left)

    def against(form: object, known: dict[tuple[int, int], object]) -> Difference | None:
        return _find(form, data, options, known) if left_is_record else _find(data, form, options, known)

    first = against(_plain_record(record), seen)
    if first is None or any(against(form, {}) is None for form in _written_forms(record)):
        return None
    return first


def _plain_record(record: object) -> object:
    return cast("Any", record).root if isinstance(record, RootModel) else dict(record_items(record))


def _written_forms(record: object) -> Iterator[object]:
    """What a record becomes when it is dumped: without excluded fields, with its times as text, by alias."""
    options: list[dict[str, Any]] = [{"mode": "python"}, {"mode": "json"}, {"mode": "json", "by_alias": True}]
    for arguments in options if isinstance(record, BaseModel) else options[1:2]:
        try:
            if isinstance(record, BaseModel):
                form: object = record.model_dump(warnings=False, **arguments)
            else:
                form = to_jsonable_python(record)
        except Exception:
            continue
        yield form


def _unwrapped(value: object) -> object:
    """`value` as plain data, one level deep."""
    if isinstance(value, enum.Enum):
        return _unwrapped(value.value)
    if _is_record(value):
        return _plain_record(value)
    # Arrays and the scalars in them (numpy, torch, jax …) share this protocol.
    if _is_array(type(value)):
        plain: object = cast("Any", value).tolist()
        return plain if type(plain) is type(value) else _unwrapped(plain)
    return value


def _is_array(cls: type) -> bool:
    # The class is asked: a mock answers every attribute.
    return hasattr(cls, "tolist") and (hasattr(cls, "dtype") or hasattr(cls, "typecode"))


def _by_name(value: object) -> object:
    """A named tuple as a dict: it may meet a list, but also the dict that it is recorded as."""
    cls = type(value)
    return dict(record_items(value)) if is_named_tuple(cls) or is_mock_call(cls) else value


def _is_mapping(value: object) -> TypeGuard[_AnyMapping]:
    return isinstance(value, Mapping)


def _is_set(value: object) -> TypeGuard[Set[Any]]:
    return isinstance(value, Set)


def _is_row(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple))


def _is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple)) or (isinstance(value, Sequence) and not isinstance(value, (str, *_BYTES)))


def _pair_values(
    one: _AnyMapping, other: _AnyMapping, trail: _Trail, pending: list[tuple[object, object, _Trail]]
) -> str | None:
    for name in one:
        if name not in other:
            return f"the key {name!r} is not expected"
    if len(one) != len(other):
        missing = next(name for name in other if name not in one)
        return f"the key {missing!r} is missing"
    if _bools(one) != _bools(other):
        return "one has a bool as a key where the other has a number"
    pairs = [(value, other[name], (trail, name)) for name, value in one.items() if not _same_leaf(value, other[name])]
    # The last one pushed is looked at first: differences are found in the order of the data.
    pending.extend(reversed(pairs))
    return None


def _same_leaf(one: object, other: object) -> bool:
    """Whether both are plain texts, numbers or None, and equal: most values are, and need no second look."""
    kind = type(one)
    return kind is type(other) and kind in SCALARS and one == other


def _bools(names: Collection[object]) -> set[bool]:
    return {name for name in names if name is True or name is False}


def _pair_items(
    one: Sequence[object], other: Sequence[object], trail: _Trail, pending: list[tuple[object, object, _Trail]]
) -> str | None:
    if len(one) != len(other):
        return f"{len(one)} {'item' if len(one) == 1 else 'items'} instead of {len(other)}"
    pairs = [
        (left, right, (trail, index))
        for index, (left, right) in enumerate(zip(one, other, strict=True))
        if not _same_leaf(left, right)
    ]
    pending.extend(reversed(pairs))
    return None


def _pair_members(
    one: Set[Any],
    other: Set[Any],
    trail: _Trail,
    pending: list[tuple[object, object, _Trail]],
    options: CompareOptions,
) -> str | None:
    if one != other and options.form is not None:
        one, other = normalize_data(one, options.form), normalize_data(other, options.form)
    if one != other:
        return ""
    # Equal for Python, which takes True for 1 and a NaN for itself: each member meets its partner once more.
    partners = {member: member for member in other}
    pending.extend((member, partners[member], trail) for member in one)
    return None


def _leaves_equal(one: object, other: object, options: CompareOptions) -> bool:
    if type(one) in _NUMBERS and type(other) in _NUMBERS:
        return _numbers_equal(one, other, options)
    if isinstance(one, str) or isinstance(other, str):
        if not (isinstance(one, str) and isinstance(other, str)):
            return False
        if one == other or options.form is None:
            return one == other
        return normalize_string(one, options.form) == normalize_string(other, options.form)
    if isinstance(one, bool) or isinstance(other, bool):
        return isinstance(one, bool) and isinstance(other, bool) and one == other
    if isinstance(one, Number) and isinstance(other, Number):
        return _numbers_equal(one, other, options)
    if isinstance(one, _TIMES) and isinstance(other, _TIMES):
        return _times_equal(one, other, options)
    if one is None or other is None:
        return one is other
    return _objects_equal(one, other)


def _objects_equal(one: object, other: object) -> bool:
    try:
        verdict: object = one == other
    except Exception as error:
        raise Incomparable(f"comparing {_kinds(one, other)} raises {type(error).__name__}: {error}") from error
    if verdict is True or verdict is False:
        return verdict
    raise Incomparable(f"comparing {_kinds(one, other)} gives {type_name(verdict)!r}, which is no verdict")


# --- numbers and times -------------------------------------------------------------------


def _is_nan(number: Any) -> bool:
    # A signalling NaN of decimal raises when it is compared.
    return number.is_nan() if isinstance(number, Decimal) else bool(number != number)  # noqa: PLR0124


def _numbers_equal(one: Any, other: Any, options: CompareOptions) -> bool:
    if _is_nan(one) or _is_nan(other):
        return False
    if one == other:
        return True
    if _is_exact(options):
        return False
    absolute = options.tolerance
    if isinstance(absolute, datetime.timedelta):
        absolute = None
    relative = options.relative_tolerance
    if isinstance(one, complex) or isinstance(other, complex):
        one, other = complex(one), complex(other)
        largest = max(abs(one), abs(other))
        return abs(one - other) <= max(float(absolute or 0), float(relative or 0) * largest) < math.inf
    return _close(_decimal(one), _decimal(other), absolute, relative)


def _close(one: Decimal, other: Decimal, absolute: float | Decimal | None, relative: float | Decimal | None) -> bool:
    """Whether two numbers are within a tolerance, counted in decimal so that the bound itself is within.

    In binary, ``0.3 - 0.29 <= 0.01`` is False.
    """
    if not (one.is_finite() and other.is_finite()):
        return False
    context = _exact_context()
    distance = context.abs(context.subtract(one, other))
    if absolute is not None and distance <= _decimal(absolute):
        return True
    if relative is None:
        return False
    largest = max(context.abs(one), context.abs(other))
    return distance <= context.multiply(_decimal(relative), largest)


def _exact_context() -> Context:
    return Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def _decimal(number: Any) -> Decimal:
    """A real number as the decimal that it is written as."""
    if isinstance(number, float):
        return Decimal(float.__repr__(number))
    if isinstance(number, (int, Decimal)):
        return Decimal(number)
    if isinstance(number, Rational):
        return _exact_context().divide(Decimal(int(number.numerator)), Decimal(int(number.denominator)))
    return Decimal(float.__repr__(float(number)))


def _times_equal(one: Any, other: Any, options: CompareOptions) -> bool:
    if one == other:
        return True
    if not isinstance(options.tolerance, datetime.timedelta):
        return False
    if isinstance(one, datetime.time) and isinstance(other, datetime.time):
        one, other = (datetime.datetime.combine(_SOME_DAY, time) for time in (one, other))
    try:
        return abs(one - other) <= options.tolerance
    except (TypeError, OverflowError):  # a date and a datetime; a time zone on one side only
        return False


# --- order -------------------------------------------------------------------------------


def _kinds(one: object, other: object) -> str:
    return f"{type_name(one)} and {type_name(other)}"


def _order(actual: object, expected: object, options: CompareOptions) -> int:
    one, other = _unwrapped_scalar(actual), _unwrapped_scalar(expected)
    if isinstance(one, str) and isinstance(other, str):
        return _sign(*(normalize_string(text, options.form) for text in (one, other)))
    if isinstance(one, Number) and isinstance(other, Number):
        return _order_numbers(one, other, options)
    if isinstance(one, _TIMES) and isinstance(other, _TIMES):
        return _order_times(one, other, options)
    if _is_row(one) and _is_row(other):
        return _order_items(one, other, options)
    if _is_set(one) or _is_set(other):  # theirs is no order, but "is a part of"
        raise Incomparable(f"{_kinds(one, other)} have no order")
    return _sign(one, other)


def _unwrapped_scalar(value: object) -> object:
    """A number of an array library as Python's own; anything else as it is."""
    if _is_array(type(value)) and getattr(value, "shape", None) == ():
        return cast("Any", value).tolist()
    return value


def _order_numbers(one: Any, other: Any, options: CompareOptions) -> int:
    if isinstance(one, bool) != isinstance(other, bool):
        raise Incomparable(f"{_kinds(one, other)} have no order")
    if isinstance(one, bool):
        return _sign(one, other)
    if _is_nan(one) or _is_nan(other):
        raise Incomparable(f"NaN has no order: {one!r} and {other!r}")
    if _numbers_equal(one, other, options):
        return 0
    return _sign(one, other)


def _order_times(one: Any, other: Any, options: CompareOptions) -> int:
    clocks = isinstance(one, (datetime.datetime, datetime.time)) and type(one) is type(other)
    if clocks and (one.utcoffset() is None) != (other.utcoffset() is None):
        raise Incomparable(f"{_kinds(one, other)} have no order: one has a time zone and the other has none")
    if _times_equal(one, other, options):
        return 0
    return _sign(one, other)


def _order_items(one: Sequence[object], other: Sequence[object], options: CompareOptions) -> int:
    """The order of the first items that differ; of the lengths, when one list is the start of the other."""
    pending: list[tuple[object, object, CompareOptions]] = [(one, other, options)]
    seen: set[tuple[int, int]] = set()
    while pending:
        left, right, how = pending.pop()
        if _is_row(left) and _is_row(right):
            if (id(left), id(right)) not in seen:
                seen.add((id(left), id(right)))
                pending.append((len(left), len(right), _EXACT))
                pending.extend(reversed([(*pair, how) for pair in zip(left, right, strict=False)]))
        elif not values_equal(left, right, how):
            return _order(left, right, how)
    return 0


def _sign(one: Any, other: Any) -> int:
    try:
        before, after, same = one < other, one > other, one == other
    except Exception as error:
        note = "" if isinstance(error, TypeError) else f" ({type(error).__name__}: {error})"
        raise Incomparable(f"{_kinds(one, other)} have no order{note}") from error
    answers = (before, after, same)
    if sum(answer is True for answer in answers) != 1 or sum(answer is False for answer in answers) != 2:
        raise Incomparable(f"{_kinds(one, other)} have no order")
    return -1 if before else 1 if after else 0
