"""What of the messages that a model was given is new: each call of it repeats the conversation so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from giskard.checks.importers._messages import Message
from giskard.checks.importers._span import Span
from giskard.checks.importers._span_values import structured

__all__ = [
    "Key",
    "heard_by",
    "in_order",
    "in_told_order",
    "keys_of",
    "last_question",
    "split",
    "talk",
    "unheard",
]

Key = Any  # compared, and never hashed: what was said may be an object

_LOOK_BACK = 20  # messages that are compared to tell two equal ones apart


def heard_by(span: Span) -> tuple[list[Message], list[Key]]:
    """What a span was told by others than the system, and the keys of that."""
    if span.heard is None:
        messages = talk(span.inputs)
        span.heard = messages, keys_of(messages)
    return span.heard


def talk(messages: Iterable[Message]) -> list[Message]:
    """The messages without those of the system; one of the user that also holds results becomes two."""
    found: list[Message] = []
    for message in messages:
        if message.role == "system":
            continue
        if message.role == "user" and message.results:
            found.append(Message("tool", results=message.results))
            if message.content is not None:
                found.append(replace(message, results=[]))
        else:
            found.append(message)
    return found


def keys_of(messages: Iterable[Message]) -> list[Key]:
    """By what messages are known again: ids, reasoning and blanks may differ between two records of one message."""
    return [_key(message) for message in messages]


def _key(message: Message) -> Key:
    return (
        message.role,
        comparable(message.content),
        [(call.name, comparable(call.arguments)) for call in message.calls],
        [comparable(result.content) for result in message.results],
    )


def comparable(value: Any) -> Any:
    """What is equal for two values that are the same, however they were written."""
    value = "" if value is None else structured(value)
    return value.strip() if isinstance(value, str) else value


def unheard(messages: Sequence[Message], keys: Sequence[Key], known: Sequence[Key]) -> tuple[list[Message], bool]:
    """The messages after those that are known, and whether any of the known ones were found among them.

    The messages of `known` may have been cut off at their beginning, or told otherwise: what follows the last of them
    is new.  Where none is found but others have answered, only what comes after these is.
    """
    if not known:
        return list(messages), False
    best, longest = 0, 0
    for place in range(len(keys), 0, -1):
        if keys[place - 1] != known[-1]:
            continue
        same = 1
        while same < min(place, len(known), _LOOK_BACK) and keys[place - 1 - same] == known[-1 - same]:
            same += 1
        if same > longest:
            best, longest = place, same
    if longest:
        return list(messages[best:]), True
    answers = [place for place, message in enumerate(messages) if message.role == "assistant"]
    return (last_question(messages) or list(messages[answers[-1] + 1 :]) if answers else list(messages)), False


def split(messages: Sequence[Message]) -> tuple[list[Message], list[Message], list[Message]]:
    """What was said before the last question, the question, and what came after it."""
    end = next((place for place in range(len(messages), 0, -1) if messages[place - 1].role == "user"), 0)
    start = end
    while start and messages[start - 1].role == "user":
        start -= 1
    return list(messages[:start]), list(messages[start:end]), list(messages[end:])


def last_question(messages: Sequence[Message]) -> list[Message]:
    """What the user said last, and all after it; nothing when the user said nothing."""
    before, question, after = split(messages)
    del before
    return [*question, *after] if question else []


def in_order(spans: Iterable[Span]) -> list[Span]:
    """Calls of models in the order in which they happened: that of time, unless what was said tells another."""
    timed = sorted(spans, key=lambda span: span.order)
    return in_told_order(timed) or timed


def in_told_order(spans: Iterable[Span]) -> list[Span] | None:
    """Spans of which each was told all that the one before was told, and more; None when they are no such series.

    The clocks of several machines differ: where a conversation tells the order, that counts.
    """
    told = sorted(((heard_by(span)[1], span) for span in spans), key=lambda pair: len(pair[0]))
    for (shorter, _), (longer, _) in pairwise(told):
        if not shorter or len(longer) <= len(shorter) or longer[: len(shorter)] != shorter:
            return None
    return [span for _, span in told]
