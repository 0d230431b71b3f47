"""How many conversations were read, and what was not, with the reasons."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import dataclass, field

from giskard.checks.utils.text import cut, visible

__all__ = ["ImportReport", "ReasonCount", "Skipped"]

MOST_KEPT = 1_000
"""So many skips are kept one by one; the others are counted."""

_MOST_REASONS = 100
_PLACES = 3
_LONGEST = 300
_WIDTH = 80
_PLACE = " " * 6
_NUMBERS = re.compile(r"\d[\d,.]*|0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record of which nothing was read.

    Parameters
    ----------
    path, line
        Where it stands, as far as that is known.
    format
        What it was taken for; None when its format was not recognised.
    reason
        Why it was skipped.
    """

    path: str | None
    line: int | None
    format: str | None
    reason: str

    @property
    def place(self) -> str:
        """``path:line``, as far as they are known."""
        path = "<memory>" if self.path is None else self.path
        return path if self.line is None else f"{path}:{self.line}"


@dataclass(slots=True)
class ReasonCount:
    """How often something was skipped for a reason, numbers in it aside.

    Parameters
    ----------
    reason, format
        As of the first of them.
    places
        The first of them, as ``path:line``.
    """

    reason: str
    format: str | None
    count: int = 0
    places: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class ImportReport:
    """What a load found; it is complete once all traces were taken.

    Attributes
    ----------
    files
        How many files were opened.
    read
        How many conversations came out of them.
    incomplete
        How many of these have a turn without an answer.
    formats
        How many were read of each format, by its name.
    skipped
        What nothing was read of: the first 1,000.
    skipped_count
        How many there were.
    reasons
        The same by reason, in the order of their first appearance.
    notes
        What else whoever reads the traces should know.
    """

    skipped: list[Skipped] = field(default_factory=list[Skipped])
    files: int = 0
    read: int = 0
    incomplete: int = 0
    formats: Counter[str] = field(default_factory=Counter[str])
    skipped_count: int = 0
    notes: list[str] = field(default_factory=list[str])
    _reasons: dict[tuple[str | None, str], ReasonCount] = field(
        default_factory=dict[tuple[str | None, str], ReasonCount], repr=False
    )

    @property
    def reasons(self) -> list[ReasonCount]:
        """Why something was skipped, how often, and where first."""
        return list(self._reasons.values())

    def skip(self, path: str | None, line: int | None, format: str | None, reason: str) -> None:
        """Note a record of which nothing was read."""
        skipped = Skipped(path, line, format, cut(reason, _LONGEST))
        self.skipped_count += 1
        if len(self.skipped) < MOST_KEPT:
            self.skipped.append(skipped)
        key = (format, _NUMBERS.sub("0", skipped.reason))
        if key not in self._reasons and len(self._reasons) >= _MOST_REASONS:
            key, skipped = (None, ""), Skipped(path, line, None, "other reasons")
        count = self._reasons.setdefault(key, ReasonCount(skipped.reason, skipped.format))
        count.count += 1
        if len(count.places) < _PLACES:
            count.places.append(skipped.place)

    def note(self, text: str) -> None:
        """Add to the notes, once."""
        if text not in self.notes and len(self.notes) < _MOST_REASONS:
            self.notes.append(text)

    def __str__(self) -> str:
        by_format = ", ".join(f"{name} {count:,}" for name, count in self.formats.most_common())
        lines = [
            f"{_count(self.read, 'conversation')} read from {_count(self.files, 'file')}"
            + (f": {by_format}" if by_format else "")
        ]
        if self.incomplete:
            lines.append(f"{self.incomplete:,} incomplete: a turn in them has no answer")
        if self.skipped_count:
            lines.append(f"{_count(self.skipped_count, 'record')} skipped:")
        for reason in self._reasons.values():
            about = f"{reason.format}: " if reason.format else ""
            more = reason.count - len(reason.places)
            places = ", ".join(reason.places) + (f" and {more:,} more" if more else "")
            lines += [f"  {reason.count:,} x {about}{reason.reason}", f"{_PLACE}{places}"]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(part for line in lines for part in _wrapped(visible(line)))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _wrapped(line: str) -> list[str]:
    body = line.lstrip(" ")
    indent = " " * (len(line) - len(body))
    return textwrap.wrap(
        body,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=not line.startswith(_PLACE),  # a path is to be copied
        break_on_hyphens=False,
    ) or [line]
