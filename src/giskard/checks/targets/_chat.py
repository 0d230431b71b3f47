"""Answers of the chat completions protocol: one that comes whole, and one that comes in pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from giskard.checks.core.usage import ToolCall
from giskard.checks.targets._conversation import excerpt
from giskard.checks.targets._reply import parse_json
from giskard.checks.targets.errors import TargetError

__all__ = ["ChatStream", "arguments_of", "content_text", "read_completion", "tool_calls_of"]


def read_completion(data: Any, what: str) -> dict[str, Any]:
    """The message, the reason why it ended, the model and the usage of a whole answer.

    Raises
    ------
    TargetError
        When there is no message in it.
    """
    body = _mapping(data)
    choices = body.get("choices")
    choice = _mapping(choices[0] if isinstance(choices, Sequence) and choices else None)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        error = body.get("error")
        said = excerpt(json.dumps(error if error is not None else data, ensure_ascii=False))
        raise TargetError(f"{what} has no choices[0].message: {said}", kind="model_error")
    return {
        "message": dict(cast("Mapping[str, Any]", message)),
        "finish_reason": choice.get("finish_reason"),
        "model": body.get("model"),
        "usage": body.get("usage"),
    }


class ChatStream:
    """Puts the message of a streamed answer together."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish_reason: Any = None
        self._model: Any = None
        self._usage: Any = None
        self.first_chunk: float | None = None
        """Seconds to the first piece of the message."""

    def add(self, data: str, seconds: float) -> None:
        """Take the data of an event.

        Raises
        ------
        TargetError
            When it is no JSON, or tells of an error.
        """
        event = _mapping(parse_json(data, f"an event of {self._place}"))
        if event.get("error") is not None:
            raise TargetError(
                f"{self._place} broke off with an error: {excerpt(json.dumps(event['error'], ensure_ascii=False))}",
                kind="model_error",
            )
        self._model = event.get("model") or self._model
        self._usage = event.get("usage") or self._usage
        for choice in map(_mapping, event.get("choices") or ()):
            if choice.get("index", 0) == 0:
                self._take(_mapping(choice.get("delta")), seconds)
                self._finish_reason = choice.get("finish_reason") or self._finish_reason

    def _take(self, delta: Mapping[str, Any], seconds: float) -> None:
        pieces = (delta.get("content"), delta.get("refusal"), delta.get("tool_calls"))
        if self.first_chunk is None and any(pieces):
            self.first_chunk = seconds
        if isinstance(pieces[0], str):
            self._content.append(pieces[0])
        if isinstance(pieces[1], str):
            self._refusal.append(pieces[1])
        for position, piece in enumerate(map(_mapping, pieces[2] or ())):
            self._take_call(piece, position)

    def _take_call(self, piece: Mapping[str, Any], position: int) -> None:
        index = piece.get("index", position)
        call = self._calls.setdefault(
            index, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = piece.get("id") or call["id"]
        function = _mapping(piece.get("function"))
        for name in ("name", "arguments"):
            call["function"][name] += function.get(name) or ""

    def completed(self) -> dict[str, Any]:
        """As `read_completion`.

        Raises
        ------
        TargetError
            When the stream ended before its answer did.
        """
        if self._finish_reason is None:
            so_far = excerpt("".join(self._content))
            raise TargetError(
                f"{self._place} ended its stream without a finish_reason, after: {so_far}", kind="network"
            )
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._content) or None}
        if self._refusal:
            message["refusal"] = "".join(self._refusal)
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        return {
            "message": message,
            "finish_reason": self._finish_reason,
            "model": self._model,
            "usage": self._usage,
        }


def content_text(content: Any) -> str | None:
    """The text of a message's content, which may come in parts; None when there is none."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return None
    texts = [part if isinstance(part, str) else _mapping(part).get("text") for part in cast("Sequence[Any]", content)]
    found = [text for text in texts if isinstance(text, str)]
    return "".join(found) if found else None


def tool_calls_of(message: Mapping[str, Any]) -> list[ToolCall]:
    """The calls of tools in a message of the protocol."""
    calls: list[ToolCall] = []
    for call in map(_mapping, message.get("tool_calls") or ()):
        function = _mapping(call.get("function"))
        name = function.get("name") or call.get("name")
        if isinstance(name, str):
            given = function.get("arguments", call.get("arguments"))
            calls.append(ToolCall(id=_text(call.get("id")), name=name, arguments=arguments_of(given)))
    return calls


def arguments_of(given: Any) -> Any:
    """The arguments of a call, parsed; the raw text when they cannot be."""
    if given is None or given == "":
        return {}
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
