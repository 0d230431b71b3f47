"""How hard an English text is to read: six formulas of the literature.

They count words, sentences, letters and syllables, so they are about style and not about sense.  Nothing is downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal, TypeAlias

from giskard.checks.builtin._syllables import count_syllables

__all__ = ["METRICS", "MetricName", "TextCounts", "count_text", "readability"]

MetricName: TypeAlias = Literal[
    "flesch_reading_ease",
    "flesch_kincaid_grade",
    "gunning_fog",
    "automated_readability_index",
    "coleman_liau_index",
    "dale_chall_readability_score",
]


@dataclass(frozen=True, slots=True)
class TextCounts:
    """What the formulas are made of."""

    sentences: int
    words: int
    characters: int
    """Letters and digits."""
    letters: int
    syllables: int
    complex_words: int
    """Words of three syllables or more, by Gunning's rules; see `_is_complex`."""
    unfamiliar_words: int
    """Words that are not on Dale and Chall's list; see `_is_familiar`."""


def readability(text: str, metric: MetricName) -> float:
    """The score of an English text.

    Parameters
    ----------
    text
        The text.
    metric
        The name of a formula.

    Returns
    -------
    float
        ``flesch_reading_ease``: the higher, the easier; 60 to 70 is plain English.  The others are school
        grades of the United States, or close to them: the lower, the easier.

    Raises
    ------
    ValueError
        When there is no word in the text.

    Examples
    --------
    >>> round(readability("The cat sat on the mat.", "flesch_reading_ease"), 1)
    116.1
    """
    counts = count_text(text)
    if not counts.words:
        raise ValueError("there is no word in the text")
    return METRICS[metric](counts)


# --- the formulas ------------------------------------------------------------------------


def _flesch_reading_ease(n: TextCounts) -> float:
    """R. Flesch: A new readability yardstick.  Journal of Applied Psychology 32 (1948), 221-233."""
    return 206.835 - 1.015 * n.words / n.sentences - 84.6 * n.syllables / n.words


def _flesch_kincaid_grade(n: TextCounts) -> float:
    """J. P. Kincaid et al.: Derivation of new readability formulas for Navy enlisted personnel.

    Research Branch Report 8-75, Naval Technical Training Command, 1975.
    """
    return 0.39 * n.words / n.sentences + 11.8 * n.syllables / n.words - 15.59


def _gunning_fog(n: TextCounts) -> float:
    """R. Gunning: The Technique of Clear Writing.  McGraw-Hill, 1952."""
    return 0.4 * (n.words / n.sentences + 100 * n.complex_words / n.words)


def _automated_readability_index(n: TextCounts) -> float:
    """R. J. Senter and E. A. Smith: Automated Readability Index.  AMRL-TR-66-220, 1967."""
    return 4.71 * n.characters / n.words + 0.5 * n.words / n.sentences - 21.43


def _coleman_liau_index(n: TextCounts) -> float:
    """M. Coleman and T. L. Liau: A computer readability formula designed for machine scoring.

    Journal of Applied Psychology 60 (1975), 283-284.
    """
    return 0.0588 * 100 * n.letters / n.words - 0.296 * 100 * n.sentences / n.words - 15.8


def _dale_chall_readability_score(n: TextCounts) -> float:
    """E. Dale and J. S. Chall: A formula for predicting readability.

    Educational Research Bulletin 27 (1948), 11-20 and 37-54; with the word list of J. S. Chall and
    E. Dale: Readability Revisited.  Brookline Books, 1995.
    """
    unfamiliar = 100 * n.unfamiliar_words / n.words
    return 0.1579 * unfamiliar + 0.0496 * n.words / n.sentences + (3.6365 if unfamiliar > 5 else 0)


METRICS: Final[dict[MetricName, Callable[[TextCounts], float]]] = {
    "flesch_reading_ease": _flesch_reading_ease,
    "flesch_kincaid_grade": _flesch_kincaid_grade,
    "gunning_fog": _gunning_fog,
    "automated_readability_index": _automated_readability_index,
    "coleman_liau_index": _coleman_liau_index,
    "dale_chall_readability_score": _dale_chall_readability_score,
}

# --- counting ----------------------------------------------------------------------------

