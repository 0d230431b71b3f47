"""Running scenarios, alone and in suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giskard.checks.utils.lazy import lazy_names

if TYPE_CHECKING:
    from giskard.checks.scenarios.replay import RecordedInput, scenario_from_trace
    from giskard.checks.scenarios.runner import ScenarioRunner, get_runner
    from giskard.checks.scenarios.suite import GroupedSuiteResult, GroupStats, Suite, SuiteResult

__all__ = [
    "GroupStats",
    "GroupedSuiteResult",
    "RecordedInput",
    "ScenarioRunner",
    "Suite",
    "SuiteResult",
    "get_runner",
    "scenario_from_trace",
]

__getattr__ = lazy_names(
    __name__,
    {
        "replay": ["RecordedInput", "scenario_from_trace"],
        "runner": ["ScenarioRunner", "get_runner"],
        "suite": ["GroupStats", "GroupedSuiteResult", "Suite", "SuiteResult"],
    },
)
