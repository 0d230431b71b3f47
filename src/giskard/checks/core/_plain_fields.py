"""Instances of strict models without their validator, where all that it would do is known beforehand.

Nearly every check, spec and test case is given texts, numbers and flags that are right as they are, and a suite
makes tens of thousands of them.  A recipe says of a class which values its validator takes unchanged; whatever
is not covered by it goes to the validator, which also words every error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import FunctionType, NoneType, UnionType
from typing import Any, Final, Literal, TypeAlias, Union, cast, get_args, get_origin

from pydantic import AfterValidator, BaseModel, PlainSerializer, PlainValidator, SerializeAsAny, WrapSerializer
from pydantic.fields import FieldInfo

from giskard.checks.utils.frozen import FrozenDict, FrozenList

__all__ = ["fill", "settle", "shared_names"]

# A slot's own setter takes half the time.
_set_dict = vars(BaseModel)["__dict__"].__set__
_set_given = vars(BaseModel)["__pydantic_fields_set__"].__set__
_set_extra = vars(BaseModel)["__pydantic_extra__"].__set__
_set_private = vars(BaseModel)["__pydantic_private__"].__set__
_UNKNOWN: Any = object()

# Whose values pydantic takes as they are for a field that is annotated with this very type.
_EXACT: Final = frozenset({str, int, float, bool, bytes, NoneType})
# Values that nobody can change, and that may be kept until another instance is made.
_KEPT: Final = _EXACT | {FunctionType}
# After so many instances that all differ from the one before, so many are made without a look at it.
_PATIENCE: Final = 50
_REST: Final = 500
# What a field's annotation may carry that does not touch its value when it is validated.
_SERIALIZERS: Final[tuple[Any, ...]] = (PlainSerializer, WrapSerializer, SerializeAsAny)
# Settings that do not touch the values of fields.
_HARMLESS: Final = frozenset(
    {"extra", "defer_build", "arbitrary_types_allowed", "frozen", "title", "json_schema_extra"}
)


_CORE_SCHEMA: Final = cast("Any", BaseModel.__get_pydantic_core_schema__).__func__


# What a field takes: values of some types, a few words, or anything (None); and what is made of them.
# A plain tuple, since one with names takes three times as long to be taken apart.
_Field: TypeAlias = tuple[frozenset[type[Any]] | None, frozenset[str], Callable[[Any], Any] | None]


class _Repeats:
    """Lets instances of a class that are given the very same objects, one after the other, share their values.

    A suite makes the same few checks for each of its thousands of cases.  Where all differ, it rests for a while.
    """

    __slots__ = ("latest", "misses", "rest")

    def __init__(self) -> None:
        # What the latest instance was given, its values and the names; at first what no instance is given.
        self.latest: tuple[dict[str, Any], dict[str, Any], set[str]] = {"": _UNKNOWN}, {}, set()
        self.misses = 0
        self.rest = 0

    def find(self, given: dict[str, Any]) -> tuple[dict[str, Any], set[str]] | None:
        """The values of the latest instance, and the names of what it was given, when that was the same."""
        if self.rest > 0:
            self.rest -= 1
            return None
        before, values, names = self.latest
        if len(before) == len(given):
            for name, value in given.items():
                if before.get(name, _UNKNOWN) is not value:
                    break
            else:
                self.misses = 0
                return values, names
        self.misses += 1
        if self.misses == _PATIENCE:
            self.misses, self.rest = 0, _REST
        return None

    def keep(self, given: dict[str, Any], values: dict[str, Any], names: set[str]) -> None:
        """Remember what an instance was given, and the values that were made of it."""
        if self.rest <= 0 and _KEPT.issuperset(map(type, given.values())):
            self.latest = given, values, names


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How the instances of a class are made; all its fields are in `values`, in their order."""

    values: dict[str, Any]
    factories: tuple[tuple[str, Callable[[], Any]], ...]
    required: tuple[str, ...]
    fields: dict[str, _Field]
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None
    validators: tuple[Callable[[Any], Any], ...]
    repeats: _Repeats | None


_sets_by_order: dict[tuple[str, ...], set[str]] = {}
_sets: dict[frozenset[str], set[str]] = {}


