"""What instrumentations of models write into spans: the current conventions, older ones, and frameworks' own names."""

import json

from giskard.checks.importers.opentelemetry import OpenTelemetry
from tests.importers.spans import (
    ANSWERED,
    ASKED,
    PROMPT,
    agent,
    assistant,
    calls,
    conversation,
    model,
    only,
    said,
    span,
    user,
)

ITEM, FEE = {"item": "card_replacement"}, {"fee_eur": 0.0}
FIRST = [(ASKED, ANSWERED)]


def last(trace):
    return trace.interactions[-1].metadata


# --- messages of the current dialect -----------------------------------------------------


def test_ids_are_stripped_and_results_may_be_called_result_and_stand_with_the_user():
    given = [
        user(ASKED),
        {"role": "assistant", "parts": [{"type": "tool_call", "id": " call_1", "name": "get_fee", "arguments": ITEM}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "call_1 ", "result": FEE}]},
    ]
    trace = only([model("1", 0, 1, None, given, [assistant(ANSWERED)])])
    assert said(trace) == FIRST
    assert calls(trace, "id", "result") == [("call_1", FEE)]


def test_messages_in_an_event_of_the_call():
    details = {
        "gen_ai.input.messages": json.dumps([user(ASKED)]),
        "gen_ai.output.messages": json.dumps([assistant(ANSWERED)]),
    }
    event = {"name": "gen_ai.client.inference.operation.details", "attributes": details}
    assert said(only([model("1", 0, 1, events=[event])])) == FIRST


def test_system_instructions_reasoning_and_the_first_of_several_answers():
    reasoning = {"type": "reasoning", "content": "Look it up."}
    gave = [{"role": "assistant", "parts": [reasoning, *assistant(ANSWERED)["parts"]]}, assistant("Another")]
    more = {
        "gen_ai.system_instructions": [{"type": "text", "content": PROMPT}],
        "gen_ai.response.time_to_first_chunk": 0.2,
    }
    trace = only([model("1", 0, 1, None, [user(ASKED)], gave, attributes=more)])
    assert said(trace) == FIRST
    assert trace.annotations["system_prompt"] == PROMPT
    assert last(trace)["reasoning"] == ["Look it up."]
    assert last(trace)["ttft_ms"] == 200


def test_parts_that_are_no_text_are_kept():
    image = {"type": "uri", "modality": "image", "uri": "https://example.org/card.png"}
    trace = only([model("1", 0, 1, None, [{"role": "user", "parts": [image]}], [assistant("A card.")])])
    assert said(trace) == [([image], "A card.")]


def test_tools_that_the_provider_ran():
    ran = {
        "type": "server_tool_call",
        "id": "s1",
        "name": "web_search",
        "server_tool_call": {"type": "web_search", "query": "fee"},
    }
    came = {"type": "server_tool_call_response", "id": "s1", "server_tool_call_response": {"hits": 1}}
    gave = [{"role": "assistant", "parts": [ran, came, *assistant("a")["parts"]]}]
    trace = only([model("1", 0, 1, None, [user("q")], gave)])
    assert said(trace) == [("q", "a")]
    assert calls(trace, "name", "arguments", "result") == [("web_search", {"query": "fee"}, {"hits": 1})]


def test_arguments_that_are_no_json():
    given = [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "get_fee", "arguments": "{'item'"}]}
    ]
    (made,) = last(only([model("1", 0, 1, None, [user("q")], given)]))["tool_calls"]
    assert made["arguments"] == "{'item'" and "not JSON" in made["arguments_error"]


# --- older dialects and frameworks -------------------------------------------------------


def event(name, at=1, **attributes):
    return {"name": name, "timestamp": f"2025-10-09T00:00:00.{at:03}Z", "attributes": attributes}


CALLED = [{"id": "call_1", "type": "function", "function": {"name": "get_fee", "arguments": json.dumps(ITEM)}}]


