"""Equals, NotEquals, LessThan, LessThanEquals, GreaterThan, GreaterThanEquals."""

import asyncio
import copy
import datetime as dt
from collections import namedtuple
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from giskard.checks import (
    Check,
    Equals,
    GreaterThan,
    GreaterThanEquals,
    Interaction,
    LessThan,
    LessThanEquals,
    Not,
    NotEquals,
    TestCase,
    Trace,
)

ALL = [Equals, NotEquals, LessThan, LessThanEquals, GreaterThan, GreaterThanEquals]
ORDERINGS = ALL[2:]
NAN = float("nan")
KEY = "trace.last.outputs"


def T(outputs=None, **metadata):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])


def run(check, outputs=None, **metadata):
    return asyncio.run(check.run(T(outputs, **metadata)))


def status(check, outputs=None, **metadata):
    return run(check, outputs, **metadata).status.value


class Item(BaseModel):
    name: str
    price: float = 1.0


# --- the verdict -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actual", "expected", "passing"),
    [
        (1, 1.0, {Equals, LessThanEquals, GreaterThanEquals}),
        (1, 2, {NotEquals, LessThan, LessThanEquals}),
        (2.5, Decimal(2), {NotEquals, GreaterThan, GreaterThanEquals}),
        ("a", "b", {NotEquals, LessThan, LessThanEquals}),
        (" a ", "a", {Equals, LessThanEquals, GreaterThanEquals}),
        ([1, 2], (1, 3), {NotEquals, LessThan, LessThanEquals}),
        (dt.date(2024, 1, 2), dt.date(2024, 1, 1), {NotEquals, GreaterThan, GreaterThanEquals}),
        (False, True, {NotEquals, LessThan, LessThanEquals}),
    ],
)
def test_pass_and_fail(actual, expected, passing):
    for cls in ALL:
        assert status(cls(expected_value=expected), actual) == ("pass" if cls in passing else "fail"), cls


@pytest.mark.parametrize(
    ("actual", "expected"),
    [(NAN, 1), (1, NAN), ("five", 1), (None, 1), (True, 1), ({"a": 1}, 1), ([1], 1), (b"a", "a"), ({1}, {2})],
)
def test_orderings_that_cannot_be_told(actual, expected):
    for cls in ORDERINGS:
        result = run(cls(expected_value=expected), actual)
        assert result.errored and result.error_kind == "bad_type"
        assert "no order" in result.message
        assert set(result.details) == {"actual_value", "expected_value"}
        assert status(Not(check=cls(expected_value=expected)), actual) == "error"


def test_the_message_of_an_ordering_names_both_types():
    message = run(GreaterThan(expected_value=1), "five").message
    assert "'five'" in message and "str and int" in message and KEY in message
    assert "list and int" in run(LessThan(expected_value=1), [1]).message


@pytest.mark.parametrize("expected", [NAN, None, True, "a", [1], {"a": None}])
def test_equality_always_has_a_verdict(expected):
    for actual in (1, None, "x", [], {}, NAN, b"", {1, 2}, object(), dt.date(2024, 1, 1)):
        assert status(Equals(expected_value=expected), actual) == "fail" or actual is expected
        assert status(NotEquals(expected_value=expected), actual) == "pass" or actual is expected


def test_nan_equals_nothing():
    assert status(Equals(expected_value=NAN), NAN) == "fail"
    assert status(NotEquals(expected_value=NAN), NAN) == "pass"


def test_models_dataclasses_and_named_tuples_on_either_side():
    item = Item(name="a")
    Point = namedtuple("Point", "x y")
    for recorded, expected in [
        (item, item),
        (item, {"name": "a", "price": 1}),
        ({"name": "a", "price": 1}, item),
        ([item], [item]),
        (Point(1, 2), Point(1, 2)),
        ({"x": 1, "y": 2}, Point(1, 2)),
        ({"items": [Point(1, item)]}, {"items": [Point(1, item)]}),
    ]:
        assert status(Equals(expected_value=expected), recorded) == "pass"
    assert status(Equals(expected_value=Item(name="b")), item) == "fail"


def test_objects_whose_equality_raises():
    class Broken:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    result = run(Equals(expected_value=Broken()), 1)
    assert result.errored and "RuntimeError: no" in result.message


def test_arrays():
    np = pytest.importorskip("numpy")
    assert status(Equals(expected_value=[1, 2]), np.array([1, 2])) == "pass"
    assert status(Equals(expected_value=np.array([1, 2])), [1, 2]) == "pass"
    assert status(GreaterThan(expected_value=1), np.float32(2)) == "pass"
    assert status(GreaterThan(expected_value=[1, 2]), np.array([1, 3])) == "error"
    assert status(Equals(expected_value=1, match="any"), np.array([1])) == "error"


