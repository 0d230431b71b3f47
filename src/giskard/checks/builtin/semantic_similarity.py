"""A check that two texts mean the same."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Self

from pydantic import Field, model_validator

from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.core.check import Check, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.mixin import WithEmbeddingMixin
from giskard.checks.core.result import CheckResult
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.llm.unavailable import models_unavailable

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
        The cosine of the two texts' vectors that is enough, from -1 to 1.
    embedding_model
        What turns texts into vectors: an object with ``async embed(texts, metadata)``, or a model's name.  Left out,
        the default one is taken when the check runs.

    Notes
    -----
    In this version there is no embedding model to ask: `run` looks for the two texts, and then gives an ERROR.
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
        """An ERROR: that one of the texts is missing, else that there is no embedding model yet."""
        try:
            self._texts(trace)
        except NoVerdict as problem:
            return problem.verdict().result()
        message = models_unavailable(f"SemanticSimilarity {self.label!r}", "embeddings come")
        return CheckResult.error(message, error_kind="config")

    def _texts(self, trace: TraceT) -> tuple[str, str]:
        """The text that is checked, and the reference."""
        target = _text(lookup(trace, self.target_key), "target_key", self.target_key)
        if self.reference_text is not None:
            return target, _text(self.reference_text, "reference_text", None)
        key = self.reference_text_key or ""
        return target, _text(lookup(trace, key, "reference_text_key"), "reference_text_key", key)


def _text(value: Any, field: str, key: str | None) -> str:
    where = field if key is None else f"{key!r} ({field})"
    if not isinstance(value, str) and value is not None:
        message = f"expected a text at {where}, got {type_name(value)}: {shown(value)}"
        raise NoVerdict(message, kind="bad_type", details={field: key, "value": value})
    if value is None or not value.strip():
        message = f"the text at {where} is empty: {value!r}"
        raise NoVerdict(message, kind="missing_value", details={field: key, "value": value})
    return value
