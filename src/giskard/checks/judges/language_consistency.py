"""A check that an answer is in the right language."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from pydantic import field_validator

from giskard.checks.core.check import Check, JSONPathStr
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges.base import BaseLLMCheck

__all__ = ["LanguageConsistency"]


@Check.register("language_consistency")
class LanguageConsistency(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that an answer is in the language of its question, or in a given one.

    Parameters
    ----------
    language
        The language, by its name or its code: ``"French"``, ``"fr"``.  Left out, it is that of the question, or the one
        that the question asks for.
    question, question_key
        The question: a text, else the path of it; not looked at when `language` is given.
    answer, target_key
        The answer: a text, else the path of it.
    """

    _packaged: ClassVar[str | None] = "language_consistency"
    _older_names: ClassVar[dict[str, str]] = {"answer_key": "target_key"}

    language: str | None = None
    question: str | None = None
    question_key: JSONPathStr = "trace.last.inputs"
    answer: str | None = None
    target_key: JSONPathStr = "trace.last.outputs"

    @field_validator("language")
    @classmethod
    def _says_something(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("the language is empty: give its name or its code, or leave it out")
        return value

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The language or the question, and the answer."""
        inputs: dict[str, Any] = {}
        if self.language is not None:
            inputs["language"] = self.language
        else:
            inputs["question"] = evidence(trace, "question", self.question, self.question_key, "question_key")
        return {**inputs, "answer": evidence(trace, "answer", self.answer, self.target_key, "target_key")}
