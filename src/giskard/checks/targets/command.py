"""Systems under test that are a command."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.limits import Limit
from giskard.checks.llm import recording
from giskard.checks.targets import _options
from giskard.checks.targets._conversation import CONVERSATION, as_json, as_text, to_json_text, turn
from giskard.checks.targets._history import history_of
from giskard.checks.targets._process import Outcome, TooMuchOutput, run_process
from giskard.checks.targets._recorded import recorded
from giskard.checks.targets._reply import ValuePath, parse_json
from giskard.checks.targets._secrets import WITHHELD, FromEnvironment, Known, Secret, protected, redacted, resolved
from giskard.checks.targets._template import Template
from giskard.checks.targets.errors import TargetError

__all__ = ["CommandTarget"]

_PLACEHOLDERS: Final = ("inputs", "conversation_id", "trial")
_NOTED_OF_STDERR: Final = 2_000
_SHOWN_OF_STDERR: Final = 500


@dataclass(frozen=True, repr=False)
class CommandTarget:
    """A command that is run once a turn.

    It runs in a session and a group of processes of its own, which ends with it: when it is done, when it takes too
    long, and when the run is stopped.  The environment tells it ``GISKARD_CHECKS_CONVERSATION_ID`` and
    ``GISKARD_CHECKS_TRIAL``.

    Parameters
    ----------
    command
        The program and its arguments, as a list or as they are typed; no shell reads them.  An argument may hold
        ``{{ inputs }}``, ``{{ conversation_id }}`` and ``{{ trial }}``, and stays one argument whatever they are; write
        ``"--question={{ inputs }}"``, or ``"--"`` before it, so that no input is taken for an option.
    input
        How it gets the inputs: ``"stdin"`` as text, ``"argument"`` as the last one, or ``"json"`` on stdin, an object
        of ``inputs``, ``history``, ``conversation_id`` and ``trial``.  What is no text is written as JSON.
    output
        What its stdout is: ``"text"``, without the line's end, or ``"json"``.
    response_path
        A JSONPath to the outputs in that JSON.
    timeout
        Seconds for a turn.
    env
        Variables beside those that there are; ``"${NAME}"`` in them is replaced when it is run.
    cwd
        The folder that it runs in.
    shell
        Whether `command` is a text for the shell.  It gets the inputs on stdin, or as ``"$1"``, never as a part of the
        text.
    max_bytes
        The most that it may write.
    end_of_options
        With ``input="argument"``: True puts ``"--"`` before the inputs, after which most programs read no options, and
        False passes whatever there is.  By default inputs that begin with ``-`` are an error: ``--help``, or worse,
        would not be an input but an option.

    Raises
    ------
    TypeError, ValueError
        When an option is none that a target can have.

    Notes
    -----
    What the turn's metadata tells of the call is under ``"target"``: the exit code, the end of stderr, the time.

    A cassette keeps outputs by the command as it is written, the inputs, the history and `env`.  Of the program the
    folder does not count, and paths in the current folder are as seen from there, so that another machine finds them.

    What left the group (``setsid``) is not ended with it, but for one case: on Linux, a command that takes too long, is
    stopped, or writes too much takes along all processes below it.  A daemon, whose parent has ended, goes on.  On
    Windows, all that the command leaves running when it ends by itself goes on.

    A recording has ``[secret]`` in the place of what ``${NAME}`` stands for, and of what looks like a key in `env`.
    """

    command: str | Sequence[str]
    input: Literal["stdin", "argument", "json"] = "stdin"
    output: Literal["text", "json"] = "text"
    _: KW_ONLY
    response_path: str | None = None
    timeout: float = 120.0
    env: Mapping[str, str | Secret] = field(default_factory=dict[str, "str | Secret"])
    cwd: str | None = None
    shell: bool = False
    max_bytes: int = 10_000_000
    end_of_options: bool | None = None
    _arguments: Template = field(init=False, compare=False)
    _path: ValuePath | None = field(init=False, compare=False)
    _known: Known = field(init=False, compare=False)

    def __post_init__(self) -> None:
        _options.check_options(self, **_OPTIONS)
        put = object.__setattr__  # it is frozen from here on
        if self.response_path is not None and self.output != "json":
            raise ValueError(f"response_path is {self.response_path!r}, and output is 'text': give output='json'")
        if self.end_of_options is not None and (self.input != "argument" or self.shell):
            raise ValueError(
                f"end_of_options is {self.end_of_options!r}, which is for input='argument' without a shell: put '--' "
                "into the command"
            )
        put(self, "env", {name: protected(name, value) for name, value in self.env.items()})
        put(self, "_known", Known(self.env))
        put(self, "cwd", None if self.cwd is None else os.fspath(self.cwd))
        put(self, "_path", None if self.response_path is None else ValuePath(self.response_path))
        put(self, "_arguments", Template(self._split(), "command", _PLACEHOLDERS))
        if self.shell and self._arguments.names:
            raise ValueError(
                f"command is {self.command!r}, and a shell would read what stands for "
                f"{', '.join(sorted(self._arguments.names))}: write \"$1\" with input='argument', or read stdin"
            )

    def _split(self) -> list[str]:
        """The program and its arguments; of a shell its one text, or what makes it take an argument."""
        given = self.command
        if self.shell:
            if not isinstance(given, str):
                raise ValueError(f"command is {given!r}, and a shell reads one text")
            if self.input != "argument":
                return [given]
            if sys.platform == "win32":
                raise ValueError("input is 'argument', which a shell of Windows would read: use 'stdin'")
            return ["/bin/sh", "-c", given, "sh"]
        arguments = shlex.split(given, posix=sys.platform != "win32") if isinstance(given, str) else list(given)
        if not arguments or not arguments[0]:
            raise ValueError(f"command is {given!r}, expected a program and its arguments")
        return [os.fspath(item) for item in arguments]

    def __hash__(self) -> int:
        return hash((type(self), str(self.command)))

    def __repr__(self) -> str:
        program = self.command if isinstance(self.command, str) else self._arguments_shown()
        return f"{type(self).__name__}({program.split(maxsplit=1)[0]!r}, {self.input!r}, {self.output!r})"

    def _arguments_shown(self) -> str:
        return str(self.command[0])

    async def __call__(
        self, inputs: Any, trace: Trace | None = None, conversation_id: str = "", trial: int = 1
    ) -> Interaction:
        """The turn that the command makes of `inputs`.

        Raises
        ------
        TargetError
            When it fails, or writes nothing that can be used.
        LimitExceededError
            When the time is over.
        """
        command, stdin = self._sent(inputs, trace, conversation_id, trial)

        async def call() -> dict[str, Any]:
            return await self._asked(command, stdin, conversation_id, trial)

        if recording.active():
            answer = await recorded(self._meaning(inputs, trace, trial), call, self._known.now())
        else:
            answer = await call()
        of_call = {name: answer.get(name) for name in ("exit_code", "stderr", "latency_ms")}
        return turn(inputs, answer["outputs"], {"kind": "command", **of_call})

    def _sent(
        self, inputs: Any, trace: Trace | None, conversation_id: str, trial: int
    ) -> tuple[list[str] | str, bytes | None]:
        """The command of a turn, and what it can read."""
        values = {"conversation_id": conversation_id, "trial": trial}
        text = as_text(inputs)
        arguments = [as_text(item) for item in self._arguments.fill({**values, "inputs": text})]
        if self.input == "argument":
            return [*arguments, *self._as_argument(text, arguments)], None
        if self.input == "json":
            text = to_json_text({"inputs": as_json(inputs), "history": history_of(trace), **values})
        return arguments[0] if self.shell else arguments, text.encode("utf-8", "replace")

    def _as_argument(self, text: str, before: list[str]) -> list[str]:
        """The inputs as the last argument, which is to be no option."""
        if self.end_of_options:
            return ["--", text]
        if self.end_of_options is None and text.startswith("-") and not self.shell and "--" not in before:
            raise TargetError(
                f"{self!r} may take the inputs for an option, for they begin with '-': {text!r:.100}; with "
                "end_of_options=True '--' is put before them, with False they are passed as they are",
                kind="config",
            )
        return [text]

    async def _asked(
        self, command: list[str] | str, stdin: bytes | None, conversation_id: str, trial: int
    ) -> dict[str, Any]:
        keys = FromEnvironment(trimmed=False)  # a variable may hold a file
        outcome = Outcome(secrets=keys.secrets)
        env = {
            **os.environ,
            "GISKARD_CHECKS_CONVERSATION_ID": conversation_id,
            "GISKARD_CHECKS_TRIAL": str(trial),
            **resolved(self.env, "the variable", keys),
        }
        start = time.perf_counter()
        async with Limit(lambda: self._told(f"timeout after {self.timeout:g} s", outcome), seconds=self.timeout):
            await self._run(command, outcome, stdin, env)
        answer = {"outputs": self._outputs(outcome), "exit_code": outcome.exit_code}
        if outcome.stderr:
            answer["stderr"] = redacted(_decoded(outcome.stderr), outcome.secrets)[-_NOTED_OF_STDERR:]
        return {**answer, "latency_ms": round((time.perf_counter() - start) * 1000, 3)}

    def _meaning(self, inputs: Any, trace: Trace | None, trial: int) -> dict[str, Any]:
        """What the call means, whatever the ids of this run, the keys and the folders of this machine."""
        values = {"conversation_id": CONVERSATION, "trial": trial, "inputs": as_text(inputs)}
        arguments = [as_text(item) for item in self._arguments.fill(values)]
        return {
            "target": "command",
            "command": self.command if self.shell else [_program(arguments[0]), *map(_from_here, arguments[1:])],
            "shell": self.shell,
            "input": [self.input, self.end_of_options],
            "inputs": as_json(inputs),
            "output": [self.output, self.response_path],
            "env": resolved(self.env, "the variable", WITHHELD),
            "history": history_of(trace),
        }

    async def _run(
        self, command: list[str] | str, outcome: Outcome, stdin: bytes | None, env: Mapping[str, str]
    ) -> None:
        try:
            await run_process(command, outcome, stdin=stdin, env=env, cwd=self.cwd, max_bytes=self.max_bytes)
        except TooMuchOutput:
            message = f"wrote more than {self.max_bytes:,} bytes; give the target a larger max_bytes if that is right"
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            where = "" if self.cwd is None else f" in the folder {self.cwd!r}"
            raise ConfigurationError(f"{self!r} cannot be started{where}: {error}") from None
        except (OSError, ValueError) as error:
            hint = "; give it input='stdin'" if self.input == "argument" else ""
            raise TargetError(f"{self!r} cannot be started: {error}{hint}", kind="bad_type") from None
        else:
            return
        raise TargetError(self._told(message, outcome))

    def _outputs(self, outcome: Outcome) -> Any:
        if outcome.exit_code != 0:
            raise TargetError(self._told(_ending(outcome.exit_code), outcome), status=outcome.exit_code)
        text = _decoded(outcome.stdout)
        if self.output == "text":
            return text.rstrip("\r\n")
        if not text.strip():
            raise TargetError(self._told("wrote nothing, and JSON was expected", outcome))
        what = f"the output of {self!r}"
        try:
            data = parse_json(text, what)
            return data if self._path is None else self._path.find(data, what)
        except TargetError as error:
            error.message = redacted(error.message, outcome.secrets)
            raise

    def _told(self, what: str, outcome: Outcome) -> str:
        stderr = redacted(_decoded(outcome.stderr), outcome.secrets).strip()[-_SHOWN_OF_STDERR:]
        return f"{self!r}: {what}" + (f"; the end of its stderr: {stderr!r}" if stderr else "")


def _decoded(data: bytearray) -> str:
    return data.decode("utf-8", "replace")


def _ending(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"was ended by signal {-exit_code}"
    return f"ended with exit code {exit_code}"


def _program(path: str) -> str:
    """A program as other machines know it: this Python is one, wherever it is."""
    return "python" if path == sys.executable else os.path.basename(path)


def _from_here(argument: str) -> str:
    """An argument; a path in the current folder as it is seen from there."""
    try:
        return Path(argument).relative_to(Path.cwd()).as_posix()
    except ValueError:  # it is none
        return argument


_OPTIONS: Final = {
    "command": _options.COMMAND,
    "input": _options.choice("stdin", "argument", "json"),
    "output": _options.choice("text", "json"),
    "response_path": _options.MAYBE_TEXT,
    "timeout": _options.SECONDS,
    "env": _options.VARIABLES,
    "cwd": _options.FOLDER,
    "shell": _options.FLAG,
    "max_bytes": _options.whole_number(1),
    "end_of_options": _options.MAYBE_FLAG,
}
