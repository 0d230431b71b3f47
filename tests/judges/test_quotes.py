"""Whether a quote occurs."""

import pytest

from giskard.checks.judges._quotes import Sources

TEXT = "The fee is 30 EUR\n\tper month. “Don’t panic” – it’s capped at 5.5 %. Straße 7; café."


@pytest.mark.parametrize(
    "quote",
    [
        "The fee is 30 EUR per month.",
        "the FEE is 30 eur\nper  month",
        '"The fee is 30 EUR"',
        "  fee is 30 EUR.  ",
        "Don't panic",
        "\"Don't panic\" - it's capped",
        "STRASSE 7",
        "cafe\u0301",
        "The fee … capped at 5.5 %",
        "The fee ... [...] per month",
        "… 30 EUR …",
        "5.5",
    ],
)
def test_it_occurs(quote):
    assert Sources(TEXT).have(quote)
    assert Sources(["other", TEXT]).have(quote)
    assert Sources({"docs": [{"text": TEXT}]}).have(quote)


@pytest.mark.parametrize(
    "quote",
    [
        None,
        "",
        " ",
        "…",
        '"..."',
        "The fee is 3",
        "The fee is 300 EUR",
        "he fee is",
        "The fee is 30 USD",
        "The fee … is free",
        "fee 30 EUR",
        "The fee isn't 30 EUR",
    ],
)
def test_it_does_not_occur(quote):
    assert not Sources(TEXT).have(quote)


def test_data_is_quoted_as_the_judge_was_shown_it():
    sources = Sources({"fee": {"amount": 3, "currency": "EUR"}, "note": 'say "hi"\nnow'})

    assert sources.have('"amount": 3')
    assert sources.have('say "hi" now')
    assert not sources.have('"amount": 4')


def test_scripts_without_spaces():
    assert Sources("月額料金は三百円です。").have("料金は三百円")


@pytest.mark.parametrize("value", [None, 0, b"x", object(), [], {}, [[]]])
def test_anything_can_be_looked_into(value):
    assert not Sources(value).have("no such words")


def test_data_that_holds_itself():
    value = ["the fee is 3 EUR"]
    value.append(value)

    assert Sources(value).have("fee is 3 EUR")
    assert not Sources(value).have("fee is 4 EUR")
