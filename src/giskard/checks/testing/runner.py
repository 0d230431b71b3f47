"""The runner of test cases: the documented door to what `TestCase.run` does."""

from __future__ import annotations

import functools
from typing import Any

from giskard.checks.core.result import TestCaseResult
from giskard.checks.core.testcase import TestCase

__all__ = ["TestCaseRunner", "get_runner"]


class TestCaseRunner:
    """Runs test cases; most users call ``test_case.run()``."""

    __test__ = False

    async def run(self, test_case: TestCase, return_exception: bool = False, **options: Any) -> TestCaseResult:
        """As `TestCase.run`."""
        return await test_case.run(return_exception, **options)


@functools.cache
def get_runner() -> TestCaseRunner:
    """The one runner of this process."""
    return TestCaseRunner()
