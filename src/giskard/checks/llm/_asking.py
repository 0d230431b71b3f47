"""How a model is asked through the library: any provider that it knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, cast
from weakref import WeakSet

from pydantic import BaseModel

from giskard.checks.core.models import construct
from giskard.checks.core.usage import Usage
from giskard.checks.llm._addresses import Address
from giskard.checks.llm._failures import refused, refuses_format
from giskard.checks.llm._options import Options
from giskard.checks.llm._pydantic_ai import (
    Model,
    ModelRequestParameters,
    ModelResponse,
    ModelSettings,
    OutputObjectDefinition,
    TextPart,
    explained,
    to_messages,
)
from giskard.checks.llm._tries import Tries
from giskard.checks.llm.cost import cost_of
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.schemas import schema_of, schema_text
from giskard.checks.llm.types import Completion, Message
from giskard.checks.utils.lazy import json

__all__ = ["LibraryClient", "output_parameters", "settings_of", "usage_of"]

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_SCHEMA: Final = "Answer with one JSON object that fits this JSON schema, and with nothing else:\n\n{schema}"
_SAMPLING: Final = ("temperature", "top_p", "top_k")


class LibraryClient:
    """Asks a model of the library."""

    def __init__(self, address: Address, model: Model) -> None:
        self.address = address
        self.model = model
        # What the server refused: the schema of any answer, or those of some classes.
        self._refuses_schemas = False
        self._refused: WeakSet[type[BaseModel]] = WeakSet()

    async def answer(self, messages: Sequence[Message], options: Options, tries: Tries) -> Completion:
        """The model's answer; the schema that it is to fit stands in the prompt where the server takes none.

        Raises
        ------
        ModelCallError
            When it gives none.
        """
        wanted = options.response_format
        if wanted is None:
            return await self.ask(messages, options, tries)
        if not self._takes_schema(wanted):
            return await self._ask_in_words(messages, wanted, options, tries)
        try:
            return await self.ask(messages, options, tries)
        except ModelCallError as error:
            if not refuses_format(error):
                raise
            only_this = "invalid schema" in error.message.lower()
        tries.answered += 1
        completion = await self._ask_in_words(messages, wanted, options, tries)
        # It is the schema that was refused: without it there is an answer.
        if only_this:
            self._refused.add(wanted)
        else:
            self._refuses_schemas = True
        return completion

    async def _ask_in_words(
        self, messages: Sequence[Message], wanted: type[BaseModel], options: Options, tries: Tries
    ) -> Completion:
        try:
            messages = _with_schema(messages, wanted)
        except Exception as error:  # a class without a JSON schema, for one
            raise explained(self.address, error) from error
        return await self.ask(messages, replace(options, response_format=None), tries)

    def _takes_schema(self, wanted: type[BaseModel]) -> bool:
        if self._refuses_schemas or wanted in self._refused:
            return False
        return bool(self.model.profile.get("supports_json_schema_output"))

    async def ask(self, messages: Sequence[Message], options: Options, tries: Tries) -> Completion:
        """The model's answer.

        Raises
        ------
        ModelCallError
            When it gives none.
        """
        settings = settings_of(self.model, options, self.address)
        try:
            response = await self.model.request(
                to_messages(messages), settings, output_parameters(options.response_format, strict=None)
            )
        except Exception as error:
            raise explained(self.address, error) from None
        return self._completion(response, tries)

    def _completion(self, response: ModelResponse, tries: Tries) -> Completion:
        texts = [part.content for part in response.parts if isinstance(part, TextPart)]
        text = "".join(texts) if texts else None
        details = response.provider_details or {}
        if response.finish_reason == "content_filter":
            raise refused(self.address, details.get("refusal") or text, by_filter="refusal" not in details)
        used = response.usage
        if used.unmeasured_requests or not (used.input_tokens or used.output_tokens):
            usage = usage_of(None, None, None, tries.answered + 1, None)
        else:
            cost = None if used.cost is None else float(used.cost)
            if cost is None:
                cost = _cost(response)
            total = used.input_tokens + used.output_tokens
            usage = usage_of(used.input_tokens, used.output_tokens, total, tries.answered + 1, cost)
        reason = details.get("finish_reason") or response.finish_reason
        return Completion(text, reason, usage, response.model_name, response)


def _cost(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except Exception:  # no price is known, and a price list must not cost anybody an answer
        used = response.usage
        return cost_of(response.provider_name or "", response.model_name or "", used.input_tokens, used.output_tokens)


def usage_of(
    input_tokens: int | None, output_tokens: int | None, total_tokens: int | None, calls: int, cost: float | None
) -> Usage:
    """What a call used, without validation: the figures are known to be right."""
    return construct(
        Usage,
        {
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "total_tokens": total_tokens,
            "calls": calls,
            "cost": cost,
        },
    )


def settings_of(model: Model, options: Options, address: Address) -> ModelSettings:
    """The library's settings for a call: those that the model takes.

    The same options are meant for many models: a model that has no temperature, or no seed, is asked without one.

    Raises
    ------
    ModelCallError
        When the library has no place for `extra` or headers in such requests: they would be lost.
    """
    extra: dict[str, Any] = json.loads(options.extra) if options.extra else {}
    given: dict[str, Any] = {
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "top_p": options.top_p,
        "max_retries": None if address.speaks_openai else 0,  # there the client says so
    }
    profile = cast("Mapping[str, Any]", model.profile)
    if profile.get("anthropic_disallows_sampling_settings") or profile.get("bedrock_disallows_sampling_settings"):
        given = {name: value for name, value in given.items() if name not in _SAMPLING}
        extra = {name: value for name, value in extra.items() if name not in _SAMPLING}
    elif profile.get("openai_supports_reasoning"):
        given["openai_reasoning_effort"] = extra.get("reasoning_effort")
        if _reasons(profile, extra.get("reasoning_effort")):
            given = {name: value for name, value in given.items() if name not in _SAMPLING}
    given |= {"extra_body": extra or None, "extra_headers": dict(address.headers) or None}
    given = {name: value for name, value in given.items() if value is not None}
    unknown = model.unsupported_settings & given.keys()
    for name, field in (("extra_body", "extra"), ("extra_headers", "headers")):
        if name in unknown:
            raise ModelCallError(f"{address} takes no {field}: leave it out for this provider", kind="config")
    return cast("ModelSettings", {name: value for name, value in given.items() if name not in unknown})


def _reasons(profile: Mapping[str, Any], effort: Any) -> bool:
    """Whether one of OpenAI's models thinks before it answers, and so takes neither a temperature nor a top_p."""
    efforts = profile.get("openai_reasoning_efforts")
    can_answer_at_once = (
        profile.get("openai_supports_reasoning_effort_none", False) if efforts is None else "none" in efforts
    )
    if not can_answer_at_once:
        return True
    return profile.get("thinking_enabled_by_default", False) if effort is None else effort != "none"


