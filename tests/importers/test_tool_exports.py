"""What promptfoo, DeepEval, Inspect and Ragas export."""

from __future__ import annotations

import json

import pytest

from giskard.checks.importers.tool_exports import DeepEval, Inspect, Promptfoo, Ragas
from tests.importers.recorded import called, one, read, read_all, said, turn

PROMPTFOO, DEEPEVAL, INSPECT, RAGAS = Promptfoo(), DeepEval(), Inspect(), Ragas()

RESULT = {
    "id": "r",
    "vars": {"question": "q"},
    "prompt": {"raw": "Answer: q", "label": "plain"},
    "provider": {"id": "openai:gpt-5-mini", "label": ""},
    "response": {
        "output": "a",
        "tokenUsage": {"total": 7, "prompt": 5, "completion": 2, "cached": 1},
        "finishReason": "stop",
    },
    "success": False,
    "score": 0.5,
    "namedScores": {"tone": 0.5},
    "latencyMs": 120,
    "cost": 0.01,
    "gradingResult": {
        "pass": False,
        "score": 0.5,
        "reason": "too short",
        "componentResults": [
            {"pass": False, "score": 0, "reason": "", "assertion": {"type": "contains", "value": "x"}},
            {"pass": True, "score": 1, "reason": "fine", "assertion": {"type": "human"}},
        ],
    },
    "testCase": {"description": "d", "assert": [{"type": "contains", "value": "x"}]},
}


def test_results_of_promptfoo():
    for value in (RESULT, {"evalId": "e", "results": {"version": 3, "results": [RESULT]}}, {"results": [RESULT]}):
        trace = one(PROMPTFOO, value)
        assert said(trace) == [("Answer: q", "a")]
        metadata = trace.interactions[0].metadata
        assert metadata["usage"] == {"input_tokens": 5, "output_tokens": 2, "cached_tokens": 1}
        assert metadata["latency_ms"] == 120 and metadata["cost_usd"] == 0.01 and metadata["finish_reason"] == "stop"
        annotations = trace.annotations
        assert annotations["labels"] == {"human": True, "score": 1, "reason": "fine"}  # what a person said, and no more
        assert annotations["promptfoo"]["success"] is False and annotations["promptfoo"]["reason"] == "too short"
        assert annotations["vars"] == {"question": "q"} and annotations["provider"] == "openai:gpt-5-mini"


def test_prompts_of_promptfoo_that_are_messages_and_answers_that_are_calls():
    prompt = {"raw": json.dumps([{"role": "system", "content": "s"}, {"role": "user", "content": "q"}])}
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    trace = one(PROMPTFOO, {**RESULT, "prompt": prompt, "response": {"output": calls}})
    assert trace.annotations["system_prompt"] == "s" and said(trace) == [("q", None)]
    assert called(trace) == [("1", "f", {}, None, None)]
    failed = turn(PROMPTFOO, {**RESULT, "response": {}, "error": "timeout"})
    assert failed.outputs is None and failed.metadata["error"] == "timeout" and failed.metadata["incomplete"] is True


CASE = {
    "scenario": "lost card",
    "expected_outcome": "it is blocked",
    "turns": [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": "a",
            "retrieval_context": ["Fees: none"],
            "tools_called": [{"name": "f", "input_parameters": {"x": 1}, "output": {"y": 2}}],
        },
    ],
}


def test_conversations_of_deepeval():
    trace = one(DEEPEVAL, CASE)
    assert said(trace) == [("q", "a")] and called(trace) == [(None, "f", {"x": 1}, {"y": 2}, None)]
    assert trace.interactions[0].metadata["retrieved"] == ["Fees: none"]
    assert trace.annotations["scenario"] == "lost card" and trace.annotations["expected_outcome"] == "it is blocked"


def test_test_cases_and_runs_of_deepeval():
    case = {"input": "q", "actual_output": "a", "expected_output": "b", "completion_time": 0.5, "token_cost": 0.1}
    trace = one(DEEPEVAL, case)
    assert said(trace) == [("q", "a")] and trace.annotations["expected_output"] == "b"
    assert trace.interactions[0].metadata["latency_ms"] == 500.0 and trace.interactions[0].metadata["cost_usd"] == 0.1
    run = {
        "testCases": [
            {"input": "q", "actualOutput": "a", "toolsCalled": [{"name": "f", "inputParameters": {}}], "success": True}
        ],
        "conversationalTestCases": [{**CASE, "metricsData": [{"name": "m", "score": 1}]}],
    }
    (single, several), skipped = read(DEEPEVAL, run)
    assert skipped == [] and called(single)[0][1] == "f" and single.annotations["success"] is True
    assert said(single) == [("q", "a")] and single.interactions[0].metadata["tool_calls"][0]["answered"] is False
    assert several.annotations["metrics"] == [{"name": "m", "score": 1}]


