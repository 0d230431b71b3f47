"""What calls cost: the price lists that come with the library, asked once per model."""

from __future__ import annotations

import functools
from decimal import Decimal
from typing import Any, NamedTuple

__all__ = ["cost_of"]

_MANY = 1_000_000


class _Rates(NamedTuple):
    """US dollars for a token."""

    input: float
    cached: float
    output: float


def cost_of(provider: str, model: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
    """What a call costs in US dollars; None when no price is known for the model.

    Parameters
    ----------
    provider, model
        Who serves the model, and what it is called there.
    input_tokens, output_tokens
        As the provider counts them.
    cached_tokens
        How many of the input tokens came from the provider's cache, and cost less.
    """
    found = _prices(provider, model)
    if isinstance(found, _Rates):
        fresh = input_tokens - cached_tokens
        return fresh * found.input + cached_tokens * found.cached + output_tokens * found.output
    return None if found is None else _asked(found, input_tokens, output_tokens, cached_tokens)


@functools.lru_cache(maxsize=256)
def _prices(provider: str, model: str) -> _Rates | Any | None:
    """The rates of a model; its price list where they depend on how much is used; None when there are none."""
    from datetime import UTC, datetime  # noqa: PLC0415

    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415

    try:
        _, info = get_snapshot().find_provider_model(model, None, provider, None)
        prices = info.get_prices(datetime.now(UTC))
    except Exception:  # an unknown provider or model; a price list must not cost anybody a verdict
        return None
    per_token = (prices.input_mtok, prices.output_mtok, prices.cache_read_mtok)
    if any(not isinstance(price, Decimal | None) for price in per_token) or None in per_token[:2]:
        return prices
    given, made = (_asked(prices, *tokens) for tokens in ((_MANY, 0, 0), (0, _MANY, 0)))
    cached = _asked(prices, _MANY, 0, _MANY)
    if given is None or made is None:
        return None
    return _Rates(given / _MANY, (given if cached is None else cached) / _MANY, made / _MANY)


def _asked(prices: Any, input_tokens: int, output_tokens: int, cached_tokens: int) -> float | None:
    from genai_prices import Usage  # noqa: PLC0415

    try:
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens or None)
        return float(prices.calc_price(usage)["total_price"])
    except Exception:  # as above
        return None
