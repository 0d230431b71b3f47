"""Test cases: recorded conversations and what must hold in them."""

import asyncio
import copy
import pickle

import pytest
from pydantic import ValidationError

from giskard.checks import (
    AllOf,
    CheckResult,
    Equals,
    FnCheck,
    Interaction,
    Suite,
    TestCase,
    TestCaseResult,
    ToolNotCalled,
    Trace,
)
from giskard.checks.export.junit import to_junit_xml

TRACE = Trace(interactions=[Interaction(inputs="q", outputs={"fee": 3.0})])
ok = FnCheck(fn=lambda trace: True, name="ok")
bad = FnCheck(fn=lambda trace: False, name="bad")


def broken(trace):
    raise KeyError("gone")


def test_a_case_has_a_trace_and_checks():
    case = TestCase(trace=TRACE, checks=[ok])

    assert case.name is None
    assert case.trace == TRACE
    assert case.checks == [ok]
    for fields in ({"trace": TRACE}, {"checks": [ok]}, {"trace": TRACE, "checks": ok}, {"trace": 5, "checks": []}):
        with pytest.raises(ValidationError):
            TestCase(**fields)
    with pytest.raises(ValidationError, match="did you mean 'checks'"):
        TestCase(trace=TRACE, checks=[ok], check=[ok])


def test_pytest_does_not_take_it_for_tests():
    import giskard.checks as g

    suspicious = [name for name in g.__all__ if name.startswith("Test")]
    assert suspicious
    assert [name for name in suspicious if getattr(g, name).__test__ is not False] == []


def test_it_runs_all_checks_over_the_trace():
    result = TestCase(
        name="t", trace=TRACE, checks=[bad, ok, Equals(expected_value=3, target_key="trace.last.outputs.fee")]
    ).run_sync()

    assert isinstance(result, TestCaseResult)
    assert [r.status.value for r in result.results] == ["fail", "pass", "pass"]
    assert result.failed
    assert (result.name, result.error, result.last_interaction_index) == ("t", None, None)
    assert result.duration_ms >= 0


def test_an_empty_case_passes_unless_strict():
    case = TestCase(trace=Trace(), checks=[])

    assert case.run_sync().passed
    strict = case.run_sync(strict=True)
    assert strict.errored
    assert strict.error.error_kind == "nothing_checked"
    assert "nothing was checked" in strict.format_failures()[0]


def test_a_check_that_raises():
    case = TestCase(trace=TRACE, checks=[ok, FnCheck(fn=broken, name="b"), bad])
    with pytest.raises(KeyError, match="gone") as raised:
        case.run_sync()
    assert raised.value.__context__ is None

    result = case.run_sync(return_exception=True)
    assert [r.status.value for r in result.results] == ["pass", "error", "fail"]
    assert result.results[1].message == "KeyError: 'gone'"
    assert result.results[1].details["exception_type"] == "KeyError"
    assert "in broken" in result.results[1].details["traceback"]
    with pytest.raises(KeyError):
        asyncio.run(case.assert_passed())


def test_assert_passed():
    asyncio.run(TestCase(trace=TRACE, checks=[ok]).assert_passed())
    with pytest.raises(AssertionError, match=r"(?s)fees.*bad"):
        asyncio.run(TestCase(name="fees", trace=TRACE, checks=[ok, bad]).assert_passed())


def test_the_details_of_each_result():
    check = Equals(
        name="fee", description="The fee is 3", expected_value=3.0, target_key="trace.last.outputs.fee", tolerance=0.5
    )
    [result] = TestCase(trace=TRACE, checks=[check]).run_sync().results

    assert result.name == "fee"
    assert result.details["check_kind"] == "equals"
    assert result.details["check_name"] == "fee"
    assert result.details["check_description"] == "The fee is 3"
    assert isinstance(result.details["duration_ms"], int)
    spec = result.details["check_spec"]
    assert spec["expected_value"] == 3.0
    assert spec["target_key"] == "trace.last.outputs.fee"
    assert spec["tolerance"] == 0.5
    assert not {"name", "description", "id", "severity", "timeout", "match", "expected_value_key"} & set(spec)
    assert result.details["actual_value"] == 3.0


def test_the_spec_follows_the_check():
    check = Equals(expected_value=1, target_key="trace.last.outputs.fee")
    case = TestCase(trace=TRACE, checks=[check])
    assert case.run_sync().results[0].details["check_spec"]["expected_value"] == 1
    check.expected_value = 3
    assert case.run_sync().results[0].details["check_spec"]["expected_value"] == 3
    assert case.run_sync().passed


