"""Suites: who runs when, what is kept when a run ends early, and how results are counted."""

import asyncio
import contextvars
import subprocess
import sys
import textwrap
import threading

import pytest
from pydantic import ValidationError

from giskard.checks import (
    CheckResult,
    FnCheck,
    GroupedSuiteResult,
    Interact,
    Interaction,
    Scenario,
    Suite,
    SuiteResult,
    TestCase,
    Trace,
)

ok = FnCheck(fn=lambda trace: True, name="ok")
bad = FnCheck(fn=lambda trace: False, name="bad")
skip = FnCheck(fn=lambda trace: CheckResult.skip("n/a"), name="skip")


def crash(inputs):
    raise ConnectionError("peer hung up")


def scenario(name, outputs="x", *checks, **fields):
    return Scenario(name, **fields).interact(name, outputs).checks(*(checks or [ok]))


def suite(*scenarios, **fields):
    return Suite(name="suite", scenarios=list(scenarios), **fields)


def run(made, **options):
    return made.run_sync(verbose=False, **options)


def statuses(result):
    return [r.status.value for r in result.results]


BOTH = pytest.mark.parametrize("parallel", [False, True], ids=["serial", "parallel"])


# --- building ------------------------------------------------------------------------------------------


def test_append_returns_the_suite_and_keeps_identity():
    made = Suite(name="s")
    one = Scenario("a")

    assert made.append(one).append(Scenario("b")) is made
    assert made.scenarios[0] is one
    assert Suite(name="other").scenarios == []
    assert [s.name for s in made.scenarios] == ["a", "b"]


@pytest.mark.parametrize("wrong", [5, "a", [Scenario("a")], None])
def test_what_is_no_scenario_is_refused(wrong):
    with pytest.raises(ValueError, match="expected a Scenario or a TestCase"):
        Suite(name="s").append(wrong)
    with pytest.raises(ValidationError):
        Suite(name="s", scenarios=wrong if isinstance(wrong, str) else [wrong])
    with pytest.raises(ValidationError, match="did you mean 'scenarios'"):
        Suite(name="s", scenario=[])


# --- running -------------------------------------------------------------------------------------------


@BOTH
def test_results_come_in_the_order_of_the_scenarios(parallel):
    async def main():
        last = asyncio.Event()

        async def waits_for_the_last(inputs):
            if parallel:
                await last.wait()
            return inputs

        async def is_the_last(inputs):
            last.set()
            return inputs

        made = suite(scenario("a", waits_for_the_last), scenario("b", "x", bad), scenario("c", is_the_last))
        return await made.run(parallel=parallel, verbose=False)

    result = asyncio.run(main())

    assert [r.scenario_name for r in result.results] == ["a", "b", "c"]
    assert statuses(result) == ["pass", "fail", "pass"]
    assert [r.final_trace.last.outputs for r in result.results] == ["a", "x", "c"]


def test_serial_runs_are_one_after_the_other():
    log = []

    async def target(inputs):
        log.append(f"{inputs} starts")
        await asyncio.sleep(0)
        log.append(f"{inputs} ends")

    run(suite(scenario("a", target), scenario("b", target)))

    assert log == ["a starts", "a ends", "b starts", "b ends"]


@pytest.mark.parametrize("limit", [1, 2, 3, None])
def test_at_most_so_many_run_at_once(limit):
    running, most = 0, 0

    async def target(inputs):
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1

    run(suite(*(scenario(f"s{n}", target) for n in range(6))), parallel=True, max_concurrency=limit)

    assert most == (limit or 6)


def test_sync_targets_run_side_by_side():
    meeting = threading.Barrier(3, timeout=20)

    def target(inputs):
        meeting.wait()  # only passes when three are here at once
        return "x"

    assert run(suite(*(scenario(f"s{n}", target) for n in range(3))), parallel=True).passed_count == 3


def test_a_sync_target_does_not_stop_the_async_ones():
    release = threading.Event()

    def blocks(inputs):
        assert release.wait(20)

    async def frees(inputs):
        release.set()

    assert run(suite(scenario("a", blocks), scenario("b", frees)), parallel=True).passed_count == 2


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (-1, ValueError), (1.0, TypeError), ("2", TypeError), (True, TypeError)]
)
def test_an_impossible_limit_is_refused_at_once(value, error):
    for parallel in (True, False):
        with pytest.raises(error, match="max_concurrency"):
            run(suite(), parallel=parallel, max_concurrency=value)


@pytest.mark.parametrize("value", [0, -1])
def test_an_impossible_time_is_refused_at_once(value):
    with pytest.raises(ValueError, match="timeout"):
        run(suite(), timeout=value)


