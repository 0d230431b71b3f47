"""Bodies of recorded requests and responses: unpacked, decoded, as JSON or text."""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from collections.abc import Mapping
from typing import Any, Final, cast

from giskard.checks.importers._aws_events import aws_events
from giskard.checks.importers._json import loads
from giskard.checks.importers._lenient import mapping, text
from giskard.checks.importers._yaml import LINE

__all__ = ["BadBody", "data_of", "header"]

# A body that unpacks to more was made to harm.
_LARGEST: Final = 256 * 1024 * 1024
# The keys of an object that holds a body, of vcrpy, Ruby's VCR and HAR.
_HOLDERS: Final = frozenset(
    {"string", "base64_string", "base64", "text", "encoding", "mimeType", "size", "params", "compression", LINE}
)
_GZIP: Final = b"\x1f\x8b"
_GZIP_IN_BASE64: Final = "H4sI"


class BadBody(ValueError):
    """A body cannot be read; the message says why."""


def data_of(body: Any, encoding: str | None) -> Any:
    """What a recorded body holds.

    Parameters
    ----------
    body
        A text, bytes, an object that holds one of them (``string``, ``base64_string``, ``text``), or data.
    encoding
        The header ``content-encoding``; many recorders have unpacked the body already.

    Returns
    -------
    Any
        JSON data where it is some, else the text or the bytes; None for no body.

    Raises
    ------
    BadBody
        When it cannot be unpacked.
    """
    found = _raw(body)
    if isinstance(found, str) and found.startswith(_GZIP_IN_BASE64):
        found = _from_base64(found)
    if isinstance(found, bytes):
        found = _unpacked(found, (encoding or "").strip().lower())
        found = aws_events(found) or _text(found)
    if not isinstance(found, str):
        return found
    if not found.strip():
        return None
    try:
        return loads(found)
    except ValueError:
        return found


def _raw(body: Any) -> Any:
    held = mapping(body)
    if not held or not held.keys() <= _HOLDERS:
        return body
    for name in ("base64_string", "base64"):
        if isinstance(held.get(name), str):
            return _from_base64(held[name])
    for name in ("string", "text"):
        if name in held:
            inner = held[name]
            is_packed = held.get("encoding") == "base64" and isinstance(inner, str)
            return _from_base64(inner) if is_packed else inner
    return None


def _from_base64(written: str) -> Any:
    try:
        return base64.b64decode(written, validate=False)
    except (ValueError, binascii.Error):
        return written


def _unpacked(data: bytes, encoding: str) -> bytes:
    try:
        if data.startswith(_GZIP):
            return _limited(zlib.decompressobj(wbits=31), data)
        if encoding == "deflate":
            try:
                return _limited(zlib.decompressobj(), data)
            except zlib.error:  # some servers leave out the header of zlib
                return _limited(zlib.decompressobj(wbits=-15), data)
        if encoding == "zstd" and data.startswith(b"\x28\xb5\x2f\xfd"):
            raise BadBody("it is packed with zstd, which cannot be read")
    except (zlib.error, gzip.BadGzipFile, EOFError) as error:
        if _is_text(data):
            return data
        raise BadBody(f"it cannot be unpacked: {error}") from None
    if encoding == "br" and not _is_text(data):
        raise BadBody("it is packed with brotli, which cannot be read")
    return data


def _limited(unpacker: Any, data: bytes) -> bytes:
    found: bytes = unpacker.decompress(data, _LARGEST)
    if unpacker.unconsumed_tail:
        raise BadBody(f"it unpacks to more than {_LARGEST:,} bytes")
    return found


def _is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data


def header(headers: Any, name: str) -> str | None:
    """The first value of a header: of a mapping, whose values may be lists, or of a list of names and values."""
    if isinstance(headers, list):
        pairs = [(item.get("name"), item.get("value")) for item in map(mapping, cast("list[Any]", headers))]
    else:
        pairs = list(cast("Mapping[Any, Any]", mapping(headers)).items())
    for key, value in pairs:
        if isinstance(key, str) and key.lower() == name:
            values: Any = value
            return text(values[0] if isinstance(values, list) and values else values)
    return None
