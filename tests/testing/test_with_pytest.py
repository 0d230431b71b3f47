"""Tests that people write with pytest: its plugins for async tests, what it collects, xdist, doctests."""

import textwrap

import pytest

INI = """
[pytest]
asyncio_default_fixture_loop_scope = function
asyncio_mode = {mode}
addopts = --strict-markers --strict-config
filterwarnings = error
markers = slow: asks a model
"""

ASYNCIO = ("-p", "pytest_asyncio.plugin")


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs pytest in a process of its own, with the plugins that are asked for: loading them takes most of the time."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return lambda *options: pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error", *options)


# How one writes an async test, and an async fixture, with each plugin.
STYLES = {
    "asyncio_strict": ("strict", "@pytest.mark.asyncio", "@pytest_asyncio.fixture", "import pytest_asyncio"),
    "asyncio_auto": ("auto", "", "@pytest.fixture", ""),
    "anyio": (
        "strict",
        "@pytest.mark.anyio",
        "@pytest.fixture",
        "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'",
    ),
}

PATTERNS = """
import asyncio
import time

import pytest

from giskard.checks import *
from giskard.checks import Interact, LimitExceededError, RunInterruptedError

{preamble}


def target(inputs: str) -> str:
    return f"Received: {{inputs}}"


SCENARIOS = [Scenario(name).interact(name).check(StringMatching(keyword=name)) for name in "ab"]
SUITE = Suite("shared", SCENARIOS, target=target)


{fixture}
async def agent(request):
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()

    async def agent(inputs):
        await asyncio.sleep(0)
        assert asyncio.get_running_loop() is loop
        return f"You said: {{inputs}}"

    yield agent
    await asyncio.sleep(0)


@pytest.fixture
def recorded():
    return Trace(interactions=[Interaction(inputs="Hello", outputs="Is it a payment, or a card?")])


{mark}
async def test_a_recorded_conversation(recorded):
    case = TestCase(name="asks", trace=recorded, checks=[FnCheck(fn=lambda t: "?" in t.last.outputs, name="asks")])
    await case.assert_passed()


{mark}
@pytest.mark.parametrize("question,required_keyword", [("Hello", "Received"), ("Goodbye", "Received")])
async def test_answers_include_keyword(question, required_keyword):
    trace = Trace(interactions=[Interaction(inputs=question, outputs=target(question))])
    checks = [StringMatching(keyword=required_keyword, target_key="trace.last.outputs", case_sensitive=False)]
    await TestCase(name=f"keyword_{{required_keyword}}", trace=trace, checks=checks).assert_passed()


{mark}
@pytest.mark.parametrize("scenario", SUITE.scenarios, ids=lambda scenario: scenario.name)
async def test_a_test_for_each_scenario(scenario):
    assert await scenario.run(target)


{mark}
async def test_an_agent_of_a_fixture(agent):
    result = await Scenario("s", target=agent).interact("refund").check(StringMatching(keyword="refund")).run()
    assert result
    result.assert_passed()


{mark}
@pytest.mark.slow
async def test_with_a_marker(agent):
    assert await SUITE.run(agent, parallel=True)


@pytest.mark.parametrize("turn", range(2))
{mark}
async def test_the_same_objects_in_loop_after_loop(turn):
    first = await SUITE.run()
    both = await asyncio.gather(SUITE.run(parallel=True, max_concurrency=1), SUITE.run())
    assert [result.pass_rate for result in (first, *both)] == [1.0, 1.0, 1.0]


{mark}
async def test_a_limit():
    async def hangs(inputs):
        await asyncio.Event().wait()

    result = await Scenario("s", timeout=0.01).interact("q", hangs).run(return_exception=True)
    assert result.errored and result.steps[0].error.error_kind == "timeout"
    with pytest.raises(LimitExceededError):
        await Scenario("s").append(Interact(inputs="q", outputs=hangs, timeout=0.01)).run()


{mark}
async def test_a_crash_comes_out_as_it_is():
    def crash(inputs):
        raise ConnectionError("peer hung up")

    with pytest.raises(ConnectionError, match="peer hung up"):
        await Scenario("s").interact("q", crash).run()


{mark}
async def test_run_sync_inside_a_loop_says_what_to_write():
    case = TestCase(trace=Trace(), checks=[])
    for what, run in (("scenario", Scenario("s").run_sync), ("suite", SUITE.run_sync), ("test_case", case.run_sync)):
        with pytest.raises(RuntimeError, match=f"{{what}}.run_sync.*write `await {{what}}.run.*` here"):
            run()


class TestInAClass:
    {mark}
    async def test_a_method(self, agent, recorded):
        await TestCase(trace=recorded, checks=[Equals(expected_value="Hello", target_key="trace.last.inputs")]).run()


def test_without_async(recorded):
    assert SUITE.run_sync()
    assert Scenario("s").interact("q", "a").run_sync()
    TestCase(trace=recorded, checks=[]).run_sync().assert_passed()
    assert TestCaseRunner().run_sync(TestCase(trace=recorded, checks=[]))


def test_a_failure_can_be_expected():
    result = Scenario("s").interact("q", "a").check(Equals(expected_value="b", name="letter")).run_sync()
    with pytest.raises(AssertionError, match=r"(?s)scenario 's': FAIL.*letter: FAIL: 'a' .* the expected 'b'"):
        result.assert_passed()
    with pytest.raises(AssertionError, match="letter: FAIL"):
        assert result
"""


