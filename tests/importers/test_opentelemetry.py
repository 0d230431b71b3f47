"""Spans of OpenTelemetry: the layouts that they are exported in, and what is recognised as one."""

import base64
import json

import pytest

from giskard.checks import load_traces
from giskard.checks.importers.opentelemetry import OpenTelemetry
from tests.importers.spans import (
    ANSWERED,
    ASKED,
    calls,
    conversation,
    http,
    only,
    read,
    said,
    tool,
)

ITEM, FEE = {"item": "card_replacement"}, {"fee_eur": 0.0}
FIRST = [(ASKED, ANSWERED)]


@pytest.fixture
def batch(examples):
    return json.loads((examples / "otlp_genai.json").read_text())


def spans_of(batch):
    return batch["resourceSpans"][0]["scopeSpans"][0]["spans"]


def last(trace):
    return trace.interactions[-1].metadata


# --- files -------------------------------------------------------------------------------


def test_the_example_is_the_first_turn_of_the_expected_trace(examples):
    expected = json.loads((examples / "expected_trace.json").read_text())
    traces = load_traces(examples / "otlp_genai.json")
    (trace,) = traces
    turn = expected["interactions"][0]
    assert said(trace) == [(turn["inputs"], turn["outputs"])]
    (made,) = last(trace)["tool_calls"]
    assert {name: made[name] for name in turn["metadata"]["tool_calls"][0]} == turn["metadata"]["tool_calls"][0]
    assert trace.annotations["system_prompt"] == expected["annotations"]["system_prompt"]
    assert trace.annotations["conversation_id"] == "conv-1"
    assert trace.annotations["source"] == {"format": "otel_genai", "path": str(examples / "otlp_genai.json"), "line": 1}
    assert last(trace)["usage"] == {"input_tokens": 140, "output_tokens": 27, "reasoning_tokens": 8}
    assert last(trace)["reasoning"] == ["Look the fee up first."]
    assert last(trace)["model"] == "gpt-5-mini-2025-08-07"
    assert last(trace)["finish_reason"] == "stop"
    assert last(trace)["latency_ms"] == 900
    assert traces.report.formats == {"opentelemetry": 1}
    assert traces.report.skipped_count == traces.report.incomplete == 0


def test_the_older_dialects_of_the_example(examples):
    traces = list(load_traces(examples / "otlp_genai_legacy_spans.json"))
    assert [trace.annotations["source"]["format"] for trace in traces] == ["traceloop", "otel_genai"]
    for trace in traces:
        assert said(trace) == [(ASKED, None)]
        assert calls(trace, "id", "name", "arguments", "result") == [("call_1", "get_fee", ITEM, None)]
        assert last(trace)["incomplete"] is True
        assert last(trace)["finish_reason"] == "tool_calls"
    assert last(traces[0])["usage"] == {"input_tokens": 61, "output_tokens": 18}
    assert last(traces[0])["model"] == "gpt-5-mini"


