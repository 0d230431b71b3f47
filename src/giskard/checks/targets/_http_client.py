"""The HTTP clients of all targets, and the cookies of their conversations."""

from __future__ import annotations

import functools
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

from giskard.checks.core.exceptions import ConfigurationError, MissingExtraError
from giskard.checks.utils.per_loop import PerLoop

__all__ = ["client_of", "http_library", "new_cookies", "set_cookies"]


def client_of(verify: bool | str) -> Any:
    """The client of this event loop: made by the first call that asks for it, and kept for all others."""
    return _clients(verify).get()


@functools.cache
def _clients(verify: bool | str) -> PerLoop[Any]:
    """The client of each event loop, shared by all targets: it keeps connections, and nothing of a conversation."""
    return PerLoop(functools.partial(_new_client, verify), _close)


def _new_client(verify: bool | str) -> Any:
    http = http_library()
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
        return http_library().create_ssl_context(verify=verify)
    import ssl  # noqa: PLC0415 - for those alone who bring a certificate

    try:
        return ssl.create_default_context(cafile=verify)
    except OSError as error:
        raise ConfigurationError(f"verify is {verify!r}, expected a file of certificates: {error}") from None


async def _close(client: Any) -> None:
    await client.aclose()


def http_library() -> Any:
    """The one door to the library: opened by the first call of a target, never by an import."""
    try:
        import httpx2  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("httpx2", "http") from None
    return httpx2


# --- cookies -----------------------------------------------------------------------------


def new_cookies() -> Any:
    """An empty jar, for one conversation."""
    return http_library().Cookies()


def set_cookies(request: Any, cookies: Any) -> None:
    """Put those of the conversation beside those that the target sends itself."""
    request.headers.encoding = "utf-8"  # a service may set any bytes
    given = request.headers.pop("cookie", None)
    cookies.set_cookie_header(request)
    both = "; ".join(part for part in (given, request.headers.get("cookie")) if part)
    if both:
        request.headers["Cookie"] = both
