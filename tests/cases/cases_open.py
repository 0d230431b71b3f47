"""Problem reports from people who test LLM apps, as tests.

Run with:  pytest cases_open.py        (only pytest is needed)

Each test is an own, minimal example.  Its docstring says where the kind of
fault was reported, what its symptom was and what is right.
"""

from __future__ import annotations

import asyncio
import functools
import io
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import pytest
from _fakes import (
    T,
    all_text,
    app,
    check_results,
    run,
)
from giskard.checks import (
    AllOf,
    CheckResult,
    Equals,
    FnCheck,
    GreaterThan,
    GreaterThanEquals,
    Interact,
    Interaction,
    JsonValid,
    Not,
    NotEquals,
    RegexMatching,
    Scenario,
    StringMatching,
    Suite,
    TestCase,
    Trace,
    WithSpy,
)
from giskard.checks.core.extraction import resolve
from rich.console import Console

TestCase.__test__ = False  # not a pytest class

always = FnCheck(fn=lambda trace: True, name="always")


def suite_of(*scenarios, name="suite"):
    suite = Suite(name=name)
    for s in scenarios:
        suite.append(s)
    return suite


def one(name, outputs="x", check=always):
    return Scenario(name).interact(inputs="q", outputs=outputs).check(check)


# ------------------------------------------------------------ comparisons
@pytest.mark.parametrize("actual, expected", [(True, 1), (1, True), (False, 0.0)])
def test_true_is_not_the_number_one(actual, expected):
    """O06 | stefankoegl/python-json-patch#90 and #187
    Symptom: true and 1 (false and 0) compare equal, since Python's bool is an
    int; an agent that returns a count where a flag is due passes.
    Right: a boolean equals only a boolean; 1 == 1.0 still holds.
    """
    assert run(Equals(expected_value=expected).run(T(actual))).failed
    assert run(NotEquals(expected_value=expected).run(T(actual))).passed
    assert run(Equals(expected_value=1).run(T(1.0))).passed


def test_nan_score_cannot_slip_through_not():
    """O07 | confident-ai/deepeval#3234, vibrantlabsai/ragas#2818
    Symptom: a score that could not be computed (NaN) is below and above every
    bound; "not greater than 0.8" is reported as met.
    Right: an ordering with NaN cannot be decided: ERROR, also under Not.
    """
    nan = float("nan")
    bound = GreaterThan(expected_value=0.8)
    assert run(bound.run(T(nan))).errored
    assert run(Not(check=bound).run(T(nan))).errored
    assert run(GreaterThanEquals(expected_value=nan).run(T(0.9))).errored


def test_array_output_gets_a_verdict():
    """O08 | langchain-ai/langchain#25095 (truth value of an array is ambiguous)
    Symptom: the target returns a numpy array; `==` gives an array and the check
    dies instead of saying anything.
    Right: equal arrays PASS, others FAIL; nothing is raised.
    """
    np = pytest.importorskip("numpy")
    check = Equals(expected_value=[1, 2, 3])
    assert run(check.run(T(np.array([1, 2, 3])))).passed
    assert run(check.run(T(np.array([1, 2, 4])))).failed
    assert run(check.run(T(np.array([1, 2])))).failed


def test_a_missing_key_is_not_a_null_value():
    """O09 | h2non/jsonpath-ng#82, ietf-wg-jsonpath/draft-ietf-jsonpath-base#118
    Symptom: "the field is absent" and "the field is null" cannot be told apart.
    Right: null equals None; an absent field is an ERROR that names the path.
    """
    check = Equals(expected_value=None, target_key="trace.last.outputs.ref")
    assert run(check.run(T({"ref": None}))).passed
    absent = run(check.run(T({"other": 1})))
    assert absent.errored and "trace.last.outputs.ref" in absent.message


def test_forgotten_expected_value_is_rejected():
    """O10 | Giskard-AI/giskard-oss#2501 and #2545
    Symptom: a comparison without any expected value is accepted and quietly
    compares with None.
    Right: the constructor refuses it.
    """
    for cls in (Equals, NotEquals, GreaterThan):
        with pytest.raises(ValueError):
            cls(target_key="trace.last.outputs")


