"""Columns of a table that mean something in the metadata of a turn: figures, models, errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from giskard.checks.importers._cells import data_in, number_in
from giskard.checks.importers._columns import words_of
from giskard.checks.importers._lenient import first, mapping, text
from giskard.checks.importers._messages import Call

__all__ = ["CALLS", "calls_in", "noted"]

CALLS: Final = "tool_calls"

_SECONDS: Final = 1000.0
# What is a number: its key, that of the group which it stands in, and what it is multiplied by.
_NUMBERS: Final[dict[str, tuple[str, str | None, float | None]]] = {
    **dict.fromkeys(("latency_ms", "duration_ms", "response_time_ms", "elapsed_ms"), ("latency_ms", None, None)),
    **dict.fromkeys(
        ("latency_s", "latency_seconds", "duration_s", "duration_seconds", "response_time_s", "response_time_seconds"),
        ("latency_ms", None, _SECONDS),
    ),
    **dict.fromkeys(("ttft_ms", "time_to_first_token_ms"), ("ttft_ms", None, None)),
    **dict.fromkeys(("cost_usd", "cost", "total_cost", "total_cost_usd", "price_usd"), ("cost_usd", None, None)),
    **dict.fromkeys(("input_tokens", "prompt_tokens", "tokens_in"), ("input_tokens", "usage", None)),
    **dict.fromkeys(("output_tokens", "completion_tokens", "tokens_out"), ("output_tokens", "usage", None)),
    "reasoning_tokens": ("reasoning_tokens", "usage", None),
    **dict.fromkeys(("cached_tokens", "cache_read_tokens"), ("cached_tokens", "usage", None)),
    **dict.fromkeys(("total_tokens", "tokens"), ("total_tokens", "usage", None)),
}
_TEXTS: Final = {
    **dict.fromkeys(("model", "model_name", "model_id"), "model"),
    **dict.fromkeys(("timestamp", "created_at"), "timestamp"),
    **dict.fromkeys(("finish_reason", "stop_reason"), "finish_reason"),
    **dict.fromkeys(("error", "error_message"), "error"),
}
# What these say of a turn is fixed, and so it is for `_RESERVED_OF_ALL` in what is said of a conversation.
_RESERVED: Final = frozenset(
    {"tool_calls", "messages", "intermediate", "incomplete", "usage", "latency_ms", "ttft_ms", "cost_usd", "labels"}
    | {"retries", "raw", "reasoning", "refusal", "retrieved", "context", "expected", "columns"}
)
_RESERVED_OF_ALL: Final = frozenset(
    {"source", "system_prompt", "tools", "conversation_id", "labels", "columns", "context", "expected"}
)


def noted(cells: Mapping[str, Any], of_turn: bool, *, apart: bool = False) -> dict[str, Any]:
    """What columns make known of a turn, or of a conversation.

    Each stands under the name of its column.  Those that mean something else there stand under ``columns``; of a turn,
    figures and the like stand where they do for any other format.

    Parameters
    ----------
    apart
        Whether all that is no figure stands under ``columns``, where judges do not look: a column that nobody named may
        hold what somebody thought of the answer.
    """
    found: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, cell in cells.items():
        if of_turn and _figure(words_of(name), cell, found, usage):
            continue
        is_reserved = apart or name in (_RESERVED if of_turn else _RESERVED_OF_ALL) or name in found
        (others if is_reserved else found)[name] = data_in(cell)
    if usage:
        found["usage"] = usage
    if others:
        found["columns"] = others
    return found


def _figure(words: str, cell: Any, found: dict[str, Any], usage: dict[str, Any]) -> bool:
    """Put a cell where its name belongs, if it is one of those that are known."""
    if (key := _TEXTS.get(words)) is not None:
        if key in found:
            return False
        found[key] = cell if isinstance(cell, str) else data_in(cell)
        return True
    number = number_in(cell) if words in _NUMBERS else None
    if number is None:
        return False
    key, group, factor = _NUMBERS[words]
    holder = found if group is None else usage
    if key in holder:
        return False
    holder[key] = number if factor is None else number * factor
    return True


def calls_in(cell: Any) -> list[Call] | None:
    """The calls of tools in a cell: a list of objects with a name, or with a ``function`` that has one."""
    data = data_in(cell)
    if not isinstance(data, list) or not data:
        return None
    calls = [_call(mapping(item)) for item in data]  # pyright: ignore[reportUnknownVariableType]
    return None if None in calls else [call for call in calls if call is not None]


def _call(item: dict[str, Any]) -> Call | None:
    function = mapping(item.get("function")) or item
    name = text(first(function, "name", "tool", "tool_name"))
    if name is None:
        return None
    error = text(item.get("error"))
    result = first(item, "result", "output")
    arguments = first(function, "arguments", "args", "parameters", "input")
    return Call(
        name, arguments, text(item.get("id")), result, error, has_result=result is not None or error is not None
    )
