"""What a judge's answers come to: one of them, several votes, several judges."""

import asyncio
import json
import re
from types import SimpleNamespace
from unittest.mock import AsyncMock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from giskard.checks import (
    BaseLLMCheck,
    Check,
    CheckResult,
    Conformity,
    Groundedness,
    Interaction,
    LLMChatJudge,
    LLMJudge,
    Not,
    Scenario,
    Suite,
    TestCase,
    Trace,
    Usage,
)
from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.llm import Completion, ModelCallError
from giskard.checks.testing import FakeGenerator

YES, NO = '{"reason": "fine", "passed": true}', '{"reason": "not fine", "passed": false}'
NULL = '{"reason": "too little is shown", "passed": null}'


def T(outputs="a", inputs="q", **metadata):
    return Trace(interactions=[Interaction(inputs=inputs, outputs=outputs, metadata=metadata)])


def run(check, trace=None):
    return asyncio.run(check.run(trace or T(context="c")))


def judged(*replies, **fields):
    return run(Conformity(rule="Be polite.", judge=FakeGenerator(*replies), **fields))


# ------------------------------------------------------------------ one verdict


def test_what_a_verdict_says():
    result = run(Conformity(rule="Be polite.", judge=FakeGenerator(NO, model="m", usage=Usage(cost=0.5, calls=1))))

    assert result.failed
    assert result.message == "not fine"
    assert result.details == {
        "reason": "not fine",
        "inputs": {"rule": "Be polite."},
        "judge": "m",
        "model": "m",
        "prompt": "conformity@1",
    }
    assert result.usage == Usage(cost=0.5, calls=1)


def test_unknown_usage_stays_unknown():
    assert judged(YES).usage is None


def test_a_repaired_verdict_is_marked():
    result = judged("well", YES)

    assert result.passed
    assert result.details["repaired"] is True


def test_a_judge_that_cannot_tell_is_an_error_and_is_not_asked_again():
    llm = FakeGenerator(NULL, YES)
    result = run(Conformity(rule="r", judge=llm))

    assert result.errored and result.error_kind == "unreadable_verdict"
    assert result.message == "the judge cannot tell: too little is shown"
    assert result.details["raw"] == NULL
    assert not result.retryable
    assert len(llm.prompts) == 1


def test_an_unreadable_verdict_keeps_the_reply():
    result = judged("Certainly! It is fine.")

    assert result.errored and result.error_kind == "unreadable_verdict"
    assert result.details["raw"] == "Certainly! It is fine."
    assert "no JSON object" in result.message
    assert "raw" not in judged(YES).details


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ModelCallError("no credit is left", kind="quota"), "quota", "no credit is left"),
        (ModelCallError("slow down", kind="rate_limit", retryable=True), "rate_limit", "slow down"),
        (TimeoutError("30 s"), "timeout", "the call of 'fake' failed: TimeoutError: 30 s"),
        (ConnectionRefusedError("port 1"), "network", "ConnectionRefusedError: port 1"),
        (ConfigurationError("no such model"), "config", "no such model"),
        (RuntimeError("quota exhausted for project 42"), "model_error", "RuntimeError: quota exhausted"),
        (KeyError, "model_error", "KeyError"),
    ],
)
def test_why_a_call_failed_stands_in_the_message(error, kind, words):
    result = judged(error)

    assert result.errored and not result.failed
    assert result.error_kind == kind
    assert words in result.message


def test_what_ends_a_run_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        judged(KeyboardInterrupt())
    with pytest.raises(asyncio.CancelledError):
        judged(asyncio.CancelledError())


# ------------------------------------------------------------------ votes


@pytest.mark.parametrize(
    ("replies", "status", "passed"),
    [
        ([YES, YES, YES], "pass", 3),
        ([YES, NO, YES], "pass", 2),
        ([NO, NO, YES], "fail", 1),
        ([YES, NO], "error", 1),
        ([YES, YES, NULL], "pass", 2),
        ([YES, NO, NULL], "error", 1),
        ([NULL, NULL, NULL], "error", 0),
        ([RuntimeError("down"), NO, NO], "fail", 0),
        ([RuntimeError("down"), RuntimeError("down"), NO], "error", 0),
    ],
)
def test_the_majority_of_all_votes_decides(replies, status, passed):
    result = judged(*replies, votes=len(replies))
    metrics = {metric.name: metric.value for metric in result.metrics}

    assert result.status == status
    assert metrics["votes"] == len(replies)
    assert metrics["votes_passed"] == passed
    assert len(result.details["votes"]) == len(replies)
    assert f"{len(replies)} votes (" in result.message


def test_how_far_apart_the_votes_are():
    metrics = {metric.name: metric.value for metric in judged(YES, YES, YES, NO, votes=4).metrics}

    assert metrics["agreement"] == 0.75
    assert metrics["spread"] == pytest.approx(3**0.5 / 4)
    assert {metric.name for metric in judged(NULL, votes=2).metrics} == {"votes", "votes_passed"}


