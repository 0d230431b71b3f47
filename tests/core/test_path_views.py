"""Models, dataclasses, named tuples, plain objects, mappings and arrays are walked alike."""

import argparse
import enum
import pathlib
import sys
import threading
import types
import uuid
from collections import OrderedDict, UserDict, UserList, deque
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple
from unittest.mock import MagicMock, call

import numpy as np
import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, computed_field

from giskard.checks.core import _path_query as query
from giskard.checks.core.extraction import (
    NoMatch,
    resolve,
)
from giskard.checks.core.interaction import Interaction, Trace


def T(outputs: Any = None, **metadata: Any) -> Trace:
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])


def out(outputs: Any, path: str) -> Any:
    """What `path` gives, written from the outputs of the last turn on."""
    trace = Trace(interactions=[Interaction(inputs="q", outputs=outputs)])
    return resolve(trace, f"trace.last.outputs{path}")


TALK = Trace(
    interactions=[
        Interaction(inputs="hi", outputs={"answer": "a0", "n": 0}, metadata={"tool": "x"}),
        Interaction(inputs="yo", outputs={"answer": "a1", "n": 1}),
        Interaction(inputs="ok", outputs={"answer": None, "n": 2}),
    ],
    annotations={"tier": "gold"},
)


class Model(BaseModel):
    name: str = "n"
    items: list[Any] = [1, {"deep": 2}]

    @property
    def shout(self) -> str:
        return self.name.upper()

    def method(self) -> str:
        return "never"


@dataclass
class Data:
    kind: ClassVar[str] = "class"
    name: str = "n"
    items: list[Any] = field(default_factory=lambda: [1, {"deep": 2}])

    @property
    def shout(self) -> str:
        return self.name.upper()

    def method(self) -> str:
        return "never"


class Named(NamedTuple):
    name: str = "n"
    items: Any = (1, {"deep": 2})

    @property
    def shout(self) -> str:
        return self.name.upper()

    def method(self) -> str:
        return "never"


class Plain:
    kind = "class"

    def __init__(self) -> None:
        self.name = "n"
        self.items = [1, {"deep": 2}]
        self._private = 1
        self.callback = lambda: "never"

    @property
    def shout(self) -> str:
        return self.name.upper()

    def method(self) -> str:
        return "never"


class Slotted:
    __slots__ = ("_private", "items", "name", "unset")

    def __init__(self) -> None:
        self.name = "n"
        self.items = [1, {"deep": 2}]
        self._private = 1

    @property
    def shout(self) -> str:
        return self.name.upper()

    def method(self) -> str:
        return "never"


SHAPES = [Model(), Data(), Named(), Plain(), Slotted()]
MAPPINGS = [
    {"name": "n", "items": [1, {"deep": 2}]},
    OrderedDict(name="n", items=[1, {"deep": 2}]),
    UserDict(name="n", items=UserList([1, {"deep": 2}])),
    types.MappingProxyType({"name": "n", "items": deque([1, {"deep": 2}])}),
    SimpleNamespace(name="n", items=[1, {"deep": 2}]),
    argparse.Namespace(name="n", items=[1, {"deep": 2}]),
]


@pytest.mark.parametrize("value", SHAPES + MAPPINGS, ids=lambda value: type(value).__name__)
def test_all_of_them_are_walked_alike(value):
    assert out(value, ".name") == "n"
    assert out(value, "['items'][1].deep") == 2
    assert out(value, ".items[-2]") == 1
    assert out(value, "..deep") == [2]
    assert out([value], "[?@.name == 'n'].items[0]") == [1]
    assert out(value, ".items[?@.deep]") == [{"deep": 2}]
    assert out([value], "[?length(@) == 2].name") == ["n"]
    assert len(out(value, ".*")) == 2
    for absent in (".nope", "._private", ".__class__", "['__dict__']", "[5]", ".__init__"):
        assert isinstance(out(value, absent), NoMatch)


@pytest.mark.parametrize("value", SHAPES, ids=lambda value: type(value).__name__)
def test_properties_are_values_and_methods_are_not(value):
    assert out(value, ".shout") == "N"
    for absent in (".method", ".callback", ".kind", ".unset", ".model_fields", ".model_extra",
                   ".model_fields_set", ".model_dump", "._fields", ".count"):  # fmt: skip
        assert isinstance(out(value, absent), NoMatch)


