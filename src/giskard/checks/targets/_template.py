"""Requests as data with placeholders, which are replaced as values: what stands in an input stays a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from urllib.parse import quote

from giskard.checks.core.models import did_you_mean
from giskard.checks.targets._conversation import as_json, as_text, to_json_text
from giskard.checks.targets._reply import ValuePath
from giskard.checks.targets.errors import TargetError

__all__ = ["PLACEHOLDERS", "Template"]

PLACEHOLDERS: Final = ("inputs", "conversation_id", "trial", "history", "messages", "annotations")
_PLACEHOLDER: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*)((?:\.\w+|\[-?\d+\])*)\s*\}\}")

Fill = Callable[[Mapping[str, Any]], Any]


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

    Raises
    ------
    ValueError
        When a placeholder is none of them, or the data is no JSON.
    """

    def __init__(self, data: Any, what: str, names: tuple[str, ...] = PLACEHOLDERS, *, quoted: bool = False) -> None:
        self._what = what
        self._known = names
        self._quoted = quoted
        self._names: set[str] = set()
        self._fill = self._compiled(data)
        self.names = frozenset(self._names)
        """The placeholders that it holds."""

    def fill(self, values: Mapping[str, Any]) -> Any:
        """The data with the placeholders replaced.

        Raises
        ------
        TargetError
            When a placeholder looks for something that its value does not have.
        """
        return self._fill(values)

    def _compiled(self, data: Any) -> Fill:
        if isinstance(data, str):
            return self._text(data)
        if isinstance(data, Mapping):
            items = {key: self._compiled(item) for key, item in cast("Mapping[Any, Any]", data).items()}
            for key in items:
                if not isinstance(key, str) or _PLACEHOLDER.search(key):
                    raise ValueError(f"{self._what} has the key {key!r}; expected a text without placeholders")
            return lambda values: {key: item(values) for key, item in items.items()}
        if isinstance(data, (list, tuple)):
            parts = [self._compiled(item) for item in cast("list[Any]", data)]
            return lambda values: [item(values) for item in parts]
        try:
            constant = as_json(data, "it")
            to_json_text(constant)
        except TargetError as error:
            raise ValueError(f"{self._what} is no JSON data: {error}") from None
        return lambda values: constant

    def _text(self, text: str) -> Fill:
        found = list(_PLACEHOLDER.finditer(text))
        if not found:
            return lambda values: text
        getters = [self._getter(match) for match in found]
        if not self._quoted and len(found) == 1 and found[0].span() == (0, len(text)):
            return getters[0]
        bounds = [0, *(edge for match in found for edge in match.span()), len(text)]
        literals = [text[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
        write = _quoted if self._quoted else as_text

        def fill(values: Mapping[str, Any]) -> str:
            written = [write(get(values)) for get in getters]
            return "".join(part for pair in zip(literals, [*written, ""], strict=True) for part in pair)

        return fill

    def _getter(self, match: re.Match[str]) -> Fill:
        name, below = match[1], match[2]
        if name not in self._known:
            hint = did_you_mean(name, self._known)
            raise ValueError(
                f"{self._what} has the placeholder {match[0]!r}{hint or '.'} There are: {', '.join(self._known)}"
            )
        self._names.add(name)
        if not below:
            return lambda values: values[name]
        path = ValuePath(below)

        def get(values: Mapping[str, Any]) -> Any:
            return path.find(values[name], f"{match[0]} of {self._what}: {name}")

        return get


def _quoted(value: Any) -> str:
    return quote(as_text(value), safe="", errors="replace")
