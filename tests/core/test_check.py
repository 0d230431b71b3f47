"""The base of all checks: what a run makes of whatever a check does."""

import asyncio
import threading

import pytest
from pydantic import ValidationError

from giskard.checks import (
    Check,
    CheckResult,
    CodeCheck,
    FnCheck,
    Interaction,
    Not,
    NoVerdict,
    TestCase,
    Trace,
)
from giskard.checks.core.check import lookup
from giskard.checks.core.check_result import passed_with
from giskard.checks.core.extraction import Path

TRACE = Trace(interactions=[Interaction(inputs="q", outputs="a")])
ok = FnCheck(fn=lambda trace: True, name="ok")


def results(*checks, **options):
    return TestCase(trace=TRACE, checks=list(checks)).run_sync(**options).results


class Short(Check):
    limit: int = 3

    def run(self, trace):
        return CheckResult.success() if len(trace.last.outputs) <= self.limit else CheckResult.failure("long")


class Answering(Check):
    answer: object = None

    async def run(self, trace):
        return self.answer


class Unsure(Check):
    async def run(self, trace):
        raise NoVerdict("cannot tell", kind="rate_limit", details={"wait": 3}, retryable=True)


class Decided(CodeCheck):
    answer: bool | None = None

    def verdict(self, trace):
        if self.answer is None:
            raise NoVerdict("cannot tell", kind="bad_type")
        return CheckResult.success("yes") if self.answer else CheckResult.failure("no")


class Hanging(Check):
    async def run(self, trace):
        await asyncio.Event().wait()


def test_a_sync_run_is_accepted():
    assert results(Short())[0].passed
    assert results(Short(limit=0))[0].failed


def test_a_check_without_a_run_says_so():
    class Empty(Check):
        pass

    with pytest.raises(NotImplementedError, match="Empty"):
        results(Empty())
    [result] = results(Empty(), return_exception=True)
    assert result.errored
    assert result.details["check_kind"] == "Empty"


@pytest.mark.parametrize("answer", [None, True, "pass", (True, "why")])
def test_what_is_no_check_result_is_an_error(answer):
    result, after = results(Answering(answer=answer), ok, return_exception=True)

    assert result.errored
    assert type(answer).__name__ in result.message
    assert "CheckResult" in result.message
    assert after.passed
    with pytest.raises(TypeError):
        results(Answering(answer=answer))


def test_a_check_that_cannot_tell_is_an_error_in_every_mode():
    for options in ({}, {"return_exception": True}):
        unsure, code, inside = results(Unsure(), Decided(), Not(check=Decided()), **options)
        assert unsure.errored
        assert (unsure.message, unsure.error_kind, unsure.retryable) == ("cannot tell", "rate_limit", True)
        assert unsure.details["wait"] == 3
        assert (code.status, code.error_kind) == ("error", "bad_type")
        assert inside.errored


def test_a_code_check_can_be_asked_by_itself():
    assert asyncio.run(Decided(answer=True).run(TRACE)).passed
    assert asyncio.run(Decided(answer=False).run(TRACE)).failed
    assert asyncio.run(Decided().run(TRACE)).errored
    assert [r.status.value for r in results(Decided(answer=True), Decided(answer=False))] == ["pass", "fail"]


def test_the_time_of_a_check_is_limited():
    hanging, after = results(Hanging(name="slow", timeout=0.05), ok)

    assert hanging.errored
    assert (hanging.error_kind, hanging.retryable) == ("timeout", True)
    assert "0.05 s" in hanging.message
    assert "'slow'" in hanging.message
    assert after.passed


def test_a_sync_function_with_a_time_limit_is_given_up():
    release = threading.Event()

    def hang(trace):
        release.wait(10)
        return True

    try:
        [result] = results(FnCheck(fn=hang, timeout=0.05))
    finally:
        release.set()
    assert result.error_kind == "timeout"


def test_a_timeout_error_of_the_check_itself_is_its_own():
    def own(trace):
        raise TimeoutError("mine")

    [result] = results(FnCheck(fn=own, timeout=10), return_exception=True)
    assert result.errored
    assert "mine" in result.message
    assert results(FnCheck(fn=lambda trace: True, timeout=10))[0].passed


def test_a_sync_function_without_a_limit_runs_in_place():
    [result] = results(FnCheck(fn=lambda trace: threading.current_thread() is threading.main_thread()))

    assert result.passed


@pytest.mark.parametrize("fields", [{"timeout": 0}, {"timeout": -1}, {"severity": "fatal"}, {"nam": "x"}])
def test_impossible_fields_are_refused(fields):
    with pytest.raises(ValidationError):
        Short(**fields)


def test_a_check_is_equal_to_one_that_demands_the_same():
    assert Short(limit=1) == Short(limit=1)
    assert Short(limit=1) != Short(limit=2)
    assert Short(limit=1).spec == {"limit": 1}
    assert Short(limit=1, severity="warning").spec == {"limit": 1, "severity": "warning"}


def test_the_label():
    assert Short(name="x").label == "x"
    assert Short().label == "Short"
    assert ok.model_copy(update={"name": None}).label == "fn"


