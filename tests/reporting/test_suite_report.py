"""What somebody sees who prints the report of a suite."""

import io
import os
import random
import re
import subprocess
import sys
import textwrap
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.panel import Panel

from giskard.checks import (
    CheckResult,
    FnCheck,
    Interaction,
    Metric,
    Scenario,
    Suite,
    SuiteResult,
    TestCase,
    ToolNotCalled,
    Trace,
)
from giskard.checks.reporting import print_report

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe]")


def check(result=None, name="rule", **fields):
    return FnCheck(fn=lambda trace: CheckResult.success() if result is None else result, name=name, **fields)


def failing(message="it does not hold", name="rule", details=None, **fields):
    return check(CheckResult.failure(message, details), name, **fields)


def scenario(name="s", *checks, inputs="in", outputs="out", tags=()):
    return Scenario(name, tags=list(tags)).interact(inputs, outputs).checks(*checks)


def run(*scenarios, name="support", **options):
    suite = Suite(name=name, scenarios=list(scenarios))
    return suite.run_sync(verbose=False, return_exception=True, **options)


def printed(result, width=80, group_by=None, max_failures=None, **console):
    out = io.StringIO()
    print_report(result, Console(file=out, width=width, **console), group_by=group_by, max_failures=max_failures)
    return out.getvalue()


def words(text):
    """The text without frames and line breaks, so that it does not matter where lines were broken."""
    return " ".join(re.sub("[│─╭╮╰╯]", " ", text).split())


def crash(inputs):
    raise ConnectionError("peer hung up")


# --- the whole ---------------------------------------------------------------------------


def test_one_symbol_for_each_scenario_in_order():
    result = run(
        scenario("a", check()),
        scenario("b", failing()),
        scenario("c", check(), outputs=crash),
        scenario("d", check(CheckResult.skip("no key"))),
        scenario("e"),
    )

    assert printed(result).splitlines()[1].strip() == ".✗!-?"


def test_many_symbols_are_wrapped_and_counted():
    lines = printed(run(*[scenario(f"s{i}", check()) for i in range(200)])).splitlines()

    symbols = [line for line in lines if line.strip().startswith("..")]
    assert sum(line.split("  ")[1].count(".") for line in symbols) == 200
    assert symbols[-1].endswith("200 / 200")


def test_summary_has_counts_with_their_denominators():
    result = run(
        scenario("a", check(), check()),
        scenario("b", failing()),
        scenario("c", check(), outputs=crash),
        scenario("d", check(CheckResult.skip("no key"))),
    )

    text = words(printed(result))
    assert "✓ 1 passed ✗ 1 failed ! 1 errored - 1 skipped of 4 scenarios" in text
    assert "Pass rate 33.3 % (1 of 3; 1 skipped)" in text
    assert "Checks 2 passed, 1 failed, 2 skipped, of 5 checks" in text
    assert "Duration" in text


def test_pass_rate_is_a_dash_when_nothing_counts():
    assert "Pass rate — nothing counts: there are no scenarios" in words(printed(run()))
    skipped = run(scenario("a", check(CheckResult.skip("no key"))))
    assert "Pass rate — nothing counts: all were skipped" in words(printed(skipped))


def test_only_what_is_complete_is_a_hundred_percent():
    result = run(scenario("a", check()), scenario("b", failing()))
    many = SuiteResult(results=result.results[:1] * 4_999 + result.results[1:])

    assert "Pass rate 99.9 % (4,999 of 5,000)" in words(printed(many))
    few = SuiteResult(results=result.results[:1] + result.results[1:] * 4_999)
    assert "Pass rate 0.1 % (1 of 5,000)" in words(printed(few, max_failures=0))


def test_a_pass_in_which_nothing_was_checked_is_marked():
    text = words(printed(run(scenario("unchecked one"), scenario("b", check()))))

    assert "Nothing was checked: 1 of 2 scenarios unchecked one" in text
    assert "in 1 of 2 passed nothing was checked" in text


def test_why_scenarios_were_skipped():
    text = words(printed(run(scenario("judged", check(CheckResult.skip("no key is set"), "judge")))))

    assert "Skipped: 1 of 1 scenario - 1 scenario: judge: no key is set judged" in text


def test_warnings_are_reported_though_they_do_not_fail():
    text = words(printed(run(scenario("rude", failing("too rude", "tone", severity="warning")))))

    assert "✗ 1 scenario: tone: too rude rude" in text
    assert "1 only warned" in text


