"""Filters select as RFC 9535 says; descent has neither depth nor cycles to fear."""

import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, computed_field

from giskard.checks.core import _path_query as query
from giskard.checks.core.extraction import (
    resolve,
)
from giskard.checks.core.interaction import Interaction, Trace


@dataclass
class Order:
    id: int
    items: list[int]


def out(outputs: Any, path: str) -> Any:
    """What `path` gives, written from the outputs of the last turn on."""
    trace = Trace(interactions=[Interaction(inputs="q", outputs=outputs)])
    return resolve(trace, f"trace.last.outputs{path}")


# --- filters -----------------------------------------------------------------------------

CALLS = [
    {"name": "search", "args": {"q": "fee"}, "ms": 10, "ok": True},
    {"name": "book", "args": {}, "ms": 2.5, "ok": False},
    {"name": "search", "args": {"q": "größe"}, "ms": 30, "ok": None, "tags": ["a", "b"]},
    {"name": "rm", "ms": "slow"},
]


@pytest.mark.parametrize(
    ("test", "want"),
    [
        ('@.name == "search"', [0, 2]),
        ("(@.name == 'search')", [0, 2]),
        ("@.name != 'search'", [1, 3]),
        ("@.ms > 2.5", [0, 2]),
        ("@.ms >= 2.5", [0, 1, 2]),
        ("@.ms < 10", [1]),
        ("@.ms <= 10", [0, 1]),
        ("@.ms < 'z'", [3]),
        ("10 < @.ms", [2]),
        ("@.ms == 1e1", [0]),
        ("@.ok", [0, 1, 2]),
        ("!@.ok", [3]),
        ("@.ok == true", [0]),
        ("@.ok == false", [1]),
        ("@.ok == null", [2]),
        ("@.ok == 1", []),
        ("@.ok == 0", []),
        ("@.ok < 2", []),
        ("@.ok >= true", [0]),
        ("@.args.q", [0, 2]),
        ("@.nope == @.neither", [0, 1, 2, 3]),
        ("@.nope == null", []),
        ("@.nope < 1", []),
        ("@.nope != 1", [0, 1, 2, 3]),
        ("@.name == 'search' && @.ms > 10", [2]),
        ("@.name == 'rm' || @.ms == 10", [0, 3]),
        ("@.name == 'rm' || @.ms == 10 && @.ok == false", [3]),
        ("(@.name == 'rm' || @.ms == 10) && @.ok == true", [0]),
        ("!(@.name == 'search' || @.name == 'rm')", [1]),
        ("@.tags[0] == 'a'", [2]),
        ("@.tags[?@ == 'b']", [2]),
        ("@.tags[*]", [2]),
        ("@..q", [0, 2]),
        ("length(@.name) == 6", [0, 2]),
        ("length(@.tags) == 2", [2]),
        ("length(@.args) == 0", [1]),
        ("length(@.ms) == 1", []),
        ("count(@.*) == 4", [0, 1]),
        ("count(@.nope) == 0", [0, 1, 2, 3]),
        ("value(@..q) == 'fee'", [0]),
        ("count($..q) == 2", [0, 1, 2, 3]),
        ("$[5:]", []),
        ("value(@.tags[*]) == 'a'", []),
        ("match(@.name, 's.*')", [0, 2]),
        ("match(@.name, 'ear')", []),
        ("search(@.name, 'ear')", [0, 2]),
        ("search(@.args.q, '\\\\p{Ll}ße')", [2]),
        ("search(@.ms, '1')", []),
        ("match(@.name, $[3].name)", [3]),
        ("@.args == $[1].args", [1]),
        ("@.name == $[-1].name", [3]),
    ],
)  # fmt: skip
def test_filters(test, want):
    test = test.replace("$", "$.last.outputs")
    assert out(CALLS, f"[?{test}].name") == [CALLS[i]["name"] for i in want]
    assert out(CALLS, f"[?{test}]") == [CALLS[i] for i in want]


def test_an_item_exists_whatever_its_value():
    assert out([0, False, None, "", [], {}, 1], "[?@]") == [0, False, None, "", [], {}, 1]
    assert out([{"a": 0}, {"a": False}, {"a": None}, {}], "[?@.a]") == [
        {"a": 0}, {"a": False}, {"a": None},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ([1, [True]], [1, [1]], False),
        ([1, {"a": (2, 3)}], [1.0, {"a": [2, 3]}], True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ("1", 1, False),
        ([], {}, False),
        (None, False, False),
        (Order(1, [2]), {"id": 1, "items": [2]}, True),
        (Decimal("1.5"), 1.5, True),
        (2**60 + 1, float(2**60), False),
    ],
)
def test_equality_in_filters_is_that_of_json(one, other, equal):
    assert len(out([{"a": one, "b": other}], "[?@.a == @.b]")) == equal
    assert len(out([{"a": one, "b": other}], "[?@.a != @.b]")) == (not equal)


