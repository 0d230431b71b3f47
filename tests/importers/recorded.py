"""Ways to read single records, and to hold what was read against what should have been."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from giskard.checks.importers.base import Reading, ReadOptions, Record

HERE = Path(__file__).parent
DATA = HERE / "data"
TAU_BENCH = HERE.parents[1] / "examples" / "airline_support" / "data" / "conversations.jsonl"


def example(name):
    """The values of an example: that of a JSON file, or those of its lines."""
    path = HERE / "examples" / name
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)


def rows_of(path):
    """The values of the lines of a file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read(format, *values, path="log.jsonl", **options):
    """The traces of values, one after the other, and why some were skipped; each must be recognised by the format."""
    assert all(format.detect(value) for value in values)
    return read_all(format, *values, path=path, **options)


def read_all(format, *values, path="log.jsonl", **options):
    """As `read`, whether they are recognised or not."""
    reading = Reading(ReadOptions(**options))
    records = [Record(value, path, line) for line, value in enumerate(values, start=1)]
    traces = list(format.read(iter(records), reading))
    return traces, [skipped.reason for skipped in reading.report.skipped]


def one(format, *values, **options):
    """The only trace of values, of which nothing is skipped."""
    traces, skipped = read(format, *values, **options)
    assert skipped == []
    [trace] = traces
    return trace


def turn(format, *values, **options):
    """The only turn of the only trace."""
    [interaction] = one(format, *values, **options).interactions
    return interaction


def said(trace):
    """What was sent and what came back in each turn."""
    return [(interaction.inputs, interaction.outputs) for interaction in trace.interactions]


def called(trace):
    """The calls: their ids, names, arguments, results and errors."""
    return [
        (call["id"], call["name"], call["arguments"], call["result"], call["error"])
        for interaction in trace.interactions
        for call in interaction.metadata.get("tool_calls", ())
    ]


def expected():
    """The trace that a full example stands for: what is said and called, and the system prompt."""
    trace = example("expected_trace.json")
    turns = [(turn["inputs"], turn["outputs"]) for turn in trace["interactions"]]
    calls = [
        (call["id"], call["name"], call["arguments"], call["result"], call["error"])
        for turn in trace["interactions"]
        for call in turn["metadata"]["tool_calls"]
    ]
    return turns, calls, trace["annotations"]["system_prompt"]
