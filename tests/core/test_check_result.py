"""Check results: what they are made of, and what a run keeps of many of them."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks import (
    CheckResult,
    CheckStatus,
    CodeCheck,
    Equals,
    FnCheck,
    Metric,
    Scenario,
    StringMatching,
    Suite,
    SuiteResult,
    TestCase,
    Trace,
    Usage,
)
from giskard.checks.core.check_result import Verdict, any_verdict, counted, passed_with
from giskard.checks.core.findings import Findings

METRIC = Metric(name="m", value=1)


@pytest.mark.parametrize("make", ["success", "failure", "skip", "error"])
def test_the_four_ways_to_make_one(make):
    status = {"success": "pass", "failure": "fail"}.get(make, make)
    plain = getattr(CheckResult, make)()
    assert (plain.status, plain.message, plain.details, plain.metrics, plain.usage) == (status, None, {}, [], None)
    assert (plain.check_id, plain.severity, plain.timing, plain.retryable) == (None, "error", None, False)
    assert plain.error_kind == ("unknown" if make == "error" else None)
    flags = [plain.passed, plain.failed, plain.errored, plain.skipped]
    assert flags == [status == each for each in CheckStatus]
    assert bool(plain) is plain.passed

    details, metrics = {"a": 1}, [METRIC]
    full = getattr(CheckResult, make)("why", details, metrics, usage=Usage(calls=2))
    metrics.clear()
    assert (full.status, full.message, full.details, full.metrics) == (status, "why", {"a": 1}, [METRIC])
    assert full.usage == Usage(calls=2)
    assert getattr(CheckResult, make)(message="why", details={"a": 1}, metrics=(METRIC,), usage=Usage(calls=2)) == full
    assert full != plain


def test_a_message_is_a_text_or_none():
    assert CheckResult.failure(KeyError("x")).message == "'x'"
    assert CheckResult.failure(5).message == "5"
    assert CheckResult.success("").message == ""
    assert CheckResult.success(None).message is None


def test_whether_another_try_may_help_goes_by_the_kind_unless_it_is_said():
    assert CheckResult.error(error_kind="rate_limit").retryable
    assert not CheckResult.error(error_kind="config").retryable
    assert CheckResult.error(error_kind="config", retryable=True).retryable
    assert not CheckResult.error(error_kind="rate_limit", retryable=False).retryable
    assert CheckResult.error(error_kind="rate_limit").error_kind == "rate_limit"


@pytest.mark.parametrize(
    ("details", "check_id", "name"),
    [
        ({"check_name": "n", "check_kind": "k"}, "i", "n"),
        ({"check_name": None, "check_kind": "k"}, "i", "k"),
        ({"check_name": "", "check_kind": None}, "i", "i"),
        ({}, None, "check"),
        ({"check_name": 5}, None, "5"),
    ],
)
def test_it_is_called_by_its_name_its_kind_or_its_id(details, check_id, name):
    result = CheckResult(status="fail", details=details, check_id=check_id)
    assert result.name == name
    assert result.summary() == f"{name}: FAIL"
    assert result.model_copy(update={"message": "why"}).summary() == f"{name}: FAIL: why"


def test_a_failure_that_only_warns_says_so():
    warned = CheckResult(status="fail", message="why", severity="warning")
    assert warned.summary() == "check: FAIL (warning): why"
    assert CheckResult(status="error", severity="warning").summary() == "check: ERROR"
    assert counted(CheckStatus.FAIL, "warning") == "pass"
    assert counted(CheckStatus.FAIL, "error") == "fail"
    for status in (CheckStatus.PASS, CheckStatus.ERROR, CheckStatus.SKIP):
        assert counted(status, "warning") == counted(status, "error") == status
    assert not any_verdict([])
    assert not any_verdict(["skip", "skip"])
    assert any_verdict(["skip", "error"])


def test_results_are_equal_whenever_all_but_the_timing_is():
    one, other = (TestCase(trace=Trace(), checks=[FnCheck(fn=bool)]).run_sync().results[0] for _ in range(2))
    assert one.timing is not None
    other = other.model_copy(update={"details": one.details, "timing": None})
    assert one == other
    assert one != other.model_copy(update={"message": "else"})
    assert one != "pass"
    with pytest.raises(TypeError):
        hash(one)


# --- findings ----------------------------------------------------------------------------


def found_by(*entries):
    """Findings of these verdicts and results, and what they should read as."""
    findings, expected = Findings(), []
    for number, entry in enumerate(entries):
        if isinstance(entry, CheckResult):
            findings.add_result(entry)
        else:
            check = StringMatching(keyword="x", name=f"c{number}", severity="warning" if number % 2 else "error")
            findings.add(entry, check, f"id{number}", 5.0)
        expected.append(entry)
    return findings, expected


verdicts = st.builds(
    lambda *fields: Verdict(*fields),
    st.sampled_from(list(CheckStatus)),
    st.none() | st.just("why"),
    st.none() | st.just({"a": 1}),
    st.just(()) | st.just((METRIC,)),
    st.none() | st.just("rate_limit"),
    st.booleans(),
)
results = st.builds(
    lambda status, severity: CheckResult(status=status, severity=severity),
    st.sampled_from(list(CheckStatus)),
    st.sampled_from(["error", "warning"]),
)


@given(st.lists(verdicts | results, max_size=6))
def test_findings_read_as_the_results_that_were_added(entries):
    findings, _ = found_by(*entries)
    read = findings.results()

    assert findings.count() == len(read) == len(entries)
    for number, (entry, result) in enumerate(zip(entries, read, strict=True)):
        assert findings.result(number) == findings.result(number - len(entries)) == result
        if isinstance(entry, CheckResult):
            assert result is entry
            continue
        assert (result.status, result.message, list(result.metrics)) == (entry.status, entry.message, [*entry.metrics])
        assert (result.error_kind, result.retryable) == (entry.error_kind, entry.retryable)
        assert result.check_id == f"id{number}"
        assert result.severity == ("warning" if number % 2 else "error")
        spec = {
            "keyword": "x",
            "target_key": "trace.last.outputs",
            "case_sensitive": True,
            "normalization_form": "NFKC",
        }
        spec |= {"severity": "warning"} if number % 2 else {}
        assert result.details == {
            **(entry.details or {}),
            "duration_ms": int(result.seconds * 1000),
            "check_kind": "string_matching",
            "check_name": f"c{number}",
            "check_description": None,
            "check_spec": spec,
        }
    assert findings.statuses() == [counted(result.status, result.severity) for result in read]
    for again in (copy.deepcopy(findings), pickle.loads(pickle.dumps(findings))):
        assert list(again) == read


def test_what_a_pass_was_found_with_is_worded_when_somebody_reads_it():
    findings = Findings()
    check = Equals(expected_value=3, name="fee")
    (said,) = (
        TestCase(
            trace=Trace(annotations={"fee": 3}),
            checks=[check.model_copy(update={"target_key": "trace.annotations.fee"})],
        )
        .run_sync()
        .results
    )
    findings.add(passed_with(3), check, "fee", 0.0)
    result = findings.result(0)

    assert result.passed
    assert (result.retryable, result.error_kind, list(result.metrics)) == (False, None, [])
    assert result.message == said.message
    assert {**result.details, "duration_ms": 0, "check_spec": 0} == {**said.details, "duration_ms": 0, "check_spec": 0}


def test_a_verdict_as_a_result():
    details = {"a": 1}
    verdict = Verdict(CheckStatus.ERROR, "why", details, (METRIC,), "timeout", True)
    result = verdict.result()
    assert result == CheckResult.error("why", {"a": 1}, [METRIC], error_kind="timeout", retryable=True)
    assert result.details is not details
    assert Verdict(CheckStatus.SKIP).result() == CheckResult.skip()


def test_an_interrupted_run_leaves_whole_rows(monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    findings = Findings()
    findings.add(Verdict(CheckStatus.PASS, "yes"), Equals(expected_value=1), "first", 0.0)
    monkeypatch.setattr("giskard.checks.core.findings.perf_counter", interrupt)
    with pytest.raises(KeyboardInterrupt):
        findings.add(Verdict(CheckStatus.FAIL, "no"), Equals(expected_value=1), "second", 0.0)
    assert findings.count() == 1
    assert findings.statuses() == ["pass"]
    assert [result.message for result in findings.results()] == ["yes"]


def test_a_verdict_of_ones_own_counts_as_one():
    class Own(Verdict):
        pass

    class Check(CodeCheck):
        def verdict(self, trace):
            return Own(CheckStatus.FAIL, "no")

    (result,) = TestCase(trace=Trace(), checks=[Check()]).run_sync().results
    assert (result.status, result.message) == ("fail", "no")


class Unwilling:
    def __getattr__(self, name):
        raise RuntimeError("outside of a request")


def test_an_object_that_answers_nothing_costs_no_result():
    odd = Scenario("odd").interact("a", "b").check(Equals(expected_value=Unwilling()))
    good = Scenario("good").interact("a", "b").check(StringMatching(keyword="b"))
    result = Suite("s", [odd, good]).run_sync(return_exception=True, verbose=False)

    assert result.results[1].passed
    for told in (repr(result), result.to_junit_xml(), result.to_report_json(), result.to_json_lines()):
        assert "good" in told or "1 of 2" in told
    assert SuiteResult.model_validate_json(result.model_dump_json()).total == 2


def test_what_a_subclass_makes_of_a_pass_stays():
    class Mine(StringMatching):
        def verdict(self, trace):
            return super().verdict(trace)._replace(message="mine", details={"own": 1})

    (result,) = Scenario("s").interact("a", "b").check(Mine(keyword="b")).run_sync().steps[0].results
    assert (result.message, result.details["own"]) == ("mine", 1)


def test_numbers_beyond_the_range_of_float_can_be_told():
    result = CheckResult.success(metrics=[Metric(name="tokens", value=10**400)])
    assert repr(result).startswith("<CheckResult PASS: tokens=1000")
    assert CheckResult.model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"metrics": [("tokens", 3)]}, r"a metric is \('tokens', 3\), expected Metric\(name=..., value=...\)"),
        ({"details": [("a", 1)]}, r"details are \[\('a', 1\)\], expected a dict"),
    ],
)
def test_odd_metrics_and_details_are_refused_when_a_check_gives_them(fields, words):
    with pytest.raises(TypeError, match=words):
        CheckResult.success("ok", **fields)
