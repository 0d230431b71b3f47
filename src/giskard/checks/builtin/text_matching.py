"""Checks that look for something in a text."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Generic, Self, cast

from pydantic import AfterValidator, PositiveFloat, model_validator

from giskard.checks.builtin._regex import BadPattern, check_flags, find
from giskard.checks.builtin._shown import shown
from giskard.checks.builtin._texts import TextCheck, exactly_one, text_at
from giskard.checks.core.check import Check, JSONPathStr, NoVerdict
from giskard.checks.core.check_result import CheckStatus, Verdict, passed_with
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.normalization import NormalizationForm, fold_string, normalize_string

__all__ = ["RegexMatching", "StringMatching"]


@Check.register("string_matching")
class StringMatching(TextCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a text contains a keyword.

    Parameters
    ----------
    keyword, keyword_key
        What to look for: a text, or the path of one in the trace; exactly one of them.
    text, target_key
        Where to look: a text, else what stands at this path.
    case_sensitive
        Whether ``Fee`` and ``fee`` differ.  If not, letters are folded as Unicode has it: ``ß`` matches ``SS``.
    normalization_form
        Both texts are brought to this Unicode normal form, their white space collapsed and trimmed; None
        searches the texts as they are.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, StringMatching, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Where?", outputs="In the HAUPTSTRASSE.")])
    >>> asyncio.run(StringMatching(keyword="Hauptstraße", case_sensitive=False).run(trace)).passed
    True
    """

    keyword: str | None = None
    keyword_key: JSONPathStr | None = None
    case_sensitive: bool = True
    normalization_form: NormalizationForm | None = "NFKC"

    @model_validator(mode="after")
    def _one_keyword(self) -> Self:
        keyword = self.keyword
        exactly_one("keyword", keyword, self.keyword_key)
        if keyword is not None and not keyword.strip():
            raise ValueError(f"keyword is {keyword!r}: every text contains it; give what must stand in the text")
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the text contains the keyword, else FAIL."""
        text = self.subject(trace)
        keyword = self.keyword
        if keyword is None:
            keyword = text_at(trace, cast("str", self.keyword_key), "keyword_key")
            if not keyword.strip():
                raise NoVerdict(
                    f"the keyword at {self.keyword_key!r} (keyword_key) is empty: every text contains it",
                    kind="missing_value",
                    details={"text": text, "keyword": keyword},
                )
        if self._contains(text, keyword):
            return passed_with(text if self.keyword_key is None else (text, keyword))
        how = "" if self.case_sensitive else ", in whatever letter case"
        message = f"the text does not contain {shown(keyword)}{how}: {shown(text)}"
        return Verdict(CheckStatus.FAIL, message, {"text": text, "keyword": keyword})

    @classmethod
    def passed(cls, values: Mapping[str, Any], found: Any) -> tuple[str, dict[str, Any]]:
        """The keyword that was found."""
        text, keyword = (found, values["keyword"]) if isinstance(found, str) else found
        return f"the text contains {shown(keyword)}", {"text": text, "keyword": keyword}

    def _contains(self, text: str, keyword: str) -> bool:
        form = self.normalization_form
        if not self.case_sensitive:
            return fold_string(keyword, form) in fold_string(text, form)
        # Of ASCII only the white space is normalised: what is there before is there afterwards.
        if (form is None or text.isascii()) and keyword in text:
            return True
        return normalize_string(keyword, form) in normalize_string(text, form)


@Check.register("regex_matching")
class RegexMatching(TextCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    r"""Checks that a text matches a regular expression.

    Parameters
    ----------
    pattern, pattern_key
        The regular expression: a text, or the path of one in the trace; exactly one of them.
    text, target_key
        Where to search: a text, else what stands at this path.
    match_timeout_seconds
        A search that takes longer is an ERROR.  The time is counted as CPU time of the process.
    flags
        Letters: ``i`` ignores case, ``m`` lets ``^`` and ``$`` match at each line, ``s`` lets ``.`` match a line
        feed, ``x`` allows white space and comments in the pattern.
    full_match
        Whether the pattern must match the whole text; otherwise a match anywhere is enough.
    normalization_form
        None searches the raw text.  Otherwise the text is brought to this Unicode normal form, its white
        space collapsed and trimmed, and the pattern to the same form.

    Notes
    -----
    Patterns mean what they mean for Python's `re`.  A few that `re` refuses are accepted: the same group name twice,
    a look-behind of variable width, ``\p{...}``.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, RegexMatching, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Which?", outputs="See ref AB-0107.")])
    >>> asyncio.run(RegexMatching(pattern=r"\bref [A-Z]{2}-\d{4}\b").run(trace)).message
    "the text matches '\\\\bref [A-Z]{2}-\\\\d{4}\\\\b': 'ref AB-0107'"
    """

    pattern: str | None = None
    pattern_key: JSONPathStr | None = None
    match_timeout_seconds: PositiveFloat = 2.0
    flags: Annotated[str, AfterValidator(check_flags)] = ""
    full_match: bool = False
    normalization_form: NormalizationForm | None = None

    @model_validator(mode="after")
    def _one_pattern(self) -> Self:
        exactly_one("pattern", self.pattern, self.pattern_key)
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the pattern matches, else FAIL."""
        text = self.subject(trace)
        pattern = self.pattern
        if pattern is None:
            pattern = text_at(trace, cast("str", self.pattern_key), "pattern_key")
        details: dict[str, Any] = {"text": text, "pattern": pattern}
        form = self.normalization_form
        searched, sought = text, pattern
        if form is not None:
            searched, sought = normalize_string(text, form), unicodedata.normalize(form, pattern)
        seconds = self.match_timeout_seconds
        try:
            match = find(sought, searched, flags=self.flags, full=self.full_match, seconds=seconds)
        except BadPattern as error:
            raise NoVerdict(str(error), kind="config", details=details) from error
        except TimeoutError as error:
            raise NoVerdict(
                f"timeout: the pattern {shown(pattern)} took longer than {seconds:g} s on a text of "
                f"{len(text):,} characters",
                kind="timeout",
                details=details,
            ) from error
        if match is not None:
            return passed_with((text, pattern, match[0]))
        what = "does not match" if not self.full_match else "as a whole does not match"
        return Verdict(CheckStatus.FAIL, f"the text {what} {shown(pattern)}: {shown(text)}", details)

    @classmethod
    def passed(cls, values: Mapping[str, Any], found: Any) -> tuple[str, dict[str, Any]]:
        """The pattern, and what it matched."""
        text, pattern, match = found
        message = f"the text matches {shown(pattern)}: {shown(match)}"
        return message, {"text": text, "pattern": pattern, "match": match}
