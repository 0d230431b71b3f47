"""Several verdicts in one call: Rubric, ConversationQuality, ContextRelevance."""

import asyncio
import re

import pytest

from giskard.checks import ContextRelevance, ConversationQuality, Interaction, Rubric, Trace
from giskard.checks.judges._verdicts import verdicts_type
from giskard.checks.testing import FakeGenerator

YES = {"reason": "Yes, it is.", "passed": True}
NO = {"reason": "No, it is not.", "passed": False}
NULL = {"reason": "Who knows?", "passed": None}
CRITERIA = {"polite": "The answer is polite.", "short": "One sentence.", "right": "The fee is 3 EUR."}
TRACE = Trace(interactions=[Interaction(inputs="Fee?", outputs="3 EUR.")])


def ask(check, *replies, trace=TRACE):
    judge = FakeGenerator(*replies)
    return asyncio.run(check.model_copy(update={"judge": judge}).run(trace)), judge


def metrics(result):
    return {metric.name: metric.value for metric in result.metrics}


def test_each_criterion_has_its_verdict_and_its_reason():
    result, judge = ask(Rubric(criteria=CRITERIA), {"right": NO, "polite": YES, "short": YES})

    assert result.failed
    assert result.message == "2 of 3 criteria are met, not met are: right: No, it is not."
    assert metrics(result) == {"polite": 1, "short": 1, "right": 0, "rubric": 2 / 3}
    assert result.details["criteria"] == {"polite": YES, "short": YES, "right": NO}
    assert result.details["inputs"]["criteria"] == CRITERIA
    assert len(judge.prompts) == 1


@pytest.mark.parametrize(
    ("require", "verdicts", "status"),
    [
        ("all", [YES, YES, YES], "pass"),
        ("all", [YES, NO, YES], "fail"),
        ("any", [NO, NO, YES], "pass"),
        ("any", [NO, NO, NO], "fail"),
        (2, [YES, NO, YES], "pass"),
        (2, [YES, NO, NO], "fail"),
        (3, [YES, YES, NO], "fail"),
    ],
)
def test_how_many_are_required(require, verdicts, status):
    result, _ = ask(Rubric(criteria=CRITERIA, require=require), dict(zip(CRITERIA, verdicts, strict=True)))

    assert str(result.status) == status


@pytest.mark.parametrize("require", ["all", "any", 1])
def test_a_criterion_that_the_judge_cannot_tell_makes_it_an_error_that_names_it(require):
    reply = {"polite": YES, "short": NULL, "right": NULL}
    result, judge = ask(Rubric(criteria=CRITERIA, require=require), reply)

    assert result.errored
    assert result.error_kind == "unreadable_verdict"
    assert result.message == "the judge cannot tell about 'short', 'right': short: Who knows?; right: Who knows?"
    assert result.details["criteria"]["polite"] == YES
    assert len(judge.prompts) == 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ('{"polite": %s, "short": %s}', "'right' is missing"),
        ('{"polite": %s, "short": %s, "right": %s, "fun": %s}', "fun"),
        ('{"polite": %s, "short": %s, "right": %s, "polite": {"passed": false}}', "two things under one key, .polite."),
        ('{"polite": %s, "short": %s, "right": true}', "'right'|right is true"),
        ('{"polite": %s, "short": %s, "right": {"passed": "yes"}}', "right.passed"),
        ('{"polite": %s, "short": %s, "right": {"reason": "r"}}', "right.passed"),
        ("[%s, %s, %s]", "is missing"),
        ("%s", "is missing"),
    ],
)
def test_one_that_is_left_out_doubled_or_unknown_makes_it_an_error(reply, words):
    yes = '{"reason": "Yes, it is.", "passed": true}'
    result, judge = ask(Rubric(criteria=CRITERIA), reply.replace("%s", yes))

    assert result.errored
    assert result.error_kind == "unreadable_verdict"
    assert re.search(words, result.message), result.message
    assert len(judge.prompts) == 2
    assert "right" in judge.requests[1][-1].content  # the form is shown once more


def test_a_model_that_forgets_one_is_asked_again():
    whole = dict.fromkeys(CRITERIA, YES)
    result, judge = ask(Rubric(criteria=CRITERIA), {"polite": YES}, whole)

    assert result.passed
    assert result.details["repaired"] is True
    assert len(judge.prompts) == 2


