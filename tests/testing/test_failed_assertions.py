"""What pytest shows when an assertion about a result fails."""

import re

import pytest

import giskard.checks

# What a run within this process imports first, it takes away at its end.
for name in giskard.checks.__all__:
    getattr(giskard.checks, name)

MODULE = """
import pytest
from giskard.checks import *
from giskard.checks import CheckResult, Metric


def agent(inputs):
    if "lost" in inputs:
        return {"intent": "lost_card", "fee": 0}
    return {"intent": "fees", "fee": 2.5}


def talk():
    return (
        Scenario("two questions", target=agent)
        .interact("I lost my card!")
        .interact("What does it cost?")
        .check(Equals(expected_value="fees", target_key="trace.interactions[0].outputs.intent", name="intent"))
        .check(Equals(expected_value=3.0, target_key="trace.last.outputs.fee", name="fee"))
        .check(FnCheck(fn=lambda trace: True, name="fine"))
        .interact("Thank you.")
        .check(FnCheck(fn=lambda trace: True, name="later"))
    )


def fails(message="rude", name="polite", **fields):
    return FnCheck(fn=lambda trace: CheckResult.failure(message, **fields), name=name)


"""


@pytest.fixture
def shown(pytester, monkeypatch):
    """Runs tests that fail; the lines that pytest marks with E, of each of them, and all of its output."""

    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading them takes most of the time

    def run(tests, *options):
        pytester.makepyfile(MODULE + tests)
        result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "error", *options)
        result.assert_outcomes(failed=tests.count("def test_"))
        found = {}
        for line in result.outlines:
            if match := re.fullmatch(r"_{3,} (\w+) _{3,}", line):
                found[match[1]] = []
            elif line.startswith("E  ") and found:
                found[next(reversed(found))].append(line[1:].rstrip())
        return [dedented(lines) for lines in found.values()], result

    return run


def dedented(lines):
    margin = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[margin:] for line in lines]


# ------------------------------------------------------------------ assert result


def test_a_plain_assert_says_what_failed(shown):
    told, result = shown("""
def test_scenario():
    result = talk().run_sync()
    assert result

def test_case():
    case = TestCase(name="replay", trace=talk().run_sync().final_trace, checks=[Equals(expected_value=1, name="one")])
    result = case.run_sync()
    assert result

def test_check():
    result = talk().run_sync().steps[0].results[1]
    assert result

def test_suite():
    result = Suite("bank", [talk(), Scenario("fine"), Scenario("other").interact(1, 2).check(fails())]).run_sync()
    assert result
""")

    assert told == [
        [
            "AssertionError: assert <ScenarioResult FAIL 'two questions': 1 of 4 checks passed, 2 failed, 1 skipped; "
            "intent: FAIL: 'lost_card' at 'trace.i...intent' does not equal the expected 'fees'; "
            "fee: FAIL: 2.5 at 'trace.last.outputs.fee' does not equal the expected 3.0>"
        ],
        [
            "AssertionError: assert <TestCaseResult FAIL 'replay': one: FAIL: {'intent': 'fees', 'fee': 2.5} at "
            "'trace.last.outputs' does not equal the expected 1 (dict and int)>"
        ],
        [
            "AssertionError: assert <CheckResult FAIL 'fee': 2.5 at 'trace.last.outputs.fee' does not equal the "
            "expected 3.0>"
        ],
        [
            "AssertionError: assert <SuiteResult FAIL 'bank': 1 of 3 scenarios passed, 2 failed; 'two questions': "
            "intent: FAIL: 'lost_card' at 'trace.interactions[0].outputs.intent' does not equal the expected 'fees'; "
            "'other': polite: FAIL: rude>"
        ],
    ]
    assert "giskard/checks" not in result.stdout.str()


