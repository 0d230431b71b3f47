"""Scenarios: conversations written down as steps of interactions and checks."""

from __future__ import annotations

import contextvars
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Generic, Self, cast

from pydantic import Field, PlainSerializer, PlainValidator, StrictInt, field_validator

from giskard.checks.core.blocking import blocking
from giskard.checks.core.check import Check, Checks, validate_check
from giskard.checks.core.events import RunObserver
from giskard.checks.core.execution import RunOptions
from giskard.checks.core.interaction.base import InteractionSpec
from giskard.checks.core.interaction.interact import Interact
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import SavedModel, each
from giskard.checks.core.options import GivenTarget, Seconds, positive_int, valid_target
from giskard.checks.core.result import ScenarioResult
from giskard.checks.core.scenario_execution import Targets, run_scenario
from giskard.checks.core.types import MISSING, In, Out, TraceT
from giskard.checks.utils.context import InContext
from giskard.checks.utils.threads import WorkerPool

__all__ = ["Scenario", "Step", "scenario"]

Turn = Interaction | InteractionSpec


def _validate_turns(value: Any) -> list[Any]:
    if isinstance(value, (str, dict)) or not isinstance(value, Sequence):
        raise ValueError(f"expected a list of interactions and specs, got {type(cast('Any', value)).__name__}")
    return each(cast("Sequence[Any]", value), _validate_turn, "interacts")


def _validate_turn(item: Any) -> Any:
    if isinstance(item, (Interaction, InteractionSpec)):
        return cast("Any", item)
    if isinstance(item, dict):
        data = cast("dict[str, Any]", item)
        return InteractionSpec.model_validate(data) if "kind" in data else Interaction.model_validate(data)
    raise ValueError(f"expected an Interaction or an InteractionSpec, got {type(item).__name__}: {item!r:.200}")


Turns = Annotated[Sequence[Turn], PlainValidator(_validate_turns), PlainSerializer(list)]


class Step(SavedModel, Generic[In, Out, TraceT]):
    """Interactions, and the checks that run once all of them are done."""

    interacts: Turns = Field(default_factory=list[Turn])
    checks: Checks = Field(default_factory=list[Check])


