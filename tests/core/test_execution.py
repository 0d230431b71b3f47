"""Runs: what comes out when something goes wrong, and what a run keeps apart from the others."""

import asyncio
import contextlib
import contextvars
import sys
import threading

import pytest

from giskard.checks import (
    CheckResult,
    FnCheck,
    Interact,
    Interaction,
    InteractionSpec,
    LimitExceededError,
    Scenario,
    ScenarioResult,
    ScenarioRunner,
    Trace,
)

ok = FnCheck(fn=lambda trace: True, name="ok")
bad = FnCheck(fn=lambda trace: False, name="bad")


def crash(inputs):
    raise ConnectionError("peer hung up")


# --- crashes of the target -----------------------------------------------------------------------------


def test_without_return_exception_the_original_comes_out_untouched():
    cause, context = KeyError("cause"), OSError("context")

    def target(inputs):
        try:
            raise context
        except OSError:
            raise ConnectionError("peer hung up") from cause

    with pytest.raises(ConnectionError, match="peer hung up") as raised:
        Scenario("s").interact("q", target).run_sync()
    assert raised.value.__cause__ is cause
    assert raised.value.__context__ is context

    async def bare(inputs):
        raise ConnectionError("peer hung up")

    with pytest.raises(ConnectionError) as raised:
        Scenario("s").interact("q", bare).run_sync()
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_with_return_exception_the_step_says_what_happened():
    scenario = (
        Scenario("s").interact("a", "x").check(ok).interact("b", "y").interact("c", crash).checks(ok, bad).check(ok)
    )
    scenario.interact("d", "z").check(ok).interact("e", "z")
    result = scenario.run_sync(return_exception=True)

    first, second, third, fourth = result.steps
    assert result.errored
    assert first.passed
    assert second.errored
    assert second.error.phase == "input_generation"
    assert second.error.exception_type == "ConnectionError"
    assert second.error.message == "peer hung up"
    assert second.error.error_kind == "crash"
    assert "in crash" in second.error.traceback
    assert [r.status for r in second.results] == ["skip", "skip", "skip"]
    assert [r.name for r in second.results] == ["ok", "bad", "ok"]
    assert [r.name for r in third.results] == ["ok"]
    assert third.skipped
    assert [r.name for r in fourth.results] == ["step"]
    assert fourth.skipped
    assert [turn.inputs for turn in result.final_trace.interactions] == ["a", "b"]
    assert [step.last_interaction_index for step in result.steps] == [0, 1, None, None]


async def raises_exit(inputs):
    sys.exit(3)


async def leaks_cancellation(inputs):
    raise asyncio.CancelledError("leaked")


async def cancels_its_own_work(inputs):
    task = asyncio.ensure_future(asyncio.Event().wait())
    task.cancel()
    await task


def exits(inputs):
    sys.exit(3)


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


async def raises_unprintable(inputs):
    raise Unprintable


async def raises_group(inputs):
    raise ExceptionGroup("many", [ValueError("a"), KeyError("b")])


async def raises_bare(inputs):
    class Odd(BaseException):
        pass

    raise Odd("odd")


HOSTILE = [
    (raises_exit, "SystemExit", "crash"),
    (exits, "SystemExit", "crash"),
    (leaks_cancellation, "CancelledError", "cancelled"),
    (cancels_its_own_work, "CancelledError", "cancelled"),
    (raises_unprintable, "Unprintable", "crash"),
    (raises_group, "ExceptionGroup", "crash"),
    (raises_bare, "Odd", "crash"),
]


@pytest.mark.parametrize(("fail", "name", "kind"), HOSTILE)
def test_hostile_failures_of_a_target_are_errors_of_its_scenario(fail, name, kind):
    result = Scenario("s").interact("q", fail).check(ok).run_sync(return_exception=True)

    assert result.errored
    assert result.steps[0].error.exception_type == name
    assert result.steps[0].error.error_kind == kind
    assert result.model_dump_json()


@pytest.mark.parametrize(("fail", "name", "kind"), HOSTILE)
def test_hostile_failures_of_a_check_are_errors_and_the_next_check_runs(fail, name, kind):
    scenario = Scenario("s").interact("q", "a").checks(FnCheck(fn=fail, name="hostile"), ok)
    result = scenario.run_sync(return_exception=True)

    hostile, after = result.steps[0].results
    assert hostile.errored
    assert hostile.details["exception_type"] == name
    assert "Traceback" in hostile.details["traceback"] or name == "Unprintable"
    assert hostile.error_kind == kind
    assert name in hostile.message
    assert after.passed


