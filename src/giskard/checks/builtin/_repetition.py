"""How much of a text repeats what was said before, counted in time that grows with its length."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import eq
from typing import Final, NamedTuple

from giskard.checks.builtin._words import words_of
from giskard.checks.utils.normalization import NormalizationForm

__all__ = ["MOST_WORDS", "SHORTEST_SENTENCE", "Repetition", "TooManyWords", "longest_run", "repetition_in"]

SHORTEST_SENTENCE: Final = 3
"""How many words a sentence has that may not come again: "yes, please" may."""

MOST_WORDS: Final = 1_000_000
"""How many words a text may have: it takes some seconds."""

# How many words are looked at for the unit of a run.
_LONGEST_UNIT: Final = 50
# After ASCII marks a space follows; after those of Chinese and Japanese, none.
_SENTENCE_END: Final = re.compile(r"[.!?\u2026]+(?=\s|$)|[\u3002\uff01\uff1f\uff61]+|\n+")


class TooManyWords(ValueError):
    """A text has more words than `MOST_WORDS`; the message says how many."""


class Repetition(NamedTuple):
    """What of a text was said before in it."""

    words: int
    """How many words the text has."""
    repeated: int
    """How many of them stand in a passage that came before."""
    example: str | None
    """The first such passage; None when there is none."""

    @property
    def share(self) -> float:
        """The share of the words, from 0 to 1."""
        return self.repeated / self.words if self.words else 0.0


def repetition_in(text: str, passage_words: int, form: NormalizationForm | None = "NFKC") -> Repetition:
    """How many words of a text stand in passages that came before in it.

    A passage is a sentence of at least three words, or `passage_words` words in a row.

    Raises
    ------
    TooManyWords
        When it would take long.

    Examples
    --------
    >>> repetition_in("I can help. I can help. What is it?", 8)
    Repetition(words=9, repeated=3, example='i can help')
    """
    sentences = [words_of(sentence, normalization_form=form) for sentence in _sentences(text)]
    words = [word for sentence in sentences for word in sentence]
    if len(words) > MOST_WORDS:
        raise TooManyWords(f"{len(words):,} words are too many, at most {MOST_WORDS:,} are looked at")
    numbers: dict[str, int] = {}
    tokens = [numbers.setdefault(word, len(numbers)) for word in words]
    covered = bytearray(len(tokens))
    first = len(tokens), 0
    for start, size in (*_repeated_sentences(sentences), *_repeated_windows(tokens, passage_words)):
        first = min(first, (start, size))
        covered[start : start + size] = b"\1" * size
    start, size = first
    return Repetition(len(tokens), sum(covered), " ".join(words[start : start + size]) if size else None)


def _sentences(text: str) -> Iterator[str]:
    return (sentence for sentence in _SENTENCE_END.split(text) if sentence)


def _repeated_sentences(sentences: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Where sentences start that came before, and how many words they have."""
    seen: set[tuple[str, ...]] = set()
    start = 0
    for sentence in sentences:
        if len(sentence) >= SHORTEST_SENTENCE:
            if (key := tuple(sentence)) in seen:
                yield start, len(sentence)
            seen.add(key)
        start += len(sentence)


def _repeated_windows(tokens: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """Where `size` words in a row start that came before."""
    seen: set[int] = set()
    for start, number in enumerate(_windows(tokens, size)):
        if number in seen:
            yield start, size
        seen.add(number)


def _windows(tokens: Sequence[int], size: int) -> Sequence[int]:
    """A number for each `size` words in a row; equal ones have equal numbers.

    The numbers of longer windows are made of pairs of shorter ones, which may overlap.
    """
    numbers, length = tokens, 1
    while length < size:
        step = min(length, size - length)
        known: dict[tuple[int, int], int] = {}
        numbers = [known.setdefault(pair, len(known)) for pair in zip(numbers, numbers[step:], strict=False)]
        length += step
    return numbers


def longest_run(text: str, form: NormalizationForm | None = "NFKC") -> tuple[int, str]:
    """How many times the same words stand directly after one another, and these words; up to 50 of them.

    Examples
    --------
    >>> longest_run("Yes. I can help. I can help. I can help!")
    (3, 'i can help')
    """
    words = words_of(text, normalization_form=form)
    best, found = min(len(words), 1), " ".join(words[:1])
    for size in range(1, min(_LONGEST_UNIT, len(words) // 2) + 1):
        same = bytes(map(eq, words[size:], words))
        length = max(map(len, same.split(b"\0")))
        if length // size + 1 > best:
            best = length // size + 1
            start = same.find(b"\1" * length)
            found = " ".join(words[start : start + size])
    return best, found