# Letters or digits, joined by apostrophes and hyphens, or, between digits, by a point or a comma.
_WORD = re.compile(r"[^\W_]+(?:(?:['\u2019\u2010\u2011-]|(?<=\d)[.,](?=\d))[^\W_]+)*")
# The end of a sentence; an ellipsis before a small letter is none.
# Possessive, and only from the first mark of a run: the time stays linear.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+(?=\s|$)|[。！？]")  # noqa: RUF001
_NEXT = re.compile(r"\s*(\S?)")
_LINE = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•+]|\d{1,3}[.)])\s)")
_MARKER = re.compile(r"^[ \t]*(?:[-*•+>#]+|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:(?:[A-HJ-Z])|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|No|Inc|Ltd|Co|vs|etc|e\.g|i\.e|approx|Fig|Vol|pp?)$"
)
_INFLECTION = re.compile(r"'s?$")


@lru_cache(maxsize=16)
def count_text(text: str) -> TextCounts:
    """The words, sentences and so on of an English text."""
    sentences = [words for words in map(_WORD.findall, _sentences(text)) if words]
    # The first word of a sentence has its capital for another reason than being a name.
    words = [(word, place > 0 and word[0].isupper()) for words in sentences for place, word in enumerate(words)]
    joined = "".join(word for word, _ in words)
    return TextCounts(
        sentences=len(sentences),
        words=len(words),
        characters=sum(map(str.isalnum, joined)),
        letters=sum(map(str.isalpha, joined)),
        syllables=sum(count_syllables(part) for word, _ in words for part in _parts(word)),
        complex_words=sum(_is_complex(word, named) for word, named in words),
        unfamiliar_words=sum(not _is_familiar(word, named) for word, named in words),
    )


def _sentences(text: str) -> Iterator[str]:
    for block in _LINE.split(text):
        block = _MARKER.sub("", block)  # noqa: PLW2901
        start = 0
        for end in _END.finditer(block):
            found = _NEXT.match(block, end.end())
            mark, after = end[0], found[1] if found else ""
            if mark.startswith(("...", "…")) and after.islower():
                continue
            if mark == "." and after and _ABBREVIATION.search(block[max(0, end.start() - 8) : end.start()]):
                continue
            yield block[start : end.end()]
            start = end.end()
        yield block[start:]


def _parts(word: str) -> list[str]:
    """The parts of a hyphenated word."""
    return re.split("[-\u2010\u2011]", word)


def _is_complex(word: str, named: bool) -> bool:
    """Whether a word is hard for Gunning: three syllables or more.

    Not counted are names, hyphenated words of easy parts, and verbs that have their third syllable from
    -ed, -es or -ing.
    """
    if named:
        return False
    for part in _parts(word):
        stem = re.sub("(?:ed|es|ing)$", "", part.lower())
        if count_syllables(part) >= 3 and count_syllables(stem) >= 3:
            return True
    return False


def _is_familiar(word: str, named: bool) -> bool:
    """Whether a word is easy for Dale and Chall: on their list, or a regular form of a word on it.

    Regular forms are plurals and possessives, -s -ed -ing of verbs, and -er -est of adjectives.  Numbers and names are
    familiar too, and hyphenated words of familiar parts.
    """
    if named or word[0].isdigit():
        return True
    easy = _easy_words()
    plain = word.lower().replace("\u2019", "'")
    if plain in easy or _INFLECTION.sub("", plain) in easy:
        return True
    parts = _parts(plain)
    if len(parts) > 1:
        return all(_is_familiar(part, False) for part in parts if part)
    return any(stem in easy for stem in _stems(plain))


def _stems(word: str) -> Iterator[str]:
    """What `word` may be a regular form of: stopped → stop, making → make, cities → city."""
    for ending in ("s", "es", "ed", "d", "ing", "er", "r", "est", "st"):
        if not word.endswith(ending) or len(word) - len(ending) < 2:
            continue
        stem = word[: -len(ending)]
        yield stem
        if ending in ("ing",):
            yield stem + "e"
        if ending in ("es", "ed", "er", "est") and stem.endswith("i"):
            yield stem[:-1] + "y"
        if ending in ("ed", "ing", "er", "est") and stem[-1] == stem[-2:-1]:
            yield stem[:-1]


@lru_cache(maxsize=1)
def _easy_words() -> frozenset[str]:
    text = files("giskard.checks.builtin").joinpath("_dale_chall.txt").read_text(encoding="utf-8")
    return frozenset(line.rstrip(".") for line in text.splitlines() if line and not line.startswith("#"))
