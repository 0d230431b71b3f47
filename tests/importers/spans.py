"""Spans as the SDK of OpenTelemetry prints them, of a small bank's support agent."""

from __future__ import annotations

import json

from giskard.checks.importers.base import Reading, ReadOptions, Record
from giskard.checks.importers.opentelemetry import OpenTelemetry

PROMPT = "You are the support agent of a small bank. Look fees up before you quote them."
ASKED, ANSWERED = "What does it cost to replace a lost card?", "Replacing a lost card is free."
ASKED_AGAIN, ANSWERED_AGAIN = "Good. Please block card c-17.", "Done: card c-17 is blocked."


def read(records, format=OpenTelemetry, **options):
    """The traces of records, and the reasons for what was skipped."""
    reading = Reading(ReadOptions(**options))
    traces = list(format().read((Record(record) for record in records), reading))
    return traces, [skipped.reason for skipped in reading.report.skipped]


def only(records, format=OpenTelemetry, **options):
    """The one trace of records of which none is skipped."""
    (trace,), skipped = read(records, format, **options)
    assert not skipped
    return trace


def said(trace):
    """What was said in each turn."""
    return [(turn.inputs, turn.outputs) for turn in trace.interactions]


def calls(trace, *names):
    """These fields of each call of each turn."""
    names = names or ("name", "arguments", "result", "error")
    made = [call for turn in trace.interactions for call in turn.metadata.get("tool_calls", ())]
    return [tuple(call.get(name) for name in names) for call in made]


# --- messages ----------------------------------------------------------------------------


def user(text):
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def assistant(text):
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def call(name, arguments, id=None):
    return {"role": "assistant", "parts": [call_part(name, arguments, id)]}


def call_part(name, arguments, id=None):
    part = {"type": "tool_call", "name": name, "arguments": arguments}
    return part if id is None else {**part, "id": id}


def result(response, id=None):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": response}]}


# --- spans -------------------------------------------------------------------------------


def span(id, at, end, parent=None, trace="a1", attributes=None, name="work", status="UNSET", **more):
    """A span from `at` to `end`, milliseconds of one day."""
    return {
        "name": name,
        "context": {"trace_id": f"0x{trace}", "span_id": f"0x{id}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None if parent is None else f"0x{parent}",
        "start_time": _time(at),
        "end_time": _time(end),
        "status": {"status_code": status, **more.pop("status_more", {})},
        "attributes": {key: _attribute(value) for key, value in (attributes or {}).items() if value is not None},
        "events": [],
        **more,
    }


def agent(id, at, end, parent=None, given=None, gave=None, conversation=None, agent="bank_support", **more):
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        "gen_ai.conversation.id": conversation,
        "gen_ai.input.messages": given,
        "gen_ai.output.messages": gave,
    }
    return span(id, at, end, parent, attributes={**attributes, **more.pop("attributes", {})}, **more)


def model(id, at, end, parent=None, given=None, gave=None, tokens=(10, 2), conversation=None, **more):
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m-1",
        "gen_ai.conversation.id": conversation,
        "gen_ai.input.messages": given,
        "gen_ai.output.messages": gave,
        "gen_ai.usage.input_tokens": tokens and tokens[0],
        "gen_ai.usage.output_tokens": tokens and tokens[1],
    }
    return span(id, at, end, parent, attributes={**attributes, **more.pop("attributes", {})}, **more)


def tool(id, at, end, parent=None, name="get_fee", arguments=None, result=None, call_id=None, **more):
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": result,
    }
    return span(id, at, end, parent, attributes={**attributes, **more.pop("attributes", {})}, **more)


def http(id, at, end, parent=None, **more):
    return span(id, at, end, parent, attributes={"http.request.method": "POST", "url.path": "/chat"}, **more)


def turn(trace, at, asked, answered, name, arguments, gave, before=(), conversation="conv-1", id="call_1"):
    """The spans of a turn with one call, and all messages at its end."""
    start = [*before, user(asked)]
    then = [*start, call(name, arguments, id), result(gave, id)]
    spans = [
        agent("1", at, at + 900, conversation=conversation, trace=trace),
        model("2", at + 5, at + 400, "1", start, [call(name, arguments, id)], (61, 18), trace=trace),
        tool("3", at + 402, at + 430, "1", name, arguments, gave, id, trace=trace),
        model("4", at + 435, at + 895, "1", then, [assistant(answered)], (79, 9), trace=trace),
    ]
    return spans, [*then, assistant(answered)]


def conversation():
    """Both turns, each in a trace of its own."""
    first, said = turn("a1", 0, ASKED, ANSWERED, "get_fee", {"item": "card_replacement"}, {"fee_eur": 0.0})
    second, _ = turn(
        *("a2", 60_000, ASKED_AGAIN, ANSWERED_AGAIN, "block_card", {"card_id": "c-17"}, {"status": "blocked"}),
        before=said,
        id="call_2",
    )
    return [*first, *second]


def _time(at):
    return f"2025-10-09T{at // 3_600_000:02}:{at // 60_000 % 60:02}:{at // 1000 % 60:02}.{at % 1000:03}000Z"


def _attribute(value):
    return json.dumps(value) if isinstance(value, (list, dict)) else value
