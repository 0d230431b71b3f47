"""Session logs of coding agents: Claude Code, and Codex."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers import _codex
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._lenient import batch, first, known, listed, mapping, part_type, text
from giskard.checks.importers._messages import Call, Message, Result
from giskard.checks.importers.anthropic import usage_with_cache
from giskard.checks.importers.base import BadRecord, Format, Reading, Record

__all__ = ["ClaudeCode", "Codex"]

_SPOKEN = ("user", "assistant")
# Lines that are about the session and not part of the conversation.
_ABOUT = {
    "system",
    "summary",
    "progress",
    "queue-operation",
    "file-history-snapshot",
    "custom-title",
    "ai-title",
    "tag",
    "agent-name",
    "last-prompt",
    "permission-mode",
    "attachment",
    "pr-link",
    "mode",
}


class ClaudeCode(Format):
    """Sessions of Claude Code as it logs them, one JSON object a line."""

    name = "claude_code"

    def detect(self, value: Any) -> bool:
        """Whether it is a line of such a log."""
        line = mapping(value)
        kind = line.get("type")
        if kind in _SPOKEN:
            return isinstance(line.get("message"), dict) and ("parentUuid" in line or "sessionId" in line)
        if kind == "summary":
            return "leafUuid" in line
        return kind == "file-history-snapshot" or (isinstance(kind, str) and kind in _ABOUT and "sessionId" in line)

    def read(self, records: Iterator[Record], reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The trace of each session of each file, and with ``sidechains`` those of its side conversations."""
        sessions: dict[Any, _Session] = {}
        path: str | None = None
        for record in records:
            if record.path != path:
                yield from _finished(sessions, reading)
                sessions, path = {}, record.path
            for line in map(mapping, batch(record.value) or [None]):
                if not self.detect(line):
                    reason = "expected a line of a session, with 'type', 'sessionId' and 'message'"
                    reading.skip(record, self.name, reason)
                    continue
                key = line.get("sessionId")
                kind = line["type"]
                # These lines name no session: they stand in its file.
                shared = kind in ("summary", "file-history-snapshot") and key is None
                session = next(iter(sessions.values()), None) if shared else None
                if session is None:
                    session = sessions.setdefault(key if isinstance(key, str) else None, _Session(key, record))
                session.take(line, record)
        yield from _finished(sessions, reading)


