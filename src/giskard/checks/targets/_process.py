"""A command that is run once: its group of processes ends with it, whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from giskard.checks.targets._descendants import Descendants

__all__ = ["Outcome", "TooMuchOutput", "run_process"]

_PATIENCE: Final = 2.0  # seconds from the request to end until the end is forced
_PIPES_PATIENCE: Final = 1.0  # for pipes that a process holds which left the group
_STDIN, _STDOUT = 0, 1
_KEPT_OF_STDERR: Final = 20_000


class TooMuchOutput(Exception):
    """The command wrote more than it may."""


@dataclass(slots=True)
class Outcome:
    """What has come of a command: it is filled while the command runs, so that its errors can be told."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    exit_code: int | None = None
    secrets: list[str] = field(default_factory=list[str], repr=False)
    """What messages must not show."""


async def run_process(
    command: Sequence[str] | str,
    outcome: Outcome,
    *,
    stdin: bytes | None,
    env: Mapping[str, str],
    cwd: str | None,
    max_bytes: int,
) -> None:
    """Run a command to its end, in a group of its own.

    What it started in its group, and left running, ends with it.  When it is not to go on, because this is cancelled or
    it wrote too much, the group is asked to end, and made to 2 seconds later; on Linux also what left the group, where
    whoever started it still runs.  A daemon, which left both, goes on.

    Parameters
    ----------
    command
        A program and its arguments, or a text for the system's shell.
    outcome
        What it writes is put there as it comes, and its exit code; of stderr the end.
    stdin
        What it can read; None when there is nothing.

    Raises
    ------
    TooMuchOutput
        When it wrote more than `max_bytes`.
    OSError, ValueError
        When it cannot be started.
    """
    pipes: dict[str, Any] = {
        "stdin": subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    watcher = _Watcher(outcome, max_bytes)
    transport = await _started(command, watcher, {**pipes, "env": dict(env), "cwd": cwd, **_GROUP})
    try:
        if stdin is not None:
            pipe = cast("asyncio.WriteTransport", transport.get_pipe_transport(_STDIN))
            pipe.write(stdin)
            pipe.write_eof()
        await watcher.exited
    finally:
        is_cancelled = await _to_its_end(_end(transport, watcher), watcher.enough.set)
    if is_cancelled:
        raise asyncio.CancelledError
    outcome.exit_code = transport.get_returncode()
    if watcher.wrote_too_much:
        raise TooMuchOutput


async def _started(
    command: Sequence[str] | str, watcher: _Watcher, options: Mapping[str, Any]
) -> asyncio.SubprocessTransport:
    """Start a command; a cancellation meanwhile leaves nothing that runs."""
    loop = asyncio.get_running_loop()
    is_text = isinstance(command, str)
    starting = asyncio.ensure_future(
        loop.subprocess_shell(lambda: watcher, command, **options)
        if is_text
        else loop.subprocess_exec(lambda: watcher, *command, **options)
    )
    try:
        transport, _ = await asyncio.shield(starting)
    except asyncio.CancelledError:  # it may run by now
        await _to_its_end(starting)
        if starting.exception() is None:
            await _to_its_end(_end(starting.result()[0], watcher))
        raise
    return transport


async def _to_its_end(work: Awaitable[Any], hurry: Callable[[], None] | None = None) -> bool:
    """Wait for what takes little time and must not be left half done; whether this was cancelled meanwhile.

    Parameters
    ----------
    hurry
        Called then.
    """
    task = asyncio.ensure_future(work)
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            is_cancelled = True
            if hurry is not None:
                hurry()
    return is_cancelled


class _Watcher(asyncio.SubprocessProtocol):
    """Takes what a command writes, and notes when it ends."""

    def __init__(self, outcome: Outcome, max_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        """Done when the command has ended, or is to end."""
        self.closed: asyncio.Future[None] = loop.create_future()
        """Done when nobody can write to its pipes any more."""
        self.has_ended = False
        self.enough = asyncio.Event()
        """Set when nobody waits for the end any longer: it is there, or is to be forced."""
        self.wrote_too_much = False
        self._outcome = outcome
        self._max_bytes = max_bytes

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == _STDOUT:
            self._outcome.stdout += data
            if len(self._outcome.stdout) > self._max_bytes:
                self.wrote_too_much = True
                self._outcome.stdout.clear()
                _settle(self.exited)
        else:
            self._outcome.stderr += data
            del self._outcome.stderr[:-_KEPT_OF_STDERR]

    def process_exited(self) -> None:
        self.has_ended = True
        self.enough.set()
        _settle(self.exited)

    def connection_lost(self, exc: Exception | None) -> None:
        _settle(self.closed)

    def pause_writing(self) -> None:
        """All of stdin is in the transport's buffer already."""

    def resume_writing(self) -> None:
        """See `pause_writing`."""


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _end(transport: asyncio.SubprocessTransport, watcher: _Watcher) -> None:
    """End the command and its group, and close the pipes to it."""
    descendants = Descendants()
    try:
        if not watcher.has_ended:
            descendants.find(transport.get_pid())
            descendants.end(forced=False)
            _ask_to_end(transport)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(watcher.enough.wait(), _PATIENCE)
        if not watcher.has_ended:
            descendants.find(transport.get_pid())
        await _force_to_end(transport, watcher)
        descendants.end(forced=True)
    finally:
        descendants.let_go()
    await asyncio.wait([watcher.closed], timeout=_PIPES_PATIENCE)
    transport.close()
    await asyncio.wait([watcher.closed], timeout=_PIPES_PATIENCE)


if sys.platform == "win32":
    _GROUP: Final[dict[str, Any]] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}

    def _ask_to_end(transport: asyncio.SubprocessTransport) -> None:
        with contextlib.suppress(OSError, ValueError):
            transport.send_signal(signal.CTRL_BREAK_EVENT)

    async def _force_to_end(transport: asyncio.SubprocessTransport, watcher: _Watcher) -> None:
        # The tree is found by the process above it: once that has ended, its number may be another one's.
        if not watcher.has_ended:
            arguments = ["taskkill", "/F", "/T", "/PID", str(transport.get_pid())]
            with contextlib.suppress(OSError):
                await asyncio.to_thread(subprocess.run, arguments, capture_output=True, check=False)

else:
    _GROUP: Final[dict[str, Any]] = {"start_new_session": True}

    # The group has the number of its first process, and keeps it as long as any of its processes lives.

    def _ask_to_end(transport: asyncio.SubprocessTransport) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signal.SIGTERM)

    async def _force_to_end(transport: asyncio.SubprocessTransport, watcher: _Watcher) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signal.SIGKILL)  # also those that the command left behind
