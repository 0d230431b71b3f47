"""Gemini's contents and responses in both spellings, and sessions of its development kit for agents."""

import copy
import json

import pytest

from giskard.checks.importers.gemini import Gemini, annotations_of_request, messages_of_request, messages_of_response
from tests.importers.reading import core, example, expected, one, read, why_not, withstands

GEMINI = Gemini()


def user(*parts):
    return {"role": "user", "parts": list(parts)}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def text(words, **more):
    return {"text": words, **more}


def called(name="f", **args):
    return {"functionCall": {"name": name, "args": args}}


def gave(response, name="f", **more):
    return {"functionResponse": {"name": name, "response": response, **more}}


def response(*parts, **more):
    return {"candidates": [{"content": model(*parts), "finishReason": "STOP", "index": 0}], "modelVersion": "m", **more}


def turn(*contents, **more):
    (found,) = one(GEMINI, {"contents": list(contents), **more}).interactions
    return found


def snake(value):
    """The same with keys in snake case."""
    if isinstance(value, list):
        return [snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): snake(item) for key, item in value.items()}


@pytest.mark.parametrize("spelled", [lambda value: value, snake])
def test_the_example(spelled):
    (value,) = example("gemini_contents.json")
    value = spelled(value)
    assert GEMINI.detect(value)
    trace = one(GEMINI, value)
    inputs, outputs, (call,) = expected()["turns"][0]
    assert core(trace)["turns"] == [(inputs, outputs, [{**call, "id": None}])]  # it has no ids
    assert "usage" not in trace.last.metadata  # the model's first call of the turn was not recorded
    assert trace.last.metadata["last_call"] == {"usage": {"input_tokens": 79, "output_tokens": 9}}


def test_a_bare_list_of_contents():
    (value,) = example("gemini_contents.json")
    assert GEMINI.detect(value["contents"])
    assert one(GEMINI, value["contents"]).last.outputs == expected()["turns"][0][1]


def test_calls_without_ids_are_paired_by_name_and_order():
    results = [gave({"n": 3}, "g"), gave({"n": 1}), gave({"n": 2})]
    found = turn(user(text("x")), model(called(a=1), called(a=2), called("g")), user(*results), model(text("y")))
    assert [call["result"]["n"] for call in found.metadata["tool_calls"]] == [1, 2, 3]
    assert [call["message_index"] for call in found.metadata["tool_calls"]] == [1, 1, 1]


def test_calls_with_ids_are_paired_by_them():
    call = {"functionCall": {"id": "a", "name": "f"}}, {"functionCall": {"id": "b", "name": "f"}}
    found = turn(user(text("x")), model(*call), user(gave({"n": 2}, id="b"), gave({"n": 1}, id="a")), model(text("y")))
    assert [call["result"]["n"] for call in found.metadata["tool_calls"]] == [1, 2]
    assert found.metadata["tool_calls"][0]["arguments"] == {}


@pytest.mark.parametrize("role", ["user", "function", "tool"])
def test_results_begin_no_turn_whatever_their_role(role):
    result = {"role": role, "parts": [gave({"fee": 0})]}
    found = turn(user(text("x")), model(called()), result, model(text("y")))
    assert (found.inputs, found.outputs) == ("x", "y")
    assert found.metadata["tool_calls"][0]["result"] == {"fee": 0}


def test_results_may_be_failures():
    found = turn(user(text("x")), model(called()), user(gave({"error": "down"})), model(text("y")))
    assert found.metadata["tool_calls"][0]["error"] == "down"
    found = turn(user(text("x")), model(called()), user(gave({"error": None})), model(text("y")))
    assert found.metadata["tool_calls"][0]["error"] is None


def test_thoughts_and_signatures_are_no_answers():
    parts = [text("hm", thought=True), text("Hel"), text("lo."), {"text": "", "thoughtSignature": "c2ln"}]
    found = turn(user(text("x")), model(*parts))
    assert (found.outputs, found.metadata["reasoning"]) == ("Hello.", ["hm"])
    assert "c2ln" not in found.model_dump_json()


def test_code_that_ran_within_an_answer():
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    ran = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    found = turn(user(text("x")), model(text("Let me see."), code, ran, text("One.")))
    assert found.outputs == "One."
    (call,) = found.metadata["tool_calls"]
    assert (call["name"], call["arguments"]["code"], call["result"]) == ("code_execution", "print(1)", 1)
    assert found.metadata["intermediate"] == [{"message_index": 1, "text": "Let me see."}]
    for failed, error in (({"output": "no"}, "no"), ({}, "OUTCOME_FAILED")):
        ran = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", **failed}}
        found = turn(user(text("x")), model(code, ran, text("One.")))
        assert found.metadata["tool_calls"][0]["error"] == error


def test_contents_that_are_more_than_text():
    image = {"inlineData": {"mimeType": "image/png", "data": "…"}}
    assert turn(user(text("x"), image), model(text("y"))).inputs == [{"type": "text", "text": "x"}, image]


