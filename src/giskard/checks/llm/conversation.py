"""A conversation as a model is shown it."""

from __future__ import annotations

from typing import Any, cast

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.llm.fences import Fences

__all__ = ["notes_of", "show_conversation"]

# What runs, targets and simulated users note down for people, and what says nothing of how the assistant behaved.
_NOT_SHOWN = frozenset(
    {"conversation_id", "latency_ms", "simulation", "simulator_output", "target", "time_to_first_chunk", "usage"}
)


def notes_of(turn: Interaction[Any, Any] | None) -> dict[str, Any]:
    """What a model is shown of the metadata of a turn: the calls of tools, the context, your own notes."""
    metadata = {} if turn is None else turn.metadata
    return {name: value for name, value in metadata.items() if name not in _NOT_SHOWN}


def show_conversation(value: Any, fences: Fences) -> str | None:
    """A trace or an interaction, turn by turn, each text fenced; None when `value` is neither.

    Annotations are left out: they may hold the verdict that people gave.
    """
    if isinstance(value, Interaction):
        return _turn(cast("Any", value), fences)
    if not isinstance(value, Trace):
        return None
    interactions = cast("Trace[Any, Any]", value).interactions
    turns = [f"Turn {number}\n{_turn(turn, fences)}" for number, turn in enumerate(interactions, 1)]
    return "\n\n".join(turns) or "(no turn was made)"


def _turn(turn: Interaction[Any, Any], fences: Fences) -> str:
    parts = [f"User:\n{fences.fence(turn.inputs)}", f"Assistant:\n{fences.fence(turn.outputs)}"]
    noted = notes_of(turn)
    if noted:
        parts.append(f"Noted with this turn:\n{fences.fence(noted)}")
    return "\n".join(parts)
