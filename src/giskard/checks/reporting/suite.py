"""Results on the terminal: of a suite, of one scenario with its conversation, of a test case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from giskard.checks.core.places import sections, turn_of_check, where
from giskard.checks.core.result import ScenarioResult
from giskard.checks.reporting._page import Page, Row, fit, size, wrap
from giskard.checks.reporting._parts import (
    Limits,
    about,
    check_rows,
    count,
    duration,
    error_rows,
    flowing,
    mark_of,
    ordered,
    percent,
    place_of,
    place_rows,
    rest_row,
    tally,
)
from giskard.checks.reporting._reasons import Reason, group_reasons
from giskard.checks.reporting._scenario import print_scenario, print_test_case
from giskard.checks.reporting._spent import spent
from giskard.checks.reporting._turns import trace_rows, turn_rows

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["GroupLike", "GroupedLike", "SuiteLike", "print_report", "print_scenario", "print_test_case"]

_TURNS = 3  # of a failing scenario, in a suite's report
_REASONS = 12
_NAMES = 10
_WIDE = 100  # columns from which on there is room for bars
_SHORT = Limits()


class GroupLike(Protocol):
    """Counts of the scenarios that share a tag's value."""

    passed: int
    failed: int
    errored: int
    skipped: int

    @property
    def total(self) -> int:
        """All of them."""
        ...

    @property
    def pass_rate(self) -> float | None:
        """Passed among those that were not skipped."""
        ...


class GroupedLike(Protocol):
    """A suite's results by the values of a tag."""

    key: str

    @property
    def groups(self) -> Mapping[str | None, GroupLike]:
        """The counts of each value; None stands for "no such tag"."""
        ...


class SuiteLike(Protocol):
    """What a suite's result has."""

    results: list[ScenarioResult[Any]]
    seconds: float
    recommendation: str | None

    def group_by(self, key: str) -> GroupedLike:
        """The counts for each value of a tag."""
        ...


def print_report(
    result: SuiteLike,
    console: Console | None = None,
    group_by: str | None = None,
    max_failures: int | None = None,
) -> None:
    """Print what a suite found: a symbol per scenario, what failed and why, and the counts.

    Parameters
    ----------
    console
        Where to; stdout when it is None.
    group_by
        A tag's name: adds a table of the counts for each of its values.
    max_failures
        How many failing scenarios are shown one by one; all of them when it is None.
    """
    page = Page(console)
    name = getattr(result, "suite_name", None) or getattr(getattr(result, "suite", None), "name", None) or "Suite"
    page.rule(page.line(str(name)), count(len(result.results), "scenario"))
    statuses = [_status(item) for item in result.results]
    _symbols(page, statuses)
    blamed = [item for item, status in zip(result.results, statuses, strict=True) if status in {"fail", "error"}]
    shown = blamed if max_failures is None else blamed[: max(0, max_failures)]
    for item in shown:
        page.add()
        _failure(page, item)
    hidden = len(blamed) - len(shown)
    if hidden:
        page.add()
        note = f"{count(hidden, 'more failing scenario')} not shown one by one (GISKARD_CHECKS_MAX_REPORTED_FAILURES)"
        page.paragraph(f"{page.glyphs.more} {note}", "dim")
    _alike(page, result.results, statuses, blamed, hidden)
    if group_by is not None:
        _groups(page, result.group_by(group_by))
    _summary(page, result, statuses)
    if result.recommendation and result.recommendation.strip():
        _recommendation(page, result.recommendation)
    page.flush()


def _status(result: ScenarioResult[Any]) -> str:
    """Its state; "nothing" for a pass in which nothing was checked."""
    return "nothing" if result.nothing_checked else result.status.value


# --- the parts of a suite's report -------------------------------------------------------


def _symbols(page: Page, statuses: Sequence[str]) -> None:
    """A symbol for each scenario, in order."""
    glyphs = page.glyphs
    symbols = {
        "pass": glyphs.passed,
        "fail": glyphs.failed,
        "error": glyphs.errored,
        "skip": glyphs.skipped,
        "nothing": glyphs.nothing,
    }
    total = f"{len(statuses):,}"
    width = page.width - 2 * len(total) - 7
    for begin in range(0, len(statuses), width):
        row = statuses[begin : begin + width]
        spans = [(symbols[status] * len(list(run)), status) for status, run in groupby(row)]
        end = begin + len(row)
        if len(statuses) > width:
            spans.append((f"{' ' * (width - len(row))}  {end:>{len(total)},} / {total}", "dim"))
        page.add(("  ", ""), *spans)


