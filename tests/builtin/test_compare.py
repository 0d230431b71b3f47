"""Equality and order of values of any origin."""

import dataclasses
import datetime as dt
import enum
import math
from collections import OrderedDict, UserDict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from unittest.mock import MagicMock, call

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel, computed_field, field_serializer

from giskard.checks.builtin._closeness import CompareOptions
from giskard.checks.builtin._compare import Incomparable, find_difference, values_equal
from giskard.checks.builtin._order import compare_order

NAN = float("nan")
INF = float("inf")
UTC = dt.UTC
NFKC = CompareOptions(form="NFKC")


def near(tolerance=None, relative_tolerance=None):
    return CompareOptions(tolerance=tolerance, relative_tolerance=relative_tolerance)


def eq(one, other, options=NFKC):
    """Equality is asked in both directions: it never depends on who is the expected one."""
    there, back = values_equal(one, other, options), values_equal(other, one, options)
    assert there is back
    return there


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(enum.StrEnum):
    YES = "yes"


class Item(BaseModel):
    name: str
    price: float = 1.0


class Order(BaseModel):
    id: int
    items: list[Item] = []
    day: dt.date | None = None


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, Decimal(1)),
        (Decimal("0.5"), Fraction(1, 2)),
        (0.5, Fraction(1, 2)),
        (1, 1 + 0j),
        (True, True),
        (None, None),
        ("a", "a"),
        (" a  b", "a b\n"),
        ("ﬁn", "fin"),
        (b"a", bytearray(b"a")),
        ([1, 2], (1.0, 2.0)),
        (Pair(1, 2), [1, 2]),
        (Pair(1, 2), (1, 2)),
        (Pair(1, 2), {"a": 1, "b": 2}),
        ([Pair(1, [Pair(3, 4)])], [{"a": 1, "b": [{"a": 3, "b": 4}]}]),
        (call(1, k=2), {"args": (1,), "kwargs": {"k": 2}}),
        (range(3), [0, 1, 2]),
        (deque([1]), (1,)),
        ({"a": 1}, OrderedDict(a=1.0)),
        ({"a": 1}, MappingProxyType({"a": 1})),
        ({"a": 1}, UserDict(a=1)),
        ({1: "x"}, {1.0: "x"}),
        ({1, 2}, frozenset({1.0, 2})),
        ({" a "}, {"a"}),
        (set(), frozenset()),
        (Colour.RED, "red"),
        (Colour.RED, Colour.RED),
        (Level.LOW, 1),
        (Word.YES, "yes"),
        (INF, INF),
        (-0.0, 0),
        (2**70, float(2**70)),
        (dt.date(2024, 1, 2), dt.date(2024, 1, 2)),
        (dt.datetime(2024, 1, 1, 12, tzinfo=UTC), dt.datetime.fromisoformat("2024-01-01T13:00+01:00")),
        (Item(name="a"), {"name": "a", "price": 1}),
        (Item(name=" a "), {"name": "a", "price": 1}),
        (Order(id=1, items=[Item(name="a")]), {"id": 1, "items": ({"name": "a", "price": 1.0},), "day": None}),
        (Item(name="a"), Item(name="a", price=1)),
        ([Item(name="a")], [{"name": "a", "price": 1.0}]),
        (Point(1), {"x": 1, "y": 0}),
        (Point(1), Point(1.0)),
        (RootModel[list[int]]([1]), [1]),
        (RootModel[int](1), 1),
        (RootModel[int](1), RootModel[int](1)),
    ],
)
def test_equal(one, other):
    assert eq(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        (False, 0),
        (False, 0.0),
        (True, Decimal(1)),
        ([True], [1]),
        ({"a": {"b": False}}, {"a": {"b": 0}}),
        ({True: "x"}, {1: "x"}),
        ({True}, {1}),
        ({(1,)}, {(True,)}),
        ({0, True}, {False, 1}),
        (True, "True"),
        (1, "1"),
        (None, False),
        (None, 0),
        (None, ""),
        (None, "None"),
        (NAN, NAN),
        ([NAN], [NAN]),
        ({"a": NAN}, {"a": NAN}),
        (Decimal("NaN"), Decimal("NaN")),
        (Decimal("sNaN"), 1),
        ("a", "A"),
        ("a", b"a"),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ([1], 1),
        ([], {}),
        ([1], {1}),
        ("ab", ["a", "b"]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"b": 1}),
        ({1: "x"}, {"1": "x"}),
        (0.1 + 0.2, 0.3),
        (Decimal("0.1"), 0.1),
        (2**53 + 1, float(2**53)),
        (INF, -INF),
        (Colour.RED, Colour.BLUE),
        (Colour.RED, "RED"),
        (dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)),
        (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=UTC)),
        (dt.date(2024, 1, 1), "2024-01-01"),
        (Item(name="a"), {"name": "a"}),
        (Item(name="a"), {"name": "a", "price": 1, "more": 1}),
        (Item(name="a"), Item(name="b")),
        (Item(name="a"), [("name", "a"), ("price", 1.0)]),
        (Item(name="a"), None),
        (Point(1), Point(2)),
        (Point(1), [1, 0]),
        (Point, Point(1)),
        (Pair(1, 2), {"a": 1, "c": 2}),
        ([1], {"a": 1}),
        (SimpleNamespace(a=1), {"a": 1}),
    ],
)
def test_not_equal(one, other):
    assert not eq(one, other)


