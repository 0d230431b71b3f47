"""Inputs out of a data set."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Generic

from pydantic import TypeAdapter, field_validator
from pydantic.errors import PydanticUserError

from giskard.checks.core.input_generator import InputGenerator
from giskard.checks.core.mixin import WithGeneratorMixin
from giskard.checks.core.types import TraceT
from giskard.checks.llm.unavailable import ModelsUnavailableError, models_unavailable

__all__ = ["DatasetInputGenerator"]


@InputGenerator.register("dataset_input")
class DatasetInputGenerator(WithGeneratorMixin, InputGenerator[TraceT], Generic[TraceT]):
    """One input: a prompt out of a data set, in the form that the target takes.

    Parameters
    ----------
    prompt
        What is sent.  A target that takes text gets it word for word, and no model is asked.
    generator
        The model that fits the prompt into inputs of another form: an object with
        ``async complete(messages, params, metadata)``, or a model's name.

    Notes
    -----
    In this version no model can be asked: a target that takes no text is an error.
    """

    prompt: str

    @field_validator("prompt")
    @classmethod
    def _check_prompt(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("the prompt is empty: there is nothing to send")
        return value

    async def __call__(self, trace: TraceT, input_type: Any = None) -> AsyncGenerator[Any, TraceT]:
        """Yield the input.

        Parameters
        ----------
        input_type
            What the target's hint says of its inputs; None is text.

        Raises
        ------
        InputGenerationException
            When the target takes no text.
        """
        if not _takes(input_type, self.prompt):
            who = f"DatasetInputGenerator with a target that takes no text but {_name_of(input_type)}"
            raise ModelsUnavailableError(models_unavailable(who, "structured inputs come"))
        yield self.prompt


def _takes(input_type: Any, text: str) -> bool:
    """Whether `text`, as it is, is an input of this type."""
    if input_type is None or input_type is Any or input_type is object:
        return True
    try:
        return TypeAdapter[Any](input_type).validate_python(text, strict=True) == text
    except (ValueError, TypeError, PydanticUserError):  # it is not, or is no type that can be checked
        return False


def _name_of(input_type: Any) -> str:
    return input_type.__name__ if isinstance(input_type, type) else str(input_type)