def _failure(page: Page, result: ScenarioResult[Any]) -> None:
    """A panel on a scenario that failed: where, why, and the turns concerned."""
    status = result.status.value
    width = page.inner
    turns = result.final_trace.interactions
    rows: list[Row] = []
    name = page.line(result.scenario_name)
    if size(name) > page.width - 20:
        rows += _lines(page.text(result.scenario_name, 1_000), width, "bold")
    rows += _lines(about(page, result), width, "dim")
    rows += place_rows(page, place_of(result), width)
    concerned: set[int] = set()
    for number, (step, added) in enumerate(zip(result.steps, sections(result.steps, len(turns)), strict=True)):
        checks = ordered(step.results)
        if not checks and step.error is None:
            continue
        rows += _lines(where(number, len(result.steps), added, len(turns)), width, "dim")
        if step.error is not None:
            rows += error_rows(page, step.error, width, _SHORT)
            if added:
                concerned.add(added.stop - 1)
        for check in checks:
            rows += check_rows(page, check, width, _SHORT)
            index = turn_of_check(check, added)
            if index is not None:
                concerned.add(index)
    rest = rest_row(page, [check for step in result.steps for check in step.results])
    if rest:
        rows += _lines(rest, width, "dim")
    rows.append([])
    rows += _conversation(page, result, concerned, width)
    page.panel([mark_of(page, status), (name, "bold")], status.upper(), rows, status)


def _lines(text: str, width: int, style: str) -> Iterator[Row]:
    return ([(line, style)] for line in (wrap(text, width) if text else []))


def _conversation(page: Page, result: ScenarioResult[Any], concerned: set[int], width: int) -> Iterator[Row]:
    """The turns that a failure is about; the last one when nothing says which."""
    trace = result.final_trace
    turns = trace.interactions
    own = trace_rows(page, trace, width, _SHORT)
    if own is not None:
        yield from own
        return
    if not turns:
        yield [("no turn was finished", "dim")]
        return
    chosen = sorted(concerned or {len(turns) - 1})[-_TURNS:]
    for index in chosen:
        yield from turn_rows(page, turns, index, width, _SHORT)


def _alike(
    page: Page,
    results: Sequence[ScenarioResult[Any]],
    statuses: Sequence[str],
    blamed: Sequence[ScenarioResult[Any]],
    hidden: int,
) -> None:
    """Reasons that are alike, skipped scenarios, warnings, and passes in which nothing was checked."""
    reasons = group_reasons(blamed)
    if hidden or (len(blamed) > 3 and len(reasons) < len(blamed)):
        _reasons(page, f"Why {count(len(blamed), 'scenario')} did not pass", reasons)
    by_status = {
        state: [item for item, status in zip(results, statuses, strict=True) if status == state]
        for state in ("skip", "nothing")
    }
    if by_status["skip"]:
        _reasons(
            page, f"Skipped: {_of(len(by_status['skip']), len(results))}", group_reasons(by_status["skip"], "skip")
        )
    if by_status["nothing"]:
        page.add()
        page.rule(f"Nothing was checked: {_of(len(by_status['nothing']), len(results))}")
        page.paragraph(_names(page, [item.scenario_name for item in by_status["nothing"]]), "nothing")
    warnings = group_reasons(results, "warning")
    if warnings:
        _reasons(page, "Warnings", warnings)


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {count(whole, 'scenario')}"


def _reasons(page: Page, title: str, reasons: Sequence[Reason]) -> None:
    page.add()
    page.rule(title)
    shown = reasons[:_REASONS]
    for reason in shown:
        number = count(len(reason.scenarios), "scenario")
        glyph, style = mark_of(page, reason.status)
        message = f": {page.line(reason.message, 500)}" if reason.message else ""
        text = f"{number}: {page.line(reason.check, 200)}{message}"
        for position, line in enumerate(wrap(text, page.width - 4)):
            page.add((f"  {glyph} " if position == 0 else "    ", style), (line, ""))
        page.paragraph(_names(page, reason.scenarios), "dim", indent=6)
    if len(reasons) > len(shown):
        rest = sum(len(reason.scenarios) for reason in reasons[_REASONS:])
        page.paragraph(f"{page.glyphs.more} {count(len(reasons) - _REASONS, 'more reason')}, {rest:,} times", "dim")


