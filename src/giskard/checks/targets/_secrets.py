"""Keys and passwords: read where they are sent, and written nowhere."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, cast
from urllib.parse import parse_qsl, quote, quote_plus, unquote_plus, urlsplit, urlunsplit

from giskard.checks.core.exceptions import ConfigurationError

__all__ = [
    "REFERENCE",
    "WITHHELD",
    "FromEnvironment",
    "Keys",
    "Known",
    "Secret",
    "has_reference",
    "holds_key",
    "is_address",
    "is_secret_name",
    "protected",
    "protected_data",
    "protected_query",
    "redacted",
    "resolved",
    "resolved_data",
    "resolved_text",
    "shown_url",
    "without",
]

_SECRET: Final = "[secret]"  # as in cassettes
REFERENCE: Final = re.compile(r"\$(\$?)\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""``${NAME}``, a variable of the environment; ``$${NAME}`` stands for those very characters without the first."""

_SECRET_NAME: Final = re.compile(
    r"auth(?!or(?!i[sz]))|bearer|cookie|credential|jwt|key(?!board|frame|s\b|word)|passw|(?<![a-z])(?:pwd|sig)(?![a-z])"
    r"|secret|session|signature|token(?!i|s)",
    re.IGNORECASE,
)
_KEY: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{8,}|github_pat_\w{8,}|xox[abeoprs]-[A-Za-z0-9-]{8,}"
    r"|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|hf_[A-Za-z0-9]{20,}|glpat-[A-Za-z0-9_-]{16,})"
)
_IN_A_HEADER: Final = re.compile(r"(?:bearer|basic|token)\s+\S", re.IGNORECASE)
_SHORTEST: Final = 4  # what is shorter stands in any text
_TELLING: Final = 8
_LONG: Final = 16


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


# --- what is to be a secret --------------------------------------------------------------


def is_secret_name(name: str) -> bool:
    """Whether what goes by this name is likely to be a secret."""
    return _SECRET_NAME.search(name) is not None


def has_reference(text: str) -> bool:
    """Whether a variable of the environment is named in it."""
    return any(not found[1] for found in REFERENCE.finditer(text))


def holds_key(text: str) -> bool:
    """Whether there is a key in a path, which has to be shown; ``/sk-bratislava``, without a digit, is none."""
    return any(any(map(str.isdigit, found[0])) for found in _KEY.finditer(text))


def protected(name: str, value: str | Secret) -> str | Secret:
    """The value of a header or a variable, as a `Secret` when it looks like one and is given as it is."""
    if isinstance(value, Secret) or has_reference(value):
        return value
    looks_so = _IN_A_HEADER.match(value) or _KEY.search(value)
    return Secret(value) if value and (looks_so or is_secret_name(name)) else value


def protected_data(value: Any, name: str = "") -> Any:
    """Data in which texts that look like secrets, or go by the name of one, are a `Secret`."""
    if isinstance(value, str):
        if not value or "{{" in value or has_reference(value):
            return value
        return Secret(value) if is_secret_name(name) or _KEY.search(value) else value
    if isinstance(value, Mapping):
        return {key: protected_data(item, str(key)) for key, item in cast("Mapping[Any, Any]", value).items()}
    if type(value) in (list, tuple):
        return type(value)(protected_data(item, name) for item in cast("Sequence[Any]", value))
    return value


def protected_query(url: str) -> tuple[str, dict[str, list[Secret]]]:
    """An address without the secrets in its query, and those by their names."""
    address, _, _ = url.partition("#")
    base, _, query = address.partition("?")
    kept: list[str] = []
    taken: dict[str, list[Secret]] = {}
    for pair in filter(None, query.split("&")):
        name, value = (unquote_plus(part) for part in (*pair.split("=", 1), "")[:2])
        secret = protected_data(value, name)
        if isinstance(secret, Secret):
            taken.setdefault(name, []).append(secret)
        else:
            kept.append(pair)
    return (f"{base}?{'&'.join(kept)}" if kept else base), taken


# --- what stands for one -----------------------------------------------------------------


class Keys(Protocol):
    """What is put in the places of secrets."""

    def variable(self, name: str, what: str) -> str:
        """In the place of a reference to the variable `name`; `what` has it, for messages."""
        ...

    def secret(self, secret: Secret) -> str:
        """In the place of a secret that was given as it is."""
        ...


