"""NoRepetition: texts and conversations that go round in circles."""

import asyncio
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evals import refusals
from giskard.checks import Check, Interaction, NoRepetition, Not, Trace
from giskard.checks.builtin._repetition import longest_run, repetition_in

KEY = "trace.last.outputs"
ROOT = Path(__file__).resolve().parent.parent.parent


def T(*outputs):
    return Trace(interactions=[Interaction(inputs="q", outputs=output) for output in outputs])


def run(check, *outputs):
    return asyncio.run(check.run(T(*outputs)))


def status(check, *outputs):
    return run(check, *outputs).status.value


LOOPS = [
    "I can help. I can help.",
    "I can help. I can help. I can help.",
    "I'm sorry, I can't do that. " * 20,
    "the the the the the the the the the the the the",
    "you can click on the button and then " * 5,
    "First, open the door. Then close it. First, open the door. Then close it.",
    "Ja gerne, das geht.\nJa gerne, das geht.\nJA GERNE, das geht!",
    "这个问题我可以帮助您解决。这个问题我可以帮助您解决。",
    "お手伝いできます。お手伝いできます。お手伝いできます。",
]
TEXTS = [
    "I can help.",
    "Yes. Yes! Of course, yes.",
    "It is very, very good, and I mean it.",
    "1. Open the app.\n2. Open the menu.\n3. Choose cards.\n4. Choose the card.\n5. Block it.",
    "The fee is 3 EUR a month for the small account and 5 EUR a month for the large one.",
    "Keep your eye on the ball: Keep your eye on the ball as you swing your racquet, and then follow through.",
    "您的账户每月收费三欧元，每年三十六欧元。",
]


@pytest.mark.parametrize("text", LOOPS)
def test_loops_fail(text):
    result = run(NoRepetition(), text)
    assert result.failed and "repeat what was said before" in result.message
    assert status(Not(check=NoRepetition()), text) == "pass"


@pytest.mark.parametrize("text", TEXTS)
def test_ordinary_texts_pass(text):
    assert status(NoRepetition(max_run=2), text) == "pass"


def recorded():
    """Answers of five models, and of an airline's agent."""
    yield from (row["completion"] for row in refusals.read(refusals.SAMPLE))
    lines = (ROOT / "examples" / "airline_support" / "data" / "conversations.jsonl").read_text(encoding="utf-8")
    for line in lines.splitlines():
        for message in json.loads(line)["traj"]:
            if message["role"] == "assistant" and message["content"]:
                yield message["content"]


def test_no_ordinary_answer_fails():
    shares = sorted(repetition_in(text, 8).share for text in recorded())
    assert len(shares) > 400
    assert shares[-1] < 0.35
    assert shares[int(0.98 * len(shares))] < 0.2


def test_what_the_result_says():
    result = run(NoRepetition(), "I can help. I can help. What is it?")
    assert result.passed and result.message == "3 of 9 words (33.3 %) repeat what was said before"
    assert [(metric.name, metric.value) for metric in result.metrics] == [("repeated_share", 3 / 9)]
    assert result.details["passage"] == "i can help"
    failed = run(NoRepetition(max_share=0.3), "I can help. I can help. What is it?")
    assert failed.message == (
        "3 of 9 words (33.3 %) repeat what was said before, at most 30 % were expected: 'i can help'"
    )
    assert status(NoRepetition(max_share=1 / 3), "I can help. I can help. What is it?") == "pass"
    none = run(NoRepetition(), "What is it?")
    assert none.message == "0 of 3 words (0 %) repeat what was said before" and none.details["passage"] is None


@pytest.mark.parametrize(
    ("text", "size", "words", "repeated"),
    [
        ("a b c d a b c d", 4, 8, 4),
        ("a b c d a b c d", 5, 8, 0),
        ("a b c d e a b c d x", 4, 10, 4),
        ("a a a a a", 2, 5, 4),
        ("Yes, please. Yes, please.", 8, 4, 0),
        ("One two three. One, two: three!", 8, 6, 3),
        ("3.50 EUR it is. 3.50 EUR it is.", 8, 8, 4),
        ("a b c\na b c", 8, 6, 3),
        ("", 8, 0, 0),
        ("!", 8, 0, 0),
    ],
)
def test_what_is_counted(text, size, words, repeated):
    assert repetition_in(text, size)[:2] == (words, repeated)


FIFTY = " ".join(map(str, range(50)))


@pytest.mark.parametrize(
    ("text", "times", "unit"),
    [
        ("", 0, ""),
        ("a", 1, "a"),
        ("a b a b", 2, "a b"),
        ("x a b a b a b y", 3, "a b"),
        ("a a a", 3, "a"),
        ("I can help. I can help! Yes", 2, "i can help"),
        ("a b c a b", 1, "a"),
        (
            " ".join(str(n) for n in range(50)) + " " + " ".join(str(n) for n in range(50)),
            2,
            " ".join(map(str, range(50))),
        ),
    ],
)
def test_runs(text, times, unit):
    assert longest_run(text) == (times, unit)


def test_a_run_may_be_limited():
    check = NoRepetition(max_share=0.9, max_run=2)
    result = run(check, "Well. I can help. I can help. I can help.")
    assert result.failed and result.message == "3 times in a row, at most 2 were expected: 'i can help'"
    assert [(metric.name, metric.value) for metric in result.metrics][1] == ("longest_run", 3)
    assert status(check, "I can help. I can help.") == "pass"
    assert status(NoRepetition(max_run=1), "very very good") == "fail"


