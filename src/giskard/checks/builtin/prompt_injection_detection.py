"""A check that no text attacks the prompt that it will stand in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Generic, NoReturn, cast

from pydantic import Field

from giskard.checks.builtin._guardian import LONGEST, Finding, look_into, model_label
from giskard.checks.builtin._shown import json_path, shown, type_name
from giskard.checks.core.check import Check, CodeCheck, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.check_result import CheckStatus, Metric, Verdict
from giskard.checks.core.exceptions import ConfigurationError, MissingExtraError
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.lazy import asyncio

__all__ = ["PromptInjectionDetection"]

_Placed = tuple[str, str]
_LISTS: tuple[type[Any], ...] = (list, tuple)
_MAPPINGS: tuple[type[Any], ...] = (dict,)
_DEEPEST: Final = 50


@Check.register("prompt_injection_detection")
class PromptInjectionDetection(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that no text looks like an attack on a prompt: "ignore all previous instructions", and its kin.

    A small model decides, on this machine and without a key: it needs the extra ``security``.

    Parameters
    ----------
    target_key
        The path of a text, of many, or of data with texts in it: each text is looked into.  The default is what came
        from outside in the last turn; attacks come as often with what an agent reads, and only you know where your
        traces keep that, such as ``trace.interactions[*].metadata.tool_calls[*].result``.
    threshold
        A text with this score, from 0 to 1, or a higher one, fails.

    Notes
    -----
    It knows the English phrases of common attacks, also within longer texts and encoded as base64 or hex.  It misses
    most that is worded politely, and whatever is in German or Chinese: of our own samples it sees 7 of 12 plain attacks
    in English, none of 6 that are hidden in documents, and 1 of 6 in other languages.  With the default threshold it
    raised no alarm on 913 ordinary messages of a help desk.  So a FAIL is worth a look, and a PASS proves little.
    ``docs/similarity.md`` has the figures.

    The result carries the highest score as the metric ``injection_score``.
    """

    target_key: JSONPathStr = "trace.last.inputs"
    threshold: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.8

    async def verdict(self, trace: TraceT) -> Verdict:
        """PASS when no text reaches the threshold, else FAIL."""
        texts = self._texts(lookup(trace, self.target_key))
        if not texts:
            return Verdict(CheckStatus.PASS, f"no text at {self.target_key!r} that could attack", {"texts": 0})
        try:
            findings = await asyncio.to_thread(lambda: [look_into(text) for _, text in texts])
        except (MissingExtraError, ConfigurationError) as error:
            message = f"PromptInjectionDetection {self.label!r}: {error}"
            raise NoVerdict(message, kind="config", details={"target_key": self.target_key}) from error
        return self._judged(texts, findings)

    def _judged(self, texts: list[_Placed], findings: list[Finding]) -> Verdict:
        worst = max(range(len(findings)), key=lambda place: findings[place].score)
        (place, text), finding = texts[worst], findings[worst]
        attacks = sum(other.score >= self.threshold for other in findings)
        details: dict[str, Any] = {
            "text": text,
            "score": finding.score,
            "threshold": self.threshold,
            "texts": len(findings),
            "attacks": attacks,
            "model": model_label(),
        }
        metrics = [Metric(name="injection_score", value=finding.score)]
        which = f"the text at {place} (of {len(findings)} texts)" if place != "$" else "the text"
        if not attacks:
            message = f"{which} scores {finding.score:.2f}, below the threshold of {self.threshold:g}"
            return Verdict(CheckStatus.PASS, message, details, metrics)
        details |= {"passage": finding.passage, "category": finding.category, "place": place}
        more = "" if attacks == 1 else f"; {attacks - 1} more {'do' if attacks > 2 else 'does'}"
        message = (
            f"{which} looks like an attack ({finding.category}, {finding.score:.2f}, threshold "
            f"{self.threshold:g}){more}: {shown(finding.passage)}"
        )
        return Verdict(CheckStatus.FAIL, message, details, metrics)

    def _texts(self, value: Any) -> list[_Placed]:
        """The texts at the path, those within data too: what a tool gives is seldom a bare text."""
        found = [(json_path(steps), text) for steps, text in _texts_in(value)]
        too_long = next((place for place, text in found if len(text) > LONGEST), None)
        if too_long is not None:
            self._refuse(f"a text of more than {LONGEST:,} characters ({too_long}): it is not looked into", value)
        if not found and not (isinstance(value, _LISTS) and len(value) == 0):
            self._refuse(f"{type_name(value)} without a text in it: {shown(value)}", value)
        if isinstance(value, str) and not value.strip():
            message = f"the text at {self.target_key!r} (target_key) is empty: {value!r}"
            raise NoVerdict(message, kind="missing_value", details={"target_key": self.target_key, "value": value})
        return found

    def _refuse(self, got: str, value: Any) -> NoReturn:
        message = f"expected texts at {self.target_key!r} (target_key), got {got}"
        raise NoVerdict(message, kind="bad_type", details={"target_key": self.target_key, "value": value})


def _texts_in(value: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Each text in some data, with the steps that lead to it, in order; what is deeper than 50 steps is left out."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        steps, part = waiting.pop()
        if isinstance(part, str):
            yield steps, str.__str__(part)
        elif len(steps) < _DEEPEST and isinstance(part, _LISTS):
            waiting += [((*steps, place), item) for place, item in reversed([*enumerate(cast("list[Any]", part))])]
        elif len(steps) < _DEEPEST and isinstance(part, _MAPPINGS):
            waiting += [((*steps, str(key)), item) for key, item in reversed([*cast("dict[Any, Any]", part).items()])]
