"""A check that an answer answers."""

from __future__ import annotations

from typing import ClassVar, Generic

from giskard.checks.core.check import Check
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._to_a_question import ToAQuestion

__all__ = ["AnswerRelevance"]


@Check.register("answer_relevance")
class AnswerRelevance(ToAQuestion[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that an answer is about what was asked.

    Parameters
    ----------
    question, question_key
        The question: a text, else the path of it.
    answer, target_key
        The answer: a text, else the path of it, also spelt ``answer_key``.
    context, context_key
        What else helps to tell: a text or a list of texts, else the path of them; neither is needed.
    include_history
        Whether the judge sees the turns before the last, which may say what the question is about.
    """

    _packaged: ClassVar[str | None] = "answer_relevance"
