"""Messages of the Vercel AI SDK."""

from __future__ import annotations

import pytest

from giskard.checks.importers.vercel import Vercel
from tests.importers.recorded import called, example, expected, one, read_all, said, turn

VERCEL = Vercel()
ASKED = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "q"}]}


def answered(*parts, **fields):
    return {"id": "m2", "role": "assistant", "parts": list(parts), **fields}


def tool(state, kind="tool-f", **fields):
    return {"type": kind, "toolCallId": "1", "state": state, **fields}


def test_the_example():
    trace = one(VERCEL, example("vercel_ui_messages.json"))
    turns, calls, _ = expected()
    assert said(trace) == turns[:1] and called(trace) == calls[:1]  # it is the first turn


def test_what_was_said_before_a_tool_is_not_the_answer():
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "Let me see."},
        tool("output-available", input={}, output=[1]),
        {"type": "step-start"},
        {"type": "text", "text": "It is"},
        {"type": "text", "text": " one."},
    ]
    reply = turn(VERCEL, [ASKED, answered(*parts)])
    assert reply.outputs == "It is one."
    assert [note["text"] for note in reply.metadata["intermediate"]] == ["Let me see."]
    assert reply.metadata["reasoning"] == ["hm"]


@pytest.mark.parametrize("state", ["input-streaming", "input-available", "approval-requested"])
def test_a_call_without_output_was_not_answered(state):
    reply = turn(VERCEL, [ASKED, answered(tool(state, input={"a": 1}))])
    [call] = reply.metadata["tool_calls"]
    assert call["answered"] is False and call["arguments"] == {"a": 1}
    assert reply.outputs is None and reply.metadata["incomplete"] is True


def test_failed_and_denied_calls():
    failed = tool("output-error", input={}, errorText="no such card")
    denied = tool("output-denied", "dynamic-tool", toolName="g", input={}, approval={"approved": False, "reason": "no"})
    calls = turn(VERCEL, [ASKED, answered(failed, denied)]).metadata["tool_calls"]
    assert [(call["name"], call["error"]) for call in calls] == [("f", "no such card"), ("g", "no")]


def test_sources_files_data_and_metadata():
    source = {"type": "source-url", "sourceId": "s", "url": "https://example.org"}
    parts = [{"type": "text", "text": "a"}, source, {"type": "data-chart", "data": [1]}]
    about = {"usage": {"inputTokens": 5, "outputTokens": 2}, "model": "m", "createdAt": 1760000000000, "plan": "pro"}
    reply = turn(VERCEL, [ASKED, answered(*parts, metadata=about)])
    assert reply.outputs == "a"
    metadata = reply.metadata
    assert metadata["retrieved"] == [{"sourceId": "s", "url": "https://example.org"}]
    assert metadata["data"] == [{"type": "data-chart", "data": [1]}]
    assert metadata["usage"] == {"input_tokens": 5, "output_tokens": 2} and metadata["model"] == "m"
    assert metadata["timestamp"] == "2025-10-09T08:53:20+00:00"
    assert metadata["message_metadata"] == [{"plan": "pro"}]
    file = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA=="}
    reply = turn(
        VERCEL, [{**ASKED, "parts": [{"type": "text", "text": "q"}, file]}, answered({"type": "text", "text": "a"})]
    )
    assert reply.inputs[1]["type"] == "file"


def test_the_form_before():
    call = {"state": "result", "toolCallId": "1", "toolName": "f", "args": {"a": 1}, "result": 2}
    parts = [{"type": "tool-invocation", "toolInvocation": call}, {"type": "text", "text": "two"}]
    chat = {"id": "chat-1", "messages": [ASKED, answered(*parts, content="two")]}
    trace = one(VERCEL, chat)
    assert said(trace) == [("q", "two")] and called(trace) == [("1", "f", {"a": 1}, 2, None)]
    assert trace.annotations["conversation_id"] == "chat-1"
    without_parts = {"id": "m2", "role": "assistant", "content": "two", "toolInvocations": [call]}
    assert called(one(VERCEL, [ASKED, without_parts])) == [("1", "f", {"a": 1}, 2, None)]


def test_messages_for_models():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "f", "input": {"a": 1}}],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "1", "toolName": "f", "output": {"type": "json", "value": [2]}}
            ],
        },
        {"role": "assistant", "content": "two"},
    ]
    trace = one(VERCEL, messages)
    assert said(trace) == [("q", "two")] and called(trace) == [("1", "f", {"a": 1}, [2], None)]
    messages[3]["content"][0]["output"] = {"type": "error-text", "value": "no"}
    assert called(one(VERCEL, messages))[0][-1] == "no"


def test_what_cannot_be_read_is_told():
    traces, skipped = read_all(VERCEL, [ASKED, {"role": "data", "parts": []}], {"messages": 3}, ["x"])
    assert traces == []
    assert skipped[0] == "message 1: expected the role user, assistant, system or tool, got 'data'"
    assert "expected a list of objects" in skipped[1] and "expected objects" in skipped[2]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        [{"role": "user", "content": "q"}],
        [{"role": "user", "content": [{"type": "text", "text": "q"}]}],
        [{"role": "user", "parts": [{"text": "q"}]}],
        [{"role": [], "parts": []}],
        [{"kind": "message", "role": "user", "parts": [{"kind": "text", "text": "q"}]}],
        ASKED,
    ],
)
def test_what_is_not_vercel(value):
    assert VERCEL.detect(value) is False
