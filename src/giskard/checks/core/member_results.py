"""The results of a suite's members that no scenario was run for: a test case, and what was kept from running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giskard.checks.core.execution import RunOptions, identities, skipped
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import construct
from giskard.checks.core.places import name_of_recording
from giskard.checks.core.result import ScenarioResult, TestCaseError, TestCaseResult

if TYPE_CHECKING:
    from giskard.checks.core.scenario import Scenario
    from giskard.checks.core.testcase import TestCase

__all__ = ["case_result", "not_run", "title_of"]


def title_of(member: Scenario | TestCase) -> str:
    """What reports call a member: its name, else that of the recording that it is about."""
    if member.name:
        return member.name
    trace = getattr(member, "trace", None)
    return (None if trace is None else name_of_recording(trace.annotations)) or "Unnamed test case"


def case_result(case: TestCase, result: TestCaseResult, scenario_id: str, options: RunOptions) -> ScenarioResult:
    """The result of a test case as that of a scenario of one step."""
    return construct(
        ScenarioResult,
        {
            "steps": [result],
            "duration_ms": result.duration_ms,
            "final_trace": case.trace,
            "trial": 1,
            "conversation_id": None,
            "timing": result.__dict__["timing"],
            "scenario_name": title_of(case),
            "multiple_runs": 1,
            "runs_executed": 1,
            "tags": list(case.tags),
            "scenario_id": scenario_id,
            "run_id": options.run_id,
            "earlier_attempts": [],
        },
    )


def not_run(
    member: Scenario | TestCase,
    scenario_id: str,
    options: RunOptions,
    error: TestCaseError,
) -> ScenarioResult:
    """The result of a scenario or test case that `error` kept from running: it is marked, not left out."""
    steps = getattr(member, "steps", [member])
    results: list[TestCaseResult] = []
    ids = iter(identities(check for step in steps for check in step.checks))
    for step in steps:
        skips = [skipped(check, next(ids)) for check in step.checks]
        results.append(TestCaseResult(results=skips, run_id=options.run_id))
    results[:1] = [(results[0] if results else TestCaseResult(results=[])).model_copy(update={"error": error})]
    return ScenarioResult(
        scenario_name=title_of(member),
        steps=results,
        final_trace=getattr(member, "trace", None) or Trace(),
        runs_executed=0,
        tags=list(member.tags),
        scenario_id=scenario_id,
        run_id=options.run_id,
    )
