"""What a run keeps of its checks, until somebody reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple, cast

from giskard.checks.core.check_result import CheckResult, CheckStatus, Metric, Verdict, counted, worded
from giskard.checks.core.types import MISSING

__all__ = ["Findings", "Passed", "are_metrics", "complete_result", "make_result"]

_WIDTH: Final = len(Verdict._fields) + 5
_VALUES: Final = len(Verdict._fields) + 1  # where in a row the configuration stands
_PASS: Final = CheckStatus.PASS
_FAIL: Final = CheckStatus.FAIL
_NO_FINDING: Final = (None,) * (_WIDTH - 1)


class Passed(NamedTuple):
    """What there is to tell of a check that passed, in a line."""

    name: str
    message: str | None
    metrics: Sequence[Metric]


class Findings(list[Any]):
    """What a run keeps of its checks: a row of `_WIDTH` values for each, one after the other.

    A row holds the fields of the verdict, then the check's class and configuration, its id, the start and the
    seconds; or a `CheckResult`, and nothing else.  Check results are made of it when somebody reads them: most never
    are, and a run makes very many.  There are no objects for the rows: the garbage collector would look into
    each of them, over and over.
    """

    __slots__ = ()

    def add(self, verdict: Verdict, check: Any, check_id: str, start: float) -> float:
        """Add the verdict of a check that began at `start`, and give its end; both are readings of ``perf_counter``."""
        end = perf_counter()
        # In one go: whatever interrupts a run must not leave a part of a row.
        self.extend(verdict + (type(check), check.__dict__, check_id, start, end - start))  # noqa: RUF005 - half the cost
        return end

    def add_result(self, result: CheckResult) -> None:
        """Add a result that is complete."""
        self.extend((result, *_NO_FINDING))

    def count(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] - of rows
        """Of how many checks it tells."""
        return len(self) // _WIDTH

    def result(self, index: int) -> CheckResult:
        """What check number `index` found, negative ones counted from the last."""
        first = index * _WIDTH if index >= 0 else len(self) + index * _WIDTH
        return make_result(self[first : first + _WIDTH])

    def results(self) -> list[CheckResult]:
        """What each check found."""
        return list(map(make_result, self.rows()))

    def rows(self) -> Iterator[list[Any]]:
        """What is kept of each check, for `make_result`."""
        for first in range(0, len(self), _WIDTH):
            yield self[first : first + _WIDTH]

    def statuses(self) -> list[str]:
        """The status of each, as it counts: a failed check that only warns counts as passed."""
        return [
            counted(status.status, status.severity)
            if values is None
            else status  # most of them: a run asks this of very many
            if status is not _FAIL
            else counted(status, values["severity"])
            for status, values in zip(self[::_WIDTH], self[_VALUES::_WIDTH], strict=True)
        ]

    def outlines(self) -> Iterator[CheckResult | Passed]:
        """What there is to tell of each check, in a line."""
        return map(_outline, self.rows())

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self.results(),)


def are_metrics(given: Any) -> bool:
    """Whether what a check gave as its metrics is what it should be; `make_result` refuses all else."""
    return not given or (type(given) in (list, tuple) and all(isinstance(item, Metric) for item in given))


def _outline(row: Sequence[Any]) -> CheckResult | Passed:
    status, message, details, metrics, _, _, found, kind, values, *_ = row
    if status is not _PASS or kind is None or not are_metrics(metrics):
        return make_result(row)
    if found is not MISSING:
        message, _ = worded(kind, values, found, message, details)
    return Passed(str(values["name"] or kind.kind or kind.__name__), message, metrics)


def make_result(row: Sequence[Any]) -> CheckResult:
    """The check result that a row of `Findings` stands for."""
    status, message, details, metrics, error_kind, retryable, found, kind, values, check_id, start, seconds = row
    if kind is None:
        return cast("CheckResult", status)
    if found is not MISSING:
        message, details = worded(kind, values, found, message, details)
    result = Verdict(status, message, None, metrics, error_kind, retryable).result()
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