def test_a_tie_says_so_and_a_common_failure_keeps_its_cause():
    tie = judged(YES, NO, votes=2)
    assert tie.error_kind == "no_majority"
    assert tie.message == "no majority of 2 votes: 2 votes (1 passed, 1 failed)"

    down = judged(ModelCallError("no credit is left", kind="quota"), votes=2)
    assert down.error_kind == "quota"
    assert "no credit is left" in down.message


def test_several_judges():
    kind, strict = FakeGenerator(YES, model="kind"), FakeGenerator(NO, model="strict")
    result = run(Conformity(rule="r", judges=[kind, strict, LLMChatJudge(generator=strict)], votes=2))

    assert result.failed
    assert [(vote["judge"], vote["status"]) for vote in result.details["votes"]] == [
        ("kind", "pass"),
        ("kind", "pass"),
        ("strict", "fail"),
        ("strict", "fail"),
        ("strict", "fail"),
        ("strict", "fail"),
    ]
    assert len(kind.prompts) == 2 and len(strict.prompts) == 4


def test_votes_are_cast_side_by_side():
    both_are_here = asyncio.Event()
    waiting = []

    async def reply(prompt):
        waiting.append(prompt)
        if len(waiting) == 2:
            both_are_here.set()
        await both_are_here.wait()
        return YES

    check = Conformity(rule="r", judge=FakeGenerator(reply), votes=2)
    assert asyncio.run(asyncio.wait_for(check.run(T()), 30)).passed


class Odd(Exception):
    pass


@pytest.mark.parametrize("votes", [1, 3])
def test_a_judge_that_exits_is_an_error_of_its_check_and_of_no_other(votes):
    class Exits:
        model = "exits"

        async def complete(self, messages, params=None, metadata=None):
            raise SystemExit(3)

    def scenario(name, judge):
        check = Conformity(rule="r", judge=judge, votes=votes)
        return Scenario(name).interact("q", "a").check(check)

    suite = Suite(name="s", scenarios=[scenario("a", FakeGenerator(YES)), scenario("b", Exits())])
    suite.append(scenario("c", FakeGenerator(YES)))
    result = suite.run_sync(return_exception=True, verbose=False)

    assert [one.status for one in result.results] == ["pass", "error", "pass"]
    assert "SystemExit" in result.results[1].steps[0].results[0].message


def test_when_one_vote_raises_the_others_are_given_up():
    ended = []

    class Raises(BaseLLMCheck):
        def get_prompt(self):
            return "x"

        def _handle_output(self, output, inputs, trace):
            raise Odd("mine")

    async def reply(prompt):
        if len(llm.prompts) == 1:
            return YES
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(prompt)
            raise

    llm = FakeGenerator(reply)
    with pytest.raises(Odd, match="mine"):
        run(Raises(judge=llm, votes=4))
    assert len(ended) == 3


def test_the_usage_of_all_votes_is_summed_or_unknown():
    known = FakeGenerator(YES, usage=Usage(input_tokens=3, calls=1, cost=0.25))
    assert run(Conformity(rule="r", judge=known, votes=3)).usage == Usage(input_tokens=9, calls=3, cost=0.75)
    assert run(Conformity(rule="r", judges=[known, FakeGenerator(YES)])).usage is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"votes": 0}, "greater than or equal to 1"),
        ({"votes": "3"}, "valid integer"),
        ({"judges": []}, "at least 1"),
        ({"judges": ["a"], "judge": "b"}, "put it into judges"),
        ({"judges": ["a"], "generator": "b"}, "put it into judges"),
        ({"judges": [None]}, "None"),
        ({"judges": [3]}, "name of a model"),
    ],
)
def test_what_is_refused(fields, words):
    with pytest.raises(ValidationError, match=words):
        Conformity(rule="r", **fields)


def test_several_judges_are_saved_and_loaded():
    check = Conformity(rule="r", judges=["openai/a", LLMChatJudge(generator="openai/b")], votes=3)

    assert Check.model_validate_json(check.model_dump_json()) == check
    with pytest.raises(ValueError, match=r"judges=.*FakeGenerator.* cannot be saved"):
        Conformity(rule="r", judges=[FakeGenerator(YES)]).model_dump_json()


# ------------------------------------------------------------------ what a judge is told


def test_the_rule_stands_before_the_answer_and_the_answer_is_fenced():
    llm = FakeGenerator(YES)
    run(Conformity(rule="Never promise a refund.", judge=llm), T("You get a refund {{ 7 * 7 }} <b>&amp;</b>"))
    system, user = llm.requests[0]

    assert system.role == "system" and user.role == "user"
    assert user.content.index("Never promise a refund.") < user.content.index("You get a refund")
    assert re.search(r"<(data-\d-[0-9a-f]{16})>\nYou get a refund \{\{ 7 \* 7 \}\} <b>&amp;</b>\n</\1>", user.content)
    assert '"passed"' in system.content and "null" in system.content
    assert "refund" not in system.content


def test_the_first_message_is_the_same_for_every_check():
    llm = FakeGenerator(YES)
    run(Conformity(rule="a", judge=llm))
    run(Groundedness(judge=llm))

    assert llm.requests[0][0] == llm.requests[1][0]


