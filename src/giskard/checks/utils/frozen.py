"""Snapshots: values as they were at one moment, which nobody can change afterwards.

Plain containers become frozen ones that are still a ``dict``, a ``list`` or a ``set`` for ``isinstance``,
``==`` and ``json``.  What cannot be frozen (models, dataclasses, other objects) is deep-copied
once by `freeze` and copied again whenever it is handed out by `view`.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import fractions
import pathlib
import re
import types
import uuid
from collections.abc import Callable
from typing import Any, Final, NoReturn

from giskard.checks.utils.plain import is_mock_call

__all__ = [
    "FrozenDict",
    "FrozenList",
    "FrozenSet",
    "freeze",
    "freeze_data",
    "is_safe",
    "known_type",
    "thaw",
    "type_name",
    "view",
]


def _refuse(self: object, *_: Any, **__: Any) -> NoReturn:
    raise TypeError(
        f"this {type(self).__mro__[-2].__name__} was recorded and cannot be changed; "
        "work on a copy: copy.deepcopy(value)"
    )


class FrozenDict(dict[Any, Any]):
    """A dict that refuses to be changed; ``copy()`` and ``deepcopy`` give a plain dict."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refuse  # pyright: ignore[reportAssignmentType]
    clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        memo[id(self)] = out
        out.update((key, copy.deepcopy(value, memo)) for key, value in self.items())
        return out


