"""What a check found."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from giskard.checks.core.assertions import bracketed, lines_of_check, named, one_line
from giskard.checks.core.error_kinds import ErrorKind, is_retryable
from giskard.checks.core.models import construct
from giskard.checks.core.timing import Clock, Timing, TimingField, TimingOf
from giskard.checks.core.types import MISSING
from giskard.checks.core.usage import Usage
from giskard.checks.utils.equality import equal
from giskard.checks.utils.frozen import FrozenList
from giskard.checks.utils.json_safe import JsonSafe, Shown, finite, utf8
from giskard.checks.utils.text import short_number

__all__ = [
    "CheckResult",
    "CheckStatus",
    "Metric",
    "Outcome",
    "Result",
    "Severity",
    "Text",
    "Verdict",
    "any_verdict",
    "counted",
    "passed_with",
    "worded",
]

Severity = Literal["error", "warning"]
Text = Annotated[str, PlainSerializer(utf8, when_used="json")]


class CheckStatus(StrEnum):
    """The four states of a check, always told apart."""

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
        return all(getattr(self, name) == getattr(other, name) for name in _compared(type(self)))

    __hash__ = None  # type: ignore[assignment]

    def __repr_args__(self) -> Any:
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if name not in _CLOCKS and not equal(value, field.default):
                # Details may hold anything, also what cannot be printed.
                yield name, Shown(value) if name == "details" else value


_CLOCKS = frozenset({"timing"})


@functools.cache
def _compared(cls: type[Result]) -> tuple[str, ...]:
    """The fields that make two results equal: those that are saved, without the clocks."""
    return tuple(name for name, field in cls.model_fields.items() if name not in _CLOCKS and not field.exclude)


class Outcome(Result):
    """A result with one of the four states, a start and a duration."""

    if TYPE_CHECKING:  # a field in one, computed in the others

        @property
        def status(self) -> str:
            """One of pass, fail, error, skip."""
            ...

    @property
    def passed(self) -> bool:
        """Whether the status is PASS."""
        return self.status == "pass"

    @property
    def failed(self) -> bool:
        """Whether the status is FAIL."""
        return self.status == "fail"

    @property
    def errored(self) -> bool:
        """Whether the status is ERROR."""
        return self.status == "error"

    @property
    def skipped(self) -> bool:
        """Whether the status is SKIP."""
        return self.status == "skip"

    @property
    def seconds(self) -> float:
        """How long it took: exactly where a clock was kept, else in whole milliseconds."""
        clock: Timing | Clock | None = self.__dict__.get("timing")
        if clock is None:
            return self.__dict__.get("duration_ms", 0) / 1000
        return clock[1] if isinstance(clock, tuple) else clock.seconds

    def __bool__(self) -> bool:
        """Whether it passed, so that ``assert await scenario.run()`` means what it says."""
        return self.passed

    def assert_passed(self) -> None:
        """Raise AssertionError with the reasons unless the status is PASS."""
        __tracebackhide__ = True  # pytest: the traceback ends in the test
        if not self.passed:
            raise self._assertion()

    def _assertion(self) -> AssertionError:
        """What `assert_passed` raises."""
        raise NotImplementedError

    def _brief(self) -> str:
        """The repr: a line of bounded length that begins with the status, the name and the first reasons."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._brief()

    def __str__(self) -> str:
        return self._brief()

    def __getstate__(self) -> dict[Any, Any]:
        """What is pickled holds the time of day: readings of this process's clock mean nothing in another one."""
        state = super().__getstate__()
        fields = state["__dict__"]
        if isinstance(fields.get("timing"), tuple):
            state["__dict__"] = {**fields, "timing": Timing.load(fields["timing"])}
        return state


setattr(Outcome, "timing", TimingOf())  # noqa: B010 - in the class body it would be taken for a field

# Shared by all results that measured nothing: a run makes very many of them.
_NO_METRICS: Final[list[Any]] = FrozenList()


class Metric(Result):
    """A named number that a check measured on its way to a verdict."""

    name: Text
    value: Annotated[float | int, PlainSerializer(finite, return_type=Any, when_used="json")]


