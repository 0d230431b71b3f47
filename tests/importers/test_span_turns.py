"""Spans to turns, turns to conversations: what holds for the spans of any instrumentation."""

import gc
import itertools
import random
import time

import pytest

from giskard.checks.importers.base import Reading, ReadOptions, Record
from giskard.checks.importers.opentelemetry import OpenTelemetry
from tests.importers.spans import (
    ANSWERED,
    ANSWERED_AGAIN,
    ASKED,
    ASKED_AGAIN,
    PROMPT,
    agent,
    assistant,
    call,
    calls,
    conversation,
    http,
    model,
    only,
    read,
    result,
    said,
    span,
    tool,
    turn,
    user,
)

BOTH = [(ASKED, ANSWERED), (ASKED_AGAIN, ANSWERED_AGAIN)]
ITEM = {"item": "card_replacement"}
FEE = {"fee_eur": 0.0}


def last(trace):
    return trace.interactions[-1].metadata


# --- turns -------------------------------------------------------------------------------


def test_the_root_agent_gives_one_turn():
    trace = only(conversation()[:4])
    assert said(trace) == BOTH[:1]
    assert calls(trace) == [("get_fee", ITEM, FEE, None)]
    assert last(trace)["latency_ms"] == 900
    assert last(trace)["usage"] == {"input_tokens": 140, "output_tokens": 27}
    assert last(trace)["model"] == "m-1"
    assert last(trace)["timestamp"] == "2025-10-09T00:00:00+00:00"
    assert "incomplete" not in last(trace)
    assert "content_recorded" not in last(trace)


def test_the_traces_of_a_conversation_are_its_turns_and_history_is_not_repeated():
    trace = only(conversation())
    assert said(trace) == BOTH
    assert calls(trace) == [
        ("get_fee", ITEM, FEE, None),
        ("block_card", {"card_id": "c-17"}, {"status": "blocked"}, None),
    ]
    assert [turn.metadata["usage"]["input_tokens"] for turn in trace.interactions] == [140, 140]
    assert [len(turn.metadata["messages"]) for turn in trace.interactions] == [4, 4]
    assert trace.annotations["conversation_id"] == "conv-1"
    assert list(trace.annotations["trace_ids"]) == ["a1", "a2"]


def test_traces_without_a_conversation_stand_for_themselves():
    spans = [{**item, "attributes": dict(item["attributes"])} for item in conversation()]
    for item in spans:
        item["attributes"].pop("gen_ai.conversation.id", None)
    traces, _ = read(spans)
    assert len(traces) == 2
    # What was said before is known from the second one too, without figures.
    assert said(traces[1]) == BOTH
    assert traces[1].interactions[0].metadata["from_history"] is True
    assert "usage" not in traces[1].interactions[0].metadata
    assert "from_history" not in traces[1].interactions[1].metadata


def test_a_turn_that_is_only_in_the_history_of_another_is_not_lost():
    first, told = turn("a1", 0, "q1", "a1", "get_fee", {"n": 1}, 1)
    _, told = turn("a2", 1000, "q2", "a2", "get_fee", {"n": 2}, 2, before=told)
    third, _ = turn("a3", 2000, "q3", "a3", "get_fee", {"n": 3}, 3, before=told)
    trace = only([*first, *third])
    assert said(trace) == [("q1", "a1"), ("q2", "a2"), ("q3", "a3")]
    assert calls(trace, "arguments", "result") == [({"n": 1}, 1), ({"n": 2}, 2), ({"n": 3}, 3)]
    assert [turn.metadata.get("from_history") for turn in trace.interactions] == [None, True, None]


def test_history_that_was_cut_off_or_told_otherwise_is_not_taken_for_new():
    first, _ = turn("a1", 0, "q1", "a1", "get_fee", {"n": 1}, 1)
    for before in (
        [assistant("a1")],
        [user("q1 (in short)"), assistant("a1, in short")],
        [user("q1"), assistant(" a1 ")],
    ):
        second, _ = turn("a2", 1000, "q2", "a2", "get_fee", {"n": 2}, 2, before=before)
        assert said(only([*first, *second])) == [("q1", "a1"), ("q2", "a2")]


def test_the_same_words_twice_are_two_turns():
    history, spans = [], []
    for number in range(3):
        made, history = turn(f"a{number}", number * 1000, "yes", "ok", "get_fee", {}, 1, before=history)
        spans += made
    assert said(only(spans)) == [("yes", "ok")] * 3
    # ... also when models are told the new words only.
    spans = []
    for number in range(3):
        spans += turn(f"a{number}", number * 1000, "yes", "ok", "get_fee", {}, 1)[0]
    assert said(only(spans)) == [("yes", "ok")] * 3