def test_real_spans_of_pydantic_ai():
    path = f"{__file__.rpartition('/')[0]}/data/spans/pydantic_ai_otel_sdk_spans.json"
    traces = load_traces(path)
    (trace,) = traces
    assert said(trace) == FIRST
    assert calls(trace, "id", "name", "arguments", "result", "error", "agent", "latency_ms") == [
        ("call_1", "get_fee", ITEM, FEE, None, "bank_support", 0.794)
    ]
    assert [message["role"] for message in last(trace)["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert last(trace)["usage"] == {"input_tokens": 63 + 67, "output_tokens": 5 + 12}
    assert last(trace)["latency_ms"] == pytest.approx(138.16)
    assert trace.annotations["system_prompt"] == "Look fees up."
    assert trace.annotations["conversation_id"] == "01a22b71-37bc-7622-9171-ddeeb1c5a521"
    assert [item["name"] for item in trace.annotations["tools"]] == ["get_fee"]
    assert trace.annotations["source"]["line"] == 129
    assert traces.report.skipped_count == traces.report.incomplete == 0


def test_real_spans_one_a_line_are_the_same(write):
    path = f"{__file__.rpartition('/')[0]}/data/spans/pydantic_ai_otel_sdk_spans.json"
    with open(path) as file:
        spans = json.load(file)
    (trace,) = load_traces(path)
    (by_line,) = load_traces(write("spans.jsonl", "\n".join(json.dumps(item) for item in reversed(spans))))
    assert by_line.interactions == trace.interactions
    for root_alone in ([spans[3]], [spans[3], spans[1]]):
        alone = only(root_alone)
        assert said(alone) == FIRST
        assert calls(alone, "name", "arguments", "result") == [("get_fee", ITEM, FEE)]
        assert last(alone)["usage"] == {"input_tokens": 130, "output_tokens": 17}


@pytest.mark.parametrize("name", OpenTelemetry.aliases)
def test_other_names_of_the_format(examples, name):
    assert len(list(load_traces(examples / "otlp_genai.json", format=name))) == 1


# --- layouts -----------------------------------------------------------------------------


def test_batches_over_several_lines(batch, write):
    spans = spans_of(batch)
    lines = []
    for item in spans:
        lines.append(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [item]}]}]}))
    (trace,) = load_traces(write("traces.jsonl", "\n".join(lines)))
    assert trace.interactions == only([batch]).interactions


def snake(value):
    if isinstance(value, dict):
        return {
            "".join("_" + c.lower() if c.isupper() else c for c in name): snake(item) for name, item in value.items()
        }
    return [snake(item) for item in value] if isinstance(value, list) else value


def test_names_in_snake_case_and_older_ones(batch):
    trace = only([batch])
    assert only([snake(batch)]) == trace
    for group in batch["resourceSpans"]:
        group["instrumentationLibrarySpans"] = group.pop("scopeSpans")
    assert only([batch]) == trace
    assert only([{"batches": batch["resourceSpans"]}]) == trace
    assert only([{"trace": batch}]) == trace
    assert (
        only(spans_of({"resourceSpans": [{"scopeSpans": batch["resourceSpans"][0]["instrumentationLibrarySpans"]}]}))
        == trace
    )


def test_ids_in_base64_as_mappings_of_protobuf_write_them(batch):
    trace = only([batch])
    for item in spans_of(batch):
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in item:
                item[name] = base64.b64encode(bytes.fromhex(item[name])).decode()
    assert only([batch]) == trace  # the id of the trace too is in hexadecimal


def test_ids_in_capitals_and_roots_with_a_parent_of_zeros(batch):
    trace = only([batch])
    for item in spans_of(batch):
        item["traceId"], item["spanId"] = item["traceId"].upper(), f"0x{item['spanId']}"
        item.setdefault("parentSpanId", "0000000000000000")
    assert only([batch]) == trace


def test_values_of_every_type(batch):
    item = spans_of(batch)[0]
    messages = {
        "arrayValue": {
            "values": [
                {
                    "kvlistValue": {
                        "values": [
                            {"key": "role", "value": {"stringValue": "user"}},
                            {
                                "key": "parts",
                                "value": {
                                    "arrayValue": {
                                        "values": [
                                            {
                                                "kvlistValue": {
                                                    "values": [
                                                        {"key": "type", "value": {"stringValue": "text"}},
                                                        {"key": "content", "value": {"stringValue": ASKED}},
                                                    ]
                                                }
                                            }
                                        ]
                                    }
                                },
                            },
                        ]
                    }
                }
            ]
        }
    }
    for pair in item["attributes"]:
        if pair["key"] == "gen_ai.input.messages":
            pair["value"] = messages
    item["attributes"] += [
        {"key": "d", "value": {"doubleValue": "NaN"}},
        {"key": "b", "value": {"boolValue": True}},
        {"key": "y", "value": {"bytesValue": "aGk="}},
        {"key": "n", "value": {}},
    ]
    assert said(only([batch])) == FIRST


