"""Inputs that a model makes, turn by turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Generic

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from giskard.checks.core.input_generator import InputGenerator
from giskard.checks.core.mixin import WithGeneratorMixin
from giskard.checks.core.models import plain_class
from giskard.checks.core.types import TraceT
from giskard.checks.llm.prompts import WithPromptMixin
from giskard.checks.llm.unavailable import ModelsUnavailableError, models_unavailable

__all__ = ["BaseLLMGenerator", "LLMGenerator", "LLMGeneratorOutput"]

_Count = Annotated[StrictInt, Field(ge=0)]


class LLMGeneratorOutput(BaseModel):
    """What a model answers when it is asked for the next input.

    Parameters
    ----------
    goal_reached
        Whether the conversation has come to its end; nothing is sent then.
    message
        The next input.
    schema_issue
        Why no input of the wanted form could be made.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    goal_reached: StrictBool
    message: Any = None
    schema_issue: str | None = None


class BaseLLMGenerator(WithGeneratorMixin, InputGenerator[TraceT], Generic[TraceT]):
    """Inputs that a model makes until the goal is reached.

    To write one's own, implement `get_prompt`, and where needed `get_inputs` and `output_type`; register a kind to
    save it.

    Parameters
    ----------
    generator
        The model: an object with ``async complete(messages, params, metadata)``, or a model's name.  Left out, the
        default generator is taken when it runs.
    max_steps
        The most turns that it makes; 0 makes none and asks nothing.
    max_retries
        How often a turn is asked for again after a refusal or an input that does not fit.

    Notes
    -----
    In this version no model can be asked: to run it is an error.
    """

    max_steps: _Count = 3
    max_retries: _Count = 2

    def get_prompt(self) -> str:
        """The template of what the model is asked, with the variables of `get_inputs` and ``trace``."""
        raise NotImplementedError(f"{type(self).__name__} does not implement get_prompt()")

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The variables of the template, beside ``trace``."""
        return {}

    @property
    def output_type(self) -> type[BaseModel]:
        """What the model's answer is read as."""
        return LLMGeneratorOutput

    async def __call__(self, trace: TraceT, input_type: Any = None) -> AsyncGenerator[Any, TraceT]:
        """Yield an input for each turn.

        Raises
        ------
        InputGenerationException
            When a model would have to be asked.
        """
        for _ in range(self.max_steps):
            trace = yield await self._ask(trace, input_type)

    async def _ask(self, trace: TraceT, input_type: Any) -> Any:
        raise ModelsUnavailableError(models_unavailable(plain_class(type(self)).__name__, "generated inputs come"))


@InputGenerator.register("llm_generator")
class LLMGenerator(WithPromptMixin, BaseLLMGenerator[TraceT], Generic[TraceT]):
    """Inputs that a model makes as a prompt says.

    Parameters
    ----------
    prompt, prompt_path
        What the model is asked: a text, or the place ``"namespace::path"`` of a template; exactly one of them.
    as_template
        Whether `prompt` is a template too; otherwise it is taken literally.
    """

    as_template: bool = False

    def get_prompt(self) -> str:
        """The prompt, when it is given as a text."""
        if self.prompt is None:
            who = f"LLMGenerator(prompt_path={self.prompt_path!r})"
            raise ModelsUnavailableError(models_unavailable(who, "generated inputs come"))
        return self.prompt
