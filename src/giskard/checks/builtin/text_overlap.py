"""Checks of how much a text has in common with a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Generic, Literal, NoReturn, Self

from pydantic import AfterValidator, Field, model_validator

from giskard.checks.builtin._overlap import (
    LONGEST_BLEU,
    BleuTokens,
    Overlap,
    RougeVariant,
    TooLong,
    bleu,
    edit_distance,
    rouge,
)
from giskard.checks.builtin._shown import shown
from giskard.checks.builtin._texts import TextCheck, exactly_one, text_at, texts_at
from giskard.checks.builtin._words import words_of
from giskard.checks.core.check import Check, JSONPathStr, NoVerdict
from giskard.checks.core.check_result import CheckStatus, Metric, Verdict
from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.normalization import NormalizationForm, fold_string, normalize_string

__all__ = ["Bleu", "EditDistance", "Rouge"]

_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Score = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


def _not_blank(given: str | Sequence[str] | None) -> Any:
    texts = [] if given is None else [given] if isinstance(given, str) else given
    if given is not None and not texts:
        raise ValueError("the list is empty: give at least one text")
    for text in texts:
        if not text.strip():
            raise ValueError(f"one of the texts is {text!r}: there is nothing in it to compare with")
    return given


def _nothing_to_measure(what: str, text: str, details: dict[str, Any]) -> NoReturn:
    raise NoVerdict(f"nothing can be measured: {what}: {shown(text)}", kind="missing_value", details=details)


def _number(score: float, bound: float) -> str:
    """A score with enough digits that it is not shown as the bound which it does not reach."""
    return f"{score:.2f}" if score >= bound or round(score, 2) < bound else f"{score:.6f}"


@Check.register("edit_distance")
class EditDistance(TextCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a text is an expected one but for a few edits.

    Parameters
    ----------
    expected_text, expected_text_key
        What the text should be: a text, or the path of one in the trace; exactly one of them.
    max_distance
        How many characters, or words, may at most be inserted, deleted or replaced.
    min_similarity
        The similarity that is enough, itself included: 1 less the distance as a share of the longer of the two texts.
        Give this, `max_distance`, or both.
    unit
        What is counted: ``"characters"``, or ``"words"`` (punctuation does not count then).
    text, target_key
        The text that is checked: a literal one, else what stands at this path.
    case_sensitive
        Whether ``Fee`` and ``fee`` differ.
    normalization_form
        Both texts are brought to this Unicode normal form, their white space collapsed and trimmed; None compares them
        as they are.

    Notes
    -----
    The metrics are ``edit_distance`` and ``edit_similarity``.  Of texts beyond some 50,000 characters each, a distance
    that is too large is only said to be larger than the bound, and two that would take seconds are an ERROR.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import EditDistance, Interaction, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Code?", outputs="AB-1017")])
    >>> asyncio.run(EditDistance(expected_text="AB-0107", max_distance=1).run(trace)).message
    "the edit distance to 'AB-0107' is 2 characters, at most 1 was expected (the similarity is 0.71): 'AB-1017'"
    """

    expected_text: Annotated[str | None, AfterValidator(_not_blank)] = None
    expected_text_key: JSONPathStr | None = None
    max_distance: Annotated[int, Field(strict=True, ge=0)] | None = None
    min_similarity: _Score | None = None
    unit: Literal["characters", "words"] = "characters"
    case_sensitive: bool = True
    normalization_form: NormalizationForm | None = "NFKC"

    @model_validator(mode="after")
    def _demands(self) -> Self:
        exactly_one("expected_text", self.expected_text, self.expected_text_key)
        if self.max_distance is None and self.min_similarity is None:
            raise ValueError("every text passes; give max_distance, min_similarity, or both")
        if self.expected_text is not None and not self._items(self.expected_text):
            raise ValueError(f"expected_text {self.expected_text!r} has no words")
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the texts are close enough, else FAIL."""
        text = self.subject(trace)
        expected = self.expected_text
        if expected is None:
            expected = text_at(trace, self.expected_text_key or "", "expected_text_key")
        details: dict[str, Any] = {"text": text, "expected_text": expected}
        ours, theirs = self._items(text), self._items(expected)
        if not theirs:
            _nothing_to_measure(f"the expected text has no {self.unit}", expected, details)
        longest = max(len(ours), len(theirs))
        bounds = [] if self.max_distance is None else [self.max_distance]
        if self.min_similarity is not None:
            bounds.append(int((1 - self.min_similarity) * longest) + 1)  # one too many rather than one too few
        try:
            distance = edit_distance(ours, theirs, min(bounds))
        except TooLong as error:
            raise NoVerdict(f"{error}: the texts have so many {self.unit}", kind="bad_type", details=details) from error
        if distance is None:
            details["distance"] = f"more than {min(bounds)}"
            message = f"the edit distance to {shown(expected)} is more than {self._counted(min(bounds))}: {shown(text)}"
            return Verdict(CheckStatus.FAIL, message, details)
        return self._judged(distance, (longest - distance) / longest, text, details)

    def _judged(self, distance: int, similarity: float, text: str, details: dict[str, Any]) -> Verdict:
        details |= {"distance": distance, "similarity": similarity}
        metrics = [Metric(name="edit_distance", value=distance), Metric(name="edit_similarity", value=similarity)]
        expected, most, least = shown(details["expected_text"]), self.max_distance, self.min_similarity
        message = f"the edit distance to {expected} is {self._counted(distance)}"
        passed = True
        if most is not None and distance > most:
            passed = False
            message += f", at most {most:,} {'was' if most == 1 else 'were'} expected"
        number = f"{similarity:.2f}" if least is None else _number(similarity, least)
        message += f" (the similarity is {number}"
        if least is not None and similarity < least:
            passed = False
            message += f", at least {least:g} was expected"
        if passed:
            return Verdict(CheckStatus.PASS, f"{message})", details, metrics)
        return Verdict(CheckStatus.FAIL, f"{message}): {shown(text)}", details, metrics)

    def _counted(self, number: int) -> str:
        return f"{number:,} {self.unit[:-1] if number == 1 else self.unit}"

    def _items(self, text: str) -> Sequence[str]:
        if self.unit == "words":
            return words_of(text, case_sensitive=self.case_sensitive, normalization_form=self.normalization_form)
        return (normalize_string if self.case_sensitive else fold_string)(text, self.normalization_form)


class _AgainstReferences(TextCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    reference_text: Annotated[str | list[str] | None, AfterValidator(_not_blank)] = None
    reference_text_key: JSONPathStr | None = None
    min_score: _Score
    case_sensitive: bool = False
    normalization_form: NormalizationForm | None = "NFKC"

    @model_validator(mode="after")
    def _one_reference(self) -> Self:
        exactly_one("reference_text", self.reference_text, self.reference_text_key)
        return self

    def _references(self, trace: Any) -> list[str]:
        given = self.reference_text
        if given is None:
            return texts_at(trace, self.reference_text_key or "", "reference_text_key")
        return [given] if isinstance(given, str) else given


@Check.register("rouge")
class Rouge(_AgainstReferences[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a text shares enough words with a reference, by ROUGE.

    Parameters
    ----------
    reference_text, reference_text_key
        The reference: a text, or several of which the closest counts; or the path of either in the trace; exactly one
        of the two.
    min_score
        The score that is enough, itself included, from 0 to 1.
    variant
        What is counted: words (``"rouge1"``), pairs of words (``"rouge2"``), or the longest sequence of words that
        both have in this order (``"rougeL"``).
    measure
        Which share of it: ``"recall"`` (how much of the reference is in the text), ``"precision"`` (how much of the
        text is in the reference), or ``"f_measure"``, the harmonic mean of the two.
    text, target_key
        The text that is checked: a literal one, else what stands at this path.
    case_sensitive
        Whether ``Fee`` and ``fee`` differ.
    normalization_form
        The Unicode normal form in which words are compared; None compares them as they are.

    Notes
    -----
    The formulas are those of Lin, C.-Y. (2004): ROUGE, a package for automatic evaluation of summaries, with beta = 1.
    Words are those of `WordCount`, so that Chinese and Japanese are compared letter by letter; they are not stemmed.

    The metrics are the three shares, such as ``rougeL_f_measure``.  It counts words and knows nothing of what they
    mean: a negation costs one word.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, Rouge, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Fee?", outputs="The account is free of charge.")])
    >>> check = Rouge(reference_text="There is no charge for the account.", min_score=0.5)
    >>> asyncio.run(check.run(trace)).message
    'rougeL f-measure is 0.31 (precision 0.33, recall 0.29), at least 0.5 was expected'
    """

    variant: RougeVariant = "rougeL"
    measure: Literal["f_measure", "recall", "precision"] = "f_measure"

    @model_validator(mode="after")
    def _words_to_compare(self) -> Self:
        given = self.reference_text
        for reference in [] if given is None else [given] if isinstance(given, str) else given:
            if len(self._words(reference)) < self._fewest:
                raise ValueError(f"the reference {shown(reference)} has {self._too_few}")
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the score reaches the minimum, else FAIL."""
        text = self.subject(trace)
        references = self._references(trace)
        details: dict[str, Any] = {"text": text, "reference_text": references if len(references) > 1 else references[0]}
        words = self._words(text)
        if not words:
            _nothing_to_measure("the text has no words", text, details)
        try:
            scores = [self._score(words, reference, details) for reference in references]
        except TooLong as error:
            raise NoVerdict(str(error), kind="bad_type", details=details) from error
        closest = max(range(len(scores)), key=lambda place: getattr(scores[place], self.measure))
        found, score = scores[closest], float(getattr(scores[closest], self.measure))
        details |= {"score": score, "min_score": self.min_score, "closest": references[closest], **found._asdict()}
        metrics = [Metric(name=f"{self.variant}_{name}", value=value) for name, value in found._asdict().items()]
        others = {"f_measure": ("precision", "recall"), "recall": ("precision",), "precision": ("recall",)}
        rest = ", ".join(f"{name} {getattr(found, name):.2f}" for name in others[self.measure])
        named = self.measure.replace("_", "-")
        message = f"{self.variant} {named} is {_number(score, self.min_score)} ({rest})"
        message += f", at least {self.min_score:g} was expected"
        passed = CheckStatus.PASS if score >= self.min_score else CheckStatus.FAIL
        return Verdict(passed, message, details, metrics)

    def _score(self, words: list[str], reference: str, details: dict[str, Any]) -> Overlap:
        theirs = self._words(reference)
        if len(theirs) < self._fewest:
            _nothing_to_measure(f"the reference has {self._too_few}", reference, details)
        return rouge(words, theirs, self.variant)

    def _words(self, text: str) -> list[str]:
        return words_of(text, case_sensitive=self.case_sensitive, normalization_form=self.normalization_form)

    @property
    def _fewest(self) -> int:
        return 2 if self.variant == "rouge2" else 1

    @property
    def _too_few(self) -> str:
        return "no pair of words" if self.variant == "rouge2" else "no words"


@Check.register("bleu")
class Bleu(_AgainstReferences[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a text shares enough runs of up to four words with a reference, by BLEU; needs the extra ``bleu``.

    Parameters
    ----------
    reference_text, reference_text_key
        The reference: a text, or several, of which each run of words may come from another; or the path of either in
        the trace; exactly one of the two.
    min_score
        The score that is enough, itself included, from 0 to 1.  Papers print it times 100.
    tokenize
        How texts are split: as sacrebleu does (``"13a"``), ``"intl"``, ``"zh"`` for Chinese, ``"char"`` for other
        texts without spaces between words, or at white space only (``"none"``).
    text, target_key
        The text that is checked: a literal one, else what stands at this path.
    case_sensitive
        Whether ``Fee`` and ``fee`` differ.
    normalization_form
        The Unicode normal form in which texts are compared; None compares them as they are.

    Notes
    -----
    sacrebleu computes it, for one sentence (Papineni et al. 2002, with exponential smoothing); its signature is in
    ``details["signature"]``, and the metric is ``bleu``.  Nothing is downloaded.  BLEU was made for whole corpora: of a
    single short answer it says little, `Rouge` is often the better choice.
    """

    tokenize: BleuTokens = "13a"

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the score reaches the minimum, else FAIL."""
        text = self.not_empty(trace, "has nothing to compare")
        references = self._references(trace)
        details: dict[str, Any] = {"text": text, "reference_text": references if len(references) > 1 else references[0]}
        longest = max(map(len, (text, *references)))
        if longest > LONGEST_BLEU:
            message = f"a text of {longest:,} characters is too long for BLEU: at most {LONGEST_BLEU:,}"
            raise NoVerdict(message, kind="bad_type", details=details)
        form = self.normalization_form
        try:
            score, signature = bleu(
                normalize_string(text, form),
                [normalize_string(reference, form) for reference in references],
                case_sensitive=self.case_sensitive,
                tokens=self.tokenize,
            )
        except MissingExtraError as error:
            raise NoVerdict(f"Bleu {self.label!r}: {error}", kind="config", details=details) from error
        details |= {"score": score, "min_score": self.min_score, "signature": signature}
        message = f"BLEU is {_number(score, self.min_score)}, at least {self.min_score:g} was expected"
        passed = CheckStatus.PASS if score >= self.min_score else CheckStatus.FAIL
        return Verdict(passed, message, details, [Metric(name="bleu", value=score)])
