"""What is fuzzed: functions from any bytes that pass, or fail when a promise about odd input is broken.

The bytes are read as a sequence of choices, so that a fuzzer which changes a byte changes one of them.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import pickle
import time
import uuid
from collections import OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

from giskard.checks.builtin._json import (
    JsonFinding,
    JsonSyntaxError,
    JsonTooDeep,
    find_not_json,
    parse_exactly,
    parse_json,
    to_builtin,
)
from giskard.checks.core.extraction import NoMatch, PathSyntaxError, compile_path, resolve
from giskard.checks.utils.codec import decode, encode, escape
from giskard.checks.utils.frozen import freeze, thaw, view
from giskard.checks.utils.json_safe import describe, json_safe

SECONDS = 20.0  # of processor time for one input, far more than any needs


class Choices:
    """Reads choices from bytes; when they are used up, the first of each is taken."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, below: int) -> int:
        byte = self._data[self._at] if self._at < len(self._data) else 0
        self._at += 1
        return byte % below

    def of(self, pool: Any) -> Any:
        return pool[self.number(len(pool))]

    def text(self) -> str:
        """Up to 40 characters of any kind, halves of surrogate pairs among them."""
        size = self.number(41)
        raw = self._data[self._at : self._at + size]
        self._at += size
        return raw.decode("utf-8", "surrogateescape")

    def rest(self) -> str:
        raw = self._data[self._at :]
        self._at = len(self._data)
        return raw.decode("utf-8", "surrogateescape")


# --- paths -------------------------------------------------------------------------------

PIECES = [
    *(
        "trace.",
        "last",
        "a",
        "b",
        ".",
        "..",
        "[",
        "]",
        "[*]",
        "[0]",
        "[-1]",
        "[1:]",
        "[::-2]",
        "['a']",
        "*",
        ".*",
        "..*",
    ),
    *("[?", "?", "@", "@.a", "$", "$.a", "(", ")", "!", " && ", " || ", " == ", " != ", " < ", " >= ", "=~"),
    *("length(@.a)", "count(@.*)", "value(@..a)", "match(@.a, 'x.*')", "search(@, '(a|aa)+$')", "match(", "length("),
    *(
        "'",
        '"',
        "\\",
        "\\u00e9",
        "\\ud83d",
        ",",
        ":",
        "0",
        "-",
        "1e5",
        "1.5",
        "1e999",
        "true",
        "false",
        "null",
        "'x'",
        "/x/",
    ),
    *(" ", "\n", "ß", "名前", "😀", "\ud800", "\x00", "~", "#", "^", "_", "|", "&", "in", "not", "999999999999", "-0"),
]
NAMES = ["a", "b", "last", "interactions", "ß", "名前", "😀", "", "'", "0"]
PLAIN = [None, True, False, 0, 1, -1, 0.5, 1e300, 10**30, "", "x", "xy", "aaab", "ß", "\ud800", "1"]


def plain_data(choices: Choices, depth: int = 0) -> Any:
    """Data as JSON has it."""
    kind = choices.number(8 if depth < 4 else 4)
    if kind < 4:
        return choices.of(PLAIN)
    if kind < 6:
        return [plain_data(choices, depth + 1) for _ in range(choices.number(4))]
    return {choices.of(NAMES): plain_data(choices, depth + 1) for _ in range(choices.number(4))}


def path_text(choices: Choices) -> str:
    """Any text, or pieces of paths."""
    if choices.number(8) == 0:
        return choices.of(["", "trace.", "trace"]) + choices.text()
    return "trace." + "".join(choices.of(PIECES) for _ in range(1 + choices.number(12)))


def paths(data: bytes) -> None:
    """Any text is a path or a `PathSyntaxError`; a path gives what it promises on any data."""
    choices = Choices(data)
    key = path_text(choices)
    root = {choices.of(NAMES): plain_data(choices) for _ in range(4)}
    began = time.process_time()
    try:
        path = compile_path(key)
    except PathSyntaxError as error:
        assert "is not a path" in str(error)
        assert len(str(error)) < 2_000
        return
    try:
        found = path.resolve(root)
    except TimeoutError as error:
        assert "the pattern" in str(error)
        return
    except ValueError as error:
        assert "visited more than" in str(error)
        return
    assert time.process_time() - began < SECONDS, key
    again = pickle.loads(pickle.dumps(path))
    assert again == path and hash(again) == hash(path) and again.definite is path.definite
    assert again.resolve(root) == found == resolve(root, key)
    grounded = path.grounded(root)
    assert isinstance(grounded, bool)
    if path.definite:
        assert (found == NoMatch(key)) is not grounded
        if isinstance(found, NoMatch):
            assert path.explain(root)
    else:
        assert isinstance(found, list)
        assert not (found and grounded)
        assert path.raw(root) == found


