"""JUnit XML as CI servers read it."""

import os
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from giskard.checks import CheckResult, FnCheck, Interaction, Scenario, Suite, SuiteResult, TestCase, Timing, Trace
from giskard.checks.export import to_junit_xml

NASTY = "a\x00b\x08c\x1b[31mred\x1b[0m \ud83d \ufffe\uffff ]]> <b>&amp; \"' \u202e \r x\ty\nz"


def check(result=None, name="rule", **fields):
    return FnCheck(fn=lambda trace: CheckResult.success() if result is None else result, name=name, **fields)


def scenario(name="s", *checks, inputs="in", outputs="out", **fields):
    return Scenario(name, **fields).interact(inputs, outputs).checks(*checks)


def run(*scenarios, name="support", **options):
    suite = Suite(name=name, scenarios=list(scenarios))
    return suite.run_sync(verbose=False, return_exception=True, **options)


# What Jenkins accepts; where it is from stands in it.
SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).with_name("junit-10.xsd")))


def parsed(result, **options):
    """The XML, as two parsers read it and a schema allows it, with names that tell testcases apart."""
    text = to_junit_xml(result, **options)
    root = ET.fromstring(text)
    other = etree.fromstring(text.encode("utf-8"), etree.XMLParser(huge_tree=True))
    SCHEMA.assertValid(other)
    assert [shape(one) for one in root.iter()] == [shape(one) for one in other.iter()]
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)
    return root


def shape(element):
    return element.tag, dict(element.attrib), element.text


def crash(inputs):
    raise ConnectionError("peer hung up")


def mixed():
    return run(
        scenario("passes", check()),
        scenario("fails", check(CheckResult.failure("too long", {"expected_value": 1, "actual_value": "1"})), check()),
        scenario("crashes", check(), outputs=crash),
        scenario(
            "both", check(CheckResult.failure("no"), "a"), check(CheckResult.error("odd", error_kind="timeout"), "b")
        ),
        scenario("skipped", check(CheckResult.skip("no key"))),
        scenario("unchecked"),
        scenario("warns", check(CheckResult.failure("rude"), severity="warning")),
    )


def states(root):
    """Name → the elements that give a testcase its state."""
    return {
        case.get("name"): [child.tag for child in case if child.tag != "system-out"] for case in root.iter("testcase")
    }


def test_a_testcase_for_each_scenario_with_one_state():
    root = parsed(mixed())

    assert states(root) == {
        "passes": [],
        "fails": ["failure"],
        "crashes": ["error"],
        "both": ["error"],
        "skipped": ["skipped"],
        "unchecked": [],
        "warns": [],
    }
    assert {case.get("classname") for case in root.iter("testcase")} == {"support"}


def test_causes_stand_in_the_messages():
    elements = {case.get("name"): case for case in parsed(mixed()).iter("testcase")}

    failure = elements["fails"].find("failure")
    assert failure.get("message") == "rule: too long"
    assert "expected: 1" in failure.text
    assert 'got:      "1"' in failure.text
    error = elements["crashes"].find("error")
    assert error.get("message") == "ConnectionError during a turn: peer hung up"
    assert error.get("type") == "ConnectionError"
    assert "Traceback" in error.text
    assert elements["both"].find("error").get("message") == "b [timeout]: odd (and 1 more)"
    assert elements["both"].find("error").get("type") == "timeout"
    assert "a: no" in elements["both"].find("error").text
    assert elements["skipped"].find("skipped").get("message") == "rule: no key"


def test_a_testcase_for_each_check():
    root = parsed(mixed(), granularity="check")

    cases = [(case.get("classname"), case.get("name"), [c.tag for c in case][:1]) for case in root.iter("testcase")]
    assert cases == [
        ("support.passes", "rule", ["system-out"]),
        ("support.fails", "rule", ["failure"]),
        ("support.fails", "rule#2", ["system-out"]),
        ("support.crashes", "step 1", ["error"]),
        ("support.crashes", "rule", ["skipped"]),
        ("support.both", "a", ["failure"]),
        ("support.both", "b", ["error"]),
        ("support.skipped", "rule", ["skipped"]),
        ("support.unchecked", "checks", ["skipped"]),
        ("support.warns", "rule", ["system-out"]),
    ]


