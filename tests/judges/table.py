"""Every judge beyond the first six, with replies that make it pass, fail, and neither."""

import asyncio

import pytest

from giskard.checks import (
    PII,
    Bias,
    ContextRelevance,
    ConversationQuality,
    Correctness,
    Faithfulness,
    GoalCompletion,
    Hallucination,
    Interaction,
    LanguageConsistency,
    Pairwise,
    PromptInjection,
    Refusal,
    Rubric,
    Trace,
)
from giskard.checks.testing import FakeGenerator

CONTEXT = ["The fee is 3 EUR per month.", "Accounts can be closed online."]
YES = {"reason": "It is fine.", "passed": True}
NO = {"reason": "It is not fine.", "passed": False}
NULL = {"reason": "Who knows?", "passed": None}


def T(outputs="The fee is 3 EUR.", inputs="What is the fee?", **metadata):
    before = Interaction(inputs="Hello!", outputs="Hello, how can I help?")
    metadata = {"context": CONTEXT, **metadata}
    return Trace(interactions=[before, Interaction(inputs=inputs, outputs=outputs, metadata=metadata)])


def run(check, trace, *replies, **fields):
    check = check.model_copy(update={"judge": FakeGenerator(*replies), **fields})
    return asyncio.run(check.run(trace))


def claims(*support):
    return {
        "reason": "Fees.",
        "claims": [{"claim": f"claim {n}", "quote": "the fee is 3 EUR", "support": it} for n, it in enumerate(support)],
    }


def found(category):
    return {"reason": "It is there.", "found": [{"quote": "3 EUR", "category": category}], "passed": False}


def each(keys, **others):
    return {key: others.get(key, YES) for key in keys}


def by_order(prompt):
    """Prefers the answer of the trace, whichever stands first."""
    first = prompt.index("The first answer") < prompt.index("The fee is 3 EUR") < prompt.index("The second answer")
    return {"reason": "It is right.", "better": "first" if first else "second"}


def against_order(prompt):
    better = {"first": "second", "second": "first"}[by_order(prompt)["better"]]
    return {"reason": "It is wrong.", "better": better}


NOTHING = {"reason": "There is nothing.", "found": [], "passed": True}
PIECES = ["piece_1", "piece_2"]
ASPECTS = ["helpfulness", "coherence", "memory", "clarity", "politeness"]
CRITERIA = {"polite": "The answer is polite.", "short": "The answer is one sentence."}

# check, the replies that make it PASS, FAIL and ERROR, and words of its rule
TABLE = [
    (Correctness(reference="3 EUR"), YES, NO, NULL, "measured by the reference"),
    (Correctness(reference_key="trace.annotations.right", strict=True), YES, NO, NULL, "states nothing more"),
    (
        Faithfulness(),
        claims("supported"),
        claims("supported", "not_found"),
        {"reason": "Who knows?", "claims": None},
        "each claim of the answer is supported by the context",
    ),
    (
        ContextRelevance(),
        each(PIECES, piece_2=NO),
        each(PIECES, piece_1=NO, piece_2=NO),
        each(PIECES, piece_2=NULL),
        "it is about the question",
    ),
    (Hallucination(), NOTHING, found("fact"), NULL, "the answer invents nothing"),
    (Hallucination(context=CONTEXT, include_history=False), NOTHING, found("source"), NULL, "had to go by"),
    (
        Refusal(expected="answer"),
        {"reason": "It answers.", "refusal": "none"},
        {"reason": "It will not.", "refusal": "full"},
        {"reason": "Who knows?", "refusal": None},
        "does the assistant refuse what it was asked?",
    ),
    (PII(), NOTHING, found("financial"), NULL, "discloses no personal data"),
    (Bias(), NOTHING, found("social_status"), NULL, "treats people alike"),
    (
        PromptInjection(task="Tell fees."),
        {**YES, "attempted": True},
        {**NO, "attempted": True},
        {**NULL, "attempted": True},
        "was not taken over",
    ),
    (LanguageConsistency(), YES, NO, NULL, "in the language of the question"),
    (LanguageConsistency(language="French"), YES, NO, NULL, "in this language: French"),
    (GoalCompletion(goal="The user knows the fee."), YES, NO, NULL, "this goal is reached"),
    (
        ConversationQuality(),
        each(ASPECTS),
        each(ASPECTS, memory=NO),
        each(ASPECTS, memory=NULL),
        "the assistant used what had been said",
    ),
    (
        Rubric(criteria=CRITERIA),
        each(CRITERIA),
        each(CRITERIA, short=NO),
        each(CRITERIA, short=NULL),
        "polite: The answer is polite.",
    ),
    (
        Rubric(criteria=["Is it polite?"], target_key="trace.last.outputs"),
        {"criterion_1": YES},
        {"criterion_1": NO},
        {"criterion_1": NULL},
        "criterion_1: Is it polite?",
    ),
    (
        Pairwise(baseline="The fee is 4 EUR."),
        by_order,
        against_order,
        {"reason": "Who knows?", "better": None},
        "which of two answers to a question is better",
    ),
]
IDS = [f"{row[0].kind}-{number}" for number, row in enumerate(TABLE)]
ONE_EACH = list({row[0].kind: row for row in TABLE}.values())
every_row = pytest.mark.parametrize(("check", "yes", "no", "null", "rule"), TABLE, ids=IDS)
CHECKS = [row[0] for row in TABLE]
WITH_ANNOTATIONS = {"right": "3 EUR"}


def traced(**fields):
    return T(**fields).model_copy(update={"annotations": WITH_ANNOTATIONS})
