"""Results of tau-bench and tau2-bench."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from giskard.checks import load_traces
from giskard.checks.importers.tau_bench import TauBench
from tests.importers.recorded import TAU_BENCH, called, example, expected, one, read, read_all, rows_of, said, turn

TAU = TauBench()


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_the_example():
    trace = one(TAU, example("tau_bench_row.json"))
    turns, calls, prompt = expected()
    assert said(trace) == turns and called(trace) == calls
    annotations = trace.annotations
    assert annotations["system_prompt"] == prompt
    assert (annotations["task_id"], annotations["trial"], annotations["conversation_id"]) == (0, 0, "task 0, trial 0")
    assert annotations["reward"] == 1.0 and annotations["labels"] == {"reward": 1.0}
    assert annotations["goal"] == "You lost your card." and annotations["user_id"] == "u-1"
    assert annotations["expected_actions"] == [{"name": "block_card", "arguments": {"card_id": "c-17"}}]
    assert annotations["expected_outputs"] == []


def test_the_40_real_conversations():
    """The counts of the raw file, and the same of what is read of it."""
    rows = rows_of(TAU_BENCH)
    results = [message["content"] for row in rows for message in row["traj"] if message["role"] == "tool"]
    assert len(rows) == 40
    assert Counter(row["traj"][-1]["role"] for row in rows) == {"user": 35, "tool": 5}
    assert len(results) == 274 and sum(not is_json(text) for text in results) == 52
    asked = [[call["id"] for message in row["traj"] for call in message.get("tool_calls") or []] for row in rows]
    assert sum(len(ids) - len(set(ids)) for ids in asked) == 26

    traces, skipped = read(TAU, *rows)
    assert len(traces) == 40 and skipped == []
    last_turns = [trace.interactions[-1] for trace in traces]
    assert Counter(turn.metadata["messages"][-1]["role"] for turn in last_turns) == {"user": 35, "tool": 5}
    assert all(turn.outputs is None and turn.metadata["incomplete"] is True for turn in last_turns)
    calls = [[call for turn in trace.interactions for call in turn.metadata.get("tool_calls", ())] for trace in traces]
    answered = [call for made in calls for call in made if "answered" not in call]
    assert len(answered) == 274
    assert sum(call["error"] is not None or isinstance(call["result"], str) for call in answered) == 52
    assert sum(len(made) - len({call["id"] for call in made}) for made in calls) == 26
    assert not any("orphan_results" in turn.metadata for trace in traces for turn in trace.interactions)


def test_each_real_result_is_with_its_call():
    """In this file each result comes right after its call: what is read pairs them in this way, ids or not."""
    for row in rows_of(TAU_BENCH):
        pairs = []
        for message in row["traj"]:
            pairs += [[call["id"], call["function"]["arguments"], None] for call in message.get("tool_calls") or []]
            if message["role"] == "tool":
                [waiting] = [pair for pair in pairs if pair[2] is None]
                assert waiting[0] == message["tool_call_id"]
                waiting[2] = message["content"]
        read_pairs = [(call[0], call[2], call[3] if call[4] is None else call[4]) for call in called(one(TAU, row))]
        recorded = [
            (id, json.loads(arguments), json.loads(text) if text is not None and is_json(text) else text)
            for id, arguments, text in pairs
        ]
        assert read_pairs == recorded


def test_the_words_of_simulated_users_are_taken_out_on_request():
    traces = list(load_traces(TAU_BENCH, stop_markers=["###STOP###"]))
    assert len(traces) == 40
    assert not any("###STOP###" in str(turn.inputs) for trace in traces for turn in trace.interactions)
    ends = Counter(trace.interactions[-1].metadata["messages"][-1]["role"] for trace in traces)
    # Six of the 34 messages that hang up say nothing else: they are left out.
    assert ends == {"user": 29, "assistant": 6, "tool": 5}


def test_results_that_begin_with_error_are_failures():
    failed = [call for row in rows_of(TAU_BENCH) for call in called(one(TAU, row)) if call[4] is not None]
    assert len(failed) == 24 and all(call[4].startswith("Error") and call[3] is None for call in failed)


SIMULATION = {
    "id": "s",
    "task_id": "7",
    "trial": 1,
    "termination_reason": "user_stop",
    "reward_info": {"reward": 0.0},
    "messages": [
        {"role": "assistant", "content": "Hi! How can I help?"},
        {"role": "user", "content": "My phone is offline."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "name": "get_line", "arguments": {"id": 1}},
                {"id": "b", "name": "get_plan", "arguments": {}},
            ],
            "cost": 0.5,
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        },
        {
            "role": "tool",
            "tool_messages": [
                {"id": "b", "role": "tool", "content": "plan", "requestor": "assistant", "error": False},
                {"id": "a", "role": "tool", "content": "unknown line", "requestor": "assistant", "error": True},
            ],
        },
        {"role": "assistant", "content": "Switch it off and on."},
        {
            "role": "user",
            "content": None,
            "tool_calls": [{"id": "u", "name": "toggle", "arguments": {}, "requestor": "user"}],
        },
        {"id": "u", "role": "tool", "content": "off", "requestor": "user", "error": False},
        {"role": "user", "content": "Done."},
    ],
}


def test_simulations_of_tau2():
    file = {
        "info": {"environment_info": {"domain_name": "telecom", "policy": "Be kind."}, "agent_info": {"llm": "m"}},
        "tasks": [
            {
                "id": "7",
                "user_scenario": {"instructions": "Your phone is offline."},
                "evaluation_criteria": {"actions": [{"name": "toggle", "arguments": {}, "requestor": "user"}]},
            }
        ],
        "simulations": [SIMULATION, {**SIMULATION, "trial": 2}],
    }
    traces, skipped = read(TAU, file)
    assert skipped == [] and [trace.annotations["trial"] for trace in traces] == [1, 2]
    trace = traces[0]
    assert said(trace) == [
        (None, "Hi! How can I help?"),
        ("My phone is offline.", "Switch it off and on."),
        ("Done.", None),
    ]
    assert called(trace) == [("a", "get_line", {"id": 1}, None, "unknown line"), ("b", "get_plan", {}, "plan", None)]
    second = trace.interactions[1].metadata
    assert second["usage"] == {"input_tokens": 7, "output_tokens": 3} and second["cost_usd"] == 0.5
    assert second["user_tool_calls"] == [{"id": "u", "name": "toggle", "arguments": {}, "result": "off", "error": None}]
    annotations = trace.annotations
    assert annotations["system_prompt"] == "Be kind." and annotations["domain"] == "telecom"
    assert annotations["goal"] == "Your phone is offline." and annotations["labels"] == {"reward": 0.0}
    assert annotations["expected_actions"] == [{"name": "toggle", "arguments": {}, "requestor": "user"}]
    assert annotations["termination_reason"] == "user_stop"
    assert said(one(TAU, SIMULATION)) == said(trace)


def test_what_cannot_be_read_is_told():
    lost = {"role": "tool", "requestor": "user", "id": "x", "content": "off"}
    traces, skipped = read_all(
        TAU,
        {"reward": 1, "traj": [3]},
        {"reward": 1, "traj": [{"role": "narrator"}]},
        {**SIMULATION, "messages": [lost]},
        {"simulations": [3]},
    )
    assert traces == []
    assert "traj: expected objects, got int at position 0" in skipped[0] and "its role is 'narrator'" in skipped[1]
    assert "a result for the user's call 'x', which was never made" in skipped[2] and "expected objects" in skipped[3]


def test_a_row_without_task_or_trial():
    reply = turn(TAU, {"task_id": 3, "reward": None, "traj": [{"role": "user", "content": "hi"}]})
    assert reply.metadata["incomplete"] is True
    annotations = one(TAU, {"task_id": 3, "reward": None, "traj": [{"role": "user", "content": "hi"}]}).annotations
    assert annotations["conversation_id"] == "task 3" and "labels" not in annotations and "reward" not in annotations


@pytest.mark.parametrize(
    "value", [[], {}, {"traj": []}, {"messages": [], "task_id": 1}, {"simulations": []}, {"traj": "x", "reward": 1}]
)
def test_what_is_no_result(value):
    assert TAU.detect(value) is False
