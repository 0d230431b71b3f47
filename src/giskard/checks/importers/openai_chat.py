"""Chat completions of OpenAI, and of all who speak their protocol: fine-tuning rows, logs, streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, cast

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._chat_messages import ROLES, add_messages, are_chat_messages, message_of, messages_of
from giskard.checks.importers._chat_stream import completion_of_chunks
from giskard.checks.importers._conversation import Turns, to_trace
from giskard.checks.importers._exchanges import (
    Exchange,
    annotations_of,
    exchange_of,
    keep_apart,
    lacks_figures,
    note_figures,
)
from giskard.checks.importers._json import json_or_text
from giskard.checks.importers._labels import PREFERRED
from giskard.checks.importers._lenient import first, known, listed, mapping, moment, number, text, usage_of
from giskard.checks.importers._messages import Message
from giskard.checks.importers._plain_chats import plain_chat
from giskard.checks.importers._streams import Piece, StreamedFormat, events_in
from giskard.checks.importers.base import BadRecord, ReadOptions

__all__ = ["OpenAIChat", "annotations_of_request", "messages_of_request", "messages_of_response"]

_OWN = frozenset(
    {"messages", "tools", "functions", "prompt", "model", "model_name", "choices", "usage", "call_type"}
    | {"prompt_tokens", "completion_tokens", "total_tokens", "preferred_output", "non_preferred_output"}
)
_OWN_OF_RESPONSES = _OWN | {"object", "id", "created", "system_fingerprint", "service_tier"}
_PARAMETERS = frozenset(
    {"temperature", "top_p", "max_tokens", "max_completion_tokens", "n", "stop", "seed", "frequency_penalty"}
    | {"presence_penalty", "parallel_tool_calls", "tool_choice", "response_format", "reasoning_effort", "logprobs"}
    | {"top_logprobs", "logit_bias", "stream", "stream_options", "function_call", "verbosity", "modalities"}
)


def messages_of_request(body: Mapping[str, Any]) -> list[Message]:
    """The messages of the body of a request: the conversation so far.

    Raises
    ------
    BadRecord
        When one of them is no message.
    """
    if "messages" in body:
        return messages_of(body["messages"])
    prompt = body.get("prompt")
    return [] if prompt is None else [Message("user", prompt)]


def annotations_of_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """The ``tools`` that a request offers to the model."""
    return known(tools=json_or_text(first(body, "tools", "functions")))


def messages_of_response(body: Any) -> list[list[Message]]:
    """The answers in the body of a response, each as its messages; there are several where ``n`` asked for them.

    Parameters
    ----------
    body
        An object, a list of the chunks of a stream, or their server-sent events as a text.
    """
    if isinstance(body, str):
        body = events_in(body)
    if isinstance(body, list):
        body = completion_of_chunks(cast("list[Any]", body))
    response = mapping(body)
    choices = [mapping(choice) for choice in listed(response.get("choices"))]
    usage = _usage(response)
    if not choices:
        error = response.get("error")
        return [] if error is None else [[Message("assistant", metadata={"error": error}, raw=response)]]
    answers: list[list[Message]] = []
    for choice in choices:
        answer = _answer(choice)
        answer.model = text(response.get("model"))
        answer.finish_reason = text(choice.get("finish_reason"))
        answer.timestamp = moment(response.get("created"))
        answer.usage = usage if len(choices) == 1 else None
        answer.cost_usd = number(mapping(response.get("usage")).get("cost"))
        answer.metadata = {**(answer.metadata or {}), **known(response_id=text(response.get("id")))}
        answer.raw = response
        answers.append([answer])
    return answers


def _answer(choice: Mapping[str, Any]) -> Message:
    message = choice.get("message", choice.get("delta"))
    if isinstance(message, dict):
        return message_of({"role": "assistant", **mapping(message)})
    return Message("assistant", choice.get("text"))


def _usage(record: Mapping[str, Any]) -> dict[str, Any] | None:
    return usage_of(
        mapping(record.get("usage")) or record,
        input_tokens=("prompt_tokens", "input_tokens"),
        output_tokens=("completion_tokens", "output_tokens"),
        reasoning_tokens="completion_tokens_details.reasoning_tokens",
        cached_tokens=("prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens"),
    )


def _is_request(value: Any) -> bool:
    return isinstance(value, dict) and (
        are_chat_messages(cast("dict[str, Any]", value).get("messages")) or ("prompt" in value and "model" in value)
    )


def _is_chunk(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    record = cast("dict[str, Any]", value)
    if record.get("object") == "chat.completion.chunk":
        return True
    choices = listed(record.get("choices"))
    return bool(choices) and all("delta" in mapping(choice) and "message" not in choice for choice in choices)


def _is_response(value: Any) -> bool:
    if isinstance(value, list):
        pieces = cast("list[Any]", value)
        return bool(pieces) and all(map(_is_chunk, pieces[:3]))
    record = mapping(value)
    if record.get("object") in ("chat.completion", "text_completion"):
        return True
    choices = listed(record.get("choices"))
    return bool(choices) and all("message" in mapping(choice) for choice in choices)


class OpenAIChat(StreamedFormat):
    """Rows of messages, requests with their responses, bare responses, streams, and pairs of preferred answers."""

    name: ClassVar[str] = "openai_chat"
    aliases: ClassVar[tuple[str, ...]] = ("openai", "chat_completions")

    def detect(self, value: Any) -> bool:
        """Messages with roles and contents, a completion, or chunks of one."""
        if isinstance(value, list):
            return are_chat_messages(value) or _is_response(value)
        record = mapping(value)
        if self.piece_in(record) is not None or _is_request(record) or _is_pair(record):
            return True
        exchange = exchange_of(record, _is_request, _is_response)
        return exchange is not None

    def piece(self, value: Mapping[str, Any]) -> Piece | None:
        """Chunks are told apart by their id."""
        if not _is_chunk(value) or are_chat_messages(value.get("messages")):
            return None
        return Piece(text(value.get("id")))

    def convert(
        self, value: Any, source: dict[str, Any], options: ReadOptions
    ) -> Trace[Any, Any] | Iterator[Trace[Any, Any]]:
        """A trace of a conversation; one for each choice of a response, and for both answers of a preference."""
        if isinstance(value, list):
            pieces = self.pieces_of(value)
            if pieces is None:
                return self._row({"messages": value}, source, options)
            value = completion_of_chunks(pieces)
        record = mapping(value)
        if not record:
            raise BadRecord(f"expected an object with messages, got {type(value).__name__}")
        if _is_pair(record):
            return self._pair(record, source, options)
        if type(record.get("messages")) is list and not any(key in record for key in _ANSWERS):
            return self._row(record, source, options)
        exchange = exchange_of(record, _is_request, _is_response)
        if exchange is None:
            if "messages" in record:
                return self._row(record, source, options)
            raise BadRecord("it holds no messages and no completion")
        return self._exchange(exchange, source, options)

    def _row(self, record: dict[str, Any], source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        annotations: dict[str, Any] = {"source": source}
        noted = Message("assistant")
        if len(record) > 1:
            exchange = Exchange(record, None, record, frozenset())
            annotations = annotations_of_request(record) | annotations_of(exchange, source, _OWN, _PARAMETERS)
            noted.usage = _usage(record)
            note_figures(noted, record)
        messages = record["messages"]
        tells = bool(messages) and noted != Message("assistant") and mapping(messages[-1]).get("role") == "assistant"
        if tells and _has_other_calls(messages[:-1]):
            keep_apart([noted])
        trace = plain_chat(messages, annotations, options, noted=noted if tells else None)
        if trace is not None:
            return trace
        turns = Turns(options)
        if not add_messages(turns, messages):
            raise BadRecord("its list of messages is empty")
        if tells:
            turns.add(noted, len(messages))
        return turns.trace(annotations)

    def _exchange(self, exchange: Exchange, source: dict[str, Any], options: ReadOptions) -> Iterator[Trace[Any, Any]]:
        answers = messages_of_response(exchange.response) or [_unanswered(exchange.record)]
        own = _OWN_OF_RESPONSES if exchange.response is exchange.record else _OWN
        annotations = annotations_of_request(exchange.request)
        annotations |= annotations_of(exchange, source, own, _PARAMETERS)
        if len(answers) > 1 and (usage := _usage(mapping(exchange.response))):
            annotations["usage_of_all_choices"] = usage
        for place, answer in enumerate(answers):
            # Made anew for each: what is noted of one must not be seen in another.
            asked = messages_of_request(exchange.request)
            messages = asked + answer
            if not messages:
                raise BadRecord("it holds no messages and no answer")
            if answer:
                note_figures(answer[-1], exchange.record)
                if len(answers) == 1:
                    answer[-1].usage = answer[-1].usage or _usage(exchange.record)
                answer[-1].model = answer[-1].model or text(exchange.request.get("model"))
                if lacks_figures(asked):
                    keep_apart(answer)
            choice = {} if len(answers) == 1 else {"choice": place}
            yield to_trace(messages, {**annotations, **choice}, options)

    def _pair(self, record: dict[str, Any], source: dict[str, Any], options: ReadOptions) -> Iterator[Trace[Any, Any]]:
        """A preference: the answer that was preferred, and the one that was not, each with its label."""
        given: Any = record.get("input")
        request: dict[str, Any] = {"messages": given} if isinstance(given, list) else mapping(given) or record
        for name, preferred in (("preferred_output", True), ("non_preferred_output", False)):
            annotations = annotations_of(
                Exchange(request, None, record, frozenset({"input"})), source, _OWN, _PARAMETERS
            )
            labels = {**mapping(annotations.get("labels")), PREFERRED: preferred}
            output = record[name]
            answer = [Message("assistant", output)] if isinstance(output, str) else messages_of(output, name)
            messages = messages_of_request(request) + answer
            yield to_trace(messages, {**annotations_of_request(request), **annotations, "labels": labels}, options)


# With one of these, a row of messages is a request that has its response beside it.
_ANSWERS = ("response", "response_body", "responseBody", "res", "output", "outputs", "completion", "result", "choices")


def _has_other_calls(messages: list[Any]) -> bool:
    """Whether the model was called before in the turn that `messages` end with."""
    for message in reversed(messages):
        role = ROLES.get(text(mapping(message).get("role")) or "")
        if role != "system":
            return role != "user"
    return False


def _is_pair(record: Mapping[str, Any]) -> bool:
    return "preferred_output" in record and "non_preferred_output" in record


def _unanswered(record: Mapping[str, Any]) -> list[Message]:
    """What there is in place of an answer: an error, if one was noted."""
    error = first(record, "error", "error_str")
    return [Message("assistant", metadata={"error": error})] if error else []
