"""Models, dataclasses and named tuples as plain data: dicts, lists and scalars."""

from __future__ import annotations

import dataclasses
import enum
from collections import UserString, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, cast

from pydantic import BaseModel

from giskard.checks.utils.deferred import Deferred
from giskard.checks.utils.missing import MISSING

__all__ = [
    "SCALARS",
    "is_mock_call",
    "is_named_tuple",
    "record_items",
    "to_plain",
]

SCALARS: Final = frozenset((str, int, float, bool, type(None)))
"""The types that nothing lies below, by far the most frequent ones of recorded data."""


# What becomes of the instances of a class: numbers, since an enum costs more than the look-up.
# From _MODEL on they are always converted.
_LEAF, _MAPPING, _SEQUENCE, _TUPLE, _SET = 0, 1, 2, 3, 4
_MODEL, _RECORD, _OTHER_MAPPING, _OTHER_SEQUENCE = 5, 6, 7, 8

# Sequences by name, and yet one value.
_TEXT_LIKE: Final = (str, bytes, bytearray, memoryview, range, UserString, enum.Enum)


def to_plain(value: Any, *, opaque: Callable[[Any], Any] | None = None) -> Any:
    """`value` as plain data, in which no model, dataclass or named tuple is left.

    Parameters
    ----------
    value
        Any object.  Models give a dict of their fields by name (as the fields are: serializers
        are not applied; fields with ``exclude=True`` and MISSING ones are left out), their extra
        and their computed fields; dataclasses and named tuples a dict of their fields.
    opaque
        Called with each value that has no plain form (an object of some other class, an array);
        its answer stands in the result.

    Returns
    -------
    Any
        `value` itself when nothing in it needs to be converted: then nothing is copied, and a
        subclass of dict or list stays what it is.  Else new dicts, lists, tuples and sets around
        the same leaves.  Where a value contains itself, a text says so, so that the result is
        always finite.

    Examples
    --------
    >>> from collections import namedtuple
    >>> to_plain([namedtuple("Point", "x y")(1, 2), "text"])
    [{'x': 1, 'y': 2}, 'text']
    """
    given: object = value
    cls = type(given)
    if cls in SCALARS:
        return value
    kind = _kind_of(cls)
    if kind == _LEAF:
        return value if opaque is None else opaque(value)
    if kind < _MODEL and SCALARS.issuperset(map(type, _contents(value, kind))):
        return value
    return _rebuilt(value, opaque) if _needs_rebuild(value, opaque) else value


def is_named_tuple(cls: type[Any]) -> bool:
    """Whether the instances of `cls` are named tuples."""
    return hasattr(cls, "_fields") and issubclass(cls, tuple)


def is_root_model(cls: type[Any]) -> bool:
    """Whether `cls` is a pydantic ``RootModel``, told by its mark: that class costs a lot to import."""
    return bool(getattr(cls, "__pydantic_root_model__", False))


def is_mock_call(cls: type[Any]) -> bool:
    """Whether `cls` is that of `unittest.mock.call`: a tuple that answers every attribute."""
    return cls.__name__ == "_Call" and cls.__module__ == "unittest.mock"


def record_items(value: object) -> Iterator[tuple[str, Any]]:
    """The names and values that a model, a dataclass or a named tuple is made of.

    They come lazily, so a computed field is worked out only when it is asked for.
    """
    cls: type[Any] = type(value)
    if isinstance(value, BaseModel):
        yield from _model_items(value)
    elif is_mock_call(cls):
        yield "args", cast("Any", value).args
        yield "kwargs", cast("Any", value).kwargs
    elif issubclass(cls, tuple):
        names, items = cast("Any", cls)._fields, cast("tuple[Any, ...]", value)
        yield from zip(names, items, strict=True)
    else:
        for field in dataclasses.fields(cls):
            item = getattr(value, field.name, MISSING)
            if item is not MISSING:
                yield field.name, item


def _model_items(value: BaseModel) -> Iterator[tuple[str, Any]]:
    fields, computed = _model_names(type(value))
    # Past the descriptors that a model may put before its fields: they may copy what they give.
    stored: Mapping[str, Any] = value.__dict__
    for name in fields:
        item = stored.get(name, MISSING)
        if item is not MISSING:
            yield name, item.value if isinstance(item, Deferred) else item
    extra: dict[str, Any] | None = getattr(value, "__pydantic_extra__", None)
    if extra:
        yield from extra.items()
    for name in computed:
        try:
            item = getattr(value, name)
        except AttributeError:
            continue
        yield name, item


