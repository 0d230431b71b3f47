"""A raw HTTP server on loopback: each answer is the bytes that it is told to send, or what it does instead.

    with Server(json_reply({"answer": "hi"}), DROP) as server:
        ...  # ask server.url
        assert server.requests[0].json == {"inputs": "hello"}

Answers are taken in the order in which requests arrive; then `echo` answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

DROP = object()
"""The connection ends here."""
HANG = object()
"""Nothing more comes until the client goes."""
PAUSE = object()
"""What comes next comes 20 ms later: a drip has to take its time."""


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def reply(
    body: bytes | str = b"",
    status: int = 200,
    content_type: str | None = "text/plain; charset=utf-8",
    headers: dict[str, str] | None = None,
    length: int | None = None,
) -> bytes:
    """The bytes of a response; `length` is what it claims to have, else what it has."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(data) if length is None else length}"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data


def json_reply(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> bytes:
    return reply(json.dumps(data), status, "application/json", headers)


def chunked(*parts: Any, content_type: str = "text/event-stream", ends: bool = True) -> list[Any]:
    """A body of unknown length: texts are sent as they are, one chunk each."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    sent = [
        f"{len(part.encode()):x}\r\n".encode() + part.encode() + b"\r\n" if isinstance(part, str) else part
        for part in parts
    ]
    return [head, *sent, *([b"0\r\n\r\n"] if ends else [])]


def sse(*data: str, done: bool = True) -> list[Any]:
    """Server-sent events."""
    return chunked(*(f"data: {item}\n\n" for item in [*data, *(["[DONE]"] if done else [])]))


def gzipped(text: str) -> bytes:
    return reply(gzip.compress(text.encode()), headers={"Content-Encoding": "gzip"})


def echo(request: Received) -> bytes:
    """What came in, as JSON."""
    try:
        body = request.json
    except ValueError:
        body = request.body.decode("utf-8", "replace")
    seen = {"method": request.method, "path": request.path, "headers": request.headers, "body": body}
    return json_reply(seen)


@dataclass
class Server:
    """Runs in a thread of its own, as a context manager."""

    script: list[Any]
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    url: str = ""

    def __init__(self, *script: Any, default: Callable[[Received], Any] = echo) -> None:
        self.script = list(script)
        self.default = default
        self.requests = []
        self.connections = 0
        self.gone = threading.Event()
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._tasks: set[asyncio.Task[Any]] = set()

    def __enter__(self) -> Server:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        await self._stop.wait()
        for _ in range(10):  # turns of the loop, in which connections that were made just now get their task
            await asyncio.sleep(0)
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (request := await self._received(reader, number)) is not None:
                self.requests.append(request)
                answer = self.script.pop(0) if self.script else self.default
                if callable(answer):
                    answer = answer(request)
                if not await self._send(answer if isinstance(answer, list) else [answer], reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            self.gone.set()
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _received(self, reader: asyncio.StreamReader, number: int) -> Received | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Received(method, path, headers, body, number)

    async def _send(self, parts: list[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Send the parts; whether the connection goes on."""
        for part in parts:
            if part is DROP:
                return False
            if part is HANG:
                await reader.read()
                return False
            if part is PAUSE:
                await asyncio.sleep(0.02)
                continue
            writer.write(part)
            await writer.drain()
        return True
