"""One HTTP call: its connection, its redirects, its tries, its limits."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, NamedTuple, TypeVar

from giskard.checks.core.exceptions import ConfigurationError, MissingExtraError
from giskard.checks.core.limits import Limit
from giskard.checks.targets._conversation import excerpt
from giskard.checks.targets._secrets import is_address, redacted, shown_url
from giskard.checks.targets.errors import TargetError
from giskard.checks.utils.lazy import asyncio
from giskard.checks.utils.per_loop import PerLoop

__all__ = ["Outgoing", "Reply", "Rules", "ask", "get_ready", "new_cookies"]

T = TypeVar("T")

_MAX_REDIRECTS: Final = 10
_LEAST_WAIT, _MOST_WAIT = 0.5, 8.0
_SHOWN_OF_A_FAILURE: Final = 20_000
# Sending these twice is the same as sending them once (RFC 9110, 9.2.2).
_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"})
# The server says with these that it did not take the request.
_NOT_TAKEN: Final = frozenset({429, 503})
_BROKEN_ON_THE_WAY: Final = frozenset({502, 504})
_KINDS: Final = {401: "authentication", 403: "authentication", 408: "timeout", 429: "rate_limit", 504: "timeout"}


class Rules(NamedTuple):
    """What holds for every call of a target."""

    timeout: float
    retries: int
    max_bytes: int
    verify: bool | str = True
    accept: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request, ready to be sent."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def place(self) -> str:
        """What messages call it."""
        return f"{self.method} {shown_url(self.url)}"


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
        try:
            return body.decode(self._response.charset_encoding or "utf-8-sig", "replace")
        except LookupError:  # a charset that nobody knows
            return body.decode("utf-8-sig", "replace")

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
        source = _http_library().EventSource(self._response, max_event_size=self._max_bytes)
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
        except _http_library().HTTPError:
            body += b" (and then the connection was dropped)"
        return body.decode("utf-8", "replace")

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            raise TargetError(
                f"{self.place} answered with more than {self._max_bytes:,} bytes; give the target a larger max_bytes "
                "if that is right"
            )


async def ask(
    outgoing: Outgoing, rules: Rules, read: Callable[[Reply], Awaitable[T]], cookies: Any = None
) -> tuple[T, Reply]:
    """Send a request and read the answer, again where that is safe.

    It is sent again when no connection was made, and after 429 and 503, by which a server says that it did not take
    the request; when an answer was lost on its way, or a gateway says so (502, 504), only if the method is one that may
    be sent twice: a POST may have been acted on.

    Parameters
    ----------
    read
        Makes something of an answer that is none of an error.
    cookies
        Those of the conversation: `new_cookies`.

    Raises
    ------
    TargetError
        When there is no answer; the message says what happened instead.
    LimitExceededError
        When the time is over.
    """
    deadline = asyncio.get_running_loop().time() + rules.timeout
    last: list[TargetError] = []

    def too_late() -> str:
        tries = f", try {len(last) + 1}, after: {last[-1]}" if last else ""
        return f"timeout after {rules.timeout:g} s: {outgoing.place} gave no complete answer{tries}"

    async with Limit(too_late, deadline=deadline):
        while True:
            try:
                value, reply = await _once(outgoing, rules, read, cookies)
            except _TryAgain as again:
                failure = again.error
            else:
                reply.tries = len(last) + 1
                return value, reply
            last.append(failure)
            await _wait(failure, len(last), rules, deadline)
    raise AssertionError("a try ends with an answer or an error")


async def _wait(failure: TargetError, tries: int, rules: Rules, deadline: float) -> None:
    """Wait for the next try, or raise `failure` when there is none."""
    if tries > rules.retries:
        if tries > 1:
            failure.message += f" ({tries} tries)"
        raise failure
    wait = failure.retry_after
    if wait is None:
        wait = min(_MOST_WAIT, _LEAST_WAIT * 2 ** (tries - 1)) * random.uniform(0.5, 1)
    left = deadline - asyncio.get_running_loop().time()
    if wait >= left:
        failure.message += (
            f" (the next try would be in {wait:.3g} s, and the target's timeout leaves {max(left, 0):.3g} s)"
        )
        raise failure
    await asyncio.sleep(wait)


class _TryAgain(Exception):
    """Carries an error after which the same request may be sent again."""

    def __init__(self, error: TargetError) -> None:
        super().__init__(str(error))
        self.error = error


async def _once(
    outgoing: Outgoing, rules: Rules, read: Callable[[Reply], Awaitable[T]], cookies: Any
) -> tuple[T, Reply]:
    http = _http_library()
    hops = 0
    try:
        client = _clients(rules.verify).get()
        request = _request(client, outgoing)
        while True:
            if cookies is not None:
                _set_cookies(request, outgoing, cookies)
            response = await client.send(request, stream=True, auth=None, follow_redirects=False)
            try:
                if cookies is not None:
                    cookies.extract_cookies(response)
                if not response.has_redirect_location or response.status_code in rules.accept:
                    return await _read(response, outgoing, rules, read)
                hops += 1
                request = _redirected(client, request, response, outgoing, hops)
            finally:
                await response.aclose()
    except http.InvalidURL as error:
        raise ConfigurationError(f"{outgoing.place} is no address: {error}") from None
    except http.LocalProtocolError as error:  # a line break in a header, for one
        problem = redacted(str(error), outgoing.secrets)
        raise ConfigurationError(f"{outgoing.place} cannot be sent: {problem}") from None
    except http.DecodingError as error:
        raise TargetError(f"{outgoing.place} answered with a body that cannot be unpacked: {error}") from None
    except http.HTTPError as error:
        no_connection = isinstance(error, (http.ConnectError, http.ConnectTimeout, http.ProxyError))
        never_sent = no_connection and hops == 0
        what = "could not be reached" if no_connection else "dropped the connection before its answer was complete"
        problem = redacted(f"{type(error).__name__}: {error}", outgoing.secrets)
        failure = TargetError(f"{outgoing.place} {what} ({problem})", kind="network")
    if never_sent or outgoing.method in _REPEATABLE:
        raise _TryAgain(failure)
    raise failure


def _request(client: Any, outgoing: Outgoing) -> Any:
    try:
        return client.build_request(
            outgoing.method, outgoing.url, headers=dict(outgoing.headers), content=outgoing.content
        )
    except UnicodeEncodeError:
        names = [name for name, value in outgoing.headers.items() if not value.isascii()]
        raise ConfigurationError(
            f"{outgoing.place}: the value of the header {', '.join(map(repr, names))} has characters that no header "
            "can hold"
        ) from None


async def _read(
    response: Any, outgoing: Outgoing, rules: Rules, read: Callable[[Reply], Awaitable[T]]
) -> tuple[T, Reply]:
    reply = Reply(response, outgoing.place, rules.max_bytes)
    status = reply.status
    if 200 <= status < 300 or status in rules.accept:
        return await read(reply), reply
    body = redacted(await reply.beginning(), outgoing.secrets)
    kind = "quota" if status == 429 and "insufficient_quota" in body else _KINDS.get(status, "crash")
    failure = TargetError(
        f"{outgoing.place} answered {status} {response.reason_phrase}".rstrip() + f": {excerpt(body)}",
        kind=kind,
        retryable=kind != "quota" and (status in _NOT_TAKEN or status in _BROKEN_ON_THE_WAY or kind == "timeout"),
        retry_after=_retry_after(reply.headers),
        status=status,
    )
    again = status in _NOT_TAKEN or (status in _BROKEN_ON_THE_WAY and outgoing.method in _REPEATABLE)
    raise _TryAgain(failure) if again and kind != "quota" else failure


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait (RFC 9110, 10.2.3): given as such, or as a date."""
    given = headers.get("retry-after", "").strip()
    if not given:
        return None
    try:
        return max(0.0, float(given)) if given[0].isdigit() else _seconds_until(parsedate_to_datetime(given))
    except ValueError:
        return None


