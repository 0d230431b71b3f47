"""AllOf, AnyOf, Not."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from giskard.checks import (
    AllOf,
    AnyOf,
    Check,
    CheckResult,
    Equals,
    FnCheck,
    Interaction,
    Metric,
    Not,
    StringMatching,
    TestCase,
    Trace,
)
from giskard.checks.core.usage import Usage

STATES = ["pass", "fail", "error", "skip"]


def T(outputs="a"):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs)])


def run(check, outputs="a"):
    return asyncio.run(check.run(T(outputs)))


def child(state, name=None, ran=None, **extra):
    make = {"pass": "success", "fail": "failure"}.get(state, state)

    def fn(trace):
        if ran is not None:
            ran.append(name)
        return getattr(CheckResult, make)(f"{state} because", **extra)

    return FnCheck(fn=fn, name=name or state)


@pytest.mark.parametrize(
    ("states", "want", "ran"),
    [
        ("pass", "pass", 1),
        ("pass pass", "pass", 2),
        ("pass fail pass", "fail", 2),
        ("fail error", "fail", 1),
        ("error fail", "error", 1),
        ("skip fail", "fail", 2),
        ("skip error", "error", 2),
        ("skip pass", "pass", 2),
        ("skip skip", "skip", 2),
        ("skip", "skip", 1),
        ("pass skip", "pass", 2),
    ],
)
def test_all_of(states, want, ran):
    log: list = []
    result = run(AllOf(checks=[child(state, f"c{i}", log) for i, state in enumerate(states.split())]))
    assert result.status == want
    assert log == [f"c{i}" for i in range(ran)]
    children = result.details["children"]
    assert [c["name"] for c in children] == log
    assert [c["status"] for c in children] == states.split()[:ran]


@pytest.mark.parametrize(
    ("states", "want", "ran"),
    [
        ("pass", "pass", 1),
        ("fail pass fail", "pass", 2),
        ("fail fail", "fail", 2),
        ("fail error pass", "error", 2),
        ("pass error", "pass", 1),
        ("skip pass", "pass", 2),
        ("skip fail", "fail", 2),
        ("skip skip", "skip", 2),
    ],
)
def test_any_of(states, want, ran):
    log: list = []
    result = run(AnyOf(checks=[child(state, f"c{i}", log) for i, state in enumerate(states.split())]))
    assert result.status == want
    assert log == [f"c{i}" for i in range(ran)]
    assert [c["status"] for c in result.details["children"]] == states.split()[:ran]


@pytest.mark.parametrize(("state", "want"), list(zip(STATES, ["fail", "pass", "error", "skip"], strict=True)))
def test_not(state, want):
    result = run(Not(check=child(state)))
    assert result.status == want
    assert f"{state} because" in result.message
    assert [c["status"] for c in result.details["children"]] == [state]
    assert run(Not(check=Not(check=child(state)))).status == state


@pytest.mark.parametrize("wrap", [lambda c: AllOf(checks=[c]), lambda c: AnyOf(checks=[c]), lambda c: Not(check=c)])
def test_an_error_keeps_its_cause(wrap):
    inner = Equals(expected_value=1, target_key="trace.last.outputs.typo")
    result = run(wrap(inner), {"a": 1})
    assert result.errored and result.error_kind == "missing_value"
    assert "trace.last.outputs.typo" in result.message
    assert result.details["children"][0]["error_kind"] == "missing_value"


@pytest.mark.parametrize(("cls", "state"), [(AllOf, "fail"), (AllOf, "error"), (AnyOf, "pass"), (AnyOf, "error")])
def test_the_result_of_the_deciding_child_is_given(cls, state):
    metric = Metric(name="m", value=1)
    decides = child(state, details={"k": "v"}, metrics=[metric])
    result = run(cls(checks=[child("skip"), decides]))
    assert result.message == f"{state} because"
    assert result.details["k"] == "v" and result.metrics == [metric]
    kept = result.details["children"][1]
    assert kept["metrics"] == [{"name": "m", "value": 1}]
    assert kept["message"] == f"{state} because" and kept["duration_ms"] >= 0


def test_any_of_lists_all_reasons_and_all_of_counts():
    result = run(AnyOf(checks=[StringMatching(keyword="x"), child("skip", "s"), child("fail", "f")]))
    assert all(part in result.message for part in ("string_matching: ", "'x'", "s: skip because", "f: fail because"))
    assert run(AllOf(checks=[child("pass"), child("pass"), child("skip")])).message == "2 passed, 1 skipped"


def test_a_child_that_only_warns():
    warning = FnCheck(fn=lambda t: False, name="w", severity="warning")
    result = run(AllOf(checks=[warning, child("pass")]))
    assert result.passed and result.message == "1 passed, 1 failed (warning)"
    assert run(AllOf(checks=[warning, child("fail")])).failed
    assert run(AnyOf(checks=[warning])).failed
    assert run(Not(check=warning)).passed


def test_severity_of_the_parent_counts():
    case = TestCase(trace=T(), checks=[Not(check=child("pass"), severity="warning")])
    result = asyncio.run(case.run())
    assert result.passed and result.results[0].failed


def test_metrics_and_usage_of_children_are_gathered():
    def spent(state, n):
        return child(state, metrics=[Metric(name=f"m{n}", value=n)], usage=Usage(calls=n))

    result = run(AllOf(checks=[spent("pass", 1), spent("pass", 2), child("skip")]))
    assert [m.name for m in result.metrics] == ["m1", "m2"] and result.usage.calls == 3
    assert run(AnyOf(checks=[spent("fail", 1), spent("fail", 2)])).usage.calls == 3
    assert run(AllOf(checks=[spent("pass", 1), spent("fail", 4)])).usage.calls == 5
    assert run(Not(check=spent("fail", 3))).usage.calls == 3
    assert run(Not(check=child("fail"))).usage is None


@pytest.mark.parametrize("cls", [AllOf, AnyOf])
def test_nothing_to_check_is_refused(cls):
    for checks in ([], ()):
        with pytest.raises(ValidationError, match="at least one"):
            cls(checks=checks)
    with pytest.raises(ValidationError):
        cls()


@pytest.mark.parametrize("bad", ["x", 5, None, [5], [Equals], {"kind": "equals"}])
def test_what_is_no_check_is_refused(bad):
    for cls in (AllOf, AnyOf):
        with pytest.raises(ValidationError):
            cls(checks=bad)
    with pytest.raises(ValidationError):
        Not(check=bad)


def test_children_that_crash_and_children_that_take_too_long():
    def crash(trace):
        raise ValueError("boom")

    async def slow(trace):
        await asyncio.sleep(5)
        return True

    check = AllOf(checks=[FnCheck(fn=crash, name="c")])
    with pytest.raises(ValueError, match="boom"):
        run(check)
    result = asyncio.run(TestCase(trace=T(), checks=[check]).run(return_exception=True)).results[0]
    assert result.errored and "boom" in result.message
    result = run(Not(check=FnCheck(fn=slow, timeout=0.01)))
    assert result.errored and result.error_kind == "timeout"


def test_children_of_every_kind():
    async def asked(trace):
        return False

    assert run(AnyOf(checks=[FnCheck(fn=asked), AllOf(checks=[Not(check=FnCheck(fn=asked))])])).passed
    nested = run(AllOf(checks=[AnyOf(checks=[child("pass", "deep")])]))
    assert nested.details["children"][0]["children"][0]["name"] == "deep"


def test_the_result_of_a_child_is_not_changed():
    shared = CheckResult.failure("same", {"k": 1})
    check = FnCheck(fn=lambda t: shared)
    for parent in (AllOf(checks=[check]), AnyOf(checks=[check]), Not(check=check)):
        run(parent)
    assert shared == CheckResult.failure("same", {"k": 1})


def test_an_empty_trace():
    empty = Trace(interactions=[])
    check = AllOf(checks=[AnyOf(checks=[Not(check=StringMatching(keyword="x"))])])
    assert asyncio.run(check.run(empty)).errored


@pytest.mark.parametrize(
    "check",
    [
        Not(check=StringMatching(keyword="x"), name="n"),
        AllOf(checks=[Equals(expected_value=1), Not(check=Equals(expected_value=(1, 2)))]),
        AnyOf(checks=[AllOf(checks=[StringMatching(keyword="x")])], severity="warning"),
    ],
)
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert type(loaded) is type(check) and loaded == check
        assert run(loaded).status == run(check).status


# --- laws --------------------------------------------------------------------------------

leaves = st.sampled_from(STATES).map(child)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda checks: AllOf(checks=checks), st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda checks: AnyOf(checks=checks), st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda check: Not(check=check), inner),
    ),
    max_leaves=6,
)
some = st.lists(trees, min_size=1, max_size=4)


def statuses(*checks):
    """The states of the checks, in one event loop."""

    async def each():
        return [(await check.run(T())).status.value for check in checks]

    return asyncio.run(each())


@given(trees)
def test_not_of_not_has_the_state_of_the_check(check):
    state, turned, back = statuses(check, Not(check=check), Not(check=Not(check=check)))
    assert back == state
    assert turned == {"pass": "fail", "fail": "pass"}.get(state, state)


@given(some)
def test_de_morgan(checks):
    turned = [Not(check=check) for check in checks]
    none_fails, some_turned_holds = statuses(Not(check=AllOf(checks=checks)), AnyOf(checks=turned))
    assert none_fails == some_turned_holds
    none_holds, all_turned_hold = statuses(Not(check=AnyOf(checks=checks)), AllOf(checks=turned))
    assert none_holds == all_turned_hold


@given(some)
def test_the_order_matters_to_errors_only(checks):
    every = [AllOf(checks=checks), AllOf(checks=checks[::-1]), AnyOf(checks=checks), AnyOf(checks=checks[::-1])]
    states = statuses(*checks)
    if "error" not in states:
        both, both_reversed, either, either_reversed = statuses(*every)
        assert both == both_reversed
        assert either == either_reversed
        counted = set(states) - {"skip"}
        assert both == ("skip" if not counted else "fail" if "fail" in counted else "pass")
        assert either == ("skip" if not counted else "pass" if "pass" in counted else "fail")


@given(some)
def test_a_group_within_a_group_of_its_kind_changes_nothing(checks):
    for cls in (AllOf, AnyOf):
        flat, nested, twice = statuses(
            cls(checks=checks), cls(checks=[cls(checks=checks)]), cls(checks=[*checks, *checks])
        )
        assert flat == nested == twice
