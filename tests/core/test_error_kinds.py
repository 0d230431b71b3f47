"""Why no verdict could be reached, and whether another try may help: one answer everywhere."""

import ast
import asyncio
from pathlib import Path
from typing import get_args

import pytest

import giskard.checks
from giskard.checks import (
    CheckResult,
    FnCheck,
    InputGenerationException,
    Interaction,
    RegexMatching,
    Scenario,
    TestCase,
    Trace,
)
from giskard.checks.core.check import NoVerdict
from giskard.checks.core.error_kinds import KnownErrorKind, is_retryable
from giskard.checks.core.exceptions import ConfigurationError, LimitExceededError, MissingExtraError
from giskard.checks.core.failures import error_kind_of, failure_of

KINDS = get_args(KnownErrorKind)
RETRYABLE = {
    "cancelled",
    "input_generation",
    "network",
    "no_majority",
    "rate_limit",
    "timeout",
    "unreadable_verdict",
}


@pytest.mark.parametrize("kind", [*KINDS, "a word of one's own"])
def test_whether_another_try_may_help_goes_by_the_kind(kind):
    expected = kind in RETRYABLE

    assert is_retryable(kind) is expected
    assert CheckResult.error("why", error_kind=kind).retryable is expected
    assert NoVerdict("why", kind=kind).verdict().retryable is expected
    for given in (True, False):
        assert CheckResult.error("why", error_kind=kind, retryable=given).retryable is given
        assert NoVerdict("why", kind=kind, retryable=given).verdict().retryable is given


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (LimitExceededError("late"), "timeout"),
        (asyncio.CancelledError(), "cancelled"),
        (ConfigurationError("wrong"), "config"),
        (MissingExtraError("numpy", "numbers"), "config"),
        (InputGenerationException("refused"), "input_generation"),
        (TimeoutError("the user's own"), "crash"),
        (ImportError("the user's own"), "crash"),
        (ValueError("x"), "crash"),
    ],
)
def test_the_kind_of_an_exception(error, kind):
    def raises(*_):
        raise error

    assert error_kind_of(error) == kind
    failure = failure_of(error, "run")
    assert (failure.error_kind, failure.retryable) == (kind, kind in RETRYABLE)
    case = TestCase(trace=Trace(interactions=[Interaction(inputs="q", outputs="a")]), checks=[FnCheck(fn=raises)])
    (result,) = case.run_sync(return_exception=True).results
    assert (result.error_kind, result.retryable) == (kind, kind in RETRYABLE)
    step = Scenario("s").interact("q", raises).run_sync(return_exception=True).steps[0]
    assert (step.error.error_kind, step.error.retryable) == (kind, kind in RETRYABLE)


def test_a_pattern_that_takes_too_long_may_be_tried_again():
    check = RegexMatching(pattern=r"(a|aa)+$", match_timeout_seconds=0.01)
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a" * 4000 + "!")])
    (result,) = TestCase(trace=trace, checks=[check]).run_sync().results

    assert (result.error_kind, result.retryable) == ("timeout", True)


def kinds_in(module):
    """The words that a module gives as the kind of an error."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
        if name in ("NoVerdict", "error", "TestCaseError", "_no_value"):
            for keyword in node.keywords:
                if keyword.arg in ("kind", "error_kind") and isinstance(keyword.value, ast.Constant):
                    yield keyword.value.value


def test_the_kinds_that_are_reported_are_the_documented_ones():
    package = Path(giskard.checks.__file__).parent
    used = {kind for module in package.rglob("*.py") for kind in kinds_in(module)}

    assert {"missing_value", "bad_type", "config", "timeout"} <= used
    assert used <= set(KINDS)