# --- the two values ----------------------------------------------------------------------


@pytest.mark.parametrize("cls", ALL)
def test_exactly_one_expected_value(cls):
    with pytest.raises(ValidationError, match="neither was given"):
        cls()
    with pytest.raises(ValidationError, match="neither was given"):
        cls(target_key=KEY)
    with pytest.raises(ValidationError, match="both were given"):
        cls(expected_value=None, expected_value_key=KEY)
    assert cls(expected_value=None).expected_value is None


def test_an_expected_value_of_the_trace():
    check = Equals(expected_value_key="trace.last.metadata.want", target_key="trace.last.outputs.got")
    assert status(check, {"got": [1, None]}, want=[1, None]) == "pass"
    assert status(check, {"got": None}, want=None) == "pass"
    result = run(check, {"got": 1})
    assert result.errored and "trace.last.metadata.want" in result.message and "expected_value_key" in result.message
    assert result.error_kind == "missing_value"


@pytest.mark.parametrize("cls", ALL)
def test_a_missing_value_is_an_error(cls):
    check = cls(expected_value=None, target_key="trace.last.outputs.typo")
    for outputs in ({"other": 1}, None, "text", [1]):
        result = run(check, outputs)
        assert result.errored and "trace.last.outputs.typo" in result.message
        assert result.error_kind == "missing_value"
    assert asyncio.run(check.run(Trace(interactions=[]))).errored


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("key", ["last.outputs", "trace", "trace.last[", "$.trace.last", ""])
def test_paths_are_checked_when_the_check_is_built(cls, key):
    for name in ("target_key", "expected_value_key"):
        with pytest.raises(ValidationError, match=name):
            cls(**({"expected_value": 1} if name == "target_key" else {}), **{name: key})


# --- match -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "any_", "all_", "none"),
    [
        (["a"], "pass", "pass", "fail"),
        (["a", "b"], "pass", "fail", "fail"),
        (("b", "c"), "fail", "fail", "pass"),
        ({"a", "b"}, "pass", "fail", "fail"),
        (frozenset({"a"}), "pass", "pass", "fail"),
        ([], "fail", "error", "pass"),
        (set(), "fail", "error", "pass"),
        ((), "fail", "error", "pass"),
        ([["a"]], "fail", "fail", "pass"),
        ("a", "error", "error", "error"),
        ({"a": 1}, "error", "error", "error"),
        (None, "error", "error", "error"),
        (5, "error", "error", "error"),
    ],
)
def test_match(items, any_, all_, none):
    for match, want in (("any", any_), ("all", all_), ("none", none)):
        assert status(Equals(expected_value="a", match=match), items) == want
        if want == "error":
            assert status(Not(check=Equals(expected_value="a", match=match)), items) == "error"


@pytest.mark.parametrize("match", ["any", "all", "none"])
def test_one_item_that_cannot_be_compared_is_an_error(match):
    for items in ([5, "x"], ["x", 5], [5, NAN], [5, None]):
        result = run(GreaterThan(expected_value=1, match=match), items)
        assert result.errored and result.error_kind == "bad_type"


def test_match_of_orderings_and_of_not_equals():
    assert status(GreaterThan(expected_value=1, match="all"), [2, 3]) == "pass"
    assert status(LessThan(expected_value=1, match="none"), [2, 0]) == "fail"
    assert status(NotEquals(expected_value="rm", match="all"), ["ls", "cd"]) == "pass"
    assert status(NotEquals(expected_value="rm", match="any"), ["rm", "rm"]) == "fail"


def test_match_over_a_path_that_may_match_many():
    check = Equals(expected_value="search", target_key="trace.last.outputs[*].name", match="any")
    assert status(check, [{"name": "search"}]) == "pass"
    assert status(check, [{"name": "a"}, {"name": "search"}]) == "pass"
    assert status(check, []) == "fail"
    assert status(check, [{"title": "search"}]) == "error"  # the path is likely to be wrong


def test_messages_of_match_count():
    message = run(Equals(expected_value="a", match="all"), ["a", "b", "c"]).message
    assert "1 of 3 items" in message and "'b'" in message and "item 1" in message and KEY in message
    assert "2 of 2 items" in run(Equals(expected_value="a", match="all"), ["a", "a"]).message
    assert "item 1 is 'a'" in run(Equals(expected_value="a", match="none"), ["b", "a"]).message
    assert "at least one" in run(Equals(expected_value="a", match="any"), ["b"]).message


def test_an_unknown_match_is_refused():
    with pytest.raises(ValidationError):
        Equals(expected_value=1, match="some")


# --- normalisation and tolerance ---------------------------------------------------------


