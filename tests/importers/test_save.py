"""`save_traces`: what is saved loads equal, or says so when it is saved."""

import datetime
import gzip
import json
import os
import tracemalloc

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks import Interaction, Scenario, Suite, Trace, load_traces, save_traces
from giskard.checks.core.models import SCHEMA_VERSION
from tests.importers.rows import loaded

TEXT = st.text(max_size=20) | st.text(alphabet='\udc80\udfffé\0\u2028\n"\\', max_size=4)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)
TURNS = st.builds(Interaction, inputs=JSON, outputs=JSON, metadata=OBJECTS)
TRACES = st.builds(Trace, interactions=st.lists(TURNS, max_size=4), annotations=OBJECTS)


def same(trace, other):
    """Equal, and of the same types: 1, 1.0 and True are not the same."""
    return trace == other and repr(trace) == repr(other)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("saved")


@given(traces=st.lists(TRACES, min_size=1, max_size=3))
def test_what_is_saved_loads_equal(folder, traces):
    path = folder / "traces.jsonl"
    assert save_traces(traces, path) == len(traces)
    read = list(load_traces(path))
    assert len(read) == len(traces)
    assert all(map(same, read, traces))
    assert path.read_bytes().count(b"\n") == len(traces)


def test_the_source_of_the_original_is_kept(tmp_path, write):
    first = write(
        "a.jsonl", '{"interactions": [{"inputs": "q", "outputs": "a"}], "annotations": {"source": {"line": 7}}}'
    )
    save_traces(load_traces(first), tmp_path / "b.jsonl")
    assert [trace.annotations for trace in load_traces(tmp_path / "b.jsonl")] == [{"source": {"line": 7}}]


def test_a_trace_as_pydantic_writes_it_is_read_too(write):
    trace = Trace(interactions=[Interaction(inputs="q", outputs={"a": 1})], annotations={"tier": "gold"})
    assert list(load_traces(write("a.json", trace.model_dump_json()))) == [trace]


def test_one_trace_alone(tmp_path):
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a")])
    assert save_traces(trace, tmp_path / "a.jsonl") == 1
    assert list(load_traces(tmp_path / "a.jsonl")) == [trace]


def test_no_traces_give_an_empty_file(tmp_path):
    assert save_traces([], tmp_path / "a.jsonl") == 0
    assert (tmp_path / "a.jsonl").read_bytes() == b""


def test_files_are_packed_by_their_name(tmp_path):
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a")])
    save_traces([trace], tmp_path / "deep" / "a.jsonl.gz")
    data = (tmp_path / "deep" / "a.jsonl.gz").read_bytes()
    assert json.loads(gzip.decompress(data))["schema_version"] == SCHEMA_VERSION
    assert list(load_traces(tmp_path / "deep" / "a.jsonl.gz")) == [trace]
    save_traces([trace], tmp_path / "b.jsonl.gz")
    assert (tmp_path / "b.jsonl.gz").read_bytes() == data  # neither a name nor a time in it


class Point(pydantic.BaseModel):
    x: int


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            {"when": [datetime.date(2025, 1, 2)]},
            "outputs.when[0]: JSON has no form for date: datetime.date(2025, 1, 2)",
        ),
        ((1, 2), "outputs: JSON has no form for tuple: (1, 2)"),
        ({1, 2}, "outputs: JSON has no form for "),
        (Point(x=1), "outputs: JSON has no form for Point: Point(x=1)"),
        (b"x", "outputs: JSON has no form for bytes"),
        (float("nan"), "outputs: JSON has no form for nan"),
        ([float("-inf")], "outputs[0]: JSON has no form for -inf"),
        ({1: 2}, "outputs: the key 1 is int, and JSON has texts only"),
        ({"a": "\ud800\udfff"}, "outputs.a: JSON has no form for a surrogate pair of two characters"),
        ({"\ud800\udfff": 1}, "outputs: JSON has no form for a surrogate pair of two characters"),
        pytest.param(10**5000, "outputs: an integer of more than 4,000 digits", id="huge"),
        (None, "outputs"),
    ],
)
@pytest.mark.parametrize("format", ["giskard", "openai_chat"])
def test_what_cannot_be_saved_says_so_and_leaves_the_old_file(tmp_path, value, said, format):
    if value is None:
        for _ in range(300):
            value = [value]
        said = "nested deeper than 180 levels"
    path = tmp_path / "a.jsonl"
    path.write_text("old")
    good = Interaction(inputs="q", outputs="a")
    bad = Trace(interactions=[good, Interaction(inputs="q", outputs=value)])
    with pytest.raises(ValueError, match="trace 2, turn 2, ") as error:
        save_traces([Trace(interactions=[good]), bad], path, format)
    assert said in str(error.value)
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["a.jsonl"])


