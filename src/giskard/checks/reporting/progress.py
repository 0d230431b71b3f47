"""A progress bar, on terminals only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from giskard.checks.core.events import RunEvent, RunObserver
from giskard.checks.utils.terminal import is_watched

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

__all__ = ["progress_observer"]


@contextlib.contextmanager
def progress_observer(total: int | None = None, console: Console | None = None) -> Generator[RunObserver]:
    """An observer that shows how far a run is, for as long as the context lasts.

    It shows nothing unless it writes to a real terminal: nothing in a pipe or a file, nothing where ``CI`` is set,
    nothing on a dumb terminal.  ``NO_COLOR`` is honoured.

    Parameters
    ----------
    total
        How many scenarios the run has; the run itself says it when it is None.
    console
        Where to; stderr when it is None.

    Yields
    ------
    RunObserver
        To be among the run's observers.
    """
    stream: Any = sys.stderr if console is None else console.file
    if not is_watched(stream):
        yield _Nobody()
        return
    progress = _bar(console)
    try:
        progress.start()
    except Exception:  # another display is live there already: then that one stays
        yield _Nobody()
        return
    try:
        yield _Bar(progress, total)
    finally:
        progress.stop()


def _bar(console: Console | None) -> Progress:
    from rich.console import Console  # noqa: PLC0415 - only terminals need it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    # What a target prints to a stdout that is piped elsewhere goes there, and not above the bar.
    prints_here = is_watched(sys.stdout)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[found]}"),
        TimeElapsedColumn(),
        console=console or Console(stderr=True, highlight=False),
        transient=True,
        redirect_stdout=prints_here,
        redirect_stderr=True,
    )


class _Nobody:
    """Takes note of nothing."""

    def notify(self, event: RunEvent) -> None:
        """Do nothing."""


class _Bar:
    """Moves a progress bar on."""

    def __init__(self, progress: Progress, total: int | None) -> None:
        self._progress = progress
        self._task: TaskID = progress.add_task("scenarios", total=total, found="")
        self._failed = 0
        self._errored = 0

    def notify(self, event: RunEvent) -> None:
        """Count what ended."""
        if event.kind == "run_started" and event.total is not None:
            self._progress.update(self._task, total=event.total)
        elif event.kind == "scenario_ended":
            status = getattr(event.result, "status", None)
            self._failed += status == "fail"
            self._errored += status == "error"
            self._progress.update(self._task, advance=1, found=self._found())

    def _found(self) -> str:
        failed = f"[red]{self._failed:,} failed[/red]" if self._failed else ""
        errored = f"[magenta]{self._errored:,} errored[/magenta]" if self._errored else ""
        return "  ".join(part for part in (failed, errored) if part)