def test_large_numbers_are_exact():
    big = 9007199254740993
    assert out([{"id": big - 1}, {"id": big}], f"[?@.id == {big}].id") == [big]
    assert out([{"id": -5}], "[?@.id == -5].id") == [-5]


def test_objects_that_refuse_to_be_compared_are_not_equal():
    class Refusing:
        def __eq__(self, other: object) -> bool:
            raise TypeError("no")

        __hash__ = None

    root = {"last": [{"a": Refusing()}]}
    assert resolve(root, "trace.last[?@.a == 1]") == []
    assert resolve(root, "trace.last[?@.a < 1]") == []
    assert resolve({"last": [{"a": Decimal("sNaN")}]}, "trace.last[?@.a < 1]") == []


def test_a_runaway_pattern_is_stopped(monkeypatch):
    monkeypatch.setattr(query, "REGEX_SECONDS", 0.2)
    key = "trace.last.outputs[?search(@, '(a|aa)+$')]"
    begin = time.perf_counter()
    with pytest.raises(TimeoutError) as caught:
        resolve({"last": {"outputs": ["a" * 60 + "b"]}}, key)
    assert time.perf_counter() - begin < 5
    assert key in str(caught.value)


def test_a_pattern_from_the_data_that_is_none_matches_nothing():
    assert out([{"t": "a", "p": "("}, {"t": "a", "p": "a"}], "[?match(@.t, @.p)].p") == ["a"]
    assert out([{"t": "a", "p": "a"}], "[?match(@.t, @.none)]") == []


def test_a_dot_is_no_line_end():
    assert out(["a\nb", "a\rb", "axb", "a.b"], "[?match(@, 'a.b')]") == ["axb", "a.b"]
    assert out(["axb", "a.b"], r"[?match(@, 'a\\.b')]") == ["a.b"]
    assert out(["axb", "a.b"], "[?match(@, 'a[.]b')]") == ["a.b"]


# --- descent -----------------------------------------------------------------------------


def test_descent_goes_as_deep_as_the_data():
    deep: Any = {"leaf": 1}
    for level in range(50_000):
        deep = [deep] if level % 2 else {"next": deep}
    root = {"last": deep}
    assert resolve(root, "trace..leaf") == [1]
    assert len(resolve(root, "trace.last..[0]")) == 25_000


def test_descent_comes_back_from_cycles():
    class Node:
        def __init__(self, name: str) -> None:
            self.name = name
            self.peers: list[Any] = []

    one, two = Node("one"), Node("two")
    one.peers += [two, one]
    two.peers += [one]
    assert resolve({"last": one}, "trace.last..name") == ["one", "two"]
    ring: list[Any] = [1]
    ring.append(ring)
    assert resolve({"last": ring}, "trace.last..[0]") == [1]
    assert len(resolve({"last": ring}, "trace.last..*")) == 2


def test_shared_values_are_found_in_each_of_their_places():
    shared = {"x": 1}
    assert resolve({"last": [shared, shared]}, "trace.last..x") == [1, 1]


def test_a_descent_without_an_end_is_stopped(monkeypatch):
    class Model(BaseModel):
        level: int = 0

        @computed_field
        @property
        def next(self) -> Any:
            return Model(level=self.level + 1)

    nested: Any = 1
    for _ in range(30):
        nested = [nested]
    monkeypatch.setattr(query, "MAX_VISITED", 2_000)
    for value, path in [
        (Model(), "trace.last..level"),
        (nested, "trace.last..*..*..*..*..*"),
        (list(range(9)), f"trace.last[{','.join(['*'] * 300)}]"),
        (list(range(3000)), "trace.last[?@ == 1]"),
        ([nested] * 100, "trace.last[?@..x]"),
    ]:
        with pytest.raises(ValueError, match="visited more than 2,000 values") as caught:
            resolve({"last": value}, path)
        assert path[:40] in str(caught.value)


def test_what_orders_itself_with_numbers_is_no_number():
    class Rank:
        def __lt__(self, other: object) -> bool:
            return True

        __gt__ = __le__ = __ge__ = __lt__

    root = {"last": [{"a": Rank(), "b": Rank()}]}
    for test in ("@.a < 1", "1 < @.a", "@.a > 1", "@.a < @.b", "@.a >= 'x'"):
        assert resolve(root, f"trace.last[?{test}]") == []
