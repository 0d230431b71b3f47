"""What holds for any spans, observations and runs: order and copies change nothing, and no value crashes."""

import copy
import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from giskard.checks.importers._span_values import as_number, as_text, iso, literal, nanoseconds, structured
from giskard.checks.importers.langfuse import Langfuse
from giskard.checks.importers.langsmith import LangSmith
from giskard.checks.importers.opentelemetry import OpenTelemetry
from tests.importers.spans import conversation, read

HERE = Path(__file__).parent
EXAMPLES = HERE / "examples"

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -1, 2**63])
    | st.floats()
    | st.text()
    | st.sampled_from(["", "{", "[]", "{}", "[1]", "0x", "=" * 12, "assistant", "user", "NaN", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def records_of(name):
    if name == "made":
        return conversation()
    path = HERE / name
    text = path.read_text()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    value = json.loads(text)
    return value if isinstance(value, list) else [value]


SOURCES = [
    ("made", OpenTelemetry),
    ("data/spans/pydantic_ai_otel_sdk_spans.json", OpenTelemetry),
    ("examples/otlp_genai.json", OpenTelemetry),
    ("examples/otlp_genai_legacy_spans.json", OpenTelemetry),
    ("examples/openinference_spans.json", OpenTelemetry),
    ("examples/langfuse_observations.json", Langfuse),
    ("examples/langfuse_blob_observations_v2.jsonl", Langfuse),
    ("examples/langsmith_runs.jsonl", LangSmith),
]
IDS = {"context", "trace_id", "span_id", "traceId", "spanId", "id", "dotted_order", "start_time", "startTime"}
sources = pytest.mark.parametrize(("name", "format"), SOURCES)


def places(value, path=()):
    """The path of every value in a record."""
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


def changed(value, path, new):
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return value


@sources
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_value_anywhere_gives_traces_or_a_reason(name, format, data):
    records = records_of(name)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([path for path in places(records) if path]))
        records = changed(records, path, data.draw(json_values))
    assert all(isinstance(format().detect(record), bool) for record in records)
    traces, skipped = read(records, format)
    assert traces or skipped
    for trace in traces:
        assert trace.interactions
        trace.model_dump_json()


@sources
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_texts_that_hold_json_may_hold_anything(name, format, data):
    records = records_of(name)
    texts = [path for path in places(records) if path and isinstance(at(records, path), str)]
    path = data.draw(st.sampled_from(texts))
    value = data.draw(json_values)
    text = json.dumps(value)
    traces, skipped = read(changed(records, path, text[: data.draw(st.integers(0, len(text)))]), format)
    assert traces or skipped
    traces, skipped = read(changed(records, path, text), format)
    assert traces or skipped


def at(value, path):
    for key in path:
        value = value[key]
    return value


@sources
def test_the_order_of_records_changes_nothing(name, format):
    records = records_of(name)
    expected = read(records, format)
    for seed in range(50):
        assert read(random.Random(seed).sample(records, len(records)), format) == expected


@sources
def test_records_that_come_twice_change_nothing(name, format):
    records = records_of(name)
    assert read([*records, *records], format) == read(records, format)


@sources
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_order_and_copies_change_nothing_of_broken_records_either(name, format, data):
    records = records_of(name)
    # Spans without ids and times come in the order of the file.
    path = data.draw(st.sampled_from([path for path in places(records) if len(path) > 1 and not IDS & {*path}]))
    records = changed(records, path, data.draw(json_values))
    traces, _ = read(records, format)
    other = data.draw(st.permutations(records))
    assert as_json(read(other, format)[0]) == as_json(traces)
    assert as_json(read([*other, *records], format)[0]) == as_json(traces)


def as_json(traces):
    return [trace.model_dump_json() for trace in traces]  # NaN is equal to itself there


@given(json_values)
def test_values_of_any_type_are_read_without_raising(value):
    number = as_number(value)
    assert number is None or isinstance(number, int | float)
    assert as_text(value) is None or as_text(value).strip()
    moment = nanoseconds(value)
    assert moment is None or isinstance(iso(moment), str | None)
    structured(value)
    literal(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1760000000000000000", 1760000000000000000),
        (1760000000000000, 1760000000000000000),
        (1760000000000, 1760000000000000000),
        (1760000000.5, 1760000000500000000),
        ("2025-10-09T08:53:20Z", 1760000000000000000),
        ("2025-10-09 08:53:20.000000", 1760000000000000000),
        ("2025-10-09T10:53:20+02:00", 1760000000000000000),
        ("2025-10-09T08:53:20.123456789Z", 1760000000123456000),
        (0, None),
        ("", None),
        ("soon", None),
        (True, None),
        (None, None),
        ("0001-01-01T00:00:00+23:59", None),
    ],
)
def test_moments(value, expected):
    assert nanoseconds(value) == expected
