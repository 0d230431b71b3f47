"""Observations, traces and scores of Langfuse."""

import json

import pytest

from giskard.checks import load_traces
from giskard.checks.importers.langfuse import Langfuse
from tests.importers.spans import ANSWERED, ANSWERED_AGAIN, ASKED, ASKED_AGAIN, PROMPT, calls, only, read, said

ITEM, FEE = {"item": "card_replacement"}, {"fee_eur": 0.0}


@pytest.fixture
def observations(examples):
    return json.loads((examples / "langfuse_observations.json").read_text())


def last(trace):
    return trace.interactions[-1].metadata


def load(records, **options):
    return only(records, Langfuse, **options)


SNAKE = {
    "traceId": "trace_id",
    "parentObservationId": "parent_observation_id",
    "startTime": "start_time",
    "endTime": "end_time",
    "statusMessage": "status_message",
    "completionStartTime": "completion_start_time",
    "model": "provided_model_name",
    "usageDetails": "usage_details",
    "costDetails": "cost_details",
    "timeToFirstToken": "time_to_first_token",
    "sessionId": "session_id",
    "userId": "user_id",
    "traceName": "trace_name",
}


def exported(observation):
    """An observation as the export to files has it."""
    row = {SNAKE.get(name, name): value for name, value in observation.items()}
    for side in ("input", "output"):
        row[side] = value if isinstance(value := row[side], str) else json.dumps(value)
    for name in ("start_time", "end_time", "completion_start_time"):
        if name in row:
            row[name] = row[name].replace("T", " ").replace("Z", "000")
    row["parent_observation_id"] = row["parent_observation_id"] or ""
    return {name: value for name, value in row.items() if value is not None}


# --- files -------------------------------------------------------------------------------


def test_the_example_is_the_first_turn_of_the_expected_trace(examples):
    expected = json.loads((examples / "expected_trace.json").read_text())["interactions"][0]
    traces = load_traces(examples / "langfuse_observations.json")
    (trace,) = traces
    assert said(trace) == [(expected["inputs"], expected["outputs"])]
    (made,) = last(trace)["tool_calls"]
    assert {name: made[name] for name in ("id", "name", "arguments", "result", "error")} == expected["metadata"][
        "tool_calls"
    ][0]
    assert trace.annotations["system_prompt"] == PROMPT
    assert trace.annotations["conversation_id"] == "conv-1"
    assert trace.annotations["user_id"] == "u-1"
    assert trace.annotations["tags"] == ["web"]
    assert trace.annotations["source"]["format"] == "langfuse"
    assert last(trace)["usage"] == {"input_tokens": 61, "output_tokens": 18}
    assert last(trace)["cost_usd"] == 5.125e-05
    assert (last(trace)["latency_ms"], last(trace)["ttft_ms"], made["latency_ms"]) == (900, 205, 28)
    assert last(trace)["model"] == "gpt-5-mini"
    assert traces.report.skipped_count == 0


def test_the_example_of_the_export_to_files(examples):
    traces = load_traces(examples / "langfuse_blob_observations_v2.jsonl")
    (trace,) = traces
    assert said(trace) == [(ASKED, None)]
    assert calls(trace, "id", "name", "arguments", "result") == [("call_1", "get_fee", ITEM, None)]
    assert trace.annotations["system_prompt"] == PROMPT
    assert (last(trace)["latency_ms"], last(trace)["ttft_ms"]) == (395, 205)
    assert last(trace)["timestamp"] == "2025-10-09T08:53:20.005000+00:00"
    assert last(trace)["usage"] == {"input_tokens": 61, "output_tokens": 18}
    assert last(trace)["incomplete"] is True
    assert traces.report.incomplete == 1


def test_the_export_to_files_says_the_same_as_the_api(observations):
    assert load(map(exported, observations)) == load(observations)


def test_observations_in_a_wrapper(observations, write):
    (trace,) = load_traces(write("page.json", {"data": observations, "meta": {"page": 1}}))
    assert trace.interactions == load(observations).interactions


# --- traces ------------------------------------------------------------------------------


