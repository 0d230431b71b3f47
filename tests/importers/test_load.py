"""`load_traces`: options, the report it fills, the formats it asks, and what their mistakes cost."""

import inspect
import json
import os
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest
from pydantic import computed_field

import giskard.checks
from giskard.checks import Interaction, Trace, load_traces
from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.importers import (
    BadRecord,
    Format,
    ImportReport,
    Reading,
    ReadOptions,
    Record,
    RecordFormat,
    SkippedRecordsWarning,
    UnknownFormatError,
    _registry,
)
from tests.importers.conftest import EXAMPLES
from tests.importers.rows import line, loaded, questions


class Each(RecordFormat):
    """Reads ``{"each": ...}``; some values make it fail."""

    name = "each"

    def detect(self, value):
        return isinstance(value, dict) and "each" in value

    def convert(self, value, source, options):
        said = value["each"]
        if said == "bad":
            raise BadRecord("it is bad")
        if said == "crash":
            raise RuntimeError("oh no")
        if said == "two":
            return [trace_of("two", source), trace_of("2", source)]
        return trace_of(said, source)


class Grouped(Format):
    """Reads all ``{"group": ..., "say": ...}`` of a file, and makes a trace of each group."""

    name = "grouped"
    aliases = ("groups",)

    def detect(self, value):
        return isinstance(value, dict) and "group" in value

    def read(self, records, reading):
        groups = {}
        for record in records:
            if record.value["say"] == "crash":
                raise RuntimeError("oh no")
            groups.setdefault(record.value["group"], []).append(record)
        for group, members in groups.items():
            said = "+".join(record.value["say"] for record in members)
            yield trace_of(f"{group}: {said}", reading.source(members[0], self.name))


class AsItGoes(Format):
    """Reads all ``{"stream": ...}``, a trace for each."""

    name = "stream"

    def detect(self, value):
        return isinstance(value, dict) and "stream" in value

    def read(self, records, reading):
        for record in records:
            yield trace_of(record.value["stream"], reading.source(record, self.name))


class Talk(RecordFormat):
    """A conversation is a list of texts."""

    name = "talk"

    def detect(self, value):
        return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)

    def convert(self, value, source, options):
        return trace_of("/".join(value), source)


def trace_of(said, source):
    return Trace(interactions=[Interaction(inputs=said, outputs=None)], annotations={"source": source})


@pytest.fixture
def formats(monkeypatch):
    """Puts formats in the place of those of other packages."""

    def put(*made, broken=()):
        monkeypatch.setattr(_registry, "third_party", lambda: (made, broken))
        monkeypatch.setattr("giskard.checks.importers.load.third_party", lambda: (made, broken))

    return put


def raised_in(method):
    """The line of this file on which a method raises its RuntimeError."""
    source, first = inspect.getsourcelines(method)
    line = first + next(at for at, text in enumerate(source) if "raise RuntimeError" in text)
    return f"{os.path.relpath(__file__)}:{line}"


def lines(*values):
    return "\n".join(map(json.dumps, values))


# --- the door --------------------------------------------------------------------------


def test_it_is_handed_out_by_the_package():
    assert giskard.checks.load_traces is load_traces
    assert {"load_traces", "save_traces"} <= set(giskard.checks.__all__)


def test_the_options_are_keywords():
    parameters = inspect.signature(load_traces).parameters.values()
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == ["path", "format"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("openai-chat", "there is no format 'openai-chat'; did you mean 'openai_chat'? There are: auto, "),
        ("zzz", "there is no format 'zzz'. There are: auto, "),
        (None, "there is no format None. There are: auto, "),
    ],
)
def test_an_unknown_format_is_said_at_once(write, name, hint):
    with pytest.raises(ValueError, match="there is no format") as error:
        load_traces(write("a.jsonl", line()), name)
    assert hint in str(error.value)


