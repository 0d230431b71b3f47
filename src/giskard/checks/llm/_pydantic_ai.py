"""The one door to pydantic-ai: who serves models, and how they are asked.

It is imported when the first model is asked, by `giskard.checks.llm._loops`.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Sequence
from typing import Any, Final

import httpx2
from pydantic_ai.embeddings import EmbeddingModel, infer_embedding_model
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelConnectionError,
    ModelHTTPError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, check_allow_model_requests, infer_model
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.providers.litellm import LiteLLMProvider
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.providers.vllm import VLLMProvider
from pydantic_ai.settings import ModelSettings

from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.llm._addresses import COMPATIBLE, Address
from giskard.checks.llm._failures import failed_call, in_short, no_connection, no_key, not_understood, refused
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.types import Message
from giskard.checks.utils.lazy import asyncio

__all__ = [
    "Model",
    "ModelRequestParameters",
    "ModelResponse",
    "ModelSettings",
    "OpenAIChatModel",
    "OutputObjectDefinition",
    "TextPart",
    "check_allow_model_requests",
    "explained",
    "httpx2",
    "make_chat_model",
    "make_embedder",
    "make_model",
    "to_messages",
    "written_request",
]

_EXTRAS: Final = {name: name for name in ("anthropic", "google", "groq", "mistral")} | {"google-cloud": "google"}
_ONE_BY_ONE: Final = threading.Lock()


def make_chat_model(address: Address, http: httpx2.AsyncClient) -> OpenAIChatModel:
    """The library's model at an address that speaks as OpenAI's chat completions do, which asks through `http`.

    Raises
    ------
    ModelCallError
        When there is no key, and one is needed.
    """
    if address.needs_key:
        raise no_key(address)
    url, key = address.base_url, address.key
    if address.provider == "openai":
        return OpenAIChatModel(address.model, provider=OpenAIProvider(url, key, http_client=http))
    if address.provider == "ollama":
        return OllamaModel(address.model, provider=OllamaProvider(url, key, http_client=http))
    assert url is not None  # all but OpenAI's have one
    if address.provider == "vllm":
        provider = VLLMProvider(base_url=url, api_key=key, http_client=http)
    elif address.provider == "litellm":
        provider = LiteLLMProvider(api_base=url, api_key=key, http_client=http)
    else:
        name = "openai-compatible" if address.provider == COMPATIBLE else address.provider
        provider = OpenAICompatibleProvider(name, base_url=url, api_key=key, http_client=http)
    return OpenAIChatModel(address.model, provider=provider)


def make_model(address: Address, http: httpx2.AsyncClient) -> Model:
    """The library's model at the address of any other provider.

    Raises
    ------
    ModelCallError
        When there is no such provider, or no key for it.
    MissingExtraError
        When the package of the provider is not installed.
    """
    with _Explaining(address):
        return infer_model(f"{address.provider}:{address.model}", functools.partial(_make_provider, address, http))


def make_embedder(address: Address, http: httpx2.AsyncClient) -> EmbeddingModel:
    """The library's embedding model at the address of any other provider.

    Raises
    ------
    ModelCallError, MissingExtraError
        As `make_model`.
    """
    with _Explaining(address):
        return infer_embedding_model(
            f"{address.provider}:{address.model}", provider_factory=functools.partial(_make_provider, address, http)
        )


def _make_provider(address: Address, http: httpx2.AsyncClient, name: str) -> Provider[Any]:
    cls = infer_provider_class(name)
    given = {"api_key": address.key, "base_url": address.base_url, "http_client": http}
    taken = inspect.signature(cls).parameters
    return cls(**{key: value for key, value in given.items() if key in taken and value is not None})


class _Explaining:
    """A context manager that says of what goes wrong while a model is made what is to be done about it."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        address = self._address
        if isinstance(error, ImportError):
            extra = _EXTRAS.get(address.provider)
            if extra is not None:
                raise MissingExtraError(f"pydantic-ai-slim[{extra}]", extra) from None
            raise ModelCallError(f"{address} needs a package that is not installed: {error}", kind="config") from None
        if isinstance(error, (ValueError, UserError)):
            if "key" in str(error).lower() and "Unknown" not in str(error):
                raise no_key(address) from None
            raise ModelCallError(
                f"{address}: there is no provider {address.provider!r}, or it does not serve such models "
                f"({in_short(str(error), address)}); put one before the name, such as 'openai/…', 'anthropic/…' or "
                f"'ollama/…', or give the base_url of a server that speaks as OpenAI does",
                kind="config",
            ) from None


def to_messages(messages: Sequence[Message]) -> list[ModelMessage]:
    """The library's form of some messages."""
    return [_to_message(message) for message in messages]


def _to_message(message: Message) -> ModelMessage:
    if message.role == "assistant":
        return ModelResponse(parts=[TextPart(message.content)])
    part = SystemPromptPart(message.content) if message.role == "system" else UserPromptPart(message.content)
    return ModelRequest(parts=[part])


# An answer for requests that are only written, and never sent.
_NO_ANSWER: Final = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "x",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}],
}


def written_request(
    address: Address, messages: Sequence[Message], settings: ModelSettings, parameters: ModelRequestParameters
) -> httpx2.Request:
    """The request that the library writes for a server that speaks as OpenAI does; nothing is sent.

    It knows what each model takes: where a limit of tokens is given, which models have no temperature, what a strict
    schema is.  Such a setting is left out without a word here: the same parameters are meant for many models.
    """
    written: list[httpx2.Request] = []

    def take(request: httpx2.Request) -> httpx2.Response:
        written.append(request)
        return httpx2.Response(200, json=_NO_ANSWER)

    async def write() -> None:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(take)) as http:
            await make_chat_model(address, http).request(to_messages(messages), settings, parameters)

    with _ONE_BY_ONE, warnings.catch_warnings():  # which puts back what it found, and so must not overlap
        warnings.simplefilter("ignore", UserWarning)
        asyncio.run(write())
    return written[0]


def explained(address: Address, error: Exception) -> ModelCallError:
    """An exception of the library as the failure of a call."""
    if isinstance(error, ModelHTTPError):
        return failed_call(address, error.status_code, error.body, error.headers, error.retry_after)
    if isinstance(error, ModelConnectionError):
        cause = error.__cause__ or error
        return no_connection(address, cause.__cause__ or cause)
    if isinstance(error, ContentFilterError):
        return refused(address, str(error), by_filter=True)
    if isinstance(error, UnexpectedModelBehavior):
        return not_understood(address, str(error), "something else than an answer")
    words = in_short(f"{type(error).__name__}: {error}", address)
    kind = "config" if isinstance(error, UserError) else "model_error"
    return ModelCallError(f"{address} could not be asked: {words}", kind=kind, retryable=False)
