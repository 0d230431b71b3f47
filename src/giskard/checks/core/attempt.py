"""The attempt that is running now: what a spec needs to know beyond the trace."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from giskard.checks.core.exceptions import NoFreeThreadError
from giskard.checks.core.types import MISSING
from giskard.checks.utils.injectable import Injectable
from giskard.checks.utils.lazy import asyncio
from giskard.checks.utils.threads import NoFreeThread, WorkerPool

if TYPE_CHECKING:
    from giskard.checks.core.interaction.interaction import Interaction

__all__ = ["Attempt", "cancellations", "current_attempt", "is_cancelled", "off_the_loop"]

T = TypeVar("T")


class Attempt:
    """One run through a scenario's steps, as its specs and targets see it."""

    __slots__ = (
        "conversation_id",
        "first_chunk",
        "on_turn_start",
        "pool",
        "seconds",
        "seen_before",
        "target",
        "trial",
    )

    def __init__(
        self,
        *,
        target: Any = MISSING,
        trial: int = 1,
        conversation_id: str = "",
        pool: WorkerPool | None = None,
    ) -> None:
        self.target: Injectable | Any = target
        """The target that outputs which are MISSING are asked of, ready to be called."""
        self.trial = trial
        self.conversation_id = conversation_id
        self.pool = pool
        self.first_chunk: float | None = None
        """Seconds to the first chunk of the first turn of this step that was streamed."""
        self.on_turn_start: Callable[[], None] | None = None
        """Called when the inputs of a turn are there and its target is about to be asked."""
        self.seen_before: dict[int, tuple[Any, Any]] = {}
        """Checks that looked at the world before their step, by identity, each with what it saw."""
        self.seconds: dict[int, tuple[Interaction[Any, Any], float]] = {}
        """By position, the turns that a target was asked for, each with the seconds that it took."""

    def seconds_of(self, number: int, turn: Interaction[Any, Any]) -> float | None:
        """How long the target took for a turn; None when it was not asked for it in this attempt."""
        known = self.seconds.get(number)
        # Metadata may have been added to it since, and then it is another object with the same outputs.
        return known[1] if known and known[0].__dict__["outputs"] is turn.__dict__["outputs"] else None


current_attempt: ContextVar[Attempt | None] = ContextVar("giskard_checks_attempt", default=None)


async def off_the_loop(call: Callable[[], T]) -> T:
    """The result of a blocking call, made in a thread of the current run's pool.

    Raises
    ------
    NoFreeThreadError
        When calls that timed out, and do not return, hold all the threads.
    """
    __tracebackhide__ = True
    attempt = current_attempt.get()
    if attempt is not None and attempt.pool is not None:
        try:
            return await attempt.pool.run(call)
        except NoFreeThread as error:
            raise NoFreeThreadError(str(error)) from None
    with WorkerPool(1) as pool:
        return await pool.run(call)


def cancellations() -> int:
    """How often the task that runs now was asked to stop, and did not say yet that it will go on."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


def is_cancelled() -> bool:
    """Whether the task that runs now was asked to stop.

    A CancelledError that comes out of a target or a check while nobody asked for it is only an error of that
    target or check.
    """
    return cancellations() > 0
