"""One conversation that a model goes through: what it has cost, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias

from pydantic import BaseModel

from giskard.checks.core.error_kinds import ErrorKind
from giskard.checks.core.exceptions import CallFailedError, InputGenerationException
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.notes import add_metadata
from giskard.checks.core.models import plain_class
from giskard.checks.core.usage import Usage
from giskard.checks.llm.calls import complete
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.types import Completion, GenerationParams, Message

__all__ = ["SIMULATION", "Ended", "ModelInputError", "OutOfCalls", "Talk"]

Ended: TypeAlias = Literal["goal", "silence", "limit", "calls", "error", "stopped"]
"""Why a conversation ended.

The goal was reached; the model had nothing more to say; the turns, or the calls, were used up; no usable input came;
or it was ended from outside: by an error of the target, a time limit, or whoever stopped listening.
"""

_OUTPUT: Final = "simulator_output"
SIMULATION: Final = "simulation"


class ModelInputError(InputGenerationException, CallFailedError):
    """A model was asked for an input in vain; the message names the turn and the cause."""


class OutOfCalls(ModelCallError):
    """A conversation has used up its calls."""


class Talk:
    """Asks the model for one conversation, and counts.

    It stands in the place of a generator, so that every call is counted, also those that repair a reply.

    Parameters
    ----------
    limit
        The most calls.
    prompt
        The name and version of the prompt, if it is one of this package.
    """

    recorded: ClassVar[bool] = False
    """The model behind it is what recordings know."""

    def __init__(self, limit: int, prompt: str | None = None) -> None:
        self.generator: Any = None
        self.model: str | None = None
        self.limit = limit
        self.sample = 0
        """Which answer to the same question is asked for."""
        self.calls = 0
        self.turns = 0
        self.ended: Ended = "stopped"
        self.error: str | None = None
        self.output: Any = None
        """The last answer of the model."""
        self.message: Any = None
        """What is to be sent of it."""
        self.told_of_repeats = False
        self._prompt = prompt
        self._last: Interaction | None = None
        self._usage: Usage | None = None
        self._usage_is_known = True
        self._not_by_a_model: dict[str, int] = {}

    async def complete(
        self,
        messages: Sequence[Message],
        params: GenerationParams | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The model's completion of `messages`.

        Raises
        ------
        OutOfCalls
            When no call is left.
        ModelCallError
            When there is no completion.
        """
        if self.calls >= self.limit:
            raise OutOfCalls(
                f"the {self.limit} calls of the model (max_calls) were used up before a usable reply came",
                kind="input_generation",
            )
        self.calls += 1
        try:
            completion = await complete(self.generator, messages, params, metadata, sample=self.sample)
        except ModelCallError as error:
            self._count(error.usage)
            raise
        self._count(completion.usage)
        if completion.source != "model":
            self._not_by_a_model[completion.source] = self._not_by_a_model.get(completion.source, 0) + 1
        self.model = completion.model or self.model
        return completion

    def _count(self, usage: Usage | None) -> None:
        if usage is None:
            self._usage_is_known = False
        else:
            self._usage = usage if self._usage is None else self._usage + usage

    def turn_was_made(self, turn: Interaction | None) -> None:
        """Count a turn; the notes on the conversation will go to the last one."""
        self.turns += 1
        self._last = turn

    def note(self) -> None:
        """Add how it ended to the metadata of its last turn; without a turn there is no place for it."""
        if self._last is not None:
            noted = {SIMULATION: self.summary()}
            add_metadata(self._last, noted if self.output is None else {_OUTPUT: self.output, **noted})

    def summary(self) -> dict[str, Any]:
        """How it ended, after how many turns, and what it took."""
        error = {} if self.error is None else {"error": self.error}
        return {"ended": self.ended, **error, "turns": self.turns, **self.costs()}

    def costs(self) -> dict[str, Any]:
        """The calls, what they used as far as that is known, and who was asked what."""
        found: dict[str, Any] = {"calls": self.calls}
        if self._not_by_a_model:
            found["answered_by"] = dict(self._not_by_a_model)
        if self._usage is not None and self._usage_is_known:
            found["usage"] = self._usage.model_dump(exclude_none=True)
        if self.model is not None:
            found["model"] = self.model
        if self._prompt is not None:
            found["prompt"] = self._prompt
        return found

    def failure(
        self, generator: BaseModel, turn: int, what: str, kind: ErrorKind, *, retryable: bool | None = None
    ) -> ModelInputError:
        """The error to raise when `generator` can make no input for `turn`, which counts from 1."""
        who = plain_class(type(generator)).__name__
        return ModelInputError(f"{who}, turn {turn}: {what}", kind=kind, retryable=retryable)
