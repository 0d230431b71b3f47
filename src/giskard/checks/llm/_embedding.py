"""How embedding models are asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

from giskard.checks.llm._addresses import Address
from giskard.checks.llm._asking import usage_of
from giskard.checks.llm._chat import send
from giskard.checks.llm._failures import not_understood
from giskard.checks.llm._pydantic_ai import (
    EmbeddingModel,
    EmbeddingSettings,
    OpenAIEmbeddingModel,
    explained,
    httpx2,
    make_chat_model,
    make_embedder,
)
from giskard.checks.llm._tries import Tries
from giskard.checks.llm.cost import cost_of
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.types import Embeddings
from giskard.checks.utils.lazy import json

__all__ = ["Embedder", "open_embedder"]


class Embedder(Protocol):
    """What asks an embedding model."""

    async def ask(self, texts: Sequence[str], tries: Tries) -> Embeddings:
        """The vectors of some texts."""
        ...


def open_embedder(address: Address, http: httpx2.AsyncClient) -> Embedder:
    """What asks the embedding model at an address.

    Raises
    ------
    ModelCallError
        When there is no such provider, or no key for it.
    MissingExtraError
        When the package of the provider is not installed.
    """
    if address.speaks_openai:
        return _OpenAIEmbedder(address, http)
    return _LibraryEmbedder(address, make_embedder(address, http))


class _OpenAIEmbedder:
    """Asks a server that speaks as OpenAI's embeddings do; where it is and which headers it takes, the library says."""

    def __init__(self, address: Address, http: httpx2.AsyncClient) -> None:
        client = make_chat_model(address, http).client
        self.address = address
        self._http = http
        self._url = httpx2.URL(f"{str(client.base_url).rstrip('/')}/embeddings")
        given = httpx2.Headers({"Accept": "application/json", "Content-Type": "application/json"})
        if address.key is not None:
            given.update(client.auth_headers)
        given.update(address.headers)
        self._headers = list(given.items())

    async def ask(self, texts: Sequence[str], tries: Tries) -> Embeddings:
        """The vectors of some texts.

        Raises
        ------
        ModelCallError
            When there are none.
        """
        body = {"model": self.address.model, "input": list(texts), "encoding_format": "float"}
        data = await send(self.address, self._http, self._url, self._headers, json.dumps(body).encode())
        return self._read(data, len(texts), tries.answered + 1)

    def _read(self, data: Any, count: int, calls: int) -> Embeddings:
        try:
            rows = sorted(cast("list[Any]", data["data"]), key=lambda row: row["index"])
            vectors = [_numbers(row["embedding"]) for row in rows]
            model: Any = data.get("model") or self.address.model
            used: Any = data.get("usage") or {}
            tokens: Any = used.get("prompt_tokens")
        except (LookupError, TypeError, AttributeError, ValueError):
            raise not_understood(self.address, json.dumps(data, default=str), "no embeddings") from None
        if len(vectors) != count:
            raise not_understood(self.address, f"{len(vectors)} vectors for {count} texts", "other embeddings")
        if not isinstance(tokens, int):
            return Embeddings(vectors, usage_of(None, None, None, calls, None), model)
        cost = cost_of(self.address.provider, str(model), tokens, 0)
        return Embeddings(vectors, usage_of(tokens, 0, tokens, calls, cost), model)


def _numbers(vector: Any) -> list[float]:
    if not isinstance(vector, list):
        raise TypeError("a vector is a list of numbers")
    return [float(number) for number in cast("list[Any]", vector)]


class _LibraryEmbedder:
    """Asks an embedding model of the library."""

    def __init__(self, address: Address, model: EmbeddingModel) -> None:
        self.address = address
        self._model = model

    async def ask(self, texts: Sequence[str], tries: Tries) -> Embeddings:
        """The vectors of some texts.

        Raises
        ------
        ModelCallError
            When there are none.
        """
        headers = dict(self.address.headers)
        if headers and not isinstance(self._model, OpenAIEmbeddingModel):  # the others would lose them
            raise ModelCallError(f"{self.address} takes no headers: leave them out for this provider", kind="config")
        settings: EmbeddingSettings = {"extra_headers": headers} if headers else {}
        try:
            found = await self._model.embed(list(texts), input_type="document", settings=settings)
        except Exception as error:
            raise explained(self.address, error) from None
        try:
            cost = float(found.cost().total_price)
        except Exception:  # no price is known
            cost = None
        tokens = found.usage.input_tokens or None
        usage = usage_of(tokens, None if tokens is None else 0, tokens, tries.answered + 1, cost)
        return Embeddings(found.embeddings, usage, found.model_name)