def test_times_and_counts_may_be_numbers_or_texts(batch):
    trace = only([batch])
    for item in spans_of(batch):
        item["startTimeUnixNano"], item["endTimeUnixNano"] = (
            int(item["startTimeUnixNano"]),
            int(item["endTimeUnixNano"]),
        )
        for pair in item["attributes"]:
            if "intValue" in pair["value"]:
                pair["value"]["intValue"] = int(pair["value"]["intValue"])
    assert only([batch]) == trace


@pytest.mark.parametrize("code", [2, "2", "STATUS_CODE_ERROR", "ERROR"])
def test_the_codes_of_a_failure(batch, code):
    spans_of(batch)[2]["status"] = {"code": code, "message": "no such item"}
    assert calls(only([batch]), "error") == [("no such item",)]


def test_what_was_thrown_is_the_text_of_a_failure(batch):
    item = spans_of(batch)[2]
    item["status"] = {"code": 2}
    thrown = [
        {"key": "exception.type", "value": {"stringValue": "KeyError"}},
        {"key": "exception.message", "value": {"stringValue": "no such item"}},
    ]
    item["events"] = [{"name": "exception", "timeUnixNano": "1", "attributes": thrown}]
    assert calls(only([batch]), "error") == [("KeyError: no such item",)]


# --- what is recognised ------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        "resourceSpans",
        {"resourceSpans": None},
        {"resourceSpans": ["x"]},
        {"context": {}},
        {"context": [], "attributes": {}},
        {"traceId": "1", "id": "2"},
        {"trace_id": "1", "span_id": "2"},
        {"messages": [{"role": "user", "content": "gen_ai."}]},
        {"attributes": {"a": 1}},
        {"a": []},
        {"a": [None], "b": {}},
        {"batches": [{"a": 1}]},
        {"trace": {"trace": {"trace": {}}}},
        [{"resourceSpans": []}],
    ],
)
def test_what_is_not_recognised(value):
    assert OpenTelemetry().detect(value) is False


def test_what_is_recognised(batch):
    recognised = OpenTelemetry().detect
    assert recognised(batch) and recognised(snake(batch)) and recognised({"resourceSpans": []})
    assert all(recognised(item) for item in spans_of(batch))
    assert all(recognised(item) for item in conversation())
    assert recognised({"context.trace_id": "a", "context.span_id": "b", "attributes.input.value": "q"})


def test_a_broken_record_does_not_stop_the_others():
    deep = {}
    for _ in range(5000):
        deep = {"kvlistValue": {"values": [{"key": "k", "value": deep}]}}
    broken = {"traceId": "a9", "spanId": "b9", "attributes": [{"key": "gen_ai.x", "value": deep}]}
    traces, skipped = read([*conversation()[:2], broken, *conversation()[2:]])
    assert len(traces) == 1 and len(traces[0].interactions) == 2
    assert len(skipped) == 1 and "RecursionError" in skipped[0]


def test_records_without_spans_are_skipped():
    for odd in ({"spans": []}, {"context": {"trace_id": None, "span_id": None}}, ["x"], "x"):
        traces, skipped = read([*conversation(), odd])
        assert len(traces) == 1 and len(skipped) == 1
    assert read([{"resourceSpans": []}, *conversation()])[1] == []  # an export with nothing in it
    assert read([{"resourceSpans": []}]) == ([], ["there is no span in it"])


def test_the_report_counts_the_spans_that_are_in_no_turn(write):
    traces = load_traces(write("spans.json", [http("f", 0, 5), http("e", 6, 7), *conversation()]))
    assert len(list(traces)) == 1
    assert traces.report.skipped_count == 0
    assert traces.report.notes == ["opentelemetry: 2 spans of no agent, model or tool are in no turn"]


def test_a_tool_alone_is_a_call_of_nobody():
    trace = only([tool("1", 0, 5, None, "get_fee", ITEM, FEE, "c")])
    assert said(trace) == [(None, None)]
    assert calls(trace, "id", "name", "arguments", "result", "error") == [("c", "get_fee", ITEM, FEE, None)]