def test_an_empty_suite():
    for parallel in (True, False):
        result = run(suite(), parallel=parallel)
        assert result.passed
        assert (result.total, result.pass_rate) == (0, None)


def test_targets_by_precedence():
    def named(name):
        return lambda inputs: name

    made = suite(Scenario("own", target=named("own")).interact("q"), Scenario("none").interact("q"))

    def outputs(result):
        return [r.final_trace.last.outputs for r in result.results]

    assert outputs(run(made, target=named("run"))) == ["run", "run"]
    made.target = named("suite")
    assert outputs(run(made)) == ["suite", "suite"]
    made.target = type(made).model_fields["target"].default
    with pytest.raises(ValueError, match="MISSING"):
        run(made)
    assert statuses(run(made, return_exception=True)) == ["pass", "error"]


def test_a_factory_gives_each_attempt_a_target():
    made = []

    def factory():
        made.append(len(made))
        return lambda inputs, number=made[-1]: number

    result = run(
        suite(Scenario("a").interact("q"), Scenario("b").interact("q"), target_factory=factory), multiple_runs=2
    )

    assert made == [0, 1, 2, 3]
    assert [r.final_trace.last.outputs for r in result.results] == [1, 3]


def test_a_scenario_may_appear_twice():
    one = scenario("a")
    result = run(suite(one, one, scenario("b")), parallel=True)

    assert [r.scenario_id for r in result.results] == ["a", "a#2", "b"]
    assert len({r.run_id for r in result.results} | {result.run_id}) == 1


user = contextvars.ContextVar("user", default="nobody")


@BOTH
def test_context_variables_stay_in_their_scenario(parallel):
    seen = []

    async def target(inputs):
        seen.append(user.get())
        user.set(inputs)
        await asyncio.sleep(0)
        assert user.get() == inputs

    async def main():
        user.set("caller")
        await suite(scenario("a", target), scenario("b", target)).run(parallel=parallel, verbose=False)
        return user.get()

    assert asyncio.run(main()) == "caller"
    assert seen == ["caller", "caller"]


def test_run_sync_inside_a_loop_says_what_to_do():
    async def main():
        with pytest.raises(RuntimeError, match=r"await suite\.run\(\)"):
            run(suite())
        return await suite(scenario("a")).run(verbose=False)

    assert asyncio.run(main()).passed


def test_the_same_suite_runs_in_loop_after_loop_and_twice_at_once():
    made = suite(scenario("a", lambda inputs: "x"), scenario("b"))

    async def twice():
        return await asyncio.gather(*(made.run(parallel=True, verbose=False) for _ in range(2)))

    assert all(result.passed for result in asyncio.run(twice()))
    assert run(made).passed


def test_nothing_is_printed_without_a_terminal(capsys):
    suite(scenario("a")).run_sync(verbose=True)

    assert capsys.readouterr() == ("", "")


# --- test cases as members -----------------------------------------------------------------------------


@BOTH
def test_test_cases_are_members_too(parallel):
    trace = Trace(interactions=[Interaction(inputs=1, outputs=2)])
    case = TestCase(name="case", trace=trace, checks=[ok, bad], tags=["Area:x"], id="C-1")
    nameless = TestCase(trace=Trace(), checks=[])
    result = run(suite(case, scenario("b"), nameless), parallel=parallel)

    first, _, last = result.results
    assert statuses(result) == ["fail", "pass", "pass"]
    assert (first.scenario_name, first.scenario_id, first.tags) == ("case", "C-1", ["Area:x"])
    assert first.final_trace is case.trace
    assert [r.name for r in first.steps[0].results] == ["ok", "bad"]
    assert last.scenario_name == "Unnamed test case"
    assert last.nothing_checked


def test_strict_holds_for_all_members():
    made = suite(Scenario("a").interact("q", "x"), TestCase(name="b", trace=Trace(), checks=[skip]), scenario("c"))

    assert statuses(run(made)) == ["pass", "skip", "pass"]
    assert statuses(run(made, strict=True)) == ["error", "error", "pass"]


# --- crashes -------------------------------------------------------------------------------------------


@BOTH
def test_with_return_exception_every_scenario_has_its_result(parallel):
    broken = TestCase(name="d", trace=Trace(), checks=[FnCheck(fn=crash)])
    made = suite(scenario("a"), scenario("b", crash), scenario("c", lambda inputs: sys.exit(0)), broken, scenario("e"))
    result = run(made, parallel=parallel, return_exception=True)

    assert [r.scenario_name for r in result.results] == list("abcde")
    assert statuses(result) == ["pass", "error", "error", "error", "pass"]
    assert (result.errored_count, result.pass_rate) == (3, 0.4)
    assert "peer hung up" in result.results[1].steps[0].error.summary()
    assert result.errored
    assert not result.failed


