"""Histories of pydantic-ai."""

from __future__ import annotations

import pytest

from giskard.checks.importers.pydantic_ai import PydanticAI
from tests.importers.recorded import called, example, expected, one, read_all, said, turn

PYDANTIC_AI = PydanticAI()


def request(*parts, **fields):
    return {"kind": "request", "parts": list(parts), **fields}


def response(*parts, **fields):
    return {"kind": "response", "parts": list(parts), **fields}


def asked(content="hi"):
    return {"part_kind": "user-prompt", "content": content}


def text(content):
    return {"part_kind": "text", "content": content}


def call(name="f", args=None, id="1", **more):
    return {"part_kind": "tool-call", "tool_name": name, "args": args, "tool_call_id": id, **more}


def returned(content, name="f", id="1", **more):
    return {"part_kind": "tool-return", "tool_name": name, "content": content, "tool_call_id": id, **more}


def retry(content, name=None, id=None):
    return {"part_kind": "retry-prompt", "content": content, "tool_name": name, "tool_call_id": id}


def test_the_example():
    trace = one(PYDANTIC_AI, example("pydantic_ai_messages.json"))
    turns, calls, prompt = expected()
    assert said(trace) == turns and called(trace) == calls[:1]  # it has one call
    assert trace.annotations["system_prompt"] == prompt
    first, second = (interaction.metadata for interaction in trace.interactions)
    assert first["usage"] == {"input_tokens": 140, "output_tokens": 27}
    assert first["reasoning"] == ["Look the fee up first."]
    assert first["model"] == "gpt-5-mini" and first["finish_reason"] == "stop"
    assert "usage" not in second  # all zero: that is how it is written when nothing was counted


def test_a_structured_answer_is_the_output_and_no_call():
    messages = [
        request(asked()),
        response(call("final_result", '{"fee": 0}', "9")),
        request(returned("Final result processed.", "final_result", "9")),
    ]
    reply = turn(PYDANTIC_AI, messages)
    assert reply.outputs == {"fee": 0}
    assert reply.metadata["tool_calls"] == [] and "incomplete" not in reply.metadata


def test_a_structured_answer_beside_other_calls():
    messages = [
        request(asked()),
        response(text("Here."), call("f", {"a": 1}, "1"), call("final_result_Fee", {"fee": 0}, "2")),
        request(returned("done"), returned("Final result processed.", "final_result_Fee", "2")),
        request(asked("thanks")),
    ]
    trace = one(PYDANTIC_AI, messages)
    assert said(trace) == [("hi", {"fee": 0}), ("thanks", None)]
    assert called(trace) == [("1", "f", {"a": 1}, "done", None)]
    assert trace.interactions[0].metadata["intermediate"][0]["text"] == "Here."


def test_an_answer_that_was_sent_back():
    problem = [{"type": "missing", "loc": ["fee"], "msg": "Field required"}]
    messages = [
        request(asked()),
        response(call("final_result", {}, "1")),
        request(retry(problem, "final_result", "1")),
        response(call("final_result", {"fee": 0}, "2")),
    ]
    reply = turn(PYDANTIC_AI, messages)
    assert reply.outputs == {"fee": 0}
    assert reply.metadata["intermediate"][0]["content"] == {}
    [noted] = reply.metadata["retries"]
    assert noted == {"tool_name": "final_result", "tool_call_id": "1", "content": problem}


def test_retries_of_tools_and_of_texts():
    messages = [
        request(asked()),
        response(call("f", "{}", "1")),
        request(retry("unknown card", "f", "1")),
        response(text("Hm")),
        request(retry("answer with JSON")),
        response(text("{}")),
    ]
    reply = turn(PYDANTIC_AI, messages)
    assert [noted["content"] for noted in reply.metadata["retries"]] == ["unknown card", "answer with JSON"]
    [made] = reply.metadata["tool_calls"]
    assert made["error"] == "unknown card" and made["result"] is None
    assert reply.outputs == "{}"


def test_files_from_before_kinds_were_written():
    messages = [
        {"parts": [asked()]},
        {"parts": [call("f", '{"a": 1}')]},
        {"parts": [returned("x")]},
        {"parts": [text("ok")]},
    ]
    reply = turn(PYDANTIC_AI, messages)
    assert reply.outputs == "ok" and reply.metadata["tool_calls"][0]["arguments"] == {"a": 1}
    usage = {"request_tokens": 5, "response_tokens": 2, "total_tokens": 7, "details": {"cached_tokens": 3}}
    reply = turn(PYDANTIC_AI, [request(asked()), response(text("ok"), usage=usage)])
    assert reply.metadata["usage"] == {"input_tokens": 5, "output_tokens": 2, "cached_tokens": 3}


def test_instructions_denied_tools_and_tools_of_the_provider():
    messages = [
        request(asked(["Look:", {"kind": "image-url", "url": "https://example.org/a.png"}]), instructions="Be brief."),
        response(
            {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"q": "fee"}, "tool_call_id": "w"},
            {"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": "free", "tool_call_id": "w"},
            call("f", {}, "1"),
        ),
        request(returned("not allowed", outcome="denied"), instructions="Be brief."),
        response(text("Sorry."), {"part_kind": "file", "content": {"data": "AA==", "media_type": "image/png"}}),
    ]
    trace = one(PYDANTIC_AI, {"messages": messages})
    assert trace.annotations["system_prompt"] == "Be brief."
    reply = trace.interactions[0]
    assert reply.inputs[0] == "Look:" and reply.inputs[1]["kind"] == "image-url"
    search, denied = reply.metadata["tool_calls"]
    assert search["result"] == "free" and denied["error"] == "not allowed"
    assert [part if isinstance(part, str) else part["type"] for part in reply.outputs] == ["Sorry.", "file"]


def test_ids_of_runs_and_conversations():
    trace = one(PYDANTIC_AI, [request(asked(), run_id="r", conversation_id="c"), response(text("x"))])
    assert trace.annotations["run_id"] == "r" and trace.annotations["conversation_id"] == "c"


def test_what_is_not_a_history():
    traces, skipped = read_all(
        PYDANTIC_AI, [request(asked()), {"parts": 3}], {"messages": 1}, [request({"part_kind": "new"})]
    )
    assert traces == []
    assert "message 1: expected a request or a response with parts" in skipped[0]
    assert "expected a list of objects" in skipped[1] and "the part_kind 'new' is not known" in skipped[2]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        [{"parts": []}],
        [{"role": "user", "parts": [{"text": "hi"}]}],
        [{"kind": "request", "parts": "x"}],
        request(asked()),
    ],
)
def test_what_is_not_pydantic_ai(value):
    assert PYDANTIC_AI.detect(value) is False
