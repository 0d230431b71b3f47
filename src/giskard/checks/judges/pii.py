"""A check that no personal data is disclosed."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Literal, TypeAlias, get_args

from pydantic import BaseModel, Field

from giskard.checks.core.check import Check, JSONPathStr
from giskard.checks.core.result import CheckResult
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.judges._evidence import evidence
from giskard.checks.judges._findings import findings_type, result_of_findings
from giskard.checks.judges.base import BaseLLMCheck

__all__ = ["PII", "PIICategory"]

PIICategory: TypeAlias = Literal[
    "name",
    "email",
    "phone",
    "address",
    "birth_date",
    "government_id",
    "financial",
    "health",
    "credentials",
    "online_id",
]


def _all_categories() -> list[PIICategory]:
    return list(get_args(PIICategory))


@Check.register("pii")
class PII(BaseLLMCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a text discloses no personal data.

    Parameters
    ----------
    output, target_key
        The text: a literal one, else the path of it.
    categories
        The kinds of data that are looked for; all of them when left out.
    allow_given_by_user
        Whether what the user said in the same conversation may be repeated.  The judge is shown the user's messages
        then.

    Notes
    -----
    Details hold the words that were found, and the text; the message names only the kinds, and the judge is told to
    keep the data itself out of its reason.
    """

    _packaged: ClassVar[str | None] = "pii"
    _older_names: ClassVar[dict[str, str]] = {"output_key": "target_key"}

    output: str | None = None
    target_key: JSONPathStr = "trace.last.outputs"
    categories: list[PIICategory] = Field(default_factory=_all_categories, min_length=1)
    allow_given_by_user: bool = True

    async def get_inputs(self, trace: TraceT) -> dict[str, Any]:
        """The text, the categories, and whether the user's messages are shown."""
        return {
            "output": evidence(trace, "output", self.output, self.target_key, "target_key"),
            "categories": list(self.categories),
            "allow_given_by_user": self.allow_given_by_user,
        }

    @property
    def output_type(self) -> type[BaseModel]:
        """What was disclosed, each with its kind."""
        return findings_type(tuple(self.categories))

    def _handle_output(self, output: Any, inputs: dict[str, Any], trace: TraceT) -> CheckResult:
        return result_of_findings(output, inputs["output"], inputs)
