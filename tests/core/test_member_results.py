"""The results of a suite's members that no scenario was run for."""

import time

from giskard.checks import FnCheck, Interaction, Suite, TestCase, Trace

TRACE = Trace(interactions=[Interaction(inputs="q", outputs="a")])
ok = FnCheck(fn=lambda trace: True, name="ok")


def test_a_test_case_counts_as_the_first_trial_of_a_scenario_of_one_step():
    case = TestCase(trace=TRACE, checks=[ok], name="case", tags=["area:pay"])
    (result,) = Suite("all", [case]).run_sync(verbose=False).results

    assert (result.trial, result.runs_executed, result.multiple_runs) == (1, 1, 1)
    assert (result.scenario_name, result.tags) == ("case", ["area:pay"])
    assert [check.details["check_name"] for step in result.steps for check in step.results] == ["ok"]


def test_what_was_kept_from_running_is_counted_under_its_tags():
    late = FnCheck(fn=lambda trace: time.sleep(0.03), name="late")
    cases = [TestCase(trace=TRACE, checks=[check], name=check.name, tags=["area:pay"]) for check in (late, ok)]
    result = Suite("all", cases).run_sync(timeout=0.01, return_exception=True, verbose=False)

    kept = result.results[1]
    assert (kept.scenario_name, kept.runs_executed, kept.tags) == ("ok", 0, ["area:pay"])
    assert kept.steps[0].error.error_kind == "timeout"
    assert [check.status for check in kept.steps[0].results] == ["skip"]
