"""The tags between which models think aloud."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["THOUGHT"]

THOUGHT: Final = re.compile(
    r"<(/?)(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)\b[^<>]{0,80}>|\[(/?)THINK\]",
    re.IGNORECASE,
)
"""A tag; one of the two groups holds a slash when it ends a thought."""
