"""Responses: items, responses with their input, streams of events, and chains."""

import copy
import json

import pytest

from giskard.checks.importers import _response_chains
from giskard.checks.importers.openai_responses import (
    OpenAIResponses,
    annotations_of_request,
    messages_of_request,
    messages_of_response,
)
from tests.importers.reading import core, example, expected, one, read, why_not, withstands

RESPONSES = OpenAIResponses()


def user(text):
    return {"role": "user", "content": text}


def said(text, **more):
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [part], **more}


def called(name="f", arguments="{}", call_id="call_1"):
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": arguments}


def gave(output, call_id="call_1"):
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def response(*output, id="resp_1", **more):
    return {"id": id, "object": "response", "status": "completed", "model": "m", "output": list(output), **more}


def turn(*items):
    (found,) = one(RESPONSES, list(items)).interactions
    return found


# --- items ---------------------------------------------------------------------------


def test_the_example_items():
    (value,) = example("openai_responses_items.json")
    assert RESPONSES.detect(value)
    trace = one(RESPONSES, value)
    assert core(trace)["turns"] == expected()["turns"]
    assert trace.interactions[0].metadata["reasoning"] == ["I must look the fee up."]
    assert [turn.metadata["tool_calls"][0]["message_index"] for turn in trace.interactions] == [2, 6]


@pytest.mark.parametrize("wrap", [{"items": ...}, {"object": "list", "data": ...}, {"session_id": "s", "items": ...}])
def test_items_in_an_object(wrap):
    (items,) = example("openai_responses_items.json")
    value = {key: items if item is ... else item for key, item in wrap.items()}
    assert RESPONSES.detect(value)
    trace = one(RESPONSES, value)
    assert core(trace)["turns"] == expected()["turns"]
    assert trace.annotations.get("conversation_id") == wrap.get("session_id")


def test_results_belong_to_calls_by_the_id_of_the_call():
    items = [called("f", call_id="1"), called("g", call_id="2"), gave("two", "2"), gave("one", "1"), said("y")]
    found = turn(user("x"), *items)
    assert [(call["name"], call["result"]) for call in found.metadata["tool_calls"]] == [("f", "one"), ("g", "two")]


def test_calls_side_by_side_are_of_one_message_even_with_thoughts_between_them():
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    items = [called(call_id="1"), thought, called(call_id="2"), gave("a", "1"), gave("b", "2"), called(call_id="3")]
    found = turn(user("x"), *items, gave("c", "3"), said("y"))
    assert [call["message_index"] for call in found.metadata["tool_calls"]] == [1, 1, 6]


def test_thoughts_are_no_answers_and_what_is_sealed_is_kept_only_when_asked_for():
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": "c2ln"}
    items = [user("x"), thought, sealed, said("y")]
    found = turn(*items)
    assert (found.outputs, found.metadata["reasoning"]) == ("y", ["hm"])
    assert "c2ln" not in found.model_dump_json()
    assert one(RESPONSES, items, keep_raw=True).last.metadata["raw"] == items


def test_refusals_and_citations():
    found = turn(user("x"), called(), {**said(""), "content": [{"type": "refusal", "refusal": "No."}]})
    assert (found.outputs, found.metadata["refusal"]) == ("No.", True)
    cited = {"type": "url_citation", "url": "https://example.org"}
    part = {"type": "output_text", "text": "y", "annotations": [cited]}
    found = turn(user("x"), called(), {**said(""), "content": [part]})
    assert (found.outputs, found.metadata["citations"]) == ("y", [cited])


def test_contents_that_are_more_than_text():
    parts = [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "data:…"}]
    assert turn(user(parts), said("y")).inputs == parts


def test_outputs_may_be_parts_or_values_and_calls_may_fail():
    found = turn(user("x"), called(), gave([{"type": "input_text", "text": '{"a": 1}'}]), said("y"))
    assert found.metadata["tool_calls"][0]["result"] == {"a": 1}
    found = turn(user("x"), called(), {**gave("half"), "status": "incomplete"}, said("y"))
    assert found.metadata["tool_calls"][0]["error"] == "half"


