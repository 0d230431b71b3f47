"""Test cases, goldens and test runs of DeepEval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._lenient import batch, dicts, first, known, listed, mapping, number, text
from giskard.checks.importers._messages import Call, Message
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["DeepEval"]

# As they are called in Python, and in what is sent and stored.
_ABOUT = {
    "name": ("name",),
    "scenario": ("scenario",),
    "expected_outcome": ("expected_outcome", "expectedOutcome"),
    "expected_output": ("expected_output", "expectedOutput"),
    "expected_tools": ("expected_tools", "expectedTools"),
    "user_description": ("user_description", "userDescription"),
    "chatbot_role": ("chatbot_role", "chatbotRole"),
    "context": ("context",),
    "comments": ("comments",),
    "tags": ("tags",),
    "additional_metadata": ("additional_metadata", "additionalMetadata", "metadata"),
    "metrics": ("metrics_data", "metricsData"),
    "success": ("success",),
}
_OF_CONVERSATIONS = {
    name for key in ("scenario", "expected_outcome", "user_description", "chatbot_role") for name in _ABOUT[key]
}
_CALLED = ("tools_called", "toolsCalled")
_OUTPUTS = ("actual_output", "actualOutput")
_CASES = ("testCases", "test_cases", "conversationalTestCases", "conversational_test_cases")


class DeepEval(RecordFormat):
    """Test cases of one turn and of several, as data sets and test runs hold them."""

    name = "deepeval"

    def detect(self, value: Any) -> bool:
        """Whether it is a test case with an actual output or with turns, or a test run."""
        row = mapping(value)
        if any(_is_case(case) for key in _CASES for case in listed(row.get(key))[:1]):
            return True
        return _is_case(row)

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Iterator[Trace[Any, Any]]:
        """The trace of each test case."""
        row = mapping(value)
        cases = [case for key in _CASES if key in row for case in dicts(row[key], key)]
        for case in cases or [row]:
            annotations = {"source": source, **known(**{name: first(case, *keys) for name, keys in _ABOUT.items()})}
            told = any(first(turn, *_CALLED) is not None for turn in (case, *map(mapping, listed(case.get("turns")))))
            yield to_trace(_turns(case), annotations, options, records_calls=told)


def _is_case(value: Any) -> bool:
    row = mapping(value)
    if "input" in row and any(name in row for name in _OUTPUTS):
        return True
    turns = [mapping(turn) for turn in listed(row.get("turns"))[:3]]
    spoken = bool(turns) and all(turn.get("role") in ("user", "assistant") and "content" in turn for turn in turns)
    return (
        spoken and "messages" not in row and (row.keys() <= {"turns", "name"} or bool(row.keys() & _OF_CONVERSATIONS))
    )


def _turns(case: dict[str, Any]) -> Iterator[Message]:
    if "turns" not in case:
        if case.get("input") is None:
            raise BadRecord("the test case has neither turns nor an input")
        yield Message("user", case["input"])
        yield from _answer(case, first(case, *_OUTPUTS))
        return
    for place, turn in enumerate(dicts(case["turns"], "turns")):
        role = turn.get("role")
        if role == "user":
            yield Message("user", turn.get("content"), raw=turn)
        elif role == "assistant":
            yield from _answer(turn, turn.get("content"))
        else:
            raise BadRecord(f"turn {place}: expected the role user or assistant, got {role!r}")


def _answer(record: dict[str, Any], content: Any) -> Iterator[Message]:
    """The calls of a turn, which came before its answer, and the answer."""
    calls = [
        Call(
            text(call.get("name")) or "",
            first(call, "input_parameters", "inputParameters"),
            result=call.get("output"),
            has_result=call.get("output") is not None,
        )
        for call in map(mapping, listed(first(record, *_CALLED)))
    ]
    if calls:
        yield Message("assistant", calls=calls)
    seconds = number(first(record, "completion_time", "completionTime"))
    retrieved = first(record, "retrieval_context", "retrievalContext")
    yield Message(
        "assistant",
        content,
        latency_ms=None if seconds is None else seconds * 1000,
        cost_usd=number(first(record, "token_cost", "tokenCost")),
        metadata=known(retrieved=None if retrieved is None else batch(retrieved), comments=record.get("comments")),
        raw=record,
    )
