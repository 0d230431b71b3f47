"""What the checks of texts share: where a text comes from, and which values are none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Generic, cast

from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.core.check import CodeCheck, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.types import In, Out, TraceT

__all__ = ["TextCheck", "as_text", "exactly_one", "listed", "text_at", "texts_at", "unanswered"]

_MOST_SHOWN = 10
# Written so that the type checker takes what is in them for Any.
_LISTS: tuple[type[Any], ...] = (list, tuple)


class TextCheck(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """What the checks of one text share.

    Parameters
    ----------
    text, target_key
        The text that is checked: a literal one, else what stands at this path.
    """

    text: str | None = None
    target_key: JSONPathStr = "trace.last.outputs"

    def subject(self, trace: Any) -> str:
        """The text that is checked.

        Raises
        ------
        NoVerdict
            When what stands at `target_key` is no text.
        """
        if self.text is not None:
            return self.text
        value = lookup(trace, self.target_key)
        return value if value.__class__ is str else as_text(value, "target_key", self.target_key, trace)

    def not_empty(self, trace: Any, why: str) -> str:
        """As `subject`, for what cannot be told of an empty text; `why` says so after the text."""
        text = self.subject(trace)
        if not text.strip():
            where = "the text" if self.text is not None else f"the text at {self.target_key!r} (target_key)"
            raise NoVerdict(
                f"{where} is empty: {shown(text)} {why}",
                kind="missing_value",
                details={"target_key": self.target_key, "value": text},
            )
        return text


_OUTPUTS_OF_A_TURN = re.compile(r"trace\.(?:last|interactions\[(-?\d+)\])\.outputs")


def unanswered(trace: Any, key: str, value: Any) -> str:
    """The end of a message on a missing answer: that none was recorded in that turn, and where the last one stands.

    Empty when `value` is there, when the path `key` is not that of an answer, or when nothing tells that it is missing.
    """
    match = None if value is not None else _OUTPUTS_OF_A_TURN.fullmatch(key)
    turns: Sequence[Any] = trace.interactions if match is not None else ()
    index = int(match[1] or -1) if match is not None else 0
    if not -len(turns) <= index < len(turns) or turns[index].metadata.get("incomplete") is not True:
        return ""
    answered = next((place for place in reversed(range(len(turns))) if turns[place].outputs is not None), None)
    last = "" if answered is None else f"; the last answer is at 'trace.interactions[{answered}].outputs'"
    return f"; no answer was recorded in that turn (it is incomplete){last}"


def as_text(value: Any, field: str, key: str, trace: Any = None) -> str:
    """`value`, which stands at the path `key` of the check's `field`, as a plain text.

    Parameters
    ----------
    trace
        The conversation, for what a message tells of an answer that is missing.

    Raises
    ------
    NoVerdict
        When it is none.
    """
    if isinstance(value, str):
        return str.__str__(value)
    raise NoVerdict(
        f"expected a text at {key!r} ({field}), got {type_name(value)}: {shown(value)}"
        f"{'' if trace is None else unanswered(trace, key, value)}",
        kind="bad_type",
        details={field: key, "value": value},
    )


def text_at(trace: Any, key: str, field: str) -> str:
    """The text at the path `key`; see `as_text`."""
    return as_text(lookup(trace, key, field), field, key, trace)


def texts_at(trace: Any, key: str, field: str) -> list[str]:
    """The texts at the path `key`: those of a list, or the one that stands there; none of them is empty.

    Raises
    ------
    NoVerdict
        When there is none, or something else.
    """
    value: Any = lookup(trace, key, field)
    if isinstance(value, _LISTS):
        texts = [as_text(item, field, f"{key}[{place}]") for place, item in enumerate(cast("list[Any]", value))]
    else:
        texts = [as_text(value, field, key, trace)]
    if not texts or not all(text.strip() for text in texts):
        what = "an empty text" if texts else "no text"
        raise NoVerdict(
            f"{what} at {key!r} ({field}): {shown(value)}", kind="missing_value", details={field: key, "value": value}
        )
    return texts


def exactly_one(name: str, literal: Any, key: str | None) -> None:
    """Refuse a check that was given a literal and the path of one, or neither."""
    if (literal is None) is (key is None):
        given = "neither was" if key is None else "both were"
        raise ValueError(f"give exactly one of {name} and {name}_key; {given} given")


def listed(values: Sequence[object]) -> str:
    """Values in a message: the first ten, and how many more there are."""
    more = f" and {len(values) - _MOST_SHOWN} more" if len(values) > _MOST_SHOWN else ""
    return ", ".join(shown(value) for value in values[:_MOST_SHOWN]) + more
