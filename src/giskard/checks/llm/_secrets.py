"""Taking keys and passwords out of what is written to a file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from urllib.parse import quote

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
# Which values are none all the same: a TOKEN=test, KEY=true or SORT_KEY=conversation_id stands in any text.
_SHORTEST = 8
_LONG = 24
_FEWEST_CHARACTERS = 5
_MANY_DIGITS = 12
_LONGEST_ODD = 3
_LONGEST_WORD = 16
_BETWEEN_WORDS = re.compile(r"[^A-Za-z0-9]+")
_WORDS = re.compile(r"[a-z]+|[A-Z]+|[A-Z]?[a-z]{2,}(?:[A-Z][a-z]+)*")
_UNREADABLE = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}", re.IGNORECASE)


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
    """The secrets of the environment, the longest first; also as they stand in JSON and in an address."""
    given = {value.strip() for name, value in os.environ.items() if _VARIABLE.search(name)}
    return _written(frozenset(given))


@lru_cache(maxsize=8)
def _written(given: frozenset[str]) -> tuple[str, ...]:
    telling = [value for value in given if _is_telling(value)]
    forms = {form for value in telling for form in (value, json.dumps(value)[1:-1], quote(value, safe=""))}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _is_telling(value: str) -> bool:
    """Whether a value is long and odd enough to be nothing that a text may have anyway.

    Below 24 characters words and numbers are not: ``test``, ``not-needed``, ``us-east-1``, ``conversation_id``.
    """
    if len(value) < _SHORTEST or len(set(value)) < _FEWEST_CHARACTERS:
        return False
    if len(value) >= _LONG:
        return True
    if any(character.isspace() for character in value):
        return False
    parts = [part for part in _BETWEEN_WORDS.split(value) if part]
    if not all(part.isdigit() or _is_word(part) for part in parts):
        return True
    return sum(len(part) for part in parts if part.isdigit()) >= _MANY_DIGITS


def _is_word(part: str) -> bool:
    """Whether it can be read out, or is as short as the ``4o`` in the name of a model."""
    if len(part) <= _LONGEST_ODD:
        return True
    return len(part) <= _LONGEST_WORD and _WORDS.fullmatch(part) is not None and _UNREADABLE.search(part) is None


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