def test_what_the_message_says_to_do_helps(tmp_path):
    trace = Trace(interactions=[Interaction(inputs={1: (2,)}, outputs=datetime.date(2025, 1, 2))])
    plain = Trace.model_validate(trace.model_dump(mode="json"))
    assert save_traces([plain], tmp_path / "a.jsonl") == 1
    assert list(load_traces(tmp_path / "a.jsonl")) == [plain]


class Own(Trace, frozen=True):
    mood: str = "good"


class Computed(Trace, frozen=True):
    @pydantic.computed_field
    @property
    def turns(self) -> int:
        return len(self.interactions)


def test_traces_of_other_classes(tmp_path):
    turn = Interaction(inputs="q", outputs="a")
    with pytest.raises(ValueError, match=r"trace 1, the trace: Own has fields of its own \(mood\)"):
        save_traces([Own(interactions=[turn])], tmp_path / "a.jsonl")
    save_traces([Computed(interactions=[turn])], tmp_path / "a.jsonl")
    assert list(load_traces(tmp_path / "a.jsonl")) == [Trace(interactions=[turn])]


def test_what_is_no_trace_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"item 1 is dict, not a Trace: \{'a': 1\}"):
        save_traces([{"a": 1}], tmp_path / "a.jsonl")
    with pytest.raises(ValueError, match="cannot be saved as 'giscard'; did you mean 'giskard'"):
        save_traces([], tmp_path / "a.jsonl", "giscard")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a.csv", "a.CSV.gz", "a.parquet", "a.xlsx", "a.yaml", "a.yml", "a.tsv", "a.zip"])
@pytest.mark.parametrize("format", ["giskard", "openai_chat"])
def test_a_name_that_says_another_thing_is_refused(tmp_path, name, format):
    with pytest.raises(ValueError, match=r"what is written is JSON lines: name it \.jsonl, or \.jsonl\.gz to pack it"):
        save_traces([Trace()], tmp_path / name, format)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a", "a.jsonl", "a.json", "a.ndjson", "a.txt", "a.gz", "run.2025-10-09"])
def test_other_names_are_taken(tmp_path, name):
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a")])
    save_traces([trace], tmp_path / name)
    assert list(load_traces(tmp_path / name)) == [trace]


def test_of_a_result_its_trace_is_to_be_saved(tmp_path):
    scenario = Scenario("one").interact("q", outputs="a")
    result = scenario.run_sync()
    for one in (result, [result]):
        with pytest.raises(TypeError, match=r"ScenarioResult.*: use result\.final_trace$"):
            save_traces(one, tmp_path / "a.jsonl")
    suite = Suite("two", [scenario]).run_sync(verbose=False)
    with pytest.raises(TypeError, match=r"SuiteResult: use \[result\.final_trace for result in "):
        save_traces(suite, tmp_path / "a.jsonl")
    with pytest.raises(TypeError, match=r"expected traces, got int$"):
        save_traces(3, tmp_path / "a.jsonl")
    assert save_traces(result.final_trace, tmp_path / "a.jsonl") == 1


def test_what_fails_midway_leaves_nothing(tmp_path):
    def traces():
        yield Trace()
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        save_traces(traces(), tmp_path / "a.jsonl.gz")
    assert os.listdir(tmp_path) == []


def test_any_number_is_written_in_little_memory(tmp_path):
    trace = Trace(interactions=[Interaction(inputs="x" * 1_000, outputs="y" * 1_000)])
    tracemalloc.start()
    try:
        assert save_traces((trace for _ in range(5_000)), tmp_path / "a.jsonl") == 5_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2e6 < (tmp_path / "a.jsonl").stat().st_size / 4


NEWER = "and this package reads up to 1.x (1.0): update giskard-checks to load it"


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("2.0", f"this data has schema_version 2.0, {NEWER}"),
        (7, f"this data has schema_version 7, {NEWER}"),
        ("x", "schema_version is 'x'; expected a text such as '1.0'"),
    ],
)
def test_a_newer_version_is_refused(write, version, reason):
    record = {"schema_version": version, "interactions": [{"inputs": "q", "outputs": "a"}]}
    assert loaded(write("a.jsonl", record)) == ([], [(1, reason)])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"interactions": [{"inputs": "q", "outputs": "a"}, 7]}, "turn 2 has no inputs and outputs"),
        ({"interactions": [{"inputs": "q"}]}, "turn 1 has no inputs and outputs"),
        ({"interactions": [{"inputs": 1, "outputs": 2, "metadata": [3]}]}, "the metadata of turn 1 is no object"),
        ({"interactions": [], "annotations": [3]}, "annotations is no object"),
    ],
)
def test_a_trace_that_is_none_is_skipped(write, record, reason):
    assert loaded(write("a.jsonl", record)) == ([], [(1, reason)])


def test_what_has_another_shape_is_not_ours(write):
    assert loaded(write("a.jsonl", [7]), "giskard") == ([], [(1, "an object was expected")])


