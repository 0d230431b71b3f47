"""Runs of LangSmith, and the feedback on them."""

import json

import pytest

from giskard.checks import load_traces
from giskard.checks.importers.langsmith import LangSmith
from tests.importers.spans import ANSWERED, ANSWERED_AGAIN, ASKED, ASKED_AGAIN, PROMPT, calls, only, read, said

ITEM, FEE = {"item": "card_replacement"}, {"fee_eur": 0.0}


@pytest.fixture
def runs(examples):
    return [json.loads(line) for line in (examples / "langsmith_runs.jsonl").read_text().splitlines()]


def last(trace):
    return trace.interactions[-1].metadata


def load(records, **options):
    return only(records, LangSmith, **options)


def run(kind, inputs=None, outputs=None, id="1", parent=None, at=0, **more):
    made = {"id": id, "trace_id": "1", "parent_run_id": parent, "run_type": kind, "name": "work"}
    made |= {"start_time": f"2025-10-09T08:53:20.{at:03}", "end_time": f"2025-10-09T08:53:20.{at + 10:03}"}
    return {**made, "inputs": inputs, "outputs": outputs, **more}


# --- files -------------------------------------------------------------------------------


def test_the_example_is_the_first_turn_of_the_expected_trace(examples):
    expected = json.loads((examples / "expected_trace.json").read_text())["interactions"][0]
    traces = load_traces(examples / "langsmith_runs.jsonl")
    (trace,) = traces
    assert said(trace) == [(expected["inputs"], expected["outputs"])]
    (made,) = last(trace)["tool_calls"]
    assert {name: made[name] for name in ("id", "name", "arguments", "result", "error")} == expected["metadata"][
        "tool_calls"
    ][0]
    assert trace.annotations["conversation_id"] == "conv-1"  # and not the project
    assert trace.annotations["tags"] == ["web"]
    assert trace.annotations["source"]["format"] == "langsmith"
    assert last(trace)["usage"] == {"input_tokens": 61, "output_tokens": 18}
    assert (last(trace)["latency_ms"], last(trace)["ttft_ms"], made["latency_ms"]) == (900, 205, 28)
    assert last(trace)["timestamp"] == "2025-10-09T08:53:20+00:00"
    assert last(trace)["model"] == "gpt-5-mini"
    assert last(trace)["labels"] == {"user_score": 1.0}
    assert "finish_reason" not in last(trace)  # of the call that answered, nothing was recorded
    assert traces.report.skipped_count == 0


def test_runs_in_a_list_or_in_their_parent(runs, write):
    trace = load(runs)
    (listed,) = load_traces(write("runs.json", runs))
    assert listed.interactions == trace.interactions
    root, model, tool = runs
    for child in (model, tool):
        del child["parent_run_id"], child["trace_id"], child["dotted_order"]
    assert load([{**root, "child_runs": [tool, model]}]).interactions == trace.interactions


def test_the_order_and_the_tree_from_the_dotted_order(runs):
    trace = load(runs)
    for item in runs:
        del item["trace_id"], item["parent_run_id"], item["start_time"]
    again = load(runs)
    assert said(again) == said(trace)
    assert last(again)["latency_ms"] == 900
    del runs[0]["id"]
    assert said(load(runs)) == said(trace)


def test_fields_as_json_texts_as_exports_to_files_have_them(runs):
    trace = load(runs)
    for item in runs:
        for name in ("inputs", "outputs", "extra", "feedback_stats", "tags"):
            if name in item:
                item[name] = json.dumps(item[name])
    assert load(runs) == trace


def test_the_traces_of_a_thread_are_its_turns(runs):
    history = [*runs[0]["inputs"]["messages"], *runs[0]["outputs"]["messages"]]
    asked = {"role": "user", "content": ASKED_AGAIN}
    later = run(
        "chain",
        {"messages": [*history, asked]},
        {"messages": [*history, asked, {"role": "assistant", "content": ANSWERED_AGAIN}]},
    )
    later |= {
        "start_time": "2025-10-09T08:54:00",
        "end_time": "2025-10-09T08:54:01",
        "extra": {"metadata": {"session_id": "conv-1"}},
    }
    trace = load([later, *runs])
    assert said(trace) == [(ASKED, ANSWERED), (ASKED_AGAIN, ANSWERED_AGAIN)]


