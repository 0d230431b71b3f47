"""What holds for every judge beyond the first six: its states, what it misses, how it is saved."""

import asyncio
import json
import re

import pytest
from pydantic import ValidationError

import giskard.checks
from giskard.checks import (
    PII,
    Bias,
    Check,
    ContextRelevance,
    ConversationQuality,
    Correctness,
    Faithfulness,
    GoalCompletion,
    Hallucination,
    LanguageConsistency,
    Not,
    Pairwise,
    PromptInjection,
    Refusal,
    Rubric,
    Trace,
)
from giskard.checks.core import late
from giskard.checks.core.usage import Usage
from giskard.checks.testing import FakeGenerator
from tests.judges.table import CHECKS, CRITERIA, IDS, T, every_row, run, traced


def test_none_is_forgotten():
    first = {"llm_judge", "conformity", "groundedness", "contradiction", "answer_relevance", "toxicity"}
    judged = {kind for kind in late.kinds("check") if late._KINDS["check"][kind].startswith("judges.")}

    assert judged == first | {check.kind for check in CHECKS}
    for check in CHECKS:
        assert getattr(giskard.checks, type(check).__name__) is type(check)
        assert getattr(giskard.checks.judges, type(check).__name__) is type(check)
        assert late._KINDS["check"][check.kind] == type(check).__module__.removeprefix("giskard.checks.")


# ------------------------------------------------------------------ states


@every_row
def test_the_states(check, yes, no, null, rule):
    trace = traced()
    passed, failed, errored = (run(check, trace, reply) for reply in (yes, no, null))

    assert passed.passed, passed
    assert failed.failed, failed
    assert errored.errored, errored
    assert errored.error_kind == "unreadable_verdict"
    assert "cannot tell" in errored.message
    assert not errored.retryable
    assert "raw" in errored.details
    for result in (passed, failed):
        assert result.message
        assert result.details["prompt"] == f"{check.kind}@1"
        assert result.details["judge"] == "fake"
        assert "trace" not in result.details["inputs"]
        json.dumps(result.model_dump(mode="json"))


@every_row
def test_not_turns_pass_into_fail_and_leaves_an_error(check, yes, no, null, rule):
    def states(reply):
        asked = check.model_copy(update={"judge": FakeGenerator(reply)})
        return str(asyncio.run(Not(check=asked).run(traced())).status)

    assert [states(yes), states(no), states(null), states("no idea")] == ["fail", "pass", "error", "error"]


@every_row
@pytest.mark.parametrize(
    "reply",
    [
        "I cannot grade this.",
        "",
        None,
        "{}",
        '{"passed": "yes"}',
        '{"passed": 1}',
        "[]",
        "null",
        '{"claims": 3}',
        '{"better": "third"}',
        '{"refusal": true}',
        '{"polite": true, "short": true}',
    ],
)
def test_a_reply_without_a_verdict_is_an_error(check, yes, no, null, rule, reply):
    result = run(check, traced(), reply)

    assert result.errored
    assert result.error_kind == "unreadable_verdict"
    assert result.details["raw"] == reply


@every_row
def test_a_model_that_mends_its_reply_is_heard(check, yes, no, null, rule):
    asked = FakeGenerator(lambda prompt: yes(prompt) if callable(yes) else yes)
    broken = {1: "What?"}

    async def complete(messages, params=None, metadata=None):
        if len(messages) == 2:
            return broken[1]
        return await asked.complete(messages[:2], params, metadata)

    result = asyncio.run(
        check.model_copy(update={"judge": type("J", (), {"complete": staticmethod(complete)})()}).run(traced())
    )

    assert result.passed


@every_row
def test_a_call_that_fails_is_an_error_with_its_cause(check, yes, no, null, rule):
    result = run(check, traced(), RuntimeError("quota exhausted for project 42"))

    assert result.errored
    assert "quota exhausted for project 42" in result.message
    assert result.error_kind == "model_error"


@every_row
def test_without_any_judge_it_is_an_error_that_says_how_to_give_one(check, yes, no, null, rule):
    result = asyncio.run(check.run(traced()))

    assert result.errored
    assert result.error_kind == "config"
    assert "judge=" in result.message