class Scenario(SavedModel, Generic[In, Out, TraceT]):
    """A conversation with a system under test, and what must hold in it.

    Build it with the fluent methods, which change it in place and return it::

        result = await (
            Scenario("refund")
            .interact("I want my money back", outputs=my_agent)
            .check(StringMatching(keyword="refund"))
            .run()
        )

    Parameters
    ----------
    name
        What reports call it.
    steps
        The steps, in order.
    trace_type
        The class of its traces; else the one that the target's hints ask for, else `Trace`.
    annotations
        What each run's trace knows from the start.
    target
        What outputs that are left out are asked of.
    target_factory
        Makes such a target for each attempt, and closes it: a callable or an async context manager.
    multiple_runs
        How often it runs at most; it ends at the first attempt that is not PASS.
    tags
        ``"Key:Value"`` or bare words, to group results by.
    timeout
        Seconds for one attempt.
    id
        Its identity over runs; its name when it is not given.
    """

    name: str = "Unnamed Scenario"
    steps: list[Step[In, Out, TraceT]] = Field(default_factory=list[Step[In, Out, TraceT]])
    trace_type: Any = None
    annotations: dict[str, Any] = Field(default_factory=dict[str, Any])
    target: GivenTarget = MISSING
    target_factory: Any = None
    multiple_runs: Annotated[StrictInt, Field(ge=1)] = 1
    tags: list[str] = Field(default_factory=list[str])
    timeout: Seconds | None = None
    id: str | None = None

    def __init__(self, name: str = "Unnamed Scenario", **fields: Any) -> None:
        super().__init__(name=name, **fields)  # pyright: ignore[reportCallIssue] - it takes all fields there are

    # It only lets the name stand first: pydantic need not call it when it loads data.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @field_validator("trace_type")
    @classmethod
    def _check_trace_type(cls, value: Any) -> Any:
        if value is None or (isinstance(value, type) and issubclass(value, Trace)):
            return cast("Any", value)
        raise ValueError(f"trace_type is {value!r}, expected Trace or a subclass of it")

    def interact(self, inputs: Any, outputs: Any = MISSING, metadata: Mapping[str, Any] | None = None) -> Self:
        """Add a turn: what is sent, and what comes back or who is asked for it; see `Interact`."""
        return self.add_interaction(Interact(inputs=inputs, outputs=outputs, metadata=dict(metadata or {})))

    def add_interaction(self, interaction: Turn) -> Self:
        """Add an interaction or a spec to the last step, or to a new one when the last has checks."""
        turn = _validate_turn(interaction)
        if not self.steps or self.steps[-1].checks:
            self.steps.append(Step())
        cast("list[Turn]", self.steps[-1].interacts).append(turn)
        return self

    def add_interactions(self, *interactions: Turn) -> Self:
        """Add several interactions or specs."""
        for interaction in interactions:
            self.add_interaction(interaction)
        return self

    def check(self, check: Check) -> Self:
        """Add a check to the last step."""
        valid = validate_check(check)
        if not self.steps:
            self.steps.append(Step())
        cast("list[Check]", self.steps[-1].checks).append(valid)
        return self

    def checks(self, *checks: Check) -> Self:
        """Add several checks to the last step."""
        for check in checks:
            self.check(check)
        return self

    def append(self, item: Turn | Check | Step[Any, Any, Any]) -> Self:
        """Add an interaction, a spec, a check or a whole step."""
        if isinstance(item, Step):
            self.steps.append(cast("Step[In, Out, TraceT]", item))
            return self
        return self.check(item) if isinstance(item, Check) else self.add_interaction(item)

    def extend(self, *items: Turn | Check | Step[Any, Any, Any]) -> Self:
        """Add several items, in order."""
        for item in items:
            self.append(item)
        return self

    def with_annotations(self, annotations: Mapping[str, Any]) -> Self:
        """Put `annotations` in place of its own."""
        if not isinstance(annotations, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected a dictionary of annotations, got {type(annotations).__name__}: {annotations!r}")
        self.annotations = dict(annotations)
        return self

    def with_target(self, target: Any) -> Self:
        """Put `target` in place of its own."""
        self.target = target
        return self

    def with_tags(self, *tags: str | Iterable[str]) -> Self:
        """Put `tags` in place of its own; texts or lists of texts."""
        self.tags = [tag for item in tags for tag in ([item] if isinstance(item, str) else _several(item))]
        return self

    async def run(
        self,
        target: Any = MISSING,
        return_exception: bool = False,
        multiple_runs: int | None = None,
        *,
        strict: bool = False,
        target_factory: Any = None,
        observers: Sequence[RunObserver] = (),
    ) -> ScenarioResult[TraceT]:
        """Make the interactions and run the checks.

        Parameters
        ----------
        target
            What outputs that are left out are asked of; it wins over the scenario's own.
        return_exception
            Whether what user code raises becomes an ERROR of the result instead of coming out.
        multiple_runs
            In place of the scenario's own.
        strict
            Whether a pass in which nothing was checked is an ERROR.
        target_factory
            Makes a target for each attempt; it wins over `target`.
        observers
            Who is told of each event of the run.

        Returns
        -------
        ScenarioResult
            Of the last attempt, with the earlier ones beside it.

        Raises
        ------
        TypeError, ValueError
            When an option is none that a run can have; nothing was started then.
        """
        __tracebackhide__ = True
        valid_target(target)
        options = RunOptions.of_a_new_run(return_exception, strict, observers)
        targets = Targets(target=target, factory=target_factory)
        with WorkerPool(1) as pool:
            return await self.run_within(options, targets, pool, multiple_runs=multiple_runs)

    run_sync = blocking(run, "scenario")

    def run_within(
        self,
        options: RunOptions,
        targets: Targets,
        pool: WorkerPool,
        *,
        scenario_id: str | None = None,
        multiple_runs: int | None = None,
    ) -> InContext[ScenarioResult[TraceT]]:
        """Run it as a part of a larger run, in a copy of the current context."""
        if targets.target is MISSING and targets.factory is None:
            targets = Targets(self.target, self.target_factory, targets.deadline)
        runs = self.multiple_runs if multiple_runs is None else multiple_runs
        positive_int("multiple_runs", runs, "the scenario's own")
        coroutine = run_scenario(
            self, targets, options, pool, scenario_id=scenario_id or self.id or self.name, multiple_runs=runs
        )
        return InContext(coroutine, contextvars.copy_context())


def _several(tags: Iterable[str]) -> Iterable[str]:
    if not isinstance(tags, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a tag is a text such as 'Topic:refund', got {type(tags).__name__}: {tags!r}")
    return tags


def scenario(name: str = "Unnamed Scenario", **fields: Any) -> Scenario:
    """A scenario to build on: ``scenario("name").interact(…).check(…)``."""
    return Scenario(name, **fields)