@pytest.mark.parametrize("contents", ["x", {"role": "user", "parts": [{"text": "x"}]}, {"parts": {"text": "x"}}, ["x"]])
def test_contents_may_be_written_short(contents):
    log = {"request": {"contents": contents, "generationConfig": {}}, "response": response(text("y"))}
    assert GEMINI.detect(log)
    found = one(GEMINI, log).last
    assert (found.inputs, found.outputs) == ("x", "y")


# --- requests and responses ----------------------------------------------------------

REQUEST = {
    **{"contents": [user(text("x"))], "systemInstruction": {"parts": [text("Be kind.")]}, "tools": [{"name": "f"}]},
    **{"generationConfig": {"temperature": 0}},
}
COUNTS = {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 4, "cachedContentTokenCount": 5}
COUNTS["toolUsePromptTokenCount"] = 2


@pytest.mark.parametrize("spelled", [lambda value: value, snake, json.dumps])
@pytest.mark.parametrize("names", [("request", "response"), ("request_body", "response_body"), ("input", "output")])
def test_requests_with_their_responses(spelled, names):
    answer = response(text("y"), usageMetadata=COUNTS, responseId="r1", createTime="2025-10-09T08:53:20Z")
    log = {names[0]: spelled(REQUEST), names[1]: spelled(answer), "latency_ms": 7}
    assert GEMINI.detect(log)
    trace = one(GEMINI, log)
    assert (trace.last.inputs, trace.last.outputs) == ("x", "y")
    assert trace.annotations["system_prompt"] == "Be kind."
    assert trace.annotations["tools"] == [{"name": "f"}]
    (asked,) = trace.annotations["parameters"].values()
    assert asked == {"temperature": 0}
    known = {key: value for key, value in trace.last.metadata.items() if key != "messages"}
    assert known == {
        "tool_calls": [],
        "usage": {"input_tokens": 12, "output_tokens": 7, "reasoning_tokens": 4, "cached_tokens": 5},
        **{"latency_ms": 7, "model": "m", "finish_reason": "STOP", "timestamp": "2025-10-09T08:53:20Z"},
        "response_id": "r1",
    }


@pytest.mark.parametrize(
    "instruction", ["Be kind.", {"parts": [text("Be kind.")]}, {"parts": [text("Be kind.")], "role": "user"}]
)
def test_prompts(instruction):
    for request in ({"systemInstruction": instruction}, {"config": {"system_instruction": instruction}}):
        assert messages_of_request({**request, "contents": "x"})[0].role == "system"
        assert one(GEMINI, {**request, "contents": [user(text("x"))]}).annotations["system_prompt"] == "Be kind."


def test_each_candidate_is_a_trace():
    answer = response(text("y"), usageMetadata=COUNTS)
    answer["candidates"].append({"content": model(text("z")), "index": 1})
    traces, _ = read(GEMINI, {**REQUEST, "response": answer})
    assert [(trace.last.outputs, trace.annotations["choice"]) for trace in traces] == [("y", 0), ("z", 1)]
    assert all("usage" not in trace.last.metadata for trace in traces)
    assert all(trace.annotations["usage_of_all_choices"]["input_tokens"] == 12 for trace in traces)


def test_a_request_that_was_blocked():
    log = {"request": REQUEST, "response": {"promptFeedback": {"blockReason": "SAFETY"}}}
    assert GEMINI.detect(log)
    found = one(GEMINI, log).last
    assert (found.outputs, found.metadata["error"]) == (None, {"blockReason": "SAFETY"})


def test_an_answer_without_content():
    log = {"request": REQUEST, "response": {"candidates": [{"finishReason": "SAFETY"}]}}
    found = one(GEMINI, log).last
    assert (found.outputs, found.metadata["finish_reason"]) == (None, "SAFETY")


def test_grounding_and_citations_are_kept():
    answer = response(text("y"))
    answer["candidates"][0] |= {"groundingMetadata": {"webSearchQueries": ["q"]}}
    answer["candidates"][0] |= {"citationMetadata": {"citationSources": [{"uri": "u"}]}}
    found = one(GEMINI, answer).last.metadata
    assert (found["grounding"], found["citations"]) == ({"webSearchQueries": ["q"]}, [{"uri": "u"}])


# --- streams -------------------------------------------------------------------------


def pieces(id="r1"):
    first, second = response(text("Hel")), response(text("lo."), called(), usageMetadata=COUNTS)
    del first["candidates"][0]["finishReason"]
    return [{**piece, "responseId": id} for piece in (first, second)]


@pytest.mark.parametrize("wrap", [list, lambda parts: "".join(f"data: {json.dumps(part)}\r\n\r\n" for part in parts)])
def test_streams_in_a_response(wrap):
    log = {**REQUEST, "response": wrap(pieces())}
    assert GEMINI.detect(log)
    found = one(GEMINI, log).last
    assert found.metadata["intermediate"][0]["text"] == "Hello."
    assert found.metadata["usage"]["output_tokens"] == 7


