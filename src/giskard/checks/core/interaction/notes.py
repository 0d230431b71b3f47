"""What becomes known of a turn only after it was recorded, such as how a simulated conversation ended with it."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace

__all__ = ["add_metadata", "with_notes"]

TraceT = TypeVar("TraceT", bound=Trace)


class Notes:
    """What is to be added to the metadata of the last turn that a spec makes."""

    __slots__ = ("_metadata", "_turn")

    def __init__(self) -> None:
        self._turn: Interaction | None = None
        self._metadata: Mapping[str, Any] = {}

    def add(self, turn: Interaction, metadata: Mapping[str, Any]) -> None:
        """Keep `metadata` for `turn`."""
        self._metadata = {**self._metadata, **metadata} if self._turn is turn else metadata
        self._turn = turn

    def written_into(self, trace: TraceT) -> TraceT:
        """`trace` with what was kept for its last turn; the trace itself when there is nothing for that turn."""
        if self._turn is None:
            return trace
        turns = trace.interactions
        if not turns or turns[-1] is not self._turn:
            return trace
        turn = turns[-1].model_copy(update={"metadata": {**turns[-1].metadata, **self._metadata}})
        return trace.model_copy(update={"interactions": turns[:-1]}).appended(turn)


# What was noted and not yet written.  The generator that notes it and the code that drives it run in one context; a run
# that notes nothing, as most do, pays for one look at it.
_pending: ContextVar[Notes | None] = ContextVar("giskard_checks_notes", default=None)


def add_metadata(turn: Interaction, metadata: Mapping[str, Any]) -> None:
    """Add to the metadata of a turn that was recorded; for input generators, as they end.

    What was recorded is not changed: the trace that the run goes on with holds a turn of the same inputs and outputs,
    and more metadata.

    Parameters
    ----------
    turn
        The last turn of the trace that the generator got back.  When the conversation has gone on, or nobody records
        it, nothing happens.
    metadata
        What is added.
    """
    notes = _pending.get() or Notes()
    notes.add(turn, metadata)
    _pending.set(notes)


def with_notes(trace: TraceT) -> TraceT:
    """`trace` with what was noted of its last turn; the trace itself when that is nothing."""
    notes = _pending.get()
    if notes is None:
        return trace
    _pending.set(None)
    return notes.written_into(trace)
