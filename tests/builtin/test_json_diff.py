"""JsonDiff: where data is not as expected, key by key."""

import asyncio
import copy
import json
import random
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from giskard.checks import Check, Interaction, JsonDiff, Not, Trace
from giskard.checks.builtin._json import unfenced
from giskard.checks.builtin._json_diff import DiffRules, diff_json
from giskard.checks.builtin._json_patterns import compile_pattern, pattern_matches

KEY = "trace.last.outputs"


def run(check, outputs=None, **metadata):
    trace = Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])
    return asyncio.run(check.run(trace))


def status(check, outputs=None, **metadata):
    return run(check, outputs, **metadata).status.value


def places(check, outputs, **metadata):
    result = run(check, outputs, **metadata)
    return {one["path"]: one["problem"] for one in result.details["differences"]}


ORDER = {
    "id": 7,
    "total": 9.99,
    "paid": True,
    "items": [{"name": "tea", "price": 3.5}, {"name": "cup", "price": 6.49}],
    "note": None,
    "tags": [],
}


def changed(**keys):
    return {**copy.deepcopy(ORDER), **keys}


# --- verdicts and messages ---------------------------------------------------------------


def test_equal_data_passes():
    result = run(JsonDiff(expected=ORDER), copy.deepcopy(ORDER))
    assert result.passed and result.message == "all of 9 keys are equal"
    assert [(metric.name, metric.value) for metric in result.metrics] == [("equal_key_share", 1.0)]
    assert result.details["equal_keys"] == 9 and result.details["differences"] == []
    assert status(JsonDiff(expected=ORDER), json.dumps(ORDER)) == "pass"
    assert run(JsonDiff(expected=1), 1.0).message == "all of 1 key is equal"


def test_the_differences_are_listed_with_both_values():
    got = changed(total=10, paid="yes", items=[{"name": "tea"}, {"name": "cup", "price": 6.49, "size": "L"}])
    result = run(JsonDiff(expected=ORDER), got)
    assert result.failed
    assert result.message == (
        "4 of 10 keys differ: $.total: expected 9.99, got 10; $.paid: expected True, got 'yes'; "
        "$.items[0].price is missing, expected 3.5; $.items[1].size is not expected: 'L'"
    )
    assert result.details["score"] == 0.6 and result.details["different_keys"] == 4
    assert result.details["differences"][0] == {
        "path": "$.total",
        "problem": "changed",
        "expected": 9.99,
        "got": 10,
        "keys": 1,
    }


def test_what_is_missing_counts_with_all_that_lies_in_it():
    result = run(JsonDiff(expected={"a": {"x": 1, "y": [2, {}]}, "b": 1}), {"b": 1})
    assert result.message == "3 of 4 keys differ: $.a is missing, expected {'x': 1, 'y': [2, {}]} (3 keys)"
    swapped = run(JsonDiff(expected={"a": 5}), {"a": {"x": 1, "y": 2}})
    assert swapped.message == "2 of 2 keys differ: $.a: expected 5, got {'x': 1, 'y': 2} (2 keys)"


def test_many_differences_are_named_in_part():
    result = run(JsonDiff(expected=list(range(500))), [n + 1 for n in range(500)])
    assert result.message.startswith("500 of 500 keys differ: $[0]: expected 0, got 1; ")
    assert result.message.endswith("$[9]: expected 9, got 10; and 490 more")
    assert len(result.details["differences"]) == 100
    long = run(JsonDiff(expected={"a": "x" * 100_000}), {"a": "y" * 100_000})
    assert len(long.message) < 500


