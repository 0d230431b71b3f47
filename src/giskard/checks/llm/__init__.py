"""The one door to models: the shapes of what goes in and what comes out."""

from giskard.checks.llm.types import Completion, EmbeddingModel, Embeddings, GenerationParams, Generator, Message, Role
from giskard.checks.llm.unavailable import ModelsUnavailableError, models_unavailable

__all__ = [
    "Completion",
    "EmbeddingModel",
    "Embeddings",
    "GenerationParams",
    "Generator",
    "Message",
    "ModelsUnavailableError",
    "Role",
    "models_unavailable",
]