def test_an_unknown_word_for_what_happens_to_skips(write):
    with pytest.raises(ValueError, match="on_skip is 'fail'; expected one of 'warn', 'raise', 'ignore'"):
        load_traces(write("a.jsonl", line()), on_skip="fail")


def test_the_options_reach_the_format(write, formats):
    seen = []

    class Curious(Each):
        def convert(self, value, source, options):
            seen.append(options)
            return trace_of("x", source)

    formats(Curious())
    path = write("a.jsonl", {"each": 1})
    list(load_traces(path))
    list(load_traces(path, stop_markers="###", keep_raw=True, columns={"input": "q"}, sidechains=True))
    assert seen == [ReadOptions(), ReadOptions(("###",), True, {"input": "q"}, True)]


def test_the_stream_is_an_iterator(write):
    traces = load_traces(write("a.jsonl", f"{line(1)}\n{line(2)}"))
    assert iter(traces) is traces
    assert repr(traces) == "<TraceStream of 1 file(s), 0 traces taken, not at its end>"
    assert questions(traces) == ["q1", "q2"]
    assert next(traces, None) is None
    assert repr(traces) == "<TraceStream of 1 file(s), 2 traces taken, ended>"


def test_a_second_time_is_an_error_that_says_what_to_do(write):
    traces = load_traces(write("a.jsonl", f"{line(1)}\n{line(2)}"))
    assert isinstance(traces, Iterator)
    assert questions(traces) == ["q1", "q2"]
    said = r"its 2 traces were taken already: call load_traces again, or keep them with list\(\.\.\.\)"
    for _ in range(2):
        with pytest.raises(RuntimeError, match=said):
            list(traces)


def test_traces_have_no_places(write):
    traces = load_traces(write("a.jsonl", line(1)))
    for index in (0, slice(1)):
        with pytest.raises(TypeError, match=r"take them all with list\(\.\.\.\), then \[index\]"):
            traces[index]
    with pytest.raises(TypeError):
        len(traces)
    assert questions(traces) == ["q1"]


# --- what was skipped ------------------------------------------------------------------


def test_what_was_skipped_gives_a_warning_at_the_end(write):
    traces = load_traces(path := write("a.jsonl", f"{line(1)}\n{{\n{line(2)}\nnothing"))
    next(traces)
    next(traces)
    with pytest.warns(
        SkippedRecordsWarning, match=rf"2 records were skipped, the first at {path}:2: .*on_skip"
    ) as seen:
        assert list(traces) == []
    assert [warning.filename for warning in seen] == [__file__]
    assert next(traces, None) is None  # and no warning again


def test_it_can_be_an_error_at_once(write):
    traces = load_traces(path := write("a.jsonl", f"{line(1)}\n{{\n{line(2)}"), on_skip="raise")
    assert next(traces).last.inputs == "q1"
    with pytest.raises(BadRecord, match=f"{path}:2: "):
        next(traces)
    assert list(traces) == []


def test_it_can_be_left_to_the_report(write):
    traces = load_traces(write("a.jsonl", f"{line(1)}\n{{\n{line(2)}"), on_skip="ignore")
    assert questions(traces) == ["q1", "q2"]
    assert traces.report.skipped_count == 1


def test_a_bad_record_and_a_crash_cost_their_record_only(write, formats):
    formats(Each())
    path = write("a.jsonl", lines({"each": "1"}, {"each": "bad"}, {"each": "crash"}, {"each": "two"}, {"each": "4"}))
    asked, skipped = loaded(path)
    assert asked == ["1", "two", "2", "4"]
    assert skipped == [(2, "it is bad"), (3, f"RuntimeError: oh no ({raised_in(Each.convert)})")]


def test_a_crash_of_a_whole_read_costs_the_rest_of_its_stream(write, formats):
    formats(Grouped(), Each())
    said = [{"group": 1, "say": "a"}, {"group": 1, "say": "crash"}, {"each": "x"}, {"group": 1, "say": "b"}]
    asked, skipped = loaded(write("a.jsonl", lines(*said, {"group": 2, "say": "c"})))
    assert asked == ["x"]
    assert skipped == [
        (2, f"RuntimeError: oh no ({raised_in(Grouped.read)})"),
        (2, "its 2 further records were not read because of that"),
    ]


