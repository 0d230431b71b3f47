"""How sure a share is, and how far two raters agree beyond chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from statistics import NormalDist

__all__ = ["cohen_kappa", "wilson_interval"]


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval of a share, after Wilson (1927), without a correction for continuity.

    Unlike the textbook's "plus or minus", it stays within 0 and 1 and is of use for small `n` and for shares at the
    ends.

    Parameters
    ----------
    successes
        How many of `n`.
    n
        How many there were; of none nothing is known: the interval is all from 0 to 1.
    confidence
        Between 0 and 1: the share of such intervals that hold the true value.

    Returns
    -------
    tuple of float
        The lower and the upper end, from 0 to 1.

    Raises
    ------
    ValueError
        When the numbers are no share, or `confidence` is not between 0 and 1.

    Examples
    --------
    >>> low, high = wilson_interval(81, 263)
    >>> f"{low:.4f} to {high:.4f}"
    '0.2553 to 0.3662'
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no share: expected 0 <= successes <= n")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence!r}, expected a number between 0 and 1, such as 0.95")
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (successes + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(successes * (n - successes) / n + z * z / 4)
    # At the ends it is exact, whatever the rounding.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """How far two raters agree beyond chance, after Cohen (1960).

    Parameters
    ----------
    first, second
        The label that each of them gives to the same things, in the same order.

    Returns
    -------
    float or None
        1 for full agreement, 0 for what chance alone would give, below 0 for less than that; None when it is not
        defined: nothing was rated, or both gave one and the same label to everything.

    Raises
    ------
    ValueError
        When one of them rated more things than the other.

    Examples
    --------
    >>> cohen_kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
    0.5
    """
    if len(first) != len(second):
        raise ValueError(f"one rater gave {len(first)} labels and the other {len(second)}: expected one each per thing")
    n = len(first)
    agreed = sum(a == b for a, b in zip(first, second, strict=True))
    firsts, seconds = Counter(first), Counter(second)
    # In whole numbers, so that "not defined" is told from rounding.
    by_chance = sum(count * seconds[label] for label, count in firsts.items())
    return None if by_chance == n * n else (agreed * n - by_chance) / (n * n - by_chance)
