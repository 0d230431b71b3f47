"""What is said while this version has no client for models."""

from __future__ import annotations

from giskard.checks._version import __version__
from giskard.checks.core.exceptions import ConfigurationError, InputGenerationException

__all__ = ["ModelsUnavailableError", "models_unavailable"]


class ModelsUnavailableError(InputGenerationException, ConfigurationError):
    """Something needs a model, and this version cannot ask one."""


def models_unavailable(who: str, what: str) -> str:
    """The message that `who` cannot run yet, and that `what` will make it run."""
    return (
        f"{who} needs a model, and models are not available yet in this version of giskard-checks ({__version__}): "
        f"it can be built, saved and loaded now; {what} with the next version"
    )
