"""The calls of tools in spans: what models asked for, and what ran."""

from tests.importers.spans import (
    ANSWERED,
    ANSWERED_AGAIN,
    ASKED,
    ASKED_AGAIN,
    agent,
    assistant,
    call,
    call_part,
    calls,
    conversation,
    model,
    only,
    result,
    said,
    tool,
    user,
)

BOTH = [(ASKED, ANSWERED), (ASKED_AGAIN, ANSWERED_AGAIN)]
ITEM = {"item": "card_replacement"}
FEE = {"fee_eur": 0.0}


def last(trace):
    return trace.interactions[-1].metadata


# --- calls -------------------------------------------------------------------------------


def parallel(*ids):
    return {"role": "assistant", "parts": [call_part("get_fee", {"n": n}, id) for n, id in enumerate(ids)]}


def test_parallel_calls_share_their_message_and_are_paired_by_id():
    spans = [
        agent("1", 0, 900),
        model("2", 10, 100, "1", [user("q")], [parallel("x", "y")]),
        tool("3", 110, 300, "1", arguments={"n": 1}, result="one", call_id="y"),
        tool("4", 111, 200, "1", arguments={"n": 0}, result="zero", call_id="x"),
        model("5", 310, 800, "1", [user("q"), parallel("x", "y")], [assistant("a")]),
    ]
    made = calls(only(spans), "id", "arguments", "result", "latency_ms", "message_index")
    assert made == [("x", {"n": 0}, "zero", 89, 1), ("y", {"n": 1}, "one", 190, 1)]


def test_calls_without_ids_are_paired_by_arguments_then_by_order():
    spans = [
        agent("1", 0, 900),
        model("2", 10, 100, "1", [user("q")], [parallel(None, None)]),
        tool("3", 110, 300, "1", arguments={"n": 1}, result="one"),
        tool("4", 111, 200, "1", arguments={"n": 0}, result="zero"),
    ]
    assert calls(only(spans), "arguments", "result") == [({"n": 0}, "zero"), ({"n": 1}, "one")]
    for item in spans[2:]:
        del item["attributes"]["gen_ai.tool.call.arguments"]
    assert calls(only(spans), "arguments", "result") == [({"n": 0}, "one"), ({"n": 1}, "zero")]


def test_an_id_that_is_used_again_is_paired_by_name_too():
    spans = [
        agent("1", 0, 900),
        model("2", 10, 100, "1", [user("q")], [call("get_fee", {}, "c"), ]),
        tool("3", 110, 120, "1", "get_fee", {}, "fee", "c"),
        model("4", 130, 200, "1", [user("q"), call("get_fee", {}, "c"), result("fee", "c")], [call("block", {}, "c")]),
        tool("5", 210, 220, "1", "block", {}, "blocked", "c"),
    ]  # fmt: skip
    assert calls(only(spans), "name", "result") == [("get_fee", "fee"), ("block", "blocked")]


def test_a_tool_that_no_message_asked_for_is_a_call():
    spans = [
        agent("1", 0, 900, given=[user("q")], gave=[assistant("a")]),
        tool("3", 110, 300, "1", "lookup", {"n": 1}, "one"),
        model("5", 310, 800, "1", [user("q")], [assistant("a")]),
    ]
    trace = only(spans)
    assert said(trace) == [("q", "a")]
    assert calls(trace, "name", "arguments", "result", "latency_ms") == [("lookup", {"n": 1}, "one", 190)]
    # ... also when it ran after the answer.
    spans[1] = tool("3", 850, 860, "1", "save", {"n": 1}, "saved")
    assert said(only(spans)) == [("q", "a")]


def test_results_in_messages_are_taken_where_no_tool_tells_them():
    spans = [item for item in conversation() if item["attributes"]["gen_ai.operation.name"] != "execute_tool"]
    assert calls(only(spans), "result", "latency_ms") == [(FEE, None), ({"status": "blocked"}, None)]


def test_a_tool_in_a_tool_of_the_same_call_counts_once():
    spans = conversation()[:4]
    spans.append(tool("5", 410, 420, "3", "get_fee", ITEM, FEE, "call_1"))
    assert len(calls(only(spans))) == 1


def test_a_tool_that_failed():
    failed = {
        "status": "ERROR",
        "status_more": {"description": "no such item"},
        "attributes": {"error.type": "KeyError"},
    }
    spans = [
        agent("1", 0, 900),
        model("2", 10, 100, "1", [user("q")], [call("get_fee", {}, "c")]),
        tool("3", 110, 120, "1", "get_fee", {}, None, "c", **failed),
        model("4", 130, 800, "1", [user("q"), call("get_fee", {}, "c")], [assistant("I do not know.")]),
    ]
    trace = only(spans)
    assert calls(trace, "name", "result", "error") == [("get_fee", None, "KeyError: no such item")]
    assert "answered" not in last(trace)["tool_calls"][0]
    assert "error" not in last(trace)
    # What the model was told of it is kept as the result.
    spans[3] = model(
        "4", 130, 800, "1", [user("q"), call("get_fee", {}, "c"), result("failed", "c")], [assistant("No.")]
    )
    assert calls(only(spans), "result", "error") == [("failed", "KeyError: no such item")]


def test_a_call_whose_result_was_never_recorded_says_so():
    trace = only([model("2", 10, 100, None, [user("q")], [call("get_fee", {}, "c")])])
    (made,) = last(trace)["tool_calls"]
    assert made["result"] is None and made["answered"] is False
    assert last(trace)["incomplete"] is True


def test_a_tool_that_calls_itself_is_two_calls():
    def nested(inner):
        return only(
            [
                agent("1", 0, 99),
                model("2", 1, 2, "1", [user("q")], [call("f", {"a": 1}, "c1")]),
                tool("3", 3, 40, "1", "f", {"a": 1}, 1, "c1"),
                tool("4", 5, 6, "3", "f", inner, 0),
                model("9", 50, 60, "1", [user("q")], [assistant("a")]),
            ]
        )

    assert sorted(calls(nested({"a": 0}), "result")) == [(0,), (1,)]
    assert calls(nested({"a": 1, "b": "by default"}), "result") == [(1,)]
