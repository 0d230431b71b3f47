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
from importlib import import_module
from types import ModuleType
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel

from giskard.checks.utils.frozen import FrozenList

__all__ = ["decode", "encode", "escape", "import_callable", "import_path"]

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
    except (ImportError, AttributeError) as error:
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
    if kind in (str, int, bool, type(None)):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$type": "float", "value": repr(value)}
    if isinstance(value, Enum):
        return encode(value.value)
    if isinstance(value, BaseModel):
        return value if getattr(value, "_saves_itself", False) else encode(value.model_dump())
    if isinstance(value, Mapping):
        return _encode_mapping(cast("Mapping[Any, Any]", value))
    if isinstance(value, list):
        return [encode(item) for item in cast("list[Any]", value)]
    for name, (base, write, _) in _TYPES.items():
        if isinstance(value, base):
            return {"$type": name, "value": write(value)}
    if isinstance(value, (str, int, float)):  # subclasses, numpy's float among them
        bases: tuple[Any, ...] = (str, int, float)
        return encode(next(base(value) for base in bases if isinstance(value, base)))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return encode({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if callable(value):
        return {"$callable": import_path(value)}
    raise ValueError(
        f"{kind.__name__} cannot be saved: {value!r:.200}; use JSON values, models, or a callable that makes it"
    )


def _encode_mapping(value: Mapping[Any, Any]) -> Any:
    if not all(isinstance(key, str) for key in value):
        return {"$type": "dict", "value": [[encode(key), encode(item)] for key, item in value.items()]}
    items = {str(key): encode(item) for key, item in value.items()}
    ambiguous = not _OWN.isdisjoint(items) or any(key.startswith("$") for key in items)
    return {"$literal": items} if ambiguous else items


def escape(value: Any) -> Any:
    """`value` as a Python dump holds it: as it is, but what `decode` would take for an encoded value is marked."""
    if isinstance(value, BaseModel):
        return value if getattr(value, "_saves_itself", False) else escape(value.model_dump())
    if type(value) in (list, FrozenList):
        return [escape(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    data = cast("dict[Any, Any]", value)
    if not _OWN.isdisjoint(data):
        return data
    escaped = {key: escape(item) for key, item in data.items()}
    return {"$literal": escaped} if data.keys() in _MARKS else escaped


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
    if data.keys() == {"$callable"} and isinstance(data["$callable"], str):
        return import_callable(data["$callable"])
    if data.keys() == {"$type", "value"} and data["$type"] in _TYPES:
        return _TYPES[data["$type"]][2](data["value"])
    return {key: decode(item) for key, item in data.items()}


def _pairs(items: Any) -> dict[Any, Any]:
    return {decode(key): decode(item) for key, item in items}


_Codec = tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]
# name -> (type, to JSON data, from JSON data); subclasses stand before their bases.
_TYPES: dict[str, _Codec] = {
    "tuple": (tuple, lambda v: [encode(item) for item in v], lambda v: tuple(decode(v))),
    "set": (set, lambda v: [encode(item) for item in sorted(v, key=repr)], lambda v: set(decode(v))),
    "frozenset": (frozenset, lambda v: [encode(item) for item in sorted(v, key=repr)], lambda v: frozenset(decode(v))),
    "bytes": (bytes, lambda v: base64.b64encode(v).decode(), base64.b64decode),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (timedelta, lambda v: [v.days, v.seconds, v.microseconds], lambda v: timedelta(*v)),
    "decimal": (Decimal, str, Decimal),
    "uuid": (UUID, str, UUID),
    "complex": (complex, repr, complex),
    "float": ((), repr, float),
    "dict": ((), repr, _pairs),
}