def test_a_format_whose_read_crashes_goes_on_with_the_next_record(write, formats):
    class Nervous(Each):
        def read(self, records, reading):
            for record in records:
                if record.value["each"] == "crash":
                    raise RuntimeError("oh no")
                yield trace_of(record.value["each"], {})

    formats(Nervous())
    asked, skipped = loaded(write("a.jsonl", lines({"each": "1"}, {"each": "crash"}, {"each": "3"})))
    assert (asked, skipped) == (["1", "3"], [(2, f"RuntimeError: oh no ({raised_in(Nervous.read)})")])


@pytest.mark.parametrize("given", [None, 3, "text", {"a": 1}, Interaction(inputs="q", outputs="a")])
def test_a_convert_that_gives_no_trace_is_told(write, given):
    class Forgot(Each):
        def convert(self, value, source, options):
            return given if value["each"] == "alone" else [trace_of("x", source), given]

    asked, skipped = loaded(write("a.jsonl", lines({"each": "alone"}, {"each": "one of two"})), Forgot())
    kind, expected = type(given).__name__, "expected a Trace or an iterable of traces"
    assert asked == []
    assert skipped == [
        (1, f"convert returned {kind}, {expected}"),
        (2, f"convert returned {kind} among its traces, {expected}"),
    ]


def test_a_read_that_gives_no_trace_is_told(write):
    class Wrong(AsItGoes):
        def read(self, records, reading):
            for _ in records:
                yield None

    _, skipped = loaded(write("a.jsonl", lines({"stream": "1"})), Wrong())
    assert skipped[0][1].startswith("TypeError: read gave NoneType, expected traces")


def test_an_error_names_the_line_of_the_format_and_not_of_a_library(write):
    class Parses(Each):
        def convert(self, value, source, options):
            return json.loads(value["each"])

    _, skipped = loaded(write("a.jsonl", lines({"each": "{"})), Parses())
    assert skipped[0][1].endswith(f"test_load.py:{Parses.convert.__code__.co_firstlineno + 1})")


class Nameless(RecordFormat):
    def detect(self, value):
        return True

    def convert(self, value, source, options):
        return trace_of("x", source)


@pytest.mark.parametrize("given", [Nameless, Nameless()])
def test_a_format_without_a_name_is_refused_where_it_is_given(write, given):
    with pytest.raises(TypeError, match=r"the format Nameless has no name; give the class one, .*name = 'nameless'"):
        load_traces(write("a.jsonl", line()), given)


def test_a_package_with_a_format_without_a_name_does_not_stop_the_others(write, monkeypatch):
    point = EntryPoint("nameless", f"{__name__}:Nameless", _registry.GROUP)
    monkeypatch.setattr(_registry, "entry_points", lambda group: [point])
    _registry.third_party.cache_clear()
    try:
        made, problems = _registry.third_party()
    finally:
        _registry.third_party.cache_clear()
    assert made == ()
    assert "the format Nameless has no name" in problems[0]


# --- packages that are not installed ---------------------------------------------------


def test_of_several_files_those_that_need_a_package_are_skipped(write, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    cassette = write("a.yaml", "interactions: []\nversion: 1\n")
    rows = write("b.jsonl", line(1))
    for given in (tmp_path, [cassette, rows]):
        asked, skipped = loaded(given)
        assert asked == ["q1"]
        assert len(skipped) == 1
        assert "pip install 'giskard-checks[cassettes]'" in skipped[0][1]
    with pytest.raises(MissingExtraError):
        list(load_traces(cassette))


# --- how conversations end -------------------------------------------------------------


def ending(*ends):
    return "\n".join(
        json.dumps({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, *end]})
        for end in ([{"role": "user", "content": text}] if text else [] for text in ends)
    )