@pytest.mark.parametrize("style", STYLES)
def test_the_patterns_of_async_tests(pytester, run, style, pytestconfig):
    if style == "anyio" and not pytestconfig.pluginmanager.hasplugin("anyio"):
        pytest.skip("anyio's plugin is left out of this run")
    mode, mark, fixture, preamble = STYLES[style]
    pytester.makeini(INI.format(mode=mode))
    pytester.makepyfile(PATTERNS.format(mark=mark, fixture=fixture, preamble=preamble))

    # Those who use anyio's plugin may have the other one too.
    result = run("-q", *ASYNCIO, *(["-p", "anyio.pytest_plugin"] if style == "anyio" else []))

    result.assert_outcomes(passed=15)


FAILING = """
import pytest
from giskard.checks import *

TRACE = Trace(interactions=[Interaction(inputs="Hello", outputs={"reply": "Go away."})])
POLITE = FnCheck(fn=lambda trace: False, name="polite", failure_message="rude")

@pytest.mark.asyncio
async def test_case():
    await TestCase(name="replay", trace=TRACE, checks=[POLITE]).assert_passed()

@pytest.mark.asyncio
async def test_scenario():
    assert await Scenario("greets").interact("Hello", "Go away.").check(POLITE).run()

@pytest.mark.asyncio
async def test_suite():
    result = await Suite("all", [TestCase(name="replay", trace=TRACE, checks=[POLITE])]).run(parallel=True)
    result.assert_passed()
"""


def test_failures_of_async_tests_end_in_the_test(pytester, run):
    pytester.makeini(INI.format(mode="strict"))
    pytester.makepyfile(FAILING)

    result = run(*ASYNCIO)

    result.assert_outcomes(failed=3)
    told = [line[1:].strip() for line in result.outlines if line.startswith("E  ")]
    reasons = ["polite: FAIL: rude", "turn 1 of 1:", "inputs:  'Hello'", "outputs: {'reply': 'Go away.'}"]
    assert told == [
        "AssertionError: test case 'replay': FAIL",
        *reasons,
        "AssertionError: assert <ScenarioResult FAIL 'greets': polite: FAIL: rude>",
        "AssertionError: suite 'all': FAIL (0 of 1 scenario passed, 1 failed)",
        "scenario 'replay': FAIL",
        *reasons,
    ]
    assert "giskard/checks" not in result.stdout.str()
    assert result.stdout.str().count("AssertionError\n") == 3


# ------------------------------------------------------------------ what is collected

COLLECTED = """
from giskard.checks import *
from giskard.checks import TestCase as TestRenamed

class TestMyResult(TestCaseResult):
    further: int = 0
    def test_no_test(self): raise AssertionError

class TestMyCase(TestCase):
    def test_no_test(self): raise AssertionError

class TestMyTypedCase(TestCase[str, str, Trace]):
    pass

class TestMyRunner(TestCaseRunner):
    pass

class TestMyError(TestCaseError):
    pass

TestAlias = TestCase[str, str, Trace]
test_case = TestCase(name="t", trace=Trace(), checks=[])
test_result = test_case.run_sync()
test_scenario = scenario("s").interact("q", "a")
test_suite = Suite("s", [test_scenario, test_case])
test_check = FnCheck(fn=lambda trace: True)
test_spec = Interact(inputs="q", outputs="a")
test_status = TestCaseStatus.PASS
test_runner = TestCaseRunner()

class TestOfMine:
    TestCase = TestCase
    TestCaseResult = TestCaseResult
    TestCaseStatus = TestCaseStatus
    TestCaseError = TestCaseError
    TestCaseRunner = TestCaseRunner
    test_case = test_case

    class TestInner(TestCaseResult):
        pass

    def test_one(self):
        assert TestInner().passed if False else True

def test_two():
    assert test_suite.run_sync()
"""


