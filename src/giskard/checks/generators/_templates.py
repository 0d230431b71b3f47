"""Filled templates of inputs, made once and kept for the whole process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

from pydantic import BaseModel

from giskard.checks.llm import recording
from giskard.checks.llm.schemas import schema_text
from giskard.checks.utils.lazy import asyncio

__all__ = ["FILLED", "Templates", "key_of"]

_Key: TypeAlias = "tuple[str | int, str]"
_MOST: Final = 256


def key_of(generator: Any, form: type[BaseModel]) -> _Key:
    """What stands for a model, by its name or as the object that it is, and the schema of a form."""
    return (generator if isinstance(generator, str) else id(generator)), schema_text(form)


class Templates:
    """What models made of each form; who asks for the same meanwhile waits for the one who asks the model."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, tuple[Any, Any]] = OrderedDict()
        self._asking: dict[tuple[Any, _Key], tuple[Any, int]] = {}
        self._guard = threading.Lock()  # event loops run in several threads

    async def get(self, key: _Key, generator: Any, make: Callable[[], Awaitable[Any]]) -> Any:
        """The template of `key`, out of `make` when there is none yet.

        Parameters
        ----------
        generator
            The model; it is kept as long as the template, so that no other object gets its id.
        """
        if recording.active():  # a cassette or a cache has to see each call, in whatever order tests run
            return await make()
        async with self._one_at_a_time(key):
            with self._guard:
                known = self._known.get(key)
            if known is not None:
                return known[1]
            made = await make()
            with self._guard:
                self._known[key] = generator, made
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)
            return made

    @asynccontextmanager
    async def _one_at_a_time(self, key: _Key) -> AsyncGenerator[None]:
        """Wait until nobody else in this event loop asks for `key`."""
        place = asyncio.get_running_loop(), key
        with self._guard:
            lock, users = self._asking.get(place) or (asyncio.Lock(), 0)
            self._asking[place] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._asking.pop(place)
                if users > 1:
                    self._asking[place] = lock, users - 1


FILLED: Final = Templates()
