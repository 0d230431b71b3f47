"""Commands, run as real processes."""

import asyncio
import contextlib
import errno
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from giskard.checks import Interact, Scenario, Suite
from giskard.checks.core.exceptions import ConfigurationError, LimitExceededError
from giskard.checks.targets import CommandTarget, TargetError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its groups of processes are those of POSIX")


def python(code, *arguments):
    return [sys.executable, "-c", code, *arguments]


SHOUT = "import sys; print(sys.stdin.read().upper())"


def ask(target, inputs="hello", **context):
    return asyncio.run(target(inputs, **context))


def failure_of(target, inputs="hello"):
    with pytest.raises(TargetError) as caught:
        ask(target, inputs)
    return caught.value


# --- inputs and outputs ------------------------------------------------------------------


def test_inputs_come_on_stdin_and_outputs_on_stdout():
    turn = ask(CommandTarget(python(SHOUT)), "héllo\n")

    assert turn.outputs == "HÉLLO"
    assert set(turn.metadata) == {"target"}
    assert turn.metadata["target"] | {"latency_ms": 0} == {"kind": "command", "exit_code": 0, "latency_ms": 0}
    assert turn.metadata["target"]["latency_ms"] > 0


def test_inputs_as_the_last_argument():
    target = CommandTarget(python("import sys; print(sys.argv[1:])", "-n"), "argument")

    assert ask(target, "$(id) `id` ; ls * 'x'").outputs == "['-n', \"$(id) `id` ; ls * 'x'\"]"


def test_inputs_are_no_option():
    code = "import sys; print(sys.argv[1:])"
    by_default = CommandTarget(python(code), "argument")
    error = failure_of(by_default, "--help")

    assert "may take the inputs for an option, for they begin with '-': '--help'" in str(error)
    assert "end_of_options=True" in str(error)
    assert error.kind == "config"
    assert ask(by_default, "a --help").outputs == "['a --help']"
    assert ask(CommandTarget(python(code, "--"), "argument"), "-c").outputs == "['--', '-c']"


def test_inputs_after_the_end_of_options():
    code = "import sys; print(sys.argv[1:])"

    assert ask(CommandTarget(python(code, "-n"), "argument", end_of_options=True), "-x").outputs == "['-n', '--', '-x']"
    assert ask(CommandTarget(python(code), "argument", end_of_options=True), "x").outputs == "['--', 'x']"
    assert ask(CommandTarget(python(code), "argument", end_of_options=False), "-x").outputs == "['-x']"
    assert ask(CommandTarget('echo "<$1>"', "argument", shell=True), "-x").outputs == "<-x>"


def test_inputs_within_the_arguments():
    target = CommandTarget(python("import sys; print(sys.argv[1:])", "--q={{ inputs }}", "{{ trial }}", "{{ x"))

    assert ask(target, "a b").outputs == "['--q=a b', '1', '{{ x']"


def test_the_whole_turn_as_json():
    code = "import json, sys; print(json.dumps({'data': {'reply': json.load(sys.stdin)}}))"
    target = CommandTarget(python(code), "json", "json", response_path="$.data.reply")
    case = Scenario("s").interact("a", "b").interact({"n": 1})
    result = asyncio.run(case.run(target=target))

    assert result.final_trace.last.outputs == {
        "inputs": {"n": 1},
        "history": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        "conversation_id": result.conversation_id,
        "trial": 1,
    }


def test_the_environment_tells_of_the_conversation(monkeypatch):
    monkeypatch.setenv("TARGET_KEY", "k-1234")
    names = ["GISKARD_CHECKS_CONVERSATION_ID", "GISKARD_CHECKS_TRIAL", "API_KEY", "MODE", "TARGET_KEY"]
    code = f"import json, os; print(json.dumps([os.environ.get(n) for n in {names}]))"
    target = CommandTarget(python(code), output="json", env={"API_KEY": "${TARGET_KEY}", "MODE": "test"})

    assert ask(target, conversation_id="c1", trial=3).outputs == ["c1", "3", "k-1234", "test", "k-1234"]