def test_pieces_that_are_records():
    first, second = pieces(), pieces("r2")
    assert all(map(GEMINI.detect, first))
    traces, _ = read(GEMINI, first[0], second[0], first[1], second[1], response(text("z"), responseId="r3"))
    assert [turn.metadata.get("intermediate", [{}])[0].get("text") for turn in (t.last for t in traces)] == [
        *("Hello.", "Hello.", None)
    ]
    assert one(GEMINI, pieces()).last.metadata["intermediate"][0]["text"] == "Hello."


# --- sessions ------------------------------------------------------------------------


def event(author, *parts, **more):
    role = "user" if author == "user" else "model"
    return {"author": author, "content": {"role": role, "parts": list(parts)}, "timestamp": 1760000000.5, **more}


SESSION = {
    **{"id": "s1", "appName": "bank", "userId": "u1", "state": {"tier": "gold"}, "lastUpdateTime": 1.0},
    "events": [
        event("user", text("x"), invocationId="i1"),
        event("clerk", called(item="card"), usageMetadata=COUNTS),
        {**event("clerk", gave({"fee": 0})), "content": {"role": "user", "parts": [gave({"fee": 0})]}},
        event("clerk", text("It is"), partial=True),
        event("clerk", text("It is free."), usageMetadata=COUNTS, finishReason="STOP"),
        {"author": "clerk", "actions": {"stateDelta": {}}, "errorCode": "X", "errorMessage": "late"},
    ],
}


@pytest.mark.parametrize("spelled", [lambda value: value, snake])
def test_sessions(spelled):
    value = spelled(SESSION)
    assert GEMINI.detect(value)
    trace = one(GEMINI, value)
    (found,) = trace.interactions
    assert (found.inputs, found.outputs) == ("x", "It is free.")
    (call,) = found.metadata["tool_calls"]
    assert (call["arguments"], call["result"], call["agent"]) == ({"item": "card"}, {"fee": 0}, "clerk")
    assert found.metadata["usage"]["input_tokens"] == 24
    assert found.metadata["timestamp"] == "2025-10-09T08:53:20.500000+00:00"
    assert found.metadata["error"] == "late"
    assert found.metadata["messages"][-1] == {"role": "assistant", "name": "clerk", "content": "It is free."}
    assert {**trace.annotations, "source": None} == {
        **{"conversation_id": "s1", "app_name": "bank", "user_id": "u1", "state": {"tier": "gold"}, "source": None}
    }


def test_bare_events():
    assert GEMINI.detect(SESSION["events"])
    assert one(GEMINI, SESSION["events"]).last.outputs == "It is free."


# --- what it takes for its own -------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        *(None, 3, "text", [], {}, [3], {"contents": []}, {"contents": [3]}, {"contents": "x"}, {"events": []}),
        {"contents": [{"role": "user", "parts": [{"type": "text", "text": "x"}]}]},
        {"contents": [{"role": "ROLE_USER", "parts": [{"text": "x"}]}]},
        [user(text("x"))],
        [{"role": "user", "parts": [{"kind": "text", "text": "x"}]}, {"role": "model", "parts": []}],
        {"events": [{"author": "ann"}]},
        {"candidates": [{"name": "ann"}]},
        {"usageMetadata": {}},
    ],
)
def test_what_is_not_of_this_format(value):
    assert not GEMINI.detect(value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"x": 1}, "it holds no contents, no candidates and no events"),
        (3, "it holds no contents, no candidates and no events"),
        ([], "it holds no contents"),
        ([3], "content 0: expected an object with parts, got int"),
        ([{"role": "critic", "parts": []}], "content 0: its role is 'critic'; known are user, model, "),
        ({"events": [{**event("clerk", text("x")), "partial": True}]}, "it holds no events with content"),
    ],
)
def test_why_a_record_is_not_read(value, reason):
    assert reason in why_not(GEMINI, value)


def test_odd_values_anywhere_hide_no_other_record():
    code, ran = {"executableCode": {"code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "1"}}
    contents = [user(text("x")), model(text("hm", thought=True), called(a=1), code, ran), user(gave({"error": "e"}))]
    answer = response(text("y"), usageMetadata=COUNTS, createTime="t", responseId="r")
    assert withstands(GEMINI, {"request": {**REQUEST, "contents": contents}, "response": answer})
    assert withstands(GEMINI, {**SESSION, "events": [SESSION["events"][n] for n in (0, 2, 4, 5)]})
    assert withstands(GEMINI, pieces())


def test_records_are_left_as_they_are():
    values = [example("gemini_contents.json")[0], SESSION, pieces()]
    before = copy.deepcopy(values)
    read(GEMINI, *values, keep_raw=True)
    assert values == before


def test_bodies():
    assert [m.role for m in messages_of_request(REQUEST)] == ["system", "user"]
    assert annotations_of_request(REQUEST) == {"tools": [{"name": "f"}]}
    assert annotations_of_request({"config": {"tools": [{"name": "f"}]}}) == {"tools": [{"name": "f"}]}
    assert [len(answer) for answer in messages_of_response(response(text("y")))] == [1]
    assert messages_of_response({}) == messages_of_response(None) == messages_of_response("no events") == []