class CheckResult(Outcome):
    """What a check found.

    Use `success`, `failure`, `skip` and `error` to make one.
    """

    status: CheckStatus  # pyright: ignore[reportIncompatibleMethodOverride] - a field here
    message: Text | None = None
    details: Annotated[dict[str, Any], JsonSafe] = Field(default_factory=dict[str, Any])
    metrics: list[Metric] = Field(default_factory=list[Metric])
    check_id: Text | None = None
    severity: Severity = "error"
    error_kind: ErrorKind | None = None
    """Why no verdict could be reached; see `giskard.checks.core.error_kinds`."""
    retryable: bool = False
    usage: Usage | None = None
    timing: TimingField = None

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
        error_kind: ErrorKind = "unknown",
        retryable: bool | None = None,
        usage: Usage | None = None,
    ) -> CheckResult:
        """No verdict could be reached; `error_kind` says why in a word, `message` in a sentence.

        Whether another try may help goes by the kind, unless `retryable` says so.
        """
        if retryable is None:
            retryable = is_retryable(error_kind)
        return _check_result(
            CheckStatus.ERROR, message, details, metrics, error_kind=error_kind, retryable=retryable, usage=usage
        )

    @property
    def name(self) -> str:
        """The check's name, else its kind."""
        return self._given_name or "check"

    @property
    def _given_name(self) -> str:
        return str(self.details.get("check_name") or self.details.get("check_kind") or self.check_id or "")

    def summary(self) -> str:
        """Name, state and reason in a line."""
        return f"{self.name}: {self._state}" + (f": {self.message}" if self.message else "")

    @property
    def _state(self) -> str:
        state = self.status.value.upper()
        return f"{state} (warning)" if self.failed and self.severity == "warning" else state

    def _assertion(self) -> AssertionError:
        return AssertionError("\n".join(lines_of_check(self)))

    def _brief(self) -> str:
        name = self._given_name
        about = named(name) if name else ""
        if self.error_kind:
            about += f" [{one_line(self.error_kind, 60)}]"
        measured = (f"{metric.name}={short_number(metric.value)}" for metric in self.metrics)
        return bracketed(self, self._state, [about.strip()], chain([self.message] if self.message else [], measured))


def _check_result(
    status: CheckStatus,
    message: str | None,
    details: dict[str, Any] | None,
    metrics: Sequence[Metric],
    *,
    error_kind: str | None = None,
    retryable: bool = False,
    usage: Usage | None = None,
) -> CheckResult:
    if message is not None and type(message) is not str:
        message = str(message)
    if details is not None and type(details) is not dict and not isinstance(details, Mapping):  # pyright: ignore
        raise TypeError(f"details are {details!r:.200}, expected a dict")
    for metric in metrics:
        if not isinstance(metric, Metric):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a metric is {metric!r:.200}, expected Metric(name=..., value=...)")
    return construct(
        CheckResult,
        {
            "status": status,
            "message": message,
            "details": details if details is not None else {},
            "metrics": list(metrics) if metrics else _NO_METRICS,
            "check_id": None,
            "severity": "error",
            "error_kind": error_kind,
            "retryable": retryable,
            "usage": usage,
            "timing": None,
        },
    )


class Verdict(NamedTuple):
    """What a `CodeCheck` decides: the part of a `CheckResult` that is its own."""

    status: CheckStatus  # pyright: ignore[reportIncompatibleMethodOverride] - a field here
    message: str | None = None
    details: dict[str, Any] | None = None
    metrics: Sequence[Metric] = ()
    error_kind: str | None = None
    retryable: bool = False
    found: Any = MISSING
    """What message and details of a PASS are made of, by ``CodeCheck.passed``, when somebody reads them."""

    def result(self) -> CheckResult:
        """The check result that it stands for, when that does not hang on what was `found`."""
        return _check_result(
            self.status,
            self.message,
            dict(self.details) if self.details else None,
            self.metrics,
            error_kind=self.error_kind,
            retryable=self.retryable,
        )


_PASS: Final = CheckStatus.PASS
_new_tuple: Callable[..., Verdict] = tuple[Any, ...].__new__


def passed_with(found: Any) -> Verdict:
    """A PASS whose message and details are made of `found` when somebody reads them: most are never read."""
    return _new_tuple(Verdict, (_PASS, None, None, (), None, False, found))  # as Verdict(...), at half the cost


def worded(
    kind: Any, values: Mapping[str, Any], found: Any, message: str | None, details: dict[str, Any] | None
) -> tuple[str | None, dict[str, Any]]:
    """The message and the details of a PASS of `passed_with`: what its class of checks makes, where none is given."""
    try:
        made: tuple[str | None, dict[str, Any]] = kind.passed(values, found)
    except NotImplementedError:
        raise
    except Exception as error:  # an object that answers every question with an error
        made = f"it passed; what it found cannot be told: {type(error).__name__}", {}
    return made[0] if message is None else message, made[1] if details is None else details


def counted(status: CheckStatus, severity: str) -> str:
    """The status that counts: a failed check that only warns does not fail its case."""
    return "pass" if status is CheckStatus.FAIL and severity == "warning" else status


def any_verdict(statuses: Iterable[str]) -> bool:
    """Whether a check came to a verdict, or should have: not all of them were skipped."""
    return any(status != "skip" for status in statuses)
