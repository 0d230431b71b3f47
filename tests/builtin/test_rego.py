"""Compiled Rego policies."""

import gc
import sys
import threading

import pytest

from giskard.checks.builtin._rego import BadPolicy, PolicyError, Undefined, compile_policy
from giskard.checks.core.exceptions import MissingExtraError

pytest.importorskip("regorus")

POLICY = """
package app
default allow := false
allow if input.role == "admin"
admin if input.role == "admin"
within if input.n <= data.limits.max
flag := input.flag
nothing := null
count_of := count(input.items)
clash := 1 if input.clash
clash := 2 if input.clash
"""


def ask(rule, value, data=None):
    return compile_policy(POLICY, data).ask(f"data.app.{rule}", value)


def test_answers():
    assert ask("allow", {"role": "admin"}) is True
    assert ask("allow", {"role": "guest"}) is False
    assert ask("admin", {"role": "guest"}) == Undefined()
    assert ask("nothing", {}) is None
    assert ask("count_of", {"items": [1, (2,)]}) == 2


@pytest.mark.parametrize("value", [True, False, 0, 1, 1.5, "a", [], {"a": [False, None]}])
def test_inputs_arrive_as_they_are(value):
    got = ask("flag", {"flag": value})
    assert got == value and type(got) is type(value)


def test_data():
    assert ask("within", {"n": 3}, {"limits": {"max": 3}}) is True
    assert ask("within", {"n": 4}, {"limits": {"max": 3}}) == Undefined()
    assert ask("within", {"n": 3}) == Undefined()


@pytest.mark.parametrize("value", [{1, 2}, {"a": float("nan")}, {1: 2}, object()])
def test_inputs_that_are_not_json(value):
    with pytest.raises(PolicyError, match="not JSON"):
        ask("allow", value)


def test_inputs_that_the_engine_refuses():
    deep: list = []
    for _ in range(3000):
        deep = [deep]
    for value in (deep, {"n": 10**5000}):
        with pytest.raises(PolicyError) as caught:
            ask("allow", value)
        assert "Stack backtrace" not in str(caught.value)
    assert ask("allow", {"role": "\ud800"}) is False


@pytest.mark.parametrize(
    "rule", ["data.app.nope", "data.other.allow", "data.app", "data.limits.max", "data.app.allow == true"]
)
def test_rules_that_are_not_there(rule):
    with pytest.raises(PolicyError, match=r"no rule .*data\.app"):
        compile_policy(POLICY).ask(rule, {})


def test_an_evaluation_that_fails():
    with pytest.raises(PolicyError, match="conflict") as caught:
        ask("clash", {"clash": True})
    assert "Stack backtrace" not in str(caught.value)


@pytest.mark.parametrize(
    "policy", ["", "allow := true", "package app\nallow if {", "package app\nallow { true }", "hello"]
)
def test_bad_policies(policy):
    with pytest.raises(BadPolicy, match="cannot be compiled") as caught:
        compile_policy(policy)
    assert "Stack backtrace" not in str(caught.value)


@pytest.mark.parametrize("data", [{"a": 10**5000}, {"a": {1, 2}}, {"a": float("inf")}, {1: 1}, [1]])
def test_bad_data(data):
    with pytest.raises(BadPolicy):
        compile_policy(POLICY, data)


def test_inputs_do_not_mix():
    one = compile_policy(POLICY, {"limits": {"max": 1}})
    assert one == compile_policy(POLICY, {"limits": {"max": 1}})
    assert one != compile_policy(POLICY, {"limits": {"max": True}})
    assert one.ask("data.app.allow", {"role": "admin"}) is True
    assert one.ask("data.app.allow", {}) is False


def test_threads():
    compiled, got = compile_policy(POLICY), []

    def work(i):
        role = "admin" if i % 2 else "guest"
        got.extend((i % 2 == 1) is compiled.ask("data.app.allow", {"role": role}) for _ in range(50))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [True] * 400


def test_prints_and_requests_go_nowhere(capfd):
    policy = """
package app
loud if { print("hello") }
remote := http.send({"method": "get", "url": "http://127.0.0.1:9"})
env := opa.runtime().env
"""
    compiled = compile_policy(policy)
    assert compiled.ask("data.app.loud", {}) is True
    assert compiled.ask("data.app.remote", {}) == Undefined()
    assert compiled.ask("data.app.env", {}) == Undefined()
    assert capfd.readouterr() == ("", "")


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "regorus", None)
    with pytest.raises(MissingExtraError, match=r"pip install .giskard-checks\[rego\]"):
        compile_policy(POLICY)


def test_an_engine_never_outlives_its_thread(recwarn):
    """The library refuses to free an engine in another thread than the one that made it, also after an error."""
    errors = []

    def work():
        compiled = compile_policy(POLICY)
        compiled.ask("data.app.allow", {"role": "admin"})
        for ask in (lambda: compiled.ask("not a rule", {}), lambda: compile_policy("package a\nallow if")):
            try:
                ask()
            except ValueError as error:
                errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(errors) == 2
    errors.clear()
    gc.collect()
    assert not recwarn.list
