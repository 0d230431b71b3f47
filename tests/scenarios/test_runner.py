"""The runner of scenarios."""

import asyncio

from giskard.checks import MISSING, FnCheck, Scenario, ScenarioRunner
from giskard.checks.scenarios.runner import get_runner

ok = FnCheck(fn=lambda trace: True)


def test_there_is_one_runner():
    assert get_runner() is get_runner()
    assert isinstance(get_runner(), ScenarioRunner)


def test_it_runs_a_scenario_as_its_own_run_does():
    scenario = Scenario("s").interact("q").check(ok)

    def target(inputs):
        return "x"

    result = asyncio.run(get_runner().run(scenario, target, multiple_runs=2))
    assert result.passed
    assert result.runs_executed == 2
    assert result.final_trace.last.outputs == "x"


def test_a_target_of_none_is_no_target():
    scenario = Scenario("s", target=lambda inputs: "own").interact("q")

    for target in (None, MISSING):
        assert asyncio.run(ScenarioRunner().run(scenario, target=target)).final_trace.last.outputs == "own"
    bare = Scenario("s").interact("q")
    result = asyncio.run(ScenarioRunner().run(bare, None, return_exception=True))
    assert result.errored
    assert "MISSING" in result.steps[0].error.message


def test_options_are_passed_on():
    result = asyncio.run(ScenarioRunner().run(Scenario("s"), strict=True))

    assert result.errored
