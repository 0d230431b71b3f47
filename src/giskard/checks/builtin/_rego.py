"""Rego policies: compiled once, asked about one input at a time, without a network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from giskard.checks.builtin._json import find_not_json, to_builtin, without_surrogates
from giskard.checks.builtin._shown import json_path
from giskard.checks.core.exceptions import MissingExtraError

__all__ = ["BadPolicy", "CompiledPolicy", "PolicyError", "Undefined", "compile_policy"]


class BadPolicy(ValueError):
    """A text is not a Rego policy, or its data is not data; the message says what is wrong and where."""


class PolicyError(ValueError):
    """A policy gives no answer about an input: its rule is not there, or its evaluation fails."""


class Undefined(NamedTuple):
    """What a rule is when none of its conditions holds and it has no default."""


_UNDEFINED: Final = Undefined()
_NO_SUCH_RULE: Final = "not a valid rule path"


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """A policy with its data that is known to compile; get one from `compile_policy`.

    Parameters
    ----------
    policy
        Its source.
    data
        Its data as a JSON text.
    """

    policy: str
    data: str | None

    def ask(self, rule: str, value: Any) -> Any:
        """What a rule says about an input.

        Parameters
        ----------
        rule
            The path of the rule, such as ``data.refunds.allow``.
        value
            The input: JSON data.

        Returns
        -------
        Any
            The value of the rule as JSON data, or `Undefined`.

        Raises
        ------
        PolicyError
            When the input is not JSON, the rule is not there, or its evaluation fails.

        Notes
        -----
        An evaluation cannot be interrupted, and other threads wait for it.
        """
        found = find_not_json(value)
        if found is not None:
            raise PolicyError(f"the input is not JSON: {json_path(found.path)}: {found.reason}")
        answer, problem = _evaluated(self.policy, self.data, rule, _dumped(value))
        if problem is not None:
            raise PolicyError(problem)
        return answer


def compile_policy(policy: str, data: dict[str, Any] | None = None) -> CompiledPolicy:
    """A policy (Rego v1) with its data, which is known to compile.

    Parameters
    ----------
    policy
        The source, with its ``package``.
    data
        What the policy reads as ``data``.

    Raises
    ------
    BadPolicy
        When the policy does not compile, or the data is no JSON object.
    MissingExtraError
        When the extra ``rego`` is not installed.
    """
    found = find_not_json(data)
    if found is not None:
        raise BadPolicy(f"the data of the policy is not JSON: {json_path(found.path)}: {found.reason}")
    try:
        text = None if data is None else _dumped(data)
    except PolicyError as error:
        raise BadPolicy(f"the data of the policy cannot be used: {error}") from None
    problem = _compiled(policy, text)[1]
    if problem is not None:
        raise BadPolicy(f"the policy cannot be compiled: {problem}")
    return CompiledPolicy(policy, text)


# An engine may only be touched, and freed, by the thread that made it.  So none is kept, and none leaves these two
# functions, not even in the traceback of an exception: they give the text of a problem instead of raising.


def _compiled(policy: str, data: str | None) -> tuple[Any, str | None]:
    """An engine with a policy and its data, or None and what is wrong with them."""
    engine = _rego_library().Engine()
    engine.set_rego_v0(False)
    engine.set_gather_prints(True)  # else they go to the terminal
    try:
        engine.add_policy("policy.rego", policy)
        if data is not None:
            engine.add_data_json(data)
    except RuntimeError as error:
        return None, _first_lines(error)
    return engine, None


def _evaluated(policy: str, data: str | None, rule: str, value: str) -> tuple[Any, str | None]:
    """The value of a rule for an input, or None and why there is none."""
    engine, problem = _compiled(policy, data)
    if problem is not None:
        return None, problem
    try:
        engine.set_input_json(value)
        answer = engine.eval_rule(rule)
        # It is None for null, too.
        if answer is None and not json.loads(engine.eval_query_as_json(rule)).get("result"):
            return _UNDEFINED, None
    except RuntimeError as error:
        problem = _first_lines(error)
        if problem == _NO_SUCH_RULE:
            problem = f"there is no rule {rule!r}; the packages of the policy: {', '.join(engine.get_packages())}"
        return None, problem
    return answer, None


def _dumped(value: Any) -> str:
    try:
        return json.dumps(to_builtin(value, without_surrogates))
    except RecursionError:
        raise PolicyError("the data is nested too deeply") from None
    except TypeError:  # a decimal: what an integer of more than 4,300 digits becomes
        raise PolicyError("a number in the data is too long") from None


def _first_lines(error: RuntimeError) -> str:
    return str(error).partition("\n\nStack backtrace:")[0].strip()


def _rego_library() -> Any:
    """The one door to the library: opened by the first policy, never by an import."""
    try:
        import regorus  # noqa: PLC0415  # pyright: ignore
    except ImportError:
        raise MissingExtraError("gordon-to-regorus", "rego") from None
    return cast("Any", regorus)
