"""How the agent uses its tools.

Two of these rules need no function: they are built-in checks on the paths of the trace.
"""

from __future__ import annotations

import inspect
from typing import Any

from giskard.checks import (
    Check,
    CheckResult,
    LessThanEquals,
    Not,
    RegexMatching,
    Trace,
    resolve,
)

from ..story import Story
from ..wording import quote
from .base import Rulings, rule, unless

__all__ = ["When", "built_in_rules", "no_text_beside_a_call"]


@rule("No text to the customer beside a tool call.", occasion="tool call", severity="warning")
def no_text_beside_a_call(story: Story) -> Rulings:
    notes = {message: text for _, message, text in story.notes()}
    for call in story.calls:
        text = notes.get(call.message_index, "")
        yield call, unless(not text, f"says {quote(text)} in the same message")


@Check.register("when")
class When(Check[Any, Any, Trace[Any, Any]]):
    """Runs a check on the traces in which a path finds something, and is a SKIP on the others.

    Parameters
    ----------
    occasion_key
        A path that may match many things, such as ``trace.tool_calls[*]``.
    missing
        The reason of the SKIP.
    check
        What must hold where there is an occasion.
    """

    occasion_key: str
    missing: str
    check: Check[Any, Any, Any]

    async def run(self, trace: Trace[Any, Any]) -> CheckResult:
        if not resolve(trace, self.occasion_key):
            return CheckResult.skip(message=self.missing)
        result = self.check.run(trace)
        return await result if inspect.isawaitable(result) else result


def built_in_rules() -> list[Check[Any, Any, Any]]:
    """One tool call at a time, and no names of tools in what the customer reads."""
    return [
        When(
            name="one_call_at_a_time",
            description="One tool call at a time.",
            occasion_key="trace.tool_calls[*]",
            missing="no tool call",
            check=LessThanEquals(target_key="trace.most_calls_at_once", expected_value=1),
            severity="warning",
        ),
        Not(
            name="no_tool_names_shown",
            description="The names of the tools are not shown to the customer.",
            check=RegexMatching(
                target_key="trace.said",
                pattern=r"\b(?:get|update|book|cancel|search|transfer|send)_[a-z]+\w*",
            ),
            severity="warning",
        ),
    ]
