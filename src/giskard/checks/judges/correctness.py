"""A check that an answer says what a reference says."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Self

from pydantic import model_validator

from giskard.checks.core.check import Check, JSONPathStr
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges._verdicts import need_one
from giskard.checks.judges.base import BaseLLMCheck

__all__ = ["Correctness"]


@Check.register("correctness")
class Correctness(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that an answer gives the facts of a reference answer, and contradicts none of them.

    The words, the order and the length are free.

    Parameters
    ----------
    reference, reference_key
        The right answer: a text, else the path of it; one of them is needed.
    question, question_key
        The question: a text, else the path of it.
    answer, target_key
        The answer: a text, else the path of it.
    strict
        Whether facts that the reference does not give are refused too.
    """

    _packaged: ClassVar[str | None] = "correctness"
    _older_names: ClassVar[dict[str, str]] = {"answer_key": "target_key"}

    reference: str | None = None
    reference_key: JSONPathStr | None = None
    question: str | None = None
    question_key: JSONPathStr = "trace.last.inputs"
    answer: str | None = None
    target_key: JSONPathStr = "trace.last.outputs"
    strict: bool = False

    @model_validator(mode="after")
    def _some_reference(self) -> Self:
        need_one(self, "reference")
        return self

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The question, the answer, the reference, and how strictly they are compared."""
        return {
            "question": evidence(trace, "question", self.question, self.question_key, "question_key"),
            "answer": evidence(trace, "answer", self.answer, self.target_key, "target_key"),
            "reference": evidence(trace, "reference", self.reference, self.reference_key or "", "reference_key"),
            "strict": self.strict,
        }
