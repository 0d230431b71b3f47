"""Chat completions that were streamed, put together again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giskard.checks.importers._lenient import listed, mapping, number, text

__all__ = ["completion_of_chunks"]

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


def completion_of_chunks(chunks: list[Any]) -> dict[str, Any]:
    """The completion that `chunks` are pieces of."""
    whole: dict[str, Any] = {"object": "chat.completion"}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in map(mapping, chunks):
        for name in ("id", "created", "model", "usage", "error"):
            if chunk.get(name) is not None:
                whole[name] = chunk[name]
        for place, piece in enumerate(map(mapping, listed(chunk.get("choices")))):
            index = number(piece.get("index"))
            key = place if index is None else int(index)
            choice = choices.setdefault(key, {"index": key, "message": {"role": "assistant", "content": None}})
            _add(choice, piece)
    for choice in choices.values():
        calls = choice["message"].pop("slots", None)
        if calls:
            choice["message"]["tool_calls"] = list(calls.values())
    whole["choices"] = [choices[index] for index in sorted(choices)]
    return whole


def _add(choice: dict[str, Any], piece: Mapping[str, Any]) -> None:
    message = choice["message"]
    delta = mapping(piece.get("delta")) or mapping(piece.get("message"))
    for name in _TEXTS:
        if isinstance(more := delta.get(name), str):
            message[name] = (message.get(name) or "") + more
        elif isinstance(more, list):
            message[name] = [*listed(message.get(name)), *more]
    if isinstance(more := piece.get("text"), str):
        message["content"] = (message.get("content") or "") + more
    if (reason := text(piece.get("finish_reason"))) is not None:
        choice["finish_reason"] = reason
    function = mapping(delta.get("function_call"))
    if function:
        _extend(message.setdefault("function_call", {"name": "", "arguments": ""}), function, "arguments")
    for fragment in map(mapping, listed(delta.get("tool_calls"))):
        _add_call(message.setdefault("slots", {}), fragment)
    if annotations := listed(delta.get("annotations")):
        message.setdefault("annotations", []).extend(annotations)


def _add_call(slots: dict[Any, dict[str, Any]], fragment: Mapping[str, Any]) -> None:
    """Add a fragment to its call: that of its index, else of its id, else the latest."""
    index, call_id = number(fragment.get("index")), text(fragment.get("id"))
    latest = next(reversed(slots), None)
    key = index if index is not None else call_id if call_id is not None else latest
    call = slots.setdefault(key, {"id": None})
    call["id"] = call["id"] or call_id
    custom, function = mapping(fragment.get("custom")), mapping(fragment.get("function"))
    if custom:
        _extend(call.setdefault("custom", {"name": "", "input": ""}), custom, "input")
    elif "custom" not in call:
        _extend(call.setdefault("function", {"name": "", "arguments": ""}), function, "arguments")


def _extend(held: dict[str, Any], fragment: Mapping[str, Any], key: str) -> None:
    """Add what a fragment holds of a call: its name, and the next piece of what is given to it."""
    held["name"] = held["name"] or text(fragment.get("name")) or ""
    more = fragment.get(key)
    if isinstance(more, str) and isinstance(held[key], str):
        held[key] += more
    elif more is not None:  # an object, whole
        held[key] = more
