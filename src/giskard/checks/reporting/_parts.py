"""The parts that reports are made of: checks with their reasons, errors, and what is known of a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from typing import Any

from giskard.checks.core.assertions import expects_it
from giskard.checks.core.places import raised_at, recorded_at, users_part
from giskard.checks.core.result import CheckResult, ScenarioResult, TestCaseError
from giskard.checks.reporting._page import Page, Row, Span, fit, size, wrap
from giskard.checks.utils.text import quoted, short_number

__all__ = [
    "Limits",
    "about",
    "check_rows",
    "count",
    "duration",
    "error_rows",
    "flowing",
    "labelled",
    "mark_of",
    "ordered",
    "percent",
    "place_of",
    "place_rows",
    "rest_row",
    "tally",
]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is shown of what may be long.

    Parameters
    ----------
    value
        Characters of one value.
    rows
        Rows of one value.
    message
        Characters of a message.
    trace
        Rows of a conversation that renders itself.
    traceback
        Rows of a traceback, from its end; 0 shows only where the error was raised.
    """

    value: int = 600
    rows: int = 8
    message: int = 1_000
    trace: int = 40
    traceback: int = 0


def count(number: int, noun: str) -> str:
    """``"1 turn"``, ``"2,000 turns"``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def percent(rate: float) -> str:
    """A rate from 0 to 1 in percent; only what is all of it is 100 %, only nothing is 0 %."""
    if rate in {0, 1}:
        return f"{rate * 100:.0f} %"
    return f"{min(99.9, max(0.1, rate * 100)):.1f} %"


def mark_of(page: Page, status: str) -> Span:
    """The mark of a check's or a step's state."""
    glyphs = page.glyphs
    marks = {"pass": glyphs.check, "fail": glyphs.failed, "error": glyphs.errored, "skip": glyphs.skipped}
    return marks[status], status


# --- checks ------------------------------------------------------------------------------


def check_rows(page: Page, check: CheckResult, width: int, limits: Limits) -> Iterator[Row]:
    """A check's mark, name and reason; what was expected and what came, its numbers, its traceback."""
    mark = mark_of(page, check.status.value)
    name = page.line(check.name)
    note = ""
    if check.failed and check.severity == "warning":
        mark, note = (mark[0], "skip"), " (warning)"
    elif check.errored and check.error_kind:
        note = f" [{page.line(check.error_kind, 60)}]" + (" may pass when tried again" if check.retryable else "")
    head: Row = [mark, (" ", ""), (name, "bold"), (note, "dim")]
    yield from _with_message(page, head, check.message, width, limits)
    if not check.passed:
        yield from _compared(page, check.details, width, limits)
        traceback = check.details.get("traceback")
        if isinstance(traceback, str):
            yield from traceback_rows(page, traceback, width, limits)
    for metric in check.metrics:
        yield [("    ", ""), (fit(f"{page.line(metric.name, 60)} = {short_number(metric.value)}", width - 4), "dim")]


def _with_message(page: Page, head: Row, message: str | None, width: int, limits: Limits) -> Iterator[Row]:
    """`head`, with the message behind it when there is room, else below it."""
    used = sum(size(text) for text, _ in head)
    if used > width:
        rest = width - sum(size(text) for text, _ in head[:2])
        for number, line in enumerate(wrap("".join(text for text, _ in head[2:]), rest)):
            yield [*(head[:2] if number == 0 else [("  ", "")]), (line, "bold")]
        used = width
    if not message:
        if used < width:
            yield head
        return
    shown = page.text(message, limits.message)
    if used < width and "\n" not in shown and used + 2 + size(shown) <= width:
        yield [*head, (": ", "dim"), (shown, "")]
        return
    if used < width:
        yield head
    for line in wrap(shown, width - 4):
        yield [("    ", ""), (line, "")]


def _compared(page: Page, details: dict[str, Any], width: int, limits: Limits) -> Iterator[Row]:
    """What was expected and what came, one below the other; of long texts the part from where they differ."""
    if not expects_it(details):
        return
    pairs = (("    expected  ", "expected_value", "expected"), ("    got       ", "actual_value", "got"))
    shown = {key: quoted(details[key]) for _, key, _ in pairs if key in details}
    same = len(commonprefix(list(shown.values()))) - _CONTEXT  # noqa: RUF071 - of texts, not of paths
    if len(shown) == 2 and same > _CONTEXT and max(map(len, shown.values())) > limits.value // 2:
        yield [("    ", ""), (f"their first {same:,} characters are the same", "dim")]
        shown = {key: page.glyphs.more + text[same:] for key, text in shown.items()}
    for label, key, style in pairs:
        if key in shown:
            yield from labelled(page, label, shown[key], width, limits, style=style)


_CONTEXT = 40


