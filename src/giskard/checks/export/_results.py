"""What the exporters read: a suite's result, or a single one as a suite of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from giskard.checks.core.places import name_of_recording, recorded_at
from giskard.checks.core.result import ScenarioResult, TestCaseResult, roll_up, word_of_case

__all__ = ["AnyResult", "Member", "SuiteLike", "SuiteView", "as_suite", "refuse_other"]


@runtime_checkable
class SuiteLike(Protocol):
    """What a suite's result has."""

    results: list[ScenarioResult[Any]]
    duration_ms: int
    seconds: float
    recommendation: str | None


# A text, since parametrising a generic model makes a class.
AnyResult: TypeAlias = "SuiteLike | ScenarioResult[Any] | TestCaseResult"


@dataclass(frozen=True, kw_only=True)
class Member:
    """A scenario's result, or that of a test case, whose conversation is only kept until it is saved."""

    name: str
    status: str
    steps: Sequence[TestCaseResult]
    step_statuses: Sequence[str]
    seconds: float
    source: ScenarioResult[Any] | TestCaseResult
    scenario: ScenarioResult[Any] | None = None

    @property
    def nothing_checked(self) -> bool:
        """Whether it passed without a single verdict."""
        return self.status == "pass" and not any(step.has_verdict for step in self.steps)

    @property
    def recorded_at(self) -> str | None:
        """Where its conversation was recorded, as far as that is known."""
        if self.scenario is None:
            return self.source.recorded_at if isinstance(self.source, TestCaseResult) else None
        return recorded_at(self.scenario.final_trace.annotations)

    @property
    def turns(self) -> Sequence[Any]:
        """The turns of its conversation."""
        if self.scenario is not None:
            return self.scenario.final_trace.interactions
        trace = self.source.conversation if isinstance(self.source, TestCaseResult) else None
        return [] if trace is None else trace.interactions


@dataclass(frozen=True, kw_only=True)
class SuiteView:
    """A suite's result, whatever it was made of.

    Parameters
    ----------
    counts
        How many members ended in each of the four states.
    """

    name: str
    members: Sequence[Member]
    duration_ms: int
    seconds: float
    recommendation: str | None = None
    run_id: str | None = None
    timing: Any = None
    counts: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def pass_rate(self) -> float | None:
        """Passed among those that were not skipped; None when nothing counts."""
        counted = len(self.members) - self.counts["skip"]
        return self.counts["pass"] / counted if counted else None


def refuse_other(result: object) -> None:
    """Refuse what is no result.

    Raises
    ------
    TypeError
        Naming what it is.
    """
    if not isinstance(result, (ScenarioResult, TestCaseResult, SuiteLike)):
        raise TypeError(f"expected a SuiteResult, a ScenarioResult or a TestCaseResult, got {type(result).__name__}")


def as_suite(result: AnyResult) -> SuiteView:
    """`result` as a suite's; a single one is the only member of its own.

    Raises
    ------
    TypeError
        When it is no result at all.
    """
    refuse_other(result)
    if isinstance(result, ScenarioResult):
        return _view(result, result.scenario_name, [_of_scenario(result)])
    if isinstance(result, TestCaseResult):
        return _view(result, _title(result), [_of_case(result)])
    name = getattr(result, "suite_name", None) or getattr(getattr(result, "suite", None), "name", None) or "suite"
    return _view(result, str(name), [_of_scenario(item) for item in result.results])


def _view(result: Any, name: str, members: list[Member]) -> SuiteView:
    counts = {"pass": 0, "fail": 0, "error": 0, "skip": 0}
    for member in members:
        counts[member.status] += 1
    return SuiteView(
        name=name,
        members=members,
        duration_ms=result.duration_ms,
        seconds=result.seconds,
        recommendation=getattr(result, "recommendation", None),
        run_id=getattr(result, "run_id", None),
        timing=getattr(result, "timing", None),
        counts=counts,
    )


def _of_scenario(result: ScenarioResult[Any]) -> Member:
    statuses = [word_of_case(step) for step in result.steps]
    return Member(
        name=result.scenario_name,
        status=roll_up(statuses),
        steps=result.steps,
        step_statuses=statuses,
        seconds=result.seconds,
        source=result,
        scenario=result,
    )


def _title(result: TestCaseResult) -> str:
    if result.name or result.recorded_at:
        return str(result.name or result.recorded_at)
    trace = result.conversation
    return (None if trace is None else name_of_recording(trace.annotations)) or "test case"


def _of_case(result: TestCaseResult) -> Member:
    status = word_of_case(result)
    return Member(
        name=_title(result),
        status=status,
        steps=[result],
        step_statuses=[status],
        seconds=result.seconds,
        source=result,
    )
