"""What a run is given is looked at before anything starts."""

import math

import pytest
from pydantic import ValidationError

from giskard.checks import FnCheck, Interact, Scenario, ScenarioRunner, Suite


class Log(list):
    def notify(self, event):
        self.append(event.kind)


async def agent(inputs):
    return "x"


async def streaming(inputs):
    yield "x"


def chunks(inputs):
    yield "x"


def started(log):
    """A scenario that says when it is run."""
    return Scenario("s").interact(lambda: log.append("turn"), outputs="a")


def scenario_run(log, **options):
    return started(log).run_sync(**options, observers=[log])


def runner_run(log, **options):
    return ScenarioRunner().run_sync(started(log), **options, observers=[log])


def suite_run(log, **options):
    return Suite("all", [started(log)]).run_sync(**options, observers=[log], verbose=False)


RUNS = [scenario_run, runner_run, suite_run]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (-1, ValueError), (True, TypeError), (1.0, TypeError), ("2", TypeError)]
)
def test_a_number_of_runs(run, value, error):
    log = Log()

    with pytest.raises(error, match="multiple_runs is " + repr(value)):
        run(log, multiple_runs=value)
    assert log == []


@pytest.mark.parametrize("value", [0, -1.5, math.nan, math.inf])
def test_a_time_that_cannot_be(value):
    log = Log()

    with pytest.raises(ValueError, match=f"timeout is {value!r}, expected a positive, finite number"):
        suite_run(log, timeout=value)
    assert log == []


@pytest.mark.parametrize("value", [True, "3", [3]])
def test_a_time_that_is_no_number(value):
    log = Log()

    with pytest.raises(TypeError) as refused:
        suite_run(log, timeout=value)
    assert repr(value) in str(refused.value)
    assert type(value).__name__ in str(refused.value)
    assert log == []


@pytest.mark.parametrize("value", [True, "3"])
def test_a_limit_that_is_no_number(value):
    with pytest.raises(TypeError, match="max_concurrency"):
        suite_run(Log(), max_concurrency=value)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("function", [agent, streaming, chunks])
def test_a_call_of_the_target_in_place_of_the_target(run, function):
    log = Log()

    with pytest.raises(TypeError, match=f"pass the function itself, not its call: target={function.__name__}"):
        run(log, target=function("q"))
    assert log == []


@pytest.mark.parametrize("function", [agent, streaming, chunks])
def test_such_a_call_is_refused_wherever_a_target_is_kept(function):
    hint = f"not its call: target={function.__name__}"
    for make in (
        lambda: Scenario("s", target=function("q")),
        lambda: Scenario("s").with_target(function("q")),
        lambda: Suite("s", target=function("q")),
    ):
        with pytest.raises(ValidationError, match=hint):
            make()
    for make in (
        lambda: Interact(inputs="q", outputs=function("q")),
        lambda: Interact(inputs="q").set_outputs(function("q")),
        lambda: Scenario("s").interact("q", function("q")),
    ):
        with pytest.raises(TypeError, match=f"not its call: outputs={function.__name__}"):
            make()


def test_none_is_a_target_but_for_the_runner():
    asked = Scenario("s", target=lambda inputs: "own").interact("q")

    assert asked.run_sync(None).final_trace.last.outputs is None
    assert ScenarioRunner().run_sync(asked, None).final_trace.last.outputs == "own"
    assert Suite("all", [asked]).run_sync(None, verbose=False).results[0].final_trace.last.outputs is None


@pytest.mark.parametrize(
    "make",
    [
        Scenario,
        lambda **options: Interact(inputs="q", **options),
        lambda **options: FnCheck(fn=len, **options),
    ],
)
def test_the_time_of_a_scenario_a_turn_and_a_check(make):
    assert make(timeout=3).timeout == 3.0
    assert make(timeout=None).timeout is None
    for value in (0, -1, math.inf, math.nan, True, "3"):
        with pytest.raises(ValidationError, match=f"timeout is {value!r}"):
            make(timeout=value)
    assert Scenario.model_json_schema()["properties"]["timeout"]["anyOf"][0] == {
        "exclusiveMinimum": 0,
        "type": "number",
    }


def test_a_refusal_says_what_left_out_means():
    for options, meant in (({"multiple_runs": 0}, "the scenario's own"), ({"max_concurrency": 0}, "None")):
        run = scenario_run if "multiple_runs" in options else suite_run
        with pytest.raises(ValueError) as refused:
            run(Log(), **options)
        assert meant in str(refused.value)


def test_the_kind_of_call_is_named():
    with pytest.raises(TypeError) as refused:
        scenario_run(Log(), target=streaming("q"))
    assert "generator" in str(refused.value)


def test_the_whole_of_a_refusal():
    with pytest.raises(ValueError) as refused:
        scenario_run(Log(), multiple_runs=0)
    assert str(refused.value) == "multiple_runs is 0, expected at least 1, or None for the scenario's own"


@pytest.mark.parametrize("given", [4, "yes", None])
def test_a_number_is_not_parallel(given):
    with pytest.raises(TypeError, match=r"^parallel is .*expected True or False; how many at once is max_concurrency$"):
        Suite("s").run_sync(parallel=given, verbose=False)

    with pytest.raises(ValueError) as refused:
        suite_run(Log(), max_concurrency=0)
    assert str(refused.value) == "max_concurrency is 0, expected at least 1, or None for no limit"
    with pytest.raises(TypeError) as refused:
        suite_run(Log(), max_concurrency="3")
    message = "max_concurrency is '3' (str), expected a positive whole number or None"
    assert str(refused.value) == message
    with pytest.raises(ValueError, match="multiple_runs is 0"):
        Scenario("s").run_sync(multiple_runs=0)
