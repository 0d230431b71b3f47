"""A check by a policy in Rego, the language of Open Policy Agent."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Generic, Self

from pydantic import AfterValidator, model_validator

from giskard.checks.builtin._rego import CompiledPolicy, PolicyError, Undefined, compile_policy
from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.core.check import Check, CodeCheck, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.result import CheckStatus, Verdict
from giskard.checks.core.types import In, Out, TraceT

__all__ = ["RegoPolicy"]


def _rule_path(rule: str) -> str:
    if not rule.startswith("data.") or rule.endswith("."):
        raise ValueError(
            f"the rule is {rule!r}; expected a path that starts with 'data.', such as 'data.refunds.allow'"
        )
    return rule


@Check.register("rego_policy")
class RegoPolicy(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a policy allows a value: its rule is true for it.

    The value is the policy's ``input``.  A rule that is false or undefined is FAIL; one that is anything else, is not
    there, or cannot be evaluated is ERROR.

    Parameters
    ----------
    policy
        The source of the policy, in Rego v1; it is compiled when the check is built.
    rule
        The path of the rule, such as ``data.refunds.allow``.
    target_key
        The path of the value that is checked; it must be JSON data.
    data
        What the policy reads as ``data``.

    Raises
    ------
    MissingExtraError
        When the extra is not installed: ``pip install 'giskard-checks[rego]'``.

    Notes
    -----
    An evaluation cannot be interrupted: a `timeout` counts after it.
    """

    __slots__ = ("_compiled",)

    policy: str
    rule: Annotated[str, AfterValidator(_rule_path)]
    target_key: JSONPathStr = "trace.last.outputs"
    data: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _compile_policy(self) -> Self:
        self._compile()
        return self

    def _compile(self) -> CompiledPolicy:
        compiled = compile_policy(self.policy, self.data)
        object.__setattr__(self, "_compiled", compiled)
        return compiled

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        with contextlib.suppress(AttributeError):
            object.__delattr__(self, "_compiled")  # it is made anew

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the rule is true, FAIL when it is false or undefined."""
        value = lookup(trace, self.target_key)
        details = {"input": value, "rule": self.rule}
        try:
            compiled = self._compiled
        except AttributeError:  # the check was copied, or a field was set
            compiled = self._compile()
        try:
            answer = compiled.ask(self.rule, value)
        except PolicyError as error:
            raise NoVerdict(f"the policy gives no answer: {error}", kind="config", details=details) from error
        if answer is True:
            return Verdict(CheckStatus.PASS, f"{self.rule} is true", details)
        if answer is False or isinstance(answer, Undefined):
            state = "undefined" if isinstance(answer, Undefined) else "false"
            return Verdict(
                CheckStatus.FAIL, f"{self.rule} is {state} for {shown(value)} at {self.target_key!r}", details
            )
        raise NoVerdict(
            f"{self.rule} is {shown(answer)} ({type_name(answer)}), expected true or false",
            kind="bad_type",
            details=details,
        )
