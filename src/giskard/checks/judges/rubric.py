"""A check of several criteria in your own words, in one call."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Generic, Self

from pydantic import Field, model_validator

from giskard.checks.core.check import Check, JSONPathStr
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._by_criteria import ByCriteria, keys_of
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges._verdicts import need_turns

__all__ = ["Rubric"]


@Check.register("rubric")
class Rubric(ByCriteria[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a conversation, or one value of it, meets several criteria.

    One call asks for a verdict and a reason for each criterion.  When one of them is missing, or the judge cannot tell
    about it, the whole is an ERROR.

    Parameters
    ----------
    criteria
        What must hold, in plain words: by name, or a list, whose texts are the names.  They are no templates.
    require
        How many of them must be met: ``"all"``, ``"any"``, or a number.
    target_key
        The path of the value that is judged; left out, the whole conversation is judged.

    Notes
    -----
    Each criterion is a metric, 1 or 0, and ``rubric`` is the share of those that are met.
    """

    _packaged: ClassVar[str | None] = "rubric"
    _share: ClassVar[str] = "rubric"

    criteria: Annotated[dict[str, str], Field(min_length=1)] | Annotated[list[str], Field(min_length=1)]
    target_key: JSONPathStr | None = None

    @model_validator(mode="after")
    def _named_and_told(self) -> Self:
        names = self._names()
        for text in [*names, *self._texts()]:
            if not text.strip():
                raise ValueError("a criterion is empty: say what must hold")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"the criterion {twice!r} is there twice")
        return self

    def _names(self) -> list[str]:
        return list(self.criteria)

    def _texts(self) -> list[str]:
        return list(self.criteria.values() if isinstance(self.criteria, dict) else self.criteria)

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The criteria by the keys of the answer, and the value that is judged when there is a `target_key`."""
        names = self._names()
        keys = keys_of(names)
        told = dict(zip(keys, self._texts(), strict=True))
        if isinstance(self.criteria, dict) and list(keys) != names:  # a name may say what the text leaves out
            told = {key: f"{name}: {text}" for (key, text), name in zip(told.items(), names, strict=True)}
        if self.target_key is None:
            need_turns(trace)
            return {"criteria": told}
        return {"criteria": told, "target": evidence(trace, "target", None, self.target_key, "target_key")}
