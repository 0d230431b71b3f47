"""How a scenario is run: attempts, steps, turns, and what is kept when one of them ends early."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from giskard.checks.core.attempt import Attempt, cancellations, current_attempt
from giskard.checks.core.before import look_before
from giskard.checks.core.check import Check
from giskard.checks.core.check_result import CheckResult
from giskard.checks.core.events import RunEvent
from giskard.checks.core.exceptions import InteractionGenerationError, LimitExceededError
from giskard.checks.core.execution import RunOptions, cancelled, identities, nothing_was_checked, run_checks, skipped
from giskard.checks.core.failures import failure_of, must_stop, original_of
from giskard.checks.core.findings import Findings
from giskard.checks.core.interaction.base import InteractionSpec, extend
from giskard.checks.core.interaction.interact import Interact, bind_target
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace, count_turns, empty_trace, trace_type_of
from giskard.checks.core.limits import Limit
from giskard.checks.core.models import construct
from giskard.checks.core.result import (
    ScenarioAttempt,
    ScenarioResult,
    TestCaseError,
    TestCaseResult,
    roll_up,
)
from giskard.checks.core.target_factory import with_made_target
from giskard.checks.core.timing import Clock, clock_since, milliseconds, start_of_run
from giskard.checks.core.types import MISSING
from giskard.checks.utils.ids import new_id
from giskard.checks.utils.lazy import asyncio
from giskard.checks.utils.threads import WorkerPool

if TYPE_CHECKING:
    from giskard.checks.core.scenario import Scenario

__all__ = ["Targets", "run_scenario"]

AnyTrace = Trace


class Targets(NamedTuple):
    """What outputs that are MISSING are asked of, and the end of the time that all have together.

    Parameters
    ----------
    target
        A target that all attempts share.
    factory
        Makes a target for each attempt; it wins over `target`.
    deadline
        A reading of the event loop's clock, after which the run is over, and the seconds that it was given.
    """

    target: Any = MISSING
    factory: Any = None
    deadline: tuple[float, float] | None = None


async def run_scenario(
    scenario: Scenario,
    targets: Targets,
    options: RunOptions,
    pool: WorkerPool,
    *,
    scenario_id: str,
    multiple_runs: int,
) -> ScenarioResult[Any]:
    """Run a scenario up to `multiple_runs` times, until an attempt is not PASS.

    A real cancellation, or Ctrl+C, comes out with what was finished as its ``partial_result``.
    """
    __tracebackhide__ = True
    start = start_of_run()
    observers = options.observers
    ids = identities(check for step in scenario.steps for check in step.checks)
    event: dict[str, Any] = {
        "run_id": options.run_id,
        "scenario_id": scenario_id,
        "scenario_name": scenario.name,
        "subject": scenario,
    }
    if observers:
        observers.notify(RunEvent(kind="scenario_started", **event))
    attempts: list[_Run] = []
    try:
        for trial in range(1, multiple_runs + 1):
            run = _Run(scenario, ids, options, Attempt(trial=trial, conversation_id=new_id(), pool=pool), event)
            attempts.append(run)
            if not await run.complete(targets):
                break
    except BaseException as error:
        result = _scenario_result(
            scenario, attempts, options, scenario_id=scenario_id, multiple_runs=multiple_runs, start=start
        )
        if must_stop(error):
            error.partial_result = result  # type: ignore[attr-defined]
        if observers:
            observers.notify(RunEvent(kind="scenario_ended", **event, result=result))
        raise
    result = _scenario_result(
        scenario, attempts, options, scenario_id=scenario_id, multiple_runs=multiple_runs, start=start
    )
    if observers:
        observers.notify(RunEvent(kind="scenario_ended", **event, result=result))
    return result


# Of an attempt that ends before its trace is begun.
_NO_TURNS = empty_trace(Trace, {})
_PHASES_OF_A_STEP = ("input_generation", "checks")


class _Run:
    """One attempt: it keeps what is finished, so that nothing is lost however it ends."""

    def __init__(
        self,
        scenario: Scenario,
        ids: list[str],
        options: RunOptions,
        attempt: Attempt,
        event: dict[str, Any],
    ) -> None:
        self.scenario = scenario
        self.ids = ids  # of all checks, step after step
        self.options = options
        self.watched = bool(options.observers)
        self.attempt = attempt
        if self.watched:
            attempt.on_turn_start = self._turn_starts
        self.event: dict[str, Any] = {**event, "trial": attempt.trial} if self.watched else event
        self.trace: AnyTrace = _NO_TURNS
        self.steps: list[TestCaseResult] = []
        self.completed = False  # whether all steps ran and passed
        self.start = perf_counter()
        self.clock: Clock = (self.start, 0.0)
        self.first_chunk: float | None = None  # of its first turn that was streamed, in seconds
        # Of the step that runs now:
        self._step_start = self.start
        self._step_turns = 0
        self._step_results = Findings()
        self._phase = "setup"
        self._turn_is_open = False  # a turn was said to start, and not yet to end

    async def complete(self, targets: Targets) -> bool:
        """Run all steps; whether the attempt is PASS."""
        __tracebackhide__ = True
        if self.watched:
            self.options.observers.notify(RunEvent(kind="attempt_started", **self.event))
        current_attempt.set(self.attempt)
        failure: BaseException | None = None
        asked = cancellations()
        try:
            await self._in_time(targets)
        except BaseException as error:
            failure = error
        if cancellations() > asked and not (failure is not None and must_stop(failure)):
            # Somebody asked to stop, and the user's code made something else of it, or nothing.
            stopped = asyncio.CancelledError()
            stopped.__cause__ = failure
            failure = stopped
        if failure is None:
            self._close()
            return self.completed or roll_up(step.status for step in self.steps) == "pass"
        stop = must_stop(failure)
        self._end_with(cancelled() if stop else failure_of(failure, self._phase))
        self._close()
        # Outside of the handler, so that the error keeps the context that it had.
        if stop:
            raise failure
        if not self.options.return_exception:
            raise original_of(failure)
        return False

    def _close(self) -> None:
        self.steps.extend(self._skipped(index) for index in range(len(self.steps), len(self.scenario.steps)))
        if self.options.strict and not any(step.has_verdict for step in self.steps):
            self._blame(nothing_was_checked())
        self.clock = (*clock_since(self.start), self.first_chunk)
        if self.watched:
            self.options.observers.notify(RunEvent(kind="attempt_ended", **self.event, result=self.result()))

    def _blame(self, error: TestCaseError) -> None:
        """Set `error` on the last step, unless an error is there already."""
        self.completed = False
        if not self.steps:
            self.steps.append(TestCaseResult(results=[], error=error))
        elif all(step.error is None for step in self.steps):
            self.steps[-1] = self.steps[-1].model_copy(update={"error": error})

    async def _in_time(self, targets: Targets) -> None:
        """Run the steps within the limits of the scenario and of the whole run."""
        __tracebackhide__ = True
        limits: list[Limit] = []
        if targets.deadline is not None:
            deadline, whole = targets.deadline
            limits.append(Limit(lambda: self._too_late(whole, "of the whole run"), deadline=deadline))
        own = self.scenario.timeout
        if own is not None:
            limits.append(Limit(lambda: self._too_late(own, "in the scenario"), seconds=own))
        if not limits:
            return await self._with_target(targets)
        try:
            async with contextlib.AsyncExitStack() as stack:
                for limit in limits:
                    await stack.enter_async_context(limit)
                await self._with_target(targets)
        except LimitExceededError as error:
            if all(error is not limit.error for limit in limits):  # the user's own
                raise
            self._end_with(failure_of(error.with_traceback(None), "limit"))
        return None

    def _too_late(self, seconds: float, where: str) -> str:
        step = len(self.steps) + 1 if self._in_step() else max(1, len(self.steps))
        return f"timeout after {seconds:g} s {where}, step {step}"

    async def _with_target(self, targets: Targets) -> None:
        __tracebackhide__ = True
        if targets.factory is None:
            await self._with(targets.target)
        else:
            await with_made_target(targets.factory, self._with)

    async def _with(self, target: Any) -> None:
        """Run the steps against `target`."""
        __tracebackhide__ = True
        kind = self.scenario.trace_type or trace_type_of(target) or trace_type_of(self.scenario.target) or Trace
        self.trace = empty_trace(kind, self.scenario.annotations)
        if target is not MISSING:
            self.attempt.target = bind_target(target) if callable(target) else target
        await self._run_steps()
        self._phase = "teardown"

    async def _run_steps(self) -> None:
        __tracebackhide__ = True
        first = 0
        some_look_before = Check.any_looks_before
        self._step_turns = count_turns(self.trace)
        for step in self.scenario.steps:
            self._step_start = perf_counter()
            self._step_results = results = Findings()
            self.attempt.first_chunk = None
            self._phase = "input_generation"
            checks = step.checks
            ids = self.ids[first : first + len(checks)]
            first += len(checks)
            if some_look_before:
                await look_before(checks, self.trace)
            for item in step.interacts:
                # The turn that it is, or makes of plain values; None when there is something to call.
                turn = item.static_turn() if type(item) is Interact else item if isinstance(item, Interaction) else None
                if turn is None or self.watched:
                    await self._add_turns(item, turn)
                else:
                    self.trace = self.trace.appended(turn)
            self._phase = "checks"
            event = {**self.event, "step_index": len(self.steps)} if self.watched else self.event
            all_pass = await run_checks(checks, ids, self.trace, self.options, results, event=event)
            result = self._step_result(None)
            self.steps.append(result)
            self._phase = "teardown"
            if not all_pass and not result.passed:
                return
        self.completed = True

    async def _add_turns(self, item: Interaction | InteractionSpec, turn: Interaction | None) -> None:
        """Add what `item` stands for: `turn` when it is known already, else what the spec makes."""
        __tracebackhide__ = True
        if turn is not None:
            self._grown(self.trace.appended(turn))
            return
        spec = cast("InteractionSpec", item)
        try:
            self.trace = await extend(self.trace, spec, self._grown)
        except InteractionGenerationError as error:
            self.trace = error.partial_trace
            raise
        finally:
            self._turn_ends(None)

    def _grown(self, trace: AnyTrace) -> None:
        self.trace = trace
        if self.watched:
            self._turn_starts()  # a spec that says nothing of its start
            self._turn_ends(trace.last)

    def _turn_starts(self) -> None:
        if not self._turn_is_open:
            self._turn_is_open = True
            self._notify_turn("turn_started", None)

    def _turn_ends(self, turn: Interaction | None) -> None:
        """Tell of the end of a turn that started; None when it failed."""
        if self._turn_is_open:
            self._turn_is_open = False
            self._notify_turn("turn_ended", turn)

    def _notify_turn(self, kind: Any, subject: Any) -> None:
        event: dict[str, Any] = {**self.event, "subject": subject, "step_index": len(self.steps)}
        self.options.observers.notify(RunEvent(kind=kind, **event))

    def _step_result(self, error: TestCaseError | None) -> TestCaseResult:
        clock: Clock = clock_since(self._step_start)
        before = self._step_turns
        turns = self._step_turns = count_turns(self.trace)
        first_chunk = self.attempt.first_chunk
        if first_chunk is not None:
            clock = (*clock, first_chunk)
            self.first_chunk = first_chunk if self.first_chunk is None else self.first_chunk
        return construct(
            TestCaseResult,
            {
                "results": self._step_results,
                "duration_ms": milliseconds(clock),
                "last_interaction_index": turns - 1 if turns > before else None,
                "error": error,
                "name": None,
                "run_id": self.options.run_id,
                "timing": clock,
                "recorded_at": None,
            },
        )

    def _in_step(self) -> bool:
        return self._phase in _PHASES_OF_A_STEP

    def _end_with(self, error: TestCaseError) -> None:
        """Record `error` where it belongs: the step that runs now, the one to be run first, else the last one."""
        if self._in_step() or not self.steps:
            self._end_step_early(error)
        else:
            self._blame(error)

    def _end_step_early(self, error: TestCaseError) -> None:
        """Close the step that runs now: its finished checks are kept, the others are skipped."""
        index = len(self.steps)
        if index >= len(self.scenario.steps):
            self._blame(error)
            return
        checks, ids = self._checks_of(index)
        done = self._step_results.count()
        for check, check_id in zip(checks[done:], ids[done:], strict=True):
            self._step_results.add_result(skipped(check, check_id, "not run: the step ended with an error"))
        self.steps.append(self._step_result(error))
        self._step_results = Findings()

    def _skipped(self, index: int) -> TestCaseResult:
        """The result of a step that an earlier one kept from running."""
        message = "not run: an earlier step did not pass"
        results = [skipped(check, check_id, message) for check, check_id in zip(*self._checks_of(index), strict=True)]
        if not results:
            results = [CheckResult.skip(message, {"check_name": "step"})]
        return TestCaseResult(results=results, run_id=self.options.run_id)

    def _checks_of(self, index: int) -> tuple[Sequence[Check], list[str]]:
        """The checks of a step, and their ids."""
        first = sum(len(step.checks) for step in self.scenario.steps[:index])
        checks = self.scenario.steps[index].checks
        return checks, self.ids[first : first + len(checks)]

    def result(self) -> ScenarioAttempt:
        """What the attempt found."""
        return construct(ScenarioAttempt, self.values())

    def values(self) -> dict[str, Any]:
        """The fields that an attempt and a scenario result share."""
        return {
            "steps": self.steps,
            "duration_ms": milliseconds(self.clock),
            "final_trace": self.trace,
            "trial": self.attempt.trial,
            "conversation_id": self.attempt.conversation_id,
            "timing": self.clock,
        }


def _scenario_result(
    scenario: Scenario,
    attempts: Sequence[_Run],
    options: RunOptions,
    *,
    scenario_id: str,
    multiple_runs: int,
    start: float,
) -> ScenarioResult:
    clock = clock_since(start)
    values = {
        **attempts[-1].values(),
        "duration_ms": milliseconds(clock),
        "timing": (*clock, attempts[-1].first_chunk),
        "scenario_name": scenario.name,
        "multiple_runs": multiple_runs,
        "runs_executed": len(attempts),
        "tags": list(scenario.tags),
        "scenario_id": scenario_id,
        "run_id": options.run_id,
        "earlier_attempts": [attempt.result() for attempt in attempts[:-1]],
    }
    return construct(ScenarioResult, values)
