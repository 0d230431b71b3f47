"""The progress bar: on terminals only."""

import io

import pytest
from rich.console import Console

from giskard.checks import CheckResult, FnCheck, Scenario, Suite
from giskard.checks.core.events import RunEvent
from giskard.checks.reporting import progress_observer


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("CI", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def suite():
    failing = FnCheck(fn=lambda trace: CheckResult.failure("no"))
    crashing = FnCheck(fn=lambda trace: 1 / 0)
    plain = [Scenario(f"s{i}").interact("a", "b") for i in range(3)]
    return Suite(name="s", scenarios=[*plain, Scenario("f").interact("a", "b").check(failing).check(crashing)])


def shown(stream, total=None):
    console = Console(file=stream, width=80, force_terminal=True)
    with progress_observer(total, console) as observer:
        suite().run_sync(observers=[observer], verbose=False, return_exception=True)
        if hasattr(observer, "_progress"):
            observer._progress.refresh()
    return stream.getvalue()


def test_a_terminal_sees_how_far_the_run_is():
    text = shown(Terminal())

    assert "4/4" in text
    assert "1 errored" in text


def test_without_a_total_it_waits_for_the_run_to_say_it():
    stream = Terminal()
    with progress_observer(console=Console(file=stream, width=80, force_terminal=True)) as observer:
        observer.notify(RunEvent(kind="run_started", total=12))
        observer._progress.refresh()

    assert "0/12" in stream.getvalue()


def test_nothing_in_a_pipe_even_when_colours_are_forced(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert shown(io.StringIO()) == ""


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("CI", "1"), ("TERM", "dumb")])
def test_nothing_in_ci_and_on_dumb_terminals(monkeypatch, name, value):
    monkeypatch.setenv(name, value)

    assert shown(Terminal()) == ""


def test_ci_may_be_said_to_be_off(monkeypatch):
    monkeypatch.setenv("CI", "false")

    assert "4/4" in shown(Terminal())


def test_no_color_is_honoured(monkeypatch):
    assert "\x1b[3" in shown(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    text = shown(Terminal())
    assert "4/4" in text
    assert "\x1b[3" not in text


def test_a_closed_stderr_is_no_reason_to_fail(monkeypatch, capsys):
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr("sys.stderr", stream)
        with progress_observer(3) as observer:
            observer.notify(RunEvent(kind="run_started", total=3))


def test_it_is_removed_when_the_run_ends_with_an_exception():
    stream = Terminal()
    with (
        pytest.raises(RuntimeError, match="stop"),
        progress_observer(3, Console(file=stream, width=80, force_terminal=True)),
    ):
        raise RuntimeError("stop")

    assert stream.getvalue().rstrip().endswith(("\x1b[?25h", "\x1b[2K"))


def test_a_second_display_does_not_disturb_the_first():
    stream = Terminal()
    console = Console(file=stream, width=80, force_terminal=True)
    with progress_observer(3, console), progress_observer(3, console) as second:
        second.notify(RunEvent(kind="run_started", total=3))