def _seconds_until(moment: datetime) -> float:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)  # noqa: UP017 - one name for all versions
    return max(0.0, moment.timestamp() - time.time())


# --- redirects ---------------------------------------------------------------------------


def _redirected(client: Any, request: Any, response: Any, outgoing: Outgoing, hops: int) -> Any:
    """The request that a redirect asks for.

    To another host nothing goes but a bare GET: the headers may hold a key, and the body holds the conversation.
    """
    following = response.next_request
    location = shown_url(response.headers.get("location", ""))
    if following is None or not is_address(str(following.url)):
        raise TargetError(
            f"{outgoing.place} redirects to {location!r}, which is no address", status=response.status_code
        )
    if hops > _MAX_REDIRECTS:
        raise TargetError(f"{outgoing.place} redirects more than {_MAX_REDIRECTS} times", status=response.status_code)
    if following.url.origin == request.url.origin or _is_upgrade(request.url, following.url):
        headers = {name: value for name, value in request.headers.items() if name not in ("cookie", "host")}
        if following.method == "GET":
            headers = {name: value for name, value in headers.items() if not name.startswith("content-")}
            headers.pop("transfer-encoding", None)
        body = outgoing.content if following.method == outgoing.method else None
        return client.build_request(following.method, following.url, headers=headers, content=body)
    if following.method not in ("GET", "HEAD"):
        raise TargetError(
            f"{outgoing.place} redirects to another host, {shown_url(str(following.url))}, to which the conversation "
            "was not sent; give the target that address if it is right",
            kind="config",
            status=response.status_code,
        )
    return client.build_request(following.method, following.url)


