"""Whether somebody looks at what is written."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["is_watched"]

_OFF = frozenset({"", "0", "false", "no", "off"})


def is_watched(stream: Any) -> bool:
    """Whether `stream` is a terminal on which something may move: not in CI, and no dumb one.

    A stream that is None, closed, or no real file is looked at by nobody.
    """
    if os.environ.get("CI", "").strip().lower() not in _OFF or os.environ.get("TERM", "").lower() == "dumb":
        return False
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError, OSError):
        return False
