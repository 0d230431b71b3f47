"""Time limits, also of what never awaits: a short ``time.sleep`` is code that takes too long."""

import asyncio
import contextlib
import threading
import time

import pytest

from giskard.checks import AllOf, Check, CheckResult, Equals, FnCheck, Interact, Interaction, Scenario, TestCase, Trace
from giskard.checks.core.check import CodeCheck
from giskard.checks.core.check_result import CheckStatus, Verdict
from giskard.checks.core.exceptions import LimitExceededError
from giskard.checks.core.limits import Limit
from giskard.checks.core.usage import Usage

LIMIT, LONGER = 0.01, 0.03


def too_long(*_):
    time.sleep(LONGER)


async def ended(limit, block):
    """What comes out of `block` within `limit`."""
    try:
        async with limit:
            return await block()
    except BaseException as error:
        return error


def outcome(block, seconds=LIMIT):
    limit = Limit(lambda: "too late", seconds=seconds)
    return limit, asyncio.run(ended(limit, block))


# --- the limit itself -----------------------------------------------------------------------------------------


async def hangs():
    await asyncio.Event().wait()


async def blocks():
    too_long()


async def swallows():
    with contextlib.suppress(asyncio.CancelledError):
        await hangs()


async def translates():
    try:
        await hangs()
    except asyncio.CancelledError:
        raise TimeoutError("the client's own words") from None


@pytest.mark.parametrize("block", [hangs, blocks, swallows, translates])
def test_what_takes_too_long_has_exceeded_the_limit(block):
    limit, error = outcome(block)

    assert isinstance(error, LimitExceededError)
    assert error is limit.error
    assert str(error) == "too late"


def test_what_was_ended_is_kept():
    assert isinstance(outcome(hangs)[0].stopped, asyncio.CancelledError)
    assert outcome(blocks)[0].stopped is None


@pytest.mark.parametrize("seconds", [20, LIMIT])
@pytest.mark.parametrize("error", [TimeoutError("own"), LimitExceededError("own"), ValueError("own"), SystemExit(1)])
def test_what_the_block_raises_is_its_own(error, seconds):
    async def block():
        if seconds == LIMIT:
            too_long()
        raise error

    limit, raised = outcome(block, seconds)

    assert raised is error
    assert limit.error is None


def test_the_limit_inside_speaks_for_itself():
    async def both():
        outer, inner = Limit(lambda: "outer", seconds=LIMIT), Limit(lambda: "inner", seconds=LIMIT)

        async def block():
            async with inner:
                too_long()

        error = await ended(outer, block)
        return inner.error is error, outer.error

    assert asyncio.run(both()) == (True, None)


def test_a_cancellation_of_somebody_else_comes_out():
    async def main():
        task = asyncio.ensure_future(ended(Limit(lambda: "too late", seconds=20), hangs))
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert isinstance(asyncio.run(main()), asyncio.CancelledError)


def test_in_time_nothing_happens():
    async def block():
        return "answer"

    assert outcome(block, 20)[1] == "answer"
    limit = Limit(lambda: "too late", deadline=0.0)  # the loop's clock is beyond that
    assert isinstance(asyncio.run(ended(limit, block)), LimitExceededError)


# --- checks -------------------------------------------------------------------------------------------------


class Slow(CodeCheck):
    def verdict(self, trace):
        too_long()
        return Verdict(CheckStatus.PASS)


class SlowRun(Check):
    def run(self, trace):
        too_long()
        return CheckResult.success("found", usage=Usage(calls=1))


class SlowAsync(Check):
    async def run(self, trace):
        too_long()
        return CheckResult.failure("not found")


class OwnTimeout(Check):
    def run(self, trace):
        too_long()
        raise TimeoutError("the database took too long")


class OwnLimit(Check):
    def run(self, trace):
        raise LimitExceededError("a limit of its own")


TRACE = Trace(interactions=[Interaction(inputs="q", outputs="a")])


def result_of(check):
    (result,) = TestCase(trace=TRACE, checks=[check]).run_sync(return_exception=True).results
    return result


