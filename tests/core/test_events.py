"""What observers are told, and that they cannot disturb a run."""

import dataclasses
import warnings

import pytest

from giskard.checks import FnCheck, Interaction, RunEvent, Scenario, Suite, TestCase, Trace
from giskard.checks.core.events import Observers

ok = FnCheck(fn=lambda trace: True, name="ok")


class Log:
    def __init__(self):
        self.events: list[RunEvent] = []

    def notify(self, event):
        self.events.append(event)

    @property
    def kinds(self):
        return [event.kind for event in self.events]


def test_the_events_of_a_scenario():
    log = Log()
    scenario = Scenario("s").interact("q", lambda inputs: "a").checks(ok, ok)
    result = scenario.run_sync(multiple_runs=2, observers=[log])

    attempt = ["attempt_started", "turn_started", "turn_ended", *["check_started", "check_ended"] * 2, "attempt_ended"]
    assert log.kinds == ["scenario_started", *attempt, *attempt, "scenario_ended"]
    assert {event.run_id for event in log.events} == {result.run_id}
    assert [event.trial for event in log.events if event.kind == "attempt_started"] == [1, 2]
    turn = next(event for event in log.events if event.kind == "turn_ended")
    assert turn.subject == Interaction(inputs="q", outputs="a")
    assert turn.step_index == 0
    check = next(event for event in log.events if event.kind == "check_ended")
    assert check.subject is ok
    assert check.result.passed
    assert check.check_id == "ok"
    started = next(event for event in log.events if event.kind == "check_started")
    assert (started.check_id, started.subject) == ("ok", ok)
    assert log.events[-1].result is result
    assert log.events[-1].scenario_name == "s"


def test_the_events_of_a_suite():
    log = Log()
    case = TestCase(name="case", trace=Trace(), checks=[ok])
    suite = Suite(name="all", scenarios=[Scenario("s"), case])
    result = suite.run_sync(verbose=False, observers=[log])

    assert log.kinds[0] == "run_started"
    assert log.events[0].total == 2
    assert log.kinds[-1] == "run_ended"
    assert log.events[-1].result is result
    started = [event.scenario_name for event in log.events if event.kind == "scenario_started"]
    ended = [event.result.scenario_name for event in log.events if event.kind == "scenario_ended"]
    assert started == ended == ["s", "case"]


def test_a_test_case_tells_of_its_checks():
    log = Log()
    TestCase(trace=Trace(), checks=[ok]).run_sync(observers=[log])

    assert log.kinds == ["check_started", "check_ended"]


def test_a_failing_turn_and_its_scenario_end_too():
    log = Log()
    Scenario("s").interact("q", lambda inputs: 1 / 0).run_sync(return_exception=True, observers=[log])

    started, ended = ["scenario_started", "attempt_started", "turn_started"], ["turn_ended", "attempt_ended"]
    assert log.kinds == [*started, *ended, "scenario_ended"]
    assert log.events[-1].result.errored


@pytest.mark.parametrize("crash", ["target", "check"])
def test_what_started_ends_also_when_the_exception_comes_out(crash):
    log = Log()
    scenario = Scenario("s").interact("q", (lambda inputs: 1 / 0) if crash == "target" else "a")
    scenario.check(FnCheck(fn=lambda trace: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        Suite(name="all", scenarios=[scenario]).run_sync(verbose=False, observers=[log])

    started = sorted(kind.removesuffix("_started") for kind in log.kinds if kind.endswith("_started"))
    assert sorted(kind.removesuffix("_ended") for kind in log.kinds if kind.endswith("_ended")) == started
    assert log.kinds[-1] == "run_ended"
    assert log.events[-1].result.errored


def test_each_turn_of_a_generator_starts_and_ends():
    log = Log()

    def questions(trace):
        yield "one"
        yield "two"

    Scenario("s").interact(questions, lambda inputs: inputs).run_sync(observers=[log])

    assert log.kinds[2:-2] == ["turn_started", "turn_ended"] * 2
    assert [event.subject.inputs for event in log.events if event.kind == "turn_ended"] == ["one", "two"]


def test_an_observer_that_fails_is_a_warning():
    class Broken:
        def notify(self, event):
            raise ValueError("broken observer")

    log = Log()
    with pytest.warns(RuntimeWarning, match="broken observer"):
        result = Scenario("s").interact("q", "a").check(ok).run_sync(observers=[Broken(), log])

    assert result.passed
    assert log.kinds[-1] == "scenario_ended"


def test_events_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunEvent(kind="run_started").kind = "run_ended"


@pytest.mark.filterwarnings("default")
def test_the_warning_names_the_observer_and_points_into_the_run():
    class Broken:
        def __repr__(self):
            return "<my observer>"

        def notify(self, event):
            raise ValueError("no")

    with pytest.warns(RuntimeWarning) as caught:
        Scenario("s").run_sync(observers=[Broken()])
    assert str(caught[0].message) == "<my observer> failed at scenario_started: ValueError('no')"


def test_where_warnings_are_errors_the_failure_goes_to_the_log(caplog):
    class Broken:
        def notify(self, event):
            raise ValueError("no")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Scenario("s").interact("q", "a").check(ok).run_sync(observers=[Broken()]).passed
    assert {record.name for record in caplog.records} == {"giskard.checks"}
    assert {record.levelname for record in caplog.records} == {"ERROR"}
    assert "failed at scenario_started" in caplog.records[0].getMessage()


def test_observers_are_told_in_their_order():
    told = []

    class Named:
        def __init__(self, name):
            self.name = name

        def notify(self, event):
            told.append(self.name)

    both = Observers([Named("a")]).and_also(Named("b"))
    both.notify(RunEvent(kind="run_started"))
    assert told == ["a", "b"]
    assert both
    assert not Observers()
