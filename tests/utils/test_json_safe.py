"""Any object as JSON data, without ever failing."""

import collections
import dataclasses
import datetime as dt
import enum
import json
import math
from types import MappingProxyType
from unittest.mock import MagicMock, call

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, computed_field

from giskard.checks.utils.frozen import freeze
from giskard.checks.utils.json_safe import Shown, describe, finite, json_safe, tagged, utf8


class Word(enum.StrEnum):
    YES = "yes"


class Order(BaseModel):
    number: int

    @computed_field
    @property
    def double(self) -> int:
        return 2 * self.number


class BrokenModel(BaseModel):
    @computed_field
    @property
    def broken(self) -> int:
        raise RuntimeError("no")


@dataclasses.dataclass
class Point:
    x: int
    y: object = None


class BrokenMapping(collections.UserDict):
    def __iter__(self):
        raise RuntimeError("no")


class BrokenRepr:
    def __repr__(self):
        raise SystemExit(1)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)
anything = st.recursive(
    st.from_type(object) | st.floats() | st.text(st.characters(exclude_categories=())) | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.integers() | st.text(), inner) | st.tuples(inner),
    max_leaves=10,
)


@given(json_values)
def test_json_values_are_the_same(value):
    assert json_safe(value) == value
    assert json.loads(json.dumps(json_safe(value), allow_nan=False)) == value


@given(anything)
def test_it_never_fails_and_what_it_gives_is_stable(value):
    data = json_safe(value)
    text = json.dumps(data, allow_nan=False, ensure_ascii=False)

    assert text.encode()
    assert json_safe(json.loads(text)) == json.loads(text)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (Word.YES, "yes"),
        (Order(number=1), {"number": 1, "double": 2}),
        (Point(1, [Point(2)]), {"x": 1, "y": [{"x": 2, "y": None}]}),
        (collections.namedtuple("Pair", "a b")(1, 2), {"a": 1, "b": 2}),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
        (collections.OrderedDict(a=1), {"a": 1}),
        ({1: "a", None: 2}, {"$type": "dict", "$items": [[1, "a"], [None, 2]]}),
        (call("a", k=1), {"args": ["a"], "kwargs": {"k": 1}}),
        (math.inf, {"$type": "float", "$text": "inf"}),
        (b"x", {"$type": "bytes", "$text": "b'x'"}),
        (len, {"$type": "builtin_function_or_method", "$text": "<built-in function len>"}),
        (dt.date(2025, 1, 2), {"$type": "datetime.date", "$text": "datetime.date(2025, 1, 2)"}),
    ],
)
def test_what_becomes_of_it(value, data):
    assert json_safe(value) == data


@pytest.mark.parametrize("value", [BrokenModel(), BrokenMapping(a=1), BrokenRepr(), MagicMock(), [BrokenRepr()]])
def test_broken_objects_are_told_by_their_type(value):
    assert json.dumps(json_safe(value))
    [data] = json_safe([value])
    assert "Broken" in json.dumps(data) or "Mock" in json.dumps(data)


def test_cycles_and_depth():
    value = {"a": []}
    value["a"].append(value)
    assert "cycle" in json.dumps(json_safe(value))
    shared = [1]
    assert json_safe([shared, shared]) == [[1], [1]]
    deep = []
    for _ in range(500):
        deep = [deep]
    assert "180" in json.dumps(json_safe(deep))


def test_huge_numbers_and_texts():
    assert json_safe(10**5000)["$text"] == hex(10**5000)
    assert json_safe(2**60) == 2**60
    assert len(describe("x" * 100_000)) < 11_000
    assert "100,002 characters" in describe("x" * 100_000)


def test_halves_of_surrogate_pairs():
    assert utf8("a\ud83d") == "a\\ud83d"
    assert utf8("größe 🚀") == "größe 🚀"
    assert json_safe("\ud83d") == {"$type": "str", "$text": "\\ud83d"}
    assert tagged("x", "\udc00")["$text"] == "\\udc00"


def test_numbers_and_shown_values():
    assert finite(1.5) == 1.5
    assert [finite(number) for number in (math.inf, -math.inf, math.nan)] == ["inf", "-inf", "nan"]
    assert repr(Shown("a")) == "'a'"
    assert "repr raises SystemExit" in repr([Shown(BrokenRepr())])


def test_ctrl_c_is_not_swallowed():
    class Interrupting:
        def __repr__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        json_safe(Interrupting())


def test_the_text_of_a_set_is_in_order():
    assert describe({15, 7}) == "{7, 15}"
    assert describe(frozenset({"b", "a"})) == "frozenset({'a', 'b'})"
    assert describe({"b", 1}) == "{'b', 1}"
    assert (describe(set()), describe(frozenset())) == ("set()", "frozenset()")
    assert json_safe({"zz", "a", "b"}) == {"$type": "set", "$text": "{'a', 'b', 'zz'}"}
    assert json_safe(freeze({15, 7})) == {"$type": "set", "$text": "{7, 15}"}
