"""A real HTTP server on loopback that speaks as OpenAI's API and Anthropic's do, and misbehaves when told to.

    with ModelServer() as server:
        server.script(rate_limited(1), text("hello"))
        ...  # a client of server.url
        assert server.requests[0].body["model"] == "gpt-4o-mini"

Replies are taken in the order in which requests arrive; when the script is at its end, or empty, `server.default`
answers: a verdict that fits the schema that is asked for, else a text.  Nothing here sleeps so that something else
can happen: what has to wait for a request waits for it (`server.wait_for`), and a reply that is to come late is held
until it is let go (`held`, `server.release`).
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from typing import Any

USAGE = {"prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520}
VERDICT = {"passed": True, "reason": "The reply conforms to the rule."}


@dataclass(frozen=True)
class Received:
    """A request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    time: float
    connection: int

    @property
    def texts(self) -> list[str]:
        """The texts of its messages."""
        return [message["content"] for message in self.body["messages"]]


@dataclass(frozen=True)
class Reply:
    """What is sent back, and how.

    Parameters
    ----------
    content
        The body: bytes, JSON data, or a function of the request that gives either.
    cut
        Bytes of the body after which the connection is dropped; -1 drops it before the head.
    pieces
        Into how many pieces the body is cut; each is sent `pause` seconds after the one before.
    is_held
        Whether it waits for `ModelServer.release`.
    """

    content: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    cut: int | None = None
    pieces: int = 1
    pause: float = 0.0
    is_held: bool = False


Behaviour = Reply | Callable[[Received], Reply]


# --- what models answer ------------------------------------------------------------------


def completion(message: dict[str, Any], finish_reason: str | None = "stop", usage: Any = USAGE) -> Behaviour:
    """A chat completion with this message; `usage` None is left out."""

    def answer(request: Received) -> Reply:
        data: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": request.body["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish_reason,
                    "message": {"role": "assistant", "content": None} | message,
                }
            ],
        }
        return Reply(data if usage is None else data | {"usage": usage})

    return answer


def text(content: str, *, finish_reason: str = "stop", usage: Any = USAGE) -> Behaviour:
    """A chat completion with this text."""
    return completion({"content": content}, finish_reason, usage)


def verdict(**values: Any) -> Behaviour:
    """A text that fits the JSON schema that is asked for, with these values where it has such fields."""

    def answer(request: Received) -> Reply:
        schema = ((request.body.get("response_format") or {}).get("json_schema") or {}).get("schema")
        data = {**VERDICT, **values} if schema is None else fill(schema, {**VERDICT, **values})
        return answer_of(text(json.dumps(data)), request)

    return answer


def fill(schema: dict[str, Any], values: dict[str, Any], name: str = "", defs: dict[str, Any] | None = None) -> Any:
    """A value that fits `schema`, with these values for the fields of these names."""
    defs = schema.get("$defs", {}) if defs is None else defs
    if name in values:
        return values[name]
    if "$ref" in schema:
        return fill(defs[schema["$ref"].rpartition("/")[2]], values, "", defs)
    if "anyOf" in schema:
        return fill(schema["anyOf"][0], values, "", defs)
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        return {key: fill(value, values, key, defs) for key, value in schema["properties"].items()}
    return {"array": [], "boolean": True, "integer": 1, "number": 1.0, "null": None, "object": {}}.get(
        schema.get("type", ""), "ok"
    )


def refusal(words: str = "I'm sorry, I cannot help with that.") -> Behaviour:
    """A refusal in the field that structured output has for it."""
    return completion({"refusal": words})


def content_filter(words: str | None = None) -> Behaviour:
    """An answer that a content filter ended."""
    return completion({"content": words}, "content_filter")


