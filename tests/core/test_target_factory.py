"""Targets that are made for one attempt: what it costs when making or closing one fails."""

import asyncio
import contextlib
from contextlib import asynccontextmanager, contextmanager

import pytest

from giskard.checks import Equals, FnCheck, Scenario
from giskard.checks.core.exceptions import RunInterruptedError

PASSES = Equals(expected_value="a", target_key="trace.last.outputs")
FAILS = Equals(expected_value="b", target_key="trace.last.outputs")


def answer(inputs):
    return "a"


def fail(words):
    raise ValueError(words)


def scenario(factory, *checks):
    return Scenario("s", target_factory=factory).interact("q").checks(*checks or [PASSES]).interact("r").check(PASSES)


def run(factory, *checks):
    return scenario(factory, *checks).run_sync(return_exception=True)


def cannot_be_made():
    fail("no server")


@asynccontextmanager
async def cannot_be_entered():
    fail("no server")
    yield answer


@pytest.mark.parametrize("factory", [cannot_be_made, cannot_be_entered, lambda: lambda a, b: None])
def test_a_target_that_cannot_be_had_is_an_error_of_the_setup(factory):
    result = run(factory)

    first, second = result.steps
    assert first.error.phase == "setup"
    assert first.skipped is False and first.results[0].skipped
    assert second.error is None and second.skipped


@asynccontextmanager
async def cannot_be_closed():
    yield answer
    fail("not closed")


class Closing:
    def __call__(self, inputs):
        return "a"

    def close(self):
        fail("not closed")


@pytest.mark.parametrize("factory", [cannot_be_closed, Closing])
@pytest.mark.parametrize(("check", "index"), [(PASSES, 1), (FAILS, 0)])
def test_a_target_that_cannot_be_closed_is_an_error_of_the_last_step_that_ran(factory, check, index):
    result = run(factory, check)

    assert [step.error is None for step in result.steps] == [index != 0, index != 1]
    error = result.steps[index].error
    assert (error.phase, error.message, error.error_kind) == ("teardown", "not closed", "crash")
    assert result.errored
    with pytest.raises(ValueError, match="not closed"):
        scenario(factory, check).run_sync()


@contextmanager
def fails_too():
    try:
        yield answer
    finally:
        fail("not closed")


@contextmanager
def suppresses():
    with contextlib.suppress(BaseException):
        yield answer


def crash(trace):
    raise KeyError("first")


@pytest.mark.parametrize(("factory", "notes"), [(fails_too, 1), (suppresses, 0)])
def test_what_failed_first_is_what_is_told(factory, notes):
    def broken(inputs):
        raise KeyError("first")

    steps = Scenario("s", target_factory=factory).interact("q").interact("r", broken)
    result = steps.run_sync(return_exception=True)

    assert result.steps[0].error.exception_type == "KeyError"
    assert result.steps[0].error.phase == "input_generation"
    assert ("Closing the target failed too: ValueError: not closed" in result.steps[0].error.traceback) == bool(notes)
    with pytest.raises(KeyError, match="first"):
        steps.run_sync()


def test_a_limit_that_runs_out_is_told_whatever_closing_makes_of_it():
    async def hang(inputs):
        await asyncio.Event().wait()

    for factory in (fails_too, suppresses):
        steps = Scenario("s", target_factory=factory, timeout=0.01).interact("q").interact("r", hang)
        (step,) = steps.run_sync(return_exception=True).steps

        assert (step.error.phase, step.error.error_kind) == ("limit", "timeout")


def test_a_check_that_crashes_is_an_error_of_the_checks():
    (step, _) = run(lambda: answer, FnCheck(fn=crash)).steps
    assert step.results[0].error_kind == "crash"
    with pytest.raises(KeyError):
        scenario(fails_too, FnCheck(fn=crash)).run_sync()


def test_the_first_failure_has_no_note_of_itself():
    def broken(inputs):
        raise KeyError("first")

    with pytest.raises(KeyError) as raised:
        Scenario("s", target_factory=contextlib.nullcontext).interact("q", broken).run_sync()
    assert getattr(raised.value, "__notes__", []) == []


def test_ctrl_c_while_a_target_is_closed_comes_out_whatever_failed_before():
    @contextmanager
    def interrupted():
        try:
            yield answer
        finally:
            raise KeyboardInterrupt

    def broken(inputs):
        raise KeyError("first")

    with pytest.raises((KeyboardInterrupt, RunInterruptedError)):
        Scenario("s", target_factory=interrupted).interact("q", broken).run_sync(return_exception=True)
