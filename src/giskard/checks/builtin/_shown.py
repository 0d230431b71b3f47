"""Values in messages: enough of them to be recognised, never a whole document."""

from __future__ import annotations

from collections.abc import Sequence

from giskard.checks.utils.frozen import type_name
from giskard.checks.utils.json_safe import describe
from giskard.checks.utils.plain import SCALARS

__all__ = ["json_path", "shown", "type_name"]

_LONGEST = 200
# Python refuses to show integers of more than 4,300 digits.
_LONG_NUMBER = 10**100


def shown(value: object) -> str:
    """The ``repr`` of `value`, cut after 200 characters with a note of what was cut; it never raises.

    Examples
    --------
    >>> shown({"fee": 3.0})
    "{'fee': 3.0}"
    >>> shown("ab" * 50_000)[-26:]
    "bab'… (100,000 characters)"
    """
    kind = type(value)
    if kind is str:
        if len(value) <= _LONGEST:  # type: ignore[arg-type]
            return repr(value)
        return f"{value[:_LONGEST]!r}… ({len(value):,} characters)"  # type: ignore[index]
    if kind in SCALARS and (kind is not int or -_LONG_NUMBER < value < _LONG_NUMBER):  # type: ignore[operator]
        return repr(value)
    text = describe(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({type_name(value)})"


def json_path(steps: Sequence[str | int]) -> str:
    """A place in JSON data, as a JSONPath from its root.

    Examples
    --------
    >>> json_path(["items", 0, "unit price"])
    "$.items[0]['unit price']"
    """
    parts = [
        f"[{step}]" if isinstance(step, int) else f".{step}" if step.isidentifier() else f"[{step!r}]" for step in steps
    ]
    return "$" + "".join(parts)
