"""Statuses and results: pure data, the same in Python, in JSON and in every report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, NoReturn, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializeAsAny,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    computed_field,
    model_validator,
)
from typing_extensions import Self, TypeVar

from giskard.checks.core._models import Document, construct, read_version
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.timing import Timing
from giskard.checks.core.usage import Usage
from giskard.checks.utils.json_safe import json_safe

__all__ = [
    "CheckResult",
    "CheckStatus",
    "Metric",
    "Result",
    "ScenarioAttempt",
    "ScenarioResult",
    "ScenarioStatus",
    "Severity",
    "TestCaseError",
    "TestCaseResult",
    "TestCaseStatus",
    "raise_failures",
    "roll_up",
]

Severity = Literal["error", "warning"]
JsonSafe = PlainSerializer(json_safe, when_used="json")
TraceT = TypeVar("TraceT", bound=Trace[Any, Any], default=Trace[Any, Any])


class CheckStatus(StrEnum):
    """The four states of a check, always told apart."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


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


class Result(BaseModel):
    """A frozen record that is equal to another one whenever all but the timing is equal."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True, arbitrary_types_allowed=True)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        return all(theirs.get(name) == value for name, value in mine.items() if name not in _CLOCKS)

    __hash__ = None  # type: ignore[assignment]


_CLOCKS = frozenset({"timing"})


class Metric(Result):
    """A named number that a check measured on its way to a verdict."""

    name: str
    value: float | int


class CheckResult(Result):
    """What a check found.

    Use `success`, `failure`, `skip` and `error` to make one.
    """

    status: CheckStatus
    message: str | None = None
    details: Annotated[dict[str, Any], JsonSafe] = Field(default_factory=dict[str, Any])
    metrics: list[Metric] = Field(default_factory=list[Metric])
    check_id: str | None = None
    severity: Severity = "error"
    error_kind: str | None = None
    """Why no verdict could be reached: missing_value, bad_type, timeout, crash, cancelled, config, …"""
    retryable: bool = False
    usage: Usage | None = None
    timing: Timing | None = None

    @classmethod
    def success(
        cls,
        message: str | None = None,
        details: dict[str, Any] | None = None,
        metrics: Sequence[Metric] = (),
        *,
        usage: Usage | None = None,
    ) -> CheckResult:
        """The check holds."""
        return _check_result(CheckStatus.PASS, message, details, metrics, usage=usage)

    @classmethod
    def failure(
        cls,
        message: str | None = None,
        details: dict[str, Any] | None = None,
        metrics: Sequence[Metric] = (),
        *,
        usage: Usage | None = None,
    ) -> CheckResult:
        """The check does not hold."""
        return _check_result(CheckStatus.FAIL, message, details, metrics, usage=usage)

    @classmethod
    def skip(
        cls,
        message: str | None = None,
        details: dict[str, Any] | None = None,
        metrics: Sequence[Metric] = (),
        *,
        usage: Usage | None = None,
    ) -> CheckResult:
        """The check does not apply here."""
        return _check_result(CheckStatus.SKIP, message, details, metrics, usage=usage)

    @classmethod
    def error(
        cls,
        message: str | None = None,
        details: dict[str, Any] | None = None,
        metrics: Sequence[Metric] = (),
        *,
        error_kind: str = "unknown",
        retryable: bool = False,
        usage: Usage | None = None,
    ) -> CheckResult:
        """No verdict could be reached; `error_kind` says why in a word, `message` in a sentence."""
        return _check_result(
            CheckStatus.ERROR, message, details, metrics, error_kind=error_kind, retryable=retryable, usage=usage
        )

    @property
    def passed(self) -> bool:
        """Whether the status is PASS."""
        return self.status is CheckStatus.PASS

    @property
    def failed(self) -> bool:
        """Whether the status is FAIL."""
        return self.status is CheckStatus.FAIL

    @property
    def errored(self) -> bool:
        """Whether the status is ERROR."""
        return self.status is CheckStatus.ERROR

    @property
    def skipped(self) -> bool:
        """Whether the status is SKIP."""
        return self.status is CheckStatus.SKIP

    @property
    def name(self) -> str:
        """The check's name, else its kind."""
        return str(self.details.get("check_name") or self.details.get("check_kind") or self.check_id or "check")

    def summary(self) -> str:
        """Name, state and reason in a line."""
        state = self.status.value.upper()
        if self.failed and self.severity == "warning":
            state = "FAIL (warning)"
        return f"{self.name}: {state}" + (f": {self.message}" if self.message else "")


