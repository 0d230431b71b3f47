"""A check that counts what of an answer its sources support, claim by claim."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Generic, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from giskard.checks.core.check import Check
from giskard.checks.core.result import CheckResult, Metric
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._against_context import AgainstContext
from giskard.checks.judges._quotes import Sources
from giskard.checks.judges._verdicts import as_word, cannot_tell, details_of
from giskard.checks.utils.text import cut, short_number

__all__ = ["Claim", "Claims", "Faithfulness"]

Support: TypeAlias = Annotated[Literal["supported", "contradicted", "not_found"], BeforeValidator(as_word)]

_SHOWN = 5
_LONGEST = 160


def _said(claim: str) -> str:
    if not claim.strip():
        raise ValueError("the claim is empty")
    return claim


class Claim(BaseModel):
    """One statement of an answer, and what the context says to it.

    Parameters
    ----------
    claim
        The statement.
    quote
        The piece of the context that decides; None when there is none.
    support
        What that piece does.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    claim: Annotated[str, AfterValidator(_said)]
    quote: str | None = None
    support: Support


class Claims(BaseModel):
    """The statements of an answer; None when the judge cannot tell."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    answer_format: ClassVar[str] = (
        'one JSON object: {"reason": "what the answer is about, in one sentence", "claims": [{"claim": "one statement '
        'of the answer", "quote": "the words of the context that decide, copied; null when there are none", '
        '"support": "supported" or "contradicted" or "not_found"}, …]}\n'
        '"claims" is [] when the answer states no fact, and null where what you are shown is not enough to tell.'
    )

    reason: str | None = None
    claims: list[Claim] | None


@Check.register("faithfulness")
class Faithfulness(AgainstContext[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that enough of the claims of an answer are supported by a context.

    In one call the judge lists the claims, each with the words of the context that decide; code counts.  A claim
    counts as supported only when the words that are quoted for it do occur in the context, whatever their letter case
    and white space.  An answer without a claim, such as a greeting, is SKIP: there is nothing to be faithful with.

    Parameters
    ----------
    answer, target_key
        The answer: a text, else the path of it, also spelt ``answer_key``.
    context, context_key
        What it must be supported by: a text or a list of texts, else the path of them.
    threshold
        The share of supported claims that is enough, itself included, from above 0 to 1.

    Notes
    -----
    `Groundedness` asks the same of the answer as a whole, and is cheaper; this one says which claim fails, and gives
    a number: the metric ``faithfulness`` is the share, ``claims`` how many there are.
    """

    _packaged: ClassVar[str | None] = "faithfulness"

    threshold: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0

    @property
    def output_type(self) -> type[BaseModel]:
        """The claims of the answer."""
        return Claims

    def _handle_output(self, output: Any, inputs: dict[str, Any], trace: TraceT) -> CheckResult:
        sources = Sources(inputs["context"])
        found = [_looked_up(claim, sources) for claim in output.claims or ()]
        details = details_of(inputs, reason=output.reason, claims=found)
        if output.claims is None:
            raise cannot_tell(output.reason, details)
        if not found:
            return CheckResult.skip("the answer states no facts: the judge finds no claim in it", details)
        counted = sum(claim["counts"] for claim in found)
        share = counted / len(found)
        metrics = [Metric(name="faithfulness", value=share), Metric(name="claims", value=len(found))]
        make = CheckResult.success if share >= self.threshold else CheckResult.failure
        return make(self._message(found, counted), details, metrics)

    def _message(self, found: list[dict[str, Any]], counted: int) -> str:
        total = f"{len(found)} claim{'s' if len(found) > 1 else ''}"
        said = f"the context supports {counted} of {total}"
        if self.threshold < 1:
            said += f" ({short_number(counted / len(found))}, at least {short_number(self.threshold)} was expected)"
        missed = [_told(claim) for claim in found if not claim["counts"]]
        more = f"; and {len(missed) - _SHOWN} more" if len(missed) > _SHOWN else ""
        return f"{said}, and not: {'; '.join(missed[:_SHOWN])}{more}" if missed else said


def _looked_up(claim: Claim, sources: Sources) -> dict[str, Any]:
    there = sources.have(claim.quote)
    counts = claim.support == "supported" and there
    return {**claim.model_dump(), "quote_found": there, "counts": counts}


def _told(claim: dict[str, Any]) -> str:
    said = cut(repr(claim["claim"]), _LONGEST)
    quote = cut(repr(claim["quote"]), _LONGEST)
    if claim["support"] == "supported":
        nothing = "nothing is quoted for it" if claim["quote"] is None else f"the context has no {quote}"
        return f"{said} ({nothing})"
    if claim["support"] == "contradicted" and claim["quote_found"]:
        return f"{said} (contradicted by {quote})"
    return f"{said} ({claim['support'].replace('_', ' ')})"
