"""Recorded HTTP traffic: cassettes of vcrpy and others, HAR."""

import base64
import gzip
import io
import json
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.importers import _http_bodies, _yaml
from giskard.checks.importers.base import BadRecord, Reading, ReadOptions, Record
from giskard.checks.importers.cassette import Cassette
from giskard.checks.importers.load import load_traces

CASSETTES = Path(__file__).parent / "data" / "cassettes"
CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
ANTHROPIC = "https://api.anthropic.com/v1/messages"


def load(value, **options):
    """The traces of a recording that is data, and the report."""
    reading = Reading(ReadOptions(**options))
    return list(Cassette().read(iter([Record(value, "c.json")]), reading)), reading.report


def load_file(data, path=None):
    reading = Reading()
    return list(Cassette().read_file(io.BytesIO(data), path, reading)), reading.report


def entry(uri, request, response, code=200, headers=None, method="POST"):
    body = response if isinstance(response, (str, bytes)) or response is None else json.dumps(response)
    return {
        "request": {"method": method, "uri": uri, "body": json.dumps(request), "headers": {}},
        "response": {"status": {"code": code, "message": ""}, "headers": headers or {}, "body": {"string": body}},
    }


def chat(messages, answer, **more):
    said = {"role": "assistant", "content": answer} if isinstance(answer, str) else {"role": "assistant", **answer}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    reply = {"object": "chat.completion", "model": "m-1", "choices": [{"index": 0, "message": said}], "usage": usage}
    return entry(CHAT, {"model": "m", "messages": messages}, reply, **more)


def user(text):
    return {"role": "user", "content": text}


def bot(text):
    return {"role": "assistant", "content": text}


def turns(traces):
    return [[(turn.inputs, turn.outputs) for turn in trace.interactions] for trace in traces]


def cassette(*entries):
    return {"version": 1, "interactions": list(entries)}


# --- real ones ---------------------------------------------------------------------------

# For each file: for each conversation, for each turn, how the question and the answer begin, and its calls with whether
# they have a result; and the tokens of the last turn.
REAL = {
    "anthropic_test_anthropic_thinking_legacy": [
        [("How many times does the letter 'r' appear", "The letter 'r' appears 3 times in the word", [], (52, 215))]
    ],
    "anthropic_test_anthropic_tools_history_legacy": [
        [("What is the weather and current time in San", None, [("get_weather", True), ("get_time", False)], (568, 58))]
    ],
    "anthropic_test_anthropic_tools_legacy": [
        [("What is the weather like right now in New", None, [("get_weather", False), ("get_time", False)], (514, 152))]
    ],
    "anthropic_test_anthropic_tools_streaming_legacy": [
        [
            (
                "What is the weather and current time in San",
                None,
                [("get_weather", False), ("get_time", False)],
                (506, 153),
            )
        ]
    ],
    "openai-agents_test_recipe_workflow_agent_handoffs_with_function_tools": [
        [
            (
                "Can you edit the carbonara recipe to be",
                "Here's the modified Vegetarian Carbonara recipe:",
                [("search_recipes", True), ("plan_and_apply_recipe_modifications", True)],
                (1121, 229),
            )
        ]
    ],
    "openai-agents_test_tool_call_and_result_attributes": [
        [("Tell me about London", "London is the capital city of the United", [("get_city_info", True)], (193, 53))],
        [("Tell me about London", "London, the capital city of the United", [("get_city_info", True)], (193, 56))],
    ],
    "openai_test_chat_streaming": [
        [("Tell me a joke about opentelemetry", "In the observability department, Prometheus,", [], (10, 50))]
    ],
    "openai_test_responses_streaming_with_context_manager": [
        [("Count to 5", "1, 2, 3, 4, 5.", [], (11, 15))],
        [("Count to 5", "1, 2, 3, 4, 5.", [], (11, 15))],
    ],
}
APIS = {"anthropic": "anthropic", "openai-agents": "openai_responses", "openai": "openai_responses"}
LATE = {"anthropic_test_anthropic_tools_history_legacy"}  # whose turn began before it was recorded
LINES = {
    "openai-agents_test_tool_call_and_result_attributes": [2, 241],
    "openai_test_responses_streaming_with_context_manager": [2, 179],
}


