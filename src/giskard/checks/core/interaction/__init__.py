"""Turns, conversations, and the specs that make them."""

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace

__all__ = ["Interaction", "Trace"]
