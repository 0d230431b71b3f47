"""Statuses and results: pure data, the same in Python, in JSON and in every report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from enum import StrEnum
from itertools import chain
from typing import Annotated, Any, ClassVar, Generic, Self, cast

from pydantic import (
    ConfigDict,
    Field,
    PlainSerializer,
    WrapValidator,
    computed_field,
    model_validator,
)
from typing_extensions import TypeVar

from giskard.checks.core import late
from giskard.checks.core.assertions import (
    assertion,
    bracketed,
    causes,
    lines_of_place,
    lines_of_run,
    lines_of_steps,
    named,
    one_line,
    tally,
)
from giskard.checks.core.check_result import (
    CheckResult,
    CheckStatus,
    Metric,
    Outcome,
    Result,
    Severity,
    Text,
    Verdict,
    any_verdict,
    counted,
)
from giskard.checks.core.document import Document
from giskard.checks.core.error_kinds import ErrorKind
from giskard.checks.core.findings import Findings, Passed
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import construct, read_result
from giskard.checks.core.timing import Timing, TimingField, milliseconds
from giskard.checks.utils.completed import completed

__all__ = [
    "CheckResult",
    "CheckStatus",
    "Metric",
    "Outcome",
    "Result",
    "ScenarioAttempt",
    "ScenarioResult",
    "ScenarioStatus",
    "Severity",
    "TestCaseError",
    "TestCaseResult",
    "TestCaseStatus",
    "Verdict",
    "load_trace",
    "roll_up",
    "word_of_case",
]

TraceT = TypeVar("TraceT", bound=Trace, default=Trace)


class TestCaseStatus(StrEnum):
    """The four states of a test case, derived from its checks."""

    __test__ = False

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


class ScenarioStatus(StrEnum):
    """The four states of a scenario, derived from its steps."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


# Phases of an error that say what ended a run, not what was being done: the message says it too.
_ENDINGS = ("limit", "cancelled")


class TestCaseError(Result):
    """Why a test case could not be executed.

    Parameters
    ----------
    message
        What happened, in a sentence.
    exception_type
        The name of the exception's class.
    traceback
        Where it was raised, when user code raised it.
    phase
        What was being done: "setup" (a target or a trace was being made), "input_generation" (the turns of a step),
        "checks", "teardown" (a target was being closed); or what ended it: "limit" (the time of the scenario or of
        the whole run), "cancelled"; "run" when it is not known.
    error_kind
        Why, in a word; see `giskard.checks.core.error_kinds`.
    retryable
        Whether the error may be gone at the next try.
    """

    __test__ = False

    message: Text
    exception_type: Text
    traceback: Text | None = None
    phase: Text | None = None
    error_kind: ErrorKind = "crash"
    retryable: bool = False

    def summary(self) -> str:
        """The exception's type, the phase when it is known, and the message, in a line."""
        during = f" during {self.activity}" if self.activity else ""
        return f"{self.exception_type}{during}: {self.message}"

    @property
    def activity(self) -> str | None:
        """What was being done, in words; None when the phase says what ended it."""
        if self.phase in _ENDINGS:
            return None
        return "a turn" if self.phase == "input_generation" else self.phase

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {one_line(self.summary(), 1_000)}>"

    def __str__(self) -> str:
        return repr(self)


def roll_up(statuses: Iterable[str]) -> str:
    """ERROR > FAIL > all SKIP > PASS; nothing at all is PASS."""
    seen = set(statuses)
    if "error" in seen:
        return "error"
    if "fail" in seen:
        return "fail"
    return "skip" if seen == {"skip"} else "pass"


def _effective(result: CheckResult) -> str:
    """The status that counts: a failed check that only warns does not fail its case."""
    return counted(result.status, result.severity)


class _ResultsOf:
    """Reads the ``results`` of a test case's result, which are made when they are first asked for."""

    def __get__(self, instance: Any, owner: Any = None) -> list[CheckResult]:
        if instance is None:  # pydantic looks for defaults on the class: there are none
            raise AttributeError("results")
        found = instance.__dict__["results"]
        if type(found) is Findings:
            found = instance.__dict__["results"] = found.results()
        return found

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError("results of a test case's result cannot be set")


def _readable(results: Any) -> list[CheckResult]:
    return results.results() if type(results) is Findings else results


def _is_none(value: object) -> bool:
    return value is None


