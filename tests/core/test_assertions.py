"""The reprs of results, and the messages of failed assertions; what pytest makes of them is in tests/testing."""

import io
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.pretty import pretty_repr

from giskard.checks import (
    CheckResult,
    Equals,
    FnCheck,
    GreaterThan,
    Metric,
    Not,
    NotEquals,
    Scenario,
    ScenarioResult,
    Suite,
    SuiteResult,
    TestCase,
    TestCaseError,
    TestCaseResult,
    Trace,
)
from giskard.checks.core.assertions import named, one_line, tally
from giskard.checks.core.findings import Findings


def fails(message="rude", name="polite", **fields):
    return FnCheck(fn=lambda trace: CheckResult.failure(message, **fields), name=name)


ok = FnCheck(fn=lambda trace: True, name="ok")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (CheckResult.success(), "<CheckResult PASS>"),
        (CheckResult.success("fine", metrics=[Metric(name="score", value=0.5)]), "<CheckResult PASS: fine; score=0.5>"),
        (CheckResult.failure("rude", {"check_name": "polite"}), "<CheckResult FAIL 'polite': rude>"),
        (
            CheckResult.error("odd", {"check_kind": "fn"}, error_kind="timeout"),
            "<CheckResult ERROR 'fn' [timeout]: odd>",
        ),
        (CheckResult.skip("no key"), "<CheckResult SKIP: no key>"),
        (TestCaseResult(), "<TestCaseResult PASS: nothing was checked>"),
        (TestCaseResult(name="t"), "<TestCaseResult PASS 't': nothing was checked>"),
        (TestCaseError(message="no", exception_type="E", phase="setup"), "<TestCaseError E during setup: no>"),
        (SuiteResult(), "<SuiteResult PASS: 0 of 0 scenarios passed>"),
    ],
)
def test_reprs(result, expected):
    assert repr(result) == str(result) == f"{result}" == expected


def test_reprs_of_runs():
    scenario = Scenario('it\'s "odd"').interact(1, 2).checks(ok, ok)

    assert repr(scenario.run_sync()) == "<ScenarioResult PASS 'it\\'s \"odd\"': 2 of 2 checks passed>"
    scenario = Scenario("it's").interact(1, 2).checks(ok, fails())
    result = scenario.run_sync(multiple_runs=3)
    assert repr(result) == (
        '<ScenarioResult FAIL "it\'s": 1 of 2 checks passed, 1 failed, in attempt 1 of at most 3; polite: FAIL: rude>'
    )
    assert repr(result.attempts) == (
        "[<ScenarioAttempt FAIL attempt 1: 1 of 2 checks passed, 1 failed; polite: FAIL: rude>]"
    )
    nothing = Scenario("s").run_sync(strict=True)
    assert repr(nothing).startswith("<ScenarioResult ERROR 's': NothingChecked during checks: nothing was checked")


def test_the_class_of_a_trace_is_not_in_the_way():
    class MyTrace(Trace[str, str], frozen=True):
        pass

    result = Scenario("s", trace_type=MyTrace).interact("a", "b").check(fails()).run_sync()
    typed = ScenarioResult[MyTrace](scenario_name="s", steps=result.steps, final_trace=result.final_trace)

    assert repr(typed) == repr(result) == "<ScenarioResult FAIL 's': polite: FAIL: rude>"


def test_a_result_that_was_saved_reads_the_same():
    result = Suite("all", [Scenario("s").interact("a", "b").checks(ok, fails("no\x1b"))]).run_sync()

    pickled = pickle.dumps(result.model_copy(update={"suite": None}))  # its checks hold functions of this test
    for again in (SuiteResult.model_validate_json(result.model_dump_json()), pickle.loads(pickled)):
        assert repr(again) == repr(result)
        with pytest.raises(AssertionError) as first:
            result.assert_passed()
        with pytest.raises(AssertionError) as raised:
            again.assert_passed()
        assert str(raised.value) == str(first.value)


