"""ListContains: which values are in a list, and how often."""

import asyncio
import datetime
import itertools
import random
import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from giskard.checks import Check, Interaction, ListContains, Not, Trace
from giskard.checks.builtin._closeness import CompareOptions
from giskard.checks.builtin._compare import values_equal

KEY = "trace.last.outputs"


def run(check, outputs=None, **metadata):
    trace = Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])
    return asyncio.run(check.run(trace))


def status(check, outputs=None, **metadata):
    return run(check, outputs, **metadata).status.value


def test_all_any_none():
    items = ["fees", "cards"]
    every = run(ListContains(values=["fees", "loans", "rates"]), items)
    assert every.failed
    assert every.message == f"2 of 3 values are missing in the list of 2 items at {KEY!r}: 'loans', 'rates'"
    assert every.details["found"] == ["fees"] and every.details["missing"] == ["loans", "rates"]
    assert [(metric.name, metric.value) for metric in every.metrics] == [("values_found", 1)]
    some = run(ListContains(values=["fees", "loans"], match="any"), items)
    assert some.passed and some.message == f"1 of 2 values is in the list of 2 items at {KEY!r}: 'fees'"
    no_one = run(ListContains(values=["x", "y"], match="any"), items)
    assert no_one.message == f"2 of 2 values are missing in the list of 2 items at {KEY!r}: 'x', 'y'; any was expected"
    none = run(ListContains(values=["fees", "x"], match="none"), items)
    assert none.message == f"1 of 2 values is in the list of 2 items at {KEY!r}: 'fees'; none was expected"
    assert run(ListContains(values=["x"], match="none"), items).message == (
        f"1 of 1 value is missing in the list of 2 items at {KEY!r}: 'x'"
    )
    assert status(ListContains(values=["cards", "fees"]), items) == "pass"


@pytest.mark.parametrize(("match", "expected"), [("all", "fail"), ("any", "fail"), ("none", "pass")])
def test_an_empty_list(match, expected):
    assert status(ListContains(values=["a"], match=match), []) == expected


@pytest.mark.parametrize("output", [None, "fees", {"fees": 1}, 5, b"ab"])
def test_what_is_no_list_is_an_error(output):
    for match in ("all", "any", "none"):
        check = ListContains(values=["fees"], match=match)
        result = run(check, output)
        assert result.error_kind == "bad_type" and type(output).__name__ in result.message and KEY in result.message
        assert status(Not(check=check), output) == "error"


def test_a_missing_list_is_an_error():
    check = ListContains(values=["a"], match="none", target_key="trace.last.outputs.tags")
    assert run(check, {"tag": []}).error_kind == "missing_value"
    assert asyncio.run(check.run(Trace())).error_kind == "missing_value"


class Fee(BaseModel):
    name: str
    amount: float


@pytest.mark.parametrize(
    ("value", "items", "options", "found"),
    [
        (1, [1.0], {}, True),
        (1, [True], {}, False),
        (True, [1], {}, False),
        (None, [None], {}, True),
        (0, [None, "", False], {}, False),
        ("1", [1], {}, False),
        (1, [Decimal(1)], {}, True),
        (float("nan"), [float("nan")], {}, False),
        ("caf\u00e9", ["cafe\u0301"], {}, True),
        ("caf\u00e9", ["cafe\u0301"], {"normalization_form": None}, False),
        ("a b", [" a \n b"], {}, True),
        ({"name": "a", "amount": 3}, [{"amount": 3.0, "name": "a"}], {}, True),
        ({"name": "a"}, [{"amount": 3.0, "name": "a"}], {}, False),
        ({"name": "a", "amount": 3}, [Fee(name="a", amount=3)], {}, True),
        ([1, 2], [(1, 2)], {}, True),
        (0.3, [0.1 + 0.2], {}, False),
        (0.3, [0.1 + 0.2], {"tolerance": 1e-9}, True),
        (100, [101], {"relative_tolerance": 0.01}, True),
        ({"amount": 0.3}, [{"amount": 0.1 + 0.2}], {"tolerance": 1e-9}, True),
        (datetime.date(2024, 5, 1), [datetime.date(2024, 5, 2)], {"tolerance": datetime.timedelta(days=1)}, True),
    ],
)
def test_values_are_compared_as_by_equals(value, items, options, found):
    assert (status(ListContains(values=[value], **options), items) == "pass") is found
    assert (status(ListContains(values=[value], match="none", **options), items) == "fail") is found
    assert (status(ListContains(values=[value], each_once=True, **options), items) == "pass") is found


def test_sets_tuples_and_indefinite_paths():
    assert status(ListContains(values=["a"]), {"a", "b"}) == status(ListContains(values=["a"]), ("a",)) == "pass"
    names = ListContains(values=["search", "refund"], target_key="trace.last.metadata.calls[*].name")
    assert status(names, calls=[{"name": "refund"}, {"name": "search"}]) == "pass"
    assert status(names, calls=[{"name": "refund"}]) == "fail"
    assert status(names, calls=[{"tool": "refund"}]) == "error"


