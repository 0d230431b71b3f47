"""A check that an answer stays with its sources."""

from __future__ import annotations

from typing import ClassVar, Generic

from giskard.checks.core.check import Check
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._against_context import AgainstContext

__all__ = ["Groundedness"]


@Check.register("groundedness")
class Groundedness(AgainstContext[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that what an answer states is supported by a context.

    Parameters
    ----------
    answer, target_key
        The answer: a text, else the path of it, also spelt ``answer_key``.
    context, context_key
        What it must be supported by: a text or a list of texts, else the path of them.
    """

    _packaged: ClassVar[str | None] = "groundedness"