def test_the_same_nan_object_is_not_equal_to_itself():
    row = [NAN]
    assert not eq(row, row)
    assert not eq({NAN}, {NAN})


def test_texts_are_compared_as_they_are_without_a_form():
    assert not values_equal(" a", "a")
    assert values_equal("café", "cafe\u0301", CompareOptions(form="NFC"))
    assert not values_equal("ﬁ", "fi", CompareOptions(form="NFC"))
    assert not values_equal({" a "}, {"a"})
    assert not values_equal({" a": 1}, {"a": 1}, NFKC)  # keys are names


def loop(*items):
    data = list(items)
    data.append(data)
    return data


def ring(last):
    data: list = []
    data.extend([data, last])
    return data


def deep(n, leaf):
    for _ in range(n):
        leaf = [leaf]
    return leaf


# --- records -----------------------------------------------------------------------------


def test_a_model_equals_each_of_its_written_forms():
    order = Order(id=1, day=dt.date(2024, 1, 2))
    assert eq(order, order.model_dump())
    assert eq(order, order.model_dump(mode="json"))
    assert eq([order], [{"id": 1, "items": [], "day": "2024-01-02"}])
    assert not eq(order, {"id": 1, "items": [], "day": "2024-01-03"})


def test_aliases_serializers_excluded_computed_and_extra_fields():
    class Full(BaseModel, extra="allow"):
        a: int = Field(alias="theA")
        secret: str = Field(default="x", exclude=True)

        @field_serializer("a")
        def double(self, a: int) -> int:
            return a * 2

        @computed_field
        @property
        def b(self) -> int:
            return self.a + 1

    full = Full.model_validate({"theA": 1, "more": [1]})
    assert eq(full, {"a": 1, "more": [1], "b": 2})
    assert eq(full, full.model_dump())
    assert eq(full, full.model_dump(by_alias=True, mode="json"))
    assert not eq(full, {"a": 1})


def test_a_dataclass_equals_its_json_form():
    @dataclasses.dataclass
    class Day:
        on: dt.date

    assert eq(Day(dt.date(2024, 1, 2)), {"on": "2024-01-02"})
    assert not eq(Day(dt.date(2024, 1, 2)), {"on": "2024-01-03"})


def test_a_model_that_cannot_be_dumped():
    class Bad(BaseModel):
        a: int = 1

        @field_serializer("a")
        def refuse(self, a: int) -> int:
            raise RuntimeError("no")

    assert eq(Bad(), {"a": 1})
    assert not eq(Bad(), {"a": 2})

    @dataclasses.dataclass
    class Opaque:
        a: object

    assert not eq(Opaque(object()), {"a": 1})


# --- arrays ------------------------------------------------------------------------------


def test_arrays_compare_by_content():
    np = pytest.importorskip("numpy")
    assert eq(np.array([1, 2, 3]), [1, 2, 3])
    assert eq(np.array([1, 2, 3]), np.array([1.0, 2.0, 3.0]))
    assert eq(np.array([[1, 2], [3, 4]]), ((1, 2), (3, 4)))
    assert not eq(np.array([1, 2, 3]), [1, 2, 4])
    assert not eq(np.array([1, 2]), [1, 2, 3])
    assert not eq(np.array([1, 0]), [True, False])
    assert eq(np.array([True, False]), [True, False])
    assert eq(np.array([]), [])
    assert not eq(np.array([NAN]), [NAN])
    assert eq({"v": np.array([1])}, {"v": [1]})
    assert eq(np.array(5), 5)
    assert eq(np.float32(0.5), 0.5) and eq(np.int64(3), 3) and eq(np.str_("a"), "a")
    assert eq(np.bool_(True), True) and not eq(np.bool_(True), 1)
    assert eq(np.array([0.1 + 0.2]), [0.3], near(1e-9))
    assert eq(np.array(["a"], dtype=object), ["a"])
    assert eq(np.longdouble(0.5), 0.5)


