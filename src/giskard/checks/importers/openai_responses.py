"""OpenAI's Responses API: lists of items, responses with their input, streams of events, and chains of responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, cast

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._exchanges import (
    Exchange,
    annotations_of,
    exchange_of,
    keep_apart,
    lacks_figures,
    note_figures,
)
from giskard.checks.importers._json import json_or_text
from giskard.checks.importers._lenient import first, known, listed, mapping, moment, number, text, usage_of, within
from giskard.checks.importers._messages import Message
from giskard.checks.importers._response_chains import Chains, Link
from giskard.checks.importers._response_items import are_items, messages_of_items, moved
from giskard.checks.importers._response_stream import ENDS, is_event, response_of_events
from giskard.checks.importers._streams import Piece, StreamedFormat, events_in
from giskard.checks.importers.base import BadRecord, Reading, ReadOptions, Record

__all__ = ["OpenAIResponses", "annotations_of_request", "messages_of_request", "messages_of_response"]

_OWN = frozenset(
    {"input", "items", "instructions", "tools", "model", "output", "usage", "previous_response_id", "conversation"}
    | {"output_text", "prompt_tokens", "completion_tokens", "total_tokens"}
)
_OWN_OF_RESPONSES = _OWN | {"object", "id", "created_at", "completed_at", "status", "error", "incomplete_details"}
_PARAMETERS = frozenset(
    {"temperature", "top_p", "max_output_tokens", "max_tool_calls", "parallel_tool_calls", "tool_choice", "text"}
    | {"reasoning", "truncation", "store", "include", "background", "service_tier", "stream", "top_logprobs"}
)


def messages_of_request(body: Mapping[str, Any]) -> list[Message]:
    """The messages of the body of a request: its instructions, and its input.

    Raises
    ------
    BadRecord
        When the input is neither a text nor a list of items.
    """
    instructions = body.get("instructions")
    said = messages_of_items(first(body, "input", "items") or [], "input")
    if isinstance(instructions, list):
        return [*messages_of_items(instructions, "instructions"), *said]
    return [*([Message("system", instructions)] if text(instructions) else []), *said]


def annotations_of_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """The ``tools`` that a request offers to the model."""
    return known(tools=json_or_text(body.get("tools")) or None)


def messages_of_response(body: Any) -> list[list[Message]]:
    """The answer in the body of a response, as its messages: a list of one, or of none.

    Parameters
    ----------
    body
        An object, a list of the events of a stream, or their server-sent events as a text.
    """
    if isinstance(body, str):
        body = events_in(body)
    if isinstance(body, list):
        body = response_of_events(cast("list[Any]", body))
    response = mapping(body)
    output = response.get("output")
    messages = messages_of_items(output, "output") if isinstance(output, list) else []
    status, error = text(response.get("status")), response.get("error")
    if not messages and not response:
        return []
    if not messages:
        messages = [Message("assistant")]
    last = messages[-1]
    last.usage = usage_of(
        response.get("usage"),
        input_tokens="input_tokens",
        output_tokens="output_tokens",
        reasoning_tokens="output_tokens_details.reasoning_tokens",
        cached_tokens="input_tokens_details.cached_tokens",
    )
    last.model = text(response.get("model"))
    last.finish_reason = text(within(response, "incomplete_details", "reason")) or status
    last.timestamp = moment(response.get("created_at"))
    last.latency_ms = _latency(response)
    noted = known(
        response_id=text(response.get("id")), status=None if status == "completed" else status, error=error or None
    )
    last.metadata = {**(last.metadata or {}), **noted} or None
    return [messages]


def _latency(response: Mapping[str, Any]) -> float | None:
    """How long it took, in whole seconds; less than one is not known."""
    created, completed = number(response.get("created_at")), number(response.get("completed_at"))
    if created is None or completed is None or completed <= created:
        return None
    return round((completed - created) * 1000, 3)


def _is_request(value: Any) -> bool:
    record = mapping(value)
    given = first(record, "input", "items")
    if are_items(given):
        return True
    asked = isinstance(given, str | list) and ("instructions" in record or "previous_response_id" in record)
    return asked and "messages" not in record


def _is_response(value: Any) -> bool:
    if isinstance(value, list):
        events = [mapping(event) for event in cast("list[Any]", value)[:3]]
        return bool(events) and all(map(is_event, events))
    record = mapping(value)
    return record.get("object") == "response" or are_items(record.get("output"))


def _is_list_object(record: Mapping[str, Any]) -> bool:
    return record.get("object") == "list" and are_items(record.get("data"))


class OpenAIResponses(StreamedFormat):
    """Lists of items, responses with or without their input, and streams; those that follow each other are one trace.

    A response follows the one that it names as ``previous_response_id``, or the latest one of its conversation.
    """

    name: ClassVar[str] = "openai_responses"
    aliases: ClassVar[tuple[str, ...]] = ("responses",)

    def detect(self, value: Any) -> bool:
        """Items with types of their own, a response, or events of one."""
        if isinstance(value, list):
            return are_items(value) or _is_response(value)
        record = mapping(value)
        if self.piece_in(record) is not None or are_items(record.get("items")) or _is_list_object(record):
            return True
        return self._exchange(record) is not None

    def piece(self, value: Mapping[str, Any]) -> Piece | None:
        """Events follow each other from the one that tells of a new response to the one that ends it."""
        if not is_event(value):
            return None
        kind = value["type"]
        return Piece(first=kind == "response.created", last=kind in ENDS)

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """The trace of a list of items, or of a response."""
        exchange = self._exchange_of(value)
        return _trace([exchange], source, options)

    def read(self, records: Iterator[Record], reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The traces of lists of items, of single responses, and of chains of them."""
        chains = Chains()
        for record in self.joined(records):
            try:
                over = chains.add(_link(self._exchange_of(record.value), record))
            except Exception as error:  # the others are read all the same
                reading.failed(record, self, error)
            else:
                yield from self._traces(over, reading)
        yield from self._traces(chains.rest(), reading)

    def _traces(self, chains: Iterable[list[Link]], reading: Reading) -> Iterator[Trace[Any, Any]]:
        for chain in chains:
            record = chain[0].record
            try:
                source = reading.source(record, self.name)
                trace = _trace([link.exchange for link in chain], source, reading.options)
            except Exception as error:
                reading.failed(record, self, error)
            else:
                yield trace

    def _exchange_of(self, value: Any) -> Exchange:
        if isinstance(value, list):
            pieces = self.pieces_of(value)
            if pieces is None:
                return Exchange({"input": value}, None, {}, frozenset())
            value = response_of_events(pieces)
        record = mapping(value)
        exchange = self._exchange(record)
        if exchange is not None:
            return exchange
        for name in ("items", "data", "input"):
            if isinstance(record.get(name), list | str):
                return Exchange({"input": record[name]}, None, record, frozenset({name}))
        raise BadRecord("it holds no items and no response")

    def _exchange(self, record: dict[str, Any]) -> Exchange | None:
        exchange = exchange_of(record, _is_request, _is_response)
        if exchange is None or exchange.response is None or exchange.request:
            return exchange
        # What was asked is not known by its shape where it is a text, or messages without types.
        asked = record.get("input")
        if isinstance(asked, str | list):
            exchange.request = {"input": asked}
        else:
            for name in ("request", "request_body", "requestBody", "body"):
                inner = mapping(json_or_text(record.get(name)))
                inner = mapping(inner.get("body")) or inner
                if "input" in inner:
                    exchange.request = inner
                    exchange.used |= {name}
                    break
        return exchange


