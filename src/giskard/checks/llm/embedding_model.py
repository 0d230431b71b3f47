"""Embedding models behind an API, as objects that can be saved."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from giskard.checks.core.mixin import BaseEmbeddingModel
from giskard.checks.llm._addresses import Address
from giskard.checks.llm.generator import AtServer
from giskard.checks.llm.types import EmbeddingModelLike, Embeddings

if TYPE_CHECKING:
    import httpx2

    from giskard.checks.llm._embedding import Embedder

__all__ = ["EmbeddingModel", "embedding_model_of"]

LOCAL = "local"
"""The name of the model that comes inside a package, and needs neither a key nor a network."""


@BaseEmbeddingModel.register("embedding_model")
class EmbeddingModel(AtServer, BaseEmbeddingModel):
    """An embedding model behind an API, asked through its provider's own protocol; it needs the extra ``llm``.

    ``EmbeddingModel(model="ollama/nomic-embed-text")`` and its kin ask local servers; any other server that speaks as
    OpenAI's embeddings do is given as ``base_url``.
    """

    async def embed(self, texts: Sequence[str], metadata: Mapping[str, Any] | None = None) -> Embeddings:
        """The vectors of `texts`, in their order, by one call; no texts need none.

        Parameters
        ----------
        texts
            The texts.
        metadata
            Nothing is done with it here.

        Raises
        ------
        ModelCallError
            When there are none; the message names the cause.
        MissingExtraError
            When a package is not installed.
        """
        if not texts:
            return Embeddings([], None, self.model)
        client, tries = await self._opened(_open)
        async with tries.gate.slot(self.max_concurrency):
            return await tries.run(functools.partial(client.ask, texts, tries))


@functools.lru_cache(maxsize=256)
def embedding_model_of(name: str) -> EmbeddingModelLike:
    """The embedding model of a name, which is the same object each time; ``"local"`` is the one in a package.

    Raises
    ------
    ValueError
        When it is no name of a model.
    """
    if name.strip().lower() != LOCAL:
        return EmbeddingModel(model=name)
    from giskard.checks.llm.local_embeddings import LocalEmbeddingModel  # noqa: PLC0415

    return LocalEmbeddingModel()


def _open(address: Address, http: httpx2.AsyncClient) -> Embedder:
    from giskard.checks.llm._embedding import open_embedder  # noqa: PLC0415 - the library comes with it

    return open_embedder(address, http)