def test_arrays_of_the_standard_library():
    from array import array

    assert eq(array("i", [1, 2]), [1, 2])
    assert eq(memoryview(b"ab"), b"ab")


# --- tolerance ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "options"),
    [
        (0.1 + 0.2, 0.3, near(1e-9)),
        (0.29, 0.3, near(0.01)),  # the bound itself
        (0.31, 0.3, near(0.01)),
        (100, 101, near(1)),
        (100, 101, near(Decimal("1"))),
        (Decimal("0.1"), 0.1, near(0)),
        (Decimal("19.99"), 20, near(0.01)),
        (Fraction(1, 3), 0.3333, near(0.0001)),
        (99, 100, near(relative_tolerance=0.01)),
        (1e300, 1.0001e300, near(relative_tolerance=0.001)),
        (10**400, 10**400 + 1, near(1)),
        (Decimal("1E+999999"), Decimal("1E+999999"), near(1)),
        (1 + 1j, 1 + 1.0001j, near(0.001)),
        ({"a": [1.0, {"b": 2.0}]}, {"a": (1.001, {"b": 1.999})}, near(0.01)),
        (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 1), near(dt.timedelta(seconds=1))),
        (dt.date(2024, 1, 1), dt.date(2024, 1, 3), near(dt.timedelta(days=2))),
        (dt.time(12), dt.time(12, 1), near(dt.timedelta(minutes=1))),
        (dt.timedelta(1), dt.timedelta(2), near(dt.timedelta(1))),
        (INF, INF, near(1)),
        (5, 5, near(0)),
        (0, 1e-12, near(1e-9, 1e-9)),
        (1000, 1001, near(1e-9, 0.01)),
    ],
)
def test_within_a_tolerance(one, other, options):
    assert eq(one, other, options)


@pytest.mark.parametrize(
    ("one", "other", "options"),
    [
        (0.28, 0.3, near(0.01)),
        (1, 2, near(dt.timedelta(days=9))),
        (dt.date(2024, 1, 1), dt.date(2024, 1, 2), near(9)),
        (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=UTC), near(dt.timedelta(days=9))),
        (dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), near(dt.timedelta(days=9))),
        (NAN, NAN, near(INF)),
        (INF, 1, near(10)),
        (INF, 1, near(relative_tolerance=1.0)),
        (INF, -INF, near(relative_tolerance=5.0)),
        (True, 1, near(5)),
        (True, False, near(5)),
        ("1", "2", near(5)),
        (complex(INF, 0), 1 + 0j, near(5, 0.5)),
        (98, 100, near(relative_tolerance=0.01)),
        ({1.0}, {1.001}, near(0.01)),  # members of sets are exact
    ],
)
def test_outside_a_tolerance(one, other, options):
    assert not eq(one, other, options)


def test_numbers_of_other_kinds_meet_a_tolerance():
    import numbers

    class Odd(numbers.Real):
        def __init__(self, value):
            self.value = value

        def __float__(self):
            return self.value

        def __eq__(self, other):
            return False

        __hash__ = None
        __ne__ = lambda self, other: False  # noqa: E731  (not a NaN)
        for name in numbers.Real.__abstractmethods__ - {"__float__", "__eq__"}:
            locals()[name] = None

    assert eq(Odd(1.5), 1.6, near(0.2))


# --- odd data ----------------------------------------------------------------------------


def test_cyclic_data_ends():
    assert eq(loop(1), loop(1))
    assert not eq(loop(1), loop(2))
    a: dict = {"n": 1}
    a["self"] = a
    b: dict = {"n": 1.0}
    b["self"] = {"n": 1, "self": b}
    assert eq(a, b)


def test_a_model_that_holds_itself():
    class Node(BaseModel):
        n: int
        next: "Node | None" = None

    one, other = Node(n=1), Node(n=1)
    one.next, other.next = one, other
    assert eq(one, other)
    other.n = 2
    assert not eq(one, other)


