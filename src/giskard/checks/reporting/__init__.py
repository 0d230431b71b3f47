"""Results on the terminal: reports and a progress bar."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giskard.checks.reporting.progress import progress_observer
    from giskard.checks.reporting.suite import print_report, print_scenario, print_test_case

__all__ = ["print_report", "print_scenario", "print_test_case", "progress_observer"]


def __getattr__(name: str) -> Any:
    """Load a public name on first use: the terminal library is only loaded when something is printed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "progress" if name == "progress_observer" else "suite"
    return getattr(import_module(f"{__name__}.{module}"), name)
