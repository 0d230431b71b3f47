"""Identities: short texts that are unique over processes and machines, and names that tell equal things apart."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable

__all__ = ["new_id", "stable_ids"]

_RANDOM = os.urandom(6).hex()
_count = itertools.count(1)


def _start() -> str:
    return f"{_RANDOM}-{os.getpid():x}-"


# A process is asked for its number once: a suite asks for very many ids.
_starts_with = _start()


def _start_again() -> None:
    global _starts_with  # noqa: PLW0603
    _starts_with = _start()


if hasattr(os, "register_at_fork"):  # not on Windows, where no process is a copy of another one
    os.register_at_fork(after_in_child=_start_again)


def new_id() -> str:
    """A text that no other call, in any process, gives."""
    return f"{_starts_with}{next(_count):x}"


def stable_ids(names: Iterable[str]) -> list[str]:
    """An id for each of `names`, all of them different, and the same whenever the names are.

    The first of a name has the name itself, the second one ``name#2``, and so on; a number that makes the name of
    another one is left out.

    Examples
    --------
    >>> stable_ids(["x", "y", "x", "x"])
    ['x', 'y', 'x#2', 'x#3']
    >>> stable_ids(["x", "x", "x#2"])
    ['x', 'x#3', 'x#2']
    """
    ids = list(names)
    given = set(ids)
    if len(given) == len(ids):
        return ids
    counts: dict[str, int] = {}
    for position, name in enumerate(ids):
        count = counts.get(name)
        if count is None:
            counts[name] = 1
            continue
        count += 1
        made = f"{name}#{count}"
        # An id that is made here ends with its own number, so only a name that was given can be equal to it.
        while made in given:
            count += 1
            made = f"{name}#{count}"
        counts[name] = count
        ids[position] = made
    return ids
