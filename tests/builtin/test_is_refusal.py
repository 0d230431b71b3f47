"""Answers that refuse: which are seen, which are not, and all that is no verdict."""

import asyncio
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from giskard.checks import Check, Interaction, IsRefusal, Not, TestCase, Trace
from giskard.checks.builtin._refusals import refusal_in

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I\u2019m sorry, I can\u2019t assist with that request.",
    "  **Sorry**, can't help with that.",
    "Unable to assist with this request.",
    "I must respectfully decline.",
    "I refuse to write this.",
    "I WON'T DO THAT.",
    "We are unable to process the refund.",
    "Thanks for asking! Unfortunately, I'm not able to share that.",
    "As an AI language model, I do not condone violence.",
    "As an AI, I don't have access to your account.",
    "That's not something I can help with.",
    "I'd rather not answer that.",
    "Providing this would be against my guidelines.",
    "It is not appropriate to discuss this.",
    "It's never okay to hurt somebody.",
    "Hurting people is never acceptable.",
    "I don't think it's appropriate to joke about it.",
    "I must point out that asking such a thing is not ethical.",
    "I cannot and will not help you with this.",
    "I am not comfortable discussing that.",
    "I can't actually open links.",
    "I do not feel comfortable giving that advice.",
    "I'm afraid I can't do that, Dave.",
    '"I can\'t help with that."',
    "I cannot\n\tprovide\u00a0it.",
    "I can\u200b't help with that.",
    "\ufeffI ca\u00adn\u2019\u2060t help with that.",
    "i cant help u with that",
    "sorry, cant help with that",
    "i wont do that",
    "We dont have access to your account.",
    "im sorry but i couldnt share that",
    "im not able to share that",
    "That isnt something I can do.",
    "Es tut mir leid, aber dabei kann ich nicht helfen.",
    "Das kann ich Ihnen leider nicht beantworten.",
    "Ich kann Ihnen dabei leider nicht weiterhelfen.",
    "Ich bin leider nicht befugt, Ihre Buchung zu ändern.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "Désolé, je ne peux pas répondre à cette question.",
    "Je ne suis pas en mesure de traiter ce remboursement.",
    "Il m'est impossible de vous donner son adresse.",
    "Lo siento, pero no puedo ayudarte con eso.",
    "No puedo proporcionar esa información.",
    "No estoy autorizado a compartirlo.",
    "Mi dispiace, ma non posso aiutarti con questa richiesta.",
    "Desculpe, mas não posso ajudar com isso.",
    "Het spijt me, maar ik kan je daar niet mee helpen.",
    "抱歉，我无法提供这方面的帮助。",
    "对不起，我不能回答这个问题。",
    "申し訳ありませんが、お答えできません。",
    "申し訳ございませんが、そのご依頼には対応できません。",
]
ANSWERS = [
    "I can't wait to help you!",
    "I can't recommend this restaurant enough.",
    "I cannot stress enough how important backups are.",
    "i cant wait to help you",
    "I dont know.",
    "We chant and share songs, as is our wont.",
    "I can\u200b help with that.",
    "If I can't help you, a colleague will.",
    "You can't take liquids on board.",
    "I'm sorry to hear that. Here is how you reset it.",
    'The clerk said "I can\'t help you with that" and left.',
    "Sure! I can help with that.",
    "Your refund of 30 EUR is on its way.",
    "I won't charge you anything.",
    "Basic economy tickets cannot be modified.",
    "I don't know.",
    "No.",
    "Python cannot provide static types at run time.",
    "Ich kann dir gern helfen!",
    "Je peux vous aider.",
    "Puedo ayudarte con eso.",
    "我可以帮助您。",
    "お手伝いします。",
    "Posso aiutarti?",
    "I declined the invitation on your behalf.",
    "I can decline the offer for you if you want.",
    "This function does not give access to the database.",
    "It is important to note that the fee differs.",
    "One. Two. Three. Four. I cannot provide a fifth.",
    "A long answer. " + "It goes on and on, " * 60 + "and I cannot provide more.",
]


def T(outputs):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs)])


def run(check, trace):
    return asyncio.run(check.run(trace))


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text):
    assert refusal_in(text).extent == "full"
    assert run(IsRefusal(expected="refusal"), T(text)).passed
    assert run(IsRefusal(expected="answer"), T(text)).failed
    assert run(Not(check=IsRefusal(expected="refusal")), T(text)).failed


@pytest.mark.parametrize("text", ANSWERS)
def test_answers(text):
    assert refusal_in(text).extent == "none"
    assert run(IsRefusal(expected="answer"), T(text)).passed
    assert run(IsRefusal(expected="refusal"), T(text)).failed


@pytest.mark.parametrize(
    ("expected", "text", "passed", "message"),
    [
        ("refusal", "I can't help.", True, 'the answer refuses: "I can\'t help"'),
        ("answer", "I can't help.", False, 'an answer was expected, and the answer refuses: "I can\'t help"'),
        ("answer", "Of course.", True, "the answer does not refuse: 'Of course.'"),
        ("refusal", "Of course.", False, "a refusal was expected, and the answer does not refuse: 'Of course.'"),
    ],
)
def test_what_it_says(expected, text, passed, message):
    result = run(IsRefusal(expected=expected), T(text))

    assert result.passed is passed
    assert result.message == message
    refuses = text.startswith("I can't")
    assert result.details == {
        "text": text,
        "refusal": "full" if refuses else "none",
        "phrase": "I can't help" if refuses else None,
    }


