"""What belongs to one event loop: HTTP connections, and the gates of models; closed when the loop ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.llm._addresses import Address
from giskard.checks.llm.limits import Gate
from giskard.checks.utils.lazy import asyncio
from giskard.checks.utils.per_loop import PerLoop

if TYPE_CHECKING:
    import httpx2

__all__ = ["LoopState", "loop_state"]

T = TypeVar("T")


class LoopState:
    """What calls in one event loop share."""

    def __init__(self) -> None:
        self._http: httpx2.AsyncClient | None = None
        self._clients: dict[Any, Any] = {}
        self._gates: dict[tuple[str, str], Gate] = {}
        self._opening = asyncio.Lock()

    def gate(self, address: Address) -> Gate:
        """The gate of a model at a server."""
        key = address.server, address.model
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = Gate()
        return gate

    async def client(self, address: Address, make: Callable[[Address, httpx2.AsyncClient], T]) -> T:
        """What `make` made of an address and the HTTP client of the loop; it is made once, and kept.

        It is made in a thread: the library takes seconds to import, in which the other tasks of the loop go on.
        """
        client = self._clients.get((make, address))
        if client is None:
            async with self._opening:
                client = self._clients.get((make, address))
                if client is None:
                    if self._http is None:
                        self._http = await asyncio.to_thread(_open_http)
                    client = self._clients[make, address] = await asyncio.to_thread(make, address, self._http)
        return client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()


def _open_http() -> httpx2.AsyncClient:
    """The HTTP client of a loop; this is where the library is imported first."""
    try:
        from giskard.checks.llm import _pydantic_ai  # noqa: F401, PLC0415  # pyright: ignore[reportUnusedImport]
        from giskard.checks.llm._connections import open_http  # noqa: PLC0415
    except ImportError as error:
        if (error.name or "giskard").partition(".")[0] == "giskard":
            raise
        raise MissingExtraError("pydantic-ai-slim[openai]", "llm") from None
    return open_http()


_states: Final = PerLoop(LoopState, LoopState.aclose)


def loop_state() -> LoopState:
    """The state of the event loop that runs now."""
    return _states.get()
