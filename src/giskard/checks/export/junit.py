"""Results as JUnit XML, which every CI server reads."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from giskard.checks.core.result import CheckResult, TestCaseResult
from giskard.checks.export._log import failed_checks, log_of_check, log_of_member, reason_of, reasons
from giskard.checks.export._results import AnyResult, SuiteView, as_suite
from giskard.checks.utils.files import write_atomically
from giskard.checks.utils.text import cut, visible

__all__ = ["Granularity", "to_junit_xml"]

Granularity = Literal["scenario", "check"]

# Bytes of a name, and of all of them.
_NAME = 1_200
_ALL_NAMES = 8_000_000
_LEAST = 160  # bytes of a testcase beside its names
_MESSAGE = 2_000
# What one testcase may hold, and all of them together: GitLab refuses files of more than 30 MB.
_BODY = 60_000
_LEAST_BODY = 1_000
_ALL_BODIES = 20_000_000
_ALL_BYTES = 26_000_000
# GitLab refuses more than 250,000 nodes: elements, and the texts in and between them.
_ALL_NODES = 240_000


def to_junit_xml(
    result: AnyResult, path: str | os.PathLike[str] | None = None, granularity: Granularity = "scenario"
) -> str:
    r"""The results as JUnit XML: well-formed whatever the texts hold, and of a size that servers take.

    Parameters
    ----------
    result
        Of a suite; that of a single scenario or test case is written as a suite of one.
    path
        Where to write it too: as UTF-8, as a whole or not at all; its folders are made.
    granularity
        What a ``testcase`` stands for.  With "scenario" its name is the scenario's and its ``classname`` the
        suite's; with "check" its name is the check's, and its ``classname`` the suite's and the scenario's.

    Returns
    -------
    str
        The XML.  A FAIL is a ``failure``, an ERROR an ``error``, a SKIP ``skipped``; never two of them in one
        testcase.  Characters that XML does not know are written as in a Python literal (``\x1b``), and notes stand
        where long texts were cut.

    Raises
    ------
    ValueError
        When `granularity` is another word.
    OSError
        When the file cannot be written.
    """
    if granularity not in get_args(Granularity):
        raise ValueError(f"granularity is {granularity!r}, expected 'scenario' or 'check'")
    suite = as_suite(result)
    text = _document(suite, list(_of_scenarios(suite) if granularity == "scenario" else _of_checks(suite)))
    if path is not None:
        write_atomically(path, text)
    return text


@dataclass(kw_only=True, slots=True)
class _Case:
    """A testcase element; what may be long is made when it is written, when it is known how much there is room for."""

    classname: str
    name: str
    seconds: float
    status: str
    message: str = ""
    type: str = ""
    least: int = 0  # bytes that it takes when nothing more can be said of it
    body: Callable[[], str] | None = None
    log: Callable[[], str] | None = None


def _of_scenarios(suite: SuiteView) -> Iterator[_Case]:
    for member in suite.members:
        yield _Case(
            classname=suite.name,
            name=member.name,
            seconds=member.seconds,
            log=lambda member=member: log_of_member(member),
            **_outcome(member.status, member.steps, member.recorded_at),
        )


def _of_checks(suite: SuiteView) -> Iterator[_Case]:
    for member in suite.members:
        classname = f"{suite.name}.{member.name}"
        # Of many checks that fail in one conversation each shows the same one.
        whole = functools.cache(functools.partial(log_of_member, member))
        empty = True
        for number, step in enumerate(member.steps, 1):
            if step.error is not None:
                empty = False
                outcome = _outcome("error", [TestCaseResult(results=[], error=step.error)], member.recorded_at)
                yield _Case(
                    classname=classname,
                    name=f"step {number}",
                    seconds=step.seconds,
                    log=whole,
                    **outcome,
                )
            for check in step.results:
                empty = False
                yield _of_check(classname, whole, check, member.recorded_at)
        if empty:
            yield _Case(
                classname=classname,
                name="checks",
                seconds=member.seconds,
                status="skip",
                message="nothing was checked",
                log=whole,
            )


def _of_check(classname: str, whole: Callable[[], str], check: CheckResult, recorded_at: str | None) -> _Case:
    status = "pass" if check.failed and check.severity == "warning" else check.status.value
    blamed = status in {"fail", "error"}
    return _Case(
        classname=classname,
        name=check.name,
        seconds=check.seconds,
        log=whole if blamed else (lambda: log_of_check(check)),
        **_outcome(status, [TestCaseResult(results=[check])], recorded_at),
    )


def _outcome(status: str, steps: Sequence[TestCaseResult], recorded_at: str | None) -> dict[str, Any]:
    """What the testcase of these steps holds beside its name and log.

    Parameters
    ----------
    recorded_at
        The place of the conversation among the recordings: it stands below the reasons.
    """
    if status == "pass":
        return {"status": status}
    lines = reasons(status, steps)
    message = lines[0] if lines else status.upper()
    if len(lines) > 1 and status != "skip":
        message += f" (and {len(lines) - 1} more)"
    outcome = {"status": status, "message": message}
    if status != "skip":
        outcome |= {"type": _type_of(status, steps), "body": lambda: "\n\n".join(_bodies(steps, recorded_at))}
    return outcome


def _type_of(status: str, steps: Sequence[TestCaseResult]) -> str:
    for step in steps:
        if step.error is not None:
            return step.error.exception_type
    for check in failed_checks(steps):
        if check.errored and status == "error":
            return str(check.details.get("exception_type") or check.error_kind or "error")
        if check.failed and status == "fail":
            return str(check.details.get("check_kind") or "failure")
    return status


def _bodies(steps: Iterable[TestCaseResult], recorded_at: str | None) -> Iterator[str]:
    for step in steps:
        if step.error is not None:
            yield step.error.summary() + (f"\n\n{step.error.traceback}" if step.error.traceback else "")
    for check in failed_checks(steps):
        yield reason_of(check, details=True)
    if recorded_at is not None:
        yield f"recorded at {recorded_at}"


# --- XML ---------------------------------------------------------------------------------


@dataclass
class _Writer:
    """Writes testcases and keeps count of the room that is left."""

    share: int
    expected: int
    left: int  # bytes, beside the least that each testcase takes
    nodes: int = _ALL_NODES
    least_nodes: int = 3  # of a testcase: itself, its state and the line end
    cut: int = 0  # testcases whose details or log are missing
    missing: int = 0  # testcases that are not written at all
    counts: dict[str, int] = field(default_factory=lambda: {"pass": 0, "fail": 0, "error": 0, "skip": 0})
    parts: list[str] = field(default_factory=list[str])
    names: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def add(self, case: _Case) -> None:
        """Write a testcase."""
        self.counts[case.status] += 1
        self.expected -= 1
        self.nodes -= self.least_nodes
        classname, name = self._unique(case.classname, case.name)
        text = f'<testcase classname="{_quoted(classname)}" name="{_quoted(name)}" time="{_seconds(case.seconds)}">'
        element, room = _ELEMENTS.get(case.status), True
        if element is not None:
            message = _fitted(case.message, 4 * _MESSAGE if self.left > 0 else 60)
            kind = f' type="{_quoted(_fitted(case.type, 200))}"' if case.type and self.left > 0 else ""
            room = self.left > 0 and self._has_nodes(1)
            body = self._body(case.body) if room else ""
            text += f'<{element}{kind} message="{_quoted(message)}">{body}</{element}>'
        if case.log is not None and room:
            room = self.left > 0 and self._has_nodes(2)
            if room:
                text += f"<system-out>{self._body(case.log)}</system-out>"
        self.cut += not room
        text += "</testcase>\n" if self.least_nodes == 3 else "</testcase>"
        self.left -= _size(text) - case.least
        self.parts.append(text)

    def _has_nodes(self, count: int) -> bool:
        """Whether there is room for so many nodes, beside the testcases that are still to come; they are then taken."""
        enough = self.nodes - count >= self.least_nodes * self.expected
        if enough:
            self.nodes -= count
        return enough

    def _unique(self, classname: str, name: str) -> tuple[str, str]:
        """Servers tell tests apart by these two, and keep only one of those that share them."""
        unique, names = name, self.names
        while (classname, unique) in names:
            names[classname, name] += 1
            unique = f"{name}#{names[classname, name]}"
        names[classname, unique] = 1
        return classname, unique

    def _body(self, make: Callable[[], str] | None) -> str:
        if make is None:
            return ""
        return _escaped(visible(cut(make(), self.share)))


_ELEMENTS = {"fail": "failure", "error": "error", "skip": "skipped"}


def _document(suite: SuiteView, cases: Sequence[_Case]) -> str:
    kept = _most_telling(cases)
    share = max(_LEAST_BODY, min(_BODY, _ALL_BODIES // max(1, 2 * len(kept))))
    name = max(20, min(_NAME, _ALL_NAMES // max(1, 2 * len(kept))))
    for case in kept:
        case.classname, case.name = _fitted(case.classname, name), _fitted(case.name, name)
        case.least = _size(_quoted(case.classname)) + _size(_quoted(case.name)) + _LEAST
    left = _ALL_BYTES - sum(case.least for case in kept)
    writer = _Writer(share=share, left=left, expected=len(kept), missing=len(cases) - len(kept))
    if writer.least_nodes * writer.expected > writer.nodes:
        writer.least_nodes = 2  # no line ends
    for case in kept:
        writer.add(case)
    suite_name = _quoted(_fitted(suite.name, _NAME))
    counts = writer.counts
    common = (
        f'name="{suite_name}" tests="{sum(counts.values())}" failures="{counts["fail"]}" errors="{counts["error"]}" '
        f'time="{_seconds(suite.seconds)}"'
    )
    return "".join(
        [
            '<?xml version="1.0"?>\n',
            f"<testsuites {common}>\n",
            f'<testsuite {common} skipped="{counts["skip"]}" timestamp="{_start(suite)}">\n',
            _properties(suite, writer),
            *writer.parts,
            "</testsuite>\n</testsuites>\n",
        ]
    )


def _most_telling(cases: Sequence[_Case]) -> Sequence[_Case]:
    """As many testcases as a server takes, in their order; those that passed are left out first."""
    spare = len(cases) - _ALL_NODES // 2
    if spare <= 0:
        return cases
    kept: list[_Case] = []
    for case in reversed(cases):
        if spare > 0 and case.status == "pass":
            spare -= 1
        else:
            kept.append(case)
    return kept[::-1][: _ALL_NODES // 2]


def _properties(suite: SuiteView, writer: _Writer) -> str:
    rate = suite.pass_rate
    left_out = [
        f"{writer.missing:,} testcases" if writer.missing else "",
        f"details or logs of {writer.cut:,} testcases" if writer.cut else "",
    ]
    values = {
        "pass_rate": None if rate is None else f"{rate:.6g}",
        "run_id": suite.run_id,
        "recommendation": suite.recommendation,
        "left_out": f"{', '.join(filter(None, left_out))}: too much for a CI server" if any(left_out) else None,
    }
    lines = [
        f'<property name="{name}" value="{_quoted(visible(cut(str(value), _MESSAGE)))}"/>\n'
        for name, value in values.items()
        if value is not None
    ]
    return f"<properties>\n{''.join(lines)}</properties>\n" if lines else ""


def _start(suite: SuiteView) -> str:
    """When it began, in UTC; when nobody knows, when it was written."""
    timings = [suite.timing] if suite.timing is not None else [member.source.timing for member in suite.members]
    starts = [timing.started_at for timing in timings if timing is not None]
    return (min(starts) if starts else datetime.now(UTC)).isoformat(timespec="seconds")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _fitted(text: str, size: int) -> str:
    """`text` with its hidden characters shown, of at most so many bytes once it is written in an attribute."""
    if len(text) * 10 <= size:  # whatever is in it: most are as short
        return visible(text)
    shown = visible(cut(text, max(size // 2, size - 60)))  # with room for the note
    while (written := _size(_quoted(shown))) > size and len(text) > 1:
        text = text[: min(len(text) - 1, len(text) * size // written)]
        shown = f"{visible(text)}…"
    return shown


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}" if math.isfinite(seconds) and seconds >= 0 else "0.000"


def _escaped(text: str) -> str:
    """`text` for the content of an element."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(text: str) -> str:
    """`text` for an attribute in double quotes; its line ends and tabs are kept."""
    if text.isalnum():
        return text
    return _escaped(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")