def test_texts_are_normalised_on_both_sides_however_deep():
    assert status(Equals(expected_value={"a": ["cafe\u0301 "]}), {"a": ["caf\u00e9"]}) == "pass"
    assert status(Equals(expected_value="\ufb01n", normalization_form="NFC"), "fin") == "fail"
    assert status(Equals(expected_value="a ", normalization_form=None), "a") == "fail"
    assert status(Equals(expected_value=["a  b"], match="any"), [["a b"]]) == "pass"
    with pytest.raises(ValidationError):
        Equals(expected_value="a", normalization_form="NFX")


def test_tolerance():
    assert status(Equals(expected_value=0.3), 0.1 + 0.2) == "fail"
    assert status(Equals(expected_value=0.3, tolerance=1e-9), 0.1 + 0.2) == "pass"
    assert status(NotEquals(expected_value=0.3, tolerance=1e-9), 0.1 + 0.2) == "fail"
    assert status(Equals(expected_value=100, relative_tolerance=0.01), [99]) == "fail"
    assert status(Equals(expected_value=[100], relative_tolerance=0.01), [99]) == "pass"
    assert status(LessThanEquals(expected_value=0.3, tolerance=1e-9), 0.1 + 0.2) == "pass"
    assert status(GreaterThan(expected_value=0.3, tolerance=1e-9), 0.1 + 0.2) == "fail"
    assert status(LessThan(expected_value=0.3, tolerance=0.1), 0.25) == "fail"
    now = dt.datetime(2024, 1, 1, 12)
    minute = dt.timedelta(minutes=1)
    assert status(Equals(expected_value=now, tolerance=minute), now + minute) == "pass"
    assert status(Equals(expected_value=now, tolerance=minute), now + 2 * minute) == "fail"


@pytest.mark.parametrize("bad", [-1, NAN, float("inf"), True, "wide", [1], dt.timedelta(-1)])
def test_tolerances_that_are_none(bad):
    with pytest.raises(ValidationError):
        Equals(expected_value=1, tolerance=bad)
    with pytest.raises(ValidationError):
        Equals(expected_value=1, relative_tolerance=bad)


def test_a_tolerance_of_a_file():
    assert Equals(expected_value=1, tolerance="PT5M").tolerance == dt.timedelta(minutes=5)
    assert Equals(expected_value=1, tolerance=1).tolerance == 1
    assert Equals(expected_value=1, tolerance=None).tolerance is None


# --- messages, details, saving -----------------------------------------------------------


def test_messages_carry_the_values_and_the_first_difference():
    assert run(Equals(expected_value=4), 3.0).message == f"3.0 at {KEY!r} does not equal the expected 4 (float and int)"
    assert "True" in run(Equals(expected_value=1), True).message
    assert "(bool and int)" in run(Equals(expected_value=1), True).message
    assert (
        "first difference at $.items[1].fee: 2 instead of 3"
        in run(Equals(expected_value={"items": [{"fee": 1}, {"fee": 3}]}), {"items": [{"fee": 1}, {"fee": 2}]}).message
    )
    assert "the key 'b' is missing" in run(Equals(expected_value={"a": 1, "b": 2}), {"a": 1}).message
    assert run(NotEquals(expected_value=1), 1).message == f"1 at {KEY!r} equals the unwanted 1"
    assert run(LessThan(expected_value=1), 5).message == f"5 at {KEY!r} is not less than 1"
    assert run(Equals(expected_value=1), 1).message == "1 equals 1"


def test_messages_stay_short():
    for value in ("x" * 100_000, ["x" * 1000] * 1000, 10**5000, {"a": "y" * 10_000}):
        for cls in (Equals, NotEquals):
            for expected in ("z" * 100_000, value):
                assert len(run(cls(expected_value=expected), value).message) < 1500


def test_details_hold_both_values():
    result = run(Equals(expected_value=[1]), {"a": 1})
    assert result.details == {"actual_value": {"a": 1}, "expected_value": [1]}


def test_values_nested_too_deeply_for_python():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    assert status(Equals(expected_value=deep), 1) == "fail"


@pytest.mark.parametrize(
    "fields",
    [
        {"expected_value": None},
        {"expected_value": {"a": [1, 2.5, "x", None, True]}},
        {"expected_value": (1, 2)},
        {"expected_value": {1, 2}},
        {"expected_value": dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "tolerance": dt.timedelta(minutes=1)},
        {"expected_value": Decimal("1.50"), "tolerance": Decimal("0.01"), "relative_tolerance": 0.1},
        {"expected_value": b"raw"},
        {"expected_value": {1: "a"}},
        {"expected_value_key": "trace.last.metadata.x", "target_key": "trace.interactions[0].outputs"},
        {"expected_value": 1, "match": "all", "normalization_form": None, "name": "n", "severity": "warning"},
    ],
)
@pytest.mark.parametrize("cls", ALL)
def test_save_and_load(cls, fields):
    check = cls(**fields)
    for loaded in (
        Check.model_validate_json(check.model_dump_json()),
        Check.model_validate(check.model_dump(mode="json")),
        Check.model_validate(check.model_dump()),
    ):
        assert type(loaded) is cls and loaded == check


