"""What a target gives that knows more of its turn than the outputs."""

from __future__ import annotations

from giskard.checks.core.interaction.interaction import Interaction

__all__ = ["Reply"]


class Reply(Interaction, frozen=True):
    """A turn whose metadata is added to what the spec of the turn says, and goes before it.

    Any other `Interaction` that a target gives is used as it is.
    """