@pytest.mark.parametrize(
    ("got", "expected", "options", "equal"),
    [
        (1, 1.0, {}, True),
        (True, 1, {}, False),
        ("3", 3, {}, False),
        (None, False, {}, False),
        (float("nan"), float("nan"), {}, False),
        ({}, [], {}, False),
        ([], [], {}, True),
        ({}, {}, {}, True),
        ([1, 2], (1, 2), {}, True),
        ([1, 2], [2, 1], {}, False),
        ("caf\u00e9", "cafe\u0301", {}, True),
        ("caf\u00e9", "cafe\u0301", {"normalization_form": None}, False),
        ("a  b ", "a b", {}, True),
        (10, 9.99, {"tolerance": 0.01}, True),
        (10, 9.98, {"tolerance": 0.01}, False),
        (99, 100, {"relative_tolerance": 0.01}, True),
        ([1, [2.001]], [1, [2]], {"tolerance": 0.01}, True),
        ({"a": 1, "b": 2}, {"a": 1}, {}, False),
        ({"a": 1, "b": 2}, {"a": 1}, {"extra_keys": "allow"}, True),
        ({"a": 1}, {"a": 1, "b": 2}, {"extra_keys": "allow"}, False),
        ({"a": 1}, {"a": 1, "b": 2}, {"missing_keys": "allow"}, True),
        ({"a": 1, "c": 2}, {"a": 1, "b": 2}, {"missing_keys": "allow"}, False),
        ([1, 2], [1], {"extra_keys": "allow"}, False),
        ({"a": 1}, {}, {"extra_keys": "allow"}, True),
    ],
)
def test_what_is_equal(got, expected, options, equal):
    assert (status(JsonDiff(expected=[expected], **options), [got]) == "pass") is equal


def test_a_share_may_be_enough():
    check = JsonDiff(expected={"a": 1, "b": 2, "c": 3, "d": 4}, min_score=0.75)
    result = run(check, {"a": 1, "b": 2, "c": 3, "d": 5})
    assert result.passed
    assert result.message == (
        "1 of 4 keys differs; 0.75 of them are equal, at least 0.75 was expected: $.d: expected 4, got 5"
    )
    assert status(check, {"a": 1, "b": 2, "c": 4, "d": 5}) == "fail"
    just_below = run(JsonDiff(expected=[1] * 2_000, min_score=0.9999), [1] * 1_999 + [2])
    assert "0.999500 of them are equal, at least 0.9999 was expected" in just_below.message


# --- patterns ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "steps", "matches"),
    [
        ("$.a", ("a",), True),
        ("$.a", ("a", "b"), False),
        ("$.a", ("b",), False),
        ("$.a[0]", ("a", 0), True),
        ("$.a[0]", ("a", "0"), False),
        ("$.a[*].b", ("a", 3, "b"), True),
        ("$.a[*].b", ("a", 3, "c"), False),
        ("$.*", ("x",), True),
        ("$..id", ("id",), True),
        ("$..id", ("a", 0, "id"), True),
        ("$..id", ("id", "a"), False),
        ("$.a..id", ("a", "b", 1, "id"), True),
        ("$.a..id", ("b", "id"), False),
        ("$..[0]", ("a", "b", 0), True),
        ("$['unit price']", ("unit price",), True),
        ('$["a]b"].c', ("a]b", "c"), True),
        ("$.größe", ("größe",), True),
        ("$..a..b", ("a", "x", "a", "b"), True),
    ],
)
def test_which_places_a_pattern_names(pattern, steps, matches):
    assert pattern_matches(compile_pattern(pattern), steps) is matches


@pytest.mark.parametrize(
    "pattern", ["", "$", "a", "total", ".a", "$a", "$.", "$.a.", "$.a[", "$.a[-1]", "$.a[?@.b]", "$.a b"]
)
def test_what_is_no_pattern(pattern):
    for fields in ({"ignore": [pattern]}, {"tolerance": {pattern: 1}}, {"unordered": [pattern]}):
        with pytest.raises(ValidationError, match="is no pattern of places"):
            JsonDiff(expected=1, **fields)


def test_places_that_are_ignored():
    check = JsonDiff(expected=ORDER, ignore=["$.id", "$.items[*].price", "$..note"])
    assert status(check, changed(id=1, items=[{"name": "tea", "price": 0}, {"name": "cup"}])) == "pass"
    assert status(JsonDiff(expected={"a": 1}, ignore=["$.b"]), {"a": 1, "b": 2}) == "pass"
    assert places(check, changed(total=1)) == {"$.total": "changed"}
    nothing = run(JsonDiff(expected={"a": 1}, ignore=["$.a"]), {"a": 2})
    assert nothing.error_kind == "missing_value" and "nothing was compared" in nothing.message


