"""Running test cases, and what helps to test: spies, and models that answer what they are told to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giskard.checks.utils.lazy import lazy_names

if TYPE_CHECKING:
    from giskard.checks.testing.doubles import FakeEmbeddingModel, FakeGenerator
    from giskard.checks.testing.runner import TestCaseRunner, get_runner
    from giskard.checks.testing.spy import WithSpy

__all__ = ["FakeEmbeddingModel", "FakeGenerator", "TestCaseRunner", "WithSpy", "get_runner"]

# Loaded on first use: a spy needs unittest.mock.
__getattr__ = lazy_names(
    __name__,
    {
        "doubles": ["FakeEmbeddingModel", "FakeGenerator"],
        "runner": ["TestCaseRunner", "get_runner"],
        "spy": ["WithSpy"],
    },
)
