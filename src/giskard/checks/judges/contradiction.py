"""A check that an answer does not deny its sources."""

from __future__ import annotations

from typing import ClassVar, Generic

from giskard.checks.core.check import Check
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._against_context import AgainstContext

__all__ = ["Contradiction"]


@Check.register("contradiction")
class Contradiction(AgainstContext[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that nothing in an answer contradicts a context; what the context does not speak of is allowed.

    Parameters
    ----------
    answer, target_key
        The answer: a text, else the path of it, also spelt ``answer_key``.
    context, context_key
        What it must not contradict: a text or a list of texts, else the path of them.
    """

    _packaged: ClassVar[str | None] = "contradiction"