@pytest.mark.parametrize(
    ("item", "call"),
    [
        (
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "q"},
            },
            {"id": "ws_1", "name": "web_search", "arguments": {"type": "search", "query": "q"}, "answered": False},
        ),
        (
            {"type": "file_search_call", "id": "fs_1", "queries": ["q"], "results": [{"text": "t"}]},
            {"id": "fs_1", "name": "file_search", "arguments": {"queries": ["q"]}, "result": [{"text": "t"}]},
        ),
        (
            {"type": "code_interpreter_call", "id": "ci_1", "code": "1+1", "outputs": [{"logs": "2"}]},
            {"id": "ci_1", "name": "code_interpreter", "arguments": {"code": "1+1"}, "result": [{"logs": "2"}]},
        ),
        (
            {"type": "mcp_call", "id": "mcp_1", "name": "roll", "arguments": '{"n": 2}', "output": "7", "error": None},
            {"id": "mcp_1", "name": "roll", "arguments": {"n": 2}, "result": 7},
        ),
        (
            {"type": "mcp_call", "id": "mcp_1", "name": "roll", "arguments": "{}", "error": {"message": "down"}},
            {"name": "roll", "error": "down", "result": None},
        ),
        (
            {"type": "mcp_call", "id": "mcp_1", "name": "roll", "arguments": "{}", "error": {"code": 3}},
            {"error": "{'code': 3}"},
        ),
        (
            {"type": "image_generation_call", "id": "ig_1", "result": "aW1n"},
            {"name": "image_generation", "result": "aW1n"},
        ),
        ({"type": "image_generation_call", "id": "ig_1", "status": "failed"}, {"error": "status failed"}),
        (
            {"type": "computer_call", "call_id": "c_1", "id": "cu_1", "action": {"type": "click"}},
            {"id": "c_1", "name": "computer", "arguments": {"action": {"type": "click"}}, "answered": False},
        ),
        (
            {"type": "custom_tool_call", "call_id": "c_1", "name": "sh", "input": "ls"},
            {"id": "c_1", "name": "sh", "arguments": {"input": "ls"}, "answered": False},
        ),
        (
            {"type": "brand_new_call", "id": "1", "wish": "w", "status": "completed", "output": "o"},
            {"name": "brand_new", "arguments": {"wish": "w"}, "result": "o"},
        ),
    ],
)
def test_tools_of_openais_are_calls(item, call):
    found = turn(user("x"), item, said("y"))
    (entry,) = found.metadata["tool_calls"]
    assert {key: entry[key] for key in call} == call
    assert found.outputs == "y"
    assert found.metadata.get("retrieved") == (call["result"] if item["type"] == "file_search_call" else None)


def test_outputs_of_other_calls():
    call = {"type": "shell_call", "call_id": "c_1", "action": {"commands": ["ls"]}}
    found = turn(user("x"), call, {"type": "shell_call_output", "call_id": "c_1", "output": "a.py"}, said("y"))
    assert found.metadata["tool_calls"][0]["result"] == "a.py"


def test_other_items_are_kept():
    item = {"type": "mcp_list_tools", "server_label": "dice", "tools": []}
    assert turn(user("x"), called(), item, said("y")).metadata["other_items"] == [item]


# --- responses -----------------------------------------------------------------------


def test_the_example_response():
    (value,) = example("openai_responses.json")
    assert RESPONSES.detect(value)
    trace = one(RESPONSES, value)
    (found,) = trace.interactions
    assert trace.annotations["system_prompt"] == expected()["system_prompt"]
    assert found.inputs == expected()["turns"][0][0]
    assert found.outputs is None
    (call,) = found.metadata["tool_calls"]
    assert (call["id"], call["arguments"], call["message_index"]) == ("call_1", {"item": "card_replacement"}, 2)
    rest = {
        key: found.metadata[key] for key in ("usage", "model", "finish_reason", "timestamp", "response_id", "reasoning")
    }
    assert rest == {
        "usage": {"input_tokens": 61, "output_tokens": 34, "reasoning_tokens": 16, "cached_tokens": 0},
        "model": "gpt-5-mini-2025-08-07",
        "finish_reason": "completed",
        "timestamp": "2025-10-09T08:53:20+00:00",
        "response_id": "resp_1",
        "reasoning": ["I must look the fee up."],
    }
    assert "previous_response_id" not in trace.annotations


def test_a_bare_response():
    value = response(said("y"), instructions="Be kind.", tools=[{"name": "f"}], temperature=0)
    assert RESPONSES.detect(value)
    trace = one(RESPONSES, value)
    assert (trace.last.inputs, trace.last.outputs) == (None, "y")
    assert trace.annotations["system_prompt"] == "Be kind."
    assert trace.annotations["tools"] == [{"name": "f"}]


REQUEST = {"model": "asked", "input": "x", "instructions": "Be kind.", "temperature": 0}


