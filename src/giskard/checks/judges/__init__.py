"""Checks that are decided by a model."""

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

__all__ = [
    "PII",
    "AnswerRelevance",
    "BaseJudge",
    "BaseLLMCheck",
    "Bias",
    "Conformity",
    "ContextRelevance",
    "Contradiction",
    "ConversationQuality",
    "Correctness",
    "Faithfulness",
    "GoalCompletion",
    "Groundedness",
    "Hallucination",
    "LLMChatJudge",
    "LLMCheckResult",
    "LLMJudge",
    "LanguageConsistency",
    "Pairwise",
    "PromptInjection",
    "Refusal",
    "Rubric",
    "Toxicity",
]
