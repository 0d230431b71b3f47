"""The base of the checks that a model decides."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, cast

from pydantic import BaseModel, ConfigDict, StrictBool

from giskard.checks.core.check import Check, NoVerdict
from giskard.checks.core.mixin import WithJudgeMixin
from giskard.checks.core.models import plain_class
from giskard.checks.core.result import CheckResult
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.llm.unavailable import models_unavailable

__all__ = ["BaseLLMCheck", "LLMCheckResult"]


class LLMCheckResult(BaseModel):
    """What a judge answers.

    Parameters
    ----------
    passed
        Whether what was judged is as it should be: true or false, nothing else.
    reason
        Why, in a sentence or two.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    # The reason stands first, so that a model gives its reason before its verdict.
    reason: str | None = None
    passed: StrictBool


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

    Notes
    -----
    In this version no model can be asked: `run` looks for what the judge is to see, and then gives an ERROR.
    """

    _older_names: ClassVar[dict[str, str]] = {}
    """Older spellings of fields, which are still read."""

    @classmethod
    def _prepare(cls, data: dict[str, Any]) -> dict[str, Any]:
        for older, name in cls._older_names.items():
            if older in data:
                if name in data:
                    raise ValueError(f"{name} and its older spelling {older} are both given; give one of them")
                data = {name if key == older else key: value for key, value in data.items()}
        return super()._prepare(data)

    def get_prompt(self) -> str:
        """The template of what the judge is asked, with the variables of `get_inputs` and ``trace``."""
        raise NotImplementedError(f"{type(self).__name__} does not implement get_prompt()")

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
        details = {"reason": reason, "inputs": {name: value for name, value in inputs.items() if name != "trace"}}
        passed: Any = getattr(output, "passed", None)
        if not isinstance(passed, bool):
            raise NoVerdict(
                f"the judge's answer has no verdict: passed is {passed!r:.200}, expected true or false",
                kind="unreadable_verdict",
                details=details,
            )
        return (CheckResult.success if passed else CheckResult.failure)(cast("str | None", reason), details)

    async def run(self, trace: TraceT) -> CheckResult:
        """An ERROR: that something is missing that the judge must see, else that no model can be asked yet."""
        try:
            await self.get_inputs(trace)
        except NoVerdict as problem:
            return problem.verdict().result()
        message = models_unavailable(f"{plain_class(type(self)).__name__} {self.label!r}", "judges come")
        return CheckResult.error(message, error_kind="config")
