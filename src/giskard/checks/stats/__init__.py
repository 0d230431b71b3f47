"""Statistics of verdicts: plain functions on numbers."""

from giskard.checks.stats.intervals import cohen_kappa, wilson_interval

__all__ = ["cohen_kappa", "wilson_interval"]
