"""Inputs that a model makes, turn by turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, cast

from pydantic import BaseModel, Field, StrictInt

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.failures import text_of
from giskard.checks.core.input_generator import InputGenerator
from giskard.checks.core.mixin import WithGeneratorMixin
from giskard.checks.core.types import MISSING, TraceT
from giskard.checks.generators._asking import asked_again
from giskard.checks.generators._forms import LLMGeneratorOutput, form_of
from giskard.checks.generators._speech import is_said_again, speaks_as_the_assistant, takes_over, without_thoughts
from giskard.checks.generators._talk import Ended, Talk
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.fences import readable
from giskard.checks.llm.prompts import PackagedPrompt, WithPromptMixin, packaged_prompt, system_message
from giskard.checks.llm.structured import UnreadableReply, ask
from giskard.checks.llm.templates import render, untrusted_among
from giskard.checks.llm.types import Message
from giskard.checks.settings import find_generator

__all__ = ["BaseLLMGenerator", "LLMGenerator", "LLMGeneratorOutput"]

_Count = Annotated[StrictInt, Field(ge=0)]

_REPEATED = "this was said before, word for word; go on from the last answer, or say it in other words"
_AS_THE_ASSISTANT = "it is what the assistant would say; speak as the user, who wants something of the assistant"
_TAKEN_OVER = "it repeats the last answer of the assistant; speak as the user, and react to that answer"

# What models write where there is nothing to say.
_NO_ISSUE = frozenset({"", "none", "null", "n/a", "na", "no", "-", "no issue", "no issues"})


class BaseLLMGenerator(WithGeneratorMixin, InputGenerator[TraceT], Generic[TraceT]):
    """Inputs that a model makes until the goal is reached.

    To write one's own, implement `get_prompt`, and where needed `get_inputs` and `output_type`; register a kind to
    save it.

    How the conversation ended stands in the metadata of its last turn: ``metadata["simulation"]``, with ``ended``
    ("goal", "silence", "limit", "calls", "error" or "stopped"), ``turns``, ``calls``, and what they used; and
    ``metadata["simulator_output"]``, the last answer of the model.

    Parameters
    ----------
    generator
        The model: an object with ``async complete(messages, params, metadata)``, or a model's name.  Left out, the
        default generator is taken when it runs.
    max_steps
        The most turns that it makes; 0 makes none and asks nothing.
    max_retries
        How often a turn is asked for again after a refusal, or an answer that cannot be read or used.
    max_calls
        The most calls of the model in one conversation, those that repair an answer included.  Left out, as many as
        `max_steps` and `max_retries` allow for.
    guard_role
        Whether a message is asked for again in which the model speaks as the assistant.
    guard_repeats
        Whether a message that was said before is asked for again: once in a conversation.
    """

    max_steps: _Count = 3
    max_retries: _Count = 2
    max_calls: Annotated[StrictInt, Field(ge=1)] | None = None
    guard_role: bool = True
    guard_repeats: bool = True

    _packaged: ClassVar[str | None] = None
    """The name of the prompt in ``generators/prompts`` that `get_prompt` gives."""

    # --- hooks ---------------------------------------------------------------------------

    def get_prompt(self) -> str:
        """The template of what the model is asked, with the variables of `get_inputs` and ``trace``.

        What it prints is fenced, as material, but for the generator's own fields and for what the filter ``unfenced``
        is put on.
        """
        packaged = self._packaged_prompt()
        if packaged is None:
            raise NotImplementedError(f"{type(self).__name__} does not implement get_prompt()")
        return packaged.source

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The variables of the template, beside ``trace``."""
        return {}

    @property
    def output_type(self) -> type[BaseModel]:
        """What the model's answer is read as; `LLMGeneratorOutput` is fitted to what the target takes."""
        return LLMGeneratorOutput

    @property
    def call_limit(self) -> int:
        """The most calls of the model in one conversation."""
        # Each try is a call, and one more when the reply has to be repaired.
        return self.max_calls or max(1, 2 * self.max_steps * (1 + self.max_retries))

    def _packaged_prompt(self) -> PackagedPrompt | None:
        own = type(self).get_prompt is not BaseLLMGenerator.get_prompt
        return None if self._packaged is None or own else packaged_prompt("generators", self._packaged)

    def _first_input(self, input_type: Any) -> Any:
        """What is sent first without asking the model; MISSING when it is asked for that too."""
        return MISSING

    async def _asked(self, trace: TraceT) -> str:
        inputs = await self.get_inputs(trace)
        packaged = self._packaged_prompt() is not None
        untrusted = {"trace"} if packaged else untrusted_among(inputs, self.__dict__)
        return render(self.get_prompt(), {"trace": trace, **inputs}, untrusted)

    # --- the conversation ----------------------------------------------------------------

    async def __call__(self, trace: TraceT, input_type: Any = None) -> AsyncGenerator[Any, TraceT]:
        """Yield an input for each turn.

        Parameters
        ----------
        input_type
            What the target's hint says of its inputs; None is text.

        Raises
        ------
        InputGenerationException
            When no input can be made for a turn; the message names the turn and the cause.
        """
        packaged = self._packaged_prompt()
        talk = Talk(self.call_limit, None if packaged is None else packaged.label)
        try:
            while (ended := await self._ended(talk, trace, input_type)) is None:
                given = cast("TraceT | None", (yield talk.message))
                trace = trace if given is None else given
                talk.turn_was_made(trace.interactions[-1] if trace.interactions else None)
            talk.ended = ended
        except Exception as error:
            talk.ended, talk.error = "error", text_of(error)
            raise
        finally:
            talk.note()

    async def _ended(self, talk: Talk, trace: TraceT, input_type: Any) -> Ended | None:
        """Make the next input, which is ``talk.message`` then; or why there is none."""
        if talk.turns >= self.max_steps:
            return "limit"
        if talk.turns and talk.calls >= talk.limit:
            return "calls"
        turn = len(trace.interactions) + 1
        try:
            first = MISSING if talk.turns else self._first_input(input_type)
            if first is not MISSING:
                talk.output, talk.message = LLMGeneratorOutput(goal_reached=False, message=first), first
                return None
            form = self.output_type
            form = form_of(input_type) if form is LLMGeneratorOutput else form
            messages = await self._messages(trace, form)
            talk.generator = talk.generator or find_generator(self.generator)
        except ConfigurationError as error:
            raise talk.failure(self, turn, str(error), "config") from error
        talk.output, talk.message = await self._next(talk, trace, messages, form)
        if _is_over(talk.output):
            return "goal"
        return "silence" if _is_blank(talk.message) else None

    async def _next(self, talk: Talk, trace: TraceT, messages: list[Message], form: type[BaseModel]) -> tuple[Any, Any]:
        """The model's answer and the message in it, after as many tries as it takes and is allowed."""
        turn, tries = len(trace.interactions) + 1, self.max_retries + 1
        spare: _Try | None = None  # its message is fit to be sent, if no better one comes
        tried = _Try("")
        again: list[Message] = []
        for number in range(tries):
            talk.sample = number
            try:
                tried = await self._try(talk, trace, [*messages, *again], form)
            except ModelCallError as error:
                if spare is not None:
                    return spare.output, spare.message
                before = f"; the reply before cannot be used: {tried.problem}" if tried.problem else ""
                said = f"{error.message}{before}"
                raise talk.failure(self, turn, said, error.kind, retryable=error.retryable) from error
            if not tried.problem:
                if not self._wants_other_words(talk, tried, trace):
                    return tried.output, tried.message
                talk.told_of_repeats, spare = True, tried
            again = asked_again(tried.reply, tried.problem or _REPEATED)
        if spare is not None:
            return spare.output, spare.message
        kind = tried.cause.kind if isinstance(tried.cause, ModelCallError) else "input_generation"
        said = f"no usable input after {tries} {'try' if tries == 1 else 'tries'}: {tried.problem}{tried.hint}"
        raise talk.failure(self, turn, said, kind) from tried.cause

    async def _try(self, talk: Talk, trace: TraceT, messages: list[Message], form: type[BaseModel]) -> _Try:
        try:
            answer = await ask(talk, messages, form)
        except UnreadableReply as error:
            return _Try(error.problem, reply=error.raw, cause=error)
        except ModelCallError as error:
            if error.kind != "refused":
                raise
            return _Try(error.message, cause=error)
        output = _settled(answer.output)
        try:
            message = without_thoughts(getattr(output, "message", None))
        except ValueError as error:
            return _Try(str(error), reply=answer.raw)
        problem, hint = self._problem(output, message, trace)
        return _Try(problem, hint, answer.raw, output, message)

    async def _messages(self, trace: TraceT, form: type[BaseModel]) -> list[Message]:
        return [system_message("generators", form), Message("user", (await self._asked(trace)).strip())]

    # --- what is wrong with a message -----------------------------------------------------

    def _problem(self, output: Any, message: Any, trace: TraceT) -> tuple[str, str]:
        """Why an answer cannot be used, and what a reader of the error is told beyond that; empty when it can."""
        if _is_over(output):
            return "", ""
        issue = getattr(output, "schema_issue", None)
        if isinstance(issue, str) and issue.strip().casefold().rstrip(".") not in _NO_ISSUE:
            return f"the message could not be put into the form that is asked for: {issue}", ""
        if not self.guard_role or not isinstance(message, str):
            return "", ""
        hint = f"; it is {message!r:.200}, and guard_role=False would let it pass"
        if speaks_as_the_assistant(message):
            return _AS_THE_ASSISTANT, hint
        turns = trace.interactions
        if turns and takes_over(message, turns[-1].outputs, (turn.inputs for turn in turns)):
            return _TAKEN_OVER, hint
        return "", ""

    def _wants_other_words(self, talk: Talk, tried: _Try, trace: TraceT) -> bool:
        """Whether the model is told that this was said before: that happens once in a conversation."""
        if not self.guard_repeats or talk.told_of_repeats or _is_over(tried.output) or _is_blank(tried.message):
            return False
        return is_said_again(readable(tried.message), [readable(turn.inputs) for turn in trace.interactions])


