"""Anthropic's Messages API: requests with their responses, bare messages, and streams of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._blocks import are_block_messages, has_own_block, messages_of_content
from giskard.checks.importers._contents import plain
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._exchanges import (
    annotations_of,
    exchange_in,
    exchange_of,
    keep_apart,
    lacks_figures,
    note_figures,
)
from giskard.checks.importers._json import json_or_text, loads
from giskard.checks.importers._lenient import known, listed, mapping, number, part_type, text, usage_of
from giskard.checks.importers._messages import Message
from giskard.checks.importers._streams import Piece, StreamedFormat, events_in
from giskard.checks.importers.base import BadRecord, ReadOptions

__all__ = ["Anthropic", "annotations_of_request", "messages_of_request", "messages_of_response", "usage_with_cache"]

_OWN = frozenset({"messages", "system", "tools", "model", "content", "role", "usage", "stop_reason", "stop_sequence"})
_OWN_OF_RESPONSES = _OWN | {"id", "type", "container", "context_management"}
_PARAMETERS = frozenset(
    {"max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "tool_choice", "thinking", "service_tier"}
    | {"stream", "betas", "anthropic_version", "anthropic_beta", "mcp_servers"}
)
_EVENTS = frozenset(
    {"message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta"}
    | {"content_block_stop"}
)
# Where the text of a delta goes.
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def messages_of_request(body: Mapping[str, Any]) -> list[Message]:
    """The messages of the body of a request: the system prompt, and the conversation so far.

    Raises
    ------
    BadRecord
        When one of them is no message.
    """
    system = plain(body.get("system"), "\n\n")
    given = body.get("messages", [])
    if not isinstance(given, list):
        raise BadRecord(f"messages: expected a list of messages, got {type(given).__name__}")
    messages = [] if system is None else [Message("system", system)]
    for place, message in enumerate(cast("list[Any]", given)):
        messages += messages_of_content(message, place)
    return messages


def annotations_of_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """The ``tools`` that a request offers to the model."""
    return known(tools=json_or_text(body.get("tools")))


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
        body = _message_of_events(cast("list[Any]", body))
    response = mapping(body)
    error = mapping(response.get("error"))
    if error and "content" not in response:
        return [[Message("assistant", metadata={"error": dict(error)}, raw=response)]]
    if "content" not in response:
        return []
    messages = messages_of_content({"role": "assistant", **response}, 0)
    for message in messages:
        message.index = None
    last = messages[-1]
    last.usage = usage_with_cache(
        mapping(response.get("usage")), "cache_creation_input_tokens", "cache_read_input_tokens"
    )
    last.model = text(response.get("model"))
    last.finish_reason = text(response.get("stop_reason"))
    last.refusal = last.finish_reason == "refusal"
    last.metadata = {**(last.metadata or {}), **known(response_id=text(response.get("id")))} or None
    last.raw = response
    return [messages]


def usage_with_cache(usage: Mapping[str, Any], written: str, read: str) -> dict[str, Any] | None:
    """Tokens of an API whose count of the input leaves out what was `written` to the cache, or `read` from it."""
    found = usage_of(
        usage,
        input_tokens=("input_tokens", "inputTokens"),
        output_tokens=("output_tokens", "outputTokens"),
        reasoning_tokens="output_tokens_details.thinking_tokens",
        cached_tokens=read,
    )
    if found and "input_tokens" in found:
        found["input_tokens"] += (number(usage.get(written)) or 0) + (number(usage.get(read)) or 0)
    return found


def _message_of_events(events: list[Any]) -> dict[str, Any]:
    """The message that the events of a stream tell of; when it was cut off, as far as it came."""
    whole: dict[str, Any] = {"role": "assistant"}
    blocks: dict[int, dict[str, Any]] = {}
    for event in map(mapping, events):
        match event.get("type"):
            case "message_start":
                whole |= mapping(event.get("message"))
            case "content_block_start":
                blocks[_index(event, blocks)] = dict(mapping(event.get("content_block")))
            case "content_block_delta":
                block = blocks.get(_index(event, blocks, new=False))
                if block is not None:
                    _add_delta(block, mapping(event.get("delta")))
            case "message_delta":
                whole |= mapping(event.get("delta"))
                whole["usage"] = {**mapping(whole.get("usage")), **_counts(mapping(event.get("usage")))}
            case "error":
                whole["error"] = event.get("error")
            case _:
                pass
    content = [_closed(blocks[index]) for index in sorted(blocks)]
    if content or "error" not in whole:
        whole["content"] = content or listed(whole.get("content"))
    else:
        whole.pop("content", None)
    return whole


def _counts(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {name: count for name, count in usage.items() if count is not None}


def _index(event: Mapping[str, Any], blocks: Mapping[int, Any], new: bool = True) -> int:
    index = number(event.get("index"))
    return int(index) if index is not None else len(blocks) if new else len(blocks) - 1


def _add_delta(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    kind = part_type(delta)
    if kind == "input_json_delta":
        block["partial_json"] = block.get("partial_json", "") + (text(delta.get("partial_json")) or "")
    elif kind == "citations_delta":
        block["citations"] = [*listed(block.get("citations")), delta.get("citation")]
    elif kind in _DELTAS:
        name = _DELTAS[kind]
        block[name] = (text(block.get(name)) or "") + (text(delta.get(name)) or "")


def _closed(block: dict[str, Any]) -> dict[str, Any]:
    """A block with its input, which came as JSON in pieces; the text of it, where that is cut off."""
    written = block.pop("partial_json", "")
    if written:
        try:
            block["input"] = loads(written)
        except ValueError:
            block["input"] = written
    return block


def _is_request(value: Any) -> bool:
    record = mapping(value)
    messages = record.get("messages")
    if not isinstance(messages, list) or "choices" in record:
        return False
    if are_block_messages(messages):
        return True
    asked = "max_tokens" in record and "system" in record
    model = record.get("model", record.get("anthropic_version"))
    named = isinstance(model, str) and ("claude" in model or model.startswith(("anthropic", "bedrock-2")))
    roles = [mapping(message).get("role") for message in cast("list[Any]", messages)]
    return bool(roles) and (asked or named) and all(role in ("user", "assistant") for role in roles)


def _is_response(value: Any) -> bool:
    if isinstance(value, list):
        events = cast("list[Any]", value)[:3]
        return bool(events) and all(_is_event(mapping(event)) for event in events)
    record = mapping(value)
    if not isinstance(record.get("content"), list) or record.get("role", "assistant") != "assistant":
        return False
    return "stop_reason" in record or (record.get("type") == "message" and has_own_block(record))


def _is_event(value: Mapping[str, Any]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and (kind in _EVENTS or (kind == "ping" and len(value) == 1))


class Anthropic(StreamedFormat):
    """Requests with or without their responses, bare responses, bare messages, and streams."""

    name: ClassVar[str] = "anthropic"
    aliases: ClassVar[tuple[str, ...]] = ("claude", "anthropic_messages")

    def detect(self, value: Any) -> bool:
        """Blocks that no other format has, a reason to stop, or events of a message."""
        if isinstance(value, list):
            return are_block_messages(value) or _is_response(value)
        record = mapping(value)
        return self.piece_in(record) is not None or exchange_of(record, _is_request, _is_response) is not None

    def piece(self, value: Mapping[str, Any]) -> Piece | None:
        """Events follow each other from ``message_start`` to ``message_stop``."""
        if not _is_event(value):
            return None
        return Piece(first=value["type"] == "message_start", last=value["type"] == "message_stop")

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """The trace of a request, of its response, or of both."""
        exchange = exchange_in(self, value, _is_request, _is_response)
        messages = messages_of_request(exchange.request)
        answers = messages_of_response(exchange.response)
        answer = answers[0] if answers else []
        position = len(listed(exchange.request.get("messages")))
        for message in answer:
            message.index = position
        if answer:
            note_figures(answer[-1], exchange.record)
            answer[-1].model = answer[-1].model or text(exchange.request.get("model"))
            if lacks_figures(messages):
                keep_apart(answer)
        if not any(message.role != "system" for message in (*messages, *answer)):
            raise BadRecord("it holds no messages")
        own = _OWN_OF_RESPONSES if exchange.response is exchange.record else _OWN
        annotations = annotations_of_request(exchange.request) | annotations_of(exchange, source, own, _PARAMETERS)
        return to_trace([*messages, *answer], annotations, options)