@pytest.mark.parametrize("granularity", ["scenario", "check"])
def test_counts_agree(granularity):
    root = parsed(mixed(), granularity=granularity)

    (suite,) = root.iter("testsuite")
    for element in (root, suite):
        assert element.get("tests") == str(len(list(suite.iter("testcase"))))
        assert element.get("failures") == str(len(list(suite.iter("failure"))))
        assert element.get("errors") == str(len(list(suite.iter("error"))))
    assert suite.get("skipped") == str(len(list(suite.iter("skipped"))))
    assert datetime.fromisoformat(suite.get("timestamp")).utcoffset().total_seconds() == 0
    assert float(suite.get("time")) >= 0
    assert all(float(case.get("time")) >= 0 for case in suite.iter("testcase"))


def test_granularity_is_one_of_two_words():
    with pytest.raises(ValueError, match="granularity is 'checks', expected 'scenario' or 'check'"):
        to_junit_xml(mixed(), granularity="checks")


def test_names_are_unique_even_when_numbered_by_hand():
    names = ["a", "a#2", "a", "a", "a\x00", "a\\x00"]
    root = parsed(run(*[scenario(name, check(), check()) for name in names]))

    found = [case.get("name") for case in root.iter("testcase")]
    assert found[:4] == ["a", "a#2", "a#3", "a#4"]
    assert len(set(found)) == len(names)
    root = parsed(run(*[scenario(name, check(), check()) for name in names]), granularity="check")
    pairs = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(pairs)) == 2 * len(names)


def test_the_log_holds_the_conversation_and_the_checks():
    result = run(
        Scenario("refund", tags=["Topic:x"], annotations={"tier": "gold"})
        .interact("hello", "hi", {"model": "m"})
        .check(check(name="greets"))
        .interact("money", {"answer": "no"})
        .check(check(CheckResult.failure("short"), "long"))
    )

    log = parsed(result).find(".//system-out").text
    assert log.split("\n") == [
        "FAIL  refund",
        "tags: Topic:x",
        'annotations: {"tier": "gold"}',
        "",
        "turn 1 of 2",
        "  inputs:  hello",
        "  outputs: hi",
        '  metadata: {"model": "m"}',
        "",
        "step 1 of 2: PASS",
        "  PASS greets",
        "",
        "turn 2 of 2",
        "  inputs:  money",
        '  outputs: {"answer": "no"}',
        "",
        "step 2 of 2: FAIL",
        "  FAIL long: short",
    ]


def test_nothing_was_checked_is_said():
    log = {case.get("name"): case.findtext("system-out") for case in parsed(mixed()).iter("testcase")}

    assert "nothing was checked" in log["unchecked"]
    assert "FAIL (warning) rule: rude" in log["warns"]


def test_pass_rate_and_recommendation_are_properties():
    result = mixed().model_copy(update={"recommendation": "fix it"})

    values = {item.get("name"): item.get("value") for item in parsed(result).iter("property")}
    assert values["pass_rate"] == "0.5"
    assert values["recommendation"] == "fix it"
    assert "pass_rate" not in {item.get("name") for item in parsed(run()).iter("property")}


# --- hostile texts and objects -----------------------------------------------------------


def hostile(text):
    details = {"expected_value": text, "actual_value": {text: text}}
    return run(
        scenario(text, check(CheckResult.failure(text, details), text), inputs=text, outputs=[text], tags=[text]),
        scenario(text, check(CheckResult.error(text, {"exception_type": text}, error_kind=text or "x"), text)),
        scenario(text, check(CheckResult.skip(text), text), annotations={text: text}),
        name=text or "suite",
    ).model_copy(update={"recommendation": text})


