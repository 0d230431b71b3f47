"""A conversation as it was: its turns, in order, and what is known about it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Self, cast

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, computed_field
from typing_extensions import TypeVar

from giskard.checks.core import late
from giskard.checks.core._plain_fields import settle
from giskard.checks.core.interaction._interactions import Interactions, InteractionsSchema
from giskard.checks.core.interaction.interaction import Interaction, Recorded, RecordedField
from giskard.checks.core.models import (
    BY_NAME,
    construct,
    known_names,
    plain_class,
    refuse_unknown,
    refuse_unnamed,
    share_fields_set,
)
from giskard.checks.core.tool_calls import tool_calls_in
from giskard.checks.core.types import MISSING, In, Out
from giskard.checks.utils.completed import completed
from giskard.checks.utils.equality import equal
from giskard.checks.utils.frozen import FrozenDict, FrozenList, freeze
from giskard.checks.utils.injectable import class_in, resolved_hints
from giskard.checks.utils.json_safe import Shown

if TYPE_CHECKING:
    from giskard.checks.core.interaction.base import InteractionSpec
    from giskard.checks.core.usage import ToolCall

__all__ = ["Trace", "count_turns", "empty_trace", "trace_type_of"]

TraceT = TypeVar("TraceT", bound="Trace")

_EMPTY = FrozenDict()
_TURNS = frozenset({Interaction})
_GIVEN = {"interactions"}

_List: type[Any] = list  # for the type checker: of any items
_new = object.__new__
_set = object.__setattr__


def _no_turns() -> FrozenList:
    return FrozenList()


def _are_turns(value: Any) -> bool:
    return type(value) is _List and _TURNS.issuperset(map(type, value))


def _with_its_class(turn: Interaction | None) -> Any:
    return turn if turn is None else completed(turn)


class Trace(BaseModel, Generic[In, Out], frozen=True):
    """An immutable conversation with the system under test.

    Parameters
    ----------
    interactions
        The turns, first to last.
    annotations
        What is known about the conversation as a whole: a customer's tier, the expected outcome.

    Notes
    -----
    Subclass it to add computed fields, which paths, templates and checks then see::

        class SupportTrace(Trace[str, str], frozen=True):
            @computed_field
            @property
            def transcript(self) -> str: ...
    """

    model_config = ConfigDict(defer_build=True, arbitrary_types_allowed=True)

    _plain_when_saved: ClassVar[bool] = True  # tells utils.codec to write it without its class

    interactions: Annotated[Sequence[Interaction[In, Out]], InteractionsSchema] = Field(default_factory=_no_turns)
    annotations: Annotated[dict[str, Any], *Recorded] = Field(default_factory=lambda: _EMPTY)

    def __init__(self, /, *unnamed: Any, **fields: Any) -> None:
        __tracebackhide__ = True
        if unnamed:
            refuse_unnamed(type(self), unnamed)
        if type(self) is Trace and len(fields) == 1 and _are_turns(fields.get("interactions")):
            # What the validator would do, at a third of its cost: most traces are made like this.
            settle(self, {"interactions": FrozenList(fields["interactions"]), "annotations": _EMPTY}, _GIVEN)
            return
        known = _names_of(type(self))
        if not known >= fields.keys():
            refuse_unknown(type(self), fields, known)
        super().__init__(**fields)

    # It only refuses what a person misspelt; data that is loaded may hold what a subclass computed.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]
    __init__.__signature__ = BY_NAME  # type: ignore[attr-defined]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Hand out a subclass's own fields as the turns are handed out: nobody can change them."""
        super().__pydantic_init_subclass__(**kwargs)
        for name in cls.model_fields.keys() - Trace.model_fields.keys():
            if not any(name in vars(owner) and vars(owner)[name] is not _TOOL_CALLS for owner in cls.__mro__):
                setattr(cls, name, RecordedField(name, "a trace"))

    def model_post_init(self, context: Any, /) -> None:
        """Take snapshots of a subclass's own fields, and share the set of given ones among all traces."""
        share_fields_set(self)
        if type(self) is not Trace:
            for name in type(self).model_fields.keys() - Trace.model_fields.keys():
                vars(self)[name] = freeze(vars(self)[name])

    @computed_field(return_type=Annotated[Any, PlainSerializer(_with_its_class)])
    @property
    def last(self) -> Interaction[In, Out] | None:
        """The last interaction, or None when there is none yet."""
        turns = self.__dict__["interactions"]
        return turns[-1] if turns else None

    if TYPE_CHECKING:  # see `_ToolCalls` below

        @property
        def tool_calls(self) -> list[ToolCall]:
            """The calls of tools of all turns, in order; they are no part of a dump.

            A subclass may have a field, or a computed one, of this name: then that is what counts.

            Raises
            ------
            BadToolCall
                When the metadata of a turn holds under ``tool_calls`` what is no call; the message names it.
            """
            ...

    @classmethod
    def for_target(cls, target: Any) -> Trace[Any, Any]:
        """An empty trace of the type that the hints of `target` ask for, of this type when they ask for none."""
        return (trace_type_of(target) or cls)()

    @classmethod
    async def from_interactions(cls, *items: Interaction | InteractionSpec) -> Self:
        """A trace of `items`, in order; specs are resolved one after the other."""
        return await cls().with_interactions(*items)

    async def with_interactions(self, *items: Interaction | InteractionSpec) -> Self:
        """This trace and `items` after it, as a new trace.

        Raises
        ------
        InteractionGenerationError
            When a spec fails; its ``partial_trace`` holds what was completed.
        """
        trace = self
        for item in items:
            trace = await trace.with_interaction(item)
        return trace

    async def with_interaction(self, item: Interaction | InteractionSpec) -> Self:
        """This trace and `item` after it, as a new trace."""
        if isinstance(item, Interaction):
            return self.appended(item)
        return await late.resolve_late("extend")(self, item)

    def appended(self, interaction: Interaction) -> Self:
        """This trace and one more turn; costs the same at any length."""
        cls = type(self)
        new = _new(cls)
        stored = self.__dict__
        turns = stored["interactions"]
        if type(turns) is not Interactions:
            turns = Interactions(turns)
        given = self.__pydantic_fields_set__
        if cls is Trace:
            settle(new, {"interactions": turns.appended(interaction), "annotations": stored["annotations"]}, given)
            return new
        # Only the fields: what a subclass worked out of these turns and kept is not true of the next ones.
        values = {name: stored[name] for name in cls.__pydantic_fields__}
        values["interactions"] = turns.appended(interaction)
        settle(new, values, given)
        _set(new, "__pydantic_extra__", self.__pydantic_extra__)
        _set(new, "__pydantic_private__", self.__pydantic_private__)
        return new

    def with_annotations(self, annotations: Mapping[str, Any]) -> Self:
        """The same turns with `annotations` in place of its own."""
        return self.model_copy(update={"annotations": dict(annotations)})

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's; the updated values are snapshots too."""
        values = dict(update or {})
        if "interactions" in values:
            values["interactions"] = FrozenList(values["interactions"])
        frozen = {key: value if key == "interactions" else freeze(value) for key, value in values.items()}
        return super().model_copy(update=frozen, deep=False)

    def __repr_args__(self) -> Any:
        for name, value in super().__repr_args__():
            if name != "last":
                yield name, self.interactions if name == "interactions" else Shown(value)

    def __setstate__(self, state: dict[Any, Any]) -> None:
        fields = state["__dict__"]
        turns = fields["interactions"]
        if type(turns) is not Interactions:
            turns = FrozenList(turns)
        super().__setstate__(
            {**state, "__dict__": {**fields, "interactions": turns, "annotations": freeze(fields["annotations"])}}
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace) or plain_class(type(self)) is not plain_class(type(cast("Trace", other))):
            return NotImplemented
        return equal(self._compared(), cast("Trace", other)._compared())

    def _compared(self) -> dict[str, Any]:
        return {**self.__dict__, "interactions": self.interactions, **(self.__pydantic_extra__ or {})}

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # nothing in it can change


