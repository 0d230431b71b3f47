"""Paths into a trace: what they reach, what they give, and what they say when they cannot."""

import argparse
import copy
import enum
import pickle
import subprocess
import sys
import threading
import time
import types
from collections import OrderedDict, UserDict, UserList, defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple
from unittest.mock import MagicMock, call

import numpy as np
import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, ValidationError
from pydantic import computed_field

from giskard.checks.core import _path_query as query
from giskard.checks.core.extraction import (
    JSONPathStr,
    NoMatch,
    Path,
    PathSyntaxError,
    compile_path,
    resolve,
)
from giskard.checks.core.interaction import Interaction, Trace


def T(outputs: Any = None, **metadata: Any) -> Trace:
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])


def out(outputs: Any, path: str) -> Any:
    """What `path` gives, written from the outputs of the last turn on."""
    return resolve(T(outputs), f"trace.last.outputs{path}")


EMPTY = Trace()
TALK = Trace(
    interactions=[
        Interaction(inputs="hi", outputs={"answer": "a0", "n": 0}, metadata={"tool": "x"}),
        Interaction(inputs="yo", outputs={"answer": "a1", "n": 1}),
        Interaction(inputs="ok", outputs={"answer": None, "n": 2}),
    ],
    annotations={"tier": "gold"},
)


# --- values ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("trace.last.inputs", "ok"),
        ("trace.last.outputs", {"answer": None, "n": 2}),
        ("trace.last.outputs.answer", None),
        ("trace.last['outputs']['n']", 2),
        ('trace.last["outputs"].n', 2),
        ("trace.last .outputs", {"answer": None, "n": 2}),
        ("trace.interactions[0].outputs.answer", "a0"),
        ("trace.interactions[-1].inputs", "ok"),
        ("trace.interactions[-3].inputs", "hi"),
        ("trace.interactions[0].metadata", {"tool": "x"}),
        ("trace.interactions[1].metadata", {}),
        ("trace.annotations", {"tier": "gold"}),
        ("trace.annotations.tier", "gold"),
        ("trace.interactions[1]", {"inputs": "yo", "outputs": {"answer": "a1", "n": 1}, "metadata": {}}),
        ("trace.last", {"inputs": "ok", "outputs": {"answer": None, "n": 2}, "metadata": {}}),
    ],
)  # fmt: skip
def test_a_definite_path_gives_the_value(path, want):
    assert resolve(TALK, path) == want
    assert compile_path(path).definite
    assert compile_path(path).grounded(TALK)


@pytest.mark.parametrize(
    "path",
    [
        "trace.last.outputs.nope",
        "trace.last.outputs.answer.deeper",
        "trace.last.inputs.length",
        "trace.last.inputs[0]",
        "trace.last.nope",
        "trace.nope",
        "trace.interactions[3]",
        "trace.interactions[3].inputs",
        "trace.interactions[-4].inputs",
        "trace.interactions.inputs",
        "trace.interactions['0']",
        "trace.last[0]",
        "trace.annotations[0]",
        "trace.annotations['']",
    ],
)
def test_an_absent_value_is_a_no_match_that_names_the_path(path):
    found = resolve(TALK, path)
    assert found == NoMatch(path)
    assert found.key == path
    assert not compile_path(path).grounded(TALK)


def test_no_match_is_a_small_value():
    one = NoMatch("trace.last.x")
    assert not one
    assert one == NoMatch("trace.last.x") != NoMatch("trace.last.y")
    assert {one, NoMatch("trace.last.x")} == {one}
    assert repr(one) == "NoMatch('trace.last.x')"
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(AttributeError):
        one.key = "other"


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}, 0.0, ()])
def test_falsy_values_are_values(value):
    assert out({"a": value}, ".a") == value
    assert out({"a": [value]}, ".a[0]") == value
    assert resolve(T(value), "trace.last.outputs") == value


