"""How paths see live objects: by name, by index and as children, one view per class.

Nothing is dumped or copied: a view reads the one attribute or item that a step of a path asks for.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import sys
import types
from collections import UserString
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, Final

from pydantic import AliasChoices, BaseModel

from giskard.checks.utils.deferred import Deferred
from giskard.checks.utils.missing import MISSING
from giskard.checks.utils.plain import is_mock_call, is_named_tuple, is_root_model, record_items

__all__ = ["ABSENT", "View", "view_of", "walk"]


class _Absent(enum.Enum):
    ABSENT = "absent"


ABSENT: Final = _Absent.ABSENT
"""What a step gives when there is no such value; unlike None, it is never a value itself."""


class View:
    """The view of a value that nothing lies below: text, a number, a function, a class."""

    leaf = True
    """Whether nothing lies below the values of this class."""
    is_trace = False
    """Whether it is a model of turns in ``interactions`` with a derived shortcut ``last``."""
    redefines_last = False
    """Whether it is one whose own ``last`` may be something else than the last turn."""

    def get(self, value: Any, name: str) -> Any:
        """What `value` has under `name`, or ABSENT."""
        return ABSENT

    def at(self, value: Any, index: int) -> Any:
        """The item of `value` at `index`, from the end when it is negative, or ABSENT."""
        return ABSENT

    def cut(self, value: Any, part: slice) -> Iterable[Any]:
        """The items of `value` in a slice; of what is no array, none."""
        return ()

    def children(self, value: Any) -> Iterable[Any]:
        """What lies directly below `value`, in its own order."""
        return ()

    def size(self, value: Any) -> int | None:
        """How many children `value` has; None when it is no container."""
        return None


class _Branch(View):
    leaf = False

    def size(self, value: Any) -> int | None:
        return sum(1 for _ in self.children(value))


class _MappingView(_Branch):
    def get(self, value: Any, name: str) -> Any:
        try:
            return value[name]
        except KeyError:
            return ABSENT

    def children(self, value: Any) -> Iterable[Any]:
        return value.values()

    def size(self, value: Any) -> int | None:
        return len(value)


class _DictView(_MappingView):
    def get(self, value: Any, name: str) -> Any:
        return value.get(name, ABSENT)  # a defaultdict must not grow by being looked at


class _ArrayView(_Branch):
    def at(self, value: Any, index: int) -> Any:
        try:
            return value[index]
        except IndexError:
            return ABSENT

    def cut(self, value: Any, part: slice) -> Iterable[Any]:
        return [value[index] for index in range(*part.indices(len(value)))]

    def children(self, value: Any) -> Iterable[Any]:
        return value

    def size(self, value: Any) -> int | None:
        return len(value)


class _NumpyView(_ArrayView):
    def cut(self, value: Any, part: slice) -> Iterable[Any]:
        return value[part] if value.ndim else ()

    def children(self, value: Any) -> Iterable[Any]:
        return value if value.ndim else ()

    def size(self, value: Any) -> int | None:
        return len(value) if value.ndim else None


class _SetView(_Branch):
    def children(self, value: Any) -> Iterable[Any]:
        return value

    def size(self, value: Any) -> int | None:
        return len(value)


class _TupleView(_ArrayView):
    """Named tuples and `unittest.mock.call`: an array whose items have names too."""

    def __init__(self, cls: type[Any]) -> None:
        self._fields: frozenset[str] = frozenset(getattr(cls, "_fields", ("args", "kwargs")))
        self._named = self._fields | _property_names(cls)
        self._is_call = is_mock_call(cls)

    def get(self, value: Any, name: str) -> Any:
        return _attribute(value, name) if name in self._named else ABSENT

    def children(self, value: Any) -> Iterable[Any]:
        return [item for _, item in record_items(value)] if self._is_call else value


class _ModelView(_Branch):
    def __init__(self, cls: type[BaseModel]) -> None:
        self._aliases = _aliases(cls)
        self._named = frozenset(cls.model_computed_fields) | _property_names(cls)
        fields = cls.model_fields
        self.is_trace = "interactions" in fields and "last" not in fields and "last" in self._named
        self.redefines_last = sum("last" in vars(owner) for owner in cls.__mro__) > 1

    def get(self, value: Any, name: str) -> Any:
        # Past the descriptors that a model may put before its fields: they may copy what they give.
        found: Any = ABSENT if name.startswith("_") else value.__dict__.get(name, ABSENT)
        if found is ABSENT and name in self._aliases:
            name = self._aliases[name]
            found = value.__dict__.get(name, ABSENT)
        if found is ABSENT:
            if name in self._named:
                found = _attribute(value, name)
            elif extra := getattr(value, "__pydantic_extra__", None):
                found = extra.get(name, ABSENT)
        if isinstance(found, Deferred):
            return found.value
        return ABSENT if found is MISSING else found

    def children(self, value: Any) -> Iterable[Any]:
        if self.is_trace:  # its last turn is one of its interactions: it counts once
            return [item for name, item in record_items(value) if name != "last"]
        return [item for _, item in record_items(value)]


class _RootModelView(_Branch):
    """A model around one value is seen as that value."""

    def get(self, value: Any, name: str) -> Any:
        root: object = value.root
        found = view_of(type(root)).get(root, name)
        return root if found is ABSENT and name == "root" else found

    def at(self, value: Any, index: int) -> Any:
        root: object = value.root
        return view_of(type(root)).at(root, index)

    def cut(self, value: Any, part: slice) -> Iterable[Any]:
        root: object = value.root
        return view_of(type(root)).cut(root, part)

    def children(self, value: Any) -> Iterable[Any]:
        root: object = value.root
        return view_of(type(root)).children(root)

    def size(self, value: Any) -> int | None:
        root: object = value.root
        return view_of(type(root)).size(root)


class _ObjectView(_Branch):
    """Public attributes and properties; methods and what the class alone holds are no values."""

    def __init__(self, cls: type[Any]) -> None:
        self._slots = _slot_names(cls)
        self._named = frozenset(self._slots) | _property_names(cls)
        # Paths may name an attribute of a lock, a logger or a UUID; `..` does not wander into them.
        is_stdlib = cls.__module__.partition(".")[0] in sys.stdlib_module_names
        self.leaf = is_stdlib and not _is_namespace(cls)

    def get(self, value: Any, name: str) -> Any:
        if name.startswith("_"):
            return ABSENT
        if name in self._named:
            return _attribute(value, name)
        found: Any = _variables(value).get(name, ABSENT)
        return ABSENT if found is MISSING or inspect.isroutine(found) else found

    def children(self, value: Any) -> Iterable[Any]:
        if self.leaf:
            return ()
        names = dict.fromkeys((*_variables(value), *self._slots))
        found = (self.get(value, name) for name in names)
        return [item for item in found if item is not ABSENT]

    def size(self, value: Any) -> int | None:
        return None if self.leaf else len(list(self.children(value)))


class _DataclassView(_ObjectView):
    def __init__(self, cls: type[Any]) -> None:
        super().__init__(cls)
        self.leaf = False
        fields = (field.name for field in dataclasses.fields(cls))
        self._named |= {name for name in fields if not name.startswith("_")}

    def children(self, value: Any) -> Iterable[Any]:
        return [item for name, item in record_items(value) if not name.startswith("_")]

    def size(self, value: Any) -> int | None:
        return len(list(self.children(value)))


def _is_namespace(cls: type[Any]) -> bool:
    """Whether the attributes of its instances are data, though the standard library defines it."""
    return issubclass(cls, types.SimpleNamespace) or any(base.__module__ == "argparse" for base in cls.__mro__)


_LEAVES: Final = (
    *(str, bytes, bytearray, memoryview, UserString, bool, int, float, complex, type(None)),
    *(enum.Enum, type, partial, types.ModuleType, types.FunctionType, types.BuiltinFunctionType),
    *(types.MethodType, types.MethodWrapperType, types.WrapperDescriptorType),
)

_LEAF, _DICT, _MAPPING = View(), _DictView(), _MappingView()
_ARRAY, _SET, _NUMPY, _ROOT_MODEL = _ArrayView(), _SetView(), _NumpyView(), _RootModelView()


@lru_cache(maxsize=4096)
def view_of(cls: type[Any]) -> View:
    """The view that fits the instances of `cls`; worked out once per class."""
    if issubclass(cls, _LEAVES):
        return _LEAF
    if issubclass(cls, BaseModel):
        return _ROOT_MODEL if is_root_model(cls) else _ModelView(cls)
    if issubclass(cls, dict):
        return _DICT
    if is_named_tuple(cls) or is_mock_call(cls):
        return _TupleView(cls)
    if dataclasses.is_dataclass(cls):
        return _DataclassView(cls)
    for base, view in _CONTAINERS:
        if issubclass(cls, base):
            return view
    numpy = sys.modules.get("numpy")  # whoever made an array has imported it
    if numpy is not None and issubclass(cls, (numpy.ndarray, numpy.generic)):
        return _NUMPY if issubclass(cls, numpy.ndarray) else _LEAF
    return _ObjectView(cls)


_CONTAINERS: Final[tuple[tuple[type[Any], View], ...]] = (
    (Mapping, _MAPPING),
    (Sequence, _ARRAY),
    (set, _SET),
    (frozenset, _SET),
)


# `dict` and `type` for the type checker, of any values: a cast costs as much as the look-up that it is for.
_Dict: type[Any] = dict
_type_of: Callable[[object], type[Any]] = type


def walk(value: Any, steps: Iterable[str | int]) -> Any:
    """Follow names and indices from `value`; ABSENT as soon as there is nothing."""
    for step in steps:
        if isinstance(step, int):
            value = view_of(_type_of(value)).at(value, step)
        elif isinstance(value, _Dict):
            value = value.get(step, ABSENT)
        else:
            value = view_of(_type_of(value)).get(value, step)
        if value is ABSENT:
            return ABSENT
    return value


def _attribute(value: Any, name: str) -> Any:
    """An attribute that the class declares, or ABSENT when this instance does not have it."""
    try:
        found: object = getattr(value, name)
    except AttributeError:
        return ABSENT
    return ABSENT if found is MISSING else found


def _variables(value: Any) -> Mapping[str, Any]:
    return getattr(value, "__dict__", {})


def _slot_names(cls: type[Any]) -> tuple[str, ...]:
    names: list[str] = []
    for owner in reversed(cls.__mro__):
        slots: Any = owner.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    return tuple(name for name in dict.fromkeys(names) if not name.startswith("_"))


def _property_names(cls: type[Any]) -> frozenset[str]:
    """The public properties that the user's classes add, past those of pydantic's own base."""
    names: dict[str, bool] = {}
    for owner in reversed(cls.__mro__):
        if owner is not object and not owner.__module__.startswith("pydantic."):
            for name, member in vars(owner).items():
                names[name] = isinstance(member, (property, cached_property))
    return frozenset(name for name, is_property in names.items() if is_property and name[0] != "_")


def _aliases(cls: type[BaseModel]) -> dict[str, str]:
    """Every other name of the fields of a model, as it is read or written elsewhere."""
    aliases: dict[str, str] = {}
    for name, field in cls.model_fields.items():
        read = field.validation_alias
        choices = read.choices if isinstance(read, AliasChoices) else [read]
        for alias in (field.alias, *choices, field.serialization_alias):
            if isinstance(alias, str):
                aliases.setdefault(alias, name)
    for name, computed in cls.model_computed_fields.items():
        if computed.alias:
            aliases.setdefault(computed.alias, name)
    return {alias: name for alias, name in aliases.items() if alias not in cls.model_fields}
