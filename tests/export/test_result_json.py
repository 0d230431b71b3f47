"""Results as JSON text: written by hand, they say what pydantic would write."""

from __future__ import annotations

import datetime
import enum
import json
import math
import warnings
from collections import namedtuple
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, computed_field

from giskard.checks import (
    MISSING,
    CheckResult,
    Equals,
    FnCheck,
    Interaction,
    Metric,
    Scenario,
    ScenarioResult,
    StringMatching,
    Suite,
    SuiteResult,
    TestCase,
    TestCaseResult,
    Timing,
    Trace,
    Usage,
)
from giskard.checks.core.check import CodeCheck
from giskard.checks.core.result import CheckStatus, Verdict
from giskard.checks.core.timing import start_texts
from giskard.checks.export import _result_json
from giskard.checks.export._result_json import _NAMES, _timings, result_text, result_texts


def by_pydantic(result: BaseModel) -> dict[str, Any]:
    return json.loads(BaseModel.model_dump_json(result))


def by_hand(result: ScenarioResult | TestCaseResult) -> dict[str, Any]:
    return json.loads(result_text(result))


def same_text(result: ScenarioResult | TestCaseResult) -> bool:
    return result_text(result) == BaseModel.model_dump_json(result)


Point = namedtuple("Point", "x y")


