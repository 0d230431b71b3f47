"""Answers of a wanted form from models that may or may not be held to it."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError

from giskard.checks.core.usage import Usage
from giskard.checks.llm._objects import find_objects
from giskard.checks.llm.calls import complete
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.schemas import schema_text
from giskard.checks.llm.types import Completion, GenerationParams, Message, Source

__all__ = ["Answer", "UnreadableReply", "ask", "read_reply"]

T = TypeVar("T", bound=BaseModel)

_SHOWN = 300
_LONGEST = 500_000  # characters: whatever is longer is no answer, and takes long to read
_NOTHING = "there is no JSON object in it"
# Models that cut off an answer, in the words of the providers.
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"})
_REFUSED = frozenset({"content_filter", "refusal", "SAFETY", "safety"})


class UnreadableReply(ValueError):
    """A model's reply is not of the wanted form.

    Attributes
    ----------
    problem
        What is wrong with it.
    raw
        The last reply, as it came; None when it held no text.
    usage
        What the calls used.
    model
        The model that replied.
    """

    def __init__(self, problem: str, raw: str | None, usage: Usage | None = None, model: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.raw = raw
        self.usage = usage
        self.model = model


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What a model answered, read.

    Parameters
    ----------
    output
        The answer.
    raw
        The reply that it was read from.
    usage
        What all the calls for it used; None when nothing is known.
    repaired
        Whether the first reply could not be read and the model was asked once more.
    model
        The model that answered.
    source
        Whether a model was asked, or a recording or the cache answered.
    """

    output: T
    raw: str
    usage: Usage | None = None
    repaired: bool = False
    model: str | None = None
    source: Source = "model"


async def ask(
    generator: Any,
    messages: Sequence[Message],
    output_type: type[T],
    params: GenerationParams | None = None,
    metadata: Mapping[str, Any] | None = None,
    *,
    sample: int = 0,
) -> Answer[T]:
    """A model's answer, read as `output_type`.

    A reply that cannot be read is shown to the model once, with what is wrong with it.

    Parameters
    ----------
    generator
        Who is asked: a model's name, or an object with ``complete``.
    messages
        The conversation up to now.
    output_type
        A pydantic class.
    params, metadata
        What is passed on to the generator.
    sample
        Which answer to the same question this is, from 0: recordings and the cache keep them apart.

    Raises
    ------
    UnreadableReply
        When the second reply cannot be read either.
    ModelCallError
        When there is no reply.
    """
    params = replace(params or GenerationParams(), response_format=output_type)
    first = await complete(generator, messages, params, metadata, sample=sample)
    try:
        return _answer(first, output_type, first.usage)
    except UnreadableReply as problem:
        again = [*messages, Message("assistant", first.text or ""), Message("user", _repair(problem, output_type))]
    second = await complete(generator, again, params, metadata, sample=sample)
    return replace(_answer(second, output_type, _sum(first.usage, second.usage)), repaired=True)


def read_reply(reply: str, output_type: type[T]) -> T:
    r"""The last object in a reply that fits `output_type`.

    Parameters
    ----------
    reply
        What a model wrote: JSON, also in fences, after thinking, amid prose, with the slips that models make.
    output_type
        A pydantic class.

    Raises
    ------
    UnreadableReply
        When there is none, or when the last object that has all the wanted keys holds something else under them.

    Examples
    --------
    >>> from giskard.checks.judges import LLMCheckResult
    >>> read_reply("Sure! ```json\n{'passed': True, 'reason': 'It is polite.',}\n```", LLMCheckResult).passed
    True
    """
    known, wanted = _keys(output_type)
    answer, problem = None, _NOTHING
    if len(reply) > _LONGEST:
        raise UnreadableReply(f"it has {len(reply):,} characters, at most {_LONGEST:,} are read", reply[:_LONGEST])
    for found in find_objects(reply):
        is_answer = wanted <= found.keys
        if found.problem:
            # What was meant as the answer and is broken takes back what was said before.
            if found.ends_reply or known & found.keys:
                answer, problem = None, found.problem
            elif answer is None:
                problem = found.problem
            continue
        try:
            answer, problem = output_type.model_validate_json(json.dumps(found.value)), ""
        except ValidationError as error:
            if is_answer or answer is None:
                problem = _why(error)
            if is_answer or _holds(found.value, wanted):
                answer, problem = None, _why(error)
        except (ValueError, TypeError, RecursionError) as error:  # of a validator, or halves of surrogate pairs
            answer, problem = None, str(error)
    if answer is None:
        raise UnreadableReply(problem, reply)
    return answer


def _holds(value: Any, keys: frozenset[str]) -> bool:
    """Whether the keys of an answer stand in data that is none: in another case, or further in."""
    if isinstance(value, dict):
        data = cast("dict[str, Any]", value)
        named = {key.lower() for key in data}
        return keys <= named or any(_holds(item, keys) for item in data.values())
    return isinstance(value, list) and any(_holds(item, keys) for item in cast("list[Any]", value))


def _answer(completion: Completion, output_type: type[T], usage: Usage | None) -> Answer[T]:
    text = completion.text
    reason = str(completion.finish_reason)
    if reason in _REFUSED:
        said = f": {text[:_SHOWN]}" if text else ""
        raise ModelCallError(f"the model refused to answer{said}", kind="refused", usage=usage)
    try:
        if text is None or not text.strip():
            raise UnreadableReply("it is empty", text)
        return Answer(read_reply(text, output_type), text, usage, False, completion.model, completion.source)
    except UnreadableReply as error:
        cut = " (the model stopped at its limit of tokens)" if reason in _CUT else ""
        raise UnreadableReply(f"{error.problem}{cut}", text, usage, completion.model) from None


def _repair(problem: UnreadableReply, output_type: type[BaseModel]) -> str:
    return (
        f"Your reply could not be read: {problem.problem}.\n"
        f"Reply again, with one JSON object and nothing else. It must fit this schema:\n{schema_text(output_type)}"
    )


@functools.lru_cache(maxsize=256)
def _keys(output_type: type[BaseModel]) -> tuple[frozenset[str], frozenset[str]]:
    """The keys that an answer may have, and those that it must have."""
    fields = output_type.model_fields.items()
    required = frozenset(str(field.alias or name) for name, field in fields if field.is_required())
    return frozenset(str(field.alias or name) for name, field in fields), required


def _why(error: ValidationError) -> str:
    issue = error.errors(include_url=False, include_input=True)[0]
    where = ".".join(map(str, issue["loc"]))
    if issue["type"] == "missing":
        return f"{where!r} is missing in its JSON"
    said = json.dumps(issue["input"], ensure_ascii=False, default=repr)[:80]
    return f"{where or 'its JSON'} is {said}: {issue['msg']}"


def _sum(first: Usage | None, second: Usage | None) -> Usage | None:
    return None if first is None or second is None else first + second
