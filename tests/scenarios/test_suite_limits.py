"""The time that a whole run has, and threads that do not come back."""

import asyncio
import sys
import threading
import time

import pytest

from giskard.checks import FnCheck, Interact, Interaction, Scenario, Suite, TestCase, Trace
from giskard.checks.core.exceptions import LimitExceededError
from giskard.checks.utils import threads

LIMIT, LONGER = 0.01, 0.03


def too_long(trace):
    time.sleep(LONGER)
    return True


def case(fn, name="slow"):
    return TestCase(
        name=name, trace=Trace(interactions=[Interaction(inputs="q", outputs="a")]), checks=[FnCheck(fn=fn)]
    )


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("return_exception", [False, True])
def test_a_run_that_never_awaits_can_be_too_late(parallel, return_exception):
    members = [case(too_long), Scenario("s").interact("q", "a").check(FnCheck(fn=too_long)), case(too_long, "third")]
    result = Suite(name="suite", scenarios=members).run_sync(
        parallel=parallel, return_exception=return_exception, timeout=LIMIT, verbose=False
    )

    first = result.results[0].steps[0]
    assert first.error.message == "timeout after 0.01 s of the whole run"
    assert (first.error.error_kind, first.error.phase, first.error.retryable) == ("timeout", "limit", True)
    assert first.results[0].passed  # what was found is kept
    for later in result.results[1:]:
        assert later.errored
        assert later.steps[0].error.error_kind == "timeout"


def test_a_scenario_that_ends_too_late_for_the_run_is_an_error():
    scenario = Scenario("s").interact("q", "a").check(FnCheck(fn=too_long))
    result = Suite(name="suite", scenarios=[scenario]).run_sync(timeout=LIMIT, verbose=False)

    (step,) = result.results[0].steps
    assert step.error.message == "timeout after 0.01 s of the whole run, step 1"
    assert step.results[0].passed


def test_a_limit_that_a_check_raises_itself_comes_out():
    def raises(trace):
        raise LimitExceededError("its own")

    with pytest.raises(LimitExceededError, match="its own"):
        Suite(name="suite", scenarios=[case(raises)]).run_sync(timeout=20, verbose=False)
    (result,) = (
        Suite(name="suite", scenarios=[case(raises)]).run_sync(timeout=20, verbose=False, return_exception=True).results
    )
    assert (result.steps[0].results[0].error_kind, result.steps[0].error) == ("timeout", None)


def test_a_target_that_never_returns_does_not_hang_the_scenarios_after_it():
    release, held = threading.Event(), []

    def never_returns(inputs):
        held.append(threading.current_thread())
        release.wait(30)

    def answers(inputs):
        return "a"

    scenarios = [
        Scenario("hangs").append(Interact(inputs="q", outputs=never_returns, timeout=0.2)),
        Scenario("waits").interact("q", answers),
        Scenario("comes later").interact("q", answers),
        Scenario("needs no thread").interact("q", "a"),
    ]
    result = Suite(name="suite", scenarios=scenarios).run_sync(return_exception=True, verbose=False)
    release.set()
    held[0].join(20)

    assert not held[0].is_alive()
    errors = [scenario.steps[0].error for scenario in result.results]
    assert errors[0].message == "timeout after 0.2 s in the target, turn 1"
    for error in errors[1:3]:
        assert (error.error_kind, error.retryable) == ("timeout", True)
        assert error.exception_type == "NoFreeThreadError"
        assert error.message.startswith("no worker thread is free: 1 call that timed out has not returned")
    assert errors[3] is None


def test_a_target_that_is_slow_to_return_costs_the_next_scenario_only_time(monkeypatch):
    monkeypatch.setattr(threads, "_LEAST_PATIENCE", 20)
    began, release = threading.Event(), threading.Event()

    def slow(inputs):
        began.set()
        release.wait(30)

    async def inputs_that_release():
        release.set()
        yield "q"

    scenarios = [
        Scenario("slow").append(Interact(inputs="q", outputs=slow, timeout=0.2)),
        Scenario("next").append(Interact(inputs=inputs_that_release, outputs=lambda inputs: "a")),
    ]
    result = Suite(name="suite", scenarios=scenarios).run_sync(return_exception=True, verbose=False)

    assert began.is_set()
    assert [scenario.status for scenario in result.results] == ["error", "pass"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="tasks begin eagerly from Python 3.12 on")
def test_an_eager_task_that_fails_at_once_comes_out_as_it_is():
    def crash(trace):
        raise KeyError("first")

    async def main():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        await Suite(name="suite", scenarios=[case(crash), case(crash), case(crash)]).run(parallel=True, verbose=False)

    with pytest.raises(KeyError, match="first"):
        asyncio.run(main())


def test_what_was_not_run_keeps_the_trace_that_it_would_have_checked():
    result = Suite(name="suite", scenarios=[case(too_long), case(too_long, "later")]).run_sync(
        return_exception=True, timeout=LIMIT, verbose=False
    )
    later = result.results[1]
    assert later.scenario_name == "later"
    assert [turn.inputs for turn in later.final_trace.interactions] == ["q"]