class FromEnvironment:
    """The secrets themselves, as they are at this moment.

    Parameters
    ----------
    trimmed
        Whether white space around them is left out: a file that a key was read from ends in a line break.

    Attributes
    ----------
    secrets
        What was read, in the forms in which it may come back: it is not to be shown.
    """

    def __init__(self, *, trimmed: bool = True) -> None:
        self._trimmed = trimmed
        self.secrets: list[str] = []

    def variable(self, name: str, what: str) -> str:
        """The environment's variable.

        Raises
        ------
        ConfigurationError
            When it is not set.
        """
        text = os.environ.get(name, "")
        if not text.strip():
            raise ConfigurationError(f"{what} asks for the environment variable {name}, which is not set")
        return self.noted(text)

    def secret(self, secret: Secret) -> str:
        """The secret itself."""
        text = secret.reveal()
        self.noted(text.strip().partition(" ")[2])  # without "Bearer"
        return self.noted(text)

    def noted(self, text: str) -> str:
        """`text`, which is a secret, as it is sent."""
        for each in dict.fromkeys((text.strip(), text)):
            forms = (each, quote(each, safe="", errors="replace"), quote_plus(each, errors="replace"))
            self.secrets += dict.fromkeys((*forms, json.dumps(each)[1:-1]))
        return text.strip() if self._trimmed else text


class _Withheld:
    def variable(self, name: str, what: str) -> str:
        return f"${{{name}}}"

    def secret(self, secret: Secret) -> str:
        return _SECRET


WITHHELD: Final[Keys] = _Withheld()
"""The names of variables, and a mark for secrets: what is written in a file."""


def resolved_text(value: str | Secret, what: str, keys: Keys) -> str:
    """`value` with its references ``${NAME}`` replaced.

    Parameters
    ----------
    what
        What it is, for messages.
    """
    if isinstance(value, Secret):
        return keys.secret(value)
    return REFERENCE.sub(lambda found: found[0][1:] if found[1] else keys.variable(found[2], what), value)


def resolved(values: Mapping[str, str | Secret], what: str, keys: Keys) -> dict[str, str]:
    """As `resolved_text`, for each of several values."""
    return {name: resolved_text(value, f"{what} {name!r}", keys) for name, value in values.items()}


def resolved_data(value: Any, what: str, keys: Keys) -> Any:
    """As `resolved_text`, for all texts in data."""
    if isinstance(value, (str, Secret)):
        return resolved_text(value, what, keys)
    if isinstance(value, Mapping):
        return {key: resolved_data(item, what, keys) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [resolved_data(item, what, keys) for item in cast("Sequence[Any]", value)]
    return value


class Known:
    """The secrets in the options of a target: the variables that they name, and what they hold as such.

    Parameters
    ----------
    options
        Data, with `Secret` where one stands.
    """

    def __init__(self, *options: Any) -> None:
        self._variables: dict[str, None] = {}
        self._given: dict[Secret, None] = {}
        self._take(options)

    def _take(self, value: Any) -> None:
        if isinstance(value, str):
            self._variables |= dict.fromkeys(found[2] for found in REFERENCE.finditer(value) if not found[1])
        elif isinstance(value, Secret):
            self._given[value] = None
        elif isinstance(value, Mapping):
            self._take(tuple(cast("Mapping[Any, Any]", value).values()))
        elif isinstance(value, (list, tuple)):
            for item in cast("Sequence[Any]", value):
                self._take(item)

    def now(self, *others: str) -> list[str]:
        """What they are at this moment, as far as they are set, in the forms in which they may come back.

        Parameters
        ----------
        others
            The names of further variables.
        """
        keys = FromEnvironment()
        for name in (*self._variables, *others):
            keys.noted(os.environ.get(name, ""))
        for secret in self._given:
            keys.secret(secret)
        return keys.secrets


# --- what is shown -----------------------------------------------------------------------


def redacted(text: str, secrets: Iterable[str]) -> str:
    """`text` without any of `secrets`."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, _SECRET)
    return text


def without(secrets: Iterable[str]) -> Callable[[Any], Any]:
    """What takes `secrets` out of JSON data.

    Those that may stand in any text are left: what is shorter than 8 characters, and a single word shorter than 16. A
    recording is found by its text, on machines with other secrets too: where one is ``password``, all words must stay.
    """
    telling = sorted({text for text in secrets if _is_telling(text)}, key=lambda text: (-len(text), text))
    pattern = re.compile("|".join(map(re.escape, telling)))

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(_SECRET, value)
        if isinstance(value, Mapping):
            return {clean(key): clean(item) for key, item in cast("Mapping[Any, Any]", value).items()}
        if isinstance(value, (list, tuple)):
            return [clean(item) for item in cast("Sequence[Any]", value)]
        return value

    return clean if telling else lambda value: value


def _is_telling(text: str) -> bool:
    is_word = text.isalpha() and (text.islower() or text.isupper() or text.istitle())
    return len(text) >= (_LONG if is_word else _TELLING)


def is_address(url: str) -> bool:
    """Whether it is an address of HTTP, with a host."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        return parts.scheme in ("http", "https") and bool(host) and "%" not in str(host) and (parts.port or 1) > 0
    except ValueError:
        return False


def shown_url(url: str) -> str:
    """`url` without a user's name and password, without the values of its query, and without keys in its path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(an address that cannot be read)"
    query = "&".join(f"{name}=…" for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    path = _KEY.sub(lambda found: _SECRET if holds_key(found[0]) else found[0], parts.path)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, query, ""))
