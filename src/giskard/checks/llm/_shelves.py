"""What a cassette holds while it is open: a shelf for each call, and how the shelf of a call is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from giskard.checks.llm._cassette_file import Kept, Recording, Row, key_of
from giskard.checks.llm._described import Form
from giskard.checks.llm.recording import Asked

__all__ = ["Shelf", "Shelves"]


class Shelf:
    """A recording while its cassette is open: what it held at first, how far it has been read, and what is new."""

    __slots__ = ("asked", "at_first", "news", "row", "secrets", "served")

    def __init__(self, asked: Asked, secrets: tuple[str, ...] = (), at_first: Sequence[Kept] = ()) -> None:
        self.asked = asked
        self.at_first = list(at_first)
        self.secrets = secrets
        self.served = 0
        self.news = 0
        self.row: Row | None = None

    def next(self) -> Kept | None:
        """The next answer; None when all of them were given."""
        if self.served >= len(self.at_first):
            return None
        self.served += 1
        return self.at_first[self.served - 1]

    def following(self, digest: str, *, anew: bool) -> tuple[Row, tuple[str, ...]]:
        """What the answer with this digest comes after, and what it replaces."""
        if self.row is None:
            self.row = Row() if anew else Row.of(self.at_first)
        after, self.row = self.row, self.row.then(digest)
        replaced = tuple(old.digest for old in self.at_first) if anew and not self.news else ()
        self.news += 1
        return after, replaced


class Shelves(dict[str, Shelf]):
    """The shelves of a cassette, by the keys of their calls."""

    def __init__(self, recordings: Mapping[str, Recording] | None = None) -> None:
        super().__init__(
            (key, Shelf(recording.asked, recording.secrets, recording.answers))
            for key, recording in (recordings or {}).items()
        )
        self._unsorted = [shelf for shelf in self.values() if shelf.secrets]
        # Those with secrets, by what stands before the first one: of ten thousand only few begin like a call.
        self._by_start: dict[tuple[Any, ...], list[tuple[Form, Shelf]]] = {}
        self._lengths: set[int] = set()

    def find(self, asked: Asked, raw: Asked, secrets: tuple[str, ...], *, anew: bool) -> Shelf:
        """The shelf of a call, a new one when there is none.

        What is a secret on this machine may be none where the call was recorded, and the other way round.

        Parameters
        ----------
        asked, raw
            The call without the secrets of this machine, and as it is.
        secrets
            The places where they were taken out.
        anew
            Whether it is recorded anew: not under what is a secret here.
        """
        key = key_of(asked)
        shelf = self.get(key)
        if shelf is None and secrets and not anew:
            shelf = self.get(key_of(raw))
        if shelf is None:
            shelf = self._fitting(raw)
        if shelf is None and secrets:
            shelf = self._fitting(asked)
        if shelf is None:
            shelf = self[key] = Shelf(asked, secrets)
            if secrets:
                self._unsorted.append(shelf)
        return shelf

    def _fitting(self, asked: Asked) -> Shelf | None:
        """The shelf of a call that has other secrets, or none, in the places of those that were taken out."""
        for shelf in self._unsorted:
            form = Form(shelf.asked)
            self._by_start.setdefault(form.start(), []).append((form, shelf))
            self._lengths.add(form.length)
        self._unsorted.clear()
        if not self._lengths:
            return None
        form = Form(asked)
        for length in sorted(self._lengths, reverse=True):
            for other, shelf in self._by_start.get(form.start(length), ()):
                if other.fits(form):
                    return shelf
        return None
