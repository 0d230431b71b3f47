"""Server-sent events in a text."""

import pytest

from giskard.checks.importers._streams import events_in
from giskard.checks.importers.openai_chat import OpenAIChat
from tests.importers.reading import one

INNER = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_end_where_the_standard_ends_lines(end):
    text = end.join(['data: {"a": 1}', "", ": a comment", 'data: {"b":', "data: 2}", "", "data: [DONE]"])

    assert events_in(text) == [{"a": 1}, {"b": 2}]


def test_what_else_python_ends_lines_at_is_part_of_the_data():
    allowed = "".join(letter for letter in INNER if letter not in "\x0b\x0c\x1c")  # JSON has those escaped

    assert events_in(f'data: {{"a": "{allowed}"}}\n\ndata: [DONE]\n\n') == [{"a": allowed}]


@pytest.mark.parametrize("letter", ["\u2028", "\u2029", "\x85"])
def test_an_answer_with_such_a_character(letter):
    piece = f'data: {{"object": "chat.completion.chunk", "choices": [{{"delta": {{"content": "a{letter}b"}}}}]}}\n\n'
    trace = one(OpenAIChat(), {"request": {"messages": [{"role": "user", "content": "q"}]}, "response": piece * 2})

    assert trace.interactions[0].outputs == f"a{letter}b" * 2


def test_a_text_without_events():
    assert events_in("hello\nworld") is None