def test_illegal_characters_are_replaced_by_a_visible_mark():
    root = parsed(hostile("漢字 🚀 " + NASTY))

    message = root.find(".//failure").get("message")
    assert message.endswith(
        r"""ab\x08c\x1b[31mred\x1b[0m \ud83d \ufffe\uffff ]]> <b>&amp; "' \u202e \x0d x"""[1:] + "\ty\nz"
    )
    assert "漢字 🚀 a\\x00b" in message


@pytest.mark.parametrize("granularity", ["scenario", "check"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(st.characters(categories=None), max_size=60))
def test_any_text_in_any_place_gives_xml(granularity, text):
    root = parsed(hostile(text), granularity=granularity)

    assert len(list(root.iter("testcase"))) == 3


def test_every_control_character():
    root = parsed(hostile("".join(map(chr, range(0x20))) + "".join(map(chr, range(0x7F, 0xA0)))))

    assert r"\x00\x01" in root.find(".//failure").get("message")


class Silent:
    def __repr__(self):
        raise RuntimeError("no")


def test_any_object_in_an_output():
    cyclic: list = []
    cyclic.append(cyclic)
    outputs = {"silent": Silent(), "cyclic": cyclic, "bytes": b"\xff", "nan": float("nan"), "keys": {(1, 2): {3}}}
    details = {"actual_value": Silent(), "expected_value": cyclic}
    result = run(
        scenario("odd", check(CheckResult.failure("no", details)), outputs=outputs), scenario("plain", check())
    )

    assert states(parsed(result)) == {"odd": ["failure"], "plain": []}
    assert "repr raises RuntimeError" in parsed(result).find(".//failure").text


# --- sizes -------------------------------------------------------------------------------


def test_a_large_output_is_cut_with_a_note():
    huge = "x" * 5_000_000
    text = to_junit_xml(run(scenario("huge " + huge, check(CheckResult.failure(huge)), outputs=huge)))

    assert len(text) < 300_000
    assert "of 5,000,005 characters cut" in text
    ET.fromstring(text)


@pytest.mark.slow
def test_a_file_never_outgrows_what_servers_take():
    result = run(scenario("漢<&\x1b" * 30, check(CheckResult.failure("漢<&\x1b" * 2_000)), outputs="漢<&\x1b" * 5_000))
    many = SuiteResult(results=result.results * 3_000)

    text = to_junit_xml(many)
    assert len(text.encode()) < 30_000_000
    assert len(list(ET.fromstring(text).iter("testcase"))) == 3_000


def nodes_in(root):
    texts = sum((one.text is not None) + (one.tail is not None) for one in root.iter())
    return sum(1 for _ in root.iter()) + texts


def left_out_of(root):
    return root.find(".//property[@name='left_out']").get("value")


@pytest.mark.slow
@pytest.mark.parametrize("granularity", ["scenario", "check"])
def test_there_are_never_more_nodes_than_servers_take(granularity):
    result = run(scenario("s", check(CheckResult.failure("no")), check(), outputs="out"))
    many = SuiteResult(results=result.results * 60_000)

    root = etree.fromstring(to_junit_xml(many, granularity=granularity).encode())
    assert nodes_in(root) < 250_000
    assert len(root.findall(".//testcase")) == int(root.get("tests"))
    assert len(root.findall(".//failure")) == int(root.get("failures")) == 60_000
    cut = [case for case in root.iter("testcase") if case.find("system-out") is None]
    assert left_out_of(root) == f"details or logs of {len(cut):,} testcases: too much for a CI server"


@pytest.mark.slow
def test_those_that_passed_are_left_out_first():
    failed = run(scenario("f", check(CheckResult.failure("no")))).results
    passed = run(scenario("p", check())).results
    many = SuiteResult(results=passed * 70_000 + failed * 60_000)

    root = etree.fromstring(to_junit_xml(many).encode())
    assert nodes_in(root) < 250_000
    assert len(root.findall(".//failure")) == int(root.get("failures")) == 60_000
    assert len(root.findall(".//testcase")) == int(root.get("tests")) == 120_000
    assert left_out_of(root).startswith("10,000 testcases, details or logs of ")


# --- files -------------------------------------------------------------------------------


def test_the_file_is_what_is_returned(tmp_path):
    path = tmp_path / "new" / "folders" / "junit.xml"

    text = to_junit_xml(hostile("é " + NASTY), path)
    assert path.read_bytes() == text.encode("utf-8")
    assert ET.parse(path).getroot().tag == "testsuites"
    assert [item.name for item in path.parent.iterdir()] == ["junit.xml"]
    assert to_junit_xml(run(), str(path)) == path.read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
def test_modes_links_and_devices_stay_what_they_are(tmp_path):
    mask = os.umask(0o022)
    try:
        fresh = tmp_path / "fresh.xml"
        to_junit_xml(run(), fresh)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o644
    fresh.chmod(0o600)
    link = tmp_path / "link.xml"
    link.symlink_to(fresh)
    to_junit_xml(mixed(), link)
    assert link.is_symlink()
    assert "passes" in fresh.read_text(encoding="utf-8")
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o600
    to_junit_xml(run(), "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "junit.xml"
    path.write_text("old", encoding="utf-8")

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        to_junit_xml(run(), path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_refused_by_name(tmp_path):
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        to_junit_xml(run(), tmp_path)


# --- single results ----------------------------------------------------------------------


def test_a_single_scenario_or_test_case_is_a_suite_of_one():
    one = scenario("alone", check(CheckResult.failure("no"))).run_sync()
    assert states(parsed(one)) == {"alone": ["failure"]}

    trace = Trace(interactions=[Interaction(inputs="a", outputs="b")])
    case = TestCase(name="replay", trace=trace, checks=[check(CheckResult.error("odd"))]).run_sync()
    assert states(parsed(case)) == {"replay": ["error"]}
    assert states(parsed(case, granularity="check")) == {"rule": ["error"]}


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="expected a SuiteResult, a ScenarioResult or a TestCaseResult, got dict"):
        to_junit_xml({})


def test_a_result_that_was_loaded_again():
    loaded = SuiteResult.model_validate_json(mixed().model_dump_json())

    assert states(parsed(loaded)) == states(parsed(mixed()))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["n" * 300, "🚀" * 300, '"' * 300, "\U000e0001" * 300])
def test_long_names_do_not_make_a_file_too_large(name):
    result = run(scenario(name, check(CheckResult.failure("no"), name)), name=name)
    many = SuiteResult(results=result.results * 40_000, suite_name=name)

    text = to_junit_xml(many, granularity="check")
    assert len(text.encode()) < 30_000_000
    names = [(case.get("classname"), case.get("name")) for case in ET.fromstring(text).iter("testcase")]
    assert len(set(names)) == len(names) == 40_000


def test_times_that_are_none_are_written_as_zero():
    one = scenario("s", check()).run_sync()
    odd = one.model_copy(update={"timing": Timing(datetime.now(UTC), float("nan"))})
    assert parsed(odd).find(".//testcase").get("time") == "0.000"


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_pipe_is_written_to():
    script = (
        "from giskard.checks import Scenario, Suite\n"
        "Suite('s', [Scenario('piped')]).run_sync(verbose=False).to_junit_xml('/dev/stdout')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert 'name="piped"' in done.stdout


def test_the_log_draws_the_calls_of_tools():
    calls = [{"name": "pay", "arguments": {"eur": 1}, "error": "declined\nby the bank"}]
    turn = Interaction(inputs="q", outputs="a", metadata={"tool_calls": calls, "model": "m-1"})
    case = TestCase(name="c", trace=Trace(interactions=[turn]), checks=[FnCheck(fn=lambda trace: False, name="bad")])

    [log] = [element.text for element in ET.fromstring(to_junit_xml(case.run_sync())).iter("system-out")]
    assert "  inputs:  q\n  → pay(eur=1)\n      error declined\\nby the bank\n  outputs: a\n" in log
    assert log.count("pay") == 1 and "m-1" in log
