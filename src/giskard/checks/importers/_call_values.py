"""What went into a call and what came out of it, as values."""

from __future__ import annotations

import json
from typing import Any

from giskard.checks.importers._contents import plain
from giskard.checks.importers._json import json_or_text, loads
from giskard.checks.importers._messages import Result
from giskard.checks.utils.frozen import FrozenDict, freeze_data
from giskard.checks.utils.json_safe import json_safe

__all__ = ["read_arguments", "read_result", "read_text"]

# With what else begins a text that is JSON?
_JSON_BEGINS = frozenset('{["-0123456789tfn \t\r\n')
_NOTHING = FrozenDict()
_NO_TEXT = "the tool failed; no text of it was recorded"


def read_arguments(given: Any) -> tuple[Any, str | None]:
    """The arguments of a call, frozen, and why they could not be read; a text is JSON."""
    if type(given) is not str:
        return freeze_data(given), None
    try:
        value = loads(given)
        if type(value) is str:  # written as JSON twice
            value = loads(value)
    except ValueError as error:
        if not given.strip():  # how many write a call without arguments
            return _NOTHING, None
        return given, f"not JSON: {error}"
    if value is None:  # others write "null" for that
        return _NOTHING, None
    if type(value) is not dict:
        return freeze_data(value), f"expected an object, got {given:.80}"
    return freeze_data(value), None


def read_text(content: str) -> Any:
    """What a text holds where it is JSON, frozen; else the text."""
    if content and content[0] in _JSON_BEGINS:
        return freeze_data(json_or_text(content))
    return content


def read_result(result: Result) -> tuple[Any, str | None]:
    """What a tool gave back, frozen, and the text of its failure."""
    content, error = result.content, result.error
    if error is not True:
        return read_text(content) if type(content) is str else freeze_data(content), error or None
    content = plain(content, "\n")
    if content is None or content == "":
        return None, _NO_TEXT
    if type(content) is str:
        return None, content
    return freeze_data(content), json.dumps(json_safe(content), ensure_ascii=False)