class Codex(Format):
    """Sessions of Codex as it logs them ("rollouts"), one JSON object a line."""

    name = "codex"

    def detect(self, value: Any) -> bool:
        """Whether it is a line of such a log."""
        return _codex.is_line(value)

    def read(self, records: Iterator[Record], reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The trace of each file."""
        rollout: _codex.Rollout | None = None
        for record in records:
            if rollout is None or rollout.starts_another(record):
                yield from self._made(rollout, reading)
                rollout = _codex.Rollout(record)
            rollout.take(record)
        yield from self._made(rollout, reading)

    def _made(self, rollout: _codex.Rollout | None, reading: Reading) -> Iterator[Trace[Any, Any]]:
        if rollout is None:
            return
        messages = rollout.messages()
        if messages:
            source = reading.source(rollout.record, self.name)
            yield to_trace(messages, {"source": source, **rollout.annotations}, reading.options)
        else:
            reading.skip(rollout.record, self.name, "the session holds no message")


class _Session:
    """The lines of a session."""

    def __init__(self, key: Any, record: Record) -> None:
        self.key = text(key)
        self.record = record
        self.main: list[tuple[dict[str, Any], Record]] = []
        self.sides: list[tuple[dict[str, Any], Record]] = []
        self.summary: str | None = None
        self.facts: dict[str, Any] = {}

    def take(self, line: dict[str, Any], record: Record) -> None:
        """The next line."""
        if line["type"] == "summary":
            self.summary = text(line.get("summary")) or self.summary
        for key, name in (("cwd", "cwd"), ("gitBranch", "git_branch"), ("version", "version")):
            if found := text(line.get(key)):
                self.facts.setdefault(name, found)
        (self.sides if line.get("isSidechain") is True else self.main).append((line, record))


def _finished(sessions: dict[Any, _Session], reading: Reading) -> Iterator[Trace[Any, Any]]:
    for session in sessions.values():
        yield from _traces(session, reading)


def _traces(session: _Session, reading: Reading) -> Iterator[Trace[Any, Any]]:
    threads = [(session.main, None)] if any(_is_spoken(line) for line, _ in session.main) else []
    if reading.options.sidechains:
        threads += [(lines, agent) for agent, lines in _side_threads(session.sides).items()]
    elif session.sides and threads:
        session.facts["sidechain_lines"] = len(session.sides)
    elif session.sides:
        reason = f"a side conversation of {len(session.sides)} lines; it is read with sidechains=True"
        reading.skip(session.sides[0][1], ClaudeCode.name, reason)
        return
    if not threads:
        reading.skip(session.record, ClaudeCode.name, "the session holds no message of a user or an assistant")
    for lines, agent in threads:
        source = reading.source(lines[0][1], ClaudeCode.name)
        kept, gone = _in_order([line for line, _ in lines])
        annotations = {
            "source": source,
            **session.facts,
            **known(conversation_id=session.key, summary=session.summary, sidechain=agent, taken_back=gone or None),
        }
        try:
            yield to_trace(_read(kept), annotations, reading.options)
        except BadRecord as problem:
            reading.skip(lines[0][1], ClaudeCode.name, str(problem))


def _is_spoken(line: dict[str, Any]) -> bool:
    return line["type"] in _SPOKEN and isinstance(line.get("message"), dict)


def _side_threads(sides: list[tuple[dict[str, Any], Record]]) -> dict[str, list[tuple[dict[str, Any], Record]]]:
    """The side conversations, by the agent that leads them or by the line that each begins with."""
    threads: dict[str, list[tuple[dict[str, Any], Record]]] = {}
    roots: dict[Any, str] = {}
    for line, record in sides:
        name = text(line.get("agentId")) or _known_root(line, roots)
        if isinstance(line.get("uuid"), str):
            roots[line["uuid"]] = name
        threads.setdefault(name, []).append((line, record))
    return {name: lines for name, lines in threads.items() if any(_is_spoken(line) for line, _ in lines)}


def _known_root(line: dict[str, Any], roots: dict[Any, str]) -> str:
    parent = line.get("parentUuid")
    found = roots.get(parent) if isinstance(parent, str) else None
    return found or str(line.get("uuid"))


def _in_order(lines: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The lines of a conversation, each after its parent, and how many were left out: what the user took back."""
    gone = _taken_back(lines)
    spoken = [line for line in lines if _is_spoken(line) and text(line.get("uuid")) not in gone]
    there = {line["uuid"] for line in spoken if isinstance(line.get("uuid"), str)}
    ordered: list[dict[str, Any]] = []
    placed: set[str] = set()
    held: dict[str, list[dict[str, Any]]] = {}  # lines that stand before their parents
    for line in spoken:
        parent = line.get("parentUuid")
        if isinstance(parent, str) and parent in there and parent not in placed:
            held.setdefault(parent, []).append(line)
            continue
        waiting = deque([line])
        while waiting:
            following = waiting.popleft()
            ordered.append(following)
            if isinstance(following.get("uuid"), str):
                placed.add(following["uuid"])
                waiting += held.pop(following["uuid"], [])
    # What is left waits for itself: it keeps the order of the file.
    ordered += [line for lines_held in held.values() for line in lines_held]
    return ordered, sum(_is_spoken(line) for line in lines) - len(spoken)


def _taken_back(lines: list[dict[str, Any]]) -> set[str]:
    """The lines of branches that were left: of prompts with one parent, only the last one counts."""
    children: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        parent = line.get("parentUuid")
        if isinstance(parent, str) and isinstance(line.get("uuid"), str):
            children.setdefault(parent, []).append(line)
    left: list[str] = []
    for siblings in children.values():
        prompts = [line["uuid"] for line in siblings if _is_prompt(line)]
        left += prompts[:-1]
    gone: set[str] = set()
    while left:
        uuid = left.pop()
        if uuid not in gone:
            gone.add(uuid)
            left += [line["uuid"] for line in children.get(uuid, [])]
    return gone


def _is_prompt(line: dict[str, Any]) -> bool:
    """Whether a person wrote it."""
    if line.get("type") != "user" or line.get("isMeta") is True or line.get("isCompactSummary") is True:
        return False
    content = mapping(line.get("message")).get("content")
    return bool(content) and not any(part_type(part) == "tool_result" for part in listed(content))


def _read(lines: list[dict[str, Any]]) -> Iterator[Message]:
    seen: dict[str, dict[str, Any]] = {}  # the last usage of each answer of the model
    for line in lines:
        message = mapping(line["message"])
        if (answer_id := text(message.get("id"))) is not None and isinstance(message.get("usage"), dict):
            seen[answer_id] = message["usage"]
    blocks: set[str] = set()
    for index, line in enumerate(lines):
        message = mapping(line["message"])
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)
        # An answer that is streamed is logged in pieces with one id, and some pieces more than once.
        answer_id = text(message.get("id"))
        if answer_id is not None:
            parts = [part for part in parts if not _repeated(answer_id, part, blocks)]
        made = _message(line, message, parts)
        if made is not None:
            made.index, made.raw = index, line
            if answer_id in seen:
                made.usage = usage_with_cache(
                    seen.pop(answer_id), "cache_creation_input_tokens", "cache_read_input_tokens"
                )
            yield made


