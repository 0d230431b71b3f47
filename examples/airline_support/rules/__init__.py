"""The rules of the support lead, each decided by code."""

from __future__ import annotations

from typing import Any

from giskard.checks import Check

# The order of these imports is the order of the rules in the report.
from . import consent, telling, looking_up, money, policy, form  # isort: skip
from .base import RULES
from .form import When, built_in_rules

__all__ = ["RULES", "When", "consent", "form", "looking_up", "money", "policy", "rules", "telling"]


def rules() -> list[Check[Any, Any, Any]]:
    """All rules as checks, to be put on a test case."""
    return [*(rule.check() for rule in RULES), *built_in_rules()]