def test_the_spec_of_checks_within_checks():
    both = AllOf(checks=[Equals(expected_value=1, name="inner"), Equals(expected_value=2)])
    [result] = TestCase(trace=TRACE, checks=[both]).run_sync().results

    assert [inner["kind"] for inner in result.details["check_spec"]["checks"]] == ["equals", "equals"]
    assert result.model_dump_json()


def test_a_result_object_that_a_check_gives_twice_is_not_shared():
    shared = CheckResult.failure("m", {"mine": 1})
    checks = [FnCheck(fn=lambda trace: shared, name=name) for name in "ab"]
    one, other = TestCase(trace=TRACE, checks=checks).run_sync().results

    assert [one.name, other.name] == ["a", "b"]
    assert one.details["mine"] == 1
    assert shared.details == {"mine": 1}


def test_it_can_run_again_and_in_another_loop():
    case = TestCase(trace=TRACE, checks=[ok])

    async def twice():
        return await asyncio.gather(case.run(), case.run())

    assert all(result.passed for result in asyncio.run(twice()))
    assert case.run_sync().passed


def test_run_sync_inside_a_loop_says_what_to_do():
    async def main():
        with pytest.raises(RuntimeError, match=r"await test_case\.run\(\)"):
            TestCase(trace=TRACE, checks=[]).run_sync()

    asyncio.run(main())


def test_a_failed_assertion_hides_its_own_frames():
    case = TestCase(trace=Trace(), checks=[FnCheck(fn=lambda trace: False, name="never")], name="case")
    with pytest.raises(AssertionError) as caught:
        asyncio.run(case.assert_passed())
    ours = [entry for entry in caught.traceback if entry.path.name in ("testcase.py", "result.py")]
    assert "never" in str(caught.value)
    assert ours
    assert all(entry.ishidden(None) for entry in ours)


CALLS = [{"name": "pay", "arguments": {"eur": 1}, "result": None, "error": "declined"}]
PAID = Trace(
    interactions=[
        Interaction(inputs="pay", outputs="Done.", metadata={"tool_calls": CALLS}),
        Interaction(inputs="thanks", outputs="Bye."),
    ],
    annotations={"conversation_id": "c-1"},
)


def test_a_failure_shows_the_turn_of_the_call_with_its_calls():
    result = TestCase(trace=PAID, checks=[ToolNotCalled(tool="pay")]).run_sync()

    with pytest.raises(AssertionError) as raised:
        result.assert_passed()
    assert str(raised.value).split("\n")[2:] == [
        "  turn 1 of 2:",
        "    inputs:  'pay'",
        "    → pay(eur=1)",
        "        error declined",
        "    outputs: 'Done.'",
    ]


def test_the_conversation_is_no_part_of_the_result_and_not_kept_of_a_pass():
    result = TestCase(trace=PAID, checks=[ToolNotCalled(tool="pay")]).run_sync()
    loaded = TestCaseResult.model_validate_json(result.model_dump_json())

    assert result.conversation is PAID
    assert "conversation" not in result.model_dump_json()
    for other in (loaded, copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert other == result and other.conversation is None
    assert TestCase(trace=PAID, checks=[ToolNotCalled(tool="none")]).run_sync().conversation is None
    some = TestCase(trace=PAID, checks=[ToolNotCalled(tool="none"), FnCheck(fn=lambda trace: CheckResult.skip("n/a"))])
    assert some.run_sync().passed and some.run_sync().conversation is None


def test_of_many_calls_the_first_and_the_last_are_shown():
    calls = [{"name": f"f{number}", "arguments": {}} for number in range(30)]
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a", metadata={"tool_calls": calls})])

    with pytest.raises(AssertionError) as raised:
        TestCase(trace=trace, checks=[bad]).run_sync().assert_passed()
    shown = [line.strip() for line in str(raised.value).split("\n") if "→" in line or "more" in line]
    assert len(shown) == 11 and shown[5] == "… 20 more calls" and shown[-1] == "→ f29()"


def test_a_case_without_a_name_goes_by_that_of_its_recording():
    placed = PAID.model_copy(update={"annotations": {"source": {"path": "a.jsonl", "line": 4}}})
    cases = [TestCase(trace=trace, checks=[bad]) for trace in (placed, PAID, TRACE)]
    result = Suite(name="s", scenarios=cases).run_sync()

    assert [one.scenario_name for one in result.results] == ["a.jsonl:4", "c-1", "Unnamed test case"]
    assert [one.scenario_id for one in result.results] == ["a.jsonl:4", "c-1", "Unnamed test case"]
    assert 'name="a.jsonl:4"' in to_junit_xml(cases[0].run_sync())
    assert 'name="c-1"' in to_junit_xml(cases[1].run_sync())
