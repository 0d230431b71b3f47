"""Suites: scenarios that are run together, and what they found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Generic, Self, cast

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, computed_field, model_validator
from pydantic_core import to_json

from giskard.checks.core import late
from giskard.checks.core.assertions import assertion, bracketed, causes, lines_of_run, named, shortened, tally
from giskard.checks.core.blocking import blocking
from giskard.checks.core.document import Document
from giskard.checks.core.events import RunObserver
from giskard.checks.core.execution import RunOptions
from giskard.checks.core.models import SavedModel, each, read_result
from giskard.checks.core.options import GivenTarget, check_options
from giskard.checks.core.result import Outcome, ScenarioResult, ScenarioStatus, Text, roll_up
from giskard.checks.core.scenario import Scenario
from giskard.checks.core.scenario_execution import Targets
from giskard.checks.core.testcase import TestCase
from giskard.checks.core.timing import Timing, TimingField, clock_since, milliseconds
from giskard.checks.core.types import MISSING, In, Out
from giskard.checks.scenarios._suite_run import SuiteRun
from giskard.checks.settings import get_settings

__all__ = ["GroupStats", "GroupedSuiteResult", "Suite", "SuiteResult"]

Member = Scenario | TestCase


def _validate_member(item: Any) -> Any:
    if isinstance(item, (Scenario, TestCase)):
        return cast("Any", item)
    if isinstance(item, dict):
        return TestCase.model_validate(item) if "trace" in item else Scenario.model_validate(item)
    raise ValueError(f"expected a Scenario or a TestCase, got {type(item).__name__}: {item!r:.200}")


def _validate_members(value: Any) -> list[Any]:
    if isinstance(value, (str, dict, BaseModel)) or not isinstance(value, Sequence):
        raise ValueError(f"expected a list of scenarios, got {type(cast('Any', value)).__name__}: {value!r:.200}")
    return each(cast("Sequence[Any]", value), _validate_member, "scenarios")


Members = Annotated[Sequence[Member], PlainValidator(_validate_members), PlainSerializer(list)]


class GroupStats(BaseModel):
    """How the scenarios of one group ended."""

    model_config = ConfigDict(frozen=True)

    name: str | None
    """The value that they share; None for those that have no such tag."""
    passed: int = 0
    failed: int = 0
    errored: int = 0
    skipped: int = 0

    @computed_field
    @property
    def total(self) -> int:
        """All scenarios of the group."""
        return self.passed + self.failed + self.errored + self.skipped

    @computed_field
    @property
    def non_skipped(self) -> int:
        """The denominator of the pass rate."""
        return self.total - self.skipped

    @computed_field
    @property
    def pass_rate(self) -> float | None:
        """Passed among those that were not skipped, from 0 to 1; None when nothing counts."""
        return self.passed / self.non_skipped if self.non_skipped else None


class GroupedSuiteResult(BaseModel):
    """A suite's results by the values of one tag."""

    model_config = ConfigDict(frozen=True)

    key: str
    groups: dict[str | None, GroupStats]


# Of those that did not pass, in the message of `assert_passed`: how many are told, in how many lines in all and at
# least in each, and how many more are named.
_TOLD, _LINES, _LEAST_LINES, _NAMED = 20, 200, 8, 50


