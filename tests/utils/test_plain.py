"""Models, dataclasses and named tuples come out as plain data; nothing else is touched."""

import datetime
import enum
from collections import OrderedDict, UserDict, UserList, deque, namedtuple
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import Mock, call

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field, field_serializer
from pydantic.dataclasses import dataclass as pydantic_dataclass

from giskard.checks.utils.frozen import freeze, view
from giskard.checks.utils.plain import MISSING, to_plain


class Item(BaseModel):
    sku: str
    price: float = 1.5

    @computed_field
    @property
    def label(self) -> str:
        return f"{self.sku}!"


class Secretive(BaseModel):
    shown: int = 1
    hidden: int = Field(default=2, exclude=True)
    _private: int = 3


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 1


class Optional(BaseModel):
    a: int | MISSING = MISSING
    b: int = 2


class Serialized(BaseModel):
    when: datetime.date = datetime.date(2024, 1, 2)

    @field_serializer("when")
    def text(self, value: datetime.date) -> str:
        return value.isoformat()


@dataclass
class Order:
    id: int
    items: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    n: int


@dataclass(slots=True)
class Slotted:
    n: int


@pydantic_dataclass
class Checked:
    n: int


class Point(NamedTuple):
    x: Any
    y: Any


class Colour(enum.Enum):
    RED = 1


ITEM = {"sku": "a", "price": 1.5, "label": "a!"}


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (Item(sku="a"), ITEM),
        ([Item(sku="a"), 1], [ITEM, 1]),
        ((Item(sku="a"), 1), (ITEM, 1)),
        ({"k": {"deep": [Item(sku="a")]}}, {"k": {"deep": [ITEM]}}),
        (Order(1, [Item(sku="a")]), {"id": 1, "items": [ITEM]}),
        (Slotted(1), {"n": 1}),
        (Checked(1), {"n": 1}),
        (Point(1, 2), {"x": 1, "y": 2}),
        ([Point(1, Frozen(2))], [{"x": 1, "y": {"n": 2}}]),
        (namedtuple("Empty", "")(), {}),
        (Secretive(), {"shown": 1}),
        (Open(b=2), {"a": 1, "b": 2}),
        (Optional(), {"b": 2}),
        (Optional(a=1), {"a": 1, "b": 2}),
        (RootModel[list[Item]]([Item(sku="a")]), [ITEM]),
        (RootModel[int](3), 3),
        (Serialized(), {"when": datetime.date(2024, 1, 2)}),
        ({Frozen(1)}, [{"n": 1}]),
        (frozenset([Frozen(1)]), [{"n": 1}]),
        ([{1, 2}, Frozen(1)], [{1, 2}, {"n": 1}]),
        ([frozenset([1]), Frozen(1)], [frozenset([1]), {"n": 1}]),
        (deque([Frozen(1)]), [{"n": 1}]),
        (MappingProxyType({"a": Frozen(1)}), {"a": {"n": 1}}),
        (UserDict({"a": 1}), {"a": 1}),
        (UserList([1, Frozen(1)]), [1, {"n": 1}]),
        (call(1, a=Frozen(2)), {"args": (1,), "kwargs": {"a": {"n": 2}}}),
        ({1: Frozen(1), None: 2}, {1: {"n": 1}, None: 2}),
    ],
)
def test_it_comes_out_as_plain_data(value, want):
    plain = to_plain(value)
    assert plain == want
    assert type(plain) is type(want)


class Mine(dict):
    pass


class Plain:
    def __init__(self):
        self.item = Item(sku="a")


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        True,
        1.5,
        b"bytes",
        Colour.RED,
        datetime.date(2024, 1, 2),
        range(10**9),
        Plain(),
        SimpleNamespace(a=Item(sku="a")),
        Item,
        Order,
        len,
        Mock(),
        [],
        {},
        (),
        [1, {"a": [None, (2, {3})]}],
        OrderedDict(a=[1]),
        Mine(a={"b": [1]}),
        deque([1]),
        MappingProxyType({"a": 1}),
        freeze({"a": [1, {"b": 2}]}),
        freeze([[1], {"a": "b"}]),
        [Plain()],
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_plain_already_is_the_same_object(value):
    assert to_plain(value) is value


def test_arrays_stay_arrays():
    array = np.arange(4)
    assert to_plain(array) is array
    assert to_plain(Order(1, array))["items"] is array


def test_unconverted_leaves_are_kept_by_reference():
    leaf = Plain()
    assert to_plain(Order(1, [leaf]))["items"][0] is leaf


def test_a_value_that_contains_itself_gives_a_finite_text():
    order = Order(1)
    order.items.append(order)
    assert to_plain(order) == {"id": 1, "items": ["<circular reference to Order>"]}
    ring: list[Any] = [1]
    ring.append(ring)
    assert to_plain(ring) == [1, "<circular reference to list>"]
    wheel: dict[str, Any] = {"a": {}}
    wheel["a"]["b"] = wheel
    assert to_plain(wheel) == {"a": {"b": "<circular reference to dict>"}}


def test_shared_parts_are_no_cycle():
    shared = [[1], {"a": [2]}]
    value = [shared, shared]
    assert to_plain(value) is value
    item = Item(sku="a")
    assert to_plain([item, item]) == [ITEM, ITEM]


def test_shared_parts_are_walked_once():
    value: Any = [Frozen(1)]
    for _ in range(60):
        value = [value, value]
    plain = to_plain(value)
    for _ in range(60):
        plain = plain[1]
    assert plain == [{"n": 1}]


def test_depth_is_no_limit():
    deep: Any = Frozen(1)
    for _ in range(20_000):
        deep = [deep]
    plain = to_plain(deep)
    for _ in range(20_000):
        plain = plain[0]
    assert plain == {"n": 1}
    flat: Any = [1]
    for _ in range(20_000):
        flat = {"a": flat}
    assert to_plain(flat) is flat


def test_a_model_without_validation_gives_what_it_has():
    assert to_plain(Item.model_construct(sku="a")) == ITEM
    assert to_plain(Order.__new__(Order)) == {}
    broken = Item.model_construct()
    del broken.__dict__["price"]
    assert to_plain(broken) == {}  # its label cannot be worked out either


def test_a_computed_field_that_fails_says_so():
    class Failing(BaseModel):
        @computed_field
        @property
        def bad(self) -> int:
            raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError):
        to_plain(Failing())


def test_opaque_values_can_be_replaced():
    inner = Plain()
    assert to_plain(inner, opaque=lambda value: "seen") == "seen"
    assert to_plain([inner, {"a": (inner,)}, 1], opaque=lambda value: "seen") == [
        "seen",
        {"a": ("seen",)},
        1,
    ]
    recorded = freeze({"client": inner, "item": Item(sku="a")})
    plain = to_plain(recorded, opaque=view)
    assert plain["item"] == ITEM
    assert plain["client"] is not recorded["client"]
