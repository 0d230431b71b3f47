"""What the columns of a data set say of a conversation: labels by people, and the rest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["KTO_LABEL", "PREFERRED", "columns"]

PREFERRED = "preferred"
"""The label of an answer that was chosen (True) or rejected (False) in favour of another."""

KTO_LABEL = "desirable"
"""The label of an answer that was found good (True) or bad (False) by itself."""

_LABELS = frozenset({"label", "labels", "human_label", "rating", "score", "feedback"})

# What these say of a conversation is fixed.
_RESERVED = frozenset({"source", "system_prompt", "tools", "conversation_id", "labels", "columns"})


def columns(row: Mapping[str, Any], own: Collection[str]) -> dict[str, Any]:
    """The annotations that the columns of a `row` make, but for those of the format's `own`.

    Columns that are named as labels are go to ``labels``, the others are kept under their name; a name that means
    something else in annotations goes to ``columns``.
    """
    made: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    reserved: dict[str, Any] = {}
    for name, value in row.items():
        if name in own or value is None:
            continue
        if name in _LABELS:
            labels |= value if name == "labels" and isinstance(value, Mapping) else {name: value}
        elif name in _RESERVED:
            reserved[name] = value
        else:
            made[name] = value
    if labels:
        made["labels"] = labels
    if reserved:
        made["columns"] = reserved
    return made
