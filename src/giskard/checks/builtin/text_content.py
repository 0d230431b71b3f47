"""Checks of what a text holds: some words, all of them, how it begins, how long it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Generic, Self

from pydantic import AfterValidator, Field, model_validator

from giskard.checks.builtin._shown import shown
from giskard.checks.builtin._texts import TextCheck, exactly_one, listed, texts_at
from giskard.checks.builtin._words import count_words
from giskard.checks.core.check import Check, JSONPathStr
from giskard.checks.core.check_result import CheckStatus, Metric, Verdict
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.normalization import NormalizationForm, fold_string, normalize_string

__all__ = ["ContainsAll", "ContainsAny", "StartsWith", "WordCount"]


def _some_words(given: str | Sequence[str] | None) -> Any:
    texts = [] if given is None else [given] if isinstance(given, str) else given
    if given is not None and not texts:
        raise ValueError("the list is empty: give at least one text")
    for text in texts:
        if not text.strip():
            raise ValueError(f"one of the texts is {text!r}, which stands in every text; give words")
    return given


class _LetterCheck(TextCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    case_sensitive: bool = True
    normalization_form: NormalizationForm | None = "NFKC"

    def _spelt(self, text: str) -> str:
        """`text` in the spelling in which texts are compared."""
        return (normalize_string if self.case_sensitive else fold_string)(text, self.normalization_form)

    @property
    def _how(self) -> str:
        return "" if self.case_sensitive else ", in whatever letter case"


class _Contains(_LetterCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    values: Annotated[list[str] | None, AfterValidator(_some_words)] = None
    values_key: JSONPathStr | None = None

    _all: ClassVar[bool] = False

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        exactly_one("values", self.values, self.values_key)
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the text contains the values, else FAIL."""
        text = self.subject(trace)
        values = self.values if self.values is not None else texts_at(trace, self.values_key or "", "values_key")
        spelt = self._spelt(text)
        found = [value for value in values if self._spelt(value) in spelt]
        missing = [value for value in values if self._spelt(value) not in spelt]
        details: dict[str, Any] = {"text": text, "values": values, "found": found, "missing": missing}
        metrics = [Metric(name="keywords_found", value=len(found))]
        total = f"{len(values)} {'keyword' if len(values) == 1 else 'keywords'}"
        if found if not self._all else not missing:
            message = f"the text contains {len(found)} of {total}: {listed(found)}"
            return Verdict(CheckStatus.PASS, message, details, metrics)
        are = "is" if len(missing) == 1 else "are"
        message = f"{len(missing)} of {total} {are} missing{self._how}: {listed(missing)}; the text: {shown(text)}"
        return Verdict(CheckStatus.FAIL, message, details, metrics)


@Check.register("contains_any")
class ContainsAny(_Contains[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a text contains at least one of several texts.

    Parameters
    ----------
    values, values_key
        What to look for: a list of texts, or the path of one in the trace; exactly one of them.
    text, target_key
        Where to look: a text, else what stands at this path.
    case_sensitive
        Whether ``Fee`` and ``fee`` differ.  If not, letters are folded as Unicode has it: ``ß`` matches ``SS``.
    normalization_form
        All texts are brought to this Unicode normal form, their white space collapsed and trimmed; None compares
        them as they are.

    Notes
    -----
    The metric ``keywords_found`` is how many of them the text contains.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import ContainsAny, Interaction, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Fee?", outputs="It is free of charge.")])
    >>> asyncio.run(ContainsAny(values=["no fee", "free", "0 EUR"]).run(trace)).message
    "the text contains 1 of 3 keywords: 'free'"
    """


@Check.register("contains_all")
class ContainsAll(_Contains[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a text contains each of several texts; see `ContainsAny` for the fields.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import ContainsAll, Interaction, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Fee?", outputs="It is 3 EUR.")])
    >>> asyncio.run(ContainsAll(values=["3 EUR", "a month", "account"]).run(trace)).message
    "2 of 3 keywords are missing: 'a month', 'account'; the text: 'It is 3 EUR.'"
    """

    _all: ClassVar[bool] = True


@Check.register("starts_with")
class StartsWith(_LetterCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks how a text begins.

    Parameters
    ----------
    prefix, prefix_key
        A text, or several of which one is enough; or the path of either in the trace; exactly one of the two.
    text, target_key
        What is to begin with it: a text, else what stands at this path.
    case_sensitive, normalization_form
        As for `ContainsAny`.  White space before the text does not count, unless the form is None.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, StartsWith, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Hi", outputs="Hello Ada, how can I help?")])
    >>> asyncio.run(StartsWith(prefix=["Dear", "Good morning"]).run(trace)).message
    "the text starts with none of 'Dear', 'Good morning': 'Hello Ada, how can I help?'"
    """

    prefix: Annotated[str | list[str] | None, AfterValidator(_some_words)] = None
    prefix_key: JSONPathStr | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        exactly_one("prefix", self.prefix, self.prefix_key)
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the text starts with a prefix, else FAIL."""
        text = self.subject(trace)
        if self.prefix is None:
            prefixes = texts_at(trace, self.prefix_key or "", "prefix_key")
        else:
            prefixes = [self.prefix] if isinstance(self.prefix, str) else self.prefix
        spelt = self._spelt(text)
        found = next((prefix for prefix in prefixes if spelt.startswith(self._spelt(prefix))), None)
        details: dict[str, Any] = {"text": text, "prefixes": prefixes, "found": found}
        if found is not None:
            return Verdict(CheckStatus.PASS, f"the text starts with {shown(found)}", details)
        what = "does not start with" if len(prefixes) == 1 else "starts with none of"
        message = f"the text {what} {listed(prefixes)}{self._how}: {shown(text)}"
        return Verdict(CheckStatus.FAIL, message, details)


@Check.register("word_count")
class WordCount(TextCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks how many words a text has.

    Parameters
    ----------
    min_words, max_words
        The bounds, themselves allowed; at least one of them.
    text, target_key
        The text that is counted: a literal one, else what stands at this path.

    Notes
    -----
    "Don't", "example.com" and "1,000.50" are one word each; a hyphen divides; emoji and punctuation do not count.  Of
    scripts without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan) each letter counts.  An
    empty text has 0 words.

    The metric is ``word_count``.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, Trace, WordCount
    >>> trace = Trace(interactions=[Interaction(inputs="Fee?", outputs="It's 3 EUR a month.")])
    >>> asyncio.run(WordCount(max_words=3).run(trace)).message
    'word count is 5, at most 3 were expected'
    """

    min_words: Annotated[int, Field(strict=True, ge=0)] | None = None
    max_words: Annotated[int, Field(strict=True, ge=0)] | None = None

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        low, high = self.min_words, self.max_words
        if high is None and not low:
            raise ValueError(f"every text has at least {low or 0} words; give min_words or max_words")
        if low is not None and high is not None and low > high:
            raise ValueError(f"min_words {low} is greater than max_words {high}: no text can pass")
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the count is within the bounds, else FAIL."""
        text = self.subject(trace)
        count = count_words(text)
        details = {"text": text, "word_count": count, "min_words": self.min_words, "max_words": self.max_words}
        metrics = [Metric(name="word_count", value=count)]
        message = f"word count is {count:,}"
        for bound, outside, word in ((self.min_words, -1, "at least"), (self.max_words, 1, "at most")):
            if bound is not None and (count - bound) * outside > 0:
                message += f", {word} {bound:,} {'was' if bound == 1 else 'were'} expected"
                return Verdict(CheckStatus.FAIL, message, details, metrics)
        return Verdict(CheckStatus.PASS, message, details, metrics)
