"""A check of a rule in your own words."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from pydantic import field_validator

from giskard.checks.core.check import Check, JSONPathStr, NoVerdict
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges.base import BaseLLMCheck

__all__ = ["Conformity"]


@Check.register("conformity")
class Conformity(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a conversation, or one value of it, conforms to a rule.

    Parameters
    ----------
    rule
        What must hold, in plain words; it is no template.
    target_key
        The path of the value that is judged, also spelt ``key``; left out, the whole conversation is judged.
    """

    _packaged: ClassVar[str | None] = "conformity"
    _older_names: ClassVar[dict[str, str]] = {"key": "target_key"}

    rule: str
    target_key: JSONPathStr | None = None

    @field_validator("rule")
    @classmethod
    def _check_rule(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("the rule is empty: say what must hold")
        return value

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The rule, and the value that is judged when there is a `target_key`."""
        if self.target_key is not None:
            return {"rule": self.rule, "target": evidence(trace, "target", None, self.target_key, "target_key")}
        if not len(trace.interactions):
            raise NoVerdict("the trace has no interactions: there is nothing to judge", kind="missing_value")
        return {"rule": self.rule}
