"""What a model is told when it is asked for an input, and what it is told when its answer cannot be used."""

from __future__ import annotations

import functools

from pydantic import BaseModel

from giskard.checks.llm.prompts import answer_format, packaged_prompt
from giskard.checks.llm.templates import render
from giskard.checks.llm.types import Message

__all__ = ["asked_again", "system_message"]


@functools.lru_cache(maxsize=256)
def system_message(output_type: type[BaseModel]) -> Message:
    """The message that comes first; it is the same for all talks with the same form of answer."""
    text = render(packaged_prompt("generators", "_system").source, {"answer": answer_format(output_type)})
    return Message("system", text.strip())


def asked_again(reply: str | None, problem: str) -> list[Message]:
    """What follows a reply that cannot be used: the reply itself, and what is wrong with it."""
    text = render(packaged_prompt("generators", "_again").source, {"problem": problem})
    again = Message("user", text.strip())
    return [Message("assistant", reply), again] if reply and reply.strip() else [again]