@lru_cache(maxsize=256)
def output_parameters(response_format: type[BaseModel] | None, *, strict: bool | None) -> ModelRequestParameters:
    """The library's parameters for an answer that fits a class, and for one that is a text.

    Parameters
    ----------
    response_format
        The class.
    strict
        Whether the schema is to be kept to the letter where it can be; None leaves it to the library.
    """
    if response_format is None:
        return ModelRequestParameters()
    schema = deepcopy(schema_of(response_format))  # it is the library's from here on
    definition = OutputObjectDefinition(
        json_schema=schema,
        name=_NO_NAME.sub("_", response_format.__name__)[:64],
        strict=True if strict and _is_closed(schema) else None,
    )
    return ModelRequestParameters(output_mode="native", output_object=definition)


def _is_closed(schema: Any) -> bool:
    """Whether a schema says of every object which fields it has: what strict answers need."""
    if isinstance(schema, list):
        return all(map(_is_closed, cast("list[Any]", schema)))
    if not isinstance(schema, dict):
        return True
    data = cast("dict[str, Any]", schema)
    if data.get("type") == "object" and (
        "properties" not in data or data.get("additionalProperties", False) is not False
    ):
        return False
    for name, value in data.items():
        if name in ("properties", "$defs"):
            if not all(part and _is_closed(part) for part in value.values()):
                return False
        elif name in ("default", "examples", "enum", "const"):
            continue
        elif not _is_closed(value):
            return False
    return True


def _with_schema(messages: Sequence[Message], response_format: type[BaseModel]) -> list[Message]:
    """The messages, the last of which says what the answer is to fit."""
    words = _SCHEMA.format(schema=schema_text(response_format))
    changed = list(messages)
    if changed and changed[-1].role == "user":
        changed[-1] = Message("user", f"{changed[-1].content}\n\n{words}")
    else:
        changed.append(Message("user", words))
    return changed