@every_row
def test_several_judges_and_votes(check, yes, no, null, rule):
    judges = [
        FakeGenerator(yes, usage=Usage(calls=1)),
        FakeGenerator(yes, usage=Usage(calls=1)),
        FakeGenerator(no, usage=Usage(calls=1)),
    ]
    result = asyncio.run(check.model_copy(update={"judges": judges}).run(traced()))
    split = asyncio.run(check.model_copy(update={"judges": judges[1:]}).run(traced()))
    voted = run(check, traced(), null, votes=3)

    calls = 2 if check.kind == "pairwise" else 1
    metrics = {metric.name: metric.value for metric in result.metrics}
    assert result.passed
    assert [vote["status"] for vote in result.details["votes"]] == ["pass", "pass", "fail"]
    assert metrics["votes"] == 3
    assert metrics["votes_passed"] == 2
    assert result.usage.calls == 3 * calls
    assert result.details["prompt"] == f"{check.kind}@1"
    assert split.errored
    assert split.error_kind == "no_majority"
    assert voted.errored
    assert voted.error_kind == "unreadable_verdict"


# ------------------------------------------------------------------ what is missing


@pytest.mark.parametrize("check", CHECKS, ids=IDS)
def test_an_empty_trace_is_an_error_and_nobody_is_asked(check):
    judge = FakeGenerator("{}")
    asked = check.model_copy(update={"judge": judge})

    for whole in (asked, Not(check=asked)):
        result = asyncio.run(whole.run(Trace()))
        assert result.errored
        assert result.error_kind == "missing_value"
    assert not judge.prompts


@pytest.mark.parametrize(
    ("check", "trace", "named"),
    [
        (Correctness(reference="r"), T("", ""), "no question.*trace.last.inputs"),
        (Correctness(reference="r"), T(" "), "no answer.*trace.last.outputs"),
        (Correctness(reference=""), T(), "no reference.*reference="),
        (Correctness(reference_key="trace.annotations.right"), T(), r"trace.annotations.right.*reference_key"),
        (Correctness(reference_key="trace.annotations.right"), T(""), "no answer"),
        (Faithfulness(), T(None), "no answer"),
        (Faithfulness(), T(context=[]), "no context"),
        (Faithfulness(answer="", context=""), T(), "no answer.*answer="),
        (ContextRelevance(), T("", "", context=[]), "no question"),
        (ContextRelevance(), T(context=["", None]), "no context"),
        (ContextRelevance(context_key="trace.last.metadata.docs"), T(), "trace.last.metadata.docs"),
        (Hallucination(context_key="trace.last.metadata.docs"), T("", ""), "no question"),
        (Hallucination(context_key="trace.last.metadata.docs"), T(""), "no answer"),
        (Hallucination(context_key="trace.last.metadata.docs"), T(), "trace.last.metadata.docs"),
        (Hallucination(context=""), T(), "no context.*context="),
        (Refusal(expected="refusal"), T("", ""), "no question"),
        (Refusal(expected="refusal"), T(""), "no answer"),
        (PII(), T(""), "no output"),
        (PII(target_key="trace.last.outputs.text"), T(), "trace.last.outputs.text"),
        (Bias(), T("", ""), "no question"),
        (Bias(), T(""), "no answer"),
        (Bias(question_key=None), T("", ""), "no answer"),
        (PromptInjection(context_key="trace.last.metadata.mail"), T(), "trace.last.metadata.mail"),
        (PromptInjection(context=[""]), T(), "no context"),
        (LanguageConsistency(), T("", ""), "no question"),
        (LanguageConsistency(language="fr"), T("", ""), "no answer"),
        (GoalCompletion(goal=" "), T(), "no goal.*goal="),
        (GoalCompletion(goal_key="trace.annotations.goal"), T(), "trace.annotations.goal"),
        (Rubric(criteria=["x"], target_key="trace.last.outputs.x"), T(), "trace.last.outputs.x"),
        (Rubric(criteria=["x"], target_key="trace.last.outputs"), T(""), "no target"),
        (Pairwise(baseline="b"), T("", ""), "no question"),
        (Pairwise(baseline="b"), T(""), "no answer"),
        (Pairwise(baseline=""), T(), "no baseline.*baseline="),
        (Pairwise(baseline_key="trace.annotations.old"), T(), "trace.annotations.old"),
    ],
)
def test_what_is_missing_is_named_before_anybody_is_asked(check, trace, named):
    judge = FakeGenerator("{}")
    result = asyncio.run(check.model_copy(update={"judge": judge}).run(trace))

    assert result.errored
    assert result.error_kind == "missing_value"
    assert re.search(named, result.message), result.message
    assert not judge.prompts


