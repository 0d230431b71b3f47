"""JSON data as text that a person reads in a diff, and from which the very same data come back."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

__all__ = ["canonical", "dumps", "from_data", "to_data"]

# Python refuses to write integers of more than 4,300 digits.
_MAX_BITS = 14_000
_MAX_DEPTH = 200
_MAX_LINES = 5_000
_MAX_WIDTH = 100

# A mapping with one of these keys, and no other, stands for what JSON has no form for, or none that is easy to read.
_MARKS = frozenset({"$lines", "$escaped", "$float", "$int", "$pairs", "$literal"})

# What an editor or a terminal obeys instead of showing it; JSON has an escape for each.
_HIDDEN = re.compile("[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


def canonical(value: Any) -> str:
    """One text for all JSON data that mean the same: the order of keys does not count, nor whether 1 is written 1.0.

    Texts count as they are, Unicode's two forms of "é" apart: a model may answer them differently.

    Raises
    ------
    TypeError, ValueError
        When it is no JSON data.
    """
    return json.dumps(_Writer(canonical=True).data(value, "", 0), sort_keys=True, separators=(",", ":"))


def to_data(value: Any) -> Any:
    """`value` as data that any JSON reader reads: texts of several lines as lists of lines, the odd ones marked.

    Raises
    ------
    TypeError, ValueError
        When it is no JSON data, or nested more than 200 levels deep; the message names the place.
    """
    return _Writer(canonical=False).data(value, "", 0)


class _Writer:
    def __init__(self, *, canonical: bool) -> None:
        self._canonical = canonical

    def data(self, value: Any, place: str, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int):
            number = int(value)
            return number if number.bit_length() <= _MAX_BITS else {"$int": hex(number)}
        if isinstance(value, float):
            return self._float(float(value))
        if depth >= _MAX_DEPTH:
            raise ValueError(f"it is nested more than {_MAX_DEPTH} levels deep")
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[Any, Any]", value), place, depth)
        if isinstance(value, (list, tuple)):
            items = cast("Sequence[Any]", value)
            return [self.data(item, f"{place}[{index}]", depth + 1) for index, item in enumerate(items)]
        raise TypeError(f"{place.lstrip('.') or 'it'} is {type(value).__name__}, which JSON has no form for")

    def _text(self, text: str) -> Any:
        if not text.isascii() and not _is_utf8(text):
            return {"$escaped": text.encode("unicode_escape").decode("ascii")}
        if not self._canonical and 0 < text.count("\n") <= _MAX_LINES:
            return {"$lines": text.split("\n")}
        return text

    def _float(self, number: float) -> Any:
        if not math.isfinite(number):
            return {"$float": repr(number)}
        return int(number) if self._canonical and number.is_integer() and abs(number) < 2**53 else number

    def _mapping(self, value: Mapping[Any, Any], place: str, depth: int) -> Any:
        items: dict[str, Any] = {}
        plain = True
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{place.lstrip('.') or 'it'} has the key {key!r:.80}, expected a text")
            plain = plain and (key.isascii() or _is_utf8(key))
            items[str.__str__(key)] = self.data(item, f"{place}.{key}", depth + 1)
        if not plain:
            pairs = [[self._text(key), item] for key, item in sorted(items.items())]
            return {"$pairs": pairs}
        return {"$literal": items} if len(items) == 1 and not _MARKS.isdisjoint(items) else items


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def from_data(data: Any) -> Any:
    """The value that `to_data` made `data` of.

    Raises
    ------
    ValueError
        When a mark stands for nothing that it can stand for.
    """
    if isinstance(data, list):
        return [from_data(item) for item in cast("list[Any]", data)]
    if not isinstance(data, dict):
        return data
    given = cast("dict[str, Any]", data)
    if len(given) == 1:
        mark, inner = next(iter(given.items()))
        if mark in _MARKS:
            try:
                return _marked(mark, inner)
            except (TypeError, AttributeError, ValueError) as error:
                raise ValueError(f"{inner!r:.80} is no {mark}: {error}") from None
    return {key: from_data(item) for key, item in given.items()}


def _marked(mark: str, inner: Any) -> Any:
    if mark == "$lines":
        return "\n".join(inner)
    if mark == "$escaped":
        return inner.encode("ascii").decode("unicode_escape")
    if mark == "$float":
        return float(inner)
    if mark == "$int":
        return int(inner, 16)
    if mark == "$pairs":
        return {from_data(key): from_data(item) for key, item in inner}
    return {key: from_data(item) for key, item in inner.items()}


def dumps(data: Any) -> str:
    """JSON text of what `to_data` gives: a line for each thing that may change, and one for a list of numbers."""
    return _written(data, "")


def _written(data: Any, indent: str) -> str:
    if not isinstance(data, (dict, list)) or not data:
        return _line(data)
    if isinstance(data, list):
        items = cast("list[Any]", data)
        if all(isinstance(item, (int, float)) for item in items):
            return _line(items)
        parts = [_written(item, f"{indent}  ") for item in items]
        brackets = "[]"
    else:
        named = cast("dict[str, Any]", data)
        if not any(isinstance(item, (dict, list)) for item in named.values()):
            line = _line(named)
            if len(line) <= _MAX_WIDTH:
                return line
        parts = [f"{_line(key)}: {_written(item, f'{indent}  ')}" for key, item in named.items()]
        brackets = "{}"
    inner = ",\n".join(f"{indent}  {part}" for part in parts)
    return f"{brackets[0]}\n{inner}\n{indent}{brackets[1]}"


def _line(data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False)
    return text if text.isascii() and "\x7f" not in text else _HIDDEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
