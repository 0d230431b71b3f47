"""Paths into a trace: what they give, and what is known about them."""

import copy
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from giskard.checks.core.extraction import (
    NoMatch,
    Path,
    compile_path,
    resolve,
)
from giskard.checks.core.interaction import Interaction, Trace


class Model(BaseModel):
    name: str = "n"
    items: list[Any] = [1, {"deep": 2}]


def T(outputs: Any = None, **metadata: Any) -> Trace:
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])


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
    assert resolve(T({"a": value}), "trace.last.outputs.a") == value
    assert resolve(T({"a": [value]}), "trace.last.outputs.a[0]") == value
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
    assert resolve(T(calls), "trace.last.outputs[*].name") == [f"tool{i}" for i in range(count)]


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
        "e.compile_path('trace.last.outputs[0].fee'); assert 'jsonpath' not in sys.modules; "
        "e.compile_path('trace.interactions[*]'); assert 'jsonpath' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("turn", [{"outputs": 7}, SimpleNamespace(outputs=7), Interaction(inputs=1, outputs=7)])
@pytest.mark.parametrize("root", [dict, SimpleNamespace])
def test_any_root_will_do(root, turn):
    assert resolve(root(last=turn), "trace.last.outputs") == 7
    assert resolve(root(interactions=[turn]), "trace.interactions[0].outputs") == 7
    assert resolve(root(last=turn), "trace..outputs") == [7]


def test_a_lookup_costs_next_to_nothing():
    path = compile_path("trace.last.outputs")
    begin = time.perf_counter()
    for _ in range(20_000):
        path.resolve(TALK)
    assert time.perf_counter() - begin < 1  # 0.01 s where it was written


@pytest.mark.parametrize(
    ("outputs", "path", "where"),
    [
        (
            {"reply": 1, "fee": 2},
            "trace.last.outputs.replay",
            "has no 'replay'; did you mean 'reply'? It has: reply, fee",
        ),
        ({"a": 1}, "trace.last.outputs.zzzz", "has no 'zzzz'. It has: a"),
        ({}, "trace.last.outputs.zzzz", "has no 'zzzz'. It has: nothing"),
        ({1: 2}, "trace.last.outputs.zzzz", "has no 'zzzz'. It has: 1"),
        ({f"{i:03}": 1 for i in range(14)}, "trace.last.outputs.zzzz", "010, 011 and 2 more"),
        ([1], "trace.last.outputs[5]", "has 1 item, and none at 5"),
        ([1, 2], "trace.last.outputs[-3]", "has 2 items, and none at -3"),
        ([], "trace.last.outputs[0]", "has 0 items, and none at 0"),
        ([1], "trace.last.outputs.a", "is list, which has no names"),
        ("ab", "trace.last.outputs[0]", "is str, which has no positions"),
        ("ab", "trace.last.outputs.a", "is str, which has no names"),
        (None, "trace.last.outputs.a", "is None"),
        ({"a": {"b c": []}}, "trace.last.outputs.a['b c'][0].x", "outputs.a['b c'] has 0 items, and none at 0"),
        ({"a": [1]}, "trace.last.outputs.a[?@ > 5]", "nothing in trace.last.outputs.a matches"),
    ],
)
def test_where_a_path_ends_without_a_value(outputs, path, where):
    trace = Trace(interactions=[Interaction(inputs="q", outputs=outputs)])
    assert where in compile_path(path).explain(trace)
    assert compile_path("trace.last.x").explain(Trace()) == "trace.last is None: the trace has no interactions"