def test_a_copy_has_a_spec_of_its_own():
    check = Short(limit=1)
    assert check.spec == {"limit": 1}
    assert check.model_copy(update={"limit": 2}).spec == {"limit": 2}
    check.limit = 5
    assert check.spec == {"limit": 5}


@pytest.mark.parametrize(
    ("key", "trace", "words"),
    [
        ("trace.last.outputs.fee", TRACE, ["trace.last.outputs.fee", "target_key"]),
        ("trace.last.output", TRACE, ["trace.last has no 'output'", "did you mean 'outputs'?", "inputs, outputs"]),
        ("trace.interactions[3].outputs", TRACE, ["trace.interactions has 1 item, and none at 3"]),
        ("trace.interaction[0]", TRACE, ["trace has no 'interaction'; did you mean 'interactions'?"]),
        ("trace.last.outputs", Trace(), ["no interactions"]),
        ("trace.last.outputs[*].name", Trace(), ["trace.last.outputs[*].name"]),
        ("trace.last.metadata.tools[*]", TRACE, ["trace.last.metadata.tools[*]"]),
    ],
)
def test_a_path_without_a_value_gives_no_verdict(key, trace, words):
    with pytest.raises(NoVerdict) as missing:
        lookup(trace, key)

    assert missing.value.kind == "missing_value"
    for word in words:
        assert word in missing.value.message


def test_a_path_over_a_container_that_is_there_and_empty_gives_no_values():
    trace = Trace(interactions=[Interaction(inputs="q", outputs=[], metadata={"none": None})])

    assert lookup(trace, "trace.last.outputs[*].name") == []
    assert lookup(trace, "trace.last.metadata.none") is None
    assert lookup(trace, "trace.interactions[*].inputs") == ["q"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "expected a list of checks, got int: 5"),
        ("equals", "expected a list of checks, got str: 'equals'"),
        ({"kind": "equals"}, "expected a list of checks, got dict: {'kind': 'equals'}"),
        (ok, "expected a list of checks, got FnCheck: "),
        ([5], "expected a check, got int: 5"),
        ([Short], "expected a check, got the class Short; make one: Short(...)"),
    ],
)
def test_what_is_no_check_is_named(given, message):
    with pytest.raises(ValidationError) as caught:
        TestCase(trace=TRACE, checks=given)
    assert message in str(caught.value)


def test_one_check_is_no_list_and_a_tuple_is_one():
    assert list(TestCase(trace=TRACE, checks=(ok,)).checks) == [ok]
    with pytest.raises(ValidationError, match="expected a check, got str: 'x'"):
        Not(check="x")


def test_a_property_that_raises_is_named_where_a_value_is_missing(monkeypatch):
    def broken(self, trace):
        raise ZeroDivisionError

    monkeypatch.setattr(Path, "explain", broken)
    with pytest.raises(NoVerdict, match=r"no value at 'trace.last.x' \(target_key\): looking for it raised ZeroDiv"):
        lookup(TRACE, "trace.last.x")


class Client:
    """A model of one's own, whose state is nobody's business."""

    secret = "key"

    async def complete(self, messages, params=None, metadata=None):
        raise NotImplementedError


class Configured(Check):
    what: object = None

    def run(self, trace):
        return CheckResult.success()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Client(), f"{__name__}:Client"),
        (Client, f"{__name__}:Client"),
        (len, "builtins:builtin_function_or_method"),
        (results, f"{__name__}:results"),
        (Short(limit=1), {"kind": None, "limit": 1}),
        ([Short(limit=1)], [{"kind": None, "limit": 1}]),
        ([1], [1]),
    ],
)
def test_the_spec_shows_data_as_it_is_and_names_the_rest(value, shown):
    assert Configured(what=value).spec == {"what": shown}
    assert results(Configured(what=value))[0].details["check_spec"] == {"what": shown}


@pytest.mark.parametrize("value", [None, [], {}, (), set()])
def test_the_spec_leaves_out_what_is_empty(value):
    assert Configured(what=value).spec == {}


def test_a_code_check_without_a_verdict_or_the_words_for_a_pass_says_so():
    class Empty(CodeCheck):
        pass

    class Wordless(CodeCheck):
        def verdict(self, trace):
            return passed_with(1)

    with pytest.raises(NotImplementedError, match=r"Empty does not implement verdict\(trace\)"):
        results(Empty())
    with pytest.raises(NotImplementedError, match=r"Wordless does not implement passed\(values, found\)"):
        asyncio.run(Wordless().run(TRACE))


def test_no_verdict_is_an_exception_with_its_message():
    problem = NoVerdict("cannot tell", kind="bad_type")
    assert str(problem) == "cannot tell"
    assert list(problem.verdict().metrics) == []


def test_an_error_without_a_kind_is_of_an_unknown_one():
    assert NoVerdict("why").verdict().error_kind == "unknown"


def test_a_misspelt_field_is_told_with_the_fields_that_there_are():
    with pytest.raises(ValidationError) as refused:
        Short(limt=1)
    (line,) = refused.value.errors()
    fields = "name, description, id, severity, timeout, limit"
    assert line["msg"] == f"Short has no field 'limt'; did you mean 'limit'? Its fields are: {fields}"
    assert line["type"] == "unknown_field"
