"""Answers are read out of what models write, and never made up."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, StrictBool

from giskard.checks.core.usage import Usage
from giskard.checks.judges import LLMCheckResult
from giskard.checks.llm import Completion, Message, ModelCallError
from giskard.checks.llm._objects import find_objects
from giskard.checks.llm.structured import UnreadableReply, ask, read_reply
from giskard.checks.testing import FakeGenerator

YES, NO = '{"reason": "fine", "passed": true}', '{"reason": "not fine", "passed": false}'


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str
    passed: StrictBool


@pytest.mark.parametrize(
    "reply",
    [
        NO,
        f"```json\n{NO}\n```",
        f"```\n{NO}\n```\n",
        f"Here is my verdict:\n\n{NO}\n\nI hope that this helps.",
        f"<think>It looks fine: {YES}</think>{NO}",
        f"<think>\nno end of <think> nested </think> {YES} </think>\n{NO}",
        f"It is fine, {YES}, I first thought.</think>{NO}",
        f'<thinking reason="x">{{</thinking>{NO}',
        f"<THINK>it's </THINK> {NO}",
        f"[THINK]{YES}[/THINK]{NO}",
        f"Draft: {YES}\nFinal: {NO}",
        f"{NO} (The rule was {{polite: always}}.)",
        "{'reason': 'not fine', 'passed': False}",
        "{'reason': 'it isn\\'t \"fine\"', 'passed': False}",
        "{reason: 'not fine', passed: false}",
        '{"reason": "not fine", "passed": false,}',
        '{"reason": "two\nlines", "passed": false}',
        f"[{NO}]",
        f"\ufeff{NO}",
        '{"reason": "it says </think> and {", "passed": false}',
        f'So it is. {NO[:-1]}, "score": 3, "more": {{"a": [1, 2, {{}}]}}}}',
        f"{{{{ braces }} {{ of a template }}}} {NO}",
        f'{{"rules": ["one"]}} {NO}',
        f"{{}} {NO} {{}}",
        '{"passed": false, "reason": "x", "passed": false}',
    ],
)
def test_a_verdict_is_read(reply):
    verdict = read_reply(reply, LLMCheckResult)

    assert verdict.passed is False
    assert verdict.reason


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("It is fine.", "no JSON object"),
        ("passed: true", "no JSON object"),
        ('{"reason": "x"}', "'passed' is missing"),
        ('{"reason": "x", "passed": "true"}', "passed is .*true"),
        ('{"reason": "x", "passed": 1}', "passed is 1"),
        (f'{YES} {{"reason": "on second thoughts", "passed": "unclear"}}', "passed is .*unclear"),
        ('{"reason": "x", "passed": tr', "cut off"),
        ('{"reason": "x", "passed": true', "cut off"),
        (f'{YES} {{"reason": "no, ', "cut off"),
        ('{"passed": true, "passed": false}', "two things under one key, 'passed'"),
        (f'{YES} {{"passed": true, "passed": false}}', "two things under one key"),
        (f'{{"passed": false, "passed": true, "also": {YES}}}', "two things under one key, 'passed'"),
        (f'{{"reason": "x", "also": {{"passed": true, "passed": false}}, "more": {YES}}}', "two things under one key"),
        (f'{{"passed": unclear, "also": {YES}}}', "JSON is broken"),
        (f'{YES} then {{"reason": "no", "passed": fals}}', "JSON is broken"),
        (f'{YES} then {{"reason": "no" "passed": false}}', "JSON is broken"),
        (f'{{"reason": "x", "inner": {YES}', "cut off"),
        (f"{YES} Correction: {{“passed”: false}}", "JSON is broken"),
        (f"{YES} No: {{passed = false}}", "JSON is broken"),
        (f'{YES} No: {{/*x*/ "passed": false}}', "JSON is broken"),
        (f'{YES} No: {{"Passed": false}}', "'passed' is missing"),
        (f'{YES} No: {{"result": {{"passed": false}}}}', "'passed' is missing"),
        (f"<think>{YES}", "thinking in it does not end"),
        (f"{YES}<think>or not", "thinking in it does not end"),
        ("[true]", "no JSON object"),
        ("{" * 100_000, "no JSON object|cut off"),
        ('{"a":' * 100_000, "cut off"),
        ('{"a":' * 1000 + "1" + "}" * 1000, "too deeply"),
        ('{"reason": "\\x", "passed": true}', "not JSON"),
        ("{'passed': True, 'n': " + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_what_cannot_be_read_is_no_verdict(reply, words):
    with pytest.raises(UnreadableReply, match=words) as caught:
        read_reply(reply, LLMCheckResult)

    assert caught.value.raw == reply


@pytest.mark.parametrize("size", [1, 1000])
def test_huge_replies_are_read_in_linear_time(size):
    noise = "{ braces } <tag> 'quotes\" " * size

    assert read_reply(noise + NO, LLMCheckResult).passed is False


def test_a_cut_reply_with_many_escaped_quotes_is_read_at_once():
    with pytest.raises(UnreadableReply, match="cut off"):
        read_reply('{"passed": true, "reason": "he said ' + '\\"' * 200_000, LLMCheckResult)


def test_a_reply_without_end_is_not_read():
    with pytest.raises(UnreadableReply, match="600,000 characters, at most 500,000 are read"):
        read_reply("{" * 600_000, LLMCheckResult)


def test_thoughts_may_speak_of_tags():
    assert read_reply(f"<think>I should use <think> tags</think>{NO}", LLMCheckResult).passed is False


def test_the_last_object_that_fits_counts():
    assert read_reply(f'{YES} {{"score": 1}}', LLMCheckResult).passed is True
    assert (
        read_reply('{"reason": "a", "passed": true} {"reason": "b", "passed": true, "x": 1}', LLMCheckResult).reason
        == "b"
    )
    with pytest.raises(UnreadableReply, match="Extra inputs"):
        read_reply('{"reason": "a", "passed": true} {"reason": "b", "passed": true, "x": 1}', Verdict)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), json_values, max_size=5), st.sampled_from([None, 2]), st.booleans())
def test_every_json_object_is_found_as_it_is(data, indent, ascii_only):
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)

    assert [found.value for found in find_objects(text)] == [data]
    assert [found.value for found in find_objects(f"As JSON:\n```json\n{text}\n```\nThat is all.")] == [data]


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_every_python_literal_without_odd_escapes_is_found(data):
    text = repr(data)
    if "\\x" in text or "\\U" in text or ("\\'" in text and "\\\\" in text):
        return

    assert [found.value for found in find_objects(text)] == [data]


PARTS = st.sampled_from(
    [
        '{"',
        "passed",
        '"',
        ": ",
        "true",
        "false",
        "null",
        "}",
        "{",
        "<think>",
        "</think>",
        "```",
        ",",
        "reason",
        "'",
        "\\",
        "[",
        "]",
        "\n",
        YES,
        NO,
    ]
)


@given(st.one_of(st.text(), st.lists(PARTS | st.text(max_size=3), max_size=25).map("".join)))
@settings(max_examples=400)
def test_no_reply_gives_a_verdict_that_is_not_in_it(reply):
    try:
        verdict = read_reply(reply, LLMCheckResult)
    except UnreadableReply:
        return
    if verdict.passed is True:
        assert "true" in reply.lower()
    if verdict.passed is False:
        assert "false" in reply.lower()


# ------------------------------------------------------------------ asking


def asked(*replies, **fields):
    llm = FakeGenerator(*replies, **fields)
    return llm, asyncio.run(ask(llm, [Message("user", "Is it fine?")], Verdict))


def test_a_readable_reply_takes_one_call():
    llm, answer = asked(NO, usage=Usage(input_tokens=5, calls=1))

    assert answer.output == Verdict(reason="not fine", passed=False)
    assert (answer.raw, answer.repaired, answer.model, answer.source) == (NO, False, "fake", "model")
    assert answer.usage == Usage(input_tokens=5, calls=1)
    assert len(llm.prompts) == 1
    assert llm.params[0].response_format is Verdict


def test_an_unreadable_reply_is_shown_to_the_model_once():
    llm, answer = asked('{"passed": "yes"}', YES, usage=Usage(input_tokens=5, calls=1))

    assert answer.output.passed is True
    assert answer.repaired
    assert answer.usage == Usage(input_tokens=10, calls=2)
    first, second = llm.requests
    assert second[: len(first)] == first
    assert second[-2] == Message("assistant", '{"passed": "yes"}')
    assert "'reason' is missing" in second[-1].content
    assert '"properties"' in second[-1].content


def test_two_unreadable_replies_are_the_end():
    llm = FakeGenerator("one", "two", YES)

    with pytest.raises(UnreadableReply, match="no JSON object") as caught:
        asyncio.run(ask(llm, [Message("user", "?")], Verdict))
    assert caught.value.raw == "two"
    assert caught.value.usage is None
    assert len(llm.prompts) == 2


@pytest.mark.parametrize("empty", [None, "", " \n"])
def test_an_empty_reply_is_asked_for_again(empty):
    llm, answer = asked(empty, YES)

    assert answer.output.passed
    assert "it is empty" in llm.prompts[1]


def test_a_refusal_is_told_from_an_unreadable_reply():
    with pytest.raises(ModelCallError, match="refused to answer: I cannot help with that") as caught:
        asked(Completion("I cannot help with that.", finish_reason="content_filter"))
    assert caught.value.kind == "refused"


def test_a_reply_that_was_cut_says_so():
    with pytest.raises(UnreadableReply, match=r"cut off within a JSON object .*limit of tokens"):
        asked(Completion('{"reason": "a long', finish_reason="length"))