def test_the_last_turn_of_an_empty_trace():
    assert resolve(EMPTY, "trace.last") is None
    for path in ("trace.last.x", "trace.last.outputs", "trace.interactions[-1].outputs"):
        assert resolve(EMPTY, path) == NoMatch(path)
    assert resolve(EMPTY, "trace.interactions[*].outputs") == []
    assert resolve(EMPTY, "trace.last.*") == []
    assert resolve(EMPTY, "trace..outputs") == []
    assert list(resolve(EMPTY, "trace.interactions")) == []


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("trace.interactions[*].inputs", ["hi", "yo", "ok"]),
        ("trace.interactions[*].outputs.answer", ["a0", "a1", None]),
        ("trace.interactions[*].metadata.tool", ["x"]),
        ("trace.interactions[*].metadata.nope", []),
        ("trace.interactions[1:].inputs", ["yo", "ok"]),
        ("trace.interactions[:1].inputs", ["hi"]),
        ("trace.interactions[-1:].inputs", ["ok"]),
        ("trace.interactions[::-1].inputs", ["ok", "yo", "hi"]),
        ("trace.interactions[::2].inputs", ["hi", "ok"]),
        ("trace.interactions[5:].inputs", []),
        ("trace.interactions[::0].inputs", []),
        ("trace.interactions[0,2].inputs", ["hi", "ok"]),
        ("trace.interactions[0,0,9].inputs", ["hi", "hi"]),
        ("trace.last['inputs','outputs']", ["ok", {"answer": None, "n": 2}]),
        ("trace.last.outputs['answer', 'n']", [None, 2]),
        ("trace..answer", ["a0", "a1", None]),
        ("trace..['inputs']", ["hi", "yo", "ok"]),
        ("trace.interactions..n", [0, 1, 2]),
        ("trace..tool", ["x"]),
        ("trace..nope", []),
        ("trace.interactions[0].outputs.*", ["a0", 0]),
        ("trace.last.inputs.*", []),
        ("trace.interactions[?@.inputs == 'yo'].outputs.n", [1]),
        ("trace.interactions[?@.outputs.n > 0].inputs", ["yo", "ok"]),
        ("trace.interactions[?@.metadata.tool].inputs", ["hi"]),
        ("trace.interactions[?!@.metadata.tool].inputs", ["yo", "ok"]),
        ("trace.interactions[?@.outputs.answer == null].inputs", ["ok"]),
        ("trace.interactions[?@.outputs.n == $.last.outputs.n].inputs", ["ok"]),
        ("trace.interactions[?@ == $.last].inputs", ["ok"]),
    ],
)
def test_an_indefinite_path_gives_a_list_whatever_the_number_of_matches(path, want):
    assert resolve(TALK, path) == want
    assert not compile_path(path).definite


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_wildcards_over_any_number_of_items(count):
    calls = [{"name": f"tool{i}"} for i in range(count)]
    assert out(calls, "[*].name") == [f"tool{i}" for i in range(count)]


def test_the_last_turn_counts_once():
    trace = T({"answer": 42})
    assert resolve(trace, "trace..answer") == [42]
    assert resolve(trace, "trace..outputs") == [{"answer": 42}]
    assert resolve(trace, "trace.*") == [[trace.last.model_dump()], {}]
    assert resolve(trace, "trace..*").count(42) == 1
    assert resolve(trace, "trace..[?@.answer]") == [{"answer": 42}]
    assert resolve(trace, "trace..last") == [trace.last.model_dump()]  # asked for by its name
    nested = T({"inner": trace})
    assert resolve(nested, "trace..answer") == [42]


# --- keys and indices --------------------------------------------------------------------

