"""How long to wait before the next try: as long as the server asks, or longer from try to try."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from time import time
from typing import Final

__all__ = ["backoff", "retry_after"]

_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 20.0
_MOST_DOUBLINGS: Final = 10  # by then the longest wait is reached, and no number overflows
_NUMBER: Final = re.compile(r"\d+(?:\.\d*)?(?:[eE]\+?\d+)?", re.ASCII)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: a number of them, of milliseconds, or a date (RFC 9110, 10.2.3).

    Parameters
    ----------
    headers
        The headers of its answer, by their names in lower case or without regard to case.

    Returns
    -------
    seconds
        Finite, from 0 on, 0 for a date in the past; None when nothing is said that makes sense.  It may be longer than
        anybody wants to wait.

    Examples
    --------
    >>> retry_after({"retry-after": "1.5"}), retry_after({"retry-after": "Thu, 01 Jan 1970 00:00:00 -0000"})
    (1.5, 0.0)
    >>> retry_after({"retry-after": "-5"}), retry_after({})
    (None, None)
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        given = headers.get(name, "").strip()
        if _NUMBER.fullmatch(given):
            seconds = float(given) / unit
            if math.isfinite(seconds):
                return seconds
        elif given and unit == 1.0 and (seconds := _seconds_until(given)) is not None:
            return seconds
    return None


def _seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, TypeError, OverflowError):  # it is no date
        return None
    if moment.tzinfo is None:  # "-0000": UTC, and nothing said of where
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - time())


def backoff(attempt: int) -> float:
    """Seconds to wait after so many tries: twice as long each time, by chance up to a quarter shorter.

    Parameters
    ----------
    attempt
        How many tries there were, from 1 on.
    """
    doublings = min(max(attempt - 1, 0), _MOST_DOUBLINGS)
    return min(_FIRST_WAIT * 2.0**doublings, _LONGEST_WAIT) * random.uniform(0.75, 1.0)
