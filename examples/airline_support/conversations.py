"""Reads the recorded conversations of the `data` folder into traces."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from pydantic import computed_field

from giskard.checks import Trace, load_traces

__all__ = ["DATA", "POLICY", "SupportTrace", "load_conversations"]

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
        return max(Counter(call.message_index for call in self.tool_calls).values(), default=0)


def load_conversations(path: Path = DATA, policy: Path = POLICY) -> list[SupportTrace]:
    """Every conversation of a file, in its order, with the time at which it takes place."""
    time = current_time(policy.read_text(encoding="utf-8"))
    traces = load_traces(path, format="tau_bench", stop_markers=[HANG_UP], trace_type=SupportTrace)
    return [trace.with_annotations({**trace.annotations, "current_time": time}) for trace in traces]


def current_time(policy: str) -> str | None:
    """The moment at which the conversations take place, as the policy states it."""
    stated = re.search(r"current time is (\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)", policy)
    return f"{stated[1]}T{stated[2]}" if stated else None
