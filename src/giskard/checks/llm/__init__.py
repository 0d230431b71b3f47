"""The one door to models: the shapes of what goes in and what comes out."""

from giskard.checks.llm.errors import ModelCallError
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
from giskard.checks.llm.unavailable import ModelsUnavailableError, models_unavailable

__all__ = [
    "Completion",
    "EmbeddingModelLike",
    "Embeddings",
    "GenerationParams",
    "GeneratorLike",
    "Message",
    "ModelCallError",
    "ModelsUnavailableError",
    "Role",
    "Source",
    "models_unavailable",
]
