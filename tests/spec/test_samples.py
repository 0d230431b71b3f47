"""Every sample of the two documents runs as it is printed."""

import hashlib
from pathlib import Path

import pytest

from giskard.checks import InteractionSpec, Scenario, Trace
from tests.samples import LOOKS_LIKE_CODE, needed_by, prose_in_plain_text, samples_in_plain_text

HERE = Path(__file__).parent
CORE_CONCEPTS = HERE / "core-concepts.txt"
TESTING_UTILITIES = HERE / "testing-utilities.txt"
SAMPLES = {path: samples_in_plain_text(path) for path in (CORE_CONCEPTS, TESTING_UTILITIES)}


# --- the documents are complete, and so are the samples --------------------------------------


@pytest.mark.parametrize(
    ("path", "digest"),
    [
        (CORE_CONCEPTS, "ec0dea5976144c20341fcd2824c50222bb694003bbc100adeea9e0d167cf0344"),
        (TESTING_UTILITIES, "2ef3961051f7eb3639a599f2a7b62a08dbb4948848610e34ce9fdd4036b62a89"),
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_the_documents_are_word_for_word(path, digest):
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest


def test_every_sample_is_found():
    assert [len(samples) for samples in SAMPLES.values()] == [6, 8]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_is_taken_for_prose_does_not_look_like_code(path):
    assert [line for line in prose_in_plain_text(path) if LOOKS_LIKE_CODE.match(line)] == []


# --- each sample, run as printed ----------------------------------------------------------------


def spec_becomes_turns(names, printed, requests):
    assert isinstance(names["spec"], InteractionSpec)
    result = Scenario("math").add_interaction(names["spec"]).run_sync()
    turn = result.final_trace.last
    assert turn.inputs.startswith("What is 2 + ")
    assert turn.outputs == "Hello! HTML was invented by Tim Berners-Lee."
    assert turn.metadata == {"category": "math", "difficulty": "easy"}
    [(path, body)] = requests
    assert path == "/v1/chat/completions"
    assert body == {"model": "gpt-5-mini", "messages": [{"role": "user", "content": turn.inputs}]}


def trace_of_two_turns(names, printed, requests):
    trace = names["trace"]
    assert isinstance(trace, Trace)
    assert [turn.inputs for turn in trace.interactions] == ["Hello", "How are you?"]
    assert trace.last.outputs == "I'm doing well, thanks!"


def groundedness_is_built(names, printed, requests):
    check = names["check"]
    assert isinstance(check, names["Groundedness"])
    assert check.target_key == "trace.last.outputs"
    assert check.context == "Giskard Checks is a testing framework for AI systems."
    assert requests == []


def both_checks_pass(names, printed, requests):
    result = names["result"]
    assert result.passed
    assert result.scenario_name == "test_with_checks"
    assert [r.name for r in result.steps[0].results] == ["output", "one_turn"]
    assert result.final_trace.last.outputs == "test output"


def both_turns_are_judged(names, printed, requests):
    result = names["result"]
    assert result.passed
    assert [step.results[0].message for step in result.steps] == ["It does.", "It does."]
    asked = [body for _, body in requests if "response_format" in body]
    assert [body["messages"][0]["content"] for _, body in requests if body not in asked] == [
        "Hello",
        "Who invented the HTML?",
    ]
    assert "response should be a friendly greeting" in asked[0]["messages"][-1]["content"]
    assert "Tim Berners-Lee" in result.final_trace.last.outputs


def replay_passes(names, printed, requests):
    assert names["result"].passed
    assert len(names["result"].results) == 2
    names["result"].assert_passed()


def result_is_reported(names, printed, requests):
    assert printed == "All checks passed!\n"


def status_is_pass(names, printed, requests):
    assert printed == "Success!\n"


def spy_saw_the_call(names, printed, requests):
    assert printed == "1 call(42)\n"
    assert names["spy_data"].keys() == {"call_count", "call_args", "call_args_list", "mock_calls"}
    assert names["result"].final_trace.last.outputs.startswith("Found: ")
    with pytest.raises(ConnectionError):  # the function is the real one again
        names["answer"]("Find item 42")


def recorded_replay_passes(names, printed, requests):
    assert names["test_case"].run_sync().passed


def batch_is_counted(names, printed, requests):
    assert printed == "Passed: 2/2\n"


def defines_tests(names, printed, requests):
    assert any(name.startswith("test_") and callable(value) for name, value in names.items())


EXPECTED = [
    spec_becomes_turns,
    trace_of_two_turns,
    groundedness_is_built,
    both_checks_pass,
    both_checks_pass,
    both_turns_are_judged,
    replay_passes,
    defines_tests,
    result_is_reported,
    status_is_pass,
    spy_saw_the_call,
    recorded_replay_passes,
    batch_is_counted,
    defines_tests,
]
ALL = [sample for samples in SAMPLES.values() for sample in samples]


@pytest.mark.parametrize(
    ("sample", "expected"),
    list(zip(ALL, EXPECTED, strict=True)),
    ids=lambda value: getattr(value, "id", None) or value.__name__,
)
def test_sample(sample, expected, left_to_the_reader, openai_server, capsys):
    namespace = {"__name__": "sample", **left_to_the_reader}
    for earlier in needed_by(sample, SAMPLES[sample.path]):
        earlier.run(namespace)
    openai_server.clear()
    capsys.readouterr()

    sample.run(namespace)

    expected(namespace, capsys.readouterr().out, openai_server)


# --- those that are tests, run by pytest ---------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "passed"),
    list(zip([sample for sample in ALL if sample.has_tests], [1, 2], strict=True)),
    ids=lambda value: getattr(value, "id", ""),
)
def test_sample_as_a_test_module(sample, passed, tmp_path):
    assert f"{passed} passed" in sample.run_by_pytest(tmp_path)


# --- what the documents say of modules -------------------------------------------------------------


def documented_homes():
    """(name, module, whether it is also exported from the package), as the second document lists them."""
    lines = TESTING_UTILITIES.read_text(encoding="utf-8").splitlines()
    for index, line in enumerate(lines):
        if line.startswith("Module: "):
            yield lines[index - 2], line.split()[1], "also exported" in line


@pytest.mark.parametrize(("name", "module", "exported"), list(documented_homes()))
def test_documented_names_live_where_the_document_says(name, module, exported):
    found = getattr(__import__(module, fromlist=[name]), name)

    assert found.__name__ == name
    if exported:
        assert getattr(__import__("giskard.checks", fromlist=[name]), name) is found