def test_match_all_over_nothing_proves_nothing():
    """O11 | Giskard-AI/giskard-oss#2836
    Symptom: match="all" over an empty list passes: no tool call was made, and
    "every tool call was a search" is green.
    Right: not a PASS.
    """
    check = Equals(
        expected_value="search",
        target_key="trace.last.metadata.tools",
        match="all",
    )
    assert not run(check.run(T("a", tools=[]))).passed
    assert run(check.run(T("a", tools=["search"]))).passed
    assert run(check.run(T("a", tools=["search", "rm"]))).failed


@pytest.mark.parametrize(
    "inner, output",
    [
        (Equals(expected_value=1, target_key="trace.last.outputs.typo"), {"a": 1}),
        (GreaterThan(expected_value=1), "five"),
        (GreaterThan(expected_value=1), None),
        (StringMatching(keyword="x"), ["x"]),
        (RegexMatching(pattern="("), "text"),
        (JsonValid(), {"already": "parsed"}),
        (Equals(expected_value="x", match="any"), "x"),
    ],
)
def test_not_cannot_turn_could_not_evaluate_into_a_pass(inner, output):
    """O12 | Giskard-AI/giskard-oss#2637 and #2725
    Symptom: "must never contain X" goes green after a field was renamed, since
    the inner check could not run and Not inverted that.
    Right: ERROR inside, ERROR outside.
    """
    assert run(inner.run(T(output))).errored
    assert run(Not(check=inner).run(T(output))).errored


# ------------------------------------------------------------------- text
@pytest.mark.parametrize(
    "text, keyword",
    [("HAUPTSTRASSE 7", "Hauptstraße"), ("hauptstraße 7", "HAUPTSTRASSE")],
)
def test_case_insensitive_german(text, keyword):
    """O13 | goodmami/wn#233, robotframework/robotframework#4935,
    nextstrain/augur#767
    Symptom: case-insensitive search built on lower() misses ß against SS.
    Right: full case folding.
    """
    check = StringMatching(keyword=keyword, case_sensitive=False)
    assert run(check.run(T(text))).passed
    assert run(StringMatching(keyword=keyword).run(T(text))).failed


def test_runaway_regex_is_an_error_and_the_rest_goes_on():
    """O14 | Giskard-AI/giskard-oss#2381 and #2711
    Symptom: a pattern that backtracks without end hangs the run; later, its
    timeout escaped as an exception and ended the scenario.
    Right: ERROR near the limit; the next check still runs.
    """
    runaway = RegexMatching(pattern=r"(a|aa)+$", match_timeout_seconds=0.3)
    start = time.monotonic()
    result = run(one("s", "a" * 4000 + "!", runaway).check(always).run())
    assert time.monotonic() - start < 10
    first, second = check_results(result)
    assert first.errored and second.passed


@pytest.mark.parametrize("output", [None, ["hello"], {"a": "hello"}, b"hello", 5])
def test_text_checks_on_something_else_than_text(output):
    """O15 | vibrantlabsai/ragas#447 (null answers end the run)
    Symptom: the target returned no text, and the text check dies or quietly
    searches the repr.
    Right: an ERROR that names the type met.
    """
    for check in (StringMatching(keyword="hello"), RegexMatching(pattern="hello")):
        result = run(check.run(T(output)))
        assert result.errored
        assert type(output).__name__ in result.message


# --------------------------------------------------------------- JSONPath
@pytest.mark.parametrize(
    "key",
    [
        "user-id", "a.b", "two words", "it's", "a/b", "@type", "#1", "$ref",
        "a,b", "a[0]", "", "41", "größe", "価格", "😀", "x:y",
    ],
)  # fmt: skip
def test_any_key_can_be_reached_in_brackets(key):
    """O16 | h2non/jsonpath-ng#150, #127, #9; JSONPath-Plus/JSONPath#173
    Symptom: keys with dots, spaces, slashes, quotes or # cannot be addressed.
    Right: every string key is reachable in bracket notation.
    """
    path = f'trace.last.outputs["{key}"]'
    assert run(Equals(expected_value=7, target_key=path).run(T({key: 7}))).passed