def _repeated(answer_id: str, part: Any, blocks: set[str]) -> bool:
    key = f"{answer_id} {mapping(part).get('id') or part!r}"
    if key in blocks:
        return True
    blocks.add(key)
    return False


def _message(line: dict[str, Any], message: dict[str, Any], parts: list[Any]) -> Message | None:
    """The message of a line; None when nothing is left of it."""
    made = Message("user" if line["type"] == "user" else "assistant", timestamp=text(line.get("timestamp")))
    said: list[Any] = []
    for part in parts:
        kind = part_type(part)
        if kind in ("tool_use", "server_tool_use"):
            made.calls.append(Call(text(part.get("name")) or "", part.get("input"), id=text(part.get("id"))))
        elif kind is not None and kind.endswith("tool_result"):
            made.results.append(_result(part, line))
        elif kind == "thinking":
            made.reasoning += [part["thinking"]] if text(part.get("thinking")) else []
        elif kind != "redacted_thinking":
            said.append(part)
    if made.role == "assistant":
        made.model, made.finish_reason = text(message.get("model")), text(message.get("stop_reason"))
        made.content = said or None
        if line.get("isApiErrorMessage") is True:
            made.metadata = {"api_error": True}
        return made if parts else None
    if said and (line.get("isMeta") is True or line.get("isCompactSummary") is True or _is_printed(said)):
        # Not written by the user: what commands printed, reminders, the summary of what went before.
        kind = "compact_summary" if line.get("isCompactSummary") is True else "meta"
        made.role, made.metadata, said = "tool", {"notes": [{"kind": kind, "content": said}]}, []
    elif made.results and not said:
        made.role = "tool"
    made.content = said or None
    return made


def _is_printed(said: list[Any]) -> bool:
    """Whether it is what a command of the user's printed."""
    words = mapping(said[0]).get("text")
    return isinstance(words, str) and words.startswith(("<local-command-stdout>", "<bash-stdout>"))


def _result(part: dict[str, Any], line: dict[str, Any]) -> Result:
    content = part.get("content")
    if content is None or content in ("", []):
        # What the agent's own program kept of it: files, exit codes, both outputs of a command.
        content = first(line, "toolUseResult")
    return Result(content, id=text(part.get("tool_use_id")), error=part.get("is_error") is True or None)
