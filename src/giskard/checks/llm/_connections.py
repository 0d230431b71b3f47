"""The HTTP client that calls share, and its connections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final
from urllib.request import getproxies

import httpx2

__all__ = ["open_http"]

_CONNECT_SECONDS: Final = 10.0
_IDLE_SECONDS: Final = 60.0


def open_http() -> httpx2.AsyncClient:
    """The HTTP client of a loop: it holds as many connections as there are calls, and keeps them for the next ones.

    How many calls there are at once is limited by the gates that they pass, and how long they take by their own time.
    """
    timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
    if getproxies():  # which only the client's own transport knows how to use
        return httpx2.AsyncClient(timeout=timeout, limits=_limits(None))
    return httpx2.AsyncClient(timeout=timeout, transport=_OneEach())


def _limits(connections: int | None) -> httpx2.Limits:
    return httpx2.Limits(
        max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=_IDLE_SECONDS
    )


class _OneEach(httpx2.AsyncBaseTransport):
    """Gives each call that is under way a pool of one connection.

    A pool looks at all of its connections whenever a call begins or ends: with 50 of them that is a fifth of the CPU
    of a call.
    """

    def __init__(self) -> None:
        self._context = httpx2.create_ssl_context()
        self._free: dict[tuple[str, str, int | None], list[httpx2.AsyncHTTPTransport]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of a server, over a connection that is free, or a new one."""
        url = request.url
        free = self._free.setdefault((url.scheme, url.host, url.port), [])
        pool = free.pop() if free else httpx2.AsyncHTTPTransport(verify=self._context, limits=_limits(1))
        try:
            response = await pool.handle_async_request(request)
        except BaseException:
            free.append(pool)
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Body(response.stream, pool, free)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        for free in self._free.values():
            while free:
                await free.pop().aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of a response, whose connection is free again when it is closed."""

    def __init__(
        self, body: httpx2.AsyncByteStream, pool: httpx2.AsyncHTTPTransport, free: list[httpx2.AsyncHTTPTransport]
    ) -> None:
        self._body = body
        self._pool: httpx2.AsyncHTTPTransport | None = pool
        self._free = free

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._body)

    async def aclose(self) -> None:
        pool, self._pool = self._pool, None
        try:
            await self._body.aclose()
        finally:
            if pool is not None:
                self._free.append(pool)