def shared_names(names: Iterable[str]) -> set[str]:
    """The set of these names, which is the same object whoever asks for it: nobody may change it."""
    key = tuple(names)
    known = _sets_by_order.get(key)
    if known is None:
        known = _sets_by_order[key] = _sets.setdefault(frozenset(key), set(key))
    return known


def settle(model: BaseModel, values: dict[str, Any], given: set[str]) -> None:
    """Give a new and empty `model` the `values` of all its fields, and the names of the ones that were `given`."""
    _set_dict(model, values)
    _set_given(model, given)
    _set_extra(model, None)
    _set_private(model, None)


def fill(model: BaseModel, given: dict[str, Any]) -> bool:
    """Make `model`, a new and empty instance, what its validator would make of the `given` fields.

    Returns
    -------
    bool
        False when that takes the validator: because of a value, an error, or the class.  The model is then to
        be filled by it, which asks what refused a value once more.
    """
    cls: Any = type(model)
    # Kept by the class itself: a class that is made on the fly can be forgotten.  A new subclass sees its base's.
    owner: Any
    recipe: _Recipe | None
    owner, recipe = cls._giskard_recipe
    if owner is not cls:
        recipe = _recipe_of(cls)
    if recipe is None:
        return False
    repeats = recipe.repeats
    try:
        if recipe.prepare is not None:
            given = recipe.prepare(given)
        if repeats is not None and (known := repeats.find(given)) is not None:
            settle(model, *known)
            return True
        values = _values(recipe, given)
        if values is None:
            return False
        names = shared_names(given)
        settle(model, values, names)
        for validator in recipe.validators:
            if validator(model) is not model:
                return False
    except Exception:  # it is found again, and worded, by the validator
        return False
    if repeats is not None:
        repeats.keep(given, values, names)
    return True


def _values(recipe: _Recipe, given: dict[str, Any]) -> dict[str, Any] | None:
    """The values of all fields; None when only the validator can tell."""
    fields = recipe.fields
    values = recipe.values.copy()
    for name, value in given.items():
        types, words, function = fields[name]
        if types is not None and type(value) not in types and not (type(value) is str and value in words):
            return None
        values[name] = value if function is None else function(value)
    for name in recipe.required:
        if name not in given:
            return None
    for name, factory in recipe.factories:
        if name not in given:
            values[name] = factory()
    return values


def _recipe_of(cls: type[BaseModel]) -> _Recipe | None:
    """The recipe of a class, which is kept; None when only its validator can make instances."""
    if not cls.__pydantic_fields_complete__:  # a name in its annotations is not there yet
        return None
    recipe = _new_recipe(cls)
    type.__setattr__(cls, "_giskard_recipe", (cls, recipe))
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
            factory = cast("Callable[[], Any]", info.default_factory)
            if _gives_the_same(factory):
                values[name] = factory()
            else:
                factories.append((name, factory))
        elif info.validate_default or not _is_shared(info.default):
            return None
        else:
            values[name] = info.default
    fields = {name: field for name, info in cls.model_fields.items() if (field := _field(info)) is not None}
    repeats = _Repeats() if _may_share(cls, factories) else None
    return _Recipe(values, tuple(factories), tuple(required), fields, cls._preparation(), validators, repeats)


def _gives_the_same(factory: Callable[[], Any]) -> bool:
    """Whether a factory of ours gives all instances one object, which nobody can change."""
    return _is_from_here(factory) and type(made := factory()) in (FrozenDict, FrozenList) and factory() is made


def _may_share(cls: Any, factories: Sequence[Any]) -> bool:
    """Whether like instances may have the same dict of values: of ours it is known that nothing else is kept in it."""
    return cls._replaces_values and _is_from_here(cls) and not factories


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


def _is_from_here(thing: Any) -> bool:
    """Whether a class or a function is of this package."""
    return f"{getattr(thing, '__module__', None)}.".startswith(f"{_PACKAGE}.")


def _is_ours(function: Any) -> bool:
    """Whether it is a function of this package that takes a value, and may be asked again by the validator.

    Those of others may do something else the second time, or have more arguments.
    """
    code = getattr(function, "__code__", None)
    if not _is_from_here(function) or code is None:
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
            return None, frozenset(), cast("Callable[[Any], Any]", function)
        case [AfterValidator(func=function)] if _is_ours(function):
            pass
        case _:
            return None
    taken = _taken(info.annotation)
    return None if taken is None else (*taken, cast("Callable[[Any], Any] | None", function))


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
