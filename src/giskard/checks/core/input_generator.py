"""Inputs that are made while a conversation goes on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Generic

from giskard.checks.core.discriminated import Discriminated
from giskard.checks.core.types import TraceT

__all__ = ["InputGenerator"]


class InputGenerator(Discriminated, Generic[TraceT], family="input generator"):
    """Makes the inputs of a conversation, turn by turn: simulated users, data sets.

    Subclasses implement ``__call__(trace, input_type=None)`` as an async generator: each ``yield`` gives back the
    trace with the turn that the input led to.  `input_type` is what the target's hint asks for; the parameter may
    be left out.
    """

    def __call__(self, trace: TraceT, input_type: Any = None) -> AsyncGenerator[Any, TraceT]:
        """Yield inputs until the conversation is over."""
        raise NotImplementedError(f"{type(self).__name__} does not implement __call__(trace, input_type)")
