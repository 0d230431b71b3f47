"""Values of a saved test: JSON data from which the same value comes back, or an error while saving.

Results are written by `giskard.checks.utils.json_safe`, which never fails and keeps only the text of
what JSON cannot hold.  A test must mean the same after it was loaded, so here the opposite holds.
"""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel

from giskard.checks.utils.completed import completed
from giskard.checks.utils.deferred import settled
from giskard.checks.utils.frozen import FrozenList
from giskard.checks.utils.json_safe import describe

# Python refuses to read and write integers of more than 4,300 digits.
_MAX_BITS = 14_000

__all__ = ["decode", "encode", "escape", "import_callable", "import_path", "is_saved_callable"]

# The keys of the mappings that `encode` writes for what JSON has no form for.
# What marks the data of a model that saves itself.
_OWN = frozenset({"kind", "schema_version"})
_MARKS = ({"$callable"}, {"$literal"}, {"$type", "value"})


def import_path(value: Callable[..., Any]) -> str:
    """``"package.module:name"`` of a module-level callable.

    Raises
    ------
    ValueError
        When the callable cannot be imported by a name: a lambda, a local function, a partial, an instance.
    """
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    hint = "define it with `def` at the top level of an importable module"
    owner = getattr(value, "__self__", None)  # of a builtin its module, of a class method its class
    bound = owner is not None and not isinstance(owner, (type, ModuleType))
    if not isinstance(module, str) or not isinstance(name, str) or bound:
        raise ValueError(f"{value!r} cannot be saved: it has no import path of its own; {hint}")
    if module == "__main__":
        raise ValueError(f"{value!r} cannot be saved: it is defined in the script that runs (__main__); {hint}")
    if "<" in name:
        what = "a lambda" if "<lambda>" in name else "a function inside another function"
        raise ValueError(f"{value!r} cannot be saved: it is {what}; {hint}")
    path = f"{module}:{name}"
    try:
        found = import_callable(path)
    except ValueError as error:
        raise ValueError(f"{value!r} cannot be saved: {error}; {hint}") from None
    if found != value:
        raise ValueError(f"{value!r} cannot be saved: {path} is another object by now; {hint}")
    return path