@pytest.mark.parametrize(
    "log",
    [
        {"request": REQUEST, "response": response(said("y"))},
        {"request": json.dumps(REQUEST), "response": json.dumps(response(said("y")))},
        {"request": {"body": REQUEST}, "response": {"body": response(said("y"))}},
        {**REQUEST, "response": response(said("y"))},
        {"request": {"input": "x", "temperature": 0}, "response": response(said("y"), instructions="Be kind.")},
        {"input": [user("x")], "temperature": 0, "response": response(said("y"), instructions="Be kind.")},
        {"input": [user("x")], "instructions": [{"role": "system", "content": "Be kind."}], **response(said("y"))},
    ],
)
def test_logs_wrap_requests_and_responses_in_many_ways(log):
    assert RESPONSES.detect(log)
    trace = one(RESPONSES, {**log, "latency_ms": 7})
    assert (trace.last.inputs, trace.last.outputs) == ("x", "y")
    assert trace.annotations["system_prompt"] == "Be kind."
    assert trace.last.metadata["latency_ms"] == 7


def test_the_latency_between_two_whole_seconds():
    assert one(RESPONSES, response(said("y"), created_at=10, completed_at=12)).last.metadata["latency_ms"] == 2000
    assert "latency_ms" not in one(RESPONSES, response(said("y"), created_at=10, completed_at=10)).last.metadata


