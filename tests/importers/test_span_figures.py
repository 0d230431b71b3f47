"""The figures of a turn: sums of what is known of every call of a model, or what the root says, or nothing."""

import pytest

from giskard.checks import MaxCost, MaxTokens, TestCase
from giskard.checks.llm.conversation import notes_of
from tests.importers.spans import agent, assistant, call, model, only, result, said, span, tool, user


def total(input, output, **more):
    return {"gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": output, **more}


def one_without(root=None, first=(10, 5), second=None, more=None, other=None):
    """A turn of two calls of a model."""
    return [
        agent("1", 0, 900, attributes=root or {}),
        model("2", 1, 100, "1", [user("q")], [call("get_fee", {}, "c1")], first, attributes=more or {}),
        tool("3", 110, 120, "1", "get_fee", {}, 1, "c1"),
        model(
            *("4", 130, 800, "1", [user("q"), call("get_fee", {}, "c1"), result(1, "c1")], [assistant("a")], second),
            attributes=other or {},
        ),
    ]


def noted(spans):
    return only(spans).interactions[-1].metadata


def test_the_root_tells_what_not_every_call_tells():
    spans = one_without(root=total(1000, 500))
    assert noted(spans)["usage"] == {"input_tokens": 1000, "output_tokens": 500}
    assert "partial_usage" not in noted(spans)
    assert TestCase(trace=only(spans), checks=[MaxTokens(total=20)]).run_sync().failed


def test_without_a_root_that_tells_the_figure_is_missing_and_a_budget_is_an_error():
    trace = only(one_without())
    metadata = trace.interactions[-1].metadata
    assert "usage" not in metadata
    assert metadata["partial_usage"] == {"input_tokens": 10, "output_tokens": 5}
    assert TestCase(trace=trace, checks=[MaxTokens(total=20)]).run_sync().errored
    assert "partial_usage" not in notes_of(trace.interactions[-1])


def test_when_every_call_tells_the_sum_counts():
    assert noted(one_without(root=total(1000, 500), second=(20, 7)))["usage"] == {
        "input_tokens": 30,
        "output_tokens": 12,
    }


def test_a_root_that_counts_less_than_the_calls_in_it_does_not_tell_the_whole():
    metadata = noted(one_without(root=total(3, 500)))
    assert "usage" not in metadata
    assert metadata["partial_usage"] == {"input_tokens": 10, "output_tokens": 5}


def test_each_number_of_tokens_stands_for_itself():
    metadata = noted(one_without(second=(20, None)))
    assert metadata["usage"] == {"input_tokens": 30}
    assert metadata["partial_usage"] == {"output_tokens": 5}


def test_details_that_some_calls_leave_out_are_none_there():
    cached = {"gen_ai.usage.cache_read.input_tokens": 4}
    assert noted(one_without(second=(20, 7), more=cached))["usage"]["cached_tokens"] == 4
    assert "usage" not in noted(one_without(more=cached))


@pytest.mark.parametrize(
    ("root", "first", "second", "cost", "partial"),
    [
        (None, 0.1, 0.2, pytest.approx(0.3), None),
        (0.9, 0.1, None, 0.9, None),
        (None, 0.1, None, None, {"cost_usd": 0.1}),
        (0.05, 0.1, None, None, {"cost_usd": 0.1}),
        (0.9, None, None, 0.9, None),
    ],
)
def test_costs_likewise(root, first, second, cost, partial):
    root, first, second = ({"gen_ai.usage.cost": value} for value in (root, first, second))
    trace = only(one_without(root=root, second=(1, 1), more=first, other=second))
    metadata = trace.interactions[-1].metadata
    assert metadata.get("cost_usd") == cost
    assert metadata.get("partial_usage") == partial
    assert TestCase(trace=trace, checks=[MaxCost(total=0.15)]).run_sync().errored is (cost is None)


@pytest.mark.parametrize(
    ("root", "first", "second", "ttft", "partial"),
    [
        (None, 0.5, None, 500, None),
        (0.9, 0.5, 0.1, 500, None),
        (0.9, None, 0.1, 900, None),
        (None, None, 0.1, None, {"ttft_ms": 100}),
    ],
)
def test_the_first_word_is_that_of_the_first_call(root, first, second, ttft, partial):
    root, first, second = ({"gen_ai.response.time_to_first_chunk": value} for value in (root, first, second))
    metadata = noted(one_without(root=root, second=(1, 1), more=first, other=second))
    assert metadata.get("ttft_ms") == ttft
    assert metadata.get("partial_usage") == partial


def test_a_call_that_failed_without_counts_leaves_the_sum_open():
    failed = {"status": "ERROR", "attributes": {"error.type": "Timeout"}}
    tries = [model("2", 1, 2, "1", [user("q")], tokens=None, **failed)]
    tries.append(model("3", 3, 4, "1", [user("q")], [assistant("a")]))
    assert "usage" not in noted([agent("1", 0, 900), *tries])
    assert noted([agent("1", 0, 900, attributes=total(40, 4)), *tries])["usage"]["input_tokens"] == 40


def test_agents_beside_each_other_are_added_up():
    hand_over = call("transfer", {}, "c1")
    spans = [
        span("9", 0, 950, attributes={"openinference.span.kind": "CHAIN"}),
        agent("1", 1, 300, "9", attributes=total(100, 10)),
        model("2", 10, 100, "1", [user("q")], [hand_over], None),
        agent("4", 310, 900, "9", agent="billing", attributes=total(50, 5)),
        model("5", 320, 880, "4", [user("q"), hand_over, result("billing", "c1")], [assistant("a")], None),
    ]
    assert noted(spans)["usage"] == {"input_tokens": 150, "output_tokens": 15}
    del spans[3]["attributes"]["gen_ai.usage.input_tokens"]
    assert noted(spans)["usage"] == {"output_tokens": 15}


def test_agents_in_tools_count_among_the_calls():
    spans = one_without(second=(20, 7))
    spans += [agent("5", 111, 119, "3", agent="helper"), model("6", 112, 118, "5", [user("x")], [assistant("y")], None)]
    metadata = noted(spans)
    assert "usage" not in metadata
    assert metadata["partial_usage"] == {"input_tokens": 30, "output_tokens": 12}


def test_the_root_tells_of_calls_that_only_the_history_knows():
    """The first call of a turn was not sampled."""
    spans = one_without(root=total(30, 12), second=(20, 7))
    assert noted([spans[0], *spans[2:]])["usage"] == {"input_tokens": 30, "output_tokens": 12}


def test_a_call_beside_the_agent_without_counts_leaves_the_sum_open():
    http = span("9", 0, 99, attributes={"http.request.method": "POST"})
    spans = [http, agent("1", 10, 90, "9"), model("2", 20, 80, "1", [user("q")], [assistant("a")])]
    spans.append(model("3", 92, 95, "9", [user("Give this chat a title")], [assistant("Fees")], None))
    metadata = noted(spans)
    assert "usage" not in metadata
    assert metadata["partial_usage"] == {"input_tokens": 10, "output_tokens": 2}


def test_a_call_that_only_wraps_several_is_none():
    spans = one_without(second=(20, 7))
    wrapper = model("8", 0, 850, "1", tokens=None)
    trace = only([spans[0], wrapper, *[{**inner, "parent_id": "0x8"} for inner in spans[1:]]])
    assert said(trace) == [("q", "a")]
    assert trace.interactions[-1].metadata["usage"] == {"input_tokens": 30, "output_tokens": 12}
