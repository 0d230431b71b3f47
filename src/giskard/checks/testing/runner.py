"""The runner of test cases: the documented door to what `TestCase.run` does."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from giskard.checks.core.blocking import blocking
from giskard.checks.core.events import RunObserver
from giskard.checks.core.result import TestCaseResult
from giskard.checks.core.testcase import TestCase

__all__ = ["TestCaseRunner", "get_runner"]


class TestCaseRunner:
    """Runs test cases; most users call ``test_case.run()``."""

    __test__ = False

    async def run(
        self,
        test_case: TestCase,
        return_exception: bool = False,
        *,
        strict: bool = False,
        observers: Sequence[RunObserver] = (),
    ) -> TestCaseResult:
        """As `TestCase.run`."""
        return await test_case.run(return_exception, strict=strict, observers=observers)

    run_sync = blocking(run, "runner")


@functools.cache
def get_runner() -> TestCaseRunner:
    """The one runner of this process."""
    return TestCaseRunner()