SAMPLE = {
    "id": 3,
    "epoch": 2,
    "input": "q",
    "target": "4",
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "attachment://abc", "source": "input"},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "reasoning": "hm", "signature": "x"},
                {"type": "text", "text": "Let me see."},
            ],
            "tool_calls": [{"id": "1", "function": "f", "arguments": {"x": 1}, "type": "function"}],
            "model": "m",
        },
        {
            "role": "tool",
            "content": "",
            "tool_call_id": "1",
            "function": "f",
            "error": {"type": "timeout", "message": "too slow"},
        },
        {"role": "assistant", "content": "4", "model": "m"},
    ],
    "attachments": {"abc": "q, at length"},
    "output": {"choices": [{"stop_reason": "stop"}], "usage": {"input_tokens": 9, "output_tokens": 2}},
    "model_usage": {"m": {"input_tokens": 19, "output_tokens": 4, "reasoning_tokens": 1}},
    "scores": {"match": {"value": "C", "answer": "4"}},
    "metadata": {"level": 1},
    "total_time": 1.5,
}


def test_logs_of_inspect():
    log = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "m"}, "samples": [SAMPLE]}
    for value in (log, SAMPLE):
        trace = one(INSPECT, value)
        assert said(trace) == [("q, at length", "4")]
        assert called(trace) == [("1", "f", {"x": 1}, "", "too slow")]
        metadata = trace.interactions[0].metadata
        assert metadata["reasoning"] == ["hm"] and metadata["intermediate"][0]["text"] == "Let me see."
        assert metadata["usage"] == {"input_tokens": 19, "output_tokens": 4, "reasoning_tokens": 1}
        assert metadata["latency_ms"] == 1500.0 and metadata["finish_reason"] == "stop" and metadata["model"] == "m"
        annotations = trace.annotations
        assert annotations["scores"]["match"]["value"] == "C" and annotations["target"] == "4"
        assert (annotations["sample_id"], annotations["epoch"], annotations["conversation_id"]) == (3, 2, "3, epoch 2")
        assert annotations["system_prompt"] == "s" and "labels" not in annotations
    assert one(INSPECT, log).annotations["task"] == "sums"
    traces, skipped = read(INSPECT, {**log, "status": "error", "samples": None})
    assert traces == [] and skipped == ["the log holds no samples (status 'error')"]


def test_samples_of_ragas():
    single = {"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "reference": "r", "faithfulness": 0.5}
    trace = one(RAGAS, single)
    assert said(trace) == [("q", "a")] and trace.interactions[0].metadata["retrieved"] == ["c"]
    assert trace.annotations["reference"] == "r" and trace.annotations["faithfulness"] == 0.5
    several = {
        "user_input": [
            {"type": "human", "content": "q"},
            {"type": "ai", "content": "Let me see.", "tool_calls": [{"name": "f", "args": {"x": 1}}]},
            {"type": "tool", "content": "2"},
            {"type": "ai", "content": "two"},
        ],
        "reference_tool_calls": [{"name": "f", "args": {"x": 1}}],
    }
    trace = one(RAGAS, several)
    assert said(trace) == [("q", "two")] and called(trace) == [(None, "f", {"x": 1}, 2, None)]
    assert trace.annotations["reference_tool_calls"] == [{"name": "f", "args": {"x": 1}}]


@pytest.mark.parametrize(
    "format, value, reason",
    [
        (PROMPTFOO, {"vars": {}, "prompt": None, "success": True}, "the result has no prompt"),
        (PROMPTFOO, {"results": [3]}, "results: expected objects, got int at position 0"),
        (DEEPEVAL, {"turns": [{"role": "tool"}]}, "turn 0: expected the role user or assistant, got 'tool'"),
        (DEEPEVAL, {"actual_output": "a"}, "the test case has neither turns nor an input"),
        (INSPECT, {"eval": {}, "samples": [3]}, "samples: expected objects, got int at position 0"),
        (RAGAS, {"user_input": [{"type": "system"}]}, "message 0: expected the type human, ai or tool, got 'system'"),
        (RAGAS, {"response": "a"}, "the sample has no user_input"),
    ],
)
def test_what_cannot_be_read_is_told(format, value, reason):
    assert read_all(format, value) == ([], [reason])


@pytest.mark.parametrize("format", [PROMPTFOO, DEEPEVAL, INSPECT, RAGAS])
@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"messages": [{"role": "user", "content": "q"}]},
        {"input": "q", "output": "a"},
        {"user_input": "q"},
        {"results": []},
        {"results": [{"role": "user"}]},
        {"turns": ["q", "a"]},
        {"prompt": "q", "completion": "a"},
        {"eval": "x", "status": "success"},
        {"user_input": [3]},
    ],
)
def test_what_is_none_of_them(format, value):
    assert format.detect(value) is False
