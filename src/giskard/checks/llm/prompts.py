"""How prompts are given: as a text, or as the place of a file."""

from __future__ import annotations

import re
from typing import Self

from pydantic import field_validator, model_validator

from giskard.checks.core.models import StrictModel

__all__ = ["WithPromptMixin"]

_PLACE = re.compile(r"[^:\s][^:]*::[^:]*[^:\s]")


class WithPromptMixin(StrictModel):
    """Something that asks what a prompt says; put it before the other bases of a class.

    Parameters
    ----------
    prompt
        A text that is not empty.
    prompt_path
        The place ``"namespace::path"`` of a file; exactly one of the two is given.
    """

    prompt: str | None = None
    prompt_path: str | None = None

    @field_validator("prompt_path")
    @classmethod
    def _is_a_place(cls, value: str | None) -> str | None:
        if value is not None and _PLACE.fullmatch(value) is None:
            raise ValueError(
                f"prompt_path is {value!r}, expected 'namespace::path', such as 'my_app::judges/polite.txt'"
            )
        return value

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if (self.prompt is None) is (self.prompt_path is None):
            given = "neither" if self.prompt is None else "both"
            raise ValueError(f"give exactly one of prompt and prompt_path; {given} was given")
        if self.prompt is not None and not self.prompt.strip():
            raise ValueError("the prompt is empty: say what the model is asked")
        return self
