"""Which texts and values are JSON."""

import enum
import json
import math
from collections import OrderedDict
from decimal import Decimal
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.builtin._json import (
    MAX_DEPTH,
    JsonSyntaxError,
    JsonTooDeep,
    _scan,
    find_not_json,
    parse_exactly,
    parse_json,
    to_builtin,
)
from giskard.checks.builtin._shown import json_path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        (" \n\t\r1 ", 1),
        ("-0", 0),
        ("1.0", 1.0),
        ("1e3", 1000.0),
        ('"a\\u00e9\\n"', "aé\n"),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\ud800"', "\ud800"),
        ('"\ud800"', "\ud800"),
        ('"\x7f\u2028"', "\x7f\u2028"),
        ("[]", []),
        ("{}", {}),
        ("[ 1 , [ ] , { } ]", [1, [], {}]),
        ('{"a": {"b": [null, false]}, "": 0}', {"a": {"b": [None, False]}, "": 0}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("1e999", math.inf),
        ("-1e999", -math.inf),
        (str(10**4000), 10**4000),
        ("1" * 5000, Decimal("1" * 5000)),
    ],
)
def test_what_is_json(text, value):
    got = parse_json(text)
    assert got == value and type(got) is type(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the text is empty"),
        (" \n", "the text is empty"),
        ("NaN", "NaN is not JSON (line 1, column 1)"),
        ("[Infinity]", "Infinity is not JSON (line 1, column 2)"),
        ('{"a":\n [1, -Infinity]}', "-Infinity is not JSON (line 2, column 6)"),
        ("\ufeff{}", "the text starts with a byte order mark"),
        ("hello", "expected a value, found 'hello' (line 1, column 1)"),
        ("True", "expected a value, found 'True'"),
        ("{'a': 1}", "expected a key in double quotes, found \"'a': 1}\""),
        ("{a: 1}", "expected a key in double quotes"),
        ('{"a" 1}', "expected ':', found '1}'"),
        ('{"a"', "expected ':' (line 1, column 5)"),
        ('{"a":', "expected a value (line 1, column 6)"),
        ('{"a": 1,}', "expected a key in double quotes, found '}'"),
        ("[1,]", "expected a value, found ']'"),
        ("[1 2]", "expected ',' or ']', found '2]'"),
        ("[1}", "expected ',' or ']', found '}'"),
        ("[", "expected a value (line 1, column 2)"),
        ("{", "expected a key in double quotes (line 1, column 2)"),
        ("1 2", "expected nothing more, found '2'"),
        ("01", "expected nothing more, found '1'"),
        ("1.", "expected nothing more, found '.'"),
        (".5", "expected a value, found '.5'"),
        ("+1", "expected a value, found '+1'"),
        ("0x10", "expected nothing more, found 'x10'"),
        ("- 1", "expected a value"),
        ('"a', "a string is not closed (line 1, column 3)"),
        ('"a\\x"', "no such escape in a string (line 1, column 3)"),
        ('"a\\u12"', "no such escape in a string"),
        ('"a\nb"', "the control character '\\n' in a string (line 1, column 3)"),
        ("```json\n{}\n```", "expected a value, found '```json"),
        ("[1] // note", "expected nothing more, found '// note'"),
        ("\u00a01", "expected a value"),
        ("١", "expected a value"),
    ],
)
def test_what_is_not_json(text, reason):
    with pytest.raises(JsonSyntaxError) as caught:
        parse_json(text)
    assert reason in str(caught.value)
    with pytest.raises(JsonSyntaxError):
        parse_exactly(text)


@pytest.mark.parametrize("depth", [150, 199, 200, 201, MAX_DEPTH])
def test_nested_texts(depth):
    value = parse_json("[" * depth + "]" * depth)
    for _ in range(depth - 1):
        (value,) = value
    assert value == []
    assert parse_json('{"a":' * depth + "1" + "}" * depth)
    with pytest.raises(JsonSyntaxError):
        parse_json("[" * depth)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100_000])
def test_texts_that_are_nested_too_deeply(depth):
    with pytest.raises(JsonTooDeep, match="500"):
        parse_json("[" * depth + "]" * depth)
    with pytest.raises(JsonTooDeep):
        parse_json('{"a":' * depth + "1" + "}" * depth)
    for text in ("[" * depth, "[" * depth + "]" * (depth + 1), '{"a":' * depth):
        with pytest.raises(JsonSyntaxError):
            parse_json(text)


def test_brackets_in_strings_are_no_nesting():
    text = "[" * 300 + json.dumps("[" * 5000) + "]" * 300
    assert _scan(text) == 300
    assert parse_json(text)


def test_little_stack_left():
    def dive(n):
        return parse_json("[" * 400 + "]" * 400) if n == 0 else dive(n - 1)

    def deepest():
        try:
            return 1 + deepest()
        except RecursionError:
            return 0

    try:
        assert dive(deepest() - 100)  # Python 3.12 and later count the stack of their C code apart
    except JsonTooDeep as error:
        assert "this place" in str(error)