def test_a_trace_and_its_observations_apart(observations):
    for item in observations[1:]:
        item["parentObservationId"] = None
        del item["sessionId"]
    row = {
        "id": "tr-1",
        "timestamp": "2025-10-09T08:53:20.000Z",
        "name": "support",
        "sessionId": "conv-1",
        "userId": "u-1",
        "input": {"messages": [{"role": "user", "content": ASKED}]},
        "output": ANSWERED,
        "metadata": {"tier": "gold"},
    }
    for records in ([row, *observations[1:]], [*observations[1:], row]):
        trace = load(records)
        assert said(trace) == [(ASKED, ANSWERED)]
        assert calls(trace, "name", "result") == [("get_fee", FEE)]
        assert trace.annotations["conversation_id"] == "conv-1"
        assert trace.annotations["metadata"] == {"tier": "gold"}


def test_a_trace_with_its_observations_and_scores_in_it(observations):
    scores = [
        {
            "id": "s1",
            "name": "correct",
            "value": 1,
            "dataType": "BOOLEAN",
            "source": "ANNOTATION",
            "comment": "as listed",
        }
    ]
    row = {"id": "tr-1", "timestamp": "2025-10-09T08:53:20.000Z", "observations": observations, "scores": scores}
    assert Langfuse().detect(row)
    trace = load([row])
    assert said(trace) == [(ASKED, ANSWERED)]
    assert last(trace)["labels"] == {"correct": True, "correct_comment": "as listed", "correct_source": "ANNOTATION"}


def test_a_trace_alone():
    row = {
        "id": "t",
        "timestamp": "2025-10-09T08:53:20Z",
        "sessionId": None,
        "input": "q",
        "output": "a",
        "latency": 1.5,
    }
    trace = load([row])
    assert said(trace) == [("q", "a")]
    assert last(trace)["latency_ms"] == 1500
    assert said(load([{**row, "input": {"n": 1}, "output": {"m": 2}}])) == [({"n": 1}, {"m": 2})]


def test_the_traces_of_a_session_are_its_turns(observations):
    later = []
    for item in observations:
        item = {**item, "id": f"{item['id']}-2", "traceId": "tr-2"}
        item["parentObservationId"] = item["parentObservationId"] and f"{item['parentObservationId']}-2"
        item["startTime"], item["endTime"] = (
            item["startTime"].replace("08:53", "08:54"),
            item["endTime"].replace("08:53", "08:54"),
        )
        later.append(item)
    later[0] |= {"input": ASKED_AGAIN, "output": ANSWERED_AGAIN}
    history = [*observations[1]["input"], observations[1]["output"]]
    history += [
        {"role": "tool", "tool_call_id": "call_1", "content": json.dumps(FEE)},
        {"role": "assistant", "content": ANSWERED},
    ]
    later[1] |= {"input": [*history, {"role": "user", "content": ASKED_AGAIN}]}
    trace = load([*later, *observations])
    assert said(trace) == [(ASKED, ANSWERED), (ASKED_AGAIN, ANSWERED_AGAIN)]
    assert len(calls(trace)) == 2


# --- labels ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "labels"),
    [
        ({"value": 0.5, "dataType": "NUMERIC"}, {"correct": 0.5}),
        ({"value": 0, "dataType": "BOOLEAN", "stringValue": "False"}, {"correct": False}),
        ({"value": 1, "dataType": "CATEGORICAL", "stringValue": "good"}, {"correct": "good"}),
        ({"value": "good", "dataType": "CATEGORICAL"}, {"correct": "good"}),
        ({"string_value": "good", "value": None, "data_type": "CATEGORICAL", "comment": ""}, {"correct": "good"}),
        ({"value": None, "dataType": "NUMERIC"}, None),
    ],
)
def test_scores_are_labels(observations, score, labels):
    spelling = "traceId" if "dataType" in score else "trace_id"
    record = {"id": "s", spelling: "tr-1", "name": "correct", **score}
    for records in ([record, *observations], [*observations, record]):
        assert last(load(records)).get("labels") == labels


def test_scores_of_an_observation_and_of_a_session(observations):
    scores = [
        {"id": "s1", "traceId": "tr-1", "observationId": "obs-1", "name": "fluent", "value": 1, "dataType": "NUMERIC"},
        {"id": "s2", "sessionId": "conv-1", "traceId": None, "name": "solved", "value": 1, "dataType": "BOOLEAN"},
        {"id": "s3", "traceId": "tr-9", "name": "lost", "value": 1, "dataType": "BOOLEAN"},
    ]
    assert all(map(Langfuse().detect, scores))
    trace = load([*scores, *observations])
    assert last(trace)["labels"] == {"fluent": 1}
    assert trace.annotations["labels"] == {"solved": True}