def test_a_repr_of_what_passed_makes_no_results():
    result = Scenario("s").interact(1, 2).checks(ok, ok).run_sync()

    repr(result)
    assert type(result.steps[0].__dict__["results"]) is Findings


def test_libraries_that_lay_out_objects_get_all_fields():
    shown = pretty_repr(CheckResult.failure("rude", {"check_name": "polite"}))

    assert "message='rude'" in shown and "details=" in shown


@given(st.text(st.characters(), max_size=3_000))
def test_no_text_breaks_out_of_a_repr_or_a_message(text):
    result = Scenario(text).interact(text, text).check(fails(text, text or "x")).run_sync()

    assert len(repr(result)) < 5_000 and "\n" not in repr(result)
    with pytest.raises(AssertionError) as raised:
        result.assert_passed()
    message = str(raised.value)
    message.encode()
    assert "\x1b" not in message and "\r" not in message and "\u202e" not in message
    assert message.count("\n") < 40


def test_a_check_result_can_be_asserted():
    CheckResult.success().assert_passed()
    with pytest.raises(AssertionError, match=r"^check: FAIL: rude$"):
        CheckResult.failure("rude").assert_passed()
    with pytest.raises(AssertionError, match=r"^check: SKIP$"):
        CheckResult.skip().assert_passed()


class Silent:
    def __repr__(self):
        raise RuntimeError("no")


def test_values_that_cannot_be_shown():
    details = {"expected_value": Silent(), "actual_value": Silent()}
    result = Scenario("s").interact(Silent(), Silent()).check(fails(details=details)).run_sync()

    with pytest.raises(AssertionError, match=r"expected: <Silent object whose repr raises RuntimeError>"):
        result.assert_passed()


def test_expected_and_got_are_not_told_twice():
    result = Scenario("s").interact("a", "b").check(Equals(expected_value="c")).run_sync()

    with pytest.raises(AssertionError) as raised:
        result.assert_passed()
    assert "expected:" not in str(raised.value)


def test_very_many_checks_are_counted():
    case = TestCase(trace=Trace(), checks=[fails(name=f"rule_{number}") for number in range(500)])

    with pytest.raises(AssertionError) as raised:
        case.run_sync().assert_passed()
    assert str(raised.value).count("\n") < 40
    assert "and 470 more checks that did not pass" in str(raised.value)


def test_parts():
    assert one_line("a\nb\tc\x1b", 50) == r"a\nb\tc\x1b"
    assert named("it's") == '"it\'s"'
    assert tally(["pass", "fail", "fail"], "check", "fail") == "1 of 3 checks passed, 2 failed"
    assert tally(["fail"], "check", "fail") == ""
    assert tally(["pass"], "check", "pass") == "1 of 1 check passed"
    assert tally([], "check", "error") == ""
    assert tally(["fail"], "scenario", "fail") == "0 of 1 scenario passed, 1 failed"


@pytest.mark.parametrize(
    "check",
    [
        NotEquals(expected_value="x"),
        Not(check=Equals(expected_value="x")),
        Equals(expected_value="x", target_key="trace.interactions[*].outputs", match="none"),
        GreaterThan(expected_value="y"),
    ],
    ids=lambda check: check.kind,
)
def test_what_was_not_to_come_is_not_called_expected(check):
    result = Scenario("s").interact("in", "x").check(check).run_sync()
    assert result.failed
    console = Console(file=io.StringIO(), width=100)
    result.print_report(console)
    for told in (console.file.getvalue(), result.to_junit_xml(), repr(result)):
        assert not re.search(r"^\s*expected:?  +", told, re.MULTILINE)


def test_a_step_that_failed_before_its_first_turn_shows_no_turn_of_an_earlier_one():
    def crash(inputs):
        raise KeyError("down")

    scenario = Scenario("s").interact("first", "a").check(FnCheck(fn=lambda trace: True)).interact("second", crash)
    with pytest.raises(AssertionError) as raised:
        scenario.run_sync(return_exception=True).assert_passed()
    shown = str(raised.value)
    assert "KeyError during a turn: 'down'" in shown
    assert "first" not in shown and "turn 1" not in shown
