"""A single turn: what was sent, what came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Generic

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer
from typing_extensions import Self

from giskard.checks.core.types import In, Out
from giskard.checks.utils.frozen import FrozenDict, freeze, view
from giskard.checks.utils.json_safe import json_safe

__all__ = ["Interaction", "Recorded", "record"]

# What a snapshot does to a field: frozen after validation, and never a reason for a dump to fail.
Recorded = (AfterValidator(freeze), PlainSerializer(json_safe, when_used="json"))

_EMPTY = FrozenDict()


class Interaction(BaseModel, Generic[In, Out]):
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

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, arbitrary_types_allowed=True)

    inputs: Annotated[In, *Recorded]
    outputs: Annotated[Out, *Recorded]
    metadata: Annotated[dict[str, Any], *Recorded] = Field(default_factory=FrozenDict)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's; the updated values are snapshots too."""
        frozen = {key: freeze(value) for key, value in update.items()} if update else None
        return super().model_copy(update=frozen, deep=False)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # nothing in it can change

    def __repr_args__(self) -> Any:
        yield "inputs", self.inputs
        yield "outputs", self.outputs
        if self.metadata:
            yield "metadata", self.metadata


class _RecordedField:
    """Reads a field of an interaction in such a way that the reader cannot change it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:  # pydantic looks for defaults on the class: there are none
            raise AttributeError(self.name)
        try:
            return view(instance.__dict__[self.name])
        except KeyError:
            raise AttributeError(self.name) from None

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"{self.name} of an interaction cannot be set: it was recorded")


for _name in ("inputs", "outputs", "metadata"):
    setattr(Interaction, _name, _RecordedField(_name))


_new = object.__new__
_set = object.__setattr__
_FIELDS = {"inputs", "outputs", "metadata"}


def record(inputs: Any, outputs: Any, metadata: Mapping[str, Any] | None = None) -> Interaction[Any, Any]:
    """`Interaction(...)` without validation, for values of any type: the hot path of a run."""
    self: Interaction[Any, Any] = _new(Interaction)
    values = {
        "inputs": freeze(inputs),
        "outputs": freeze(outputs),
        "metadata": freeze(metadata) if metadata else _EMPTY,
    }
    _set(self, "__dict__", values)
    _set(self, "__pydantic_fields_set__", _FIELDS)
    _set(self, "__pydantic_extra__", None)
    _set(self, "__pydantic_private__", None)
    return self
