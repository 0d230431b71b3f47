"""How a model is asked through the library: any provider that it knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, cast

from pydantic import BaseModel

from giskard.checks.core.models import construct
from giskard.checks.core.usage import Usage
from giskard.checks.llm._addresses import Address
from giskard.checks.llm._failures import refused, refuses_format
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
from giskard.checks.llm.types import Completion, GenerationParams, Message
from giskard.checks.utils.lazy import json

__all__ = ["LibraryClient", "output_parameters", "settings_of", "usage_of"]

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_SCHEMA: Final = "Answer with one JSON object that fits this JSON schema, and with nothing else:\n\n{schema}"

# Servers that do not take the JSON schema of an answer, with the model, and the class when only that was refused.
_without_schema: set[tuple[str, str, Any]] = set()


class LibraryClient:
    """Asks a model of the library."""

    def __init__(self, address: Address, model: Model) -> None:
        self.address = address
        self.model = model

    async def answer(self, messages: Sequence[Message], params: GenerationParams, tries: Tries) -> Completion:
        """The model's answer; the schema that it is to fit stands in the prompt where the server takes none.

        Raises
        ------
        ModelCallError
            When it gives none.
        """
        wanted = params.response_format
        if wanted is None:
            return await self.ask(messages, params, tries)
        if self._takes_schema(wanted):
            try:
                return await self.ask(messages, params, tries)
            except ModelCallError as error:
                if not refuses_format(error):
                    raise
                only = wanted if "invalid schema" in error.message.lower() else None
            _without_schema.add((self.address.server, self.address.model, only))
            tries.answered += 1
        return await self.ask(_with_schema(messages, wanted), replace(params, response_format=None), tries)

    def _takes_schema(self, wanted: type[BaseModel]) -> bool:
        server, model = self.address.server, self.address.model
        refused_before = not _without_schema.isdisjoint({(server, model, None), (server, model, wanted)})
        return not refused_before and bool(self.model.profile.get("supports_json_schema_output"))

    async def ask(self, messages: Sequence[Message], params: GenerationParams, tries: Tries) -> Completion:
        """The model's answer.

        Raises
        ------
        ModelCallError
            When it gives none.
        """
        settings: ModelSettings = {**settings_of(params), "max_retries": 0}
        try:
            response = await self.model.request(
                to_messages(messages), settings, output_parameters(params.response_format, strict=None)
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


def settings_of(params: GenerationParams) -> ModelSettings:
    """The library's settings for some parameters."""
    given = {"temperature": params.temperature, "max_tokens": params.max_tokens, "seed": params.seed}
    return cast("ModelSettings", {name: value for name, value in given.items() if value is not None})


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
    schema = response_format.model_json_schema()
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
    words = _SCHEMA.format(schema=_schema_text(response_format))
    changed = list(messages)
    if changed and changed[-1].role == "user":
        changed[-1] = Message("user", f"{changed[-1].content}\n\n{words}")
    else:
        changed.append(Message("user", words))
    return changed


@lru_cache(maxsize=256)
def _schema_text(response_format: type[BaseModel]) -> str:
    return json.dumps(response_format.model_json_schema(), ensure_ascii=False)