def test_the_values_of_the_trace():
    check = ListContains(values_key="trace.last.metadata.want")
    assert status(check, [1, 2, 3], want=[3, 1]) == "pass"
    assert status(check, [1, 2, 3], want=(4,)) == "fail"
    for want, kind in (([], "missing_value"), ("1", "bad_type"), (1, "bad_type")):
        result = run(check, [1], want=want)
        assert result.error_kind == kind and "values_key" in result.message
    assert run(check, [1]).error_kind == "missing_value"


def test_an_item_for_each_value():
    check = ListContains(values=["a", "a", "b"], each_once=True)
    assert status(check, ["b", "a", "a"]) == "pass"
    result = run(check, ["a", "b", "c"])
    assert result.message == f"1 of 3 values is missing in the list of 3 items at {KEY!r}: 'a'"
    assert status(ListContains(values=["a", "a"]), ["a"]) == "pass"


def test_the_best_of_all_ways_decides():
    # The first value could have either item; only one way leaves one for the second.
    check = ListContains(values=[1.0, 1.4], each_once=True, tolerance=0.5)
    assert status(check, [1.2, 0.8]) == status(check, [0.8, 1.2]) == "pass"
    assert status(check, [0.6, 0.8]) == "fail"


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=4),
    st.lists(st.integers(0, 6), max_size=5),
    st.sampled_from([None, 1]),
)
def test_as_many_as_can_be_have_an_item(values, items, tolerance):
    options = CompareOptions(None, tolerance)
    padded = [*items, *[None] * len(values)]
    most = max(
        sum(values_equal(item, value, options) for item, value in zip(row, values, strict=True))
        for row in itertools.permutations(padded, len(values))
    )
    result = run(ListContains(values=values, each_once=True, tolerance=tolerance), items)
    assert len(result.details["found"]) == most
    assert result.passed == (most == len(values))


odd = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats()
    | st.text("aA", max_size=2)
    | st.lists(st.integers(0, 2))
)


@given(st.lists(odd, min_size=1, max_size=4), st.lists(odd, max_size=6))
def test_the_fast_way_is_the_long_way(values, items):
    found = [any(values_equal(item, value, CompareOptions("NFKC")) for item in items) for value in values]
    assert (status(ListContains(values=values), items) == "pass") is all(found)
    assert (status(ListContains(values=values, match="any"), items) == "pass") is any(found)
    assert (status(ListContains(values=values, match="none"), items) == "pass") is not any(found)


class Odd:
    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


def test_what_cannot_be_compared_is_an_error():
    result = run(ListContains(values=[1]), [Odd()])
    assert result.error_kind == "bad_type" and "raises RuntimeError" in result.message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "neither was given"),
        ({"values": ["a"], "values_key": KEY}, "both were given"),
        ({"values": []}, "give at least one"),
        ({"values": "abc"}, "valid list"),
        ({"values": ["a"], "match": "some"}, "match"),
        ({"values": ["a"], "match": "any", "each_once": True}, "each_once asks for an item"),
        ({"values": ["a"], "tolerance": -1}, "not negative"),
        ({"values": ["a"], "target_key": "outputs"}, "starts with 'trace.'"),
        ({"value": ["a"]}, "did you mean 'values'"),
    ],
)
def test_what_is_refused_when_it_is_built(fields, words):
    with pytest.raises(ValidationError, match=words):
        ListContains(**fields)


def test_later_changes_do_not_reach_the_check():
    value = {"a": [1]}
    check = ListContains(values=[value])
    value["a"].append(2)
    assert status(check, [{"a": [1]}]) == "pass"


@pytest.mark.parametrize(
    "check",
    [
        ListContains(values=["a", 1, None, {"b": [2.5]}], each_once=True),
        ListContains(values_key="trace.annotations.v", match="none", tolerance=0.5, name="n"),
        ListContains(values=["a"], match="any", normalization_form=None, relative_tolerance=0.1),
    ],
    ids=repr,
)
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert type(loaded) is ListContains and loaded == check


def test_what_takes_too_long_is_an_error():
    result = run(ListContains(values=[1] * 1_000, each_once=True), [1] * 10)
    assert result.error_kind == "bad_type" and "too many for each_once" in result.message
    assert status(ListContains(values=[1] * 1_000, each_once=True), [1] * 1_000) == "pass"


def test_long_lists():
    rng = random.Random(1)
    items = [f"item {rng.randrange(10**9)}" for _ in range(100_000)]
    start = time.process_time()
    assert status(ListContains(values=items[::10], each_once=True), items) == "pass"
    assert status(ListContains(values=["nowhere"] * 1_000, match="none"), items) == "pass"
    assert status(ListContains(values=[1] * 500, each_once=True), [1.0] * 499) == "fail"
    result = run(ListContains(values=[{"a": 1}] * 100), [{"a": n} for n in range(100_000)])
    assert result.error_kind == "bad_type" and "too many to be compared" in result.message
    assert time.process_time() - start < 60
