"""Keys and passwords: read where they are sent, and written nowhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from giskard.checks.core.exceptions import ConfigurationError

__all__ = ["Secret", "is_address", "is_secret_name", "protected", "redacted", "resolved", "resolved_text", "shown_url"]

_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_NAME: Final = re.compile(r"auth|cookie|credential|key|passw|secret|session|signature|token", re.IGNORECASE)
_SECRET_VALUE: Final = re.compile(r"(?:bearer|basic|token)\s+\S|sk-\w|gh[pousr]_\w|xox[abp]-", re.IGNORECASE)
_SHORTEST: Final = 4  # what is shorter stands in any text


class Secret:
    """A secret that was given as it is, not as the name of a variable: it cannot be shown or saved."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The secret itself."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "<a secret; what is to be saved names a variable of the environment instead: '${API_KEY}'>"


def is_secret_name(name: str) -> bool:
    """Whether what goes by this name is likely to be a secret."""
    return _SECRET_NAME.search(name) is not None


def protected(name: str, value: str | Secret) -> str | Secret:
    """`value`, as a `Secret` when it looks like one and is given as it is."""
    if isinstance(value, Secret) or _REFERENCE.search(value):
        return value
    return Secret(value) if is_secret_name(name) or _SECRET_VALUE.match(value) else value


def resolved_text(value: str | Secret, what: str, secrets: list[str]) -> str:
    """`value` with its references ``${NAME}`` replaced by the environment's variables of this moment.

    Parameters
    ----------
    what
        What it is, for the message.
    secrets
        What is not to be shown is added to it.

    Raises
    ------
    ConfigurationError
        When a variable is not set.
    """
    if isinstance(value, Secret):
        text = value.reveal()
        secrets += [text, text.partition(" ")[2]]
        return text

    def variable(found: re.Match[str]) -> str:
        text = os.environ.get(found[1])
        if not text:
            raise ConfigurationError(f"{what} asks for the environment variable {found[1]}, which is not set")
        secrets.append(text)
        return text

    return _REFERENCE.sub(variable, value)


def resolved(values: Mapping[str, str | Secret], what: str, secrets: list[str]) -> dict[str, str]:
    """As `resolved_text`, for each of several values."""
    return {name: resolved_text(value, f"{what} {name!r}", secrets) for name, value in values.items()}


def redacted(text: str, secrets: Iterable[str]) -> str:
    """`text` without any of `secrets`."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "***")
    return text


def is_address(url: str) -> bool:
    """Whether it is an address of HTTP, with a host."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        return parts.scheme in ("http", "https") and bool(host) and "%" not in str(host) and (parts.port or 1) > 0
    except ValueError:
        return False


def shown_url(url: str) -> str:
    """`url` without a user's name and password, and without the values of its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(an address that cannot be read)"
    query = "&".join(f"{name}=…" for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))
