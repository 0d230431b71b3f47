"""Any object as JSON data, without ever failing: what results are written with."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic import BaseModel, PlainSerializer

from giskard.checks.utils.frozen import FrozenDict, FrozenList, known_type
from giskard.checks.utils.plain import is_mock_call, is_named_tuple

__all__ = [
    "JsonSafe",
    "Shown",
    "describe",
    "finite",
    "holds_odd_numbers",
    "is_utf8",
    "json_data",
    "json_safe",
    "tagged",
    "utf8",
]

# pydantic's serializer stops at 255 levels; what lies deeper is written as text.
_MAX_DEPTH = 180
# Python refuses to write integers of more than 4,300 digits.
_MAX_BITS = 14_000
_MAX_TEXT = 10_000


def describe(value: object) -> str:
    """The ``repr`` of `value`, or a note of why there is none; at most 10,000 characters."""
    try:
        text = _text_of_set(value) if issubclass(_type_of(value), _SETS) else repr(value)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        text = f"<{type(value).__name__} object whose repr raises {type(error).__name__}>"
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}… ({len(text):,} characters)"


_SETS = (set, frozenset)


def _text_of_set(value: Any) -> str:
    """The ``repr`` of a set with its items in order: its own order changes from run to run."""
    if not value:
        return repr(value)
    try:
        items = sorted(value)
    except Exception:  # of types that have no order
        items = sorted(value, key=repr)
    text = f"{{{', '.join(map(repr, items))}}}"
    return f"frozenset({text})" if isinstance(value, frozenset) else text


class Shown(str):
    """The `describe` of a value, as a part of another object's ``repr``."""

    __slots__ = ()

    def __new__(cls, value: object) -> Shown:
        """The text is made now."""
        return str.__new__(cls, describe(value))

    def __repr__(self) -> str:
        return str.__str__(self)


def tagged(value: object, text: str | None = None) -> dict[str, str]:
    """The text of an object that JSON has no form for, with its type beside it."""
    kind = known_type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return {"$type": utf8(name), "$text": utf8(describe(value) if text is None else text)}


