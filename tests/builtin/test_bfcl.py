"""ToolCallsMatch on the calls that the Berkeley function-calling leaderboard accepts.

Where the data comes from is told in ``tests/importers/data/bfcl``.
"""

import asyncio
import gzip
import json
from pathlib import Path

import pytest

from giskard.checks import Interaction, ToolCallsMatch, Trace
from giskard.checks.importers.bfcl import expected_calls

DATA = Path(__file__).parent.parent / "importers" / "data" / "bfcl"


def rows(name):
    with gzip.open(DATA / f"possible_answer_BFCL_v4_{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


MULTIPLE = rows("multiple")
MULTI_TURN = rows("multi_turn_base")


def first_accepted(accepted):
    """The first value that is accepted for an argument; of an object, for each of its keys."""
    return settled(next(value for value in accepted if value != ""))


def settled(value):
    if isinstance(value, list):
        return [settled(item) for item in value]
    if isinstance(value, dict):
        return {name: first_accepted(values) for name, values in value.items() if values[0] != ""}
    return value


def answer(row, *, optional=False):
    """A call that is accepted: without, or with, what may be left out."""
    [[name, accepted]] = [item for truth in row["ground_truth"] for item in truth.items()]
    arguments = {
        argument: first_accepted(values)
        for argument, values in accepted.items()
        if ("" not in values or optional) and values != [""]
    }
    return {"name": name, "arguments": arguments}


def run(row, *calls, mode="strict"):
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a", metadata={"tool_calls": list(calls)})])
    [accepted] = expected_calls(row)
    return asyncio.run(ToolCallsMatch(expected_calls=accepted, mode=mode).run(trace))


def test_there_are_two_hundred():
    assert len(MULTIPLE) == len(MULTI_TURN) == 200


@pytest.mark.parametrize("row", MULTIPLE, ids=lambda row: row["id"])
def test_what_is_accepted_passes_and_each_change_of_it_fails_and_is_named(row):
    call = answer(row)
    for mode in ("strict", "unordered", "subset", "superset"):
        assert run(row, call, mode=mode).passed
        assert run(row, answer(row, optional=True), mode=mode).passed

    renamed = run(row, {**call, "name": f"{call['name']}_2"})
    assert renamed.failed
    assert renamed.message.startswith("1 call, 1 expected: 1 missing, 1 unexpected\n")
    assert f"missing: {call['name']}(" in renamed.message and f"unexpected: {call['name']}_2(" in renamed.message

    extra = run(row, {**call, "arguments": {**call["arguments"], "surplus": 1}})
    assert extra.failed and extra.message.startswith("1 call, 1 expected: 1 changed\n")
    assert "'surplus' was unexpected" in extra.message

    for name in call["arguments"]:
        changed = run(row, {**call, "arguments": {**call["arguments"], name: "none of these"}})
        assert changed.failed and changed.message.startswith("1 call, 1 expected: 1 changed\n"), name
        assert f"arguments.{name}: " in changed.message or f"arguments['{name}']: " in changed.message

        left = {key: value for key, value in call["arguments"].items() if key != name}
        missing = run(row, {**call, "arguments": left})
        assert missing.failed, name
        assert f'"{name}" is a required property' in missing.message

    nothing, twice = run(row), run(row, call, call)
    assert nothing.failed and f"1 missing\n  missing: {call['name']}(" in nothing.message
    assert twice.failed and f"1 unexpected\n  unexpected: {call['name']}(" in twice.message
    assert run(row, mode="subset").passed and run(row, call, call, mode="superset").passed


def accepted_values(schema):
    """The arguments of the one call that a schema accepts; those that were given by position are named by that."""
    given = schema["additionalProperties"]["enum"] if schema["additionalProperties"] else []
    by_name = {name: values["const"] for name, values in schema["properties"].items()}
    return {**{str(place): value for place, value in enumerate(given)}, **by_name}


@pytest.mark.parametrize("row", MULTI_TURN, ids=lambda row: row["id"])
def test_the_calls_of_several_turns(row):
    turns = expected_calls(row)
    assert [len(turn) for turn in turns] == [len(turn) for turn in row["ground_truth"]]

    made = [
        [{"name": call["name"], "arguments": accepted_values(call["arguments"])} for call in turn] for turn in turns
    ]
    trace = Trace(
        interactions=[Interaction(inputs="q", outputs="a", metadata={"tool_calls": calls}) for calls in made],
        annotations={"expected_calls": turns},
    )
    for number in range(len(turns)):
        key = f"trace.annotations.expected_calls[{number}]"
        check = ToolCallsMatch(expected_calls_key=key, turn=number)
        assert asyncio.run(check.run(trace)).passed
    together = ToolCallsMatch(expected_calls=[call for turn in turns for call in turn])
    assert asyncio.run(together.run(trace)).passed
    turned = Trace(interactions=list(reversed(trace.interactions)))
    result = asyncio.run(together.run(turned))
    assert result.passed == (made == made[::-1])
    assert result.passed or "in another place" in result.message
