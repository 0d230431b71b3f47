"""What the cells of a table say: data in JSON, conversations written down as text, labels of several languages."""

from __future__ import annotations

import ast
import base64
import contextlib
import re
import warnings
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, Final, cast

from giskard.checks.importers._json import loads
from giskard.checks.importers._lenient import number
from giskard.checks.importers._messages import Message, Role

__all__ = [
    "LabelColumn",
    "are_messages",
    "data_in",
    "number_in",
    "object_in",
    "speaker",
    "transcript",
    "value_of",
]

# Longer ones are data that nobody wrote by hand; Python's own parser would take long for them.
_LONGEST_LITERAL: Final = 100_000

# --- values ------------------------------------------------------------------------------


def value_of(cell: Any) -> Any:
    """A cell as plain data; None when it is empty: blank text, not a number."""
    if isinstance(cell, str):
        return None if not cell or cell.isspace() else cell
    if isinstance(cell, float):
        return cell if isfinite(cell) else None
    if isinstance(cell, dict):
        fields = cast("dict[Any, Any]", cell)
        return {str(name): kept for name, value in fields.items() if (kept := _within(value)) is not None}
    if isinstance(cell, list | tuple):
        return [_within(item) for item in cast("Sequence[Any]", cell)]
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    if isinstance(cell, Decimal):
        return float(cell) if cell.is_finite() else None
    if isinstance(cell, bytes):
        return _decoded(cell)
    return cell


def _within(value: Any) -> Any:
    """A value inside a cell: there, an empty text is one."""
    return value if isinstance(value, str) else value_of(value)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(data).decode("ascii")


def object_in(cell: Any) -> Any:
    """A cell whose text is a JSON object, or a list of them, as that; others as they are: ``[1]`` is a footnote."""
    text = _brackets(cell)
    if text is None:
        return cell
    try:
        found: Any = loads(text)
    except ValueError:
        return cell
    is_other_list = isinstance(found, list) and not _all_objects(cast("list[Any]", found))
    return cell if is_other_list else cast("Any", found)


def data_in(cell: Any) -> Any:
    """A cell whose text is a JSON object or list as that; also as Python writes them, which is what pandas does."""
    text = _brackets(cell)
    for parse in () if text is None else (loads, _literal):
        with contextlib.suppress(ValueError):
            return parse(cast("str", text))
    return cell


def _all_objects(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) for item in items)


def _brackets(cell: Any) -> str | None:
    """The text of a cell, when it stands in brackets or braces as an object or a list does."""
    if type(cell) is not str or cell[-1:] not in _CLOSINGS:
        return None
    text = cell.strip()
    return text if text.startswith(("{", "[")) and text.endswith(("}", "]")) else None


# What may stand at the end of an object or a list, with the blanks behind it.
_CLOSINGS: Final = frozenset("}] \t\r\n")


def _literal(text: str) -> Any:
    if len(text) > _LONGEST_LITERAL:
        raise ValueError("too long")
    try:
        with warnings.catch_warnings():  # of odd escapes, which nobody who reads a table can do anything about
            warnings.simplefilter("ignore")
            found = ast.literal_eval(text)
    except (SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError("no literal") from None
    if not isinstance(found, list | dict):
        raise ValueError("no list, and no object")
    return value_of(found)


def number_in(cell: Any) -> float | None:
    """The number that a cell is or writes, with a point for the fraction."""
    if isinstance(cell, str) and _NUMBER.fullmatch(cell.strip()):
        text = cell.strip()
        try:
            return number(float(text) if _FRACTION.search(text) else int(text))
        except ValueError:  # more digits than Python reads
            return None
    return number(cell)


# No leading zeros: those are of ids and codes.
_NUMBER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?")
_FRACTION: Final = re.compile("[.eE]")

# --- conversations -----------------------------------------------------------------------

_SPEAKERS: Final[dict[str, Role]] = {
    **dict.fromkeys(("user", "human", "customer", "client", "caller", "visitor", "patient", "student"), "user"),
    **dict.fromkeys(
        ("assistant", "agent", "bot", "ai", "model", "chatbot", "gpt", "llm", "support", "advisor", "representative"),
        "assistant",
    ),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "observation"), "tool"),
}
_NAMES: Final = "|".join(_SPEAKERS)
_SPOKEN: Final = re.compile(rf"(?:^|(?:\r\n|\r|\n)[ \t]*|[ \t]\|[ \t]*)\**({_NAMES})\**[ \t]*:\**[ \t]*", re.IGNORECASE)


def speaker(name: Any) -> Role | None:
    """The role of whoever is called `name`, None when the name does not tell."""
    return _SPEAKERS.get(name.strip().lower()) if isinstance(name, str) else None


def transcript(text: str) -> list[Message] | None:
    """The messages of a conversation written down as ``USER: ... | AGENT: ...``, or line by line; None for others."""
    text = text.strip()
    marks = list(_SPOKEN.finditer(text))
    if not marks or marks[0].start():
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    said = [
        Message(_SPEAKERS[mark[1].lower()], text[mark.end() : end].strip() or None)
        for mark, end in zip(marks, ends, strict=True)
    ]
    return said if any(message.role != "system" for message in said) else None


def are_messages(value: Any) -> bool:
    """Whether a value is a list of messages, in whichever format."""
    if not isinstance(value, list) or not value:
        return False
    return all(_is_message(item) for item in cast("list[Any]", value)[:20])


def _is_message(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    message = cast("Mapping[str, Any]", item)
    if isinstance(message.get("role") or message.get("from"), str):
        return bool(message.keys() & {"content", "value", "parts", "tool_calls", "function_call"})
    return isinstance(message.get("type"), str) and bool(message.keys() & {"content", "data", "call_id", "summary"})


# --- labels ------------------------------------------------------------------------------

_LANGUAGES: Final[tuple[dict[str, bool], ...]] = tuple(
    {yes: True, no: False}
    for yes, no in (
        ("pass", "fail"),
        ("passed", "failed"),
        ("true", "false"),
        ("yes", "no"),
        ("y", "n"),
        ("correct", "incorrect"),
    )
)


class LabelColumn:
    """Learns from all the labels of a column what each of them means.

    Labels that are all of one pair, such as ``pass`` and ``fail``, are read as booleans, and so are ``1`` and ``0``
    when both are there; labels that are all numbers are read as numbers.  Others stay as they are.
    """

    def __init__(self) -> None:
        self._languages = list(_LANGUAGES)
        self._numbers: set[float] | None = set()  # None when one is none; more than a few need not be told apart

    def learn(self, label: Any) -> None:
        """See a label of the column; None is a missing one."""
        if label is None or isinstance(label, bool):
            return
        text = str(label).strip().lower()
        self._languages = [language for language in self._languages if text in language]
        if self._numbers is not None:
            number = number_in(label)
            if number is None:
                self._numbers = None
            elif len(self._numbers) < 3:
                self._numbers.add(number)

    def read(self, label: Any) -> Any:
        """What a label means."""
        if label is None or isinstance(label, bool):
            return label
        if len(self._languages) == 1:
            return self._languages[0].get(str(label).strip().lower(), label)
        if self._numbers is None:
            return label
        number = number_in(label)
        return bool(number) if self._numbers == {0, 1} else number