def test_without_an_agent_the_outermost_calls_of_models_give_the_turns():
    spans = conversation()
    models = [item for item in spans if item["attributes"]["gen_ai.operation.name"] != "invoke_agent"]
    for item in models:
        item["attributes"]["gen_ai.conversation.id"] = "conv-1"
    trace = only(models)
    assert said(trace) == BOTH
    assert calls(trace, "name", "result") == [("get_fee", FEE), ("block_card", {"status": "blocked"})]
    # From the first start to the last end.
    assert [turn.metadata["latency_ms"] for turn in trace.interactions] == [890, 890]


def test_models_that_each_have_a_trace_of_their_own():
    spans = [item for item in conversation() if item["attributes"]["gen_ai.operation.name"] == "chat"]
    for number, item in enumerate(spans):
        item["attributes"]["gen_ai.conversation.id"] = "conv-1"
        item["context"]["trace_id"], item["parent_id"] = f"0xf{number}", None
    trace = only(spans)
    assert said(trace) == BOTH
    assert calls(trace, "name", "result") == [("get_fee", FEE), ("block_card", {"status": "blocked"})]


def test_a_chain_around_models_is_named_by_what_it_was_asked():
    spans = [
        span("1", 0, 900, attributes={"openinference.span.kind": "CHAIN", "input.value": "q", "output.value": "a"}),
        model("2", 10, 100, "1", [user("Rewrite this: q")], [assistant("q, rewritten")]),
        model("3", 110, 800, "1", [user("Context: … Question: q")], [assistant("a")]),
    ]
    trace = only(spans)
    assert said(trace) == [("q", "a")]
    assert [part["text"] for part in last(trace)["intermediate"]] == ["q, rewritten"]
    assert last(trace)["usage"] == {"input_tokens": 20, "output_tokens": 4}


def test_a_chain_whose_state_says_nothing_leaves_it_to_the_models():
    state = {"openinference.span.kind": "CHAIN", "input.value": '{"step": 1}', "output.value": '{"step": 2}'}
    trace = only([span("1", 0, 900, attributes=state), model("2", 10, 100, "1", [user("q")], [assistant("a")])])
    assert said(trace) == [("q", "a")]
    assert last(trace)["latency_ms"] == 900
    # ... but where there is no model, the state is all there is.
    assert said(only([span("1", 0, 900, attributes=state)])) == [({"step": 1}, {"step": 2})]


def test_an_agent_that_ends_in_another_answer_than_the_model():
    given, gave = [user(ASKED)], [assistant("Free!")]
    trace = only([agent("1", 0, 9, given=given, gave=gave), model("2", 1, 2, "1", given, [assistant("It is free.")])])
    assert said(trace) == [(ASKED, "Free!")]
    assert [part["text"] for part in last(trace)["intermediate"]] == ["It is free."]


# --- agents in agents --------------------------------------------------------------------


def team():
    ask = call("ask_billing", {"question": "fee?"}, "c1")
    return [
        agent("1", 0, 900),
        model("2", 10, 100, "1", [user(ASKED)], [ask]),
        tool("3", 110, 600, "1", "ask_billing", {"question": "fee?"}, "0 EUR", "c1"),
        agent("4", 120, 590, "3", [user("fee?")], [assistant("0 EUR")], agent="billing"),
        model("5", 130, 200, "4", [user("fee?")], [call("get_fee", ITEM, "c2")]),
        tool("6", 210, 220, "4", "get_fee", ITEM, FEE, "c2"),
        model("7", 230, 580, "4", [user("fee?"), call("get_fee", ITEM, "c2"), result(FEE, "c2")], [assistant("0 EUR")]),
        model("8", 610, 890, "1", [user(ASKED), ask, result("0 EUR", "c1")], [assistant(ANSWERED)]),
    ]


def test_what_agents_in_an_agent_did_is_told_with_their_names_and_not_what_they_said():
    trace = only(team())
    assert said(trace) == BOTH[:1]
    assert calls(trace, "name", "agent", "result") == [
        ("ask_billing", "bank_support", "0 EUR"),
        ("get_fee", "billing", FEE),
    ]
    assert last(trace)["usage"] == {"input_tokens": 40, "output_tokens": 8}
    assert "intermediate" not in last(trace)


