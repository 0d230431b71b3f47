"""Reports say what the models used, and never pass an unknown figure off as a known one."""

import io

import pytest
from rich.console import Console

from giskard.checks import CheckResult, Conformity, Interaction, Suite, TestCase, Trace, Usage
from giskard.checks.reporting._spent import spent
from giskard.checks.testing import FakeGenerator

YES = '{"reason": "fine", "passed": true}'


def judged(usage=None, **details):
    return CheckResult.success("fine", {"judge": "m", **details}, usage=usage)


def unread():
    return CheckResult.error("?", {"judge": "m"}, error_kind="unreadable_verdict")


KNOWN = Usage(calls=1, total_tokens=1000, cost=0.0005)


@pytest.mark.parametrize(
    ("checks", "text"),
    [
        ([judged(KNOWN)] * 2, "2 calls, 2,000 tokens, $0.0010"),
        ([judged()], "usage unknown"),
        ([judged(Usage(calls=2))], "2 calls, tokens unknown, cost unknown"),
        (
            [judged(KNOWN), judged()],
            "1 call (unknown for 1 check), 1,000 tokens (unknown for 1 check), $0.0005 (unknown for 1 check)",
        ),
        ([judged(KNOWN, answered_by="cassette")], "1 call, 1,000 tokens, $0.0005, 1 verdict recorded or cached"),
    ],
)
def test_figures(checks, text):
    assert spent(checks) == (text, False)


def test_nothing_is_said_where_no_model_was_asked():
    assert spent([CheckResult.success("x"), CheckResult.error("y")]) is None
    assert spent([]) is None


def test_many_unreadable_verdicts_are_a_warning():
    assert spent([unread(), judged(KNOWN)]).warns
    few = spent([unread(), *[judged(KNOWN)] * 10])
    assert not few.warns and "1 of 11 verdicts could not be read" in few.text


def test_the_line_stands_in_the_report_of_a_suite():
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a")])
    suite = Suite(name="s").append(
        TestCase(trace=trace, checks=[Conformity(rule="r", judge=FakeGenerator(YES, usage=KNOWN))])
    )
    out = io.StringIO()
    suite.run_sync(verbose=False).print_report(Console(file=out, width=80))

    assert "Models     1 call, 1,000 tokens, $0.0005" in out.getvalue()
