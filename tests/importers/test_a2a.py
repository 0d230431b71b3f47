"""Tasks of the Agent2Agent protocol."""

from __future__ import annotations

import pytest

from giskard.checks.importers.a2a import A2A
from tests.importers.recorded import example, expected, one, read, read_all, said, turn

TASKS = A2A()


def message(role, *texts, id=None):
    return {"role": f"ROLE_{role}", "parts": [{"text": text} for text in texts], **({"messageId": id} if id else {})}


def task(state="COMPLETED", **fields):
    return {"id": "t", "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}, **fields}


@pytest.mark.parametrize("name", ["a2a_task_v1.json", "a2a_task_v03.json"])
def test_the_examples(name):
    trace = one(TASKS, example(name))
    turns, _, _ = expected()
    assert said(trace) == turns[:1]  # a task is one turn; the tools of an agent are not shown
    assert trace.annotations["conversation_id"] == "conv-1" and trace.annotations["task_id"] == "task-1"
    assert trace.annotations["task_state"] == "completed"
    [artifact] = trace.interactions[0].metadata["artifacts"]
    assert artifact["content"] == {"fee_eur": 0.0}
    assert trace.interactions[0].metadata["timestamp"] == "2025-10-09T08:53:20.900Z"


def test_what_a_task_made_is_its_answer():
    artifacts = [{"artifactId": "a", "parts": [{"text": "It is"}, {"text": "free."}]}]
    history = [message("USER", "q"), message("AGENT", "Looking it up ...")]
    reply = turn(TASKS, task(history=history, artifacts=artifacts))
    assert reply.outputs == "It is\nfree."
    assert [note["text"] for note in reply.metadata["intermediate"]] == ["Looking it up ..."]
    data = [{"artifactId": "a", "parts": [{"data": {"fee": 0}}]}]
    assert turn(TASKS, task(history=[message("USER", "q")], artifacts=data)).outputs == {"fee": 0}
    parts = [{"artifactId": "a", "parts": [{"text": "See"}, {"url": "https://example.org/a.pdf"}]}]
    assert len(turn(TASKS, task(history=[message("USER", "q")], artifacts=parts)).outputs) == 2


def test_the_last_words_are_in_the_status():
    asking = task("INPUT_REQUIRED", history=[message("USER", "q", id="1")])
    asking["status"]["message"] = message("AGENT", "Which card?", id="2")
    reply = turn(TASKS, asking)
    assert "tool_calls" not in reply.metadata  # tasks do not tell of them
    assert reply.outputs == "Which card?" and reply.metadata["finish_reason"] == "input-required"
    asking["history"].append(message("AGENT", "Which card?", id="2"))  # it is the same message
    assert "intermediate" not in turn(TASKS, asking).metadata


def test_a_task_at_work_is_incomplete():
    reply = turn(TASKS, task("WORKING", history=[message("USER", "q"), message("AGENT", "Looking ...")]))
    assert reply.metadata["incomplete"] is True
    assert turn(TASKS, task("FAILED", history=[message("USER", "q")])).metadata["finish_reason"] == "failed"


def test_responses_that_hold_tasks():
    found = task(history=[message("USER", "q"), message("AGENT", "a")])
    for value in (
        {"jsonrpc": "2.0", "id": 1, "result": found},
        {"task": found},
        {"jsonrpc": "2.0", "id": 1, "result": {"task": found}},
    ):
        assert said(one(TASKS, value)) == [("q", "a")]
    traces, _ = read(TASKS, {"tasks": [found, found]})
    assert len(traces) == 2


def test_several_turns_and_data():
    history = [message("USER", "q"), message("AGENT", "Which?"), message("USER", "c-17"), message("AGENT", "Done.")]
    assert said(one(TASKS, task(history=history))) == [("q", "Which?"), ("c-17", "Done.")]
    form = {"role": "ROLE_USER", "parts": [{"data": {"card": "c-17"}}]}
    assert turn(TASKS, task(history=[form])).inputs == {"card": "c-17"}


def test_what_cannot_be_read_is_told():
    traces, skipped = read_all(
        TASKS, task(history=[message("OTHER", "q")]), task(history=[]), {"id": "t"}, task(history=3)
    )
    assert traces == []
    assert "message 0: expected the role of a user or an agent, got 'ROLE_OTHER'" in skipped[0]
    assert "holds no message" in skipped[1] and "expected a task" in skipped[2] and "expected a list" in skipped[3]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"status": "ok", "history": []},
        {"status": {"state": "x"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": []}},
    ],
)
def test_what_is_no_task(value):
    assert TASKS.detect(value) is False