class Short(BaseLLMCheck):
    limit: str = "five words"

    def get_prompt(self):
        return "Is this no longer than {{ limit }}? {{ answer }} {{ note | unfenced }}"

    async def get_inputs(self, trace):
        return {"answer": trace.last.outputs, "limit": self.limit, "note": "(Count words.)"}


def test_in_ones_own_templates_all_is_fenced_but_the_checks_own_fields():
    llm = FakeGenerator(YES)
    assert run(Short(judge=llm), T("Passed: true.")).passed

    asked = llm.requests[0][1].content
    assert re.search(
        r"no longer than five words\? <data-1-\w+>\nPassed: true\.\n</data-1-\w+> \(Count words\.\)", asked
    )


class Score(BaseModel):
    score: int


class Scored(BaseLLMCheck):
    def get_prompt(self):
        return "Score {{ trace.last.outputs }}"

    @property
    def output_type(self):
        return Score

    def _handle_output(self, output, inputs, trace):
        make = CheckResult.success if output.score >= 7 else CheckResult.failure
        return make(f"score {output.score}", {"score": output.score})


def test_an_answer_of_ones_own_form():
    llm = FakeGenerator('{"score": 8}')
    result = run(Scored(judge=llm))

    assert result.passed and result.message == "score 8"
    assert result.details == {"score": 8, "judge": "fake", "model": "fake"}
    assert '"score"' in llm.requests[0][0].content
    assert run(Scored(judge=FakeGenerator('{"score": 3}', '{"score": 9}', '{"score": 2}'), votes=3)).failed


def test_a_broken_template_is_an_error_that_names_it():
    class Typo(BaseLLMCheck):
        def get_prompt(self):
            return "{{ answr }}"

    result = run(Typo(judge=FakeGenerator(YES)))
    assert result.errored and result.error_kind == "config"
    assert "'answr' is undefined" in result.message


@pytest.mark.parametrize(
    ("prompt", "words"),
    [("{{ trace.last", "no template: line 1"), ("{{ answer }}", "uses 'answer', which there will not be")],
)
def test_templates_are_checked_when_the_check_is_built(prompt, words):
    with pytest.raises(ValidationError, match=words):
        LLMJudge(prompt=prompt)


# ------------------------------------------------------------------ whatever a model says

replies = st.one_of(
    st.none(),
    st.text(),
    st.dictionaries(
        st.sampled_from(["passed", "reason", "x"]), st.none() | st.booleans() | st.text() | st.integers()
    ).map(json.dumps),
)


@given(st.lists(replies, min_size=1, max_size=4), st.integers(1, 3))
@settings(max_examples=150)
def test_no_reply_raises_and_none_passes_without_a_readable_true(given_replies, votes):
    check = LLMJudge(prompt="Judge {{ trace.last.outputs }}", judge=FakeGenerator(*given_replies), votes=votes)
    result = run(check)
    again = LLMJudge(prompt="Judge {{ trace.last.outputs }}", judge=FakeGenerator(*given_replies), votes=votes)
    inverted = run(Not(check=again))

    if result.passed:
        assert any(reply and "true" in reply.lower() for reply in given_replies)
    assert inverted.status == {"pass": "fail", "fail": "pass", "error": "error"}[result.status]


def test_a_broken_completion_of_another_package_is_an_error():
    class Odd:
        async def complete(self, messages, params=None, metadata=None):
            return 42

    result = run(Conformity(rule="r", judge=Odd()))
    assert result.errored and result.error_kind == "bad_type"
    assert "the generator Odd gave int: 42" in result.message


@pytest.mark.parametrize(
    "judge",
    [
        AsyncMock(),
        SimpleNamespace(complete=lambda *_: Completion(5)),
        SimpleNamespace(complete=lambda *_: Completion(YES, finish_reason=["x"])),
        SimpleNamespace(complete=lambda *_: type("Text", (str,), {})(YES)),
    ],
    ids=["mock", "number", "odd reason", "own text"],
)
def test_odd_generators_are_errors_or_read(judge):
    result = run(Conformity(rule="r", judge=judge))

    assert result.errored or result.passed
    assert not result.failed


def test_a_nested_answer_is_shown_and_no_crash():
    deep = json.loads("[" * 400 + "]" * 400)
    assert run(Groundedness(context="c", judge=FakeGenerator(YES)), T(deep)).status in ("pass", "error")


def test_a_key_in_the_wrong_place_is_not_shown():
    with pytest.raises(ValidationError) as caught:
        Conformity(rule="r", judge={"kind": "generator", "model": "m", "apikey": "sk-secret-1234"})
    assert "sk-secret" not in str(caught.value)


def test_in_a_scenario_the_other_checks_keep_their_results():
    scenario = Scenario("s").interact("q", "a").check(Conformity(rule="r", judge=FakeGenerator("?"), name="j"))
    result = scenario.check(Conformity(rule="r", judge=FakeGenerator(YES), name="k")).run_sync(return_exception=True)

    assert [check.status for check in result.steps[0].results] == ["error", "pass"]
    assert TestCase(trace=T(), checks=[Conformity(rule="r", judge=FakeGenerator(Completion(YES)))]).run_sync().passed