@pytest.mark.parametrize("marker", ["###STOP###", "STOP", "[END]", "TASK_DONE", "## bye ##"])
def test_a_marker_at_the_end_of_most_conversations_is_noted(write, marker):
    path = write("a.jsonl", ending(marker, marker, marker, "And then?", None))
    traces = load_traces(path)
    list(traces)
    assert traces.report.notes == [f"3 conversations end with {marker!r}: stop_markers=[{marker!r}] takes it out"]
    again = load_traces(path, stop_markers=[marker])
    list(again)
    assert again.report.notes == []


@pytest.mark.parametrize(
    "ends",
    [["###STOP###"], ["STOP", "STOP", None, None], ["Thanks!", "Thanks!"], ["STOP", "END"], ["OK", "OK"]],
)
def test_other_ends_are_not_noted(write, ends):
    traces = load_traces(write("a.jsonl", ending(*ends)))
    list(traces)
    assert traces.report.notes == []


def test_a_format_that_stops_early_is_asked_again(write, formats):
    class Lazy(Each):
        def read(self, records, reading):
            yield trace_of(next(records).value["each"], {})

    formats(Lazy())
    assert loaded(write("a.jsonl", lines({"each": "1"}, {"each": "2"}))) == (["1", "2"], [])


def test_a_detect_that_crashes_says_no(write, formats):
    class Touchy(Each):
        def detect(self, value):
            return value["other"]

    formats(Touchy())
    assert loaded(write("a.jsonl", line())) == (["q1"], [])


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_to_end_the_program_passes(write, formats, error):
    class Ends(Each):
        def convert(self, value, source, options):
            raise error

    formats(Ends())
    with pytest.raises(error):
        next(load_traces(write("a.jsonl", {"each": 1})))


# --- which format ----------------------------------------------------------------------


def test_one_file_may_hold_several_formats(write, formats):
    formats(Each())
    path = write("a.jsonl", "\n".join([line(1), lines({"each": "e"}), line(2), lines({"each": "f"}, {"no": 1})]))
    traces = load_traces(path, on_skip="ignore")
    assert questions(traces) == ["q1", "e", "q2", "f"]
    assert traces.report.formats == {"giskard": 2, "each": 2}
    assert traces.report.skipped[0].reason == "of no known format: an object with the keys 'no'"


def test_a_format_that_groups_gets_all_its_records_of_a_file(write, formats):
    formats(Grouped(), Each())
    said = [
        {"each": "first"},
        {"group": 1, "say": "a"},
        {"each": "between"},
        {"each": "two"},
        {"group": 2, "say": "b"},
        {"no": 1},
        {"group": 1, "say": "c"},
        {"each": "last"},
    ]
    asked, skipped = loaded(write("a.jsonl", lines(*said)))
    assert asked == ["first", "1: a+c", "between", "two", "2", "last", "2: b"]
    assert [place for place, _ in skipped] == [6]


def test_what_stands_between_comes_out_with_the_next_trace(write, formats):
    formats(AsItGoes(), Each())
    said = [{"stream": "1"}, {"each": "a"}, {"each": "b"}, {"stream": "2"}, {"stream": "3"}, {"each": "c"}]
    assert loaded(write("a.jsonl", lines(*said)))[0] == ["1", "2", "a", "b", "3", "c"]


def test_two_formats_that_group_each_get_all_of_theirs(write, formats):
    formats(Grouped(), AsItGoes())
    said = [{"group": 1, "say": "a"}, {"stream": "x"}, {"group": 1, "say": "b"}, {"stream": "y"}]
    assert loaded(write("a.jsonl", lines(*said)))[0] == ["1: a+b", "x", "y"]