@pytest.mark.parametrize(
    "names", [["model_config", "copy", "json"], ["_private", "class", "__init__"], ["A", "a", "a-1"]]
)
def test_any_word_can_be_a_name(names):
    check = Rubric(criteria=dict.fromkeys(names, "It holds."))
    result, judge = ask(check, dict.fromkeys(names, YES))

    assert result.passed
    assert list(result.details["criteria"]) == names
    assert all(f"{name}: It holds." in judge.prompts[0] for name in names)


def test_names_that_are_no_words_are_numbered_for_the_judge_only():
    check = Rubric(criteria={"Höflich?": "The answer is polite.", "short": "One sentence."})
    result, judge = ask(check, {"criterion_1": YES, "criterion_2": NO})

    assert result.failed
    assert list(result.details["criteria"]) == ["Höflich?", "short"]
    assert metrics(result) == {"Höflich?": 1, "short": 0, "rubric": 0.5}
    assert "criterion_1: Höflich?: The answer is polite." in judge.prompts[0]
    assert ask(check, {"Höflich?": YES, "short": YES})[0].errored


def test_a_list_of_criteria():
    result, judge = ask(Rubric(criteria=["It is polite.", "It is short."]), {"criterion_1": YES, "criterion_2": YES})

    assert result.passed
    assert metrics(result) == {"It is polite.": 1, "It is short.": 1, "rubric": 1}
    assert "criterion_2: It is short." in judge.prompts[0]


def test_criteria_are_no_templates_and_may_have_any_key():
    check = Rubric(criteria={"items": "{{ trace }} {% x %}", "keys": "<b>&</b>"})
    result, judge = ask(check, {"items": YES, "keys": YES})

    assert result.passed
    assert "items: {{ trace }} {% x %}" in judge.prompts[0]
    assert "keys: <b>&</b>" in judge.prompts[0]


def test_one_class_for_the_same_keys():
    assert Rubric(criteria=CRITERIA).output_type is Rubric(criteria=dict.fromkeys(CRITERIA, "x")).output_type
    assert verdicts_type(("a", "b")) is not verdicts_type(("b", "a"))


def test_the_value_or_the_conversation():
    _, one = ask(Rubric(criteria=CRITERIA, target_key="trace.last.outputs"), "{}")
    _, whole = ask(Rubric(criteria=CRITERIA), "{}")

    assert "Fee?" not in one.prompts[0]
    assert "Turn 1" in whole.prompts[0]


def test_only_the_aspects_that_were_asked_for():
    check = ConversationQuality(aspects=["memory", "politeness", "memory"], require=1)
    result, judge = ask(check, {"memory": NO, "politeness": YES})

    assert result.passed
    assert metrics(result) == {"memory": 0, "politeness": 1, "conversation_quality": 0.5}
    assert "- memory: " in judge.prompts[0]
    assert "- clarity: " not in judge.prompts[0]


# ------------------------------------------------------------------ pieces of a context


@pytest.mark.parametrize(
    ("context", "pieces"),
    [
        ("one text", ["piece_1"]),
        (["a", "b"], ["piece_1", "piece_2"]),
        (["a", " ", None, "b"], ["piece_1", "piece_4"]),
        (("a", {"text": "b"}), ["piece_1", "piece_2"]),
        ({"text": "a"}, ["piece_1"]),
    ],
)
def test_the_pieces(context, pieces):
    turn = Interaction(inputs="Fee?", outputs="3 EUR.", metadata={"context": context})
    result, judge = ask(ContextRelevance(), dict.fromkeys(pieces, YES), trace=Trace(interactions=[turn]))

    assert result.passed
    assert list(result.details["pieces"]) == pieces
    assert metrics(result) == {"context_relevance": 1, "pieces": len(pieces)}
    assert "3 EUR." not in judge.prompts[0]


@pytest.mark.parametrize(("threshold", "status"), [(0.5, "pass"), (0.51, "fail")])
def test_enough_pieces(threshold, status):
    check = ContextRelevance(context=["a", "b"], threshold=threshold)
    result, _ = ask(check, {"piece_1": YES, "piece_2": NO})

    assert str(result.status) == status
    assert "1 of 2 pieces" in result.message
    assert "piece_2 is not: No, it is not." in result.message


def test_a_piece_too_many_or_too_few():
    check = ContextRelevance(context=["a", "b"])

    assert ask(check, {"piece_1": YES})[0].errored
    assert ask(check, {"piece_1": YES, "piece_2": YES, "piece_3": YES})[0].errored
    assert "about piece_2: Who knows?" in ask(check, {"piece_1": YES, "piece_2": NULL})[0].message
    assert ContextRelevance().output_type.__name__ == "NamedVerdict"
