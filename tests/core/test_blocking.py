"""``run_sync`` beside every ``run``."""

import asyncio
import inspect

import pytest

from giskard.checks import (
    FnCheck,
    Scenario,
    ScenarioResult,
    ScenarioRunner,
    Suite,
    SuiteResult,
    TestCase,
    TestCaseResult,
    TestCaseRunner,
    Trace,
)

ok = FnCheck(fn=lambda trace: True)
CLASSES = [Scenario, TestCase, Suite, ScenarioRunner, TestCaseRunner]


@pytest.mark.parametrize("cls", CLASSES)
def test_it_has_the_parameters_of_run_and_says_what_it_is(cls):
    assert inspect.signature(cls.run_sync) == inspect.signature(cls.run)
    assert not inspect.iscoroutinefunction(cls.run_sync)
    assert cls.run_sync.__qualname__ == f"{cls.__name__}.run_sync"
    assert "RunInterruptedError" in cls.run_sync.__doc__
    kinds = {parameter.kind for parameter in inspect.signature(cls.run_sync).parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}


def test_it_gives_the_result_itself():
    scenario = Scenario("s").interact("q", outputs="a").check(ok)
    case = TestCase(name="t", trace=Trace(), checks=[ok])

    assert isinstance(scenario.run_sync(multiple_runs=2), ScenarioResult)
    assert isinstance(case.run_sync(strict=True), TestCaseResult)
    assert isinstance(Suite("all", [scenario, case]).run_sync(verbose=False), SuiteResult)
    assert ScenarioRunner().run_sync(scenario, None, multiple_runs=3).runs_executed == 3
    assert TestCaseRunner().run_sync(case, True, strict=True).passed


@pytest.mark.parametrize("made", [Scenario("s"), TestCase(trace=Trace(), checks=[]), Suite("s")])
def test_unknown_options_are_refused(made):
    with pytest.raises(TypeError, match="taget"):
        made.run_sync(taget=len)


def test_a_subclass_has_its_own_run():
    class Twice(Scenario):
        async def run(self, *args, **options):
            return await super().run(*args, **options, multiple_runs=2)

    assert Twice("s").interact("q", outputs="a").check(ok).run_sync().runs_executed == 2


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: Scenario("s").run_sync(), "scenario"),
        (lambda: Suite("s").run_sync(), "suite"),
        (lambda: ScenarioRunner().run_sync(Scenario("s")), "runner"),
        (lambda: TestCaseRunner().run_sync(TestCase(trace=Trace(), checks=[])), "runner"),
    ],
)
def test_within_a_loop_it_says_what_to_write(call, name):
    async def main():
        with pytest.raises(RuntimeError, match=rf"await {name}\.run\(\)"):
            call()

    asyncio.run(main())


def test_a_traceback_shows_the_code_of_its_user_and_not_ours():
    def crash(*_):
        raise KeyError("the user's own")

    in_a_target, in_a_check = Scenario("s").interact("q", crash), Scenario("s").check(FnCheck(fn=crash))
    for run in (
        in_a_target.run_sync,
        in_a_check.run_sync,
        TestCase(trace=Trace(), checks=[FnCheck(fn=crash)]).run_sync,
        Suite("all", [in_a_check]).run_sync,
    ):
        with pytest.raises(KeyError) as caught:
            run()
        ours = [entry for entry in caught.traceback if "giskard" in entry.path.parts]
        assert "run_sync" in {entry.name for entry in ours}
        assert [entry.name for entry in ours if not entry.ishidden(None)] == []
        assert caught.traceback[-1].name == "crash"
