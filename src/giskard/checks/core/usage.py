"""What a run used, and the tools it called: the words that every format shares."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field

from giskard.checks.utils.json_safe import JsonSafe

__all__ = ["ToolCall", "Usage", "usage_of", "value_of"]


class Usage(BaseModel):
    """Tokens, calls and cost; None is "unknown", never 0.

    Parameters
    ----------
    input_tokens, output_tokens, total_tokens
        Tokens, as the provider counts them.
    calls
        Requests to a model.
    cost
        In US dollars.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    calls: int | None = None
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        """The sum; a figure that either side does not know stays unknown."""
        names = type(self).model_fields
        return Usage(**{name: _plus(getattr(self, name), getattr(other, name)) for name in names})


def _plus(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a + b


class ToolCall(BaseModel):
    """A call of a tool by an agent.

    Parameters
    ----------
    arguments
        Parsed arguments; the raw text when they could not be parsed.
    result
        What the tool gave back, None when the call has no recorded result.
    error
        The text of the tool's failure, None when it did not fail.
    message_index
        0-based position, in the recording, of the message that made the call.
    step
        How often the message had called tools, and got their results, before it made the call; None when it had not.
    agent
        The name of the agent that made it, where several work together.
    latency_ms
        Milliseconds from the call to its result.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    id: str | None = None
    name: str
    arguments: Annotated[Any, JsonSafe] = Field(default_factory=dict[str, Any])
    result: Annotated[Any, JsonSafe] = None
    error: str | None = None
    message_index: int | None = None
    step: int | None = None
    agent: str | None = None
    started_at: datetime | None = None
    latency_ms: float | None = None


def value_of(value: Any, name: str) -> Any:
    """What goes by `name` in a mapping, or in an object; None when nothing does."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return getattr(value, name, None)


def usage_of(given: Any) -> Usage | None:
    """The tokens of one answer, told by a mapping or an object; None when it tells of none."""
    sent = _count(given, "input_tokens", "prompt_tokens")
    made = _count(given, "output_tokens", "completion_tokens")
    total = _count(given, "total_tokens")
    if sent is None and made is None and total is None:
        return None
    if total is None and sent is not None and made is not None:
        total = sent + made
    calls = _count(given, "requests", "successful_requests")
    return Usage(input_tokens=sent, output_tokens=made, total_tokens=total, calls=1 if calls is None else calls)


def _count(data: Any, *names: str) -> int | None:
    values = (value_of(data, name) for name in names)
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), None)
