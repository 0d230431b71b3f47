"""Results: the roll-up, the flags, the reasons, and their way through JSON."""

import dataclasses
import datetime as dt
import io
import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError, computed_field
from rich.console import Console

from giskard.checks import (
    CheckResult,
    CheckStatus,
    Equals,
    FnCheck,
    Interaction,
    Metric,
    Scenario,
    ScenarioResult,
    ScenarioStatus,
    Suite,
    SuiteResult,
    TestCase,
    TestCaseError,
    TestCaseResult,
    TestCaseStatus,
    ToolCall,
    Trace,
    Usage,
)
from giskard.checks.core.result import ScenarioAttempt, roll_up
from giskard.checks.core.timing import Timing

STATUSES = ["pass", "fail", "error", "skip"]


def result_of(*statuses: str, **fields) -> TestCaseResult:
    return TestCaseResult(results=[CheckResult(status=status) for status in statuses], **fields)


# --- statuses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("enum", [CheckStatus, TestCaseStatus, ScenarioStatus])
def test_statuses_are_their_words(enum):
    assert [status.value for status in enum] == STATUSES
    assert [f"{status}" for status in enum] == STATUSES
    assert [str(status) for status in enum] == STATUSES
    assert enum("fail") == "fail"


@given(st.lists(st.sampled_from(STATUSES)))
def test_the_roll_up(statuses):
    if "error" in statuses:
        expected = "error"
    elif "fail" in statuses:
        expected = "fail"
    elif statuses and all(status == "skip" for status in statuses):
        expected = "skip"
    else:
        expected = "pass"

    case = result_of(*statuses)
    assert case.status == roll_up(statuses) == expected
    assert type(case.status) is TestCaseStatus
    assert case.passed is (expected == "pass")
    assert case.failed is ("fail" in statuses)
    assert case.errored is ("error" in statuses)
    assert case.skipped is (expected == "skip")
    assert result_of(*statuses, error=TestCaseError(message="m", exception_type="E")).status == "error"


@given(st.lists(st.sampled_from(STATUSES), min_size=1), st.lists(st.sampled_from(STATUSES), min_size=1), st.randoms())
def test_the_roll_up_asks_neither_for_order_nor_for_groups(some, others, random):
    every = [*some, *others]
    whole = roll_up(every)
    assert roll_up([roll_up(some), roll_up(others)]) == whole
    assert roll_up([whole]) == whole == roll_up([*every, *every])
    random.shuffle(every)
    assert roll_up(every) == whole


@given(st.lists(st.lists(st.sampled_from(STATUSES))))
def test_scenarios_and_suites_go_by_status(steps):
    scenario = ScenarioResult(
        scenario_name="s", steps=[result_of(*statuses) for statuses in steps], final_trace=Trace()
    )
    expected = roll_up(step.status for step in scenario.steps)
    suite = SuiteResult(results=[scenario])

    for result in (scenario, suite):
        assert result.status == expected
        flags = [result.passed, result.failed, result.errored, result.skipped]
        assert flags == [expected == status for status in STATUSES]
    counts = [suite.passed_count, suite.failed_count, suite.errored_count, suite.skipped_count]
    assert counts == [expected == status for status in STATUSES]


def test_both_flags_may_hold():
    case = result_of("fail", "error", "pass")

    assert case.status is TestCaseStatus.ERROR
    assert case.failed
    assert case.errored
    assert not case.passed


def test_the_flags_of_a_check_result():
    for status in STATUSES:
        result = CheckResult(status=status)
        assert [result.passed, result.failed, result.errored, result.skipped] == [status == s for s in STATUSES]