def test_recommendation_comes_last_as_markdown():
    result = run(scenario("a", failing()))
    advice = result.model_copy(update={"recommendation": "Look at **refunds** first.\n\n- [policy](http://x.y/z)"})

    tail = printed(advice).split("Recommendation")[1]
    assert "Look at refunds first." in tail
    assert "•" in tail
    assert "http://x.y/z" in tail


def test_a_result_that_was_loaded_again_is_reported_the_same():
    result = run(scenario("a", failing("no", details={"expected_value": 1, "actual_value": 2}), tags=["Topic:x"]))
    loaded = SuiteResult.model_validate_json(result.model_dump_json())

    assert printed(loaded) == printed(result)


# --- failures ----------------------------------------------------------------------------


def test_a_failure_says_where_why_and_what_was_expected():
    result = run(
        Scenario("refund", tags=["Topic:refund", "slow"])
        .interact("hello", "hi")
        .check(check())
        .interact("money back", "call us")
        .check(failing("wrong intent", "intent", {"expected_value": "refund", "actual_value": "call "}))
        .interact("bye", "bye")
        .check(check(name="polite"))
    )

    text = words(printed(result))
    assert "✗ refund FAIL" in text
    assert "tags: Topic:refund, slow" in text
    assert "step 2 of 3, after turn 2 of 2 ✗ intent: wrong intent" in text
    assert 'expected "refund" got "call "' in text
    assert "1 check passed, 1 check skipped (not run: an earlier step did not pass)" in text
    assert "turn 2 of 2 inputs money back outputs call us" in text
    assert "hello" not in text


def test_the_turn_that_a_path_names_is_shown():
    turns = [Interaction(inputs=f"question {i}", outputs=f"answer {i}") for i in range(6)]
    rule = FnCheck(fn=lambda t: False, name="early")
    result = run(TestCase(name="replay", trace=Trace(interactions=turns), checks=[rule]))
    spec = {"target_key": "trace.interactions[1].outputs"}
    step = result.results[0].steps[0]
    details = {**step.results[0].details, "check_spec": spec}
    step = step.model_copy(update={"results": [step.results[0].model_copy(update={"details": details})]})
    aimed = result.model_copy(update={"results": [result.results[0].model_copy(update={"steps": [step]})]})

    assert "turn 6 of 6 inputs question 5" in words(printed(result))
    assert "turn 2 of 6 inputs question 1" in words(printed(aimed))


def test_an_error_shows_its_kind_its_cause_and_the_users_line():
    result = run(
        scenario("booking", check(), outputs=crash),
        scenario("judged", check(CheckResult.error("no value at 'x'", error_kind="missing_value", retryable=True))),
    )

    text = words(printed(result))
    assert "! ConnectionError during a turn [crash]: peer hung up" in text
    assert re.search(r"raised at \S*test_suite_report.py:\d+ in crash", text.replace("- ", "-"))
    assert "no turn was finished" in text
    assert "! rule [missing_value] may pass when tried again: no value at 'x'" in text


def test_a_crash_keeps_the_turns_before_it():
    result = run(Scenario("two turns").interact("first", "done").interact("second", crash))

    assert "turn 1 of 1 inputs first outputs done" in words(printed(result))


def test_attempts_and_metrics_are_shown():
    measured = check(CheckResult.failure("low", metrics=[Metric(name="score", value=0.25)]))
    result = run(Scenario("k", multiple_runs=3).interact("a", "b").check(measured))

    text = words(printed(result))
    assert "attempt 1 of at most 3" in text
    assert "score = 0.25" in text


def test_of_long_texts_the_part_where_they_differ_is_shown():
    same = "the same words again and again " * 100
    details = {"expected_value": same + "free of charge", "actual_value": same + "for 3 EUR"}

    text = words(printed(run(scenario("s", failing("differs", details=details), outputs="x"))))
    assert "free of charge" in text
    assert "for 3 EUR" in text
    assert re.search(r"their first [\d,]+ characters are the same", text)


def test_long_values_are_cut_with_a_note():
    text = printed(run(scenario("s", failing("m" * 5_000_000), outputs={"text": "x" * 5_000_000})))

    assert len(text) < 10_000
    assert "characters cut" in words(text)


def test_no_more_panels_than_wanted_and_the_rest_is_counted():
    result = run(*[scenario(f"number {i}", failing(f"value {i} is too high")) for i in range(12)])

    text = printed(result, max_failures=2)
    assert text.count("╭") == 2
    assert "10 more failing scenarios not shown one by one" in words(text)
    assert "✗ 12 scenarios: rule: value … is too high" in words(text)
    assert printed(result).count("╭") == 12
    assert printed(result, max_failures=0).count("╭") == 0


