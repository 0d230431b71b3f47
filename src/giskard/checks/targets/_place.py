"""Where the id of a conversation stands in a request, or in an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import quote, urlsplit

from giskard.checks.targets._conversation import as_text
from giskard.checks.targets._reply import ValuePath
from giskard.checks.targets.errors import TargetError

__all__ = ["Place"]

_KINDS: Final = ("header", "cookie", "body")


class Place:
    """``"header:X-Session"``, ``"cookie:session"`` or ``"body:session.id"``.

    Raises
    ------
    ValueError
        When the text is none of them.
    """

    def __init__(self, text: str, option: str) -> None:
        self.kind, _, self.name = text.partition(":")
        if self.kind not in _KINDS or not self.name.strip():
            raise ValueError(f"{option} is {text!r}, expected 'header:NAME', 'cookie:NAME' or 'body:PATH'")
        taken = option.endswith("_from")
        self.path = ValuePath(self.name) if self.kind == "body" and taken else None
        if self.kind == "body" and not taken and not all(self.name.removeprefix("$.").split(".")):
            raise ValueError(f"{option} is {text!r}, expected the name of a field, such as 'body:session.id'")

    def put(self, value: Any, headers: dict[str, str], cookies: Any, body: Any, url: str) -> None:
        """Put an id there: into the headers, the cookies or the body of a request."""
        if self.kind == "header":
            headers[self.name] = as_text(value)
        elif self.kind == "cookie":
            host = urlsplit(url).hostname or ""
            # As the jar calls the host, so that a cookie of the service's own takes its place.
            domain = host if "." in host else f"[{host}].local" if ":" in host else f"{host}.local"
            cookies.set(self.name, quote(as_text(value), safe=""), domain=domain)
        else:
            *above, last = self.name.removeprefix("$.").split(".")
            there = body
            for name in above:
                there = cast("dict[str, Any]", there).setdefault(name, {})
                if not isinstance(there, dict):
                    raise TargetError(
                        f"the body has no place for {self.name!r}: {name!r} is no dictionary", kind="config"
                    )
            there[last] = value

    def take(self, headers: Mapping[str, str], cookies: Any) -> str | None:
        """The id in the headers or the cookies of an answer."""
        if self.kind == "header":
            return headers.get(self.name)
        if self.kind == "cookie":
            return next((cookie.value for cookie in cookies.jar if cookie.name == self.name), None)
        return None
