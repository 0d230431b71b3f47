"""Answers that come in chunks."""

from __future__ import annotations

import json
from typing import Any

from giskard.checks.core.extraction import NoMatch
from giskard.checks.targets._conversation import excerpt
from giskard.checks.targets._place import Place
from giskard.checks.targets._reply import ValuePath, parse_json
from giskard.checks.targets.errors import TargetError

__all__ = ["Chunks"]


class Chunks:
    """Puts an answer together from the data of its events.

    Parameters
    ----------
    place
        What messages call the request.
    path
        Where the chunk is in each event; events without one are passed over.
    take_id
        Where the service's id of the conversation is.
    """

    def __init__(self, place: str, path: ValuePath | None, take_id: Place | None = None) -> None:
        self._place = place
        self._path = path
        self._id_path = None if take_id is None else take_id.path
        self._chunks: list[Any] = []
        self._last = ""
        self.first_chunk: float | None = None
        """Seconds to the first chunk."""
        self.conversation_id: Any = None

    def add(self, data: str, seconds: float, kind: str = "message") -> None:
        """Take the data of an event.

        Raises
        ------
        TargetError
            When it tells of an error, or is no JSON although there is a path.
        """
        if kind == "error":
            raise TargetError(f"{self._place} broke off with an error event: {excerpt(data)}")
        self._last = data
        chunk: Any = data
        if self._path is not None or self._id_path is not None:
            event = parse_json(data, f"an event of {self._place}")
            if self._id_path is not None and self.conversation_id is None:
                found = self._id_path.search(event)
                self.conversation_id = None if isinstance(found, NoMatch) else found
            chunk = event if self._path is None else self._path.search(event)
        elif data[0] in '{["':
            chunk = _data(data)
        if chunk is None or isinstance(chunk, NoMatch):
            return
        if self.first_chunk is None:
            self.first_chunk = seconds
        self._chunks.append(chunk)

    def joined(self) -> Any:
        """Chunks of text as one text, others as a list.

        Raises
        ------
        TargetError
            When there were events, and none of them had a chunk.
        """
        if not self._chunks and self._last and self._path is not None:
            raise TargetError(
                f"no event of {self._place} has anything at {self._path.text!r}; the last one: {excerpt(self._last)}",
                kind="missing_value",
            )
        if all(isinstance(chunk, str) for chunk in self._chunks):
            return "".join(self._chunks)
        return self._chunks


def _data(text: str) -> Any:
    """JSON data, or the text itself when it only looks like it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
