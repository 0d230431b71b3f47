"""Anthropic's messages: blocks, results inside of user messages, tools of the server, the cache, and streams."""

import asyncio
import copy
import json

import pytest

from giskard.checks import ToolCallOrder, Trace
from giskard.checks.importers.anthropic import (
    Anthropic,
    annotations_of_request,
    messages_of_request,
    messages_of_response,
)
from tests.importers.reading import core, example, expected, one, read, why_not, withstands

ANTHROPIC = Anthropic()


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def said(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def used(name="f", id="toolu_1", type="tool_use", **given):
    return {"type": type, "id": id, "name": name, "input": given}


def gave(content, id="toolu_1", **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def response(*blocks, **more):
    return {
        **{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks)},
        **{"stop_reason": "end_turn", "stop_sequence": None, **more},
    }


def turn(*messages):
    (found,) = one(ANTHROPIC, list(messages)).interactions
    return found


def test_the_example():
    (value,) = example("anthropic_messages.json")
    assert ANTHROPIC.detect(value)
    trace = one(ANTHROPIC, value)
    want = expected()
    for place, (_, _, calls) in enumerate(want["turns"], 1):
        calls[0]["id"] = f"toolu_{place}"  # as they are called here
    assert core(trace) == want
    first, second = trace.interactions
    assert first.metadata["reasoning"] == ["Look the fee up first."]
    assert "usage" not in second.metadata  # the model's first call of the turn was not recorded
    assert second.metadata["last_call"] == {"usage": {"input_tokens": 210, "output_tokens": 14, "cached_tokens": 0}}
    assert second.metadata["model"] == "claude-sonnet-4-5-20250929"
    assert second.metadata["finish_reason"] == "end_turn"
    assert [turn.metadata["tool_calls"][0]["message_index"] for turn in (first, second)] == [1, 5]
    assert "c2ln" not in trace.model_dump_json()
    assert "c2ln" in one(ANTHROPIC, value, keep_raw=True).model_dump_json()


def test_bare_messages():
    (value,) = example("anthropic_messages.json")
    assert ANTHROPIC.detect(value["messages"])
    first, second = one(ANTHROPIC, value["messages"]).interactions
    assert first.outputs == "Replacing a lost card is free."
    assert second.metadata["incomplete"] is True


def test_results_alone_begin_no_turn_and_a_text_beside_them_does():
    found = turn(user(text("x")), said(used()), user(gave("free")), said(text("y")))
    assert (found.inputs, found.outputs) == ("x", "y")
    trace = one(ANTHROPIC, [user(text("x")), said(used()), user(gave("free"), text("And?")), said(text("y"))])
    assert [turn.inputs for turn in trace.interactions] == ["x", "And?"]
    assert trace.interactions[0].metadata["tool_calls"][0]["result"] == "free"


def test_calls_side_by_side():
    found = turn(
        user(text("x")), said(used(id="1"), used(id="2")), user(gave("b", "2"), gave("a", "1")), said(text("y"))
    )
    assert [(call["result"], call["message_index"]) for call in found.metadata["tool_calls"]] == [("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    ("block", "result", "error"),
    [
        (gave("no such card", is_error=True), None, "no such card"),
        (gave([text("no such card")], is_error=True), None, "no such card"),
        (gave([text('{"a":'), text("1}")]), {"a": 1}, None),
        (gave([text("a"), {"type": "image"}]), [text("a"), {"type": "image"}], None),
        ({"type": "tool_result", "tool_use_id": "toolu_1"}, None, None),
        (gave([]), None, None),
        (gave("fine", is_error=None), "fine", None),
    ],
)
def test_results(block, result, error):
    (call,) = turn(user(text("x")), said(used()), user(block), said(text("y"))).metadata["tool_calls"]
    assert (call["result"], call["error"]) == (result, error)


def test_redacted_thoughts_are_kept_only_when_asked_for():
    messages = [user(text("x")), said({"type": "redacted_thinking", "data": "c2ln"}, text("y"))]
    found = turn(*messages)
    assert found.outputs == "y"
    assert "reasoning" not in found.metadata
    assert one(ANTHROPIC, messages, keep_raw=True).last.metadata["raw"] == messages


def test_tools_of_the_server_are_called_and_answer_within_a_message():
    hits = [{"type": "web_search_result", "url": "https://example.org", "title": "Fees"}]
    found = turn(
        user(text("x")),
        said(
            text("Let me search."),
            used("web_search", "srv_1", "server_tool_use", query="fee"),
            {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": hits},
            text("It is "),
            text("free.", citations=[{"url": "https://example.org"}]),
        ),
    )
    assert found.outputs == "It is free."
    assert found.metadata["intermediate"] == [{"message_index": 1, "text": "Let me search."}]
    assert found.metadata["citations"] == [{"url": "https://example.org"}]
    (call,) = found.metadata["tool_calls"]
    assert (call["name"], call["arguments"], call["result"]) == ("web_search", {"query": "fee"}, hits)
    assert call["message_index"] == 1


def test_tools_of_the_server_may_fail():
    problem = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    found = turn(
        user(text("x")),
        said(
            used("web_search", "srv_1", "server_tool_use"),
            {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": problem},
            text("y"),
        ),
    )
    assert found.metadata["tool_calls"][0]["error"] == "max_uses_exceeded"


def test_contents_that_are_more_than_text():
    image = {"type": "image", "source": {"type": "base64", "data": "…"}}
    found = turn(user(text("x"), image), said(used()), user(gave("a")), said(text("y")))
    assert found.inputs == [text("x"), image]


# --- requests and responses ----------------------------------------------------------


def test_prompts_may_be_blocks():
    value = {"system": [text("Be kind."), text("Be brief.")], "messages": [user(text("x")), said(used())]}
    assert one(ANTHROPIC, value).annotations["system_prompt"] == "Be kind.\n\nBe brief."


REQUEST = {"model": "claude-x", "max_tokens": 9, "system": "Be kind.", "messages": [{"role": "user", "content": "x"}]}


@pytest.mark.parametrize(
    "log",
    [
        {"request": REQUEST, "response": response(text("y"))},
        {"request": json.dumps(REQUEST), "response": json.dumps(response(text("y")))},
        {"request": {"body": REQUEST}, "response": {"status": 200, "body": response(text("y"))}},
        {**REQUEST, "response": response(text("y"))},
        {"input": {"inputBodyJson": REQUEST}, "output": {"outputBodyJson": response(text("y"))}},
    ],
)
def test_logs_wrap_requests_and_responses_in_many_ways(log):
    assert ANTHROPIC.detect(log)
    trace = one(ANTHROPIC, {**log, "latency_ms": 7, "session_id": "c1"})
    assert (trace.last.inputs, trace.last.outputs) == ("x", "y")
    assert trace.annotations == {
        **{"system_prompt": "Be kind.", "parameters": {"max_tokens": 9}, "conversation_id": "c1"},
        **{"source": {"format": "anthropic", "path": "log.jsonl", "line": 1}},
    }
    assert trace.last.metadata["latency_ms"] == 7


def test_a_bare_response():
    value = response(text("y"))
    assert ANTHROPIC.detect(value)
    trace = one(ANTHROPIC, value)
    assert (trace.last.inputs, trace.last.outputs) == (None, "y")
    assert trace.annotations.keys() == {"source"}


def test_what_was_read_from_the_cache_or_written_to_it_is_input():
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100}
    found = one(ANTHROPIC, response(text("y"), usage=usage)).last
    assert found.metadata["usage"] == {"input_tokens": 111, "output_tokens": 2, "cached_tokens": 100}
    usage = {"input_tokens": 1, "cache_creation_input_tokens": None}
    assert one(ANTHROPIC, response(text("y"), usage=usage)).last.metadata["usage"] == {"input_tokens": 1}
    usage = {"cache_read_input_tokens": 5}
    assert one(ANTHROPIC, response(text("y"), usage=usage)).last.metadata["usage"] == {"cached_tokens": 5}


def test_refusals_and_nothing_said():
    assert one(ANTHROPIC, response(text("No."), stop_reason="refusal")).last.metadata["refusal"] is True
    found = one(ANTHROPIC, {**REQUEST, "response": response()}).last
    assert (found.outputs, found.metadata["incomplete"]) == (None, True)


def test_errors_in_place_of_a_response():
    (answer,) = messages_of_response({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    assert answer[0].metadata == {"error": {"type": "overloaded_error", "message": "Overloaded"}}


# --- streams -------------------------------------------------------------------------


def delta(index, kind, **more):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


EVENTS = [
    {
        "type": "message_start",
        "message": {**response(), "stop_reason": None, "usage": {"input_tokens": 5, "output_tokens": 1}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "ping"},
    delta(0, "thinking_delta", thinking="h"),
    delta(0, "thinking_delta", thinking="m"),
    delta(0, "signature_delta", signature="c2ln"),
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": text("")},
    delta(1, "text_delta", text="Let me "),
    delta(1, "text_delta", text="see."),
    delta(1, "citations_delta", citation={"url": "u"}),
    {"type": "content_block_start", "index": 2, "content_block": used("f")},
    delta(2, "input_json_delta", partial_json='{"a"'),
    delta(2, "input_json_delta", partial_json=": 1}"),
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use"},
        "usage": {"output_tokens": 7, "input_tokens": None},
    },
    {"type": "message_stop"},
]


def check_stream(found):
    assert found.metadata["intermediate"][0]["text"] == "Let me see."
    (call,) = found.metadata["tool_calls"]
    assert (call["id"], call["name"], call["arguments"]) == ("toolu_1", "f", {"a": 1})
    assert found.metadata["reasoning"] == ["hm"]
    assert found.metadata["citations"] == [{"url": "u"}]
    assert found.metadata["usage"] == {"input_tokens": 5, "output_tokens": 7}
    assert (found.metadata["finish_reason"], found.metadata["model"]) == ("tool_use", "m")


def test_events_that_are_records_make_one_answer():
    assert all(map(ANTHROPIC.detect, EVENTS))
    check_stream(one(ANTHROPIC, *EVENTS).last)
    first, second = read(ANTHROPIC, *EVENTS, *EVENTS)[0]
    check_stream(first.last)
    check_stream(second.last)


@pytest.mark.parametrize("wrap", [list, lambda events: "".join(f"event: e\ndata: {json.dumps(e)}\n\n" for e in events)])
def test_events_in_a_response(wrap):
    log = {"request": REQUEST, "response": wrap(EVENTS)}
    assert ANTHROPIC.detect(log)
    found = one(ANTHROPIC, log).last
    assert found.inputs == "x"
    check_stream(found)


def test_a_stream_that_was_cut_off():
    assert ANTHROPIC.detect(EVENTS)
    found = one(ANTHROPIC, EVENTS[:13]).last
    (call,) = found.metadata["tool_calls"]
    assert (call["arguments"], bool(call["arguments_error"])) == ('{"a"', True)
    found = one(ANTHROPIC, EVENTS[:9]).last
    assert found.outputs == "Let me "
    failed = [EVENTS[0], {"type": "error", "error": {"type": "overloaded_error"}}]
    (answer,) = messages_of_response([{"type": "error", "error": {"type": "overloaded_error"}}])
    assert answer[0].metadata == {"error": {"type": "overloaded_error"}}
    assert messages_of_response(failed)[0][0].metadata["error"] == {"type": "overloaded_error"}


# --- what it takes for its own -------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        *(None, 3, "text", [], {}, [3], {"messages": []}, {"messages": "x"}, {"content": [text("x")]}),
        [{"role": "user", "content": "x"}],
        {"messages": [{"role": "user", "content": "x"}]},
        {"messages": [{"role": "system", "content": "x"}], "model": "claude-x"},
        {"messages": [{"role": "assistant", "content": [used()], "tool_calls": []}]},
        {"messages": [{"role": "user", "content": [text("x")]}], "choices": [], "model": "claude-x"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
        {"type": "ping", "id": 3},
    ],
)
def test_what_is_not_of_this_format(value):
    assert not ANTHROPIC.detect(value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"x": 1}, "it holds no messages and no response"),
        (3, "it holds no messages and no response"),
        ([], "it holds no messages"),
        ({"messages": "x"}, "messages: expected a list of messages, got str"),
        ([3], "message 0: expected an object, got int"),
        ([{"role": "tool", "content": "x"}], "message 0: its role is 'tool'; known are user, assistant, system"),
        ({"system": "Be kind.", "messages": []}, "it holds no messages"),
    ],
)
def test_why_a_record_is_not_read(value, reason):
    assert reason in why_not(ANTHROPIC, value)


def test_odd_values_anywhere_hide_no_other_record():
    found = {"type": "web_search_tool_result", "tool_use_id": "1", "content": {"error_code": "e"}}
    thought = {"type": "thinking", "thinking": "hm"}
    messages = [user(text("x")), said(thought, used(a=1), found, text("y", citations=[{}])), user(gave([text("a")]))]
    log = {**REQUEST, "messages": messages, "system": [text("s")]}
    assert withstands(ANTHROPIC, {**log, "response": response(text("y"), usage={"input_tokens": 1})})
    assert withstands(ANTHROPIC, [EVENTS[0], EVENTS[7], EVENTS[8], EVENTS[10], *EVENTS[11:13], EVENTS[15]])


def test_records_are_left_as_they_are():
    values = [example("anthropic_messages.json")[0], EVENTS]
    before = copy.deepcopy(values)
    read(ANTHROPIC, *values, keep_raw=True)
    assert values == before


# --- for those who have bodies at hand -----------------------------------------------


def test_bodies():
    assert [(m.role, m.content) for m in messages_of_request(REQUEST)] == [("system", "Be kind."), ("user", "x")]
    assert annotations_of_request({"tools": [{"name": "f"}]}) == {"tools": [{"name": "f"}]}
    assert annotations_of_request({}) == {}
    assert [len(answer) for answer in messages_of_response(response(text("y")))] == [1]
    assert messages_of_response({}) == messages_of_response(None) == messages_of_response("no events") == []


# --- steps of one message, and figures of the last call -------------------------------


def test_calls_between_which_a_result_stands_are_not_parallel():
    blocks = [
        used("search", "1", type="server_tool_use"),
        {"type": "web_search_tool_result", "tool_use_id": "1", "content": []},
        text("Found."),
        used("pay", "2", type="server_tool_use"),
        used("note", "3", type="server_tool_use"),
        {"type": "web_search_tool_result", "tool_use_id": "2", "content": []},
        used("bye", "4"),
    ]
    trace = one(ANTHROPIC, [user(text("x")), said(*blocks)])
    assert [(call["message_index"], call.get("step")) for call in trace.last.metadata["tool_calls"]] == [
        *[(1, None), (1, 1), (1, 1), (1, 2)],
    ]
    assert [call.step for call in trace.tool_calls] == [None, 1, 1, 2]
    for tools, passes in ((["search", "pay"], True), (["pay", "search"], False), (["note", "pay", "bye"], True)):
        assert asyncio.run(ToolCallOrder(tools=tools).run(trace)).passed is passes
        again = Trace.model_validate_json(trace.model_dump_json())
        assert asyncio.run(ToolCallOrder(tools=tools).run(again)).passed is passes


def test_calls_of_one_message_without_results_between_them_are_parallel():
    trace = one(ANTHROPIC, [user(text("x")), said(used("search", "1"), text("and"), used("pay", "2"))])
    assert [call.step for call in trace.tool_calls] == [None, None]
    assert asyncio.run(ToolCallOrder(tools=["pay", "search"]).run(trace)).passed


def test_figures_of_a_turn_that_began_before_the_request():
    request = {"model": "claude", "messages": [user(text("x")), said(used()), user(gave("1"))]}
    answer = response(text("y"), usage={"input_tokens": 10, "output_tokens": 3})
    found = one(ANTHROPIC, {"request": request, "response": answer, "latency_ms": 100}).last.metadata
    assert "usage" not in found and "latency_ms" not in found
    assert found["last_call"] == {"usage": {"input_tokens": 10, "output_tokens": 3}, "latency_ms": 100}
    request["messages"].append(user(text("and now?")))
    found = one(ANTHROPIC, {"request": request, "response": answer, "latency_ms": 100}).last.metadata
    assert (found["usage"]["input_tokens"], found["latency_ms"], "last_call" in found) == (10, 100, False)
