"""A span of any instrumentation, in one neutral form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from giskard.checks.importers._messages import Call, Message

__all__ = ["Kind", "Span"]

Kind = Literal["agent", "llm", "tool", "retriever", "chain", "other"]


@dataclass(slots=True, eq=False)
class Span:
    """What was recorded of one piece of work, as far as a conversation needs it.

    Parameters
    ----------
    trace_id, span_id, parent_id
        As texts; OpenTelemetry's are in hexadecimal.
    kind
        ``agent``: a turn of an agent.  ``llm``: a call of a model.  ``chain``: a step around others.  ``other``: work
        that has to do with no model, HTTP say.
    dialect
        Who wrote it: goes into ``annotations["source"]["format"]``.
    start, end
        Nanoseconds since 1970.
    latency_ms
        For formats that hold it instead of `end`.
    inputs, outputs
        What was said to it and what it said, system prompts among the inputs.
    call
        Of a tool: how it was called and what it gave back.
    documents
        Of a retriever.
    usage, cost_usd
        Of this span alone for a model, of all that is below for others.
    error
        The text of its failure.
    labels, annotations
        What people said of it; what the conversation's annotations are to hold, tools among them.
    raw
        As it was recorded, for ``keep_raw``.
    heard
        Its inputs but for those of the system, and what these are known again by, once that was asked for.
    path, line
        Where it stands.
    up, below
        Its parent and its children, once the spans of its trace are together.
    """

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str = ""
    kind: Kind = "other"
    dialect: str = ""
    start: int | None = None
    end: int | None = None
    latency_ms: float | None = None
    conversation: str | None = None
    agent: str | None = None
    inputs: list[Message] = field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]
    outputs: list[Message] = field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]
    call: Call | None = None
    documents: list[Any] = field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]
    usage: dict[str, Any] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    cost_usd: float | None = None
    ttft_ms: float | None = None
    model: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    labels: dict[str, Any] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    annotations: dict[str, Any] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    raw: Any = None
    heard: tuple[list[Message], list[Any]] | None = field(default=None, repr=False)
    path: str | None = field(default=None, repr=False)
    line: int | None = field(default=None, repr=False)
    up: Span | None = field(default=None, repr=False)
    below: list[Span] = field(default_factory=list, repr=False)  # pyright: ignore[reportUnknownVariableType]

    @property
    def speaks(self) -> bool:
        """Whether anything that was said is recorded in it."""
        return bool(self.inputs or self.outputs)

    @property
    def duration_ms(self) -> float | None:
        """From its start to its end; None when that is not known, or the clock ran backwards."""
        if self.start is None or self.end is None:
            return self.latency_ms
        return (self.end - self.start) / 1e6 if self.end >= self.start else self.latency_ms

    @property
    def order(self) -> tuple[float, float, str]:
        """What spans are ordered by: one that has no time comes last."""
        start = float("inf") if self.start is None else self.start
        return (start, start if self.end is None else self.end, self.span_id)
