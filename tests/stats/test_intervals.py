"""Intervals and agreement, against published figures and what must hold for any numbers."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.stats import cohen_kappa, wilson_interval


# Newcombe, R. G. (1998), Two-sided confidence intervals for the single proportion, Statistics in Medicine 17, table I,
# method 3 (score, no continuity correction).
@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_the_published_one(successes: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=5e-5)


def test_of_nothing_nothing_is_known() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "n"), [(-1, 3), (4, 3), (1, 0)])
def test_no_share(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} of {n} is no share"):
        wilson_interval(successes, n)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, float("nan")])
def test_no_confidence(confidence: float) -> None:
    with pytest.raises(ValueError, match="expected a number between 0 and 1"):
        wilson_interval(1, 2, confidence)


shares = st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(shares)
def test_the_interval_holds_the_share_and_mirrors_it(share: tuple[int, int]) -> None:
    k, n = share
    low, high = wilson_interval(k, n)
    assert 0 <= low <= k / n <= high <= 1
    assert (low == 0) == (k == 0)
    assert (high == 1) == (k == n)
    other_low, other_high = wilson_interval(n - k, n)
    assert (1 - other_high, 1 - other_low) == pytest.approx((low, high), abs=1e-12)
    wider = wilson_interval(k, n, 0.99)
    assert wider[0] <= low
    assert wider[1] >= high


@given(shares)
def test_its_ends_are_where_the_score_test_just_rejects(share: tuple[int, int]) -> None:
    k, n = share
    for end in wilson_interval(k, n):
        if 0 < end < 1:
            assert abs(k / n - end) / sqrt(end * (1 - end) / n) == pytest.approx(1.959964, abs=1e-4)


def test_the_agreement_is_the_published_one() -> None:
    # Fleiss, Levin & Paik (2003), Statistical methods for rates and proportions, table 18.1: 100 subjects, kappa 0.676.
    table = {
        ("psychotic", "psychotic"): 75,
        ("psychotic", "neurotic"): 1,
        ("psychotic", "organic"): 4,
        ("neurotic", "psychotic"): 5,
        ("neurotic", "neurotic"): 4,
        ("neurotic", "organic"): 1,
        ("organic", "organic"): 10,
    }
    rated = [pair for pair, count in table.items() for _ in range(count)]
    kappa = cohen_kappa([a for a, _ in rated], [b for _, b in rated])
    assert kappa == pytest.approx(0.676, abs=5e-4)


@pytest.mark.parametrize("labels", [[], ["a"], ["a", "a", "a"]])
def test_agreement_that_is_not_defined(labels: list[str]) -> None:
    assert cohen_kappa(labels, labels) is None


def test_raters_of_different_things() -> None:
    with pytest.raises(ValueError, match="gave 2 labels and the other 1"):
        cohen_kappa(["a", "b"], ["a"])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1))
def test_agreement_is_symmetric_and_at_most_full(rated: list[tuple[str, str]]) -> None:
    first, second = [a for a, _ in rated], [b for _, b in rated]
    kappa = cohen_kappa(first, second)
    assert cohen_kappa(second, first) == kappa
    if kappa is not None:
        assert -1 <= kappa <= 1
        assert (kappa == 1) == (first == second)
