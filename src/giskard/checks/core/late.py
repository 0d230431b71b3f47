"""What reaches up by its nature: names of things on higher floors, resolved on first use.

Nothing else in `core` knows the floors above it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["kinds", "load_kind", "resolve_late"]

_ROOT = "giskard.checks"

_ATTRIBUTES = {
    "junit": "export.junit:to_junit_xml",
    "hub": "export.hub:to_hub_format",
    "json_lines": "export.json_files:to_json_lines",
    "report_json": "export.json_files:to_report_json",
    "report": "reporting.suite:print_report",
    "scenario_report": "reporting.suite:print_scenario",
    "case_report": "reporting.suite:print_test_case",
    "progress": "reporting.progress:progress_observer",
    # Specs are written in terms of traces, and a trace can be asked to run one.
    "interact": "core.interaction.interact:Interact",
    "extend": "core.interaction.base:extend",
    "result_text": "export._result_json:result_text",
    "result_texts": "export._result_json:result_texts",
}

# family -> kind -> the module that registers it
_KINDS: dict[str, dict[str, str]] = {
    "check": {
        "fn": "builtin.fn",
        "string_matching": "builtin.text_matching",
        "regex_matching": "builtin.text_matching",
        "equals": "builtin.comparison",
        "not_equals": "builtin.comparison",
        "less_than": "builtin.comparison",
        "less_than_equals": "builtin.comparison",
        "greater_than": "builtin.comparison",
        "greater_than_equals": "builtin.comparison",
        "is_refusal": "builtin.is_refusal",
        "json_valid": "builtin.json_valid",
        "prompt_injection_detection": "builtin.prompt_injection_detection",
        "readability": "builtin.nlp_metrics",
        "rego_policy": "builtin.rego_policy",
        "contains_all": "builtin.text_content",
        "contains_any": "builtin.text_content",
        "starts_with": "builtin.text_content",
        "word_count": "builtin.text_content",
        "bleu": "builtin.text_overlap",
        "edit_distance": "builtin.text_overlap",
        "rouge": "builtin.text_overlap",
        "list_contains": "builtin.list_contains",
        "json_diff": "builtin.json_diff",
        "language_is": "builtin.language_is",
        "no_repetition": "builtin.no_repetition",
        "no_pii": "builtin.no_pii",
        "semantic_similarity": "builtin.semantic_similarity",
        "latency": "builtin.budgets",
        "max_cost": "builtin.budgets",
        "max_latency": "builtin.budgets",
        "max_tokens": "builtin.budgets",
        "state_equals": "builtin.state",
        "max_tool_calls": "builtin.tool_call_counts",
        "no_repeated_calls": "builtin.tool_call_counts",
        "tool_errors": "builtin.tool_call_counts",
        "tool_call_order": "builtin.tool_call_matching",
        "tool_calls_match": "builtin.tool_call_matching",
        "tool_called": "builtin.tool_calls",
        "tool_not_called": "builtin.tool_calls",
        "all_of": "builtin.composition",
        "any_of": "builtin.composition",
        "not": "builtin.composition",
        "llm_judge": "judges.judge",
        "conformity": "judges.conformity",
        "groundedness": "judges.groundedness",
        "contradiction": "judges.contradiction",
        "answer_relevance": "judges.answer_relevance",
        "toxicity": "judges.toxicity",
        "correctness": "judges.correctness",
        "faithfulness": "judges.faithfulness",
        "context_relevance": "judges.context_relevance",
        "hallucination": "judges.hallucination",
        "refusal": "judges.refusal",
        "pii": "judges.pii",
        "bias": "judges.bias",
        "prompt_injection": "judges.prompt_injection",
        "language_consistency": "judges.language_consistency",
        "goal_completion": "judges.goal_completion",
        "conversation_quality": "judges.conversation_quality",
        "rubric": "judges.rubric",
        "pairwise": "judges.pairwise",
    },
    "interaction spec": {
        "interact": "core.interaction.interact",
        "recorded_input": "scenarios.replay",
        "with_spy": "testing.spy",
    },
    "input generator": {
        "llm_generator": "generators.base",
        "user_simulator": "generators.user",
        "dataset_input": "generators.dataset",
    },
    "judge": {
        "llm_chat": "judges.judge",
    },
    "generator": {
        "generator": "llm.generator",
    },
    "embedding model": {
        "embedding_model": "llm.embedding_model",
        "local_embeddings": "llm.local_embeddings",
    },
}


def resolve_late(name: str) -> Any:
    """The attribute that `name` stands for in the table above."""
    module, _, attribute = _ATTRIBUTES[name].partition(":")
    return getattr(import_module(f"{_ROOT}.{module}"), attribute)


def kinds(family: str) -> list[str]:
    """The kinds of a family that this package brings."""
    return list(_KINDS.get(family, {}))


def load_kind(family: str, kind: str) -> None:
    """Import the module that registers `kind`, if it is one of this package."""
    module = _KINDS.get(family, {}).get(kind)
    if module is not None:
        import_module(f"{_ROOT}.{module}")
