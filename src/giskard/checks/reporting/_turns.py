"""The turns of a conversation in a report: what was sent, which tools were called, what came back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from giskard.checks.core.assertions import told_of
from giskard.checks.core.call_lines import call_text, calls_in, items_in, outcome_of
from giskard.checks.core.usage import value_of
from giskard.checks.reporting._page import Page, Row, size
from giskard.checks.reporting._parts import Limits, count, labelled, mark_of
from giskard.checks.utils.text import plain_text, quoted

__all__ = ["trace_rows", "turn_rows"]

_CALL = Limits(value=500, rows=4)
_GIVEN = Limits(value=240, rows=3)
_NOTED = Limits(value=400, rows=3)
_MOST_ROWS = 40  # of calls, of a turn that is not shown in full
# Figures of a whole turn; a report counts them where it counts.
_LEFT_OUT = frozenset({"usage"})


def turn_rows(
    page: Page, turns: Sequence[Any], index: int, width: int, limits: Limits, *, status: str = "", full: bool = False
) -> Iterator[Row]:
    """A turn: what was sent, which tools were called, what came back; with `full` also the rest of its metadata."""
    turn = turns[index]
    heading: Row = [(f"turn {index + 1} of {len(turns)}", "label")]
    if status:
        glyph, style = mark_of(page, status)
        heading.append((f" {glyph}", style))
    metadata = told_of(turn.metadata)
    if metadata.pop("incomplete", None) is True:
        heading.append((" (incomplete: no answer was recorded)", "skip"))
    yield heading
    yield from labelled(page, "  inputs   ", plain_text(turn.inputs), width, limits)
    doings = list(_doings(page, metadata, width, limits))
    if not full and len(doings) > _MOST_ROWS:
        note = f"    {page.glyphs.more} {count(len(doings) - _MOST_ROWS, 'more line')}"
        doings[_MOST_ROWS // 2 : -(_MOST_ROWS // 2)] = [[(note, "dim")]]
    yield from doings
    yield from labelled(page, "  outputs  ", plain_text(turn.outputs), width, limits)
    if not full:
        return
    yield from _recorded(page, metadata, width, limits)
    known = ", ".join(f"{key}={quoted(value)}" for key, value in metadata.items() if key not in _LEFT_OUT)
    if known:
        yield from labelled(page, "  metadata ", known, width, _NOTED, style="dim")


def _recorded(page: Page, metadata: dict[str, Any], width: int, limits: Limits) -> Iterator[Row]:
    """What was answered in the recording that this turn was made from; it is taken out of `metadata`."""
    recorded = metadata.get("recorded")
    if isinstance(recorded, Mapping) and "outputs" in recorded:
        del metadata["recorded"]
        known = cast("Mapping[str, Any]", recorded)
        names = ", ".join(plain_text(value_of(call, "name")) for call in calls_in(known) or ())
        after = f" (after it called {names})" if names else ""
        answer = "no answer" if known.get("incomplete") is True else plain_text(known["outputs"])
        yield from labelled(page, "  recorded ", answer + after, width, limits, style="dim")


# --- what the assistant did before its answer --------------------------------------------


def _doings(page: Page, metadata: dict[str, Any], width: int, limits: Limits) -> Iterator[Row]:
    """What was said and called, in order, as far as it is in a form that is known; it is taken out of `metadata`."""
    calls, texts = calls_in(metadata), _texts(metadata)
    if calls is not None:
        del metadata["tool_calls"]
    if texts is not None:
        del metadata["intermediate"]
    said, groups = texts or [], _groups(calls or [])
    while groups or said:
        at = _position(groups[0][0]) if groups else None
        if said and (at is None or (_position(said[0]) or 0) <= at):
            yield from labelled(page, "  said     ", plain_text(_text(said.pop(0))), width, limits)
        else:
            yield from _group_rows(page, groups.pop(0), width, limits)


def _texts(metadata: Mapping[str, Any]) -> list[Any] | None:
    """What was said before the answer; None when it is no list of texts, with the places of their messages or not."""
    return items_in(metadata.get("intermediate"), _text)


def _text(said: Any) -> Any:
    return said if isinstance(said, str) else value_of(said, "text") or value_of(said, "content")


def _position(item: Any) -> int | None:
    position = None if isinstance(item, str) else value_of(item, "message_index")
    return position if isinstance(position, int) else None


def _groups(calls: Sequence[Any]) -> list[list[Any]]:
    """The calls, those together that one message made: they ran at the same time."""
    groups: list[list[Any]] = []
    for call in calls:
        at = _position(call)
        if at is not None and groups and _position(groups[-1][-1]) == at:
            groups[-1].append(call)
        else:
            groups.append([call])
    return groups


def _group_rows(page: Page, calls: Sequence[Any], width: int, limits: Limits) -> Iterator[Row]:
    label = f"  {page.glyphs.arrow} "
    if len(calls) == 1:
        yield from _call_rows(page, calls[0], label, width, limits)
        return
    yield [(label, "tool"), (f"{len(calls)} calls at once", "dim")]
    for call in calls:
        yield from _call_rows(page, call, " " * size(label), width, limits)


def _call_rows(page: Page, call: Any, label: str, width: int, limits: Limits) -> Iterator[Row]:
    """``→ get_order(id="A1")``, and in the rows below what it gave back, or that it gave nothing."""
    compact = Limits(value=min(limits.value, _CALL.value), rows=_CALL.rows)
    yield from labelled(page, label, call_text(call), width, compact, style="tool", label_style="tool")
    indent = " " * (size(label) if label.strip() else size(label) + 2)
    if (problem := value_of(call, "arguments_error")) is not None:
        yield from labelled(page, f"{indent}bad arguments: ", plain_text(problem), width, compact, style="fail")
    what, text = outcome_of(call)
    if what == "error":
        yield from labelled(page, f"{indent}error ", text, width, compact, style="fail")
    elif what == "gave":
        yield from labelled(page, f"{indent}gave ", text, width, _GIVEN, style="dim")
    elif text:
        yield [(indent, ""), (text, "skip")]


def trace_rows(page: Page, trace: Any, width: int, limits: Limits) -> list[Row] | None:
    """A conversation as its own class renders it; None when it leaves that to us, or fails to, or is not asked."""
    kind = cast("type[Any]", type(trace))
    if page.is_plain:
        return None
    if not hasattr(kind, "__rich_console__") and not hasattr(kind, "__rich__"):
        return None
    return page.rendered(trace, width, limits.trace)