@pytest.mark.parametrize("key", ["größe", "café", "价格", "имя"])
def test_non_ascii_key_after_a_dot(key):
    """O17 | h2non/jsonpath-ng#88, dchester/jsonpath#85
    Symptom: a path with a non-ASCII name after a dot is a lexical error.
    Right: letters of any script are name characters (RFC 9535).
    """
    path = f"trace.last.outputs.{key}"
    assert run(Equals(expected_value=7, target_key=path).run(T({key: 7}))).passed


@pytest.mark.parametrize("n", [1, 2, 3])
def test_wildcard_gives_a_list_whatever_the_number_of_matches(n):
    """O18 | Giskard-AI/giskard-oss#2605 and #2633
    Symptom: `[*].name` gives a bare value for one match and a list for two, so
    that the same check passes or errors with the data.
    Right: a path that may match many always gives a list.
    """
    calls = [{"name": f"tool{i}"} for i in range(n)]
    path = "trace.last.outputs[*].name"
    assert resolve(T(calls), path) == [f"tool{i}" for i in range(n)]
    check = Equals(expected_value="tool0", target_key=path, match="any")
    assert run(check.run(T(calls))).passed


# -------------------------------------------------- isolation of the trace
def test_target_that_edits_its_input_does_not_rewrite_history():
    """O19 | langchain-ai/langsmith-sdk#735, ellisk42/LambdaBeam#37
    Symptom: the agent appends to the message list it was given; the trace then
    shows an input that was never sent.
    Right: the trace holds what was sent, and the user's own dict is untouched.
    """

    def agent(inputs):
        inputs["messages"].append({"role": "assistant", "content": "hi"})
        inputs["lang"] = "en"
        return "hi"

    sent = {"lang": "de", "messages": [{"role": "user", "content": "hallo"}]}
    result = run(Scenario("s").interact(inputs=sent, outputs=agent).run())
    want = {"lang": "de", "messages": [{"role": "user", "content": "hallo"}]}
    assert result.final_trace.last.inputs == want
    assert sent == want


def test_check_that_edits_the_trace_does_not_sway_the_next_check():
    """O20 | Arize-ai/phoenix#9036
    Symptom: an evaluator sorts or pops what it was given, and the evaluators
    after it judge other data.
    Right: a check cannot change what the next one sees (or is stopped).
    """

    def vandal(trace):
        try:
            trace.last.outputs["items"].clear()
            trace.last.metadata["seen"] = True
            trace.interactions.append(trace.interactions[0])
        except Exception:
            pass  # being stopped is fine as well
        return True

    def intact(trace):
        last = trace.last
        return (
            last.outputs == {"items": [1, 2]}
            and last.metadata == {}
            and len(trace.interactions) == 1
        )

    s = Scenario("s").interact(inputs="q", outputs=lambda inputs: {"items": [1, 2]})
    s.check(FnCheck(fn=vandal, name="vandal")).check(FnCheck(fn=intact, name="intact"))
    assert run(s.run()).passed


# -------------------------------------------------------------- execution
@pytest.mark.parametrize("kind", ["async", "sync"])
def test_stop_async_iteration_in_the_target_is_a_crash(kind):
    """O21 | stardag-dev/stardag#248
    Symptom: the target exhausts an async stream and StopAsyncIteration leaks
    out; the runner takes it for its own end of turns: PASS without one turn.
    Right: ERROR.
    """

    async def atarget(inputs):
        async def nothing():
            return
            yield

        return await anext(nothing())

    def target(inputs):
        raise StopAsyncIteration

    s = one("s", atarget if kind == "async" else target)
    result = run(s.run(return_exception=True))
    assert result.errored
    with pytest.raises(Exception):
        run(s.run())


def test_target_that_calls_exit_does_not_take_the_suite_down():
    """O22 | cuga-project/cuga-agent#625, EleutherAI/lm-evaluation-harness#4078
    Symptom: agent code calls exit(); SystemExit passes every `except Exception`
    and the run ends at scenario 23 of 40, with exit status 0.
    Right (return_exception=True): that scenario is an ERROR, the others run.
    """

    def quitter(inputs):
        sys.exit(0)

    suite = suite_of(one("a"), one("b", quitter), one("c"))
    for parallel in (False, True):
        try:
            got = run(
                suite.run(return_exception=True, verbose=False, parallel=parallel)
            )
        except SystemExit:
            pytest.fail("SystemExit ended the run")
        assert [r.status.value for r in got.results] == ["pass", "error", "pass"]


