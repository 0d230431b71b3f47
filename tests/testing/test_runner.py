"""The runner of test cases."""

import asyncio

import pytest

from giskard.checks import FnCheck, TestCase, TestCaseRunner, Trace
from giskard.checks.testing.runner import get_runner


def broken(trace):
    raise KeyError("gone")


def test_there_is_one_runner():
    assert get_runner() is get_runner()
    assert isinstance(get_runner(), TestCaseRunner)


def test_it_runs_a_case_as_its_own_run_does():
    case = TestCase(name="t", trace=Trace(), checks=[FnCheck(fn=lambda trace: True)])
    result = asyncio.run(get_runner().run(case))

    assert result.passed
    assert result.name == "t"


def test_exceptions_are_returned_on_demand():
    case = TestCase(trace=Trace(), checks=[FnCheck(fn=broken)])

    assert asyncio.run(TestCaseRunner().run(case, return_exception=True)).errored
    assert asyncio.run(TestCaseRunner().run(case, True)).errored
    with pytest.raises(KeyError):
        asyncio.run(TestCaseRunner().run(case))


def test_options_are_passed_on():
    assert asyncio.run(TestCaseRunner().run(TestCase(trace=Trace(), checks=[]), strict=True)).errored
