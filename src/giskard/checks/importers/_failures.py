"""What a format did wrong, as a reason for the report."""

from __future__ import annotations

import os
import sys
import traceback

__all__ = ["told"]

_OURS = "giskard.checks."


def told(error: BaseException, format: object) -> str:
    """The kind and the text of an error; for a format, or its class, that is not ours also the line that raised it."""
    kind = format if isinstance(format, type) else type(format)
    said = f"{type(error).__name__}: {error}"
    if kind.__module__.startswith(_OURS):
        return said
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return said
    home = getattr(sys.modules.get(kind.__module__), "__file__", None) or _file_of(kind)
    own = [frame for frame in frames if frame.filename == home]
    frame = own[-1] if own else frames[-1]
    return f"{said} ({_short(frame.filename)}:{frame.lineno})"


def _file_of(kind: type) -> str | None:
    """Where a class of no module with a file, one of a notebook, is written."""
    for name in ("convert", "read", "read_file"):
        code = getattr(getattr(kind, name, None), "__code__", None)
        if code is not None and kind.__dict__.get(name) is not None:
            return code.co_filename
    return None


def _short(path: str) -> str:
    """The path from the current folder on, for what lies in it."""
    here = os.path.join(os.getcwd(), "")
    return path.removeprefix(here)
