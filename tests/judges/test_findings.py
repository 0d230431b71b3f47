"""Judges that list what they found: PII, Bias, Hallucination."""

import asyncio

import pytest

from giskard.checks import PII, Bias, Hallucination, Interaction, Trace
from giskard.checks.judges._findings import findings_type
from giskard.checks.testing import FakeGenerator

TEXT = "Write to Ann at ann@mail.example, or call 0170 1234567."
TRACE = Trace(
    interactions=[
        Interaction(inputs="I am Ann.", outputs="Hello!", metadata={"tool": "crm"}),
        Interaction(inputs="How do I reach her?", outputs=TEXT),
    ]
)


def ask(check, reply):
    judge = FakeGenerator(reply)
    return asyncio.run(check.model_copy(update={"judge": judge}).run(TRACE)), judge


def finding(category="email", quote="ann@mail.example"):
    return {"quote": quote, "category": category}


def test_what_is_found_is_listed_and_kept_out_of_the_message():
    items = [finding(), finding("phone", "0170  1234567"), finding("email", "a***@mail.example")]
    result, _ = ask(PII(), {"reason": "Ways to reach a private person.", "found": items, "passed": False})

    assert result.failed
    assert result.message == "email, phone: Ways to reach a private person."
    assert result.details["found"] == [
        {"category": "email", "quote": "ann@mail.example", "quote_found": True},
        {"category": "phone", "quote": "0170  1234567", "quote_found": True},
        {"category": "email", "quote": "a***@mail.example", "quote_found": False},
    ]
    assert ask(PII(), {"found": items[:1], "passed": False})[0].message == "found: email"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"reason": "r", "found": [finding()], "passed": True}, "passed is true, and something is listed in found"),
        ({"reason": "r", "found": [], "passed": False}, "passed is false, and nothing is listed in found"),
        ({"reason": "r", "passed": False}, "nothing is listed in found"),
        ({"reason": "r", "found": [finding("shoe_size")], "passed": False}, "found.0.category"),
        ({"reason": "r", "found": [{"category": "email"}], "passed": False}, "found.0.quote"),
        ({"reason": "r", "found": None, "passed": True}, "found"),
        ({"reason": "r", "found": [finding()]}, "'passed' is missing"),
    ],
)
def test_a_verdict_that_does_not_fit_its_list_is_no_verdict(reply, words):
    result, judge = ask(PII(), reply)

    assert result.errored
    assert result.error_kind == "unreadable_verdict"
    assert words in result.message
    assert len(judge.prompts) == 2


def test_only_the_kinds_that_were_asked_for_count():
    check = PII(categories=["phone"])
    other, judge = ask(check, {"reason": "r", "found": [finding("email")], "passed": False})
    wanted, _ = ask(check, {"reason": "r", "found": [finding("Phone", "0170")], "passed": False})

    assert other.errored
    assert wanted.failed
    assert "- phone: " in judge.prompts[0]
    assert "email" not in judge.requests[0][0].content
    assert "- email" not in judge.prompts[0]


def test_a_pass_needs_no_list():
    assert ask(Bias(), {"reason": "Fine.", "passed": True})[0].passed


def test_what_the_user_said_is_shown_when_it_may_be_repeated():
    _, judge = ask(PII(), "{}")
    _, strict = ask(PII(allow_given_by_user=False), "{}")

    assert "I am Ann." in judge.prompts[0]
    assert "is no disclosure" in judge.prompts[0]
    assert "I am Ann." not in strict.prompts[0]
    assert "is no disclosure" not in strict.prompts[0]
    for asked in (judge, strict):  # what the assistant said elsewhere is not what is judged
        assert "Hello!" not in asked.prompts[0]
        assert asked.prompts[0].count(TEXT) == 1


def test_a_literal_text_needs_no_conversation():
    judge = FakeGenerator({"reason": "None.", "found": [], "passed": True})

    assert asyncio.run(PII(output="Hello!", judge=judge).run(Trace())).passed
    assert "What the user said" not in judge.prompts[0]


def test_bias_without_a_question():
    _, judge = ask(Bias(question_key=None), "{}")

    assert "How do I reach her?" not in judge.prompts[0]
    assert "What was asked" not in judge.prompts[0]
    assert "How do I reach her?" in ask(Bias(), "{}")[1].prompts[0]


def test_hallucination_is_told_what_it_may_go_by():
    _, alone = ask(Hallucination(include_history=False), "{}")
    _, whole = ask(Hallucination(context=["Ann's number is secret."]), "{}")

    assert "No context is given" in alone.prompts[0]
    assert "you cannot tell" in alone.prompts[0]
    assert "The conversation before" not in alone.prompts[0]
    assert "No context is given" not in whole.prompts[0]
    assert "Ann's number is secret." in whole.prompts[0]
    assert "The conversation before" in whole.prompts[0]
    assert "crm" in whole.prompts[0]


def test_one_class_for_the_same_kinds():
    assert findings_type(("a", "b")) is findings_type(("a", "b"))
    assert findings_type(("a", "b")) is not findings_type(("a",))
