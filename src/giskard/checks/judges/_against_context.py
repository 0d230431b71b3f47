"""What the checks of an answer against its sources share."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from giskard.checks.core.check import JSONPathStr
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges.base import BaseLLMCheck

__all__ = ["AgainstContext"]


class AgainstContext(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """A check that shows the judge an answer and the context it is held against; each says how it is held.

    Parameters
    ----------
    answer, target_key
        The answer: a text, else the path of it, also spelt ``answer_key``.
    context, context_key
        A text or a list of texts, else the path of them.
    """

    _older_names: ClassVar[dict[str, str]] = {"answer_key": "target_key"}

    answer: str | None = None
    target_key: JSONPathStr = "trace.last.outputs"
    context: str | list[str] | None = None
    context_key: JSONPathStr = "trace.last.metadata.context"

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The answer and the context."""
        return {
            "answer": evidence(trace, "answer", self.answer, self.target_key, "target_key"),
            "context": evidence(trace, "context", self.context, self.context_key, "context_key"),
        }
