"""Gemini's API and its development kit for agents: contents, responses, streams, and sessions with their events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from giskard.checks.importers._gemini_parts import contents_in, either, messages_of_content, messages_of_contents
from giskard.checks.importers._lenient import known, listed, mapping, moment, number, text
from giskard.checks.importers._messages import Message
from giskard.checks.importers._streams import Piece, StreamedFormat, events_in
from giskard.checks.importers.base import BadRecord, ReadOptions

__all__ = ["Gemini", "annotations_of_request", "messages_of_request", "messages_of_response"]

_OWN = frozenset(
    {"contents", "systemInstruction", "system_instruction", "tools", "model", "candidates", "usageMetadata"}
    | {"usage_metadata", "modelVersion", "model_version", "responseId", "response_id", "promptFeedback", "createTime"}
    | {"prompt_feedback", "create_time", "sdkHttpResponse", "sdk_http_response", "config", "events"}
)
_PARAMETERS = frozenset(
    {"generationConfig", "generation_config", "safetySettings", "safety_settings", "toolConfig", "tool_config"}
    | {"cachedContent", "cached_content"}
)
_SESSION = frozenset({"id", "appName", "app_name", "userId", "user_id", "lastUpdateTime", "last_update_time"})
_PART_KEYS = (
    *("text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode"),
    *("codeExecutionResult", "thought", "thoughtSignature"),
)


def messages_of_request(body: Mapping[str, Any]) -> list[Message]:
    """The messages of the body of a request: the system instruction, and the conversation so far.

    Raises
    ------
    BadRecord
        When one of its contents is none.
    """
    instruction = either(body, "systemInstruction")
    if instruction is None:  # as the Python client is called
        instruction = either(body.get("config"), "systemInstruction")
    system: list[Message] = []
    if isinstance(instruction, str):
        system = [Message("system", instruction)]
    elif isinstance(instruction, dict):
        system = [Message("system", listed(mapping(instruction).get("parts")))]
    return [*system, *messages_of_contents(body.get("contents"))]


def annotations_of_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """The ``tools`` that a request offers to the model."""
    return known(tools=body.get("tools") or mapping(body.get("config")).get("tools"))


def messages_of_response(body: Any) -> list[list[Message]]:
    """The answers in the body of a response, each as its messages: several where it has more than one candidate.

    Parameters
    ----------
    body
        An object, a list of the pieces of a stream, or their server-sent events as a text.
    """
    if isinstance(body, str):
        body = events_in(body)
    if isinstance(body, list):
        body = _whole(cast("list[Any]", body))
    response = mapping(body)
    candidates = [mapping(candidate) for candidate in listed(response.get("candidates"))]
    answers: list[list[Message]] = []
    for candidate in candidates or ([{}] if response else []):
        content = mapping(candidate.get("content"))
        answer = messages_of_content({**content, "role": "model"}, 0)
        for message in answer:
            message.index = None
        last = answer[-1]
        last.usage = usage_of_metadata(response) if len(candidates) <= 1 else None
        last.model = text(either(response, "modelVersion"))
        last.finish_reason = text(either(candidate, "finishReason"))
        last.timestamp = moment(either(response, "createTime"))
        last.metadata = _noted(response, candidate)
        last.raw = response
        answers.append(answer)
    return answers


def _noted(response: Mapping[str, Any], candidate: Mapping[str, Any]) -> dict[str, Any] | None:
    noted = known(
        response_id=text(either(response, "responseId")),
        grounding=either(candidate, "groundingMetadata"),
        error=response.get("error") or None
        if candidate
        else response.get("error") or either(response, "promptFeedback"),
    )
    cited = either(candidate, "citationMetadata")
    citations = listed(either(cited, "citationSources")) or listed(mapping(cited).get("citations"))
    return {**noted, **({"citations": citations} if citations else {})} or None


def usage_of_metadata(response: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tokens that were used: thoughts are part of the output, and results of Google's tools of the input."""
    counts = mapping(either(response, "usageMetadata"))
    prompt, tools = number(either(counts, "promptTokenCount")), number(either(counts, "toolUsePromptTokenCount"))
    said, thought = number(either(counts, "candidatesTokenCount")), number(either(counts, "thoughtsTokenCount"))
    found = known(
        input_tokens=None if prompt is None else prompt + (tools or 0),
        output_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
        reasoning_tokens=thought,
        cached_tokens=number(either(counts, "cachedContentTokenCount")),
    )
    return found or None


