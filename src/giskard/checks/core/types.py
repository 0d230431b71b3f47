"""Types that every room shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from typing_extensions import TypeVar

from giskard.checks.utils.missing import MISSING

if TYPE_CHECKING:
    from giskard.checks.core.interaction.trace import Trace

__all__ = ["MISSING", "In", "Out", "Target", "TraceT"]

In = TypeVar("In", default=Any)
Out = TypeVar("Out", default=Any)
TraceT = TypeVar("TraceT", bound="Trace", default=Any)

Target: TypeAlias = Callable[..., Any]
"""A system under test: any callable that turns inputs into outputs, sync, async or streaming."""