def test_deep_data_is_compared():
    assert eq(deep(50_000, 1), deep(50_000, 1.0))
    assert not eq(deep(50_000, 1), deep(50_000, 2))


def test_objects_are_asked_themselves():
    class Money:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return isinstance(other, Money) and other.n == self.n

        __hash__ = None

    assert eq(Money(1), Money(1)) and not eq(Money(1), Money(2)) and not eq(Money(1), 1)
    marker = object()
    assert eq(marker, marker) and not eq(marker, object())


def test_mocks_answer_every_attribute():
    mock = MagicMock()
    assert eq(mock, mock) and not eq(mock, 1) and not eq(mock, MagicMock())
    with pytest.raises(Incomparable):
        compare_order(mock, 1)


def test_objects_without_a_verdict():
    class Vague:
        def __eq__(self, other):
            return [True]

        __hash__ = None

    class Broken:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    with pytest.raises(Incomparable, match=r"Vague.*'list'.*no verdict"):
        values_equal(Vague(), object())
    with pytest.raises(Incomparable, match="Broken and int raises RuntimeError: no"):
        values_equal([Broken()], [1])


def test_the_first_difference_is_named():
    want = {"a": [1, {"b": 2}], "c": 3}

    def where(data):
        found = find_difference(data, want)
        return found.path, found.reason

    assert find_difference(want, want) is None
    assert where({"a": [1, {"b": 5}], "c": 9}) == (("a", 1, "b"), "")
    assert where({"a": [1, {"b": 2}]}) == ((), "the key 'c' is missing")
    assert where(want | {"d": 1}) == ((), "the key 'd' is not expected")
    assert where({"a": [1], "c": 3}) == (("a",), "1 item instead of 2")
    assert where({"a": [], "c": 3}) == (("a",), "0 items instead of 2")
    assert where(5) == ((), "")
    assert find_difference({True: 1}, {1: 1}).reason == "one has a bool as a key where the other has a number"
    found = find_difference({"x": [Item(name="a")]}, {"x": [{"name": "b", "price": 1}]})
    assert (found.path, found.actual, found.expected) == (("x", 0, "name"), "a", "b")


# --- order -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1, 2),
        (1, 1.5),
        (Decimal("0.1"), 0.2),
        (Fraction(1, 3), Decimal("0.5")),
        (Fraction(1, 3), 0.5),
        (-INF, INF),
        (2**53, 2**53 + 1),
        (float(2**53), 2**53 + 1),
        ("a", "b"),
        ("A", "a"),
        ("", "a"),
        (b"a", b"b"),
        (False, True),
        (Level.LOW, Level.HIGH),
        (Level.LOW, 2),
        (dt.date(2024, 1, 1), dt.date(2024, 1, 2)),
        (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)),
        (dt.datetime(2024, 1, 1, tzinfo=UTC), dt.datetime.fromisoformat("2024-01-01T00:00-01:00")),
        (dt.time(1), dt.time(2)),
        (dt.timedelta(1), dt.timedelta(2)),
        ([1, 9], [1, 10]),
        ((1, 2), [1, 2, 0]),
        ([1, "a"], [1, "b"]),
        ([[1], 5], [[2], 0]),
        ([1, 9, 9], [2]),
        ([], [0]),
        (ring(1), ring(2)),
        (deep(5_000, 1), deep(5_000, 2)),
    ],
)
def test_order(low, high):
    assert compare_order(low, high) == -1
    assert compare_order(high, low) == 1
    assert compare_order(low, low) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NAN, 1),
        (1, NAN),
        (NAN, NAN),
        (Decimal("NaN"), 1),
        (Decimal("sNaN"), 1),
        (1, "1"),
        ("a", None),
        (None, None),
        (None, 1),
        (True, 2),
        (1, False),
        (1 + 1j, 2),
        ({}, {}),
        ({"a": 1}, {"a": 2}),
        ({1}, {1, 2}),
        (set(), set()),
        (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=UTC)),
        (dt.time(1), dt.time(1, tzinfo=UTC)),
        (dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)),
        (dt.timedelta(1), 1),
        ("a", b"a"),
        ([1], "a"),
        ([NAN], [1]),
        ([1], ["a"]),
        (Colour.RED, Colour.BLUE),
        (Item(name="a"), Item(name="b")),
    ],
)
def test_no_order(one, other):
    with pytest.raises(Incomparable):
        compare_order(one, other)


