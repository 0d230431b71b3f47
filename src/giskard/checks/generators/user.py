"""Simulated users."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from pydantic import ValidationError, ValidationInfo, field_validator

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.input_generator import InputGenerator
from giskard.checks.core.models import did_you_mean
from giskard.checks.core.types import MISSING, TraceT
from giskard.checks.generators._forms import adapter_of, name_of, takes_text
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

    All that is said of the user here stays the same for the whole conversation.  What the assistant answers is shown
    to the model as material, which gives it no orders; of a turn's metadata it is shown nothing.

    Parameters
    ----------
    persona
        Who the user is: a name of `PERSONAS`, else a description in plain words.
    context
        What the user knows: the situation, an order's number.
    goal
        What the user wants to have reached; the conversation ends when it is.
    first_message
        What is sent first, word for word; the model goes on from the answer.  For a target that takes no text, the
        data of its inputs.
    language
        The language that the user writes, such as ``"French"``.
    """

    persona: str
    context: str | None = None
    goal: str | None = None
    first_message: Any = None
    language: str | None = None

    _packaged: ClassVar[str | None] = "user_simulator"

    @field_validator("persona")
    @classmethod
    def _check_persona(cls, value: str) -> str:
        if not value.strip():
            raise ValueError(f"the persona is empty: describe the user, or name one of {', '.join(PERSONAS)}")
        # One word with an underscore is meant as a name.
        if value.isidentifier() and "_" in value and value not in PERSONAS:
            hint = did_you_mean(value, list(PERSONAS))
            if hint:
                raise ValueError(f"no persona is named {value!r}{hint} Describe the user in words, or name one of them")
        return value

    @field_validator("goal", "first_message", "language")
    @classmethod
    def _check_not_empty(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str) and not value.strip():
            raise ValueError(f"{info.field_name} is empty: leave it out, or say what it is")
        return value

    @property
    def persona_text(self) -> str:
        """The description of the user."""
        return PERSONAS.get(self.persona, self.persona)

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The description of the user, and what the user knows, wants and speaks."""
        return {
            "persona": self.persona_text,
            "context": self.context,
            "goal": self.goal,
            "language": self.language,
        }

    def _first_input(self, input_type: Any) -> Any:
        if self.first_message is None:
            return MISSING
        if takes_text(input_type) and isinstance(self.first_message, str):
            return self.first_message
        try:
            return adapter_of(input_type if input_type is not None else Any).validate_python(self.first_message)
        except (ValidationError, ConfigurationError) as error:
            raise ConfigurationError(
                f"first_message is no input of the target, which takes {name_of(input_type)}: {error}"
            ) from error
