"""Recorded HTTP: cassettes of vcrpy and of Ruby's VCR, and HAR, as requests and responses."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, cast
from urllib.parse import urlsplit

from giskard.checks.importers._http_bodies import BadBody, data_of, header
from giskard.checks.importers._lenient import first, mapping, number, text
from giskard.checks.importers._yaml import LINE

__all__ = ["HttpExchange", "entries_of", "exchange_in", "is_recording"]


@dataclass(slots=True)
class HttpExchange:
    """A request and its response.

    Parameters
    ----------
    path
        Of its address, without the query; empty when none was recorded.
    status
        Of the response; 0 when there was none.
    request, response
        The bodies: data where they are JSON, else texts or bytes.
    latency_ms, ttft_ms
        From the first to the last byte, and to the first one of a response that came in pieces.
    timestamp
        ISO 8601.
    """

    method: str
    path: str
    status: int
    request: Any
    response: Any
    latency_ms: float | None = None
    ttft_ms: float | None = None
    timestamp: str | None = None
    line: int | None = None


def entries_of(value: Any) -> list[Any] | None:
    """The entries of a document that records HTTP; None for others."""
    document = mapping(value)
    entries = first(document, "interactions", "http_interactions")
    if entries is None:
        entries = mapping(document.get("log")).get("entries")
    if not isinstance(entries, list):
        return None
    return cast("list[Any]", entries)


def is_recording(value: Any) -> bool:
    """Whether a document, or one entry of it, records HTTP."""
    entries = entries_of(value)
    if entries is None:
        return _is_entry(value)
    if not entries:  # of the many documents with interactions, one without any says this of itself
        return {"recorded_with"} <= mapping(value).keys() or "log" in mapping(value)
    return any(map(_is_entry, entries[:3]))


def _is_entry(value: Any) -> bool:
    entry = mapping(value)
    request = mapping(entry.get("request"))
    return isinstance(first(request, "uri", "url"), str) and "method" in request and "response" in entry


def exchange_in(entry: Any) -> HttpExchange:
    """An entry of a recording.

    Raises
    ------
    BadBody
        When it is none, or a body cannot be read.
    """
    recorded = mapping(entry)
    request, response = mapping(recorded.get("request")), mapping(recorded.get("response"))
    address = text(first(request, "uri", "url"))
    if address is None:
        raise BadBody("it has no request with an address")
    try:
        path = urlsplit(address).path
    except ValueError:
        path = address.partition("?")[0]
    made = HttpExchange(
        method=(text(request.get("method")) or "").upper(),
        path=path.rstrip("/"),
        status=_status(response),
        request=_body(request, ("body", "postData", "content")),
        response=_body(response, ("body", "content")),
        timestamp=text(first(recorded, "startedDateTime", "recorded_at")),
    )
    _note_times(made, recorded, response)
    return made


def _body(message: dict[str, Any], names: tuple[str, ...]) -> Any:
    parsed = message.get("parsed_body")
    if parsed is not None:
        return _plain(parsed)
    encoding = header(message.get("headers"), "content-encoding")
    return next((_plain(data_of(message[name], encoding)) for name in names if message.get(name) is not None), None)


def _plain(value: Any) -> Any:
    """Data without the lines of its mappings."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in mapping(cast("Any", value)).items() if key != LINE}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value


def _status(response: dict[str, Any]) -> int:
    status = response.get("status")
    code = first(mapping(status), "code") if isinstance(status, dict) else status
    code = response.get("status_code") if code is None else code
    try:
        return int(code) if code is not None else 0
    except (TypeError, ValueError, OverflowError):
        return 0


def _note_times(made: HttpExchange, recorded: dict[str, Any], response: dict[str, Any]) -> None:
    """What HAR knows of how long it took."""
    total = number(recorded.get("time"))
    if total is not None and total > 0:
        made.latency_ms = total
    kind = header(response.get("headers"), "content-type") or text(mapping(response.get("content")).get("mimeType"))
    timings = mapping(recorded.get("timings"))
    waited = [number(timings.get(name)) for name in ("blocked", "dns", "connect", "send", "wait")]
    if kind is not None and "event-stream" in kind and waited[-1] is not None and waited[-1] >= 0:
        first_byte = sum(part for part in waited if part is not None and part > 0)
        made.ttft_ms = first_byte if isfinite(first_byte) else None