def test_the_four_ways_to_make_a_check_result():
    metrics = [Metric(name="length", value=3)]
    for make, status in [
        (CheckResult.success, "pass"),
        (CheckResult.failure, "fail"),
        (CheckResult.error, "error"),
        (CheckResult.skip, "skip"),
    ]:
        assert make().status == status
        result = make(message="why", details={"a": 1}, metrics=metrics)
        assert (result.status, result.message, result.details, result.metrics) == (status, "why", {"a": 1}, metrics)
    assert CheckResult.error("why").error_kind == "unknown"
    assert CheckResult.error("why", error_kind="timeout", retryable=True).retryable
    assert CheckResult.failure("why").error_kind is None


def test_results_are_frozen():
    for result in (CheckResult.success(), result_of(), Metric(name="a", value=1), SuiteResult()):
        with pytest.raises((ValidationError, AttributeError)):
            result.status = "fail"
        with pytest.raises((ValidationError, AttributeError)):
            result.timing = None


def test_a_metric_that_is_shared_is_not_changed_by_another_result():
    mine = CheckResult.success()
    with pytest.raises(TypeError):
        mine.metrics.append(Metric(name="a", value=1))
    assert CheckResult.success().metrics == []


# --- warnings -------------------------------------------------------------------------------------------


def test_a_failed_check_that_only_warns_is_reported_and_does_not_fail():
    warning = FnCheck(fn=lambda trace: False, name="style", severity="warning")
    result = TestCase(trace=Trace(), checks=[warning]).run_sync()

    assert result.passed
    assert not result.failed
    assert result.results[0].failed
    assert result.results[0].severity == "warning"
    assert [line for line in result.format_failures() if "style" in line and "warning" in line]
    result.assert_passed()


def test_a_warning_that_cannot_be_evaluated_is_an_error_all_the_same():
    def broken(trace):
        raise KeyError("x")

    check = FnCheck(fn=broken, severity="warning")

    assert TestCase(trace=Trace(), checks=[check]).run_sync(return_exception=True).errored


# --- reasons --------------------------------------------------------------------------------------------


def test_a_line_for_everything_that_did_not_pass():
    def crash(trace):
        raise KeyError("gone")

    checks = [
        FnCheck(fn=lambda trace: True, name="fine"),
        FnCheck(fn=lambda trace: False, name="polite", failure_message="rude"),
        FnCheck(fn=lambda trace: CheckResult.skip("no key"), name="needs_key"),
        FnCheck(fn=crash),
    ]
    result = TestCase(name="t", trace=Trace(), checks=checks).run_sync(return_exception=True)
    lines = result.format_failures()

    assert len(lines) == 3
    for line, words in zip(
        lines, [("polite", "FAIL", "rude"), ("needs_key", "SKIP", "no key"), ("fn", "ERROR", "KeyError")], strict=True
    ):
        assert all(word in line for word in words), line
    assert [r.name for r in result.failures_and_errors] == ["polite", "fn"]
    with pytest.raises(AssertionError) as raised:
        result.assert_passed()
    assert all(line in str(raised.value) for line in lines)


def test_the_own_error_comes_first():
    error = TestCaseError(message="no input", exception_type="ValueError", phase="input_generation")
    result = result_of("fail", error=error)

    assert result.format_failures()[0] == error.summary()
    assert "\n" not in error.summary()
    for word in ("ValueError", "a turn", "no input"):
        assert word in error.summary()
    assert TestCaseError(message="m", exception_type="E").summary() == "E: m"


@pytest.mark.parametrize("statuses", [[], ["pass"], ["pass", "skip"]])
def test_assert_passed_is_silent_when_the_status_is_pass(statuses):
    result_of(*statuses).assert_passed()
    ScenarioResult(scenario_name="s", steps=[result_of(*statuses)], final_trace=Trace()).assert_passed()


@pytest.mark.parametrize("statuses", [["fail"], ["error"], ["skip"], ["pass", "fail"]])
def test_assert_passed_raises_otherwise(statuses):
    scenario = ScenarioResult(scenario_name="refund", steps=[result_of(*statuses)], final_trace=Trace())

    for result in (result_of(*statuses), scenario, SuiteResult(results=[scenario])):
        with pytest.raises(AssertionError, match=result.status.upper()):
            result.assert_passed()
    with pytest.raises(AssertionError, match="refund"):
        SuiteResult(results=[scenario]).assert_passed()


