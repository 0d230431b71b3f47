"""Where in a conversation, in which line of code, and in which file of recordings, something happened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from os.path import abspath, dirname, normcase, sep
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from giskard.checks.core.check_result import CheckResult
    from giskard.checks.core.result import TestCaseResult

__all__ = ["name_of_recording", "raised_at", "recorded_at", "sections", "turn_of_check", "users_part", "where"]


def sections(steps: Sequence[TestCaseResult], total: int) -> list[range]:
    """The turns that each step added to a conversation of `total` turns."""
    found: list[range] = []
    begin = 0
    for number, step in enumerate(steps, 1):
        last = step.last_interaction_index
        end = begin if last is None else min(total, max(begin, last + 1))
        if number == len(steps) or (step.error is not None and last is None and _rest_is_empty(steps[number:])):
            end = total
        found.append(range(begin, end))
        begin = end
    return found


def _rest_is_empty(steps: Iterable[TestCaseResult]) -> bool:
    return all(step.last_interaction_index is None for step in steps)


def recorded_at(annotations: Mapping[str, Any]) -> str | None:
    """Where a conversation was recorded, ``"logs/a.jsonl:17"``; None when its annotations say nothing of it.

    Of a conversation that went on from a recording it is the place of that one.
    """
    if not annotations:
        return None
    for known in (annotations, annotations.get("recorded")):
        source = cast("Mapping[str, Any]", known).get("source") if isinstance(known, Mapping) else None
        path = cast("Mapping[str, Any]", source).get("path") if isinstance(source, Mapping) else None
        if isinstance(path, (str, PathLike)) and (text := fspath(cast("str", path))):
            line = cast("Mapping[str, Any]", source).get("line")
            return f"{text}:{line}" if isinstance(line, int) else text
    return None


def name_of_recording(annotations: Mapping[str, Any]) -> str | None:
    """What a recorded conversation is called when nobody named it: its place, else its own id; None without either."""
    if (place := recorded_at(annotations)) is not None:
        return place
    own = annotations.get("conversation_id")
    return str.__str__(own) if isinstance(own, str) and own.strip() else None


_TURN_IN_PATH = re.compile(r"^trace\.interactions\[(-?\d+)\]")


def turn_of_check(check: CheckResult, turns: range) -> int | None:
    """The index of the turn that a check is about: the one that it names, else the one that its path names.

    When there is neither, it is the last one of `turns`, which the check saw last.
    """
    named = check.details.get("turn")
    if isinstance(named, int) and not isinstance(named, bool) and 0 <= named < turns.stop:
        return named
    spec = check.details.get("check_spec")
    key = cast("dict[str, Any]", spec).get("target_key") if isinstance(spec, dict) else None
    match = _TURN_IN_PATH.match(key) if isinstance(key, str) else None
    if match is None:
        return turns.stop - 1 if turns.stop else None
    index = int(match[1])
    index = index + turns.stop if index < 0 else index
    return index if 0 <= index < turns.stop else None


def where(number: int, steps: int, added: range, turns: int) -> str:
    """Where in the conversation a step's checks ran; nothing when there is only one place."""
    parts: list[str] = []
    if steps < 2:
        return ""
    parts.append(f"step {number + 1} of {steps}")
    if turns > 1:
        parts.append(f"after turn {added.stop} of {turns}" if added.stop else "before the first turn")
    return ", ".join(parts)


_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)$', re.MULTILINE)
_PACKAGE = normcase(dirname(dirname(abspath(__file__))) + sep)


def raised_at(traceback: str) -> str | None:
    """``"path:line in function"`` of the last frame of a traceback's text that is not in this package."""
    frames = _FRAME.findall(traceback[-20_000:])
    if not frames:
        return None
    path, number, function = next((found for found in reversed(frames) if not _is_ours(found[0])), frames[-1])
    return f"{path}:{number} in {function}"


def users_part(traceback: str) -> Iterator[str]:
    """The lines of a traceback without those of frames in this package, unless there are no others."""
    lines = traceback.rstrip().split("\n")
    paths = [match[1] for match in map(_FRAME.match, lines) if match]
    hide = not all(map(_is_ours, paths))
    hidden = False
    for line in lines:
        match = _FRAME.match(line)
        if match:
            hidden = hide and _is_ours(match[1])
        elif not line.startswith("    "):
            hidden = False
        if not hidden:
            yield line


def _is_ours(path: str) -> bool:
    return normcase(path).startswith(_PACKAGE)