def test_tolerances_of_places():
    check = JsonDiff(expected=ORDER, tolerance={"$.total": 0.05, "$.items": 1}, relative_tolerance={"$.id": 0.5})
    items = [{"name": "tea", "price": 4.5}, {"name": "cup", "price": 6}]
    assert status(check, changed(total=10.04, items=items, id=5)) == "pass"
    assert places(check, changed(total=10.05, id=3)) == {"$.total": "changed", "$.id": "changed"}
    first = JsonDiff(expected=[{"p": 1}, {"p": 1}], tolerance={"$[0].p": 2, "$..p": 1})
    assert places(first, [{"p": 3}, {"p": 3}]) == {"$[1].p": "changed"}


# --- lists in any order ------------------------------------------------------------------


def test_lists_in_any_order():
    check = JsonDiff(expected={"a": [1, 2, 3], "b": [{"x": [1, 2]}, {"x": [3]}]}, unordered=True)
    assert status(check, {"a": [3, 1, 2], "b": [{"x": [3]}, {"x": [2, 1]}]}) == "pass"
    assert places(check, {"a": [3, 1, 4], "b": [{"x": [3]}, {"x": [2, 1]}]}) == {"$.a[1]": "changed"}
    only = JsonDiff(expected={"a": [1, 2], "b": [1, 2]}, unordered=["$.a"])
    assert status(only, {"a": [2, 1], "b": [1, 2]}) == "pass"
    assert places(only, {"a": [2, 1], "b": [2, 1]}) == {"$.b[0]": "changed", "$.b[1]": "changed"}
    more = run(JsonDiff(expected=[1, 2], unordered=True), [2, 5, 1])
    assert more.message == "1 of 3 keys differs: $[1] is not expected: 5"
    fewer = run(JsonDiff(expected=[1, 2, 2], unordered=True), [2, 1])
    assert fewer.message == "1 of 3 keys differs: $[2] is missing, expected 2"


def test_items_are_compared_with_those_that_differ_least():
    expected = [{"id": 1, "n": "a", "p": 3}, {"id": 2, "n": "b", "p": 4}]
    check = JsonDiff(expected=expected, unordered=True)
    assert places(check, [{"id": 2, "n": "b", "p": 9}, {"id": 1, "n": "a", "p": 8}]) == {
        "$[0].p": "changed",
        "$[1].p": "changed",
    }


def test_the_best_of_all_ways_decides():
    check = JsonDiff(expected=[1.0, 1.4], unordered=True, tolerance=0.5)
    assert status(check, [1.2, 0.8]) == status(check, [0.8, 1.2]) == "pass"
    assert status(check, [0.6, 0.8]) == "fail"


data = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def shuffled(value, rng):
    if isinstance(value, list):
        out = [shuffled(item, rng) for item in value]
        rng.shuffle(out)
        return out
    return {key: shuffled(item, rng) for key, item in value.items()} if isinstance(value, dict) else value


@given(data, st.randoms(use_true_random=False))
def test_shuffled_data_is_equal_in_any_order(value, rng):
    assert status(JsonDiff(expected=[value], unordered=True), [shuffled(value, rng)]) == "pass"


# --- laws --------------------------------------------------------------------------------


@given(data)
def test_data_equals_itself(value):
    for options in ({}, {"unordered": True}, {"tolerance": 0.1}, {"extra_keys": "allow", "missing_keys": "allow"}):
        result = run(JsonDiff(expected=[value], **options), [copy.deepcopy(value)])
        assert result.passed and result.details["score"] == 1
    assert status(JsonDiff(expected_key="trace.last.metadata.v"), [value], v=[value]) == "pass"


def leaves_of(value, steps=()):
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in leaves_of(item, (*steps, key))]
    if isinstance(value, list) and value:
        return [leaf for place, item in enumerate(value) for leaf in leaves_of(item, (*steps, place))]
    return [steps]


@given(st.lists(data, min_size=1, max_size=3), st.data())
def test_one_changed_leaf_fails_and_is_named(value, draw):
    from giskard.checks.builtin._shown import json_path

    leaves = leaves_of(value)
    steps = draw.draw(st.sampled_from(leaves))
    got = copy.deepcopy(value)
    holder = got
    for step in steps[:-1]:
        holder = holder[step]
    holder[steps[-1]] = "something that is not there"
    result = run(JsonDiff(expected=value), got)

    assert result.failed
    assert [(one["path"], one["problem"]) for one in result.details["differences"]] == [(json_path(steps), "changed")]
    assert json_path(steps) in result.message
    assert f"1 of {len(leaves)} key" in result.message