@pytest.mark.parametrize(("fail", "name", "kind"), HOSTILE)
def test_hostile_failures_come_out_without_return_exception(fail, name, kind):
    async def main():
        try:
            await Scenario("s").interact("q", fail).run()
        except BaseException as error:
            return type(error).__name__

    assert asyncio.run(main()) == name


# --- real cancellation -----------------------------------------------------------------------------------


def test_a_real_cancellation_comes_out_with_what_is_finished():
    async def main():
        reached = asyncio.Event()

        async def hang(inputs):
            reached.set()
            await asyncio.Event().wait()

        scenario = Scenario("s").interact("a", "x").check(ok).interact("b", hang).check(ok)
        task = asyncio.ensure_future(scenario.run(return_exception=True))
        await reached.wait()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as cancelled:
            return cancelled.partial_result

    result = asyncio.run(main())
    assert isinstance(result, ScenarioResult)
    assert result.errored
    assert [step.status for step in result.steps] == ["pass", "error"]
    assert result.steps[1].error.error_kind == "cancelled"
    assert [turn.inputs for turn in result.final_trace.interactions] == ["a"]


def test_a_cancelled_check_keeps_the_results_before_it():
    async def main():
        reached = asyncio.Event()

        async def hang(trace):
            reached.set()
            await asyncio.Event().wait()

        scenario = Scenario("s").interact("a", "x").checks(ok, FnCheck(fn=hang, name="hang"), ok)
        task = asyncio.ensure_future(scenario.run(return_exception=True))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        return cancelled.value.partial_result

    [step] = asyncio.run(main()).steps
    assert [r.status for r in step.results] == ["pass", "skip", "skip"]
    assert step.error.error_kind == "cancelled"


def test_cleanup_in_the_target_runs_in_its_task_when_cancelled():
    cleaned = []

    async def main():
        reached = asyncio.Event()

        async def hang(inputs):
            task = asyncio.current_task()
            try:
                reached.set()
                await asyncio.Event().wait()
            finally:
                cleaned.append(asyncio.current_task() is task)

        task = asyncio.ensure_future(Scenario("s").interact("b", hang).run())
        await reached.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cleaned == [True]


# --- attempts --------------------------------------------------------------------------------------------


def test_runs_end_at_the_first_that_is_not_pass():
    traces = []

    def target(inputs, trial):
        traces.append(trial)
        return trial

    scenario = Scenario("s", multiple_runs=5).interact("q", target)
    scenario.check(FnCheck(fn=lambda trace: trace.last.outputs < 3))
    result = scenario.run_sync()

    assert result.failed
    assert (result.multiple_runs, result.runs_executed) == (5, 3)
    assert traces == [1, 2, 3]
    assert [len(attempt.final_trace.interactions) for attempt in result.attempts] == [1, 1, 1]
    assert [attempt.trial for attempt in result.attempts] == [1, 2, 3]
    assert [attempt.status for attempt in result.attempts] == ["pass", "pass", "fail"]
    assert len({attempt.conversation_id for attempt in result.attempts}) == 3
    assert result.trial == 3
    assert result.timing.seconds >= sum(attempt.timing.seconds for attempt in result.earlier_attempts)


def test_all_runs_are_made_when_they_pass():
    result = Scenario("s").interact("q", "a").check(ok).run_sync(multiple_runs=3)

    assert result.passed
    assert (result.multiple_runs, result.runs_executed) == (3, 3)


def test_a_skipped_run_ends_it_too():
    skip = FnCheck(fn=lambda trace: CheckResult.skip("not now"))

    assert Scenario("s").interact("q", "a").check(skip).run_sync(multiple_runs=3).runs_executed == 1


@pytest.mark.parametrize("runs", [0, -1, True, 1.0, "2"])
def test_an_impossible_number_of_runs_is_refused(runs):
    with pytest.raises(ValueError, match="multiple_runs"):
        Scenario("s", multiple_runs=runs)


# --- targets ---------------------------------------------------------------------------------------------


def named(name):
    return lambda inputs: name


def test_the_run_argument_wins_over_the_scenario_and_only_missing_outputs_are_bound():
    scenario = Scenario("s", target=named("scenario")).interact("q").interact("r", "own").interact("t", None)
    dumped = scenario.model_dump()

    def outputs(result):
        return [turn.outputs for turn in result.final_trace.interactions]

    assert outputs(scenario.run_sync()) == ["scenario", "own", None]
    assert outputs(scenario.run_sync(named("run"))) == ["run", "own", None]
    assert outputs(asyncio.run(ScenarioRunner().run(scenario, target=None))) == ["scenario", "own", None]
    assert outputs(scenario.run_sync(target="a value")) == ["a value", "own", None]
    assert scenario.model_dump() == dumped


