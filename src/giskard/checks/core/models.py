"""What the models of this package share: cheap construction, strict fields, documents with a version."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, Self, TypeVar, cast, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, core_schema

from giskard.checks.core._plain_fields import fill, settle, shared_names
from giskard.checks.core.exceptions import UnknownFieldWarning
from giskard.checks.core.types import MISSING
from giskard.checks.utils.codec import decode, encode, escape, is_saved_callable
from giskard.checks.utils.equality import equal
from giskard.checks.utils.lazy import difflib

__all__ = [
    "BY_NAME",
    "SCHEMA_VERSION",
    "SavedModel",
    "StrictModel",
    "construct",
    "did_you_mean",
    "dump_fields",
    "each",
    "explained",
    "known_names",
    "plain_class",
    "read_result",
    "read_version",
    "refuse_unknown",
    "refuse_unnamed",
    "share_fields_set",
]

SCHEMA_VERSION = "1.0"

ModelT = TypeVar("ModelT", bound=BaseModel)

_new = object.__new__
_set = object.__setattr__
_field_names: dict[type[BaseModel], set[str]] = {}


def construct(cls: type[ModelT], values: dict[str, Any]) -> ModelT:
    """An instance of a frozen model from values that are known to be right, without validation.

    A run makes several models per turn, so this stands on its hot path: `values` becomes the instance's
    own ``__dict__`` and must hold every field; the set of field names is shared by all instances.
    """
    names = _field_names.get(cls)
    if names is None:
        names = _field_names[cls] = set(cls.__pydantic_fields__)
    self = _new(cls)
    settle(self, values, names)
    return self


def share_fields_set(model: ModelT) -> ModelT:
    """`model`, whose set of given fields is the same object for all models that were given these fields.

    A suite of 10,000 cases holds tens of thousands of models; a set of its own would be a third of each.
    """
    _set(model, "__pydantic_fields_set__", shared_names(sorted(model.__pydantic_fields_set__)))
    return model


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the closest of `known`, else an empty text."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def known_names(cls: type[BaseModel]) -> list[str]:
    """The names that `cls` takes: fields and their aliases."""
    names: list[str] = []
    for name, field in cls.model_fields.items():
        names.append(name)
        alias = field.validation_alias
        choices = getattr(alias, "choices", None) or ([alias] if isinstance(alias, str) else [])
        names.extend(choice for choice in choices if choice != name)
    return names


def plain_class(cls: type[BaseModel]) -> type[BaseModel]:
    """The class without type parameters: they say nothing of what its instances are."""
    return cls.__pydantic_generic_metadata__["origin"] or cls


def refuse_unknown(cls: type[BaseModel], fields: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise for the first of `fields` that is not `known`, unless the model takes any.

    Raises
    ------
    TypeError
        Naming the field, and the one that was probably meant.
    """
    __tracebackhide__ = True
    if cls.model_config.get("extra") == "allow":
        return
    word = next(name for name in fields if name not in known)
    names = list(cls.model_fields)
    hint = did_you_mean(word, names) or "."
    raise TypeError(f"{plain_class(cls).__name__} has no field {word!r}{hint} Its fields are: {', '.join(names)}")


def own_first(cls: type[BaseModel]) -> list[str]:
    """The names of its fields: those of the class itself before those that it has from its bases."""
    owner: dict[str, int] = {}
    for depth, base in enumerate(cls.__mro__):
        for name in vars(base).get("__annotations__", ()):
            owner.setdefault(name, depth)
    return sorted(cls.model_fields, key=lambda name: owner.get(name, 0))


BY_NAME: Final = inspect.signature(BaseModel.__init__)
"""The signature of a constructor that only refuses fields without a name: they are not to be offered."""


def refuse_unnamed(cls: type[BaseModel], unnamed: Sequence[Any]) -> NoReturn:
    """Raise for values that were given without the names of their fields.

    Raises
    ------
    TypeError
        Naming the fields.
    """
    __tracebackhide__ = True
    name, fields = plain_class(cls).__name__, own_first(cls)
    raise TypeError(
        f"{name} takes its fields by name, and got {unnamed[0]!r:.100} without one; write {name}({fields[0]}=...). "
        f"Its fields are: {', '.join(fields)}"
    )


