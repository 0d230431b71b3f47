"""Requests as data with placeholders, which are replaced as values: what stands in an input stays a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from urllib.parse import quote

from giskard.checks.core.models import did_you_mean
from giskard.checks.targets._conversation import as_json, as_text, to_json_text
from giskard.checks.targets._reply import ValuePath
from giskard.checks.targets._secrets import REFERENCE, WITHHELD, Keys, Secret
from giskard.checks.targets.errors import TargetError

__all__ = ["PLACEHOLDERS", "Template"]

PLACEHOLDERS: Final = ("inputs", "conversation_id", "trial", "history", "messages", "annotations")
_PLACEHOLDER: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*)((?:\.\w+|\[-?\d+\])*)\s*\}\}")
_EITHER: Final = re.compile(f"{_PLACEHOLDER.pattern}|{REFERENCE.pattern}")

Fill = Callable[[Mapping[str, Any], Keys], Any]


class Template:
    """Data in which texts may hold placeholders such as ``{{ inputs }}`` or ``{{ inputs.question }}``.

    A text that is nothing but a placeholder becomes the value itself, of whatever type; within a longer text, values
    are written as text.  The values are never looked at for placeholders.

    Parameters
    ----------
    data
        JSON data.
    what
        What it is, for messages.
    names
        The placeholders that there are.
    quoted
        Whether values become parts of an address: everything in them that could be a part of its own is escaped.
    references
        Whether ``${NAME}`` stands for a variable of the environment.

    Raises
    ------
    ValueError
        When a placeholder is none of them, or the data is no JSON.
    """

    def __init__(
        self,
        data: Any,
        what: str,
        names: tuple[str, ...] = PLACEHOLDERS,
        *,
        quoted: bool = False,
        references: bool = False,
    ) -> None:
        self._what = what
        self._known = names
        self._write = _quoted if quoted else as_text
        self._is_quoted = quoted
        self._pattern = _EITHER if references else _PLACEHOLDER
        self._names: set[str] = set()
        self._fill = self._compiled(data)
        self.names = frozenset(self._names)
        """The placeholders that it holds."""

    def fill(self, values: Mapping[str, Any], keys: Keys = WITHHELD) -> Any:
        """The data with the placeholders replaced.

        Parameters
        ----------
        keys
            What stands in the places of variables of the environment, and of secrets.

        Raises
        ------
        TargetError
            When a placeholder looks for something that its value does not have.
        """
        return self._fill(values, keys)

    def _compiled(self, data: Any) -> Fill:
        if isinstance(data, str):
            return self._text(data)
        if isinstance(data, Secret):
            return lambda values, keys: keys.secret(data)
        if isinstance(data, Mapping):
            items = {key: self._compiled(item) for key, item in cast("Mapping[Any, Any]", data).items()}
            for key in items:
                if not isinstance(key, str) or _PLACEHOLDER.search(key):
                    raise ValueError(f"{self._what} has the key {key!r}; expected a text without placeholders")
            return lambda values, keys: {key: item(values, keys) for key, item in items.items()}
        if isinstance(data, (list, tuple)):
            parts = [self._compiled(item) for item in cast("list[Any]", data)]
            return lambda values, keys: [item(values, keys) for item in parts]
        try:
            constant = as_json(data, "it")
            to_json_text(constant)
        except TargetError as error:
            raise ValueError(f"{self._what} is no JSON data: {error}") from None
        return lambda values, keys: constant

    def _text(self, text: str) -> Fill:
        found = list(self._pattern.finditer(text))
        if not found:
            return lambda values, keys: text
        getters = [self._getter(match) for match in found]
        if not self._is_quoted and len(found) == 1 and found[0].span() == (0, len(text)):
            return getters[0]
        bounds = [0, *(edge for match in found for edge in match.span()), len(text)]
        literals = [text[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True)]

        def fill(values: Mapping[str, Any], keys: Keys) -> str:
            written = [self._write(get(values, keys)) for get in getters]
            return "".join(part for pair in zip(literals, [*written, ""], strict=True) for part in pair)

        return fill

    def _getter(self, match: re.Match[str]) -> Fill:
        if match[1] is None:
            return self._reference(match[0], is_literal=bool(match[3]), name=match[4])
        name, below = match[1], match[2]
        if name not in self._known:
            hint = did_you_mean(name, self._known)
            raise ValueError(
                f"{self._what} has the placeholder {match[0]!r}{hint or '.'} There are: {', '.join(self._known)}"
            )
        self._names.add(name)
        if not below:
            return lambda values, keys: values[name]
        path = ValuePath(below)

        def get(values: Mapping[str, Any], keys: Keys) -> Any:
            return path.find(values[name], f"{match[0]} of {self._what}: {name}")

        return get

    def _reference(self, text: str, *, is_literal: bool, name: str) -> Fill:
        literal = text[1:]
        return lambda values, keys: literal if is_literal else keys.variable(name, self._what)


def _quoted(value: Any) -> str:
    return quote(as_text(value), safe="", errors="replace")
