"""Every example against every format: the right one comes first, and reads of it what the format can hold."""

import json
from typing import NamedTuple

import pytest

from giskard.checks import load_traces
from giskard.checks.importers._detection import Detector, shape_of
from giskard.checks.importers._registry import _HOMES, format_named, ranks
from giskard.checks.utils.frozen import thaw
from tests.importers.conftest import EXAMPLES

EXPECTED = json.loads((EXAMPLES / "expected_trace.json").read_text())


class Holds(NamedTuple):
    """What an example holds of the expected conversation.

    Parameters
    ----------
    calls
        In how many of its turns the calls of tools are recorded.
    lacks
        What it has no place for, or leaves out: an annotation, ``ids`` of calls, ``results``, ``outputs``.
    also
        Formats further down that would take it too.
    """

    format: str
    turns: int = 2
    calls: int = 2
    lacks: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


NO_PROMPT, NO_ID = "system_prompt", "conversation_id"
EXAMPLES_HOLD = {
    "a2a_task_v03.json": Holds("a2a", 1, 0, (NO_PROMPT,)),
    "a2a_task_v1.json": Holds("a2a", 1, 0, (NO_PROMPT,)),
    "anthropic_messages.json": Holds("anthropic", lacks=(NO_ID, "ids"), also=("openai_chat",)),
    "expected_trace.json": Holds("giskard"),
    "gemini_contents.json": Holds("gemini", 1, 1, (NO_PROMPT, NO_ID, "ids")),
    "langchain_dumpd.json": Holds("langchain", 1, 1, (NO_ID, "results", "outputs")),
    "langchain_messages_to_dict.json": Holds("langchain", 2, 1, (NO_ID,)),
    "langfuse_blob_observations_v2.jsonl": Holds("langfuse", 1, 1, ("results", "outputs"), ("table",)),
    "langfuse_observations.json": Holds("langfuse", 1, 1, also=("table",)),
    "langgraph_state.json": Holds("langchain", 2, 1),
    "langsmith_runs.jsonl": Holds("langsmith", 1, 1, (NO_PROMPT,), ("openai_chat",)),
    "openai_chat_finetune.jsonl": Holds("openai_chat", lacks=(NO_ID,)),
    "openai_chat_log.json": Holds("openai_chat", 1, 1, (NO_ID, "results", "outputs")),
    "openai_responses.json": Holds("openai_responses", 1, 1, (NO_ID, "results", "outputs")),
    "openai_responses_items.json": Holds("openai_responses", lacks=(NO_PROMPT, NO_ID)),
    "openinference_spans.json": Holds("opentelemetry", 1, 1),
    "otlp_genai.json": Holds("opentelemetry", 1, 1),
    "pydantic_ai_messages.json": Holds("pydantic_ai", 2, 1, (NO_ID,)),
    "sharegpt.json": Holds("sharegpt", 2, 1, ("ids",)),
    "table.csv": Holds("table", 2, 0, (NO_PROMPT,)),
    "tau_bench_row.json": Holds("tau_bench", lacks=(NO_ID,)),
    "vercel_ui_messages.json": Holds("vercel", 1, 1, (NO_PROMPT, NO_ID)),
}
# These hold another conversation, parts of one, or several; tests of their formats say what is read of them.
OTHERS = {
    "claude_code_session.jsonl": Holds("claude_code", 1),
    "hf_chat_rows.jsonl": Holds("huggingface", 1, also=("openai_chat", "table")),
    "mcp_log.jsonl": Holds("mcp", 1),
    "otlp_genai_legacy_spans.json": Holds("opentelemetry", 1),
}
ALL = EXAMPLES_HOLD | OTHERS
NAMES = list(_HOMES)


def test_the_tables_above_know_every_example():
    assert sorted(path.name for path in EXAMPLES.iterdir()) == sorted(ALL)


def records(name):
    """The records of an example: its objects, or the list that is one conversation."""
    text = (EXAMPLES / name).read_text()
    try:
        value = json.loads(text)
    except ValueError:
        value = [json.loads(line) for line in text.splitlines()]
    if not isinstance(value, list):
        return [value]
    _, is_whole = Detector().of_list(value)
    return [value] if is_whole else value


@pytest.fixture(scope="module")
def matrix():
    """For each example, which formats take one of its records."""
    formats = {format.name: format for rank in ranks() for format in rank}
    assert list(formats) == NAMES
    return {
        name: {other for other in NAMES if any(formats[other].detect(record) for record in records(name))}
        for name in ALL
        if not name.endswith(".csv")
    }


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("name", [name for name in ALL if not name.endswith(".csv")])
def test_each_format_takes_its_own_only(matrix, name, format):
    holds = ALL[name]
    assert (format in matrix[name]) == (format == holds.format or format in holds.also)


