"""What the options of a target may be: looked at when it is built, so that a run does not find it out."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from giskard.checks.targets._secrets import Secret, is_secret_name

__all__ = [
    "ADDRESS",
    "COMMAND",
    "FLAG",
    "FOLDER",
    "HEADERS",
    "KEY",
    "MAPPING",
    "MAYBE_ADDRESS",
    "MAYBE_FLAG",
    "MAYBE_TEXT",
    "METHOD",
    "NAME",
    "NAMES",
    "PATH_OR_FUNCTION",
    "SECONDS",
    "STATUSES",
    "TOOLS",
    "VARIABLES",
    "VERIFY",
    "check_options",
    "choice",
    "whole_number",
]

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_SHOWN: Final = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Kind:
    """What an option may be.

    Parameters
    ----------
    expected
        In words.
    is_type
        Whether a value is of the right type; TypeError otherwise.
    is_value
        Whether it is one of the right type that can be; ValueError otherwise.
    shown
        Whether messages may show it: it can be no key.
    """

    expected: str
    is_type: Callable[[Any], bool]
    is_value: Callable[[Any], bool] = lambda _: True
    shown: bool = True


def check_options(target: object, **kinds: Kind) -> None:
    """Look at the attributes of `target` that go by these names.

    Raises
    ------
    TypeError, ValueError
        Naming the option, what it is, and what was expected.
    """
    for name, kind in kinds.items():
        value = getattr(target, name)
        if not kind.is_type(value):
            raise TypeError(f"{_told(name, value, kind.shown)}, expected {kind.expected}")
        if not kind.is_value(value):
            raise ValueError(f"{_told(name, value, kind.shown)}, expected {kind.expected}")
        if kind in (HEADERS, VARIABLES):
            _check_texts(name, value, _TOKEN if kind is HEADERS else None)


def _check_texts(option: str, values: Mapping[str, Any], names: re.Pattern[str] | None) -> None:
    for name, value in values.items():
        if not isinstance(value, (str, Secret)):
            shown = not is_secret_name(name) and isinstance(value, _SHOWN)
            raise TypeError(f"{_told(f'{option}[{name!r}]', value, shown)}, expected a text")
        if names is not None and names.fullmatch(name) is None:
            raise ValueError(f"{option} has the name {name!r}, expected letters, digits and '-'")


def _told(name: str, value: Any, shown: bool) -> str:
    kind = type(value).__name__
    shown_value = f"{value!r:.100} ({kind})" if shown or value is None else f"of the type {kind}"
    return f"{name} is {shown_value}"


# --- kinds -------------------------------------------------------------------------------


def _is_number(value: Any, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _is_named(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in cast("Mapping[Any, Any]", value))


def _are_all(value: Any, *kinds: type) -> bool:
    """Whether it is a collection, and no text, of nothing but these."""
    if not isinstance(value, Collection) or isinstance(value, (str, bytes, Mapping)):
        return False
    return all(_is_number(item, *kinds) for item in cast("Collection[Any]", value))


def _is_command(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, Sequence) and _are_all(value, str, os.PathLike))


def whole_number(least: int) -> Kind:
    """A whole number from `least` on."""
    return Kind(f"a whole number from {least} on", lambda v: _is_number(v, int), lambda v: v >= least)


def choice(*names: str) -> Kind:
    """One of several texts."""
    shown = ", ".join(map(repr, names))
    return Kind(f"one of {shown}", lambda v: isinstance(v, str), lambda v: v in names)


ADDRESS: Final = Kind("an address, a text such as 'https://host/path'", lambda v: isinstance(v, str), shown=False)
COMMAND: Final = Kind("a program and its arguments, as a list of texts or as they are typed", _is_command, bool)
FLAG: Final = Kind("True or False", lambda v: isinstance(v, bool))
MAYBE_FLAG: Final = Kind("True, False or None", lambda v: v is None or isinstance(v, bool))
FOLDER: Final = Kind("a folder, or None", lambda v: v is None or isinstance(v, (str, os.PathLike)))
HEADERS: Final = Kind("a dictionary of texts", _is_named, shown=False)
VARIABLES: Final = Kind("a dictionary of texts by their names", _is_named, shown=False)
MAPPING: Final = Kind("a dictionary whose keys are texts", _is_named, shown=False)
KEY: Final = Kind("a text, or None", lambda v: v is None or isinstance(v, (str, Secret)), shown=False)
MAYBE_ADDRESS: Final = Kind(
    "an address such as 'http://localhost:8000/v1', or None", lambda v: v is None or isinstance(v, str), shown=False
)
MAYBE_TEXT: Final = Kind("a text, or None", lambda v: v is None or isinstance(v, str))
METHOD: Final = Kind("a method such as 'POST'", lambda v: isinstance(v, str), lambda v: bool(_TOKEN.fullmatch(v)))
NAME: Final = Kind("the name of a model, such as 'gpt-5-mini'", lambda v: isinstance(v, str), lambda v: bool(v.strip()))
NAMES: Final = Kind("a list of names", lambda v: _are_all(v, str))
PATH_OR_FUNCTION: Final = Kind(
    "a JSONPath, a function of the result, or None", lambda v: v is None or isinstance(v, str) or callable(v)
)
SECONDS: Final = Kind(
    "a positive, finite number of seconds", lambda v: _is_number(v, int, float), lambda v: 0 < v < math.inf
)
STATUSES: Final = Kind(
    "a list of statuses from 100 to 599", lambda v: _are_all(v, int), lambda v: all(100 <= item < 600 for item in v)
)
TOOLS: Final = Kind(
    "a list of tools, each a dictionary",
    lambda v: v is None or (isinstance(v, Sequence) and _are_all(v, Mapping)),
    shown=False,
)
VERIFY: Final = Kind("True, False, or a file of certificates", lambda v: isinstance(v, (bool, str, os.PathLike)))