class SuiteResult(Document, Outcome):
    """What a run of a suite found, scenario by scenario, in their order."""

    results: list[ScenarioResult] = Field(default_factory=list[ScenarioResult])
    duration_ms: int = 0
    suite: Annotated[Any, Field(exclude=True)] = None
    recommendation: Text | None = None
    suite_name: Text | None = None
    suite_id: Text | None = None
    run_id: str | None = None
    timing: TimingField = None

    @property
    def total(self) -> int:
        """All scenarios."""
        return len(self.results)

    @computed_field
    @property
    def status(self) -> ScenarioStatus:
        """ERROR > FAIL > all SKIP > PASS over the scenarios; none is PASS."""
        return ScenarioStatus(roll_up(result.status for result in self.results))

    @computed_field
    @property
    def passed_count(self) -> int:
        """Scenarios that are PASS."""
        return sum(result.passed for result in self.results)

    @computed_field
    @property
    def failed_count(self) -> int:
        """Scenarios that are FAIL."""
        return sum(result.failed for result in self.results)

    @computed_field
    @property
    def errored_count(self) -> int:
        """Scenarios that are ERROR."""
        return sum(result.errored for result in self.results)

    @computed_field
    @property
    def skipped_count(self) -> int:
        """Scenarios that are SKIP."""
        return sum(result.skipped for result in self.results)

    @computed_field
    @property
    def pass_rate(self) -> float | None:
        """Passed among those that were not skipped, from 0 to 1; None when nothing counts."""
        counted = self.total - self.skipped_count
        return self.passed_count / counted if counted else None

    @property
    def failures_and_errors(self) -> list[ScenarioResult]:
        """The scenarios that are FAIL or ERROR."""
        return [result for result in self.results if result.failed or result.errored]

    def format_failures(self) -> list[str]:
        """The lines of each scenario that did not pass, after its name."""
        return [
            f"{result.scenario_name}: {line}"
            for result in self.results
            if not result.passed
            for line in result.format_failures() or [result.status.upper()]
        ]

    def _assertion(self) -> AssertionError:
        what = f"suite {named(self.suite_name)}" if self.suite_name else "suite"
        return assertion(what, self.status, self._tally(), self._lines())

    def _brief(self) -> str:
        name = named(self.suite_name) if self.suite_name else ""
        return bracketed(self, self.status, [name, self._tally()], self._causes())

    def _tally(self) -> str:
        return tally((result.status for result in self.results), "scenario", self.status)

    def _to_tell(self) -> list[ScenarioResult]:
        """The scenarios that say why the suite did not pass."""
        status = self.status
        if status == "pass":
            return []
        return self.failures_and_errors or [result for result in self.results if result.skipped]

    def _causes(self) -> Iterator[str]:
        """The first reason of each scenario."""
        for result in self._to_tell():
            reason = next(causes(result.steps, result.status), result.status.upper())
            yield f"{named(result.scenario_name)}: {reason}"

    def _lines(self) -> Iterator[str]:
        told = self._to_tell()
        each = max(_LEAST_LINES, _LINES // max(1, len(told)))
        for result in told[:_TOLD]:
            yield f"scenario {named(result.scenario_name)}: {result.status.upper()}"
            lines = lines_of_run(result.steps, result.final_trace)
            yield from (f"  {line}" for line in shortened(lines, each, "line"))
        rest = (named(result.scenario_name) + f": {result.status.upper()}" for result in told[_TOLD:])
        yield from shortened(rest, _NAMED, "scenario")

    def group_by(self, key: str) -> GroupedSuiteResult:
        """Counts for each value of the tag `key`.

        Tags are written ``"Key:Value"``; a bare tag has the value ``""``.  A scenario is counted once in each of its
        values, and under None when it has no such tag.
        """
        counts: dict[str | None, dict[str, int]] = {}
        for result in self.results:
            for value in _values_of(key, result.tags) or {None: None}:
                group = counts.setdefault(value, {"pass": 0, "fail": 0, "error": 0, "skip": 0})
                group[result.status] += 1
        groups = {
            value: GroupStats(name=value, passed=n["pass"], failed=n["fail"], errored=n["error"], skipped=n["skip"])
            for value, n in counts.items()
        }
        return GroupedSuiteResult(key=key, groups=groups)

    def print_report(self, console: Any = None, group_by: str | None = None) -> None:
        """Print the results for a person, to the terminal or to a rich console of yours."""
        most = get_settings().max_reported_failures
        late.resolve_late("report")(self, console, group_by=group_by, max_failures=most)

    def _parts(self) -> list[str]:
        texts: list[str] | None = None
        statuses: list[str] = []
        if type(self) is SuiteResult:
            texts, statuses = late.resolve_late("result_texts")(self.results)
        if texts is None:
            return [BaseModel.model_dump_json(self)]
        passed, failed, errored, skipped = map(statuses.count, ("pass", "fail", "error", "skip"))
        counted = len(statuses) - skipped
        computed = {
            "status": roll_up(statuses),
            "passed_count": passed,
            "failed_count": failed,
            "errored_count": errored,
            "skipped_count": skipped,
            "pass_rate": passed / counted if counted else None,
        }
        rest = BaseModel.model_dump_json(self, exclude={"results", *computed})
        parts = [part for text in texts for part in (",", text)]  # joined once, as a whole: it may be large
        return ['{"results":[', *parts[1:], f"],{rest[1:-1]},{to_json(computed)[1:].decode()}"]

    def __repr_args__(self) -> Any:
        # What libraries that lay a repr out are given; rich is one.
        counts = ("passed", "failed", "errored", "skipped")
        yield from (("suite_name", self.suite_name), ("status", self.status.value), ("total", self.total))
        yield from ((name, getattr(self, f"{name}_count")) for name in counts)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        return read_result(cls, cast("dict[str, Any]", data)) if isinstance(data, dict) else data


def _values_of(key: str, tags: Sequence[str]) -> dict[str | None, None]:
    """The values of `key` among `tags`, each once, in order."""
    split = (tag.partition(":") for tag in tags)
    return {value.strip(): None for name, _, value in split if name.strip() == key}


class Suite(SavedModel, Generic[In, Out]):
    """Scenarios that are run together.

    Parameters
    ----------
    name
        What reports call it.
    scenarios
        Scenarios, and test cases of recorded conversations.
    target
        What outputs that are left out are asked of, in each scenario.
    target_factory
        Makes such a target for each attempt, and closes it.
    id
        Its identity over runs; its name when it is not given.
    """

    name: str
    scenarios: Members = Field(default_factory=list[Member])
    target: GivenTarget = MISSING
    target_factory: Any = None
    id: str | None = None

    def __init__(self, name: str, scenarios: Sequence[Member] = (), **fields: Any) -> None:
        super().__init__(name=name, scenarios=scenarios, **fields)  # pyright: ignore[reportCallIssue] - its fields

    # It only lets the name stand first: pydantic need not call it when it loads data.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def append(self, scenario: Member) -> Self:
        """Add a scenario, or a test case; returns self."""
        cast("list[Member]", self.scenarios).append(_validate_member(scenario))
        return self

    async def run(
        self,
        target: Any = MISSING,
        return_exception: bool = False,
        parallel: bool = False,
        max_concurrency: int | None = None,
        verbose: bool = True,
        *,
        multiple_runs: int | None = None,
        strict: bool = False,
        timeout: float | None = None,
        target_factory: Any = None,
        observers: Sequence[RunObserver] = (),
    ) -> SuiteResult:
        """Run all scenarios.

        Parameters
        ----------
        target
            What outputs that are left out are asked of; it wins over the suite's and the scenarios' own.
        return_exception
            Whether what user code raises becomes an ERROR of its scenario. Otherwise the first exception ends the
            run and comes out; several of a parallel run come out as an ExceptionGroup.
        parallel
            Whether scenarios run side by side.
        max_concurrency
            How many of them at most; None is no limit.
        verbose
            Whether to show a progress bar, on terminals only.
        multiple_runs
            In place of the scenarios' own.
        strict
            Whether a pass in which nothing was checked is an ERROR.
        timeout
            Seconds for the whole run; what is not finished by then is an ERROR.
        target_factory
            Makes a target for each attempt; it wins over `target`.
        observers
            Who is told of each event of the run.

        Raises
        ------
        TypeError, ValueError
            When an option is none that a run can have; nothing was started then.
        asyncio.CancelledError
            When the run is cancelled; what was finished is its ``partial_result``.
        """
        __tracebackhide__ = True
        check_options(
            target=target,
            multiple_runs=multiple_runs,
            max_concurrency=max_concurrency,
            timeout=timeout,
            parallel=parallel,
        )
        run = SuiteRun(
            name=self.name,
            members=tuple(self.scenarios),
            targets=self._targets(target, target_factory),
            options=RunOptions.of_a_new_run(return_exception, strict, observers),
            parallel=parallel,
            max_concurrency=max_concurrency,
            timeout=timeout,
            multiple_runs=multiple_runs,
            progress=verbose,
            finish=self._result,
        )
        return await run.complete()

    run_sync = blocking(run, "suite")

    def _targets(self, target: Any, factory: Any) -> Targets:
        """What the run was given, else what the suite has; the scenarios' own come after both."""
        if target is MISSING and factory is None:
            target, factory = self.target, self.target_factory
        return Targets(target=target, factory=factory)

    def _result(self, results: list[ScenarioResult], run_id: str, start: float) -> SuiteResult:
        clock = clock_since(start)
        return SuiteResult(
            results=results,
            duration_ms=milliseconds(clock),
            suite=self,
            suite_name=self.name,
            suite_id=self.id or self.name,
            run_id=run_id,
            timing=Timing.of(clock),
        )
