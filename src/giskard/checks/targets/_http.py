"""One HTTP call: its tries, its redirects, its limits."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.limits import Limit
from giskard.checks.llm.retry_after import backoff, retry_after
from giskard.checks.targets._conversation import excerpt
from giskard.checks.targets._http_client import client_of, http_library, set_cookies
from giskard.checks.targets._http_redirect import redirected
from giskard.checks.targets._http_reply import Outgoing, Reply, Rules
from giskard.checks.targets._secrets import redacted
from giskard.checks.targets.errors import TargetError
from giskard.checks.utils.lazy import asyncio

__all__ = ["ask"]

T = TypeVar("T")

# Sending these twice is the same as sending them once (RFC 9110, 9.2.2).
_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"})
# The server says with these that it did not take the request.
_NOT_TAKEN: Final = frozenset({429, 503})
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_BROKEN_ON_THE_WAY: Final = frozenset({502, 504})
_KINDS: Final = {401: "authentication", 403: "authentication", 408: "timeout", 429: "rate_limit", 504: "timeout"}


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
    if tries > rules.max_retries:
        if tries > 1:
            failure.message += f" ({tries} tries)"
        raise failure
    wait = backoff(tries) if failure.retry_after is None else failure.retry_after
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
    http = http_library()
    hops = 0
    try:
        client = client_of(rules.verify)
        request = _request(client, outgoing)
        while True:
            if cookies is not None:
                set_cookies(request, cookies)
            response = await client.send(request, stream=True, auth=None, follow_redirects=False)
            try:
                if cookies is not None:
                    cookies.extract_cookies(response)
                if not response.has_redirect_location or response.status_code in rules.accept:
                    return await _read(response, outgoing, rules, read)
                hops += 1
                request = redirected(client, request, response, outgoing, hops)
            finally:
                await response.aclose()
    except http.InvalidURL as error:
        problem = redacted(str(error), outgoing.secrets)
        raise ConfigurationError(f"{outgoing.place} is no address: {problem}") from None
    except http.LocalProtocolError:  # its text holds what was to be sent
        names = ", ".join(map(repr, outgoing.headers))
        raise ConfigurationError(f"{outgoing.place} cannot be sent as HTTP; look at its headers: {names}") from None
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
    headers = {name: value.strip() for name, value in outgoing.headers.items()}  # around a value it means nothing
    names = [name for name, value in headers.items() if _HEADER_VALUE.fullmatch(value) is None]
    if names:
        raise ConfigurationError(
            f"{outgoing.place}: the value of the header {', '.join(map(repr, names))} has characters that no header "
            "can hold: a line break, another control character, or what is no ASCII"
        )
    return client.build_request(outgoing.method, outgoing.url, headers=headers, content=outgoing.content)


async def _read(
    response: Any, outgoing: Outgoing, rules: Rules, read: Callable[[Reply], Awaitable[T]]
) -> tuple[T, Reply]:
    reply = Reply(response, outgoing.place, rules.max_bytes)
    status = reply.status
    if 200 <= status < 300 or status in rules.accept:
        return await read(reply), reply
    body = redacted(await reply.beginning(), outgoing.secrets)
    kind = "quota" if status == 429 and "insufficient_quota" in body else _KINDS.get(status, "crash")
    phrase = redacted(response.reason_phrase, outgoing.secrets)
    failure = TargetError(
        f"{outgoing.place} answered {status} {phrase}".rstrip() + f": {excerpt(body)}",
        kind=kind,
        retryable=kind != "quota" and (status in _NOT_TAKEN or status in _BROKEN_ON_THE_WAY or kind == "timeout"),
        retry_after=retry_after(reply.headers),
        status=status,
    )
    again = status in _NOT_TAKEN or (status in _BROKEN_ON_THE_WAY and outgoing.method in _REPEATABLE)
    raise _TryAgain(failure) if again and kind != "quota" else failure
