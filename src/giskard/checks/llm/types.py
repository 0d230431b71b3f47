"""What goes to a model and what comes back: plain data, whoever serves the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel

from giskard.checks.core.usage import Usage

__all__ = [
    "Completion",
    "EmbeddingModelLike",
    "Embeddings",
    "GenerationParams",
    "GeneratorLike",
    "Message",
    "Role",
    "Source",
]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

Source: TypeAlias = Literal["model", "cassette", "cache"]
"""Where an answer came from: a model that was asked just now, a recording, or the cache."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a model, or from it."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class GenerationParams:
    """How a model is to answer; what is None is left to the model.

    Parameters
    ----------
    temperature
        From 0 on: how much chance there is in the answer.
    max_tokens
        The length at which the answer is cut.
    seed
        For answers that can be had again, where the provider offers it.
    response_format
        The pydantic class that the answer is to fit: structured output.
    timeout
        Seconds for the call, tries and waits included.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    response_format: type[BaseModel] | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer.

    Parameters
    ----------
    text
        The answer; None when there is none, such as after a refusal.
    finish_reason
        Why it ended, in the provider's words: ``"stop"``, ``"length"``, …
    usage
        Tokens and cost; None when the provider says nothing.
    model
        The model that answered, which may be another than the one that was asked for.
    raw
        The provider's own object.
    source
        Whether a model was asked, or a recording or the cache answered.
    """

    text: str | None
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    raw: Any = field(default=None, repr=False, compare=False)
    source: Source = "model"


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The vectors of some texts, in the order of the texts."""

    vectors: Sequence[Sequence[float]]
    usage: Usage | None = None
    model: str | None = None
    source: Source = "model"


@runtime_checkable
class GeneratorLike(Protocol):
    """Anything that completes a conversation; it need not know this package."""

    async def complete(
        self,
        messages: Sequence[Message],
        params: GenerationParams | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The model's answer to `messages`; `metadata` is passed on to whoever records the call."""
        ...


@runtime_checkable
class EmbeddingModelLike(Protocol):
    """Anything that turns texts into vectors; it need not know this package."""

    async def embed(self, texts: Sequence[str], metadata: Mapping[str, Any] | None = None) -> Embeddings:
        """The vectors of `texts`, all in one call."""
        ...
