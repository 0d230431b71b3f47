"""Logs of Inspect in their JSON form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._chat_messages import chat_message
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._lenient import dicts, first, known, listed, mapping, number, text, usage_of, within
from giskard.checks.importers._messages import Message
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["Inspect"]

_ATTACHED = "attachment://"


class Inspect(RecordFormat):
    """A log, or one of its samples; each sample is a trace, its scores are in ``annotations["scores"]``."""

    name = "inspect"
    aliases = ("inspect_ai",)

    def detect(self, value: Any) -> bool:
        """Whether it is a log with ``eval`` and ``samples``, or a sample."""
        log = mapping(value)
        if isinstance(log.get("eval"), dict) and "status" in log:
            return "task" in log["eval"] or "model" in log["eval"]
        return _is_sample(log)

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Iterator[Trace[Any, Any]]:
        """The trace of each sample."""
        log = mapping(value)
        if _is_sample(log):
            yield _trace(log, {"source": source}, options)
            return
        samples = log.get("samples")
        if not samples:
            raise BadRecord(f"the log holds no samples (status {log.get('status')!r})")
        shared = known(source=source, task=text(within(log, "eval", "task")), model=text(within(log, "eval", "model")))
        for sample in dicts(samples, "samples"):
            yield _trace(sample, shared, options)


def _is_sample(row: dict[str, Any]) -> bool:
    return {"id", "epoch", "input", "target"} <= row.keys() and isinstance(row.get("messages"), list)


def _trace(sample: dict[str, Any], shared: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
    epoch = sample.get("epoch")
    annotations = {
        **shared,
        **known(
            conversation_id=None if sample.get("id") is None else f"{sample['id']}, epoch {epoch}",
            sample_id=sample.get("id"),
            epoch=epoch,
            target=sample.get("target"),
            metadata=mapping(sample.get("metadata")) or None,
            choices=sample.get("choices"),
            scores=mapping(first(sample, "scores", "score")) or None,
            error=text(within(sample, "error", "message")),
        ),
    }
    return to_trace(_read(sample), annotations, options)


def _read(sample: dict[str, Any]) -> list[Message]:
    attached = mapping(sample.get("attachments"))
    items = dicts(_resolved(sample.get("messages"), attached) if attached else sample.get("messages"), "messages")
    messages: list[Message] = []
    for place, item in enumerate(items):
        made = chat_message(item, place)
        if made.role == "assistant":
            made.model = text(item.get("model"))
        elif made.role == "tool":
            made.results[0].name = text(item.get("function"))
            made.results[0].error = text(within(item, "error", "message"))
        messages.append(made)
    if not messages:
        messages.append(Message("user", sample.get("input")))
    _measure(messages, sample)
    return messages


def _measure(messages: list[Message], sample: dict[str, Any]) -> None:
    """What the log says of the whole sample, with its last message."""
    output = mapping(sample.get("output"))
    last = messages[-1]
    used = [usage for usage in map(mapping, mapping(sample.get("model_usage")).values()) if usage]
    last.usage = usage_of(
        used[0] if len(used) == 1 else output.get("usage"),
        input_tokens="input_tokens",
        output_tokens="output_tokens",
        cached_tokens="input_tokens_cache_read",
        reasoning_tokens="reasoning_tokens",
    )
    choices = listed(output.get("choices"))
    last.finish_reason = text(within(choices[0], "stop_reason")) if choices else None
    seconds = number(first(sample, "working_time", "total_time"))
    last.latency_ms = None if seconds is None else seconds * 1000


def _resolved(value: Any, attached: dict[str, Any]) -> Any:
    """The value with long texts put back where the log only refers to them."""
    if isinstance(value, str):
        return attached.get(value.removeprefix(_ATTACHED), value) if value.startswith(_ATTACHED) else value
    if isinstance(value, dict):
        return {key: _resolved(item, attached) for key, item in mapping(value).items()}
    return [_resolved(item, attached) for item in listed(value)] if isinstance(value, list) else value
