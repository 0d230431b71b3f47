"""Tables that tracers export: their rows are read as records of these formats."""

import csv
import io
import json
from datetime import datetime

import pytest

from giskard.checks import load_traces
from giskard.checks.importers import UnknownFormatError
from giskard.checks.importers.table import Table
from tests.importers.conftest import EXAMPLES
from tests.importers.reading import example

EXPORTS = {
    "langfuse_observations.json": "langfuse",
    "langfuse_blob_observations_v2.jsonl": "langfuse",
    "langsmith_runs.jsonl": "langsmith",
    "openinference_spans.json": "opentelemetry",
}


def rows_of(name):
    """The records of an example, each a row."""
    values = example(name)
    values = values[0] if isinstance(values[0], list) else values
    return [flat(value) for value in values] if "span" in name else values


def flat(span):
    """A span as data frames have it: a column for each attribute."""
    row = {name: value for name, value in span.items() if name not in ("context", "attributes")}
    for group in ("context", "attributes"):
        row |= {f"{group}.{name}": value for name, value in span[group].items()}
    return row


def header(rows):
    return list(dict.fromkeys(name for row in rows for name in row))


def as_csv(rows, separator=","):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(header(rows))
    for row in rows:
        cells = (row.get(name) for name in header(rows))
        writer.writerow([json.dumps(cell) if isinstance(cell, (dict, list)) else cell for cell in cells])
    return text.getvalue()


def as_parquet(rows):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    stream = io.BytesIO()
    whole = [{name: row.get(name) for name in header(rows)} for row in rows]
    pyarrow.parquet.write_table(arrow.Table.from_pylist(whole), stream)
    return stream.getvalue()


def texts(row):
    """A row with its objects and lists as JSON."""
    return {name: json.dumps(cell) if isinstance(cell, (dict, list)) else cell for name, cell in row.items()}


def said(traces):
    """The traces, but for where they stand."""
    dumps = [trace.model_dump(mode="json") for trace in traces]
    for dump in dumps:
        del dump["annotations"]["source"]["line"], dump["annotations"]["source"]["path"]
    return dumps


@pytest.fixture(params=EXPORTS)
def name(request):
    return request.param


