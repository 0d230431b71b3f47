"""Messages in the form of OpenAI's chat completions, as other formats carry them within their own."""

from __future__ import annotations

from typing import Any

from giskard.checks.importers._chat_messages import are_chat_messages, message_of
from giskard.checks.importers._lenient import first, listed, part_type, text
from giskard.checks.importers._messages import Call, Message

__all__ = ["are_chat_messages", "calls_of", "chat_message"]

_THOUGHTS = {"reasoning", "thinking", "redacted_thinking"}


def chat_message(item: Any, place: int) -> Message:
    """A recorded message; thoughts among the parts of its content are no part of what it says.

    Parameters
    ----------
    place
        Its position, for the message of the error.

    Raises
    ------
    BadRecord
        When it has no role that is known.
    """
    made = message_of(item, place)
    parts = listed(made.content)
    if made.role == "assistant" and parts:
        said: list[Any] = []
        for part in parts:
            if part_type(part) not in _THOUGHTS:
                said.append(part)
            elif thought := text(first(part, "thinking", "reasoning", "text")):
                made.reasoning.append(thought)
        made.content = said or None
    return made


def calls_of(record: dict[str, Any]) -> list[Call]:
    """The calls of a message, whoever is said to have written it."""
    return message_of({**record, "role": "assistant", "content": None}).calls