def test_all_the_real_ones_are_looked_at():
    assert {path.stem for path in CASSETTES.glob("*.yaml")} == REAL.keys()


@pytest.mark.parametrize("name", REAL)
def test_real_cassettes(name):
    traces = load_traces(CASSETTES / f"{name}.yaml")
    read = list(traces)

    assert traces.report.skipped == [] and traces.report.formats == {"cassette": len(REAL[name])}
    assert [len(trace.interactions) for trace in read] == [len(trace) for trace in REAL[name]]
    for trace, wanted in zip(read, REAL[name], strict=True):
        for turn, (asked, answered, calls, tokens) in zip(trace.interactions, wanted, strict=True):
            assert turn.inputs.startswith(asked)
            assert turn.outputs is None if answered is None else turn.outputs.startswith(answered)
            assert turn.metadata.get("incomplete", False) is (answered is None)
            found = turn.metadata.get("tool_calls", [])
            assert [(call["name"], call.get("answered", True)) for call in found] == calls
            usage = (turn.metadata["last_call"] if name in LATE else turn.metadata)["usage"]
            assert (usage["input_tokens"], usage["output_tokens"]) == tokens
    assert [trace.annotations["source"]["line"] for trace in read] == LINES.get(name, [2])
    assert {trace.annotations["api"] for trace in read} == {
        APIS[name.partition("_")[0]] if "chat" not in name else "openai_chat"
    }


def test_what_the_real_ones_say_beside_that():
    [history] = load_traces(CASSETTES / "anthropic_test_anthropic_tools_history_legacy.yaml")
    weather, clock = history.last.metadata["tool_calls"]
    assert weather["arguments"] == {"location": "San Francisco, CA"}
    assert weather["result"] == "Sunny and 65 degrees Fahrenheit"
    assert clock["arguments"] == {"timezone": "America/Los_Angeles"}
    assert len(history.annotations["tools"]) == 2

    [streamed] = load_traces(CASSETTES / "anthropic_test_anthropic_tools_streaming_legacy.yaml")
    assert [call["arguments"] for call in streamed.last.metadata["tool_calls"]] == [
        {"location": "San Francisco, CA", "unit": "celsius"},
        {"timezone": "America/Los_Angeles"},
    ]
    assert streamed.last.metadata["intermediate"][0]["text"].startswith("Certainly! I can help you with that")

    [thinking] = load_traces(CASSETTES / "anthropic_test_anthropic_thinking_legacy.yaml")
    assert thinking.last.metadata["reasoning"][0].startswith("Let me count the number of times")

    traces = load_traces(CASSETTES / "openai-agents_test_recipe_workflow_agent_handoffs_with_function_tools.yaml")
    [recipe] = traces
    assert recipe.annotations["system_prompt"].startswith("You are a recipe editor specialist.")
    search, plan = recipe.last.metadata["tool_calls"]
    assert search["arguments"] == {"query": "carbonara"} and search["result"].startswith(
        "status='success' message='Found"
    )
    assert plan["arguments"]["modification_request"] == "Make it vegetarian"
    assert search["message_index"] < plan["message_index"]  # one after the other
    assert traces.report.notes == ["1 recorded request was to no API of a model that is known: /v1/traces/ingest (1)"]


def test_all_together():
    traces = load_traces(CASSETTES)
    read = list(traces)

    assert len(read) == 10 and traces.report.files == 8 and traces.report.incomplete == 3
    assert sum(len(turn.metadata.get("tool_calls", [])) for trace in read for turn in trace.interactions) == 10


# --- conversations -----------------------------------------------------------------------


