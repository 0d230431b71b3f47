"""Message histories of pydantic-ai."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._json import json_or_text
from giskard.checks.importers._lenient import dicts, first, known, listed, mapping, number, text, usage_of, within
from giskard.checks.importers._messages import Call, Message, Result
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["PydanticAI"]

_OF_REQUESTS = {"system-prompt", "user-prompt", "tool-return", "retry-prompt", "instructions"}
_OF_RESPONSES = {"text", "tool-call", "thinking", "builtin-tool-call", "builtin-tool-return", "file"}
_HOLDERS = ("messages", "all_messages", "message_history", "new_messages")


class PydanticAI(RecordFormat):
    """Histories as ``all_messages_json()`` writes them, old ones without ``kind`` too."""

    name = "pydantic_ai"
    aliases = ("pydantic-ai",)

    def detect(self, value: Any) -> bool:
        """Whether it is a list of requests and responses with parts, or holds one."""
        if isinstance(value, dict):
            return any(self.detect(found) for key in _HOLDERS if isinstance(found := mapping(value).get(key), list))
        some = listed(value)[:3]
        return bool(some) and all(_kind(item) is not None and "role" not in item for item in some)

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """The conversation of a history."""
        messages = dicts(first(mapping(value), *_HOLDERS) if isinstance(value, dict) else value, "the messages")
        for place, message in enumerate(messages):
            if _kind(message) is None:
                raise BadRecord(f"message {place}: expected a request or a response with parts, got {message!r:.80}")
        conversation = next((found for message in messages if (found := text(message.get("conversation_id")))), None)
        run = next((found for message in messages if (found := text(message.get("run_id")))), None)
        annotations = known(source=source, conversation_id=conversation, run_id=run)
        return to_trace(_read(messages), annotations, options)


def _kind(item: Any) -> str | None:
    """Whether a message is a request or a response; None when it is neither."""
    record = mapping(item)
    parts = record.get("parts")
    if not isinstance(parts, list):
        return None
    kinds = {kind for part in listed(parts) if isinstance(kind := mapping(part).get("part_kind"), str)}
    if parts and len(kinds) == 0:
        return None
    kind = record.get("kind")
    if kind in ("request", "response"):
        return kind
    if kind is None and kinds:
        return "request" if kinds <= _OF_REQUESTS else "response" if kinds <= _OF_RESPONSES else None
    return None


def _read(messages: list[dict[str, Any]]) -> Iterator[Message]:
    outputs: set[str] = set()  # the ids of the calls that stand for answers
    held: list[Message] = []  # answers, until the tools that were called beside them gave their results
    for index, message in enumerate(messages):
        if _kind(message) == "request":
            for made in _request(message, outputs, index):
                if made.role == "user":
                    yield from held
                    held = []
                yield made
            yield from held
            held = []
        else:
            response = _Response(message, outputs)
            yield response.message(index)
            held += [Message("assistant", answer, index=index) for answer in response.answers]
    yield from held


def _request(message: dict[str, Any], outputs: set[str], index: int) -> Iterator[Message]:
    yield Message("system", text(message.get("instructions")), index=index, raw=message)
    for part in map(mapping, listed(message.get("parts"))):
        kind, content = part.get("part_kind"), part.get("content")
        name, call_id = text(part.get("tool_name")), text(part.get("tool_call_id"))
        of_answer = call_id in outputs or _is_output(part)
        if kind in ("system-prompt", "instructions"):
            yield Message("system", content, index=index)
        elif kind == "user-prompt":
            yield Message("user", content, timestamp=text(part.get("timestamp")), index=index)
        elif kind == "tool-return":
            if not of_answer:  # else the framework only says that it took the answer
                failed = part.get("outcome") in ("failed", "denied", "interrupted")
                yield Message("tool", results=[Result(content, call_id, name, failed or None)], index=index)
        elif kind == "retry-prompt":
            retry = known(tool_name=name, tool_call_id=call_id, content=content)
            results = [] if of_answer or name is None else [Result(content, call_id, name, True)]
            yield Message("tool", results=results, metadata={"retries": [retry]}, index=index)
        else:
            raise BadRecord(f"message {index}: the part_kind {kind!r} is not known")


class _Response:
    """The parts of a response, sorted."""

    def __init__(self, message: dict[str, Any], outputs: set[str]) -> None:
        self.record = message
        self.said: list[Any] = []
        self.reasoning: list[str] = []
        self.calls: list[Call] = []
        self.answers: list[Any] = []
        for part in map(mapping, listed(message.get("parts"))):
            self._take(part, outputs)

    def _take(self, part: dict[str, Any], outputs: set[str]) -> None:
        kind, content = part.get("part_kind"), part.get("content")
        if kind == "text":
            self.said.append(content)
        elif kind == "thinking":
            self.reasoning += [content] if isinstance(content, str) and content else []
        elif kind == "tool-call" and _is_output(part):
            self.answers.append(json_or_text(part.get("args")))
            if call_id := text(part.get("tool_call_id")):
                outputs.add(call_id)
        elif kind in ("tool-call", "builtin-tool-call", "native-tool-call"):
            name = text(part.get("tool_name")) or ""
            self.calls.append(Call(name, part.get("args"), id=text(part.get("tool_call_id"))))
        elif kind in ("builtin-tool-return", "native-tool-return"):
            _serve(self.calls, part)
        else:  # a file, or what is still to come
            self.said.append({"type": kind, **{key: value for key, value in part.items() if key != "part_kind"}})

    def message(self, index: int) -> Message:
        """What was said and called, without the answers that are structured."""
        return Message(
            "assistant", self.said, calls=self.calls, reasoning=self.reasoning, index=index, **_about(self.record)
        )


def _about(message: dict[str, Any]) -> dict[str, Any]:
    """What is known of a response."""
    usage = usage_of(
        message.get("usage"),
        input_tokens=("input_tokens", "request_tokens"),
        output_tokens=("output_tokens", "response_tokens"),
        reasoning_tokens=("output_reasoning_tokens", "details.reasoning_tokens"),
        cached_tokens=("cache_read_tokens", "details.cached_tokens"),
    )
    return {
        "usage": {name: count for name, count in (usage or {}).items() if count} or None,  # 0 is written for "unknown"
        "model": text(message.get("model_name")),
        "finish_reason": text(message.get("finish_reason")),
        "timestamp": text(message.get("timestamp")),
        "cost_usd": number(within(message, "usage", "cost")),
        "raw": message,
    }


def _is_output(part: dict[str, Any]) -> bool:
    name = part.get("tool_name")
    named = isinstance(name, str) and (name == "final_result" or name.startswith("final_result_"))
    return named or part.get("tool_kind") == "output"


def _serve(calls: list[Call], part: dict[str, Any]) -> None:
    """Give the result of a tool that the provider ran to its call."""
    asked = text(part.get("tool_call_id"))
    for call in calls:
        if call.id == asked and not call.has_result:
            call.result, call.has_result = part.get("content"), True
            return
    name = text(part.get("tool_name")) or ""
    calls.append(Call(name, id=asked, result=part.get("content"), has_result=True))