def utf8(text: str) -> str:
    """`text`, with what UTF-8 cannot hold (halves of surrogate pairs) written as an escape."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def json_safe(value: Any, depth: int = 0) -> Any:
    """`value` as JSON data: the same where it is JSON already, models as plain data, the rest as tagged text.

    Parameters
    ----------
    value
        Any object, also cyclic, deep or broken ones.
    depth
        How many levels it lies deep in what is written as a whole.

    Returns
    -------
    Any
        dict, list, str, int, finite float, bool or None; objects of other types as
        ``{"$type": "module.Class", "$text": "its repr"}``.
    """
    return _safe(value, depth, set())


def json_data(value: Any, depth: int = 0) -> Any:
    """What `json_safe` gives: `value` itself where it is such data already, in plain dicts and lists.

    Only its texts and numbers are not looked at; see `holds_odd_numbers`.
    """
    kind = _type_of(value)
    if kind in _ATOMS:
        return value
    try:
        data = _plain(value, 0) if kind is FrozenDict or kind is FrozenList else value
        return data if _is_data(data, 0) else json_safe(value, depth)
    except RecursionError:
        return json_safe(value, depth)


def holds_odd_numbers(text: bytes) -> bool:
    """Whether there may be numbers in a JSON text that `json_safe` would have tagged: NaN, infinities, huge ones."""
    return b"NaN" in text or b"Infinity" in text or (len(text) > 4_000 and _DIGITS.search(text) is not None)


def _plain(value: Any, depth: int) -> Any:
    """A recorded dict or list as a plain one: of these pydantic writes three times as many."""
    kind = _type_of(value)
    if depth > _DEEP:  # or a cycle, which may branch without end: `json_safe` tells
        raise RecursionError
    if kind is FrozenDict:
        return {key: item if type(item) is str else _plain(item, depth + 1) for key, item in value.items()}
    return [_plain(item, depth + 1) for item in value] if kind is FrozenList else value


def _is_data(value: Any, depth: int) -> bool:
    """Whether a value is a dict or a list of atoms, and of such: looked at as a whole, which is the fastest way."""
    kind = _type_of(value)
    if kind is dict:
        if not _TEXT.issuperset(map(_type_of, value)):
            return False
        items = value.values()
    elif kind is list:
        items = value
    else:
        return False
    if depth > _DEEP:  # or a cycle, which may branch without end: `json_safe` tells
        raise RecursionError
    for item in items:  # noqa: SIM110 - a generator costs more
        if type(item) not in _ATOMS and not _is_data(item, depth + 1):
            return False
    return True


_ATOMS: frozenset[type[Any]] = frozenset({str, int, float, bool, type(None)})
_DIGITS = re.compile(rb"[0-9]{4000}")
_DEEP = 100
_TEXT: frozenset[type[Any]] = frozenset({str})
_type_of: Callable[[Any], type[Any]] = type


def _safe(value: Any, depth: int, path: set[int]) -> Any:
    kind = cast("type[Any]", type(value))
    simple = _SIMPLE.get(kind)
    if simple is not None:
        return simple(value)
    if id(value) in path:
        return tagged(value, "<the same object again: a cycle>")
    if depth >= _MAX_DEPTH:
        if isinstance(value, dict) and cast("dict[Any, Any]", value).keys() == {"$type", "$text"}:
            return cast("Any", value)  # it was written, and loaded since
        return tagged(cast("Any", value), f"<nested deeper than {_MAX_DEPTH} levels>")
    path.add(id(value))
    try:
        return _safe_parts(value, depth + 1, path)
    except (RecursionError, KeyboardInterrupt, MemoryError):
        raise
    except Exception:
        return tagged(value)
    finally:
        path.discard(id(value))


def _safe_parts(value: Any, depth: int, path: set[int]) -> Any:
    if isinstance(value, str):  # also StrEnum
        return _safe_text(str.__str__(value))
    if isinstance(value, Mapping):
        return _safe_mapping(cast("Mapping[Any, Any]", value), depth, path)
    kind = cast("type[Any]", type(value))
    if is_mock_call(kind):
        return {"args": _safe(list(value.args), depth, path), "kwargs": _safe(dict(value.kwargs), depth, path)}
    if is_named_tuple(kind):
        return {name: _safe(item, depth, path) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, (list, tuple)):
        return [_safe(item, depth, path) for item in cast("list[Any]", value)]
    if isinstance(value, BaseModel):
        return {_safe_text(name): _safe(item, depth, path) for name, item in _model_items(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _safe(getattr(value, name), depth, path) for name in names}
    return tagged(value)


def _model_items(model: BaseModel) -> list[tuple[str, Any]]:
    names = [*type(model).model_fields, *(model.__pydantic_extra__ or {}), *type(model).model_computed_fields]
    return [(name, getattr(model, name)) for name in names]


def _safe_mapping(value: Mapping[Any, Any], depth: int, path: set[int]) -> Any:
    if all(type(key) is str and is_utf8(key) for key in value):
        return {key: _safe(item, depth, path) for key, item in value.items()}
    items = [[_safe(key, depth, path), _safe(item, depth, path)] for key, item in value.items()]
    return {"$type": "dict", "$items": items}


def is_utf8(text: str) -> bool:
    """Whether there is no half of a surrogate pair in `text`."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


JsonSafe = PlainSerializer(json_safe, when_used="json")
"""Annotates a field that may hold anything: in JSON dumps it is written as `json_safe` gives it."""


def _safe_text(text: str) -> Any:
    return text if is_utf8(text) else tagged(text, utf8(text))


def _safe_int(value: int) -> Any:
    return value if value.bit_length() <= _MAX_BITS else tagged(value, hex(value))


def finite(number: float) -> float | str:
    """`number`, or the text of one that JSON has no form for, from which it can be read again."""
    if isinstance(number, int):
        return number if number.bit_length() <= _MAX_BITS else hex(number)
    return number if math.isfinite(number) else repr(number)


def _safe_float(value: float) -> Any:
    return value if math.isfinite(value) else tagged(value)


def _same(value: Any) -> Any:
    return value


_SIMPLE: dict[type[Any], Callable[[Any], Any]] = {
    str: _safe_text,
    int: _safe_int,
    float: _safe_float,
    bool: _same,
    type(None): _same,
}