def test_requests_that_repeat_what_was_said_are_one_conversation():
    call = {
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    said = [{"role": "system", "content": "Be brief."}, user("a")]
    second = [*said, {"role": "assistant", **call}, {"role": "tool", "tool_call_id": "1", "content": "2"}]
    third = [*second, bot("b"), user("c")]

    [trace], report = load(cassette(chat(said, call), chat(second, "b"), chat(third, "d")))

    assert turns([trace]) == [[("a", "b"), ("c", "d")]] and report.skipped == []
    first, last = trace.interactions
    assert first.metadata["tool_calls"][0]["result"] == 2
    assert first.metadata["usage"] == {"input_tokens": 20, "output_tokens": 10}  # of both requests
    assert last.metadata["usage"] == {"input_tokens": 10, "output_tokens": 5}
    assert trace.annotations == {
        "system_prompt": "Be brief.",
        "source": {"format": "cassette", "path": "c.json", "entry": 1},
        "api": "openai_chat",
    }


def test_others_are_conversations_of_their_own():
    same = chat([user("a")], "b")
    assert turns(load(cassette(same, same))[0]) == [[("a", "b")]] * 2
    edited = chat([user("a"), bot("B"), user("c")], "d")
    assert turns(load(cassette(same, edited))[0]) == [[("a", "b")], [("a", "B"), ("c", "d")]]


def test_conversations_at_the_same_time():
    first, second = chat([user("a")], "1"), chat([user("b")], "2")
    more = chat([user("a"), bot("1"), user("c")], "3"), chat([user("b"), bot("2"), user("c")], "4")

    assert turns(load(cassette(first, second, *more))[0]) == [[("a", "1"), ("c", "3")], [("b", "2"), ("c", "4")]]


def test_the_same_question_twice_at_the_same_time_is_told_apart_by_the_ids_of_calls():
    def call(name):
        return {"content": None, "tool_calls": [{"id": name, "function": {"name": "f", "arguments": "{}"}}]}

    def answered(name, text):
        result = {"role": "tool", "tool_call_id": name, "content": name}
        return chat([user("a"), {"role": "assistant", **call(name)}, result], text)

    entries = [chat([user("a")], call("x")), chat([user("a")], call("y")), answered("x", "1"), answered("y", "2")]

    traces, _ = load(cassette(*entries))
    assert [(trace.last.metadata["tool_calls"][0]["id"], trace.last.outputs) for trace in traces] == [
        ("x", "1"),
        ("y", "2"),
    ]
    # A client may make up ids of its own.
    assert turns(load(cassette(entries[0], answered("call_0", "1")))[0]) == [[("a", "1")]]


def test_an_agent_that_hands_over_says_so():
    said = [user("a"), bot("b"), user("c")]
    first = chat([{"role": "system", "content": "One."}, *said[:1]], "b")
    second = chat([{"role": "system", "content": "Two."}, *said], "d")

    [trace], _ = load(cassette(first, second))

    assert turns([trace]) == [[("a", "b"), ("c", "d")]]
    assert trace.annotations["system_prompt"] == "One."
    assert any(
        said["role"] == "system" and said["content"] == "Two."
        for turn in trace.interactions
        for said in turn.metadata["messages"]
    )


def response(number, text, **more):
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
    return {"id": f"resp_{number}", "object": "response", "status": "completed", "output": output, **more}


def test_responses_that_name_the_one_before():
    entries = [
        entry(RESPONSES, {"input": "a"}, response(1, "b")),
        entry(RESPONSES, {"input": "x"}, response(2, "y")),
        entry(RESPONSES, {"input": "c", "previous_response_id": "resp_1"}, response(3, "d")),
        entry(
            RESPONSES, {"input": [{"role": "user", "content": "e"}], "previous_response_id": "resp_3"}, response(4, "f")
        ),
        entry(RESPONSES, {"input": "z", "previous_response_id": "resp_unknown"}, response(5, "?")),
    ]

    assert turns(load(cassette(*entries))[0]) == [[("a", "b"), ("c", "d"), ("e", "f")], [("x", "y")], [("z", "?")]]


def test_several_answers_to_one_request():
    both = entry(CHAT, {"messages": [user("a")]}, {"choices": [{"message": bot("1")}, {"message": bot("2")}]})
    more = chat([user("a"), bot("2"), user("b")], "3")

    assert turns(load(cassette(both, more))[0]) == [[("a", "1")], [("a", "2"), ("b", "3")]]


# --- what failed -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "body", "said"),
    [
        (500, "oops", "HTTP 500: oops"),
        (429, {"error": {"message": "slow down", "type": "rate"}}, "HTTP 429: slow down"),
        (400, {"error": "bad"}, "HTTP 400: bad"),
        (
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "HTTP 529: Overloaded",
        ),
        (503, "", "HTTP 503"),
        (404, {"detail": [{"x": 1}]}, 'HTTP 404: [{"x": 1}]'),
        (200, "", "the response holds no answer"),
        (200, "<html>", "the response holds no answer"),
        (0, None, "there was no response"),
    ],
)
def test_requests_without_an_answer(code, body, said):
    [trace], report = load(cassette(entry(CHAT, {"messages": [user("a")]}, body, code=code)))

    assert turns([trace]) == [[("a", None)]] and report.skipped == []
    assert trace.last.metadata["error"] == said and trace.last.metadata["incomplete"] is True


