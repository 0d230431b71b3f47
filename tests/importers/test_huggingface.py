"""Rows of chat data sets."""

from __future__ import annotations

import pytest

from giskard.checks.importers.huggingface import HuggingFace
from tests.importers.recorded import called, example, one, read, read_all, said

HF = HuggingFace()
ASKED = [{"role": "user", "content": "q"}]
ANSWERED = [{"role": "assistant", "content": "a"}]


def test_the_examples():
    traces, skipped = read(HF, *example("hf_chat_rows.jsonl"))
    assert skipped == []
    question, answer = "What does it cost to replace a lost card?", "Replacing a lost card is free."
    assert [said(trace) for trace in traces] == [
        [(question, answer)],
        [(question, answer)],
        [(question, answer)],
        [(question, "It costs 15 EUR.")],
        [(question, answer)],
    ]
    assert traces[0].annotations["columns"] == {"source": "support"}
    assert traces[0].annotations["labels"] == {"score": 1.0}
    assert [trace.annotations.get("labels") for trace in traces[1:]] == [
        None,
        {"preferred": True},
        {"preferred": False},
        None,
    ]
    assert [trace.annotations["source"]["line"] for trace in traces] == [1, 2, 3, 3, 4]


def test_other_columns_are_annotations():
    row = {
        "messages": ASKED + ANSWERED,
        "id": 7,
        "category": "cards",
        "label": True,
        "tools": '[{"name": "f"}]',
        "split": None,
    }
    annotations = one(HF, row).annotations
    assert annotations["conversation_id"] == "7" and annotations["category"] == "cards"
    assert annotations["labels"] == {"label": True}
    assert annotations["tools"] == [{"name": "f"}] and "split" not in annotations


def test_pairs():
    whole = {
        "chosen": ASKED + ANSWERED,
        "rejected": [*ASKED, {"role": "assistant", "content": "b"}],
        "score_chosen": 8.5,
    }
    (good, bad), _ = read(HF, whole)
    assert said(good) == [("q", "a")] and said(bad) == [("q", "b")]
    assert good.annotations["labels"] == {"preferred": True, "score": 8.5}
    texts = {"prompt": "q", "chosen": "a", "rejected": "b"}
    assert [said(trace) for trace in read(HF, texts)[0]] == [[("q", "a")], [("q", "b")]]
    transcripts = {
        "chosen": "\n\nHuman: q\n\nAssistant: a\n\nHuman: r\n\nAssistant: b",
        "rejected": "\n\nHuman: q\n\nAssistant: a\n\nHuman: r\n\nAssistant: c",
    }
    assert [said(trace) for trace in read(HF, transcripts)[0]] == [[("q", "a"), ("r", "b")], [("q", "a"), ("r", "c")]]


def test_answers_that_are_good_or_bad_by_themselves():
    trace = one(HF, {"prompt": ASKED, "completion": ANSWERED, "label": False})
    assert trace.annotations["labels"] == {"desirable": False} and said(trace) == [("q", "a")]


def test_prompts_alone_wait_for_an_answer():
    trace = one(HF, {"prompt": ASKED, "answer": "42"})
    assert said(trace) == [("q", None)] and trace.annotations["answer"] == "42"


def test_parquet_makes_everything_that_is_missing_none():
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"item": "card", "limit": None}}}
    messages = [
        {"role": "user", "content": "q", "tool_calls": None, "tool_call_id": None},
        {"role": "assistant", "content": None, "tool_calls": [call], "tool_call_id": None},
        {"role": "tool", "content": "1", "tool_calls": None, "tool_call_id": "1"},
    ]
    row = {"messages": messages, "source_id": "x"}
    assert called(one(HF, row, path="rows.parquet")) == [("1", "f", {"item": "card"}, 1, None)]
    # In JSON a null was written on purpose.
    assert called(one(HF, row, path="rows.jsonl")) == [("1", "f", {"item": "card", "limit": None}, 1, None)]
    as_text = {**call, "function": {"name": "f", "arguments": '{"item": "card"}'}}
    messages[1]["tool_calls"] = [as_text]
    assert called(one(HF, row, path="rows.parquet")) == [("1", "f", {"item": "card"}, 1, None)]


def test_what_cannot_be_read_is_told():
    traces, skipped = read_all(HF, {"messages": [*ASKED, 3]}, {"messages": []}, {"prompt": [{"role": "me"}]}, 3)
    assert traces == []
    assert "expected objects, got int at position 1" in skipped[0] and "holds no message" in skipped[1]
    assert "its role is 'me'" in skipped[2] and "expected a list of objects" in skipped[3]


@pytest.mark.parametrize(
    "value",
    [
        {"messages": ASKED + ANSWERED},
        {"messages": ASKED, "tools": [], "parallel_tool_calls": False, "weight": 1},
        {"messages": ASKED, "model": "m", "temperature": 0},
        {"messages": ASKED, "id": "chatcmpl-1", "response": {}},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}], "extra": 1},
        {"messages": ASKED, "stop_reason": "end_turn", "extra": 1},
        {"messages": [{"type": "human", "content": "q"}], "extra": 1},
        {"prompt": "q", "answer": "a"},
        {"prompt": {"raw": "q"}, "completion": "a"},
        ASKED,
        {},
    ],
)
def test_what_is_not_a_row(value):
    assert HF.detect(value) is False
