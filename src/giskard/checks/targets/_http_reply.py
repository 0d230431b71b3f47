"""What is sent, what holds for it, and what comes back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from giskard.checks.targets._charsets import decoded
from giskard.checks.targets._http_client import http_library
from giskard.checks.targets._secrets import redacted, shown_url
from giskard.checks.targets.errors import TargetError

__all__ = ["Outgoing", "Reply", "Rules"]

_SHOWN_OF_A_FAILURE: Final = 20_000


class Rules(NamedTuple):
    """What holds for every call of a target."""

    timeout: float
    max_retries: int
    max_bytes: int
    verify: bool | str = True
    accept: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request, ready to be sent."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def place(self) -> str:
        """What messages call it."""
        return redacted(f"{self.method} {shown_url(self.url)}", self.secrets)


class Reply:
    """What came back; its body is read once, by whoever the reply is given to."""

    def __init__(self, response: Any, place: str, max_bytes: int) -> None:
        self._response = response
        self._max_bytes = max_bytes
        self.place = place
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self.content_type: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self.tries = 1

    async def text(self) -> str:
        """The whole body."""
        body = b"".join([piece async for piece in self.pieces()])
        return decoded(body, self._response.charset_encoding)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body as it comes.

        Raises
        ------
        TargetError
            When it is too large.
        """
        size = 0
        async with aclosing(self._response.aiter_bytes()) as pieces:
            async for piece in pieces:
                size += len(piece)
                self._check(size)
                yield piece

    async def lines(self) -> AsyncGenerator[str, None]:
        """The lines of the body as they come, without those that are empty."""
        rest = b""
        async with aclosing(self.pieces()) as pieces:
            async for piece in pieces:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield line.decode("utf-8", "replace")
        if rest.strip():
            yield rest.decode("utf-8", "replace")

    async def events(self) -> AsyncGenerator[tuple[str, str], None]:
        """The kind and the data of each server-sent event."""
        self._response.encoding = "utf-8-sig"  # streams are UTF-8, whatever they call themselves
        source = http_library().EventSource(self._response, max_event_size=self._max_bytes)
        size = 0
        async with aclosing(aiter(source)) as events:
            async for event in events:
                size += len(event.data)
                self._check(size)
                if event.data:
                    yield event.event, event.data

    async def beginning(self) -> str:
        """The first characters of the body: of a failure nobody needs more."""
        body = b""
        try:
            async with aclosing(self._response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) >= _SHOWN_OF_A_FAILURE:
                        break
        except http_library().HTTPError:
            body += b" (and then the connection was dropped)"
        return body.decode("utf-8", "replace")

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            raise TargetError(
                f"{self.place} answered with more than {self._max_bytes:,} bytes; give the target a larger max_bytes "
                "if that is right"
            )
