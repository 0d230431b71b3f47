"""How much two texts have in common, counted: edits, shared n-grams, the longest common subsequence, BLEU."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.utils.json_safe import utf8

__all__ = ["LONGEST_BLEU", "BleuTokens", "Overlap", "RougeVariant", "TooLong", "bleu", "edit_distance", "rouge"]

RougeVariant: TypeAlias = Literal["rouge1", "rouge2", "rougeL"]
BleuTokens: TypeAlias = Literal["13a", "intl", "zh", "char", "none"]
"""The tokenizers of sacrebleu that download nothing."""

# Two texts of 50,000 characters, or words, each: half a second.
_MOST_PAIRS: Final = 2_500_000_000
LONGEST_BLEU: Final = 1_000_000
"""How many characters a text may have for `bleu`: it takes some seconds."""


class TooLong(ValueError):
    """Two texts are too long to be compared in bounded time; the message gives their lengths."""


# --- edits -------------------------------------------------------------------------------


def edit_distance(one: Sequence[str], other: Sequence[str], most: int | None = None) -> int | None:
    """How many items are to be inserted, deleted or replaced to make two sequences equal (Levenshtein 1965).

    Parameters
    ----------
    one, other
        Two texts, or two lists of words.
    most
        Larger distances need not be known exactly.

    Returns
    -------
    int | None
        The distance; None when all that is known of it is that it is larger than `most`.

    Raises
    ------
    TooLong
        When it would take more than about a second.

    Examples
    --------
    >>> edit_distance("kitten", "sitting")
    3
    """
    if not isinstance(one, str) or not isinstance(other, str):
        one, other = _numbered(one, other)
    if one == other:
        return 0
    exact = len(one) * len(other) <= _MOST_PAIRS
    # Within a band of that width around the diagonal.
    if not exact and (most is None or (2 * most + 1) * max(len(one), len(other)) > _MOST_PAIRS):
        raise TooLong(f"{len(one):,} and {len(other):,} are too many to be compared")
    distance = _rapidfuzz().Levenshtein.distance(one, other, score_cutoff=None if exact else most)
    return None if not exact and most is not None and distance > most else int(distance)


def _numbered(*rows: Sequence[str]) -> tuple[Any, ...]:
    """The rows with a number for each word: the library compares words by their hashes, which may collide."""
    numbers: dict[str, int] = {}
    return tuple([numbers.setdefault(word, len(numbers)) for word in row] for row in rows)


# --- ROUGE -------------------------------------------------------------------------------


class Overlap(NamedTuple):
    """Three shares, each from 0 to 1."""

    precision: float
    """Of the text that is judged, how much is in the reference."""
    recall: float
    """Of the reference, how much is in the text."""
    f_measure: float
    """The harmonic mean of the two."""


def rouge(words: Sequence[str], reference: Sequence[str], variant: RougeVariant) -> Overlap:
    """ROUGE-1, ROUGE-2 or ROUGE-L of two lists of words.

    ROUGE-N counts the n-grams that both have, each as often as in the one that has it less often; ROUGE-L the longest
    common subsequence, of each text as one sequence.  Precision and recall are that count divided by all n-grams, or
    words, of the text and of the reference; the F-measure weighs both alike.  Lin, C.-Y. (2004): ROUGE, a package for
    automatic evaluation of summaries.

    Raises
    ------
    TooLong
        As `edit_distance`, for ROUGE-L.

    Examples
    --------
    >>> rouge("the gunman killed police".split(), "police killed the gunman".split(), "rougeL")
    Overlap(precision=0.5, recall=0.5, f_measure=0.5)
    """
    if variant == "rougeL":
        if len(words) * len(reference) > _MOST_PAIRS:
            raise TooLong(f"{len(words):,} and {len(reference):,} words are too many for rougeL")
        common = int(_rapidfuzz().LCSseq.similarity(*_numbered(words, reference)))
        return _overlap(common, len(words), len(reference))
    size = 1 if variant == "rouge1" else 2
    ours, theirs = Counter(_ngrams(words, size)), Counter(_ngrams(reference, size))
    return _overlap((ours & theirs).total(), ours.total(), theirs.total())


def _ngrams(words: Sequence[str], size: int) -> Iterable[object]:
    return words if size == 1 else pairwise(words)


def _overlap(common: int, ours: int, theirs: int) -> Overlap:
    if not common:
        return Overlap(0.0, 0.0, 0.0)
    # 2PR / (P + R), without the rounding of two divisions.
    return Overlap(common / ours, common / theirs, 2 * common / (ours + theirs))


# --- BLEU --------------------------------------------------------------------------------


def bleu(text: str, references: Sequence[str], *, case_sensitive: bool, tokens: BleuTokens) -> tuple[float, str]:
    """The BLEU of one text, from 0 to 1 and rounded to six decimals, and the signature that says how it was computed.

    It is sacrebleu's score of a sentence: up to four words in a row, fewer when the text is shorter, with exponential
    smoothing of counts that are 0.  Papineni et al. (2002); Post (2018).

    Raises
    ------
    MissingExtraError
        When the extra ``bleu`` is not installed.
    """
    metric = _bleu_metric(case_sensitive, tokens)
    try:
        score = metric.sentence_score(utf8(text), [utf8(reference) for reference in references]).score
    finally:
        _forget(metric.tokenizer)
    return round(score / 100, 6), str(metric.get_signature())


@functools.cache
def _bleu_metric(case_sensitive: bool, tokens: BleuTokens) -> Any:
    return _sacrebleu().BLEU(lowercase=not case_sensitive, tokenize=tokens, effective_order=True, force=True)


def _forget(tokenizer: Any) -> None:
    """Empty the library's memory of the texts that it has split: it would keep 65,536 of them."""
    parts: list[Any] = [tokenizer, *cast("dict[str, Any]", vars(tokenizer)).values()]  # some are made of others
    for part in parts:
        remembers = vars(cast("type[Any]", type(part))).get("__call__")
        if hasattr(remembers, "cache_clear"):
            cast("Any", remembers).cache_clear()


# --- the libraries: opened by the first text, never by an import --------------------------


def _rapidfuzz() -> Any:
    import rapidfuzz.distance  # noqa: PLC0415

    return cast("Any", rapidfuzz.distance)


def _sacrebleu() -> Any:
    try:
        import sacrebleu.metrics.bleu  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("sacrebleu", "bleu") from None
    return cast("Any", sacrebleu.metrics.bleu)
