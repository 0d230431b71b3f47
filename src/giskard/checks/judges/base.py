"""The base of the checks that a model decides."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any, ClassVar, Generic, cast

from pydantic import BaseModel, ConfigDict, StrictBool

from giskard.checks.core.check import Check, NoVerdict
from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.mixin import WithJudgeMixin
from giskard.checks.core.models import plain_class
from giskard.checks.core.result import CheckResult
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._asking import Question, Vote, ask_all, ask_one
from giskard.checks.judges._verdicts import cannot_tell, details_of
from giskard.checks.llm.prompts import PackagedPrompt, packaged_prompt, system_message
from giskard.checks.llm.templates import render, untrusted_among
from giskard.checks.llm.types import Message
from giskard.checks.settings import find_judge

__all__ = ["BaseLLMCheck", "LLMCheckResult"]


class LLMCheckResult(BaseModel):
    """What a judge answers.

    Parameters
    ----------
    passed
        Whether what was judged is as it should be: true or false; None when the judge cannot tell.
    reason
        Why, in a sentence or two.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    answer_format: ClassVar[str] = (
        'one JSON object: {"reason": "why, in one or two sentences", "passed": true or false}\n'
        'Where what you are shown is not enough to tell, "passed" is null.'
    )

    # The reason stands first, so that a model gives its reason before its verdict.
    reason: str | None = None
    passed: StrictBool | None


class BaseLLMCheck(WithJudgeMixin, Check[In, Out, TraceT], Generic[In, Out, TraceT]):
    """A check that a model decides.

    To write one's own, implement `get_prompt`, and where needed `get_inputs`, `output_type` and `_handle_output`;
    register a kind to save it.

    Parameters
    ----------
    judge
        Who is asked: a judge, an object with ``async complete(messages, params, metadata)``, or a model's name.  Left
        out, the default judge is taken when the check runs.
    generator
        The older spelling of `judge`.
    judges
        Several judges in the place of one: the majority decides.
    votes
        How often each judge is asked.
    """

    _older_names: ClassVar[dict[str, str]] = {}
    """Older spellings of fields, which are still read."""

    _packaged: ClassVar[str | None] = None
    """The name of the prompt in ``judges/prompts`` that `get_prompt` gives."""

    @classmethod
    def _prepare(cls, data: dict[str, Any]) -> dict[str, Any]:
        for older, name in cls._older_names.items():
            if older in data:
                if name in data:
                    raise ValueError(f"{name} and its older spelling {older} are both given; give one of them")
                data = {name if key == older else key: value for key, value in data.items()}
        return super()._prepare(data)

    def get_prompt(self) -> str:
        """The template of what the judge is asked, with the variables of `get_inputs` and ``trace``.

        What it prints is fenced, as material to be judged, but for the check's own fields and for what the filter
        ``unfenced`` is put on.
        """
        packaged = self._packaged_prompt()
        if packaged is None:
            raise NotImplementedError(f"{type(self).__name__} does not implement get_prompt()")
        return packaged.source

    def _packaged_prompt(self) -> PackagedPrompt | None:
        own = type(self).get_prompt is not BaseLLMCheck.get_prompt
        return None if self._packaged is None or own else packaged_prompt("judges", self._packaged)

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The variables of the template, beside ``trace``.

        Raises
        ------
        NoVerdict
            When there is nothing that could be judged; the judge is not asked then.
        """
        return {}

    @property
    def output_type(self) -> type[BaseModel]:
        """What the judge's answer is read as."""
        return LLMCheckResult

    def _handle_output(self, output: Any, inputs: dict[str, Any], trace: TraceT) -> CheckResult:
        """The result that the judge's answer stands for: PASS or FAIL by its ``passed``."""
        reason: Any = getattr(output, "reason", None)
        details = details_of(inputs, reason=reason)
        passed: Any = getattr(output, "passed", None)
        if passed is None:
            raise cannot_tell(reason, details)
        if not isinstance(passed, bool):
            raise NoVerdict(
                f"the judge's answer has no verdict: passed is {passed!r:.200}, expected true or false",
                kind="unreadable_verdict",
                details=details,
            )
        return (CheckResult.success if passed else CheckResult.failure)(cast("str | None", reason), details)

    async def run(self, trace: TraceT) -> CheckResult:
        """The judge's verdict on `trace`; an ERROR when there is none, and when something is missing to judge."""
        try:
            found: Any = self.get_inputs(trace)
            inputs: dict[str, Any] = await found if isawaitable(found) else found
            vote = self._vote(inputs, trace)
            judges = self.judges or [find_judge(self.judge, self.generator)]
        except NoVerdict as problem:
            return problem.verdict().result()
        except ConfigurationError as error:
            return CheckResult.error(f"{plain_class(type(self)).__name__} {self.label!r}: {error}", error_kind="config")
        packaged = self._packaged_prompt()
        noted = {} if packaged is None else {"prompt": packaged.label}
        return await ask_all(judges, self.votes, vote, noted)

    def _vote(self, inputs: dict[str, Any], trace: TraceT) -> Vote:
        """How one judge is asked for one verdict.

        The prompt is written here, before any judge is asked.
        """
        output_type = self._output_type(inputs)
        question = Question(self._messages(inputs, trace, output_type), output_type)
        return lambda judge, sample, noted: ask_one(
            judge, sample, question, lambda output: self._handle_output(output, inputs, trace), noted
        )

    def _output_type(self, inputs: dict[str, Any]) -> type[BaseModel]:
        """`output_type`, for checks in which it hangs on what the judge is shown."""
        return self.output_type

    def _messages(self, inputs: dict[str, Any], trace: TraceT, output_type: type[BaseModel]) -> list[Message]:
        asked = render(self.get_prompt(), {"trace": trace, **inputs}, self._untrusted(inputs))
        return [system_message("judges", output_type), Message("user", asked)]

    def _untrusted(self, inputs: dict[str, Any]) -> set[str]:
        """The variables that a template fences by itself: all but those that are fields of the check.

        The prompts of this package say `fence` wherever it is due.
        """
        return {"trace"} if self._packaged_prompt() is not None else untrusted_among(inputs, self.__dict__)
