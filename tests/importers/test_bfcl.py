"""Questions and possible answers of the Berkeley function-calling leaderboard."""

from __future__ import annotations

import asyncio
import copy

import pytest

from giskard.checks import Interaction, ToolCallsMatch, Trace
from giskard.checks.importers.base import BadRecord
from giskard.checks.importers.bfcl import BFCL, expected_calls
from tests.importers.recorded import DATA, one, read, read_all, rows_of, said

FORMAT = BFCL()


def rows(name):
    return rows_of(DATA / "bfcl" / f"{name}.jsonl.gz")


def verdict(calls, expected):
    trace = Trace(interactions=[Interaction(inputs=None, outputs=None, metadata={"tool_calls": calls})])
    return asyncio.run(ToolCallsMatch(expected_calls=expected).run(trace))


def test_questions_of_one_turn():
    given = rows("BFCL_v4_multiple")
    traces, skipped = read(FORMAT, *given)
    assert len(traces) == 200 and skipped == []
    for row, trace in zip(given, traces, strict=True):
        assert said(trace) == [(row["question"][0][0]["content"], None)]
        assert trace.annotations["tools"] == row["function"] and trace.annotations["conversation_id"] == row["id"]
        assert trace.interactions[0].metadata["incomplete"] is True


def test_questions_of_several_turns():
    given = rows("BFCL_v4_multi_turn_base")
    traces, skipped = read(FORMAT, *given)
    assert len(traces) == 200 and skipped == []
    assert sum(len(trace.interactions) for trace in traces) == 734
    for row, trace in zip(given, traces, strict=True):
        assert [inputs for inputs, _ in said(trace)] == [turn[0]["content"] for turn in row["question"]]
        assert trace.annotations["involved_classes"] == row["involved_classes"]
        assert trace.annotations["initial_config"] == row["initial_config"]


@pytest.mark.parametrize("name, turns, calls", [("multiple", 200, 200), ("multi_turn_base", 734, 1142)])
def test_the_first_calls_that_are_accepted_match(name, turns, calls):
    given = rows(f"possible_answer_BFCL_v4_{name}")
    traces, skipped = read(FORMAT, *given)
    assert len(traces) == 200 and skipped == []
    assert sum(len(trace.interactions) for trace in traces) == turns
    made = [list(turn.metadata["tool_calls"]) for trace in traces for turn in trace.interactions]
    accepted = [turn for row in given for turn in expected_calls(row)]
    assert sum(map(len, made)) == sum(map(len, accepted)) == calls
    for turn_calls, turn_accepted in zip(made, accepted, strict=True):
        if turn_accepted:  # three turns expect no call at all
            assert verdict(turn_calls, turn_accepted).passed


def test_a_changed_call_does_not_match():
    for row in rows("possible_answer_BFCL_v4_multiple"):
        [accepted] = expected_calls(row)
        [[call]] = [list(turn.metadata["tool_calls"]) for turn in one(FORMAT, row).interactions]
        call = copy.deepcopy({**call, "arguments": dict(call["arguments"])})
        name = next(iter(call["arguments"]))
        for changed in (
            {**call, "name": call["name"] + "x"},
            {**call, "arguments": {**call["arguments"], name: "something else"}},
            {**call, "arguments": {**call["arguments"], "extra": 1}},
        ):
            assert verdict([changed], accepted).failed
        required = accepted[0]["arguments"]["required"]
        if required:
            left = {key: value for key, value in call["arguments"].items() if key != required[0]}
            assert verdict([{**call, "arguments": left}], accepted).failed


