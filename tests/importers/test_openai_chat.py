"""Chat completions: rows, logs, streams, preferences, and what other servers make of them."""

import asyncio
import copy
import itertools
import json
from pathlib import Path

import pytest

from giskard.checks import MaxCost, MaxLatency, MaxTokens
from giskard.checks.importers._chat_messages import add_messages, messages_of
from giskard.checks.importers._conversation import Turns, to_trace
from giskard.checks.importers._json import json_or_text
from giskard.checks.importers.base import ReadOptions
from giskard.checks.importers.openai_chat import (
    OpenAIChat,
    annotations_of_request,
    messages_of_request,
    messages_of_response,
)
from tests.importers.reading import core, example, expected, one, read, why_not, withstands

CHAT = OpenAIChat()


def user(text):
    return {"role": "user", "content": text}


def said(text=None, **more):
    return {"role": "assistant", "content": text, **more}


def called(name, arguments="{}", id="call_1"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def gave(content, id="call_1", **more):
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


def row(*messages, **more):
    return {"messages": list(messages), **more}


def completion(*choices, **more):
    made = [{"index": n, "finish_reason": "stop", "message": message} for n, message in enumerate(choices)]
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": made, **more}


def turn(*messages, **more):
    (found,) = one(CHAT, row(*messages, **more)).interactions
    return found


# --- rows ----------------------------------------------------------------------------


def test_the_example_rows():
    (value,) = example("openai_chat_finetune.jsonl")
    assert CHAT.detect(value)
    trace = one(CHAT, value)
    assert core(trace) == expected()
    assert trace.annotations["source"] == {"format": "openai_chat", "path": "log.jsonl", "line": 1}
    assert [tool["function"]["name"] for tool in trace.annotations["tools"]] == ["get_fee", "block_card"]
    assert trace.annotations["parameters"] == {"parallel_tool_calls": False}


def test_a_bare_list_of_messages():
    (value,) = example("openai_chat_finetune.jsonl")
    assert CHAT.detect(value["messages"])
    assert core(one(CHAT, value["messages"])) == expected()


def test_the_columns_of_a_row_are_annotations():
    trace = one(CHAT, row(user("x"), said("y"), id="r1", score=1, topic="fees", session_id="c1", model="m"))
    assert {**trace.annotations, "source": None} == {
        **{"labels": {"score": 1}, "id": "r1", "topic": "fees", "conversation_id": "c1", "source": None}
    }
    assert trace.last.metadata["model"] == "m"


def test_what_was_noted_beside_the_messages_is_of_the_last_answer():
    found = turn(user("x"), said("y"), usage={"prompt_tokens": 3, "completion_tokens": 4}, latency_ms=12)
    assert found.metadata["usage"] == {"input_tokens": 3, "output_tokens": 4}
    assert found.metadata["latency_ms"] == 12
    assert "usage" not in turn(user("x"), usage={"prompt_tokens": 3}).metadata


def test_developer_messages_are_prompts():
    trace = one(CHAT, row({"role": "developer", "content": [{"type": "text", "text": "Be kind."}]}, user("x")))
    assert trace.annotations["system_prompt"] == "Be kind."


def test_tools_may_be_json_and_may_be_functions():
    assert one(CHAT, row(user("x"), tools='[{"name": "f"}]')).annotations["tools"] == [{"name": "f"}]
    assert one(CHAT, row(user("x"), functions=[{"name": "f"}])).annotations["tools"] == [{"name": "f"}]


# --- messages ------------------------------------------------------------------------


def test_legacy_function_calls():
    found = turn(
        user("x"),
        said(None, function_call={"name": "get_fee", "arguments": '{"item": "card"}'}),
        {"role": "function", "name": "get_fee", "content": '{"fee": 0}'},
        said("Free."),
    )
    (call,) = found.metadata["tool_calls"]
    assert (call["id"], call["name"], call["arguments"], call["result"]) == (
        None,
        "get_fee",
        {"item": "card"},
        {"fee": 0},
    )
    assert found.outputs == "Free."


def test_refusals_are_answers():
    found = turn(user("x"), said(None, refusal="I cannot help with that."))
    assert (found.outputs, found.metadata["refusal"]) == ("I cannot help with that.", True)
    part = {"type": "refusal", "refusal": "No."}
    found = turn(user("x"), said([part]))
    assert (found.outputs, found.metadata["refusal"]) == ("No.", True)
    found = turn(user("x"), said("Well.", refusal="No."))
    assert found.outputs == "Well.\n\nNo."
    assert "refusal" not in turn(user("x"), said("Yes.", refusal=None)).metadata
    assert turn(user("x"), said([{"type": "refusal", "refusal": 3}])).outputs == [{"type": "refusal", "refusal": 3}]


@pytest.mark.parametrize(
    ("key", "value", "thoughts"),
    [
        ("reasoning_content", "hm", ["hm"]),
        ("reasoning", "hm", ["hm"]),
        (
            "reasoning_details",
            [{"type": "reasoning.text", "text": "a"}, {"summary": "b"}, {"data": "…"}, 3],
            ["a", "b"],
        ),
        ("thinking_blocks", [{"type": "thinking", "thinking": "a", "signature": "c2ln"}], ["a"]),
    ],
)
def test_thoughts_are_no_answers(key, value, thoughts):
    found = turn(user("x"), said("y", **{key: value}))
    assert found.outputs == "y"
    assert found.metadata["reasoning"] == thoughts
    assert "c2ln" not in json.dumps(found.model_dump(mode="json"))


def test_contents_may_be_parts():
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    found = turn(user([{"type": "text", "text": "What is this?"}, image]), said([{"type": "text", "text": "A card."}]))
    assert found.inputs == [{"type": "text", "text": "What is this?"}, image]
    assert found.outputs == "A card."


def test_results_may_be_parts():
    parts = [{"type": "text", "text": '{"fee":'}, {"type": "text", "text": " 0}"}]
    found = turn(user("x"), said(None, tool_calls=[called("f")]), gave(parts), said("y"))
    assert found.metadata["tool_calls"][0]["result"] == {"fee": 0}


def test_results_may_be_failures():
    calls = [called("f", id=str(n)) for n in range(2)]
    results = [gave("down", "0", status="error"), gave("gone", "1", is_error=True)]
    found = turn(user("x"), said(None, tool_calls=calls), *results, said("y"))
    assert [(call["result"], call["error"]) for call in found.metadata["tool_calls"]] == [
        (None, "down"),
        (None, "gone"),
    ]


def test_what_was_spoken_or_drawn():
    assert turn(user("x"), said(None, audio={"id": "a", "transcript": "Hello."})).outputs == "Hello."
    image = {"type": "image_url", "image_url": {"url": "data:…"}}
    assert turn(user("x"), said("Here.", images=[image])).outputs == [{"type": "text", "text": "Here."}, image]


def test_weights_and_citations_are_kept():
    cited = [{"type": "url_citation", "url_citation": {"url": "https://example.org"}}]
    found = turn(user("x"), said("y", weight=0, annotations=cited))
    assert (found.metadata["weight"], found.metadata["citations"]) == (0, cited)


@pytest.mark.parametrize(
    ("call", "name", "arguments"),
    [
        ({"name": "f", "arguments": {"a": 1}}, "f", {"a": 1}),
        ({"name": "f", "args": {"a": 1}, "id": 7}, "f", {"a": 1}),
        ({"id": "1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}, "sh", {"input": "ls"}),
        ({"function": {"name": "f", "arguments": {"a": 1}}}, "f", {"a": 1}),
        ({"function": {"name": "f"}}, "f", None),
        ({"function": "f", "arguments": '{"a": 1}'}, "f", {"a": 1}),
    ],
)
def test_calls_are_written_in_many_ways(call, name, arguments):
    (found,) = turn(user("x"), said(None, tool_calls=[call])).metadata["tool_calls"]
    assert (found["name"], found["arguments"]) == (name, arguments)
    (found,) = turn(user("x"), said(None, tool_calls=json.dumps([call]))).metadata["tool_calls"]
    assert (found["name"], found["arguments"]) == (name, arguments)


def test_what_is_no_call_is_left_out():
    found = turn(user("x"), said("y", tool_calls=[None, 3, {}, {"id": None, "function": None}]))
    assert found.outputs == "y"
    assert found.metadata["tool_calls"] == []


def test_a_message_may_say_who_and_when():
    found = turn({**user("x"), "name": "ann", "timestamp": "2025-01-01T00:00:00Z"}, said("y", name="clerk"))
    assert [message["name"] for message in found.metadata["messages"]] == ["ann", "clerk"]
    assert found.metadata["timestamp"] == "2025-01-01T00:00:00Z"


# --- requests and responses ----------------------------------------------------------


def test_the_example_log():
    (value,) = example("openai_chat_log.json")
    assert CHAT.detect(value)
    trace = one(CHAT, value)
    (found,) = trace.interactions
    assert core(trace)["system_prompt"] == expected()["system_prompt"]
    assert found.inputs == expected()["turns"][0][0]
    assert found.outputs is None
    (call,) = found.metadata["tool_calls"]
    assert (call["name"], call["arguments"], call["answered"]) == ("get_fee", {"item": "card_replacement"}, False)
    rest = {key: found.metadata[key] for key in ("usage", "latency_ms", "model", "finish_reason", "timestamp")}
    assert rest == {
        "usage": {"input_tokens": 61, "output_tokens": 18, "reasoning_tokens": 0, "cached_tokens": 0},
        "latency_ms": 412,
        "model": "gpt-5-mini-2025-08-07",
        "finish_reason": "tool_calls",
        "timestamp": "2025-10-09T08:53:20+00:00",
    }
    assert "latency_ms" not in trace.annotations
    assert len(trace.annotations["tools"]) == 2


REQUEST = {"model": "asked", "messages": [user("x")], "temperature": 0, "metadata": {"team": "a"}}


@pytest.mark.parametrize(
    "log",
    [
        {"request": REQUEST, "response": completion(said("y"))},
        {"request": json.dumps(REQUEST), "response": json.dumps(completion(said("y")))},
        {"request": {"method": "POST", "body": REQUEST}, "response": {"status": 200, "body": completion(said("y"))}},
        {"request_body": REQUEST, "response_body": completion(said("y"))},
        {**REQUEST, "response": completion(said("y"))},
        {**REQUEST, **completion(said("y"))},
        {"body": REQUEST, "response": {"status_code": 200, "body": completion(said("y"))}, "custom_id": "7"},
        {"input": REQUEST, "output": completion(said("y"))},
    ],
    ids=["plain", "as JSON", "as HTTP", "bodies", "beside", "merged", "batch", "input and output"],
)
def test_logs_wrap_requests_and_responses_in_many_ways(log):
    assert CHAT.detect(log)
    trace = one(CHAT, log)
    (found,) = trace.interactions
    assert (found.inputs, found.outputs) == ("x", "y")
    assert found.metadata["model"] in ("m", "asked")
    assert trace.annotations["parameters"] == {"temperature": 0}
    assert trace.annotations["metadata"] == {"team": "a"}
    assert trace.annotations.keys() <= {"parameters", "metadata", "source", "custom_id", "id", "object"}


def test_a_bare_completion():
    value = completion(said("y"), created=1760000000)
    assert CHAT.detect(value)
    (found,) = one(CHAT, value).interactions
    assert (found.inputs, found.outputs) == (None, "y")
    assert found.metadata["response_id"] == "chatcmpl-1"


def test_a_response_without_its_request_and_a_request_without_its_response():
    assert one(CHAT, {"response": completion(said("y")), "request": None}).last.outputs == "y"
    assert one(CHAT, {"request": row(user("x")), "response": None}).last.metadata["incomplete"] is True


def test_each_choice_is_a_trace():
    value = {
        **REQUEST,
        "response": completion(said("y"), said("z"), usage={"prompt_tokens": 1, "completion_tokens": 9}),
    }
    traces, skipped = read(CHAT, value)
    assert not skipped
    assert [(trace.last.inputs, trace.last.outputs) for trace in traces] == [("x", "y"), ("x", "z")]
    assert [trace.annotations["choice"] for trace in traces] == [0, 1]
    for trace in traces:  # that of a single choice is not known
        assert "usage" not in trace.last.metadata
        assert trace.annotations["usage_of_all_choices"] == {"input_tokens": 1, "output_tokens": 9}


def test_errors_in_place_of_a_response():
    value = {"request": row(user("x")), "response": {"error": {"message": "overloaded"}}, "error": "overloaded"}
    found = one(CHAT, value).last
    assert found.outputs is None
    assert found.metadata["error"] == "overloaded"
    (answer,) = messages_of_response({"error": {"message": "overloaded"}})
    assert answer[0].metadata == {"error": {"message": "overloaded"}}


@pytest.mark.parametrize(
    ("noted", "known"),
    [
        ({"latency_ms": 3}, {"latency_ms": 3}),
        ({"durationMs": 3}, {"latency_ms": 3}),
        ({"latency_seconds": 0.4121}, {"latency_ms": 412.1}),
        ({"startTime": 100.0, "endTime": 100.5, "completionStartTime": 100.2}, {"latency_ms": 500.0, "ttft_ms": 200.0}),
        ({"start_time": "2025-01-01T00:00:00Z", "end_time": "2025-01-01T00:00:01.5Z"}, {"latency_ms": 1500.0}),
        ({"start_time": "2025-01-01T00:00:00", "end_time": "then"}, {}),
        ({"start_time": 5, "end_time": 4}, {}),
        ({"response_cost": 0.01}, {"cost_usd": 0.01}),
        ({"cost_usd": "free", "latency_ms": True}, {}),
        ({"ttft_ms": 80}, {"ttft_ms": 80}),
        ({"latency": 3}, {}),  # of what?
    ],
)
def test_what_a_logger_noted(noted, known):
    found = one(CHAT, {"request": row(user("x")), "response": completion(said("y")), **noted}).last
    figures = ("latency_ms", "ttft_ms", "cost_usd")
    assert {key: found.metadata[key] for key in figures if key in found.metadata} == pytest.approx(known)


def test_tokens_that_a_logger_noted():
    log = {"request": row(user("x")), "response": completion(said("y")), "prompt_tokens": 3, "completion_tokens": 4}
    assert one(CHAT, log).last.metadata["usage"] == {"input_tokens": 3, "output_tokens": 4}


def test_costs_that_come_with_the_usage():
    found = one(CHAT, completion(said("y"), usage={"prompt_tokens": 1, "cost": 0.02})).last
    assert found.metadata["cost_usd"] == 0.02


def test_text_completions():
    value = {"model": "m", "prompt": "x", "response": {"object": "text_completion", "choices": [{"text": "y"}]}}
    assert CHAT.detect(value)
    found = one(CHAT, value).last
    assert (found.inputs, found.outputs) == ("x", "y")


# --- preferences ---------------------------------------------------------------------


def test_preferences_are_two_traces_with_labels():
    value = {
        "input": {"messages": [user("x")], "tools": [{"name": "f"}], "parallel_tool_calls": True},
        "preferred_output": [said("y")],
        "non_preferred_output": [said("z")],
        "topic": "fees",
    }
    assert CHAT.detect(value)
    traces, skipped = read(CHAT, value)
    assert not skipped
    assert [(trace.last.inputs, trace.last.outputs) for trace in traces] == [("x", "y"), ("x", "z")]
    assert [trace.annotations["labels"] for trace in traces] == [{"preferred": True}, {"preferred": False}]
    assert all(trace.annotations["tools"] == [{"name": "f"}] for trace in traces)
    assert all(trace.annotations["topic"] == "fees" for trace in traces)


def test_preferences_may_be_texts_and_bare_lists():
    value = {"input": [user("x")], "preferred_output": "y", "non_preferred_output": [said("z")]}
    traces, _ = read(CHAT, value)
    assert [trace.last.outputs for trace in traces] == ["y", "z"]


# --- streams -------------------------------------------------------------------------


def chunk(id="c1", index=0, finish=None, usage=None, **delta):
    value = {"id": id, "object": "chat.completion.chunk", "created": 1760000000, "model": "m"}
    value["choices"] = [] if usage else [{"index": index, "delta": delta, "finish_reason": finish}]
    return {**value, "usage": usage}


def fragment(index, arguments, **more):
    function = {"arguments": arguments, **({"name": more.pop("name")} if "name" in more else {})}
    return {"index": index, "function": function, **more}


CHUNKS = [
    chunk(role="assistant", content=""),
    chunk(reasoning_content="hm"),
    chunk(content="Let me "),
    chunk(content="see."),
    chunk(tool_calls=[fragment(0, "", id="call_1", name="f", type="function")]),
    chunk(tool_calls=[fragment(0, '{"a"')]),
    chunk(tool_calls=[fragment(1, "{}", id="call_2", name="g", type="function")]),
    chunk(tool_calls=[fragment(0, ": 1}")]),
    chunk(finish="tool_calls"),
    chunk(usage={"prompt_tokens": 3, "completion_tokens": 4}),
]


def check_stream(found):
    assert found.metadata["intermediate"][0]["text"] == "Let me see."
    calls = [(call["id"], call["name"], call["arguments"]) for call in found.metadata["tool_calls"]]
    assert calls == [("call_1", "f", {"a": 1}), ("call_2", "g", {})]
    assert found.metadata["reasoning"] == ["hm"]
    assert found.metadata["usage"] == {"input_tokens": 3, "output_tokens": 4}
    assert (found.metadata["finish_reason"], found.metadata["model"]) == ("tool_calls", "m")


def events(chunks):
    return "".join(f"data: {json.dumps(piece)}\n\n" for piece in chunks) + "data: [DONE]\n\n"


def test_chunks_that_are_records_make_one_answer():
    assert all(map(CHAT.detect, CHUNKS))
    check_stream(one(CHAT, *CHUNKS).last)


@pytest.mark.parametrize(
    "response", [CHUNKS, events(CHUNKS), events(CHUNKS).replace("\n\n", "\n"), {"body": events(CHUNKS)}]
)
def test_chunks_in_a_response(response):
    log = {"request": row(user("x")), "response": response}
    assert CHAT.detect(log)
    found = one(CHAT, log).last
    assert found.inputs == "x"
    check_stream(found)


def test_a_list_of_chunks():
    assert CHAT.detect(CHUNKS)
    check_stream(one(CHAT, CHUNKS).last)


def test_streams_may_be_mixed_and_wrapped_and_among_other_records():
    other = [{"ts": 1, "data": chunk("c2", content=text)} for text in ("a", "b")]
    mixed = [CHUNKS[0], other[0], row(user("q"), said("r")), *CHUNKS[1:5], other[1], *CHUNKS[5:]]
    traces, skipped = read(CHAT, *mixed)
    assert not skipped
    assert [trace.last.outputs for trace in traces] == ["r", None, "ab"]
    assert [trace.annotations["source"]["line"] for trace in traces] == [3, 1, 2]
    check_stream(traces[1].last)


def test_choices_of_a_stream():
    traces, _ = read(CHAT, [chunk(content="a"), chunk(index=1, content="b"), chunk(content="c")])
    assert [trace.last.outputs for trace in traces] == ["ac", "b"]


def test_fragments_without_an_index():
    calls = [{"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}, {"id": "2", "function": {"name": "g"}}]
    found = one(CHAT, [chunk(tool_calls=calls), chunk(tool_calls=[{"function": {"arguments": "{}"}}])]).last
    assert [(call["name"], call["arguments"]) for call in found.metadata["tool_calls"]] == [("f", {"a": 1}), ("g", {})]


def test_a_legacy_call_in_a_stream():
    pieces = [chunk(function_call={"name": "f", "arguments": ""}), chunk(function_call={"arguments": '{"a": 1}'})]
    (call,) = one(CHAT, pieces).last.metadata["tool_calls"]
    assert (call["name"], call["arguments"]) == ("f", {"a": 1})


def test_a_custom_call_in_a_stream():
    first = {"index": 0, "id": "1", "type": "custom", "custom": {"name": "sh", "input": "l"}}
    pieces = [chunk(tool_calls=[first]), chunk(tool_calls=[{"index": 0, "custom": {"input": "s"}}])]
    (call,) = one(CHAT, pieces).last.metadata["tool_calls"]
    assert (call["name"], call["arguments"]) == ("sh", {"input": "ls"})


# --- what it takes for its own -------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        *(None, 3, "text", [], {}, [3], {"messages": []}, {"messages": "x"}, {"messages": [{"content": "x"}]}),
        {"messages": [{"role": "ROLE_USER", "content": "x"}]},
        {"messages": [{"role": "user", "parts": []}]},
        {"choices": []},
        {"input": "x", "output": "y"},
        {"prompt": "x", "completion": "y"},
        {"role": "user", "content": "x"},
    ],
)
def test_what_is_not_of_this_format(value):
    assert not CHAT.detect(value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (row(), "its list of messages is empty"),
        ({"messages": "x"}, "messages: expected a list of messages, got str"),
        (row(3), "message 0: expected an object, got int"),
        (row(user("x"), {"role": "critic", "content": "y"}), "message 1: its role is 'critic'; known are system, "),
        (row({"content": "y"}), "message 0: its role is None"),
        ({"x": 1}, "it holds no messages and no completion"),
        (3, "expected an object with messages, got int"),
        ([], "its list of messages is empty"),
        ({"input": {}, "preferred_output": 3, "non_preferred_output": []}, "preferred_output: expected a list"),
    ],
)
def test_why_a_record_is_not_read(value, reason):
    assert reason in why_not(CHAT, value)


def test_odd_values_anywhere_hide_no_other_record():
    message = said("y", tool_calls=[called("f")], refusal="no", annotations=[{}], audio={"transcript": "t"}, weight=1)
    log = {"request": row(user([{"type": "text", "text": "x"}]), message, gave("1"), tools=[{}]), "latency_ms": 1}
    assert withstands(CHAT, {**log, "response": completion(said("z"), usage={"prompt_tokens": 1}, created=1)})
    assert withstands(CHAT, {"input": row(user("x")), "preferred_output": [said("y")], "non_preferred_output": []})
    assert withstands(CHAT, [CHUNKS[0], CHUNKS[4], CHUNKS[-1]])


def test_records_are_left_as_they_are():
    values = [example("openai_chat_log.json")[0], example("openai_chat_finetune.jsonl")[0], CHUNKS]
    before = copy.deepcopy(values)
    read(CHAT, *values, keep_raw=True)
    assert values == before


def test_records_are_kept_when_asked_for():
    value = completion(said("y"), system_fingerprint="fp")
    found = one(CHAT, {"request": row(user("x")), "response": value}, keep_raw=True).last
    assert found.metadata["raw"] == [user("x"), value]


# --- for those who have bodies at hand -----------------------------------------------


def test_bodies():
    (message,) = messages_of_request(row(user("x")))
    assert (message.role, message.content) == ("user", "x")
    assert annotations_of_request({"tools": [{"name": "f"}]}) == {"tools": [{"name": "f"}]}
    assert annotations_of_request({}) == {}
    assert [[m.content for m in answer] for answer in messages_of_response(completion(said("y"), said("z")))] == [
        ["y"],
        ["z"],
    ]
    assert messages_of_response({}) == messages_of_response(None) == messages_of_response("no events") == []
    assert messages_of_request({}) == []


# --- rows that are read without making messages of them first -------------------------

LINES = Path(__file__).parents[2] / "examples" / "airline_support" / "data" / "conversations.jsonl"


def test_the_short_way_leads_to_the_same_traces():
    rows = [json.loads(line)["traj"] for line in LINES.read_text("utf-8").splitlines()]
    odd = [
        [said("a"), gave("b"), gave("c", "")],
        [gave("a", name="f"), said("", tool_calls=[called("f"), called("g", "{", "2")]), gave('{"x": [1]}'), said("")],
        [user("a"), user("b"), said(None), said("c"), said(None, tool_calls=[]), {**gave("d"), "name": 3}],
        [{"role": "system", "content": "s"}, user([{"type": "text", "text": "a"}]), said(None, tool_calls=None)],
        [user("a"), said("b", tool_calls=[called("f", id=None)]), gave("c", None), gave("d", 7)],
    ]
    for messages in [*rows, *odd]:
        turns = Turns(ReadOptions())
        assert add_messages(turns, messages) == len(messages)
        short = turns.trace({"n": 1}).model_dump(mode="json")
        assert short == to_trace(messages_of(messages), {"n": 1}, ReadOptions()).model_dump(mode="json")


def test_recorded_conversations_with_ids_that_repeat():
    rows = [json.loads(line)["traj"] for line in LINES.read_text("utf-8").splitlines()]
    traces = [one(CHAT, row) for row in rows]
    entries = [call for trace in traces for turn in trace.interactions for call in turn.metadata.get("tool_calls", ())]
    assert len(traces) == 40
    assert all(trace.last.metadata["incomplete"] for trace in traces)
    assert all("orphan_results" not in turn.metadata for trace in traces for turn in trace.interactions)
    # A result follows its call at once in these files.
    wanted = [
        (call["id"], call["function"]["name"], following["content"])
        for row in rows
        for message, following in itertools.pairwise(row)
        for call in message.get("tool_calls") or ()
    ]
    found = [(call["id"], call["name"], call["result"]) for call in entries]
    assert [(id, name, json_or_text(content)) for id, name, content in wanted] == found
    assert len(found) == 274
    assert sum(isinstance(result, str) for _, _, result in found) == 52


# --- figures of the last call of a turn ----------------------------------------------

USED = {"prompt_tokens": 10, "completion_tokens": 3}
SPENT = {"usage": {"input_tokens": 10, "output_tokens": 3}, "latency_ms": 100}


@pytest.mark.parametrize(
    ("messages", "is_whole"),
    [
        ([user("x")], True),
        ([user("x"), said("y"), user("z")], True),
        ([user("x"), said("y"), user("z"), user("again")], True),
        ([user("x"), said(None, tool_calls=[called("f")]), gave("1")], False),
        ([user("x"), said("One moment.")], False),
        ([gave("1")], False),
    ],
)
def test_figures_of_an_answer_are_those_of_its_turn_when_the_model_was_called_once(messages, is_whole):
    log = {"request": {"model": "m", "messages": messages}, "response": completion(said("y"), usage=USED)}
    beside = row(*messages, said("y"), usage=USED, latency_ms=100)
    plain = json.loads(json.dumps(beside))
    named = row(*({**message, "weight": 1} for message in beside["messages"]), usage=USED, latency_ms=100)
    for value in ({**log, "latency_ms": 100}, beside, plain, named):
        found = one(CHAT, value).last.metadata
        told = {name: found[name] for name in ("usage", "latency_ms") if name in found}
        assert (told, found.get("last_call")) == ((SPENT, None) if is_whole else ({}, SPENT))


def test_checks_of_budgets_do_not_take_the_last_call_for_the_turn():
    request = {"model": "m", "messages": [user("x"), said(None, tool_calls=[called("f")]), gave("1")]}
    log = {"request": request, "response": completion(said("y"), usage=USED), "latency_ms": 100, "cost_usd": 0.1}
    trace = one(CHAT, log)
    assert trace.last.metadata["last_call"] == {**SPENT, "cost_usd": 0.1}
    for check in (MaxTokens(per_turn=20), MaxLatency(per_turn_ms=1000), MaxCost(per_turn=1)):
        assert asyncio.run(check.run(trace)).status.value == "error"


def test_each_choice_has_figures_of_its_own():
    request = {"model": "m", "messages": [user("x"), said("One moment.")]}
    log = {"request": request, "response": completion(said("y"), said("z")), "latency_ms": 100}
    assert [trace.last.metadata["last_call"] for trace in read(CHAT, log)[0]] == [{"latency_ms": 100}] * 2
