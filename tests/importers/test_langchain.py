"""LangChain's messages, and LangGraph's states."""

from __future__ import annotations

import pytest

from giskard.checks.importers.langchain import LangChain
from tests.importers.recorded import called, example, expected, one, read, read_all, said, turn

LANGCHAIN = LangChain()


def ai(content="", **fields):
    return {"type": "ai", "content": content, **fields}


HUMAN = {"type": "human", "content": "hi"}


def answer(*messages):
    return turn(LANGCHAIN, [HUMAN, *messages])


@pytest.mark.parametrize("name", ["langchain_messages_to_dict.json", "langgraph_state.json"])
def test_the_full_examples(name):
    trace = one(LANGCHAIN, example(name))
    turns, calls, prompt = expected()
    assert said(trace) == turns
    assert called(trace) == calls[:1]  # the examples have one call
    assert trace.annotations["system_prompt"] == prompt
    metadata = trace.interactions[0].metadata
    assert metadata["usage"] == {"input_tokens": 61, "output_tokens": 18}
    assert metadata["model"] == "gpt-5-mini"
    assert "usage" not in trace.interactions[1].metadata


def test_a_state_knows_its_thread():
    trace = one(LANGCHAIN, example("langgraph_state.json"))
    assert trace.annotations["conversation_id"] == "conv-1"
    state = {"values": {"messages": [HUMAN], "plan": ["look up"]}, "next": ["tools"], "metadata": {"thread_id": "t"}}
    annotations = one(LANGCHAIN, state).annotations
    assert annotations["state"] == {"plan": ["look up"]}
    assert annotations["next"] == ["tools"] and annotations["conversation_id"] == "t"


def test_what_dumpd_wrote():
    trace = one(LANGCHAIN, example("langchain_dumpd.json"))
    turns, _, prompt = expected()
    assert said(trace) == [(turns[0][0], None)]
    assert trace.interactions[0].metadata["incomplete"] is True
    [call] = trace.interactions[0].metadata["tool_calls"]
    assert (call["name"], call["arguments"], call["answered"]) == ("get_fee", {"item": "card_replacement"}, False)
    assert trace.annotations["system_prompt"] == prompt


def test_a_checkpoint():
    messages = [{"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "hi"}}]
    checkpoint = {
        "config": {"configurable": {"thread_id": "t", "checkpoint_id": "c"}},
        "checkpoint": {"channel_values": {"messages": messages, "count": 2}},
    }
    trace = one(LANGCHAIN, checkpoint)
    assert said(trace) == [("hi", None)]
    assert trace.annotations["conversation_id"] == "t" and trace.annotations["checkpoint_id"] == "c"
    assert trace.annotations["state"] == {"count": 2}


def test_reasoning_is_no_part_of_the_answer():
    blocks = [
        {"type": "reasoning", "reasoning": "one"},
        {"type": "thinking", "thinking": "two", "signature": "x"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "three"}]},
        {"type": "text", "text": "Hel"},
        {"type": "text", "text": "lo"},
    ]
    reply = answer(ai(blocks, additional_kwargs={"reasoning_content": "four"}))
    assert reply.outputs == "Hello"
    assert reply.metadata["reasoning"] == ["one", "two", "three", "four"]


def test_calls_that_could_not_be_read_are_kept_as_errors():
    invalid = {"name": "get_fee", "args": "{item", "id": "1", "error": "no JSON", "type": "invalid_tool_call"}
    [call] = answer(ai("", tool_calls=[], invalid_tool_calls=[invalid])).metadata["tool_calls"]
    assert call["arguments"] == "{item" and call["error"] == "no JSON"
    assert call["arguments_error"].startswith("not JSON")
    [call] = answer(ai("", invalid_tool_calls=[{**invalid, "error": None}])).metadata["tool_calls"]
    assert call["error"] == "the arguments could not be read"


def test_calls_of_old_dumps_and_of_blocks():
    old = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    blocks = [{"type": "tool_use", "id": "2", "name": "g", "input": {"b": 2}}]
    calls = answer(ai("", additional_kwargs={"tool_calls": [old]}), ai(blocks)).metadata["tool_calls"]
    assert [(call["id"], call["name"], call["arguments"]) for call in calls] == [
        ("1", "f", {"a": 1}),
        ("2", "g", {"b": 2}),
    ]
    # What stands in `tool_calls` stands in the blocks too: it is one call.
    both = ai(blocks, tool_calls=[{"name": "g", "args": {"b": 2}, "id": "2"}])
    assert len(answer(both).metadata["tool_calls"]) == 1


