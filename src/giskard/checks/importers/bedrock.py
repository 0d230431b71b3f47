"""The Converse API of Amazon Bedrock, and the logs of its invocations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from giskard.checks.core.interaction.trace import Trace
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
from giskard.checks.importers._lenient import known, listed, mapping, number, text, usage_of, within
from giskard.checks.importers._messages import Call, Message, Result, Role
from giskard.checks.importers._streams import Piece, StreamedFormat
from giskard.checks.importers.base import BadRecord, ReadOptions

__all__ = ["Bedrock", "annotations_of_request", "messages_of_request", "messages_of_response"]

_OWN = frozenset(
    {"messages", "system", "toolConfig", "modelId", "output", "stopReason", "usage", "metrics"}
    | {"additionalModelResponseFields", "trace", "ResponseMetadata", "schemaType", "schemaVersion"}
)
_PARAMETERS = frozenset({"inferenceConfig", "additionalModelRequestFields", "guardrailConfig", "performanceConfig"})
_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
# A block is an object with one of these keys.
_BLOCKS = frozenset(
    {"text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "audio", "cachePoint"}
    | {"guardContent", "citationsContent", "searchResult"}
)
_OWN_BLOCKS = frozenset({"toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent"})
_EVENTS = frozenset(
    {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"}
)


def messages_of_request(body: Mapping[str, Any]) -> list[Message]:
    """The messages of the body of a request: the system prompt, and the conversation so far.

    Raises
    ------
    BadRecord
        When one of them is no message.
    """
    given = body.get("messages", [])
    if not isinstance(given, list):
        raise BadRecord(f"messages: expected a list of messages, got {type(given).__name__}")
    system = [part for part in listed(body.get("system")) if "cachePoint" not in mapping(part)]
    messages = [Message("system", system)] if system else []
    for place, message in enumerate(cast("list[Any]", given)):
        messages += _messages_of(message, place)
    return messages


def annotations_of_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """The ``tools`` that a request offers to the model."""
    return known(tools=within(body, "toolConfig", "tools"))


def messages_of_response(body: Any) -> list[list[Message]]:
    """The answer in the body of a response, as its messages: a list of one, or of none.

    Parameters
    ----------
    body
        An object, or a list of the events of a stream.
    """
    if isinstance(body, list):
        body = _response_of_events(cast("list[Any]", body))
    response = mapping(body)
    said = within(response, "output", "message")
    if not isinstance(said, dict):
        return []
    messages = _messages_of({"role": "assistant", **mapping(said)}, 0)
    for message in messages:
        message.index = None
    usage = mapping(response.get("usage"))
    last = messages[-1]
    last.usage = usage_of(
        usage,
        input_tokens="inputTokens",
        output_tokens="outputTokens",
        cached_tokens=("cacheReadInputTokens", "cacheReadInputTokenCount"),
    )
    if last.usage and "input_tokens" in last.usage:
        cached = [number(usage.get(name)) or 0 for name in ("cacheReadInputTokens", "cacheWriteInputTokens")]
        last.usage = {**last.usage, "input_tokens": last.usage["input_tokens"] + sum(cached)}
    last.latency_ms = number(within(response, "metrics", "latencyMs"))
    last.finish_reason = text(response.get("stopReason"))
    last.raw = response
    return [messages]


def _messages_of(value: Any, place: int) -> list[Message]:
    """The messages that a message makes: several where a model called a tool of Bedrock's and went on."""
    message = mapping(value)
    role = _ROLES.get(name) if isinstance(name := message.get("role"), str) else None
    if role is None:
        raise BadRecord(f"message {place}: expected an object with the role user or assistant, got {value!r:.80}")
    content = message.get("content")
    if not isinstance(content, list):
        return [Message(role, content, index=place, raw=message)]
    made = [Message(role, index=place)]
    rank = 0
    for block in map(mapping, cast("list[Any]", content)):
        if "reasoningContent" in block:
            thought = text(within(block, "reasoningContent", "reasoningText", "text"))
            made[-1].reasoning += [] if thought is None else [thought]
            continue
        if "cachePoint" in block:
            continue
        block_rank = 0 if "toolResult" in block else 2 if "toolUse" in block else 1
        if block_rank < rank:
            made.append(Message(role, index=place))
        rank = block_rank
        _add_block(made[-1], block)
    made[-1].raw = message
    return made


def _add_block(segment: Message, block: dict[str, Any]) -> None:
    if "toolUse" in block:
        call = mapping(block["toolUse"])
        segment.calls.append(Call(text(call.get("name")) or "", call.get("input"), text(call.get("toolUseId"))))
    elif "toolResult" in block:
        segment.results.append(_result(mapping(block["toolResult"])))
    elif "citationsContent" in block:
        cited = mapping(block["citationsContent"])
        segment.content = [*listed(segment.content), *listed(cited.get("content"))]
        held = listed((segment.metadata or {}).get("citations"))
        segment.metadata = {"citations": [*held, *listed(cited.get("citations"))]}
    else:
        segment.content = [*listed(segment.content), block]