def _is_upgrade(before: Any, after: Any) -> bool:
    default = (before.port or 80, after.port or 443) == (80, 443)
    return before.host == after.host and default and (before.scheme, after.scheme) == ("http", "https")


# --- cookies -----------------------------------------------------------------------------


def new_cookies() -> Any:
    """An empty jar, for one conversation."""
    return _http_library().Cookies()


def _set_cookies(request: Any, outgoing: Outgoing, cookies: Any) -> None:
    given = request.headers.pop("cookie", None)
    cookies.set_cookie_header(request)
    both = "; ".join(part for part in (given, request.headers.get("cookie")) if part)
    if both:
        request.headers["Cookie"] = both


# --- clients -----------------------------------------------------------------------------


def get_ready(rules: Rules) -> None:
    """Make the client of this event loop, if there is none yet, so that the time of the first call is its own."""
    _clients(rules.verify).get()


@functools.cache
def _clients(verify: bool | str) -> PerLoop[Any]:
    """The client of each event loop, shared by all targets: it keeps connections, and nothing of a conversation."""
    return PerLoop(functools.partial(_new_client, verify), _close)


def _new_client(verify: bool | str) -> Any:
    http = _http_library()
    return http.AsyncClient(
        headers={"User-Agent": "giskard-checks"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # cookies belong to conversations
        verify=_tls_context(verify),
        timeout=None,
        limits=http.Limits(max_connections=None, max_keepalive_connections=100),
    )


@functools.cache
def _tls_context(verify: bool | str) -> Any:
    """Whom to trust: reading it takes longer than a call."""
    if not isinstance(verify, str):
        return _http_library().create_ssl_context(verify=verify)
    import ssl  # noqa: PLC0415 - for those alone who bring a certificate

    try:
        return ssl.create_default_context(cafile=verify)
    except OSError as error:
        raise ConfigurationError(f"verify is {verify!r}, expected a file of certificates: {error}") from None


async def _close(client: Any) -> None:
    await client.aclose()


def _http_library() -> Any:
    """The one door to the library: opened by the first call of a target, never by an import."""
    try:
        import httpx2  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("httpx2", "http") from None
    return httpx2