def test_flags_and_statuses_say_of_which_result_they_are(shown):
    told, _ = shown("""
def test_flag():
    result = Scenario("short").interact(1, 2).check(fails()).run_sync()
    assert result.passed

def test_status():
    result = Scenario("short").interact(1, 2).check(fails()).run_sync()
    assert result.status == "pass"

def test_called():
    assert Scenario("short").interact(1, 2).check(fails()).run_sync()

def test_listed():
    result = Scenario("short").interact(1, 2).check(fails()).run_sync()
    assert result.failures_and_errors == []
""")

    result = "<ScenarioResult FAIL 'short': polite: FAIL: rude>"
    assert told[0] == ["AssertionError: assert False", f" +  where False = {result}.passed"]
    assert told[1] == ["AssertionError: assert <ScenarioStatus.FAIL: 'fail'> == 'pass'", "", "  - pass", "  + fail"]
    assert told[2][:2] == [f"AssertionError: assert {result}", f" +  where {result} = run_sync()"]
    assert "<CheckResult FAIL 'polite': rude>" in told[3][2]


def test_with_more_v_more_is_shown(shown):
    tests = """
def test_many():
    checks = [fails(f"this is reason number {number} of those that there are", f"rule_{number}") for number in range(9)]
    result = Scenario("many").interact(1, 2).checks(*checks).run_sync()
    assert result
"""
    few, _ = shown(tests)
    more, _ = shown(tests, "-vv")

    [[few]], [[more]] = few, more
    assert "0 of 9 checks passed, 9 failed; rule_0: FAIL: this is reason number" in few
    assert "..." in few and "number 2" not in few and len(few) < 300
    assert "number 2" in more and "number 4" in more and "number 5" not in more
    assert more.endswith("; ...>")


# ------------------------------------------------------------------ assert_passed


def test_assert_passed_reads_like_pytests_own(shown):
    told, result = shown("""
def test_scenario():
    talk().run_sync().assert_passed()

def test_case():
    trace = talk().run_sync().final_trace
    TestCase(name="replay", trace=trace, checks=[fails()]).run_sync().assert_passed()

def test_check():
    talk().run_sync().steps[0].results[0].assert_passed()

def test_suite():
    suite = Suite("bank", [Scenario("fine"), talk(), Scenario("other").interact("a", "b").check(fails())])
    suite.run_sync(parallel=True).assert_passed()
""")

    the_talk = [
        "intent: FAIL: 'lost_card' at 'trace.interactions[0].outputs.intent' does not equal the expected 'fees'",
        "turn 1 of 2, step 1 of 2:",
        "  inputs:  'I lost my card!'",
        "  outputs: {'intent': 'lost_card', 'fee': 0}",
        "fee: FAIL: 2.5 at 'trace.last.outputs.fee' does not equal the expected 3.0",
        "turn 2 of 2, step 1 of 2:",
        "  inputs:  'What does it cost?'",
        "  outputs: {'intent': 'fees', 'fee': 2.5}",
        "later: SKIP: not run: an earlier step did not pass",
    ]
    one_turn = ["turn 1 of 1:", "  inputs:  'a'", "  outputs: 'b'"]
    scenario, case, check, suite = told
    counts = "1 of 4 checks passed, 2 failed, 1 skipped"
    assert scenario == indented(f"AssertionError: scenario 'two questions': FAIL ({counts})", the_talk)
    assert case == [
        "AssertionError: test case 'replay': FAIL",
        "  polite: FAIL: rude",
        "  turn 2 of 2:",
        "    inputs:  'What does it cost?'",
        "    outputs: {'intent': 'fees', 'fee': 2.5}",
    ]
    assert check == [f"AssertionError: {the_talk[0]}"]
    assert suite == indented(
        "AssertionError: suite 'bank': FAIL (1 of 3 scenarios passed, 2 failed)",
        [
            *indented("scenario 'two questions': FAIL", the_talk),
            *indented("scenario 'other': FAIL", ["polite: FAIL: rude", *one_turn]),
        ],
    )
    assert "giskard/checks" not in result.stdout.str()


def indented(head, lines):
    return [head, *(f"  {line}" for line in lines)]


