"""A pytest plugin that makes the tests of one mutant cheap: the nearest first, small examples, no endless waiting.

mutmut runs the tests that call the mutated function in an arbitrary order. Here those of the file of the same name
come first and then the quick ones, up to a budget of seconds: what a mutant needs longer for counts as survived.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from mutmut.mutation.trampoline import get_mutant_under_test
from mutmut.state import state

SECONDS_OF_TESTS = 12.0  # per mutant, as they took without a mutant
SECONDS_AROUND_A_TEST = 0.005  # what pytest itself takes for one
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


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("mutation")
    module, _, name = get_mutant_under_test().rpartition(".")
    if "__mutmut_" not in name or not all("::" in arg for arg in config.args):
        return
    seconds = state().duration_by_test
    stem = module.rpartition(".")[2].lstrip("_")

    def nearest(test: str) -> tuple[bool, float]:
        return Path(test.partition("::")[0]).stem != f"test_{stem}", seconds.get(test, 0.0)

    left, chosen = SECONDS_OF_TESTS, []
    for test in sorted(config.args, key=nearest):
        left -= seconds.get(test, 0.0) + SECONDS_AROUND_A_TEST
        if left > 0 or not chosen:
            chosen.append(test)
    config.args[:] = chosen


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the order of the arguments' files; leave out what starts a Python of its own, where no mutant is active."""
    items[:] = [item for item in items if "subprocess" not in item.function.__code__.co_names]  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the process when a test takes far longer than it did without a mutant."""
    if "__mutmut_" not in get_mutant_under_test():
        return (yield)
    limit = 10 + 20 * state().duration_by_test.get(item.nodeid, 0.0)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(TIMEOUT))
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
