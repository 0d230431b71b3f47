"""JSON texts of many values at once, a column of them at a time.

What is done for a column as a whole costs a fraction of what the same costs value by value.  A column that holds
nothing but texts, say, is known by one look at the types in it, and one call quotes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice, repeat
from json.encoder import encode_basestring
from math import isfinite
from types import NoneType
from typing import Any, Final

from pydantic_core import to_json

from giskard.checks.utils.frozen import FrozenDict
from giskard.checks.utils.json_safe import holds_odd_numbers, is_utf8, json_data, json_safe

__all__ = [
    "Column",
    "Texts",
    "Unusual",
    "are_atoms",
    "atoms",
    "data_text",
    "flat",
    "joined",
    "objects",
    "only",
    "or_null",
    "regrouped",
    "values",
    "whole",
]

Column = Sequence[Any]
Texts = Sequence[str]

_type_of: Callable[[Any], type[Any]] = type
_quoted = encode_basestring


class Unusual(Exception):
    """Something is not written here, and has to be left to pydantic."""


def joined(*parts: str | Sequence[str]) -> list[str]:
    """One text for each place of the columns among `parts`; a text among them stands in all of them."""
    return list(map("".join, zip(*[repeat(part) if type(part) is str else part for part in parts])))  # noqa: B905


def flat(groups: Iterable[Iterable[Any]]) -> list[Any]:
    """All that is in `groups`."""
    return list(chain.from_iterable(groups))


def regrouped(texts: Texts, counts: Sequence[int]) -> list[str]:
    """Arrays of `texts`: the first ``counts[0]`` of them in the first, and so on."""
    if counts and counts.count(1) == len(counts):  # most have one
        return joined("[", texts, "]")
    rest = iter(texts)
    return [f"[{','.join(islice(rest, count))}]" for count in counts]


def data_text(data: Any) -> str:
    """Models, or JSON data, that pydantic writes."""
    text = to_json(data)
    if holds_odd_numbers(text):
        raise Unusual
    return text.decode()


def or_null(column: Column, kind: type[Any]) -> list[str]:
    """Models of exactly one class, or None."""
    only(column, kind, NoneType)
    return ["null" if value is None else data_text(value) for value in column]


def only(column: Column, *kinds: type[Any]) -> None:
    """Raise `Unusual` unless all values are of exactly these types."""
    if not set(map(_type_of, column)).issubset(kinds):
        raise Unusual


def whole(column: Column) -> list[str]:
    """Whole numbers and None; pydantic writes a flag in their place as a number."""
    only(column, int, NoneType)
    return atoms(column)


def are_atoms(column: Column) -> bool:
    """Whether there is nothing but texts, numbers, flags and None."""
    return set(map(_type_of, column)) <= _COLUMNS.keys()


def atoms(column: Column) -> list[str]:
    """Texts, numbers, flags and None.

    Raises
    ------
    Exception
        When there is anything else, or a number that JSON has no form for.
    """
    kinds = set(map(_type_of, column))
    if len(kinds) == 1:
        return _COLUMNS[kinds.pop()](column)
    return [_COLUMNS[type(value)]([value])[0] for value in column]


def values(column: Column, depth: int = 0) -> list[str]:
    """Any values, as `json_safe` has them.

    Parameters
    ----------
    depth
        How many levels of a recorded value they lie below.
    """
    kinds = set(map(_type_of, column))
    try:
        if kinds <= _COLUMNS.keys():
            return atoms(column)
        if kinds <= _DICTS and not any(column):
            return ["{}"] * len(column)
        if kinds <= _DICTS and len(column) >= _LEAST_ROWS and (rows := _alike(column)) is not None:
            return objects(rows)
    except (KeyError, Unusual):  # one holds what is no atom, or what JSON has no form for
        pass
    return [_value(value, depth) for value in column]


def objects(columns: Mapping[str, Column]) -> list[str]:
    """JSON objects of atoms, out of a column for each key, of which there is one."""
    if not columns:
        raise Unusual
    parts: list[str | Sequence[str]] = []
    for key, column in columns.items():
        parts += [f"{',' if parts else '{'}{_texts([key])[0]}:", atoms(column)]
    return joined(*parts, "}")


def _alike(rows: Sequence[dict[Any, Any]]) -> dict[str, Column] | None:
    """The columns of dicts that all have the same few keys, in the same order; None when they have not."""
    if not 0 < len(rows[0]) <= _MOST_KEYS or len(set(map(tuple, rows))) > 1:
        return None
    if set(map(_type_of, chain.from_iterable(rows))) != _TEXT:  # a member of an enum may equal a text
        return None
    return dict(zip(rows[0], zip(*[row.values() for row in rows], strict=True), strict=True))


def _value(value: Any, depth: int) -> str:
    try:
        return data_text(json_data(value, depth))
    except Exception:  # half of a surrogate pair, or a number that JSON has no form for
        return to_json(json_safe(value, depth)).decode()


def _texts(column: Column) -> list[str]:
    first, count = column[0], len(column)
    if column.count(first) == count:  # the same in all
        column = [first]
    if not is_utf8("".join(column)):
        raise Unusual
    return list(map(_quoted, column)) if len(column) > 1 else [_quoted(first)] * count


def _nulls(column: Column) -> list[str]:
    return ["null"] * len(column)


def _flags(column: Column) -> list[str]:
    return ["true" if value else "false" for value in column]


def _integers(column: Column) -> list[str]:
    if max(column) < _HUGE and min(column) > -_HUGE:
        return list(map(repr, column))
    raise Unusual


def _numbers(column: Column) -> list[str]:
    if all(map(isfinite, column)):
        return to_json(list(column)).decode()[1:-1].split(",")  # whose exponents are not written as Python's
    raise Unusual


_HUGE: Final = 10**3_000
_COLUMNS: Final[dict[type[Any], Callable[[Column], list[str]]]] = {
    str: _texts,
    NoneType: _nulls,
    bool: _flags,
    int: _integers,
    float: _numbers,
}
_TEXT: Final[set[type[Any]]] = {str}
_DICTS: Final[set[type[Any]]] = {dict, FrozenDict}
# Dicts of more items are written by pydantic at less cost, and so are fewer dicts.
_MOST_KEYS: Final = 10
_LEAST_ROWS: Final = 4
