"""Instances of strict models without their validator, where all that it would do is known beforehand.

Nearly every check, spec and test case is given texts, numbers and flags that are right as they are, and a suite
makes tens of thousands of them.  A recipe says of a class which values its validator takes unchanged; whatever
is not covered by it goes to the validator, which also words every error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, Union, cast, get_args, get_origin

from pydantic import AfterValidator, BaseModel, PlainSerializer, PlainValidator, SerializeAsAny, WrapSerializer
from pydantic.fields import FieldInfo

__all__ = ["fill", "shared_names"]

_set = object.__setattr__
_UNKNOWN: Any = object()

# Whose values pydantic takes as they are for a field that is annotated with this very type.
_EXACT: Final = frozenset({str, int, float, bool, bytes, NoneType})
# What a field's annotation may carry that does not touch its value when it is validated.
_SERIALIZERS: Final[tuple[Any, ...]] = (PlainSerializer, WrapSerializer, SerializeAsAny)
# Settings that do not touch the values of fields.
_HARMLESS: Final = frozenset(
    {"extra", "defer_build", "arbitrary_types_allowed", "frozen", "title", "json_schema_extra"}
)


_CORE_SCHEMA: Final = cast("Any", BaseModel.__get_pydantic_core_schema__).__func__


class _Field(NamedTuple):
    """What a field takes: values of some types, a few words, or anything (None); and what is made of them."""

    types: frozenset[type[Any]] | None
    words: frozenset[str]
    function: Callable[[Any], Any] | None


class _Recipe(NamedTuple):
    """How the instances of a class are made; all its fields are in `values`, in their order."""

    values: dict[str, Any]
    factories: tuple[tuple[str, Callable[[], Any]], ...]
    required: tuple[str, ...]
    fields: dict[str, _Field]
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None
    validators: tuple[Callable[[Any], Any], ...]


_sets_by_order: dict[tuple[str, ...], set[str]] = {}
_sets: dict[frozenset[str], set[str]] = {}


def shared_names(names: Iterable[str]) -> set[str]:
    """The set of these names, which is the same object whoever asks for it: nobody may change it."""
    key = tuple(names)
    known = _sets_by_order.get(key)
    if known is None:
        known = _sets_by_order[key] = _sets.setdefault(frozenset(key), set(key))
    return known


def fill(model: BaseModel, given: dict[str, Any]) -> bool:
    """Make `model`, a new and empty instance, what its validator would make of the `given` fields.

    Returns
    -------
    bool
        False when that takes the validator: because of a value, an error, or the class.  The model is then to
        be filled by it, which asks what refused a value once more.
    """
    cls = model.__class__
    # Kept by the class itself: a class that is made on the fly can be forgotten.
    recipe = cls.__dict__.get("_giskard_recipe", _UNKNOWN)
    if recipe is _UNKNOWN:
        recipe = _recipe_of(cls)
    if recipe is None:
        return False
    defaults, factories, required, fields, prepare, validators = recipe
    try:
        if prepare is not None:
            given = prepare(given)
        values = defaults.copy()
        for name, value in given.items():
            types, words, function = fields[name]
            if types is not None and type(value) not in types and not (type(value) is str and value in words):
                return False
            values[name] = value if function is None else function(value)
        for name in required:
            if name not in given:
                return False
        for name, factory in factories:
            if name not in given:
                values[name] = factory()
        _set(model, "__dict__", values)
        _set(model, "__pydantic_fields_set__", shared_names(given))
        _set(model, "__pydantic_extra__", None)
        _set(model, "__pydantic_private__", None)
        for validator in validators:
            if validator(model) is not model:
                return False
    except Exception:  # it is found again, and worded, by the validator
        return False
    return True


def _recipe_of(cls: type[BaseModel]) -> _Recipe | None:
    """The recipe of a class, which is kept; None when only its validator can make instances."""
    if not cls.__pydantic_fields_complete__:  # a name in its annotations is not there yet
        return None
    recipe = _new_recipe(cls)
    type.__setattr__(cls, "_giskard_recipe", recipe)
    return recipe


def _new_recipe(cls: Any) -> _Recipe | None:
    validators = _after_validators(cls)
    if (
        validators is None
        or not cls._takes_plain_fields()
        or not cls.model_config.keys() <= _HARMLESS
        or cls.model_config.get("extra") != "forbid"
        or cls.__private_attributes__
        or cls.__get_pydantic_core_schema__.__func__ is not _CORE_SCHEMA
        or cls.__pydantic_post_init__
    ):
        return None
    values: dict[str, Any] = {}
    factories: list[tuple[str, Callable[[], Any]]] = []
    required: list[str] = []
    for name, info in cast("dict[str, FieldInfo]", cls.model_fields).items():
        values[name] = None
        if info.is_required():
            required.append(name)
        elif info.default_factory is not None:
            if info.default_factory_takes_validated_data:
                return None
            factories.append((name, cast("Callable[[], Any]", info.default_factory)))
        elif info.validate_default or not _is_shared(info.default):
            return None
        else:
            values[name] = info.default
    fields = {name: field for name, info in cls.model_fields.items() if (field := _field(info)) is not None}
    return _Recipe(values, tuple(factories), tuple(required), fields, cls._preparation(), validators)


def _after_validators(cls: Any) -> tuple[Callable[[Any], Any], ...] | None:
    """The validators of a class that are asked when its fields are there; None when it has others than ours."""
    found = cls.__pydantic_decorators__
    if found.validators or found.field_validators or found.root_validators:
        return None
    after: list[Callable[[Any], Any]] = []
    for validator in found.model_validators.values():
        if validator.info.mode == "after" and _is_ours(validator.func):
            after.append(validator.func)
        elif validator.cls_var_name != "_validate_strictly" or getattr(validator.func, "__module__", "") not in _OURS:
            return None
    return tuple(after)


# Where the validator is from that does nothing to plain values.
_OURS: Final = frozenset({"giskard.checks.core.models", "giskard.checks.core.discriminated"})


def _is_shared(default: Any) -> bool:
    """Whether all instances get the same default; what cannot be hashed pydantic copies."""
    try:
        hash(default)
    except TypeError:
        return False
    return True


def _is_ours(function: Any) -> bool:
    """Whether it is a function of this package that takes a value, and may be asked again by the validator.

    Those of others may do something else the second time, or have more arguments.
    """
    module = getattr(function, "__module__", None) or ""
    code = getattr(function, "__code__", None)
    ours = module == _PACKAGE or module.startswith(f"{_PACKAGE}.")
    if not ours or code is None:
        return False
    return code.co_argcount - len(function.__defaults__ or ()) == 1


_PACKAGE: Final = "giskard.checks"


def _field(info: FieldInfo) -> _Field | None:
    """What a field takes without its validator; None when nothing."""
    if info.validation_alias is not None:
        return None
    marks = [mark for mark in info.metadata if not isinstance(mark, _SERIALIZERS)]
    match marks:
        case []:
            function = None
        case [PlainValidator(func=function)] if _is_ours(function):
            return _Field(None, frozenset(), cast("Callable[[Any], Any]", function))
        case [AfterValidator(func=function)] if _is_ours(function):
            pass
        case _:
            return None
    taken = _taken(info.annotation)
    return None if taken is None else _Field(*taken, cast("Callable[[Any], Any] | None", function))


def _taken(annotation: Any) -> tuple[frozenset[type[Any]] | None, frozenset[str]] | None:
    """The types, and the words, that pydantic takes as they are for an annotation; None when it is another one."""
    if annotation is Any:
        return None, frozenset()
    if annotation is None:
        annotation = NoneType
    if annotation in _EXACT:
        return frozenset({annotation}), frozenset()
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return (frozenset(), frozenset(parts)) if all(type(part) is str for part in parts) else None
    if origin is Union or origin is UnionType:
        types: set[type[Any]] = set()
        words: set[str] = set()
        for part in parts:
            taken = _taken(part)
            if taken is None or taken[0] is None:
                return None
            types |= taken[0]
            words |= taken[1]
        return frozenset(types), frozenset(words)
    return None