# --- JSON -----------------------------------------------------------------------------------------------


def through_json(result):
    """dump, load, dump: the two dumps are equal, in text and as data."""
    text = result.model_dump_json()
    loaded = type(result).model_validate_json(text)
    assert json.loads(loaded.model_dump_json()) == json.loads(text)
    data = result.model_dump(mode="json")
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert type(result).model_validate(data).model_dump(mode="json") == data
    assert loaded.status == result.status
    return loaded


class Order(BaseModel):
    number: int
    note: str | None = None


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Opaque:
    def __repr__(self):
        return "<opaque \ud83d \x00>"


class NoRepr:
    def __repr__(self):
        raise RuntimeError("no repr")

    __str__ = __repr__


class ExitingRepr:
    def __repr__(self):
        raise SystemExit(1)


def cyclic():
    value = {"name": "loop"}
    value["self"] = [value]
    return value


def deep():
    value = "bottom"
    for _ in range(5_000):
        value = [value]
    return value


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=10,
)
any_text = st.text(st.characters(exclude_categories=()))


@given(json_values, json_values, st.dictionaries(st.text(st.characters(codec="utf-8")), json_values, max_size=3))
def test_json_values_come_back_equal(inputs, outputs, details):
    trace = Trace(interactions=[Interaction(inputs=inputs, outputs=outputs)], annotations={"a": outputs})
    step = TestCaseResult(results=[CheckResult.failure("m", details)])
    result = ScenarioResult(scenario_name="s", steps=[step], final_trace=trace)

    loaded = through_json(result)

    assert loaded == result
    assert loaded.final_trace.last.inputs == inputs
    assert loaded.steps[0].results[0].details == details


odd = st.one_of(
    json_values,
    any_text,
    st.floats(),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.decimals(),
    st.datetimes(),
    st.sets(st.integers(), max_size=1),  # of more, the order is not the same in a copy
    st.just(10**5000),
    st.builds(Opaque),
    st.dictionaries(st.integers() | any_text, json_values, max_size=2),
)
optional_text = st.none() | any_text
timings = st.none() | st.builds(
    Timing, st.datetimes(timezones=st.just(dt.UTC)), st.floats(0, 1e9), st.none() | st.floats(0, 1e9)
)
usages = st.none() | st.builds(Usage, calls=st.none() | st.integers(0), cost=st.none() | st.floats(0, 1e6))
check_results = st.builds(
    CheckResult,
    status=st.sampled_from(list(CheckStatus)),
    message=optional_text,
    details=st.dictionaries(any_text, odd, max_size=3),
    metrics=st.lists(
        st.builds(Metric, name=any_text, value=st.integers(-9, 9) | st.floats(allow_nan=False)), max_size=2
    ),
    check_id=optional_text,
    severity=st.sampled_from(["error", "warning"]),
    error_kind=st.sampled_from([None, "timeout", "my own"]),
    retryable=st.booleans(),
    usage=usages,
    timing=timings,
)
errors = st.none() | st.builds(
    TestCaseError, message=any_text, exception_type=any_text, traceback=optional_text, phase=optional_text
)
case_results = st.builds(
    TestCaseResult,
    results=st.lists(check_results, max_size=2),
    duration_ms=st.integers(0, 9),
    last_interaction_index=st.none() | st.integers(0, 9),
    error=errors,
    name=optional_text,
    timing=timings,
)
traces = st.builds(
    lambda turns, note: Trace(
        interactions=[Interaction(inputs=i, outputs=o) for i, o in turns], annotations={"n": note}
    ),
    st.lists(st.tuples(odd, odd), max_size=2),
    odd,
)
scenario_results = st.builds(
    ScenarioResult,
    scenario_name=any_text,
    steps=st.lists(case_results, max_size=2),
    final_trace=traces,
    tags=st.lists(any_text, max_size=2),
    multiple_runs=st.integers(1, 3),
    runs_executed=st.integers(1, 3),
    timing=timings,
    earlier_attempts=st.lists(
        st.builds(ScenarioAttempt, steps=st.lists(case_results, max_size=1), final_trace=traces, timing=timings),
        max_size=1,
    ),
)
suite_results = st.builds(
    SuiteResult, results=st.lists(scenario_results, max_size=2), recommendation=optional_text, suite_name=optional_text
)