@pytest.mark.parametrize("parallel", [False, True])
def test_one_crash_does_not_lose_the_other_results(parallel):
    """O23 | pydantic/pydantic-ai#2612, Extelligence-ai/bagel#257
    Symptom: one task raises, and the results of all others are gone.
    Right (return_exception=True): every scenario has its result, in order, and
    the crash says which exception it was.
    """

    async def slow(inputs):
        await asyncio.sleep(0.05)
        return "x"

    def crash(inputs):
        raise ConnectionError("peer hung up")

    suite = suite_of(one("a", slow), one("b", crash), one("c", slow), one("d"))
    got = run(suite.run(return_exception=True, verbose=False, parallel=parallel))
    assert [r.scenario_name for r in got.results] == ["a", "b", "c", "d"]
    assert [r.status.value for r in got.results] == ["pass", "error", "pass", "pass"]
    assert got.errored_count == 1 and got.pass_rate == 0.75
    assert "peer hung up" in all_text(got.results[1])
    assert "ConnectionError" in all_text(got.results[1])


def test_exception_that_cannot_be_printed():
    """O24 | pytest-dev/pytest#7145 and #5089
    Symptom: an exception whose own __str__ raises breaks the reporter, and the
    results of the whole session with it.
    Right (return_exception=True): ERROR that names the exception's class.
    """

    class Unprintable(Exception):
        def __str__(self):
            raise RuntimeError("no text")

        __repr__ = __str__

    def target(inputs):
        raise Unprintable

    result = run(one("s", target).run(return_exception=True))
    assert result.errored
    assert result.steps[0].error.exception_type == "Unprintable"
    result = run(one("s", "x", FnCheck(fn=target)).run(return_exception=True))
    assert result.errored


@pytest.mark.parametrize("value", [None, 1, "yes", (False, "why"), []])
def test_predicate_that_returns_no_verdict(value):
    """O25 | google/adk-python#7012
    Symptom: a predicate with a forgotten `return`, or one that returns a tuple
    (always truthy), is taken for an answer.
    Right: ERROR, never PASS or FAIL.
    """
    check = FnCheck(fn=lambda inputs: value, name="p")
    result = run(one("s", "x", check).check(always).run(return_exception=True))
    assert [r.status.value for r in check_results(result)] == ["error", "pass"]


class _Caller:
    async def __call__(self, inputs):
        return f"got {inputs}"

    async def method(self, inputs):
        return f"got {inputs}"


async def _two(prefix, inputs):
    return f"{prefix} {inputs}"


@pytest.mark.parametrize(
    "target",
    [
        _Caller(),
        _Caller().method,
        functools.partial(_two, "got"),
        lambda inputs: _two("got", inputs),
        lambda inputs, trace: f"got {inputs}",
        lambda inputs, temperature=0.2: f"got {inputs}",
    ],
)
def test_every_kind_of_callable_is_awaited(target):
    """O26 | pydantic/pydantic-ai#1972, Mirascope/mirascope#967
    Symptom: "is this async?" is asked of the object only; instances with an
    async __call__, partials and lambdas leave a coroutine as the output.
    Right: the output is the awaited value.
    """
    result = run(Scenario("s").interact(inputs="hi", outputs=target).run())
    assert result.final_trace.last.outputs == "got hi"


def test_used_up_generator_is_not_a_passing_second_run():
    """O27 | braintrustdata/braintrust-sdk-python#109, tensorflow/tensorflow#25254
    Symptom: the inputs are a generator object; the first run eats it, the second
    has no turn at all and is green.
    Right: every run sees the same turns, or the run errors; never a PASS over
    nothing.
    """
    s = Scenario("s").interact(inputs=(q for q in ["a", "b"]), outputs="x")
    s.check(always)
    assert len(run(s.run(return_exception=True)).final_trace.interactions) == 2
    again = run(s.run(return_exception=True))
    assert len(again.final_trace.interactions) == 2 or not again.passed


