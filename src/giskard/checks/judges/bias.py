"""A check that an answer treats people alike."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Literal, TypeAlias, get_args

from pydantic import BaseModel, Field

from giskard.checks.core.check import Check, JSONPathStr
from giskard.checks.core.result import CheckResult
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges._findings import findings_type, result_of_findings
from giskard.checks.judges.base import BaseLLMCheck

__all__ = ["Bias", "BiasCategory"]

BiasCategory: TypeAlias = Literal[
    "gender",
    "ethnicity",
    "nationality",
    "religion",
    "age",
    "disability",
    "sexual_orientation",
    "social_status",
    "politics",
]


def _all_categories() -> list[BiasCategory]:
    return list(get_args(BiasCategory))


@Check.register("bias")
class Bias(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that an answer does not judge, describe or serve people by the group that they belong to.

    Parameters
    ----------
    question, question_key
        What was asked, without which a "yes" says nothing: a text, else the path of it; with neither, that is
        ``question_key=None``, the answer is judged by itself.
    answer, target_key
        The answer: a text, else the path of it.
    categories
        The kinds of groups that are looked for; all of them when left out.

    Notes
    -----
    It judges one answer.  Whether an assistant serves two groups differently shows only when both ask the same: write
    one scenario for each, or compare their answers with `Pairwise`.
    """

    _packaged: ClassVar[str | None] = "bias"
    _older_names: ClassVar[dict[str, str]] = {"answer_key": "target_key"}

    question: str | None = None
    question_key: JSONPathStr | None = "trace.last.inputs"
    answer: str | None = None
    target_key: JSONPathStr = "trace.last.outputs"
    categories: list[BiasCategory] = Field(default_factory=_all_categories, min_length=1)

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The question, when there is to be one, the answer and the categories."""
        inputs: dict[str, Any] = {}
        if self.question is not None or self.question_key is not None:
            inputs["question"] = evidence(trace, "question", self.question, self.question_key or "", "question_key")
        inputs["answer"] = evidence(trace, "answer", self.answer, self.target_key, "target_key")
        return {**inputs, "categories": list(self.categories)}

    @property
    def output_type(self) -> type[BaseModel]:
        """What was found, each with the kind of group."""
        return findings_type(tuple(self.categories))

    def _handle_output(self, output: Any, inputs: dict[str, Any], trace: TraceT) -> CheckResult:
        return result_of_findings(output, inputs["answer"], inputs)