@BOTH
def test_a_scenario_that_cannot_be_started_does_not_cost_the_others(parallel):
    broken = scenario("b")
    broken.__dict__["multiple_runs"] = 0
    made = suite(scenario("a"), broken, scenario("c"))
    result = run(made, parallel=parallel, return_exception=True)

    assert statuses(result) == ["pass", "error", "pass"]
    assert "multiple_runs" in result.results[1].format_failures()[0]


@BOTH
def test_without_return_exception_the_first_exception_comes_out(parallel):
    started = []

    def target(inputs):
        started.append(inputs)

    with pytest.raises(ConnectionError, match="peer hung up") as raised:
        run(suite(scenario("a", crash), scenario("b", target)), parallel=parallel, max_concurrency=1)
    assert raised.value.__cause__ is None
    assert started == []


def test_the_first_exception_cancels_the_rest():
    cancelled = []

    async def main():
        waiting = asyncio.Event()

        async def hangs(inputs):
            try:
                waiting.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(inputs)
                raise

        async def crashes(inputs):
            await waiting.wait()
            raise ConnectionError("peer hung up")

        await suite(scenario("a", hangs), scenario("b", crashes)).run(parallel=True, verbose=False)

    with pytest.raises(ConnectionError):
        asyncio.run(main())
    assert cancelled == ["a"]


def test_several_exceptions_come_out_as_a_group():
    async def main():
        meeting = asyncio.Barrier(2)

        async def crashes(inputs):
            await meeting.wait()
            raise {"a": ValueError, "b": KeyError}[inputs](inputs)

        await suite(scenario("a", crashes), scenario("b", crashes)).run(parallel=True, verbose=False)

    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(main())
    assert sorted(type(error).__name__ for error in raised.value.exceptions) == ["KeyError", "ValueError"]


@BOTH
def test_a_leaked_cancellation_is_never_taken_for_a_result(parallel):
    async def leaks(inputs):
        raise asyncio.CancelledError("leaked")

    made = suite(scenario("a", leaks), scenario("b"), scenario("c"))
    assert statuses(run(made, parallel=parallel, return_exception=True)) == ["error", "pass", "pass"]
    for limit in (None, 1):
        with pytest.raises(asyncio.CancelledError):
            run(made, parallel=parallel, max_concurrency=limit)


# --- ends ----------------------------------------------------------------------------------------------


async def hang(*_):
    await asyncio.Event().wait()


@BOTH
def test_when_the_time_of_the_whole_run_is_over_the_rest_is_marked(parallel):
    case = TestCase(name="d", trace=Trace(), checks=[FnCheck(fn=hang)])
    made = suite(scenario("a"), scenario("b", hang), scenario("c", hang), case)
    for return_exception in (True, False):
        result = run(made, parallel=parallel, timeout=0.1, return_exception=return_exception)

        assert [r.scenario_name for r in result.results] == list("abcd")
        assert statuses(result) == ["pass", "error", "error", "error"]
        for late in result.results[1:]:
            error = late.steps[0].error
            assert error.error_kind == "timeout"
            assert "0.1 s" in error.message


@BOTH
def test_a_cancelled_run_keeps_what_is_finished(parallel):
    async def main():
        reached = asyncio.Event()

        async def hangs(inputs):
            reached.set()
            await asyncio.Event().wait()

        made = suite(scenario("a"), Scenario("b").interact("q", "x").check(ok).interact("r", hangs), scenario("c"))
        task = asyncio.ensure_future(made.run(parallel=parallel, max_concurrency=2, verbose=False))
        await reached.wait()
        if parallel:
            for _ in range(50):
                await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        return cancelled.value.partial_result

    result = asyncio.run(main())

    assert isinstance(result, SuiteResult)
    assert [r.scenario_name for r in result.results] == ["a", "b", "c"]
    assert statuses(result) == ["pass", "error", "pass" if parallel else "error"]
    assert result.results[1].steps[0].passed
    assert result.results[1].steps[1].error.error_kind == "cancelled"
    if not parallel:
        assert "not run" in result.results[2].steps[0].error.message
        assert result.results[2].runs_executed == 0