def _link(exchange: Exchange, record: Record) -> Link:
    """An exchange with what tells which others it follows."""
    response, request = mapping(exchange.response), exchange.request
    talk = first(response, "conversation") or first(request, "conversation")
    return Link(
        exchange,
        record,
        text(response.get("id")),
        text(request.get("previous_response_id")) or text(response.get("previous_response_id")),
        text(mapping(talk).get("id")) or text(talk),
    )


def _trace(exchanges: list[Exchange], source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
    """The trace of exchanges that follow each other."""
    messages: list[Message] = []
    annotations: dict[str, Any] = {}
    items = 0
    lacks = False
    for place, exchange in enumerate(exchanges):
        response = mapping(exchange.response)
        request = {**{key: response.get(key) for key in ("instructions", "tools")}, **exchange.request}
        asked = messages_of_request(request)
        answers = messages_of_response(exchange.response)
        answer = answers[0] if answers else []
        lacks = lacks_figures(asked, lacks, follows=place > 0)
        if answer:
            note_figures(answer[-1], exchange.record)
            answer[-1].model = answer[-1].model or text(request.get("model"))
            if lacks:
                keep_apart(answer)
        messages += moved(asked, items)
        items += _count(first(request, "input", "items"))
        messages += moved(answer, items)
        items += _count(response.get("output"))
        own = _OWN_OF_RESPONSES if exchange.response is exchange.record else _OWN
        found = annotations_of_request(request) | annotations_of(exchange, source, own, _PARAMETERS)
        annotations = {**found, **annotations}
    if not messages:
        raise BadRecord("it holds no items and no answer")
    link = _link(exchanges[0], Record(None))
    annotations.setdefault("conversation_id", link.conversation)
    annotations.setdefault("previous_response_id", link.previous)
    return to_trace(messages, annotations, options)


def _count(items: Any) -> int:
    return len(listed(items)) if isinstance(items, list) else int(items is not None)