def test_a_hand_over_to_an_agent_below_gives_its_answer():
    hand_over = call("transfer_to_agent", {"agent_name": "billing"}, "c1")
    spans = [
        agent("1", 0, 900),
        model("2", 10, 100, "1", [user(ASKED)], [hand_over]),
        tool("3", 110, 120, "1", "transfer_to_agent", {"agent_name": "billing"}, None, "c1"),
        agent("4", 130, 890, "1", agent="billing"),
        model("5", 140, 880, "4", [user(ASKED), hand_over, result(None, "c1")], [assistant(ANSWERED)]),
    ]
    trace = only(spans)
    assert said(trace) == BOTH[:1]
    assert calls(trace, "name", "agent") == [("transfer_to_agent", "bank_support")]


def test_a_hand_over_to_an_agent_beside_goes_on_with_the_turn():
    hand_over = call("transfer_to_billing", {}, "c1")
    spans = [
        span("9", 0, 950, attributes={"openinference.span.kind": "CHAIN"}),
        agent("1", 1, 300, "9"),
        model("2", 10, 100, "1", [user(ASKED)], [hand_over]),
        agent("4", 310, 900, "9", agent="billing"),
        model("5", 320, 880, "4", [user(ASKED), hand_over, result("billing", "c1")], [assistant(ANSWERED)]),
    ]
    trace = only(spans)
    assert said(trace) == BOTH[:1]
    assert calls(trace, "name", "agent", "result") == [("transfer_to_billing", "bank_support", "billing")]


def test_a_span_that_only_wraps_an_agent_is_not_the_agent():
    inner = [agent("2", 10, 890, "1", [user(ASKED)], [assistant(ANSWERED)]), model("3", 20, 880, "2", [user(ASKED)])]
    trace = only([agent("1", 0, 900, agent=None), *inner])
    assert said(trace) == BOTH[:1]
    assert last(trace)["latency_ms"] == 900


def test_two_instrumentations_of_one_call_count_once():
    outer = model("2", 10, 100, "1", [user(ASKED)], [assistant(ANSWERED)])
    inner = model("3", 20, 90, "2", [user(ASKED)], [assistant(ANSWERED)])
    trace = only([agent("1", 0, 110), outer, inner])
    assert said(trace) == BOTH[:1]
    assert last(trace)["usage"] == {"input_tokens": 10, "output_tokens": 2}
    # ... and the inner one fills in what the outer does not know.
    outer = model("2", 10, 100, "1", tokens=None)
    assert last(only([agent("1", 0, 110), outer, inner]))["usage"] == {"input_tokens": 10, "output_tokens": 2}


def test_the_total_of_the_agent_is_used_only_when_no_model_tells():
    total = {"gen_ai.usage.input_tokens": 140, "gen_ai.usage.output_tokens": 27}
    root = agent("1", 0, 900, given=[user(ASKED)], gave=[assistant(ANSWERED)], attributes=total)
    assert last(only([root]))["usage"] == {"input_tokens": 140, "output_tokens": 27}
    assert last(only([root, model("2", 1, 2, "1", [user(ASKED)])]))["usage"] == {"input_tokens": 10, "output_tokens": 2}


# --- what is missing ---------------------------------------------------------------------


def silent():
    """The spans of a turn with the recording of contents switched off."""
    spans = conversation()[:4]
    for item in spans:
        for name in [
            name for name in item["attributes"] if ".messages" in name or name.endswith(("arguments", "result"))
        ]:
            del item["attributes"][name]
    return spans


def test_with_contents_switched_off_structure_tools_tokens_and_latency_are_left():
    trace = only(silent())
    assert said(trace) == [(None, None)]
    assert last(trace)["content_recorded"] is False
    assert last(trace)["incomplete"] is True
    assert calls(trace, "id", "name", "arguments", "result", "latency_ms") == [("call_1", "get_fee", None, None, 28)]
    assert last(trace)["usage"] == {"input_tokens": 140, "output_tokens": 27}
    assert last(trace)["latency_ms"] == 900
    # Without the agent it is one turn all the same.
    assert said(only(silent()[1:])) == [(None, None)]


def test_silent_turns_of_a_conversation_stay_apart():
    second = [{**item, "context": {**item["context"], "trace_id": "0xa2"}} for item in silent()]
    trace = only([*silent(), *second])
    assert said(trace) == [(None, None)] * 2
    assert len(calls(trace)) == 2


def test_roots_and_parents_that_are_missing():
    spans = conversation()
    assert said(only(spans[1:4])) == BOTH[:1]  # no root: its children are the outermost
    assert [turn.outputs for turn in only([spans[0], spans[3]]).interactions] == [ANSWERED]
    tools, _ = read([spans[2]])
    assert calls(tools[0], "name", "result") == [("get_fee", FEE)]
    assert said(tools[0]) == [(None, None)]