@dataclass(frozen=True, slots=True)
class _Try:
    """An answer of the model, and what is wrong with it."""

    problem: str
    hint: str = ""
    reply: str | None = None
    output: Any = None
    message: Any = None
    cause: Exception | None = None


def _is_over(output: Any) -> bool:
    return bool(getattr(output, "goal_reached", False))


def _is_blank(message: Any) -> bool:
    return message is None or (isinstance(message, str) and not message.strip())


def _settled(output: Any) -> Any:
    """An answer as it is kept; of the fitted classes, which nobody can import, the plain one."""
    if isinstance(output, LLMGeneratorOutput) and type(output).__module__ == LLMGeneratorOutput.__module__:
        issue = output.schema_issue
        return LLMGeneratorOutput(goal_reached=output.goal_reached, message=output.message, schema_issue=issue)
    return output


@InputGenerator.register("llm_generator")
class LLMGenerator(WithPromptMixin, BaseLLMGenerator[TraceT], Generic[TraceT]):
    """Inputs that a model makes as a prompt says.

    Parameters
    ----------
    prompt, prompt_path
        What the model is asked: a text, or the place ``"namespace::path"`` of a template; exactly one of them.  A
        text is taken literally, and the conversation up to now is added to it.
    as_template
        Whether `prompt` is a template too.  A template is all that the model is asked; what it prints of ``trace`` is
        fenced.
    """

    as_template: bool = False

    def get_prompt(self) -> str:
        """The prompt: the text, or what stands in the file.

        Raises
        ------
        TemplateError
            When it is given by its place, and there is no such file.
        """
        return self.prompt_text()

    def _is_template(self) -> bool:
        return self.as_template or self.prompt is None

    def _variables(self) -> frozenset[str] | None:
        # A subclass may give more of them.
        return frozenset({"trace"}) if type(self).get_inputs is BaseLLMGenerator.get_inputs else None

    def _packaged_prompt(self) -> PackagedPrompt | None:
        return None if self._is_template() else packaged_prompt("generators", "llm_generator")

    async def _asked(self, trace: TraceT) -> str:
        if self._is_template():
            return await super()._asked(trace)
        source = packaged_prompt("generators", "llm_generator").source
        return render(source, {"trace": trace, "task": self.get_prompt()})
