"""JSON to the letter: which texts and values are JSON (RFC 8259).

Python's own parser takes ``NaN`` and ``Infinity``, raises on a number of 5,000 digits and on data nested a
thousand deep.  Here each text gets its answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple, NoReturn, cast

from pydantic_core import from_json

from giskard.checks.builtin._shown import type_name
from giskard.checks.utils.json_safe import describe

__all__ = [
    "MAX_DEPTH",
    "JsonFinding",
    "JsonSyntaxError",
    "JsonTooDeep",
    "find_not_json",
    "parse_exactly",
    "parse_json",
    "to_builtin",
    "unfenced",
    "without_surrogates",
]

MAX_DEPTH: Final = 500
"""How deep a text may be nested to be turned into values."""


class JsonSyntaxError(ValueError):
    """A text is not JSON; the message says why, and in which line and column."""


class JsonTooDeep(ValueError):
    """Data is JSON, but nested too deeply to be worked with."""


# --- texts -------------------------------------------------------------------------------


def parse_json(text: str, *, unique_keys: bool = False) -> Any:
    """The value that a JSON text stands for.

    Parameters
    ----------
    text
        A text; white space around the value is allowed, a byte order mark is not.
    unique_keys
        Whether an object that has a key twice is refused; otherwise the last one counts.

    Returns
    -------
    Any
        dict, list, str, int, float, bool or None.  An integer of more than 4,300 digits comes as a
        `decimal.Decimal`, a number beyond the range of float as infinity.

    Raises
    ------
    JsonSyntaxError
        When the text is not JSON.
    JsonTooDeep
        When it is, and nested deeper than `MAX_DEPTH`.

    Examples
    --------
    >>> parse_json('{"fee": 3.0}')
    {'fee': 3.0}
    >>> parse_json("[1, NaN]")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
        ...
    JsonSyntaxError: NaN is not JSON (line 1, column 5)
    """
    if not unique_keys:
        try:
            return from_json(text, allow_inf_nan=False)
        except (ValueError, TypeError):
            # It is stricter than JSON: no lone surrogates, 200 levels, 4,300 digits.  The long way decides.
            pass
    return _decode(text, _ONCE if unique_keys else _LENIENT)


_FENCE_OPENS = re.compile(r"\s*```[\w-]*[ \t]*\n")


def unfenced(text: str) -> str:
    r"""What stands in `text` when all of it is one Markdown fence of three backquotes; else `text` itself.

    Examples
    --------
    >>> unfenced("```json\n[1, 2]\n```")
    '[1, 2]'
    """
    opening, end = _FENCE_OPENS.match(text), text.rstrip()
    if opening is None or not end.endswith("```") or len(end) - 3 < opening.end():
        return text
    return text[opening.end() : len(end) - 3].rstrip(" \t").removesuffix("\n")


def parse_exactly(text: str) -> Any:
    """As `parse_json`, with numbers beyond the range of float as `decimal.Decimal`."""
    return _decode(text, _EXACT)


def _decode(text: str, decoder: json.JSONDecoder) -> Any:
    if _scan(text) > MAX_DEPTH:
        raise JsonTooDeep(f"it is nested deeper than {MAX_DEPTH} levels")
    try:
        return decoder.decode(text)
    except RecursionError:  # most of the stack was in use already
        raise JsonTooDeep("it is nested too deeply for this place of the program") from None


def _int_or_decimal(digits: str) -> int | Decimal:
    # Python refuses to read, and to show, integers of more than 4,300 digits.
    return int(digits) if len(digits) <= 4300 else Decimal(digits)


def _float_or_decimal(digits: str) -> float | Decimal:
    number = float(digits)
    if math.isfinite(number):
        return number
    try:
        return Decimal(digits)
    except InvalidOperation:  # an exponent of 19 digits: the greatest number that there is will do
        return Decimal("1E+999999999999999999").copy_sign(Decimal(number))


def _pairs_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise JsonSyntaxError(f"the key {twice!r:.200} stands twice in one object")
    return found


_LENIENT = json.JSONDecoder(parse_int=_int_or_decimal)
_EXACT = json.JSONDecoder(parse_int=_int_or_decimal, parse_float=_float_or_decimal)
_ONCE = json.JSONDecoder(parse_int=_int_or_decimal, object_pairs_hook=_pairs_once)

# --- the grammar, without recursion ------------------------------------------------------

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING_BODY = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*'
_SCALAR = re.compile(rf'{_STRING_BODY}"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null')
_KEY = re.compile(rf'{_STRING_BODY}"')
_STRING_START = re.compile(_STRING_BODY)
_CONSTANT = re.compile(r"-?Infinity|NaN")


def _scan(text: str) -> int:
    """How deep a JSON text is nested.

    Raises
    ------
    JsonSyntaxError
        When it is not JSON.
    """
    space, scalar = _SPACE.match, _SCALAR.match
    closing: list[str] = []  # of the arrays and objects that are open
    deepest = 0
    at = _end(space(text, 0))
    while True:  # at the start of a value
        char = text[at : at + 1]
        if char in ("[", "{") and char:
            closing.append("]" if char == "[" else "}")
            deepest = max(deepest, len(closing))
            at = _end(space(text, at + 1))
            if text[at : at + 1] != closing[-1]:
                if char == "{":
                    at = _after_key(text, at)
                continue
        else:
            found = scalar(text, at)
            if found is None:
                _complain(text, at, "a value")
            at = _end(space(text, found.end()))
        while closing:  # after a value
            char = text[at : at + 1]
            if char == closing[-1]:
                closing.pop()
                at = _end(space(text, at + 1))
                continue
            if char != ",":
                _complain(text, at, f"',' or '{closing[-1]}'")
            at = _end(space(text, at + 1))
            if closing[-1] == "}":
                at = _after_key(text, at)
            break
        else:
            if at != len(text):
                _complain(text, at, "nothing more")
            return deepest


def _after_key(text: str, at: int) -> int:
    """Where the value of the key at `at` starts."""
    key = _KEY.match(text, at)
    if key is None:
        _complain(text, at, "a key in double quotes")
    at = _end(_SPACE.match(text, key.end()))
    if text[at : at + 1] != ":":
        _complain(text, at, "':'")
    return _end(_SPACE.match(text, at + 1))


def _end(match: re.Match[str] | None) -> int:
    return match.end() if match else -1


def _complain(text: str, at: int, expected: str) -> NoReturn:
    constant = _CONSTANT.match(text, at)
    if constant:
        problem = f"{constant[0]} is not JSON"
    elif text.startswith("\ufeff"):
        problem = "the text starts with a byte order mark"
    elif not text.strip(" \t\n\r"):
        raise JsonSyntaxError("the text is empty")
    elif (string := _STRING_START.match(text, at)) and '"' not in text[string.end() : string.end() + 1]:
        at = string.end()
        problem = {"": "a string is not closed", "\\": "no such escape in a string"}.get(
            text[at : at + 1], f"the control character {text[at : at + 1]!r} in a string"
        )
    else:
        problem = f"expected {expected}, found {text[at : at + 20]!r}" if at < len(text) else f"expected {expected}"
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    raise JsonSyntaxError(f"{problem} (line {line}, column {column})")


# --- values ------------------------------------------------------------------------------


class JsonFinding(NamedTuple):
    """A part of a value that JSON has no form for."""

    path: tuple[str | int, ...]
    reason: str


# Of an integer with 4,300 digits, nearly.
_SHOWN_BITS: Final = 14_000
_ATOMS: Final = frozenset({str, int, bool, type(None)})
_Trail = tuple[Any, "str | int"] | None


def find_not_json(value: object) -> JsonFinding | None:
    """The first part of `value` that JSON has no form for, or None when there is none.

    JSON are None, bools, integers, finite floats and texts; lists, and tuples, of such; and dicts from texts to such.

    Examples
    --------
    >>> find_not_json({"a": [1, (2.5, None)]}) is None
    True
    >>> find_not_json({"a": [1, {2}]})
    JsonFinding(path=('a', 1), reason='set is not a type of JSON')
    """
    open_ids: set[int] = set()
    # What was looked at is kept, so that no other object takes its id.
    done: dict[int, object] = {}
    stack: list[tuple[object, Iterator[tuple[object, object]], _Trail]] = []
    current: tuple[object, _Trail] | None = (value, None)
    while True:
        if current is not None:
            item, trail = current
            current = None
            if type(item) not in _ATOMS and id(item) not in done:
                reason = "it contains itself" if id(item) in open_ids else _reason(item)
                if reason:
                    return JsonFinding(_steps(trail), reason)
                children = _children(item)
                if children is not None:
                    open_ids.add(id(item))
                    stack.append((item, children, trail))
        if not stack:
            return None
        parent, children, trail = stack[-1]
        for key, item in children:
            if type(item) not in _ATOMS:
                current = (item, (trail, cast("str | int", key)))
                break
        else:
            stack.pop()
            open_ids.discard(id(parent))
            done[id(parent)] = parent


def _steps(trail: _Trail) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    return tuple(reversed(steps))


def _reason(item: object) -> str | None:
    if isinstance(item, float):
        return None if math.isfinite(item) else f"{float(item)!r} is not a number of JSON"
    if isinstance(item, (str, int, list, tuple)):
        return None
    if isinstance(item, Mapping):
        for key in cast("Mapping[object, object]", item):
            if not isinstance(key, str):
                return f"the key {describe(key):.100} is {type_name(key)}; keys of JSON are texts"
        return None
    return f"{type_name(item)} is not a type of JSON"


def _children(item: object) -> Iterator[tuple[object, object]] | None:
    if isinstance(item, Mapping):
        return iter(cast("Mapping[object, object]", item).items())
    if isinstance(item, (list, tuple)):
        return enumerate(cast("Sequence[object]", item))
    return None


def to_builtin(value: Any, text: Callable[[str], str] = str) -> Any:
    """JSON data in which every part is exactly a dict, list, str, int, float, bool or None, or a Decimal.

    Parameters
    ----------
    value
        What `find_not_json` finds nothing in, nested `MAX_DEPTH` levels at most.
    text
        Called with each text and each key.
    """
    whole: list[Any] = [None]
    pending: list[tuple[Any, Any, Any]] = [(value, whole, 0)]  # a value, and where to put it
    while pending:
        item, target, place = pending.pop()
        if isinstance(item, Mapping):
            named = {text(str.__str__(key)): part for key, part in cast("Mapping[str, Any]", item).items()}
            target[place] = named
            pending.extend((part, named, key) for key, part in named.items())
        elif isinstance(item, (list, tuple)):
            row = list(cast("Sequence[Any]", item))
            target[place] = row
            pending.extend((part, row, index) for index, part in enumerate(row))
        else:
            target[place] = _builtin_scalar(item, text)
    return whole[0]


def _builtin_scalar(value: Any, text: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return text(str.__str__(value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if isinstance(value, float):
        return float(value)
    return int(value) if value.bit_length() <= _SHOWN_BITS else Decimal(value)


def without_surrogates(text: str) -> str:
    """`text` with a replacement character for each half of a surrogate pair, which UTF-8 has no form for."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