def _result(result: Mapping[str, Any]) -> Result:
    parts = [mapping(part) for part in listed(result.get("content"))]
    content: Any = result.get("content")
    if len(parts) == 1 and "json" in parts[0]:
        content = parts[0]["json"]
    elif parts and all("text" in part for part in parts):
        content = plain(parts, "\n")
    return Result(content, text(result.get("toolUseId")), error=result.get("status") == "error")


def _response_of_events(events: list[Any]) -> dict[str, Any]:
    """The response that the events of a stream tell of; when it was cut off, as far as it came."""
    whole: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in map(mapping, events):
        start, delta = mapping(event.get("contentBlockStart")), mapping(event.get("contentBlockDelta"))
        if start:
            blocks[int(number(start.get("contentBlockIndex")) or 0)] = dict(mapping(start.get("start")))
        elif delta:
            block = blocks.setdefault(int(number(delta.get("contentBlockIndex")) or 0), {})
            _add_delta(block, mapping(delta.get("delta")))
        elif "messageStop" in event:
            whole["stopReason"] = mapping(event["messageStop"]).get("stopReason")
        elif "metadata" in event:
            whole |= {name: value for name, value in mapping(event["metadata"]).items() if name in ("usage", "metrics")}
    return {**whole, "output": {"message": {"role": "assistant", "content": [blocks[at] for at in sorted(blocks)]}}}


def _add_delta(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    if isinstance(more := delta.get("text"), str):
        block["text"] = (text(block.get("text")) or "") + more
    elif isinstance(more := within(delta, "toolUse", "input"), str):
        call = dict(mapping(block.get("toolUse")))
        call["input"] = (text(call.get("input")) or "") + more
        block["toolUse"] = call
    elif isinstance(more := within(delta, "reasoningContent", "text"), str):
        thought = text(within(block, "reasoningContent", "reasoningText", "text")) or ""
        block["reasoningContent"] = {"reasoningText": {"text": thought + more}}


def _are_blocks(content: Any) -> bool:
    blocks = [mapping(block) for block in listed(content)]
    return bool(blocks) and all("type" not in block and not _BLOCKS.isdisjoint(block) for block in blocks)


def _are_messages(value: Any, only_own: bool) -> bool:
    """Whether `value` is a list of messages made of blocks without types; `only_own` asks for one of Bedrock's."""
    messages = [mapping(message) for message in listed(value)]
    if not messages or not all(message.get("role") in ("user", "assistant") for message in messages[:3]):
        return False
    if not all(_are_blocks(message.get("content")) for message in messages[:3]):
        return False
    blocks = [mapping(block) for message in messages for block in listed(message.get("content"))]
    return not only_own or any(not _OWN_BLOCKS.isdisjoint(block) for block in blocks)


def _is_request(value: Any) -> bool:
    record = mapping(value)
    return _are_messages(record.get("messages"), only_own=False)


def _is_response(value: Any) -> bool:
    if isinstance(value, list):
        events = cast("list[Any]", value)[:3]
        return bool(events) and all(_is_event(mapping(event)) for event in events)
    record = mapping(value)
    return isinstance(within(record, "output", "message", "content"), list) and "stopReason" in record


def _is_event(value: Mapping[str, Any]) -> bool:
    if len(value) != 1:
        return False
    name, inner = next(iter(value.items()))
    if name == "metadata":
        return "usage" in mapping(inner) and "metrics" in mapping(inner)
    return name in _EVENTS and isinstance(inner, dict)


class Bedrock(StreamedFormat):
    """Requests with or without their responses, bare responses, logs of invocations, bare messages, and streams."""

    name: ClassVar[str] = "bedrock"
    aliases: ClassVar[tuple[str, ...]] = ("bedrock_converse", "converse")

    def detect(self, value: Any) -> bool:
        """Messages made of blocks without types, or a response of Converse."""
        if isinstance(value, list):
            return _are_messages(cast("Any", value), only_own=True) or _is_response(value)
        record = mapping(value)
        return self.piece_in(record) is not None or exchange_of(record, _is_request, _is_response) is not None

    def piece(self, value: Mapping[str, Any]) -> Piece | None:
        """Events follow each other from ``messageStart`` to ``metadata``."""
        return Piece(first="messageStart" in value, last="metadata" in value) if _is_event(value) else None

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """The trace of a request, of its response, or of both."""
        exchange = exchange_in(self, value, _is_request, _is_response)
        messages = messages_of_request(exchange.request)
        answers = messages_of_response(exchange.response)
        answer = answers[0] if answers else []
        for message in answer:
            message.index = len(listed(exchange.request.get("messages")))
        if answer:
            note_figures(answer[-1], exchange.record)
            model = text(exchange.request.get("modelId")) or text(exchange.record.get("modelId"))
            answer[-1].model = answer[-1].model or model
            if lacks_figures(messages):
                keep_apart(answer)
        if not any(message.role != "system" for message in (*messages, *answer)):
            raise BadRecord("it holds no messages")
        annotations = annotations_of_request(exchange.request) | annotations_of(exchange, source, _OWN, _PARAMETERS)
        return to_trace([*messages, *answer], annotations, options)
