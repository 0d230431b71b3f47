"""Bedrock's Converse: blocks without types, latencies, logs of invocations, and streams."""

import copy
import json

import pytest

from giskard.checks.importers.bedrock import Bedrock, annotations_of_request, messages_of_request, messages_of_response
from tests.importers.reading import expected, one, read, why_not, withstands

BEDROCK = Bedrock()


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def said(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def used(name="f", id="t1", **given):
    return {"toolUse": {"toolUseId": id, "name": name, "input": given}}


def gave(*content, id="t1", **more):
    return {"toolResult": {"toolUseId": id, "content": list(content), **more}}


def response(*blocks, **more):
    return {
        "output": {"message": said(*blocks)},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7},
        "metrics": {"latencyMs": 412},
        **more,
    }


CONVERSATION = [
    user({"text": "What does it cost to replace a lost card?"}),
    said({"text": "Let me see."}, used("get_fee", "t1", item="card_replacement")),
    user(gave({"json": {"fee_eur": 0.0}})),
    said({"text": "Replacing a lost card is free."}),
    user({"text": "Good. Please block card c-17."}),
    said(used("block_card", "t2", card_id="c-17")),
    user(gave({"text": '{"status": "blocked"}'}, id="t2")),
]
REQUEST = {
    "modelId": "m",
    "messages": CONVERSATION,
    "system": [{"text": "Be kind."}, {"cachePoint": {"type": "default"}}],
}
REQUEST["toolConfig"] = {"tools": [{"toolSpec": {"name": "f"}}]}


def check_conversation(trace):
    want = [(inputs, outputs, call) for inputs, outputs, (call,) in expected()["turns"]]
    found = [(turn.inputs, turn.outputs, turn.metadata["tool_calls"][0]) for turn in trace.interactions]
    for (inputs, outputs, call), (inputs_found, outputs_found, call_found) in zip(want, found, strict=True):
        assert (inputs_found, outputs_found) == (inputs, outputs)
        assert all(call_found[key] == call[key] for key in ("name", "arguments", "result", "error"))


@pytest.mark.parametrize(
    "log",
    [
        {**REQUEST, **response({"text": "Done: card c-17 is blocked."})},
        {"request": REQUEST, "response": response({"text": "Done: card c-17 is blocked."})},
        {
            **{"schemaType": "ModelInvocationLog", "schemaVersion": "1.0", "operation": "Converse", "modelId": "m"},
            "input": {"inputContentType": "application/json", "inputBodyJson": REQUEST},
            "output": {"outputBodyJson": response({"text": "Done: card c-17 is blocked."})},
        },
        {"request": json.dumps(REQUEST), "response": json.dumps(response({"text": "Done: card c-17 is blocked."}))},
    ],
)
def test_requests_with_their_responses(log):
    assert BEDROCK.detect(log)
    trace = one(BEDROCK, log)
    check_conversation(trace)
    assert trace.annotations["system_prompt"] == "Be kind."
    assert trace.annotations["tools"] == [{"toolSpec": {"name": "f"}}]
    last = trace.last.metadata
    # The model's first call of the turn was not recorded.
    assert last["last_call"] == {"usage": {"input_tokens": 5, "output_tokens": 2}, "latency_ms": 412}
    assert "usage" not in last and "latency_ms" not in last
    assert (last["model"], last["finish_reason"]) == ("m", "end_turn")
    first = trace.interactions[0].metadata
    assert "latency_ms" not in first
    assert first["intermediate"] == [{"message_index": 1, "text": "Let me see."}]


def test_bare_messages_and_bare_responses():
    assert BEDROCK.detect(CONVERSATION)
    assert len(one(BEDROCK, CONVERSATION).interactions) == 2
    value = response({"text": "y"})
    assert BEDROCK.detect(value)
    assert (one(BEDROCK, value).last.inputs, one(BEDROCK, value).last.outputs) == (None, "y")


def test_the_cache_is_input():
    usage = {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 10}
    found = one(BEDROCK, response({"text": "y"}, usage=usage)).last
    assert found.metadata["usage"] == {"input_tokens": 111, "output_tokens": 2, "cached_tokens": 100}


def test_thoughts_are_no_answers():
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
    sealed = {"reasoningContent": {"redactedContent": "c2ln"}}
    found = one(BEDROCK, response(thought, sealed, {"text": "y"})).last
    assert (found.outputs, found.metadata["reasoning"]) == ("y", ["hm"])
    assert "c2ln" not in found.model_dump_json()