@pytest.mark.parametrize("value", [Model(), Data(), Named()], ids=lambda v: type(v).__name__)
def test_models_and_dataclasses_come_out_as_plain_data(value):
    plain = out(value, "")
    assert type(plain) is dict
    assert plain["name"] == "n"
    assert list(plain["items"]) == [1, {"deep": 2}]
    assert out([value, 1], "")[1] == 1
    assert type(out([value], "")[0]) is dict
    assert type(out({"a": {"b": value}}, ".a")["b"]) is dict
    assert type(out([value], "[*]")[0]) is dict


def test_named_tuples_go_by_index_too():
    assert out(Named(), "[0]") == "n"
    assert out(Named(), "[-1][1].deep") == 2
    assert out(Named(), "[:1]") == ["n"]


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    user_id: int = Field(default=1, alias="userId")
    mongo: int = Field(default=2, alias="_id")
    either: int = Field(default=3, validation_alias=AliasChoices("this", "that"))
    written: int = Field(default=4, serialization_alias="w")

    @computed_field(alias="Sum")
    @property
    def total(self) -> int:
        return self.user_id + self.mongo


@pytest.mark.parametrize(
    ("path", "want"),
    [
        (".user_id", 1), (".userId", 1), ("._id", 2), (".this", 3), (".that", 3), (".either", 3),
        (".w", 4), (".written", 4), (".total", 3), (".Sum", 3), (".*", [1, 2, 3, 4, 3]),
    ],
)  # fmt: skip
def test_aliases_and_computed_fields(path, want):
    assert out(Aliased(), path) == want


def test_extra_fields_and_root_models():
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int = 1

    assert out(Open(b={"c": 2}), ".b.c") == 2
    assert out(Open(b={"c": 2}), ".*") == [1, {"c": 2}]
    rows = RootModel[list[Model]]([Model()])
    assert out(rows, "[0].name") == "n"
    assert out(rows, "[*].name") == ["n"]
    assert out(rows, "[:].name") == ["n"]
    assert out(rows, "..deep") == [2]
    assert out(rows, ".root[0].name") == "n"
    assert out(RootModel[dict[str, int]]({"a": 1}), "") == {"a": 1}
    assert out([rows], "[?length(@) == 1]") == [[Model().model_dump()]]


def test_computed_fields_of_a_trace_are_visible():
    class Support(Trace[Any, Any], frozen=True):
        topic: str = "fees"

        @computed_field
        @property
        def transcript(self) -> str:
            return "\n".join(turn.inputs for turn in self.interactions)

        @property
        def turns(self) -> int:
            return len(self.interactions)

    trace = Support(interactions=TALK.interactions)
    assert resolve(trace, "trace.transcript") == "hi\nyo\nok"
    assert resolve(trace, "trace.topic") == "fees"
    assert resolve(trace, "trace.turns") == 3
    assert resolve(trace, "trace.last.inputs") == "ok"
    assert "hi\nyo\nok" in resolve(trace, "trace.*")
    assert resolve(trace, "trace..answer") == ["a0", "a1", None]


def test_a_trace_with_its_own_last_is_believed():
    class Odd(Trace[Any, Any], frozen=True):
        @computed_field
        @property
        def last(self) -> Any:
            return self.interactions[0]

    trace = Odd(interactions=TALK.interactions)
    for _ in range(2):
        assert resolve(trace, "trace.last.inputs") == "hi"
        assert resolve(trace, "trace.interactions[-1].inputs") == "ok"


def test_properties_that_fail():
    class Half:
        @property
        def absent(self) -> int:
            raise AttributeError("not here")

        @property
        def broken(self) -> int:
            raise ZeroDivisionError("broken")

        @cached_property
        def cached(self) -> int:
            return 5

    assert isinstance(out(Half(), ".absent"), NoMatch)
    assert out(Half(), ".cached") == 5
    with pytest.raises(ZeroDivisionError):
        out(Half(), ".broken")
    assert out(Half(), ".*") == []  # properties are not iterated


