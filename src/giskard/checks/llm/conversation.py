"""A conversation as a model is shown it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.llm.fences import Fences

__all__ = ["notes_of", "show_conversation"]

# What a judge must not see, since it gives away what people or another run said of the answer, or was not meant for
# the user; what runs, targets, simulated users and recordings note down for people, and what says nothing of how the
# assistant behaved.  Of recorded turns `messages` and `raw` say again what the turn itself says.
_NOT_SHOWN = frozenset(
    {
        "columns",
        "conversation_id",
        "cost_usd",
        "expected",
        "finish_reason",
        "labels",
        "last_call",
        "latency_ms",
        "messages",
        "model",
        "partial_usage",
        "raw",
        "reasoning",
        "recorded",
        "response_id",
        "simulation",
        "simulator_output",
        "source",
        "target",
        "time_to_first_chunk",
        "timestamp",
        "ttft_ms",
        "usage",
        "weight",
    }
)

_OF_TIME = frozenset({"latency_ms", "started_at"})


def notes_of(turn: Interaction[Any, Any] | None) -> dict[str, Any]:
    """What a model is shown of the metadata of a turn: the calls of tools, the context, your own notes."""
    metadata = {} if turn is None else turn.metadata
    shown = {name: value for name, value in metadata.items() if name not in _NOT_SHOWN}
    calls = shown.get("tool_calls")
    if isinstance(calls, (list, tuple)):
        shown["tool_calls"] = [_without_times(call) for call in cast("Sequence[Any]", calls)]
    return shown


def _without_times(call: Any) -> Any:
    """A call without when it was made and how long it took, as far as it is data that tells of it."""
    if not isinstance(call, Mapping):
        return call
    known = cast("Mapping[str, Any]", call)
    return {name: value for name, value in known.items() if name not in _OF_TIME}


def show_conversation(value: Any, fences: Fences) -> str | None:
    """A trace, an interaction or a list of them, turn by turn, each text fenced; None when `value` is none of these.

    Annotations are left out: they may hold the verdict that people gave.
    """
    if isinstance(value, Interaction):
        return _turn(cast("Any", value), fences)
    interactions = cast("Trace[Any, Any]", value).interactions if isinstance(value, Trace) else value
    if interactions is value and not _are_turns(value):
        return None
    turns = [f"Turn {number}\n{_turn(turn, fences)}" for number, turn in enumerate(interactions, 1)]
    return "\n\n".join(turns) or "(no turn was made)"


def _are_turns(value: Any) -> bool:
    """Whether it is the ``interactions`` of a trace, or a part of them; of nothing nobody can tell."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return False
    items = cast("Sequence[object]", value)
    return len(items) > 0 and all(isinstance(item, Interaction) for item in items)


def _turn(turn: Interaction[Any, Any], fences: Fences) -> str:
    parts = [f"User:\n{fences.fence(turn.inputs)}", f"Assistant:\n{fences.fence(turn.outputs)}"]
    noted = notes_of(turn)
    if noted:
        parts.append(f"Noted with this turn:\n{fences.fence(noted)}")
    return "\n".join(parts)
