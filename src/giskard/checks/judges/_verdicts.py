"""What the judges share whose answers have a form of their own."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, create_model

from giskard.checks.core.check import NoVerdict

__all__ = [
    "NamedVerdict",
    "Verdicts",
    "as_word",
    "cannot_tell",
    "details_of",
    "need_one",
    "need_turns",
    "verdicts_type",
]


def details_of(inputs: Mapping[str, Any], **found: Any) -> dict[str, Any]:
    """The details of a result: what the judge said, and what it was shown."""
    return {**found, "inputs": {name: value for name, value in inputs.items() if name != "trace"}}


def cannot_tell(reason: str | None, details: dict[str, Any], about: str = "") -> NoVerdict:
    """The ERROR of a judge that says that it cannot tell."""
    why = f": {reason}" if reason else ""
    message = f"the judge cannot tell{about}{why}"
    return NoVerdict(message, kind="unreadable_verdict", details=details, retryable=False)


def need_turns(trace: Any) -> None:
    """Refuse a conversation without a turn.

    Raises
    ------
    NoVerdict
        When there is nothing that could be judged.
    """
    if not len(trace.interactions):
        raise NoVerdict("the trace has no interactions: there is nothing to judge", kind="missing_value")


def need_one(check: Any, name: str) -> None:
    """Refuse a check that is given neither the value `name` nor the path of it.

    Raises
    ------
    ValueError
        Naming both fields.
    """
    if getattr(check, name) is None and getattr(check, f"{name}_key") is None:
        raise ValueError(f"give {name} or {name}_key; neither was given")


def as_word(value: Any) -> Any:
    """A word as it is written in a schema, however the model wrote it.

    Examples
    --------
    >>> as_word(" Not found")
    'not_found'
    """
    return re.sub(r"[\s-]+", "_", value.strip().lower()) if isinstance(value, str) else value


class NamedVerdict(BaseModel):
    """What a judge says to one of several things: see `LLMCheckResult`."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    reason: str | None = None
    passed: StrictBool | None


class Verdicts(BaseModel):
    """What a judge says to several things, each under its key, no key left out, and none besides."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    answer_format: ClassVar[str] = ""

    def in_order(self) -> list[NamedVerdict]:
        """The verdicts, in the order of the keys that the class was made with."""
        return [getattr(self, name) for name in type(self).model_fields]


@functools.lru_cache(maxsize=256)
def verdicts_type(keys: tuple[str, ...]) -> type[Verdicts]:
    """The class of the answers with these keys, which are words; the same class for the same keys."""
    # Names of fields that neither hide one of pydantic's nor are private.
    fields: dict[str, Any] = {f"verdict_{place}": (NamedVerdict, Field(alias=key)) for place, key in enumerate(keys)}
    made = create_model("Verdicts", __base__=Verdicts, **fields)
    form = '{"reason": "why, in one or two sentences", "passed": true or false}'
    made.answer_format = (
        f"one JSON object, with a verdict under each of these keys: {', '.join(keys)}\n"
        f'It starts with {{"{keys[0]}": {form}, and has one of that form for every key; leave none out, add none.\n'
        'Where what you are shown is not enough to tell about one of them, its "passed" is null.'
    )
    return made
