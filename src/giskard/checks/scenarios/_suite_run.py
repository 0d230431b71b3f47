"""One run of a suite: who runs when, and what is kept when it ends early."""

from __future__ import annotations

import contextlib
import contextvars
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from giskard.checks.core import late
from giskard.checks.core.events import RunEvent
from giskard.checks.core.exceptions import LimitExceededError
from giskard.checks.core.execution import RunOptions, nothing_was_checked, run_test_case
from giskard.checks.core.failures import TargetFailure, failure_of, must_stop, original_of
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.limits import Limit
from giskard.checks.core.member_results import case_result, not_run, title_of
from giskard.checks.core.result import ScenarioResult, TestCaseResult
from giskard.checks.core.scenario import Scenario
from giskard.checks.core.scenario_execution import Targets
from giskard.checks.core.testcase import TestCase
from giskard.checks.core.timing import start_of_run
from giskard.checks.utils.context import InContext
from giskard.checks.utils.ids import stable_ids
from giskard.checks.utils.lazy import asyncio
from giskard.checks.utils.terminal import is_watched
from giskard.checks.utils.threads import WorkerPool

__all__ = ["SuiteRun"]

Member = Scenario | TestCase


def _nothing_in(suite: str, options: RunOptions) -> ScenarioResult:
    """What a strict run of an empty suite gives: it must not read as one that passed."""
    step = TestCaseResult(results=[], error=nothing_was_checked(), run_id=options.run_id)
    return ScenarioResult(
        scenario_name=suite, steps=[step], final_trace=Trace(), runs_executed=0, run_id=options.run_id
    )


def _say_where(error: BaseException, scenario_id: str) -> None:
    """Add the scenario to what the traceback of `error` shows."""
    with contextlib.suppress(Exception):  # an error of the user's may refuse to be changed
        error.add_note(f"raised in scenario {scenario_id!r}; with return_exception=True it would be an ERROR of it")


