"""A check that a text, or a conversation, does not go round in circles."""

from __future__ import annotations

from typing import Annotated, Any, Final, Generic, Self, cast

from pydantic import Field, model_validator

from giskard.checks.builtin._repetition import (
    SHORTEST_SENTENCE,
    TooManyWords,
    longest_run,
    repetition_in,
)
from giskard.checks.builtin._shown import shown
from giskard.checks.builtin._texts import TextCheck, as_text
from giskard.checks.builtin._words import words_of
from giskard.checks.core.check import Check, NoVerdict, lookup
from giskard.checks.core.check_result import CheckStatus, Metric, Verdict
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.normalization import NormalizationForm

__all__ = ["NoRepetition"]

_LAST: Final = "trace.last."
_EVERY: Final = "trace.interactions[*]."


@Check.register("no_repetition")
class NoRepetition(TextCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a text does not say the same again and again, as language models do that are caught in a loop.

    Parameters
    ----------
    max_share
        The share of the words, from 0 to 1 and itself allowed, that may stand in a passage which came before in the
        text.  A passage is a sentence of three words or more, or `passage_words` words in a row.
    passage_words
        For Chinese, Japanese and Thai, where each letter counts as a word, take twice as many.
    max_run
        How many times the same words (one, or up to 50) may stand directly after one another; None does not look.
    across_turns
        Whether the answers of all turns are compared too: those at `target_key` of each turn.  Two with the same
        words, three or more, fail.
    text, target_key
        The text that is checked: a literal one, else what stands at this path.
    normalization_form
        The Unicode normal form in which words are compared; None compares them as they are.  Letter case and
        punctuation never count.

    Notes
    -----
    Lists and tables repeat words too.  Of 2,569 ordinary answers of five models none had a share above 0.35, one of a
    hundred above 0.17.

    The metrics are ``repeated_share`` and, with `max_run`, ``longest_run``.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, NoRepetition, Trace
    >>> loop = "I can help. I can help. I can help."
    >>> trace = Trace(interactions=[Interaction(inputs="Help!", outputs=loop)])
    >>> asyncio.run(NoRepetition().run(trace)).message
    "6 of 9 words (66.7 %) repeat what was said before, at most 40 % were expected: 'i can help'"
    """

    max_share: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.4
    passage_words: Annotated[int, Field(strict=True, ge=2)] = 8
    max_run: Annotated[int, Field(strict=True, ge=1)] | None = None
    across_turns: bool = False
    normalization_form: NormalizationForm | None = "NFKC"

    @model_validator(mode="after")
    def _turns_to_compare(self) -> Self:
        if self.across_turns and self.text is not None:
            raise ValueError("across_turns compares the answers of all turns; it does not go with a literal text")
        if self.across_turns and not self.target_key.startswith(_LAST):
            raise ValueError(
                f"across_turns looks at one place of each turn: target_key must start with {_LAST!r}, "
                f"got {self.target_key!r}"
            )
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when little is repeated, else FAIL."""
        text = self.not_empty(trace, "repeats nothing")
        details: dict[str, Any] = {"text": text}
        try:
            found = repetition_in(text, self.passage_words, self.normalization_form)
        except TooManyWords as error:
            raise NoVerdict(str(error), kind="bad_type", details=details) from error
        if not found.words:
            message = f"the text has no words that could come again: {shown(text)}"
            raise NoVerdict(message, kind="missing_value", details=details)
        details |= {"words": found.words, "repeated_words": found.repeated, "repeated_share": found.share}
        details |= {"max_share": self.max_share, "passage": found.example}
        metrics = [Metric(name="repeated_share", value=found.share)]
        share = f"{found.repeated:,} of {found.words:,} words ({100 * found.share:.3g} %)"
        message = f"{share} repeat what was said before"
        problems: list[str] = []
        if found.share > self.max_share:
            most = f"{100 * self.max_share:g} %"
            problems.append(f"{message}, at most {most} were expected: {shown(found.example)}")
        if self.max_run is not None:
            times, unit = longest_run(text, self.normalization_form)
            details |= {"longest_run": times, "run": unit}
            metrics.append(Metric(name="longest_run", value=times))
            if times > self.max_run:
                problems.append(f"{times:,} times in a row, at most {self.max_run:,} were expected: {shown(unit)}")
        if self.across_turns:
            problems += self._said_again(trace, details)
        if problems:
            return Verdict(CheckStatus.FAIL, "; ".join(problems), details, metrics)
        return Verdict(CheckStatus.PASS, message, details, metrics)

    def _said_again(self, trace: Any, details: dict[str, Any]) -> list[str]:
        """What to say when an answer has the words of an earlier one."""
        key = _EVERY + self.target_key.removeprefix(_LAST)
        answers = cast("list[Any]", lookup(trace, key))
        seen: dict[tuple[str, ...], int] = {}
        again: list[tuple[int, int]] = []
        for place, answer in enumerate(answers):
            if answer is None:  # a turn without a text: only tools were called
                continue
            words = tuple(words_of(as_text(answer, "target_key", key), normalization_form=self.normalization_form))
            if len(words) >= SHORTEST_SENTENCE and seen.setdefault(words, place) != place:
                again.append((seen[words], place))
        details |= {"answers": len(answers), "said_again": again}
        if not again:
            return []
        first, second = again[0]
        if len(answers) == len(trace.interactions):  # one of each turn
            details["turn"] = second
        more = f", and {len(again) - 1} more {'come' if len(again) > 2 else 'comes'} again" if len(again) > 1 else ""
        return [f"answer {second + 1} of {len(answers)} is answer {first + 1} again{more}: {shown(answers[second])}"]
