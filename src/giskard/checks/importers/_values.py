"""The JSON values of a file, one after the other, in constant memory; what is broken does not stop the others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeAlias

from pydantic_core import from_json

from giskard.checks.importers._text import PieceByPiece

__all__ = ["WRAPPERS", "Array", "Entry", "Unread", "Value", "values_of"]

WRAPPERS = frozenset(
    {"data", "entries", "events", "examples", "hits", "instances", "items", "logs", "observations", "records"}
    | {"results", "rows", "runs", "samples", "spans", "steps", "test", "tests", "traces", "train", "validation"}
    | {"chat", "chats", "conversation", "conversations", "dialog", "dialogs", "dialogue", "dialogues", "histories"}
    | {"history", "messages", "sessions", "thread", "threads", "trace", "transcript", "transcripts", "turns"}
)
"""The keys under which exports put their list of records, or of messages."""

# What is longer is taken apart as it is read, if it is a list of records or holds one.
LONG_LIST = 1 << 20
LONG_OBJECT = 1 << 23
_LONGEST = 1 << 29

_DECODER = json.JSONDecoder()
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
# Outside of strings only these open and close values; a string ends with its line at the latest.
_WORD_END = re.compile(r"[,\]\n]")
_STRUCTURE = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"?|[\[{]+|[\]}]+|\n[ \t]*(?=[\[{])')
# What is nested more deeply is not searched for its end: the next line counts.
_DEEPEST = 100_000


@dataclass(slots=True)
class Value:
    """A value, and the line on which it begins."""

    value: Any
    line: int


@dataclass(slots=True)
class Unread:
    """Where a value should have been, and why there is none.

    Parameters
    ----------
    last
        The last line that is left out because of it.
    """

    line: int
    reason: str
    last: int | None = None


@dataclass(slots=True)
class Array:
    """A list too long to be held in memory: its items are read as they are asked for, before anything else is."""

    line: int
    items: Iterator[Value | Unread]


Entry: TypeAlias = "Value | Unread | Array"


# What the library says reads badly: by the beginning of that.
_ERRORS = {
    "Expecting value": "a value was expected",
    "Expecting property name": "a key in double quotes was expected",
    "Expecting ':'": "a colon was expected after the key",
    "Expecting ','": "a comma was expected, or the end of the list or object",
    "Invalid control character": "a text holds a line break or another control character",
    "Invalid \\escape": "a text holds a backslash that is no escape",
    "Invalid \\uXXXX": "a text holds an escape \\u without its four digits",
    "Unterminated string": "a text does not end",
    "Illegal trailing comma": "a comma stands before the end of the list or object",
}
_CUT_OFF = "cut off: it does not end"


class _Broken(Exception):
    """There is no JSON value here."""


class _TooLong(Exception):
    """A value is longer than it may be."""


def values_of(text: PieceByPiece, is_record: Callable[[Any], bool]) -> Iterator[Entry]:
    """The values that stand one after the other in a text.

    Parameters
    ----------
    is_record
        Whether an object is a record as a whole; asked with the beginning of a long one.
    """
    while text.skip_between():
        end = text.end_of_line(LONG_LIST if text.text[text.at] == "[" else LONG_OBJECT)
        if end is not None:
            piece = text.text[text.at : end]
            try:
                value = from_json(piece)
            except (ValueError, TypeError):  # the latter of what is not UTF-8
                pass
            else:
                yield Value(value, text.line)
                text.at = end
                continue
        yield from _value_at(text, is_record)
    if text.problem:
        yield Unread(text.line, f"the rest of the file could not be read ({text.problem})")


def _value_at(text: PieceByPiece, is_record: Callable[[Any], bool]) -> Iterator[Entry]:
    """What begins here and is no value on a line of its own."""
    line = text.line
    first = text.text[text.at]
    if first == "\0":
        yield from _skip_zeros(text)
    elif first == "[":
        yield Array(line, items := _items(text))
        for _ in items:  # whoever was given them may have had enough
            pass
    else:
        try:
            yield _scanned(text, LONG_OBJECT if first == "{" else _LONGEST)
        except _TooLong:
            yield from _long_object(text, is_record)
        except _Broken as problem:
            if first == "{" and _is_alone(text):
                yield from _long_object(text, is_record)  # what can be had of it
            else:
                yield _skipped_lines(text, line, str(problem))


def _is_alone(text: PieceByPiece) -> bool:
    """Whether the value that begins here seems to be all of the file: no line begins as another one would."""
    return text.line == 1 and text.text.find("\n{", text.at) < 0 and text.text.find("\n[", text.at) < 0


def _skip_zeros(text: PieceByPiece) -> Iterator[Unread]:
    line = text.line
    while text.at < len(text.text) and text.text[text.at] == "\0":
        rest = text.text[text.at :].lstrip("\0")
        text.at = len(text.text) - len(rest)
        if not rest:
            text.more()
    yield Unread(line, "NUL bytes where a value should be")


def _skipped_lines(text: PieceByPiece, line: int, reason: str) -> Unread:
    """Go to the next line on which a value may begin: what is indented, or closes something, is part of this one."""
    while text.skip_line():
        if text.at == len(text.text) and not text.more():
            break
        if text.text[text.at] in "[{\0":
            break
    return Unread(line, reason, max(line, text.line - 1))


def _scanned(text: PieceByPiece, longest: int) -> Value:
    """The value that begins here, however many lines it has.

    Raises
    ------
    _Broken
        When there is none; `text` is where it was.
    _TooLong
        When it does not end within `longest` characters.
    """
    while True:
        try:
            value, end = _DECODER.raw_decode(text.text, text.at)
        except json.JSONDecodeError as error:
            if _may_go_on(error, text):
                if len(text.text) - text.at > longest:
                    raise _TooLong from None
                text.more()
                continue
            if error.pos - text.at > longest:  # however much of it was in memory when that was seen
                raise _TooLong from None
            raise _Broken(_reason(error, text)) from None
        except RecursionError:
            raise _Broken("nested too deeply to be read") from None
        except ValueError as error:  # a number of thousands of digits
            raise _Broken(f"not readable: {error}".partition(";")[0]) from None
        if end == len(text.text) and not text.ended and not isinstance(value, (dict, list, str)):
            text.more()  # a number may go on
            continue
        if _NOT_UTF8.search(text.text, text.at, end):
            raise _Broken(_not_utf8(text.text[text.at : end]))
        found = Value(value, text.line)
        text.go_to(end)
        return found


def _may_go_on(error: json.JSONDecodeError, text: PieceByPiece) -> bool:
    """Whether more text may make a value of it: it failed where the text in memory ends."""
    return not text.ended and (error.msg.startswith("Unterminated string") or error.pos >= len(text.text) - 16)


def _reason(error: json.JSONDecodeError, text: PieceByPiece) -> str:
    piece = text.text[text.at : error.pos + 1]
    if _NOT_UTF8.search(piece):
        return _not_utf8(piece)
    if text.ended and (error.pos >= len(text.text.rstrip()) or error.msg.startswith("Unterminated string")):
        return _CUT_OFF if piece.lstrip()[:1] in ("{", "[") else f"not JSON: {_said(error)}"
    if "\0" in piece:
        return "not JSON: it holds NUL bytes"
    lines = piece.count("\n")
    where = f"on line {text.line + lines}" if lines else f"at character {error.pos - text.at + 1}"
    return f"not JSON: {_said(error)}, {where}"


def _said(error: json.JSONDecodeError) -> str:
    return next((said for begins, said in _ERRORS.items() if error.msg.startswith(begins)), error.msg)


def _not_utf8(piece: str) -> str:
    match = _NOT_UTF8.search(piece)
    byte = ord(match.group()) - 0xDC00 if match else 0
    return f"not UTF-8: it holds the byte 0x{byte:02x}; say how it was written, encoding='cp1252' say"


# --- lists ---------------------------------------------------------------------------


def _items(text: PieceByPiece) -> Iterator[Value | Unread]:
    """The items of the list that begins here; afterwards `text` is behind it, or at the end."""
    opened = text.line
    text.at += 1
    while text.skip_between():
        if text.text[text.at] == "]":
            text.at += 1
            return
        line = text.line
        indent = _indent_before(text)
        try:
            yield _scanned(text, _LONGEST)
            continue
        except _TooLong:
            reason = f"longer than {_LONGEST:,} characters"
        except _Broken as problem:
            reason = str(problem)
        if not _at_next_item(text, indent):
            yield Unread(line, f"{reason}; nothing of the list was read from here on")
            while text.skip_line():
                pass
            return
        yield Unread(line, reason, max(line, text.line - 1))
    yield Unread(text.line, f"cut off: the list that begins on line {opened} does not end")


def _at_next_item(text: PieceByPiece, indent: str | None) -> bool:
    """Go behind a broken item: where its brackets are closed, or to a line that begins as the item did."""
    if text.text[text.at] not in "[{":
        return _behind_word(text)
    depth = 0
    while True:
        match = _STRUCTURE.search(text.text, text.at)
        is_cut = match is not None and match.end() >= len(text.text) - 1 and match.group()[0] not in "[]{}"
        if match is None or (is_cut and not text.ended):
            end = match.start() if match else max(text.at, len(text.text.rstrip(" \t\n")))
            if match and end == text.at and len(text.text) - text.at > _LONGEST:
                return False
            text.go_to(end)
            if not text.more():
                return False
            continue
        token = match.group()
        if token[0] == "\n" and (depth == 0 or token[1:] != indent):
            text.go_to(match.end())
            continue
        if token[0] in "]}" and len(token) > depth:
            text.go_to(match.start() + depth)
        else:
            text.go_to(match.end())
        if token[0] == "\n":
            return True
        depth += len(token) if token[0] in "[{" else -min(len(token), depth) if token[0] in "]}" else 0
        if depth > _DEEPEST:
            return _at_line(text, indent or "")
        if depth == 0:
            return text.skip_between() and text.text[text.at] in "[]{"


def _at_line(text: PieceByPiece, indent: str) -> bool:
    """Go to the next line on which a list or an object begins after this indent; whether there is one."""
    while text.skip_line():
        while len(text.text) - text.at <= len(indent) and text.more():
            pass
        end = text.at + len(indent)
        if text.text.startswith(indent, text.at) and text.text[end : end + 1] in ("[", "{"):
            text.at = end
            return True
    return False


def _indent_before(text: PieceByPiece) -> str | None:
    """What stands before the value on its line, when that is only spaces."""
    _, feed, before = text.skipped.rpartition("\n")
    return before if feed and not before.strip(" \t") else None


def _behind_word(text: PieceByPiece) -> bool:
    while True:
        match = _WORD_END.search(text.text, text.at + 1)
        if match:
            text.go_to(match.start())
            return text.skip_between()
        text.go_to(len(text.text) - 1)
        if not text.more():
            return False


# --- long objects --------------------------------------------------------------------


def _long_object(text: PieceByPiece, is_record: Callable[[Any], bool]) -> Iterator[Entry]:
    """An object that is too long to be taken for a record unseen: the list of records that it holds, or itself."""
    line = text.line
    found: dict[str, Any] = {}
    unwrapped = False
    try:
        text.at += 1
        while text.skip_between():
            if text.text[text.at] == "}":
                text.at += 1
                break
            key = _scanned(text, _LONGEST).value
            if not isinstance(key, str) or not text.skip_between() or text.text[text.at] != ":":
                raise _Broken("not JSON: a key and a colon were expected")
            text.at += 1
            if not text.skip_between():
                raise _Broken(_CUT_OFF)
            if key in WRAPPERS and text.text[text.at] == "[" and not unwrapped:
                items = _items(text)
                head = list(islice(items, _HEAD))
                shown = [item.value for item in head if isinstance(item, Value)]
                if not is_record({**found, key: shown}):
                    unwrapped = True
                    yield Array(line, both := chain(head, items))
                    for _ in both:
                        pass
                    continue
                found[key] = [item.value for item in chain(head, items) if isinstance(item, Value)]
            else:
                found[key] = _scanned(text, _LONGEST).value
        else:
            raise _Broken(_CUT_OFF)
    except (_Broken, _TooLong) as problem:
        yield _skipped_lines(text, text.line if unwrapped else line, str(problem) or "too long")
        return
    if not unwrapped:
        yield Value(found, line)


_HEAD = 20


def as_array(value: list[Any], line: int) -> Array:
    """A list that is in memory, as one that is read piece by piece."""
    return Array(line, (Value(item, line) for item in value))
