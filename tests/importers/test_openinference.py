"""Spans of OpenInference: as attributes, nested as Phoenix exports them, and as the columns of a table."""

import json

import pytest

from giskard.checks import load_traces
from giskard.checks.importers._flat_keys import nested
from tests.importers.spans import ANSWERED, ASKED, PROMPT, calls, only, read, said

ITEM, FEE = {"item": "card_replacement"}, {"fee_eur": 0.0}


@pytest.fixture
def spans(examples):
    return json.loads((examples / "openinference_spans.json").read_text())


def last(trace):
    return trace.interactions[-1].metadata


def one(kind, id="1", parent=None, at=0, **attributes):
    attributes = {name.replace("__", "."): value for name, value in attributes.items()}
    return {
        "name": "work",
        "context": {"trace_id": "a1", "span_id": id},
        "parent_id": parent,
        "start_time": f"2025-10-09T08:53:20.{at:03}+00:00",
        "end_time": f"2025-10-09T08:53:20.{at + 10:03}+00:00",
        "status_code": "OK",
        "attributes": {"openinference.span.kind": kind, **attributes},
    }


def messages(side, *given):
    """Flattened attributes of messages."""
    made = {}
    for place, message in enumerate(given):
        for name, value in message.items():
            made[f"llm.{side}_messages.{place}.message.{name}"] = value
    return made


def test_the_example_is_the_first_turn_of_the_expected_trace(examples):
    expected = json.loads((examples / "expected_trace.json").read_text())["interactions"][0]
    traces = load_traces(examples / "openinference_spans.json")
    (trace,) = traces
    assert said(trace) == [(expected["inputs"], expected["outputs"])]
    (made,) = last(trace)["tool_calls"]
    assert {name: made[name] for name in ("id", "name", "arguments", "result", "error")} == expected["metadata"][
        "tool_calls"
    ][0]
    assert trace.annotations["system_prompt"] == PROMPT
    assert trace.annotations["conversation_id"] == "conv-1"
    assert trace.annotations["source"]["format"] == "openinference"
    assert last(trace)["usage"] == {"input_tokens": 61, "output_tokens": 18}
    assert (last(trace)["latency_ms"], made["latency_ms"]) == (900, 28)
    assert traces.report.skipped_count == 0


def test_nested_as_phoenix_exports_it(spans):
    trace = only(spans)
    deep = [{**item, "attributes": nested(item["attributes"])} for item in spans]
    assert only(deep) == trace
    # Lists of messages whose fields still have their dots in them.
    model = spans[1]["attributes"]
    for side, count in (("input", 2), ("output", 1)):
        items = []
        for place in range(count):
            prefix = f"llm.{side}_messages.{place}."
            items.append(
                {name.removeprefix(prefix): model.pop(name) for name in list(model) if name.startswith(prefix)}
            )
        model[f"llm.{side}_messages"] = items
    assert "message.tool_calls.0.tool_call.id" in model["llm.output_messages"][0]
    assert only(spans) == trace


def test_the_columns_of_a_table(spans):
    trace = only(spans)
    rows = []
    for item in spans:
        row = {name: value for name, value in item.items() if name not in ("attributes", "context")}
        row |= {f"context.{name}": value for name, value in item["context"].items()}
        flat = item["attributes"]
        row["span_kind"] = flat.pop("openinference.span.kind")
        tree = nested(flat)
        if "llm" in tree:
            for side in ("input_messages", "output_messages"):
                row[f"attributes.llm.{side}"] = tree["llm"][side]
            flat = {name: value for name, value in flat.items() if "_messages." not in name}
        row |= {f"attributes.{name}": value for name, value in flat.items()}
        row["attributes.metadata"] = None
        rows.append(row)
    assert only(rows) == trace


def test_the_kind_alone_may_stand_beside_the_attributes():
    item = one("LLM", **messages("input", {"role": "user", "content": "q"}))
    item["span_kind"] = item["attributes"].pop("openinference.span.kind")
    item["attributes"]["output.value"] = "a"
    assert said(only([item])) == [("q", "a")]


def test_a_root_whose_input_is_the_whole_state():
    state = {"messages": [{"role": "user", "content": ASKED}], "step": 3, "user": {"id": 7}}
    answer = {"messages": [*state["messages"], {"type": "ai", "content": ANSWERED}]}
    for kind in ("AGENT", "CHAIN"):
        root = one(kind, input__value=json.dumps(state), output__value=json.dumps(answer))
        assert said(only([root])) == [(ASKED, ANSWERED)]
    root = one(
        "AGENT", input__value=json.dumps({"question": ASKED, "step": 3}), output__value=json.dumps({"answer": ANSWERED})
    )
    assert said(only([root])) == [(ASKED, ANSWERED)]


def test_a_model_whose_messages_were_not_recorded_as_such():
    given = {"messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": ASKED}]}
    gave = {"choices": [{"message": {"role": "assistant", "content": ANSWERED}}]}
    trace = only([one("LLM", input__value=json.dumps(given), output__value=json.dumps(gave))])
    assert said(trace) == [(ASKED, ANSWERED)]
    assert trace.annotations["system_prompt"] == PROMPT


