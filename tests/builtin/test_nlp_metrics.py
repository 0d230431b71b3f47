"""Readability."""

import asyncio

import pytest
from pydantic import ValidationError

from giskard.checks import Check, Interaction, Not, Readability, TestCase, Trace
from giskard.checks.builtin._readability import METRICS, readability

EASY = "The cat sat on the mat. It was a good cat."
HARD = "Institutional collaboration necessitates comprehensive regulatory harmonisation."


def T(outputs=None):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs)])


def run(check, outputs=None):
    return asyncio.run(check.run(T(outputs)))


def status(check, outputs=None):
    return run(check, outputs).status.value


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_pass_and_fail_with_the_score_as_a_metric(metric):
    low, high = sorted((readability(EASY, metric), readability(HARD, metric)))
    middle = (low + high) / 2
    for text in (EASY, HARD):
        score = readability(text, metric)
        assert status(Readability(metric=metric, min_score=middle), text) == ("pass" if score > middle else "fail")
        result = run(Readability(metric=metric, max_score=middle), text)
        assert result.status == ("pass" if score < middle else "fail")
        assert [(m.name, m.value) for m in result.metrics] == [(metric, score)]
        assert result.details["score"] == score and f"{score:.2f}" in result.message


def test_bounds_are_inclusive():
    score = readability(EASY, "flesch_reading_ease")
    assert status(Readability(min_score=score, max_score=score), EASY) == "pass"
    assert "at least" in run(Readability(min_score=score + 1), EASY).message
    assert "at most" in run(Readability(max_score=score - 1), EASY).message
    assert status(Readability(), EASY) == "pass"


@pytest.mark.parametrize("output", [None, [EASY], {"a": EASY}, 5, b"text"])
def test_what_is_no_text_is_an_error(output):
    result = run(Readability(min_score=0), output)
    assert result.errored and result.error_kind == "bad_type" and type(output).__name__ in result.message
    assert status(Not(check=Readability(min_score=0)), output) == "error"


@pytest.mark.parametrize("text", ["", " \n", "...", "🙂"])
def test_a_text_without_words_is_an_error(text):
    result = run(Readability(min_score=0), text)
    assert result.errored and "no word" in result.message


def test_a_missing_text_is_an_error():
    result = run(Readability(min_score=0, target_key="trace.last.outputs.typo"), {"a": 1})
    assert result.errored and "trace.last.outputs.typo" in result.message
    assert asyncio.run(Readability(min_score=0).run(Trace(interactions=[]))).errored


@pytest.mark.parametrize(
    "fields",
    [
        {"metric": "smog"},
        {"min_score": 5, "max_score": 4},
        {"min_score": float("nan")},
        {"max_score": float("inf")},
        {"min_socre": 5},
        {"target_key": "last.outputs"},
    ],
)
def test_bad_fields_are_refused(fields):
    with pytest.raises(ValidationError):
        Readability(**{"min_score": 0, **fields})


@pytest.mark.parametrize(
    "check", [Readability(), Readability(metric="gunning_fog", min_score=1, max_score=12.5, name="n")]
)
def test_save_and_load(check):
    assert Check.model_validate_json(check.model_dump_json()) == check
    assert Check.model_validate(check.model_dump()) == check


def test_in_a_test_case():
    result = asyncio.run(TestCase(trace=T(EASY), checks=[Readability(min_score=50)]).run())
    assert result.passed and result.results[0].metrics


def test_every_result_has_the_text_and_every_verdict_the_score_and_its_bounds():
    for text in (5, None):
        assert run(Readability(min_score=1), text).details == {"text": text}
    assert run(Readability(min_score=1), "…").details == {"text": "…"}
    score = readability(EASY, "flesch_reading_ease")
    for low, high, state in ((score, score, "pass"), (score + 1, None, "fail"), (None, score - 1, "fail")):
        result = run(Readability(min_score=low, max_score=high), EASY)
        assert result.status == state
        assert result.details == {"text": EASY, "score": score, "min_score": low, "max_score": high}