@pytest.mark.parametrize(
    "value",
    [len, Model, print, sys, enum.Enum("E", "A").A, b"ab", "ab", 5, 1.5, True, None, object(),
     threading.Lock(), MagicMock(), Decimal(1)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_nothing_lies_below_leaves(value):
    root = {"last": {"x": value}}
    assert resolve(root, "trace.last.x.*") == []
    assert resolve(root, "trace.last.x[:]") == []
    assert resolve(root, "trace.last.x..*") == []
    assert isinstance(resolve(root, "trace.last.x[0]"), NoMatch)
    assert isinstance(resolve(root, "trace.last.x.__class__"), NoMatch)
    assert resolve({"last": [value]}, "trace.last[?@.a || @[0]]") == []


def test_spied_calls_are_reached_by_name_and_index():
    spied = [call(1, [2], key="k"), call()]
    trace = T("x", calls=spied, one=spied[0])
    assert resolve(trace, "trace.last.metadata.one.args[1]") == [2]
    assert resolve(trace, "trace.last.metadata.one.kwargs.key") == "k"
    assert resolve(trace, "trace.last.metadata.calls[*].kwargs.key") == ["k"]
    assert resolve(trace, "trace.last.metadata.one") == {"args": (1, [2]), "kwargs": {"key": "k"}}
    assert isinstance(resolve(trace, "trace.last.metadata.one.anything"), NoMatch)
    assert resolve(trace, "trace.last.metadata..key") == ["k", "k"]
    assert resolve(trace, "trace.last.metadata.one[*]") == [(1, [2]), {"key": "k"}]
    assert resolve({"last": spied}, "trace.last[0][*]") == [(1, [2]), {"key": "k"}]
    assert resolve({"last": [call.method(1)]}, "trace.last[0][*]") == [(1,), {}]


def test_arrays_are_indexed():
    array = np.array([[1, 2], [3, 4]])
    assert out(array, "[1][0]") == 3
    assert out(array, "[-1][-1]") == 4
    assert isinstance(out(array, "[2]"), NoMatch)
    assert [int(v) for v in out(array, "[*][0]")] == [1, 3]
    assert [int(v) for v in out(array, "[0][0:1]")] == [1]
    assert out([array], "[?length(@) == 2]")[0] is not None
    assert isinstance(out(array, ""), np.ndarray)
    assert isinstance(out(np.array(5), "[0]"), NoMatch)
    assert out(np.array(5), "[*]") == []
    assert out([{"a": np.float64(2)}, {"a": np.bool_(True)}], "[?@.a > 1].a") == [2.0]
    assert len(out([{"a": np.array([1, 2])}], "[?@.a == @.a]")) == 1
    assert out([{"a": np.bool_(True)}], "[?@.a == true].a") == [True]
    assert out([{"a": np.bool_(True)}], "[?@.a == 1].a") == []


def test_sets_can_be_iterated_but_not_indexed():
    assert sorted(out({"b", "a"}, "[*]")) == ["a", "b"]
    assert isinstance(out({"a"}, "[0]"), NoMatch)
    assert out({"a"}, "[?@ == 'a']") == ["a"]
    assert out([{"a"}], "[?length(@) == 1]") == [{"a"}]


def test_data_of_the_standard_library_is_reached_by_name_and_not_wandered_into():
    root = {"last": [uuid.UUID(int=7), pathlib.PurePosixPath("a/b.txt"), threading.Lock()]}
    assert resolve(root, "trace.last[0].int") == 7
    assert resolve(root, "trace.last[1].suffix") == ".txt"
    assert resolve(root, "trace.last[*].*") == []
    assert resolve(root, "trace.last..suffix") == []


def test_private_fields_stay_private():
    @dataclass
    class Holder:
        shown: int = 1
        _hidden: Any = 2

    assert out(Holder(), ".*") == [1]
    assert isinstance(out(Holder(), "._hidden"), NoMatch)


def test_long_arrays_of_numbers_do_not_hold_up_a_descent(monkeypatch):
    monkeypatch.setattr(query, "MAX_VISITED", 1_000)
    assert out({"vector": np.zeros(50_000), "x": 1}, "..x") == [1]
    assert out({"vector": [0.5] * 50_000, "x": 1}, "..x") == [1]


class Renamed(BaseModel):
    fee: int = Field(validation_alias=AliasChoices("price", "cost"), serialization_alias="sum")


def test_every_name_of_a_field_leads_to_it():
    root = {"last": Renamed(price=3)}
    for name in ("fee", "price", "cost", "sum"):
        assert resolve(root, f"trace.last.{name}") == 3


def test_an_array_of_no_dimensions_has_no_length():
    root = {"last": [{"a": np.array(5)}, {"a": np.array([5])}]}
    assert len(resolve(root, "trace.last[?length(@.a) == 1]")) == 1
    assert resolve(root, "trace.last[?length(@.a) == 5]") == []
    assert resolve({"a": np.array(5)}, "trace.a[*]") == resolve({"a": np.array(5)}, "trace.a[:]") == []
