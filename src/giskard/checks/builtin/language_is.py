"""A check of the language that a text is in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Generic, NoReturn, Self

from pydantic import AfterValidator, Field, model_validator

from giskard.checks.builtin._language import SAME_LANGUAGE, find_language, known_languages, language_model, prose_of
from giskard.checks.builtin._shown import shown
from giskard.checks.builtin._texts import TextCheck, exactly_one, texts_at
from giskard.checks.builtin._words import count_letters
from giskard.checks.core.check import Check, JSONPathStr, NoVerdict
from giskard.checks.core.check_result import CheckStatus, Metric, Verdict
from giskard.checks.core.error_kinds import ErrorKind
from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.core.types import In, Out, TraceT

__all__ = ["LanguageIs"]


def _code(tag: str) -> str:
    """The language of a tag such as ``de``, ``pt-BR`` or ``zh_Hans``."""
    match = re.fullmatch(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{2,8})*", tag)
    if match is None or match[1].lower() in ("zxx", "und", "mul", "mis"):
        raise ValueError(f"{tag!r:.100} is no code of a language: expected one of ISO 639, such as 'en' or 'pt-BR'")
    code = match[1].lower()
    return SAME_LANGUAGE.get(code, code)


def _codes(given: str | Sequence[str] | None) -> Any:
    tags = [] if given is None else [given] if isinstance(given, str) else given
    if given is not None and not tags:
        raise ValueError("the list is empty: give at least one language")
    for tag in tags:
        _code(tag)
    return given


@Check.register("language_is")
class LanguageIs(TextCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks which language a text is in; needs the extra ``lang``.

    Parameters
    ----------
    language, language_key
        The code of a language (ISO 639, such as ``"en"``; of ``"pt-BR"`` only ``pt`` counts), or several of which one
        is enough; or the path of either in the trace; exactly one of the two.
    min_confidence
        When the model is less sure than this, from 0 to 1, there is no verdict: ERROR.
    min_letters
        Of a text with fewer letters no language can be told: ERROR.  One of Chinese, Japanese, Korean or Thai
        counts as three.
    ignore_code, ignore_urls
        Whether code in backquotes, and addresses, are left out.
    text, target_key
        The text that is checked: a literal one, else what stands at this path.

    Notes
    -----
    py3langid decides, on this machine and without a key: it knows some 140 languages, takes 120 MB and half a second
    when it is first used, and a tenth of a millisecond for a sentence.  It gives one language for the whole text: of a
    text in two languages the one that there is more of.  It is sure of whole sentences; close relatives (Danish and
    Norwegian, Chinese and Cantonese) are mixed up in short texts.

    The metric is ``language_confidence``.
    """

    language: Annotated[str | list[str] | None, AfterValidator(_codes)] = None
    language_key: JSONPathStr | None = None
    min_confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    min_letters: Annotated[int, Field(strict=True, ge=1)] = 15
    ignore_code: bool = True
    ignore_urls: bool = True

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        exactly_one("language", self.language, self.language_key)
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the text is in one of the languages, else FAIL."""
        text = self.not_empty(trace, "is in no language")
        wanted = self._wanted(trace)
        details: dict[str, Any] = {"text": text, "expected": wanted}
        prose = prose_of(text, code=self.ignore_code, urls=self.ignore_urls)
        letters = count_letters(prose)
        if letters < self.min_letters:
            few = f"{letters} {'letter is' if letters == 1 else 'letters are'} too few to tell a language"
            self._cannot_tell(f"{few}, at least {self.min_letters} are needed: {shown(text)}", "missing_value", details)
        try:
            found, known = find_language(prose), known_languages()
        except MissingExtraError as error:
            self._cannot_tell(f"LanguageIs {self.label!r}: {error}", "config", details)
        for code in wanted:
            if code not in known:
                unknown = f"{language_model()} does not know the language {code!r}; it knows {', '.join(known)}"
                self._cannot_tell(unknown, "config", details)
        details |= {"language": found.code, "confidence": found.confidence, "model": language_model()}
        if found.code == "zxx":
            self._cannot_tell(f"there is no language in the text: {shown(text)}", "missing_value", details)
        message = f"the language is {found.code!r} (confidence {found.confidence:.2f})"
        if self.min_confidence is not None and found.confidence < self.min_confidence:
            unsure = f"{message}, and at least {self.min_confidence:g} is needed for a verdict: {shown(text)}"
            self._cannot_tell(unsure, "unknown", details)
        metrics = [Metric(name="language_confidence", value=found.confidence)]
        if found.code in wanted:
            return Verdict(CheckStatus.PASS, message, details, metrics)
        message += f", {' or '.join(map(repr, wanted))} was expected: {shown(text)}"
        return Verdict(CheckStatus.FAIL, message, details, metrics)

    def _wanted(self, trace: Any) -> list[str]:
        given = self.language
        if given is not None:
            return [_code(tag) for tag in ([given] if isinstance(given, str) else given)]
        key = self.language_key or ""
        tags = texts_at(trace, key, "language_key")
        try:
            return [_code(tag) for tag in tags]
        except ValueError as error:
            message = f"{error} (at {key!r}, language_key)"
            raise NoVerdict(message, kind="bad_type", details={"language_key": key, "value": tags}) from error

    def _cannot_tell(self, message: str, kind: ErrorKind, details: dict[str, Any]) -> NoReturn:
        raise NoVerdict(message, kind=kind, details=details)
