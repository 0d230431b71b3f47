"""What a model is told when its answer cannot be used."""

from __future__ import annotations

from giskard.checks.llm.prompts import packaged_prompt
from giskard.checks.llm.templates import render
from giskard.checks.llm.types import Message

__all__ = ["asked_again"]


def asked_again(reply: str | None, problem: str) -> list[Message]:
    """What follows a reply that cannot be used: the reply itself, and what is wrong with it."""
    text = render(packaged_prompt("generators", "_again").source, {"problem": problem})
    again = Message("user", text.strip())
    return [Message("assistant", reply), again] if reply and reply.strip() else [again]