def test_the_events_of_conventions_up_to_1_36():
    events = [
        event("gen_ai.system.message", content=PROMPT),
        event("gen_ai.user.message", content=ASKED),
        event("gen_ai.assistant.message", tool_calls=json.dumps(CALLED)),
        event("gen_ai.tool.message", id="call_1", content=json.dumps(FEE)),
        event(
            "gen_ai.choice",
            9,
            index=0,
            finish_reason="stop",
            message=json.dumps({"role": "assistant", "content": ANSWERED}),
        ),
        event(
            "gen_ai.choice",
            9,
            index=1,
            finish_reason="stop",
            message=json.dumps({"role": "assistant", "content": "No."}),
        ),
    ]
    trace = only([model("1", 0, 10, events=events)])
    assert said(trace) == FIRST
    assert calls(trace, "id", "arguments", "result") == [("call_1", ITEM, FEE)]
    assert trace.annotations["system_prompt"] == PROMPT
    assert last(trace)["finish_reason"] == "stop"
    older = [event("gen_ai.content.prompt", **{"gen_ai.prompt": json.dumps([{"role": "user", "content": ASKED}])})]
    older += [
        event("gen_ai.content.completion", **{"gen_ai.completion": json.dumps([{"role": "assistant", "content": "a"}])})
    ]
    assert said(only([model("1", 0, 10, events=older)])) == [(ASKED, "a")]


def test_events_that_hold_no_content_say_nothing():
    events = [event("gen_ai.user.message"), event("gen_ai.choice", index=0, finish_reason="stop")]
    trace = only([model("1", 0, 10, events=events)])
    assert said(trace) == [(None, None)]
    assert last(trace)["content_recorded"] is False


def log(span_id, name, at, body):
    values = [{"key": key, "value": {"stringValue": value}} for key, value in body.items()]
    return {
        "timeUnixNano": str(1760000000000000000 + at),
        "traceId": "a1",
        "spanId": span_id,
        "eventName": name,
        "body": {"kvlistValue": {"values": values}},
    }


def test_events_that_were_logged_beside_the_spans():
    logs = [log("2", "gen_ai.user.message", 1, {"content": ASKED}), log("2", "gen_ai.choice", 2, {"message": ANSWERED})]
    logged = {"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]}
    assert OpenTelemetry().detect(logged)
    spans = [agent("1", 0, 900), model("2", 10, 890, "1")]
    for records in ([*spans, logged], [logged, *spans]):
        trace = only(records)
        assert said(trace) == FIRST
        assert last(trace)["latency_ms"] == 900
        assert last(trace)["usage"] == {"input_tokens": 10, "output_tokens": 2}
    assert said(only([logged])) == FIRST  # the spans are in another file


def test_flat_attributes_of_traceloop():
    flat = {
        "gen_ai.system": "OpenAI",
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": PROMPT,
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": json.dumps([{"type": "text", "text": ASKED}]),
        "gen_ai.prompt.2.role": "assistant",
        "gen_ai.prompt.2.tool_calls.0.id": "call_1",
        "gen_ai.prompt.2.tool_calls.0.name": "get_fee",
        "gen_ai.prompt.2.tool_calls.0.arguments": json.dumps(ITEM),
        "gen_ai.prompt.10.role": "tool",
        "gen_ai.prompt.10.tool_call_id": "call_1",
        "gen_ai.prompt.10.content": json.dumps(FEE),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": ANSWERED,
        "gen_ai.completion.0.finish_reason": "stop",
        "gen_ai.usage.prompt_tokens": 5,
        "gen_ai.usage.completion_tokens": 7,
        "llm.request.functions.0.name": "get_fee",
        "llm.request.functions.0.parameters": '{"type": "object"}',
        "traceloop.association.properties.session_id": "conv-1",
    }
    trace = only([span("2", 0, 5, attributes=flat)])
    assert said(trace) == FIRST
    assert calls(trace, "id", "arguments", "result") == [("call_1", ITEM, FEE)]
    assert last(trace)["usage"] == {"input_tokens": 5, "output_tokens": 7}
    assert trace.annotations["system_prompt"] == PROMPT
    assert trace.annotations["conversation_id"] == "conv-1"
    assert trace.annotations["tools"] == [{"name": "get_fee", "parameters": {"type": "object"}}]
    assert trace.annotations["source"] == {"format": "traceloop"}


def test_entities_of_traceloop():
    workflow = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.input": json.dumps({"args": [ASKED], "kwargs": {}}),
    }
    ran = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "get_fee",
        "traceloop.entity.input": json.dumps({"args": [], "kwargs": ITEM}),
        "traceloop.entity.output": json.dumps({"output": FEE}),
    }
    spans = [
        span("1", 0, 9, attributes={**workflow, "traceloop.entity.output": json.dumps(ANSWERED)}),
        span("2", 1, 2, "1", attributes={"llm.request.type": "chat", "gen_ai.request.model": "m"}),
        span("3", 3, 4, "1", attributes=ran),
    ]
    trace = only(spans)
    assert said(trace) == FIRST
    assert calls(trace, "name", "arguments", "result") == [("get_fee", ITEM, FEE)]


