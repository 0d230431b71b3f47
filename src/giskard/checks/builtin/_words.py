r"""The words of a text, in any script.

They are those of Unicode's default word boundaries (UAX #29), simplified:

- A word is a run of letters, marks, digits and ``_``.  An apostrophe or a full stop within it belongs to it, and so
  does a comma between digits: "don't", "example.com" and "1,000.50" are one word each.  A hyphen divides.
- Chinese, Japanese, Thai, Lao, Khmer, Burmese and Tibetan put no spaces between words.  There each letter, with the
  marks on it, counts as a word.
- Emoji, punctuation and symbols are no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import regex

from giskard.checks.utils.normalization import NormalizationForm, fold_string, normalize_string

__all__ = ["count_letters", "count_words", "words_of"]

# The long vowel of Japanese belongs to no script of its own.
_UNSPACED: Final = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\u30fc\uff70"
    r"\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}"
)
# Soft hyphens, joiners and a byte order mark: not to be seen, and within words in Persian or after a copy and paste.
_HIDDEN: Final = re.compile("[\u00ad\u200c\u200d\u2060\ufeff]+")

_FIRST: Final = rf"[[\p{{L}}\p{{N}}_]--[{_UNSPACED}]]"
_LETTER: Final = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{_UNSPACED}]]"
_WORD: Final = regex.compile(
    rf"[[{_UNSPACED}]&&[\p{{L}}\p{{N}}]]\p{{M}}*+"
    rf"|{_FIRST}{_LETTER}*+(?:(?:['\u2019\uff07.\uff0e]|(?<=\p{{Nd}})[,\uff0c](?=\p{{Nd}})){_LETTER}++)*+",
    regex.V1,
)
# A syllable of Korean is a letter for Unicode.
_DENSE: Final = regex.compile(rf"[[{_UNSPACED}\p{{Script=Hangul}}]&&\p{{L}}]", regex.V1)
# The same for ASCII, several times as fast.
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9_]+(?:(?:['.]|(?<=[0-9]),(?=[0-9]))[A-Za-z0-9_]+)*")


def words_of(
    text: str, *, case_sensitive: bool = False, normalization_form: NormalizationForm | None = "NFKC"
) -> list[str]:
    """The words of a text, in one spelling, so that equal ones are the same to a reader.

    Examples
    --------
    >>> words_of("Don't pay 1,000 EUR: it's FREE.")
    ["don't", 'pay', '1,000', 'eur', "it's", 'free']
    >>> words_of("天气 is fine")
    ['天', '气', 'is', 'fine']
    """
    spelt = (normalize_string if case_sensitive else fold_string)(text, normalization_form)
    if spelt.isascii():
        return _ASCII_WORD.findall(spelt)
    return _WORD.findall(_HIDDEN.sub("", spelt).replace("\u2019", "'"))


def count_words(text: str) -> int:
    """How many words a text has.

    Examples
    --------
    >>> count_words("It is free, isn't it?"), count_words("天气很好"), count_words("👍")
    (5, 4, 0)
    """
    ascii_only = text.isascii()
    found: Iterator[object] = _ASCII_WORD.finditer(text) if ascii_only else _WORD.finditer(_HIDDEN.sub("", text))
    return sum(1 for _ in found)


def count_letters(text: str) -> int:
    """How many letters a text has; one of Korean, or of a script without spaces, counts as three: it says as much.

    Examples
    --------
    >>> count_letters("room 12"), count_letters("天气")
    (4, 6)
    """
    letters = sum(map(str.isalpha, text))
    return letters if text.isascii() else letters + 2 * len(_DENSE.findall(text))