# --- JSON --------------------------------------------------------------------------------

TOKENS = [
    *("{", "}", "[", "]", ",", ":", '"', '"a"', '"b":', '""', "0", "-0", "1", "-", "1.5", "1e5", "1e999", "-1e-999"),
    *("true", "false", "null", "NaN", "-Infinity", " ", "\n", "\t", "\ufeff", "\u00a0", "\\", '"\\u00e9"', '"\\ud83d"'),
    *('"\\x"', "'", "//", "0x1", "01", "1_0", ".5", "+1", "\x00", "ß", "\ud800", "[" * 120, "]" * 120, "9" * 5000),
]


def json_text(choices: Choices) -> str:
    """Any text, pieces of JSON, or JSON with something in the middle."""
    kind = choices.number(4)
    if kind == 0:
        return choices.rest()
    if kind == 1:
        return "".join(choices.of(TOKENS) for _ in range(1 + choices.number(16)))
    text = json.dumps(plain_data(choices), ensure_ascii=kind == 2)
    at = choices.number(len(text) + 1)
    return text[:at] + choices.of(["", "", *TOKENS]) + text[at:]


def json_texts(data: bytes) -> None:
    """Any text is JSON or a documented error, and the readers agree on which."""
    text = json_text(Choices(data))
    try:
        value = parse_json(text)
    except (JsonSyntaxError, JsonTooDeep) as error:
        assert str(error)
        for other in (parse_exactly, lambda text: parse_json(text, unique_keys=True)):
            try:
                other(text)
            except type(error):
                continue
            raise AssertionError(f"only {other} reads {text!r}") from None
        return
    exact = parse_exactly(text)
    try:
        assert parse_json(text, unique_keys=True) == value
    except JsonSyntaxError as error:
        assert "stands twice" in str(error)
    if find_not_json(value) is None:  # neither infinite nor of more than 4,300 digits
        assert exact == value == to_builtin(value)
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
        assert repr(parse_json(written)) == repr(value)


# --- values ------------------------------------------------------------------------------

HASHABLE = [
    *(None, True, 0, 1, -7, 2**70, 10**5000, 0.5, math.inf, -math.inf, 1e-300, "", "a", "ß", "\ud83d", "\x00", b"\xff"),
    *(dt.date(2025, 1, 2), dt.datetime(2025, 1, 2, 3, 4, 5, 6, dt.UTC), dt.time(1, 2), dt.timedelta(-1, 5, 7)),
    *(Decimal("1.10"), Decimal("-0"), Decimal("Infinity"), Fraction(1, 3), uuid.UUID(int=5), 1j, ()),
    *(len, dict, (1, ("a",)), frozenset({1, "a"}), frozenset({frozenset()})),
]
OPAQUE = [object(), deque([1]), OrderedDict(a=1), lambda: 1, range(3), iter([]), bytearray(b"x"), Exception("x")]
KEYS = [
    *(
        "a",
        "b",
        "",
        "ß",
        "\ud83d",
        "kind",
        "schema_version",
        "$callable",
        "$literal",
        "$type",
        "value",
        "$text",
        "$items",
    ),
    *("$", "name"),
]
SAVED = [
    *(
        "builtins:len",
        "os:getcwd",
        "nowhere:x",
        "os:nothing",
        ":",
        "a:",
        ":a",
        "os:sep",
        "builtins:dict.get",
        "a.b",
        ".a:b",
    ),
    *("..:x", "a..b:c", "builtins:", "os.path:join", "os :getcwd", "\x00:a", "\ud800:a", "tuple", "set", "frozenset"),
    *("bytes", "datetime", "date", "time", "timedelta", "decimal", "uuid", "complex", "fraction", "int", "str", "enum"),
    *("object", "float", "dict", "no such", "", "AA==", "!", "1", "-1", "0x10", "nan", "1/0", "1/3", "2025-01-02"),
]