def test_the_ai_sdk_of_vercel():
    prompt = {"system": PROMPT, "messages": [{"role": "user", "content": ASKED}]}
    step = [
        {"role": "system", "content": PROMPT},
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
    ]
    of = {"toolCallId": "call_1", "toolName": "get_fee"}
    more = [
        {"role": "assistant", "content": [{"type": "tool-call", **of, "args": ITEM}]},
        {"role": "tool", "content": [{"type": "tool-result", **of, "output": {"type": "json", "value": FEE}}]},
    ]
    called = [{"toolCallType": "function", "toolCallId": "call_1", "toolName": "get_fee", "args": json.dumps(ITEM)}]
    usage = {"ai.usage.promptTokens": 10, "ai.usage.completionTokens": 2, "ai.response.model": "m-1"}
    whole = {
        "ai.operationId": "ai.generateText",
        "ai.prompt": json.dumps(prompt),
        "ai.response.text": ANSWERED,
        "ai.usage.promptTokens": 20,
        "ai.usage.completionTokens": 4,
        "ai.telemetry.metadata.sessionId": "conv-1",
    }
    generate = {"ai.operationId": "ai.generateText.doGenerate", "ai.response.msToFirstChunk": 55.5, **usage}
    ran = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "get_fee", "ai.toolCall.id": "call_1"}
    spans = [
        span("1", 0, 900, attributes=whole),
        span("2", 1, 100, "1", attributes={**generate, "ai.prompt.messages": step, "ai.response.toolCalls": called}),
        span("3", 101, 110, "1", attributes={**ran, "ai.toolCall.args": ITEM, "ai.toolCall.result": FEE}),
        span(
            *("4", 111, 890, "1"),
            attributes={
                **generate,
                "ai.prompt.messages": [*step, *more],
                "ai.response.text": ANSWERED,
                "ai.response.finishReason": "stop",
                "ai.response.msToFirstChunk": 55.5,
                "ai.prompt.tools": [json.dumps({"type": "function", "name": "get_fee"})],
            },
        ),
    ]
    spans[3]["attributes"]["ai.prompt.tools"] = json.loads(spans[3]["attributes"]["ai.prompt.tools"])
    trace = only(spans)
    assert said(trace) == FIRST
    assert calls(trace, "id", "arguments", "result", "latency_ms") == [("call_1", ITEM, FEE, 9)]
    assert last(trace)["usage"] == {"input_tokens": 20, "output_tokens": 4}
    assert last(trace)["finish_reason"] == "stop"
    assert last(trace)["ttft_ms"] == 55.5
    assert trace.annotations["system_prompt"] == PROMPT
    assert trace.annotations["conversation_id"] == "conv-1"
    assert trace.annotations["tools"] == [{"type": "function", "name": "get_fee"}]
    assert trace.annotations["source"] == {"format": "vercel"}
    assert calls(only(spans[:1] + spans[3:]), "result") == [(FEE,)]  # from the messages


def test_an_object_of_the_ai_sdk():
    whole = {
        "ai.operationId": "ai.generateObject",
        "ai.prompt": json.dumps({"prompt": "q"}),
        "ai.response.object": '{"fee": 0}',
    }
    step = {
        **whole,
        "ai.operationId": "ai.generateObject.doGenerate",
        "ai.prompt.messages": [{"role": "user", "content": "q"}],
    }
    assert said(only([span("1", 0, 9, attributes=whole), span("2", 1, 8, "1", attributes=step)])) == [("q", {"fee": 0})]


