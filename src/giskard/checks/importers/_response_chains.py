"""Responses that follow each other: in chains by the ids of responses, or in a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from giskard.checks.importers._exchanges import Exchange
from giskard.checks.importers.base import Record

__all__ = ["Chains", "Link"]

# So many chains may be unfinished at once; of more, the oldest is taken to be over.
_MOST_OPEN = 1000


@dataclass(slots=True, eq=False)
class Link:
    """An exchange, its record, and what tells which others it belongs to.

    Parameters
    ----------
    response
        The id of its response.
    previous
        The id of the response that it follows.
    conversation
        The id of the conversation that it is kept in.
    """

    exchange: Exchange
    record: Record
    response: str | None
    previous: str | None
    conversation: str | None


class Chains:
    """Collects links, and hands out chains of them."""

    def __init__(self) -> None:
        self._open: dict[int, list[Link]] = {}  # by the identity of the list, the oldest first
        self._places: dict[str, tuple[list[Link], Link]] = {}  # by the id of the response
        self._talks: dict[str, list[Link]] = {}
        self._headless: dict[str, list[list[Link]]] = {}  # by the id of the response that comes before them

    def add(self, link: Link) -> list[list[Link]]:
        """Take a link; what is over because of it is handed out."""
        if link.response is None and link.conversation is None:
            return [[link]]
        before = self._places.get(link.previous or "")
        if before is not None:
            chain, latest = before
            if chain[-1] is latest:
                chain.append(link)
            else:  # another one has followed already: from here on there are two
                chain = self._begin([*chain[: chain.index(latest) + 1], link])
        elif link.conversation is not None and link.conversation in self._talks:
            chain = self._talks[link.conversation]
            chain.append(link)
        elif (link.response or "") in self._headless:  # the file begins with the latest
            followers = self._headless.pop(link.response or "")
            for chain in followers:
                chain.insert(0, link)
            chain = followers[0]
            self._await(chain)
        else:
            chain = self._begin([link])
            self._await(chain)
        if link.response is not None:
            self._places.setdefault(link.response, (chain, link))
        if link.conversation is not None:
            self._talks[link.conversation] = chain
        return [self._end(next(iter(self._open.values())))] if len(self._open) > _MOST_OPEN else []

    def rest(self) -> Iterator[list[Link]]:
        """The chains that are left when there is no more link."""
        return iter(list(self._open.values()))

    def _begin(self, chain: list[Link]) -> list[Link]:
        self._open[id(chain)] = chain
        return chain

    def _await(self, chain: list[Link]) -> None:
        if chain[0].previous is not None:
            self._headless.setdefault(chain[0].previous, []).append(chain)

    def _end(self, chain: list[Link]) -> list[Link]:
        """Forget a chain that is over."""
        del self._open[id(chain)]
        for link in chain:
            if link.response is not None and self._places.get(link.response, (None,))[0] is chain:
                del self._places[link.response]
            if link.conversation is not None and self._talks.get(link.conversation) is chain:
                del self._talks[link.conversation]
        waiting = self._headless.get(chain[0].previous or "", [])
        if chain in waiting:
            waiting.remove(chain)
            if not waiting:
                del self._headless[chain[0].previous or ""]
        return chain
