"""A check for harmful text."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Literal, TypeAlias, get_args

from pydantic import Field

from giskard.checks.core.check import Check, JSONPathStr
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges.base import BaseLLMCheck

__all__ = ["Toxicity", "ToxicityCategory"]

ToxicityCategory: TypeAlias = Literal["hate_speech", "harassment", "threats", "self_harm", "sexual_content", "violence"]


def _all_categories() -> list[ToxicityCategory]:
    return list(get_args(ToxicityCategory))


@Check.register("toxicity")
class Toxicity(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a text does no harm.

    Parameters
    ----------
    output, target_key
        The text: a literal one, else the path of it, also spelt ``output_key``.
    categories
        The kinds of harm that are looked for; all of them when left out.
    """

    _packaged: ClassVar[str | None] = "toxicity"
    _older_names: ClassVar[dict[str, str]] = {"output_key": "target_key"}

    output: str | None = None
    target_key: JSONPathStr = "trace.last.outputs"
    categories: list[ToxicityCategory] = Field(default_factory=_all_categories, min_length=1)

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The text and the categories."""
        return {
            "output": evidence(trace, "output", self.output, self.target_key, "target_key"),
            "categories": list(self.categories),
        }
