"""Messages of the Vercel AI SDK: those of the user interface, and those for models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._lenient import (
    dicts,
    first,
    known,
    listed,
    mapping,
    moment,
    number,
    part_type,
    text,
    usage_of,
    within,
)
from giskard.checks.importers._messages import Call, Message, Result, Role
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["Vercel"]

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}

_UI_TYPES = frozenset(
    [
        "text",
        "reasoning",
        "dynamic-tool",
        "tool-invocation",
        "step-start",
        "source-url",
        "source-document",
        "source",
        "file",
    ]
)
_FAILED = {"output-error", "output-denied"}
_DONE = {"output-available", "result"} | _FAILED


class Vercel(RecordFormat):
    """Lists of UI messages, of today's form and the one before it, and of model messages with tool parts."""

    name = "vercel"
    aliases = ("vercel_ai_sdk",)

    def detect(self, value: Any) -> bool:
        """Whether it is a list of such messages, or holds one as a stored chat does."""
        messages = listed(mapping(value).get("messages") if isinstance(value, dict) else value)[:20]
        if not all(mapping(message).get("role") in tuple(_ROLES) for message in messages):
            return False
        return _are_ui(messages) or any(_has_tool_parts(message) for message in messages)

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """The conversation of a list of messages."""
        chat = mapping(value)
        messages = dicts(chat.get("messages") if chat else value, "the messages")
        annotations = known(source=source, conversation_id=text(first(chat, "id", "chatId")), title=chat.get("title"))
        return to_trace(_read(messages), annotations, options)


def _are_ui(messages: list[Any]) -> bool:
    with_parts = [message for message in messages if "parts" in message]
    if not with_parts or any("kind" in message or "messageId" in message for message in with_parts):
        return False
    # Some messages of a stored chat may be of the older form, which has its text in `content` only.
    return all(isinstance(message["parts"], list) and all(map(_is_ui_part, message["parts"])) for message in with_parts)


def _is_ui_part(part: Any) -> bool:
    kind = part_type(part)
    return kind is not None and (kind in _UI_TYPES or kind.startswith(("tool-", "data-")))


def _has_tool_parts(message: Any) -> bool:
    parts = listed(mapping(message).get("content"))
    return any(part_type(part) in ("tool-call", "tool-result") and "toolCallId" in part for part in parts)


def _read(messages: list[dict[str, Any]]) -> Iterator[Message]:
    for index, message in enumerate(messages):
        name = message.get("role")
        role = _ROLES.get(name) if isinstance(name, str) else None
        if role is None:
            raise BadRecord(f"message {index}: expected the role user, assistant, system or tool, got {name!r}")
        parts = message.get("parts")
        if not isinstance(parts, list):
            content = message.get("content")
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)
        steps = _Steps(role)
        for part in map(mapping, listed(parts)):
            steps.take(part)
        if not any(step.calls for step in steps.made):
            for call in listed(message.get("toolInvocations")):
                steps.take({"type": "tool-invocation", "toolInvocation": call})
        yield from _finished(steps, message, index)


def _finished(steps: _Steps, message: dict[str, Any], index: int) -> Iterator[Message]:
    """The messages that a recorded one makes, the last of them with what is known of it."""
    about = mapping(message.get("metadata"))
    rest = {key: value for key, value in about.items() if key not in ("usage", "totalUsage", "model", "createdAt")}
    last = steps.made[-1]
    last.usage = usage_of(
        first(about, "usage", "totalUsage") or message.get("usage"),
        input_tokens=("inputTokens", "promptTokens"),
        output_tokens=("outputTokens", "completionTokens"),
        reasoning_tokens="reasoningTokens",
        cached_tokens="cachedInputTokens",
    )
    last.model = text(about.get("model"))
    last.latency_ms = number(rest.pop("latencyMs", None))
    last.timestamp = moment(first(message, "createdAt") or about.get("createdAt"))
    last.raw = message
    last.metadata = {
        **known(retrieved=steps.sources or None, data=steps.data or None),
        **({"message_metadata": [rest]} if rest else {}),
    }
    for step in steps.made:
        step.index = index
        yield step


class _Steps:
    """Cuts the parts of a message where the model was called again."""

    def __init__(self, role: Role) -> None:
        self.made = [Message(role, [])]
        self.sources: list[Any] = []
        self.data: list[Any] = []
        self._role: Role = role

    def take(self, part: dict[str, Any]) -> None:
        """The next part."""
        kind = part_type(part) or ""
        step = self.made[-1]
        if kind == "step-start":
            if step.content or step.calls or step.reasoning:
                self.made.append(Message(self._role, []))
        elif kind == "tool-result":
            step.results.append(_result(part))
        elif kind.startswith("tool-") or kind == "dynamic-tool":
            step.calls.append(_call(part, kind))
        elif kind in ("source", "source-url", "source-document"):
            self.sources.append(
                mapping(part.get("source")) or {key: value for key, value in part.items() if key != "type"}
            )
        elif kind.startswith("data-"):
            self.data.append(part)
        else:
            if step.calls:  # what comes after the results of tools is another answer of the model
                step = Message(self._role, [])
                self.made.append(step)
            if kind == "reasoning":
                said = text(first(part, "text", "reasoning"))
                step.reasoning += [said] if said else []
            else:
                step.content.append({"type": "text", "text": part.get("text")} if kind == "text" else part)


def _call(part: dict[str, Any], kind: str) -> Call:
    part = mapping(part.get("toolInvocation")) or part
    named = first(part, "toolName", "name")
    name = named if isinstance(named, str) else kind.removeprefix("tool-")
    call = Call(name, first(part, "input", "args", "rawInput"), id=text(part.get("toolCallId")))
    state = text(part.get("state"))
    if state in _DONE:
        call.has_result = True
        call.result = first(part, "output", "result")
        if state in _FAILED:
            refused = text(within(part, "approval", "reason"))
            call.error = text(part.get("errorText")) or refused or f"the call was left at {state!r}"
    return call


def _result(part: dict[str, Any]) -> Result:
    """A result in a message for models, whose output says what kind of value it is."""
    output = first(part, "output", "result")
    error: bool | None = part.get("isError") is True or None
    kind = part_type(output)
    if kind is not None and "value" in mapping(output):
        error = kind.startswith("error") or error
        output = mapping(output)["value"]
    return Result(output, id=text(part.get("toolCallId")), name=text(part.get("toolName")), error=error)
