"""The one door to pydantic-ai: who serves models, and how they are asked.

It is imported when the first model is asked, by `giskard.checks.llm._loops`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import httpx2
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingSettings, infer_embedding_model
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
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
    "NO_KEY",
    "EmbeddingModel",
    "EmbeddingSettings",
    "Model",
    "ModelRequestParameters",
    "ModelResponse",
    "ModelSettings",
    "OpenAIChatModel",
    "OpenAIEmbeddingModel",
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
_THEIR_EXTRA: Final = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")
_VARIABLE: Final = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`")
# The SDK wants a key, also where none is needed, and would look for OpenAI's itself.
NO_KEY: Final = "giskard-checks-no-key"


def make_chat_model(address: Address, http: httpx2.AsyncClient) -> OpenAIChatModel:
    """The library's model at an address that speaks as OpenAI's chat completions do, which asks through `http`.

    Raises
    ------
    ModelCallError
        When there is no key, and one is needed.
    """
    if address.lacks_key:
        raise no_key(address)
    model = _chat_model(address, http)
    model.client.max_retries = 0  # as a setting it would be asked for of a copy, which reads the environment again
    if address.provider != "openai" or not address.is_own:
        # OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS are for OpenAI, as its key is.
        model.client.organization = model.client.project = None
        model.client._custom_headers = {}  # pyright: ignore[reportPrivateUsage]
    return model


def _chat_model(address: Address, http: httpx2.AsyncClient) -> OpenAIChatModel:
    url, key = address.base_url, address.key or NO_KEY
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
    if address.lacks_key:
        raise no_key(address)
    with _Explaining(address):
        return infer_model(f"{address.provider}:{address.model}", functools.partial(_make_provider, address, http))


def make_embedder(address: Address, http: httpx2.AsyncClient) -> EmbeddingModel:
    """The library's embedding model at the address of any other provider.

    Raises
    ------
    ModelCallError, MissingExtraError
        As `make_model`.
    """
    if address.lacks_key:
        raise no_key(address)
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
            raise _no_package(address, error) from None
        if not isinstance(error, Exception):
            return
        said = str(error)
        if isinstance(error, (ValueError, UserError)) and ("Unknown" in said or "unknown" in said):
            raise ModelCallError(
                f"{address}: there is no provider {address.provider!r}, or it does not serve such models "
                f"({in_short(said, address)}); put one before the name, such as 'openai/…', 'anthropic/…' or "
                f"'ollama/…', or give the base_url of a server that speaks as OpenAI does",
                kind="config",
            ) from None
        variables = list(dict.fromkeys(_VARIABLE.findall(said)))
        if address.key is None and any(name.endswith(("_KEY", "_TOKEN")) for name in variables[:1]):
            raise no_key(address) from None
        hint = f"; set {' or '.join(variables)} in the environment" if variables else ""
        raise ModelCallError(
            f"{address}: the provider {address.provider!r} is not configured: {in_short(said, address)}{hint}",
            kind="config",
        ) from None


def _no_package(address: Address, error: ImportError) -> Exception:
    extra = _EXTRAS.get(address.provider)
    if extra is not None:
        return MissingExtraError(f"pydantic-ai-slim[{extra}]", extra)
    found = _THEIR_EXTRA.search(str(error))
    hint = str(error) if found is None else f"install it with: pip install 'pydantic-ai-slim[{found[1]}]'"
    return ModelCallError(f"{address} needs a package that is not installed; {hint}", kind="config")


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
    address: Address,
    messages: Sequence[Message],
    settings_of: Callable[[Model], ModelSettings],
    parameters: ModelRequestParameters,
) -> httpx2.Request:
    """The request that the library writes for a server that speaks as OpenAI does; nothing is sent.

    It knows what each model takes: where a limit of tokens is given, which names there are, what a strict schema is.
    It runs in a thread, and must not touch the filters of warnings, which belong to the process: `settings_of` gives
    the settings that the model takes, of which there is nothing to warn.
    """
    written: list[httpx2.Request] = []

    def take(request: httpx2.Request) -> httpx2.Response:
        written.append(request)
        return httpx2.Response(200, json=_NO_ANSWER)

    async def write() -> None:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(take)) as http:
            model = make_chat_model(address, http)
            await model.request(to_messages(messages), settings_of(model), parameters)

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
