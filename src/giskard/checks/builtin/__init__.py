"""Checks that are decided by code, one file a family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giskard.checks.utils.lazy import lazy_names

if TYPE_CHECKING:
    from giskard.checks.builtin.comparison import (
        Equals,
        GreaterThan,
        GreaterThanEquals,
        LessThan,
        LessThanEquals,
        NotEquals,
    )
    from giskard.checks.builtin.composition import AllOf, AnyOf, Not
    from giskard.checks.builtin.fn import FnCheck, from_fn
    from giskard.checks.builtin.json_valid import JsonValid
    from giskard.checks.builtin.nlp_metrics import Readability
    from giskard.checks.builtin.prompt_injection_detection import PromptInjectionDetection
    from giskard.checks.builtin.refusal_matching import RefusalMatching
    from giskard.checks.builtin.rego_policy import RegoPolicy
    from giskard.checks.builtin.semantic_similarity import SemanticSimilarity
    from giskard.checks.builtin.text_matching import RegexMatching, StringMatching

__all__ = [
    "AllOf",
    "AnyOf",
    "Equals",
    "FnCheck",
    "GreaterThan",
    "GreaterThanEquals",
    "JsonValid",
    "LessThan",
    "LessThanEquals",
    "Not",
    "NotEquals",
    "PromptInjectionDetection",
    "Readability",
    "RefusalMatching",
    "RegexMatching",
    "RegoPolicy",
    "SemanticSimilarity",
    "StringMatching",
    "from_fn",
]

__getattr__ = lazy_names(
    __name__,
    {
        "comparison": ["Equals", "GreaterThan", "GreaterThanEquals", "LessThan", "LessThanEquals", "NotEquals"],
        "composition": ["AllOf", "AnyOf", "Not"],
        "fn": ["FnCheck", "from_fn"],
        "json_valid": ["JsonValid"],
        "nlp_metrics": ["Readability"],
        "prompt_injection_detection": ["PromptInjectionDetection"],
        "refusal_matching": ["RefusalMatching"],
        "rego_policy": ["RegoPolicy"],
        "semantic_similarity": ["SemanticSimilarity"],
        "text_matching": ["RegexMatching", "StringMatching"],
    },
)