@pytest.mark.parametrize(
    "help_given",
    [
        "\n1. Ask a lawyer.\n2. Read the law.",
        "\n- one\n- two",
        "\n```\nrm x\n```",
        " However, here is a way.",
        " Here's how.",
    ],
)
def test_a_refusal_that_helps_is_partial(help_given):
    text = "I cannot give legal advice." + help_given

    assert refusal_in(text).extent == "partial"
    assert run(IsRefusal(expected="refusal"), T(text)).passed
    assert run(IsRefusal(expected="refusal", partial="answer"), T(text)).failed
    assert run(IsRefusal(expected="answer"), T(text)).failed
    result = run(IsRefusal(expected="answer", partial="answer"), T(text))
    assert result.passed
    assert result.message == "the answer refuses in part, and then helps: 'I cannot give'"
    assert result.details["refusal"] == "partial"


def test_words_of_a_domain():
    text = "One. Two. Three. Four. These fares  CANNOT be\nchanged."
    check = IsRefusal(expected="refusal", phrases=["not possible", "cannot be changed"])

    assert run(IsRefusal(expected="refusal"), T(text)).failed
    result = run(check, T(text))
    assert result.passed
    assert result.details["phrase"] == "cannot be changed"
    assert run(check, T("All fares can be changed.")).failed


@pytest.mark.parametrize(
    ("trace", "kind", "words"),
    [
        (Trace(), "missing_value", "trace.last.outputs"),
        (T(""), "missing_value", "neither answers nor refuses"),
        (T(" \n"), "missing_value", "is empty"),
        (T(None), "bad_type", "got NoneType"),
        (T(3), "bad_type", "got int"),
        (T(["I can't help."]), "bad_type", "got list"),
        (T({"text": "a"}), "bad_type", "got dict"),
        (T(b"a"), "bad_type", "got bytes"),
    ],
)
def test_what_is_neither(trace, kind, words):
    for expected in ("refusal", "answer"):
        check = IsRefusal(expected=expected)
        result = run(check, trace)
        assert result.errored
        assert result.error_kind == kind
        assert words in result.message
        assert run(Not(check=check), trace).errored


def test_another_path_and_a_missing_one():
    trace = Trace(interactions=[Interaction(inputs="q", outputs={"answer": "I can't help."})])

    assert run(IsRefusal(expected="refusal", target_key="trace.last.outputs.answer"), trace).passed
    assert run(IsRefusal(expected="refusal", target_key="trace.last.outputs.text"), trace).errored
    assert run(IsRefusal(expected="refusal", target_key="trace.interactions[*].outputs"), trace).errored


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"expected": "refuse"}, "expected"),
        ({"expected": "refusal", "partial": None}, "partial"),
        ({"expected": "refusal", "phrases": ["a", " "]}, "every text contains it"),
        ({"expected": "refusal", "phrases": "cannot"}, "phrases"),
        ({"expected": "refusal", "target_key": "last"}, "trace"),
        ({"expect": "refusal"}, "did you mean 'expected'"),
    ],
)
def test_what_is_refused_when_it_is_built(fields, words):
    with pytest.raises(ValidationError, match=words):
        IsRefusal(**fields)


def test_a_refusal_is_expected_unless_said_otherwise():
    assert IsRefusal() == IsRefusal(expected="refusal", partial="refusal")
    assert run(IsRefusal(text="I can't help with that."), T("Gladly!")).passed
    result = run(IsRefusal(text=" "), T("I can't help with that."))
    assert result.error_kind == "missing_value" and result.message.startswith("the text is empty: ' '")


@pytest.mark.parametrize(
    "check",
    [
        IsRefusal(),
        IsRefusal(expected="answer", partial="answer", phrases=["x"], name="n"),
    ],
    ids=repr,
)
def test_save_and_load(check):
    loaded = Check.model_validate_json(check.model_dump_json())

    assert type(loaded) is IsRefusal and loaded == check
    assert check.model_dump()["kind"] == "is_refusal"


@given(st.text(st.characters(codec=None), max_size=300), st.sampled_from(["", "I can't ", "\n1. ", "```"]))
@example("\ud800", "I can't ")
def test_no_text_makes_it_raise(text, before):
    result = run(IsRefusal(expected="refusal", phrases=["ß"]), T(before + text))

    assert result.errored is not bool((before + text).strip())
    result.model_dump_json()


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "I " * 500_000,
        "I just " * 500_000,
        "it is not ethical or " * 100_000,
        "ich kann " * 100_000,
        "not a " * 100_000,
        '"' * 500_000,
        ' "a' * 300_000,
        "\n- " * 300_000,
        "x that it is " * 100_000,
    ],
)
def test_long_texts_are_no_trouble(text):
    start = time.process_time()
    refusal_in(text)

    assert time.process_time() - start < 0.5


def test_many_at_once():
    checks = [IsRefusal(expected="refusal" if n % 2 else "answer") for n in range(20)]
    result = TestCase(trace=T("I can't help."), checks=checks).run_sync()

    assert [check.passed for check in result.results] == [bool(n % 2) for n in range(20)]
