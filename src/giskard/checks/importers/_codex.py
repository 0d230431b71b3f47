"""The lines of a session of Codex."""

from __future__ import annotations

from typing import Any

from giskard.checks.importers._contents import plain
from giskard.checks.importers._json import json_or_text
from giskard.checks.importers._lenient import first, known, listed, mapping, part_type, text, usage_of, within
from giskard.checks.importers._messages import Call, Message, Result, Role
from giskard.checks.importers.base import Record

__all__ = ["Rollout", "is_line"]

_KINDS = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_ROLES: dict[Any, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
# What the program itself says in the name of the user.
_CONTEXTS = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<INSTRUCTIONS>")


def is_line(value: Any) -> bool:
    """Whether it is a line of such a session."""
    line = mapping(value)
    kind = line.get("type")
    return isinstance(kind, str) and kind in _KINDS and isinstance(line.get("payload"), dict)


class Rollout:
    """A session, line by line.

    Parameters
    ----------
    record
        The first line.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.annotations: dict[str, Any] = {}
        self._made: list[Message] = []
        self._model: str | None = None
        self._reasoned: list[str] = []  # from events, for sessions that keep the reasoning itself encrypted
        self._index = 0
        self._events: dict[str, int] = {}

    def starts_another(self, record: Record) -> bool:
        """Whether a line is the first one of another session."""
        line = mapping(record.value)
        other_id = within(line, "payload", "id") if line.get("type") == "session_meta" else None
        return record.path != self.record.path or (
            other_id is not None and self.annotations.get("conversation_id") not in (None, other_id)
        )

    def take(self, record: Record) -> None:
        """The next line."""
        line = mapping(record.value)
        kind, payload, time = line.get("type"), mapping(line.get("payload")), text(line.get("timestamp"))
        if kind == "session_meta":
            prompt = first(payload, "base_instructions", "instructions")
            self.annotations |= known(
                conversation_id=text(payload.get("id")),
                cwd=text(payload.get("cwd")),
                version=text(payload.get("cli_version")),
                git_branch=text(within(payload, "git", "branch")),
                system_prompt=text(prompt) or text(within(prompt, "text")),
            )
        elif kind == "turn_context":
            self._model = text(payload.get("model")) or self._model
        elif kind == "response_item":
            made = self._item(payload)
            if made is not None:
                made.timestamp, made.raw, made.index = time, line, self._index
                self._made.append(made)
                self._index += 1
        elif kind == "compacted":
            note = {"kind": "compact_summary", "content": payload.get("message")}
            self._made.append(Message("tool", metadata={"notes": [note]}, index=self._index))
        else:
            self._event(payload)

    def messages(self) -> list[Message]:
        """The messages of the session."""
        spoken = any(message.role != "system" and (message.content or message.calls) for message in self._made)
        return self._made if spoken else []

    def _event(self, payload: dict[str, Any]) -> None:
        """What an event adds to the items: how many tokens were used."""
        if payload.get("type") != "token_count":
            return
        usage = usage_of(
            within(payload, "info", "last_token_usage"),
            input_tokens="input_tokens",
            cached_tokens="cached_input_tokens",
            output_tokens="output_tokens",
            reasoning_tokens="reasoning_output_tokens",
        )
        total = within(payload, "info", "total_token_usage", "total_tokens")
        if usage is None or (total is not None and total == self._events.get("total")):
            return  # the same count once more
        if isinstance(total, int):
            self._events["total"] = total
        answered = next((message for message in reversed(self._made) if message.role == "assistant"), None)
        if answered is not None:
            before = answered.usage or {}
            answered.usage = {key: before.get(key, 0) + count for key, count in usage.items()}

    def _item(self, item: dict[str, Any]) -> Message | None:
        kind, call_id = item.get("type"), text(item.get("call_id"))
        name = text(item.get("name")) or ""
        if kind == "message":
            return self._spoken(item)
        if kind == "reasoning":
            parts = [*listed(item.get("summary")), *listed(item.get("content"))]
            return Message("tool", reasoning=[said for part in parts if (said := text(within(part, "text")))])
        if kind == "function_call":
            return self._called(Call(name, item.get("arguments"), id=call_id))
        if kind == "custom_tool_call":
            return self._called(Call(name, {"input": item.get("input")}, id=call_id))
        if kind == "local_shell_call":
            return self._called(Call("local_shell", mapping(item.get("action")), id=call_id))
        if kind in ("function_call_output", "custom_tool_call_output"):
            return Message("tool", results=[_result(item.get("output"), call_id)])
        if kind == "web_search_call":
            return self._called(Call("web_search", mapping(item.get("action")), id=call_id))
        if kind == "ghost_snapshot":  # of the repository
            return None
        return Message("tool", metadata={"notes": [{"kind": str(kind), "content": item}]})

    def _called(self, call: Call) -> Message:
        return Message("assistant", calls=[call], model=self._model)

    def _spoken(self, item: dict[str, Any]) -> Message | None:
        role = _ROLES.get(item["role"]) if isinstance(item.get("role"), str) else None
        content = plain(item.get("content"), "" if role == "assistant" else "\n\n")
        if role is None:
            return None
        if role == "user" and isinstance(content, str) and content.lstrip().startswith(_CONTEXTS):
            return Message("tool", metadata={"notes": [{"kind": "meta", "content": content}]})
        return Message(role, content, model=self._model if role == "assistant" else None)


def _result(output: Any, call_id: str | None) -> Result:
    """What a tool gave back: a text, or JSON with the output and the exit code beside it."""
    found = json_or_text(output)
    exit_code = within(found, "metadata", "exit_code")
    failed = (isinstance(exit_code, int) and exit_code != 0) or mapping(found).get("success") is False
    content = first(mapping(found), "output", "content") if part_type(found) is None else None
    return Result(output if content is None else content, id=call_id, error=failed or None)
