"""What calls cost."""

import pytest

from giskard.checks.llm.cost import cost_of


@pytest.mark.parametrize(
    ("provider", "model", "tokens", "cost"),
    [
        ("openai", "gpt-4o-mini", (1_000_000, 0), 0.15),
        ("openai", "gpt-4o-mini-2024-07-18", (0, 1_000_000), 0.6),
        ("openai", "gpt-4o-mini", (500, 20), 8.7e-05),
        ("openai", "gpt-4o-mini", (11, 7, 4), 0.00000555),
        ("openai", "text-embedding-3-small", (1000, 0), 0.00002),
    ],
)
def test_a_known_model_has_a_price(provider, model, tokens, cost):
    assert cost_of(provider, model, *tokens) == pytest.approx(cost)


def test_prices_that_depend_on_how_much_is_used_are_asked_each_time():
    few, many = (cost_of("anthropic", "claude-sonnet-4-5", tokens, 0) for tokens in (1000, 900_000))

    assert few is not None
    assert many is not None
    assert many > few * 900


@pytest.mark.parametrize(
    ("provider", "model"), [("openai", "nobody-knows-this"), ("ollama", "llama3.2"), ("", ""), ("compatible", "gpt-5")]
)
def test_what_has_no_known_price_costs_nobody_knows_what(provider, model):
    assert cost_of(provider, model, 10, 10) is None


def test_nothing_used_costs_nothing():
    assert cost_of("openai", "gpt-4o-mini", 0, 0) == 0
