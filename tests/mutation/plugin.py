"""A pytest plugin for the tests of one mutant: small examples, no endless waiting, and out at the first failure."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from mutmut.mutation.trampoline import get_mutant_under_test
from mutmut.state import state

TIMEOUT = 36  # the exit code that mutmut takes for a timeout

settings.register_profile(
    "mutation",
    max_examples=15,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def _has_mutant() -> bool:
    return "__mutmut_" in get_mutant_under_test()


def pytest_configure() -> None:
    settings.load_profile("mutation")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what starts a Python of its own, in which no mutant is active."""
    items[:] = [item for item in items if "subprocess" not in item.function.__code__.co_names]  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the process when a test takes far longer than it did without a mutant."""
    if not _has_mutant():
        return (yield)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(TIMEOUT))
    signal.setitimer(signal.ITIMER_REAL, 20 + 20 * state().duration_by_test.get(item.nodeid, 0.0))
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def pytest_sessionfinish(exitstatus: int) -> None:
    """Stop at once: what the tests left unfinished would raise in pytest's own end, and hide how they ended."""
    if _has_mutant() and exitstatus in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERNAL_ERROR):
        os._exit(int(exitstatus))