@dataclass(kw_only=True)
class SuiteRun:
    """A run of a suite; its results stand in `results` as they come.

    Parameters
    ----------
    finish
        Makes the suite's result of the scenarios' results, the run's id and its start.
    """

    name: str
    members: Sequence[Member]
    targets: Targets
    options: RunOptions
    parallel: bool
    max_concurrency: int | None
    timeout: float | None
    multiple_runs: int | None
    progress: bool
    finish: Callable[[list[ScenarioResult], str, float], Any]
    results: dict[int, ScenarioResult] = field(default_factory=dict[int, ScenarioResult])
    start: float = field(default_factory=start_of_run)
    ids: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Work out the identities of the scenarios."""
        self.ids = stable_ids(member.id or title_of(member) for member in self.members)

    async def complete(self) -> Any:
        """Run everything; the suite's result.

        A real cancellation comes out with what was finished as its ``partial_result``.
        """
        __tracebackhide__ = True
        if self.progress and is_watched(sys.stderr):
            with late.resolve_late("progress")(len(self.members)) as observer:
                self.options = self.options.observed_by(observer)
                return await self._complete()
        return await self._complete()

    async def _complete(self) -> Any:
        __tracebackhide__ = True
        self.start = start_of_run()
        self._notify("run_started", total=len(self.members))
        if self.timeout is not None:
            deadline = (asyncio.get_running_loop().time() + self.timeout, self.timeout)
            self.targets = Targets(self.targets.target, self.targets.factory, deadline)
        concurrency = 1
        if self.parallel:
            concurrency = max(1, min(self.max_concurrency or len(self.members), len(self.members)))
        ids = self.ids
        todo = iter(range(len(self.members)))
        try:
            with WorkerPool(concurrency) as pool:
                if self.parallel:
                    await self._side_by_side(concurrency, todo, ids, pool)
                else:
                    await self._work(todo, ids, pool)
        except BaseException as error:
            result = self.partial_result()
            if must_stop(error):
                error.partial_result = result  # type: ignore[attr-defined]
            self._notify("run_ended", result=result)
            raise
        if self.options.strict and not self.members:
            result = self.finish([_nothing_in(self.name, self.options)], self.options.run_id, self.start)
        else:
            result = self.partial_result()
        self._notify("run_ended", result=result)
        return result

    async def _side_by_side(self, concurrency: int, todo: Iterator[int], ids: Sequence[str], pool: WorkerPool) -> None:
        errors: BaseExceptionGroup[BaseException]
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    task = group.create_task(self._work(todo, ids, pool))
                    if task.done() and (task.cancelled() or task.exception()):
                        break  # an eager task (Python 3.12) starts at once; after a failure the group takes no more
            return
        except BaseExceptionGroup as raised:
            errors = raised
        originals = [original_of(error) for error in errors.exceptions]
        raise originals[0] if len(originals) == 1 else BaseExceptionGroup("several scenarios raised", originals)

    async def _work(self, todo: Iterator[int], ids: Sequence[str], pool: WorkerPool) -> None:
        """Run one scenario after the other, until none is left to be taken."""
        __tracebackhide__ = True
        for index in todo:
            try:
                self.results[index] = await self._one(self.members[index], ids[index], pool)
            except BaseException as error:
                self._keep_partial(error, index)
                if must_stop(error):
                    raise
                if self.parallel and isinstance(error, asyncio.CancelledError):
                    raise TargetFailure from error  # a task group would take it for the end of the task
                if not self.options.return_exception:
                    _say_where(error, ids[index])
                    raise
                self.results[index] = not_run(self.members[index], ids[index], self.options, failure_of(error, "run"))

    def _keep_partial(self, error: BaseException, index: int) -> None:
        """Keep what a scenario that was stopped had finished."""
        partial = getattr(error, "partial_result", None)
        if isinstance(partial, ScenarioResult):
            self.results[index] = partial
        elif isinstance(partial, TestCaseResult):
            case = cast("TestCase", self.members[index])
            self.results[index] = case_result(case, partial, self.ids[index], self.options)

    async def _one(self, member: Member, scenario_id: str, pool: WorkerPool) -> ScenarioResult:
        __tracebackhide__ = True
        deadline = self.targets.deadline
        if deadline is not None and asyncio.get_running_loop().time() >= deadline[0]:
            message = f"not run: the {deadline[1]:g} s of the whole run were over"
            return not_run(member, scenario_id, self.options, failure_of(LimitExceededError(message), "limit"))
        if isinstance(member, Scenario):
            return await member.run_within(
                self.options, self.targets, pool, scenario_id=scenario_id, multiple_runs=self.multiple_runs
            )
        self._notify("scenario_started", scenario_id=scenario_id, scenario_name=member.name, subject=member)
        result = await self._case(member, scenario_id)
        self._notify(
            "scenario_ended", scenario_id=scenario_id, scenario_name=member.name, subject=member, result=result
        )
        return result

    async def _case(self, case: TestCase, scenario_id: str) -> ScenarioResult:
        __tracebackhide__ = True
        run = InContext(run_test_case(case.name, case.trace, case.checks, self.options), contextvars.copy_context())
        if self.targets.deadline is None:
            return case_result(case, await run, scenario_id, self.options)
        deadline, seconds = self.targets.deadline
        limit = Limit(lambda: f"timeout after {seconds:g} s of the whole run", deadline=deadline)
        result: TestCaseResult | None = None
        try:
            async with limit:
                result = await run
            return case_result(case, result, scenario_id, self.options)
        except LimitExceededError as error:
            if error is not limit.error:  # a check's own
                raise
            late = failure_of(error.with_traceback(None), "limit")
            partial = getattr(limit.stopped, "partial_result", None) if result is None else result
            if not isinstance(partial, TestCaseResult):
                return not_run(case, scenario_id, self.options, late)
            return case_result(case, partial.model_copy(update={"error": late}), scenario_id, self.options)

    def partial_result(self) -> Any:
        """The suite's result of what is finished by now; the rest is marked as not run."""
        cancelled = failure_of(
            asyncio.CancelledError("not run: the run was cancelled or interrupted before"), "cancelled"
        )
        results = [
            self.results[index] if index in self.results else not_run(member, self.ids[index], self.options, cancelled)
            for index, member in enumerate(self.members)
        ]
        return self.finish(results, self.options.run_id, self.start)

    def _notify(self, kind: Any, **event: Any) -> None:
        if self.options.observers:
            self.options.observers.notify(RunEvent(kind=kind, run_id=self.options.run_id, **event))
