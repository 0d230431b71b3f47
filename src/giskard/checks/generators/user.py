"""Simulated users."""

from __future__ import annotations

from typing import Any, Generic

from pydantic import field_validator

from giskard.checks.core.input_generator import InputGenerator
from giskard.checks.core.types import TraceT
from giskard.checks.generators.base import BaseLLMGenerator

__all__ = ["PERSONAS", "UserSimulator"]

PERSONAS: dict[str, str] = {
    "helpful_user": "You answer every question fully and politely, and offer what the assistant may need to know.",
    "confused_user": "You mix things up, misread what you are told, and need to have it explained again.",
    "novice_user": "You use this for the first time, know none of its terms, and ask about the simplest things.",
    "frustrated_customer": "You tried several times without success; you are annoyed, and say so without insults.",
    "impatient_user": "You want a result now: you write a few words at a time and cut explanations short.",
    "verbose_user": "You tell long stories around a small request, with details that do not matter to it.",
    "non_native_speaker": "This is not your first language: short sentences, with slips of grammar and wording.",
    "detail_oriented_user": "You want numbers, dates and conditions, and point out whatever does not fit together.",
}
"""Users that can be asked for by name, and what the model is told of them."""


@InputGenerator.register("user_simulator")
class UserSimulator(BaseLLMGenerator[TraceT], Generic[TraceT]):
    """A user that a model plays.

    Parameters
    ----------
    persona
        Who the user is: a name of `PERSONAS`, else a description in plain words.
    context
        What the user knows and wants.
    """

    persona: str
    context: str | None = None

    @field_validator("persona")
    @classmethod
    def _check_persona(cls, value: str) -> str:
        if not value.strip():
            raise ValueError(f"the persona is empty: describe the user, or name one of {', '.join(PERSONAS)}")
        return value

    @property
    def persona_text(self) -> str:
        """The description of the user."""
        return PERSONAS.get(self.persona, self.persona)

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The description of the user, and what the user knows and wants."""
        return {"persona": self.persona_text, "context": self.context}