def test_it_runs_in_the_folder_that_is_given(tmp_path):
    target = CommandTarget(python("import os; print(os.getcwd())"), cwd=tmp_path)

    assert os.path.samefile(ask(target).outputs, tmp_path)


def test_a_command_as_it_is_typed(tmp_path):
    script = tmp_path / "my script.py"
    script.write_text(SHOUT, encoding="utf-8")

    assert ask(CommandTarget(f"'{sys.executable}' '{script}'")).outputs == "HELLO"


def test_a_shell_only_when_it_is_asked_for():
    assert ask(CommandTarget("echo '$HOME' | cat")).outputs == "$HOME | cat"
    assert ask(CommandTarget('echo "<$1>" | tr a-z A-Z', "argument", shell=True), "a; echo b").outputs == "<A; ECHO B>"
    assert ask(CommandTarget("cat | tr a-z A-Z", shell=True), "abc").outputs == "ABC"


def test_a_shell_gets_the_text_as_it_is():
    text = """printf '%s|' "a b" 'c"d' \\\\e; echo "$(echo f)" && true"""

    assert ask(CommandTarget(text, shell=True)).outputs == 'a b|c"d|\\e|f'
    assert ask(CommandTarget('echo "${HOME}"', shell=True, env={"HOME": "/home/x"})).outputs == "/home/x"


def test_more_than_the_pipes_hold_goes_both_ways():
    code = "import sys; d = sys.stdin.buffer.read(); sys.stderr.write('e' * 300_000); sys.stdout.buffer.write(d * 2)"
    inputs = "0123456789" * 100_000
    turn = ask(CommandTarget(python(code)), inputs)

    assert turn.outputs == inputs * 2
    assert turn.metadata["target"]["stderr"] == "e" * 2000


def test_a_command_that_writes_before_it_reads():
    code = "import sys; sys.stdout.write('x' * 500_000); sys.stdout.flush(); sys.stdout.write(sys.stdin.read()[-3:])"

    assert ask(CommandTarget(python(code)), "y" * 500_000).outputs.endswith("xyyy")


def test_a_command_that_reads_nothing():
    assert ask(CommandTarget(python("print('fine')")), "y" * 1_000_000).outputs == "fine"


def test_what_is_no_utf8_is_replaced():
    turn = ask(
        CommandTarget(python("import sys; sys.stdout.buffer.write(b'a\\xffb\\n'); sys.stderr.buffer.write(b'\\xfe')"))
    )

    assert (turn.outputs, turn.metadata["target"]["stderr"]) == ("a\ufffdb", "\ufffd")


# --- what goes wrong ---------------------------------------------------------------------


def test_an_exit_code_is_an_error_with_the_end_of_stderr():
    error = failure_of(CommandTarget(python("import sys; sys.stderr.write('x' * 9999 + 'Boom'); sys.exit(3)")))

    assert "ended with exit code 3; the end of its stderr: 'xxx" in str(error)
    assert "Boom" in str(error)
    assert len(str(error)) < 1000
    assert error.status == 3


def test_a_signal_is_an_error():
    error = failure_of(CommandTarget(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")))

    assert "was ended by signal 9" in str(error)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('{')", "is no JSON"),
        ("pass", "wrote nothing, and JSON was expected"),
        ("print('{\"b\": 1}')", "$ has no 'a'"),
    ],
)
def test_outputs_that_are_not_what_was_expected(code, message):
    assert message in str(failure_of(CommandTarget(python(code), output="json", response_path="a")))


def test_a_program_that_is_not_there(tmp_path):
    for target in (CommandTarget(["no-such-program-here"]), CommandTarget(python(""), cwd=tmp_path / "none")):
        with pytest.raises(ConfigurationError, match=r"cannot be started.*No such file"):
            ask(target)


