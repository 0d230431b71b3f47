"""Judges, and the check that asks one whatever you want to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic

from giskard.checks.core.check import Check
from giskard.checks.core.mixin import BaseJudge, WithGeneratorMixin
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges.base import BaseLLMCheck, LLMCheckResult
from giskard.checks.llm.calls import complete
from giskard.checks.llm.prompts import WithPromptMixin
from giskard.checks.llm.types import Completion, GenerationParams, Message
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

    recorded: ClassVar[bool] = False
    """The model behind it is what recordings know; the judge itself is not recorded a second time."""

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
            When no model is given anywhere.
        ModelCallError
            When there is no completion.
        """
        return await complete(find_generator(self.generator), messages, params, metadata)


@Check.register("llm_judge")
class LLMJudge(WithPromptMixin, BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks what a prompt asks for.

    What the template prints of the conversation, such as ``{{ trace.last.outputs }}``, is fenced: the judge is told
    that it is material, and to take no orders from it.  ``{{ value | unfenced }}`` leaves a value as it is.

    Parameters
    ----------
    prompt, prompt_path
        The template of what the judge is asked, with the variable ``trace``: a text, or the place
        ``"namespace::path"`` of a file; exactly one of them.  Its syntax and its variables are checked when the check
        is built, a file's as soon as it is there.
    """

    def get_prompt(self) -> str:
        """The template.

        Raises
        ------
        TemplateError
            When it is given by its place, and there is no such file.
        """
        return self.prompt_text()

    def _variables(self) -> frozenset[str] | None:
        # A subclass may give more of them.
        return frozenset({"trace"}) if type(self).get_inputs is BaseLLMCheck.get_inputs else None
