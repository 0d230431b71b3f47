"""Words with which simulated users hang up, as they are found in what is read."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from giskard.checks.core.interaction.trace import Trace

__all__ = ["StopMarkers"]

_MARKER = re.compile(r"#{1,5} ?\w[\w -]{0,30}\w ?#{1,5}|[\[<]{0,2}[A-Z][A-Z_-]{2,30}[\]>]{0,2}")
_LONGEST = 50
_MOST_KINDS = 50


class StopMarkers:
    """Counts the conversations that end with a message of the user that is a marker, and nobody answered."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def see(self, trace: Trace[Any, Any]) -> None:
        """Look at a conversation of which a turn has no answer."""
        last: dict[str, Any] = trace.__dict__["interactions"][-1].__dict__
        said = last["inputs"]
        if last["outputs"] is not None or not isinstance(said, str) or len(said) > _LONGEST:
            return
        said = said.strip()
        if _MARKER.fullmatch(said) and (said in self._counts or len(self._counts) < _MOST_KINDS):
            self._counts[said] += 1

    def note(self, read: int) -> str | None:
        """What to do about a marker that ends more than half of the conversations that were read."""
        for marker, count in self._counts.most_common(1):
            if count > 1 and count > read / 2:
                return f"{count:,} conversations end with {marker!r}: stop_markers=[{marker!r}] takes it out"
        return None
