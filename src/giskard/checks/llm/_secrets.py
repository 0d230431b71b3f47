"""Taking keys and passwords out of what is written to a file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

__all__ = ["SECRET", "without_secrets"]

SECRET = "[secret]"
"""What stands where a secret was."""

# What has to be in a text before the pattern is looked for, and the pattern; a group, if there is one, stays.
_PATTERNS = [
    ("sk-", re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{8,}")),
    ("AKIA", re.compile(r"\bAKIA[0-9A-Z]{16}\b")),
    ("ASIA", re.compile(r"\bASIA[0-9A-Z]{16}\b")),
    ("AIza", re.compile(r"\bAIza[0-9A-Za-z_-]{30,}")),
    ("gh", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}")),
    ("github_pat_", re.compile(r"\bgithub_pat_[A-Za-z0-9_]{20,}")),
    ("glpat-", re.compile(r"\bglpat-[A-Za-z0-9_-]{16,}")),
    ("xox", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("hf_", re.compile(r"\bhf_[A-Za-z0-9]{20,}")),
    ("gsk_", re.compile(r"\bgsk_[A-Za-z0-9]{20,}")),
    ("eyJ", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")),
    (
        "PRIVATE KEY-----",
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----)){1,20000}(?:-----END [A-Z ]{0,40}-----)?"
        ),
    ),
    ("://", re.compile(r"(://[^/\s:@]{1,200}:)[^/\s:@]{1,200}(?=@)")),
    ("earer ", re.compile(r"\b([Bb]earer +)(?=[^\s\d]{0,40}\d|\S{20})[A-Za-z0-9._~+/=-]{8,}")),
    ("asic ", re.compile(r"(?i:\b(authorization[\"']? {0,5}[:=] {0,5}[\"']?basic +))[A-Za-z0-9+/]{4,}={0,2}")),
]

# Names of fields whose text is a secret, whatever it looks like.
_FIELDS = frozenset(
    (
        "authorization",
        "proxy_authorization",
        "api_key",
        "apikey",
        "x_api_key",
        "access_token",
        "refresh_token",
        "id_token",
        "client_secret",
        "password",
        "passwd",
        "cookie",
        "set_cookie",
    )
)
# Names of environment variables whose value is one.
_VARIABLE = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


def without_secrets(value: Any) -> tuple[Any, list[str]]:
    """`value` with ``[secret]`` in the place of whatever looks like a key, or is one of the environment's.

    Returns
    -------
    value, places
        JSON data, the same object when nothing was found; and where something was found: ``messages[1].content``.
    """
    places: list[str] = []
    cleaned = _Cleaner(_of_environment(_values()), places).clean(value, "")
    return (cleaned, places) if places else (value, places)


def _values() -> tuple[str, ...]:
    found = {value.strip() for name, value in os.environ.items() if _VARIABLE.search(name)}
    return tuple(sorted((value for value in found if _is_telling(value)), key=len, reverse=True))


def _is_telling(value: str) -> bool:
    """Whether a value is long and odd enough to be no word that a text may have anyway."""
    if any(character.isspace() for character in value):
        return len(value) >= 24
    mixed = any(character.isdigit() for character in value) and any(character.isalpha() for character in value)
    return len(value) >= (8 if mixed else 12)


@lru_cache(maxsize=8)
def _of_environment(values: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(re.escape, values))) if values else None


class _Cleaner:
    def __init__(self, environment: re.Pattern[str] | None, places: list[str]) -> None:
        self._environment = environment
        self._places = places

    def clean(self, value: Any, place: str) -> Any:
        if isinstance(value, str):
            cleaned = self._text(value)
            if cleaned != value:
                self._places.append(place)
            return cleaned
        if isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value).items()
            return {self._key(key, place): self._field(key, item, place) for key, item in items}
        if isinstance(value, (list, tuple)):
            items = cast("Sequence[Any]", value)
            return [self.clean(item, f"{place}[{index}]") for index, item in enumerate(items)]
        return value

    def _key(self, key: Any, place: str) -> Any:
        cleaned = self._text(key) if isinstance(key, str) else key
        if cleaned != key:
            self._places.append(f"{place}.{cleaned}".lstrip("."))
        return cleaned

    def _field(self, key: Any, item: Any, place: str) -> Any:
        name = self._text(key) if isinstance(key, str) else str(key)
        here = f"{place}.{name}".lstrip(".")
        if isinstance(item, str) and item and name.lower().replace("-", "_") in _FIELDS:
            if item != SECRET:
                self._places.append(here)
            return SECRET
        return self.clean(item, here)

    def _text(self, text: str) -> str:
        if self._environment is not None:
            text = self._environment.sub(SECRET, text)
        for needle, pattern in _PATTERNS:
            if needle in text:
                text = pattern.sub(_stand_in, text)
        return text


def _stand_in(match: re.Match[str]) -> str:
    kept = match.group(1) if match.re.groups else ""
    return f"{kept}{SECRET}"
