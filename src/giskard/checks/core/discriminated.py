"""The ``kind`` registry: how what was saved finds its class again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar, cast

from pydantic import (
    ModelWrapValidatorHandler,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from giskard.checks.core import late
from giskard.checks.core.models import StrictModel, did_you_mean, dump_fields, explained, plain_class, share_fields_set
from giskard.checks.core.types import MISSING
from giskard.checks.utils.codec import decode
from giskard.checks.utils.equality import equal

__all__ = ["Discriminated"]

ClsT = TypeVar("ClsT", bound="type[Discriminated]")


class Discriminated(StrictModel):
    """A model of a family whose members are told apart by ``kind`` in saved data.

    The family's root (``Check``, ``InteractionSpec``, …) sets ``_family``; members register with
    ``@Root.register("kind")``.
    """

    _family: ClassVar[str] = ""
    _kinds: ClassVar[dict[str, type[Discriminated]]] = {}
    kind: ClassVar[str | None] = None
    """What the class is called in saved data; None while it is not registered."""

    def __init_subclass__(cls, family: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if family is not None:
            cls._family = family
            cls._kinds = {}

    @classmethod
    def register(cls, kind: str) -> Callable[[ClsT], ClsT]:
        """A class decorator: saved data with this ``kind`` becomes an instance of the class.

        Raises
        ------
        ValueError
            When another class has this kind already.
        """

        def decorate(member: ClsT) -> ClsT:
            known = cls._kinds.get(kind)
            # The same class again is a module that was reloaded, or a notebook cell that was run twice.
            if known is not None and (known.__module__, known.__qualname__) != (member.__module__, member.__qualname__):
                raise ValueError(
                    f"kind {kind!r} is taken by {known.__module__}.{known.__qualname__}; "
                    f"register {member.__qualname__} under another kind"
                )
            cls._kinds[kind] = member
            member.kind = kind
            return member

        return decorate

    @classmethod
    def _class_of(cls, data: dict[str, Any]) -> type[Self]:
        """The class that the ``kind`` of `data` names."""
        kind = data.get("kind")
        if not isinstance(kind, str):
            given = "has no 'kind'" if "kind" not in data else f"has the kind {kind!r}, which is not a text"
            raise PydanticCustomError("kind", "{message}", {"message": f"this {cls._family} {given}"})
        member = cls._kinds.get(kind)
        if member is None:
            late.load_kind(cls._family, kind)
            member = cls._kinds.get(kind)
        if member is None:
            known = sorted({*cls._kinds, *late.kinds(cls._family)})
            hint = did_you_mean(kind, known) or f"; known kinds: {', '.join(known)}"
            raise PydanticCustomError("kind", "{message}", {"message": f"no {cls._family} of kind {kind!r}{hint}"})
        if not issubclass(member, plain_class(cls)):
            raise PydanticCustomError(
                "kind", "{message}", {"message": f"kind {kind!r} is {member.__name__}, expected {cls.__name__}"}
            )
        return cast("type[Self]", member)

    @classmethod
    def _takes_plain_fields(cls) -> bool:
        return cls.kind is not None or not cls._is_root()

    @model_validator(mode="wrap")
    @classmethod
    def _validate_strictly(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, dict):
            data = cast("dict[str, Any]", data)
            if cls.kind is None or "kind" in data:
                if cls.kind is None and cls._is_root():
                    return cls._class_of(data).model_validate(data)
                if "kind" in data:
                    cls._check_kind(data["kind"])
                    data = {key: cls._loaded(key, value) for key, value in data.items() if key != "kind"}
            data = cls._prepare(data)
        elif cls._is_root() and isinstance(data, plain_class(cls)):
            return cast("Self", data)  # whatever the type parameters of the two are
        try:
            return share_fields_set(handler(data))
        except ValidationError as error:
            raise explained(cls, error) from None

    @classmethod
    def _loaded(cls, name: str, value: Any) -> Any:
        """A saved value of the field `name`."""
        return decode(value)

    @classmethod
    def _check_kind(cls, kind: object) -> None:
        if kind != cls.kind:
            message = f"this data is of kind {kind!r}, and {cls.__name__} is of kind {cls.kind!r}"
            raise PydanticCustomError("kind", "{message}", {"message": message})

    @classmethod
    def _is_root(cls) -> bool:
        """Whether the class only stands for its family: it cannot be made, but data of its kinds can be loaded."""
        return "_kinds" in plain_class(cls).__dict__

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        return {"kind": self._saved_kind() if info.mode == "json" else self.kind, **dump_fields(self, info)}

    def _saved_kind(self) -> str:
        if self.kind is None:
            name = type(self).__name__
            raise ValueError(
                f"{name} has no kind, so it could not be loaded again: "
                f'decorate the class with @{self._family_root()}.register("…")'
            )
        return self.kind

    @classmethod
    def _family_root(cls) -> str:
        bases = cast("tuple[type[Discriminated], ...]", cls.__mro__)
        return next((base.__name__ for base in reversed(bases) if "_kinds" in base.__dict__ and base._family), "Check")

    def __repr_args__(self) -> Any:
        yield "kind", self.kind
        for name, field in type(self).model_fields.items():
            value = self.__dict__.get(name, MISSING)
            if value is not MISSING and not equal(value, field.default):
                yield name, value
