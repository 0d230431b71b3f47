"""A run that is asked to stop stops, keeps what is finished, and nothing that only looks like it stops a run."""

import asyncio
import contextlib
import subprocess
import sys
import textwrap
import time

import pytest

from giskard.checks import CheckResult, FnCheck, Scenario, Suite, TestCase, Trace
from giskard.checks.core.check import Check
from giskard.checks.core.exceptions import RunInterruptedError

OK = FnCheck(fn=lambda trace: True, name="ok")


def busy(trace):
    """A check that works for a while and never awaits."""
    end = time.perf_counter() + 0.02
    while time.perf_counter() < end:
        pass
    return True


SCRIPT = """
import os, signal, threading
from giskard.checks import FnCheck, RunInterruptedError, Scenario, Suite, TestCase, Trace
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start with it ignored
ran = []
def work(trace):
    ran.append(1)
    if len(ran) == 2:
        os.kill(os.getpid(), signal.SIGINT)
    end = __import__("time").perf_counter() + 0.02
    while __import__("time").perf_counter() < end: pass
    return True
check = FnCheck(fn=work)
runs = {
    "suite": Suite(name="s", scenarios=[TestCase(name=f"t{i}", trace=Trace(), checks=[check]) for i in range(20)]),
    "case": TestCase(trace=Trace(), checks=[check] * 20),
    "scenario": Scenario("s").interact("q", "a").checks(*[check] * 20),
}
options = {"verbose": False} if KIND == "suite" else {}
try:
    runs[KIND].run_sync(return_exception=True, **options)
except RunInterruptedError as stopped:
    print(len(ran) < 20, stopped.result.status.value, type(stopped.result).__name__)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends itself a signal")
@pytest.mark.parametrize("kind", ["suite", "case", "scenario"])
def test_ctrl_c_reaches_a_run_that_never_waits(kind):
    script = f"KIND = {kind!r}\n{textwrap.dedent(SCRIPT)}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout.split()[:2] == ["True", "error"], done.stderr


def test_other_tasks_get_their_turn_during_checks_that_never_wait():
    async def main():
        beats = 0

        async def heart():
            nonlocal beats
            while True:
                beats += 1
                await asyncio.sleep(0)

        beating = asyncio.create_task(heart())
        await Scenario("s").interact("q", "a").checks(*[FnCheck(fn=busy)] * 5).run()
        beating.cancel()
        return beats

    assert asyncio.run(main()) >= 4


def test_a_limit_ends_a_generator_that_never_ends():
    async def endless(trace):
        while True:
            yield "again"

    result = Scenario("s", timeout=0.1).interact(endless, "a").check(OK).run_sync()

    assert result.errored
    assert "timeout after 0.1 s" in result.steps[0].error.message
    assert result.final_trace.interactions


def test_a_limit_counts_between_checks_and_attempts():
    slow = Scenario("slow", timeout=0.05).interact("q", "a").checks(*[FnCheck(fn=busy)] * 6)
    suite = Suite(name="s", scenarios=[Scenario("x", multiple_runs=50).interact("q", "a").check(FnCheck(fn=busy))])

    assert slow.run_sync().steps[0].error.error_kind == "timeout"
    assert suite.run_sync(timeout=0.1, verbose=False).errored


class Closing:
    async def __aenter__(self):
        return lambda inputs: "y"

    async def __aexit__(self, *_):
        raise ValueError("close failed")


async def swallow(inputs):
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    return "sorry"


class Swallowing(Check):
    async def run(self, trace):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return CheckResult.success("late")


@pytest.mark.parametrize(
    "member",
    [
        Scenario("s", target_factory=Closing()).interact("q").check(Swallowing()),
        Scenario("s").interact("q", swallow).check(OK),
        Scenario("s").interact("q", "a").check(Swallowing()),
        TestCase(name="s", trace=Trace(), checks=[Swallowing()]),
    ],
    ids=["a cleanup fails", "the target swallows it", "a check swallows it", "a check of a test case swallows it"],
)
@pytest.mark.parametrize("parallel", [False, True])
def test_a_real_cancellation_is_never_lost(member, parallel):
    ran = []
    suite = Suite(name="all", scenarios=[member, Scenario("next").interact("q", lambda inputs: ran.append(1))])

    async def main():
        run = asyncio.create_task(suite.run(return_exception=True, parallel=parallel, max_concurrency=1, verbose=False))
        for _ in range(50):
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError) as stopped:
            await run
        return stopped.value.partial_result

    result = asyncio.run(main())
    assert [item.status.value for item in result.results] == ["error", "error"]
    assert not ran


def test_generator_exit_of_user_code_is_an_error_like_any_other():
    def leave(_):
        raise GeneratorExit

    suite = Suite(
        name="s",
        scenarios=[
            Scenario("check").interact("q", "a").check(FnCheck(fn=leave)),
            Scenario("target").interact("q", leave).check(OK),
            Scenario("next").interact("q", "a").check(OK),
        ],
    )
    result = suite.run_sync(return_exception=True, verbose=False)

    assert [item.status.value for item in result.results] == ["error", "error", "pass"]
    assert "GeneratorExit" in result.results[0].steps[0].results[0].message


def test_a_keyboard_interrupt_of_a_target_keeps_the_steps_before():
    def interrupt(inputs):
        raise KeyboardInterrupt

    scenario = Scenario("s").interact("a", "b").check(OK).interact("x", interrupt).check(OK)
    with pytest.raises(KeyboardInterrupt) as stopped:
        Suite(name="s", scenarios=[scenario]).run_sync(return_exception=True, verbose=False)

    (result,) = stopped.value.result.results
    assert [step.status.value for step in result.steps] == ["pass", "error"]
    assert len(result.final_trace.interactions) == 1


def test_an_attempt_that_passed_with_a_skip_does_not_end_the_attempts():
    skip = FnCheck(fn=lambda trace: CheckResult.skip("n/a"))
    scenario = Scenario("s").interact("a", "b").check(OK).interact("b", "c").check(skip)

    assert scenario.run_sync(multiple_runs=3).runs_executed == 3


def test_a_strict_run_of_an_empty_suite_is_an_error():
    result = Suite(name="empty").run_sync(strict=True, verbose=False)

    assert result.errored
    assert "nothing was checked" in result.format_failures()[0]


@pytest.mark.parametrize("error", [ValueError, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_an_observer_cannot_disturb_a_run(error):
    class Broken:
        def notify(self, event):
            raise error("broken observer")

    suite = Suite(name="s", scenarios=[TestCase(name="a", trace=Trace(), checks=[OK]), Scenario("b")])
    with pytest.warns(RuntimeWarning, match="failed at"):
        result = suite.run_sync(observers=[Broken()], verbose=False)

    assert [item.status.value for item in result.results] == ["pass", "pass"]


def test_an_observer_cannot_disturb_a_run_where_warnings_are_errors(caplog):
    class Broken:
        def notify(self, event):
            raise ValueError("broken observer")

    assert Scenario("s").interact("q", "a").check(OK).run_sync(observers=[Broken()]).passed
    assert "broken observer" in caplog.text


def test_checks_say_where_they_run():
    events = []

    class Log:
        def notify(self, event):
            events.append(event)

    scenario = Scenario("s").interact("q", "a").check(OK).interact("q", "a").check(OK)
    result = scenario.run_sync(observers=[Log()])
    checks = [event for event in events if event.kind == "check_ended"]

    assert [(event.scenario_name, event.trial, event.step_index, event.check_id) for event in checks] == [
        ("s", 1, 0, "ok"),
        ("s", 1, 1, "ok#2"),
    ]
    assert {event.run_id for event in checks} == {result.run_id}


def test_an_interrupted_run_says_where_its_results_are():
    error = RunInterruptedError("result")
    assert str(error) == "the run was interrupted; what was finished is in .result"
    assert error.result == "result"
