"""Checks that measure a text."""

from __future__ import annotations

from typing import Annotated, Generic, Self

from pydantic import Field, model_validator

from giskard.checks.builtin._readability import MetricName, readability
from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.builtin._texts import unanswered
from giskard.checks.core.check import Check, CodeCheck, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.result import CheckStatus, Metric, Verdict
from giskard.checks.core.types import In, Out, TraceT

__all__ = ["Readability"]

_Bound = Annotated[float, Field(allow_inf_nan=False)]


@Check.register("readability")
class Readability(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks how hard an English text is to read.

    Parameters
    ----------
    metric
        The formula.  ``flesch_reading_ease`` grows with ease (60 to 70 is plain English); the others are school grades
        of the United States, or close to them, and grow with difficulty.
    min_score, max_score
        The bounds of the score, themselves allowed; without any the score is only measured.
    target_key
        The path of the text that is checked.

    Notes
    -----
    The result carries the score as a metric of the formula's name.  Nothing is downloaded.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, Readability, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Hi", outputs="The cat sat on the mat.")])
    >>> asyncio.run(Readability(metric="flesch_reading_ease", min_score=60).run(trace)).passed
    True
    """

    metric: MetricName = "flesch_reading_ease"
    min_score: _Bound | None = None
    max_score: _Bound | None = None
    target_key: JSONPathStr = "trace.last.outputs"

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        low, high = self.min_score, self.max_score
        if low is not None and high is not None and low > high:
            raise ValueError(f"min_score {low:g} is greater than max_score {high:g}: no text can pass")
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the score is within the bounds, else FAIL."""
        text = lookup(trace, self.target_key)
        if not isinstance(text, str):
            raise NoVerdict(
                f"expected a text at {self.target_key!r}, got {type_name(text)}: {shown(text)}"
                f"{unanswered(trace, self.target_key, text)}",
                kind="bad_type",
                details={"text": text},
            )
        try:
            score = readability(text, self.metric)
        except ValueError as error:
            raise NoVerdict(
                f"cannot measure the text at {self.target_key!r}: {error}", kind="missing_value", details={"text": text}
            ) from error
        details = {"text": text, "score": score, "min_score": self.min_score, "max_score": self.max_score}
        metrics = [Metric(name=self.metric, value=score)]
        if self.min_score is not None and score < self.min_score:
            message = f"{self.metric} is {score:.2f}, at least {self.min_score:g} was expected"
        elif self.max_score is not None and score > self.max_score:
            message = f"{self.metric} is {score:.2f}, at most {self.max_score:g} was expected"
        else:
            return Verdict(CheckStatus.PASS, f"{self.metric} is {score:.2f}", details, metrics)
        return Verdict(CheckStatus.FAIL, message, details, metrics)
