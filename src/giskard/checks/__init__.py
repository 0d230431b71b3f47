"""Giskard Checks: tests for LLM assistants and agents.

The core, which every test needs, is imported with the package; all other names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from giskard.checks._version import __version__
from giskard.checks.utils.lazy import lazy_names

if TYPE_CHECKING:
    from giskard.checks import builtin as builtin
    from giskard.checks import judges as judges
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
    from giskard.checks.core.check import Check, CodeCheck, NoVerdict
    from giskard.checks.core.events import RunEvent, RunObserver
    from giskard.checks.core.exceptions import (
        ConfigurationError,
        InputGenerationException,
        InteractionGenerationError,
        LimitExceededError,
        RunInterruptedError,
    )
    from giskard.checks.core.extraction import NoMatch, resolve
    from giskard.checks.core.input_generator import InputGenerator
    from giskard.checks.core.interaction.base import InteractionSpec
    from giskard.checks.core.interaction.interact import Interact, thread_bound
    from giskard.checks.core.interaction.interaction import Interaction
    from giskard.checks.core.interaction.trace import Trace
    from giskard.checks.core.mixin import WithEmbeddingMixin, WithGeneratorMixin, WithJudgeMixin
    from giskard.checks.core.result import (
        CheckResult,
        CheckStatus,
        Metric,
        ScenarioResult,
        ScenarioStatus,
        TestCaseError,
        TestCaseResult,
        TestCaseStatus,
    )
    from giskard.checks.core.scenario import Scenario, Step, scenario
    from giskard.checks.core.testcase import TestCase
    from giskard.checks.core.timing import Timing
    from giskard.checks.core.types import MISSING, Target
    from giskard.checks.core.usage import ToolCall, Usage
    from giskard.checks.generators.base import BaseLLMGenerator, LLMGenerator
    from giskard.checks.generators.dataset import DatasetInputGenerator
    from giskard.checks.generators.user import UserSimulator
    from giskard.checks.importers.load import load_traces
    from giskard.checks.importers.save import save_traces
    from giskard.checks.judges.answer_relevance import AnswerRelevance
    from giskard.checks.judges.base import BaseLLMCheck, LLMCheckResult
    from giskard.checks.judges.bias import Bias
    from giskard.checks.judges.conformity import Conformity
    from giskard.checks.judges.context_relevance import ContextRelevance
    from giskard.checks.judges.contradiction import Contradiction
    from giskard.checks.judges.conversation_quality import ConversationQuality
    from giskard.checks.judges.correctness import Correctness
    from giskard.checks.judges.faithfulness import Faithfulness
    from giskard.checks.judges.goal_completion import GoalCompletion
    from giskard.checks.judges.groundedness import Groundedness
    from giskard.checks.judges.hallucination import Hallucination
    from giskard.checks.judges.judge import BaseJudge, LLMChatJudge, LLMJudge
    from giskard.checks.judges.language_consistency import LanguageConsistency
    from giskard.checks.judges.pairwise import Pairwise
    from giskard.checks.judges.pii import PII
    from giskard.checks.judges.prompt_injection import PromptInjection
    from giskard.checks.judges.refusal import Refusal
    from giskard.checks.judges.rubric import Rubric
    from giskard.checks.judges.toxicity import Toxicity
    from giskard.checks.scenarios.replay import scenario_from_trace
    from giskard.checks.scenarios.runner import ScenarioRunner
    from giskard.checks.scenarios.suite import GroupedSuiteResult, GroupStats, Suite, SuiteResult
    from giskard.checks.settings import (
        get_default_embedding_model,
        get_default_generator,
        get_default_judge,
        get_settings,
        set_default_embedding_model,
        set_default_generator,
        set_default_judge,
    )
    from giskard.checks.testing.runner import TestCaseRunner
    from giskard.checks.testing.spy import WithSpy

# module -> the public names that live in it
_HOMES = {
    "builtin.budgets": ("Latency", "MaxCost", "MaxLatency", "MaxTokens"),
    "builtin.comparison": (
        "Equals",
        "GreaterThan",
        "GreaterThanEquals",
        "LessThan",
        "LessThanEquals",
        "NotEquals",
    ),
    "builtin.composition": ("AllOf", "AnyOf", "Not"),
    "builtin.fn": ("FnCheck", "from_fn"),
    "builtin.is_refusal": ("IsRefusal",),
    "builtin.json_valid": ("JsonValid",),
    "builtin.nlp_metrics": ("Readability",),
    "builtin.prompt_injection_detection": ("PromptInjectionDetection",),
    "builtin.rego_policy": ("RegoPolicy",),
    "builtin.semantic_similarity": ("SemanticSimilarity",),
    "builtin.text_content": ("ContainsAll", "ContainsAny", "StartsWith", "WordCount"),
    "builtin.text_overlap": ("Bleu", "EditDistance", "Rouge"),
    "builtin.list_contains": ("ListContains",),
    "builtin.json_diff": ("JsonDiff",),
    "builtin.language_is": ("LanguageIs",),
    "builtin.no_repetition": ("NoRepetition",),
    "builtin.no_pii": ("NoPII",),
    "builtin.text_matching": ("RegexMatching", "StringMatching"),
    "builtin.state": ("StateEquals",),
    "builtin.tool_call_counts": ("MaxToolCalls", "NoRepeatedCalls", "ToolErrors"),
    "builtin.tool_call_matching": ("ToolCallOrder", "ToolCallsMatch"),
    "builtin.tool_calls": ("ToolCalled", "ToolNotCalled"),
    "core.check": ("Check", "CodeCheck", "NoVerdict"),
    "core.events": ("RunEvent", "RunObserver"),
    "core.exceptions": (
        "ConfigurationError",
        "InputGenerationException",
        "InteractionGenerationError",
        "LimitExceededError",
        "RunInterruptedError",
    ),
    "core.extraction": ("NoMatch", "resolve"),
    "core.input_generator": ("InputGenerator",),
    "core.interaction.base": ("InteractionSpec",),
    "core.interaction.interact": ("Interact", "thread_bound"),
    "core.interaction.interaction": ("Interaction",),
    "core.interaction.trace": ("Trace",),
    "core.mixin": ("WithEmbeddingMixin", "WithGeneratorMixin", "WithJudgeMixin"),
    "core.result": (
        "CheckResult",
        "CheckStatus",
        "Metric",
        "ScenarioResult",
        "ScenarioStatus",
        "TestCaseError",
        "TestCaseResult",
        "TestCaseStatus",
    ),
    "core.scenario": ("Scenario", "Step", "scenario"),
    "core.testcase": ("TestCase",),
    "core.timing": ("Timing",),
    "core.types": ("MISSING", "Target"),
    "core.usage": ("ToolCall", "Usage"),
    "generators.base": ("BaseLLMGenerator", "LLMGenerator"),
    "generators.dataset": ("DatasetInputGenerator",),
    "generators.user": ("UserSimulator",),
    "importers.load": ("load_traces",),
    "importers.save": ("save_traces",),
    "judges.answer_relevance": ("AnswerRelevance",),
    "judges.base": ("BaseLLMCheck", "LLMCheckResult"),
    "judges.bias": ("Bias",),
    "judges.conformity": ("Conformity",),
    "judges.context_relevance": ("ContextRelevance",),
    "judges.contradiction": ("Contradiction",),
    "judges.conversation_quality": ("ConversationQuality",),
    "judges.correctness": ("Correctness",),
    "judges.faithfulness": ("Faithfulness",),
    "judges.goal_completion": ("GoalCompletion",),
    "judges.groundedness": ("Groundedness",),
    "judges.hallucination": ("Hallucination",),
    "judges.judge": ("BaseJudge", "LLMChatJudge", "LLMJudge"),
    "judges.language_consistency": ("LanguageConsistency",),
    "judges.pairwise": ("Pairwise",),
    "judges.pii": ("PII",),
    "judges.prompt_injection": ("PromptInjection",),
    "judges.refusal": ("Refusal",),
    "judges.rubric": ("Rubric",),
    "judges.toxicity": ("Toxicity",),
    "scenarios.replay": ("scenario_from_trace",),
    "scenarios.runner": ("ScenarioRunner",),
    "scenarios.suite": ("GroupStats", "GroupedSuiteResult", "Suite", "SuiteResult"),
    "settings": (
        "get_default_embedding_model",
        "get_default_generator",
        "get_default_judge",
        "get_settings",
        "set_default_embedding_model",
        "set_default_generator",
        "set_default_judge",
    ),
    "testing.runner": ("TestCaseRunner",),
    "testing.spy": ("WithSpy",),
}
_MODULES = ("builtin", "judges")
# What every test needs; nothing of it loads a terminal, model, number or database library.
_CORE = ("core.scenario", "core.testcase", "builtin.comparison")

__all__ = [
    "MISSING",
    "PII",
    "AllOf",
    "AnswerRelevance",
    "AnyOf",
    "BaseJudge",
    "BaseLLMCheck",
    "BaseLLMGenerator",
    "Bias",
    "Bleu",
    "Check",
    "CheckResult",
    "CheckStatus",
    "CodeCheck",
    "ConfigurationError",
    "Conformity",
    "ContainsAll",
    "ContainsAny",
    "ContextRelevance",
    "Contradiction",
    "ConversationQuality",
    "Correctness",
    "DatasetInputGenerator",
    "EditDistance",
    "Equals",
    "Faithfulness",
    "FnCheck",
    "GoalCompletion",
    "GreaterThan",
    "GreaterThanEquals",
    "Groundedness",
    "GroupStats",
    "GroupedSuiteResult",
    "Hallucination",
    "InputGenerationException",
    "InputGenerator",
    "Interact",
    "Interaction",
    "InteractionGenerationError",
    "InteractionSpec",
    "IsRefusal",
    "JsonDiff",
    "JsonValid",
    "LLMChatJudge",
    "LLMCheckResult",
    "LLMGenerator",
    "LLMJudge",
    "LanguageConsistency",
    "LanguageIs",
    "Latency",
    "LessThan",
    "LessThanEquals",
    "LimitExceededError",
    "ListContains",
    "MaxCost",
    "MaxLatency",
    "MaxTokens",
    "MaxToolCalls",
    "Metric",
    "NoMatch",
    "NoPII",
    "NoRepeatedCalls",
    "NoRepetition",
    "NoVerdict",
    "Not",
    "NotEquals",
    "Pairwise",
    "PromptInjection",
    "PromptInjectionDetection",
    "Readability",
    "Refusal",
    "RegexMatching",
    "RegoPolicy",
    "Rouge",
    "Rubric",
    "RunEvent",
    "RunInterruptedError",
    "RunObserver",
    "Scenario",
    "ScenarioResult",
    "ScenarioRunner",
    "ScenarioStatus",
    "SemanticSimilarity",
    "StartsWith",
    "StateEquals",
    "Step",
    "StringMatching",
    "Suite",
    "SuiteResult",
    "Target",
    "TestCase",
    "TestCaseError",
    "TestCaseResult",
    "TestCaseRunner",
    "TestCaseStatus",
    "Timing",
    "ToolCall",
    "ToolCallOrder",
    "ToolCalled",
    "ToolCallsMatch",
    "ToolErrors",
    "ToolNotCalled",
    "Toxicity",
    "Trace",
    "Usage",
    "UserSimulator",
    "WithEmbeddingMixin",
    "WithGeneratorMixin",
    "WithJudgeMixin",
    "WithSpy",
    "WordCount",
    "__version__",
    "builtin",
    "from_fn",
    "get_default_embedding_model",
    "get_default_generator",
    "get_default_judge",
    "get_settings",
    "judges",
    "load_traces",
    "resolve",
    "save_traces",
    "scenario",
    "scenario_from_trace",
    "set_default_embedding_model",
    "set_default_generator",
    "set_default_judge",
    "thread_bound",
]


_load = lazy_names(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.{name}") if name in _MODULES else _load(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


for _module in _CORE:
    import_module(f"{__name__}.{_module}")
del _module  # pyright: ignore[reportPossiblyUnboundVariable] - there are some