def explained(cls: type[BaseModel], error: ValidationError) -> ValidationError:
    """The same error, in which each unknown field says what it may have been meant for."""
    if all(line["type"] != "extra_forbidden" for line in error.errors(include_url=False, include_input=False)):
        return error
    names = known_names(cls)
    lines: list[InitErrorDetails] = []
    for line in error.errors(include_url=False):
        if line["type"] == "extra_forbidden" and len(line["loc"]) == 1:
            word = str(line["loc"][0])
            kind = PydanticCustomError(
                "unknown_field",
                "{model} has no field {word}{hint} Its fields are: {names}",  # type: ignore[arg-type]
                {
                    "model": plain_class(cls).__name__,
                    "word": repr(word),
                    "hint": did_you_mean(word, names) or ".",
                    "names": ", ".join(names),
                },
            )
            lines.append(InitErrorDetails(type=kind, loc=line["loc"], input=line["input"], ctx=line.get("ctx", {})))
        else:
            lines.append(_at(line["loc"], line))
    lines.sort(
        key=lambda line: not isinstance(line["type"], PydanticCustomError) or line["type"].type != "unknown_field"
    )
    # What is not understood may be a key that was put into the wrong place.
    hidden = bool(cls.model_config.get("hide_input_in_errors"))
    return ValidationError.from_exception_data(error.title, lines, hide_input=hidden)


def each(items: Sequence[Any], validate: Callable[[Any], ModelT], title: str) -> list[ModelT]:
    """What `validate` makes of each of `items`.

    Raises
    ------
    ValidationError
        Of all that it refuses, each with its place among them.
    """
    made: list[ModelT] = []
    lines: list[InitErrorDetails] = []
    for place, item in enumerate(items):
        try:
            made.append(validate(item))
        except ValidationError as error:
            lines += [_at((place, *line["loc"]), line) for line in error.errors(include_url=False)]
        except ValueError as error:
            told = PydanticCustomError("value_error", "Value error, {error}", {"error": str(error)})
            lines.append(InitErrorDetails(type=told, loc=(place,), input=item))
    if lines:
        raise ValidationError.from_exception_data(title, lines)
    return made


def _at(loc: tuple[int | str, ...], line: ErrorDetails) -> InitErrorDetails:
    """An error that was told already, to be told at `loc`."""
    kind: str | PydanticCustomError = line["type"]
    if kind not in _standard_types():
        kind = PydanticCustomError(cast("Any", kind), "{message}", {"message": line["msg"]})
    return InitErrorDetails(type=kind, loc=loc, input=line["input"], ctx=line.get("ctx", {}))


@functools.cache
def _standard_types() -> frozenset[str]:
    return frozenset(get_args(core_schema.ErrorType))