def test_another_minor_version_is_read(write):
    record = {"schema_version": "1.9", "interactions": [{"inputs": "q", "outputs": "a"}], "new": 1}
    assert loaded(write("a.jsonl", record)) == (["q"], [])


# --- as rows of messages ---------------------------------------------------------------

WORDS = st.text(alphabet='abc é{["1 \n', max_size=6)
SAID = WORDS.filter(str.strip)
ARGUMENTS = st.dictionaries(WORDS, SCALARS, max_size=3)
RESULTS = st.none() | WORDS | OBJECTS | st.lists(SCALARS, max_size=3) | st.integers() | st.booleans()


@st.composite
def calls(draw):
    call = {"id": draw(SAID), "name": draw(SAID), "arguments": draw(ARGUMENTS), "result": None, "error": None}
    outcome = draw(st.sampled_from(["result", "error", "none"]))
    if outcome == "none":
        call["answered"] = False
    elif outcome == "error":
        call["error"] = draw(SAID)
    else:
        call["result"] = draw(RESULTS)
    return call


@st.composite
def conversations(draw):
    """A conversation as a row of messages gives it: loaded from one, so that all that can be derived is there."""
    messages = [{"role": "system", "content": draw(SAID)}] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(SAID)})
        for step in range(draw(st.integers(0, 2))):
            made = draw(st.lists(calls(), min_size=1, max_size=2))
            for place, call in enumerate(made):
                call["id"] = f"{call['id']}-{step}-{place}"
            messages.append({"role": "assistant", "content": draw(st.none() | SAID), "calls": made})
        if draw(st.booleans()):
            messages.append({"role": "assistant", "content": draw(SAID)})
    return messages


def row_of(messages, conversation_id):
    row = {"messages": [], "conversation_id": conversation_id}
    for message in messages:
        made = message.get("calls")
        if made is None:
            row["messages"].append(message)
            continue
        asked = [
            {
                "id": c["id"],
                "type": "function",
                "function": {"name": c["name"], "arguments": json.dumps(c["arguments"])},
            }
            for c in made
        ]
        row["messages"].append({"role": "assistant", "content": message["content"], "tool_calls": asked})
        for call in made:
            if "answered" not in call:
                failed = call["error"] is not None
                content = call["error"] if failed else json.dumps(call["result"])
                told = {"role": "tool", "tool_call_id": call["id"], "content": content}
                row["messages"].append({**told, "is_error": True} if failed else told)
    return row


def _without_source(trace):
    return trace.with_annotations({key: value for key, value in trace.annotations.items() if key != "source"})


@given(messages=conversations())
def test_conversations_come_back_from_rows_of_messages(folder, messages):
    path, again = folder / "rows.jsonl", folder / "again.jsonl"
    path.write_text(json.dumps(row_of(messages, "conv-1")))
    traces = list(load_traces(path))
    assert save_traces(traces, again, "openai_chat") == 1
    (read,) = load_traces(again)
    assert _without_source(read) == _without_source(traces[0])


def test_parts_alone_give_rows_too(tmp_path):
    tools = [{"type": "function", "function": {"name": "get_fee"}}]
    turn = Interaction(
        inputs="fee?",
        outputs="free",
        metadata={
            "tool_calls": [
                {"id": "1", "name": "a", "arguments": {"x": 1}, "result": {"y": 2}, "error": None, "message_index": 1},
                {"id": "2", "name": "b", "arguments": {}, "result": None, "error": "no", "message_index": 1},
                {"id": "3", "name": "c", "arguments": {}, "result": "12", "error": None, "message_index": 4},
            ],
            "intermediate": [{"message_index": 1, "text": "let me see"}],
        },
    )
    trace = Trace(interactions=[turn], annotations={"system_prompt": "be kind", "tools": tools, "conversation_id": "c"})
    save_traces([trace], tmp_path / "a.jsonl", "openai_chat")
    (read,) = load_traces(tmp_path / "a.jsonl")
    assert {**read.annotations, "source": None} == {**trace.annotations, "source": None}
    known = [
        {key: call[key] for key in ("id", "name", "arguments", "result", "error")}
        for call in read.last.metadata["tool_calls"]
    ]
    assert known == [{key: call[key] for key in known[0]} for call in turn.metadata["tool_calls"]]
    assert (read.last.inputs, read.last.outputs) == ("fee?", "free")
    assert [item["text"] for item in read.last.metadata["intermediate"]] == ["let me see"]


def test_what_a_message_cannot_hold_is_said(tmp_path):
    trace = Trace(interactions=[Interaction(inputs={"q": 1}, outputs="a")])
    with pytest.raises(ValueError, match="trace 1, turn 1, inputs: a message holds a text or a list of parts, not"):
        save_traces([trace], tmp_path / "a.jsonl", "openai_chat")