@pytest.mark.parametrize("inputs", ["a\0b", "x" * 10_000_000], ids=["nul", "too long"])
def test_inputs_that_no_argument_can_be(inputs):
    error = failure_of(CommandTarget(python("pass"), "argument"), inputs)

    assert "cannot be started" in str(error)
    assert "input='stdin'" in str(error)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": ""}, "expected a program"),
        ({"command": []}, "expected a program"),
        ({"command": "x", "input": "file"}, "expected one of 'stdin'"),
        ({"command": "x", "output": "xml"}, "expected one of 'text'"),
        ({"command": "x", "response_path": "$.a"}, "give output='json'"),
        ({"command": "echo {{ inputs }}", "shell": True}, "a shell would read"),
        ({"command": ["echo"], "shell": True}, "a shell reads one text"),
        ({"command": ["echo", "{{ input }}"]}, "did you mean 'inputs'?"),
        ({"command": "x", "timeout": 0}, "positive"),
        ({"command": "x", "end_of_options": True}, "for input='argument' without a shell"),
        ({"command": "x", "input": "argument", "shell": True, "end_of_options": False}, "without a shell"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError) as caught:
        CommandTarget(**options)

    assert message in str(caught.value)


# --- the end -----------------------------------------------------------------------------

# A shell that starts a grandchild which does not listen to SIGTERM, and tells where to find both.
GRANDCHILD = """trap '' TERM; echo $PPID $$ > "$FILE"; while :; do sleep 60; done"""
LEAVES = """
sh -c "$GRANDCHILD" &
until [ -s "$FILE" ]; do sleep 0.01; done
echo started
echo warming up >&2
"""
HANGS = LEAVES + "sleep 600"
IGNORES = f"trap '' TERM; {LEAVES} while :; do sleep 60; done"


def stubborn(code, pids, **options):
    return CommandTarget(code, shell=True, env={"FILE": str(pids), "GRANDCHILD": GRANDCHILD}, **options)


def assert_gone(path):
    """Both processes are no more; those that init has yet to take leave of have ended."""
    for pid in map(int, path.read_text().split()):
        deadline = time.monotonic() + 10
        while is_alive(pid):
            assert time.monotonic() < deadline, pid
            time.sleep(0.01)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except OSError as error:
        assert error.errno == errno.ESRCH
        return False
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return os.path.isdir("/proc/self") is False


@pytest.mark.parametrize("code", [HANGS, IGNORES], ids=["hangs", "does not listen"])
def test_a_timeout_ends_the_whole_group(code, tmp_path):
    pids = tmp_path / "pids"
    target = stubborn(code, pids, timeout=1.5)

    with pytest.raises(LimitExceededError, match=r"timeout after 1\.5 s; the end of its stderr: 'warming up'"):
        ask(target)
    assert_gone(pids)


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("times", [1, 2])
def test_a_cancellation_ends_the_whole_group(times, tmp_path):
    pids = tmp_path / "pids"

    async def main():
        task = asyncio.create_task(stubborn(IGNORES, pids)("hi"))
        await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert_gone(pids)


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("turns", [1, 2, 3, 4, 6, 9])
def test_a_cancellation_while_it_starts_leaves_nothing(turns, times, tmp_path):
    pids = tmp_path / "pids"

    async def main():
        task = asyncio.create_task(stubborn(HANGS, pids)("hi"))
        for _ in range(turns):
            await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    if pids.exists():
        assert_gone(pids)
    assert started_with(pids) == []  # also those that did not come to write it


def started_with(pids):
    """The processes whose environment names the file, where the system tells."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if os.fsencode(pids) in path.read_bytes():
                found.append(path.parent.name)
    return found


def test_what_a_command_leaves_behind_ends_with_it(tmp_path):
    pids = tmp_path / "pids"
    turn = ask(stubborn(LEAVES, pids, timeout=30))  # the grandchild holds the pipes

    assert turn.outputs == "started"
    assert_gone(pids)


LEFT_THE_GROUP = """
import subprocess, sys, time
below = "import os, subprocess, sys; subprocess.Popen(['sleep', '600']); print(os.getpid(), flush=True); input()"
child = subprocess.Popen(
    [sys.executable, "-c", below], start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)
