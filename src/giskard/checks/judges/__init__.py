"""Checks that are decided by a model."""

from giskard.checks.judges.answer_relevance import AnswerRelevance
from giskard.checks.judges.base import BaseLLMCheck, LLMCheckResult
from giskard.checks.judges.conformity import Conformity
from giskard.checks.judges.contradiction import Contradiction
from giskard.checks.judges.groundedness import Groundedness
from giskard.checks.judges.judge import BaseJudge, LLMChatJudge, LLMJudge
from giskard.checks.judges.toxicity import Toxicity

__all__ = [
    "AnswerRelevance",
    "BaseJudge",
    "BaseLLMCheck",
    "Conformity",
    "Contradiction",
    "Groundedness",
    "LLMChatJudge",
    "LLMCheckResult",
    "LLMJudge",
    "Toxicity",
]