@pytest.mark.parametrize("asked", [False, True], ids=["auto", "asked"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_the_same_as_in_json(name, kind, asked, write):
    rows = rows_of(name)
    made = {"csv": as_csv, "tsv": lambda rows: as_csv(rows, "\t"), "parquet": lambda rows: as_parquet(map_texts(rows))}
    traces = load_traces(write(f"t.{kind}", made[kind](rows)), format=EXPORTS[name] if asked else "auto")

    assert said(traces) == said(load_traces(EXAMPLES / name))
    assert traces.report.formats == {EXPORTS[name]: 1} and traces.report.skipped == []


def map_texts(rows):
    return [texts(row) for row in rows]


def test_without_a_suffix(name):
    assert said_of_stream(as_csv(rows_of(name))) == said_of_stream(as_parquet(map_texts(rows_of(name))))


def said_of_stream(data):
    [trace] = load_traces(io.BytesIO(data if isinstance(data, bytes) else data.encode()))
    return trace.interactions


def test_structures_times_and_maps_of_parquet(write):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    rows = rows_of("langfuse_observations.json")
    columns = {name: [row.get(name) for row in map_texts(rows)] for name in header(rows)}
    for at in ("startTime", "endTime"):
        columns[at] = arrow.array([datetime.fromisoformat(time) for time in columns[at]], arrow.timestamp("ns", "UTC"))
    used = [list((row.get("usageDetails") or {}).items()) for row in rows]
    columns["usageDetails"] = arrow.array(used, arrow.map_(arrow.string(), arrow.int64()))
    columns["tags"] = [row["tags"] for row in rows]
    stream = io.BytesIO()
    pyarrow.parquet.write_table(arrow.table(columns), stream)

    traces = load_traces(write("t.parquet", stream.getvalue()))

    assert said(traces) == said(load_traces(EXAMPLES / "langfuse_observations.json"))


def test_messages_in_one_cell_as_data_frames_have_them(write):
    """Spans whose messages are a list in one column; Arrow gives each of them all keys."""
    call = {"tool_call.id": "1", "tool_call.function.name": "f", "tool_call.function.arguments": '{"a": 1}'}
    asked = {"message.role": "user", "message.content": "q"}
    called = {"message.role": "assistant", "message.tool_calls": [call]}
    row = {
        "name": "ChatCompletion",
        "span_kind": "LLM",
        "context.trace_id": "5b8efff798038103d269b633813fc60c",
        "context.span_id": "aaa19b7ec3c1b174",
        "parent_id": None,
        "start_time": "2025-10-09T08:53:20+00:00",
        "end_time": "2025-10-09T08:53:21+00:00",
        "attributes.openinference.span.kind": "LLM",
        "attributes.llm.input_messages": [asked],
        "attributes.llm.output_messages": [called],
    }

    for path in (
        write("t.csv", as_csv([row])),
        write("u.csv", as_csv([{name: repr(cell) if type(cell) is list else cell for name, cell in row.items()}])),
        write("t.parquet", as_parquet([row])),
    ):
        [trace] = load_traces(path)
        [turn] = trace.interactions
        assert turn.inputs == "q"
        [made] = turn.metadata["tool_calls"]
        assert (made["id"], made["name"], made["arguments"]) == ("1", "f", {"a": 1})


def test_observations_and_scores_in_two_tables(write):
    rows = rows_of("langfuse_observations.json")
    score = {"id": "s", "traceId": "tr-1", "name": "right", "value": 1, "dataType": "BOOLEAN", "source": "ANNOTATION"}
    path = write("d/a.csv", as_csv(rows))
    write("d/b.csv", as_csv([score]))

    traces = load_traces(path.parent)
    [trace] = traces

    assert trace.last.metadata["labels"]["right"] is True  # a text in the table
    assert traces.report.skipped == []


def test_rows_without_ids_are_skipped(write):
    rows = rows_of("langsmith_runs.jsonl")
    strange = {name: None for name in rows[0]} | {"name": "x", "run_type": "llm"}
    path = write("t.csv", as_csv([*rows, strange]))

    traces = load_traces(path, on_skip="ignore")

    assert len(list(traces)) == 1
    assert [(skip.line, skip.format, skip.reason) for skip in traces.report.skipped] == [
        (len(rows) + 2, "langsmith", "a run without an id")
    ]


# --- what is none ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        "id,session_id,timestamp,input,output,label",
        "trace_id,span_id,start_time,input,output",
        "key,run_id,score,input,output",
        "id,project_id,session_id,timestamp,input,output",
        "attributes,input,output",
    ],
)
def test_tables_of_questions_and_answers_with_ids_stay_such(names, write):
    traces = load_traces(write("t.csv", f"{names}\n{','.join('1' for _ in names.split(','))}\n"))
    [trace] = traces

    assert (trace.last.inputs, trace.last.outputs) == ("1", "1")
    assert traces.report.formats == {"table": 1}


def test_an_export_is_a_table_when_that_is_said(write):
    path = write("t.csv", as_csv(rows_of("langfuse_observations.json")))

    for options in ({"format": "table"}, {"format": "csv"}, {"columns": {"input": "input", "output": "output"}}):
        traces = load_traces(path, **options)
        [trace] = traces  # of one session
        assert len(trace.interactions) == 3 and traces.report.formats == {"table": 1}


def test_a_table_of_another_format_than_was_asked_for(write):
    path = write("t.csv", "question,answer\na,b\n")

    message = r"t\.csv: the rows of this table are no records of the format 'langfuse'.*'question', 'answer'"
    with pytest.raises(UnknownFormatError, match=message):
        list(load_traces(path, format="langfuse"))
    traces = load_traces([path, EXAMPLES / "langfuse_observations.json"], format="langfuse", on_skip="ignore")
    assert len(list(traces)) == 1 and traces.report.skipped_count == 1


def test_a_file_that_holds_no_rows(write):
    with pytest.raises(
        UnknownFormatError, match=r"the format 'langfuse' reads JSON, and this file is of .* 'cassette'"
    ):
        list(load_traces(write("t.yaml", "interactions: []\n"), format="langfuse"))


def test_data_sets_that_are_asked_for(write):
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    for format in ("huggingface", "openai_chat"):
        traces = load_traces(write("t.parquet", as_parquet([{"messages": messages}] * 2)), format=format)
        assert [(trace.last.inputs, trace.last.outputs) for trace in traces] == [("a", "b")] * 2
        assert traces.report.formats == {format: 2}


def test_heads_of_exports_are_recognised(name):
    assert Table().recognises(as_csv(rows_of(name)).encode())
    assert not Table().recognises(b"trace_id,span_id\n1,2\n")