@pytest.mark.parametrize("style", ["short", "line", "native", "long"])
def test_every_style_of_traceback_shows_the_reasons(shown, style):
    told, result = shown(
        """
def test_scenario():
    Scenario("s").interact("a", "b").check(fails()).run_sync().assert_passed()
""",
        f"--tb={style}",
    )

    out = result.stdout.str()
    assert "AssertionError: scenario 's': FAIL" in out
    if style != "line":
        assert "polite: FAIL: rude" in out and "outputs: 'b'" in out
    if style in ("short", "long"):
        assert "giskard/checks" not in out
    if style == "short":
        assert told[0][1] == "  polite: FAIL: rude"


def test_expected_and_got_stand_below_a_message_that_does_not_have_them(shown):
    [told], _ = shown("""
def test_own():
    details = {"expected_value": "3.00 EUR", "actual_value": "2.50 EUR"}
    Scenario("s").interact("a", "b").check(fails("wrong fee", details=details)).run_sync().assert_passed()
""")

    assert told[1:4] == ["  polite: FAIL: wrong fee", "    expected: '3.00 EUR'", "    got:      '2.50 EUR'"]


def test_of_long_texts_the_part_that_differs_is_shown(shown):
    told, _ = shown("""
def test_long():
    same = "The fee of your account is the same as in every year before. " * 10
    checks = [Equals(expected_value=same + "It is 3 EUR.", name="long")]
    Scenario("s").interact("a", same + "It is 2 EUR.").checks(*checks).run_sync().assert_passed()
""")

    assert told[0][2:5] == [
        "    their first 587 characters are the same",
        "    expected: …s in every year before. It is 3 EUR.'",
        "    got:      …s in every year before. It is 2 EUR.'",
    ]


def test_a_crash_says_where(shown):
    told, _ = shown("""
def crash(inputs):
    if inputs == "second":
        raise ConnectionError("peer hung up")
    return "fine"

def test_target():
    scenario = Scenario("s", target=crash).interact("first").interact("second").check(fails(name="never"))
    scenario.run_sync(return_exception=True).assert_passed()

def test_check():
    def broken(trace):
        return trace.last.outputs["reply"]
    scenario = Scenario("s", target=crash).interact("first").check(FnCheck(fn=broken, name="reply"))
    scenario.run_sync(return_exception=True).assert_passed()
""")

    target, check = told
    assert target[0] == "AssertionError: scenario 's': ERROR"
    assert target[1] == "  ConnectionError during a turn: peer hung up"
    assert re.fullmatch(r"    raised at .*test_a_crash_says_where\.py:\d+ in crash", target[2])
    assert target[3:] == [
        "  after turn 1 of 1:",
        "    inputs:  'first'",
        "    outputs: 'fine'",
        "  never: SKIP: not run: the step ended with an error",
    ]
    assert check[1].startswith("  reply: ERROR: TypeError: ")
    assert re.fullmatch(r"    raised at .* in broken", check[2])


def test_attempts_warnings_and_skips_are_told(shown):
    told, _ = shown("""
def test_attempts():
    answers = iter(["yes", "no", "no"])
    scenario = Scenario("s").interact("a", lambda inputs: next(answers)).check(Equals(expected_value="yes", name="yes"))
    scenario.run_sync(multiple_runs=3).assert_passed()

def test_warning():
    warning = FnCheck(fn=lambda trace: False, name="style", severity="warning")
    Scenario("s").interact("a", "b").checks(warning, fails()).run_sync().assert_passed()

def test_skipped():
    skip = FnCheck(fn=lambda trace: CheckResult.skip("no key"), name="needs_key")
    Suite("s", [Scenario("s").interact("a", "b").check(skip)]).run_sync().assert_passed()

def test_skipped_result():
    skip = FnCheck(fn=lambda trace: CheckResult.skip("no key"), name="needs_key")
    result = Scenario("s").interact("a", "b").check(skip).run_sync()
    assert result
""")

    attempts, warning, skipped, skipped_result = told
    assert attempts[0] == "AssertionError: scenario 's': FAIL (in attempt 2 of at most 3)"
    assert warning[:3] == [
        "AssertionError: scenario 's': FAIL (1 of 2 checks passed, 1 failed)",
        "  style: FAIL (warning): style returned False",
        "  polite: FAIL: rude",
    ]
    assert skipped == [
        "AssertionError: suite 's': SKIP (0 of 1 scenario passed, 1 skipped)",
        "  scenario 's': SKIP",
        "    needs_key: SKIP: no key",
    ]
    assert skipped_result == ["AssertionError: assert <ScenarioResult SKIP 's': needs_key: SKIP: no key>"]


