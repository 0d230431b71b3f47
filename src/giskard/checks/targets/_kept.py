"""What a target keeps of conversations."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["Kept"]

T = TypeVar("T")


class Kept(Generic[T]):
    """One thing for each conversation, of those that were used last; loops in several threads may share it.

    A copy has nothing yet: it is asked for conversations of its own.

    Parameters
    ----------
    most
        How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, conversation_id: str) -> T | None:
        """What is kept of a conversation; None when nothing is."""
        with self._lock:
            return self._items.get(conversation_id)

    def get_or_make(self, conversation_id: str, make: Callable[[], T]) -> T:
        """What is kept of a conversation, and else what `make` gives, from now on."""
        with self._lock:
            found = self._items.get(conversation_id)
            if found is None:
                found = make()
            self._put(conversation_id, found)
            return found

    def put(self, conversation_id: str, item: T) -> None:
        """Keep it of a conversation, in the place of what there was."""
        with self._lock:
            self._put(conversation_id, item)

    def _put(self, conversation_id: str, item: T) -> None:
        self._items[conversation_id] = item
        self._items.move_to_end(conversation_id)
        while len(self._items) > self._most:
            self._items.popitem(last=False)

    def __iter__(self) -> Iterator[str]:
        """The conversations, the one that was used last at the end."""
        with self._lock:
            return iter(list(self._items))

    def __deepcopy__(self, memo: dict[int, Any]) -> Kept[T]:
        return Kept(self._most)

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, (self._most,)
