"""What a target is told of the conversation, and the turn that it makes of the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from giskard.checks.core.attempt import current_attempt
from giskard.checks.core.interaction.reply import Reply
from giskard.checks.targets.errors import TargetError

__all__ = [
    "CONVERSATION",
    "as_json",
    "as_text",
    "excerpt",
    "messages_of",
    "to_json_text",
    "turn",
]

_EXCERPT = 500


CONVERSATION: Final = "<conversation>"
"""What stands for the id of a conversation in a recording: each run has another one."""


def turn(
    inputs: Any,
    outputs: Any,
    call: Mapping[str, Any],
    notes: Mapping[str, Any] | None = None,
    first_chunk: float | None = None,
) -> Reply:
    """The turn of a target that knows more of it than its outputs.

    Parameters
    ----------
    call
        The kind of the target, and what is known of the call itself: noted under ``"target"``, which judges do not see.
    notes
        What is known of the turn.
    first_chunk
        Seconds to the first chunk, when the answer came in chunks.
    """
    metadata: dict[str, Any] = {"target": _known(call), **_known(notes or {})}
    if first_chunk is not None:
        metadata["time_to_first_chunk"] = first_chunk
        attempt = current_attempt.get()
        if attempt is not None and attempt.first_chunk is None:
            attempt.first_chunk = first_chunk
    return Reply(inputs=inputs, outputs=outputs, metadata=metadata)


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def as_json(value: Any, what: str = "the inputs") -> Any:
    """`value` as JSON data; models, dataclasses and dates as they are written in JSON.

    Raises
    ------
    TargetError
        When it has no such form.
    """
    try:
        return _jsonable(value)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        problem = str(error)
    raise TargetError(f"{what} cannot be sent as JSON ({problem}): {value!r:.200}", kind="bad_type")


def _jsonable(value: Any) -> Any:
    """What is JSON already stays: pydantic refuses halves of surrogate pairs, which JSON can hold."""
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value)
        if all(type(key) is str for key in items):
            return {key: _jsonable(item) for key, item in items.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in cast("Sequence[Any]", value)]
    return to_jsonable_python(cast("object", value))


def to_json_text(data: Any, *, ascii_only: bool = True) -> str:
    """JSON data as text; what is no ASCII is escaped, so that all of it arrives.

    Raises
    ------
    TargetError
        When it holds a number that JSON has no form for.
    """
    try:
        return json.dumps(data, ensure_ascii=ascii_only, allow_nan=False)
    except (ValueError, RecursionError) as error:
        problem = str(error)
    raise TargetError(f"the request cannot be written as JSON: {problem}", kind="bad_type")


def as_text(value: Any, what: str = "the inputs") -> str:
    """A text as it is, nothing for None, and JSON for all else."""
    if value is None:
        return ""
    return value if isinstance(value, str) else to_json_text(as_json(value, what), ascii_only=False)


def messages_of(value: Any, role: str) -> list[dict[str, Any]]:
    """`value` as messages of a chat.

    Messages (``{"role": …}``, one or a list of them) are taken as they are, a list of parts (``{"type": …}``) as the
    content of one message, and all else as its text.
    """
    items: Any = [value] if isinstance(value, Mapping) else value
    if isinstance(items, Sequence) and not isinstance(items, (str, bytes)) and items:
        for mark in ("role", "type"):
            if all(isinstance(item, Mapping) and mark in item for item in cast("Sequence[object]", items)):
                if mark == "role":
                    return cast("list[dict[str, Any]]", as_json(list(cast("Any", items))))
                if items is value:
                    return [{"role": role, "content": as_json(list(cast("Any", items)))}]
    return [{"role": role, "content": as_text(value)}]


def excerpt(text: str) -> str:
    """The first characters of a text, quoted."""
    shown = text.strip()
    if not shown:
        return "nothing"
    return repr(shown) if len(shown) <= _EXCERPT else f"{shown[:_EXCERPT]!r}… ({len(text):,} characters)"
