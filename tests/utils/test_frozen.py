"""Snapshots: equal to what was recorded, and out of everybody's reach."""

import contextlib
import copy
import dataclasses
import json
import pickle
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from giskard.checks.utils.frozen import FrozenDict, FrozenList, FrozenSet, freeze, freeze_data, is_safe, thaw, view


class Order(BaseModel):
    items: list[str] = []


@dataclasses.dataclass
class Point:
    tags: list


class Plain:
    def __init__(self):
        self.items = []


class Uncopyable:
    def __init__(self):
        self.items = []

    def __deepcopy__(self, memo):
        raise RuntimeError("not me")


Pair = namedtuple("Pair", "a b")

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=4)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Pair, inner, inner)
        | st.sets(st.integers(), max_size=3)
        | st.frozensets(st.integers(), max_size=3)
        | st.builds(Point, st.lists(inner, max_size=2))
    ),
    max_leaves=12,
)


def mutate(value):
    """Change every container in `value` that can be changed."""
    if isinstance(value, dict):
        for item in list(value.values()):
            mutate(item)
        value["added by mutate"] = True
    elif isinstance(value, list):
        for item in value:
            mutate(item)
        value.append("added by mutate")
    elif isinstance(value, set):
        value.add("added by mutate")
    elif isinstance(value, tuple):
        for item in value:
            mutate(item)
    elif isinstance(value, Point):
        mutate(value.tags)


@given(values)
def test_a_snapshot_is_equal_and_immune(value):
    before = copy.deepcopy(value)
    frozen = freeze(value)

    assert frozen == before
    assert before == frozen
    mutate(value)
    assert frozen == before
    mutate(thaw(frozen))
    assert frozen == before


@given(values)
def test_what_is_handed_out_cannot_change_the_snapshot(value):
    before = copy.deepcopy(value)
    frozen = freeze(value)
    handed = view(frozen)

    assert handed == before
    with contextlib.suppress(TypeError):  # being stopped is fine
        mutate(handed)
    assert frozen == before
    assert view(frozen) == before


@given(values)
def test_freezing_twice_costs_nothing(value):
    frozen = freeze(value)

    again = freeze(frozen)
    assert again == frozen
    if isinstance(frozen, (FrozenDict, FrozenList)):
        assert again is frozen
    if is_safe(frozen):
        assert view(frozen) is frozen


@given(values)
def test_a_thawed_copy_is_plain(value):
    def plain(item):
        assert not isinstance(item, (FrozenDict, FrozenList, FrozenSet))
        if isinstance(item, dict):
            [plain(v) for v in item.values()]
        elif isinstance(item, (list, tuple)):
            [plain(v) for v in item]

    plain(thaw(freeze(value)))
    assert thaw(freeze(value)) == value


def edits():
    yield from (
        (FrozenDict(a=1), lambda d: d.__setitem__("b", 1)),
        (FrozenDict(a=1), lambda d: d.__delitem__("a")),
        (FrozenDict(a=1), lambda d: d.__ior__({"b": 1})),
        (FrozenDict(a=1), lambda d: d.update(b=1)),
        (FrozenDict(a=1), lambda d: d.pop("a")),
        (FrozenDict(a=1), lambda d: d.popitem()),
        (FrozenDict(a=1), lambda d: d.setdefault("b", 1)),
        (FrozenDict(a=1), lambda d: d.clear()),
        (FrozenList([2, 1]), lambda v: v.__setitem__(0, 1)),
        (FrozenList([2, 1]), lambda v: v.__setitem__(slice(None), [])),
        (FrozenList([2, 1]), lambda v: v.__delitem__(0)),
        (FrozenList([2, 1]), lambda v: v.__iadd__([1])),
        (FrozenList([2, 1]), lambda v: v.__imul__(2)),
        (FrozenList([2, 1]), lambda v: v.append(1)),
        (FrozenList([2, 1]), lambda v: v.extend([1])),
        (FrozenList([2, 1]), lambda v: v.insert(0, 1)),
        (FrozenList([2, 1]), lambda v: v.pop()),
        (FrozenList([2, 1]), lambda v: v.remove(1)),
        (FrozenList([2, 1]), lambda v: v.clear()),
        (FrozenList([2, 1]), lambda v: v.sort()),
        (FrozenList([2, 1]), lambda v: v.reverse()),
        (FrozenSet({1}), lambda s: s.add(2)),
        (FrozenSet({1}), lambda s: s.discard(1)),
        (FrozenSet({1}), lambda s: s.remove(1)),
        (FrozenSet({1}), lambda s: s.pop()),
        (FrozenSet({1}), lambda s: s.clear()),
        (FrozenSet({1}), lambda s: s.update({2})),
        (FrozenSet({1}), lambda s: s.__ior__({2})),
        (FrozenSet({1}), lambda s: s.__iand__({2})),
        (FrozenSet({1}), lambda s: s.__isub__({1})),
        (FrozenSet({1}), lambda s: s.__ixor__({1})),
        (FrozenSet({1}), lambda s: s.difference_update({1})),
        (FrozenSet({1}), lambda s: s.intersection_update(set())),
        (FrozenSet({1}), lambda s: s.symmetric_difference_update({1})),
    )


