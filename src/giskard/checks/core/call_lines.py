"""The calls that a turn made, as people are shown them: what was called, with what, and what it gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from giskard.checks.core.usage import value_of
from giskard.checks.utils.text import plain_text, quoted

__all__ = ["call_text", "calls_in", "items_in", "lines_of_calls", "outcome_of"]


def calls_in(metadata: Mapping[str, Any]) -> list[Any] | None:
    """The calls of tools in a turn's metadata; None when they are no list of things with a name."""
    return items_in(metadata.get("tool_calls"), lambda call: value_of(call, "name"))


def items_in(found: Any, read: Callable[[Any], Any]) -> list[Any] | None:
    """A list, when there is something to read in each of its items."""
    items = list(cast("Sequence[Any]", found)) if isinstance(found, (list, tuple)) else []
    try:
        return items if items and all(read(item) for item in items) else None
    except Exception:  # an object of somebody else
        return None


def call_text(call: Any) -> str:
    """A call as it would be written in Python, with the agent that made it: ``billing: get_order(id="A1")``."""
    agent = value_of(call, "agent")
    arguments = value_of(call, "arguments")
    if isinstance(arguments, Mapping):
        known = cast("Mapping[str, Any]", arguments)
        inside = ", ".join(f"{key}={quoted(value)}" for key, value in known.items())
    else:
        inside = "" if arguments is None else plain_text(arguments)
    return f"{f'{plain_text(agent)}: ' if agent else ''}{plain_text(value_of(call, 'name'))}({inside})"


def outcome_of(call: Any) -> tuple[str, str]:
    """What came of a call: ``"error"`` or ``"gave"``, and the text; only a text when no result was recorded."""
    error, result = value_of(call, "error"), value_of(call, "result")
    if error is not None:
        return "error", plain_text(error)
    if result is not None:
        return "gave", plain_text(result)
    return "", "no result was recorded" if value_of(call, "answered") is False else ""


def lines_of_calls(metadata: Mapping[str, Any], show: Callable[[str], str], most: int = 10) -> Iterator[str]:
    """A line for each call, and below it what came of it; of many calls the first and the last ones.

    Parameters
    ----------
    show
        Makes a text fit for a line.
    most
        How many calls are shown.
    """
    calls = calls_in(metadata) or []
    left_out = range(most // 2, len(calls) - most // 2) if len(calls) > most else range(0)
    for index, call in enumerate(calls):
        if index in left_out:
            if index == left_out.start:
                yield f"… {len(left_out):,} more call{'' if len(left_out) == 1 else 's'}"
            continue
        yield f"→ {show(call_text(call))}"
        label, text = outcome_of(call)
        if text:
            yield f"    {show(f'{label} {text}'.lstrip())}"