class TestCaseResult(Document, Outcome):
    """What the checks of a test case, or of a scenario's step, found.

    Parameters
    ----------
    recorded_at
        Where the conversation of a test case was recorded, ``"logs/a.jsonl:17"``, when its trace tells.
    """

    __test__ = False
    # The conversation, for reports on what did not pass in this process: no part of what is saved, copied or compared.
    __slots__ = ("_conversation",)

    results: Annotated[list[CheckResult], PlainSerializer(_readable, return_type=list[CheckResult])] = Field(
        default_factory=list[CheckResult]
    )
    duration_ms: int = 0
    last_interaction_index: int | None = None
    error: TestCaseError | None = None
    name: Text | None = None
    run_id: str | None = None
    timing: TimingField = None
    recorded_at: Text | None = Field(default=None, exclude_if=_is_none)

    @computed_field
    @property
    def status(self) -> TestCaseStatus:
        """ERROR when `error` is set or a check errored, else FAIL, else SKIP when all were skipped, else PASS."""
        return TestCaseStatus(word_of_case(self))

    def statuses(self) -> list[str]:
        """The status of each check, as it counts: a failed check that only warns counts as passed."""
        found: Any = self.__dict__["results"]  # nothing is made of what is only kept yet
        if type(found) is Findings:
            return found.statuses()
        return [counted(values["status"], values["severity"]) for values in map(vars, found)]

    def outlines(self) -> Iterable[CheckResult | Passed]:
        """What there is to tell of each check in a line: its result, or, of one that passed, as much of it."""
        found: Any = self.__dict__["results"]
        return found.outlines() if type(found) is Findings else found

    @property
    def conversation(self) -> Trace | None:
        """What a test case that did not pass was about; None when it passed, and of a result that was loaded."""
        return getattr(self, "_conversation", None)

    def keep_conversation(self, trace: Trace) -> None:
        """Keep the conversation as long as the result, when reports have to show it."""
        if word_of_case(self) != "pass":
            object.__setattr__(self, "_conversation", trace)

    @property
    def has_verdict(self) -> bool:
        """Whether a check came to a verdict, or should have: not all of them were skipped."""
        return any_verdict(self.statuses())

    @property
    def nothing_checked(self) -> bool:
        """Whether it passed without a single verdict: no check ran, or there is none."""
        return self.passed and not self.has_verdict

    @property
    def failed(self) -> bool:
        """Whether any check failed (a check that only warns aside)."""
        return any(_effective(result) == "fail" for result in self.results)

    @property
    def errored(self) -> bool:
        """Whether any check errored, or the case itself."""
        return self.error is not None or any(result.errored for result in self.results)

    @property
    def failures_and_errors(self) -> list[CheckResult]:
        """The results that are FAIL or ERROR."""
        return [result for result in self.results if result.failed or result.errored]

    def format_failures(self) -> list[str]:
        """A line for the case's own error and for each check that did not pass, SKIP included."""
        lines = [] if self.error is None else [self.error.summary()]
        return lines + [result.summary() for result in self.results if not result.passed]

    def assertion(self, trace: Trace | None = None) -> AssertionError:
        """What `assert_passed` raises; with `trace`, the conversation, also the turns that the failures are about.

        Without it, it is the conversation that `TestCase.run` has just looked at.
        """
        what = f"test case {named(self.name)}" if self.name else "test case"
        trace = self.conversation if trace is None else trace
        turns = None if trace is None else trace.interactions
        lines = chain(lines_of_place(self.recorded_at), lines_of_steps([self], turns))
        return assertion(what, self.status, tally(self.statuses(), "check", self.status), lines)

    def _assertion(self) -> AssertionError:
        return self.assertion()

    def _brief(self) -> str:
        about = [named(self.name) if self.name else "", tally(self.statuses(), "check", self.status)]
        return bracketed(self, self.status, about, causes([self], self.status))

    def print_report(self, console: Any = None) -> None:
        """Print the results for a person, to the terminal or to a rich console of yours."""
        late.resolve_late("case_report")(self, console)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        return read_result(cls, cast("dict[str, Any]", data)) if isinstance(data, dict) else data


setattr(TestCaseResult, "results", _ResultsOf())  # noqa: B010 - in the class body it would be taken for a default


def word_of_case(result: TestCaseResult) -> str:
    """The word of its status: what a roll-up over thousands needs."""
    return "error" if result.error is not None else roll_up(result.statuses())