def test_what_was_cut_off_or_failed_says_so():
    cut = response(said("y"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    found = one(RESPONSES, cut).last
    assert (found.outputs, found.metadata["finish_reason"]) == ("y", "max_output_tokens")
    assert found.metadata["status"] == "incomplete"
    failed = response(status="failed", error={"code": "server_error", "message": "down"})
    found = one(RESPONSES, {"input": "x", "response": failed}).last
    assert (found.inputs, found.outputs) == ("x", None)
    assert found.metadata["incomplete"] is True
    assert found.metadata["error"] == {"code": "server_error", "message": "down"}


# --- chains --------------------------------------------------------------------------


def exchange(given, *output, id, previous=None, **more):
    return {"input": given, "response": response(*output, id=id, previous_response_id=previous, **more)}


CHAIN = [
    exchange("x", called(), id="r1"),
    exchange([gave('{"a": 1}')], said("y"), id="r2", previous="r1"),
    exchange([user("z")], said("w"), id="r3", previous="r2"),
]


def check_chain(trace):
    assert [(turn.inputs, turn.outputs) for turn in trace.interactions] == [("x", "y"), ("z", "w")]
    (call,) = trace.interactions[0].metadata["tool_calls"]
    assert (call["result"], call["message_index"]) == ({"a": 1}, 1)


def test_responses_that_follow_each_other_are_one_trace():
    trace = one(RESPONSES, *CHAIN)
    check_chain(trace)
    assert trace.annotations["source"]["line"] == 1


def test_newest_first():
    check_chain(one(RESPONSES, *reversed(CHAIN)))


def test_chains_may_be_mixed_with_others():
    other = exchange("q", said("r"), id="o1")
    items = example("openai_responses_items.json")[0]
    traces, _ = read(RESPONSES, CHAIN[0], other, CHAIN[1], items, CHAIN[2])
    assert [trace.last.outputs for trace in traces] == [expected()["turns"][1][1], "w", "r"]
    check_chain(traces[1])


def test_two_responses_to_the_same_one_are_two_traces():
    again = exchange([user("again")], said("v"), id="r4", previous="r2")
    first, second = read(RESPONSES, *CHAIN, again)[0]
    check_chain(first)
    assert [(turn.inputs, turn.outputs) for turn in second.interactions] == [("x", "y"), ("again", "v")]
    newest_first = read(RESPONSES, again, *reversed(CHAIN))[0]
    assert sorted(trace.last.outputs for trace in newest_first) == ["v", "w"]


def test_a_response_whose_predecessor_is_not_there():
    trace = one(RESPONSES, CHAIN[2])
    assert (trace.last.inputs, trace.last.outputs) == ("z", "w")
    assert trace.annotations["previous_response_id"] == "r2"


@pytest.mark.parametrize("talk", ["conv_1", {"id": "conv_1"}])
def test_responses_of_one_conversation_are_one_trace(talk):
    lines = [
        exchange("x", said("y"), id="r1", conversation=talk),
        exchange("q", said("r"), id="o1", conversation={"id": "conv_2"}),
        exchange([user("z")], said("w"), id="r2", conversation=talk),
    ]
    first, second = read(RESPONSES, *lines)[0]
    assert [(turn.inputs, turn.outputs) for turn in first.interactions] == [("x", "y"), ("z", "w")]
    assert first.annotations["conversation_id"] == "conv_1"
    assert second.annotations["conversation_id"] == "conv_2"


def test_only_so_many_chains_are_held(monkeypatch):
    monkeypatch.setattr(_response_chains, "_MOST_OPEN", 2)
    lines = [exchange(str(n), said("y"), id=f"r{n}", conversation=f"c{n}") for n in range(5)]
    late = exchange("late", said("y"), id="late", previous="r0", conversation="c0")
    traces, _ = read(RESPONSES, *lines, late)
    assert [trace.interactions[0].inputs for trace in traces] == ["0", "1", "2", "3", "4", "late"]
    chains = _response_chains.Chains()
    for n in range(50):
        chains.add(_response_chains.Link(None, None, f"r{n}", f"p{n}", f"c{n}"))
    held = (chains._open, chains._places, chains._talks, chains._headless)
    assert [len(known) for known in held] == [2, 2, 2, 2]


# --- streams -------------------------------------------------------------------------

WHOLE = response(called("f", '{"a": 1}'), said("Hello."), usage={"input_tokens": 1, "output_tokens": 2})
EVENTS = [
    {"type": "response.created", "response": {**WHOLE, "output": [], "status": "in_progress", "usage": None}},
    {"type": "response.output_item.added", "output_index": 0, "item": called("f", "")},
    {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"a"'},
    {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": ": 1}"},
    {"type": "response.output_item.done", "output_index": 0, "item": called("f", '{"a": 1}')},
    {"type": "response.output_item.added", "output_index": 1, "item": {**said(""), "content": []}},
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Hel"},
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "lo."},
    {"type": "response.completed", "response": WHOLE},
]


def check_stream(found):
    assert found.metadata["tool_calls"][0]["arguments"] == {"a": 1}
    assert found.outputs == "Hello."


def test_events_that_are_records_make_one_response():
    assert all(map(RESPONSES.detect, EVENTS))
    found = one(RESPONSES, *EVENTS).last
    check_stream(found)
    assert found.metadata["usage"] == {"input_tokens": 1, "output_tokens": 2}


def test_events_of_responses_that_follow_each_other():
    renamed = json.loads(json.dumps(EVENTS).replace("resp_1", "resp_2"))
    renamed[-1]["response"]["previous_response_id"] = "resp_1"
    trace = one(RESPONSES, *EVENTS, *renamed)
    assert len(trace.interactions[0].metadata["tool_calls"]) == 2


def test_a_stream_that_was_cut_off():
    for events in (EVENTS[:-1], [*EVENTS[:-1], {"type": "response.completed", "response": {**WHOLE, "output": []}}]):
        check_stream(one(RESPONSES, events).last)
    cut, whole = read(RESPONSES, *EVENTS[:7], *json.loads(json.dumps(EVENTS).replace("resp_1", "resp_2")))[0]
    assert (cut.last.outputs, cut.last.metadata["status"]) == ("Hel", "incomplete")
    check_stream(whole.last)


def test_thoughts_refusals_and_errors_in_a_stream():
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "summary": []}},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "h"},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "m"},
        {"type": "response.output_item.added", "output_index": 1, "item": {**said(""), "content": []}},
        {"type": "response.refusal.delta", "output_index": 1, "content_index": 0, "delta": "No."},
        {"type": "response.nothing_known", "output_index": 1},
    ]
    found = one(RESPONSES, events).last
    assert (found.outputs, found.metadata["refusal"], found.metadata["reasoning"]) == ("No.", True, ["hm"])
    (answer,) = messages_of_response([*events, {"type": "error", "code": "x", "message": "down"}])
    assert answer[-1].metadata["error"] == {"code": "x", "message": "down"}


@pytest.mark.parametrize("wrap", [list, lambda events: "".join(f"event: e\ndata: {json.dumps(e)}\n\n" for e in events)])
def test_events_in_a_response(wrap):
    log = {"request": REQUEST, "response": wrap(EVENTS)}
    assert RESPONSES.detect(log)
    found = one(RESPONSES, log).last
    assert found.inputs == "x"
    check_stream(found)


