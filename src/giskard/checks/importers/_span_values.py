"""Values of any type, read without raising: a log seldom holds what its format says."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from giskard.checks.importers._json import json_or_text

__all__ = [
    "as_list",
    "as_number",
    "as_object",
    "as_text",
    "counts",
    "first",
    "iso",
    "literal",
    "nanoseconds",
    "structured",
]

_LONGEST_LITERAL = 200_000  # characters; the parser of Python takes a hundred times as much memory
_OPENINGS = ("{", "[")


def as_object(value: Any) -> dict[str, Any]:
    """`value` when it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """`value` when it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """A name or an id without the blanks around it; None when `value` is none."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, int) and not isinstance(value, bool) and -(10**40) < value < 10**40:
        return str(value)
    return None


def as_number(value: Any) -> int | float | None:
    """`value` when it is a finite number or the text of one, else None."""
    if isinstance(value, str):
        try:
            value = int(value) if len(value) < 40 and value.strip().lstrip("-").isdecimal() else float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # an integer that is longer than any count
        return None


def first(source: Mapping[str, Any], *names: str) -> Any:
    """What stands under the first of `names` that is there and not null."""
    for name in names:
        value = source.get(name)
        if value is not None:
            return value
    return None


def counts(source: Mapping[str, Any], names: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The numbers of `source` under our names.

    Parameters
    ----------
    names
        Our name -> how it may be spelt there; the first that holds a number is taken.
    """
    found: dict[str, Any] = {}
    for name, spellings in names.items():
        for spelling in spellings:
            if spelling in source and (number := as_number(source[spelling])) is not None:
                found[name] = number
                break
    return found


def structured(value: Any) -> Any:
    """The object or list whose JSON text `value` is; all else as it is, numbers in quotes too."""
    if isinstance(value, str) and value.lstrip()[:1] in _OPENINGS and value.strip():
        parsed = json_or_text(value)
        return cast("Any", parsed) if isinstance(parsed, dict | list) else value
    return value


def literal(value: Any) -> Any:
    """As `structured`; the text may be the ``repr`` of a Python object or list too."""
    parsed = structured(value)
    if not isinstance(parsed, str) or parsed.lstrip()[:1] not in _OPENINGS or len(parsed) > _LONGEST_LITERAL:
        return parsed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know
            found: Any = ast.literal_eval(parsed.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value
    return cast("Any", found) if isinstance(found, dict | list) else value


def nanoseconds(value: Any) -> int | None:
    """Since 1970: of a count of them, of seconds, or of ISO 8601, UTC when it names no zone; None for all else."""
    number = as_number(value)
    if number is not None:
        if number <= 0:
            return None
        # Seconds until the year 5138, then milliseconds, microseconds, nanoseconds.
        for limit, factor in ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3)):
            if number < limit:
                return round(number * factor)
        return int(number)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    found = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
    return found if found > 0 else None  # what was never set is in the year 1, or in 1970


def iso(moment: int | None) -> str | None:
    """ISO 8601 of nanoseconds since 1970."""
    if moment is None:
        return None
    try:
        return datetime.fromtimestamp(moment // 10**9, UTC).replace(microsecond=moment % 10**9 // 1000).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