# --- models ------------------------------------------------------------------------------


def test_models_that_were_told_messages_of_openai():
    inputs = {"messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": ASKED}]}
    outputs = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "gpt-5-mini-2025-08-07",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWERED}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 8},
    }
    trace = load([run("llm", inputs, outputs, extra={"invocation_params": {"tools": [{"name": "get_fee"}]}})])
    assert said(trace) == [(ASKED, ANSWERED)]
    assert trace.annotations["system_prompt"] == PROMPT
    assert trace.annotations["tools"] == [{"name": "get_fee"}]
    assert last(trace)["model"] == "gpt-5-mini-2025-08-07"
    assert last(trace)["finish_reason"] == "stop"
    assert last(trace)["usage"] == {"input_tokens": 7, "output_tokens": 8}


def constructor(kind, **fields):
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": fields}


def test_constructors_of_langchain_with_results_and_counts():
    called = {"name": "get_fee", "args": ITEM, "id": "call_1", "type": "tool_call"}
    told = [
        constructor("SystemMessage", content=PROMPT),
        constructor("HumanMessage", content=[{"type": "text", "text": ASKED}]),
        constructor("AIMessage", content="", tool_calls=[called]),
        constructor("ToolMessage", content=json.dumps(FEE), tool_call_id="call_1", status="success"),
    ]
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "output_token_details": {"reasoning": 2},
        "input_token_details": {"cache_read": 1},
    }
    answer = constructor("AIMessageChunk", content=ANSWERED, usage_metadata=usage)
    generation = {"text": ANSWERED, "generation_info": {"finish_reason": "stop"}, "message": answer}
    trace = load(
        [run("llm", {"messages": [told]}, {"generations": [[generation]], "llm_output": {"model_name": "m-2"}})]
    )
    assert said(trace) == [(ASKED, ANSWERED)]
    assert calls(trace, "id", "arguments", "result") == [("call_1", ITEM, FEE)]
    assert trace.annotations["system_prompt"] == PROMPT
    assert last(trace)["usage"] == {"input_tokens": 10, "output_tokens": 5, "reasoning_tokens": 2, "cached_tokens": 1}
    assert (last(trace)["model"], last(trace)["finish_reason"]) == ("m-2", "stop")


def test_models_that_complete_a_text():
    outputs = {"generations": [[{"text": "a", "generation_info": None}]]}
    assert said(load([run("llm", {"prompts": ["q"]}, outputs)])) == [("q", "a")]


def test_a_state_of_langgraph_tells_the_calls_when_no_model_does():
    called = {"type": "ai", "content": "", "tool_calls": [{"name": "get_fee", "args": ITEM, "id": "call_1"}]}
    messages = [
        {"type": "human", "content": ASKED},
        called,
        {"type": "tool", "content": json.dumps(FEE), "tool_call_id": "call_1"},
    ]
    state = {"messages": [*messages, {"type": "ai", "content": ANSWERED}]}
    trace = load([run("chain", {"messages": messages[:1]}, state)])
    assert said(trace) == [(ASKED, ANSWERED)]
    assert calls(trace, "id", "arguments", "result") == [("call_1", ITEM, FEE)]


# --- tools -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "arguments"),
    [
        ({"input": "{'item': 'card_replacement'}"}, ITEM),
        ({"input": '{"item": "card_replacement"}'}, ITEM),
        ({"input": "{'n': None, 'b': True, 't': (1, 2)}"}, {"n": None, "b": True, "t": [1, 2]}),
        ({"input": ITEM}, ITEM),
        (ITEM, ITEM),
        ({"input": "plain words"}, {"input": "plain words"}),
        ({"input": "{'item': open('x')}"}, {"input": "{'item': open('x')}"}),
        ({"input": "{" * 5000}, {"input": "{" * 5000}),
        ({"name": "get_fee", "args": ITEM, "id": "call_1", "type": "tool_call"}, ITEM),
    ],
)
def test_what_tools_were_given(inputs, arguments):
    (made,) = last(load([run("tool", inputs, {"output": "x"})]))["tool_calls"]
    assert json.loads(json.dumps(made["arguments"])) == arguments
    assert "arguments_error" not in made