def test_the_agent_development_kit():
    asked = {"role": "user", "parts": [{"text": ASKED}]}
    called = {"role": "model", "parts": [{"function_call": {"id": "adk-1", "name": "get_fee", "args": ITEM}}]}
    came = {"role": "user", "parts": [{"function_response": {"id": "adk-1", "name": "get_fee", "response": FEE}}]}
    answered = {"role": "model", "parts": [{"text": ANSWERED}]}
    usage = {"prompt_token_count": 10, "candidates_token_count": 2, "thoughts_token_count": 1}

    def call_llm(id, at, contents, content):
        request = {"model": "gemini-2.5-flash", "config": {"system_instruction": PROMPT}, "contents": contents}
        response = {"content": content, "usage_metadata": usage}
        attributes = {
            "gcp.vertex.agent.llm_request": request,
            "gcp.vertex.agent.llm_response": response,
            "gcp.vertex.agent.session_id": "conv-1",
            "gen_ai.system": "gcp.vertex.agent",
        }
        return span(id, at, at + 5, "2", attributes=attributes, name="call_llm")

    ran = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_fee",
        "gcp.vertex.agent.tool_call_args": ITEM,
        "gcp.vertex.agent.tool_response": FEE,
    }
    spans = [
        span("1", 0, 100, name="invocation"),
        agent("2", 1, 90, "1", name="invoke_agent bank_support"),
        call_llm("3", 2, [asked], called),
        span("4", 10, 20, "2", attributes=ran),
        span("5", 10, 20, "2", attributes=ran, name="execute_tool (merged)"),
        call_llm("6", 30, [asked, called, came], answered),
    ]
    trace = only(spans)
    assert said(trace) == FIRST
    assert calls(trace, "id", "arguments", "result", "latency_ms") == [("adk-1", ITEM, FEE, 10)]
    assert last(trace)["usage"] == {"input_tokens": 20, "output_tokens": 4, "reasoning_tokens": 2}
    assert last(trace)["model"] == "gemini-2.5-flash"
    assert trace.annotations["system_prompt"] == PROMPT
    assert trace.annotations["conversation_id"] == "conv-1"


def test_older_spans_of_pydantic_ai():
    events = [
        {"event.name": "gen_ai.user.message", "role": "user", "content": ASKED},
        {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "tool_calls": CALLED}},
    ]
    ran = {"gen_ai.tool.name": "get_fee", "gen_ai.tool.call.id": "call_1", "tool_arguments": ITEM, "tool_response": FEE}
    kept = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "tool_calls": CALLED},
        {"role": "tool", "id": "call_1", "content": json.dumps(FEE)},
        {"role": "assistant", "content": ANSWERED},
    ]
    spans = [
        span("1", 0, 9, attributes={"agent_name": "bank_support", "all_messages_events": kept}, name="agent run"),
        model("2", 1, 2, "1", attributes={"events": events}),
        span("3", 3, 4, "1", attributes=ran, name="running tool"),
    ]
    for records in (spans, spans[:1]):
        trace = only(records)
        assert said(trace) == FIRST
        assert calls(trace, "id", "name", "arguments", "result") == [("call_1", "get_fee", ITEM, FEE)]


def test_an_answer_of_a_type_is_the_answer_and_not_a_call():
    handed_in = {"type": "tool_call", "id": "c", "name": "final_result", "arguments": {"fee": 0}}
    gave = [{"role": "assistant", "parts": [handed_in]}]
    parameters = {"model_request_parameters": {"output_tools": [{"name": "final_result"}]}}
    all_messages = [
        user("q"),
        *gave,
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c", "result": "ok"}]},
    ]
    root = {"pydantic_ai.all_messages": all_messages, "final_result": '{"fee": 0}'}
    trace = only([agent("1", 0, 9, attributes=root), model("2", 1, 2, "1", [user("q")], gave, attributes=parameters)])
    assert said(trace) == [("q", {"fee": 0})]
    assert calls(trace) == []


def test_a_trace_may_mix_dialects():
    root = {"openinference.span.kind": "AGENT", "input.value": ASKED, "output.value": ANSWERED, "session.id": "conv-1"}
    spans = [span("9", 0, 950, attributes=root), *conversation()[1:4]]
    spans[1:] = [{**item, "parent_id": "0x9"} for item in spans[1:]]
    trace = only(spans)
    assert said(trace) == FIRST
    assert calls(trace, "name", "result") == [("get_fee", FEE)]
    assert trace.annotations["source"] == {"format": "openinference"}