def _check_result(
    status: CheckStatus,
    message: str | None,
    details: dict[str, Any] | None,
    metrics: Sequence[Metric],
    error_kind: str | None = None,
    retryable: bool = False,
    usage: Usage | None = None,
) -> CheckResult:
    if message is not None and type(message) is not str:
        message = str(message)
    return construct(
        CheckResult,
        {
            "status": status,
            "message": message,
            "details": details if details is not None else {},
            "metrics": list(metrics),
            "check_id": None,
            "severity": "error",
            "error_kind": error_kind,
            "retryable": retryable,
            "usage": usage,
            "timing": None,
        },
    )


class TestCaseError(Result):
    """Why a test case could not be executed."""

    __test__ = False

    message: str
    exception_type: str
    traceback: str | None = None
    phase: str | None = None
    error_kind: str = "crash"
    retryable: bool = False

    def summary(self) -> str:
        """The exception's type, the phase when it is known, and the message, in a line."""
        phase = f" during {self.phase}" if self.phase else ""
        return f"{self.exception_type}{phase}: {self.message}"


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
    return "pass" if result.status == "fail" and result.severity == "warning" else result.status


class TestCaseResult(Document, Result):
    """What the checks of a test case, or of a scenario's step, found."""

    __test__ = False

    results: list[CheckResult] = Field(default_factory=list[CheckResult])
    duration_ms: int = 0
    last_interaction_index: int | None = None
    error: TestCaseError | None = None
    name: str | None = None
    run_id: str | None = None
    timing: Timing | None = None

    @computed_field
    @property
    def status(self) -> TestCaseStatus:
        """ERROR when `error` is set or a check errored, else FAIL, else SKIP when all were skipped, else PASS."""
        if self.error is not None:
            return TestCaseStatus.ERROR
        for result in self.results:
            if result.status is not CheckStatus.PASS:
                return TestCaseStatus(roll_up(map(_effective, self.results)))
        return TestCaseStatus.PASS

    @property
    def passed(self) -> bool:
        """Whether the status is PASS."""
        return self.status is TestCaseStatus.PASS

    @property
    def failed(self) -> bool:
        """Whether any check failed (a check that only warns aside)."""
        return any(_effective(result) == "fail" for result in self.results)

    @property
    def errored(self) -> bool:
        """Whether any check errored, or the case itself."""
        return self.error is not None or any(result.errored for result in self.results)

    @property
    def skipped(self) -> bool:
        """Whether there are checks and all of them were skipped."""
        return self.status is TestCaseStatus.SKIP

    @property
    def failures_and_errors(self) -> list[CheckResult]:
        """The results that are FAIL or ERROR."""
        return [result for result in self.results if result.failed or result.errored]

    def format_failures(self) -> list[str]:
        """A line for the case's own error and for each check that did not pass, SKIP included."""
        lines = [] if self.error is None else [self.error.summary()]
        return lines + [result.summary() for result in self.results if not result.passed]

    def assert_passed(self) -> None:
        """Raise AssertionError with `format_failures` unless the status is PASS."""
        __tracebackhide__ = True
        if not self.passed:
            raise_failures(f"test case {self.name!r}" if self.name else "test case", self.status, self.format_failures())

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        return read_version(cls, cast("dict[str, Any]", data)) if isinstance(data, dict) else data


