"""What the checks share that hold a conversation against several named criteria."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from giskard.checks.core.result import CheckResult, Metric
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._verdicts import Verdicts, cannot_tell, details_of, verdicts_type
from giskard.checks.judges.base import BaseLLMCheck

__all__ = ["ByCriteria", "Required", "keys_of"]

Required: TypeAlias = Literal["all", "any"] | Annotated[int, Field(strict=True, ge=1)]

# What every provider takes as a key of an answer.
_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ByCriteria(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """A check that asks for several verdicts in one call.

    Parameters
    ----------
    require
        How many criteria must be met: ``"all"``, ``"any"``, or a number.
    """

    _share: ClassVar[str]
    """The name of the metric with the share of the criteria that are met."""

    require: Required = "all"

    def _names(self) -> list[str]:
        """The names of the criteria."""
        raise NotImplementedError

    def _needed(self) -> int:
        """How many of them must be met."""
        if isinstance(self.require, int):
            return self.require
        return len(self._names()) if self.require == "all" else 1

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        count = len(self._names())
        if isinstance(self.require, int) and self.require > count:
            raise ValueError(f"require is {self.require}, and there are {count} criteria")
        return self

    @property
    def output_type(self) -> type[Verdicts]:
        """A verdict for each criterion."""
        return verdicts_type(keys_of(self._names()))

    def _handle_output(self, output: Any, inputs: dict[str, Any], trace: TraceT) -> CheckResult:
        verdicts = dict(zip(self._names(), output.in_order(), strict=True))
        said = {name: {"passed": verdict.passed, "reason": verdict.reason} for name, verdict in verdicts.items()}
        details = details_of(inputs, criteria=said)
        untold = [name for name, verdict in verdicts.items() if verdict.passed is None]
        if untold:
            reasons = "; ".join(f"{name}: {verdicts[name].reason}" for name in untold if verdicts[name].reason)
            raise cannot_tell(reasons, details, f" about {', '.join(map(repr, untold))}")
        met = [name for name, verdict in verdicts.items() if verdict.passed]
        metrics = [Metric(name=name, value=int(name in met)) for name in verdicts]
        metrics.append(Metric(name=self._share, value=len(met) / len(verdicts)))
        unmet = [
            f"{name}: {verdict.reason or 'no reason given'}" for name, verdict in verdicts.items() if name not in met
        ]
        message = f"{len(met)} of {len(verdicts)} criteria are met"
        if unmet:
            message += f", not met are: {'; '.join(unmet)}"
        return (CheckResult.success if len(met) >= self._needed() else CheckResult.failure)(message, details, metrics)


def keys_of(names: Sequence[str]) -> tuple[str, ...]:
    """The keys that the judge answers under: the names, or numbered ones where a name is no word.

    Examples
    --------
    >>> keys_of(["polite", "to-the-point"]), keys_of(["polite", "Is it short?"])
    (('polite', 'to-the-point'), ('criterion_1', 'criterion_2'))
    """
    if all(map(_KEY.fullmatch, names)):
        return tuple(names)
    return tuple(f"criterion_{number}" for number in range(1, len(names) + 1))