class FrozenList(list[Any]):
    """A list that refuses to be changed; ``copy()`` and ``deepcopy`` give a plain list."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # pyright: ignore[reportAssignmentType]
    append = extend = insert = pop = remove = clear = _refuse  # pyright: ignore[reportAssignmentType]
    sort = reverse = _refuse  # pyright: ignore[reportAssignmentType]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return list, (list(self),)

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        out: list[Any] = []
        memo[id(self)] = out
        out.extend(copy.deepcopy(value, memo) for value in self)
        return out


class FrozenSet(set[Any]):
    """A set that refuses to be changed; ``copy()`` and ``deepcopy`` give a plain set."""

    __slots__ = ()

    __iand__ = __ior__ = __isub__ = __ixor__ = _refuse  # pyright: ignore[reportAssignmentType]
    add = clear = discard = pop = remove = update = _refuse  # pyright: ignore[reportAssignmentType]
    difference_update = intersection_update = symmetric_difference_update = _refuse  # pyright: ignore[reportAssignmentType]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return set, (set(self),)

    def __repr__(self) -> str:
        return repr(set(self))

    def copy(self) -> set[Any]:
        """A plain set of the same items."""
        return set(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> set[Any]:
        return set(self)


class _GuardedDict(FrozenDict):
    """A frozen dict with something inside that can only be protected by copying."""

    __slots__ = ()


class _GuardedList(FrozenList):
    """A frozen list with something inside that can only be protected by copying."""

    __slots__ = ()


_GUARDED: Final[dict[type[Any], type[Any]]] = {FrozenDict: _GuardedDict, FrozenList: _GuardedList}
_ATOMS: Final = frozenset(
    {str, int, float, bool, type(None), bytes, complex, range, slice, type, type(...)}
    | {datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone}
    | {decimal.Decimal, fractions.Fraction, uuid.UUID, re.Pattern, re.Match}
    | {types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType}
)
# Never a part of it changes: handed out as they are.
_SAFE: Final = _ATOMS | {FrozenDict, FrozenList, FrozenSet}
_IMMUTABLE_BASES: tuple[type[Any], ...] = (str, int, float, bytes, enum.Enum, pathlib.PurePath, type, frozenset)

_set_item = dict[Any, Any].__setitem__
_put = list[Any].__setitem__

# `type` and `tuple`, for the type checker: of any value, and of any items.
_type_of: Callable[[Any], type[Any]] = type
_Tuple: type[Any] = tuple


def freeze(value: Any) -> Any:
    """A snapshot of `value` that later changes of `value` cannot reach.

    Parameters
    ----------
    value
        Any object; cycles and shared parts are kept.

    Returns
    -------
    Any
        `value` itself where it is immutable, a frozen copy of a plain container, a deep copy of anything
        else, and `value` by reference when it refuses to be copied.
    """
    kind = _type_of(value)
    if kind in _SAFE:
        return value
    try:
        return _freeze_dict(value, {}) if kind is dict else _freeze(value, {})
    except RecursionError:
        return _freeze_deep(value)


class _OddError(Exception):
    """Something that no JSON parser gives."""


def freeze_data(value: Any) -> Any:
    """`freeze` at half its cost, for what a JSON parser gave: a tree of dicts, lists and plain values.

    Whatever else is in it is frozen as `freeze` does.
    """
    try:
        return _freeze_data(value)
    except (_OddError, RecursionError):
        return freeze(value)


def _freeze_data(value: Any) -> Any:
    kind = _type_of(value)
    if kind in _SAFE:
        return value
    if kind is dict:
        out = FrozenDict(value)
        for key, item in value.items():
            if type(item) not in _SAFE:
                _set_item(out, key, _freeze_data(item))
        return out
    if kind is list:
        return FrozenList([item if type(item) in _SAFE else _freeze_data(item) for item in value])
    raise _OddError


def _freeze_deep(value: Any) -> Any:
    """`freeze` of what is nested too deep for a recursion: dicts and lists are followed one by one."""
    if _type_of(value) is not dict and _type_of(value) is not list:
        return value
    root: list[Any] = [value]
    frozen: dict[int, FrozenDict | FrozenList] = {}
    safe = True
    todo: list[tuple[Any, Any]] = [(root, 0)]
    while todo:
        target, place = todo.pop()
        item = target[place]
        kind = _type_of(item)
        if kind is dict or kind is list:
            out = frozen.get(id(item))
            if out is None:
                out = frozen[id(item)] = FrozenDict(item) if kind is dict else FrozenList(item)
                todo.extend((out, part) for part in (out if isinstance(out, FrozenDict) else range(len(out))))
        else:
            out = freeze(item)
            safe = safe and is_safe(out)
        put: Callable[[Any, Any, Any], None] = _set_item if isinstance(target, FrozenDict) else _put
        put(target, place, out)
    if not safe:
        for out in frozen.values():
            out.__class__ = _GUARDED[type(out)]
    return root[0]


def _freeze(value: Any, memo: dict[int, Any]) -> Any:
    kind = _type_of(value)
    if kind in _SAFE or kind is _GuardedDict or kind is _GuardedList:
        return value
    known = memo.get(id(value))
    if known is not None:
        # Part of a cycle perhaps, of which it cannot be told yet whether all of it is safe.
        guarded = _GUARDED.get(_type_of(known))
        if guarded is not None:
            known.__class__ = guarded
        return known
    if kind is dict:
        return _freeze_dict(value, memo)
    if kind is list:
        return _freeze_list(value, memo)
    if kind is tuple:
        return tuple([_freeze(item, memo) for item in value])
    if kind is set:
        return FrozenSet(value)
    if issubclass(kind, _Tuple) and hasattr(kind, "_fields"):
        return _Tuple.__new__(kind, [_freeze(item, memo) for item in value])
    return _copied(value, memo)


def _freeze_dict(value: dict[Any, Any], memo: dict[int, Any]) -> FrozenDict:
    out = memo[id(value)] = FrozenDict(value)
    if len(value) > 8 and _ATOMS.issuperset(map(type, value.values())):  # the fastest way for many
        return out
    guarded = False
    for key, item in out.items():  # replacing a value does not disturb the iteration
        if type(item) not in _ATOMS:
            frozen = _freeze(item, memo)
            _set_item(out, key, frozen)
            guarded = guarded or (type(frozen) not in _SAFE and not is_safe(frozen))
    if guarded:
        out.__class__ = _GuardedDict
    return out


def _freeze_list(value: list[Any], memo: dict[int, Any]) -> FrozenList:
    out = memo[id(value)] = FrozenList(value)
    if len(value) > 8 and _ATOMS.issuperset(map(type, value)):
        return out
    guarded = False
    for index, item in enumerate(out):
        if type(item) not in _ATOMS:
            frozen = _freeze(item, memo)
            _put(out, index, frozen)
            guarded = guarded or (type(frozen) not in _SAFE and not is_safe(frozen))
    if guarded:
        out.__class__ = _GuardedList
    return out


def _is_array(value: Any) -> bool:
    kind = _type_of(value)  # the class is asked: an instance may answer every name, or raise
    return hasattr(kind, "setflags") and hasattr(kind, "flags") and hasattr(kind, "dtype")


def _is_immutable(value: Any) -> bool:
    """Whether a value is of an immutable type, and without attributes of its own beside."""
    try:
        if not isinstance(value, _IMMUTABLE_BASES):
            return False
        return isinstance(value, (enum.Enum, type)) or not getattr(value, "__dict__", None)
    except Exception:  # a class that answers for itself
        return False


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    if is_mock_call(_type_of(value)) or _is_immutable(value):
        return value
    try:
        copied = copy.deepcopy(value)
        if _is_array(copied) and not copied.dtype.hasobject:
            copied.setflags(write=False)
    except Exception:
        copied = value
    memo[id(value)] = copied
    return copied


def is_safe(value: Any) -> bool:
    """Whether `value` can be handed out as it is: nothing in it can be changed."""
    kind = _type_of(value)
    if kind in _SAFE:
        return True
    if kind is _GuardedDict or kind is _GuardedList:
        return False
    if issubclass(kind, _Tuple):
        return is_mock_call(kind) or all(map(is_safe, value))
    return _is_immutable(value) or (_is_array(value) and not value.flags.writeable)


def view(value: Any) -> Any:
    """What to hand out of a frozen `value`: itself, or a private copy where someone could edit it.

    The cost of a copy is paid by those only who record models, dataclasses or other objects.
    """
    if type(value) in _SAFE or is_safe(value):
        return value
    try:
        return _view(value, {})
    except RecursionError:  # nested too deep to be copied
        return value


def _view(value: Any, memo: dict[int, Any]) -> Any:
    if is_safe(value):
        return value
    known = memo.get(id(value))
    if known is not None:
        return known
    kind = _type_of(value)
    if kind is _GuardedDict:
        out = memo[id(value)] = _GuardedDict(value)
        for key, item in value.items():
            _set_item(out, key, _view(item, memo))
        return out
    if kind is _GuardedList:
        items = memo[id(value)] = _GuardedList(value)
        for index, item in enumerate(value):
            _put(items, index, _view(item, memo))
        return items
    if kind is tuple:
        return tuple([_view(item, memo) for item in value])
    if issubclass(kind, _Tuple) and hasattr(kind, "_fields"):
        return _Tuple.__new__(kind, [_view(item, memo) for item in value])
    try:
        copied = copy.deepcopy(value)
    except Exception:
        copied = value
    memo[id(value)] = copied
    return copied


def thaw(value: Any) -> Any:
    """A copy of a frozen `value` that its reader may change: what a target is given."""
    if type(value) in _ATOMS:
        return value
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def known_type(value: object) -> type[Any]:
    """The type of `value`, as its author knows it: a recorded list is a list."""
    return next(cls for cls in type(value).__mro__ if cls.__module__ != __name__)


def type_name(value: object) -> str:
    """The name of `known_type`.

    Examples
    --------
    >>> type_name(freeze([1])), type_name(1.5)
    ('list', 'float')
    """
    return known_type(value).__name__
