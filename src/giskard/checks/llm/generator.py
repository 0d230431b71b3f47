"""Models behind an API, as objects that can be saved."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

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
from giskard.checks.llm._addresses import Address, check_name, find_address
from giskard.checks.llm._loops import loop_state
from giskard.checks.llm._tries import Tries
from giskard.checks.llm.types import Completion, GenerationParams, Message

__all__ = ["AtServer", "Generator", "generator_of"]


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
        The key; it is never saved.  Left out, the environment's is taken when the model is asked.
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
        if value is not None and not value.strip().startswith(("http://", "https://")):
            raise ValueError("base_url is no address; expected one such as 'http://localhost:8000/v1'")
        if value is not None and "@" in value:
            raise ValueError("base_url holds a login; give the key as api_key=…, which is never saved")
        return value

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        keyless = self if self.api_key is None else self.model_copy(update={"api_key": None})
        saved = super(AtServer, keyless)._dump(handler, info)
        saved.pop("api_key", None)
        return saved

    async def _opened(self, make: Callable[[Address, Any], Any], timeout: float | None = None) -> tuple[Any, Tries]:
        """What asks the model in the loop that runs now, made once by `make`, and the tries of a call."""
        address = find_address(
            self.model, self.base_url, None if self.api_key is None else self.api_key.get_secret_value()
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
    temperature, max_tokens, seed
        How it is to answer; what a call says goes before it, and what the model does not take is left out.
    """

    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None

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
        params = self._merged(params)
        client, tries = await self._opened(_open, params.timeout)
        async with tries.gate.slot(self.max_concurrency):
            return await tries.run(functools.partial(client.answer, messages, params, tries))

    def _merged(self, params: GenerationParams | None) -> GenerationParams:
        if params is None:
            return GenerationParams(self.temperature, self.max_tokens, self.seed)
        return GenerationParams(
            self.temperature if params.temperature is None else params.temperature,
            self.max_tokens if params.max_tokens is None else params.max_tokens,
            self.seed if params.seed is None else params.seed,
            params.response_format,
            params.timeout,
        )


@functools.lru_cache(maxsize=256)
def generator_of(name: str) -> Generator:
    """The generator of a model's name, which is the same object each time.

    Raises
    ------
    ValueError
        When it is no name of a model.
    """
    return Generator(model=name)


def _open(address: Address, http: Any) -> Any:
    from giskard.checks.llm._chat import open_client  # noqa: PLC0415 - the library comes with it

    return open_client(address, http)
