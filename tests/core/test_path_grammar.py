"""Which texts are paths, and what the error says about those that are not."""

from collections import defaultdict
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from giskard.checks.core.extraction import (
    JSONPathStr,
    NoMatch,
    PathSyntaxError,
    compile_path,
    resolve,
)
from giskard.checks.core.interaction import Interaction, Trace


def out(outputs: Any, path: str) -> Any:
    """What `path` gives, written from the outputs of the last turn on."""
    trace = Trace(interactions=[Interaction(inputs="q", outputs=outputs)])
    return resolve(trace, f"trace.last.outputs{path}")


EMPTY = Trace()

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


@pytest.mark.parametrize(
    ("written", "key"),
    [
        (r'["he said \"hi\""]', 'he said "hi"'),
        (r"""['he said "hi"']""", 'he said "hi"'),
        (r"['it\'s']", "it's"),
        (r"""['\\"']""", '\\"'),
        (r"""["\\'"]""", "\\'"),
        (r"['tab\there']", "tab\there"),
        (r'["new\nline"]', "new\nline"),
        (r'["\u0000\u001b"]', "\0\x1b"),
        (r'["\ud83d\ude00"]', "😀"),
        (r'["\u00e9"]', "é"),
        (r'["a\/b"]', "a/b"),
    ],
)
def test_keys_with_quotes_and_escapes(written, key):
    assert out({key: 7}, written) == 7
    assert out([{"name": key}], f"[?@.name == {written[1:-1]}].name") == [key]


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
    *("trace.x['\\\"']", 'trace.x["\\\'"]', "trace.x['\\ud800']", "trace.x['\\u12']"),
    "trace.x[?" + "(" * 5000 + "@.a" + ")" * 5000 + "]",
    "trace.x[?" + "!" * 300 + "@.a]",
    "trace.x" + "[?@" * 300 + "]" * 300,
    "trace.x" + "[?@" * 40 + "]" * 40,
    "trace.\ud800",
    "trace.last\x00",
]


@pytest.mark.parametrize("key", BAD, ids=lambda key: repr(key[:30]).replace("\\", "/"))
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
    assert out([[[[1]]]], "[?@" * 3 + "]" * 3) == [[[[1]]]]
    many = " || ".join(f"@ == {i}" for i in range(100))
    assert out(list(range(200)), f"[?{many}]") == list(range(100))


# Each way to nest one filter in another, and how often it goes.
NESTED = {
    "not": (lambda n: "?" + "!(" * n + "@.a" + ")" * n, 48),
    "and": (lambda n: "?" + "(@.b && !" * n + "@.a" + ")" * n, 24),
    "filter": (lambda n: "?@" + "[?@" * n + "]" * n, 24),
    "count": (lambda n: "?count(@" + "[?count(@" * n + ".*" + ") == 1]" * n + ") == 1", 15),
    "value": (lambda n: "?value(@" + "[?value(@" * n + ".*" + ") == 1]" * n + ") == 1", 15),
    "length": (lambda n: "?" + "length(" * n + "@.a" + ")" * n + " == 1", 47),
    "match": (lambda n: "?match(value(@" + "[?match(value(@" * n + ".*" + "), 'x')]" * n + "), 'x')", 15),
}


@pytest.mark.parametrize(("nested", "most"), NESTED.values(), ids=NESTED)
def test_filters_are_nested_up_to_fifty_levels(nested, most):
    assert resolve({"x": [1]}, f"trace.x[{nested(most)}]") is not None
    for count in (most + 1, 100):
        with pytest.raises(PathSyntaxError, match="nested more than 50 levels deep"):
            compile_path(f"trace.x[{nested(count)}]")