def test_a_target_that_nothing_can_call_is_an_error():
    result = Scenario("s", target=lambda a, b: None).interact("q").run_sync(return_exception=True)

    assert result.errored
    assert "'a', 'b'" in result.steps[0].error.message


class Session:
    """A target with something to close."""

    def __init__(self, log):
        self.log = log
        log.append("open")

    def __call__(self, inputs):
        self.log.append(inputs)
        if inputs == "crash":
            raise ValueError("boom")
        return "x"


class Closing(Session):
    def close(self):
        self.log.append("close")


class AsyncClosing(Session):
    async def aclose(self):
        self.log.append("close")


class Manager(Session):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.log.append("close")


class AsyncManager(Session):
    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.log.append("close")


def as_async_function(log):
    async def make():
        return Closing(log)

    return make


def as_async_context(log):
    @contextlib.asynccontextmanager
    async def open_session():
        try:
            yield Session(log)
        finally:
            log.append("close")

    return open_session


def as_context(log):
    @contextlib.contextmanager
    def open_session():
        try:
            yield Session(log)
        finally:
            log.append("close")

    return open_session


class Reusable:
    """An async context manager that is no callable, and makes a session each time."""

    def __init__(self, log):
        self.log = log

    async def __aenter__(self):
        return Session(self.log)

    async def __aexit__(self, *_):
        self.log.append("close")


FACTORIES = [
    lambda log: lambda: Closing(log),
    lambda log: lambda: AsyncClosing(log),
    lambda log: lambda: Manager(log),
    lambda log: lambda: AsyncManager(log),
    as_async_function,
    as_async_context,
    as_context,
    Reusable,
]


@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("where", ["scenario", "run"])
def test_each_attempt_has_a_target_of_its_own_which_is_closed(factory, where):
    log = []
    made = factory(log)
    scenario = Scenario("s", target_factory=made if where == "scenario" else None).interact("q").interact("r")
    options = {"target_factory": made} if where == "run" else {}

    assert scenario.run_sync(multiple_runs=2, **options).passed
    assert log == ["open", "q", "r", "close"] * 2


@pytest.mark.parametrize("factory", FACTORIES)
def test_a_target_is_closed_after_a_crash(factory):
    log = []
    result = Scenario("s", target_factory=factory(log)).interact("crash").run_sync(return_exception=True)

    assert result.steps[0].error.message == "boom"
    assert log == ["open", "crash", "close"]


def test_a_context_manager_object_can_be_the_factory_of_one_attempt():
    log = []

    async def main():
        return await Scenario("s", target_factory=as_async_context(log)()).interact("q").run()

    assert asyncio.run(main()).passed
    assert log == ["open", "q", "close"]


def test_a_factory_that_fails_is_an_error_of_the_attempt():
    def factory():
        raise ConnectionError("no database")

    result = Scenario("s", target_factory=factory).interact("q").check(ok).run_sync(return_exception=True)

    assert result.errored
    assert result.steps[0].error.message == "no database"
    with pytest.raises(ConnectionError):
        Scenario("s", target_factory=factory).interact("q").run_sync()


def test_a_target_that_fails_to_close_is_an_error_and_keeps_the_steps():
    class Leaky(Session):
        def close(self):
            raise OSError("cannot close")

    scenario = Scenario("s", target_factory=lambda: Leaky([])).interact("q").check(ok)
    result = scenario.run_sync(return_exception=True)

    assert result.errored
    assert result.steps[0].results[0].passed
    assert result.steps[0].error.message == "cannot close"


# --- trace types -----------------------------------------------------------------------------------------


class ShopTrace(Trace[str, str], frozen=True):
    pass


class OtherTrace(Trace[str, str], frozen=True):
    pass


def shop(inputs, trace: ShopTrace):
    return type(trace).__name__


def other(inputs, trace: "OtherTrace | None"):
    return type(trace).__name__


@pytest.mark.parametrize(
    ("fields", "target", "expected"),
    [
        ({}, lambda inputs: "x", Trace),
        ({}, shop, ShopTrace),
        ({"target": shop}, None, ShopTrace),
        ({"target": shop}, other, OtherTrace),
        ({"target": shop}, lambda inputs: "x", ShopTrace),
        ({"trace_type": OtherTrace, "target": shop}, shop, OtherTrace),
    ],
)
def test_the_trace_type_is_the_one_given_else_that_of_the_hints(fields, target, expected):
    scenario = Scenario("s", **fields).interact("q")
    result = asyncio.run(ScenarioRunner().run(scenario, target))

    assert type(result.final_trace) is expected


