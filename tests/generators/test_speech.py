"""What a simulated user must not say: found where it is, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.generators._speech import is_said_again, speaks_as_the_assistant, takes_over, without_thoughts


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Hello", "Hello"),
        ("  Hello \n", "  Hello \n"),
        ("", ""),
        ("<think>a</think>Hello", "Hello"),
        ("<THINK >a</think > Hello ", "Hello"),
        ('<thinking depth="2">a <think>b</think> c</thinking>Hello', "Hello"),
        ("[THINK]a[/THINK]Hello", "Hello"),
        ("a</think>Hello", "Hello"),
        ("a</think>b</think>Hello", "Hello"),
        ("Hello <reasoning>a</reasoning>you", "Hello you"),
        ("I think <b>so</b>, 1 < 2", "I think <b>so</b>, 1 < 2"),
        ("How do I close an <analysis> tag?", "How do I close an <analysis> tag?"),
        ("<analysis>I am the user.</analysis> Hi", "Hi"),
        ("<scratchpad>a</scratchpad>Hello", "Hello"),
        ({"a": ["<think>x</think>y", 3], "b": None}, {"a": ["y", 3], "b": None}),
        (None, None),
        (7, 7),
    ],
)
def test_thoughts_are_left_out(text, spoken):
    assert without_thoughts(text) == spoken


@pytest.mark.parametrize(
    "text", ["<think>a", "<analysis>a", "Hi <think>a", "<think>a</think>", "a</think> ", ["<think>"]]
)
def test_a_thought_that_does_not_end_and_one_alone_are_refused(text):
    with pytest.raises(ValueError, match="thought"):
        without_thoughts(text)


@given(st.lists(st.sampled_from(["<think>", "</think>", "[THINK]", "[/THINK]", "word ", "<", ">"]), max_size=20))
def test_no_tag_of_a_thought_is_left(parts):
    try:
        spoken = without_thoughts("".join(parts))
    except ValueError:
        return
    assert "<think>" not in spoken and "[/THINK]" not in spoken
    assert without_thoughts(spoken) == spoken


@pytest.mark.parametrize(
    "message",
    [
        "How can I help you?",
        "Hello! How can I help you today?",
        "Hi there, how may I assist you with your order?",
        "Good morning. How can I assist you today?",
        "As an AI language model, I cannot feel.",
        "As an AI, I have no opinion.",
        "I'm an AI assistant.",
        "I am an AI language model, and I have no account.",
        "I\u2019m sorry, but as an AI assistant I cannot do that.",
        "I'm sorry, but I can't assist with that.",
        "I cannot comply with this.",
        "I can't help with that request.",
        "Your order is on its way. Is there anything else I can help you with?",
        "Assistant: Sure!",
    ],
)
def test_messages_of_an_assistant(message):
    assert speaks_as_the_assistant(message)
    assert speaks_as_the_assistant(f"  {message.upper()}\n")


@pytest.mark.parametrize(
    "message",
    [
        "",
        "How can you help me?",
        "Can you help me?",
        "How can I help my mother with her account?",
        'Your bot only says "How can I help you?" again and again.',
        "I asked it how can I help you and it said no",
        "As an AI, you should know that.",
        "As an airline customer, I want my money back.",
        "I'm an AI researcher.",
        "I'm an AI assistant developer at a bank.",
        "I am an aid worker.",
        "Is that an AI model I am talking to?",
        "I'm sorry, but I can't find my order number.",
        "I'm sorry, I cannot help it, I am angry.",
        "I can't help with that, I do not have the number.",
        "My assistant: can he log in too?",
        "Is there anything else I can try?",
        "Sorry, as an older person I need it slower.",
    ],
)
def test_messages_of_a_user(message):
    assert not speaks_as_the_assistant(message)


LONG = "Your parcel left our warehouse on Monday, was seen in Lyon on Tuesday and will reach you on Thursday."


@pytest.mark.parametrize(
    ("message", "answer", "said", "expected"),
    [
        (LONG, LONG, [], True),
        (f"  {LONG.upper()}!", LONG, [], True),
        (f"{LONG} And then?", LONG, [], True),
        (LONG[:90], LONG, [], True),
        (LONG[:70], LONG, [], False),
        (f'"{LONG}", you said?', LONG, [], True),
        (f"You said: {LONG}", LONG, [], False),
        (LONG, LONG, [LONG], False),
        ("Which order is that one?", "Which order is that one?", [], True),
        ("Yes.", "Yes.", [], False),
        ("ok", "", [], False),
        ("", "", [], False),
        ("x", None, [], False),
        ("x", {"text": "x"}, [{"a": 1}], False),
    ],
)
def test_what_the_assistant_said_is_not_taken_over(message, answer, said, expected):
    assert takes_over(message, answer, said) is expected


@pytest.mark.parametrize(
    ("message", "said", "expected"),
    [
        ("Hi!", [], False),
        ("Hi!", ["hi"], True),
        ("Hi!", ["Hello", "Hi!"], False),
        ("Yes.", ["Hello", "Yes."], False),
        ("I want to know where my parcel is.", ["Hello", "i want to know where  my parcel is"], True),
        ("I want to know where it is.", ["Hello", "I want to know where my parcel is."], False),
        ("...", ["..."], False),
    ],
)
def test_what_was_said_before(message, said, expected):
    assert is_said_again(message, said) is expected


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_looked_at(message, answer):
    assert speaks_as_the_assistant(message) in (True, False)
    assert takes_over(message, answer, [answer]) is False
    assert is_said_again(message, [answer]) in (True, False)
