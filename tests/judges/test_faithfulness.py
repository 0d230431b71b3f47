"""Faithfulness: the judge lists claims, code counts them."""

import asyncio

import pytest

from giskard.checks import Faithfulness, Interaction, Not, Trace
from giskard.checks.testing import FakeGenerator

CONTEXT = ["The fee is 3 EUR per month.", "Accounts can be closed online."]
TRACE = Trace(interactions=[Interaction(inputs="Fee?", outputs="3 EUR, and free ATMs.", metadata={"context": CONTEXT})])


def claim(support="supported", quote="The fee is 3 EUR", text="The fee is 3 EUR."):
    return {"claim": text, "quote": quote, "support": support}


def run(*claims, **fields):
    judge = FakeGenerator({"reason": "Fees.", "claims": list(claims)})
    return asyncio.run(Faithfulness(judge=judge, **fields).run(TRACE))


def metrics(result):
    return {metric.name: metric.value for metric in result.metrics}


def test_all_are_supported():
    result = run(claim(), claim(quote="closed ONLINE", text="It can be closed."))

    assert result.passed
    assert result.message == "the context supports 2 of 2 claims"
    assert metrics(result) == {"faithfulness": 1.0, "claims": 2}
    assert result.details["claims"][1] == {
        "claim": "It can be closed.",
        "quote": "closed ONLINE",
        "support": "supported",
        "quote_found": True,
        "counts": True,
    }
    assert result.details["reason"] == "Fees."


def test_what_is_not_supported_is_named():
    result = run(
        claim(),
        claim("contradicted", "The fee is 3 EUR", "The fee is 4 EUR."),
        claim("not_found", None, "ATMs are free."),
        claim("contradicted", "It is 9 EUR", "It is 8 EUR."),
    )

    assert result.failed
    assert metrics(result) == {"faithfulness": 0.25, "claims": 4}
    assert result.message == (
        "the context supports 1 of 4 claims, and not: 'The fee is 4 EUR.' (contradicted by 'The fee is 3 EUR'); "
        "'ATMs are free.' (not found); 'It is 8 EUR.' (contradicted)"
    )


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ("The fee is 3 USD", "the context has no 'The fee is 3 USD'"),
        (None, "nothing is quoted for it"),
        ("", "the context has no ''"),
        ("3 EUR, and free ATMs", "the context has no"),
    ],
)
def test_a_quote_that_is_not_in_the_context_is_no_support(quote, words):
    result = run(claim(quote=quote))

    assert result.failed
    assert words in result.message
    assert result.details["claims"][0]["quote_found"] is False
    assert result.details["claims"][0]["counts"] is False
    assert metrics(result)["faithfulness"] == 0


@pytest.mark.parametrize(("threshold", "status"), [(0.5, "pass"), (0.6666, "pass"), (0.67, "fail"), (1.0, "fail")])
def test_the_threshold(threshold, status):
    result = run(claim(), claim(), claim("not_found", None), threshold=threshold)

    assert str(result.status) == status
    assert "2 of 3 claims" in result.message
    assert ("at least" in result.message) == (threshold < 1)


def test_seven_of_ten_are_seven_tenths():
    assert run(*[claim()] * 7, *[claim("not_found", None)] * 3, threshold=0.7).passed


def test_without_a_claim_it_does_not_apply():
    result = run()

    assert result.skipped
    assert "no claim" in result.message
    assert not result.metrics
    check = Faithfulness(judge=FakeGenerator({"claims": []}))
    assert asyncio.run(Not(check=check).run(TRACE)).skipped


def test_votes_without_a_claim_do_not_apply_either():
    result = run(votes=3)

    assert result.skipped
    assert "3 skipped" in result.message


def test_long_lists_are_cut_in_the_message_and_whole_in_the_details():
    result = run(*[claim("not_found", None, f"claim {n} " + "x" * 400) for n in range(9)])

    assert "claim 4" in result.message
    assert "claim 5" not in result.message
    assert result.message.endswith("and 4 more")
    assert len(result.message) < 1500
    assert len(result.details["claims"]) == 9


@pytest.mark.parametrize(
    "broken",
    [
        {"claim": " ", "quote": None, "support": "supported"},
        {"claim": "c", "quote": None},
        {"claim": "c", "quote": None, "support": "maybe"},
        {"claim": "c", "quote": None, "support": None},
        {"claim": "c", "quote": ["q"], "support": "supported"},
        "c",
        None,
    ],
)
def test_a_claim_that_cannot_be_read_makes_it_an_error(broken):
    result = run(claim(), broken)

    assert result.errored
    assert result.error_kind == "unreadable_verdict"
    assert "claims.1" in result.message


@pytest.mark.parametrize("word", ["Supported", " SUPPORTED ", "supported"])
def test_words_may_be_written_in_other_letters(word):
    assert run(claim(word)).passed
    assert run(claim("Not found", None)).details["claims"][0]["support"] == "not_found"


def test_a_literal_context():
    assert run(claim(quote="free ATMs"), context="We have free ATMs.").passed
