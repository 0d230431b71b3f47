"""Conversations of several agents."""

from __future__ import annotations

from collections import Counter

import pytest

from giskard.checks.importers.autogen import AutoGen
from tests.importers.recorded import DATA, called, one, read, read_all, rows_of, said, turn

AUTOGEN = AutoGen()
WHO_AND_WHEN = DATA / "who_and_when" / "who_and_when_sample.jsonl.gz"


def failure(*spoken, **more):
    history = [{"role": role, "content": content, **({"name": name} if name else {})} for role, name, content in spoken]
    return {"history": history, "mistake_agent": "A", "mistake_step": "1", "mistake_reason": "why", **more}


def test_the_38_real_logs():
    rows = rows_of(WHO_AND_WHEN)
    assert len(rows) == 38 and sum(len(row["history"]) for row in rows) == 477
    traces, skipped = read(AUTOGEN, *rows)
    assert len(traces) == 38 and skipped == []
    assert all(len(trace.interactions) == 1 for trace in traces)
    said_by_agent = 0
    for row, trace in zip(rows, traces, strict=True):
        labels = trace.annotations["labels"]
        assert labels["mistake_agent"] == row["mistake_agent"] and labels["mistake_reason"] == row["mistake_reason"]
        assert labels["mistake_step"] == int(row["mistake_step"])
        assert trace.annotations["ground_truth"] == row["ground_truth"]
        shown = trace.interactions[0].metadata["messages"]
        assert "tool_calls" not in trace.interactions[0].metadata  # nothing tells of them
        by_hand = row["history"][0]["role"] == "human"
        spoken = shown if by_hand else shown[1:]  # where no person speaks, the question comes first
        assert [message["content"] for message in spoken] == [item["content"] for item in row["history"]]
        assert [message["name"] for message in spoken] == [item.get("name") or item["role"] for item in row["history"]]
        by_label = shown[labels["mistake_step"] + (0 if by_hand else 1)]["name"]
        said_by_agent += by_label.startswith(row["mistake_agent"])
        assert trace.interactions[0].inputs == (row["history"][0]["content"] if by_hand else row["question"])
    assert said_by_agent == 36  # two of the people's labels name another agent than the one who speaks at that step
    assert Counter(trace.interactions[0].outputs is None for trace in traces) == {False: 31, True: 7}
    printing_last = [row["history"][-1].get("name") == "Computer_terminal" for row in rows]
    assert [trace.interactions[0].outputs is None for trace in traces] == printing_last
    assert not any(trace.interactions[0].outputs == "TERMINATE" for trace in traces)


def test_people_begin_turns_and_agents_speak_within_them():
    log = failure(
        ("human", None, "q"),
        ("Orchestrator (thought)", None, "plan"),
        ("Surfer", None, "found"),
        ("human", None, "and?"),
        ("Surfer", None, "more"),
    )
    trace = one(AUTOGEN, log)
    assert said(trace) == [("q", "found"), ("and?", "more")]
    assert trace.interactions[0].metadata["intermediate"] == [{"message_index": 1, "text": "plan"}]
    assert [message["name"] for message in trace.interactions[0].metadata["messages"]] == [
        "human",
        "Orchestrator (thought)",
        "Surfer",
    ]


def test_names_tell_who_is_a_person_and_roles_do_not():
    log = failure(("user", "Expert", "a"), ("assistant", "user_proxy", "q"), ("user", "Expert", "b"))
    assert said(one(AUTOGEN, log)) == [(None, "a"), ("q", "b")]
    without_people = failure(("assistant", "Chief", "do it"), ("user", "Expert", "done"))
    assert said(one(AUTOGEN, without_people)) == [("do it", "done")]
    assert said(one(AUTOGEN, {**without_people, "question": "q"})) == [("q", "done")]


def test_what_comes_after_the_answer():
    log = failure(
        ("human", None, "q"),
        ("user", "Expert", "Four."),
        ("user", "Computer_terminal", "there is no code"),
        ("user", "Expert", "TERMINATE"),
    )
    reply = turn(AUTOGEN, log)
    assert reply.outputs == "Four." and reply.metadata["finish_reason"] == "TERMINATE"
    assert [note["text"] for note in reply.metadata["intermediate"]] == ["there is no code", "TERMINATE"]
    assert "incomplete" not in reply.metadata
    running = turn(
        AUTOGEN, failure(("human", None, "q"), ("user", "Expert", "run"), ("user", "Computer_terminal", "4"))
    )
    assert running.outputs is None and running.metadata["incomplete"] is True
    assert [note["text"] for note in running.metadata["intermediate"]] == ["run", "4"]
    silent = turn(AUTOGEN, failure(("human", None, "q"), ("user", "Expert", "TERMINATE")))
    assert silent.outputs is None and silent.metadata["incomplete"] is True


def test_events_of_today():
    messages = [
        {"source": "user", "type": "TextMessage", "content": "q", "models_usage": None},
        {"source": "a", "type": "ThoughtEvent", "content": "hm"},
        {
            "source": "a",
            "type": "ToolCallRequestEvent",
            "content": [{"id": "1", "name": "f", "arguments": '{"x": 1}'}],
            "models_usage": {"prompt_tokens": 5, "completion_tokens": 2},
        },
        {
            "source": "a",
            "type": "ToolCallExecutionEvent",
            "content": [{"call_id": "1", "name": "f", "content": "no", "is_error": True}],
        },
        {"source": "b", "type": "TextMessage", "content": "Sorry."},
    ]
    for value in ({"messages": messages, "stop_reason": "done"}, messages):
        trace = one(AUTOGEN, value)
        assert said(trace) == [("q", "Sorry.")] and called(trace) == [("1", "f", {"x": 1}, None, "no")]
        metadata = trace.interactions[0].metadata
        assert metadata["reasoning"] == ["hm"] and metadata["usage"] == {"input_tokens": 5, "output_tokens": 2}
        assert metadata["tool_calls"][0]["agent"] == "a"
    assert one(AUTOGEN, {"messages": messages, "stop_reason": "done"}).annotations["stop_reason"] == "done"


def test_the_history_of_a_chat():
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = [
        {"role": "assistant", "name": "user_proxy", "content": "q"},
        {"role": "assistant", "name": "bot", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "f", "content": "1", "tool_call_id": "1"},
        {"role": "user", "name": "bot", "content": "one"},
    ]
    trace = one(AUTOGEN, {"chat_history": chat, "summary": "s", "cost": {}})
    assert said(trace) == [("q", "one")] and called(trace) == [("1", "f", {}, 1, None)]
    assert trace.annotations["summary"] == "s"


def test_what_cannot_be_read_is_told():
    traces, skipped = read_all(AUTOGEN, {"history": []}, {"history": [3]}, {"question": "q"})
    assert traces == [] and skipped[0] == "the history is empty"
    assert "expected objects" in skipped[1] and "expected a list of objects, got NoneType" in skipped[2]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"history": [{"role": "user", "content": "q"}]},
        {"messages": [{"role": "user", "content": "q"}]},
        {"mistake_step": 1},
    ],
)
def test_what_is_not_autogen(value):
    assert AUTOGEN.detect(value) is False
