"""What every judge is told, whatever it judges."""

from __future__ import annotations

import functools

from pydantic import BaseModel

from giskard.checks.llm.prompts import answer_format, packaged_prompt
from giskard.checks.llm.templates import render
from giskard.checks.llm.types import Message

__all__ = ["system_message"]


@functools.lru_cache(maxsize=256)
def system_message(output_type: type[BaseModel]) -> Message:
    """The message that comes first.

    It is the same for all checks with the same form of answer, so that a provider can keep what it made of it.
    """
    text = render(packaged_prompt("judges", "_system").source, {"answer": answer_format(output_type)})
    return Message("system", text.strip())
