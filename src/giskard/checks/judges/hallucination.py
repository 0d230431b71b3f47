"""A check that an answer invents nothing."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from pydantic import BaseModel

from giskard.checks.core.check import Check
from giskard.checks.core.result import CheckResult
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._findings import findings_type, result_of_findings
from giskard.checks.judges._to_a_question import ToAQuestion
from giskard.checks.llm.conversation import notes_of

__all__ = ["Hallucination"]

_KINDS = ("fact", "source", "action")


@Check.register("hallucination")
class Hallucination(ToAQuestion[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that an answer invents nothing: no facts, no sources, no actions.

    A specific (a name, number, date, quotation, link, event, a thing that the assistant says it has done) counts as
    invented when neither the question, nor the conversation, nor the context, nor common knowledge has it.

    Parameters
    ----------
    question, question_key
        The question: a text, else the path of it.
    answer, target_key
        The answer: a text, else the path of it.
    context, context_key
        What the assistant had to go by: a text or a list of texts, else the path of them; neither is needed.
    include_history
        Whether the judge sees the turns before the last, and what was noted with all of them, such as calls of tools.

    Notes
    -----
    `Groundedness` and `Faithfulness` are stricter: to them a true statement that the context does not support is a
    fault.  `Contradiction` is milder: to it only what the context denies is one.

    Without a context the judge goes by what the model behind it knows.  It can tell that a law, a book or a feature is
    made up where that is widely known; it cannot know your prices, your customers, or what happened since it was
    trained.  Give such facts as the context.
    """

    _packaged: ClassVar[str | None] = "hallucination"

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The question, the answer, the context when one is given, and what was noted with the answer."""
        inputs = await super().get_inputs(trace)
        noted = notes_of(trace.last) if self.include_history else {}
        return {**inputs, "noted": noted} if noted else inputs

    @property
    def output_type(self) -> type[BaseModel]:
        """What was invented, each with the words."""
        return findings_type(_KINDS)

    def _handle_output(self, output: Any, inputs: dict[str, Any], trace: TraceT) -> CheckResult:
        return result_of_findings(output, inputs["answer"], inputs)
