"""Where a redirect leads, and what goes there."""

from __future__ import annotations

from typing import Any, Final

from giskard.checks.targets._http_reply import Outgoing
from giskard.checks.targets._secrets import is_address, shown_url
from giskard.checks.targets.errors import TargetError

__all__ = ["redirected"]

_MAX_REDIRECTS: Final = 10


def redirected(client: Any, request: Any, response: Any, outgoing: Outgoing, hops: int) -> Any:
    """The request that a redirect asks for, of the same server.

    No other is asked: headers may hold a key, the body holds the conversation, and the answer of whoever else is there
    would count as the target's.

    Raises
    ------
    TargetError
        When it leads elsewhere, or in a circle.
    """
    following = response.next_request
    location = shown_url(response.headers.get("location", ""))
    if following is None or not is_address(str(following.url)):
        raise TargetError(
            f"{outgoing.place} redirects to {location!r}, which is no address", status=response.status_code
        )
    if hops > _MAX_REDIRECTS:
        raise TargetError(f"{outgoing.place} redirects more than {_MAX_REDIRECTS} times", status=response.status_code)
    if following.url.origin != request.url.origin and not _is_upgrade(request.url, following.url):
        raise TargetError(
            f"{outgoing.place} redirects to another server, {shown_url(str(following.url))}, which was not asked; give "
            "the target that address if it is right",
            kind="config",
            status=response.status_code,
        )
    headers = {name: value for name, value in request.headers.items() if name not in ("cookie", "host")}
    if following.method == "GET":
        headers = {name: value for name, value in headers.items() if not name.startswith("content-")}
        headers.pop("transfer-encoding", None)
    body = outgoing.content if following.method == outgoing.method else None
    return client.build_request(following.method, following.url, headers=headers, content=body)


def _is_upgrade(before: Any, after: Any) -> bool:
    default = (before.port or 80, after.port or 443) == (80, 443)
    return before.host == after.host and default and (before.scheme, after.scheme) == ("http", "https")