def import_callable(path: str) -> Callable[..., Any]:
    """The callable that ``"package.module:name"`` stands for.

    Raises
    ------
    ValueError
        When the path is not of that form, or nothing callable is found there.
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise ValueError(f"{path!r} is no import path; expected 'package.module:name'")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # not there, or no name of a module, or a module that fails while it is imported
        raise ValueError(f"{path!r} cannot be imported: {error}") from None
    if not callable(found):
        raise ValueError(f"{path!r} is {type(found).__name__}, not a callable")
    return found


def encode(value: Any) -> Any:
    """`value` as JSON data that `decode` turns back into an equal value.

    Models and dataclasses are written as plain data; models that save themselves are left for pydantic.

    Raises
    ------
    ValueError
        When the value cannot come back; the message says what to do.
    """
    kind = cast("type[Any]", type(value))
    if kind in _SCALARS:
        return _SCALARS[kind](value)
    if isinstance(value, Enum):
        return {"$type": "enum", "value": [import_path(kind), encode(value.value)]}
    if isinstance(value, BaseModel):
        return completed(value) if getattr(kind, "_saves_itself", False) else _encode_model(value, encode)
    if isinstance(value, Mapping):
        return _encode_mapping(cast("Mapping[Any, Any]", value))
    if isinstance(value, list) or getattr(kind, "_plain_when_saved", False):
        return [encode(item) for item in cast("list[Any]", value)]
    for name, (base, write, _) in _TYPES.items():
        if isinstance(value, base):
            return {"$type": name, "value": write(value)}
    if isinstance(value, (str, int, float)):  # subclasses, numpy's float among them
        bases: tuple[Any, ...] = (str, int, float)
        return encode(next(base(value) for base in bases if isinstance(value, base)))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        return _encode_parts(kind, parts)
    if callable(value):
        return {"$callable": import_path(value)}
    raise ValueError(
        f"{kind.__name__} cannot be saved: {describe(value):.200}; use JSON values, models, or a callable that makes it"
    )


def _encode_int(value: int) -> Any:
    return value if value.bit_length() <= _MAX_BITS else {"$type": "int", "value": hex(value)}


def _encode_float(value: float) -> Any:
    return value if math.isfinite(value) else {"$type": "float", "value": repr(value)}


def _same(value: Any) -> Any:
    return value


def _encode_text(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: JSON files cannot hold it
        return {"$type": "str", "value": base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()}
    return value


_SCALARS: dict[type[Any], Callable[[Any], Any]] = {
    str: _encode_text,
    int: _encode_int,
    float: _encode_float,
    bool: _same,
    type(None): _same,
}


def _model_parts(value: BaseModel) -> dict[str, Any]:
    extra: dict[str, Any] = value.__pydantic_extra__ or {}
    stored = vars(value)
    return {name: settled(stored, name) for name in type(value).model_fields if name in stored} | extra


def _encode_model(value: BaseModel, write: Callable[[Any], Any]) -> Any:
    """A model by its class and its fields; one of a recorded conversation as plain data."""
    kind = type(value)
    if getattr(kind, "_plain_when_saved", False):
        plain_base = next(base for base in kind.__mro__ if "_plain_when_saved" in base.__dict__)
        try:
            import_path(kind)
        except ValueError:  # a class that nobody can import: what it holds and works out is kept
            return write(value.model_dump())
        if kind is plain_base:
            return {name: write(item) for name, item in _model_parts(value).items()}
    return {"$type": "object", "value": [import_path(kind), write(_model_parts(value))]}


def _encode_parts(kind: type[Any], parts: dict[str, Any]) -> Any:
    """An instance of a class that can be imported, by its class and its fields."""
    return {"$type": "object", "value": [import_path(kind), encode(parts)]}


def _object(saved: Any) -> Any:
    path, parts = saved
    kind: Any = import_callable(path)
    if not isinstance(kind, type) or not (
        issubclass(kind, BaseModel) or dataclasses.is_dataclass(cast("type[Any]", kind))
    ):
        raise ValueError(f"{path!r} is no model and no dataclass")  # a file must not call what it likes
    values = decode(parts)
    return kind.model_validate(values) if issubclass(kind, BaseModel) else kind(**values)


def _enum_member(saved: Any) -> Any:
    path, value = saved
    kind: Any = import_callable(path)
    if not isinstance(kind, type) or not issubclass(kind, Enum):
        raise ValueError(f"{path!r} is no enum")
    return kind(decode(value))


def _encode_mapping(value: Mapping[Any, Any]) -> Any:
    if not all(isinstance(key, str) and _encode_text(key) is key for key in value):
        return {"$type": "dict", "value": [[encode(key), encode(item)] for key, item in value.items()]}
    items = {str(key): encode(item) for key, item in value.items()}
    ambiguous = not _OWN.isdisjoint(items) or any(key.startswith("$") for key in items)
    return {"$literal": items} if ambiguous else items


def escape(value: Any) -> Any:
    """`value` as a Python dump holds it: as it is, but what `decode` would take for an encoded value is marked."""
    if isinstance(value, BaseModel):
        return completed(value) if getattr(type(value), "_saves_itself", False) else _encode_model(value, escape)
    if isinstance(value, Fraction):  # pydantic writes it as text
        return encode(value)
    kind = type(cast("object", value))
    if kind in (list, FrozenList) or getattr(kind, "_plain_when_saved", False):
        return [escape(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    data = cast("dict[Any, Any]", value)
    escaped = {key: escape(item) for key, item in data.items()}
    return {"$literal": escaped} if data.keys() in _MARKS or not _OWN.isdisjoint(data) else escaped


def decode(value: Any) -> Any:
    """What `encode` made of a value, turned back; other JSON data stays as it is.

    Saved models are left as they are: they decode themselves.
    """
    if isinstance(value, list):
        return [decode(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    data = cast("dict[str, Any]", value)
    if not _OWN.isdisjoint(data):
        return data
    if data.keys() == {"$literal"} and isinstance(data["$literal"], dict):
        return {key: decode(item) for key, item in cast("dict[str, Any]", data["$literal"]).items()}
    if is_saved_callable(data):
        return import_callable(data["$callable"])
    if data.keys() == {"$type", "value"}:
        return _decode_tagged(data["$type"], data["value"])
    return {key: decode(item) for key, item in data.items()}


def is_saved_callable(value: Any) -> bool:
    """Whether it is what `encode` makes of a function."""
    if not isinstance(value, dict):
        return False
    data = cast("dict[str, Any]", value)
    return data.keys() == {"$callable"} and isinstance(data["$callable"], str)


def _decode_tagged(name: Any, saved: Any) -> Any:
    if not isinstance(name, str) or name not in _TYPES:
        raise ValueError(f"$type is {name!r:.100}; expected one of {', '.join(_TYPES)}")
    try:
        return _TYPES[name][2](saved)
    except Exception as error:
        raise ValueError(f"{saved!r:.200} is no saved {name}: {error}") from None


def _pairs(items: Any) -> dict[Any, Any]:
    return {decode(key): decode(item) for key, item in items}


_Codec = tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]
# name -> (type, to JSON data, from JSON data); subclasses stand before their bases.
_TYPES: dict[str, _Codec] = {
    "tuple": (tuple, lambda v: [encode(item) for item in v], lambda v: tuple(decode(v))),
    "set": (set, lambda v: sorted(map(encode, v), key=repr), lambda v: set(decode(v))),
    "frozenset": (frozenset, lambda v: sorted(map(encode, v), key=repr), lambda v: frozenset(decode(v))),
    "bytes": (bytes, lambda v: base64.b64encode(v).decode(), lambda v: base64.b64decode(v, validate=True)),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (timedelta, lambda v: [v.days, v.seconds, v.microseconds], lambda v: timedelta(*v)),
    "decimal": (Decimal, str, Decimal),
    "uuid": (UUID, str, UUID),
    "complex": (complex, repr, complex),
    "fraction": (Fraction, str, Fraction),
    "int": ((), repr, lambda v: int(v, 16)),
    "str": ((), repr, lambda v: base64.b64decode(v, validate=True).decode("utf-8", "surrogatepass")),
    "enum": ((), repr, _enum_member),
    "object": ((), repr, _object),
    "float": ((), repr, float),
    "dict": ((), repr, _pairs),
}
