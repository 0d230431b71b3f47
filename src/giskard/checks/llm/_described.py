"""Calls in words: what was asked, and how one that is not recorded differs from those that are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from giskard.checks.llm._json_text import canonical
from giskard.checks.llm._secrets import SECRET
from giskard.checks.llm.recording import Asked
from giskard.checks.utils.json_safe import describe
from giskard.checks.utils.text import visible

__all__ = ["Form", "RecordedCall", "call", "count", "difference", "listed", "model_of"]

_SHOWN = 60
_COMPARED = 200_000
_MOST_COMPARED = 1_000
_NOTHING = object()
# What no secret has in it: it does not reach from one word, or one text, to the next.
_GAP = re.compile(r'[\s"]|\\[nrt]')
_FENCE = re.compile(r"\bdata-(\d+)-[0-9a-f]{16}\b")
_MOST_LISTED = 10


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call, as the lists of a cassette show it.

    Parameters
    ----------
    kind
        "chat", "embeddings" or "target".
    model
        The model, or the target.
    trial, sample
        Its numbers.
    text
        All of this and the beginning of what was asked, in a line.
    note
        Of one that is missing, how it differs from the nearest recording; of one that was used in part, how often.
    """

    kind: str
    model: str
    trial: int
    sample: int
    text: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.note})" if self.note else self.text


def call(asked: Asked, note: str = "") -> RecordedCall:
    """A call in a line: its kind, the model, the trial, and the beginning of what was asked last."""
    model = model_of(asked)
    trial = f" trial {asked.trial}" if asked.trial != 1 else ""
    sample = f" sample {asked.sample}" if asked.sample else ""
    text = f"{asked.kind} {model}{trial}{sample}: {_short(_last(asked.request))}"
    return RecordedCall(asked.kind, model, asked.trial, asked.sample, text, note)


def count(calls: Sequence[object], what: str) -> str:
    """How many they are: ``3 recordings``."""
    return f"{len(calls)} {what}{'s' if len(calls) > 1 else ''}"


def listed(calls: Sequence[object]) -> str:
    """A line for each, up to ten."""
    lines = [f"  {one}" for one in calls[:_MOST_LISTED]]
    if len(calls) > _MOST_LISTED:
        lines.append(f"  … and {len(calls) - _MOST_LISTED} more")
    return "\n".join(lines)


def model_of(asked: Asked) -> str:
    """The model, or the target, that is called."""
    named = (asked.request.get(name) for name in ("model", "target", "url", "name", "command"))
    return next((visible(str(name))[:200] for name in named if name), asked.kind)


def _last(request: Mapping[str, Any]) -> str:
    messages = request.get("messages")
    if isinstance(messages, Sequence) and messages and isinstance(messages[-1], Mapping):
        content = cast("Mapping[str, Any]", messages[-1]).get("content")
        if isinstance(content, str):
            return content
    texts = request.get("texts")
    if isinstance(texts, Sequence) and texts and isinstance(texts[0], str):
        return texts[0]
    return canonical({name: value for name, value in request.items() if name != "model"})


