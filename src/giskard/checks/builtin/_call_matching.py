"""Calls of tools and what was expected of them, one to one."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from giskard.checks.builtin._assignment import assignment
from giskard.checks.builtin._call_patterns import CallPattern, check_size, read_once
from giskard.checks.builtin._calls import Called

__all__ = ["fits", "in_place", "longest_prefix", "same_in_order"]


def fits(patterns: Sequence[CallPattern], calls: Sequence[Called]) -> bool:
    """Whether the fewer of the two can each have one of the others: a pattern and a call that it matches."""
    check_size(len(patterns), len(calls))
    read = [read_once(called.call) for called in calls]
    missed = [[0 if pattern.matches(call) else 1 for call in read] for pattern in patterns]
    if len(patterns) > len(calls):
        missed = [list(column) for column in zip(*missed, strict=True)] if calls else []
    if not all(0 in row for row in missed):
        return False
    return all(missed[row][column] == 0 for row, column in enumerate(assignment(missed)))


def same_in_order(patterns: Sequence[CallPattern], calls: Sequence[Called]) -> bool:
    """Whether the calls are those of `patterns` in an order that they may have been made in.

    Calls of one group have no order, and groups have one: the first patterns are for the first group, as many of them
    as it has calls.
    """
    if len(patterns) != len(calls):
        return False
    first = 0
    for _, members in groupby(calls, key=lambda called: called.group):
        group = list(members)
        if not fits(patterns[first : first + len(group)], group):
            return False
        first += len(group)
    return True


def in_place(order: Sequence[int]) -> int:
    """How many of these groups can stay where they are when the others are moved so that none goes down."""
    tails: list[int] = []
    for group in order:
        position = bisect_right(tails, group)
        tails[position : position + 1] = [group]
    return len(tails)


def longest_prefix(tools: Sequence[str], calls: Sequence[Called]) -> tuple[int, list[Called]]:
    """How many of the first `tools` were called in this order, and the calls of these.

    Other calls may stand between them, and calls of one group have no order.  Each group gives as many as it can: who
    has come further in the list after a group can do all that somebody can who has not, so no other way leads further.
    """
    done = 0
    found: list[Called] = []
    for _, members in groupby(calls, key=lambda called: called.group):
        left: defaultdict[str, list[Called]] = defaultdict(list)
        for called in members:
            left[called.call.name].append(called)
        while done < len(tools) and left[tools[done]]:
            found.append(left[tools[done]].pop(0))
            done += 1
    return done, found