@pytest.mark.parametrize(
    ("block", "result", "error"),
    [
        (gave({"text": "down"}, status="error"), None, "down"),
        (gave({"json": {"code": 1}}, status="error"), {"code": 1}, '{"code": 1}'),
        (gave({"text": "a"}, status="success"), "a", None),
        (gave({"text": "a"}, {"text": "b"}), "a\nb", None),
        (gave({"text": "a"}, {"image": {}}), [{"text": "a"}, {"image": {}}], None),
    ],
)
def test_results(block, result, error):
    messages = [user({"text": "x"}), said(used()), user(block), said({"text": "y"})]
    (call,) = one(BEDROCK, messages).last.metadata["tool_calls"]
    assert (call["result"], call["error"]) == (result, error)


def test_citations_and_other_contents():
    cited = {"citationsContent": {"content": [{"text": "y"}], "citations": [{"title": "t"}]}}
    found = one(BEDROCK, [user({"image": {"format": "png"}}, {"text": "x"}), said(used(), cited)]).last
    assert found.inputs == [{"image": {"format": "png"}}, {"text": "x"}]
    assert (found.outputs, found.metadata["citations"]) == ("y", [{"title": "t"}])


EVENTS = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "h"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "m"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "Let me "}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "see."}}},
    {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "f"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"a"'}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": ": 1}"}}}},
    {"contentBlockStop": {"contentBlockIndex": 2}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 5, "outputTokens": 2}, "metrics": {"latencyMs": 9}}},
]


@pytest.mark.parametrize(
    "log", [[EVENTS], EVENTS, [{"request": {"messages": [user({"text": "x"})]}, "response": EVENTS}]]
)
def test_streams(log):
    assert all(map(BEDROCK.detect, log))
    found = one(BEDROCK, *log).last.metadata
    assert found["intermediate"][0]["text"] == "Let me see."
    assert (found["tool_calls"][0]["id"], found["tool_calls"][0]["arguments"]) == ("t1", {"a": 1})
    assert found["reasoning"] == ["hm"]
    assert (found["latency_ms"], found["finish_reason"]) == (9, "tool_use")


@pytest.mark.parametrize(
    "value",
    [
        *(None, 3, "text", [], {}, [3], {"messages": []}, {"messages": "x"}, {"output": {"message": {}}}),
        [user({"text": "x"})],  # who else would write that?
        {"messages": [user({"type": "text", "text": "x"})]},
        {"messages": [{"role": "user", "content": "x"}]},
        {"metadata": {"topic": "fees"}},
        {"messageStart": 3},
    ],
)
def test_what_is_not_of_this_format(value):
    assert not BEDROCK.detect(value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"x": 1}, "it holds no messages and no response"),
        ([], "it holds no messages"),
        ({"messages": "x"}, "messages: expected a list of messages, got str"),
        ([3], "message 0: expected an object with the role user or assistant, got 3"),
        (
            [{"role": "tool", "content": []}],
            "message 0: expected an object with the role user or assistant, got {'role'",
        ),
    ],
)
def test_why_a_record_is_not_read(value, reason):
    assert reason in why_not(BEDROCK, value)


def test_odd_values_anywhere_hide_no_other_record():
    thought = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    cited = {"citationsContent": {"content": [{"text": "y"}], "citations": [{}]}}
    messages = [user({"text": "x"}), said(thought, used(a=1), cited), user(gave({"json": {}}))]
    assert withstands(BEDROCK, {"request": {**REQUEST, "messages": messages}, "response": response({"text": "y"})})
    assert withstands(BEDROCK, [EVENTS[1], EVENTS[3], *EVENTS[5:7], *EVENTS[9:]])


def test_records_are_left_as_they_are():
    values = [{"request": REQUEST, "response": response({"text": "y"})}, EVENTS]
    before = copy.deepcopy(values)
    read(BEDROCK, *values, keep_raw=True)
    assert values == before


def test_bodies():
    assert [m.role for m in messages_of_request(REQUEST)][:2] == ["system", "user"]
    assert annotations_of_request(REQUEST) == {"tools": [{"toolSpec": {"name": "f"}}]}
    assert [len(answer) for answer in messages_of_response(response({"text": "y"}))] == [1]
    assert messages_of_response({}) == messages_of_response(None) == []