def test_nothing_of_the_package_is_taken_for_a_test(pytester, run):
    pytester.makeini(INI.format(mode="auto"))
    pytester.makepyfile(COLLECTED)

    result = run("-v", *ASYNCIO)

    result.assert_outcomes(passed=2)
    names = [line.split("::", 1)[1].split()[0] for line in result.outlines if "::" in line]
    assert names == ["TestOfMine::test_one", "test_two"]


def test_every_public_name_that_looks_like_a_test_says_that_it_is_none():
    import giskard.checks

    classes = [getattr(giskard.checks, name) for name in giskard.checks.__all__ if name.startswith("Test")]

    assert len(classes) == 5
    assert all(cls.__test__ is False for cls in classes)
    assert not [name for name in giskard.checks.__all__ if name.startswith("test")]


# ------------------------------------------------------------------ xdist and doctests

MANY = """
import pytest
from giskard.checks import CheckResult, FnCheck, Scenario, Suite

NASTY = "a\\x1b[2J\\x1b]0;title\\x07 \\udc80 \\u202e ]]> \\x00 end"

def one(number):
    failing = FnCheck(fn=lambda trace: CheckResult.failure(f"{NASTY} {number}"), name="rule")
    return Scenario(f"number {number}", tags=["Area:x"]).interact(NASTY, NASTY * 500).check(failing)

@pytest.mark.parametrize("number", range(4))
def test_number(number):
    if number % 2:
        one(number).run_sync().assert_passed()
    assert one(number).run_sync()

def test_suite():
    Suite("all", [one(number) for number in range(3)]).run_sync(parallel=True).assert_passed()
"""


def test_failures_come_back_whole_from_the_workers_of_xdist(pytester, run):
    pytester.makepyfile(MANY)

    result = run("-p", "xdist.plugin", "-n", "2", "--junit-xml=junit.xml")

    result.assert_outcomes(failed=5)
    for number in range(4):
        result.stdout.fnmatch_lines([rf"*rule: FAIL: a\x1b?2J\x1b?0;title\x07 \udc80 \u202e ?]> \x00 end {number}*"])
    result.stdout.fnmatch_lines(["*AssertionError: suite 'all': FAIL (0 of 3 scenarios passed, 3 failed)*"])
    assert "\x1b" not in result.stdout.str() and "\u202e" not in result.stdout.str()
    assert max(map(len, result.outlines)) < 600
    assert "number 3" in pytester.path.joinpath("junit.xml").read_text(encoding="utf-8")


def test_doctests(pytester, run):
    pytester.makepyfile(
        documented=textwrap.dedent('''
            """How it is used.

            >>> greeting = Scenario("greeting").interact("Hi", outputs="Hello!")
            >>> greeting.check(StringMatching(keyword="Hello")).run_sync()
            <ScenarioResult PASS 'greeting': 1 of 1 check passed>
            >>> result = greeting.check(Equals(expected_value="Bye", name="leaves")).run_sync()
            >>> result
            <ScenarioResult FAIL 'greeting': 1 of 2 checks passed, 1 failed; leaves: FAIL: 'Hello!' ...>
            >>> result.steps[0].results[0]
            <CheckResult PASS 'string_matching': the text contains 'Hello'...>
            >>> result.assert_passed()
            Traceback (most recent call last):
                ...
            AssertionError: scenario 'greeting': FAIL (1 of 2 checks passed, 1 failed)
              leaves: FAIL: 'Hello!' at 'trace.last.outputs' does not equal the expected 'Bye'
              turn 1 of 1:
                inputs:  'Hi'
                outputs: 'Hello!'
            """

            from giskard.checks import *
        ''')
    )

    result = run("--doctest-modules", "-o", "doctest_optionflags=ELLIPSIS")

    result.assert_outcomes(passed=1)
