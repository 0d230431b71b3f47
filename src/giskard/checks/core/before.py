"""What checks look at before the turns of their step: the world as it was, to be compared with what it is then."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from giskard.checks.core.attempt import cancellations, current_attempt
from giskard.checks.core.exceptions import LimitExceededError
from giskard.checks.core.failures import must_stop
from giskard.checks.core.limits import Limit
from giskard.checks.core.types import MISSING
from giskard.checks.utils.lazy import asyncio

if TYPE_CHECKING:
    from giskard.checks.core.check import Check
    from giskard.checks.core.interaction.trace import Trace

__all__ = ["look_before", "seen_before"]


async def look_before(checks: Iterable[Check], trace: Trace[Any, Any]) -> None:
    """Ask the checks of a step that want it for what they see now; what one of them raises is kept for its verdict."""
    attempt = current_attempt.get()
    for check in _that_look(checks):
        asked = cancellations()
        seen: Any
        try:
            seen = await _in_time(check, trace)
        except BaseException as error:
            if must_stop(error):
                raise
            seen = error
        if cancellations() > asked:  # somebody asked to stop, and the check made nothing of it
            raise asyncio.CancelledError
        if attempt is not None:
            attempt.seen_before[id(check)] = check, seen


def seen_before(check: Check) -> Any:
    """What `check` saw before the turns of the step that runs now; MISSING when it was not asked.

    An exception is what it raised then.
    """
    attempt = current_attempt.get()
    known = None if attempt is None else attempt.seen_before.get(id(check))
    return MISSING if known is None or known[0] is not check else known[1]


def _that_look(checks: Iterable[Check]) -> Iterator[Check]:
    """Those among the checks, and among those that they are made of, that look before."""
    for check in checks:
        if check.looks_before:
            yield check
        inner = check.inner_checks
        if inner:
            yield from _that_look(inner)


async def _in_time(check: Check, trace: Trace[Any, Any]) -> Any:
    if check.timeout is None:
        return await _seen(check, trace)
    seconds = check.timeout
    limit = Limit(lambda: f"timeout after {seconds:g} s in the check {check.label!r}, before the step", seconds=seconds)
    try:
        async with limit:
            return await _seen(check, trace)
    except LimitExceededError as error:
        return error


async def _seen(check: Check, trace: Trace[Any, Any]) -> Any:
    seen = check.look_before(trace)
    return await seen if inspect.isawaitable(seen) else seen