class _LoadedTrace(Trace, frozen=True):
    """A trace of a type that is not known where it is loaded: its further fields are kept as data."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)


_Trace: type[Any] = Trace  # for the type checker: of any inputs and outputs


def load_trace(value: Any, handler: Callable[[Any], Any] = Trace.model_validate) -> Any:
    """A trace, also of a type that is not known here: its computed fields are kept as they were."""
    if isinstance(value, _Trace):
        return value
    trace = handler(value)
    if type(trace) is Trace and isinstance(value, dict):
        further = {k: v for k, v in cast("dict[str, Any]", value).items() if k not in {*Trace.model_fields, "last"}}
        if further:
            return _LoadedTrace(interactions=trace.interactions, annotations=trace.annotations, **further)
    return trace


def _load_trace_by(value: Any, handler: Callable[[Any], Any]) -> Any:
    return load_trace(value, handler)  # which pydantic would not give the handler, as it has a default


class _Attempt(Outcome, Generic[TraceT]):
    """What one run through a scenario's steps found."""

    steps: list[TestCaseResult] = Field(default_factory=list[TestCaseResult])
    duration_ms: int = 0
    # Dumped by its own class, which may know more fields. A lambda has no return type, which pydantic would dump it by.
    final_trace: Annotated[TraceT, WrapValidator(_load_trace_by), PlainSerializer(lambda it: completed(it))]  # noqa: PLW0108
    trial: int = 1
    conversation_id: str | None = None
    timing: TimingField = None

    @computed_field
    @property
    def status(self) -> ScenarioStatus:
        """ERROR > FAIL > all SKIP > PASS over the steps; no steps is PASS."""
        return ScenarioStatus(roll_up([word_of_case(step) for step in self.steps]))

    @property
    def has_verdict(self) -> bool:
        """Whether a check of any step came to a verdict, or should have: not all of them were skipped."""
        return any(step.has_verdict for step in self.steps)

    @property
    def nothing_checked(self) -> bool:
        """Whether it passed without a single verdict: no check ran, or there is none."""
        return self.passed and not self.has_verdict

    @property
    def failures_and_errors(self) -> list[CheckResult]:
        """The check results that are FAIL or ERROR, over all steps."""
        return [result for step in self.steps for result in step.failures_and_errors]

    def format_failures(self) -> list[str]:
        """A line for each step's own error and each check that did not pass, SKIP included."""
        return [line for step in self.steps for line in step.format_failures()]

    def _assertion(self) -> AssertionError:
        lines = lines_of_run(self.steps, self.final_trace)
        return assertion(f"{self._noun}{self._named()}", self.status, self._tally(), lines)

    def _brief(self) -> str:
        status = self.status
        reasons = causes(self.steps, status) if status != "pass" else ()
        return bracketed(self, status, [self._named(), self._tally()], reasons)

    _noun: ClassVar[str] = ""

    def _named(self) -> str:
        return f"attempt {self.trial}"

    def _tally(self) -> str:
        return tally((it for step in self.steps for it in step.statuses()), "check", self.status)


class ScenarioAttempt(_Attempt[TraceT], Generic[TraceT]):
    """One attempt of a scenario that was run several times."""


class ScenarioResult(Document, _Attempt[TraceT], Generic[TraceT]):
    """What a run of a scenario found: its last attempt, with the earlier ones beside it."""

    scenario_name: Text
    multiple_runs: int = 1
    runs_executed: int = 1
    tags: list[Text] = Field(default_factory=list[Text])
    scenario_id: Text | None = None
    run_id: str | None = None
    earlier_attempts: list[ScenarioAttempt[TraceT]] = Field(default_factory=list[ScenarioAttempt[TraceT]])

    @property
    def attempts(self) -> list[ScenarioAttempt[TraceT]]:
        """Every attempt, first to last, each with its own duration; the last one is the result itself."""
        values = {name: getattr(self, name) for name in ScenarioAttempt.model_fields}
        last = construct(ScenarioAttempt, {**values, **self._time_of_the_last()})
        return [*self.earlier_attempts, cast("ScenarioAttempt[TraceT]", last)]

    def _time_of_the_last(self) -> dict[str, Any]:
        """What is left of the duration, which is that of all attempts; nothing when no times were kept."""
        whole = self.timing
        before = self.earlier_attempts[-1].timing if self.earlier_attempts else None
        if whole is None or before is None:
            return {}
        start = before.started_at + timedelta(seconds=before.seconds)
        seconds = max(0.0, whole.seconds - (start - whole.started_at).total_seconds())
        timing = Timing(start, seconds, whole.time_to_first_chunk)
        return {"timing": timing, "duration_ms": milliseconds((0.0, seconds))}

    _noun: ClassVar[str] = "scenario "

    def _named(self) -> str:
        return named(self.scenario_name)

    def _tally(self) -> str:
        told = super()._tally()
        if self.multiple_runs < 2:
            return told
        return f"{told}{', ' if told else ''}in attempt {self.runs_executed} of at most {self.multiple_runs}"

    def print_report(self, console: Any = None) -> None:
        """Print the conversation and what the checks found, to the terminal or to a rich console of yours."""
        late.resolve_late("scenario_report")(self, console)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Self:
        return read_result(cls, cast("dict[str, Any]", data)) if isinstance(data, dict) else data  # type: ignore[return-value]
