"""The best assignment of calls to what was expected, held against all assignments there are."""

import asyncio
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giskard.checks import Interaction, ToolCallOrder, ToolCallsMatch, Trace
from giskard.checks.builtin._assignment import assignment
from giskard.checks.builtin._call_matching import in_place

costs = st.integers(1, 5).flatmap(
    lambda rows: st.integers(rows, 6).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(0, 4), min_size=columns, max_size=columns), min_size=rows, max_size=rows
        )
    )
)


@given(costs)
@settings(max_examples=300)
def test_no_assignment_is_cheaper(matrix):
    found = assignment(matrix)

    assert len(set(found)) == len(matrix)
    least = min(
        sum(matrix[row][column] for row, column in enumerate(columns))
        for columns in permutations(range(len(matrix[0])), len(matrix))
    )
    assert sum(matrix[row][column] for row, column in enumerate(found)) == least


def test_there_may_be_nothing_to_assign():
    assert assignment([]) == []


@given(st.lists(st.integers(0, 4), max_size=7))
def test_how_many_can_stay(order):
    kept = max(
        sum(1 for _ in chosen)
        for mask in range(2 ** len(order))
        if (chosen := [order[i] for i in range(len(order)) if mask >> i & 1]) == sorted(chosen)
    )

    assert in_place(order) == kept


# --- orders ------------------------------------------------------------------------------

# A conversation: turns of messages, each of which makes some calls at once.
talks = st.lists(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=2), min_size=1, max_size=3)


def noted(talk):
    turns = []
    for messages in talk:
        calls = [
            {"name": name, "arguments": {}, "message_index": index}
            for index, names in enumerate(messages)
            for name in names
        ]
        turns.append(Interaction(inputs="q", outputs="a", metadata={"tool_calls": calls}))
    return Trace(interactions=turns)


def orders_of(talk):
    """All orders in which the calls may have been made."""
    found = {()}
    for messages in talk:
        for names in messages:
            found = {(*before, *order) for before in found for order in permutations(names)}
    return found


def is_within(tools, order):
    rest = iter(order)
    return all(tool in rest for tool in tools)


def status(check, trace):
    return asyncio.run(check.run(trace)).status.value


@given(talks, st.lists(st.sampled_from("abc"), min_size=1, max_size=5))
@settings(max_examples=300)
def test_an_order_holds_when_the_calls_may_have_been_made_in_it(talk, tools):
    orders = orders_of(talk)

    passed = status(ToolCallOrder(tools=tools), noted(talk)) == "pass"
    exactly = status(ToolCallOrder(tools=tools, exact=True), noted(talk)) == "pass"

    assert passed == any(is_within(tools, order) for order in orders)
    assert exactly == (tuple(tools) in orders)


@given(talks, st.data())
@settings(max_examples=100)
def test_every_order_that_there_may_have_been_is_the_expected_one(talk, data):
    order = data.draw(st.sampled_from(sorted(orders_of(talk))))
    expected = [{"name": name, "arguments": {}} for name in order]

    for mode in ("strict", "unordered", "subset") + (("superset",) if expected else ()):
        assert status(ToolCallsMatch(expected_calls=expected, mode=mode), noted(talk)) == "pass"


# --- one to one --------------------------------------------------------------------------

arguments = st.dictionaries(st.sampled_from("xy"), st.integers(0, 1), max_size=2)
expected_ones = st.lists(st.tuples(st.sampled_from("ab"), arguments), max_size=4)


def meets(expected, call):
    return expected[0] == call[0] and expected[1].items() <= call[1].items()


@given(expected_ones, expected_ones, st.booleans())
@settings(max_examples=300)
def test_the_modes_are_what_they_say_by_every_pairing(expected, made, parallel):
    index = {"message_index": 1} if parallel else {}
    calls = [{"name": name, "arguments": values, **index} for name, values in made]
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a", metadata={"tool_calls": calls})])
    wanted = [{"name": name, "arguments": values} for name, values in expected]

    def holds(mode):
        check = ToolCallsMatch(expected_calls=wanted, mode=mode, match="subset")
        return status(check, trace) == "pass"

    all_expected = any(
        all(meets(one, call) for one, call in zip(expected, chosen, strict=True))
        for chosen in permutations(made, len(expected))
    )
    none_unexpected = any(
        all(meets(one, call) for one, call in zip(chosen, made, strict=True))
        for chosen in permutations(expected, len(made))
    )
    in_order = len(expected) == len(made) and all(map(meets, expected, made))
    assert holds("unordered") == (all_expected and len(expected) == len(made))
    assert holds("subset") == none_unexpected
    assert not expected or holds("superset") == all_expected
    assert holds("strict") == (holds("unordered") if parallel else in_order)


@given(expected_ones, expected_ones)
@settings(max_examples=200)
def test_as_many_as_possible_are_paired(expected, made):
    calls = [{"name": name, "arguments": values} for name, values in made]
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a", metadata={"tool_calls": calls})])
    wanted = [{"name": name, "arguments": values} for name, values in expected]

    result = asyncio.run(ToolCallsMatch(expected_calls=wanted, mode="unordered", match="subset").run(trace))

    few, many = sorted([range(len(expected)), range(len(made))], key=len)
    turned = len(expected) > len(made)
    most = max(
        sum(
            meets(expected[i], made[j]) if not turned else meets(expected[j], made[i])
            for i, j in zip(few, chosen, strict=True)
        )
        for chosen in permutations(many, len(few))
    )
    figures = {metric.name: metric.value for metric in result.metrics}
    assert figures["matched"] == most
    assert figures["matched"] + figures["changed"] + figures["missing"] == len(expected)
    assert figures["matched"] + figures["changed"] + figures["unexpected"] == len(made)


@pytest.mark.slow
def test_hundreds_of_calls_are_paired_in_seconds():
    made = [{"name": "f", "arguments": {"a": i % 7, "b": str(i % 5), "c": i}} for i in range(400)]
    wanted = [{"name": "f", "arguments": {"a": i % 6, "b": str(i % 5), "c": i}} for i in range(400)]
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a", metadata={"tool_calls": made})])

    result = asyncio.run(ToolCallsMatch(expected_calls=wanted, mode="unordered").run(trace))

    figures = {metric.name: metric.value for metric in result.metrics}
    assert result.failed and figures["missing"] == figures["unexpected"] == 0