def _short(text: str) -> str:
    line = " ".join(text[: 20 * _SHOWN].split())
    return repr(visible(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"))


# --- the nearest -------------------------------------------------------------------------


def difference(asked: Asked, recorded: Iterable[Asked]) -> str:
    """What is changed between a call and the recording that is nearest to it, of the first thousand."""
    alike = list(islice((other for other in recorded if other.kind == asked.kind), _MOST_COMPARED))
    if not alike:
        return f"it holds no recording of kind {asked.kind!r}"
    mine = dict(_leaves(asked.request, ""))
    found = [(_changed(mine, dict(_leaves(other.request, ""))), other) for other in alike]
    changed, nearest = min(found, key=lambda pair: (len(pair[0]), _distance(pair[0]), _numbers_off(asked, pair[1])))
    if not changed:
        return _other_numbers(asked, [other for places, other in found if not places])
    place, (old, new) = next(iter(changed.items()))
    more = f" (and {len(changed) - 1} more places)" if len(changed) > 1 else ""
    old_text, new_text = _side_by_side(old, new)
    return f"the nearest recording differs in {place}{more}: recorded was {old_text}, asked is {new_text}" + (
        f"; it is of trial {nearest.trial}, asked is trial {asked.trial}" if nearest.trial != asked.trial else ""
    )


def _other_numbers(asked: Asked, same: list[Asked]) -> str:
    if all(other.trial != asked.trial for other in same):
        trials = ", ".join(str(trial) for trial in sorted({other.trial for other in same}))
        return f"the same is recorded for trial {trials}, and not for trial {asked.trial}"
    samples = ", ".join(str(other.sample) for other in sorted(same, key=lambda other: other.sample))
    return f"the same is recorded for sample {samples}, and not for sample {asked.sample}"


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, item in cast("Mapping[Any, Any]", value).items():
            yield from _leaves(item, f"{place}.{key}" if place else str(key))
    elif isinstance(value, (list, tuple)) and value:
        for index, item in enumerate(cast("Sequence[Any]", value)):
            yield from _leaves(item, f"{place}[{index}]")
    else:
        yield place, value


def _changed(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    places = dict.fromkeys((*theirs, *mine))
    pairs = {place: (theirs.get(place, _NOTHING), mine.get(place, _NOTHING)) for place in places}
    return {place: (old, new) for place, (old, new) in pairs.items() if old != new}


def _distance(changed: dict[str, tuple[Any, Any]]) -> float:
    """How much is changed, roughly: what two texts share at their beginning and at their end is not."""
    return sum(
        len(old) + len(new) - 2 * (_shared(old, new) + _shared(old[::-1], new[::-1]))
        if isinstance(old, str) and isinstance(new, str)
        else 1
        for old, new in changed.values()
    )


def _shared(a: str, b: str) -> int:
    """How many characters two texts share at their beginning."""
    low, high = 0, min(len(a), len(b), _COMPARED)
    if a[:high] == b[:high]:
        return high
    while high - low > 1:  # the first `low` are the same, the first `high` are not
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _numbers_off(asked: Asked, other: Asked) -> tuple[int, int]:
    return abs(other.trial - asked.trial), abs(other.sample - asked.sample)


def _side_by_side(old: Any, new: Any) -> tuple[str, str]:
    if not (isinstance(old, str) and isinstance(new, str)):
        return _value(old), _value(new)
    start = _shared(old, new)
    if max(len(old), len(new)) <= _SHOWN:
        start = 0
    return _window(old, start), _window(new, start)


def _window(text: str, place: int) -> str:
    start = max(0, place - _SHOWN // 2)
    part = text[start : start + _SHOWN]
    return repr(visible(f"{'…' if start else ''}{part}{'…' if start + _SHOWN < len(text) else ''}"))


def _value(value: Any) -> str:
    return "nothing" if value is _NOTHING else visible(f"{describe(value):.{_SHOWN}}")


# --- secrets that differ -----------------------------------------------------------------


class Form:
    """A call to be held against others that may have other secrets in it, or none.

    Who replays may have another key in the environment, or none, and what was recorded is ``[secret]`` in the prompts
    that are made of it; the tags of fences depend on the text between them, and are no difference of their own.
    """

    __slots__ = ("_numbers", "_parts", "_text")

    def __init__(self, asked: Asked) -> None:
        self._numbers = (asked.kind, asked.trial, asked.sample)
        meaning = {name: value for name, value in asked.request.items() if value is not None}
        self._text = _FENCE.sub(r"data-\1-", canonical(meaning))
        self._parts = self._text.split(SECRET)

    @property
    def length(self) -> int:
        """How many characters stand before the first secret."""
        return len(self._parts[0])

    def start(self, length: int | None = None) -> tuple[Any, ...]:
        """The call up to the first secret, or up to as many characters."""
        return (*self._numbers, self._text[: self.length if length is None else length])

    def fits(self, asked: Form) -> bool:
        """Whether a call is this one but for what stands in the places of ``[secret]``."""
        text = asked._text
        first, *parts = self._parts
        if not parts or self._numbers != asked._numbers or not text.startswith(first) or not text.endswith(parts[-1]):
            return False
        place = len(first)
        for index, part in enumerate(parts, 1):
            found = len(text) - len(part) if index == len(parts) else text.find(part, place)
            if found < place or _GAP.search(text, place, found) is not None:
                return False
            place = found + len(part)
        return True