def test_the_message_names_both_types_or_the_cause():
    with pytest.raises(Incomparable, match="str and int have no order"):
        compare_order("five", 1)
    with pytest.raises(Incomparable, match="NaN has no order"):
        compare_order(NAN, 1)
    with pytest.raises(Incomparable, match="time zone"):
        compare_order(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=UTC))


def test_texts_are_ordered_after_normalisation():
    assert compare_order(" b", "a", NFKC) == 1
    assert compare_order("cafe\u0301", "caf\u00e9", NFKC) == 0
    assert compare_order("a  b", "a b", NFKC) == 0


def test_numbers_of_arrays_have_an_order_and_arrays_have_none():
    np = pytest.importorskip("numpy")
    assert compare_order(np.float32(0.5), 1) == -1
    assert compare_order(np.array(5), 1) == 1
    for one in (np.array([1, 2]), np.float64("nan")):
        with pytest.raises(Incomparable):
            compare_order(one, 1)
    with pytest.raises(Incomparable):
        compare_order(np.array([1, 2]), np.array([1, 3]))


def test_objects_with_an_order_of_their_own():
    @dataclasses.dataclass(order=True)
    class Version:
        major: int
        minor: int

    assert compare_order(Version(1, 9), Version(1, 10)) == -1

    class Broken(Version):
        def __lt__(self, other):
            raise RuntimeError("no")

    with pytest.raises(Incomparable, match="RuntimeError: no"):
        compare_order(Broken(1, 1), Broken(1, 2))


def test_close_values_are_beside_each_other():
    assert compare_order(0.1 + 0.2, 0.3, near(1e-9)) == 0
    assert compare_order(0.31, 0.3, near(0.01)) == 0
    assert compare_order(0.32, 0.3, near(0.01)) == 1
    assert compare_order(1, 2, near(relative_tolerance=0.5)) == 0
    week = near(dt.timedelta(days=7))
    assert compare_order(dt.date(2024, 1, 1), dt.date(2024, 1, 8), week) == 0
    assert compare_order(dt.date(2024, 1, 1), dt.date(2024, 1, 9), week) == -1
    assert compare_order([1, 5], [1.001, 4], near(0.01)) == 1


# --- laws --------------------------------------------------------------------------------

numbers = st.one_of(
    st.integers(),
    st.floats(),
    st.decimals(allow_nan=True),
    st.fractions(),
    st.sampled_from([0, 1, -0.0, 1.0, INF]),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=4), st.binary(max_size=3), st.datetimes())
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=2), st.integers(0, 2), st.booleans()), inner, max_size=3),
        st.frozensets(st.one_of(st.integers(0, 2), st.booleans(), st.text(max_size=2)), max_size=3),
    ),
    max_leaves=8,
)
options = st.builds(
    CompareOptions,
    st.sampled_from([None, "NFC", "NFKC"]),
    st.one_of(st.none(), st.floats(0, 10), st.just(dt.timedelta(days=1))),
    st.one_of(st.none(), st.floats(0, 1)),
)


def holds_nan(value):
    if isinstance(value, dict):
        return any(map(holds_nan, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(holds_nan, value))
    return value.is_nan() if isinstance(value, Decimal) else isinstance(value, float) and math.isnan(value)


@given(values, options)
def test_a_value_equals_itself_unless_it_holds_a_nan(value, how):
    assert values_equal(value, value, how) is not holds_nan(value)


@given(values, values, options)
def test_equality_is_symmetric(one, other, how):
    assert values_equal(one, other, how) is values_equal(other, one, how)


@given(values, values)
def test_a_tolerance_of_nothing_makes_no_equal_values_unequal(one, other):
    if values_equal(one, other):
        assert values_equal(one, other, near(0, 0))
        assert values_equal(one, other, NFKC)


@given(leaves, leaves, options)
def test_order_is_antisymmetric_and_agrees_with_equality(one, other, how):
    try:
        there = compare_order(one, other, how)
    except Incomparable:
        with pytest.raises(Incomparable):
            compare_order(other, one, how)
        return
    assert compare_order(other, one, how) == -there
    assert (there == 0) is values_equal(one, other, how)


@given(numbers, numbers, numbers)
def test_order_is_transitive(a, b, c):
    assume(not any(map(holds_nan, (a, b, c))))
    if compare_order(a, b) <= 0 and compare_order(b, c) <= 0:
        assert compare_order(a, c) <= 0