def test_a_group_ends_with_its_file(write, formats):
    formats(Grouped())
    one = write("a.jsonl", lines({"group": 1, "say": "a"}))
    other = write("b.jsonl", lines({"group": 1, "say": "b"}))
    assert loaded([one, other])[0] == ["1: a", "1: b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["a", "b"]', ["a/b"]),
        ('[["a", "b"], ["c"]]', ["a/b", "c"]),
        ('["a", "b"]\n["c"]', ["a/b", "c"]),
        ('"a"\n"b"\n"c"', ["a/b/c"]),
        ('{"history": ["a", "b"]}', ["a/b"]),
        ('{"id": 1, "turns": ["a", "b"]}\n{"id": 2, "turns": ["c"]}', ["a/b", "c"]),
    ],
)
def test_a_list_may_be_a_conversation(write, formats, text, expected):
    formats(Talk())
    assert loaded(write("a.json", text)) == (expected, [])


def test_a_long_conversation_is_one_record(write, formats):
    formats(Talk())
    said = [f"turn {n}" for n in range(1000)]
    assert loaded(write("a.json", said))[0] == ["/".join(said)]
    assert loaded(write("b.jsonl", lines(*said)))[0] == ["/".join(said)]


def test_two_formats_that_say_yes_are_an_error(write, formats):
    class Other(Each):
        name = "other"

    formats(Each(), Other())
    path = write("a.jsonl", {"each": "1"})
    with pytest.raises(UnknownFormatError, match=r"this may be each or other: .*format='each' or format='other'"):
        next(load_traces(path))
    assert loaded(path, "other") == (["1"], [])


def test_the_format_may_be_given(write, formats):
    formats(Grouped())
    path = write("a.jsonl", lines({"group": 1, "say": "a"}, {"each": "x"}))
    assert loaded(path, "grouped")[0] == loaded(path, "groups")[0] == []
    assert loaded(path, "grouped")[1][0][1].startswith("KeyError")
    assert loaded(path, Each())[0] == ["x"]
    assert loaded(path, Each)[0] == ["x"]


def test_the_given_format_also_takes_what_it_does_not_recognise(write):
    assert loaded(write("a.jsonl", lines({"messages": []})), "giskard") == (
        [],
        [(1, "interactions is no list of turns")],
    )


# --- formats of other packages ---------------------------------------------------------


@pytest.fixture
def entry_points(monkeypatch):
    """Puts entry points in the place of those that are installed."""
    points = []
    monkeypatch.setattr(_registry, "entry_points", lambda group: [p for p in points if p.group == group])
    _registry.third_party.cache_clear()
    _registry.file_formats.cache_clear()
    yield points
    _registry.third_party.cache_clear()
    _registry.file_formats.cache_clear()


def test_formats_of_other_packages_are_asked_first(write, entry_points):
    entry_points.append(EntryPoint("each", f"{__name__}:Mine", "giskard_checks.importers"))
    traces = load_traces(write("a.jsonl", line()))
    assert [trace.annotations["source"]["format"] for trace in traces] == ["mine"]
    assert loaded(write("a.jsonl", line()), "mine")[0] == ["mine"]


class Mine(RecordFormat):
    name = "mine"

    def detect(self, value):
        return isinstance(value, dict)

    def convert(self, value, source, options):
        return trace_of("mine", source)


@pytest.mark.parametrize(
    "target", ["no.such.module:X", f"{__name__}:no_such_name", "json:dumps", f"{__name__}:trace_of"]
)
def test_one_that_cannot_be_loaded_is_noted(write, entry_points, target):
    entry_points.append(EntryPoint("broken", target, "giskard_checks.importers"))
    traces = load_traces(write("a.jsonl", line()))
    assert questions(traces) == ["q1"]
    assert f"the format 'broken' ({target}) could not be loaded: " in traces.report.notes[0]
    assert f"note: the format 'broken' ({target})" in str(traces.report).replace("\n  ", " ")


# --- results ---------------------------------------------------------------------------


async def _result():
    checked = giskard.checks.Equals(expected_value="a", target_key="trace.last.outputs")
    suite = giskard.checks.Suite(name="fees").append(
        giskard.checks.Scenario("one", annotations={"tier": "gold"}).interact(inputs="q", outputs="a").check(checked)
    )
    return await suite.run(verbose=False)