# --- what it takes for its own -------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        *(None, 3, "text", [], {}, [3], {"input": "x", "output": "y"}, {"items": []}, {"output": []}),
        [user("x"), {"role": "assistant", "content": "y"}],
        {"messages": [user("x")]},
        {"object": "chat.completion", "choices": []},
        [{"type": "human", "content": "x"}],
        {"input": [user("x")], "output": "y", "expected": "z"},
    ],
)
def test_what_is_not_of_this_format(value):
    assert not RESPONSES.detect(value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"x": 1}, "it holds no items and no response"),
        (3, "it holds no items and no response"),
        ([], "it holds no items and no answer"),
        ([3], "input: expected objects, got int at position 0"),
        ([{"role": "critic", "content": "x"}], "item 0: its role is 'critic'; known are system, "),
    ],
)
def test_why_a_record_is_not_read(value, reason):
    assert reason in why_not(RESPONSES, value)


def test_odd_values_anywhere_hide_no_other_record():
    search = {"type": "file_search_call", "id": "fs_1", "queries": ["q"], "results": [{"text": "t"}]}
    items = [user([{"type": "input_text", "text": "x"}]), called(), gave([{"type": "input_text", "text": "x"}])]
    thought = {"type": "reasoning", "summary": [{"text": "hm"}]}
    assert withstands(RESPONSES, [*items, thought, search, said("y"), called()])
    usage = {"input_tokens": 1, "output_tokens_details": {"reasoning_tokens": 1}}
    whole = response(said("y"), usage=usage, conversation={"id": "c"}, previous_response_id="r", created_at=1)
    assert withstands(
        RESPONSES, {"request": {"input": [user("x")], "instructions": "s", "tools": [{}]}, "response": whole}
    )
    assert withstands(RESPONSES, [EVENTS[1], EVENTS[2], EVENTS[5], EVENTS[6], {"type": "error", "code": 3}])


def test_records_are_left_as_they_are():
    values = [*CHAIN, EVENTS, example("openai_responses_items.json")[0]]
    before = copy.deepcopy(values)
    read(RESPONSES, *values, keep_raw=True)
    assert values == before


# --- for those who have bodies at hand -----------------------------------------------


def test_bodies():
    assert [(m.role, m.content) for m in messages_of_request(REQUEST)] == [("system", "Be kind."), ("user", "x")]
    assert annotations_of_request({"tools": [{"name": "f"}]}) == {"tools": [{"name": "f"}]}
    assert annotations_of_request({"tools": []}) == {}
    (answer,) = messages_of_response(WHOLE)
    assert [message.role for message in answer] == ["assistant", "assistant"]
    assert messages_of_response({}) == messages_of_response(None) == messages_of_response("no events") == []


# --- figures of the last call of a turn ----------------------------------------------

USED = {"input_tokens": 10, "output_tokens": 3}


@pytest.mark.parametrize(
    ("items", "is_whole"),
    [
        ([user("x")], True),
        ([user("x"), said("y"), user("z")], True),
        ([user("x"), called(), gave("1")], False),
        ([gave("1")], False),
    ],
)
def test_figures_of_a_turn_that_began_before_the_request(items, is_whole):
    log = {"request": {"model": "m", "input": items}, "response": response(said("y"), usage=USED), "latency_ms": 100}
    found = one(RESPONSES, log).last.metadata
    told = {name: found[name] for name in ("usage", "latency_ms") if name in found}
    spent = {"usage": USED, "latency_ms": 100}
    assert (told, found.get("last_call")) == ((spent, None) if is_whole else ({}, spent))


@pytest.mark.parametrize("is_whole", [True, False])
def test_figures_of_a_chain_are_added_up_when_all_of_them_are_known(is_whole):
    before = [] if is_whole else [called(call_id="0"), gave("0", "0")]
    links = [
        {"request": {"input": [user("x"), *before]}, "response": response(called(), id="r1", usage=USED)},
        {
            "request": {"input": [gave("1")], "previous_response_id": "r1"},
            "response": response(said("y"), id="r2", previous_response_id="r1", usage=USED),
        },
        {
            "request": {"input": [user("z")], "previous_response_id": "r2"},
            "response": response(said("!"), id="r3", previous_response_id="r2", usage=USED),
        },
    ]
    trace = one(RESPONSES, *links)
    first, second = (turn.metadata for turn in trace.interactions)
    if is_whole:
        assert (first["usage"], "last_call" in first) == ({"input_tokens": 20, "output_tokens": 6}, False)
    else:
        assert ("usage" in first, first["last_call"]) == (False, {"usage": USED})
    assert (second["usage"], "last_call" in second) == (USED, False)
