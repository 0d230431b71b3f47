"""Text from outside, made fit to be read: hidden characters shown, long texts cut, any value as a text."""

from __future__ import annotations

import functools
import re
from typing import Any

from giskard.checks.utils.json_safe import describe, json_safe
from giskard.checks.utils.lazy import json

__all__ = ["EVENT_LINE_END", "INVISIBLE", "cut", "plain_text", "quoted", "short_number", "visible"]

EVENT_LINE_END = re.compile(r"\r\n|\n|\r")
"""The ends of lines in a stream of server-sent events; JSON may hold what else Python takes for one, such as U+2028."""

INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+")
"""Characters without a width, which hide a word from whoever searches the text for it."""


# What a terminal, a browser or an XML reader obeys, drops or refuses instead of showing it: control characters
# but line feed and tab, marks that change the direction of the text, characters without a width, line separators
# that are none, surrogates, non-characters.  The joiners of emoji and of Persian (U+200C, U+200D) stay.
_RANGES = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f"
)
_NON_CHARACTERS = "".join(chr(plane << 16 | low) for plane in range(1, 17) for low in (0xFFFE, 0xFFFF))
_HIDDEN = re.compile(f"[{_RANGES}{_NON_CHARACTERS}]")


def visible(text: str) -> str:
    r"""`text` in which each hidden character is written as in a Python literal: ``\x1b``, ``\u202e``.

    Line feeds and tabs stay; the line ends of Windows become line feeds.
    """
    if text.replace("\n", " ").isprintable():  # none of them is
        return text
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return _HIDDEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def cut(text: str, limit: int) -> str:
    """`text`, or its beginning and its end with a note of how much was left out between them.

    Parameters
    ----------
    limit
        How many characters are kept.
    """
    if len(text) <= limit:
        return text
    tail = limit // 4
    end = text[len(text) - tail :]
    return f"{text[: limit - tail]} … [{len(text) - limit:,} of {len(text):,} characters cut] … {end}"


def short_number(number: float) -> str:
    """A number to six digits."""
    try:
        return f"{number:g}"
    except Exception:  # an integer beyond the range of float; whatever a result holds that was made without validation
        return cut(describe(number), 40)


def plain_text(value: Any) -> str:
    """Any value as a text: a text as it is, data as JSON, other objects by their repr; never an exception."""
    if isinstance(value, str):
        return str.__str__(value)
    written = _json(value)
    if written.startswith('"'):  # an object that is known by its repr
        return _opaque(value)
    return written


def quoted(value: Any) -> str:
    """As `plain_text`, but a text stands in quotes, so that its type and its spaces can be seen."""
    return _json(str.__str__(value)) if isinstance(value, str) else plain_text(value)


def _json(value: Any) -> str:
    try:
        return _dumps(value)
    except Exception:  # whatever a broken object does, the report goes on
        pass
    try:
        return _dumps(json_safe(value))
    except Exception:  # too deep even for that
        return describe(value)


def _opaque(value: object) -> str:
    safe = json_safe(value)
    return str(safe["$text"]) if isinstance(safe, dict) and "$text" in safe else str(safe)  # pyright: ignore


def _default(value: object) -> Any:
    safe = json_safe(value)
    return _opaque(value) if isinstance(safe, dict) and safe.keys() == {"$type", "$text"} else safe  # pyright: ignore


@functools.cache
def _encoder() -> Any:
    return json.JSONEncoder(ensure_ascii=False, default=_default)


def _dumps(value: Any) -> str:
    return _encoder().encode(value)
