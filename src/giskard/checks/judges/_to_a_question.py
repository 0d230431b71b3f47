"""What the checks of an answer to a question share, which need no context and can be given one."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from giskard.checks.core.check import JSONPathStr
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges.base import BaseLLMCheck

__all__ = ["ToAQuestion"]


class ToAQuestion(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """A check that shows the judge a question and its answer; each says what is asked of the answer.

    Parameters
    ----------
    question, question_key
        The question: a text, else the path of it.
    answer, target_key
        The answer: a text, else the path of it, also spelt ``answer_key``.
    context, context_key
        A text or a list of texts, else the path of them; neither is needed.
    include_history
        Whether the judge sees the turns before the last.
    """

    _older_names: ClassVar[dict[str, str]] = {"answer_key": "target_key"}

    question: str | None = None
    question_key: JSONPathStr = "trace.last.inputs"
    answer: str | None = None
    target_key: JSONPathStr = "trace.last.outputs"
    context: str | list[str] | None = None
    context_key: JSONPathStr | None = None
    include_history: bool = True

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The question, the answer, the context when one is given, and whether the earlier turns are shown."""
        inputs: dict[str, Any] = {
            "question": evidence(trace, "question", self.question, self.question_key, "question_key"),
            "answer": evidence(trace, "answer", self.answer, self.target_key, "target_key"),
            "include_history": self.include_history,
        }
        if self.context is not None or self.context_key is not None:
            inputs["context"] = evidence(trace, "context", self.context, self.context_key or "", "context_key")
        return inputs
