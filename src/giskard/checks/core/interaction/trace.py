"""A conversation as it was: its turns, in order, and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Generic, cast

from pydantic import BaseModel, ConfigDict, Field, computed_field
from typing_extensions import Self

from giskard.checks.core.interaction._interactions import Interactions, InteractionsSchema
from giskard.checks.core.interaction.interaction import Interaction, Recorded
from giskard.checks.core.types import In, Out
from giskard.checks.utils.frozen import FrozenDict, freeze

if TYPE_CHECKING:
    from giskard.checks.core.interaction.base import InteractionSpec

__all__ = ["Trace"]

_new = object.__new__
_set = object.__setattr__


class Trace(BaseModel, Generic[In, Out]):
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

    model_config = ConfigDict(frozen=True, defer_build=True, arbitrary_types_allowed=True)

    interactions: Annotated[Sequence[Interaction[In, Out]], InteractionsSchema] = Field(
        default_factory=lambda: Interactions[Interaction[In, Out]]()
    )
    annotations: Annotated[dict[str, Any], *Recorded] = Field(default_factory=FrozenDict)

    @computed_field(return_type=Any)
    @property
    def last(self) -> Interaction[In, Out] | None:
        """The last interaction, or None when there is none yet."""
        return cast("Interactions[Interaction[In, Out]]", self.interactions).last

    @classmethod
    async def from_interactions(cls, *items: Interaction[Any, Any] | InteractionSpec[Any, Any, Any]) -> Self:
        """A trace of `items`, in order; specs are resolved one after the other."""
        return await cls().with_interactions(*items)

    async def with_interactions(self, *items: Interaction[Any, Any] | InteractionSpec[Any, Any, Any]) -> Self:
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

    async def with_interaction(self, item: Interaction[Any, Any] | InteractionSpec[Any, Any, Any]) -> Self:
        """This trace and `item` after it, as a new trace."""
        if isinstance(item, Interaction):
            return self.appended(item)
        from giskard.checks.core.interaction.base import InteractionSpec, extend  # noqa: PLC0415 - see base.py

        if not isinstance(item, InteractionSpec):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected an Interaction or an InteractionSpec, got {type(item).__name__}: {item!r}")
        return await extend(self, item)

    def appended(self, interaction: Interaction[Any, Any]) -> Self:
        """This trace and one more turn; costs the same at any length."""
        new = _new(type(self))
        values = dict(self.__dict__)
        values["interactions"] = values["interactions"].appended(interaction)
        _set(new, "__dict__", values)
        _set(new, "__pydantic_fields_set__", self.__pydantic_fields_set__)
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
            values["interactions"] = Interactions(values["interactions"])
        frozen = {key: value if key == "interactions" else freeze(value) for key, value in values.items()}
        return super().model_copy(update=frozen, deep=False)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # nothing in it can change

