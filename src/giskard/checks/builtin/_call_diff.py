"""How the calls that were made differ from those that were expected, in lines that a person reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from giskard.checks.builtin._assignment import assignment
from giskard.checks.builtin._call_matching import in_place
from giskard.checks.builtin._call_patterns import NOTHING_ALIKE, CallPattern, check_size, read_once
from giskard.checks.builtin._calls import Called, counted, show_call

__all__ = ["CallDiff", "call_diff", "first_blamed", "lines_of", "show_pattern"]

_MOST_LINES = 10
_MANY = 10_000  # pairs
_MOST_DIFFERENCES = 4


@dataclass(frozen=True, slots=True)
class CallDiff:
    """Which expected calls were made, and which were not.

    Parameters
    ----------
    same
        Positions of an expected call and of the call that is as it was expected.
    changed
        The same for calls of the same tool that have other arguments.
    missing
        Positions of expected calls that were not made.
    unexpected
        Positions of calls that nobody expected.
    moved
        How many calls stand in another place, where the order counts.
    """

    same: list[tuple[int, int]]
    changed: list[tuple[int, int]]
    missing: list[int]
    unexpected: list[int]
    moved: int

    def counts(self, *, missing: bool = True, unexpected: bool = True) -> str:
        """The numbers of all that differs, in words; see `lines_of`."""
        parts = [
            (len(self.changed), "changed"),
            (len(self.missing) if missing else 0, "missing"),
            (len(self.unexpected) if unexpected else 0, "unexpected"),
            (self.moved, "in another place"),
        ]
        return ", ".join(f"{number:,} {word}" for number, word in parts if number)


def call_diff(patterns: Sequence[CallPattern], calls: Sequence[Called], *, ordered: bool) -> CallDiff:
    """The nearest way to pair the expected calls with those that were made.

    As many as possible are paired that are as expected, then those that differ least; of equal ways the one that keeps
    calls nearest to their places.

    Parameters
    ----------
    ordered
        Whether it matters in which order they were made.
    """
    pairs = _pairs(patterns, calls)
    near = [pair for pair in pairs if pair[2] < NOTHING_ALIKE]
    same = sorted((expected, made) for expected, made, distance in near if distance == 0)
    changed = sorted((expected, made) for expected, made, distance in near if distance > 0)
    expected_ones = {expected for expected, _, _ in near}
    made_ones = {made for _, made, _ in near}
    kept = sorted(same + changed)
    return CallDiff(
        same,
        changed,
        [index for index in range(len(patterns)) if index not in expected_ones],
        [index for index in range(len(calls)) if index not in made_ones],
        len(kept) - in_place([calls[made].group for _, made in kept]) if ordered else 0,
    )


def _pairs(patterns: Sequence[CallPattern], calls: Sequence[Called]) -> list[tuple[int, int, int]]:
    """Positions of an expected and of a call, and how far the two are apart; all of the fewer are in it."""
    if not patterns or not calls:
        return []
    many = len(patterns) * len(calls) > _MANY
    check_size(len(patterns), len(calls))
    read = [read_once(called.call) for called in calls]
    apart = [[pattern.distance(call, rough=many) for call in read] for pattern in patterns]
    turned = len(patterns) > len(calls)
    rows = [list(column) for column in zip(*apart, strict=True)] if turned else apart
    longest = max(len(patterns), len(calls))
    step = longest**3 + 1  # of more weight than all the places together
    unlike = NOTHING_ALIKE * len(rows) + 1  # and of more weight than all that may differ
    costs = [
        [(distance + (unlike if distance else 0)) * step + (row - column) ** 2 for column, distance in enumerate(line)]
        for row, line in enumerate(rows)
    ]
    found = enumerate(assignment(costs))
    pairs = [(column, row) if turned else (row, column) for row, column in found]
    return [(expected, made, apart[expected][made]) for expected, made in pairs]


def lines_of(
    diff: CallDiff,
    patterns: Sequence[CallPattern],
    calls: Sequence[Called],
    *,
    missing: bool = True,
    unexpected: bool = True,
) -> list[str]:
    """A line for each difference, in the order of the expected calls, cut after ten of them.

    Parameters
    ----------
    missing, unexpected
        Whether these are differences.
    """
    marked: list[tuple[int, str]] = []
    for expected, made in diff.changed:
        problems = patterns[expected].differences(calls[made].call)
        text = "; ".join(problems[:_MOST_DIFFERENCES])
        if len(problems) > _MOST_DIFFERENCES:
            text += f"; and {len(problems) - _MOST_DIFFERENCES} more"
        shown = calls[made].shown_with(patterns[expected].named_in(problems[:_MOST_DIFFERENCES], calls[made].call))
        marked.append((expected, f"changed: {shown}: {text}"))
    if missing:
        marked += [(index, f"missing: {show_pattern(patterns[index])}") for index in diff.missing]
    lines = [line for _, line in sorted(marked, key=lambda item: item[0])]
    if unexpected:
        lines += [f"unexpected: {calls[index].shown}" for index in diff.unexpected]
    if diff.moved:
        lines.append(_order_line(diff, calls))
    return lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], f"and {len(lines) - _MOST_LINES} more"]


def _order_line(diff: CallDiff, calls: Sequence[Called]) -> str:
    swapped = first_moved(diff, calls)
    if swapped is None:
        return f"order: {counted(diff.moved, 'call')} in another place"
    before, after = swapped
    return f"order: {after.shown} came before {before.shown}"


def first_moved(diff: CallDiff, calls: Sequence[Called]) -> tuple[Called, Called] | None:
    """The first two calls that stand in another order than was expected: as they were expected."""
    kept = sorted(diff.same + diff.changed)
    found = (pair for pair in pairwise(made for _, made in kept) if calls[pair[0]].group > calls[pair[1]].group)
    first = next(found, None)
    return None if first is None else (calls[first[0]], calls[first[1]])


def first_blamed(diff: CallDiff, calls: Sequence[Called], *, unexpected: bool) -> Called | None:
    """The call that a reader wants to see: the first that is changed, unexpected, or in another place."""
    if diff.changed:
        return calls[diff.changed[0][1]]
    if unexpected and diff.unexpected:
        return calls[diff.unexpected[0]]
    moved = first_moved(diff, calls) if diff.moved else None
    return None if moved is None else moved[1]


def show_pattern(pattern: CallPattern) -> str:
    """What was expected, as a call."""
    name = pattern.name or "any tool"
    arguments: Any = pattern.arguments
    if arguments is None:
        return f"{name}(…)"
    if pattern.match == "exact":
        return show_call(name, arguments)
    if pattern.match == "schema":
        return f"{show_call(name, arguments)} by schema"
    return f"{show_call(name, arguments)} by regex" if pattern.match == "regex" else show_call(name, arguments)
