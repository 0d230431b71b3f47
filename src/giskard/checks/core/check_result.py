"""What a check found, as results show it and as a run keeps it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, cast

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

__all__ = [
    "CheckResult",
    "CheckStatus",
    "Findings",
    "Metric",
    "Outcome",
    "Result",
    "Severity",
    "Text",
    "Verdict",
    "any_verdict",
    "complete_result",
    "counted",
    "make_result",
    "passed_with",
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
        measured = (f"{metric.name}={metric.value:g}" for metric in self.metrics)
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


def make_result(row: Sequence[Any]) -> CheckResult:
    """The check result that a row of `Findings` stands for."""
    status, message, details, metrics, error_kind, retryable, found, kind, values, check_id, start, seconds = row
    if kind is None:
        return cast("CheckResult", status)
    if found is not MISSING:
        message, details = kind.passed(values, found)
    result = _check_result(status, message, None, metrics, error_kind=error_kind, retryable=retryable)
    complete_result(result, details or {}, kind, values, check_id=check_id, start=start, seconds=seconds)
    return result


def complete_result(
    result: CheckResult,
    details: dict[str, Any],
    kind: Any,
    values: Mapping[str, Any],
    *,
    check_id: str,
    start: float,
    seconds: float,
) -> None:
    """Add to a result who its check is (a class of checks, and the values of its fields) and when it ran."""
    fields = vars(result)
    fields["details"] = {
        **details,
        "duration_ms": int(seconds * 1000),
        "check_kind": kind.kind or kind.__name__,
        "check_name": values["name"],
        "check_description": values["description"],
        "check_spec": kind.spec_of(values),
    }
    fields["check_id"] = check_id
    fields["severity"] = values["severity"]
    fields["timing"] = (start, seconds)


_WIDTH: Final = len(Verdict._fields) + 5
_NO_FINDING: Final = (None,) * (_WIDTH - 1)


class Findings(list[Any]):
    """What a run keeps of its checks: a row of `_WIDTH` values for each, one after the other.

    A row holds the fields of the verdict, then the check's class and configuration, its id, the start and the
    seconds; or a `CheckResult`, and nothing else.  Check results are made of it when somebody reads them: most never
    are, and a run makes very many.  There are no objects for the rows: the garbage collector would look into
    each of them, over and over.
    """

    __slots__ = ()

    def add(self, verdict: Verdict, check: Any, check_id: str, start: float) -> None:
        """Add the verdict of a check that began at `start`, a reading of ``perf_counter``."""
        self.extend(verdict)
        self.extend((check.__class__, check.__dict__, check_id, start, perf_counter() - start))

    def add_result(self, result: CheckResult) -> None:
        """Add a result that is complete."""
        self.append(result)
        self.extend(_NO_FINDING)

    def count(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] - of rows
        """Of how many checks it tells."""
        return len(self) // _WIDTH

    def result(self, index: int) -> CheckResult:
        """What check number `index` found, negative ones counted from the last."""
        first = index * _WIDTH if index >= 0 else len(self) + index * _WIDTH
        return make_result(self[first : first + _WIDTH])

    def results(self) -> list[CheckResult]:
        """What each check found."""
        return [make_result(self[first : first + _WIDTH]) for first in range(0, len(self), _WIDTH)]

    def statuses(self) -> list[str]:
        """The status of each, as it counts: a failed check that only warns counts as passed."""
        return [
            counted(status.status, status.severity) if values is None else counted(status, values["severity"])
            for status, values in zip(self[::_WIDTH], self[_WIDTH - 4 :: _WIDTH], strict=True)
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self.results(),)


def counted(status: CheckStatus, severity: str) -> str:
    """The status that counts: a failed check that only warns does not fail its case."""
    return "pass" if status is CheckStatus.FAIL and severity == "warning" else status


def any_verdict(statuses: Iterable[str]) -> bool:
    """Whether a check came to a verdict, or should have: not all of them were skipped."""
    return any(status != "skip" for status in statuses)
