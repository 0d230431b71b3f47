"""Logs of the Model Context Protocol."""

from __future__ import annotations

import pytest

from giskard.checks.importers.mcp import MCP
from tests.importers.recorded import called, example, one, read, read_all, said, turn

LOG = MCP()


def call(id=1, name="f", **arguments):
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def result(id=1, *texts, **fields):
    content = [{"type": "text", "text": text} for text in texts]
    return {"jsonrpc": "2.0", "id": id, "result": {"content": content, **fields}}


def test_the_example():
    trace = one(LOG, *example("mcp_log.jsonl"))
    assert said(trace) == [({"tool": "get_fee", "arguments": {"item": "card_replacement"}}, {"fee_eur": 0.0})]
    assert called(trace) == [("7", "get_fee", {"item": "card_replacement"}, {"fee_eur": 0.0}, None)]
    metadata = trace.interactions[0].metadata
    assert metadata["latency_ms"] == 28.0 and metadata["timestamp"] == "2025-10-09T08:53:20.402Z"


def test_texts_are_joined():
    assert turn(LOG, call(), result(1, "one", "two")).outputs == "one\ntwo"
    image = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "image", "data": "AA=="}]}}
    assert turn(LOG, call(), image).outputs == [{"type": "image", "data": "AA=="}]


def test_both_kinds_of_failure():
    failed = turn(LOG, call(), result(1, "no such card", isError=True))
    assert failed.outputs == "no such card" and failed.metadata["tool_calls"][0]["error"] == "no such card"
    refused = turn(LOG, call(), {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown tool"}})
    assert refused.outputs is None and refused.metadata["tool_calls"][0]["error"] == "Unknown tool"
    assert "incomplete" not in refused.metadata


def test_a_request_without_response_is_incomplete():
    waiting = turn(LOG, call())
    assert waiting.outputs is None and waiting.metadata["incomplete"] is True
    assert waiting.metadata["tool_calls"][0]["answered"] is False


def test_responses_in_another_order_batches_and_ids_that_are_used_again():
    trace = one(
        LOG, [call(1, "a"), call("1", "b")], [result("1", "of b"), result(1, "of a")], call(1, "c"), result(1, "of c")
    )
    assert [outputs for _, outputs in said(trace)] == ["of a", "of b", "of c"]
    lost = one(LOG, call(1, "a"), call(1, "b"), result(1, "of b"))
    assert [outputs for _, outputs in said(lost)] == [None, "of b"]


@pytest.mark.parametrize("with_direction", [True, False])
def test_the_server_asks_with_ids_of_its_own(with_direction):
    sampling = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}}
    sampled = {"jsonrpc": "2.0", "id": 1, "result": {"role": "assistant", "content": {"type": "text", "text": "x"}}}
    lines = [("out", call()), ("in", sampling), ("out", sampled), ("in", result(1, "done"))]
    values = [{"dir": way, "msg": message} if with_direction else {"msg": message} for way, message in lines]
    trace = one(LOG, *values)
    assert said(trace)[0][1] == "done"
    assert trace.annotations["other_messages"] == {"sampling/createMessage": 1}


def test_what_else_a_session_tells():
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
    opened = {
        "jsonrpc": "2.0",
        "id": 0,
        "result": {"serverInfo": {"name": "bank"}, "instructions": "Be kind.", "capabilities": {}},
    }
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    listed = {"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "f"}]}}
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    trace = one(LOG, opening, opened, notice, listing, listed, call(), result(1, "x"))
    annotations = trace.annotations
    assert annotations["tools"] == [{"name": "f"}] and annotations["server"] == {"name": "bank"}
    assert annotations["instructions"] == "Be kind."
    assert annotations["other_messages"] == {"initialize": 1, "notifications/initialized": 1, "tools/list": 1}


def test_each_session_is_a_trace():
    lines = [{"session": name, "msg": message} for message in (call(), result(1, "x")) for name in ("one", "two")]
    traces, skipped = read(LOG, *lines)
    assert skipped == [] and [trace.annotations["conversation_id"] for trace in traces] == ["one", "two"]
    assert [said(trace)[0][1] for trace in traces] == ["x", "x"]


def test_what_cannot_be_read_is_told():
    nameless = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {}}
    traces, skipped = read_all(LOG, "x", result(9, "late"), call(), nameless)
    assert len(traces) == 1
    assert skipped == [
        "expected a message of JSON-RPC, got str",
        "a response to id 9, which no request before it has",
        "a tools/call whose params have no name",
    ]
    traces, skipped = read(LOG, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert traces == [] and skipped == ["the log holds no tools/call"]


def test_raw_messages_are_kept_on_request():
    assert turn(LOG, call(), result(1, "x"), keep_raw=True).metadata["raw"] == [call(), result(1, "x")]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"jsonrpc": "1.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {"kind": "task", "status": {"state": "completed"}}},
        {"msg": "jsonrpc"},
        [call(), 3],
    ],
)
def test_what_is_no_log(value):
    assert LOG.detect(value) is False
