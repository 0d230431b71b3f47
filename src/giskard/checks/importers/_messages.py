"""Messages in the one neutral form that every format is read into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Call", "Message", "Result", "Role"]

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(slots=True)
class Call:
    """A call of a tool, as it was recorded.

    Parameters
    ----------
    arguments
        An object, or JSON text: texts are parsed when the turn is made.
    arguments_error
        Why the arguments could not be read, for formats that say so themselves.
    result, error
        For formats that hold them beside the call, with `has_result`; otherwise they come as a `Result`.
    """

    name: str
    arguments: Any = None
    id: str | None = None
    result: Any = None
    error: str | None = None
    has_result: bool = False
    agent: str | None = None
    started_at: str | None = None
    latency_ms: float | None = None
    arguments_error: str | None = None


@dataclass(slots=True)
class Result:
    """What a tool gave back.

    Parameters
    ----------
    content
        A text, which is read as JSON where it is some, or a value.
    id, name
        Of the call that it answers, as far as they were recorded.
    error
        The text of the failure; True when `content` is that.
    """

    content: Any
    id: str | None = None
    name: str | None = None
    error: str | bool | None = None
    latency_ms: float | None = None


@dataclass(slots=True)
class Message:
    """A message of a conversation.

    Parameters
    ----------
    role
        Who speaks.
    content
        A text, a list of parts when it is more than text, or None.
    calls, results
        The results of a message come before its content, which comes before its calls.  A user message with results
        and a text ends one turn and starts the next; one with results alone starts none.  Calls that have their
        result come before the content.
    usage
        ``input_tokens``, ``output_tokens``, ``reasoning_tokens`` and ``cached_tokens``, as far as they are known.
    latency_ms, ttft_ms, cost_usd
        Of the model's call that gave the message.
    timestamp
        ISO 8601.
    metadata
        What else the turn's metadata is to hold; lists of several messages are put together, and ``columns``.
    labels
        What people said of this turn.
    raw
        The message as it was recorded, for ``keep_raw``.
    index
        Its position in the recording, where that is another one than among the messages.
    """

    role: Role
    content: Any = None
    calls: list[Call] = field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]
    results: list[Result] = field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]
    reasoning: list[str] = field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]
    name: str | None = None
    refusal: bool = False
    usage: Mapping[str, Any] | None = None
    model: str | None = None
    finish_reason: str | None = None
    latency_ms: float | None = None
    ttft_ms: float | None = None
    cost_usd: float | None = None
    timestamp: str | None = None
    metadata: Mapping[str, Any] | None = None
    labels: Mapping[str, Any] | None = None
    raw: Any = None
    index: int | None = None
