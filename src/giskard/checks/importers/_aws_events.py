"""Streams in Amazon's binary form of events, in which Bedrock answers."""

from __future__ import annotations

import base64
import struct
from typing import Any, Final

from giskard.checks.importers._json import loads
from giskard.checks.importers._lenient import mapping

__all__ = ["aws_events"]

# An event: two lengths and a checksum, headers, the data, a checksum.
_PRELUDE: Final = 12
_CHECKSUM: Final = 4
# The sizes of the values of headers, by their type; None for those that begin with their length.
_SIZES: Final = (0, 0, 1, 2, 4, 8, None, None, 8, 16)
_TEXT: Final = 7


def aws_events(data: bytes) -> list[Any] | None:
    """The events of a stream, each an object whose key says what it is; None when it is none.

    What Bedrock only passes on, such as Anthropic's own events, is taken out of its wrapping.  Of a stream that is cut
    off, there are the events before that.
    """
    if b":event-type" not in data[:400]:
        return None
    events: list[Any] = []
    at = 0
    while at + _PRELUDE + _CHECKSUM <= len(data):
        length, headers = struct.unpack_from(">II", data, at)
        start, end = at + _PRELUDE + headers, at + length - _CHECKSUM
        if not at + _PRELUDE <= start <= end <= len(data) - _CHECKSUM:
            break
        kind = _event_type(data[at + _PRELUDE : start])
        try:
            value: Any = loads(data[start:end]) if start < end else {}
            packed = mapping(value).get("bytes")
            events.append(loads(base64.b64decode(packed)) if isinstance(packed, str) else {kind: value})
        except ValueError:
            pass  # an event that is no JSON says nothing of the answer
        at += length
    return events or None


def _event_type(headers: bytes) -> str:
    at = 0
    try:
        while at < len(headers):
            name = headers[at + 1 : at + 1 + headers[at]]
            at += 1 + len(name)
            kind, at = headers[at], at + 1
            size = _SIZES[kind]
            if size is None:
                size = int.from_bytes(headers[at : at + 2], "big")
                at += 2
            if name == b":event-type" and kind == _TEXT:
                return headers[at : at + size].decode("utf-8", "replace")
            at += size
    except IndexError:  # headers that are cut off
        pass
    return ""