def _whole(pieces: list[Any]) -> dict[str, Any]:
    """The response that the pieces of a stream make."""
    whole: dict[str, Any] = {}
    candidates: dict[int, dict[str, Any]] = {}
    for piece in map(mapping, pieces):
        whole |= {name: value for name, value in piece.items() if name != "candidates" and value is not None}
        for place, candidate in enumerate(map(mapping, listed(piece.get("candidates")))):
            index = number(candidate.get("index"))
            held = candidates.setdefault(place if index is None else int(index), {})
            parts = [
                *listed(mapping(held.get("content")).get("parts")),
                *listed(mapping(candidate.get("content")).get("parts")),
            ]
            held |= candidate
            held["content"] = {"role": "model", "parts": parts}
    return {**whole, "candidates": [candidates[index] for index in sorted(candidates)]}


def _are_contents(value: Any) -> bool:
    contents = [mapping(content) for content in listed(value)]
    if not contents:
        return False
    if not all(_is_content(content) for content in contents[:3]):
        return False
    # Others have parts as well, but theirs are of a type, or of a kind.
    parts = [mapping(part) for content in contents[:3] for part in listed(content.get("parts"))]
    return all("type" not in part and "kind" not in part and "part_kind" not in part for part in parts)


def _is_content(content: Mapping[str, Any]) -> bool:
    parts = [mapping(part) for part in listed(content.get("parts"))]
    role = content.get("role", "user")
    if role not in ("user", "model", "function", "tool", None) or "parts" not in content:
        return False
    return all(any(either(part, key) is not None for key in _PART_KEYS) for part in parts)


def _is_request(value: Any) -> bool:
    contents = mapping(value).get("contents")
    texts = listed(contents)
    if isinstance(contents, str) or (texts and all(isinstance(content, str) for content in texts)):
        return "generationConfig" in value or "systemInstruction" in value or "usageMetadata" in value
    return _are_contents(contents_in(contents))


def _is_response(value: Any) -> bool:
    if isinstance(value, list):
        pieces = cast("list[Any]", value)
        return bool(pieces) and all(
            isinstance(piece, dict) and "contents" not in piece and _is_response(piece) for piece in pieces[:3]
        )
    record = mapping(value)
    candidates = listed(record.get("candidates"))
    if candidates:
        return all("content" in mapping(item) or either(item, "finishReason") is not None for item in candidates)
    return either(record, "promptFeedback") is not None or isinstance(either(record, "usageMetadata"), dict)


def _is_event(value: Any) -> bool:
    """Whether `value` is an event of a session."""
    event = mapping(value)
    if not isinstance(event.get("author"), str):
        return False
    content = event.get("content")
    if isinstance(content, dict):
        return "parts" in content
    return "actions" in event or either(event, "invocationId") is not None


def _are_events(value: Any) -> bool:
    events = listed(value)
    return bool(events) and all(map(_is_event, events[:3]))


