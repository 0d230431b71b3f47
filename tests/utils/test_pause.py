"""Pauses for the event loop."""

import asyncio
from time import perf_counter

import pytest

from giskard.checks.utils import pause as module
from giskard.checks.utils.pause import is_due, pause


@pytest.fixture
def as_if_new(monkeypatch):
    monkeypatch.setattr(module, "_due", 0.0)
    monkeypatch.setattr(module, "_SECONDS", 0.25)  # longer than a busy machine takes to close a loop


def until_due() -> float:
    start = perf_counter()
    while not is_due():
        pass
    return perf_counter() - start


def test_the_first_one_is_due_a_while_after_the_first_question(as_if_new):
    assert not is_due()
    assert until_due() < 5


def test_the_next_one_is_due_a_while_after_the_last(as_if_new):
    until_due()
    asyncio.run(pause())

    assert not is_due()
    assert until_due() < 5
