"""What a simulated user must not say: thoughts, the assistant's part, and the same thing over and over."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, cast

from giskard.checks.llm.thinking import THOUGHT

__all__ = ["fold", "is_said_again", "speaks_as_the_assistant", "takes_over", "without_thoughts"]


# Tags that a user may well speak of.
_WORD: Final = re.compile(r"<(?:reflection|analysis|scratchpad)\b", re.IGNORECASE)


def without_thoughts(value: Any) -> Any:
    """A message without what is thought aloud in it; in data, without what is thought aloud in its texts.

    Raises
    ------
    ValueError
        When a thought does not end, or nothing is left beside it.

    Examples
    --------
    >>> without_thoughts("<think>I am the user.</think> Where is it?")
    'Where is it?'
    """
    if isinstance(value, str):
        return _spoken(value)
    if isinstance(value, dict):
        return {key: without_thoughts(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [without_thoughts(item) for item in cast("list[Any]", value)]
    return value


def _spoken(text: str) -> str:
    kept: list[str] = []
    depth = place = 0
    for tag in THOUGHT.finditer(text):
        if not depth:
            kept.append(text[place : tag.start()])
        place = tag.end()
        if not (tag[1] or tag[2]):
            depth += 1
        elif depth:
            depth -= 1
        else:  # all before it is thought: some models leave out the beginning
            kept = []
    if not place:
        return text
    if depth and _WORD.search(text) and not text.lstrip().startswith("<"):
        return text  # a user may speak of such a tag
    if depth:
        raise ValueError("a thought in the message does not end; the message is only what is said")
    spoken = "".join([*kept, text[place:]]).strip()
    if not spoken:
        raise ValueError("there is nothing but a thought in the message; the message is only what is said")
    return spoken


# --- the assistant's part ----------------------------------------------------------------

# Phrases that open an assistant's message and hardly a user's.  Few on purpose: a user may talk about an assistant, or
# quote one, and a talk that is stopped for nothing costs more than a slip that a reader of the report sees.
_WHO = r"ai(?: language)?(?: model| assistant| chatbot)"
_PHRASES: Final = (
    # Hello! How can I help you today?
    r"(?:(?:hello|hi|hey|welcome|good (?:morning|afternoon|evening))\b[^.!?\"]{0,40}[.!,]\s*)?"
    r"how (?:can|may) i (?:help|assist) you\b",
    # I'm an AI assistant, and …; not: I'm an AI assistant developer.
    rf"(?:i am|i'm) (?:just )?an {_WHO}(?=\s*(?:[,.;:!]|$|and i\b|made\b|trained\b|developed\b|created\b|designed\b))",
    # As an AI language model, I …; I'm sorry, but as an AI I …; not: As an AI, you should …
    rf"(?:(?:i'm|i am) sorry,? but )?as an (?:ai|{_WHO}),? i\b",
    # I'm sorry, but I can't assist with that.
    r"(?:(?:i'm|i am) (?:very |really |truly )?sorry,? (?:but )?)?"
    r"i (?:can't|cannot|can not|am unable to|am not able to) "
    r"(?:assist(?: you)? with|comply with|fulfill?|help(?: you)? with (?:that|this|your) request)\b",
    # Assistant: …
    r"(?:ai )?(?:assistant|chatbot)\s*:",
)
_OPENINGS: Final = re.compile("|".join(f"(?:{phrase})" for phrase in _PHRASES))
_OFFER: Final = re.compile(r"(?:^|[.!?]\s)is there anything else (?:that )?i can (?:help|assist)(?: you)? with\b")

# How much of the assistant's last answer has to be said for it to be taken over.
_WHOLE = 20
_START = 80


def speaks_as_the_assistant(message: str) -> bool:
    """Whether a message opens as an assistant's would, or offers further help.

    Examples
    --------
    >>> speaks_as_the_assistant("Hello! How can I help you today?")
    True
    >>> speaks_as_the_assistant('All it says is "How can I help you?"')
    False
    """
    text = " ".join(message[:2000].casefold().replace("\u2019", "'").split())
    return _OPENINGS.match(text) is not None or _OFFER.search(text) is not None


def takes_over(message: str, answer: Any, said: Iterable[Any]) -> bool:
    """Whether a message is the assistant's last answer, or starts with the first 80 characters of it.

    Short answers do not count, nor do those in which the assistant only says what the user had said.
    """
    if not isinstance(answer, str):
        return False
    mine, theirs = fold(message), fold(answer)
    taken = (len(theirs) >= _WHOLE and mine == theirs) or (len(theirs) >= _START and mine.startswith(theirs[:_START]))
    return taken and all(fold(text) != theirs for text in said if isinstance(text, str))


# --- the same thing over and over --------------------------------------------------------

# "Yes." may well be said twice.
_WORTH_NOTING = 20


def is_said_again(message: str, said: Iterable[str]) -> bool:
    """Whether the first message is said again, or any other one of 20 characters or more."""
    now = fold(message)
    before = [fold(text) for text in said]
    return bool(before) and bool(now) and (now == before[0] or (len(now) >= _WORTH_NOTING and now in before))


def fold(text: str) -> str:
    """A text as far as it matters when two are compared: without case, punctuation around it, and extra spaces.

    Examples
    --------
    >>> fold("  Hello,  World! ")
    'hello, world'
    """
    return " ".join(text.casefold().split()).strip(" .,;:!?\"'…")