class StrictModel(BaseModel):
    """A model that people write: unknown fields are refused with a hint, and what is saved comes back equal.

    Python dumps keep values as they are; JSON dumps write them in such a way that they can be loaded, or fail.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True, arbitrary_types_allowed=True)

    _saves_itself: ClassVar[bool] = True  # tells utils.codec to leave it to pydantic
    _giskard_recipe: ClassVar[tuple[Any, Any]] = None, None  # a class, and how `fill` makes its instances
    _replaces_values: ClassVar[bool] = False  # tells `fill` that a field is set in a copy of the instance's dict

    if not TYPE_CHECKING:  # a type checker knows the fields

        def __init__(self, /, *unnamed: Any, **fields: Any) -> None:
            __tracebackhide__ = True
            if unnamed:
                refuse_unnamed(type(self), unnamed)
            if not fill(self, fields):
                super().__init__(**fields)

        __init__.__pydantic_base_init__ = True  # as pydantic's own
        __init__.__signature__ = BY_NAME

    @classmethod
    def _takes_plain_fields(cls) -> bool:
        """Whether instances may be made without the validator, of plain values."""
        return True

    @classmethod
    def _preparation(cls) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
        """`_prepare`; None when it does nothing with the data that a constructor is given."""
        own: Any = cls._prepare
        return None if own.__func__ in _IDLE_PREPARATIONS else cls._prepare

    @model_validator(mode="wrap")
    @classmethod
    def _validate_strictly(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return share_fields_set(
                handler(cls._prepare(cast("dict[str, Any]", data)) if isinstance(data, dict) else data)
            )
        except ValidationError as error:
            raise explained(cls, error) from None

    @classmethod
    def _prepare(cls, data: dict[str, Any]) -> dict[str, Any]:
        """What of `data` is validated: the place where a subclass reads older spellings."""
        return data

    def __setattr__(self, name: str, value: Any) -> None:
        _set(self, "__pydantic_fields_set__", set(self.__pydantic_fields_set__))
        super().__setattr__(name, value)

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        return dump_fields(self, info)


def dump_fields(model: BaseModel, info: SerializationInfo) -> dict[str, Any]:
    """The fields of `model` by the names they are saved under, without those that are MISSING."""
    saved: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        value = model.__dict__[name]
        if value is MISSING or _left_out(name, value, field.default, model, info):
            continue
        saved[field.serialization_alias or name] = encode(value) if info.mode == "json" else escape(value)
    return saved


def _left_out(name: str, value: Any, default: Any, model: BaseModel, info: SerializationInfo) -> bool:
    include, exclude = cast("Any", info.include), cast("Any", info.exclude)
    return (
        (include is not None and name not in include)
        or (exclude is not None and name in exclude)
        or (info.exclude_none and value is None)
        or (info.exclude_unset and name not in model.model_fields_set)
        or (info.exclude_defaults and type(value) is type(default) and value == default)
    )


class SavedModel(StrictModel):
    """A strict model that is saved on its own, or inside of another one: its dump carries ``schema_version``.

    Data of a newer major version is refused.  Of another minor version, what is unknown here is left out with
    a warning that names it.
    """

    @classmethod
    def _prepare(cls, data: dict[str, Any]) -> dict[str, Any]:
        if "schema_version" not in data:  # written by hand, or in Python: functions are meant all the same
            return {key: decode(value) if is_saved_callable(value) else value for key, value in data.items()}
        return {key: decode(value) for key, value in read_version(cls, data).items()}

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, self._valid(name, value) if name in type(self).model_fields else value)

    def _valid(self, name: str, value: Any) -> Any:
        """What the field `name` holds when it is given `value`: a list of the user's stays the very same list."""
        scratch = self.model_copy()
        type(self).__pydantic_validator__.validate_assignment(scratch, name, value)
        valid = scratch.__dict__[name]
        same = isinstance(value, (list, dict)) and type(cast("Any", value)) is type(valid) and equal(valid, value)
        return cast("Any", value) if same else valid

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        fields = dump_fields(self, info)
        marked = info.include is None and "schema_version" not in (info.exclude or ())
        return {"schema_version": SCHEMA_VERSION, **fields} if marked else fields


_IDLE_PREPARATIONS = {vars(cls)["_prepare"].__func__ for cls in (StrictModel, SavedModel)}


def read_version(cls: type[BaseModel], data: dict[str, Any]) -> dict[str, Any]:
    """`data` without its version mark, when this version of the package can read it.

    Raises
    ------
    ValueError
        When the data was written by a newer major version.
    """
    if "schema_version" not in data:
        return data
    rest = {key: value for key, value in data.items() if key != "schema_version"}
    version = data["schema_version"]
    major = str(version).partition(".")[0]
    ours = SCHEMA_VERSION.partition(".")[0]
    if not major.isdigit():
        raise ValueError(f"schema_version is {version!r}; expected a text such as {SCHEMA_VERSION!r}")
    if int(major) > int(ours):
        raise ValueError(
            f"this data has schema_version {version}, and this package reads up to {ours}.x "
            f"({SCHEMA_VERSION}): update giskard-checks to load it"
        )
    if version != SCHEMA_VERSION:
        rest = _without_unknown(cls, rest, version)
    return rest


def read_result(cls: type[BaseModel], data: dict[str, Any]) -> dict[str, Any]:
    """As `read_version`, and data that has nothing of a result is refused: it would read as one that passed.

    Raises
    ------
    ValueError
        When no field is one of the result's, or the data was written by a newer major version.
    """
    rest = read_version(cls, data)
    if rest and rest.keys().isdisjoint(known_names(cls)):
        raise ValueError(f"this is no {cls.__name__}: it has none of its fields, but {', '.join(map(repr, rest)):.200}")
    return rest


def _without_unknown(cls: type[BaseModel], data: dict[str, Any], version: object) -> dict[str, Any]:
    known = {*known_names(cls), *cls.model_computed_fields}
    unknown = sorted(key for key in data if key not in known)
    if unknown:
        warnings.warn(
            f"{cls.__name__} of schema_version {version} has fields that version {SCHEMA_VERSION} does not know; "
            f"they are left out: {', '.join(unknown)}",
            UnknownFieldWarning,
            stacklevel=5,
        )
    return {key: value for key, value in data.items() if key in known}
