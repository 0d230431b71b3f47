"""Inputs out of a data set."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Generic, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
    field_validator,
)

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.input_generator import InputGenerator
from giskard.checks.core.interaction.notes import add_metadata
from giskard.checks.core.mixin import WithGeneratorMixin
from giskard.checks.core.types import TraceT
from giskard.checks.generators._asking import asked_again
from giskard.checks.generators._forms import adapter_of, name_of, per_type, portable
from giskard.checks.generators._talk import SIMULATION, Talk
from giskard.checks.generators._templates import FILLED, key_of
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.prompts import answer_format, packaged_prompt
from giskard.checks.llm.structured import UnreadableReply, ask
from giskard.checks.llm.templates import render
from giskard.checks.llm.types import Message
from giskard.checks.settings import find_generator

__all__ = ["DatasetInputGenerator"]

PLACEHOLDER = "<<USER-TEXT>>"
_TRIES = 3


@InputGenerator.register("dataset_input")
class DatasetInputGenerator(WithGeneratorMixin, InputGenerator[TraceT], Generic[TraceT]):
    """One input: a prompt out of a data set, in the form that the target takes.

    Parameters
    ----------
    prompt
        What is sent.  A target that takes text gets it word for word, and no model is asked.
    generator
        The model that makes inputs of another form: an object with ``async complete(messages, params, metadata)``, or
        a model's name; left out, the default generator is taken when it runs.  It is asked once for each form, however
        many prompts there are, and never sees a prompt: it writes a placeholder where the prompt goes.
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
            When no input of the target's form can be made.
        """
        if _takes(input_type, self.prompt):
            yield self.prompt
            return
        talk = Talk(2 * _TRIES, packaged_prompt("generators", "dataset_input").label)
        value = await self._structured(talk, len(trace.interactions) + 1, input_type)
        given = cast("TraceT | None", (yield value))
        if talk.calls and given is not None and given.interactions:
            add_metadata(given.interactions[-1], {SIMULATION: talk.costs()})

    async def _structured(self, talk: Talk, turn: int, input_type: Any) -> Any:
        try:
            form, adapter = _filled_form(input_type), adapter_of(input_type)
            talk.generator = find_generator(self.generator)
        except ConfigurationError as error:
            raise talk.failure(self, turn, str(error), "config") from error

        async def fill() -> Any:
            return await self._filled(talk, turn, form)

        template = await FILLED.get(key_of(talk.generator, form), talk.generator, fill)
        try:
            return adapter.validate_json(json.dumps(_with_prompt(template, self.prompt)))
        except (ValueError, TypeError) as error:
            what = f"the prompt does not fit the target's inputs, {name_of(input_type)}: {error}"
            raise talk.failure(self, turn, what, "config") from error

    async def _filled(self, talk: Talk, turn: int, form: type[BaseModel]) -> Any:
        """Data of the form, with the placeholder where the prompt goes."""
        source = packaged_prompt("generators", "dataset_input").source
        asked = render(source, {"placeholder": PLACEHOLDER, "answer": answer_format(form)})
        messages = [Message("user", asked.strip())]
        again: list[Message] = []
        cause: UnreadableReply | ModelCallError | None = None
        problem = ""
        for number in range(_TRIES):
            talk.sample = number
            try:
                return cast("Any", (await ask(talk, [*messages, *again], form)).output).input
            except UnreadableReply as error:
                cause, problem, again = error, error.problem, asked_again(error.raw, error.problem)
            except ModelCallError as error:
                if error.kind != "refused":
                    raise talk.failure(self, turn, error.message, error.kind, retryable=error.retryable) from error
                cause, problem, again = error, error.message, asked_again(None, error.message)
        kind = cause.kind if isinstance(cause, ModelCallError) else "input_generation"
        what = f"no usable input after {_TRIES} tries: {problem}"
        raise talk.failure(self, turn, what, kind) from cause


def _takes(input_type: Any, text: str) -> bool:
    """Whether `text`, as it is, is an input of this type."""
    if input_type is None or input_type is Any or input_type is object:
        return True
    try:
        return bool(adapter_of(input_type).validate_python(text, strict=True) == text)
    except (ValueError, TypeError):  # it is not, or is no type that can be checked
        return False


# --- templates ---------------------------------------------------------------------------


@per_type
def _filled_form(input_type: Any) -> type[BaseModel]:
    """The class that a template is read as: data that is checked against the type, and kept as it was written."""
    field: Any = Annotated[portable(input_type), WrapValidator(_checked)]
    form = create_model("FilledInput", __config__=ConfigDict(frozen=True), input=(field, ...))
    form.model_json_schema()  # what cannot be described is refused now
    return form


def _checked(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    places = [text for text in _texts(value) if PLACEHOLDER in text]
    if not places:
        raise ValueError(f"{PLACEHOLDER} does not stand in it")
    if any(text != PLACEHOLDER for text in places):
        raise ValueError(f"{PLACEHOLDER} does not stand alone in it: nothing may be added before or after it")
    check(value)
    return value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in cast("dict[Any, Any]", value).values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in cast("list[Any]", value) for text in _texts(item)]
    return []


def _with_prompt(template: Any, prompt: str) -> Any:
    if template == PLACEHOLDER:
        return prompt
    if isinstance(template, dict):
        items = cast("dict[Any, Any]", template).items()
        return {key: _with_prompt(item, prompt) for key, item in items}
    if isinstance(template, list):
        return [_with_prompt(item, prompt) for item in cast("list[Any]", template)]
    return template