@given(st.one_of(check_results, case_results, scenario_results, suite_results))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_what_was_saved_loaded_and_saved_again_is_the_same(result):
    loaded = through_json(result)
    assert loaded.model_dump_json() == result.model_dump_json()
    assert loaded == type(result).model_validate_json(loaded.model_dump_json())
    assert type(result).model_validate(result.model_dump()).model_dump_json() == result.model_dump_json()


@given(any_text)
def test_any_text_can_be_written(text):
    error = TestCaseError(message=text, exception_type=text, traceback=text, phase=text)
    check = CheckResult.error(text, {text: text}, [Metric(name=text, value=1)])
    step = TestCaseResult(results=[check], error=error, name=text)
    trace = Trace(interactions=[Interaction(inputs=text, outputs={text: [text]}, metadata={text: text})])
    scenario = ScenarioResult(scenario_name=text, steps=[step], final_trace=trace, tags=[text])

    through_json(SuiteResult(results=[scenario], suite_name=text, recommendation=text))


@pytest.mark.parametrize(
    "value",
    [
        Opaque(),
        NoRepr(),
        ExitingRepr(),
        cyclic(),
        deep(),
        math.nan,
        -math.inf,
        10**5_000,
        {1: "a", None: "b", ("x", 2): "c"},
        {"\ud83d": "\udc00"},
        {1, 2},
        frozenset({1}),
        b"\xff",
        dt.datetime(2025, 1, 1, tzinfo=dt.UTC),
        Point,
        len,
        lambda: None,
        Exception("x"),
        object,
        iter([]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_hostile_objects_never_cost_the_results(value):
    trace = Trace(interactions=[Interaction(inputs=value, outputs=[value], metadata={"v": value})])
    check = FnCheck(fn=lambda trace: CheckResult.failure("m", {"value": value}))
    result = TestCase(name="t", trace=trace, checks=[check]).run_sync()
    through_json(result)

    def target(inputs):
        return value

    scenario = Scenario("s", annotations={"v": value}).interact(lambda: value, lambda inputs: {"v": value}).check(check)
    through_json(scenario.run_sync())
    through_json(Suite(name="s", scenarios=[scenario]).run_sync(verbose=False))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_metrics_that_are_no_number_come_back(value):
    loaded = through_json(TestCaseResult(results=[CheckResult.success(metrics=[Metric(name="m", value=value)])]))

    assert str(loaded.results[0].metrics[0].value) == str(value)


def test_models_come_back_as_plain_data():
    values = {"order": Order(number=1), "point": Point(1, 2.0)}
    trace = Trace(interactions=[Interaction(inputs=values, outputs=Order(number=2, note="n"))])
    loaded = through_json(TestCaseResult(results=[CheckResult.success(details=values)]))
    plain = {"order": {"number": 1, "note": None}, "point": {"x": 1, "y": 2.0}}

    assert loaded.results[0].details == plain
    loaded = through_json(ScenarioResult(scenario_name="s", final_trace=trace))
    assert loaded.final_trace.last.inputs == plain
    assert loaded.final_trace.last.outputs == {"number": 2, "note": "n"}


class Shop(Trace[str, str], frozen=True):
    currency: str = "EUR"

    @computed_field
    @property
    def transcript(self) -> str:
        return " / ".join(str(turn.inputs) for turn in self.interactions)


def test_traces_of_ones_own_keep_their_fields_as_data():
    result = Scenario("s", trace_type=Shop).interact("a", "b").run_sync()
    assert type(result.final_trace) is Shop

    loaded = through_json(result)

    assert loaded.final_trace.currency == "EUR"
    assert loaded.final_trace.transcript == "a"
    assert ScenarioResult[Shop].model_validate_json(result.model_dump_json()).final_trace == result.final_trace


def full_result() -> SuiteResult:
    def target(inputs, trial):
        return trial

    scenario = Scenario("s", tags=["Area:refunds", "fast"], multiple_runs=3).interact("q", target)
    scenario.check(FnCheck(fn=lambda trace: trace.last.outputs < 2, name="below")).interact("r", "x")
    case = TestCase(name="t", trace=Trace(interactions=[Interaction(inputs=1, outputs=2)]), checks=[])
    return Suite(name="suite", scenarios=[scenario, case]).run_sync(verbose=False)


def test_a_whole_result_comes_back_equal():
    result = full_result()
    loaded = through_json(result)

    assert loaded.suite is None
    assert result.suite is not None
    assert loaded == result
    assert loaded != result.model_copy(update={"suite_name": "other"})
    assert loaded.pass_rate == 0.5
    assert [attempt.trial for attempt in loaded.results[0].attempts] == [1, 2]
    assert loaded.results[0].timing.started_at.utcoffset() == dt.timedelta(0)
    for name in ("status", "passed_count", "failed_count", "errored_count", "skipped_count", "pass_rate"):
        assert name in result.model_dump()
    assert "suite" not in result.model_dump()


def test_the_timing_is_left_out_of_equality():
    one, other = full_result(), full_result()

    assert one.results[0].steps[0].results[0].timing != other.results[0].steps[0].results[0].timing
    mine = one.results[0].steps[0].model_dump()
    theirs = other.results[0].steps[0].model_dump()
    for step in (mine, theirs):
        step.pop("run_id")
        step.pop("timing")
        step.pop("duration_ms")
    check = CheckResult.success("m")
    assert check == check.model_copy(update={"timing": (0.0, 1.0)})


def test_a_report_can_be_written_in_parts():
    result = full_result()

    assert set(result.model_dump(include={"pass_rate"})) == {"pass_rate"}
    assert "timing" not in result.model_dump(exclude={"timing"})
    assert json.loads(result.model_dump_json(indent=2)) == json.loads(result.model_dump_json())


# --- versions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [TestCaseResult, ScenarioResult, SuiteResult])
def test_a_newer_major_version_is_refused_with_both_numbers(cls):
    data = {"scenario_name": "s", "final_trace": {}} if cls is ScenarioResult else {}
    assert cls.model_validate({**data, "schema_version": "1.0"})
    with pytest.raises(ValidationError, match=r"(?s)schema_version 2\.3.*1\.0"):
        cls.model_validate({**data, "schema_version": "2.3"})
    with pytest.raises(ValidationError, match="schema_version"):
        cls.model_validate({**data, "schema_version": "soon"})


def test_another_minor_version_warns_of_what_is_left_out():
    with pytest.warns(UserWarning, match="added_later"):
        loaded = TestCaseResult.model_validate({"schema_version": "1.9", "added_later": 1, "duration_ms": 5})

    assert loaded.duration_ms == 5


# --- usage ----------------------------------------------------------------------------------------------


def test_what_is_unknown_stays_unknown():
    total = Usage(input_tokens=1, calls=1) + Usage(input_tokens=2, output_tokens=3, calls=1)

    assert (total.input_tokens, total.output_tokens, total.calls, total.cost) == (3, None, 2, None)


def test_a_tool_call_survives_json():
    call = ToolCall(id="1", name="search", arguments={"q": [1]}, result=Opaque(), started_at="2025-01-01T00:00:00Z")
    loaded = ToolCall.model_validate_json(call.model_dump_json())

    assert loaded.model_dump_json() == call.model_dump_json()
    assert loaded.arguments == {"q": [1]}


@pytest.mark.parametrize("kind", [TestCaseResult, ScenarioResult, SuiteResult])
def test_data_that_is_no_result_does_not_load_as_one_that_passed(kind):
    with pytest.raises(ValidationError, match=rf"this is no {kind.__name__}.*'a'"):
        kind.model_validate_json('{"a": 1}')


def test_a_result_is_true_when_it_passed():
    passed = Scenario("s").interact("q", "a").check(FnCheck(fn=lambda trace: True)).run_sync()
    failed = Scenario("s").interact("q", "a").check(FnCheck(fn=lambda trace: False)).run_sync()

    assert passed
    assert passed.steps[0].results[0]
    assert not failed
    assert not failed.steps[0]
    assert not failed.steps[0].results[0]


def test_later_changes_do_not_reach_the_details_of_a_result():
    expected, given, shared = [1], {"n": [1]}, [1]
    checks = [
        Equals(expected_value=expected, target_key="trace.annotations"),
        FnCheck(fn=lambda trace: True, details=given),
        FnCheck(fn=lambda trace: CheckResult.success(details={"shared": shared})),
    ]
    equals, details, own = TestCase(trace=Trace(), checks=checks).run_sync().results
    for value in (expected, given["n"], shared):
        value.append(2)

    assert equals.details["expected_value"] == equals.details["check_spec"]["expected_value"] == [1]
    assert details.details["n"] == [1]
    assert own.details["shared"] == [1]


def test_the_repr_is_a_line_and_survives_what_a_result_holds():
    assert repr(CheckResult.success()) == "<CheckResult PASS>"
    shown = repr(CheckResult.failure("no", {"a": NoRepr()}, [Metric(name="m", value=1)]))
    assert shown == "<CheckResult FAIL: no; m=1>"
    assert repr(TestCaseResult(name="t")).startswith("<TestCaseResult PASS 't'")


@pytest.mark.parametrize("make", [TestCaseResult, lambda: ScenarioResult(scenario_name="s", final_trace=Trace())])
def test_reports_go_to_the_console_that_is_given(make):
    console = Console(file=io.StringIO(), width=80)
    make().print_report(console)
    assert console.file.getvalue().strip()


def test_a_failed_assertion_names_what_failed_and_hides_its_own_frames():
    case = result_of("fail", name="case")
    scenario = ScenarioResult(scenario_name="s", steps=[case], final_trace=Trace())
    suite = SuiteResult(results=[scenario], suite_name="all")
    for result, first in (
        (case, "test case 'case': FAIL"),
        (result_of("fail"), "test case: FAIL"),
        (scenario, "scenario 's': FAIL"),
        (suite, "suite 'all': FAIL (0 of 1 scenario passed, 1 failed)"),
    ):
        with pytest.raises(AssertionError) as caught:
            result.assert_passed()
        assert str(caught.value).splitlines()[0] == first
        ours = [entry for entry in caught.traceback if "giskard" in str(entry.path)]
        assert ours
        assert all(entry.ishidden(None) for entry in ours)


def test_what_is_read_late_is_read_once_and_cannot_be_set():
    result = TestCase(trace=Trace(), checks=[FnCheck(fn=lambda trace: True)]).run_sync()
    assert result.results is result.results
    for name, message in (
        ("results", "results of a test case's result cannot be set"),
        ("timing", "timing of a result cannot be set"),
    ):
        with pytest.raises(AttributeError) as refused:
            object.__setattr__(result, name, None)
        assert str(refused.value) == message


def test_a_strict_run_of_nothing_says_what_it_is():
    (step,) = Scenario("s").interact("q", "a").run_sync(strict=True).steps
    assert step.error.exception_type == "NothingChecked"