def test_a_request_that_was_made_again():
    failed = entry(CHAT, {"messages": [user("a")]}, "busy", code=503)
    later = chat([user("a"), bot("b"), user("c")], "d")

    [trace], _ = load(cassette(failed, failed, chat([user("a")], "b"), later))

    assert turns([trace]) == [[("a", "b"), ("c", "d")]]
    assert trace.interactions[0].metadata["retries"] == [{"error": "HTTP 503: busy"}] * 2
    assert "error" not in trace.interactions[0].metadata and "incomplete" not in trace.interactions[0].metadata


# --- bodies ------------------------------------------------------------------------------

REPLY = json.dumps({"choices": [{"message": {"role": "assistant", "content": "größer"}}]}).encode()
CHUNKS = "".join(
    f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': piece}}]})}\n\n" for piece in ("grö", "ßer")
)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ({"string": REPLY.decode()}, {}),
        ({"string": REPLY}, {}),
        ({"string": b"\xef\xbb\xbf" + REPLY}, {}),
        ({"string": gzip.compress(REPLY)}, {"Content-Encoding": ["gzip"]}),
        ({"string": gzip.compress(REPLY)}, {}),
        ({"string": REPLY}, {"Content-Encoding": ["gzip"]}),  # unpacked by the recorder
        ({"string": zlib.compress(REPLY)}, {"content-encoding": "deflate"}),
        ({"string": zlib.compress(REPLY)[2:-4]}, {"content-encoding": ["deflate"]}),
        ({"string": REPLY}, {"content-encoding": ["br"]}),
        ({"string": base64.b64encode(gzip.compress(REPLY)).decode()}, {}),
        ({"base64_string": base64.b64encode(REPLY).decode()}, {}),
        ({"encoding": "UTF-8", "string": REPLY.decode()}, {}),
        ({"encoding": "base64", "text": base64.b64encode(REPLY).decode(), "mimeType": "application/json"}, []),
        (REPLY.decode(), {}),
        (json.loads(REPLY), {}),
        ({"string": CHUNKS + "data: [DONE]\n\n"}, {}),
        ({"string": gzip.compress(CHUNKS.encode())}, {}),
    ],
)
def test_bodies(body, headers):
    value = entry(CHAT, {"messages": [user("a")]}, "")
    value["response"] |= {"body": body, "headers": headers}

    assert turns(load(cassette(value))[0]) == [[("a", "größer")]]


def test_bodies_that_cannot_be_read(monkeypatch):
    packed = entry(CHAT, {"messages": [user("a")]}, b"\xff\xfe\x00", headers={"content-encoding": ["br"]})
    zstd = entry(CHAT, {"messages": [user("a")]}, b"\x28\xb5\x2f\xfd\xff", headers={"content-encoding": ["zstd"]})
    broken = entry(CHAT, {"messages": [user("a")]}, gzip.compress(REPLY)[:10] + b"\xff" * 20)
    monkeypatch.setattr(_http_bodies, "_LARGEST", 1000)
    bomb = entry(CHAT, {"messages": [user("a")]}, gzip.compress(b" " * 10_000))

    traces, report = load(cassette(packed, zstd, broken, bomb, chat([user("a")], "b")))

    assert turns(traces) == [[("a", "b")]]
    reasons = [skip.reason for skip in report.skipped]
    assert "entry 1: it is packed with brotli" in reasons[0] and "entry 2: it is packed with zstd" in reasons[1]
    assert "entry 3: it cannot be unpacked" in reasons[2] and "entry 4: it unpacks to more than 1,000" in reasons[3]


