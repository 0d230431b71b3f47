"""A check that two texts are close in meaning."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Self

from pydantic import Field, model_validator

from giskard.checks.builtin._cosine import BadVectors, cosine_of_two
from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.builtin._texts import unanswered
from giskard.checks.core.check import Check, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.mixin import WithEmbeddingMixin
from giskard.checks.core.result import CheckResult, Metric
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.llm.calls import embed, model_name
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.types import Embeddings
from giskard.checks.settings import find_embedding_model

__all__ = ["SemanticSimilarity"]


@Check.register("semantic_similarity")
class SemanticSimilarity(WithEmbeddingMixin, Check[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a text is close in meaning to a reference.

    Parameters
    ----------
    reference_text, reference_text_key
        The reference: a text, else the path of one in the trace; at least one of them.
    target_key
        The path of the text that is checked.
    threshold
        The similarity that is enough, itself included, from -1 to 1: the cosine of the two texts' vectors, rounded to
        six decimals.  A number means something for one model only.
    embedding_model
        What turns texts into vectors: an object with ``async embed(texts, metadata)``, or a model's name.  Left out,
        it is the default one, the environment's, or the local one, whichever is there first.

    Notes
    -----
    The default threshold, 0.95, asks for almost the same words.  With the local model, most texts that say the same in
    other words are at 0.5 to 0.85, those on the same topic at 0.2 to 0.5, those with nothing in common below 0.2:
    ``docs/similarity.md`` shows how to choose.

    Similarity tells what a text is about, not whether it is right.  A sentence and its negation, "15 days" and "15
    months", "Ann owes Bob" and "Bob owes Ann" are at 0.8 to 0.99, above nearly any paraphrase: check facts with
    `Equals` and `RegexMatching`, or ask a judge.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, SemanticSimilarity, Trace
    >>> from giskard.checks.testing import FakeEmbeddingModel
    >>> trace = Trace(interactions=[Interaction(inputs="Fee?", outputs="It is free.")])
    >>> model = FakeEmbeddingModel({"It is free.": [4, 3], "There is no fee.": [1, 0]})
    >>> check = SemanticSimilarity(reference_text="There is no fee.", threshold=0.8, embedding_model=model)
    >>> asyncio.run(check.run(trace)).message
    'the similarity is 0.800, at least 0.8 was expected'
    """

    reference_text: str | None = None
    reference_text_key: JSONPathStr | None = None
    target_key: JSONPathStr = "trace.last.outputs"
    threshold: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] = 0.95

    @model_validator(mode="after")
    def _some_reference(self) -> Self:
        if self.reference_text is None and self.reference_text_key is None:
            raise ValueError("give reference_text or reference_text_key; neither was given")
        return self

    async def run(self, trace: TraceT) -> CheckResult:
        """PASS when the similarity reaches the threshold, else FAIL; an ERROR when there is none."""
        try:
            text, reference = self._texts(trace)
            model = find_embedding_model(self.embedding_model)
            found = await embed(model, [text, reference], {"check": self.label})
            return self._compared(text, reference, found, model)
        except NoVerdict as problem:
            return problem.verdict().result()
        except ConfigurationError as error:
            return CheckResult.error(f"SemanticSimilarity {self.label!r}: {error}", error_kind="config")
        except ModelCallError as error:
            return CheckResult.error(error.message, error_kind=error.kind, retryable=error.retryable, usage=error.usage)

    def _compared(self, text: str, reference: str, found: Embeddings, model: Any) -> CheckResult:
        details: dict[str, Any] = {"text": text, "reference_text": reference}
        details["embedding_model"] = found.model or (model if isinstance(model, str) else model_name(model))
        if found.source != "model":
            details["answered_by"] = found.source
        try:
            similarity = cosine_of_two(found.vectors)
        except BadVectors as error:
            message = f"no similarity with the embedding model {details['embedding_model']!r}: {error}"
            return CheckResult.error(message, details, error_kind="model_error", retryable=False, usage=found.usage)
        enough = similarity >= self.threshold
        # Enough digits that the two numbers are not shown as the same when they are not.
        shown_as = f"{similarity:.3f}" if enough or round(similarity, 3) < self.threshold else f"{similarity:.6f}"
        message = f"the similarity is {shown_as}, at least {self.threshold:g} was expected"
        details |= {"similarity": similarity, "threshold": self.threshold}
        metrics = [Metric(name="similarity", value=similarity)]
        return (CheckResult.success if enough else CheckResult.failure)(message, details, metrics, usage=found.usage)

    def _texts(self, trace: TraceT) -> tuple[str, str]:
        """The text that is checked, and the reference."""
        target = _text(lookup(trace, self.target_key), "target_key", self.target_key, trace)
        if self.reference_text is not None:
            return target, _text(self.reference_text, "reference_text", None)
        key = self.reference_text_key or ""
        return target, _text(lookup(trace, key, "reference_text_key"), "reference_text_key", key, trace)


def _text(value: Any, field: str, key: str | None, trace: Any = None) -> str:
    where = field if key is None else f"{key!r} ({field})"
    if not isinstance(value, str) and value is not None:
        message = f"expected a text at {where}, got {type_name(value)}: {shown(value)}"
        raise NoVerdict(message, kind="bad_type", details={field: key, "value": value})
    if value is None or not value.strip():
        message = f"the text at {where} is empty: {value!r}{'' if key is None else unanswered(trace, key, value)}"
        raise NoVerdict(message, kind="missing_value", details={field: key, "value": value})
    return value
