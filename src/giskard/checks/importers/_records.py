"""The records of a JSON file, and which format each is of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, cast

from giskard.checks.importers._detection import Detector
from giskard.checks.importers._values import Array, Entry, Unread, Value, as_array
from giskard.checks.importers.base import Format, Record

__all__ = ["Found", "recognised"]

# How many values are looked at to tell a list of records from a conversation.
_HEAD = 20

Found = tuple[Record, Format | None]
"""A record, and its format when that was recognised."""


def recognised(entries: Iterator[Entry], path: str | None, detector: Detector) -> Iterator[Found | Unread]:
    """The records that the values of a file are or hold.

    A list is one record when a format knows it as a conversation, else its items are the records; so is a file whose
    values are messages.  Of an object that is no record, the list of records or the record that it wraps is taken.
    """
    head = list(islice(entries, 1))
    while head and isinstance(head[-1], (Value, Unread)) and len(head) < _HEAD:
        following = next(entries, None)
        if following is None:
            break
        head.append(following)
    entries = chain(head, entries)
    items = [entry.value for entry in head if isinstance(entry, Value)]
    if len(items) > 1 and len(items) + sum(isinstance(entry, Unread) for entry in head) == len(head):
        format, is_whole = detector.of_list(items)
        if is_whole:
            yield from _as_one(_flat(entries), path, format, items)
            return
    yield from _each(entries, path, detector, 3)


def _each(entries: Iterator[Entry], path: str | None, detector: Detector, depth: int) -> Iterator[Found | Unread]:
    detect = detector.of
    for entry in entries:
        if type(entry) is Value:
            value = entry.value
            format = detect(value)
            if format is not None:
                yield Record(value, path, entry.line), format
            elif isinstance(value, list) and depth:
                yield from _of_array(as_array(cast("list[Any]", value), entry.line), path, detector, depth - 1)
            else:
                yield from _of_other(entry, path, detector, depth)
        elif isinstance(entry, Array):
            yield from _of_array(entry, path, detector, depth - 1)
        else:
            yield cast("Unread", entry)


def _of_array(array: Array, path: str | None, detector: Detector, depth: int) -> Iterator[Found | Unread]:
    head = list(islice(array.items, _HEAD))
    items = [entry.value for entry in head if isinstance(entry, Value)]
    format, is_whole = detector.of_list(items)
    entries = cast("Iterator[Value | Unread]", chain(head, array.items))
    if is_whole:
        yield from _as_one(entries, path, format, items, array.line)
    else:
        yield from _each(cast("Iterator[Entry]", entries), path, detector, depth)


def _of_other(entry: Value, path: str | None, detector: Detector, depth: int) -> Iterator[Found | Unread]:
    """A value that is no record: what it wraps, or itself."""
    inside = detector.inside(entry.value) if depth else None
    if isinstance(inside, list):
        yield from _of_array(as_array(cast("list[Any]", inside), entry.line), path, detector, depth - 1)
    elif inside is not None:
        yield Record(inside, path, entry.line), detector.of(inside)
    else:
        yield Record(entry.value, path, entry.line), detector.only


def _as_one(
    entries: Iterable[Value | Unread],
    path: str | None,
    format: Format | None,
    items: list[Any],
    line: int | None = None,
) -> Iterator[Found | Unread]:
    """All values as one list: they are the messages of a conversation."""
    values: list[Any] = []
    for entry in entries:
        if isinstance(entry, Unread):
            yield entry
        else:
            line = line or entry.line
            values.append(entry.value)
    yield Record(values, path, line), format


def _flat(entries: Iterable[Entry]) -> Iterator[Value | Unread]:
    for entry in entries:
        if isinstance(entry, Array):
            yield from entry.items
        else:
            yield entry
