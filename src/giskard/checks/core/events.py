"""What happens during a run, told to whoever wants to know."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from giskard.checks.utils.json_safe import describe
from giskard.checks.utils.lazy import logging

__all__ = ["EventKind", "Observers", "RunEvent", "RunObserver"]

EventKind = Literal[
    "run_started",
    "run_ended",
    "scenario_started",
    "scenario_ended",
    "attempt_started",
    "attempt_ended",
    "turn_started",
    "turn_ended",
    "check_started",
    "check_ended",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """Something started or ended.

    Parameters
    ----------
    kind
        What happened: one of run, scenario, attempt, turn, check, and ``_started`` or ``_ended``.
    run_id, scenario_id, scenario_name, trial, step_index, check_id
        Where; None where it does not apply.
    total
        How many scenarios the run has, with "run_started".
    subject
        What it is about: the scenario, the check, or, of a turn that ended, the interaction.
    result
        The result of what ended.
    """

    kind: EventKind
    run_id: str | None = None
    scenario_id: str | None = None
    scenario_name: str | None = None
    trial: int | None = None
    step_index: int | None = None
    check_id: str | None = None
    total: int | None = None
    subject: Any = None
    result: Any = None


class RunObserver(Protocol):
    """Is told of each event of a run, in order, in the thread of the event loop."""

    def notify(self, event: RunEvent) -> None:
        """Take note of `event`; what it raises becomes a warning and does not disturb the run."""
        ...


class Observers(tuple[RunObserver, ...]):
    """The observers of a run, as one; false when there are none."""

    __slots__ = ()

    def and_also(self, observer: RunObserver) -> Observers:
        """These and one more."""
        return Observers((*self, observer))

    def notify(self, event: RunEvent) -> None:
        """Tell all of them."""
        for observer in self:
            try:
                observer.notify(event)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # also SystemExit, or a CancelledError of its own
                _warn(f"{describe(observer)} failed at {event.kind}: {describe(error)}")


def _warn(message: str) -> None:
    """Warn of an observer's failure; where warnings are errors, this one goes to the log: the run goes on."""
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        logging.getLogger("giskard.checks").error(message)
