"""A check that a conversation gets the user what they came for."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Self

from pydantic import model_validator

from giskard.checks.core.check import Check, JSONPathStr
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges._verdicts import need_one, need_turns
from giskard.checks.judges.base import BaseLLMCheck

__all__ = ["GoalCompletion"]


@Check.register("goal_completion")
class GoalCompletion(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that by its end a conversation has reached a goal.

    All turns are judged, with what was noted with them, such as calls of tools.

    Parameters
    ----------
    goal, goal_key
        What the user is to have by the end, in plain words: a text, else the path of it; one of them is needed.
    """

    _packaged: ClassVar[str | None] = "goal_completion"

    goal: str | None = None
    goal_key: JSONPathStr | None = None

    @model_validator(mode="after")
    def _some_goal(self) -> Self:
        need_one(self, "goal")
        return self

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The goal."""
        need_turns(trace)
        return {"goal": evidence(trace, "goal", self.goal, self.goal_key or "", "goal_key")}

    def _untrusted(self, inputs: dict[str, Any]) -> set[str]:
        return {"trace"} if self.goal is not None else {"trace", "goal"}
