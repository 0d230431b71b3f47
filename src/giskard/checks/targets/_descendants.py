"""Processes below a command that left its group, where the system tells of them: on Linux."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

__all__ = ["Descendants"]


class Descendants:
    """Holds on to processes, so that a signal reaches those very ones, and no other that got the number of one.

    A process is found by its parents, so that one whose parent has ended, as a daemon's has, is not.
    """

    def __init__(self) -> None:
        self._held: dict[int, int] = {}

    def find(self, leader: int) -> None:
        """Hold on to what is below the process `leader`, which leads a session, and is not in its group."""
        if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
            return
        found = _parent_and_group(leader)
        if found is None or found[1] != leader:
            return
        above = [leader]
        while above:
            parent = above.pop()
            for child in _children(parent):
                above.append(child)
                if child not in self._held:
                    self._hold(child, parent, leader)

    def _hold(self, child: int, parent: int, group: int) -> None:
        with contextlib.suppress(OSError):
            held = os.pidfd_open(child)
            found = _parent_and_group(child)
            if found is not None and found[0] == parent and found[1] != group:
                self._held[child] = held
            else:
                os.close(held)

    def end(self, *, forced: bool) -> None:
        """Ask all that are held to end, or make them."""
        if sys.platform == "linux":
            for held in self._held.values():
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(held, signal.SIGKILL if forced else signal.SIGTERM)

    def let_go(self) -> None:
        """Hold on to none any more."""
        while self._held:
            os.close(self._held.popitem()[1])


def _children(parent: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    return found


def _parent_and_group(process: int) -> tuple[int, int] | None:
    """The numbers of the parent and of the group; None when there is no such process."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[1]), int(fields[2])
    except (OSError, ValueError, IndexError):
        return None