def tool_calls(words: str | None = None, name: str = "look_up") -> Behaviour:
    """An answer that calls a tool which nobody offered, with or without a text."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": '{"q": 1}'}}
    return completion({"content": words, "tool_calls": [call]}, "tool_calls" if words is None else "stop")


def stream(*words: str, usage: Any = USAGE) -> Behaviour:
    """A chat completion as server-sent events, a chunk per word, whether it was asked for or not."""

    def answer(request: Received) -> Reply:
        base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": request.body["model"]}
        deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
        deltas += [({"content": word}, None) for word in words]
        chunks: list[Any] = [
            base | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            for delta, reason in [*deltas, ({}, "stop")]
        ]
        if usage is not None:
            chunks.append(base | {"choices": [], "usage": usage})
        return events([*map(json.dumps, chunks), "[DONE]"])

    return answer


def events(data: Iterable[str], names: Iterable[str] | None = None) -> Reply:
    """Server-sent events."""
    lines = [f"data: {item}\n\n" for item in data]
    if names is not None:
        lines = [f"event: {name}\n{line}" for name, line in zip(names, lines, strict=True)]
    return Reply("".join(lines).encode(), content_type="text/event-stream", pieces=len(lines))


def embeddings(vectors: Any = None, *, usage: Any = None) -> Behaviour:
    """The vectors of the texts: of a function of each text, in a list, or two numbers that depend on it."""

    def answer(request: Received) -> Reply:
        given = request.body["input"]
        texts = [given] if isinstance(given, str) else given
        rows = vectors if isinstance(vectors, list) else [(vectors or letters)(item) for item in texts]
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        tokens = usage or {"prompt_tokens": 5 * len(texts), "total_tokens": 5 * len(texts)}
        return Reply({"object": "list", "model": request.body["model"], "data": data, "usage": tokens})

    return answer


def letters(word: str) -> list[float]:
    """A vector of a text: its length, and how many vowels it has."""
    return [float(len(word)), float(sum(letter in "aeiou" for letter in word))]


def claude(words: str, *, stop_reason: str = "end_turn") -> Behaviour:
    """An answer of Anthropic's messages API, as a stream when one is asked for."""

    def answer(request: Received) -> Reply:
        usage = {"input_tokens": 500, "output_tokens": 20}
        head = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": request.body["model"],
            "stop_sequence": None,
        }
        if not request.body.get("stream"):
            block = {"type": "text", "text": words}
            return Reply(head | {"content": [block], "stop_reason": stop_reason, "usage": usage})
        parts: list[dict[str, Any]] = [
            {
                "type": "message_start",
                "message": head | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}},
            },
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop_reason, "stop_sequence": None},
                "usage": {"output_tokens": 20},
            },
            {"type": "message_stop"},
        ]
        return events(map(json.dumps, parts), [part["type"] for part in parts])

    return answer


# --- what goes wrong ---------------------------------------------------------------------


def error(
    status: int,
    message: str = "something went wrong",
    *,
    code: str | None = None,
    kind: str | None = None,
    headers: dict[str, str] | None = None,
) -> Reply:
    """An error in the form that OpenAI gives it."""
    return Reply({"error": {"message": message, "type": kind, "code": code}}, status, headers or {})


def rate_limited(after: float | str | None = None) -> Reply:
    """A 429; `after` is its Retry-After, which `date_in` makes a date of."""
    headers = {} if after is None else {"Retry-After": str(after)}
    return error(429, "Rate limit reached for requests", code="rate_limit_exceeded", headers=headers)


def date_in(seconds: float) -> str:
    """The HTTP date some seconds from now, or ago."""
    return formatdate(time.time() + seconds, usegmt=True)


def out_of_credit() -> Reply:
    """The 429 that no waiting helps against."""
    return error(429, "You exceeded your current quota, check your plan.", code="insufficient_quota")


def page(status: int = 502) -> Reply:
    """The page of a proxy, where JSON was to be expected."""
    content = b"<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"
    return Reply(content, status, content_type="text/html")


def malformed() -> Reply:
    """JSON that is cut off, in a response that is complete."""
    return Reply(b'{"id": "chatcmpl-1", "choices": [{"index": 0, "mess')


def empty(status: int = 200) -> Reply:
    """No body at all."""
    return Reply(b"", status)


def dropped(at: int = 40, behaviour: Behaviour | None = None) -> Behaviour:
    """The connection ends `at` bytes into the body; with -1 before the head."""
    return altered(behaviour or text("never read to its end"), cut=at)


def drip(pause: float, pieces: int = 20, behaviour: Behaviour | None = None) -> Behaviour:
    """The body comes in pieces, one every `pause` seconds."""
    return altered(behaviour or text("slowly, slowly"), pause=pause, pieces=pieces)


def held(behaviour: Behaviour | None = None) -> Behaviour:
    """Nothing comes until `ModelServer.release` is called."""
    return altered(behaviour or verdict(), is_held=True)


