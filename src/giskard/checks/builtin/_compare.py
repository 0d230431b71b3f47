"""When two values are equal.

Python's own ``==`` says that True is 1, that a list is never a tuple and that an array has no answer.  A test
needs one clear answer for data of any origin, or a clear "cannot tell".  The rules:

- Numbers are equal by value whatever their type: ``1 == 1.0 == Decimal(1) == Fraction(1)``.  A bool equals
  only a bool, also inside containers and as a key.  NaN equals nothing, not even itself.
- Texts are equal when their normalised forms are (see `CompareOptions.form`); keys are compared as they are.
- A tuple equals a list of equal items, a named tuple the dict of its fields too; mappings are equal by their
  items, sets by their members.
- A model, a dataclass or an array equals its plain data, on either side; an enum member equals its value.
- Other objects are equal when their ``==`` says so.
- A tolerance holds for every number, or every time, inside the containers; members of sets are compared exactly.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from numbers import Number
from typing import Any, NamedTuple, TypeAlias, TypeGuard, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from giskard.checks.builtin._closeness import (
    EXACT,
    PLAIN_NUMBERS,
    TIMES,
    CompareOptions,
    numbers_equal,
    times_equal,
)
from giskard.checks.builtin._shown import type_name
from giskard.checks.utils.normalization import normalize_data, normalize_string
from giskard.checks.utils.plain import SCALARS, is_mock_call, is_named_tuple, is_root_model, record_items

__all__ = [
    "Difference",
    "Incomparable",
    "find_difference",
    "is_array",
    "is_row",
    "is_set",
    "kinds_of",
    "same_leaf",
    "values_equal",
]


class Incomparable(TypeError):
    """Two values have no order, or no verdict on their equality."""


def kinds_of(one: object, other: object) -> str:
    """The types of two values, in words."""
    return f"{type_name(one)} and {type_name(other)}"


class Difference(NamedTuple):
    """Where two values differ first."""

    path: tuple[object, ...]
    """Keys and indices that lead to the place; empty when the two values themselves differ."""
    reason: str
    """What is different there; empty when the values at `path` are all that there is to say."""
    actual: object
    expected: object


# A linked list of the keys that lead to a pair of values: cheap to extend, read on failure only.
_Trail: TypeAlias = "tuple[_Trail, object] | None"
_BYTES = (bytes, bytearray, memoryview)
_AnyMapping: TypeAlias = Mapping[Any, Any]


def values_equal(actual: object, expected: object, options: CompareOptions = EXACT) -> bool:
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


def find_difference(actual: object, expected: object, options: CompareOptions = EXACT) -> Difference | None:
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
        elif is_set(one) and is_set(other):
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
    return cast("Any", record).root if is_root_model(type(record)) else dict(record_items(record))


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
    if is_array(type(value)):
        plain: object = cast("Any", value).tolist()
        return plain if type(plain) is type(value) else _unwrapped(plain)
    return value


def is_array(cls: type) -> bool:
    """Whether `cls` is one of the arrays, or of the scalars in them, of numpy, torch, jax or array."""
    # The class is asked: a mock answers every attribute.
    return hasattr(cls, "tolist") and (hasattr(cls, "dtype") or hasattr(cls, "typecode"))


def _by_name(value: object) -> object:
    """A named tuple as a dict: it may meet a list, but also the dict that it is recorded as."""
    cls = type(value)
    return dict(record_items(value)) if is_named_tuple(cls) or is_mock_call(cls) else value


def _is_mapping(value: object) -> TypeGuard[_AnyMapping]:
    return isinstance(value, Mapping)


def is_set(value: object) -> TypeGuard[Set[Any]]:
    """Whether `value` is a set of any kind."""
    return isinstance(value, Set)


def is_row(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether `value` is a list or a tuple."""
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
    pairs = [(value, other[name], (trail, name)) for name, value in one.items() if not same_leaf(value, other[name])]
    # The last one pushed is looked at first: differences are found in the order of the data.
    pending.extend(reversed(pairs))
    return None


def same_leaf(one: object, other: object) -> bool:
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
        if not same_leaf(left, right)
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
    if type(one) in PLAIN_NUMBERS and type(other) in PLAIN_NUMBERS:
        return numbers_equal(one, other, options)
    if isinstance(one, str) or isinstance(other, str):
        if not (isinstance(one, str) and isinstance(other, str)):
            return False
        if one == other or options.form is None:
            return one == other
        return normalize_string(one, options.form) == normalize_string(other, options.form)
    if isinstance(one, bool) or isinstance(other, bool):
        return isinstance(one, bool) and isinstance(other, bool) and one == other
    if isinstance(one, Number) and isinstance(other, Number):
        return numbers_equal(one, other, options)
    if isinstance(one, TIMES) and isinstance(other, TIMES):
        return times_equal(one, other, options)
    if one is None or other is None:
        return one is other
    return _objects_equal(one, other)


def _objects_equal(one: object, other: object) -> bool:
    try:
        verdict: object = one == other
    except Exception as error:
        raise Incomparable(f"comparing {kinds_of(one, other)} raises {type(error).__name__}: {error}") from error
    if verdict is True or verdict is False:
        return verdict
    raise Incomparable(f"comparing {kinds_of(one, other)} gives {type_name(verdict)!r}, which is no verdict")
