"""RegoPolicy."""

import asyncio
import copy
import pickle
import sys

import pytest
from pydantic import ValidationError

from giskard.checks import Check, Interaction, Not, RegoPolicy, TestCase, Trace
from giskard.checks.builtin import rego_policy

pytest.importorskip("regorus")

POLICY = """
package refunds
default allow := false
allow if input.amount <= data.limit
sure if input.amount == 0
amount := input.amount
"""


def make(rule="allow", limit=100, **fields):
    return RegoPolicy(policy=POLICY, rule=f"data.refunds.{rule}", data={"limit": limit}, **fields)


def T(outputs=None):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs)])


def run(check, outputs=None):
    return asyncio.run(check.run(T(outputs)))


def status(check, outputs=None):
    return run(check, outputs).status.value


def test_true_false_and_undefined():
    assert status(make(), {"amount": 50}) == "pass"
    result = run(make(), {"amount": 500})
    assert result.failed and "is false" in result.message and "500" in result.message
    assert result.details == {"input": {"amount": 500}, "rule": "data.refunds.allow"}
    result = run(make("sure"), {"amount": 1})
    assert result.failed and "is undefined" in result.message
    assert status(Not(check=make("sure")), {"amount": 1}) == "pass"


def test_false_is_not_zero():
    policy = "package p\nallow if input.ok"
    check = RegoPolicy(policy=policy, rule="data.p.allow")
    assert status(check, {"ok": False}) == "fail"
    assert status(check, {"ok": True}) == "pass"


@pytest.mark.parametrize("amount", [0, 1, "true", [True], None, {"a": True}])
def test_other_answers_are_errors(amount):
    result = run(make("amount"), {"amount": amount})
    assert result.errored and result.error_kind == "bad_type" and "expected true or false" in result.message
    assert status(Not(check=make("amount")), {"amount": amount}) == "error"


def test_what_cannot_be_asked_is_an_error():
    assert "no rule" in run(make("nope"), {}).message
    assert "not JSON" in run(make(), {1, 2}).message
    assert run(make(), {"amount": float("nan")}).errored
    missing = run(make(target_key="trace.last.outputs.typo"), {"amount": 1})
    assert missing.errored and missing.error_kind == "missing_value"
    assert asyncio.run(make().run(Trace(interactions=[]))).errored


@pytest.mark.parametrize(
    "fields",
    [
        {"rule": "refunds.allow"},
        {"rule": "data."},
        {"rule": ""},
        {"policy": "package p\nallow if {"},
        {"policy": ""},
        {"data": [1]},
        {"data": {"a": {1}}},
        {"target_key": "last"},
        {"polcy": "x"},
    ],
)
def test_bad_fields_are_refused_when_built(fields):
    with pytest.raises(ValidationError):
        RegoPolicy(**{"policy": POLICY, "rule": "data.refunds.allow", **fields})


def test_copies_and_changes():
    check = make()
    stricter = check.model_copy(update={"data": {"limit": 1}})
    assert status(stricter, {"amount": 50}) == "fail" and status(check, {"amount": 50}) == "pass"
    for same in (copy.copy(check), copy.deepcopy(check), pickle.loads(pickle.dumps(check))):
        assert status(same, {"amount": 50}) == "pass"
    check.data = {"limit": 1}
    assert status(check, {"amount": 50}) == "fail"


@pytest.mark.parametrize("check", [make(), make("sure", name="n", severity="warning")])
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert loaded == check and status(loaded, {"amount": 0}) == "pass"


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "regorus", None)
    with pytest.raises(ImportError, match=r"pip install .giskard-checks\[rego\]"):
        make()


def test_in_a_test_case():
    assert asyncio.run(TestCase(trace=T({"amount": 1}), checks=[make()]).run()).passed


@pytest.mark.parametrize(
    ("rule", "amount", "state", "message"),
    [
        ("allow", 5, "pass", "data.refunds.allow is true"),
        ("allow", 500, "fail", "data.refunds.allow is false for {'amount': 500} at 'trace.last.outputs'"),
        ("sure", 500, "fail", "data.refunds.sure is undefined for {'amount': 500} at 'trace.last.outputs'"),
        ("amount", 5, "error", "data.refunds.amount is 5 (int), expected true or false"),
    ],
)
def test_every_result_has_the_input_and_the_rule(rule, amount, state, message):
    result = run(make(rule), {"amount": amount})
    assert (result.status, result.message) == (state, message)
    assert result.details == {"input": {"amount": amount}, "rule": f"data.refunds.{rule}"}


def test_a_policy_is_compiled_when_the_check_is_built_and_when_it_changes(monkeypatch):
    compiled = []
    original = rego_policy.compile_policy

    def counting(policy, data):
        compiled.append(data)
        return original(policy, data)

    monkeypatch.setattr(rego_policy, "compile_policy", counting)
    check = make(limit=1)
    assert [status(check, {"amount": 5}), status(check, {"amount": 1})] == ["fail", "pass"]
    assert compiled == [{"limit": 1}]
    check.data = {"limit": 9}
    assert [status(check, {"amount": 5}), status(check, {"amount": 9})] == ["pass", "pass"]
    assert compiled == [{"limit": 1}, {"limit": 9}]
