"""Values of saved tests; most of it is tested with the models, in core/test_save_load.py."""

import functools
import json
import os
import sys
import types
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.utils.codec import decode, encode, escape, import_callable, import_path


class Tools:
    class Inner:
        @staticmethod
        def tool():
            return 1


def decorated():
    return 1


def replaced():
    return 1


_replaced = replaced


def replaced():
    return 2


@pytest.mark.parametrize("value", [len, os.getcwd, dict, Tools, Tools.Inner.tool, decorated, pytest.raises])
def test_module_level_callables_have_an_import_path(value):
    assert import_callable(import_path(value)) == value
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda: 1, "a lambda"),
        (functools.partial(len), "no import path"),
        ([].append, "no import path"),
        (_replaced, "another object"),
        ((lambda: decorated)(), None),
    ],
)
def test_what_has_none_says_what_to_do(value, words):
    if words is None:
        assert import_path(value)
        return
    with pytest.raises(ValueError, match=rf"(?s)cannot be saved.*{words}.*top level"):
        import_path(value)


def test_a_function_of_the_script_that_runs_cannot_be_saved():
    def main():
        return 1

    main.__module__, main.__qualname__ = "__main__", "main"
    with pytest.raises(ValueError, match="__main__"):
        import_path(main)


def test_a_function_of_a_module_that_is_gone_cannot_be_saved():
    module = types.ModuleType("passing_module")
    exec("def here(): return 1", module.__dict__)
    module.here.__module__ = "passing_module"
    with pytest.raises(ValueError, match="cannot be saved"):
        import_path(module.here)
    sys.modules["passing_module"] = module
    try:
        assert import_path(module.here) == "passing_module:here"
    finally:
        del sys.modules["passing_module"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["kind", "$callable", "$literal", "$type", "value", "a"]), inner)
    ),
    max_leaves=12,
)


@given(json_values)
def test_json_values_come_back_whatever_their_keys(value):
    assert decode(encode(value)) == value
    assert decode(escape(value)) == value


def test_json_values_are_written_as_they_are():
    value = {"a": [1, None, "x", {"b": True}]}

    assert encode(value) == value
    assert escape(value) == value
    assert decode(value) == value
    assert encode({"kind": "x"}) == {"$literal": {"kind": "x"}}


def test_a_python_dump_keeps_objects():
    thing = object()

    assert escape([{"a": thing}]) == [{"a": thing}]
    assert escape({"kind": "x"}) == {"$literal": {"kind": "x"}}


@pytest.mark.parametrize(
    "saved",
    [
        {"$type": "decimal", "value": "zz"},
        {"$type": "set", "value": [[1]]},
        {"$type": "uuid", "value": 5},
        {"$type": "timedelta", "value": "ab"},
        {"$type": ["x"], "value": 5},
        {"$type": "bytes", "value": "!!!"},
        {"$type": "object", "value": ["builtins:len", {}]},
        {"$type": "object", "value": ["subprocess:Popen", {"args": ["true"]}]},
        {"$type": "enum", "value": ["builtins:dict", []]},
        {"$type": "no such type", "value": 1},
    ],
)
def test_a_broken_saved_value_says_what_it_is(saved):
    with pytest.raises(ValueError, match=r"is no saved|\$type is"):
        decode({"deep": [saved]})


@pytest.mark.parametrize(
    "value",
    [10**5000, -(10**5000), "\ud83d and \udc00", Fraction(1, 3)],
    ids=["long", "negative", "surrogates", "fraction"],
)
def test_what_json_cannot_hold_comes_back_the_same(value):
    assert decode(json.loads(json.dumps(encode(value)))) == value


@pytest.mark.parametrize("path", [".here:x", "..:x", "a..b:c", "\x00:x", "\ud800:x", "builtins:", "tests.no_such:x"])
def test_what_is_no_import_path_is_a_value_error_that_names_it(path):
    with pytest.raises(ValueError) as caught:
        import_callable(path)
    assert repr(path) in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [{"\ud83d": 1, "a": 2}, {"x": {"\udc00": "\udc00"}}, {10**5000, 1}, frozenset({(10**5000, frozenset({2, "a"}))})],
    ids=["key", "deep key", "set", "frozenset"],
)
def test_what_json_files_cannot_hold_comes_back_the_same_wherever_it_is(value):
    text = json.dumps(encode(value), ensure_ascii=False, allow_nan=False)
    assert text.encode()
    assert decode(json.loads(text)) == value


def test_what_cannot_be_saved_nor_shown_says_so():
    class Shy:
        def __repr__(self):
            raise RuntimeError("no repr")

    with pytest.raises(ValueError, match="Shy cannot be saved"):
        encode([Shy()])