@pytest.mark.parametrize(("value", "edit"), list(edits()))
def test_every_edit_is_refused_with_what_to_do(value, edit):
    before = copy.deepcopy(value)
    with pytest.raises(TypeError, match=r"recorded.*deepcopy"):
        edit(value)
    assert value == before


def test_every_method_that_edits_is_known():
    """A method that a later Python adds, and that edits, would be a hole."""
    for frozen, plain in ((FrozenDict, dict), (FrozenList, list), (FrozenSet, set)):
        reads = {name for name in dir(plain) if getattr(frozen, name) is getattr(plain, name)}
        writers = {"__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__"}
        writers |= {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault"}
        writers |= {
            "popitem",
            "add",
            "discard",
            "difference_update",
            "intersection_update",
            "symmetric_difference_update",
        }
        assert reads & writers == set()


@pytest.mark.parametrize("value", [{"a": [1]}, [{"a": 1}], {1}, [[], {}]])
def test_plain_containers_stay_what_they_are(value):
    frozen = freeze(value)

    assert isinstance(frozen, type(value))
    assert frozen == value
    assert type(copy.copy(frozen)) is type(copy.deepcopy(frozen)) is type(value)
    assert type(frozen.copy()) is type(value)
    assert pickle.loads(pickle.dumps(frozen)) == value
    if not isinstance(value, set):
        assert json.dumps(frozen) == json.dumps(value)
    assert repr(frozen) in (repr(value), f"FrozenSet({value!r})")


@pytest.mark.parametrize("value", [Order(items=["a"]), Point(["a"]), OrderedDict(a=[1]), defaultdict(list, a=[1])])
def test_other_objects_are_copied_once_and_handed_out_as_copies(value):
    before = copy.deepcopy(value)
    frozen = freeze({"value": value})
    handed = view(frozen)["value"]

    assert handed is not value
    assert handed == before
    assert type(handed) is type(value)
    for reader in (value, handed, view(frozen)["value"]):
        if isinstance(reader, dict):
            reader["b"] = 1
        else:
            (getattr(reader, "items", None) or reader.tags).append("b")
    assert view(frozen)["value"] == before


def test_an_array_is_copied_once_and_cannot_be_written():
    array = np.array([1, 2, 3])
    frozen = freeze({"array": array})
    array[0] = 9

    assert view(frozen)["array"].tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        view(frozen)["array"][0] = 9
    assert view(frozen)["array"] is view(frozen)["array"]
    changed = thaw(frozen)["array"]
    changed[0] = 9
    assert view(frozen)["array"].tolist() == [1, 2, 3]


def test_an_array_of_objects_is_handed_out_as_a_copy():
    frozen = freeze(np.array([[], {}], dtype=object))
    view(frozen)[0].append(1)

    assert view(frozen)[0] == []


def test_what_cannot_be_copied_is_kept_by_reference():
    value = Uncopyable()
    frozen = freeze([value, {"a": 1}])

    assert view(frozen)[0] is value
    assert thaw(frozen)[0] is value
    with pytest.raises(TypeError):
        frozen[1]["a"] = 2


def test_cycles_and_shared_parts_are_kept():
    shared = {"n": 1}
    value = {"a": shared, "b": shared, "list": [shared]}
    value["self"] = value
    frozen = freeze(value)

    assert frozen["self"] is frozen
    assert frozen["a"] is frozen["b"] is frozen["list"][0]
    shared["n"] = 2
    assert frozen["a"] == {"n": 1}
    guarded = {"order": Order()}
    guarded["self"] = [guarded]
    handed = view(freeze(guarded))
    assert handed["self"][0] is handed


@pytest.mark.parametrize("value", [None, 1, "a", b"a", (1, "a"), frozenset({1}), len, Order, range(3), np.float64(1.5)])
def test_what_cannot_change_is_kept_as_it_is(value):
    assert freeze(value) is value or freeze(value) == value
    assert view(freeze(value)) == value
    assert is_safe(freeze(value))


def test_plain_objects_are_guarded_within_tuples_and_named_tuples():
    plain = Plain()
    frozen = freeze((Pair(plain, 1), [plain]))
    plain.items.append(1)
    handed = view(frozen)
    handed[0].a.items.append(2)

    assert isinstance(handed[0], Pair)
    assert view(frozen)[0].a.items == []


def test_what_is_nested_too_deep_for_a_recursion_is_copied_too():
    value = []
    for _ in range(100_000):
        value = [value]
    frozen = freeze(value)
    value.append("later")

    assert len(frozen) == 1
    with pytest.raises(TypeError, match="was recorded"):
        frozen[0].append("later")
    value.pop()
    while frozen:
        frozen = frozen[0]
    while value:  # or its end would be a recursion of 100,000 levels
        value = value[0]


class AttrDict(dict):
    __getattr__ = dict.__getitem__


class Tagged(str):
    """A text with attributes of its own."""


class Liar:
    @property
    def __class__(self):
        raise KeyError("no class")


def test_objects_that_answer_every_name_or_none_are_recorded():
    assert view(freeze({"r": AttrDict(a=1)})) == {"r": {"a": 1}}
    assert view(freeze(AttrDict(a=1))) == {"a": 1}
    assert type(view(freeze(Liar()))) is Liar


def test_a_text_with_attributes_is_copied_with_them():
    text = Tagged("x")
    text.meta = {"a": 1}
    frozen = freeze(text)
    text.meta["a"] = 2

    assert view(frozen).meta == {"a": 1}


# --- what a JSON parser gave ---------------------------------------------------------

data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(data)
def test_json_data_is_frozen_all_the_way_down_and_is_not_touched(value):
    before = copy.deepcopy(value)
    frozen = freeze_data(value)
    mutate(value)
    assert frozen == before
    assert is_safe(frozen)
    todo = [frozen]
    while todo:
        part = todo.pop()
        if isinstance(part, dict | list):
            assert type(part) in (FrozenDict, FrozenList)
            todo += part.values() if isinstance(part, dict) else part


@given(values)
def test_other_data_is_frozen_as_ever(value):
    assert freeze_data(value) == freeze(value)
    assert type(freeze_data(value)) is type(freeze(value))
    assert is_safe(freeze_data(value)) == is_safe(freeze(value))


def test_what_can_only_be_copied_is_protected_in_data_too():
    plain = Plain()
    frozen = freeze_data({"a": [{"b": plain}], "c": {"d": 1}})
    assert not is_safe(frozen)
    plain.items.append(1)
    view(frozen)["a"][0]["b"].items.append(2)
    assert view(frozen)["a"][0]["b"].items == []
    assert not is_safe(freeze_data({"outer": frozen}))


def test_data_in_a_circle_and_data_that_is_very_deep():
    circle = {"a": []}
    circle["a"].append(circle)
    frozen = freeze_data(circle)
    assert frozen["a"][0] is frozen
    deep = []
    for _ in range(100_000):
        deep = [deep]
    frozen = freeze_data(deep)
    assert type(frozen) is type(frozen[0][0]) is FrozenList