@given(data, data)
def test_the_count_is_the_same_either_way(one, other):
    there, back = diff_json(one, other, DiffRules()), diff_json(other, one, DiffRules())
    assert (there.equal, there.different) == (back.equal, back.different)
    assert there.equal + there.different >= max(len(leaves_of(one)), len(leaves_of(other)))


@given(st.lists(st.integers(0, 3), max_size=5), st.lists(st.integers(0, 3), max_size=5))
def test_lists_in_any_order_differ_by_what_one_has_more_of(one, other):
    found = diff_json(one, other, DiffRules(unordered=True))
    common = sum(min(one.count(n), other.count(n)) for n in range(4))
    assume(one or other)
    assert (found.equal, found.different) == (common, max(len(one), len(other)) - common)


# --- what is read ------------------------------------------------------------------------


def test_texts_are_read_as_json():
    check = JsonDiff(expected='{"a": 1}')
    assert status(check, '{"a": 1.0}') == status(check, {"a": 1}) == "pass"
    result = run(check, "The answer is 1.")
    assert result.failed and "is not JSON" in result.message
    assert status(check, "NaN") == "fail"
    fenced = '```json\n{"a": 1}\n```'
    assert status(check, fenced) == "fail"
    assert status(JsonDiff(expected='{"a": 1}', accept_fence=True), f"  {fenced}\n") == "pass"


def test_what_is_expected_may_stand_in_the_trace():
    check = JsonDiff(expected_key="trace.last.metadata.want")
    assert status(check, {"a": 1}, want={"a": 1}) == status(check, '{"a": 1}', want='{"a": 1}') == "pass"
    assert status(check, {"a": 1}, want={"a": 2}) == "fail"
    assert status(check, [], want=None) == "fail"
    result = run(check, {"a": 1}, want="no JSON")
    assert result.error_kind == "bad_type" and "trace.last.metadata.want" in result.message
    assert run(check, {"a": 1}).error_kind == "missing_value"


def test_a_missing_value_is_an_error():
    check = JsonDiff(expected=1, target_key="trace.last.outputs.typo")
    assert run(check, {"a": 1}).error_kind == "missing_value"
    assert asyncio.run(JsonDiff(expected=None).run(Trace())).error_kind == "missing_value"
    assert status(Not(check=check), {"a": 1}) == "error"
    assert status(JsonDiff(expected=None), None) == "pass"


class Fee(BaseModel):
    name: str
    amounts: tuple[float, ...]


def test_models_are_their_plain_data():
    assert status(JsonDiff(expected={"name": "a", "amounts": [1]}), Fee(name="a", amounts=(1,))) == "pass"
    assert status(JsonDiff(expected=Fee(name="a", amounts=(1,))), '{"name": "a", "amounts": [1]}') == "pass"


class Odd:
    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


def test_what_cannot_be_compared_is_an_error():
    result = run(JsonDiff(expected={"a": 1}), {"a": Odd()})
    assert result.error_kind == "bad_type" and "raises RuntimeError" in result.message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "neither was given"),
        ({"expected": 1, "expected_key": KEY}, "both were given"),
        ({"expected": "{"}, "a text that is not JSON"),
        ({"expected": 1, "min_score": 50}, "less than or equal to 1"),
        ({"expected": 1, "min_score": 0}, "greater than 0"),
        ({"expected": 1, "tolerance": -1}, "greater than or equal to 0"),
        ({"expected": 1, "tolerance": {"$.a": "x"}}, "valid number"),
        ({"expected": 1, "extra_keys": "ignore"}, "extra_keys"),
        ({"expected": 1, "ignored": ["$.a"]}, "did you mean 'ignore'"),
    ],
)
def test_what_is_refused_when_it_is_built(fields, words):
    with pytest.raises(ValidationError, match=words):
        JsonDiff(**fields)


