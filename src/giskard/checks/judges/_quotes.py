"""Whether what a judge quotes is there: code looks, so that no verdict rests on words that were made up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from giskard.checks.llm.fences import readable
from giskard.checks.utils.normalization import fold_string

__all__ = ["Sources"]

# Marks that a model writes in its own way when it quotes.
_MARKS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        "\u00ad": None,
    }
)
_LEFT_OUT = re.compile(r"\[?(?:\.{3}|…)\]?")
_ENDS = " \t\n\"'.,;:"
_MOST = 10_000
_MOST_PIECES = 50


class Sources:
    r"""Texts that quotes are looked up in, whatever their letter case, white space and quotation marks.

    Parameters
    ----------
    value
        A text, or data with texts in it.

    Examples
    --------
    >>> sources = Sources(["The fee is 3 EUR\nper month.", "It can be cancelled."])
    >>> sources.have('"the fee is 3 EUR per month"'), sources.have("The fee … can be cancelled")
    (True, True)
    >>> sources.have("The fee is 30 EUR"), sources.have("…"), sources.have(None)
    (False, False, False)
    """

    def __init__(self, value: Any) -> None:
        # As the judge is shown it, and the texts in it by themselves, without the escapes of JSON.
        self._texts = [_folded(text) for text in (readable(value), *_texts(value, _MOST))]

    def have(self, quote: str | None) -> bool:
        """Whether a quote occurs; where it leaves words out (``…``), whether each of its pieces does."""
        if quote is None:
            return False
        pieces = [_folded(piece).strip(_ENDS) for piece in _LEFT_OUT.split(quote)]
        pieces = [piece for piece in pieces if any(map(str.isalnum, piece))]
        return 0 < len(pieces) <= _MOST_PIECES and all(map(self._has, pieces))

    def _has(self, piece: str) -> bool:
        return any(_stands_in(piece, text) for text in self._texts)


def _stands_in(piece: str, text: str) -> bool:
    """Whether `piece` stands in `text`, and not as a part of longer words: "fee 3" is not in "fee 30".

    Scripts without spaces have no such borders.
    """
    place = text.find(piece)
    while place >= 0:
        end = place + len(piece)
        goes_on = _in_a_word(text[place - 1 : place] + piece[0]) or _in_a_word(piece[-1] + text[end : end + 1])
        if not goes_on:
            return True
        place = text.find(piece, place + 1)
    return False


def _in_a_word(two: str) -> bool:
    return len(two) == 2 and two.isascii() and two.isalnum()


def _folded(text: str) -> str:
    return fold_string(text, "NFKC").translate(_MARKS)


def _texts(value: Any, most: int) -> Iterator[str]:
    """The texts in lists and mappings; `most` values are looked at, so that a reference to itself is no trap."""
    waiting = [value]
    while waiting and most:
        most -= 1
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting += cast("Mapping[Any, Any]", item).values()
        elif isinstance(item, (list, tuple)):
            waiting += cast("list[Any]", item)
