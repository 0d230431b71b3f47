"""What the tests of formats share: example files, and reading of records that are at hand."""

import json
from pathlib import Path

from giskard.checks.importers.base import Reading, ReadOptions, Record

EXAMPLES = Path(__file__).parent / "examples"


def example(name):
    """The JSON values of an example file: one a line, or one."""
    text = (EXAMPLES / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith(".jsonl") else [json.loads(text)]


def read(format, *values, **options):
    """The traces of `values`, and what was skipped of them."""
    reading = Reading(ReadOptions(**options))
    records = (Record(value, "log.jsonl", line) for line, value in enumerate(values, 1))
    return list(format.read(records, reading)), reading.report.skipped


def one(format, *values, **options):
    """The only trace of `values`, of which nothing was skipped."""
    (trace,), skipped = read(format, *values, **options)
    assert not skipped
    return trace


def why_not(format, value):
    """Why a record was skipped."""
    traces, (skipped,) = read(format, value)
    assert not traces
    assert (skipped.path, skipped.line) == ("log.jsonl", 1)
    return skipped.reason


def core(trace):
    """What all formats are to give: the prompt, the turns, and the five keys of each call."""
    keys = ("id", "name", "arguments", "result", "error")
    return {
        "system_prompt": trace.annotations.get("system_prompt"),
        "turns": [
            (
                turn.inputs,
                turn.outputs,
                [{key: call[key] for key in keys} for call in turn.metadata.get("tool_calls", ())],
            )
            for turn in trace.interactions
        ],
    }


def expected():
    """The same of the trace that all examples tell of."""
    (value,) = example("expected_trace.json")
    return {
        "system_prompt": value["annotations"]["system_prompt"],
        "turns": [(t["inputs"], t["outputs"], t["metadata"]["tool_calls"]) for t in value["interactions"]],
    }


ODD = [None, True, 3, 1.5, "text", "", [], {}, [None], [3], ["x"], [[]], [{}], {"x": 1}, {"role": 3}]
"""Where something else was expected."""


def spoiled(value):
    """Copies of a JSON value, each with one value in it, at any depth, replaced by an odd one, or left out."""
    yield from ODD
    if isinstance(value, dict):
        for key, item in value.items():
            yield {name: other for name, other in value.items() if name != key}
            for other in spoiled(item):
                yield {**value, key: other}
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield value[:place] + value[place + 1 :]
            for other in spoiled(item):
                yield [*value[:place], other, *value[place + 1 :]]


def withstands(format, value):
    """Whether any spoiled copy of `value` is an answer: traces, or a reason in words."""
    for odd in spoiled(value):
        assert format.detect(odd) in (True, False)
        traces, skipped = read(format, odd, keep_raw=True)
        for trace in traces:
            trace.model_dump_json()
        for entry in skipped:
            assert "Error:" not in entry.reason, (entry.reason, odd)
    return True
