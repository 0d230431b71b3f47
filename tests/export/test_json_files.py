"""Results as JSON files: reports that are loaded again, and lines."""

import json
import os

import pytest
from pydantic import computed_field

from giskard.checks import (
    CheckResult,
    Equals,
    FnCheck,
    Interaction,
    Scenario,
    ScenarioResult,
    Suite,
    SuiteResult,
    TestCase,
    TestCaseResult,
    Trace,
)
from giskard.checks.core.result import ScenarioAttempt
from giskard.checks.export import to_hub_format, to_json_lines, to_report_json


def suite():
    answers = iter(["ok", "ok", "bad"])
    return Suite(
        "support",
        [
            Scenario("flaky", multiple_runs=5, tags=["Topic:x"])
            .interact("in", lambda inputs: next(answers))
            .check(Equals(expected_value="ok")),
            Scenario("crash").interact("in", lambda inputs: 1 / 0).check(Equals(expected_value=1)),
            TestCase(name="case", trace=Trace(), checks=[FnCheck(fn=lambda trace: True)]),
        ],
    ).run_sync(return_exception=True, verbose=False)


def lines_of(result):
    text = to_json_lines(result)
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_for_each_attempt():
    result = suite()
    lines = lines_of(result)

    assert [(line["scenario_name"], line["trial"], line["status"]) for line in lines] == [
        ("flaky", 1, "pass"),
        ("flaky", 2, "pass"),
        ("flaky", 3, "fail"),
        ("crash", 1, "error"),
        ("case", 1, "pass"),
    ]
    assert {(line["schema_version"], line["suite_name"], line["run_id"]) for line in lines} == {
        ("1.0", "support", result.run_id)
    }
    first, last = lines[0], lines[2]
    assert (first["scenario_id"], first["tags"]) == ("flaky", ["Topic:x"])
    assert (first["multiple_runs"], first["runs_executed"]) == (5, 3)
    assert first["final_trace"]["last"]["outputs"] == "ok"
    assert last["steps"][0]["results"][0]["details"]["actual_value"] == "bad"
    assert len({line["conversation_id"] for line in lines[:3]}) == 3
    assert lines[3]["steps"][0]["error"]["exception_type"] == "ZeroDivisionError"


def test_each_attempt_has_its_own_time():
    result = suite().results[0]
    lines = lines_of(result)

    seconds = [line["timing"]["seconds"] for line in lines]
    assert max(seconds) < sum(seconds) <= result.seconds
    starts = [line["timing"]["started_at"] for line in lines]
    assert starts == sorted(starts)
    assert [attempt.seconds for attempt in result.attempts] == pytest.approx(seconds)


def test_a_line_is_loaded_as_an_attempt():
    result = suite()
    for line, attempt in zip(to_json_lines(result).splitlines(), result.results[0].attempts, strict=False):
        assert ScenarioAttempt.model_validate_json(line) == attempt


def test_a_single_scenario_and_a_single_test_case():
    one = Scenario("one").interact("a", "b").run_sync()
    assert [(line["scenario_name"], line["suite_name"]) for line in lines_of(one)] == [("one", "one")]

    (line,) = lines_of(TestCase(name="case", trace=Trace(), checks=[]).run_sync())
    assert (line["scenario_name"], line["scenario_id"], line["final_trace"]) == ("case", "case", None)
    assert line["steps"][0]["status"] == "pass"


def test_no_scenarios_are_no_lines():
    assert to_json_lines(Suite("none").run_sync(verbose=False)) == ""


def test_line_separators_of_unicode_and_surrogates_do_not_break_a_line():
    scenario = Scenario("odd \ud800").interact("in", "a\u2028b\x85c\nd").check(Equals(expected_value="\udfff"))
    text = to_json_lines(scenario.run_sync())

    assert text.count("\n") == 1
    assert json.loads(text)["final_trace"]["last"]["outputs"] == "a\u2028b\x85c\nd"
    text.encode("utf-8")


class Broken(Trace, frozen=True):
    @computed_field
    @property
    def summary(self) -> str:
        raise RuntimeError("no summary")


@pytest.mark.parametrize("indent", [None, 2])
def test_one_broken_trace_does_not_cost_the_others(indent):
    good = Scenario("good").interact("in", "out")
    broken = Scenario("broken", trace_type=Broken).interact("in", "out")
    result = Suite("s", [broken, good]).run_sync(verbose=False)

    assert [line["scenario_name"] for line in lines_of(result)] == ["broken", "good"]
    assert [one["scenario_name"] for one in to_hub_format(result)["results"]] == ["broken", "good"]
    report = json.loads(to_report_json(result, indent=indent))
    assert [one["scenario_name"] for one in report["results"]] == ["broken", "good"]
    assert report["results"][1]["final_trace"]["last"]["outputs"] == "out"


def test_the_report_is_loaded_again(tmp_path):
    result = suite()
    path = tmp_path / "out" / "report.json"

    assert to_report_json(result, path) + "\n" == path.read_text(encoding="utf-8")
    assert SuiteResult.model_validate_json(path.read_bytes()) == result
    assert json.loads(to_report_json(result, indent=2)) == json.loads(to_report_json(result))
    one = result.results[0]
    assert ScenarioResult.model_validate_json(to_report_json(one)) == one
    assert TestCaseResult.model_validate_json(to_report_json(one.steps[0])) == one.steps[0]


@pytest.mark.parametrize("method", ["to_json_lines", "to_report_json", "to_junit_xml"])
def test_every_result_writes_itself(tmp_path, method):
    whole = suite()
    for number, result in enumerate([whole, whole.results[0], whole.results[0].steps[0]]):
        path = tmp_path / method / f"{number}.txt"
        text = getattr(result, method)(path)
        assert path.read_text(encoding="utf-8").rstrip("\n") == text.rstrip("\n")
        assert sorted(os.listdir(path.parent)) == [f"{n}.txt" for n in range(number + 1)]
    assert whole.results[0].steps[0].to_hub_format()["total"] == 1


@pytest.mark.parametrize("write", [to_json_lines, to_report_json])
def test_something_else_is_refused(write):
    with pytest.raises(TypeError, match="expected a SuiteResult, a ScenarioResult or a TestCaseResult, got dict"):
        write({})


def test_a_check_of_a_result_of_ones_own_is_written():
    class Mine(CheckResult):
        pass

    (line,) = lines_of(TestCaseResult(results=[Mine(status="fail", message="no")]))
    assert line["steps"][0]["results"][0]["message"] == "no"


def test_a_replayed_turn_is_kept_as_it_was():
    case = TestCase(trace=Trace(interactions=[Interaction(inputs=(1, 2), outputs={3})]), checks=[])
    result = Suite("s", [case]).run_sync(verbose=False)
    (line,) = lines_of(result)
    assert line["final_trace"]["last"]["inputs"] == [1, 2]
    assert line["final_trace"]["last"]["outputs"]["$type"] == "set"