def labelled(
    page: Page, label: str, value: str, width: int, limits: Limits, *, style: str = "", label_style: str = "label"
) -> Iterator[Row]:
    """A value behind its label, in as many rows as it needs and may have."""
    indent = size(label)
    lines = wrap(page.text(value, limits.value), max(10, width - indent))
    for number, line in enumerate(lines[: limits.rows]):
        yield [(label if number == 0 else " " * indent, label_style), (line, style)]
    if len(lines) > limits.rows:
        yield [(" " * indent, ""), (f"{page.glyphs.more} {count(len(lines) - limits.rows, 'more line')}", "dim")]


def error_rows(page: Page, error: TestCaseError, width: int, limits: Limits) -> Iterator[Row]:
    """What kept a step from being finished, and where it was raised."""
    glyph, style = mark_of(page, "error")
    phase = f" during {error.activity.replace('_', ' ')}" if error.activity else ""
    kind = f" [{page.line(error.error_kind, 60)}]" + (" may pass when tried again" if error.retryable else "")
    name = page.line(f"{error.exception_type}{phase}")
    head: Row = [(glyph, style), (" ", ""), (name, "bold"), (kind, "dim")]
    yield from _with_message(page, head, error.message, width, limits)
    # What is not the user's own code's says all of it in its message.
    if error.traceback and error.error_kind == "crash":
        yield from traceback_rows(page, error.traceback, width, limits)


def traceback_rows(page: Page, traceback: str, width: int, limits: Limits) -> Iterator[Row]:
    """A traceback without the frames of this package, or only the place that it ends at."""
    if limits.traceback:
        lines = page.text("\n".join(users_part(traceback)), 20_000).split("\n")
        if len(lines) > limits.traceback:
            left_out = len(lines) - limits.traceback
            yield [("    ", ""), (f"{page.glyphs.more} {count(left_out, 'earlier line')} of the traceback", "dim")]
        for line in lines[-limits.traceback :]:
            for part in wrap(line, width - 4):
                yield [("    ", ""), (part, "dim")]
        return
    place = raised_at(traceback)
    if place is not None:
        for part in wrap(page.line(f"raised at {place}"), width - 4):
            yield [("    ", ""), (part, "dim")]


def tally(checks: Iterable[CheckResult]) -> str:
    """How many checks ended in which state, and of how many."""
    numbers = {"passed": 0, "failed": 0, "errored": 0, "skipped": 0, "only warned": 0}
    for check in checks:
        warned = check.severity == "warning" and check.status == "fail"
        numbers["only warned" if warned else _WORDS[check.status]] += 1
    total = sum(numbers.values())
    if not total:
        return "no checks"
    return (
        ", ".join(f"{number:,} {word}" for word, number in numbers.items() if number) + f", of {count(total, 'check')}"
    )


_WORDS: dict[str, str] = {"pass": "passed", "fail": "failed", "error": "errored", "skip": "skipped"}


def rest_row(page: Page, results: Sequence[CheckResult]) -> str:
    """How the checks ended that are not shown one by one: how many passed, and why others were skipped.

    Of many reasons only the number of checks is told: a row of them would hide what failed.
    """
    passed = sum(result.passed for result in results)
    skips = Counter(result.message or "no reason was given" for result in results if result.skipped)
    parts = [f"{count(passed, 'check')} passed"] if passed else []
    if len(skips) > 2:
        parts.append(f"{count(skips.total(), 'check')} skipped, for {len(skips)} reasons")
    else:
        parts += [f"{count(number, 'check')} skipped ({page.line(why, 200)})" for why, number in skips.items()]
    return ", ".join(parts)


# --- a result as a whole ---------------------------------------------------------------


def about(page: Page, result: ScenarioResult[Any]) -> str:
    """Tags, attempts."""
    parts: list[str] = []
    if result.tags:
        parts.append("tags: " + ", ".join(page.line(tag, 100) for tag in result.tags[:20]))
    if result.multiple_runs > 1:
        parts.append(f"attempt {result.runs_executed} of at most {result.multiple_runs}")
    return f" {page.glyphs.dot} ".join(parts)


def place_rows(page: Page, recorded: str | None, width: int) -> Iterator[Row]:
    """Where a conversation was recorded, in a form that terminals and editors follow; nothing when nobody knows."""
    if recorded:
        for line in wrap(f"recorded at {page.line(recorded, 1_000)}", width):
            yield [(line, "dim")]


def place_of(result: ScenarioResult[Any]) -> str | None:
    """Where the conversation of a result was recorded, as far as its trace tells."""
    return recorded_at(result.final_trace.annotations)


def ordered(checks: Iterable[CheckResult]) -> list[CheckResult]:
    """The checks that are FAIL or ERROR: errors first, warnings last."""
    found = [check for check in checks if check.failed or check.errored]
    return sorted(found, key=lambda check: 0 if check.errored else 1 if check.severity == "error" else 2)


def flowing(spans: Row, width: int) -> Iterator[Row]:
    """`spans` in as many rows as they need; each of them stays whole."""
    row: Row = []
    used = 0
    for text, style in spans:
        if used and used + size(text) > width:
            yield [("  ", ""), *row]
            row, used = [], 0
            text = text.lstrip()  # noqa: PLW2901
        row.append((text, style))
        used += size(text)
    yield [("  ", ""), *row]
