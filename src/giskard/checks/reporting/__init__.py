"""Results on the terminal: reports and a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giskard.checks.utils.lazy import lazy_names

if TYPE_CHECKING:
    from giskard.checks.reporting.progress import progress_observer
    from giskard.checks.reporting.suite import print_report, print_scenario, print_test_case

__all__ = ["print_report", "print_scenario", "print_test_case", "progress_observer"]

# The terminal library is only loaded when something is printed.
__getattr__ = lazy_names(
    __name__,
    {"progress": ["progress_observer"], "suite": ["print_report", "print_scenario", "print_test_case"]},
)