def test_reasons_that_are_alike_are_counted_together():
    scenarios = [scenario(f"s{i}", failing("the answer is empty", "answered")) for i in range(37)]
    result = run(*scenarios, scenario("other", failing("no greeting", "greets")))

    text = words(printed(result))
    assert "Why 38 scenarios did not pass ✗ 37 scenarios: answered: the answer is empty s0, s1" in text
    assert "and 2" in text
    assert "✗ 1 scenario: greets: no greeting other" in text


def test_scenarios_of_one_name_are_counted_one_by_one():
    checks = [failing("no"), failing("no")]

    assert "✗ 5 scenarios: rule: no" in words(printed(run(*[scenario("same", *checks) for _ in range(5)])))


# --- groups ------------------------------------------------------------------------------


def test_grouped_table_on_demand():
    result = run(
        scenario("a", check(), tags=["Topic:refund"]),
        scenario("b", failing(), tags=["Topic:refund"]),
        scenario("c", check(CheckResult.skip("x")), tags=["Topic:[red]"]),
        scenario("d", check()),
    )

    text = words(printed(result, group_by="Topic"))
    assert "refund 1 1 0 0 2 50.0 %" in text
    assert "[red] 0 0 0 1 1 —" in text
    assert "(no Topic) 1 0 0 0 1 100 %" in text
    assert "By Topic" not in printed(result)


# --- widths, colours, text from outside --------------------------------------------------


def hostile_suite(text):
    return run(
        scenario(
            text, failing(text, text, {"expected_value": text, "actual_value": {text: text}}), inputs=text, outputs=text
        ),
        scenario(text, check(CheckResult.error(text, error_kind=text)), outputs={text: [text]}),
        scenario(text, check(CheckResult.skip(text), text), tags=[text, "Topic:" + text]),
        scenario(text),
        scenario(text, failing(text, text, severity="warning")),
        scenario(text, check(), outputs=lambda inputs: 1 / 0),
        name=text,
    )


@pytest.mark.parametrize("width", [40, 80, 160, 200])
@pytest.mark.parametrize(
    "text", ["x" * 3_000, "several words " * 200, "漢字" * 500, "👩‍👩‍👧‍👦❤️🇫🇷" * 100, "a\tb\nc\r\nd", "\u0301" * 50, ""]
)
def test_no_line_is_wider_than_the_console(width, text):
    result = hostile_suite(text).model_copy(update={"recommendation": text})
    for line in printed(result, width, group_by="Topic").splitlines():
        assert cell_len(line) <= width, line


def test_a_panel_has_straight_sides():
    text = printed(hostile_suite("漢字 and 👩‍👩‍👧‍👦 words " * 20))

    sides = {cell_len(line) for line in text.splitlines() if line and line[0] in "│╭╰"}
    assert sides == {80}


@pytest.mark.parametrize("text", ["[bold]loud[/bold]", "[/nope]", "[red]", "see [Errno 2]", r"C:\new\[x]", "[link=x]y"])
def test_markup_is_printed_as_it_is(text):
    shown = printed(hostile_suite(text), 200, group_by="Topic")

    assert shown.count(text) > 10
    assert text in printed(hostile_suite(text), 200, force_terminal=True, color_system="truecolor")


def test_terminal_escapes_bidi_marks_and_surrogates_are_shown_and_not_obeyed():
    evil = "start \x1b[2J\x1b]0;owned\x07\x08\x9b31m\r\u202eabc\u2066\u200b\ud83d\ufffe end"

    text = printed(hostile_suite(evil), 160, group_by="Topic")
    assert not CONTROL.search(text.replace("\n", ""))
    assert r"\x1b[2J\x1b]0;owned\x07\x08\x9b31m\x0d\u202eabc\u2066\u200b\ud83d\ufffe end" in text
    text.encode()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(st.characters(categories=None), max_size=60), width=st.sampled_from([80, 160]))
def test_any_text_in_any_place(text, width):
    shown = printed(hostile_suite(text), width, group_by="Topic")

    assert not CONTROL.search(shown.replace("\n", ""))
    assert all(cell_len(line) <= width for line in shown.splitlines())
    shown.encode()


def test_a_console_that_knows_only_ascii():
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii"), width=80)
    print_report(hostile_suite("café 🚀"), console)
    console.file.flush()

    text = raw.getvalue().decode("ascii")
    assert r"caf\xe9 \U0001f680" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_colours_only_where_they_are_wanted(monkeypatch):
    result = run(scenario("a", failing()))

    assert "\x1b[" in printed(result, force_terminal=True, color_system="standard")
    assert "\x1b[" not in printed(result)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = printed(result, force_terminal=True, color_system="standard")
    assert not re.search(r"\x1b\[[\d;]*3\d", plain)  # bold and dim may stay, colours may not