@pytest.mark.parametrize(
    "check",
    [
        Slow(timeout=LIMIT),
        SlowRun(timeout=LIMIT),
        SlowAsync(timeout=LIMIT),
        AllOf(checks=[Slow(), Slow()], timeout=LIMIT),
        FnCheck(fn=lambda trace: too_long() is None, timeout=LIMIT),
    ],
    ids=lambda check: type(check).__name__,
)
def test_a_check_that_never_awaits_can_be_too_late(check):
    result = result_of(check)

    assert (result.status, result.error_kind, result.retryable) == ("error", "timeout", True)
    assert result.message == f"timeout after 0.01 s in the check {check.label!r}"


def test_the_usage_of_a_verdict_that_came_too_late_is_kept():
    assert result_of(SlowRun(timeout=LIMIT)).usage == Usage(calls=1)


def test_a_check_in_a_check_has_its_own_limit():
    result = result_of(AllOf(checks=[Slow(timeout=LIMIT)], timeout=20))

    assert (result.status, result.error_kind, result.retryable) == ("error", "timeout", True)


def test_a_timeout_error_of_the_check_itself_is_a_crash():
    result = result_of(OwnTimeout(timeout=LIMIT))

    assert (result.error_kind, result.retryable) == ("crash", False)
    assert result.message == "TimeoutError: the database took too long"


def test_a_limit_inside_of_a_check_is_a_timeout():
    result = result_of(OwnLimit(timeout=20))

    assert (result.error_kind, result.retryable) == ("timeout", True)
    with pytest.raises(LimitExceededError, match="of its own"):
        TestCase(trace=TRACE, checks=[OwnLimit(timeout=20)]).run_sync()


# --- targets and scenarios ----------------------------------------------------------------------------------


def test_a_target_that_never_awaits_can_be_too_late():
    async def target(inputs):
        too_long()
        return "a"

    result = Scenario("s").append(Interact(inputs="q", outputs=target, timeout=LIMIT)).run_sync(return_exception=True)

    error = result.steps[0].error
    assert (error.error_kind, error.phase, error.retryable) == ("timeout", "input_generation", True)
    assert error.message == "timeout after 0.01 s in the target, turn 1"
    assert not result.final_trace.interactions


def test_a_scenario_that_never_awaits_can_be_too_late():
    scenario = Scenario("s", timeout=LIMIT).interact("q", "a").check(FnCheck(fn=lambda trace: too_long() is None))
    for return_exception in (True, False):
        result = scenario.run_sync(return_exception=return_exception)

        (step,) = result.steps
        assert result.errored
        assert (step.error.error_kind, step.error.phase, step.error.retryable) == ("timeout", "limit", True)
        assert step.error.message == "timeout after 0.01 s in the scenario, step 1"
        assert step.results[0].passed  # what was found is kept


def test_the_time_is_said_to_be_over_in_the_step_that_took_it():
    scenario = (
        Scenario("s", timeout=LIMIT, multiple_runs=2)
        .interact("q", "a")
        .check(FnCheck(fn=lambda trace: too_long() is not None))
        .interact("r", "b")
        .check(Equals(expected_value="b", target_key="trace.last.outputs"))
    )
    result = scenario.run_sync(return_exception=True)

    first, second = result.steps
    assert first.error.message == "timeout after 0.01 s in the scenario, step 1"
    assert first.results[0].failed
    assert second.error is None and second.skipped
    assert result.runs_executed == 1


def test_the_pool_of_a_run_can_be_blocked_by_a_function_of_a_check():
    release, threads = threading.Event(), []

    def hang(trace):
        threads.append(threading.current_thread())
        release.wait(20)

    checks = [FnCheck(fn=hang, timeout=0.2), FnCheck(fn=lambda trace: True, timeout=20)]
    result = Scenario("s").interact("q", "a").checks(*checks).run_sync()
    release.set()
    threads[0].join(20)

    first, second = result.steps[0].results
    assert (first.error_kind, second.error_kind, second.retryable) == ("timeout", "timeout", True)
    assert second.message.startswith("no worker thread is free: 1 call that timed out has not returned")
    assert not threads[0].is_alive()


def test_a_check_with_a_time_limit_looks_at_the_trace():
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a")])
    seen = []

    class Looks(Check):
        async def run(self, trace):
            seen.append(trace)
            return CheckResult.success("seen")

    assert TestCase(trace=trace, checks=[Looks(timeout=20), Looks()]).run_sync().passed
    assert seen[0] is seen[1] is trace
