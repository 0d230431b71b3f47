"""JSON data as text: the same comes back, what means the same has one form, and a person can read it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.llm._json_text import canonical, dumps, from_data, to_data

TEXTS = st.text(st.characters(codec=None))  # also halves of surrogate pairs, control characters, all of Unicode
ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
MARKS = st.sampled_from(["$lines", "$escaped", "$float", "$int", "$pairs", "$literal", "$ref"])
JSON = st.recursive(ATOMS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS | MARKS, inner), max_leaves=20)


def identical(a, b):
    """Equal, of the same types, and NaN is NaN."""
    return repr(a) == repr(b)


@given(JSON)
def test_any_data_come_back_through_a_file(value):
    text = dumps(to_data(value))

    assert identical(from_data(json.loads(text.encode("utf-8").decode("utf-8"))), sorted_odd(value))


def sorted_odd(value):
    """Mappings with keys that UTF-8 cannot hold come back with their keys in order."""
    if isinstance(value, list):
        return [sorted_odd(item) for item in value]
    if not isinstance(value, dict):
        return value
    odd = any("\ud800" <= character <= "\udfff" for key in value for character in key)
    return {key: sorted_odd(item) for key, item in (sorted(value.items()) if odd else value.items())}


@pytest.mark.parametrize(
    "value",
    [
        "\ud83d\ude00",  # two halves of a pair, which are not the one character
        "\ud800\\ud800\n\\n",
        "".join(map(chr, range(0x300))),
        "line\n" * 4_000 + "\r\n",
        "\n" * 20_000,
        -0.0,
        {"$lines": ["a"]},
        {"$literal": {"$literal": 1}},
        {"\udfff": {"$pairs": []}},
    ],
    ids=lambda value: f"{value!r:.20}",
)
def test_odd_values_come_back(value):
    assert identical(from_data(json.loads(dumps(to_data(value)))), value)


def test_a_number_that_python_does_not_write_comes_back():
    assert from_data(json.loads(dumps(to_data([10**6_000, -(10**6_000)])))) == [10**6_000, -(10**6_000)]


@given(JSON, st.randoms())
def test_the_order_of_keys_means_nothing(value, random):
    assert canonical(shuffled(value, random)) == canonical(value)


def shuffled(value, random):
    if isinstance(value, list):
        return [shuffled(item, random) for item in value]
    if not isinstance(value, dict):
        return value
    items = list(value.items())
    random.shuffle(items)
    return {key: shuffled(item, random) for key, item in items}


@given(JSON, JSON)
def test_what_is_not_the_same_has_another_form(a, b):
    assert (canonical(a) == canonical(b)) == (normal(a) == normal(b))


def normal(value):
    """A value that is equal to those, and only to those, that mean the same."""
    if isinstance(value, list):
        return ("list", *map(normal, value))
    if isinstance(value, dict):
        return ("dict", frozenset((key, normal(item)) for key, item in value.items()))
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return (type(value).__name__, repr(value))


def test_one_is_one_point_zero_and_not_true():
    assert canonical({"temperature": 1}) == canonical({"temperature": 1.0})
    assert canonical(0.0) == canonical(-0.0)
    assert canonical(1) != canonical(True) != canonical("1")


def test_the_two_forms_of_an_accent_are_two_texts():
    assert canonical("é") != canonical("e\u0301")


def test_what_is_no_json_data_is_refused_with_its_place():
    with pytest.raises(TypeError, match=r"messages\[0\]\.at is set"):
        to_data({"messages": [{"at": {1}}]})
    with pytest.raises(TypeError, match=r"params has the key 3, expected a text"):
        to_data({"params": {3: 1}})
    with pytest.raises(TypeError, match="it is object"):
        to_data(object())


def test_what_is_nested_too_deeply_is_refused():
    deep = []
    for _ in range(10_000):
        deep = [deep]

    with pytest.raises(ValueError, match="more than 200 levels"):
        to_data(deep)


def test_a_mark_that_stands_for_nothing_is_refused():
    for data in ({"$lines": 1}, {"$escaped": "é"}, {"$float": "much"}, {"$int": 3}, {"$pairs": [1]}, {"$literal": 1}):
        with pytest.raises(ValueError, match=r"is no \$"):
            from_data({"text": data})


def test_it_is_laid_out_for_diffs():
    data = {
        "messages": [{"role": "user", "content": "Be polite.\n\nIs it?"}],
        "vector": [0.5, -1, 2e-7],
        "none": [],
        "long": {"text": "x" * 100},
        "hidden": "a\u202eb\x7f\x1b é",
    }

    assert dumps(to_data(data)) == (
        "{\n"
        '  "messages": [\n'
        "    {\n"
        '      "role": "user",\n'
        '      "content": {\n'
        '        "$lines": [\n'
        '          "Be polite.",\n'
        '          "",\n'
        '          "Is it?"\n'
        "        ]\n"
        "      }\n"
        "    }\n"
        "  ],\n"
        '  "vector": [0.5, -1, 2e-07],\n'
        '  "none": [],\n'
        '  "long": {\n'
        f'    "text": "{"x" * 100}"\n'
        "  },\n"
        '  "hidden": "a\\u202eb\\u007f\\u001b é"\n'
        "}"
    )