def test_parents_in_a_circle():
    spans = conversation()[:4]
    spans[0]["parent_id"] = "0x4"
    assert said(only(spans)) == BOTH[:1]
    spans[0]["parent_id"] = "0x1"
    assert said(only(spans)) == BOTH[:1]


def test_calls_of_models_in_a_circle_are_all_kept():
    spans = [model(f"b{n}", n, n + 1, f"b{(n + 1) % 3}", [user(f"q{n}")], [assistant(f"a{n}")]) for n in range(3)]
    for order in itertools.permutations(spans):
        (trace,), skipped = read(order)
        assert (said(trace), skipped) == ([("q0", "a0"), ("q1", "a1"), ("q2", "a2")], [])


def test_a_circle_is_cut_in_itself_and_not_below_it():
    spans = [http("b1", 5, 9, "b2"), http("b2", 6, 9, "b1"), model("1", 0, 1, "b1", [user("q")], [assistant("a")])]
    assert said(only(spans)) == [("q", "a")]


def test_clocks_that_differ_do_not_change_the_order_of_what_was_said():
    spans = conversation()
    spans[1]["start_time"], spans[1]["end_time"] = "2025-10-09T01:00:00Z", "2025-10-09T00:59:00Z"
    assert said(only(spans)) == BOTH
    for item in spans[4:]:
        item["start_time"] = item["start_time"].replace("2025-10-09", "2025-10-08")
    trace = only(spans)
    assert said(trace) == BOTH
    assert all(turn.metadata.get("latency_ms", 0) >= 0 for turn in trace.interactions)


def test_spans_without_times():
    spans = conversation()
    for item in spans:
        item["start_time"] = item["end_time"] = None
    trace = only(spans)
    assert said(trace) == BOTH
    assert "latency_ms" not in last(trace) and "timestamp" not in last(trace)


# --- errors ------------------------------------------------------------------------------


def test_a_turn_that_failed():
    failed = {"status": "ERROR", "attributes": {"error.type": "RateLimitError"}}
    trace = only([agent("1", 0, 900, **failed), model("2", 1, 2, "1", [user("q")], **failed)])
    assert said(trace) == [("q", None)]
    assert last(trace)["error"] == "RateLimitError"
    assert last(trace)["incomplete"] is True


def test_a_call_that_was_tried_again():
    failed = {"status": "ERROR", "attributes": {"error.type": "Timeout"}}
    spans = [agent("1", 0, 900), model("2", 1, 2, "1", [user("q")], tokens=None, **failed)]
    spans.append(model("3", 3, 4, "1", [user("q")], [assistant("a")]))
    trace = only(spans)
    assert said(trace) == [("q", "a")]
    assert list(last(trace)["retries"]) == ["Timeout"]
    assert "error" not in last(trace)


def test_what_a_framework_tells_the_model_in_the_midst_is_no_turn():
    told = [user("q"), assistant("{"), user("That is no JSON. Try again.")]
    spans = [
        agent("1", 0, 900),
        model("2", 1, 2, "1", told[:1], [told[1]]),
        model("3", 3, 4, "1", told, [assistant("{}")]),
    ]
    trace = only(spans)
    assert said(trace) == [("q", "{}")]
    assert list(last(trace)["retries"]) == ["That is no JSON. Try again."]


# --- beside the conversation -------------------------------------------------------------


def test_spans_of_no_model_are_left_out_and_not_skipped():
    spans = [
        http("f", 0, 1000),
        *[{**item, "parent_id": item["parent_id"] or "0xf"} for item in conversation()[:4]],
        http("e", 500, 510, "1"),
    ]
    trace = only(spans)
    assert said(trace) == BOTH[:1]
    assert last(trace)["latency_ms"] == 900


def test_a_file_without_a_single_model_says_so():
    traces, skipped = read([http("1", 0, 1), http("2", 2, 3)])
    assert traces == []
    assert skipped == ["there are 2 spans, and none of them is of an agent, a model or a tool"]


def test_what_was_looked_up_is_kept():
    documents = [{"id": "d1", "content": "Fees", "score": 0.9}]
    looked_up = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": documents}
    before = span("2", 1, 2, "9", attributes=looked_up)
    spans = [http("9", 0, 99), before, model("3", 3, 4, "9", [user("q")], [assistant("a")])]
    assert list(last(only(spans))["retrieved"]) == documents


