"""Systems under test that are not a function of yours: HTTP services, model endpoints, commands, agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giskard.checks.utils.lazy import lazy_names

if TYPE_CHECKING:
    from giskard.checks.targets.agent import AgentTarget, as_target
    from giskard.checks.targets.command import CommandTarget
    from giskard.checks.targets.errors import TargetError
    from giskard.checks.targets.http import HTTPTarget
    from giskard.checks.targets.openai import OpenAITarget

__all__ = ["AgentTarget", "CommandTarget", "HTTPTarget", "OpenAITarget", "TargetError", "as_target"]

__getattr__ = lazy_names(
    __name__,
    {
        "agent": ["AgentTarget", "as_target"],
        "command": ["CommandTarget"],
        "errors": ["TargetError"],
        "http": ["HTTPTarget"],
        "openai": ["OpenAITarget"],
    },
)