SCRIPT = """
    import os, signal, sys, threading
    from giskard.checks import FnCheck, Scenario, Suite
    from giskard.checks.core.exceptions import RunInterruptedError

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start with it ignored
    ok = FnCheck(fn=lambda trace: True)

    {kind} def interrupted(inputs):
        os.kill(os.getpid(), signal.SIGINT)
        {wait}

    suite = Suite(name="s")
    suite.append(Scenario("a").interact("q", "x").check(ok))
    suite.append(Scenario("b").interact("q", interrupted).check(ok))
    suite.append(Scenario("c").interact("q", "x").check(ok))
    try:
        suite.run_sync(parallel={parallel}, max_concurrency=1, return_exception=True)
    except RunInterruptedError as error:
        print(*(r.status.value for r in error.result.results), isinstance(error, KeyboardInterrupt))
"""


@pytest.mark.parametrize(
    ("kind", "wait"), [("async", "import asyncio; await asyncio.Event().wait()"), ("", "threading.Event().wait(20)")]
)
@BOTH
def test_ctrl_c_keeps_what_is_finished(kind, wait, parallel):
    code = textwrap.dedent(SCRIPT).format(kind=kind, wait=wait, parallel=parallel).replace("\n def", "\ndef")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stderr == ""
    assert done.stdout.split() == ["pass", "error", "error", "True"]


# --- counting ------------------------------------------------------------------------------------------


def mixed():
    return suite(
        scenario("a", "x", ok, tags=["Area:refunds", "fast"]),
        scenario("b", "x", bad, tags=["Area:refunds", "Area:cards"]),
        scenario("c", crash, ok, tags=["Area:cards", "Area:cards"]),
        scenario("d", "x", skip, tags=["Area:cards", "Area : spaced"]),
        scenario("e", "x", ok),
    )


def test_the_counts():
    made = mixed()
    result = run(made, return_exception=True)
    counts = (result.passed_count, result.failed_count, result.errored_count, result.skipped_count)

    assert counts == (2, 1, 1, 1)
    assert result.total == 5
    assert result.pass_rate == 0.5
    assert result.status == "error"
    assert result.suite is made
    assert (result.suite_name, result.suite_id) == ("suite", "suite")
    assert result.duration_ms >= 0
    assert [r.scenario_name for r in result.failures_and_errors] == ["b", "c"]
    assert len(result.format_failures()) == 4
    with pytest.raises(AssertionError, match="2 of 5"):
        result.assert_passed()
    assert run(suite(scenario("a"))).assert_passed() is None


def test_nothing_that_counts_is_not_a_hundred_percent():
    for made in (suite(), suite(scenario("a", "x", skip))):
        assert run(made).pass_rate is None


def test_groups_by_a_tag():
    grouped = run(mixed(), return_exception=True).group_by("Area")

    assert isinstance(grouped, GroupedSuiteResult)
    assert grouped.key == "Area"
    cards = grouped.groups["cards"]
    assert (cards.name, cards.passed, cards.failed, cards.errored, cards.skipped) == ("cards", 0, 1, 1, 1)
    assert (cards.total, cards.non_skipped, cards.pass_rate) == (3, 2, 0.0)
    assert grouped.groups["refunds"].pass_rate == 0.5
    assert grouped.groups["spaced"].pass_rate is None
    assert grouped.groups[None].passed == 1
    assert set(grouped.groups) == {"refunds", "cards", "spaced", None}


def test_a_bare_tag_has_an_empty_value():
    grouped = run(mixed(), return_exception=True).group_by("fast")

    assert {name: stats.total for name, stats in grouped.groups.items()} == {"": 1, None: 4}
    assert {
        name: stats.total for name, stats in run(mixed(), return_exception=True).group_by("none").groups.items()
    } == {None: 5}


def test_subclasses_of_traces_survive():
    class Shop(Trace[str, str], frozen=True):
        pass

    def target(inputs, trace: Shop):
        return "x"

    result = run(
        suite(scenario("a", target), Scenario("b", trace_type=Shop).append(Interact(inputs=1, outputs=2))),
        target=target,
    )

    assert [type(r.final_trace) for r in result.results] == [Shop, Shop]


# --- what is put in place later --------------------------------------------------------------------------


def test_a_value_that_no_suite_can_have_is_refused_when_it_is_set():
    made = suite(scenario("a"))

    for name, value in (("name", 3), ("scenarios", "a"), ("scenarios", [3])):
        with pytest.raises(ValidationError):
            setattr(made, name, value)
    members = [scenario("b")]
    made.scenarios = members
    members.append(scenario("c"))
    assert statuses(run(made)) == ["pass", "pass"]


def test_no_two_scenarios_have_the_same_identity():
    made = suite(scenario("x"), scenario("x"), scenario("x", id="x#2"))

    assert [result.scenario_id for result in run(made).results] == ["x", "x#3", "x#2"]