def test_bodies_that_were_recorded_as_data():
    value = entry(CHAT, {}, "")
    value["request"]["parsed_body"] = {"messages": [user("a")]}
    value["response"]["parsed_body"] = json.loads(REPLY)

    assert turns(load(cassette(value))[0]) == [[("a", "größer")]]


@pytest.mark.parametrize("body", ["", "no JSON", "[]", "null"])
def test_requests_that_say_nothing(body):
    value = entry(CHAT, {}, REPLY)
    value["request"]["body"] = body

    traces, report = load(cassette(value))

    assert traces == [] and "entry 1: the body of the request is no JSON object" in report.skipped[0].reason


# --- addresses ---------------------------------------------------------------------------


def gemini(stream=False):
    reply = {"candidates": [{"content": {"role": "model", "parts": [{"text": "b"}]}}]}
    return {"contents": [{"role": "user", "parts": [{"text": "a"}]}]}, [reply] if stream else reply


CONVERSE = {"messages": [{"role": "user", "content": [{"text": "a"}]}]}
CONVERSED = {"output": {"message": {"role": "assistant", "content": [{"text": "b"}]}}, "metrics": {"latencyMs": 7}}
MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "b"}]}
ASKED = {"messages": [user("a")]}
CHAT_REPLY = {"choices": [{"message": bot("b")}]}


@pytest.mark.parametrize(
    ("uri", "request_body", "response_body", "api", "model"),
    [
        (CHAT, ASKED, CHAT_REPLY, "openai_chat", None),
        (CHAT + "/?x=1", ASKED, CHAT_REPLY, "openai_chat", None),
        ("http://localhost:11434/v1/chat/completions", ASKED, CHAT_REPLY, "openai_chat", None),
        (
            "https://x.openai.azure.com/openai/deployments/d-1/chat/completions?v=2",
            ASKED,
            CHAT_REPLY,
            "openai_chat",
            "d-1",
        ),
        ("https://api.openai.com/v1/completions", {"prompt": "a"}, {"choices": [{"text": "b"}]}, "openai_chat", None),
        (RESPONSES, {"input": "a"}, response(1, "b"), "openai_responses", None),
        (ANTHROPIC + "?beta=true", ASKED, MESSAGE, "anthropic", None),
        (
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-3%3A0/invoke",
            {**ASKED, "anthropic_version": "bedrock-2023-05-31"},
            MESSAGE,
            "anthropic",
            "anthropic.claude-3:0",
        ),
        ("https://g.com/v1beta/models/gemini-2.5-pro:generateContent?key=k", *gemini(), "gemini", "gemini-2.5-pro"),
        ("https://g.com/v1/models/gemini-x%3AgenerateContent", *gemini(), "gemini", None),
        ("https://g.com/v1beta/models/gemini-x:streamGenerateContent", *gemini(True), "gemini", "gemini-x"),
        ("https://bedrock.aws/model/m-1/converse", CONVERSE, CONVERSED, "bedrock", "m-1"),
    ],
)
def test_addresses(uri, request_body, response_body, api, model):
    [trace], report = load(cassette(entry(uri, request_body, response_body)))

    assert turns([trace]) == [[("a", "b")]] and report.skipped == [] and report.notes == []
    assert trace.annotations["api"] == api
    if model is not None:
        assert trace.last.metadata["model"] == model