@pytest.mark.parametrize("name", ALL)
def test_the_right_format_comes_first(name):
    holds = ALL[name]
    assert all(NAMES.index(other) > NAMES.index(holds.format) for other in holds.also)
    traces = load_traces(EXAMPLES / name, on_skip="ignore")
    count = sum(1 for _ in traces)
    assert traces.report.formats == {holds.format: count}
    assert count > 0
    assert traces.report.skipped == []


@pytest.mark.parametrize("name", EXAMPLES_HOLD)
def test_each_example_gives_what_its_format_can_hold(name):
    holds = EXAMPLES_HOLD[name]
    (trace,) = load_traces(EXAMPLES / name)
    for key in ("system_prompt", "conversation_id"):
        if key not in holds.lacks and holds.format != "giskard":
            assert trace.annotations[key] == EXPECTED["annotations"][key]
    if holds.format != "giskard":  # which keeps the source of the original
        source = trace.annotations["source"]
        assert (format_named(source["format"]).name, source["path"]) == (holds.format, str(EXAMPLES / name))
    assert len(trace.interactions) == holds.turns
    turns_with_calls = 0
    for turn, expected in zip(trace.interactions, EXPECTED["interactions"], strict=False):
        assert turn.inputs == expected["inputs"]
        assert turn.outputs == (None if "outputs" in holds.lacks else expected["outputs"])
        assert (turn.metadata.get("incomplete") is True) == (turn.outputs is None)
        calls = turn.metadata.get("tool_calls")
        if calls:
            turns_with_calls += 1
            assert [_known(call, holds) for call in calls] == [
                _known(call, holds) for call in expected["metadata"]["tool_calls"]
            ]
    assert turns_with_calls == holds.calls


def _known(call, holds):
    left_out = ({"id"} if "ids" in holds.lacks else set()) | ({"result"} if "results" in holds.lacks else set())
    return {key: thaw(call[key]) for key in ("id", "name", "arguments", "result", "error") if key not in left_out}


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].format != "table"])
def test_to_name_the_format_gives_the_same(name):
    traces = [trace.model_dump_json() for trace in load_traces(EXAMPLES / name)]
    assert [trace.model_dump_json() for trace in load_traces(EXAMPLES / name, ALL[name].format)] == traces


@pytest.mark.parametrize("name", [name for name in ALL if name.endswith(".json")])
def test_more_of_the_same_in_a_list_or_in_lines(tmp_path, name):
    value = json.loads((EXAMPLES / name).read_text())
    once = [_said(trace) for trace in load_traces(EXAMPLES / name)]
    if ALL[name].format in ("opentelemetry", "langfuse"):  # which join what has the same ids
        return
    (tmp_path / "a.jsonl").write_text("\n".join([json.dumps(value)] * 2))
    (tmp_path / "b.json").write_text(json.dumps([value] * 2))
    (tmp_path / "c.json").write_text(json.dumps({"data": [value] * 2}, indent=1))
    for path in sorted(tmp_path.iterdir()):
        traces = load_traces(path)
        assert [_said(trace) for trace in traces] == once * 2, path.name


def _said(trace):
    return [(turn.inputs, turn.outputs) for turn in trace.interactions]


def test_all_examples_in_one_folder():
    traces = load_traces(EXAMPLES, on_skip="ignore")
    count = sum(1 for _ in traces)
    assert traces.report.files == len(ALL)
    assert traces.report.skipped == []
    assert count == traces.report.read == sum(traces.report.formats.values())


def test_names_and_aliases_are_unique():
    spellings = [word for rank in ranks() for format in rank for word in (format.name, *format.aliases)]
    assert len(spellings) == len(set(spellings))
    assert all(format_named(word).name for word in spellings)


@pytest.mark.parametrize("value", [None, True, 7, 1.5, "text", [], {}, [None], [[]], [{}], ["a", 1], {"": None}])
def test_no_format_takes_what_is_nothing(value):
    for rank in ranks():
        for format in rank:
            assert format.detect(value) is False


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "an object without keys"),
        ({"a": 1}, "an object with the keys 'a'"),
        ({str(n): 1 for n in range(14)}, "and 2 more"),
        ([], "an empty list"),
        ([{"a": 1}], "a list, whose first item is an object with the keys 'a'"),
        ([[[[[1]]]]], "a list of lists"),
        ("secret", "a text"),
        (1.5, "a number"),
        (True, "true or false"),
        (None, "null"),
    ],
)
def test_the_shape_of_a_value_says_nothing_of_what_it_holds(value, text):
    assert text in shape_of(value)
    assert "secret" not in shape_of(value)
