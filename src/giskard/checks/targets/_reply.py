"""Replies as data, and the path to what is wanted of them."""

from __future__ import annotations

import json
from typing import Any

from giskard.checks.core.extraction import NoMatch, Path, PathSyntaxError, compile_path
from giskard.checks.targets._conversation import excerpt
from giskard.checks.targets.errors import TargetError

__all__ = ["ValuePath", "parse_json"]

_ROOT = "reply"


class ValuePath:
    """A JSONPath (RFC 9535) into JSON data: ``$.choices[0].message.content``; the ``$.`` may be left out.

    Raises
    ------
    ValueError
        When it is none.
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - from outside
            raise ValueError(f"{text!r} is no path; expected a text such as '$.choices[0].message.content'")
        self.text = text
        rest = text.removeprefix("$")
        if rest and rest[0] not in ".[":
            rest = f".{rest}"
        self._is_root = not rest
        self._wrapped = rest.startswith("[")  # paths into traces start with a name
        self._path: Path | None = None
        if self._is_root:
            return
        try:
            self._path = compile_path(f"trace.{_ROOT}{rest}" if self._wrapped else f"trace{rest}")
        except PathSyntaxError as error:
            reason = str(error).partition(" is not a path: ")[2].partition("; expected")[0]
            raise ValueError(
                f"{text!r} is no path into a reply: {reason or 'bad syntax'}; expected a JSONPath such as "
                "'$.choices[0].message.content'"
            ) from None

    def search(self, data: Any) -> Any:
        """The value, or values, at the path; `NoMatch` when there is none."""
        if self._path is None:
            return data
        return self._path.resolve({_ROOT: data} if self._wrapped else data)

    def find(self, data: Any, what: str) -> Any:
        """As `search`, for what has to be there.

        Raises
        ------
        TargetError
            When it is not: the message says where the path ends.
        """
        found = self.search(data)
        if not isinstance(found, NoMatch) or self._path is None:
            return found
        where = self._path.explain({_ROOT: data} if self._wrapped else data)
        where = where.replace(f"trace.{_ROOT}" if self._wrapped else "trace", "$", 1)
        raise TargetError(f"{what} has nothing at {self.text!r}: {where}", kind="missing_value")


def parse_json(text: str | bytes, what: str) -> Any:
    """The JSON data in `text`.

    Raises
    ------
    TargetError
        When it is none; the message shows how it begins.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    shown = text if isinstance(text, str) else text.decode("utf-8", "replace")
    raise TargetError(f"{what} is no JSON ({problem}): {excerpt(shown)}", kind="bad_type")
