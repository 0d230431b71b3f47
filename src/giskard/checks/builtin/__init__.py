"""Checks that are decided by code, one file a family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giskard.checks.utils.lazy import lazy_names

if TYPE_CHECKING:
    from giskard.checks.builtin.budgets import Latency, MaxCost, MaxLatency, MaxTokens
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
    from giskard.checks.builtin.is_refusal import IsRefusal
    from giskard.checks.builtin.json_diff import JsonDiff
    from giskard.checks.builtin.json_valid import JsonValid
    from giskard.checks.builtin.language_is import LanguageIs
    from giskard.checks.builtin.list_contains import ListContains
    from giskard.checks.builtin.nlp_metrics import Readability
    from giskard.checks.builtin.no_pii import NoPII
    from giskard.checks.builtin.no_repetition import NoRepetition
    from giskard.checks.builtin.prompt_injection_detection import PromptInjectionDetection
    from giskard.checks.builtin.rego_policy import RegoPolicy
    from giskard.checks.builtin.semantic_similarity import SemanticSimilarity
    from giskard.checks.builtin.state import StateEquals
    from giskard.checks.builtin.text_content import ContainsAll, ContainsAny, StartsWith, WordCount
    from giskard.checks.builtin.text_matching import RegexMatching, StringMatching
    from giskard.checks.builtin.text_overlap import Bleu, EditDistance, Rouge
    from giskard.checks.builtin.tool_call_counts import MaxToolCalls, NoRepeatedCalls, ToolErrors
    from giskard.checks.builtin.tool_call_matching import ToolCallOrder, ToolCallsMatch
    from giskard.checks.builtin.tool_calls import ToolCalled, ToolNotCalled

__all__ = [
    "AllOf",
    "AnyOf",
    "Bleu",
    "ContainsAll",
    "ContainsAny",
    "EditDistance",
    "Equals",
    "FnCheck",
    "GreaterThan",
    "GreaterThanEquals",
    "IsRefusal",
    "JsonDiff",
    "JsonValid",
    "LanguageIs",
    "Latency",
    "LessThan",
    "LessThanEquals",
    "ListContains",
    "MaxCost",
    "MaxLatency",
    "MaxTokens",
    "MaxToolCalls",
    "NoPII",
    "NoRepeatedCalls",
    "NoRepetition",
    "Not",
    "NotEquals",
    "PromptInjectionDetection",
    "Readability",
    "RegexMatching",
    "RegoPolicy",
    "Rouge",
    "SemanticSimilarity",
    "StartsWith",
    "StateEquals",
    "StringMatching",
    "ToolCallOrder",
    "ToolCalled",
    "ToolCallsMatch",
    "ToolErrors",
    "ToolNotCalled",
    "WordCount",
    "from_fn",
]

__getattr__ = lazy_names(
    __name__,
    {
        "budgets": ["Latency", "MaxCost", "MaxLatency", "MaxTokens"],
        "comparison": ["Equals", "GreaterThan", "GreaterThanEquals", "LessThan", "LessThanEquals", "NotEquals"],
        "composition": ["AllOf", "AnyOf", "Not"],
        "fn": ["FnCheck", "from_fn"],
        "json_valid": ["JsonValid"],
        "nlp_metrics": ["Readability"],
        "prompt_injection_detection": ["PromptInjectionDetection"],
        "is_refusal": ["IsRefusal"],
        "rego_policy": ["RegoPolicy"],
        "semantic_similarity": ["SemanticSimilarity"],
        "text_content": ["ContainsAll", "ContainsAny", "StartsWith", "WordCount"],
        "text_overlap": ["Bleu", "EditDistance", "Rouge"],
        "state": ["StateEquals"],
        "tool_call_counts": ["MaxToolCalls", "NoRepeatedCalls", "ToolErrors"],
        "tool_call_matching": ["ToolCallOrder", "ToolCallsMatch"],
        "tool_calls": ["ToolCalled", "ToolNotCalled"],
        "list_contains": ["ListContains"],
        "json_diff": ["JsonDiff"],
        "language_is": ["LanguageIs"],
        "no_repetition": ["NoRepetition"],
        "no_pii": ["NoPII"],
        "text_matching": ["RegexMatching", "StringMatching"],
    },
)
