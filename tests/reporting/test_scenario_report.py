"""What somebody sees who prints one scenario, or one test case, in full."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from giskard.checks import CheckResult, FnCheck, Interaction, Scenario, TestCase, ToolNotCalled, Trace
from giskard.checks.core.usage import ToolCall
from giskard.checks.reporting import print_scenario, print_test_case


def check(result=None, name="rule", **fields):
    return FnCheck(fn=lambda trace: CheckResult.success() if result is None else result, name=name, **fields)


def printed(result, width=80, **console):
    out = io.StringIO()
    show = print_scenario if hasattr(result, "scenario_name") else print_test_case
    show(result, Console(file=out, width=width, **console))
    return out.getvalue()


def words(text):
    return " ".join(re.sub("─", " ", text).split())


def crash(inputs):
    raise ConnectionError("peer hung up")


def test_the_whole_conversation_with_the_checks_at_their_place():
    result = (
        Scenario("refund", tags=["Topic:refund"], annotations={"tier": "gold"})
        .interact("hello", "hi", {"model": "m-1"})
        .check(check(name="greets"))
        .interact("money back", {"answer": "call us"})
        .check(check(CheckResult.failure("no order number", {"expected_value": 1, "actual_value": "1"}), "asks"))
        .interact("bye", "bye")
        .check(check(name="polite"))
        .run_sync()
    )

    text = words(printed(result))
    assert "refund FAIL tags: Topic:refund" in text
    assert 'annotations: tier="gold"' in text
    assert 'turn 1 of 2 inputs hello outputs hi metadata model="m-1" step 1 of 3, after turn 1 of 2 ✓ greets' in text
    assert 'turn 2 of 2 ✗ inputs money back outputs {"answer": "call us"}' in text
    assert 'step 2 of 3, after turn 2 of 2 ✗ asks: no order number expected 1 got "1"' in text
    assert "step 3 of 3, after turn 2 of 2 - polite: not run: an earlier step did not pass" in text
    assert "✗ FAIL 1 passed, 1 failed, 1 skipped, of 3 checks" in text


@pytest.mark.parametrize("kind", [dict, ToolCall])
def test_tool_calls_are_shown_compactly(kind):
    calls = [
        kind(name="get_order", arguments={"id": "A1", "full": True}, result={"total": 3}),
        kind(name="refund", arguments="{not json", error="refused"),
    ]
    result = Scenario("tools").interact("a", "b", {"tool_calls": calls}).run_sync()

    text = words(printed(result))
    assert '→ get_order(id="A1", full=true) gave {"total": 3}' in text
    assert "→ refund({not json) error refused" in text
    assert "metadata" not in text


def test_tool_calls_of_an_unknown_form_are_metadata():
    text = words(printed(Scenario("tools").interact("a", "b", {"tool_calls": [1, 2]}).run_sync()))

    assert "metadata tool_calls=[1, 2]" in text


def test_a_crash_shows_the_users_part_of_the_traceback():
    result = (
        Scenario("crash").interact("first", "done").interact("a", crash).check(check()).run_sync(return_exception=True)
    )

    text = printed(result)
    assert "turn 1 of 1" in text
    assert "! ConnectionError during a turn [crash]: peer hung up" in text
    assert 'raise ConnectionError("peer hung up")' in text
    assert "injectable.py" not in text
    assert "- rule: not run: the step ended with an error" in words(text)


def test_attempts_are_listed():
    outcomes = iter([CheckResult.success(), CheckResult.failure("no")])
    flaky = FnCheck(fn=lambda trace: next(outcomes), name="flaky")
    result = Scenario("k", multiple_runs=5).interact("a", "b").check(flaky).run_sync()

    text = words(printed(result))
    assert "attempt 2 of at most 5" in text
    assert re.search(r"✓ attempt 1: PASS in .* ✗ attempt 2: FAIL in", text)


def test_nothing_was_checked():
    assert "? nothing was checked" in printed(Scenario("a").interact("x", "y").run_sync())
    assert "there are no steps" in printed(Scenario("a").run_sync())
    assert "no checks: nothing was checked" in printed(Scenario("a").run_sync())


def test_a_trace_that_renders_itself_is_used():
    class Chat(Trace[str, str], frozen=True):
        def __rich__(self):
            return Text(f"user> {self.last.inputs}", style="bold")

    result = Scenario("a", trace_type=Chat).interact("hel\x1blo", "hi").check(check()).run_sync()

    text = printed(result)
    assert r"user> hel\x1blo" in text
    assert "inputs" not in text
    assert "✓ rule" in text


def test_a_test_case():
    trace = Trace(interactions=[Interaction(inputs="a", outputs="b")])
    case = TestCase(
        name="replay", trace=trace, checks=[check(), check(CheckResult.error("odd", error_kind="bad_type"), "x")]
    )

    text = words(printed(case.run_sync()))
    turn = "turn 1 of 1 inputs a outputs b"
    assert f"replay ERROR {turn} ✓ rule ! x [bad_type]: odd ! ERROR 1 passed, 1 errored, of 2 checks" in text


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("text", ["漢字" * 900, "w" * 3_000, "[/b] \x1b[2J \u202e\ud83d \r\n\t x" * 20])
def test_lines_fit_and_nothing_is_obeyed(width, text):
    rule = check(CheckResult.failure(text, {"expected_value": text, "actual_value": [text]}), text)
    calls = [{"name": text, "arguments": {text: text}, "result": text, "error": None}]
    scenario = Scenario(text, tags=[text], annotations={text: text}).interact(
        text, text, {"tool_calls": calls, text: text}
    )
    shown = printed(scenario.check(rule).run_sync(), width)

    assert all(cell_len(line) <= width for line in shown.splitlines())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown)


def test_a_test_case_shows_the_turn_that_failed_with_its_calls():
    calls = [{"name": "pay", "arguments": {"eur": 1}, "result": "ok", "error": None}]
    turns = [Interaction(inputs="pay", outputs="Done.", metadata={"tool_calls": calls})]
    turns.append(Interaction(inputs="thanks", outputs="Bye."))
    trace = Trace(interactions=turns, annotations={"conversation_id": "c-1"})

    text = printed(TestCase(trace=trace, checks=[ToolNotCalled(tool="pay")]).run_sync())
    assert "c-1" in text.split("\n")[0] and "turn 1 of 2" in text and "turn 2 of 2" not in text
    assert "→ pay(eur=1)" in text and "gave ok" in text
    assert "turn" not in printed(TestCase(trace=trace, checks=[ToolNotCalled(tool="none")]).run_sync())