class Gemini(StreamedFormat):
    """Contents, requests with or without their responses, responses, streams, and sessions of agents."""

    name: ClassVar[str] = "gemini"
    aliases: ClassVar[tuple[str, ...]] = ("google", "adk", "vertex")

    def detect(self, value: Any) -> bool:
        """Contents with parts, candidates, or events with authors."""
        if isinstance(value, list):
            contents = cast("Any", value)
            roles = [mapping(content).get("role") for content in contents]
            own = _are_contents(contents) and ("model" in roles or _calls(contents))
            return own or _is_response(contents) or _are_events(contents)
        record = mapping(value)
        if _are_events(record.get("events")):
            return True
        exchange = exchange_of(record, _is_request, _is_response)
        return exchange is not None and (bool(exchange.request) or _has_candidates(exchange.response))

    def piece(self, value: Mapping[str, Any]) -> Piece | None:
        """Responses of one id are pieces of one, up to the one that says why it ends."""
        key = text(either(value, "responseId"))
        candidates = listed(value.get("candidates"))
        if key is None or not candidates or "contents" in value or not _is_response(value):
            return None
        return Piece(key, last=any(either(candidate, "finishReason") is not None for candidate in candidates))

    def convert(
        self, value: Any, source: dict[str, Any], options: ReadOptions
    ) -> Trace[Any, Any] | Iterator[Trace[Any, Any]]:
        """A trace of a conversation, or of a session; one for each candidate of a response."""
        if isinstance(value, list):
            if _are_events(cast("Any", value)):
                return self._session({"events": value}, source, options)
            if _is_response(value):
                return self._exchange(Exchange({}, value, {}, frozenset()), source, options)
            return self._exchange(Exchange({"contents": value}, None, {}, frozenset()), source, options)
        record = mapping(value)
        if _are_events(record.get("events")):
            return self._session(record, source, options)
        exchange = exchange_of(record, _is_request, _is_response)
        if exchange is None:
            raise BadRecord("it holds no contents, no candidates and no events")
        return self._exchange(exchange, source, options)

    def _exchange(self, exchange: Exchange, source: dict[str, Any], options: ReadOptions) -> Iterator[Trace[Any, Any]]:
        request, record = exchange.request, exchange.record
        annotations = annotations_of_request(request) | annotations_of(exchange, source, _OWN, _PARAMETERS)
        answered = exchange.response is not None and _has_candidates(exchange.response)
        answers = messages_of_response(exchange.response) if answered else [list[Message]()]
        count = len(answers)
        usage = usage_of_metadata(mapping(exchange.response))
        if count > 1 and usage:
            annotations["usage_of_all_choices"] = usage
        for place, answer in enumerate(answers):
            # Made anew for each: what is noted of one must not be seen in another.
            asked = messages_of_request(request)
            for message in answer:
                message.index = len(contents_in(request.get("contents")))
            messages = [*asked, *answer]
            if not any(message.role != "system" for message in messages):
                raise BadRecord("it holds no contents")
            last = messages[-1]
            if last.role == "assistant":
                note_figures(last, record)
                last.usage = last.usage or (usage if count == 1 else None)
                last.model = text(either(exchange.response, "modelVersion")) or last.model or text(request.get("model"))
                if lacks_figures(asked if answer else asked[:-1]):
                    keep_apart(answer or asked[-1:])
            yield to_trace(messages, {**annotations, **({"choice": place} if count > 1 else {})}, options)

    def _session(self, record: dict[str, Any], source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """The trace of a session: its events, without the pieces of which a later one is the whole."""
        messages: list[Message] = []
        for place, value in enumerate(listed(record.get("events"))):
            event = mapping(value)
            if event.get("partial") is True:
                continue
            messages += _messages_of_event(event, place)
        if not messages:
            raise BadRecord("it holds no events with content")
        exchange = Exchange({}, None, record, frozenset())
        annotations = annotations_of(exchange, source, _OWN | _SESSION, _PARAMETERS)
        annotations |= known(
            conversation_id=text(record.get("id")) or annotations.get("conversation_id"),
            app_name=either(record, "appName"),
            user_id=either(record, "userId"),
        )
        return to_trace(messages, annotations, options)


def _messages_of_event(event: dict[str, Any], place: int) -> list[Message]:
    content = event.get("content")
    author = text(event.get("author")) or "user"
    made = (
        messages_of_content(content, place, author)
        if isinstance(content, dict)
        else [Message("assistant", name=author, index=place)]
    )
    last = made[-1]
    last.timestamp = moment(event.get("timestamp"))
    last.usage = usage_of_metadata(event)
    last.model = text(either(event, "modelVersion"))
    last.finish_reason = text(either(event, "finishReason"))
    failed = either(event, "errorMessage") or either(event, "errorCode")
    last.metadata = known(error=failed or None, grounding=either(event, "groundingMetadata")) or None
    last.raw = event
    return made


def _has_candidates(response: Any) -> bool:
    """Whether a response is one, and not only figures beside a conversation."""
    if isinstance(response, list):
        return True
    record = mapping(response)
    return bool(listed(record.get("candidates"))) or either(record, "promptFeedback") is not None


def _calls(contents: list[Any]) -> bool:
    parts = [part for content in contents for part in listed(mapping(content).get("parts"))]
    return any(
        either(part, "functionCall") is not None or either(part, "functionResponse") is not None for part in parts
    )
