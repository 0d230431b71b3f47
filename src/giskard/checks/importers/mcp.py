"""Logs of the Model Context Protocol: what a server was asked to do, and what it answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._contents import plain
from giskard.checks.importers._lenient import batch, first, known, listed, mapping, moment, text, within
from giskard.checks.importers.base import Format, Reading, Record

__all__ = ["MCP"]

# What loggers wrap the messages in.
_ENVELOPES = ("msg", "message", "payload", "data", "rpc", "jsonrpc_message")
_TIMES = ("ts", "timestamp", "time", "@timestamp")
_SESSIONS = ("session", "sessionId", "session_id", "mcp-session-id", "Mcp-Session-Id")
_DIRECTIONS = ("dir", "direction")


@dataclass(slots=True)
class _Line:
    """A message of JSON-RPC, and what its logger says of it."""

    message: dict[str, Any]
    record: Record
    time: str | None
    direction: str | None


@dataclass(slots=True)
class _Request:
    """A request, and its answer once there is one."""

    line: _Line
    method: str
    answer: _Line | None = None


class MCP(Format):
    """Logs of JSON-RPC messages, bare or in an envelope: each ``tools/call`` is a turn, each session a trace."""

    name = "mcp"

    def detect(self, value: Any) -> bool:
        """Whether it is a message of JSON-RPC that is none of another protocol, or a batch of them."""
        found = [_unwrapped(item) for item in batch(value)[:5]]
        return bool(found) and all(message is not None and _is_ours(message) for message in found)

    def read(self, records: Iterator[Record], reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The trace of each session of each file."""
        sessions: dict[str | None, _Session] = {}
        path: str | None = None
        for record in records:
            if record.path != path:
                yield from _finished(sessions, reading)
                sessions, path = {}, record.path
            for item in batch(record.value) or [None]:
                message = _unwrapped(item)
                if message is None:
                    reading.skip(record, self.name, f"expected a message of JSON-RPC, got {type(item).__name__}")
                    continue
                outer = mapping(item)
                key = text(first(outer, *_SESSIONS)) or text(first(mapping(outer.get("headers")), *_SESSIONS))
                session = sessions.setdefault(key, _Session(key, record))
                time, direction = moment(first(outer, *_TIMES)), text(first(outer, *_DIRECTIONS))
                session.take(_Line(message, record, time, direction), reading)
        yield from _finished(sessions, reading)


def _unwrapped(value: Any) -> dict[str, Any] | None:
    outer = mapping(value)
    for message in (outer, *(mapping(outer.get(key)) for key in _ENVELOPES)):
        if message.get("jsonrpc") == "2.0" and ("method" in message or "id" in message):
            return message
    return None


def _is_ours(message: dict[str, Any]) -> bool:
    method = message.get("method")
    result = mapping(message.get("result"))
    if isinstance(method, str):  # tools/call, notifications/progress; A2A has message/send, tasks/get, or no slash
        return not method.startswith(("message/", "tasks/push", "agent/")) and ("/" in method or method in _WORDS)
    is_task = isinstance(within(result, "status", "state"), str) or result.get("kind") in ("task", "message")
    return ("result" in message or "error" in message) and not is_task


_WORDS = {"initialize", "initialized", "ping"}