def test_with_rich_pretty_disabled_there_are_no_colours(monkeypatch, capsys):
    result = run(scenario("a", failing()))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")

    result.print_report()
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("GISKARD_CHECKS_DISABLE_RICH_PRETTY", "yes")
    result.print_report()
    assert "\x1b[" not in capsys.readouterr().out


@pytest.mark.parametrize("environment", [{}, {"CI": "true"}, {"NO_COLOR": "1"}])
def test_in_a_pipe_there_is_only_text(environment):
    code = """
        from giskard.checks import Scenario, Suite, FnCheck
        suite = Suite(name="s", scenarios=[Scenario("a").interact("x", "y").check(FnCheck(fn=lambda t: False))])
        suite.run_sync().print_report()
    """
    kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH", "SYSTEMROOT") if key in os.environ}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        encoding="utf-8",
        env={**kept, **environment, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "utf-8"},
    )

    assert done.stderr == ""
    assert "✗ a" in done.stdout
    assert "\x1b" not in done.stdout


# --- a trace that renders itself ---------------------------------------------------------


class Chat(Trace[str, str], frozen=True):
    def __rich__(self):
        return Panel("\n".join(f"user> {turn.inputs}" for turn in self.interactions))


class Broken(Trace[str, str], frozen=True):
    def __rich_console__(self, console, options):
        raise RuntimeError("no")
        yield


class Markup(Trace[str, str], frozen=True):
    def __rich__(self):
        return f"[bold]says {self.last.outputs}[/bold]"


def test_a_trace_that_renders_itself_is_used():
    result = run(Scenario("a", trace_type=Chat).interact("hel\x1blo", "hi").check(failing()))

    text = printed(result)
    assert r"user> hel\x1blo" in text
    assert "inputs" not in text
    assert all(cell_len(line) <= 80 for line in text.splitlines())


def test_with_rich_pretty_disabled_a_conversation_is_told_turn_by_turn(monkeypatch):
    result = run(Scenario("a", trace_type=Chat).interact("hello", "hi").check(failing()))

    monkeypatch.setenv("GISKARD_CHECKS_DISABLE_RICH_PRETTY", "1")
    assert "inputs hello outputs hi" in words(printed(result))
    assert "user>" not in printed(result)


@pytest.mark.parametrize(("kind", "outputs"), [(Broken, "the answer"), (Markup, "the answer [/oops]")])
def test_one_that_fails_to_render_itself_is_shown_as_others(kind, outputs):
    result = run(Scenario("a", trace_type=kind).interact("hello", outputs).check(failing()))

    assert f"inputs hello outputs {outputs}" in words(printed(result))


# --- speed -------------------------------------------------------------------------------


@pytest.mark.slow
def test_five_thousand_scenarios_are_reported_at_once():
    random.seed(0)
    result = run(
        *[
            scenario(
                f"scenario {i}", failing(f"{i} is odd") if i % 10 == 0 else check(), outputs={"answer": f"café {i}"}
            )
            for i in range(5_000)
        ]
    )
    start = time.process_time()
    text = printed(result, 120)
    assert time.process_time() - start < 2
    assert text.count("╭") == 500


def test_many_reasons_for_skips_are_counted_and_do_not_hide_what_failed():
    skips = [check(CheckResult.skip(f"no occasion for rule {n}"), name=f"rule {n}") for n in range(6)]
    out = io.StringIO()
    print_report(run(scenario("s", failing("it is wrong"), *skips)), console=Console(file=out, width=80))

    assert "6 checks skipped, for 6 reasons" in out.getvalue()
    assert "it is wrong" in out.getvalue()


def test_the_turn_that_a_check_names_is_shown_with_its_calls():
    calls = [{"name": "pay", "arguments": {"number": number}, "error": "declined"} for number in range(30)]
    turns = [Interaction(inputs="pay", outputs="Done.", metadata={"tool_calls": calls, "model": "m-1"})]
    turns.append(Interaction(inputs="thanks", outputs="Bye."))
    case = TestCase(trace=Trace(interactions=turns), checks=[ToolNotCalled(tool="pay")])
    text = printed(run(case), 80)

    assert "turn 1 of 2" in text and "turn 2 of 2" not in text and "m-1" not in text
    assert "→ pay(number=0)" in text and "→ pay(number=29)" in text and "error declined" in text
    assert "… 20 more lines" in text and "pay(number=15)" not in text
