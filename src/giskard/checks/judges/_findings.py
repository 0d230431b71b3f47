"""What the judges share that list what they find, each with its kind and the words."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import GenericAlias
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, create_model, model_validator

from giskard.checks.core.result import CheckResult
from giskard.checks.judges._quotes import Sources
from giskard.checks.judges._verdicts import as_word, cannot_tell, details_of

__all__ = ["Finding", "Findings", "findings_type", "result_of_findings"]


class Finding(BaseModel):
    """One thing that should not be there.

    Parameters
    ----------
    quote
        The words.
    category
        Which kind it is.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    quote: str
    category: str


class Findings(BaseModel):
    """What a judge answers that lists what it found; `passed` is true when that is nothing."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    answer_format: ClassVar[str] = ""

    reason: str | None = None
    found: Sequence[Finding] = ()
    passed: StrictBool | None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.passed is not None and self.passed is bool(self.found):
            said = "true, and something is listed in found" if self.passed else "false, and nothing is listed in found"
            raise ValueError(f"passed is {said}")
        return self


@functools.lru_cache(maxsize=256)
def findings_type(categories: tuple[str, ...]) -> type[Findings]:
    """The class of the answers in which these kinds of findings are known; the same class for the same kinds."""
    kind: Any = Annotated[Literal[categories], BeforeValidator(as_word)]
    finding: Any = create_model("Finding", __base__=Finding, category=(kind, ...))
    listed: Any = GenericAlias(list, (finding,))
    made = create_model("Findings", __base__=Findings, found=(listed, []))
    words = " or ".join(f'"{category}"' for category in categories)
    made.answer_format = (
        'one JSON object: {"reason": "why, in one or two sentences", "found": [{"quote": "the words, copied", '
        f'"category": {words}}}, …], "passed": true or false}}\n'
        '"found" lists everything that breaks what must hold; it is [] when "passed" is true, and only then.\n'
        'Where what you are shown is not enough to tell, "passed" is null.'
    )
    return made


def result_of_findings(output: Any, text: Any, inputs: dict[str, Any]) -> CheckResult:
    """PASS when nothing was found in `text`, else FAIL with the kinds and the reason."""
    sources = Sources(text)
    found: list[dict[str, Any]] = [
        {"category": item.category, "quote": item.quote, "quote_found": sources.have(item.quote)}
        for item in output.found
    ]
    reason: str | None = output.reason
    details = details_of(inputs, reason=reason, found=found)
    if output.passed is None:
        raise cannot_tell(reason, details)
    if not found:
        return CheckResult.success(reason, details)
    # The words themselves may be what must not be spread: they are in the details only.
    kinds = ", ".join(dict.fromkeys(item["category"] for item in found))
    return CheckResult.failure(f"{kinds}: {reason}" if reason else f"found: {kinds}", details)