@pytest.mark.parametrize(("target", "expected"), [(shop, ShopTrace), (other, OtherTrace), (str, Trace), (5, Trace)])
def test_a_trace_for_a_target(target, expected):
    trace = Trace.for_target(target)

    assert type(trace) is expected
    assert trace.interactions == []


def test_annotations_are_copied_into_each_run():
    annotations = {"tier": "gold", "tags": ["a"]}
    scenario = Scenario("s", annotations=annotations).interact("q", "a")
    first = scenario.run_sync()
    annotations["tags"].append("b")
    scenario.annotations["tier"] = "silver"

    assert first.final_trace.annotations == {"tier": "gold", "tags": ["a"]}
    assert scenario.run_sync().final_trace.annotations["tier"] == "silver"


# --- contexts --------------------------------------------------------------------------------------------

user = contextvars.ContextVar("user", default="nobody")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_context_variables_stay_in_their_scenario(kind):
    seen = []

    async def async_target(inputs):
        seen.append(user.get())
        user.set(inputs)

    def sync_target(inputs):
        seen.append(user.get())

    def inputs():
        user.set("from the inputs")
        yield "a"
        yield "b"

    async def main():
        user.set("caller")
        target = async_target if kind == "async" else sync_target
        await Scenario("s").interact(inputs, target).run()
        seen.append(user.get())
        await Scenario("t").interact("c", target).run()
        return user.get()

    assert asyncio.run(main()) == "caller"
    # What a sync target sets stays in its thread; what it reads is the scenario's.
    assert (
        seen
        == {
            "sync": ["from the inputs", "from the inputs", "caller", "caller"],
            "async": ["from the inputs", "a", "caller", "caller"],
        }[kind]
    )


# --- limits of a scenario -----------------------------------------------------------------------------------


def test_a_scenario_that_takes_too_long_is_an_error():
    async def hang(inputs):
        await asyncio.Event().wait()

    scenario = Scenario("s", timeout=0.05).interact("a", "x").check(ok).interact("b", hang).check(ok)
    for return_exception in (True, False):
        result = scenario.run_sync(return_exception=return_exception)

        error = result.steps[1].error
        assert result.errored
        assert (error.error_kind, error.phase, error.retryable) == ("timeout", "limit", True)
        assert "0.05 s" in error.message
        assert "step 2" in error.message
        assert result.steps[0].passed
        assert [turn.inputs for turn in result.final_trace.interactions] == ["a"]


def test_a_limit_error_is_a_timeout_error():
    assert issubclass(LimitExceededError, TimeoutError)


def test_each_attempt_has_the_whole_time():
    turns = []

    async def target(inputs, trial):
        turns.append(trial)
        return "x"

    assert Scenario("s", timeout=30, multiple_runs=3).interact("q", target).run_sync().runs_executed == 3


# --- strict ------------------------------------------------------------------------------------------------


def skipping(trace):
    return CheckResult.skip("n/a")


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("nothing"),
        Scenario("no check").interact("q", "a"),
        Scenario("all skipped").interact("q", "a").check(FnCheck(fn=skipping)),
    ],
    ids=lambda scenario: scenario.name,
)
def test_strict_makes_a_run_without_a_verdict_an_error(scenario):
    loose, strict = scenario.run_sync(), scenario.run_sync(strict=True)

    assert not loose.errored
    assert strict.errored
    assert strict.steps[-1].error.error_kind == "nothing_checked"
    assert loose.nothing_checked is (loose.status == "pass")


def test_strict_leaves_a_real_verdict_alone():
    scenario = Scenario("s").interact("q", "a").checks(FnCheck(fn=skipping), ok)

    assert scenario.run_sync(strict=True).passed
    assert not scenario.run_sync().nothing_checked


# --- the pool ------------------------------------------------------------------------------------------------


def test_sync_targets_of_a_scenario_run_one_after_the_other():
    running = threading.Semaphore(1)

    def target(inputs):
        assert running.acquire(blocking=False)
        running.release()
        return threading.current_thread().name

    result = Scenario("s").interact("a", target).interact("b", target).run_sync()

    assert {turn.outputs for turn in result.final_trace.interactions} == {"giskard-checks"}


def test_the_trace_that_a_spec_was_given_does_not_grow_behind_its_back():
    seen = []

    class Watching(InteractionSpec):
        async def generate(self, trace):
            first = trace
            trace = yield Interaction(inputs=1, outputs=1)
            seen.append((len(first.interactions), len(trace.interactions)))

    Scenario("s").append(Watching()).append(Interact(inputs=2, outputs=2)).run_sync()

    assert seen == [(0, 1)]
