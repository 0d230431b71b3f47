"""Where something happened: turns of checks, lines of tracebacks."""

import traceback

import pytest

from giskard.checks import CheckResult, Equals, Scenario, TestCaseResult
from giskard.checks.core.assertions import one_line
from giskard.checks.core.places import name_of_recording, raised_at, sections, turn_of_check, users_part, where


def step(last):
    return TestCaseResult(last_interaction_index=last)


def test_the_turns_of_each_step():
    assert sections([step(0), step(None), step(3)], 4) == [range(1), range(1, 1), range(1, 4)]
    assert sections([step(1), step(None)], 3) == [range(2), range(2, 3)]
    assert sections([], 3) == []


@pytest.mark.parametrize(
    ("key", "turn"),
    [
        ("trace.last.outputs", 2),
        ("trace.interactions[0].outputs", 0),
        ("trace.interactions[-2].outputs", 1),
        ("trace.interactions[7].outputs", None),
        ("trace.interactions[*].outputs", 2),
    ],
)
def test_the_turn_that_a_check_is_about(key, turn):
    result = (
        Scenario("s").interact("a", 1).interact("b", 2).interact("c", 3).check(Equals(expected_value=9, target_key=key))
    )

    [step] = result.run_sync().steps
    assert turn_of_check(step.results[0], range(3)) == turn


def test_a_check_without_a_path_is_about_the_last_turn():
    assert turn_of_check(CheckResult.failure(), range(1, 3)) == 2
    assert turn_of_check(CheckResult.failure(), range(0)) is None


def test_where_a_step_ran():
    assert where(0, 1, range(1), 1) == ""
    assert where(1, 3, range(2, 4), 6) == "step 2 of 3, after turn 4 of 6"
    assert where(0, 2, range(0), 3) == "step 1 of 2, before the first turn"


def test_the_users_part_of_a_traceback():
    def crash(inputs):
        raise ConnectionError("peer hung up")

    [step] = Scenario("s").interact("q", crash).run_sync(return_exception=True).steps
    text = step.error.traceback

    assert raised_at(text).startswith(__file__) and raised_at(text).endswith("in crash")
    assert "giskard/checks/" not in "\n".join(users_part(text))
    assert "peer hung up" in "\n".join(users_part(text))
    assert raised_at("no traceback") is None


def test_a_traceback_of_ours_alone_is_shown():
    try:
        one_line(None, 5)
    except TypeError as error:
        text = "".join(traceback.format_tb(error.__traceback__)[1:])
    assert "\n".join(users_part(text)) == text.rstrip()


@pytest.mark.parametrize(("named", "turn"), [(0, 0), (2, 2), (3, 2), (-1, 2), (True, 2), ("0", 2)])
def test_a_result_can_name_the_turn_that_it_is_about(named, turn):
    assert turn_of_check(CheckResult.failure(details={"turn": named}), range(1, 3)) == turn


@pytest.mark.parametrize(
    ("annotations", "name"),
    [
        ({"source": {"path": "a.jsonl", "line": 3}, "conversation_id": "c-1"}, "a.jsonl:3"),
        ({"conversation_id": "c-1"}, "c-1"),
        ({"conversation_id": 5}, None),
        ({"conversation_id": " "}, None),
        ({}, None),
    ],
)
def test_what_a_recording_is_called_that_nobody_named(annotations, name):
    assert name_of_recording(annotations) == name