words = st.lists(st.sampled_from(["a", "b", "c", "漢", "é"]), max_size=25)


@given(words, st.integers(2, 6))
def test_windows_are_those_that_came_before(tokens, size):
    # The commas keep the Chinese letters and their neighbours apart.
    found = repetition_in(", ".join(tokens), size)
    covered = set()
    windows = [tuple(tokens[place : place + size]) for place in range(len(tokens) - size + 1)]
    for place, window in enumerate(windows):
        if window in windows[:place]:
            covered |= set(range(place, place + size))
    assert found.words == len(tokens)
    assert found.repeated == len(covered)


@given(words.filter(bool))
def test_runs_are_as_long_as_they_look(tokens):
    times, unit = longest_run(" , ".join(tokens))
    best = max(
        k
        for size in range(1, len(tokens) + 1)
        for start in range(len(tokens) - size + 1)
        for k in range(1, len(tokens) // size + 1)
        if tokens[start : start + size] * k == tokens[start : start + size * k]
    )
    assert times == best
    assert f" {unit} " in f" {' '.join(tokens)} "


@given(st.text(st.characters(codec=None)))
def test_the_share_is_a_share(text):
    found = repetition_in(text, 3)
    assert 0 <= found.share <= 1
    twice = repetition_in(f"{text}\n{text}", 3)
    assert twice.repeated >= 2 * found.repeated


# --- across turns ------------------------------------------------------------------------


def test_an_answer_that_is_given_again():
    check = NoRepetition(across_turns=True)
    assert status(check, "I can help you.", "What is it about?", "It costs 3 EUR.") == "pass"
    result = run(check, "I can help you.", "What is it?", "I CAN help you!", "It costs 3 EUR.")
    assert result.failed
    assert result.message == "answer 3 of 4 is answer 1 again: 'I CAN help you!'"
    assert result.details["said_again"] == [(0, 2)] and result.details["answers"] == 4
    twice = run(check, "I can help you.", "I can help you.", "I can help you.")
    assert twice.message == "answer 2 of 3 is answer 1 again, and 1 more comes again: 'I can help you.'"
    assert status(NoRepetition(), "I can help you.", "I can help you.") == "pass"


def test_short_answers_may_come_again():
    assert status(NoRepetition(across_turns=True), "Yes, please.", "Yes, please.") == "pass"
    assert status(NoRepetition(across_turns=True), "", "Yes, I can.") == "pass"


def test_the_same_place_of_each_turn():
    check = NoRepetition(across_turns=True, target_key="trace.last.outputs.reply")
    assert status(check, {"reply": "I can help."}, {"tools": 1}, {"reply": None}, {"reply": "I can help."}) == "fail"
    assert status(check, {"reply": "I can help."}, {"reply": "It is free."}) == "pass"
    result = run(check, {"reply": 5}, {"reply": "I can help."})
    assert result.error_kind == "bad_type" and "trace.interactions[*].outputs.reply" in result.message


# --- the rest ----------------------------------------------------------------------------


@pytest.mark.parametrize("output", [None, ["a"], {"a": 1}, b"a", 5])
def test_what_is_no_text_is_an_error(output):
    result = run(NoRepetition(), output)
    assert result.error_kind == "bad_type" and type(output).__name__ in result.message and KEY in result.message


@pytest.mark.parametrize("text", ["", " \n", "!?!?!?", "👍👍👍"])
def test_nothing_that_could_come_again_is_an_error(text):
    assert run(NoRepetition(), text).error_kind == "missing_value"
    assert status(Not(check=NoRepetition()), text) == "error"


def test_a_missing_text_is_an_error():
    assert asyncio.run(NoRepetition().run(Trace())).error_kind == "missing_value"
    assert asyncio.run(NoRepetition(text="It is free.").run(Trace())).passed


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_share": 1}, "less than 1"),
        ({"max_share": -0.1}, "greater than or equal to 0"),
        ({"passage_words": 1}, "greater than or equal to 2"),
        ({"max_run": 0}, "greater than or equal to 1"),
        ({"across_turns": True, "text": "a"}, "does not go with a literal text"),
        ({"across_turns": True, "target_key": "trace.interactions[0].outputs"}, "must start with 'trace.last.'"),
        ({"max_shares": 0.1}, "did you mean 'max_share'"),
    ],
)
def test_what_is_refused_when_it_is_built(fields, words):
    with pytest.raises(ValidationError, match=words):
        NoRepetition(**fields)


@pytest.mark.parametrize(
    "check",
    [
        NoRepetition(),
        NoRepetition(max_share=0.1, passage_words=5, max_run=3, across_turns=True, normalization_form=None, name="n"),
    ],
    ids=repr,
)
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert type(loaded) is NoRepetition and loaded == check


@pytest.mark.parametrize(
    "unit", ["I can help. ", "word ", "a", "a ", "a. ", "漢", "\ud800", "\u200b", "\u202eא ", "e\u0301 ", "!", ".\n"]
)
def test_long_and_odd_texts(unit):
    text = unit * ((5_000_000 if unit == "I can help. " else 500_000) // len(unit))
    start = time.process_time()
    result = run(NoRepetition(max_run=3), text)

    assert result.failed or result.passed or result.error_kind in ("missing_value", "bad_type")
    assert len(result.message) < 2_000
    assert time.process_time() - start < 60


def test_a_text_of_too_many_words():
    result = run(NoRepetition(), "漢" * 1_000_001)
    assert result.error_kind == "bad_type" and "1,000,001 words are too many" in result.message