def test_a_key_twice():
    assert parse_json('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(JsonSyntaxError, match="the key 'a' stands twice"):
        parse_json('[{"b": 0, "a": 1, "a": 1}]', unique_keys=True)
    assert parse_json('[{"a": {"a": 1}}]', unique_keys=True) == [{"a": {"a": 1}}]


def test_exact_numbers():
    assert parse_exactly("[1e999, 1.5, -1e999, 2]") == [Decimal("1e999"), 1.5, Decimal("-1e999"), 2]
    assert parse_exactly("-1e" + "9" * 30) == Decimal("-1E+999999999999999999")


junk = st.text('[]{},:"\\u0e1.-+NaI tf\n', max_size=12)
data = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=10,
)


def standard(text):
    def refuse(name):
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


@given(st.one_of(junk, st.tuples(junk, data.map(json.dumps), junk).map("".join)))
def test_as_the_standard_library_on_broken_texts(text):
    try:
        want = standard(text)
    except ValueError:
        with pytest.raises(JsonSyntaxError):
            parse_json(text)
        with pytest.raises(JsonSyntaxError):
            _scan(text)
    else:
        _scan(text)
        assert parse_json(text) == want


@given(data, st.sampled_from([None, 1]), st.booleans())
def test_what_was_written_is_read(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    got = parse_json(text)
    assert got == standard(text) and json.dumps(got) == json.dumps(standard(text))
    assert find_not_json(got) is None
    assert parse_json(text, unique_keys=True) == got
    assert parse_exactly(text) == got


# --- values ------------------------------------------------------------------------------


class Word(enum.StrEnum):
    A = "a"


class Level(enum.IntEnum):
    LOW = 1


class Text(str):
    __slots__ = ()


GOOD = [
    None,
    True,
    1,
    1.5,
    "a",
    [],
    {},
    (1, [2]),
    {"a": {"b": (None, "c")}},
    OrderedDict(a=1),
    MappingProxyType({"a": [1]}),
    Word.A,
    Level.LOW,
    {Word.A: Level.LOW},
    Text("x"),
    10**5000,
]


@pytest.mark.parametrize("value", GOOD, ids=lambda v: type(v).__name__)
def test_values_that_are_json(value):
    assert find_not_json(value) is None
    assert find_not_json([value, {"a": value}, value]) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({10**5000: 1}, "is int; keys of JSON are texts"),
        ({1, 2}, "set is not a type of JSON"),
        (math.nan, "nan is not a number of JSON"),
        (-math.inf, "-inf is not a number of JSON"),
        ({1: "a"}, "the key 1 is int; keys of JSON are texts"),
        ({None: 1}, "the key None is NoneType"),
        (b"a", "bytes is not a type of JSON"),
        (Decimal(1), "Decimal is not a type of JSON"),
        (object(), "object is not a type of JSON"),
        (1j, "complex is not a type of JSON"),
        (range(3), "range is not a type of JSON"),
    ],
)
def test_values_that_are_not_json(value, reason):
    assert find_not_json(value).path == ()
    assert reason in find_not_json(value).reason
    found = find_not_json({"ok": [1, 2], "bad": [0, ("x", value)]})
    assert found.path == ("bad", 1, 1) and reason in found.reason


def test_arrays_are_not_json():
    np = pytest.importorskip("numpy")
    assert "ndarray" in find_not_json(np.array([1])).reason
    assert find_not_json(np.int64(1)).reason == "int64 is not a type of JSON"
    assert find_not_json(np.float64(1)) is None  # a float


def test_values_that_contain_themselves():
    loop: list = [1]
    loop.append({"again": loop})
    found = find_not_json(loop)
    assert found.path == (1, "again") and found.reason == "it contains itself"


def test_shared_parts_are_no_cycle_and_cost_nothing():
    shared: list = [1]
    for _ in range(60):
        shared = [shared, shared]
    assert find_not_json(shared) is None


def test_deep_values():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert find_not_json(deep) is None


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ((), "$"),
        (("a", 0, "b"), "$.a[0].b"),
        (("unit price",), "$['unit price']"),
        (("it's", "é", "1"), "$[\"it's\"].é['1']"),
    ],
)
def test_places_in_data(steps, path):
    assert json_path(steps) == path


@pytest.mark.parametrize("value", GOOD, ids=lambda v: type(v).__name__)
def test_plain_types(value):
    plain = to_builtin([value])

    def kinds(v):
        yield type(v)
        for item in v.values() if isinstance(v, dict) else v if isinstance(v, list) else ():
            yield from kinds(item)

    assert set(kinds(plain)) <= {dict, list, str, int, float, bool, type(None), Decimal}


def test_plain_types_keep_their_values():
    assert to_builtin({"b": (True, Level.LOW, 1.5, Decimal("1E+999"))}) == {"b": [True, 1, 1.5, Decimal("1E+999")]}
    assert to_builtin({"a": ["b"]}, str.upper) == {"A": ["B"]}
