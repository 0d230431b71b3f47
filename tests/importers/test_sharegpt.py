"""Conversations in the form of ShareGPT."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

from giskard.checks.importers.sharegpt import ShareGPT
from tests.importers.recorded import DATA, called, example, expected, one, read, said, turn

SHAREGPT = ShareGPT()


def row(*spoken, **more):
    return {"conversations": [{"from": speaker, "value": value} for speaker, value in spoken], **more}


def test_the_example():
    trace = one(SHAREGPT, *example("sharegpt.json"))
    turns, calls, prompt = expected()
    assert said(trace) == turns
    assert called(trace) == [(None, *calls[0][1:])]  # the format has no ids; the example has one call
    assert trace.annotations["system_prompt"] == prompt
    assert trace.annotations["conversation_id"] == "conv-1"
    assert [tool["name"] for tool in trace.annotations["tools"]] == ["get_fee", "block_card"]


def test_the_500_conversations_of_fastchat():
    rows = json.loads(gzip.decompress((DATA / "sharegpt" / "dummy_conversation.json.gz").read_bytes()))
    assert Counter(item["from"] for row in rows for item in row["conversations"]) == {"human": 1000, "gpt": 1000}
    traces, skipped = read(SHAREGPT, *rows)
    assert len(traces) == 500 and skipped == []
    assert sum(len(trace.interactions) for trace in traces) == 1000
    for given, trace in zip(rows, traces, strict=True):
        values = [item["value"] for item in given["conversations"]]
        assert said(trace) == list(zip(values[::2], values[1::2], strict=True))
        assert trace.annotations["conversation_id"] == given["id"]
    assert not any("incomplete" in turn.metadata for trace in traces for turn in trace.interactions)


@pytest.mark.parametrize("user, assistant, result", [("human", "gpt", "observation"), ("user", "Assistant", "tool")])
def test_the_names_of_speakers_vary(user, assistant, result):
    call = '{"name": "f", "arguments": "{\\"a\\": 1}"}'
    trace = one(SHAREGPT, row((user, "q"), ("function_call", call), (result, "[1]"), (assistant, "a")))
    assert said(trace) == [("q", "a")] and called(trace) == [(None, "f", {"a": 1}, [1], None)]
    as_messages = {"conversations": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}
    assert said(one(SHAREGPT, as_messages)) == [("q", "a")]


def test_several_calls_at_once_and_calls_in_tags():
    calls = '[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]'
    reply = turn(SHAREGPT, row(("human", "q"), ("function_call", calls), ("observation", "1"), ("observation", "2")))
    assert [(call["name"], call["result"]) for call in reply.metadata["tool_calls"]] == [("f", 1), ("g", 2)]
    tagged = 'Let me see.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    answered = '<tool_response>\n{"name": "f", "content": {"fee": 0}}\n</tool_response>'
    reply = turn(SHAREGPT, row(("human", "q"), ("gpt", tagged), ("tool", answered), ("gpt", "free")))
    assert reply.outputs == "free"
    assert [(call["arguments"], call["result"]) for call in reply.metadata["tool_calls"]] == [({"a": 1}, {"fee": 0})]
    assert reply.metadata["intermediate"][0]["text"] == "Let me see."


def test_labels_and_other_columns():
    pair = row(("human", "q"), chosen={"from": "gpt", "value": "good"}, rejected={"from": "gpt", "value": "bad"})
    (good, bad), skipped = read(SHAREGPT, pair)
    assert skipped == [] and said(good) == [("q", "good")] and said(bad) == [("q", "bad")]
    assert good.annotations["labels"] == {"preferred": True} and bad.annotations["labels"] == {"preferred": False}
    trace = one(SHAREGPT, row(("human", "q"), ("gpt", "a"), kto_tag=False, rating=2, model="m", source="web"))
    assert trace.annotations["labels"] == {"rating": 2, "desirable": False}
    assert trace.annotations["model"] == "m"
    assert trace.annotations["columns"] == {"source": "web"}  # `source` is where the trace was read
    assert trace.annotations["source"]["format"] == "sharegpt"


def test_no_reply_is_incomplete():
    reply = turn(SHAREGPT, row(("human", "q")))
    assert reply.outputs is None and reply.metadata["incomplete"] is True


def test_what_cannot_be_read_is_told():
    traces, skipped = read(
        SHAREGPT,
        row(("human", "q"), ("gpt", "a"), ("gpt", "b"), ("narrator", "c")),
        row(("human", "q"), ("function_call", "get_fee(1)")),
    )
    assert traces == []
    assert "message 3: the speaker 'narrator' is not known" in skipped[0]
    assert "message 1: expected a call as JSON with 'name' and 'arguments', got 'get_fee(1)'" in skipped[1]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"conversations": []},
        {"conversations": [{"id": 1}]},
        {"conversations": "x"},
        {"messages": []},
        [row(("human", "q"))],
    ],
)
def test_what_is_not_sharegpt(value):
    assert SHAREGPT.detect(value) is False
