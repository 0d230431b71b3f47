"""The one door to models: chat and embeddings, their failures, limits and costs, recordings of what they answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giskard.checks.utils.lazy import lazy_names

if TYPE_CHECKING:
    from giskard.checks.llm.cache import model_cache, use_model_cache
    from giskard.checks.llm.cassettes import (
        Cassette,
        CassetteError,
        CassetteMismatchError,
        UnusedRecordingWarning,
        cassette,
    )
    from giskard.checks.llm.embedding_model import EmbeddingModel
    from giskard.checks.llm.errors import ModelCallError
    from giskard.checks.llm.generator import Generator
    from giskard.checks.llm.local_embeddings import LocalEmbeddingModel
    from giskard.checks.llm.types import (
        Completion,
        EmbeddingModelLike,
        Embeddings,
        GenerationParams,
        GeneratorLike,
        Message,
        Role,
        Source,
    )

__all__ = [
    "Cassette",
    "CassetteError",
    "CassetteMismatchError",
    "Completion",
    "EmbeddingModel",
    "EmbeddingModelLike",
    "Embeddings",
    "GenerationParams",
    "Generator",
    "GeneratorLike",
    "LocalEmbeddingModel",
    "Message",
    "ModelCallError",
    "Role",
    "Source",
    "UnusedRecordingWarning",
    "cassette",
    "model_cache",
    "use_model_cache",
]

# Loaded on first use: a test that asks no model pays for none of them.
__getattr__ = lazy_names(
    __name__,
    {
        "cache": ["model_cache", "use_model_cache"],
        "cassettes": ["Cassette", "CassetteError", "CassetteMismatchError", "UnusedRecordingWarning", "cassette"],
        "embedding_model": ["EmbeddingModel"],
        "errors": ["ModelCallError"],
        "generator": ["Generator"],
        "local_embeddings": ["LocalEmbeddingModel"],
        "types": [
            "Completion",
            "EmbeddingModelLike",
            "Embeddings",
            "GenerationParams",
            "GeneratorLike",
            "Message",
            "Role",
            "Source",
        ],
    },
)