def test_contents_reasoning_images_and_usage():
    answer = {
        "role": "assistant",
        "contents.0.message_content.type": "reasoning",
        "contents.0.message_content.text": "Look it up.",
        "contents.1.message_content.type": "text",
        "contents.1.message_content.text": ANSWERED,
    }
    image = {
        "role": "user",
        "contents.0.message_content.type": "text",
        "contents.0.message_content.text": "What is it?",
        "contents.1.message_content.type": "image",
        "contents.1.message_content.image.image.url": "https://example.org/card.png",
    }
    counted = {
        "llm.token_count.prompt": 10,
        "llm.token_count.completion": 5,
        "llm.token_count.prompt_details.cache_read": 4,
        "llm.token_count.completion_details.reasoning": 3,
        "llm.cost.total": 0.25,
        "llm.model_name": "m-1",
        "llm.tools.0.tool.json_schema": '{"name": "get_fee"}',
    }
    trace = only([one("LLM", **messages("input", image), **messages("output", answer), **counted)])
    ((asked, answered),) = said(trace)
    assert asked[0] == {"type": "text", "text": "What is it?"} and asked[1]["image"]["image"]["url"].endswith(
        "card.png"
    )
    assert answered == ANSWERED
    assert last(trace)["reasoning"] == ["Look it up."]
    assert last(trace)["usage"] == {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 4, "reasoning_tokens": 3}
    assert (last(trace)["cost_usd"], last(trace)["model"]) == (0.25, "m-1")
    assert trace.annotations["tools"] == [{"name": "get_fee"}]


def test_tools_by_name_and_results_in_messages():
    called = {"role": "assistant", "tool_calls.0.tool_call.function.name": "get_fee"}
    called["tool_calls.0.tool_call.function.arguments"] = json.dumps(ITEM)
    told = {"role": "tool", "content": json.dumps(FEE), "name": "get_fee"}
    spans = [
        one("AGENT", "1", input__value=ASKED, output__value=ANSWERED),
        one("LLM", "2", "1", 1, **messages("input", {"role": "user", "content": ASKED}), **messages("output", called)),
        one("LLM", "4", "1", 90, **messages("input", {"role": "user", "content": ASKED}, called, told)),
    ]
    assert calls(only(spans), "name", "arguments", "result") == [("get_fee", ITEM, FEE)]
    spans.append(one("TOOL", "3", "1", 30, tool__name="get_fee", input__value="{'item': 'card_replacement'}"))
    assert calls(only(spans), "arguments", "result", "latency_ms") == [(ITEM, FEE, 10)]


def test_documents():
    found = {
        "retrieval.documents.0.document.id": "d1",
        "retrieval.documents.0.document.content": "Fees",
        "retrieval.documents.0.document.score": 0.9,
        "retrieval.documents.0.document.metadata": '{"page": 3}',
        "retrieval.documents.1.document.content": "123",
    }
    spans = [one("CHAIN", "1", input__value="q", output__value="a"), one("RETRIEVER", "2", "1", 1, **found)]
    spans.append(one("LLM", "3", "1", 20, input__value="q", output__value="a"))
    assert last(only(spans))["retrieved"] == [
        {"id": "d1", "content": "Fees", "score": 0.9, "metadata": {"page": 3}},
        {"content": "123"},
    ]


def test_annotations_are_labels():
    item = one(
        "AGENT", input__value="q", output__value="a", user__id="u-1", tag__tags=["web"], metadata='{"tier": "gold"}'
    )
    item["annotations"] = [
        {
            "name": "correct",
            "annotator_kind": "HUMAN",
            "result": {"label": "yes", "score": 1.0, "explanation": "as listed"},
        },
        {"name": "tone", "label": "kind"},
        {"name": "nothing"},
        "odd",
    ]
    trace = only([item])
    assert last(trace)["labels"] == {
        "correct": 1.0,
        "correct_label": "yes",
        "correct_comment": "as listed",
        "correct_source": "HUMAN",
        "tone": "kind",
    }
    assert trace.annotations["user_id"] == "u-1"
    assert trace.annotations["tags"] == ["web"]
    assert trace.annotations["metadata"] == {"tier": "gold"}


def test_evaluators_and_embeddings_are_no_turns():
    spans = [
        one(kind, str(place), input__value="q") for place, kind in enumerate(("EVALUATOR", "EMBEDDING", "GUARDRAIL"), 1)
    ]
    traces, skipped = read(spans)
    assert traces == [] and len(skipped) == 1


@pytest.mark.parametrize(
    ("flat", "tree"),
    [
        ({"a.b": 1, "a.c": 2}, {"a": {"b": 1, "c": 2}}),
        ({"a.1.b": 1, "a.0.b": 0, "a.10.b": 2}, {"a": [{"b": 0}, {"b": 1}, {"b": 2}]}),
        ({"a": 1, "a.b": 2}, {"a": {"b": 2}}),
        ({"a": {"b.c": 1}, "a.b.d": 2}, {"a": {"b": {"c": 1, "d": 2}}}),
        ({"a": [{"b.c": 1}], "a.0.d": 2, "a.1": 3}, {"a": [{"b": {"c": 1}, "d": 2}, 3]}),
        ({"a.99999999999999999999.b": 1}, {"a": {"99999999999999999999": {"b": 1}}}),
        ({"a.999999999.b": 1}, {"a": [{"b": 1}]}),
        ({".".join("a" * 50): 1}, {}),
        ({"a": None}, {}),
        ({}, {}),
    ],
)
def test_names_that_are_paths(flat, tree):
    assert nested(flat) == tree
