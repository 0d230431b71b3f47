"""Keys and headers that name a variable of the environment, and those that are secrets themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Final

from giskard.checks.llm._secrets import without_secrets

__all__ = ["check_header", "is_reference", "may_be_saved", "resolved"]

_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_NAME: Final = re.compile(r"auth|cookie|credential|key|passw|secret|session|signature|token", re.IGNORECASE)
_SECRET_VALUE: Final = re.compile(r"(?:bearer|basic|token)\s+\S", re.IGNORECASE)
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_SET_ELSEWHERE: Final = frozenset({"accept-encoding", "connection", "content-length", "host", "transfer-encoding"})


def is_reference(text: str) -> bool:
    """Whether it is the name of a variable, ``${NAME}``, and nothing else."""
    return _REFERENCE.fullmatch(text) is not None


def may_be_saved(name: str, value: str) -> bool:
    """Whether a header holds no secret: what looks like one is a reference, as far as it can be told."""
    if without_secrets(_REFERENCE.sub("", value))[1]:
        return False
    is_suspect = _SECRET_NAME.search(name) is not None or _SECRET_VALUE.match(value) is not None
    return not is_suspect or _REFERENCE.search(value) is not None


def resolved(text: str, missing: Callable[[str], Exception], secrets: list[str] | None = None) -> str:
    """`text` with the environment's values of this moment in the place of its references.

    Parameters
    ----------
    missing
        Makes the exception for a variable that is not set.
    secrets
        The values are added to it.
    """

    def value(found: re.Match[str]) -> str:
        given = os.environ.get(found[1], "").strip()
        if not given:
            raise missing(found[1])
        if secrets is not None:
            secrets.append(given)
        return given

    return _REFERENCE.sub(value, text)


def check_header(name: str, value: str) -> None:
    """Raise for what cannot be a header of a request.

    Raises
    ------
    ValueError
        Naming the header, and never showing its value.
    """
    if not _HEADER_NAME.fullmatch(name):
        raise ValueError(f"headers has the name {name!r}; expected letters, digits and dashes")
    if name.lower() in _SET_ELSEWHERE:
        raise ValueError(f"headers has {name!r}, which the HTTP client sets itself; leave it out")
    if not _HEADER_VALUE.fullmatch(value):
        raise ValueError(f"the value of the header {name!r} has characters that no header can hold")
