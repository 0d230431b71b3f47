"""A check that what was retrieved is about the question."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Generic

from pydantic import BaseModel, Field

from giskard.checks.core.check import Check, JSONPathStr
from giskard.checks.core.result import CheckResult, Metric
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._evidence import evidence, is_blank
from giskard.checks.judges._verdicts import NamedVerdict, cannot_tell, details_of, verdicts_type
from giskard.checks.judges.base import BaseLLMCheck
from giskard.checks.utils.text import short_number

__all__ = ["ContextRelevance"]


@Check.register("context_relevance")
class ContextRelevance(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that enough pieces of a retrieved context help to answer the question.

    One call judges all the pieces, each by itself.  The answer is not looked at.

    Parameters
    ----------
    question, question_key
        The question: a text, else the path of it.
    context, context_key
        The pieces: a list of texts, or a text, which is one piece; else the path of them.  Empty pieces do not count.
    threshold
        The share of relevant pieces that is enough, itself included, from above 0 to 1.

    Notes
    -----
    The metric ``context_relevance`` is the share, ``pieces`` how many there are.
    """

    _packaged: ClassVar[str | None] = "context_relevance"

    question: str | None = None
    question_key: JSONPathStr = "trace.last.inputs"
    context: str | list[str] | None = None
    context_key: JSONPathStr = "trace.last.metadata.context"
    threshold: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.5

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The question, and the pieces of the context by the keys that the judge is told."""
        question = evidence(trace, "question", self.question, self.question_key, "question_key")
        context = evidence(trace, "context", self.context, self.context_key, "context_key")
        pieces: list[Any] = [*context] if isinstance(context, (list, tuple)) else [context]
        named = {f"piece_{number}": piece for number, piece in enumerate(pieces, 1) if not is_blank(piece)}
        return {"question": question, "context": named}

    @property
    def output_type(self) -> type[BaseModel]:
        """What is answered for one piece; an answer has one for each."""
        return NamedVerdict

    def _output_type(self, inputs: dict[str, Any]) -> type[BaseModel]:
        return verdicts_type(tuple(inputs["context"]))

    def _handle_output(self, output: Any, inputs: dict[str, Any], trace: TraceT) -> CheckResult:
        verdicts: dict[str, NamedVerdict] = dict(zip(inputs["context"], output.in_order(), strict=True))
        said = {key: {"relevant": verdict.passed, "reason": verdict.reason} for key, verdict in verdicts.items()}
        details = details_of(inputs, pieces=said)
        untold = [key for key, verdict in verdicts.items() if verdict.passed is None]
        if untold:
            raise cannot_tell(verdicts[untold[0]].reason, details, f" about {', '.join(untold)}")
        relevant = sum(bool(verdict.passed) for verdict in verdicts.values())
        share = relevant / len(verdicts)
        message = (
            f"{relevant} of {len(verdicts)} pieces of the context are about the question "
            f"({short_number(share)}, at least {short_number(self.threshold)} was expected)"
        )
        other = next((key for key, verdict in verdicts.items() if not verdict.passed), None)
        if other is not None:
            reason = verdicts[other].reason
            message += f"; {other} is not" + (f": {reason}" if reason else "")
        metrics = [Metric(name="context_relevance", value=share), Metric(name="pieces", value=len(verdicts))]
        return (CheckResult.success if share >= self.threshold else CheckResult.failure)(message, details, metrics)