def altered(behaviour: Behaviour, **changes: Any) -> Behaviour:
    """A behaviour with other ways of sending what it sends."""
    return lambda request: replace(answer_of(behaviour, request), **changes)


def answer_of(behaviour: Behaviour, request: Received) -> Reply:
    """What a behaviour makes of a request."""
    return behaviour if isinstance(behaviour, Reply) else behaviour(request)


# --- the server --------------------------------------------------------------------------


class ModelServer:
    """The server; a context manager that runs it in a thread of its own.

    Attributes
    ----------
    url
        What clients of OpenAI's API take as their base URL; `root` is the same without ``/v1``.
    requests
        What came in, in order.
    max_in_flight
        The most requests that were being answered at one time.
    default
        Answers when the script is at its end.
    """

    def __init__(self, default: Behaviour | None = None) -> None:
        self.default = default
        self.requests: list[Received] = []
        self.connections = 0
        self.in_flight = 0
        self.max_in_flight = 0
        self.root = ""
        self._script: deque[Behaviour] = deque()
        self._arrivals = threading.Condition()
        self._started = threading.Event()

    def script(self, *behaviours: Behaviour) -> ModelServer:
        """Answer the next requests with these, in order."""
        self._script.extend(behaviours)
        return self

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def wait_for(self, count: int, seconds: float = 20.0) -> None:
        """Return when `count` requests came in."""
        with self._arrivals:
            assert self._arrivals.wait_for(lambda: len(self.requests) >= count, seconds), self.requests

    async def arrival(self, count: int) -> None:
        """As `wait_for`, in a loop that goes on meanwhile."""
        await asyncio.to_thread(self.wait_for, count)

    def release(self) -> None:
        """Let go of the replies that are held, and of those that would be."""
        self._loop.call_soon_threadsafe(self._let_go.set)

    def reset(self) -> None:
        """Forget what came in, and the script."""
        self.requests.clear()
        self._script.clear()
        self.max_in_flight = self.connections = 0

    def __enter__(self) -> ModelServer:
        self._thread = threading.Thread(target=asyncio.run, args=[self._serve()], name="model-server", daemon=True)
        self._thread.start()
        assert self._started.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        self._loop, self._stop, self._let_go = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0, limit=1 << 26, backlog=512)
        self.root = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        number = self.connections
        try:
            while request := await self._read(reader, number):
                self.in_flight += 1
                self.max_in_flight = max(self.max_in_flight, self.in_flight)
                try:
                    goes_on = await self._answer(request, writer)
                finally:
                    self.in_flight -= 1
                if not goes_on:
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client is gone
        except asyncio.CancelledError:  # the server ends
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, connection: int) -> Received | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.rstrip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        body = json.loads(content) if content else None
        request = Received(method, path, headers, body, time.monotonic(), connection)
        with self._arrivals:
            self.requests.append(request)
            self._arrivals.notify_all()
        return request

    async def _answer(self, request: Received, writer: asyncio.StreamWriter) -> bool:
        reply = answer_of(self._script.popleft() if self._script else self.default or usual(request), request)
        content = reply.content if isinstance(reply.content, bytes) else json.dumps(reply.content).encode()
        if reply.is_held:
            await self._let_go.wait()
        if reply.cut == -1:
            return False
        headers = {"Content-Type": reply.content_type, "Content-Length": str(len(content))} | reply.headers
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {reply.status} Answer\r\n{lines}\r\n".encode("latin-1"))
        size = max(1, -(-len(content) // reply.pieces))
        for start in range(0, len(content) if reply.cut is None else reply.cut, size):
            end = start + size if reply.cut is None else min(start + size, reply.cut)
            writer.write(content[start:end])
            await writer.drain()
            if reply.pause:
                await asyncio.sleep(reply.pause)
        await writer.drain()
        return reply.cut is None


def usual(request: Received) -> Behaviour:
    """What answers when nothing is scripted."""
    path = request.path.partition("?")[0]
    if path.endswith("/embeddings"):
        return embeddings()
    if path.endswith("/messages"):
        return claude(json.dumps(VERDICT))
    if path.endswith("/chat/completions"):
        return verdict() if request.body.get("response_format") else text("Hello from the test server.")
    return error(404, f"there is nothing at {path}")