def test_what_cannot_be_saved_says_so():
    with pytest.raises(Exception, match="cannot be saved"):
        Equals(expected_value=object()).model_dump_json()


def test_a_saved_model_is_its_plain_data():
    loaded = Check.model_validate_json(Equals(expected_value=Item(name="a")).model_dump_json())
    assert status(loaded, Item(name="a")) == "pass"


def test_unknown_fields_are_refused_with_a_hint():
    with pytest.raises(ValidationError, match="expected_value"):
        Equals(expected_valeu=1)


def test_in_a_test_case():
    case = TestCase(trace=T({"fee": 3.0}), checks=[Equals(expected_value=3, target_key="trace.last.outputs.fee")])
    result = asyncio.run(case.run())
    assert result.passed
    assert result.results[0].details["check_kind"] == "equals"


# --- laws --------------------------------------------------------------------------------

values = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(-3, 3), st.text(max_size=3), st.just(NAN))


@given(values, values)
def test_not_equals_is_not_of_equals(actual, expected):
    for cls in ALL:
        check = cls(expected_value=expected)
        turned = status(Not(check=check), actual)
        assert turned == {"pass": "fail", "fail": "pass", "error": "error"}[status(check, actual)]
    assert status(NotEquals(expected_value=expected), actual) == status(
        Not(check=Equals(expected_value=expected)), actual
    )


@given(values, values)
def test_orderings_agree_with_each_other(actual, expected):
    got = {cls: status(cls(expected_value=expected), actual) for cls in ORDERINGS}
    if "error" in got.values():
        assert set(got.values()) == {"error"}
    else:
        assert got[LessThan] != got[GreaterThanEquals]
        assert got[GreaterThan] != got[LessThanEquals]
        equal = status(Equals(expected_value=expected), actual) == "pass"
        assert equal is (got[LessThanEquals] == got[GreaterThanEquals] == "pass")


nested = st.recursive(
    st.one_of(
        values.filter(lambda value: value is not NAN), st.dates(), st.decimals(-3, 3, places=1), st.binary(max_size=2)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.builds(lambda name: Item(name=name), st.text(max_size=2)),
    ),
    max_leaves=6,
)
forms = st.sampled_from([None, "NFC", "NFKC"])


@given(nested, forms)
def test_every_value_equals_itself_and_its_copy(value, form):
    for expected in (value, copy.deepcopy(value)):
        assert status(Equals(expected_value=expected, normalization_form=form), value) == "pass"
        assert status(NotEquals(expected_value=expected, normalization_form=form), value) == "fail"


@given(nested, nested, forms)
def test_it_makes_no_difference_which_of_two_values_is_expected(one, other, form):
    there = status(Equals(expected_value=other, normalization_form=form), one)
    back = status(Equals(expected_value=one, normalization_form=form), other)
    assert there == back
    assert there in ("pass", "fail")
    opposite = {"pass": "fail", "fail": "pass"}
    assert status(NotEquals(expected_value=other, normalization_form=form), one) == opposite[there]


@given(nested, nested)
def test_orderings_are_antisymmetric(one, other):
    turned = {
        LessThan: GreaterThan,
        GreaterThan: LessThan,
        LessThanEquals: GreaterThanEquals,
        GreaterThanEquals: LessThanEquals,
    }
    for cls, mirrored in turned.items():
        there, back = status(cls(expected_value=other), one), status(mirrored(expected_value=one), other)
        assert there == back
    if status(LessThan(expected_value=other), one) == "pass":
        assert status(LessThan(expected_value=one), other) == "fail"
        assert status(Equals(expected_value=one), other) == "fail"
    both = {status(LessThanEquals(expected_value=b), a) for a, b in ((one, other), (other, one))}
    if both == {"pass"}:
        assert status(Equals(expected_value=one), other) == "pass"


@given(st.lists(nested, max_size=4), nested)
def test_match_is_about_each_item(items, expected):
    states = [status(Equals(expected_value=expected), item) for item in items]
    found = {how: status(Equals(expected_value=expected, match=how), items) for how in ("any", "all", "none")}
    assert found["any"] == ("pass" if "pass" in states else "fail")
    assert found["none"] == ("pass" if "pass" not in states else "fail")
    assert found["all"] == ("error" if not items else "pass" if set(states) == {"pass"} else "fail")


def test_a_set_is_ordered_with_nothing():
    for one, other in (({1}, {1, 2}), ({1}, [1]), ([1], {1}), ({1}, 5), (frozenset({1}), {1, 2})):
        assert status(LessThan(expected_value=other), one) == "error"