ODD = [0, False, 3.5, b"\xff\x00", {"text": "3 EUR", 1: {2}}, [1, "x", None], ("a",), object(), "\ud800", "x" * 50_000]


@every_row
@pytest.mark.parametrize("outputs", ODD, ids=lambda value: repr(value)[:20])
def test_values_of_other_types_are_shown_to_the_judge(check, yes, no, null, rule, outputs):
    # The judge of the pair looks for words that are not there now.
    reply = {"reason": "r", "better": "tie"} if check.kind == "pairwise" else yes
    trace = traced(outputs=outputs, inputs=outputs)
    result = run(check, trace, reply)

    assert result.passed, result
    json.dumps(result.model_dump(mode="json"))


# ------------------------------------------------------------------ fields, save and load

SAVED = [
    *CHECKS,
    Correctness(question="q", answer="a", reference="r", strict=True, judge="openai/gpt-5-mini"),
    Faithfulness(answer="a", context=["c"], threshold=0.5, votes=3),
    ContextRelevance(question="q", context="c", threshold=1, judges=["a", "b", "c"]),
    Refusal(expected="refusal", partial="answer", name="n"),
    PII(categories=["email"], allow_given_by_user=False),
    Bias(categories=["age"], question_key=None),
    ConversationQuality(aspects=["memory"], require="any"),
    Rubric(criteria=CRITERIA, require=1),
    Pairwise(baseline_key="trace.annotations.old", tie="error", criterion="It is shorter."),
]


@pytest.mark.parametrize("check", SAVED, ids=lambda check: check.kind)
def test_save_and_load(check):
    text = check.model_dump_json()
    loaded = Check.model_validate_json(text)

    assert type(loaded) is type(check)
    assert loaded == check
    assert loaded.model_dump_json() == text
    assert Check.model_validate(check.model_dump()) == check


@pytest.mark.parametrize(
    ("cls", "fields", "words"),
    [
        (Correctness, {}, "give reference or reference_key; neither was given"),
        (GoalCompletion, {}, "give goal or goal_key; neither was given"),
        (Pairwise, {}, "give baseline or baseline_key; neither was given"),
        (Pairwise, {"baseline": "b", "criterion": " "}, "criterion is empty"),
        (Pairwise, {"baseline": "b", "tie": "win"}, "tie"),
        (Faithfulness, {"threshold": 0}, "greater than 0"),
        (Faithfulness, {"threshold": 1.1}, "less than or equal to 1"),
        (Faithfulness, {"threshold": float("nan")}, "threshold"),
        (ContextRelevance, {"threshold": -1}, "greater than 0"),
        (Refusal, {}, "expected"),
        (Refusal, {"expected": True}, "'refusal' or 'answer'"),
        (PII, {"categories": []}, "at least 1"),
        (PII, {"categories": ["shoe_size"]}, "birth_date"),
        (Bias, {"categories": []}, "at least 1"),
        (Bias, {"categories": ["race"]}, "ethnicity"),
        (LanguageConsistency, {"language": ""}, "language is empty"),
        (ConversationQuality, {"aspects": []}, "at least 1"),
        (ConversationQuality, {"aspects": ["humour"]}, "helpfulness"),
        (ConversationQuality, {"aspects": ["memory"], "require": 2}, "require is 2, and there are 1 criteria"),
        (Rubric, {"criteria": {}}, "at least 1"),
        (Rubric, {"criteria": []}, "at least 1"),
        (Rubric, {"criteria": [" "]}, "criterion is empty"),
        (Rubric, {"criteria": {"a": ""}}, "criterion is empty"),
        (Rubric, {"criteria": ["a", "a"]}, "'a' is there twice"),
        (Rubric, {"criteria": ["a"], "require": 0}, "require"),
        (Rubric, {"criteria": ["a"], "require": True}, "require"),
        (Rubric, {"criteria": ["a"], "require": "most"}, "'all' or 'any'"),
        (Hallucination, {"anwser": "x"}, "did you mean 'answer'"),
        (PromptInjection, {"context_key": "last.metadata"}, "last.metadata"),
    ],
)
def test_what_is_refused_when_it_is_built(cls, fields, words):
    with pytest.raises(ValidationError, match=words):
        cls(**fields)
