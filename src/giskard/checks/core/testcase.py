"""Test cases: a conversation that is there already, and the checks to run over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Generic

from pydantic import Field, PlainValidator, SerializeAsAny

from giskard.checks.core.blocking import blocking
from giskard.checks.core.check import Checks
from giskard.checks.core.events import RunObserver
from giskard.checks.core.execution import RunOptions, run_test_case
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import SavedModel
from giskard.checks.core.result import TestCaseResult, load_trace
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.frozen import FrozenList

__all__ = ["TestCase"]


# A trace of any type is kept as it is.
AnyTrace = SerializeAsAny[Annotated[Trace, PlainValidator(load_trace)]]


_NO_TAGS: list[Any] = FrozenList()


def _no_tags() -> list[str]:
    return _NO_TAGS  # one for all: a suite holds very many cases


class TestCase(SavedModel, Generic[In, Out, TraceT]):
    """A recorded conversation and what must hold in it; nothing is called again.

    Parameters
    ----------
    name
        What reports call it; left out, the place that its trace was recorded at, or the id of the conversation.
    trace
        The conversation.
    checks
        The checks to run over it.
    id
        Its identity over runs; its name when it is not given.
    tags
        ``"Key:Value"`` or bare words, to group results by.
    """

    __test__ = False  # pytest: this is not a class of tests

    name: str | None = None
    trace: AnyTrace
    checks: Checks
    id: str | None = None
    tags: list[str] = Field(default_factory=_no_tags)

    async def run(
        self,
        return_exception: bool = False,
        *,
        strict: bool = False,
        observers: Sequence[RunObserver] = (),
    ) -> TestCaseResult:
        """Run all checks over the trace.

        Parameters
        ----------
        return_exception
            Whether what a check raises becomes an ERROR instead of coming out.
        strict
            Whether a pass in which nothing was checked is an ERROR.
        observers
            Who is told of each check that starts and ends.
        """
        __tracebackhide__ = True
        options = RunOptions.of_a_new_run(return_exception, strict, observers)
        return await run_test_case(self.name, self.trace, self.checks, options)

    run_sync = blocking(run, "test_case")

    async def assert_passed(self) -> None:
        """Run the checks, and raise AssertionError with the reasons unless the status is PASS."""
        __tracebackhide__ = True
        result = await self.run()
        if not result.passed:
            raise result.assertion(self.trace)