# --- observations ------------------------------------------------------------------------


def test_calls_that_stand_in_a_column_of_their_own(observations):
    row = exported(observations[1])
    row["tool_calls"] = [json.dumps(call) for call in observations[1]["output"]["tool_calls"]]
    row["output"] = ""
    assert calls(load([row]), "id", "name", "arguments") == [("call_1", "get_fee", ITEM)]
    row["output"] = json.dumps({"role": "assistant", "content": "One moment."})
    assert calls(load([row]), "id", "name", "arguments") == [("call_1", "get_fee", ITEM)]


def test_failures(observations):
    observations[2] |= {"level": "ERROR", "statusMessage": "no such item", "output": None}
    assert calls(load(observations), "result", "error") == [(None, "no such item")]
    observations[0] |= {"level": "ERROR", "statusMessage": "", "output": None}
    trace = load(observations)
    assert last(trace)["error"] == "it failed; no text of it was recorded"
    assert last(trace)["incomplete"] is True


def test_observations_whose_inputs_and_outputs_were_not_exported(observations):
    for item in observations:
        del item["input"], item["output"]
    trace = load(observations)
    assert said(trace) == [(None, None)]
    assert last(trace)["content_recorded"] is False
    assert calls(trace, "name", "answered") == [("get_fee", False)]
    assert last(trace)["usage"] == {"input_tokens": 61, "output_tokens": 18}


def test_older_names_of_counts(observations):
    observations[1] |= {"usageDetails": None, "usage": {"promptTokens": 1, "completionTokens": 2, "unit": "TOKENS"}}
    observations[1] |= {"costDetails": None, "calculatedTotalCost": 0.5}
    assert last(load(observations))["usage"] == {"input_tokens": 1, "output_tokens": 2}
    assert last(load(observations))["cost_usd"] == 0.5
    observations[1] |= {"usage": None, "promptTokens": 3, "completionTokens": 4}
    assert last(load(observations))["usage"] == {"input_tokens": 3, "output_tokens": 4}
    details = {"input": 5, "output": 6, "output_reasoning_tokens": 2, "input_cached_tokens": 1}
    observations[1] |= {"usageDetails": details}
    assert last(load(observations))["usage"] == {
        "input_tokens": 5,
        "output_tokens": 6,
        "reasoning_tokens": 2,
        "cached_tokens": 1,
    }


def test_what_was_looked_up(observations):
    looked_up = {"id": "r", "traceId": "tr-1", "parentObservationId": "obs-root", "type": "RETRIEVER", "input": "fee"}
    looked_up["output"] = [{"pageContent": "Fees"}]
    assert last(load([*observations, looked_up]))["retrieved"] == [{"pageContent": "Fees"}]


def test_latency_without_an_end(observations):
    for item in observations:
        item["endTime"] = None
    trace = load(observations)
    assert (last(trace)["latency_ms"], last(trace)["tool_calls"][0]["latency_ms"]) == (900, 28)


def test_events_and_guardrails_are_no_turns(observations):
    other = {"id": "e", "traceId": "tr-2", "parentObservationId": None, "type": "EVENT", "input": "q", "output": "a"}
    assert len(read([*observations, other], Langfuse)[0]) == 1


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"traceId": "t"},
        {"trace_id": "t", "span_id": "s", "name": "n", "value": 1},
        {"trace_id": "t", "run_type": "llm", "start_time": "x"},
        {"id": "x", "timestamp": 1, "input": "q", "output": "a"},
        {"id": "x", "observations": ["a"]},
        {"id": "x", "name": "n", "value": 1},
    ],
)
def test_what_is_not_recognised(value):
    assert Langfuse().detect(value) is False


def test_records_without_ids_are_skipped(observations):
    for odd in (
        {"traceId": "t", "parentObservationId": None},
        {"traceId": None, "id": "x", "parentObservationId": None},
    ):
        traces, skipped = read([*observations, odd], Langfuse)
        assert len(traces) == 1
        assert skipped == ["an observation without an id of its own or of its trace"]
