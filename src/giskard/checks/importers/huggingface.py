"""Chat data sets as they lie on the Hugging Face Hub, in the forms that TRL names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._chat_messages import are_chat_messages, chat_message
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._json import json_or_text
from giskard.checks.importers._labels import KTO_LABEL, PREFERRED, columns
from giskard.checks.importers._lenient import dicts, listed, mapping, part_type
from giskard.checks.importers._messages import Message
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["HuggingFace"]

# With these alone a row is one for OpenAI's fine-tuning, or a request that was logged, with its answer.
_OF_OPENAI = {
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "functions",
    "function_call",
    "weight",
    "model",
    "temperature",
    "top_p",
    "n",
    "stream",
    "stream_options",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "user",
    "seed",
    "response_format",
    "reasoning_effort",
    "store",
    "metadata",
    "modalities",
    "audio",
    "prediction",
    "service_tier",
    "verbosity",
    "extra_body",
    "response",
    "request",
    "latency_ms",
    "choices",
    "usage",
    "object",
    "created",
    "id",
    "system_fingerprint",
    "conversation_id",
}
_OF_ANSWERS = {"response", "request", "choices", "usage", "object", "created"}
# What says that a row is of another format, which is asked before or after this one.
_OF_OTHERS = {
    "system",
    "stop_reason",
    "run_type",
    "trace_id",
    "traceId",
    "task_id",
    "epoch",
    "turns",
    "parts",
    "lc",
    "values",
    "toolConfig",
    "inferenceConfig",
}
_OWN = {"messages", "prompt", "completion", "chosen", "rejected", "label", "tools", "functions", "id"}
_TRANSCRIPT = re.compile(r"(?:^|\n\n)(Human|Assistant): ?")
_ANTHROPIC = {"tool_use", "tool_result", "thinking", "server_tool_use"}


class HuggingFace(RecordFormat):
    """Rows with messages and other columns, prompts with completions, and pairs of a chosen and a rejected answer."""

    name = "huggingface"
    aliases = ("trl", "hf")

    def detect(self, value: Any) -> bool:
        """Whether it is such a row; rows for OpenAI's fine-tuning are none."""
        row = mapping(value)
        if isinstance(row.get("messages"), list):
            more = bool(row.keys() - _OF_OPENAI) or ("id" in row and not row.keys() & _OF_ANSWERS)
            return more and not row.keys() & _OF_OTHERS and _are_plain_chat(row["messages"])
        if _is_said(row.get("chosen")) and _is_said(row.get("rejected")):
            return "prompt" not in row or _is_said(row["prompt"])
        if not _is_said(row.get("prompt")):
            return False
        return _is_said(row.get("completion")) or (are_chat_messages(row["prompt"]) and not row.keys() & _OF_OTHERS)

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Iterable[Trace[Any, Any]]:
        """The conversation of a row; two of a pair, the chosen one first."""
        row = {name: item for name, item in mapping(value).items() if item is not None}
        if str(source.get("path", "")).endswith(".parquet"):  # whose columns have one schema: what is not there is None
            row = mapping(_without_none(row))
        annotations: dict[str, Any] = {"source": source, **columns(row, _OWN)}
        if "id" in row:
            annotations["conversation_id"] = str(row["id"])
        if (tools := json_or_text(row.get("tools", row.get("functions")))) is not None:
            annotations["tools"] = tools
        for messages, labels in _conversations(row):
            if not messages:
                raise BadRecord("the row holds no message")
            labelled = {**annotations.get("labels", {}), **labels}
            yield to_trace(messages, {**annotations, "labels": labelled or None}, options)


def _are_plain_chat(messages: Any) -> bool:
    """Whether they are of the form of OpenAI's, and of no other that has roles too."""
    some = listed(messages)[:3]
    blocks = {part_type(part) for item in some for part in listed(mapping(item).get("content"))}
    return are_chat_messages(messages) and not blocks & _ANTHROPIC and not any("parts" in item for item in some)


def _is_said(value: Any) -> bool:
    """Whether it is a text, a message, or a list of messages."""
    return isinstance(value, str) or are_chat_messages([value] if isinstance(value, dict) else value)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in mapping(value).items() if item is not None}
    return [_without_none(item) for item in listed(value)] if isinstance(value, list) else value


def _conversations(row: dict[str, Any]) -> Iterator[tuple[list[Message], dict[str, Any]]]:
    """The messages of each conversation of a row, and what is said of it."""
    if "chosen" in row or "rejected" in row:
        for ending in ("chosen", "rejected"):
            labels: dict[str, Any] = {PREFERRED: ending == "chosen"}
            score = row.get(f"score_{ending}", row.get(f"{ending}_score"))
            if score is not None:
                labels["score"] = score
            yield [*_said(row.get("prompt"), "user"), *_said(row.get(ending), "assistant")], labels
    elif "prompt" in row:
        label = row.get("label")
        labels = {} if label is None else {KTO_LABEL if isinstance(label, bool) else "label": label}
        yield [*_said(row["prompt"], "user"), *_said(row.get("completion"), "assistant")], labels
    else:
        labels = {"label": row["label"]} if "label" in row else {}
        yield list(_read(dicts(row.get("messages"), "messages"))), labels


def _said(value: Any, role: Any) -> list[Message]:
    """The messages of a column: a text is one of `role`."""
    if value is None:
        return []
    if isinstance(value, str):
        spoken = _TRANSCRIPT.split(value) if role == "assistant" else []
        if len(spoken) > 2 and not spoken[0].strip():  # a whole conversation as one text
            pairs = zip(spoken[1::2], spoken[2::2], strict=True)
            return [Message("user" if who == "Human" else "assistant", said.strip()) for who, said in pairs]
        return [Message(role, value, raw=value)]
    return list(_read(dicts([value] if isinstance(value, dict) else value, f"what the {role} said")))


def _read(items: list[dict[str, Any]]) -> Iterator[Message]:
    for place, item in enumerate(items):
        made = chat_message({key: value for key, value in item.items() if value is not None}, place)
        made.raw = item
        yield made
