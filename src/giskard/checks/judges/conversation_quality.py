"""A check of how a whole conversation went, aspect by aspect."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Literal, TypeAlias, get_args

from pydantic import Field

from giskard.checks.core.check import Check
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._by_criteria import ByCriteria
from giskard.checks.judges._verdicts import need_turns

__all__ = ["ConversationQuality", "QualityAspect"]

QualityAspect: TypeAlias = Literal["helpfulness", "coherence", "memory", "clarity", "politeness"]


def _all_aspects() -> list[QualityAspect]:
    return list(get_args(QualityAspect))


@Check.register("conversation_quality")
class ConversationQuality(ByCriteria[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that an assistant did well over a whole conversation, in each of several aspects.

    One call judges all turns and all aspects, each with its own verdict.

    Parameters
    ----------
    aspects
        What is judged; all of them when left out.
    require
        How many of them must be met: ``"all"``, ``"any"``, or a number.

    Notes
    -----
    Each aspect is a metric, 1 or 0, and ``conversation_quality`` is the share of those that are met.  For criteria of
    your own use `Rubric`.
    """

    _packaged: ClassVar[str | None] = "conversation_quality"
    _share: ClassVar[str] = "conversation_quality"

    aspects: list[QualityAspect] = Field(default_factory=_all_aspects, min_length=1)

    def _names(self) -> list[str]:
        return list(dict.fromkeys(self.aspects))

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The aspects."""
        need_turns(trace)
        return {"aspects": self._names()}
