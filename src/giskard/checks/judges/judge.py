"""Judges, and the check that asks one whatever you want to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic

from giskard.checks.core.check import Check
from giskard.checks.core.mixin import BaseJudge, WithGeneratorMixin
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges.base import BaseLLMCheck, LLMCheckResult
from giskard.checks.llm.prompts import WithPromptMixin
from giskard.checks.llm.types import Completion, GenerationParams, Message
from giskard.checks.llm.unavailable import ModelsUnavailableError, models_unavailable
from giskard.checks.settings import find_generator

__all__ = ["BaseJudge", "BaseLLMCheck", "LLMChatJudge", "LLMCheckResult", "LLMJudge"]


@BaseJudge.register("llm_chat")
class LLMChatJudge(WithGeneratorMixin, BaseJudge):
    """A judge that is a chat model.

    Parameters
    ----------
    generator
        The model: an object with ``async complete(messages, params, metadata)``, or a model's name.  Left out, the
        default generator is taken when it is asked.
    """

    async def complete(
        self,
        messages: Sequence[Message],
        params: GenerationParams | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The model's completion of `messages`.

        Raises
        ------
        ConfigurationError
            When no model is given anywhere, or only the name of one, which this version cannot ask.
        """
        generator = find_generator(self.generator)
        if isinstance(generator, str):
            raise ModelsUnavailableError(models_unavailable(f"LLMChatJudge({generator!r})", "judges come"))
        return await generator.complete(messages, params, metadata)


@Check.register("llm_judge")
class LLMJudge(WithPromptMixin, BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks what a prompt asks for.

    Parameters
    ----------
    prompt, prompt_path
        The template of what the judge is asked, with the variable ``trace``: a text, or the place
        ``"namespace::path"`` of a file; exactly one of them.
    """

    def get_prompt(self) -> str:
        """The template, when it is given as a text."""
        if self.prompt is None:
            who = f"LLMJudge(prompt_path={self.prompt_path!r})"
            raise ModelsUnavailableError(models_unavailable(who, "judges come"))
        return self.prompt
