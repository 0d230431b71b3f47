"""Models behind an API, as objects that can be saved."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import (
    ConfigDict,
    Field,
    SecretStr,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)

from giskard.checks.core.mixin import BaseGenerator
from giskard.checks.core.models import StrictModel
from giskard.checks.llm._addresses import Address, check_name, checked_url, find_address
from giskard.checks.llm._loops import loop_state
from giskard.checks.llm._options import Options
from giskard.checks.llm._references import check_header, is_reference, may_be_saved
from giskard.checks.llm._secrets import without_secrets
from giskard.checks.llm._tries import Tries
from giskard.checks.llm.types import Completion, GenerationParams, Message

if TYPE_CHECKING:
    import httpx2

    from giskard.checks.llm._asking import LibraryClient

__all__ = ["AtServer", "Generator", "generator_of"]

T = TypeVar("T")

# What a call says itself, and what has a field of its own.
_NOT_EXTRA: Final = {
    "messages": "a call",
    "model": "the field model",
    "response_format": "a call",
    "stream": "the client",
}
_FIELDS: Final = ("temperature", "seed", "top_p")


class AtServer(StrictModel):
    """A model at a server: where it is, and how often and how fast it may be asked.

    Parameters
    ----------
    model
        Its name, with its provider: ``"openai/gpt-5-mini"``, ``"anthropic:claude-sonnet-5-5"``,
        ``"ollama/llama3.2"``.  A name without a provider is OpenAI's, or of the server at `base_url`.
    base_url
        The address of a server that speaks as OpenAI does.
    api_key
        The key, or ``"${NAME}"``: a variable of the environment, which is looked up when the model is asked.  That name
        is saved, a key never is.  Left out, the provider's own variable is taken, but only for the provider's own
        server, and for the one that the environment names: a `base_url` is sent no key that was not meant for it.
    headers
        What is sent along, by name; ``"${NAME}"`` in a value stands for a variable of the environment.  They are never
        shown.  A value that looks like a secret and names no variable is not saved either.
    timeout
        Seconds for a whole call, tries and the waits between them included.
    max_retries
        How often a call is repeated after a failure that may be gone by then.
    requests_per_minute
        How many calls may go out, evenly spread; left out, as many as there are.
    max_concurrency
        How many calls may be under way at once.
    """

    # What is not understood may be a key in the wrong place.
    model_config = ConfigDict(hide_input_in_errors=True)

    model: str
    base_url: str | None = None
    api_key: SecretStr | None = None
    headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    max_retries: Annotated[int, Field(ge=0)] = 3
    requests_per_minute: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_concurrency: Annotated[int, Field(ge=1)] = 50

    @field_validator("model")
    @classmethod
    def _has_a_name(cls, value: str) -> str:
        check_name(value)
        return value

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        return None if value is None else checked_url(value)

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, secret in value.items():
            check_header(name, secret.get_secret_value())
        return value

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        key, headers = self.api_key, {name: value.get_secret_value() for name, value in self.headers.items()}
        shown = {
            "api_key": key.get_secret_value() if key is not None and is_reference(key.get_secret_value()) else None,
            "headers": {name: value for name, value in headers.items() if may_be_saved(name, value)},
        }
        saved = super(AtServer, self.model_copy(update=shown))._dump(handler, info)
        if shown["api_key"] is None:
            saved.pop("api_key", None)
        return saved

    @property
    def server(self) -> str:
        """Where the model is asked at this moment: the address of a server, or the provider; no secret is in it."""
        address = find_address(self.model, self.base_url)
        return address.shown_url or address.provider

    @property
    def request_options(self) -> dict[str, Any]:
        """What changes the answers beside the model and the messages, as plain data: what has a value."""
        return {"headers": sorted(name.lower() for name in self.headers)} if self.headers else {}

    async def _opened(
        self, make: Callable[[Address, httpx2.AsyncClient], T], timeout: float | None = None
    ) -> tuple[T, Tries]:
        """What asks the model in the loop that runs now, made once by `make`, and the tries of a call."""
        address = find_address(
            self.model,
            self.base_url,
            None if self.api_key is None else self.api_key.get_secret_value(),
            {name: value.get_secret_value() for name, value in self.headers.items()} if self.headers else None,
        )
        state = loop_state()
        client = await state.client(address, make)
        tries = Tries(
            address,
            state.gate(address),
            max_retries=self.max_retries,
            timeout=self.timeout if timeout is None else timeout,
            requests_per_minute=self.requests_per_minute,
        )
        return client, tries


@BaseGenerator.register("generator")
class Generator(AtServer, BaseGenerator):
    """A model behind an API, asked through its provider's own protocol; it needs the extra ``llm``.

    Any server that speaks as OpenAI's chat completions do is one line: ``Generator(model="ollama/llama3.2")``,
    ``"vllm/…"``, ``"llama.cpp/…"``, ``"lmstudio/…"`` and ``"litellm/…"`` are looked for where they usually are, or
    where ``OLLAMA_BASE_URL`` and its kin say; others are given as ``base_url``.

    Parameters
    ----------
    temperature, max_tokens, seed, top_p
        How it is to answer; what a call says goes before it, and what the model does not take is left out.
    extra
        What else is to stand in the body of the request, in the provider's own words:
        ``{"reasoning_effort": "low"}``.
    """

    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    extra: dict[str, Any] = Field(default_factory=dict[str, Any])

    @field_validator("extra")
    @classmethod
    def _is_plain(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if name in _FIELDS or name in _NOT_EXTRA:
                owner = _NOT_EXTRA.get(name, f"the field {name}")
                raise ValueError(f"extra has {name!r}, which {owner} sets")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"extra is to be plain JSON data: {error}") from None
        if places := without_secrets(value)[1]:
            raise ValueError(
                f"extra holds what looks like a secret, in {places[0]!r}, and it is saved; give it as api_key=…, or in "
                f"headers=… as the name of a variable of the environment: '${{NAME}}'"
            )
        return value

    @property
    def request_options(self) -> dict[str, Any]:
        """What changes the answers beside the model and the messages, as plain data: what has a value."""
        names = ("temperature", "max_tokens", "seed", "top_p")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        return given | ({"extra": self.extra} if self.extra else {}) | super().request_options

    async def complete(
        self,
        messages: Sequence[Message],
        params: GenerationParams | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The model's answer to `messages`.

        Parameters
        ----------
        messages
            The conversation up to now.
        params
            What goes before the fields of the generator in this call.
        metadata
            Nothing is done with it here.

        Raises
        ------
        ModelCallError
            When there is no answer; the message names the cause.
        MissingExtraError
            When a package is not installed.
        """
        options = self._options(params or _UNSAID)
        client, tries = await self._opened(_open, None if params is None else params.timeout)
        async with tries.gate.slot(self.max_concurrency):
            return await tries.run(functools.partial(client.answer, messages, options, tries))

    def _options(self, params: GenerationParams) -> Options:
        return Options(
            self.temperature if params.temperature is None else params.temperature,
            self.max_tokens if params.max_tokens is None else params.max_tokens,
            self.seed if params.seed is None else params.seed,
            self.top_p,
            params.response_format,
            json.dumps(self.extra, sort_keys=True) if self.extra else "",
        )


_UNSAID: Final = GenerationParams()


@functools.lru_cache(maxsize=256)
def generator_of(name: str) -> Generator:
    """The generator of a model's name, which is the same object each time.

    Raises
    ------
    ValueError
        When it is no name of a model.
    """
    return Generator(model=name)


def _open(address: Address, http: httpx2.AsyncClient) -> LibraryClient:
    from giskard.checks.llm._chat import open_client  # noqa: PLC0415 - the library comes with it

    return open_client(address, http)
