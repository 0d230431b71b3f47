"""A result in plain lines of text: what a CI server shows beside a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from giskard.checks.core.assertions import expects_it, told_of
from giskard.checks.core.call_lines import lines_of_calls
from giskard.checks.core.findings import Passed
from giskard.checks.core.places import sections
from giskard.checks.core.result import CheckResult, ScenarioResult, TestCaseResult
from giskard.checks.export._results import Member
from giskard.checks.utils.text import cut, plain_text, quoted

__all__ = ["failed_checks", "log_of_check", "log_of_member", "reason_of", "reasons"]

# Characters of one value, and the turns that are written of a long conversation.
_VALUE = 10_000
_CALL, _CALLS = 1_000, 200
_FIRST_TURNS, _LAST_TURNS = 50, 150


def failed_checks(steps: Iterable[TestCaseResult]) -> list[CheckResult]:
    """The checks that did not pass: the errors first; those that only warn last."""
    found = [check for step in steps for check in step.results if check.failed or check.errored]
    return sorted(found, key=lambda check: 0 if check.errored else 1 if check.severity == "error" else 2)


def reasons(status: str, steps: Sequence[TestCaseResult]) -> list[str]:
    """Why these steps have this status, a line each; the cause comes first."""
    if status == "skip":
        skipped = [check for step in steps for check in step.results if check.skipped]
        return [reason_of(check) for check in skipped]
    lines = [step.error.summary() for step in steps if step.error is not None]
    return lines + [reason_of(check) for check in failed_checks(steps) if check.errored or check.severity == "error"]


def reason_of(check: CheckResult, details: bool = False) -> str:
    """Name and message of a check in a line; below it, where `details` holds, what was expected and got."""
    message = check.message
    text = f"{check.name}: {message}" if message else check.name
    if check.error_kind and check.errored:
        text = f"{check.name} [{check.error_kind}]" + (f": {message}" if message else "")
    if not details:
        return text
    lines = [text, *(f"  {line}" for line in _compared(check))]
    traceback = check.details.get("traceback")
    return "\n".join(lines) + (f"\n\n{traceback}" if isinstance(traceback, str) else "")


def _compared(check: CheckResult) -> Iterator[str]:
    if not expects_it(check.details):
        return
    for label, key in (("expected:", "expected_value"), ("got:     ", "actual_value")):
        if key in check.details:
            yield f"{label} {cut(quoted(check.details[key]), _VALUE)}"


def log_of_check(check: CheckResult | Passed) -> str:
    """A check's state and reason."""
    state = _STATES["pass" if isinstance(check, Passed) else check.status]
    if isinstance(check, Passed):
        lines = [f"{state} {check.name}: {check.message}" if check.message else f"{state} {check.name}"]
    elif check.status == "pass":
        lines = [f"{state} {reason_of(check)}"]
    else:
        warning = " (warning)" if check.failed and check.severity == "warning" else ""
        lines = [f"{state}{warning} {reason_of(check)}", *(f"  {line}" for line in _compared(check))]
    lines += [f"  {metric.name} = {metric.value}" for metric in check.metrics]
    return "\n".join(lines)


_STATES: dict[str, str] = {"pass": "PASS", "fail": "FAIL", "error": "ERROR", "skip": "SKIP"}


def log_of_member(member: Member) -> str:
    """The conversation, turn by turn, and what the checks of each step found."""
    parts = [f"{_STATES[member.status]}  {member.name}"]
    scenario = member.scenario
    if scenario is not None:
        parts += _about(scenario)
    if member.recorded_at is not None:
        parts.append(f"recorded at {member.recorded_at}")
    if member.nothing_checked:
        parts.append("nothing was checked")
    turns, steps = member.turns, member.steps
    added = sections(steps, len(turns))
    for number, (step, status, section) in enumerate(zip(steps, member.step_statuses, added, strict=True), 1):
        parts += _turns(turns, section.start, section.stop)
        parts.append(f"\nstep {number} of {len(steps)}: {_STATES[status]}")
        if step.error is not None:
            parts.append(f"  ERROR {step.error.summary()}")
        parts += [f"  {log_of_check(check)}".replace("\n", "\n  ") for check in step.outlines()]
    if not steps:
        parts += _turns(turns, 0, len(turns))
    return "\n".join(parts)


def _about(scenario: ScenarioResult[Any]) -> Iterator[str]:
    if scenario.tags:
        yield f"tags: {', '.join(scenario.tags)}"
    if scenario.multiple_runs > 1:
        yield f"attempt {scenario.runs_executed} of at most {scenario.multiple_runs}"
    annotations = scenario.final_trace.annotations
    if annotations:
        yield f"annotations: {cut(plain_text(annotations), _VALUE)}"


def _turns(turns: Sequence[Any], begin: int, end: int) -> Iterator[str]:
    total = len(turns)
    hidden = range(_FIRST_TURNS, total - _LAST_TURNS)
    for index in range(begin, end):
        if index in hidden:
            if index == max(begin, hidden.start):
                yield f"\n[turns {index + 1} to {min(end, hidden.stop)} left out]"
            continue
        turn = turns[index]
        inputs, outputs = cut(plain_text(turn.inputs), _VALUE), cut(plain_text(turn.outputs), _VALUE)
        metadata = told_of(turn.metadata)
        shown = lines_of_calls(metadata, lambda text: cut(text, _CALL).replace("\n", "\\n"), _CALLS)
        calls = [f"\n  {line}" for line in shown]
        if calls:
            del metadata["tool_calls"]
        text = f"\nturn {index + 1} of {total}\n  inputs:  {inputs}{''.join(calls)}\n  outputs: {outputs}"
        yield f"{text}\n  metadata: {cut(plain_text(metadata), _VALUE)}" if metadata else text
