"""Reads the recorded conversations of the `data` folder into traces."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import computed_field

from giskard.checks import Interaction, Trace

__all__ = ["DATA", "POLICY", "SupportTrace", "load_conversations", "to_trace"]

DATA = Path(__file__).parent / "data" / "conversations.jsonl"
POLICY = Path(__file__).parent / "data" / "policy.txt"

# What the simulated customer of the recordings says to hang up. It is no part of the conversation.
HANG_UP = "###STOP###"


class SupportTrace(Trace[str, str | None], frozen=True):
    """A support conversation: one interaction for each message of the customer.

    A trace type of your own can carry computed fields; paths see them as `trace.said`.
    """

    @computed_field
    @property
    def said(self) -> str:
        """Everything that the agent wrote to the customer."""
        texts: list[str] = []
        for turn in self.interactions:
            texts += [note["text"] for note in turn.metadata.get("intermediate", [])]
            texts += [turn.outputs] if turn.outputs else []
        return "\n".join(texts)

    @computed_field
    @property
    def most_calls_at_once(self) -> int:
        """How many tool calls one message of the agent made at most."""
        calls = [call for turn in self.interactions for call in turn.metadata.get("tool_calls", [])]
        return max(Counter(call["message_index"] for call in calls).values(), default=0)


def load_conversations(path: Path = DATA, policy: Path = POLICY) -> list[SupportTrace]:
    """Every conversation of a file with one JSON object a line, in the order of the file."""
    with path.open(encoding="utf-8") as lines:
        return [
            to_trace(
                json.loads(line),
                source={"format": "tau_bench", "path": path.name, "line": number},
                current_time=current_time(policy.read_text(encoding="utf-8")),
            )
            for number, line in enumerate(lines, start=1)
            if line.strip()
        ]


def current_time(policy: str) -> str | None:
    """The moment at which the conversations take place, as the policy states it."""
    stated = re.search(r"current time is (\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)", policy)
    return f"{stated[1]}T{stated[2]}" if stated else None


def to_trace(
    row: dict[str, Any], *, source: dict[str, Any] | None = None, current_time: str | None = None
) -> SupportTrace:
    """One recorded conversation as a trace.

    Parameters
    ----------
    row
        A recording of tau-bench: its messages, in OpenAI's chat format, are in `traj`.
    source
        Where it was read, so that a failing check can be traced back to its line.
    current_time
        The time at which the conversation takes place, ISO 8601.
    """
    task = row.get("info", {}).get("task", {})
    messages = list(row["traj"])
    return SupportTrace(
        interactions=[_interaction(turn) for turn in _turns(messages)],
        annotations={
            "conversation_id": f"task {row['task_id']}, trial {row['trial']}",
            "task_id": row["task_id"],
            "trial": row["trial"],
            "reward": row["reward"],
            "goal": task.get("instruction"),
            "expected_actions": task.get("actions", []),
            "expected_outputs": task.get("outputs", []),
            "hung_up_by_customer": HANG_UP in (messages[-1].get("content") or ""),
            "current_time": current_time,
            "source": source,
        },
    )


def _turns(messages: Sequence[dict[str, Any]]) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """The messages cut before each one of the customer, with their positions in the recording."""
    turn: list[tuple[int, dict[str, Any]]] = []
    for position, message in enumerate(messages):
        if message["role"] == "system":
            continue
        starts = message["role"] == "user" and any(other["role"] != "user" for _, other in turn)
        if starts:
            yield turn
            turn = []
        spoken = {**message, "content": (message.get("content") or "").replace(HANG_UP, "").strip()}
        if message["role"] != "user":
            turn.append((position, message))
        elif spoken["content"]:  # else nothing was said: the customer only hung up
            turn.append((position, spoken))
    if turn:
        yield turn


def _interaction(turn: list[tuple[int, dict[str, Any]]]) -> Interaction[str, str | None]:
    customer = [message["content"] for _, message in turn if message["role"] == "user"]
    calls: list[dict[str, Any]] = []
    texts: list[tuple[int, str]] = []
    for position, message in turn:
        if message["role"] == "assistant":
            calls += [_call(call, position) for call in message.get("tool_calls") or []]
            if message.get("content"):
                texts.append((position, message["content"]))
        elif message["role"] == "tool":
            _answer(calls, message)

    last_position, last = turn[-1]
    answered = last["role"] == "assistant" and bool(last.get("content"))
    metadata: dict[str, Any] = {"tool_calls": [_without_marks(call) for call in calls]}
    notes = [note for note in texts if not (answered and note[0] == last_position)]
    if notes:
        metadata["intermediate"] = [{"message_index": at, "text": text} for at, text in notes]
    if not answered:
        metadata["incomplete"] = True
    return Interaction(
        inputs="\n\n".join(customer),
        outputs=last["content"] if answered else None,
        metadata=metadata,
    )


def _call(call: dict[str, Any], position: int) -> dict[str, Any]:
    recorded: dict[str, Any] = {
        "id": call["id"],
        "name": call["function"]["name"],
        "arguments": call["function"]["arguments"],
        "result": None,
        "error": None,
        "message_index": position,
        "open": True,
    }
    try:
        recorded["arguments"] = json.loads(recorded["arguments"])
    except json.JSONDecodeError as error:
        recorded["arguments_error"] = str(error)
    return recorded


def _answer(calls: list[dict[str, Any]], message: dict[str, Any]) -> None:
    """Give a result to the call that it belongs to.

    The ids are not unique in a conversation, so only the calls of this turn that still wait for a
    result are looked at: first for the id, then for the oldest one.
    """
    waiting = [call for call in calls if call["open"]]
    same_id = [call for call in waiting if call["id"] == message.get("tool_call_id")]
    if not waiting:
        raise ValueError(f"a result of {message.get('name')!r} comes before any call: {message!r}")
    call = (same_id or waiting)[0]
    text = message["content"]
    call["open"] = False
    call["error"] = text if text.startswith("Error") else None
    try:
        call["result"] = json.loads(text)
    except json.JSONDecodeError:
        call["result"] = text


def _without_marks(call: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in call.items() if key != "open"}