@lru_cache(maxsize=2048)
def _model_names(cls: type[BaseModel]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    fields = tuple(name for name, field in cls.model_fields.items() if not field.exclude)
    return fields, tuple(cls.model_computed_fields)


@lru_cache(maxsize=4096)
def _kind_of(cls: type[Any]) -> int:
    if issubclass(cls, _TEXT_LIKE):
        return _LEAF
    if issubclass(cls, BaseModel):
        return _MODEL
    if issubclass(cls, dict):
        return _MAPPING
    if dataclasses.is_dataclass(cls) or is_named_tuple(cls) or is_mock_call(cls):
        return _RECORD
    for base, kind in _CONTAINERS:
        if issubclass(cls, base):
            return kind
    return _LEAF


_CONTAINERS: Final[tuple[tuple[type[Any], int], ...]] = (
    (tuple, _TUPLE),
    (list, _SEQUENCE),
    (deque, _SEQUENCE),
    (set, _SET),
    (frozenset, _SET),
    (MappingProxyType, _MAPPING),
    (Mapping, _OTHER_MAPPING),
    (Sequence, _OTHER_SEQUENCE),
)


def _contents(value: Any, kind: int) -> Iterable[Any]:
    return value.values() if kind == _MAPPING else value


def _needs_rebuild(value: Any, opaque: Callable[[Any], Any] | None) -> bool:
    """Whether something in `value` is to be converted; walks it without recursion, once."""
    stack: list[Iterator[object]] = [iter((value,))]
    path: list[Any] = []
    open_ids: set[int] = set()
    done: dict[int, Any] = {}  # the values are kept alive, so that their ids stay theirs
    while stack:
        for child in stack[-1]:
            cls = type(child)
            if cls in SCALARS:
                continue
            kind = _kind_of(cls)
            if kind == _LEAF:
                if opaque is not None and opaque(child) is not child:
                    return True
                continue
            if kind >= _MODEL or id(child) in open_ids:
                return True
            if id(child) in done:
                continue
            items = _contents(child, kind)
            if SCALARS.issuperset(map(type, items)):
                continue
            open_ids.add(id(child))
            path.append(child)
            stack.append(iter(items))
            break
        else:
            stack.pop()
            if path:
                closed = path.pop()
                open_ids.discard(id(closed))
                done[id(closed)] = closed
    return False


def _rebuilt(value: Any, opaque: Callable[[Any], Any] | None) -> Any:
    """`value` anew; each container is a generator on an own stack, so that depth is no limit."""
    stack: list[tuple[Any, Generator[Any, Any, Any]]] = [(value, _conversion(value))]
    open_ids = {id(value)}
    done: dict[int, tuple[Any, Any]] = {}
    answer: Any = None
    while stack:
        source, steps = stack[-1]
        child: object
        try:
            child = steps.send(answer)
        except StopIteration as finished:
            stack.pop()
            open_ids.discard(id(source))
            answer = finished.value
            done[id(source)] = source, answer
            continue
        cls = type(child)
        if cls in SCALARS:
            answer = child
        elif _kind_of(cls) == _LEAF:
            answer = child if opaque is None else opaque(child)
        elif id(child) in open_ids:
            answer = f"<circular reference to {cls.__name__}>"
        elif id(child) in done:
            answer = done[id(child)][1]
        else:
            open_ids.add(id(child))
            stack.append((child, _conversion(child)))
            answer = None
    return answer


def _conversion(container: object) -> Generator[Any, Any, Any]:
    """Yields what lies in `container`, is sent that as plain data, and returns the whole."""
    cls: type[Any] = type(container)
    value: Any = container
    kind = _kind_of(cls)
    if is_root_model(cls):
        return (yield value.root)
    if kind in _WITH_NAMES:
        records = kind in (_MODEL, _RECORD)
        items: Iterable[tuple[Any, Any]] = record_items(value) if records else value.items()
        named: dict[Any, Any] = {}
        for name, item in items:
            named[name] = yield item
        return named
    plain: list[Any] = []
    for item in value:
        plain.append((yield item))
    if kind == _TUPLE:
        return tuple(plain)
    return _as_set(plain, cls) if kind == _SET else plain


_WITH_NAMES: Final = frozenset((_MODEL, _RECORD, _MAPPING, _OTHER_MAPPING))


def _as_set(plain: list[Any], cls: type[Any]) -> Any:
    try:
        return frozenset(plain) if issubclass(cls, frozenset) else set(plain)
    except TypeError:  # what a frozen model became cannot be hashed
        return plain
