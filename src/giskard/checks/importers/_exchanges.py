"""Requests and responses of model APIs, however a logger wraps them, and what it notes of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from giskard.checks.importers._json import json_or_text
from giskard.checks.importers._labels import columns
from giskard.checks.importers._lenient import first, mapping, moment, number, text
from giskard.checks.importers._messages import Message
from giskard.checks.importers._streams import StreamedFormat, events_in
from giskard.checks.importers.base import BadRecord

__all__ = ["Exchange", "annotations_of", "exchange_in", "exchange_of", "keep_apart", "lacks_figures", "note_figures"]

_REQUESTS = ("request", "request_body", "requestBody", "req", "body", "input", "inputs", "kwargs")
_RESPONSES = ("response", "response_body", "responseBody", "res", "output", "outputs", "completion", "result", "body")
_INSIDE = ("body", "json", "data", "payload", "inputBodyJson", "outputBodyJson", "response", "request")
_DEPTH = 3

_MILLISECONDS = (
    *("latency_ms", "duration_ms", "elapsed_ms", "response_time_ms", "delay_ms", "total_latency_ms"),
    *("latencyMs", "durationMs", "elapsedMs", "responseTimeMs", "delayMs"),
)
_SECONDS = (
    *("latency_s", "latency_seconds", "latency_sec", "duration_s", "duration_seconds", "duration_sec"),
    *("elapsed_s", "elapsed_seconds", "latencySeconds", "durationSeconds"),
)
_FIRST_TOKEN = ("ttft_ms", "time_to_first_token_ms", "ttftMs", "timeToFirstTokenMs")
_COST = ("cost_usd", "costUSD", "response_cost", "costUsd", "total_cost_usd")
_STARTS = ("startTime", "start_time", "started_at", "request_created_at", "requestCreatedAt")
_ENDS = ("endTime", "end_time", "ended_at", "completed_at", "response_created_at", "responseCreatedAt")
_FIRST_TOKEN_TIMES = ("completionStartTime", "completion_start_time")
_TIMES = ("timestamp", "ts", "time", "created_at", "createdAt", "created")
_CONVERSATIONS = ("conversation_id", "conversationId", "session_id", "sessionId", "thread_id", "threadId", "chat_id")
# Those of a message that a turn adds up.
_OF_A_CALL = ("usage", "latency_ms", "ttft_ms", "cost_usd")
_FIGURES = frozenset(
    (*_MILLISECONDS, *_SECONDS, *_FIRST_TOKEN, *_COST, *_STARTS, *_ENDS, *_FIRST_TOKEN_TIMES, *_TIMES, *_CONVERSATIONS)
)


@dataclass(slots=True)
class Exchange:
    """A request, its response, and the record that holds them.

    Parameters
    ----------
    request
        Empty when there is none.
    response
        None when there is none.
    record
        The whole record.
    used
        The keys of the record that hold the request and the response; those of a record that is one of them itself
        are none of these.
    """

    request: dict[str, Any]
    response: Any
    record: dict[str, Any]
    used: frozenset[str]


def exchange_of(
    record: Mapping[str, Any], is_request: Callable[[Any], bool], is_response: Callable[[Any], bool]
) -> Exchange | None:
    """The request and the response in a record; None when neither is there."""
    whole = cast("dict[str, Any]", record)
    request, request_key = _found(whole, _REQUESTS, is_request)
    response, response_key = _found(whole, _RESPONSES, is_response)
    if request is None and response is None:
        return None
    used = frozenset(key for key in (request_key, response_key) if key is not None)
    return Exchange(request or {}, response, whole, used)


def exchange_in(
    format: StreamedFormat, value: Any, is_request: Callable[[Any], bool], is_response: Callable[[Any], bool]
) -> Exchange:
    """The request and the response that a record is or holds; pieces are a response, messages alone a request.

    Raises
    ------
    BadRecord
        When there is neither.
    """
    if isinstance(value, list):
        pieces = format.pieces_of(value)
        if pieces is not None:
            return Exchange({}, pieces, {}, frozenset())
        return Exchange({"messages": value}, None, {}, frozenset())
    record = mapping(value)
    exchange = exchange_of(record, is_request, is_response)
    if exchange is None:
        if "messages" not in record:
            raise BadRecord("it holds no messages and no response")
        return Exchange(record, None, record, frozenset())
    if not exchange.request and isinstance(record.get("messages"), list):
        exchange.request = record
    return exchange


def _found(record: dict[str, Any], names: tuple[str, ...], fits: Callable[[Any], bool]) -> tuple[Any, str | None]:
    if fits(record):
        return record, None
    for name in names:
        if name in record:
            inner = _unwrapped(record[name], fits, _DEPTH)
            if inner is not None:
                return inner, name
    return None, None


def _unwrapped(value: Any, fits: Callable[[Any], bool], depth: int) -> Any:
    if isinstance(value, str):
        value = events_in(value) if value.lstrip()[:5] in ("data:", "event") else json_or_text(value)
    if isinstance(value, dict | list) and fits(value):
        return cast("Any", value)
    if isinstance(value, dict) and depth:
        inside = cast("dict[str, Any]", value)
        for name in _INSIDE:
            if name in inside:
                found = _unwrapped(inside[name], fits, depth - 1)
                if found is not None:
                    return found
    return None


def annotations_of(
    exchange: Exchange, source: dict[str, Any], own: Collection[str], parameters: Collection[str]
) -> dict[str, Any]:
    """What a record says of the conversation beside its messages.

    Parameters
    ----------
    own
        The keys of requests and responses that hold the conversation itself.
    parameters
        Those that hold how the model was asked: they go to ``annotations["parameters"]``.
    """
    request, record = exchange.request, exchange.record
    asked = {name: request[name] for name in request if name in parameters and request[name] is not None}
    left_out = {*own, *parameters, *exchange.used, *_FIGURES}
    known = columns(record, left_out)
    if record is not request and isinstance(request.get("metadata"), dict) and request["metadata"]:
        known.setdefault("metadata", request["metadata"])
    if asked:
        known["parameters"] = asked
    conversation = first(record, *_CONVERSATIONS)
    if isinstance(conversation, str | int):
        known["conversation_id"] = str(conversation)
    known["source"] = source
    return known


def note_figures(message: Message, record: Mapping[str, Any]) -> None:
    """Give a message the latency, the cost and the time that a logger noted; those of units unknown are none."""
    latency = number(first(record, *_MILLISECONDS))
    seconds = number(first(record, *_SECONDS))
    started = _seconds(first(record, *_STARTS))
    ended = _seconds(first(record, *_ENDS))
    token = _seconds(first(record, *_FIRST_TOKEN_TIMES))
    if latency is None and seconds is not None:
        latency = _milliseconds(seconds)
    if latency is None and started is not None and ended is not None and ended > started:
        latency = _milliseconds(ended - started)
    first_token = number(first(record, *_FIRST_TOKEN))
    if first_token is None and started is not None and token is not None and token > started:
        first_token = _milliseconds(token - started)
    cost = number(first(record, *_COST))
    message.latency_ms = message.latency_ms if latency is None else latency
    message.ttft_ms = message.ttft_ms if first_token is None else first_token
    message.cost_usd = message.cost_usd if cost is None else cost
    message.timestamp = moment(first(record, *_TIMES, *_STARTS)) or message.timestamp
    message.model = message.model or text(record.get("model"))


def lacks_figures(asked: Iterable[Message], lacks: bool = False, *, follows: bool = False) -> bool:
    """Whether the turn of the answer to a request has calls of the model of which no figures were recorded.

    Parameters
    ----------
    asked
        The messages of the request.
    lacks
        Whether the turn that the request goes on with has such calls already.
    follows
        Whether the exchange that came before is recorded too: the results in the request are of its calls.
    """
    for message in asked:
        if message.role == "user" and (message.content is not None or not (message.results or message.calls)):
            lacks = False
        elif message.role == "assistant" or (message.results and not follows):
            lacks = True
    return lacks


def keep_apart(answer: Sequence[Message]) -> None:
    """Move the figures of an answer to ``metadata["last_call"]``: they are not those of the whole turn."""
    apart: dict[str, Any] = {}
    for message in answer:
        for name in _OF_A_CALL:
            if (figure := getattr(message, name)) is not None:
                apart[name] = figure
                setattr(message, name, None)
    if apart:
        answer[-1].metadata = {**(answer[-1].metadata or {}), "last_call": apart}


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _seconds(value: Any) -> float | None:
    """A time in seconds since 1970."""
    written = moment(value)
    if written is None:
        return None
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
