"""Recorded turns in a report: what was called in them, and where the conversation was recorded."""

import io
import re
from pathlib import PurePosixPath
from xml.etree import ElementTree

import pytest
from rich.console import Console

from giskard.checks import Equals, Interaction, Scenario, Suite, TestCase, TestCaseResult, ToolCall, Trace
from giskard.checks import scenario_from_trace as replay

SOURCE = {"format": "openai_chat", "path": "logs/2025/support.jsonl", "line": 17}
PLACE = "logs/2025/support.jsonl:17"


def call(name, at=None, **fields):
    made = {"id": "c", "name": name, "arguments": {}, "result": None, "error": None, **fields}
    return made if at is None else {**made, "message_index": at}


def trace(*calls, inputs="Q", outputs="A", annotations=None, **metadata):
    noted = {**({"tool_calls": list(calls)} if calls else {}), **metadata}
    return Trace(
        interactions=[Interaction(inputs=inputs, outputs=outputs, metadata=noted)], annotations=annotations or {}
    )


def fails(trace, **fields):
    return TestCase(trace=trace, checks=[Equals(expected_value="B", target_key="trace.last.outputs")], **fields)


def printed(result, width=80, **console):
    out = io.StringIO()
    result.print_report(Console(file=out, width=width, **console))
    return out.getvalue()


def shown(trace, width=80, **console):
    """The rows of the only turn."""
    result = Suite("s", [fails(trace, name="t")]).run_sync(verbose=False).results[0]
    text = printed(result, width, **console)
    return [line.rstrip() for line in text[text.index("turn 1 of 1") :].split("\n\n")[0].splitlines()[1:]]


# --- what was called ---------------------------------------------------------------------


def test_what_was_said_and_called_stands_in_order():
    calls = [
        call("get_fee", 3, arguments={"item": "gold"}, result={"eur": 0.0}),
        call("get_fee", 3, arguments={"item": "blue"}, error="no such item"),
        call("block", 5, arguments={"id": "c-17"}, agent="cards", answered=False),
    ]
    said = [{"message_index": 3, "text": "Let me look."}, {"message_index": 7, "text": "One moment."}]

    assert shown(trace(*calls, intermediate=said)) == [
        "  inputs   Q",
        "  said     Let me look.",
        "  → 2 calls at once",
        '    get_fee(item="gold")',
        '      gave {"eur": 0.0}',
        '    get_fee(item="blue")',
        "      error no such item",
        '  → cards: block(id="c-17")',
        "    no result was recorded",
        "  said     One moment.",
        "  outputs  A",
    ]


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        (ToolCall(name="f", arguments={"a": 1}, result=[1]), ["→ f(a=1)", "gave [1]"]),
        (ToolCall(name="f"), ["→ f()"]),
        (call("f", arguments="{x", arguments_error="not JSON"), ["→ f({x)", "bad arguments: not JSON"]),
        (call("f", answered=False), ["→ f()", "no result was recorded"]),
        (call("f", result=""), ["→ f()", "gave"]),
        (call("f", result=0, error=""), ["→ f()", "error"]),
        ({"name": "f"}, ["→ f()"]),
    ],
)
def test_a_call_and_what_came_of_it(made, rows):
    assert [line.strip() for line in shown(trace(made))[1:-1]] == rows


def test_calls_without_a_place_are_shown_one_by_one():
    assert shown(trace(call("f"), call("g"), intermediate=["First."]))[1:-1] == [
        "  said     First.",
        "  → f()",
        "  → g()",
    ]


@pytest.mark.parametrize("said", [[], [1], [{"message_index": 3}], "text", [{"text": ""}]])
def test_what_is_no_list_of_texts_is_metadata(said):
    rows = shown(trace(call("f"), intermediate=said))

    assert rows[1] == "  → f()"
    assert "metadata intermediate=" in rows[-1]


def test_what_says_the_turn_once_more_is_left_out():
    rows = shown(trace(messages=[{"role": "user"}], raw=["x"], usage={"input_tokens": 3}, model="m-1"))

    assert rows == ["  inputs   Q", "  outputs  A", '  metadata model="m-1"']


def test_an_incomplete_turn_says_so():
    result = Suite("s", [fails(trace(call("f"), outputs=None, incomplete=True))]).run_sync(verbose=False)

    assert "turn 1 of 1 ✗ (incomplete: no answer was recorded)" in printed(result.results[0])
    assert "turn 1 of 1 (incomplete: no answer was recorded)" in printed(result)


def test_a_live_turn_is_shown_with_the_recorded_answer():
    recorded = trace(call("get_fee"), call("log"), outputs="It is free.")
    text = printed(replay(recorded).run_sync(target="3 EUR"))
    assert "  outputs  3 EUR\n  recorded It is free. (after it called get_fee, log)\n" in text

    text = printed(replay(trace(outputs=None, incomplete=True)).run_sync(target="3 EUR"))
    assert "  outputs  3 EUR\n  recorded no answer\n" in text


