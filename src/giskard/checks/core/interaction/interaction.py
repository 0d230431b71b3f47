"""A single turn: what was sent, what came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializationInfo,
    ValidationError,
)

from giskard.checks.core._plain_fields import settle
from giskard.checks.core.models import BY_NAME, explained, refuse_unnamed
from giskard.checks.core.types import In, Out
from giskard.checks.utils.deferred import Deferred, settled
from giskard.checks.utils.equality import equal
from giskard.checks.utils.frozen import FrozenDict, freeze, view
from giskard.checks.utils.json_safe import Shown, json_safe

__all__ = ["Interaction", "Recorded", "RecordedField", "record"]


def _dumped(value: Any, info: SerializationInfo) -> Any:
    """A recorded value in a dump: JSON never fails, and a Python dump shares nothing that could be changed."""
    if isinstance(value, Deferred):
        value = value.value
    return json_safe(value) if info.mode == "json" else view(value)


def _known(value: Any) -> Any:
    """A turn that is made into one of other type parameters hands over what it holds, read or not."""
    return value.value if isinstance(value, Deferred) else value


# What a snapshot does to a field: frozen after validation, and dumped as it is handed out.
Recorded = (AfterValidator(freeze), PlainSerializer(_dumped))

_EMPTY = FrozenDict()
_FIELDS = {"inputs", "outputs"}
_ALL_FIELDS = {"inputs", "outputs", "metadata"}

_new = object.__new__
_set = object.__setattr__


class Interaction(BaseModel, Generic[In, Out], frozen=True):
    """One exchange with the system under test, as it was.

    Parameters
    ----------
    inputs
        What was sent: any value, None included.
    outputs
        What came back: any value, None included.
    metadata
        Anything else worth keeping: timings, tool calls, the model's name.

    Notes
    -----
    The values are snapshots: changing the objects that were passed in changes nothing here, and what is read
    from here cannot be changed (plain containers refuse it; of other objects a copy is handed out).
    """

    model_config = ConfigDict(extra="forbid", defer_build=True, arbitrary_types_allowed=True)

    _plain_when_saved: ClassVar[bool] = True  # tells utils.codec to write it without its class

    inputs: Annotated[In, *Recorded]
    outputs: Annotated[Out, *Recorded]
    metadata: Annotated[dict[str, Any], BeforeValidator(_known), *Recorded] = Field(default_factory=lambda: _EMPTY)

    if not TYPE_CHECKING:  # a type checker knows the fields

        def __init__(self, /, *unnamed: Any, **fields: Any) -> None:
            __tracebackhide__ = True
            if unnamed:
                refuse_unnamed(type(self), unnamed)
            # Any values are right.
            if type(self) is Interaction and len(fields) == 2 and "inputs" in fields and "outputs" in fields:
                record(fields["inputs"], fields["outputs"], None, self, _FIELDS)
                return
            # As pydantic's own, so that it costs no more; a misspelt field is explained.
            try:
                type(self).__pydantic_validator__.validate_python(fields, self_instance=self)
            except ValidationError as error:
                raise explained(type(self), error) from None

        __init__.__pydantic_base_init__ = True
        __init__.__signature__ = BY_NAME

    def model_post_init(self, context: Any, /) -> None:
        """Share the set of given fields: a set of its own would be a third of an interaction."""
        given = _ALL_FIELDS if "metadata" in self.__pydantic_fields_set__ else _FIELDS
        _set(self, "__pydantic_fields_set__", given)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's; the updated values are snapshots too."""
        frozen = {key: freeze(value) for key, value in update.items()} if update else None
        return super().model_copy(update=frozen, deep=False)

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__({**state, "__dict__": {name: freeze(value) for name, value in state["__dict__"].items()}})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interaction):
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        return all(equal(settled(mine, name), settled(theirs, name)) for name in type(self).model_fields)

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # nothing in it can change

    def __repr_args__(self) -> Any:
        for name, value in self:
            if name != "metadata" or value:
                yield name, Shown(value)

    def __iter__(self) -> Any:
        stored = self.__dict__
        yield from [(name, settled(stored, name)) for name in stored]


class RecordedField:
    """Reads a field of an interaction or of a trace in such a way that the reader cannot change it."""

    __slots__ = ("name", "owner")

    def __init__(self, name: str, owner: str) -> None:
        self.name = name
        self.owner = owner

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:  # pydantic looks for defaults on the class: there are none
            raise AttributeError(self.name)
        stored = instance.__dict__
        try:
            value = stored[self.name]
            return view(settled(stored, self.name) if isinstance(value, Deferred) else value)
        except KeyError:
            raise AttributeError(self.name) from None

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"{self.name} of {self.owner} cannot be set: it was recorded")


for _name in ("inputs", "outputs", "metadata"):
    setattr(Interaction, _name, RecordedField(_name, "an interaction"))


def record(
    inputs: Any,
    outputs: Any,
    metadata: Mapping[str, Any] | Deferred | None = None,
    into: Interaction | None = None,
    given: set[str] = _ALL_FIELDS,
) -> Interaction:
    """`Interaction(...)` without validation, for values of any type: the hot path of a run.

    Parameters
    ----------
    metadata
        What gives it once somebody reads it gives it frozen.
    into
        An instance that is still empty; a new one by default.
    given
        The names of the fields that count as given.
    """
    self: Interaction = _new(Interaction) if into is None else into
    values = {
        "inputs": inputs if type(inputs) is str else freeze(inputs),
        "outputs": outputs if type(outputs) is str else freeze(outputs),
        "metadata": (metadata if isinstance(metadata, Deferred) else freeze(metadata)) if metadata else _EMPTY,
    }
    settle(self, values, given)
    return self