@pytest.mark.parametrize(
    "check",
    [
        JsonDiff(expected={"a": [1, None, {"b": 2.5}]}),
        JsonDiff(expected=None, unordered=True),
        JsonDiff(expected='{"a": 1}', tolerance=0.5, relative_tolerance=0.1, accept_fence=True),
        JsonDiff(
            expected_key="trace.annotations.want",
            tolerance={"$..p": 1},
            ignore=["$.id"],
            unordered=["$.items"],
            extra_keys="allow",
            missing_keys="allow",
            min_score=0.5,
            name="n",
        ),
    ],
    ids=repr,
)
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert type(loaded) is JsonDiff and loaded == check
        assert loaded.expected_key is not None or loaded.expected == check.expected


def test_later_changes_do_not_reach_the_check():
    expected = {"a": [1]}
    check = JsonDiff(expected=expected)
    expected["a"].append(2)
    assert status(check, {"a": [1]}) == "pass"


# --- size --------------------------------------------------------------------------------


def nested(depth, leaf):
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def test_deep_data():
    assert status(JsonDiff(expected=nested(400, 1)), "[" * 400 + "1" + "]" * 400) == "pass"
    assert status(JsonDiff(expected=nested(400, 1)), "[" * 400 + "2" + "]" * 400) == "fail"
    text = run(JsonDiff(expected=1), "[" * 100_000 + "]" * 100_000)
    assert text.errored and "nested deeper" in text.message
    deep = run(JsonDiff(expected_key="trace.last.metadata.v"), nested(600, 1), v=nested(600, 1))
    assert deep.error_kind == "bad_type" and "nested deeper" in deep.message
    loose = run(JsonDiff(expected=nested(100, 1), unordered=True), nested(100, 2))
    assert loose.errored and "within each other" in loose.message
    assert status(JsonDiff(expected=nested(40, 1), unordered=True), nested(40, 2)) == "fail"


def test_large_data():
    rng = random.Random(1)
    rows = [{"id": n, "price": rng.random(), "name": f"item {n}"} for n in range(20_000)]
    start = time.process_time()
    assert status(JsonDiff(expected=rows), json.dumps(rows)) == "pass"
    other = copy.deepcopy(rows)
    rng.shuffle(other)
    assert status(JsonDiff(expected=rows, unordered=True), other) == "pass"
    other[17]["price"] = -1
    result = run(JsonDiff(expected=rows, unordered=True), other)
    assert result.failed and "1 of 60,000 keys differs" in result.message
    apart = run(JsonDiff(expected=list(range(1_000)), unordered=True), [n + 0.5 for n in range(1_000)])
    assert apart.error_kind == "bad_type" and "1,000 items" in apart.message
    many = run(JsonDiff(expected=1), [0] * 4_000_000)
    assert many.error_kind == "bad_type" and "more than 3,000,000 places" in many.message
    assert time.process_time() - start < 90


def test_shared_parts_do_not_multiply_for_ever(monkeypatch):
    monkeypatch.setattr("giskard.checks.builtin._json_diff._MOST_PLACES", 100_000)
    value = [1]
    for _ in range(40):
        value = [value, value]
    result = run(JsonDiff(expected_key="trace.last.metadata.v"), value, v=value)
    assert result.error_kind == "bad_type" and "more than 100,000 places" in result.message


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("```\n1\n```", "1"),
        (" ```json  \n1\n  ```\n ", "1"),
        ("```\n```", ""),
        ("```1```", "```1```"),
        ("```\n1", "```\n1"),
        ("x ```\n1\n```", "x ```\n1\n```"),
        ("```\na\n```\nb\n```", "a\n```\nb"),
        ("```", "```"),
    ],
)
def test_fences(text, inner):
    assert unfenced(text) == inner


def test_fences_of_any_length():
    start = time.process_time()
    for text in ("```\n" + " " * 5_000_000, "```\n" * 1_000_000, "```\n" + "\n ```" * 1_000_000 + "x"):
        unfenced(text)
    assert time.process_time() - start < 5


def test_an_answer_that_was_not_recorded_is_no_data_that_differs():
    result = run(JsonDiff(expected=None), None, incomplete=True)

    assert (result.status, result.error_kind) == ("error", "missing_value")
    assert result.message.endswith("got NoneType: None; no answer was recorded in that turn (it is incomplete)")
    assert status(JsonDiff(expected=None), None) == "pass"