@pytest.mark.asyncio
async def test_results_as_json_lines_are_read_too(tmp_path):
    path = tmp_path / "results.jsonl"
    result = await _result()
    result.to_json_lines(path)
    (trace,) = load_traces(path)
    assert trace.interactions == result.results[0].final_trace.interactions
    known = {
        key: trace.annotations[key] for key in ("tier", "suite_name", "scenario_name", "status", "trial", "source")
    }
    source = {"format": "giskard", "path": str(path), "line": 1}
    assert known == {
        "tier": "gold",
        "suite_name": "fees",
        "scenario_name": "one",
        "status": "pass",
        "trial": 1,
        "source": source,
    }


@pytest.mark.asyncio
async def test_a_result_without_a_trace_is_skipped(tmp_path):
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a")])
    result = await giskard.checks.TestCase(trace=trace, checks=[]).run()
    result.to_json_lines(tmp_path / "results.jsonl")
    assert loaded(tmp_path / "results.jsonl") == ([], [(1, "this result is of a test case: its trace was not kept")])


def test_a_reading_works_on_its_own():
    reading = Reading()
    reading.skip(Record({}, "a.jsonl", 3), "each", "why")
    assert isinstance(reading.report, ImportReport)
    assert reading.report.skipped[0].place == "a.jsonl:3"
    assert reading.source(Record({}), "each") == {"format": "each"}


# --- several files, and traces of one's own ------------------------------------------------


def test_a_conversation_may_stand_in_several_files(tmp_path):
    observations = json.loads((EXAMPLES / "langfuse_observations.json").read_text())[1:]
    for observation in observations:
        observation["parentObservationId"] = None
        del observation["sessionId"]
    whole = {"id": "tr-1", "timestamp": "2025-10-09T08:53:20.000Z", "session_id": "conv-1", "input": "q", "output": "a"}
    score = {"id": "s", "trace_id": "tr-1", "name": "ok", "value": 1, "data_type": "NUMERIC"}
    for folder, rows in (("observations", observations), ("scores", [score]), ("traces", [whole])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "z.jsonl").write_text('{"interactions": [{"inputs": "x", "outputs": "y"}]}')

    traces = load_traces(tmp_path)
    other, joined = traces

    assert other.last.outputs == "y"
    assert (joined.last.inputs, joined.last.metadata["labels"]) == ("q", {"ok": 1})
    assert joined.tool_calls[0].result == {"fee_eur": 0.0}
    assert traces.report.read == 2 and traces.report.skipped_count == 0


def test_spans_of_one_trace_may_stand_in_several_files(tmp_path):
    spans = json.loads((EXAMPLES.parent / "data" / "spans" / "pydantic_ai_otel_sdk_spans.json").read_text())
    for place, span in enumerate(spans):
        (tmp_path / f"{place}.jsonl").write_text(json.dumps(span))

    (trace,) = load_traces(tmp_path)

    assert len(trace.interactions) == 1
    assert trace.last.metadata["latency_ms"] > 0


class Transcript(Trace[str, str], frozen=True):
    @computed_field
    @property
    def said(self) -> str:
        return " ".join(turn.outputs for turn in self.interactions)


def test_traces_may_be_of_a_type_of_ones_own(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"interactions": [{"inputs": "x", "outputs": "y"}], "annotations": {"tier": 1}}')

    (trace,) = load_traces(path, trace_type=Transcript)

    assert type(trace) is Transcript
    assert (trace.said, trace.annotations["tier"]) == ("y", 1)


@pytest.mark.parametrize("head", [b"\x1f\x8b\x08\x00%\x00\x00[\n {", b"\x1c"])
def test_a_file_of_which_nothing_can_be_told_is_of_no_known_format(tmp_path, head):
    path = tmp_path / "a"
    path.write_bytes(head)
    with pytest.raises(UnknownFormatError):
        list(load_traces(path, on_skip="ignore"))