def test_without_unicode():
    rows = shown(trace(call("f", 1, result=1), call("g", 1, result=2)), force_terminal=False)
    assert rows[1] == "  → 2 calls at once"

    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    result = Suite("s", [fails(trace(call("f", 1, result=1), call("g", 1)))]).run_sync(verbose=False)
    result.results[0].print_report(Console(file=out, width=80))
    out.seek(0)
    assert "  -> 2 calls at once\n     f()\n       gave 1\n     g()\n" in out.read()


# --- where it was recorded ---------------------------------------------------------------


def test_a_failing_recording_says_where_it_was_recorded():
    recorded = trace(annotations={"source": SOURCE, "tier": "gold"})
    result = Suite(
        "s", [fails(recorded, name="t"), replay(recorded, name="r", checks=fails(recorded).checks)]
    ).run_sync(verbose=False, target="A")

    assert printed(result).count(f"│ recorded at {PLACE} ") == 2
    for each in result.results:
        assert f"\nrecorded at {PLACE}\n" in printed(each)
        with pytest.raises(AssertionError, match=rf"FAIL\n  recorded at {re.escape(PLACE)}\n  equals: FAIL"):
            each.assert_passed()
    with pytest.raises(AssertionError) as caught:
        result.assert_passed()
    assert str(caught.value).count(f"\n    recorded at {PLACE}\n") == 2


def test_a_test_case_says_so_by_itself():
    case = fails(trace(annotations={"source": SOURCE}), name="t")
    result = case.run_sync()

    assert result.recorded_at == PLACE
    with pytest.raises(AssertionError, match=rf"'t': FAIL\n  recorded at {re.escape(PLACE)}\n"):
        result.assert_passed()
    assert f"recorded at {PLACE}\n" in printed(result)
    again = TestCaseResult.model_validate_json(result.model_dump_json())
    assert again.recorded_at == PLACE
    assert again.model_dump_json() == result.model_dump_json()


def test_results_of_other_conversations_say_nothing_of_it():
    result = fails(trace(), name="t").run_sync()

    assert result.recorded_at is None
    assert "recorded" not in result.model_dump_json()
    assert "recorded_at" not in result.model_dump()
    assert "recorded" not in printed(result)
    assert "recorded" not in result.to_junit_xml()
    assert "recorded" not in printed(Scenario("s").interact("a", "b").run_sync())


@pytest.mark.parametrize("granularity", ["scenario", "check"])
def test_junit_files_say_so_in_the_failure_and_in_the_log(granularity):
    recorded = trace(annotations={"source": SOURCE}, messages=["M"], raw=["R"], usage={"input_tokens": 3})
    result = Suite("s", [fails(recorded, name="t")]).run_sync(verbose=False)
    for each in (result, result.results[0]):
        root = ElementTree.fromstring(each.to_junit_xml(granularity=granularity))
        assert root.find(".//failure").text.endswith(f"\n\nrecorded at {PLACE}")
        assert f"\nrecorded at {PLACE}\n" in root.find(".//system-out").text
        assert '"messages"' not in root.find(".//system-out").text
        assert '"input_tokens": 3' in root.find(".//system-out").text
    root = ElementTree.fromstring(fails(recorded).run_sync().to_junit_xml(granularity=granularity))
    assert f"recorded at {PLACE}" in root.find(".//failure").text


@pytest.mark.parametrize(
    ("annotations", "place"),
    [
        ({"source": {"path": "a.jsonl", "line": 3}}, "a.jsonl:3"),
        ({"source": {"path": "a.json"}}, "a.json"),
        ({"source": {"path": PurePosixPath("b/a.json"), "line": None}}, "b/a.json"),
        ({"recorded": {"source": {"path": "a.jsonl", "line": 3}}}, "a.jsonl:3"),
        ({"source": {"path": ""}, "recorded": {"source": {"path": "b"}}}, "b"),
        ({"source": {"format": "x", "line": 3}}, None),
        ({"source": "a.jsonl:3"}, None),
        ({"source": None, "recorded": 3}, None),
        ({"recorded": {"source": {"path": 3}}}, None),
    ],
)
def test_the_place_of_a_recording(annotations, place):
    assert fails(trace(annotations=annotations)).run_sync().recorded_at == place


def test_a_place_from_a_file_gives_a_terminal_no_orders():
    recorded = trace(annotations={"source": {"path": "\x1b[2J\n" + "x" * 3_000, "line": 1}})
    result = Suite("s", [fails(recorded, name="t")]).run_sync(verbose=False)
    with pytest.raises(AssertionError) as caught:
        result.assert_passed()

    for text in (printed(result), printed(result.results[0]), str(caught.value), result.to_junit_xml()):
        assert "\x1b" not in text
    assert len(str(caught.value)) < 3_000


def test_long_annotations_do_not_hide_the_others():
    annotations = {"system_prompt": "You are kind. " * 99, "tools": [{"type": "function"}] * 99, "tier": "gold"}
    text = " ".join(printed(Scenario("s", annotations=annotations).interact("a", "b").run_sync()).split())

    assert 'annotations: tier="gold", system_prompt="You are kind.' in text
    assert "tools=[" in text