def any_value(choices: Choices, depth: int = 0) -> Any:
    """A value of nearly any kind."""
    kind = choices.number(14 if depth < 4 else 6)
    if kind < 4:
        return choices.of(HASHABLE)
    if kind == 4:
        return choices.text()
    if kind == 5:
        return choices.of(OPAQUE) if choices.number(4) == 0 else choices.of(PLAIN)
    size = choices.number(4)
    if kind < 8:
        return [any_value(choices, depth + 1) for _ in range(size)]
    if kind == 8:
        return tuple(any_value(choices, depth + 1) for _ in range(size))
    if kind == 9:
        return {choices.of(HASHABLE) for _ in range(size)}
    if kind == 10:
        return {choices.of(HASHABLE): any_value(choices, depth + 1) for _ in range(size)}
    return {choices.of(KEYS): any_value(choices, depth + 1) for _ in range(size)}


def same(one: Any, other: Any) -> bool:
    """Equality in which types count and NaN equals itself."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        same_kind = isinstance(one, list) is isinstance(other, list)
        return same_kind and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (float, complex)):
        return repr(one) == repr(other)
    if isinstance(one, (set, frozenset)) and type(one) is type(other):
        return one == other or sorted(map(describe, one)) == sorted(map(describe, other))  # a NaN is no other NaN
    return one is other or (one == other and type(one) is type(other))


def values(data: bytes) -> None:
    """Any value can be written, comes back the same or is refused, and can be recorded."""
    value = any_value(Choices(data))
    written = json_safe(value)
    text = json.dumps(written, allow_nan=False)
    assert text.encode()
    assert json_safe(json.loads(text)) == json.loads(text)
    try:
        encoded = encode(value)
    except ValueError as error:
        assert "cannot be saved" in str(error)
    else:
        assert find_not_json(encoded) is None
        assert json.dumps(encoded, ensure_ascii=False).encode()
        assert same(plain(decode(json.loads(json.dumps(encoded, allow_nan=False)))), plain(value))
        assert same(plain(decode(escape(value))), plain(value))
    finding = find_not_json(value)
    assert finding is None or isinstance(finding, JsonFinding)
    if finding is None and "$t" not in text and "\\ud" not in text:  # nothing that had to be written as text
        assert json.loads(text) == json.loads(json.dumps(value))
    frozen = freeze(value)
    assert same(plain(view(frozen)), plain(value)) or holds_opaque(value)
    assert same(plain(thaw(frozen)), plain(value)) or holds_opaque(value)
    assert same(freeze(frozen), frozen) or holds_opaque(value)


def plain(value: Any) -> Any:
    """`value` with mappings as dicts, so that what was recorded and what came back can be compared."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if type(value) is tuple:
        return tuple(map(plain, value))
    if isinstance(value, list):
        return [plain(item) for item in value]
    return set(value) if isinstance(value, set) else value


def holds_opaque(value: Any) -> bool:
    """Whether an object is in `value` of which a copy is another one."""
    if isinstance(value, dict):
        return any(map(holds_opaque, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(holds_opaque, value))
    return any(value is each for each in OPAQUE)


def saved_values(data: bytes) -> None:
    """What is no saved value is refused with a `ValueError`; what is one can be saved again."""
    saved = saved_data(Choices(data))
    try:
        value = decode(saved)
    except ValueError as error:
        assert str(error)
        return
    try:
        encoded = encode(value)
    except ValueError as error:
        assert "cannot be saved" in str(error)
        return
    assert same(plain(decode(json.loads(json.dumps(encoded)))), plain(value))


def saved_data(choices: Choices, depth: int = 0) -> Any:
    """JSON data full of the marks of saved values."""
    kind = choices.number(8 if depth < 5 else 3)
    if kind == 0:
        return choices.of(PLAIN)
    if kind < 3:
        return choices.of(SAVED)
    if kind == 3:
        return [saved_data(choices, depth + 1) for _ in range(choices.number(4))]
    if kind == 4:
        return {choices.of(KEYS): saved_data(choices, depth + 1) for _ in range(choices.number(4))}
    if kind == 5:
        return {"$callable": saved_data(choices, depth + 1)}
    return {"$type": choices.of(SAVED), "value": saved_data(choices, depth + 1)}


TARGETS = {function.__name__: function for function in (paths, json_texts, values, saved_values)}