def test_what_an_answer_accepts():
    row = {
        "id": "x",
        "ground_truth": [{"f.g": {"a": [1, 2], "b": ["", True], "c": [{"d": [3], "e": ["", 4]}], "h": [[{"i": [5]}]]}}],
    }
    assert expected_calls(row) == [
        [
            {
                "name": "f.g",
                "arguments": {
                    "type": "object",
                    "properties": {
                        "a": {"enum": [1, 2]},
                        "b": {"enum": [True]},
                        "c": {
                            "anyOf": [
                                {
                                    "type": "object",
                                    "properties": {"d": {"enum": [3]}, "e": {"enum": [4]}},
                                    "required": ["d"],
                                    "additionalProperties": False,
                                }
                            ]
                        },
                        "h": {
                            "anyOf": [
                                {
                                    "type": "array",
                                    "prefixItems": [
                                        {
                                            "type": "object",
                                            "properties": {"i": {"enum": [5]}},
                                            "required": ["i"],
                                            "additionalProperties": False,
                                        }
                                    ],
                                    "minItems": 1,
                                    "maxItems": 1,
                                }
                            ]
                        },
                    },
                    "required": ["a", "c", "h"],
                    "additionalProperties": False,
                },
                "match": "schema",
            }
        ]
    ]
    [turn] = one(FORMAT, row).interactions
    assert turn.metadata["tool_calls"][0]["arguments"] == {"a": 1, "c": {"d": 3}, "h": [{"i": 5}]}


def test_calls_in_the_form_of_python():
    row = {
        "id": "x",
        "ground_truth": [["cd(folder='document')", "post(tags=['#a'], more={'n': -1})"], [], ["sort('a.txt')"]],
    }
    first, second, third = expected_calls(row)
    assert [call["name"] for call in first] == ["cd", "post"] and second == []
    assert first[0]["arguments"]["properties"] == {"folder": {"const": "document"}}
    assert first[1]["arguments"]["properties"] == {"tags": {"const": ["#a"]}, "more": {"const": {"n": -1}}}
    # The name of an argument by position is known from the definitions only.
    assert verdict([{"name": "sort", "arguments": {"file_name": "a.txt"}}], third).passed
    assert verdict([{"name": "sort", "arguments": {"file_name": "b.txt"}}], third).failed
    assert verdict([{"name": "sort", "arguments": {"file_name": "a.txt", "more": "a.txt"}}], third).failed
    functions = [{"name": "sort", "parameters": {"properties": {"file_name": {}}}}]
    [named] = expected_calls(row, functions)[2]
    assert named["arguments"]["properties"] == {"file_name": {"const": "a.txt"}}


@pytest.mark.parametrize(
    "call", ["__import__('os').system('ls')", "f(open('x'))", "f(", "1 + 1", "f(**{'a': 1})", "f(a=b)"]
)
def test_nothing_is_run(call):
    row = {"id": "x", "ground_truth": [[call]]}
    if call.startswith("__import__"):
        assert expected_calls(row)[0][0]["name"] == "__import__('os').system"
        return
    if "**" in call:
        assert expected_calls(row)[0][0]["name"] == "f"
        return
    with pytest.raises(BadRecord, match="expected a call such as"):
        expected_calls(row)


def test_a_question_with_its_answer():
    question = {
        "id": "x",
        "question": [[{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]],
        "function": [],
    }
    trace = one(FORMAT, {**question, "ground_truth": [{"f": {"a": [1]}}]})
    assert said(trace) == [("q", None)] and trace.annotations["system_prompt"] == "s"
    assert trace.annotations["expected_calls"][0][0]["name"] == "f"
    empty = {"id": "x", "question": [[{"role": "user", "content": "q"}], []], "involved_classes": []}
    assert said(one(FORMAT, empty)) == [("q", None), (None, None)]


def test_what_cannot_be_read_is_told():
    question = {"id": "x", "function": []}
    traces, skipped = read_all(
        FORMAT,
        {"id": "x"},
        {"id": "x", "ground_truth": 3},
        {**question, "question": [3]},
        {**question, "question": [[{"role": "assistant", "content": "a"}]]},
        {"id": "x", "ground_truth": [3]},
    )
    assert traces == []
    assert skipped == [
        "expected 'question' or 'ground_truth'",
        "ground_truth: expected a list of calls, got int",
        "turn 0: expected a list of objects, got int",
        "turn 0: expected messages of the user, got the role 'assistant'",
        "expected a call as an object or a text, got 3",
    ]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"id": "x", "question": "q", "function": []},
        {"id": 1, "ground_truth": []},
        {"id": "x", "ground_truth": ["42"]},
    ],
)
def test_what_is_not_bfcl(value):
    assert FORMAT.detect(value) is False