def test_tools_that_the_provider_ran():
    blocks = [
        {"type": "server_tool_call", "id": "1", "name": "web_search", "args": {"query": "fee"}},
        {"type": "server_tool_result", "tool_call_id": "1", "output": "free"},
        {"type": "text", "text": "It is free."},
    ]
    reply = answer(ai(blocks))
    assert reply.outputs == "It is free." and "incomplete" not in reply.metadata
    [call] = reply.metadata["tool_calls"]
    assert (call["name"], call["result"]) == ("web_search", "free") and "answered" not in call


def test_failed_tools():
    calls = [{"name": "f", "args": {}, "id": "1"}]
    failed = {"type": "tool", "content": "no such card", "tool_call_id": "1", "status": "error"}
    [call] = answer(ai("", tool_calls=calls), failed).metadata["tool_calls"]
    assert call["error"] == "no such card"


def test_the_pieces_of_a_stream_are_one_message():
    first = {
        "type": "AIMessageChunk",
        "id": "run-1",
        "content": "Wait",
        "tool_call_chunks": [{"index": 0, "name": "f", "args": '{"a"', "id": "1"}],
        "usage_metadata": {"input_tokens": 9, "output_tokens": 0},
    }
    second = {
        **first,
        "content": ".",
        "tool_call_chunks": [{"index": 0, "name": None, "args": ": 1}", "id": None}],
        "usage_metadata": {"input_tokens": 0, "output_tokens": 4},
        "response_metadata": {"finish_reason": "tool_calls"},
    }
    reply = answer(first, second)
    [call] = reply.metadata["tool_calls"]
    assert (call["id"], call["name"], call["arguments"]) == ("1", "f", {"a": 1})
    assert reply.metadata["intermediate"][0]["text"] == "Wait."
    assert reply.metadata["usage"] == {"input_tokens": 9, "output_tokens": 4}
    assert reply.metadata["finish_reason"] == "tool_calls"


def test_refusals_agents_and_the_older_usage():
    reply = answer(ai("", additional_kwargs={"refusal": "I cannot."}, name="billing", tool_calls=[]))
    assert reply.metadata["refusal"] is True
    usage = {"token_usage": {"prompt_tokens": 5, "completion_tokens": 2}, "model_name": "m"}
    metadata = answer(
        ai("x", response_metadata=usage, name="billing", tool_calls=[{"name": "f", "args": {}, "id": "1"}])
    ).metadata
    assert metadata["usage"] == {"input_tokens": 5, "output_tokens": 2}
    assert metadata["tool_calls"][0]["agent"] == "billing"


def test_raw_messages_are_kept_on_request():
    messages = [HUMAN, ai([{"type": "redacted_thinking", "data": "opaque"}, {"type": "text", "text": "yes"}])]
    assert "raw" not in turn(LANGCHAIN, messages).metadata
    reply = turn(LANGCHAIN, messages, keep_raw=True)
    assert reply.outputs == "yes" and reply.metadata["raw"] == messages


def test_what_is_no_message_is_told():
    traces, skipped = read(LANGCHAIN, [HUMAN, ai("x"), ai("y"), {"type": "remove", "content": "", "id": "1"}])
    assert traces == [] and skipped == ["message 3: expected a human, ai, system or tool message, got type 'remove'"]
    traces, skipped = read_all(LANGCHAIN, {"values": 3}, [1])
    assert traces == [] and "expected a list of messages" in skipped[0] and "expected objects" in skipped[1]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        HUMAN,  # a message alone is no conversation
        [{"role": "user", "content": "hi"}],
        {"messages": [{"role": "user", "content": "hi"}]},
        [{"type": "function", "function": {"name": "f"}}],
        [{"type": "system", "content": "started", "sessionId": "s", "uuid": "u"}],
        [{"type": "text", "text": "hi"}],
        {"messages": "none"},
    ],
)
def test_what_is_not_langchain(value):
    assert LANGCHAIN.detect(value) is False