class _Session:
    """The requests of a session, and their answers."""

    def __init__(self, key: str | None, record: Record) -> None:
        self.key = key
        self.record = record
        self.requests: list[_Request] = []
        self.waiting: dict[str, list[_Request]] = {}
        self.others: Counter[str] = Counter()

    def take(self, line: _Line, reading: Reading) -> None:
        """The next message."""
        message = line.message
        method, call_id = message.get("method"), message.get("id")
        if isinstance(method, str):
            if call_id is None:
                self.others[method] += 1
                return
            request = _Request(line, method)
            self.requests.append(request)
            self.waiting.setdefault(repr(call_id), []).append(request)
            return
        asked = self._asked(line)
        if asked is None:
            reading.skip(line.record, MCP.name, f"a response to id {call_id!r}, which no request before it has")
        else:
            asked.answer = line

    def _asked(self, line: _Line) -> _Request | None:
        """The request that a response answers: the last one with its id that fits, as ids are used again."""
        waiting = self.waiting.get(repr(line.message.get("id")), [])
        for request in reversed(waiting):
            if line.direction is not None and request.line.direction == line.direction:
                continue  # a server's own request has ids of its own
            if line.direction is None and not _fits(request.method, line.message):
                continue
            waiting.remove(request)
            return request
        return None

    def trace(self, reading: Reading) -> Trace[Any, Any] | None:
        """What was asked of the tools, and what came back."""
        turns: list[Interaction[Any, Any]] = []
        annotations: dict[str, Any] = {"source": reading.source(self.record, MCP.name)}
        if self.key is not None:
            annotations["conversation_id"] = self.key
        for request in self.requests:
            if request.method == "tools/call":
                turn = _turn(request, keep_raw=reading.options.keep_raw)
                if turn is None:
                    reading.skip(request.line.record, MCP.name, "a tools/call whose params have no name")
                else:
                    turns.append(turn)
                continue
            self.others[request.method] += 1
            result = mapping(request.answer.message.get("result")) if request.answer else {}
            if request.method == "tools/list" and isinstance(result.get("tools"), list):
                annotations["tools"] = result["tools"]
            elif request.method == "initialize":
                annotations |= known(server=result.get("serverInfo"), instructions=result.get("instructions"))
        if self.others:
            annotations["other_messages"] = dict(self.others)
        return Trace(interactions=turns, annotations=annotations) if turns else None


def _fits(method: str, message: dict[str, Any]) -> bool:
    """Whether a response may be one to `method`, as far as results tell."""
    result = mapping(message.get("result"))
    if "error" in message or not result:
        return True
    of_tool = isinstance(result.get("content"), list) or "structuredContent" in result or "toolResult" in result
    return of_tool == (method == "tools/call")


def _finished(sessions: dict[str | None, _Session], reading: Reading) -> Iterator[Trace[Any, Any]]:
    for session in sessions.values():
        trace = session.trace(reading)
        if trace is None:
            reading.skip(session.record, MCP.name, "the log holds no tools/call")
        else:
            yield trace


def _turn(request: _Request, *, keep_raw: bool) -> Interaction[Any, Any] | None:
    line = request.line
    params = mapping(line.message.get("params"))
    name = params.get("name")
    if not isinstance(name, str):
        return None
    arguments = mapping(params.get("arguments"))
    call: dict[str, Any] = {
        "id": str(line.message.get("id")),
        "name": name,
        "arguments": arguments,
        "result": None,
        "error": None,
        "message_index": 0,
    }
    metadata: dict[str, Any] = {"tool_calls": [call], **known(timestamp=line.time)}
    outputs: Any = None
    if request.answer is None:
        call["answered"] = False
        metadata["incomplete"] = True
    else:
        outputs, call["error"] = _outcome(request.answer.message)
        call["result"] = None if call["error"] is not None else outputs
        metadata |= known(latency_ms=_between(line.time, request.answer.time))
    if keep_raw:
        metadata["raw"] = [line.message, *([request.answer.message] if request.answer else [])]
    return Interaction(inputs={"tool": name, "arguments": arguments}, outputs=outputs, metadata=metadata)


def _outcome(message: dict[str, Any]) -> tuple[Any, str | None]:
    """What came back, and the text of the failure."""
    if "error" in message:
        failure = mapping(message["error"])
        return None, text(failure.get("message")) or f"error {failure.get('code')}"
    result = mapping(message.get("result"))
    structured = first(result, "structuredContent", "toolResult")
    value = plain(listed(result.get("content")), "\n") if structured is None else structured
    if result.get("isError") is True:
        said = plain(listed(result.get("content")), "\n")
        return value, said if isinstance(said, str) else "the tool failed; no text of it was recorded"
    return value, None


def _between(start: str | None, end: str | None) -> float | None:
    if start is None or end is None:
        return None
    try:
        passed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except (ValueError, TypeError):  # of an unknown form, or only one with a time zone
        return None
    milliseconds = passed.total_seconds() * 1000
    return round(milliseconds, 3) if milliseconds >= 0 else None