class Color(enum.StrEnum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Plain(BaseModel):
    a: Any


class Text(str):
    __slots__ = ()


def loop() -> list[Any]:
    endless: list[Any] = [1]
    endless.append(endless)
    endless.append(endless)
    return endless


def loop_of_dicts() -> dict[str, Any]:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    return endless


def deep(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


ODD = [
    math.nan,
    math.inf,
    2**63,
    -(2**63),
    2**63 - 1,
    10**5000,
    1e300,
    "\ud800",
    Text("x"),
    b"\xff",
    (1, 2),
    {1, 2},
    frozenset(),
    {1: "x"},
    {Color.RED: 1},
    {"red": 1},
    {"\udfff": 1},
    {None: 1},
    Color.RED,
    Number.ONE,
    True,
    None,
    Point(1, 2),
    Plain(a={1}),
    Decimal("1.5"),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    np.float64(0.5),
    np.int64(3),
    np.array([1, 2]),
    object,
    loop(),
    deep(99),
    deep(150),
    deep(400),
]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
VALUES = JSON | st.sampled_from(ODD) | st.lists(st.sampled_from(ODD), max_size=2)


def scenario_with(outputs: Any, details: Any = None) -> ScenarioResult:
    def check(trace: Trace) -> CheckResult:
        return CheckResult.failure("no", {"found": details})

    scenario = Scenario("s").append(Interaction(inputs="in", outputs=outputs, metadata={"m": outputs}))
    return scenario.check(FnCheck(fn=check)).with_annotations({"a": details}).run_sync(return_exception=True)


@settings(deadline=None)
@given(outputs=VALUES, details=VALUES)
def test_whatever_a_result_holds(outputs: Any, details: Any) -> None:
    result = scenario_with(outputs, details)
    for _ in range(2):
        assert same_text(result)
        assert same_text(result.steps[0])
        assert len(result.steps[0].results) == 1  # from now on they are objects


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_whatever_odd_thing_a_result_holds(value: Any) -> None:
    result = scenario_with({"value": value}, [value])
    assert same_text(result)
    assert same_text(scenario_with(value, value))


@settings(deadline=None)
@given(name=st.text(min_size=1), text=st.text(), expected=VALUES, description=st.none() | st.text())
def test_whatever_checks_that_pass_are_made_of(name: str, text: str, expected: Any, description: str | None) -> None:
    checks = [
        StringMatching(name=name, keyword="\u00e9", text=f"{text} \u00e9 {text}", description=description),
        Equals(expected_value=expected, severity="warning"),
        Equals(name=name, expected_value=text, target_key="trace.last.inputs"),
    ]
    scenario = Scenario(name, tags=["a:b"]).interact(text, expected)
    result = scenario.check(checks[0]).check(checks[1]).check(checks[2]).run_sync(return_exception=True)
    for _ in range(2):
        assert same_text(result)
        assert len(result.steps[0].results) == 3


def test_what_a_check_says_of_itself_stands_where_pydantic_has_it() -> None:
    def check(trace: Trace) -> CheckResult:
        return CheckResult.success("yes", {"check_name": "mine", "duration_ms": 5, "x": 1})

    class Own(Equals):
        @classmethod
        def passed(cls, values: Any, found: Any) -> Any:
            return 5, {"check_kind": "mine", "x": 1}

    result = Scenario("s").interact("in", 1).check(FnCheck(fn=check)).check(Own(expected_value=1)).run_sync()
    assert same_text(result)


def test_a_value_more_is_left_to_pydantic() -> None:
    result = Scenario("s").interact("in", "out").check(StringMatching(keyword="out")).run_sync()
    for part in (result, result.steps[0], result.steps[0].results[0]):
        vars(part)["new"] = 1
        text = result_text(result)
        assert text == BaseModel.model_dump_json(result)
        del vars(part)["new"]


@pytest.mark.parametrize(
    "values",
    [
        {"timing": {"started_at": "2026-01-01T00:00:00Z", "seconds": 1}},
        {"timing": None},
        {"tags": "abc"},
        {"tags": {"a": 1}},
        {"tags": ("a", "b")},
        {"earlier_attempts": ()},
        {"trial": True},
        {"duration_ms": False},
        {"scenario_name": "half of \ud800"},
        {"final_trace": Trace.model_construct(interactions=[], annotations=None)},
        {"final_trace": Trace.model_construct(interactions=[], annotations=[])},
    ],
    ids=str,
)
def test_values_that_were_put_in_by_hand_are_written_as_pydantic_has_them(values: dict[str, Any]) -> None:
    result = Scenario("s", tags=["a"]).interact("in", "out").check(StringMatching(keyword="out")).run_sync()
    by_hand = result.model_copy(update=values)
    with warnings.catch_warnings(action="ignore"):
        assert [result_text(result), result_text(by_hand)] == list(map(BaseModel.model_dump_json, (result, by_hand)))
        assert result_texts([result, by_hand])[0] == [result_text(result), result_text(by_hand)]


def test_a_member_of_an_enum_is_no_text_as_a_key() -> None:
    found = by_hand(scenario_with({"red": 1}, {Color.RED: 1}))
    assert found["final_trace"]["last"]["outputs"] == {"red": 1}
    assert found["steps"][0]["results"][0]["details"]["found"]["$type"] == "dict"


def failing(inputs: str) -> str:
    raise ValueError("no \ud800 connection")


def kinds_of_results() -> Suite:
    yes, no = StringMatching(keyword="out"), Equals(expected_value={"a": [1.5, None]}, severity="warning", name="w")
    skip = FnCheck(fn=lambda trace: CheckResult.skip("no key"), name="skip")
    rated = FnCheck(
        fn=lambda trace: CheckResult.success(metrics=[Metric(name="score", value=0.5)], usage=Usage(calls=1)),
        name="rated",
    )
    broken = Equals(expected_value=1, target_key="trace.last.outputs.gone")
    return Suite(
        "kinds",
        [
            Scenario("empty"),
            Scenario("\ud800").interact("in", "out").check(yes),
            Scenario("pass", tags=["Topic:x"]).interact("in", "out").check(yes).check(no).check(rated),
            Scenario("error").interact("in", "out").check(broken).interact("in", "later").check(yes),
            Scenario("crash").interact("in", failing).check(yes),
            Scenario("skip").interact("in", "out").check(skip),
            Scenario("twice", multiple_runs=3).interact("in", "out").check(yes),
            TestCase(name="case", trace=Trace(interactions=[Interaction(inputs="in", outputs="out")]), checks=[yes]),
            TestCase(trace=Trace(), checks=[]),
        ],
    )


def test_every_kind_of_result() -> None:
    result = kinds_of_results().run_sync(return_exception=True, verbose=False)
    texts, statuses = result_texts(result.results)
    assert texts == [BaseModel.model_dump_json(one) for one in result.results]
    assert statuses == [one.status for one in result.results]
    assert result.model_dump_json() == '{"schema_version":"1.0",' + BaseModel.model_dump_json(result)[1:]
    for one in result.results:
        assert list(json.loads(one.model_dump_json())) == ["schema_version", *by_pydantic(one)]


def test_the_keys_stand_in_the_order_of_the_fields() -> None:
    result = kinds_of_results().run_sync(return_exception=True, verbose=False)
    assert list(json.loads(result.model_dump_json())) == ["schema_version", *by_pydantic(result)]
    one = json.loads(result.model_dump_json())["results"][1]["steps"][0]["results"][0]
    assert list(one) == list(by_pydantic(result)["results"][1]["steps"][0]["results"][0])


def test_results_that_were_loaded() -> None:
    result = kinds_of_results().run_sync(return_exception=True, verbose=False)
    text = result.model_dump_json()
    loaded = SuiteResult.model_validate_json(text)
    assert loaded.model_dump_json() == text


@settings(deadline=None)
@given(st.floats(0, 2e9), st.floats(0, 100), st.none() | st.floats(0, 1))
def test_the_start_is_written_as_datetime_has_it(start: float, seconds: float, first_chunk: float | None) -> None:
    clock = (start, seconds, first_chunk)
    assert start_texts([start, start]) == [Timing.of(clock).dump()["started_at"]] * 2
    timings = [clock, Timing.of(clock), clock[:2], Timing.of(clock[:2]), None]
    expected = [None if timing is None else Timing.load(timing).dump() for timing in timings]
    assert [json.loads(text) for text in _timings(timings)] == expected
    assert _timings([clock, clock[:2]]) == [_timings([clock])[0], _timings([clock[:2]])[0]]


class Odd(CodeCheck):
    """A check that somebody wrote, whose verdict holds what it should not, or what stands elsewhere."""

    message: Any = None
    about: Any = None
    found: Any = MISSING

    def verdict(self, trace: Any) -> Verdict:
        return Verdict(CheckStatus.PASS, self.message, self.about, (), None, False, self.found)

    @classmethod
    def passed(cls, values: Any, found: Any) -> Any:
        if type(found) is list:
            raise ValueError("it cannot be told")
        return ("told", None) if found is None else ("told", {"found": found})


ODD_CHECKS = [
    {"message": "", "found": "x"},
    {"about": {}, "found": "x"},
    {"found": []},
    {"found": None},
    {"found": "x"},
    {"found": np.array([1, 2])},
    {"message": "fine", "about": {}},
    {"message": "fine", "about": {1: 2}},
    {"message": "fine", "about": {Color.RED: 2}},
    {"message": "fine", "about": {"\ud800": 2}},
    {"message": "fine", "about": {"a": {1}, "\ud800": 2}},
    {"message": "fine", "about": {"check_spec": 2, "a": 1}},
    {"message": "half of \ud800"},
    {"message": "fine", "about": {f"key{i}": i for i in range(20)}},
    {},
]


@pytest.mark.parametrize("values", ODD_CHECKS, ids=str)
def test_whatever_a_check_of_ones_own_gives(values: dict[str, Any]) -> None:
    def results() -> list[ScenarioResult]:
        checks = [Odd(**values), StringMatching(keyword="out"), Odd(message="fine", about={"a": 1})]
        scenarios = [Scenario(f"s{i}").interact("in", "out") for i in range(6)]
        for i, scenario in enumerate(scenarios):
            for check in checks if i == 2 else checks[1:]:
                scenario.check(check)
        return [scenario.run_sync() for scenario in scenarios]

    written = results()
    texts, statuses = result_texts(written)
    assert statuses == ["pass"] * 6
    assert texts == [BaseModel.model_dump_json(one) for one in written]


@settings(deadline=None, max_examples=30)
@given(values=st.lists(VALUES, min_size=1, max_size=12), some=st.integers(1, 4))
def test_many_results_are_written_as_each_by_itself(values: list[Any], some: int) -> None:
    """They are written in batches; an odd one among them costs nobody else's text."""
    results = [scenario_with(value, value) for value in values]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_result_json, "_BATCH", some)
        in_batches, _ = result_texts(results)
    at_once, statuses = result_texts(results)
    assert at_once == in_batches == [result_text(one) for one in results]
    assert at_once == [BaseModel.model_dump_json(one) for one in results]
    assert statuses == [one.status for one in results]


class Timed(Metric):
    unit: str = "ms"


class Rated(CodeCheck):
    def verdict(self, trace: Any) -> Verdict:
        return Verdict(CheckStatus.PASS, "fine", {}, [Timed(name="a", value=1)])


def test_a_metric_of_a_class_of_ones_own_is_pydantics_to_write() -> None:
    results = [Scenario(f"s{i}").interact("in", "out").check(Rated()).run_sync() for i in range(3)]
    assert result_texts(results)[0] == [BaseModel.model_dump_json(one) for one in results]


@pytest.mark.parametrize("value", [{"x": math.nan}, ["NaN"], "half of \ud800", {"a": 10**5000}, math.inf])
def test_odd_recorded_values_cost_nobody_a_second_writing(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    results = [scenario_with(value if i % 3 else "plain", value) for i in range(9)]
    expected = [BaseModel.model_dump_json(one) for one in results]
    batches: list[int] = []
    write = _result_json._written
    monkeypatch.setattr(_result_json, "_written", lambda batch: (batches.append(len(batch)), write(batch))[1])
    assert result_texts(results)[0] == expected
    assert batches == [9]


def test_an_odd_result_among_many_is_the_only_one_that_is_left_to_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    by_itself = BaseModel.model_dump_json

    def dump(self: BaseModel, **options: Any) -> str:
        asked.append(self)
        return by_itself(self, **options)

    results = [Scenario(f"s{i}").interact("in", f"out {i}").run_sync() for i in range(700)]
    vars(results[333])["new"] = 1
    expected = [by_itself(one) for one in results]
    monkeypatch.setattr(BaseModel, "model_dump_json", dump)
    assert result_texts(results)[0] == expected
    assert [one.scenario_name for one in asked] == ["s333"]


def test_a_trace_of_ones_own_is_written_by_its_class() -> None:
    class Shop(Trace, frozen=True):
        @computed_field
        @property
        def size(self) -> int:
            return len(self.interactions)

    result = Scenario("s", trace_type=Shop).interact("in", "out").run_sync()
    assert by_hand(result)["final_trace"]["size"] == 1
    assert by_hand(result) == by_pydantic(result)


def test_results_of_ones_own_are_left_to_pydantic() -> None:
    class Mine(CheckResult):
        extra_note: str = "n"

    result = TestCaseResult(results=[Mine(status="pass")])
    assert json.loads(result.model_dump_json()) == {"schema_version": "1.0", **by_pydantic(result)}


def test_a_loop_in_details_made_by_hand_ends_at_once() -> None:
    result = TestCaseResult(results=[CheckResult.failure("no", {"loop": loop(), "deep": deep(400)})])
    assert json.loads(result.model_dump_json())["results"][0]["message"] == "no"


def test_a_suite_result_of_ones_own_keeps_what_it_computes() -> None:
    class Mine(SuiteResult):
        @computed_field
        @property
        def twice(self) -> int:
            return 2 * self.total

    suite = Mine(results=kinds_of_results().run_sync(return_exception=True, verbose=False).results)
    for indent in (None, 1):
        assert json.loads(suite.model_dump_json(indent=indent)) == {"schema_version": "1.0", **by_pydantic(suite)}


def test_the_text_is_the_same_with_an_indent() -> None:
    result = kinds_of_results().run_sync(return_exception=True, verbose=False)
    assert json.loads(result.model_dump_json(indent=2)) == json.loads(result.model_dump_json())
    assert result.model_dump_json(indent=2).startswith('{\n  "schema_version": "1.0",\n  "results": [')


def test_each_field_is_known_to_what_writes_it() -> None:
    """A field that is added needs a look at `_result_json`: how is it written there?"""
    check = "status message details metrics check_id severity error_kind retryable usage timing"
    case = "results duration_ms last_interaction_index error name run_id timing recorded_at"
    attempt = "steps duration_ms final_trace trial conversation_id timing"
    scenario = "scenario_name multiple_runs runs_executed tags scenario_id run_id earlier_attempts"
    assert list(CheckResult.model_fields) == check.split()
    assert list(TestCaseResult.model_fields) == case.split()
    assert list(ScenarioResult.model_fields) == f"{attempt} {scenario}".split()
    for kind, names in _NAMES.items():
        assert tuple(kind.model_fields) == names


def test_common_results_are_not_left_to_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(result: BaseModel) -> str:
        raise AssertionError(f"this was left to pydantic: {result!r}")

    result = scenario_with({"a": [1, 2.5, None, True, {"b": "\u2603"}]}, {"set": {1}, "nan": math.nan})
    monkeypatch.setattr(BaseModel, "model_dump_json", refuse)
    assert "scenario_name" in result_text(result)


def test_options_of_pydantic_count() -> None:
    result = Scenario("s").interact("in", "out").run_sync()
    assert json.loads(result.model_dump_json(include={"scenario_name"})) == {"scenario_name": "s"}
    assert "\n  " in result.model_dump_json(indent=2)


class Loose(CodeCheck):
    """A check that somebody wrote who gives a dict for a metric."""

    def verdict(self, trace: Any) -> Verdict:
        metrics: Any = [{"name": "score", "value": 0.5}]
        return Verdict(CheckStatus.PASS, "fine", {}, metrics)


def test_what_is_no_metric_is_told_and_not_written() -> None:
    result = TestCase(trace=Trace(), checks=[Loose()]).run_sync()
    with pytest.raises(TypeError, match=r"a metric is \{.*\}, expected Metric"):
        result.to_junit_xml()
    assert '"metrics":[{"name":"score"' not in result.model_dump_json()
