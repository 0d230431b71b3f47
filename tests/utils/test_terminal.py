"""Whether somebody looks at what is written."""

import io

import pytest

from giskard.checks.utils.terminal import is_watched


class Terminal(io.StringIO):
    def isatty(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return True


class Gone:
    def isatty(self):
        raise OSError("no such device")


def closed():
    stream = Terminal()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, io.StringIO(), object(), Gone()])
def test_nobody_looks_at_what_is_no_terminal(stream):
    assert not is_watched(stream)


def test_a_terminal_is_watched_while_it_is_open(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")

    assert is_watched(Terminal())
    monkeypatch.setenv("CI", "0")
    assert is_watched(Terminal())
    assert not is_watched(closed())


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_nothing_moves_in_ci_and_on_dumb_terminals(monkeypatch, name, value):
    monkeypatch.setenv("CI", "")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)

    assert not is_watched(Terminal())
