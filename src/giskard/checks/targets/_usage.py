"""What a call used, in whichever words and form it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from giskard.checks.core.usage import Usage

__all__ = ["usage_of", "value_of"]


def value_of(value: Any, name: str) -> Any:
    """What goes by `name` in a mapping, or in an object; None when nothing does."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return getattr(value, name, None)


def usage_of(given: Any) -> Usage | None:
    """The tokens of one answer, told by a mapping or an object; None when it tells of none."""
    sent = _count(given, "input_tokens", "prompt_tokens")
    made = _count(given, "output_tokens", "completion_tokens")
    total = _count(given, "total_tokens")
    if sent is None and made is None and total is None:
        return None
    if total is None and sent is not None and made is not None:
        total = sent + made
    calls = _count(given, "requests", "successful_requests")
    return Usage(input_tokens=sent, output_tokens=made, total_tokens=total, calls=1 if calls is None else calls)


def _count(data: Any, *names: str) -> int | None:
    values = (value_of(data, name) for name in names)
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), None)