class _InteractionsOf:
    """Reads the ``interactions`` of a trace, which are a mere list until they are first asked for."""

    def __get__(self, instance: Any, owner: Any = None) -> Interactions[Any]:
        if instance is None:  # pydantic looks for defaults on the class: there are none
            raise AttributeError("interactions")
        turns: Any = instance.__dict__["interactions"]
        if type(turns) is not Interactions:
            turns = instance.__dict__["interactions"] = Interactions(turns)
        return cast("Interactions[Any]", turns)

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError("interactions of a trace cannot be set: they were recorded")


class _ToolCalls(property):
    """Reads the ``tool_calls`` of a trace, unless its class has something else of that name."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:  # pydantic looks on the class for what a field of this name would hide
            raise AttributeError("tool_calls")
        extra = instance.__pydantic_extra__
        if extra and "tool_calls" in extra:
            return extra["tool_calls"]
        return tool_calls_in(instance.__dict__["interactions"])


_TOOL_CALLS = _ToolCalls(doc="The calls of tools of all turns, in order.")

# In the class body they would be taken for defaults.
setattr(Trace, "interactions", _InteractionsOf())  # noqa: B010
setattr(Trace, "annotations", RecordedField("annotations", "a trace"))  # noqa: B010
setattr(Trace, "tool_calls", _TOOL_CALLS)  # noqa: B010


def count_turns(trace: Trace) -> int:
    """``len(trace.interactions)``, at less cost."""
    return len(trace.__dict__["interactions"])


def trace_type_of(target: Any) -> type[Trace[Any, Any]] | None:
    """The trace type that a target's hints ask for, None when they ask for none."""
    if target is MISSING or not callable(target):
        return None
    hints = resolved_hints(target)
    found = (class_in(hint, Trace) for name, hint in hints.items() if name != "return")
    return next((kind for kind in found if kind is not None), None)


@functools.cache
def _names_of(cls: type[Trace]) -> frozenset[str]:
    """What the constructor of a trace takes: its fields, and what a dump holds beside them."""
    return frozenset((*known_names(cls), *cls.model_computed_fields))


def empty_trace(kind: type[TraceT], annotations: Mapping[str, Any]) -> TraceT:
    """A trace of `kind` without turns; without validation where a subclass cannot ask for any."""
    if kind is not Trace:
        return kind(annotations=dict(annotations))
    values: dict[str, Any] = {
        "interactions": FrozenList(),
        "annotations": freeze(dict(annotations)) if annotations else _EMPTY,
    }
    return construct(kind, values)