def test_input_generator_is_closed_when_the_target_crashes():
    """O28 | google/adk-python#2196 (cleanup in another task, or never)
    Symptom: the simulated user holds a connection; after a crash its `finally`
    runs at garbage collection, in the wrong task, or not at all.
    Right: closed before run() returns, in the task that opened it.
    """
    closed = []

    async def user(trace=None):
        task = asyncio.current_task()
        try:
            yield "a"
            yield "b"
        finally:
            closed.append(asyncio.current_task() is task)

    def crash(inputs):
        raise ValueError("boom")

    async def main():
        s = Scenario("s").interact(inputs=user, outputs=crash)
        result = await s.run(return_exception=True)
        return result, list(closed)

    result, seen = run(main())
    assert result.errored
    assert seen == [True]


@pytest.mark.parametrize("limit", [0, -1])
def test_impossible_concurrency_limit_is_refused(limit):
    """O29 | pydantic/pydantic-ai#6228
    Symptom: max_concurrency=0 waits for a permit for ever.
    Right: a clear error at once.
    """
    suite = suite_of(one("a"))
    with pytest.raises(ValueError):
        run(suite.run(parallel=True, max_concurrency=limit, verbose=False), 5)


# ------------------------------------------------------------------ spies
def test_spy_on_an_async_function():
    """O31 | pytest-dev/pytest-mock#178, quora/asynq#159
    Symptom: the async function is replaced by a mock that cannot be awaited.
    Right: the agent can await it, and the call is recorded.
    """
    mod = app(
        "async def fetch(x): return 'real'\n"
        "async def agent(inputs):\n"
        "    await fetch(inputs)\n"
        "    return 'done'\n"
    )
    target = f"{mod.__name__}.fetch"
    spec = Interact(inputs="q", outputs=mod.agent)
    s = Scenario("s").add_interaction(WithSpy(interaction_generator=spec, target=target))
    result = run(s.run(return_exception=True))
    assert result.passed, all_text(result)
    spied = result.final_trace.last.metadata[target]
    assert spied["call_count"] == 1
    assert spied["call_args"].args == ("q",)


def test_spied_scenarios_side_by_side():
    """O32 | gptme/gptme-contrib#1347 (patches that overlap restore a mock)
    Symptom: scenarios that spy on one function run at the same time; their calls
    mix, and afterwards the function stays a mock for the rest of the process.
    Right: each sees its own calls; in the end the function is the real one.
    """
    mod = app(
        "import asyncio\n"
        "def fetch(x): return 'real'\n"
        "async def agent(inputs):\n"
        "    await asyncio.sleep(0.02)\n"
        "    fetch(inputs)\n"
        "    await asyncio.sleep(0.02)\n"
        "    return 'done'\n"
    )
    real, target = mod.fetch, f"{mod.__name__}.fetch"

    def spied(name):
        spec = Interact(inputs=name, outputs=mod.agent)
        return Scenario(name).add_interaction(
            WithSpy(interaction_generator=spec, target=target)
        )

    suite = suite_of(*(spied(n) for n in "abc"))
    got = run(suite.run(parallel=True, verbose=False))
    after = mod.fetch
    mod.fetch = real
    assert after is real
    for r in got.results:
        data = r.final_trace.last.metadata[target]
        assert data["call_count"] == 1
        assert data["call_args"].args == (r.scenario_name,)


def test_spy_on_a_name_that_does_not_exist_and_spy_after_a_crash():
    """O33 | pytest-dev/pytest-mock#123 (patches not stopped)
    Symptom: a typo in the import path ends the run without saying which; a crash
    of the target leaves the patch in place.
    Right: ERROR that names the missing attribute; the function is restored.
    """
    mod = app(
        "def fetch(x): return 'real'\n"
        "def agent(inputs):\n"
        "    fetch(inputs)\n"
        "    raise ValueError('later')\n"
    )
    real = mod.fetch

    def spied(name):
        spec = WithSpy(
            interaction_generator=Interact(inputs="q", outputs=mod.agent),
            target=f"{mod.__name__}.{name}",
        )
        return run(Scenario("s").add_interaction(spec).run(return_exception=True))

    typo = spied("fecth")
    assert typo.errored and "fecth" in all_text(typo)
    crashed = spied("fetch")
    assert crashed.errored and "later" in all_text(crashed)
    assert mod.fetch is real