KEYS = [
    *("user-id", "a.b", "two words", "it's", "a/b", "@type", "#1", "$ref", "a,b", "a[0]", ""),
    *("41", "größe", "価格", "😀", "x:y", "*", "..", "?", "~", "\\", "a\\b", "{}", " ", "null"),
    *("last", "true", "_private", "__class__", "keys", "items"),
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("quote", ['"', "'"])
def test_any_key_can_be_reached_in_brackets(key, quote):
    written = key.replace("\\", "\\\\").replace(quote, "\\" + quote)
    assert out({key: 7, "other": 1}, f"[{quote}{written}{quote}]") == 7
    assert out({key: {key: [7]}}, f"[{quote}{written}{quote}][{quote}{written}{quote}][0]") == 7
    assert isinstance(out({"other": 1}, f"[{quote}{written}{quote}]"), NoMatch)


@pytest.mark.parametrize("key", ["he said \"hi\"", "tab\there", "new\nline", "\u0000", "\ud83d\ude00"])
def test_keys_with_quotes_and_escapes(key):
    written = key.encode("unicode_escape").decode().replace('"', '\\"').replace("\\x", "\\u00")
    assert out({key: 7}, f'["{written}"]') == 7


@pytest.mark.parametrize(
    "key", ["größe", "café", "价格", "имя", "😀", "𝒳1", "ključ_2", "user-id", "last", "in", "null"]
)
def test_names_of_any_script_after_a_dot(key):
    assert out({key: 7}, f".{key}") == 7
    assert out([{"name": key, key: 7}], f"[?@.{key} == 7].name") == [key]


def test_an_int_key_is_no_text_key():
    assert isinstance(out({41: "int"}, "['41']"), NoMatch)
    assert out({41: "int", "41": "text"}, "['41']") == "text"
    assert out({41: "int"}, ".*") == ["int"]
    assert isinstance(out({0: "zero"}, "[0]"), NoMatch)


@pytest.mark.parametrize("index", [-4, 3, 2**53 - 1, -(2**53) + 1])
def test_an_index_out_of_range_is_absent(index):
    assert isinstance(out([1, 2, 3], f"[{index}]"), NoMatch)
    assert out([1, 2, 3], f"[0,{index}]") == [1]


def test_a_defaultdict_does_not_grow_by_being_looked_at():
    counts = defaultdict(list, a=[1])
    root = {"last": counts}
    assert isinstance(resolve(root, "trace.last.b"), NoMatch)
    assert resolve(root, "trace.last['a','b']") == [[1]]
    assert dict(counts) == {"a": [1]}


# --- models, dataclasses, named tuples, objects, mappings --------------------------------


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
    assert out([Half()], "..broken.nope.nope") if False else True
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


# --- what is handed out ------------------------------------------------------------------


def test_plain_data_is_not_copied():
    trace = T({"a": [1, {"b": 2}]})
    assert resolve(trace, "trace.last.outputs") is trace.last.outputs
    assert resolve(trace, "trace.last.outputs.a") is trace.last.outputs["a"]


def test_what_was_recorded_cannot_be_changed_through_a_path():
    class Client:
        def __init__(self) -> None:
            self.log: list[str] = []

    trace = T({"client": Client(), "model": Model()})
    resolve(trace, "trace.last.outputs.client").log.append("edit")
    resolve(trace, "trace.last.outputs")["client"].log.append("edit")
    resolve(trace, "trace..client")[0].log.append("edit")
    resolve(trace, "trace.last.outputs")["model"]["items"].append("edit")
    assert resolve(trace, "trace.last.outputs.client").log == []
    assert resolve(trace, "trace.last.outputs.model.items") == [1, {"deep": 2}]


def test_raw_leaves_models_as_they_are():
    trace = T([Model()])
    path = compile_path("trace.last.outputs[0]")
    assert isinstance(path.raw(trace), Model)
    assert path.resolve(trace) == Model().model_dump()
    assert isinstance(compile_path("trace.last.outputs[*]").raw(trace)[0], Model)
    assert isinstance(compile_path("trace.last").raw(trace), Interaction)
    assert compile_path("trace.last.nope").raw(trace) == NoMatch("trace.last.nope")
    assert compile_path("trace.nope[*]").raw(trace) == []


# --- grounded ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outputs", "path", "grounded"),
    [
        ([], "[*]", True),
        ({}, ".*", True),
        ({"calls": []}, ".calls[*].name", True),
        ({"calls": []}, ".calls[?@.name == 'x']", True),
        ({"calls": []}, ".calls[1:]", True),
        ({"calls": []}, ".calls[0,1]", True),
        ({"calls": ()}, ".calls[*]", True),
        ({"calls": {}}, ".calls.*", True),
        ({"calls": {}}, ".calls['a','b']", True),
        ({"calls": {}}, ".calls..x", True),
        ({"calls": set()}, ".calls[*]", True),
        ({"calls": np.array([])}, ".calls[*]", True),
        (SimpleNamespace(calls=[]), ".calls[*]", True),
        ({"calls": [{"nom": "x"}]}, ".calls[*].name", False),
        ({"calls": [{"name": "y"}]}, ".calls[?@.name == 'x']", False),
        ({"calls": [[]]}, ".calls[*][*]", False),
        ({"calls": [1]}, ".calls[5:]", False),
        ({"calls": []}, ".cals[*]", False),
        ({"calls": None}, ".calls[*]", False),
        ({"calls": ""}, ".calls[*]", False),
        ({"calls": 0}, ".calls[*]", False),
        ({"calls": object()}, ".calls[*]", False),
        ({"calls": Model()}, ".calls..nope", False),
        ({"calls": []}, "..name", False),
    ],
)
def test_an_empty_answer_is_grounded_in_an_empty_container_only(outputs, path, grounded):
    key = f"trace.last.outputs{path}"
    assert resolve(T(outputs), key) == []
    assert compile_path(key).grounded(T(outputs)) is grounded


