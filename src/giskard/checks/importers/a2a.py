"""Tasks of the Agent2Agent protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._contents import plain
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._lenient import dicts, known, listed, mapping, text, within
from giskard.checks.importers._messages import Message, Role
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["A2A"]

_ROLES: dict[Any, Role] = {"user": "user", "agent": "assistant", "role_user": "user", "role_agent": "assistant"}

# Where a task may stand: in a response of JSON-RPC, in one of the REST binding, or by itself.
_HOLDERS = (("result", "task"), ("result",), ("task",), ())
_UNFINISHED = {"submitted", "working", "unspecified"}


class A2A(RecordFormat):
    """Tasks as versions 1.0 and 0.3 of the protocol write them; a task is a conversation."""

    name = "a2a"

    def detect(self, value: Any) -> bool:
        """Whether it is a task, or the response that holds one, or a list of tasks under ``tasks``."""
        tasks = listed(mapping(value).get("tasks"))
        return _task(value) is not None or (bool(tasks) and _task(tasks[0]) is not None)

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Iterator[Trace[Any, Any]]:
        """The conversation of each task."""
        task = _task(value)
        tasks = [task] if task is not None else [_task(item) for item in listed(mapping(value).get("tasks"))]
        if not tasks or None in tasks:
            raise BadRecord("expected a task with 'status', 'contextId' and 'history' or 'artifacts'")
        for found in cast("list[dict[str, Any]]", tasks):
            yield _trace(found, source, options)


def _task(value: Any) -> dict[str, Any] | None:
    for path in _HOLDERS:
        found = mapping(within(value, *path))
        parts = "history" in found or "artifacts" in found or "contextId" in found or found.get("kind") == "task"
        if parts and isinstance(within(found, "status", "state"), str):
            return found
    return None


def _trace(task: dict[str, Any], source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
    state = task["status"]["state"].removeprefix("TASK_STATE_").lower().replace("_", "-")
    messages = [_message(item, place) for place, item in enumerate(dicts(task.get("history") or [], "history"))]
    last_words = mapping(task["status"].get("message"))
    seen = {text(mapping(message.raw).get("messageId")) for message in messages}
    if last_words and (text(last_words.get("messageId")) is None or last_words["messageId"] not in seen):
        messages.append(_message(last_words, len(messages)))
    artifacts = [mapping(item) for item in listed(task.get("artifacts"))]
    result = _result(artifacts, messages)
    if result is not None:
        messages.append(Message("assistant", result))
    if not messages:
        raise BadRecord("the task holds no message and no artifact")
    shown = [
        known(id=item.get("artifactId"), name=item.get("name"), content=_content(item.get("parts")))
        for item in artifacts
    ]
    messages[-1].finish_reason = state
    messages[-1].metadata = known(
        artifacts=shown or None,
        incomplete=True if state in _UNFINISHED else None,
        timestamp=text(within(task, "status", "timestamp")),
    )
    annotations = known(
        source=source,
        conversation_id=text(task.get("contextId")),
        task_id=text(task.get("id")),
        task_state=state,
        metadata=mapping(task.get("metadata")) or None,
    )
    return to_trace(messages, annotations, options, records_calls=False)


def _result(artifacts: list[dict[str, Any]], messages: list[Message]) -> Any:
    """What the task made, unless it was said already or is no more than data beside an answer."""
    parts = [part for item in artifacts for part in listed(item.get("parts"))]
    if not parts:
        return None
    content = _content(parts)
    answered = messages and messages[-1].role == "assistant" and messages[-1].content is not None
    if not answered:
        return content
    texts = _content([part for part in parts if isinstance(mapping(part).get("text"), str)])
    return None if texts is None or texts == messages[-1].content else content


def _message(item: dict[str, Any], place: int) -> Message:
    role = _ROLES.get(item["role"].lower()) if isinstance(item.get("role"), str) else None
    if role is None:
        raise BadRecord(f"message {place}: expected the role of a user or an agent, got {item.get('role')!r}")
    return Message(role, _content(item.get("parts")), raw=item)


def _content(parts: Any) -> Any:
    """A text when all parts are texts, the value of a single data part, else the parts."""
    found = [mapping(part) for part in listed(parts)]
    if len(found) == 1 and "data" in found[0]:
        data: Any = found[0]["data"]
        return mapping(data)["data"] if mapping(data).keys() == {"data"} else data  # some drafts wrap it once more
    texts = [part["text"] for part in found if isinstance(part.get("text"), str)]
    return plain(texts if len(texts) == len(found) else found, "\n")