# ---------------------------------------------------------------- reports
NASTY = "a\x00b\x08c\x1b[31mred\x1b[0m \ud83d \ufffe ]]> <b>&amp; \"'"


def test_junit_is_well_formed_whatever_the_text(tmp_path):
    """O34 | promptfoo/promptfoo#10994, apache/maven-surefire#1113,
    jest-community/jest-junit#197, https://issues.apache.org/jira/browse/MINVOKER-351
    Symptom: control characters, lone surrogates or U+FFFE in a name, message or
    output make a report that no CI server reads.
    Right: well-formed XML; legal text (emoji, CJK, markup) survives.
    """
    failing = FnCheck(fn=lambda t: CheckResult.failure(message=NASTY + " 中文 🚀"))
    path = tmp_path / "out" / "junit.xml"
    path.parent.mkdir()
    suite = suite_of(one("name 🚀 " + NASTY, NASTY, failing), name="s" + NASTY)
    result = run(suite.run(verbose=False))
    text = result.to_junit_xml(path)
    for root in (ET.fromstring(text), ET.parse(path).getroot()):
        (case,) = root.iter("testcase")
        assert "🚀" in case.get("name")
        (failure,) = root.iter("failure")
        assert "中文 🚀" in failure.get("message") + (failure.text or "")


def test_junit_survives_an_output_that_cannot_be_serialised():
    """O35 | OpenHands/benchmarks#563, UKGovernmentBEIS/inspect_ai#4167
    Symptom: one of 500 outputs holds an object that JSON does not know, and the
    results of all of them cannot be written.
    Right: the report is written, with some text in the object's place.
    """

    class Client:
        pass

    bad = FnCheck(fn=lambda t: False, name="bad")
    suite = suite_of(one("a"), one("b", lambda inputs: {"client": Client()}, bad))
    result = run(suite.run(verbose=False))
    root = ET.fromstring(result.to_junit_xml())
    assert [c.get("name") for c in root.iter("testcase")] == ["a", "b"]
    assert len(list(root.iter("failure"))) == 1


def test_junit_error_says_what_happened():
    """O36 | pydantic/pydantic-ai#2295 (crashes missing from the print-out)
    Symptom: the CI page of a crashed scenario says "errored" and nothing else.
    Right: the <error> element carries the exception's text.
    """

    def crash(inputs):
        raise ConnectionError("peer hung up")

    result = run(suite_of(one("a", crash)).run(verbose=False, return_exception=True))
    (error,) = ET.fromstring(result.to_junit_xml()).iter("error")
    assert "peer hung up" in (error.get("message") or "") + (error.text or "")


def printed(result, **kw):
    out = io.StringIO()
    result.print_report(console=Console(file=out, width=200, **kw))
    return out.getvalue()


@pytest.mark.parametrize(
    "text", ["[bold]loud[/bold]", "[/nope]", "[red]", "see [Errno 2]", r"C:\new\[x]"]
)
def test_square_brackets_are_printed_as_they_are(text):
    """O37 | langchain-ai/deepagents#1888, agsaru/Repo2Readme#187
    Symptom: brackets in outputs are taken for style tags: text vanishes, or a
    closing tag ends the report with an error.
    Right: printed as they are, in names, messages, inputs and outputs.
    """
    failing = FnCheck(fn=lambda t: CheckResult.failure(message="M" + text), name="c")
    s = Scenario("N" + text).interact(inputs="I" + text, outputs="O" + text)
    got = printed(run(suite_of(s.check(failing)).run(verbose=False)))
    for kind in "NM":
        assert kind + text in got
    for kind in "IO":
        assert kind + text in got or kind + repr(text)[1:-1] in got


def test_terminal_escapes_are_defused():
    """O38 | Growth-Circle/cadis#1723, jamie8johnson/cqs#1400, rust-lang/log#611
    Symptom: an output that holds ESC[2J or an OSC title sequence acts on the
    terminal of whoever reads the report.
    Right: no raw escape, bell or backspace from outside reaches the console;
    the text around stays readable.
    """
    evil = "start \x1b[2J\x1b]0;owned\x07\x08\x9b31m end"
    failing = FnCheck(fn=lambda t: CheckResult.failure(message=evil), name="c")
    s = Scenario("s" + evil).interact(inputs=evil, outputs=evil).check(failing)
    got = printed(run(suite_of(s).run(verbose=False)), color_system=None)
    assert "start" in got and "end" in got
    assert not set(got) & set("\x1b\x07\x08\x9b")