with open(os.environ["FILE"], "w") as file:
    file.write(f"{os.getpid()} {child.stdout.readline()}")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of what is below a process")
@pytest.mark.parametrize("ends", ["time.sleep(600)", "while True: print('x' * 1000)"], ids=["time", "output"])
@pytest.mark.parametrize("listens", ["", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
def test_what_left_the_group_of_a_command_that_is_stopped_ends_with_it(ends, listens, tmp_path):
    pids = tmp_path / "pids"
    code = f"import os\n{listens}\n{LEFT_THE_GROUP}\n{ends}"
    target = CommandTarget(python(code), env={"FILE": str(pids)}, timeout=3, max_bytes=1_000)
    files = len(os.listdir("/proc/self/fd"))

    with pytest.raises((LimitExceededError, TargetError)):
        ask(target)
    assert_gone(pids)
    assert len(os.listdir("/proc/self/fd")) <= files
    assert all(not is_alive(int(pid)) for pid in started_with(pids))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process was started with")
def test_a_daemon_goes_on(tmp_path):
    pids = tmp_path / "pids"
    code = """
import os, time
reads, writes = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    os.write(writes, b"x")
    time.sleep(600)
os.read(reads, 1)
"""
    ask(CommandTarget(python(code), env={"FILE": str(pids)}))
    (daemon,) = map(int, started_with(pids))
    assert is_alive(daemon)
    os.kill(daemon, signal.SIGKILL)


def test_too_much_output_ends_it():
    code = "import sys\nwhile True: sys.stdout.write('x' * 1000)"

    assert "wrote more than 10,000 bytes" in str(failure_of(CommandTarget(python(code), max_bytes=10_000)))


def test_an_endless_stderr_is_not_kept():
    code = "import sys\nfor _ in range(3000): sys.stderr.write('x' * 1000)\nsys.stderr.write('end')"
    turn = ask(CommandTarget(python(code)))

    assert turn.metadata["target"]["stderr"].endswith("xend")


def test_the_limit_of_the_interaction_ends_it_too(tmp_path):
    pids = tmp_path / "pids"
    target = stubborn(HANGS, pids)
    case = Scenario("s").add_interaction(Interact(inputs="hi", outputs=target, timeout=1.5))
    result = asyncio.run(case.run(return_exception=True))

    assert result.steps[0].error.error_kind == "timeout"
    assert_gone(pids)


# --- runs --------------------------------------------------------------------------------


def test_many_at_once():
    suite = Suite("s", [Scenario(f"{n}").interact(f"word {n}") for n in range(6)])
    result = asyncio.run(suite.run(target=CommandTarget(python(SHOUT)), parallel=True, verbose=False))

    assert [each.final_trace.last.outputs for each in result.results] == [f"WORD {n}" for n in range(6)]


def test_it_is_saved_and_loaded_and_shows_no_secret():
    target = CommandTarget(["run", "--fast"], "json", env={"API_KEY": "${KEY}", "MODE": "x"})
    case = Scenario("s", target=target).interact("hi")

    assert Scenario.model_validate_json(case.model_dump_json()).target == target
    assert repr(target) == "CommandTarget('run', 'json', 'text')"
    with pytest.raises(Exception, match="a secret; what is to be saved"):
        Scenario("s", target=CommandTarget("run", env={"API_KEY": "abc-123"})).model_dump_json()


def test_a_secret_of_its_environment_is_not_shown():
    code = "import os, sys; print(os.environ['API_KEY'], file=sys.stderr); sys.exit(int(sys.stdin.read()))"
    target = CommandTarget(python(code), env={"API_KEY": "abc-123"})

    assert "'[secret]'" in str(failure_of(target, "1"))
    echoes = CommandTarget(python("import os; print(os.environ['API_KEY'])"), output="json", env={"API_KEY": "abc-123"})
    assert "is no JSON" in str(failure_of(echoes))
    assert "abc-123" not in str(failure_of(echoes))
    assert ask(target, "0").metadata["target"]["stderr"] == "[secret]\n"
