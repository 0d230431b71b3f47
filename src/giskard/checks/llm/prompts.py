"""How prompts are given, as a text or as the place of a file, and what every prompt of this package tells a model."""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, field_validator, model_validator

from giskard.checks.core.models import StrictModel
from giskard.checks.llm.schemas import schema_text
from giskard.checks.llm.templates import TemplateError, check_template, load_template, render
from giskard.checks.llm.types import Message

__all__ = ["PackagedPrompt", "WithPromptMixin", "answer_format", "packaged_prompt", "system_message"]

_PLACE = re.compile(r"[^:\s][^:]*::[^:]*[^:\s]")
_VERSION = re.compile(r"\{#-?\s*version:\s*(\d+)\b")


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
        if self._is_template():
            try:
                source = self.prompt if self.prompt is not None else load_template(self.prompt_path or "")
            except TemplateError:
                return self  # the package may only be there where the check runs: it is an error then
            check_template(source, self._variables())
        return self

    def _is_template(self) -> bool:
        """Whether the prompt is filled with variables."""
        return True

    def _variables(self) -> frozenset[str] | None:
        """The variables that the prompt is filled with; None when only a run can tell."""
        return None

    def prompt_text(self) -> str:
        """The prompt, read from its file when it is given by its place.

        Raises
        ------
        TemplateError
            When there is no such file.
        """
        return self.prompt if self.prompt is not None else load_template(self.prompt_path or "")


class PackagedPrompt(NamedTuple):
    """A prompt that comes with this package."""

    source: str
    label: str
    """Its name and version, such as ``"groundedness@1"``: verdicts are comparable only under one version."""


@functools.cache
def packaged_prompt(room: str, name: str) -> PackagedPrompt:
    """The prompt `name` of a room, such as ``("judges", "groundedness")``."""
    source = load_template(f"giskard.checks.{room}::prompts/{name}.jinja")
    version = _VERSION.match(source)
    if version is None:
        raise TemplateError(f"the prompt {room}/{name} does not start with its version")
    return PackagedPrompt(source, f"{name}@{version[1]}")


@functools.lru_cache(maxsize=256)
def answer_format(output_type: type[BaseModel]) -> str:
    """How a model is told to answer, for those that are not held to a form by their provider."""
    shape: Any = getattr(output_type, "answer_format", None)
    return shape if isinstance(shape, str) else f"one JSON object that fits this schema:\n{schema_text(output_type)}"


@functools.lru_cache(maxsize=256)
def system_message(room: str, output_type: type[BaseModel]) -> Message:
    """The message that comes first in what a room asks.

    It is the same for all answers of one form, so that a provider can keep what it made of it.
    """
    text = render(packaged_prompt(room, "_system").source, {"answer": answer_format(output_type)})
    return Message("system", text.strip())