# ------------------------------------------------------------ JSON outputs
@pytest.mark.parametrize("text", ['{"score": NaN}', "[Infinity]", "[1, -Infinity]"])
def test_nan_is_not_json(text):
    """O45 | Giskard-AI/giskard-oss#2822, mafintosh/is-my-json-valid#138
    Symptom: Python's parser takes NaN and Infinity; the service behind does not.
    Right: not valid JSON: FAIL.
    """
    assert run(JsonValid().run(T(text))).failed
    assert run(JsonValid().run(T('{"score": 1e3}'))).passed


def test_json_schema_types_and_already_parsed_values():
    """O46 | Giskard-AI/giskard-oss#2511
    Symptom: `true` passes as an integer, or an already parsed text is parsed
    once more and called invalid.
    Right: as in JSON Schema; parse=False takes the value as it is.
    """
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    check = JsonValid(expected_schema=schema)
    assert run(check.run(T('{"n": true}'))).failed
    assert run(check.run(T('{"n": 1.0}'))).passed
    assert run(JsonValid(expected_schema={"const": 1}).run(T("true"))).failed
    assert run(JsonValid(parse=False).run(T("hello"))).passed
    assert run(JsonValid(parse=False).run(T(None))).passed
    assert run(JsonValid(parse=False).run(T({1, 2}))).failed


# ---------------------------------------------------------------- verdicts
def test_a_skip_does_not_hide_a_failure():
    """O47 | Giskard-AI/giskard-oss#2723
    Symptom: AllOf stops at a skipped check; the failing one after it never runs.
    Right: FAIL wins over SKIP; all skipped is SKIP.
    """
    skip = FnCheck(fn=lambda t: CheckResult.skip(message="n/a"))
    fail = FnCheck(fn=lambda t: False)
    assert run(AllOf(checks=[skip, fail]).run(T("a"))).failed
    assert run(AllOf(checks=[skip, always]).run(T("a"))).passed
    assert run(AllOf(checks=[skip, skip]).run(T("a"))).skipped


def test_nothing_evaluated_is_not_a_hundred_percent():
    """O48 | Giskard-AI/giskard-oss#2726 and #2759
    Symptom: an empty or all-skipped suite reports 100 %, and assert_passed() on
    skipped checks raises an empty message.
    Right: pass_rate None; the assertion says which check was skipped and why.
    """
    skip = FnCheck(fn=lambda t: CheckResult.skip(message="no key"), name="needs_key")
    assert run(suite_of().run(verbose=False)).pass_rate is None
    got = run(suite_of(one("a", "x", skip)).run(verbose=False))
    assert got.pass_rate is None and got.skipped_count == 1
    with pytest.raises(AssertionError, match="(?s)needs_key.*no key"):
        run(TestCase(name="t", trace=T("a"), checks=[skip]).assert_passed())


def test_import_leaves_stdout_alone():
    """O50 | confident-ai/deepeval#821
    Symptom: the library prints notices to stdout, in the middle of a program's
    machine-readable output.
    Right: nothing on stdout.
    """
    got = subprocess.run(
        [sys.executable, "-c", "import giskard.checks; print('{}')"],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        timeout=120,
    )
    assert got.returncode == 0, got.stderr[-500:]
    assert got.stdout == "{}\n"


def test_empty_trace_is_an_error_and_not_a_crash():
    """O51 | Giskard-AI/giskard-oss#2725 (every check, every state)
    Symptom: a check on a trace without interactions raises or passes.
    Right: ERROR, with the path in the message.
    """
    empty = Trace(interactions=[])
    for check in (
        Equals(expected_value=None),
        StringMatching(keyword="x"),
        RegexMatching(pattern="x"),
        JsonValid(),
        Equals(expected_value=None, target_key="trace.interactions[-1].outputs"),
    ):
        assert run(check.run(empty)).errored
    assert empty.last is None
    assert Interaction(inputs=1, outputs=2).metadata == {}