@pytest.mark.parametrize(
    ("method", "uri"),
    [
        ("POST", "https://api.openai.com/v1/embeddings"),
        ("POST", "https://api.openai.com/v1/threads/t/messages"),
        ("GET", "https://api.openai.com/v1/responses"),
        ("GET", CHAT),
        ("POST", "https://example.com"),
        ("POST", "http://[bad"),
        ("POST", "https://bedrock.aws/model/meta.llama/invoke"),
    ],
)
def test_other_addresses_are_counted(method, uri):
    traces, report = load(cassette(entry(uri, {"a": 1}, {}, method=method), chat([user("a")], "b")))

    assert turns(traces) == [[("a", "b")]] and report.skipped == []
    assert report.notes[0].startswith("1 recorded request was to no API of a model that is known: ")


def test_many_other_addresses():
    entries = [entry(f"https://x/{n}", {}, {}) for n in range(9)] + [entry("https://x/0", {}, {})]

    assert (
        load(cassette(*entries))[1]
        .notes[0]
        .startswith("10 recorded requests were to no API of a model that is known: /0 (2), /1 (1), ")
    )


def aws_event(kind, value):
    name, payload = kind.encode(), json.dumps(value).encode()
    header = b"\x0b:event-type\x07" + struct.pack(">H", len(name)) + name + b"\x04flag\x00\x03num\x04\x00\x00\x00\x01"
    head = struct.pack(">II", 16 + len(header) + len(payload), len(header))
    body = head + struct.pack(">I", zlib.crc32(head)) + header + payload
    return body + struct.pack(">I", zlib.crc32(body))


def test_streams_of_amazon():
    events = [
        aws_event("messageStart", {"role": "assistant"}),
        aws_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "b"}}),
        aws_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "ß"}}),
        aws_event("messageStop", {"stopReason": "end_turn"}),
        aws_event("metadata", {"usage": {"inputTokens": 1, "outputTokens": 2}, "metrics": {"latencyMs": 3}}),
    ]
    uri = "https://bedrock.aws/model/m/converse-stream"

    [trace], _ = load(cassette(entry(uri, CONVERSE, b"".join(events))))
    assert trace.last.outputs == "bß" and trace.last.metadata["usage"] == {"input_tokens": 1, "output_tokens": 2}
    [cut], _ = load(cassette(entry(uri, CONVERSE, b"".join(events)[:-20])))
    assert cut.last.outputs == "bß"

    def packed(event):
        return aws_event("chunk", {"bytes": base64.b64encode(json.dumps(event).encode()).decode()})

    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ß"}}
    asked = {**ASKED, "anthropic_version": "x"}
    passed_on = entry("https://b/model/m/invoke-with-response-stream", asked, packed(start) + packed(delta))
    assert turns(load(cassette(passed_on))[0]) == [[("a", "ß")]]


# --- forms of recordings -----------------------------------------------------------------


def har(**more):
    return {
        "startedDateTime": "2025-10-09T08:53:20.000Z",
        "time": 912.5,
        "request": {
            "method": "POST",
            "url": CHAT,
            "headers": [{"name": "Content-Type", "value": "application/json"}],
            "postData": {"mimeType": "application/json", "text": json.dumps(ASKED)},
        },
        "response": {
            "status": 200,
            "headers": [{"name": "Content-Type", "value": "application/json"}],
            "content": {"size": 3, "mimeType": "application/json", "text": json.dumps(CHAT_REPLY)},
        },
        "timings": {"blocked": 1, "dns": -1, "connect": 20, "send": 0.5, "wait": 400, "receive": 491},
        **more,
    }


def test_har(write):
    path = write("log.har", {"log": {"version": "1.2", "entries": [har(), har(time=-1, startedDateTime=None)]}})

    first, second = load_traces(path)

    assert turns([first, second]) == [[("a", "b")]] * 2
    assert first.last.metadata["latency_ms"] == 912.5 and "ttft_ms" not in first.last.metadata
    assert first.last.metadata["timestamp"] == "2025-10-09T08:53:20.000Z"
    assert first.annotations["source"] == {"format": "cassette", "path": str(path), "line": 1, "entry": 1}
    assert "latency_ms" not in second.last.metadata and "timestamp" not in second.last.metadata