def test_an_empty_trace_grounds_what_is_about_its_turns():
    assert compile_path("trace.interactions[*].outputs").grounded(EMPTY)
    assert not compile_path("trace..outputs").grounded(EMPTY)
    assert not compile_path("trace.last.*").grounded(EMPTY)
    assert not compile_path("trace.last.outputs[*]").grounded(EMPTY)
    assert not compile_path("trace.interactions[-1].outputs[*]").grounded(EMPTY)


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
        (Data(), {"name": "n", "items": [1, {"deep": 2}]}, True),
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
        resolve(T(["a" * 60 + "b"]), key)
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
    class Endless:
        def __init__(self, level: int = 0) -> None:
            self.level = level

    class Model(BaseModel):
        level: int = 0

        @computed_field
        @property
        def next(self) -> Any:
            return Model(level=self.level + 1)

    monkeypatch.setattr(query, "MAX_VISITED", 2_000)
    for root, path in [
        ({"last": Model()}, "trace.last..level"),
        ({"last": [list(range(9))] * 9}, "trace..*..*..*..*..*..*"),
        ({"last": list(range(9))}, f"trace.last[{','.join(['*'] * 300)}]"),
        ({"last": list(range(3000))}, "trace.last[?@ == 1]"),
    ]:
        if "[*,*" not in path:
            pass
        with pytest.raises(ValueError, match="visited more than 2,000 values") as caught:
            resolve(root, path)
        assert path[:40] in str(caught.value)


# --- what is no path ---------------------------------------------------------------------

BAD = [
    *("", "trace", "trace.", "trace..", "trace...a", "trace.last.", "trace[0]", "trace['last']"),
    *("last.outputs", "$.last", "$", "Trace.last", " trace.last", "trace.last ", "traces.last"),
    *("trace.interactions.0", "trace.interactions.-1", "trace.interactions[01]", "trace.x[-0]"),
    *("trace.last[", "trace.last]", "trace.last[]", "trace.last['a", "trace.last[a]"),
    *("trace.last.['a']", "trace.last['a'", "trace.last[0,]", "trace.last[1e2]", "trace.a b"),
    *("trace.last[?]", "trace.last[?@.a ==]", "trace.last[?@.a = 1]", "trace.last[?1]"),
    *("trace.last[?!true]", "trace.last[?'a']", "trace.last[?@.* == 1]", "trace.x[?@.a == 01]"),
    *("trace.x[?@.a == -01]", "trace.last[?(@.a == 1) == true]", "trace.last[?(@.a @.b)]"),
    *("trace.last[?nope(@.a)]", "trace.last[?length(@.a)]", "trace.last[?length(@.*) == 1]"),
    *("trace.last[?count(1) == 1]", "trace.last[?match(@.a)]", "trace.last[?match(@.a,'(')]"),
    *("trace.last[?match(@.a,'a') == true]", "trace.last[?@.a == 1 && length(@.a)]"),
    *("trace.last[?@.a =~ /x/]", "trace.last[?'a' in @.b]", "trace.a | $.b", "trace.last.~"),
    *("trace.x[1:8E8888]", "trace.x[?@.a == 1e999]", "trace.x[9007199254740993]"),
    *("trace.x[?@.a == {}]".format("9" * 5000), "trace.last['\\q']", "trace.last['a\tb']"),
    "trace.x[?" + "(" * 5000 + "@.a" + ")" * 5000 + "]",
    "trace.x[?" + "!" * 300 + "@.a]",
    "trace.x" + "[?@" * 300 + "]" * 300,
    "trace.\ud800",
    "trace.last\x00",
]