def test_a_call_of_a_model_beside_the_agent_costs_but_says_nothing():
    spans = [http("9", 0, 99), agent("1", 10, 90, "9"), model("2", 20, 80, "1", [user("q")], [assistant("a")])]
    spans.append(model("3", 92, 95, "9", [user("Give this chat a title")], [assistant("Fees")]))
    trace = only(spans)
    assert said(trace) == [("q", "a")]
    assert last(trace)["usage"] == {"input_tokens": 20, "output_tokens": 4}


def test_the_system_prompt_and_the_tools_are_annotations():
    tools = [{"type": "function", "name": "get_fee"}]
    system = {"role": "system", "parts": [{"type": "text", "content": PROMPT}]}
    more = {"gen_ai.tool.definitions": tools, "user.id": "u-1"}
    spans = [agent("1", 0, 9), model("2", 1, 2, "1", [system, user("q")], [assistant("a")], attributes=more)]
    trace = only(spans)
    assert trace.annotations["system_prompt"] == PROMPT
    assert list(trace.annotations["tools"]) == tools
    assert trace.annotations["user_id"] == "u-1"


def test_the_recording_is_kept_when_it_is_asked_for():
    assert "raw" not in last(only(conversation()[:4]))
    raw = last(only(conversation()[:4], keep_raw=True))["raw"]
    assert [item["name"] for item in raw] == ["work"] * 4
    assert raw[0]["attributes"]["gen_ai.operation.name"] == "invoke_agent"


# --- order and duplicates ----------------------------------------------------------------


@pytest.mark.parametrize("make", [conversation, team, silent, lambda: conversation()[:4]])
def test_the_order_of_spans_and_copies_of_them_change_nothing(make):
    spans = make()
    traces, skipped = read(spans)
    orders = (
        itertools.permutations(spans)
        if len(spans) < 6
        else (random.Random(n).sample(spans, len(spans)) for n in range(200))
    )
    for order in orders:
        assert read(order) == (traces, skipped)
    assert read([*spans, *spans[::-1]]) == (traces, skipped)


def test_of_two_records_of_a_span_the_one_that_says_more_counts():
    spans = conversation()[:4]
    started = {**spans[3], "end_time": None, "attributes": {"gen_ai.operation.name": "chat"}}
    assert read([*spans, started]) == read(spans) == read([started, *spans])


def test_different_spans_with_one_id_are_all_kept():
    spans = [model("1", n, n + 1, None, [user(f"q{n}")], [assistant(f"a{n}")]) for n in range(3)]
    for order in itertools.permutations([*spans, spans[0]]):
        reading = Reading(ReadOptions())
        (trace,) = OpenTelemetry().read((Record(record) for record in order), reading)
        assert said(trace) == [("q0", "a0"), ("q1", "a1"), ("q2", "a2")]
        assert reading.report.notes == ["opentelemetry: 3 different spans have the id '1'"]


def test_many_turns_take_time_in_proportion():
    spans = []
    for number in range(400):
        spans += turn(f"a{number}", number * 1000, f"q{number}", f"a{number}", "get_fee", {"n": number}, number)[0]
    assert len(only(spans).interactions) == 400


def test_spans_in_spans_very_deep():
    spans = [http(f"b{n}", n, 9000 - n, None if n == 0 else f"b{n - 1}") for n in range(3000)]
    spans.append(model("1", 3001, 3002, "b2999", [user("q")], [assistant("a")]))
    assert said(only(spans)) == [("q", "a")]
    agents = [agent(f"b{n}", n, 9000 - n, None if n == 0 else f"b{n - 1}") for n in range(3000)]
    agents.append(model("1", 3001, 3002, "b2999", [user("q")], [assistant("a")]))
    assert said(only(agents)) == [("q", "a")]


@pytest.mark.parametrize("make", [http, agent, model])
def test_deep_chains_take_time_in_proportion(make):
    def taken(count):
        more = {} if make is http else {"gave": [assistant("x")]}
        spans = [make(f"b{n}", n, 99_000 - n, None if n == 0 else f"b{n - 1}", **more) for n in range(count)]
        gc.disable()  # it takes longer the more the tests before have left
        try:
            start = time.process_time()
            read(spans)
            return time.process_time() - start
        finally:
            gc.enable()

    # Were each looked up through all above it, it would be 64 times as long.
    assert min(taken(8000) for _ in range(2)) < 24 * min(taken(1000) for _ in range(3))


def test_the_format_is_told_by_its_dialect():
    assert OpenTelemetry.name == "opentelemetry"
    assert only(conversation()).annotations["source"] == {"format": "otel_genai"}
