"""The errors that callers may catch: what they carry, and what becomes of them in a run."""

import pickle

import pytest

from giskard.checks import FnCheck, Scenario, TestCase, Trace
from giskard.checks.core.exceptions import CallFailedError


def test_a_call_that_failed_is_a_crash_unless_its_kind_is_said():
    bare = CallFailedError("no answer")

    assert (bare.kind, bare.retryable, bare.retry_after, bare.status) == ("crash", False, None, None)
    assert repr(bare) == "CallFailedError('no answer')"
    assert str(bare) == "no answer"


def test_a_call_that_failed_carries_what_the_other_side_said():
    full = CallFailedError("slow down", kind="rate_limit", retry_after=1.5, status=429)

    for error in (full, pickle.loads(pickle.dumps(full))):
        assert (error.kind, error.retryable, error.retry_after, error.status) == ("rate_limit", True, 1.5, 429)
        assert str(error) == "slow down"


def test_what_is_added_to_its_message_is_shown():
    error = CallFailedError("no answer")
    error.message += ", after 3 tries"

    assert str(error) == "no answer, after 3 tries"


@pytest.mark.parametrize(
    ("given", "kind", "retryable"),
    [
        ({}, "crash", False),
        ({"kind": "network"}, "network", True),
        ({"kind": "network", "retryable": False}, "network", False),
        ({"kind": "model_error", "retryable": True}, "model_error", True),
    ],
)
def test_a_run_reports_its_kind_and_whether_another_try_may_help(given, kind, retryable):
    def fails(*_):
        raise CallFailedError("no answer", **given)

    step = Scenario("s").interact("q", fails).run_sync(return_exception=True).steps[0]
    (checked,) = TestCase(trace=Trace(), checks=[FnCheck(fn=fails)]).run_sync(return_exception=True).results

    for found in (step.error, checked):
        assert (found.error_kind, found.retryable) == (kind, retryable)
        assert "no answer" in found.message