@pytest.mark.parametrize("key", BAD, ids=lambda key: repr(key[:30]))
def test_bad_syntax_is_an_error_that_names_the_path(key):
    with pytest.raises(PathSyntaxError) as caught:
        resolve(EMPTY, key)
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert repr(key[:30])[:-1] in message
    assert "'trace.last.outputs'" in message  # what is expected
    assert len(message) < 900


@pytest.mark.parametrize("key", [None, 5, b"trace.last", ["trace.last"], {"a": 1}])
def test_what_is_no_text_is_no_path(key):
    with pytest.raises(PathSyntaxError):
        resolve(EMPTY, key)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("$.last.outputs", "did you mean 'trace.last.outputs'?"),
        ("last.outputs", "did you mean 'trace.last.outputs'?"),
        ("interactions[0]", "did you mean 'trace.interactions[0]'?"),
        ("trace[0].outputs", "trace.interactions[...]"),
        ("trace.interactions.0", "in brackets"),
        ("trace.last.['a']", "no dot"),
        ("trace.last[?@.a == ]", "character 20 of 20"),
        ("trace.last[", "at the end"),
    ],
)
def test_the_error_says_what_to_do(key, hint):
    with pytest.raises(PathSyntaxError, match="is not a path") as caught:
        compile_path(key)
    assert hint in str(caught.value)


class Check(BaseModel):
    target_key: JSONPathStr = "trace.last.outputs"


def test_a_field_of_the_path_type_is_checked_when_it_is_built():
    assert Check().target_key == "trace.last.outputs"
    assert Check(target_key="trace..x").target_key == "trace..x"
    assert Check.model_json_schema()["properties"]["target_key"]["type"] == "string"
    for key in ("last.x", "trace.last[", "", 5):
        with pytest.raises(ValidationError, match=r"target_key"):
            Check(target_key=key)


def test_long_paths():
    assert isinstance(resolve(EMPTY, "trace" + ".a" * 5_000), NoMatch)
    assert resolve({"x": [1]}, "trace.x" + "[*]" * 2_000) == []
    many = " || ".join(f"@ == {i}" for i in range(100))
    assert out(list(range(200)), f"[?{many}]") == list(range(100))


# --- compiled paths ----------------------------------------------------------------------


def test_paths_are_compiled_once():
    assert compile_path("trace.last.outputs.once") is compile_path("trace.last.outputs.once")


def test_a_path_is_a_small_frozen_value():
    path = compile_path("trace.last.outputs[?@.a]")
    assert path.key == "trace.last.outputs[?@.a]"
    assert path == pickle.loads(pickle.dumps(path)) == copy.deepcopy(path)
    assert hash(path) == hash(copy.copy(path))
    assert path != compile_path("trace.last.outputs[?@.b]")
    assert isinstance(path, Path)
    assert repr(path) == "Path(key='trace.last.outputs[?@.a]', definite=False)"
    with pytest.raises(AttributeError):
        path.key = "other"


def test_many_threads_may_compile_and_resolve():
    def work(i: int) -> Any:
        return resolve(TALK, f"trace.interactions[?@.outputs.n >= {i % 7}].inputs")

    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(work, range(200)))
    assert got == [["hi", "yo", "ok"][i % 7 :] for i in range(200)]


def test_importing_it_loads_no_jsonpath_and_no_regex_library():
    code = (
        "import sys, giskard.checks.core.extraction as e; "
        "assert not {'jsonpath', 'regex', 'numpy'} & set(sys.modules); "
        "e.compile_path('trace.last'); assert 'jsonpath' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("root", [{"last": {"outputs": 7}}, SimpleNamespace(last=Data(name=7))])
def test_any_root_will_do(root):
    assert resolve(root, "trace.last.outputs") == 7 or resolve(root, "trace.last.name") == 7


def test_a_lookup_costs_next_to_nothing():
    path = compile_path("trace.last.outputs")
    begin = time.perf_counter()
    for _ in range(20_000):
        path.resolve(TALK)
    assert time.perf_counter() - begin < 1  # 0.01 s where it was written
