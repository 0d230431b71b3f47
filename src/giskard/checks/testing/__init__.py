"""Running test cases, and what helps to test: spies."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giskard.checks.testing.runner import TestCaseRunner, get_runner
    from giskard.checks.testing.spy import WithSpy

__all__ = ["TestCaseRunner", "WithSpy", "get_runner"]

# Loaded on first use: a spy needs unittest.mock.
_HOME_OF = {"TestCaseRunner": "runner", "WithSpy": "spy", "get_runner": "runner"}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