@pytest.mark.parametrize(
    ("outputs", "result", "error"),
    [
        ({"output": json.dumps(FEE)}, FEE, None),
        ({"output": "no JSON"}, "no JSON", None),
        ({"output": FEE}, FEE, None),
        (FEE, FEE, None),
        ({"output": "content='{\"fee_eur\": 0.0}' name='get_fee' tool_call_id='call_1'"}, FEE, None),
        ({"output": "content=\"it's free\" name='get_fee'"}, "it's free", None),
        ({"output": constructor("ToolMessage", content=json.dumps(FEE), tool_call_id="call_1")}, FEE, None),
        ({"output": {"type": "tool", "content": "broken", "status": "error"}}, None, "broken"),
        ({"output": "content='broken' name='x' status='error'"}, None, "broken"),
    ],
)
def test_what_tools_gave(outputs, result, error):
    assert calls(load([run("tool", ITEM, outputs)]), "result", "error") == [(result, error)]


def test_a_tool_that_failed(runs):
    runs[2] |= {"outputs": None, "status": "error", "error": "KeyError('item')"}
    assert calls(load(runs), "result", "error") == [(None, "KeyError('item')")]
    runs[2]["error"] = None
    assert calls(load(runs), "error") == [("the run failed; no text of it was recorded",)]


def test_what_was_looked_up():
    found = {"documents": [{"page_content": "Fees", "metadata": {"page": 3}, "type": "Document"}]}
    runs = [run("chain", {"question": "q"}, {"answer": "a"}), run("retriever", {"query": "q"}, found, "2", "1", 1)]
    trace = load(runs)
    assert said(trace) == [("q", "a")]
    assert last(trace)["retrieved"] == [{"content": "Fees", "metadata": {"page": 3}}]


def test_a_chat_history_beside_the_input():
    inputs = {"input": "q2", "chat_history": [["human", "q1"], ["ai", "a1"]]}
    assert said(load([run("chain", inputs, {"output": "a2"})])) == [("q1", "a1"), ("q2", "a2")]


# --- feedback ----------------------------------------------------------------------------


def test_feedback_is_labels(runs):
    root, model, _ = runs
    root["feedback_stats"] = {
        "user_score": {"n": 2, "avg": 0.5},
        "verdict": {"n": 3, "avg": None, "values": {"good": 2, "bad": 1}},
        "none": {"n": 0, "avg": None},
        "odd": 5,
    }
    feedback = [
        {
            "key": "correct",
            "score": 1,
            "value": None,
            "comment": "as listed",
            "run_id": root["id"],
            "feedback_source": {"type": "app"},
        },
        {"key": "tone", "score": None, "value": "kind", "run_id": model["id"]},
        {"key": "lost", "score": 1, "run_id": "elsewhere"},
    ]
    assert all(map(LangSmith().detect, feedback))
    labels = {
        "user_score": 0.5,
        "verdict": "good",
        "correct": 1,
        "correct_comment": "as listed",
        "correct_source": "app",
    }
    for records in ([*feedback, *runs], [*runs, *feedback]):
        assert last(load(records))["labels"] == {**labels, "tone": "kind"}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"run_type": "llm"},
        {"key": "a", "score": 1},
        {"run_id": "x", "score": 1},
        {"trace_id": "t", "dotted_order": "x"},
    ],
)
def test_what_is_not_recognised(value):
    assert LangSmith().detect(value) is False


def test_runs_without_ids_are_skipped(runs):
    traces, skipped = read([*runs, {"run_type": "llm", "trace_id": "x"}], LangSmith)
    assert len(traces) == 1 and skipped == ["a run without an id"]