# ------------------------------------------------------------------ long and hostile texts


def test_long_and_hostile_texts_are_cut_and_shown(shown):
    told, result = shown(r"""
NASTY = "\x1b[2J\x1b]0;title\x07\r\u202e\u2028\x00 \udc80 [bold]{{x}}%s"

def nasty():
    checks = [fails((NASTY + "\n") * 500, NASTY * 50)]
    return Scenario(NASTY * 50, tags=[NASTY]).interact(NASTY * 500, {"reply": NASTY * 5000}).checks(*checks)

def test_repr():
    result = nasty().run_sync()
    assert result

def test_message():
    nasty().run_sync().assert_passed()

def test_many():
    suite = Suite(NASTY * 50, [nasty() for _ in range(300)])
    suite.run_sync().assert_passed()

def test_crash():
    def crash(inputs):
        raise ValueError(NASTY * 500)
    result = Scenario("s").interact("a", crash).run_sync(return_exception=True)
    result.assert_passed()
""")

    out = result.stdout.str()
    for character in "\x1b\x07\x00\u202e\u2028\udc80\r":
        assert character not in out
    assert r"\x1b[2J\x1b]0;title\x07" in out
    for lines, most in zip(told, (1, 25, 300, 5), strict=True):
        assert len(lines) <= most
        assert max(map(len, lines)) < 3_000
    assert "characters cut" in out and "more lines cut" in out
    assert any("… and " in line and "scenarios" in line for line in told[2])


@pytest.mark.parametrize("count", [1, 7, 20])
def test_all_failures_are_listed(count):
    from giskard.checks import FnCheck, Scenario, Suite

    checks = [FnCheck(fn=lambda trace: False, name=f"rule_{number}") for number in range(count)]
    scenario = Scenario("s").interact("a", "b").checks(*checks)

    for result in (scenario.run_sync(), Suite("all", [scenario]).run_sync()):
        with pytest.raises(AssertionError) as raised:
            result.assert_passed()
        assert all(f"rule_{number}: FAIL" in str(raised.value) for number in range(count))
    suite = Suite("all", [scenario.model_copy(update={"name": f"s{number}"}) for number in range(40)]).run_sync()
    with pytest.raises(AssertionError) as raised:
        suite.assert_passed()
    assert all(f"'s{number}': FAIL" in str(raised.value) for number in range(40))


# ------------------------------------------------------------------ a target that crashes


def test_an_exception_of_the_target_has_no_frames_of_ours(shown):
    _, result = shown("""
import asyncio

def agent(inputs):
    raise ConnectionError("peer hung up")

async def async_agent(inputs):
    raise ConnectionError("peer hung up")

def broken(trace):
    raise KeyError("gone")

def test_sync():
    Scenario("s", target=agent).interact("a").run_sync()

def test_async():
    asyncio.run(Scenario("s", target=async_agent).interact("a").run())

def test_suite():
    Suite("s", [Scenario("s").interact("a")], target=agent).run_sync()

def test_check():
    Scenario("s").interact("a", "b").check(FnCheck(fn=broken)).run_sync()

def test_case():
    TestCase(trace=Trace(), checks=[FnCheck(fn=broken)]).run_sync()
""")

    assert "giskard/checks/" not in result.stdout.str()
    assert "ConnectionError: peer hung up" in result.stdout.str()
