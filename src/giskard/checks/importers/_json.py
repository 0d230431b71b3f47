"""JSON text to values, whatever wrote it."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

__all__ = ["json_or_text", "loads"]


def loads(text: str | bytes) -> Any:
    """The value that JSON `text` stands for.

    What the fast parser refuses is given to the lenient one of the standard library, which reads lone surrogates too.

    Raises
    ------
    ValueError
        When it is not JSON, or is nested deeper than either of them reads.
    """
    try:
        return from_json(text, allow_inf_nan=True)
    except (ValueError, TypeError):  # the latter of a text with halves of surrogate pairs
        pass
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


def json_or_text(value: Any) -> Any:
    """What a text holds when it is JSON, the text itself when it is not; other values as they are."""
    if type(value) is not str:
        return value
    try:
        return loads(value)
    except ValueError:
        return value