def test_har_of_a_stream():
    value = har()
    value["response"]["content"] = {"mimeType": "text/event-stream; charset=utf-8", "text": CHUNKS}
    value["response"]["headers"] = []

    [trace], _ = load({"log": {"entries": [value]}})

    assert trace.last.outputs == "größer" and trace.last.metadata["ttft_ms"] == 421.5


def test_har_with_a_mark_and_packed(write):
    data = b"\xef\xbb\xbf" + json.dumps({"log": {"entries": [har()]}}).encode()

    assert turns(load_traces(write("a.har.gz", gzip.compress(data)))) == [[("a", "b")]]


def test_json_cassettes(write):
    value = cassette(chat([user("a")], "b"))

    assert turns(load_traces(write("a.json", value))) == [[("a", "b")]]
    assert turns(load_traces(write("b.yaml", value))) == [[("a", "b")]]  # JSON is YAML


def test_one_entry_a_line(write):
    lines = [chat([user("a")], "b"), chat([user("a"), bot("b"), user("c")], "d")]
    path = write("a.jsonl", "\n".join(map(json.dumps, lines)))

    [trace] = load_traces(path)

    assert turns([trace]) == [[("a", "b"), ("c", "d")]]
    assert trace.annotations["source"] == {"format": "cassette", "path": str(path), "line": 1}


def test_ruby(write):
    text = f"""---
http_interactions:
- request:
    method: post
    uri: {CHAT}
    body:
      encoding: UTF-8
      string: '{json.dumps(ASKED)}'
    headers: {{Accept: ["*/*"]}}
  response:
    status: {{code: 200, message: OK}}
    headers: {{}}
    body:
      encoding: ASCII-8BIT
      base64_string: {base64.b64encode(REPLY).decode()}
  recorded_at: Tue, 01 Nov 2011 04:58:44 GMT
recorded_with: VCR 6.0.0
"""

    [trace] = load_traces(write("a.yml", text))

    assert turns([trace]) == [[("a", "größer")]] and trace.annotations["source"]["line"] == 3


def test_python_2_and_shared_headers(write):
    text = f"""interactions:
- request:
    body: !!python/unicode '{json.dumps(ASKED)}'
    headers: &id001
      accept: [a]
    method: !!python/str POST
    uri: {CHAT}
  response:
    body: {{string: !!python/unicode '{json.dumps(CHAT_REPLY)}'}}
    headers: *id001
    status: {{code: 200, message: OK}}
"""

    assert turns(load_traces(write("a.yaml", text))) == [[("a", "b")]]


def test_an_old_cassette_without_a_status_object():
    value = entry(CHAT, ASKED, "")
    value["response"] = {"status_code": "200", "content": json.dumps(CHAT_REPLY), "http_version": "HTTP/1.1"}

    assert turns(load(cassette(value))[0]) == [[("a", "b")]]


@pytest.mark.parametrize(
    "value",
    [cassette(chat([], "")), {"log": {"entries": [har()]}}, har(), chat([], ""), {"log": {"entries": []}}],
)
def test_recordings_are_recognised(value):
    assert Cassette().detect(value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        {"interactions": []},
        {"interactions": [{"inputs": "a", "outputs": "b"}]},
        {"request": {"messages": []}, "response": {}},
        {"request": {"url": 3, "method": "GET"}, "response": {}},
        {"log": "x"},
        {"interactions": 3},
    ],
)
def test_others_are_not(value):
    assert not Cassette().detect(value)


@pytest.mark.parametrize(
    "head", [b"interactions:\n- request", b"---\nhttp_interactions:\n", b"# made\nversion: 1\ninteractions:\n"]
)
def test_heads_that_are_recognised(head):
    assert Cassette().recognises(head)
    assert not Cassette().recognises(b"x: 1\n" + head)


def test_standard_input():
    data = (CASSETTES / "openai_test_chat_streaming.yaml").read_bytes()

    [trace] = load_traces(io.BytesIO(data))
    assert trace.annotations["source"] == {"format": "cassette", "line": 2, "entry": 1}


# --- YAML that is none, or hostile -------------------------------------------------------

BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(12)
)
MERGES = b"a: &a {k: 1}\n" + b"".join(
    b"%c: &%c {<<: [%s]}\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(12)
)
HOSTILE = {
    "bomb": (BOMB, "its aliases stand for more than"),
    "merges": (MERGES, "its aliases stand for more than"),
    "itself": (b"interactions: &a [*a]", "the value 'a' holds itself on line 1"),
    "code": (b"interactions: !!python/object/apply:os.system ['echo']", "stands for no plain value"),
    "deep": (b"interactions: " + b"[" * 100_000, "nest"),
    "deep block": (b"- " * 100_000 + b"x", "line 1 is nested more than 200 deep"),
    "unknown": (b"interactions: *a", "there is no value 'a' before line 1"),
    "tagged list": (b"interactions: !!python/object:x.Y [a]", "stands for no plain value"),
    "binary": (b"interactions: !!binary abc", "the binary value on line 1 is no base64"),
    "two": (b"--- a\n--- b\n", "a second document begins on line 2"),
    "unhashable": (b"? [a]\n: b", "lists and mappings are no keys"),
    "latin": ("a: é".encode("latin-1"), "unacceptable character"),
    "broken": (b"interactions:\n- request: 'a\n", "unexpected end of stream"),
    "nothing": (b"", "no recording of requests"),
    "other": (b"a: 1\n", "no recording of requests"),
    "no entries": (b"interactions: []\n", "no recording of requests"),
    "number": (b"interactions: " + b"9" * 100_000, "no recording of requests"),
    "base 60": (b"interactions: " + b"1:" * 100_000 + b"1", "no recording of requests"),
    "marked base 60": (b"interactions: !!int " + b"1:" * 100_000 + b"1", "no recording of requests"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("fast", [True, False])
def test_hostile_yaml(name, fast, monkeypatch):
    import yaml

    data, said = HOSTILE[name]
    if not fast:  # without the parser in C
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    started = time.perf_counter()

    with pytest.raises(BadRecord) as caught:
        load_file(data)

    assert said in str(caught.value)
    assert time.perf_counter() - started < 5


def test_without_the_parser_in_c(monkeypatch):
    import yaml

    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    path = CASSETTES / "anthropic_test_anthropic_tools_legacy.yaml"
    [trace], _ = load_file(path.read_bytes())

    assert trace.interactions[0].metadata["usage"]["output_tokens"] == 152


def test_yaml_is_read_as_its_own_library_reads_it():
    import yaml

    def without_lines(value):
        if isinstance(value, dict):
            return {key: without_lines(item) for key, item in value.items() if key != _yaml.LINE}
        return [without_lines(item) for item in value] if isinstance(value, list) else value

    texts = [path.read_bytes() for path in CASSETTES.glob("*.yaml")]
    texts += [b"a: [1, -2, 1.5, true, False, ~, null, '', x, '1', \"\\u00e9\"]\nb: |\n  c\n  d\n", b"x"]
    for text in texts:
        assert without_lines(_yaml.load_yaml(text)) == yaml.safe_load(text)


def test_a_missing_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'giskard-checks\[cassettes\]'"):
        list(load_traces(CASSETTES / "openai_test_chat_streaming.yaml"))


def test_importing_it_loads_no_heavy_library():
    code = (
        "import sys; from giskard.checks.importers import cassette, load, table\n"
        "print({'yaml', 'pyarrow'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@given(st.binary(max_size=300), st.integers(0, 3000), st.integers(0, 3))
@settings(max_examples=200)
def test_broken_cassettes_are_read_or_reported(noise, at, size):
    whole = (CASSETTES / "anthropic_test_anthropic_tools_legacy.yaml").read_bytes()
    try:
        load_file(whole[:at] + noise[:size] + whole[at + size :])
    except BadRecord as error:
        assert str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(CHAT),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["request", "response", "uri", "url", "method", "body", "string", "status", "headers", "content"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=3))
@settings(max_examples=300)
def test_odd_recordings_never_crash(entries):
    for value in (cassette(*entries), {"log": {"entries": entries}}, *entries):
        Cassette().detect(value)
        load(value)