def raise_failures(what: str, status: str, lines: Iterable[str]) -> NoReturn:
    """The AssertionError that `assert_passed` of every result raises."""
    __tracebackhide__ = True
    raise AssertionError("\n".join([f"{what}: {status.upper()}", *(f"  {line}" for line in lines)]))


class _LoadedTrace(Trace[Any, Any]):
    """A trace of a type that is not known where it is loaded: its further fields are kept as data."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)


def _load_trace(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(value, Trace):
        return cast("Trace[Any, Any]", value)
    trace = handler(value)
    if type(trace) is Trace and isinstance(value, dict):
        further = {k: v for k, v in cast("dict[str, Any]", value).items() if k not in {*Trace.model_fields, "last"}}
        if further:
            return _LoadedTrace(interactions=trace.interactions, annotations=trace.annotations, **further)
    return trace


class _Attempt(Result, Generic[TraceT]):
    """What one run through a scenario's steps found."""

    steps: list[TestCaseResult] = Field(default_factory=list[TestCaseResult])
    duration_ms: int = 0
    final_trace: Annotated[SerializeAsAny[TraceT], WrapValidator(_load_trace)]
    trial: int = 1
    conversation_id: str | None = None
    timing: Timing | None = None

    @computed_field
    @property
    def status(self) -> ScenarioStatus:
        """ERROR > FAIL > all SKIP > PASS over the steps; no steps is PASS."""
        return ScenarioStatus(roll_up(step.status for step in self.steps))

    @property
    def passed(self) -> bool:
        """Whether the status is PASS."""
        return self.status is ScenarioStatus.PASS

    @property
    def failed(self) -> bool:
        """Whether the status is FAIL."""
        return self.status is ScenarioStatus.FAIL

    @property
    def errored(self) -> bool:
        """Whether the status is ERROR."""
        return self.status is ScenarioStatus.ERROR

    @property
    def skipped(self) -> bool:
        """Whether the status is SKIP."""
        return self.status is ScenarioStatus.SKIP

    @property
    def nothing_checked(self) -> bool:
        """Whether it passed without a single verdict: no check ran, or there is none."""
        return self.passed and all(result.skipped for step in self.steps for result in step.results)

    @property
    def failures_and_errors(self) -> list[CheckResult]:
        """The check results that are FAIL or ERROR, over all steps."""
        return [result for step in self.steps for result in step.failures_and_errors]

    def format_failures(self) -> list[str]:
        """A line for each step's own error and each check that did not pass, SKIP included."""
        return [line for step in self.steps for line in step.format_failures()]


class ScenarioAttempt(_Attempt[TraceT], Generic[TraceT]):
    """One attempt of a scenario that was run several times."""


class ScenarioResult(Document, _Attempt[TraceT], Generic[TraceT]):
    """What a run of a scenario found: its last attempt, with the earlier ones beside it."""

    scenario_name: str
    multiple_runs: int = 1
    runs_executed: int = 1
    tags: list[str] = Field(default_factory=list[str])
    scenario_id: str | None = None
    run_id: str | None = None
    earlier_attempts: list[ScenarioAttempt[TraceT]] = Field(default_factory=list[ScenarioAttempt[TraceT]])

    @property
    def attempts(self) -> list[ScenarioAttempt[TraceT]]:
        """Every attempt, first to last; the last one is the result itself."""
        last = construct(ScenarioAttempt, {name: getattr(self, name) for name in ScenarioAttempt.model_fields})
        return [*self.earlier_attempts, cast("ScenarioAttempt[TraceT]", last)]

    def assert_passed(self) -> None:
        """Raise AssertionError with `format_failures` unless the status is PASS."""
        __tracebackhide__ = True
        if not self.passed:
            raise_failures(f"scenario {self.scenario_name!r}", self.status, self.format_failures())

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Self:
        return read_version(cls, cast("dict[str, Any]", data)) if isinstance(data, dict) else data  # type: ignore[return-value]
