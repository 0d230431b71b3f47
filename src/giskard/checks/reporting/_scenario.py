"""One scenario in full, with its conversation; one test case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from giskard.checks.core.places import name_of_recording, sections, turn_of_check, where
from giskard.checks.core.result import ScenarioResult, TestCaseResult
from giskard.checks.reporting._page import Page, fit
from giskard.checks.reporting._parts import (
    Limits,
    about,
    check_rows,
    duration,
    error_rows,
    flowing,
    mark_of,
    ordered,
    place_of,
    place_rows,
    tally,
)
from giskard.checks.reporting._turns import trace_rows, turn_rows
from giskard.checks.utils.text import quoted

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_scenario", "print_test_case"]

_ANNOTATION = 100  # columns of one
_FULL = Limits(value=20_000, rows=400, message=20_000, trace=5_000, traceback=40)


def print_scenario(result: ScenarioResult[Any], console: Console | None = None) -> None:
    """Print one scenario in full: its conversation, and what the checks found at each step of it.

    Parameters
    ----------
    console
        Where to; stdout when it is None.
    """
    page = Page(console)
    status = result.status.value
    page.rule(page.line(result.scenario_name), status.upper(), status)
    for text in (about(page, result), _annotations(page, result)):
        if text:
            page.paragraph(text, "dim", indent=0)
    page.add_rows(place_rows(page, place_of(result), page.width))
    turns = result.final_trace.interactions
    parts = sections(result.steps, len(turns))
    own = trace_rows(page, result.final_trace, page.width, _FULL)
    if own is not None:
        page.add()
        page.add_rows(own)
    elif not turns:
        page.add(("no turn was finished" if result.steps else "there are no steps", "dim"))
    blamed = _blamed_turns(result, parts)
    for number, (step, added) in enumerate(zip(result.steps, parts, strict=True)):
        for index in added if own is None else ():
            page.add()
            status_here = blamed.get(index, "")
            page.add_rows(turn_rows(page, turns, index, page.width, _FULL, status=status_here, full=True))
        page.add()
        _step(page, step, where(number, len(result.steps), added, len(turns)))
    _attempts(page, result)
    page.add()
    _verdict(page, result, result.steps)
    page.flush()


def _annotations(page: Page, result: ScenarioResult[Any]) -> str:
    annotations = result.final_trace.annotations
    if place_of(result) is not None:  # it is shown by itself
        annotations = _without_source(annotations)
        if isinstance(annotations.get("recorded"), Mapping):
            rest = _without_source(annotations.pop("recorded"))
            annotations |= {"recorded": rest} if rest else {}
    known = [f"{key}={quoted(value)}" for key, value in annotations.items()]
    # Instructions and tools are long, and must not hide the others.
    known.sort(key=lambda text: len(text) > _ANNOTATION)
    shown = ", ".join(fit(page.line(text, 2 * _ANNOTATION), _ANNOTATION, page.glyphs.more) for text in known)
    return f"annotations: {page.line(shown, 400)}" if known else ""


def _without_source(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if name != "source"}


def _blamed_turns(result: ScenarioResult[Any], parts: Sequence[range]) -> dict[int, str]:
    """The turns that a failing check is about, with its state."""
    found: dict[int, str] = {}
    for step, added in zip(result.steps, parts, strict=True):
        for check in reversed(ordered(step.results)):
            index = turn_of_check(check, added)
            if index is not None and check.severity == "error":
                found[index] = check.status.value
    return found


def _step(page: Page, step: TestCaseResult, place: str = "") -> None:
    if place:
        page.add((place, "bold"))
    if step.error is not None:
        page.add_rows(error_rows(page, step.error, page.width, _FULL))
    for check in step.results:
        page.add_rows(check_rows(page, check, page.width, _FULL))
    if not step.results and step.error is None:
        page.add((f"{page.glyphs.nothing} nothing was checked", "nothing"))


def _attempts(page: Page, result: ScenarioResult[Any]) -> None:
    if not result.earlier_attempts:
        return
    page.add()
    for attempt in result.attempts:
        glyph, style = mark_of(page, attempt.status.value)
        took = duration(attempt.seconds)
        page.add((f"{glyph} ", style), (f"attempt {attempt.trial}: {attempt.status.upper()} in {took}", ""))


def _verdict(page: Page, result: ScenarioResult[Any] | TestCaseResult, steps: Sequence[TestCaseResult]) -> None:
    text = tally(check for step in steps for check in step.results)
    if result.nothing_checked:
        text += ": nothing was checked"
    took = duration(result.seconds)
    status = result.status.value
    glyph, style = mark_of(page, status)
    page.add_rows(
        flowing([(f"{glyph} {status.upper()}", style), (f"  {text}", ""), (f"  in {took}", "dim")], page.width)
    )


def print_test_case(result: TestCaseResult, console: Console | None = None) -> None:
    """Print what the checks of a test case found.

    Parameters
    ----------
    console
        Where to; stdout when it is None.
    """
    page = Page(console)
    status = result.status.value
    trace = result.conversation
    title = result.name or (None if trace is None else name_of_recording(trace.annotations)) or "Test case"
    page.rule(page.line(title), status.upper(), status)
    page.add_rows(place_rows(page, result.recorded_at, page.width))
    if trace is not None:
        _turns_of_case(page, result, trace)
    _step(page, result)
    page.add()
    _verdict(page, result, [result])
    page.flush()


def _turns_of_case(page: Page, result: TestCaseResult, trace: Any) -> None:
    """The turns that what did not pass is about."""
    turns = trace.interactions
    own = trace_rows(page, trace, page.width, _FULL)
    if own is not None:
        page.add_rows(own)
    seen = range(len(turns))
    concerned = {turn_of_check(check, seen) for check in ordered(result.results)}
    for index in sorted(index for index in concerned if index is not None) if own is None else ():
        page.add_rows(turn_rows(page, turns, index, page.width, _FULL, full=True))
        page.add()
