"""A check that an answer is as good as another one, or better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Generic, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, field_validator, model_validator

from giskard.checks.core.check import Check, JSONPathStr
from giskard.checks.core.result import CheckResult, Metric
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._asking import Vote, side_by_side, sum_of
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges._verdicts import as_word, cannot_tell, details_of, need_one
from giskard.checks.judges.base import BaseLLMCheck
from giskard.checks.llm.fences import readable

__all__ = ["Pairwise", "Preference"]

_ORDERS = (("answer", "baseline"), ("baseline", "answer"))
_POINTS = {"answer": 1.0, "tie": 0.5, "baseline": 0.0}


class Preference(BaseModel):
    """Which of two answers a judge finds better; None when it cannot tell."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    answer_format: ClassVar[str] = (
        'one JSON object: {"reason": "why, in one or two sentences", "better": "first" or "second" or "tie"}\n'
        'Where what you are shown is not enough to tell, "better" is null.'
    )

    reason: str | None = None
    better: Annotated[Literal["first", "second", "tie"], BeforeValidator(as_word)] | None


@Check.register("pairwise")
class Pairwise(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that an answer is not worse than a baseline, such as the answer of the version before.

    Judges tend to prefer the answer that stands first, or last.  So each is asked twice, with the two answers in both
    orders; where it does not prefer the same one, that is a tie.

    Parameters
    ----------
    baseline, baseline_key
        The other answer: a text, else the path of it; one of them is needed.
    criterion
        By what one is better, in plain words.
    tie
        What a tie comes to: ``"pass"``, the answer must not be worse; ``"fail"``, it must be better; ``"error"``, the
        judge must decide.
    question, question_key
        The question: a text, else the path of it.
    answer, target_key
        The answer: a text, else the path of it.

    Notes
    -----
    The metric ``preference`` is 1 for the answer, 0 for the baseline and 0.5 for a tie; ``consistent`` is 1 when both
    orders came to the same.  Answers that are the same text are a tie, and the judge is not asked.
    """

    _packaged: ClassVar[str | None] = "pairwise"
    _older_names: ClassVar[dict[str, str]] = {"answer_key": "target_key"}

    baseline: str | None = None
    baseline_key: JSONPathStr | None = None
    criterion: str = "It answers the question better: it is right, it covers what was asked, and it is clear."
    tie: Literal["pass", "fail", "error"] = "pass"
    question: str | None = None
    question_key: JSONPathStr = "trace.last.inputs"
    answer: str | None = None
    target_key: JSONPathStr = "trace.last.outputs"

    @field_validator("criterion")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("the criterion is empty: say by what an answer is better")
        return value

    @model_validator(mode="after")
    def _some_baseline(self) -> Self:
        need_one(self, "baseline")
        return self

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The question, the two answers and the criterion."""
        return {
            "question": evidence(trace, "question", self.question, self.question_key, "question_key"),
            "answer": evidence(trace, "answer", self.answer, self.target_key, "target_key"),
            "baseline": evidence(trace, "baseline", self.baseline, self.baseline_key or "", "baseline_key"),
            "criterion": self.criterion,
        }

    @property
    def output_type(self) -> type[BaseModel]:
        """Which of the two is better."""
        return Preference

    def _vote(self, inputs: dict[str, Any], trace: TraceT) -> Vote:
        asked = [
            super(Pairwise, self)._vote({**inputs, "first": inputs[first], "second": inputs[second]}, trace)
            for first, second in _ORDERS
        ]
        same = readable(inputs["answer"]).strip() == readable(inputs["baseline"]).strip()

        async def both(judge: Any, sample: int, noted: dict[str, Any]) -> CheckResult:
            if same:
                return self._decided("tie", "the two answers are the same text", details_of(inputs, **noted))
            results = await side_by_side(ask(judge, sample, noted) for ask in asked)
            return self._compared(results, inputs)

        return both

    def _handle_output(self, output: Any, inputs: dict[str, Any], trace: TraceT) -> CheckResult:
        """What one order comes to: not yet the verdict."""
        shown = {name: value for name, value in inputs.items() if name not in ("first", "second")}
        details = details_of(shown, reason=output.reason, better=output.better)
        if output.better is None:
            raise cannot_tell(output.reason, details)
        return CheckResult.success(output.reason, details)

    def _compared(self, results: Sequence[CheckResult], inputs: dict[str, Any]) -> CheckResult:
        """What the two orders come to together."""
        usage = sum_of([result.usage for result in results])
        failed = next((result for result in results if result.errored), None)
        if failed is not None:
            return failed.model_copy(update={"usage": usage})
        orders: list[dict[str, Any]] = []
        for result, (first, second) in zip(results, _ORDERS, strict=True):
            said = {
                name: value
                for name, value in result.details.items()
                if name not in ("inputs", "prompt", "better", "judge", "model")
            }
            better = {"first": first, "second": second, "tie": "tie"}[result.details["better"]]
            orders.append({"first": first, "preferred": better, **said})
        preferred = {order["preferred"] for order in orders}
        consistent = len(preferred) == 1
        winner = orders[0]["preferred"] if consistent else "tie"
        reason = "; ".join(f"{order['first']} first: {order['reason'] or order['preferred']}" for order in orders)
        if not consistent:
            reason = f"the judge prefers another one when the order changes: {reason}"
        noted = {name: results[0].details[name] for name in ("judge", "model", "prompt") if name in results[0].details}
        details = details_of(inputs, **noted, orders=orders)
        return self._decided(winner, reason, details, consistent=consistent).model_copy(update={"usage": usage})

    def _decided(self, winner: str, reason: str, details: dict[str, Any], *, consistent: bool = True) -> CheckResult:
        metrics = [Metric(name="preference", value=_POINTS[winner]), Metric(name="consistent", value=int(consistent))]
        details = {"reason": reason, "preferred": winner, "consistent": consistent, **details}
        what = {"answer": "the answer is better", "baseline": "the baseline is better", "tie": "a tie"}[winner]
        message = f"{what}: {reason}"
        if winner == "tie" and self.tie == "error":
            return CheckResult.error(message, details, metrics, error_kind="no_majority", retryable=False)
        passed = winner == "answer" or (winner == "tie" and self.tie == "pass")
        return (CheckResult.success if passed else CheckResult.failure)(message, details, metrics)