def _names(page: Page, names: Sequence[str]) -> str:
    """The first few names, as many as fit in a row; at least one."""
    shown: list[str] = []
    room = page.width - 24
    for name in names[:_NAMES]:
        text = fit(page.line(name), 60, page.glyphs.more)
        room -= size(text) + 2
        if shown and room < 0:
            break
        shown.append(text)
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def _groups(page: Page, grouped: GroupedLike) -> None:
    """A table of the counts for each value of a tag."""
    from rich.padding import Padding  # noqa: PLC0415 - only this part of a report needs it
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    page.add()
    page.rule(f"By {page.line(grouped.key, 100)}")
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column(Text(page.line(grouped.key, 60)), overflow="fold", max_width=page.width // 3)
    for title in ("passed", "failed", "errored", "skipped", "total", "pass rate"):
        table.add_column(title, justify="right", no_wrap=True)
    wide = page.width >= _WIDE
    table.add_column("", no_wrap=True)
    for value, group in sorted(grouped.groups.items(), key=lambda item: item[0] is None):
        label = f"(no {grouped.key})" if value is None else value or "(without a value)"
        rate = group.pass_rate
        counts = {"pass": group.passed, "fail": group.failed, "error": group.errored, "skip": group.skipped}
        cells = [Text(f"{number:,}", style=_COLOURS[state] if number else "dim") for state, number in counts.items()]
        table.add_row(
            Text(page.line(label, 200)),
            *cells,
            f"{group.total:,}",
            page.glyphs.dash if rate is None else percent(rate),
            Text("" if rate is None or not wide else _bar(page, rate), style="green"),
        )
    page.show(Padding(table, (0, 2)))


_COLOURS = {"pass": "green", "fail": "red", "error": "magenta", "skip": "yellow"}


def _bar(page: Page, rate: float, width: int = 10) -> str:
    full = min(int(rate * width), width)
    return page.glyphs.full * full + page.glyphs.empty * (width - full)


def _summary(page: Page, result: SuiteLike, statuses: Sequence[str]) -> None:
    """The counts with what they are of, the pass rate, the duration."""
    total = len(statuses)
    numbers = {state: statuses.count(state) for state in ("pass", "fail", "error", "skip", "nothing")}
    numbers["pass"] += numbers["nothing"]
    page.add()
    page.rule("Summary")
    words = {"pass": "passed", "fail": "failed", "error": "errored", "skip": "skipped"}
    spans: Row = []
    for state, word in words.items():
        glyph, style = mark_of(page, state)
        if spans:
            spans.append(("   ", ""))
        spans.append((f"{glyph} {numbers[state]:,} {word}", style if numbers[state] else "dim"))
    spans.append((f"   of {count(total, 'scenario')}", ""))
    page.add_rows(flowing(spans, page.width - 2))
    counted = total - numbers["skip"]
    if not counted:
        shown = f"{page.glyphs.dash}  nothing counts: {'there are no scenarios' if not total else 'all were skipped'}"
    else:
        skipped = f"; {numbers['skip']:,} skipped" if numbers["skip"] else ""
        shown = f"{percent(numbers['pass'] / counted)}  ({numbers['pass']:,} of {counted:,}{skipped})"
    _fact(page, "Pass rate", shown)
    if numbers["nothing"]:
        _fact(
            page, "Unchecked", f"in {numbers['nothing']:,} of {numbers['pass']:,} passed nothing was checked", "nothing"
        )
    checks = [check for item in result.results for step in item.steps for check in step.results]
    _fact(page, "Checks", tally(checks))
    models = spent(checks)
    if models is not None:
        _fact(page, "Models", models.text, "error" if models.warns else "")
    _fact(page, "Duration", duration(result.seconds))


def _fact(page: Page, label: str, text: str, style: str = "") -> None:
    for number, line in enumerate(wrap(text, page.width - 13)):
        page.add((f"  {label:<11}" if number == 0 else " " * 13, "label"), (line, style))


def _recommendation(page: Page, text: str) -> None:
    from rich.markdown import Markdown  # noqa: PLC0415 - only this part of a report needs it
    from rich.padding import Padding  # noqa: PLC0415

    page.add()
    page.rule("Recommendation")
    # Links are written out: what they lead to can be seen.
    page.show(Padding(Markdown(page.text(text, 20_000), hyperlinks=False), (0, 2)))
