"""One call, tried again where that helps, within its time."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from giskard.checks.core.usage import Usage
from giskard.checks.llm._failures import shown_seconds
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.limits import Gate
from giskard.checks.llm.retry_after import backoff
from giskard.checks.utils.lazy import asyncio

__all__ = ["Tries"]

T = TypeVar("T")


class Tries:
    """The tries of one call.

    This is the only place where a call is repeated: the SDKs below are told not to.

    Parameters
    ----------
    who
        What messages call the model.
    gate
        What it has to pass before each try.
    max_retries
        How often it may be repeated.
    timeout
        Seconds for all tries, and the waits between them.
    requests_per_minute
        How fast calls may go out.
    """

    def __init__(
        self, who: Any, gate: Gate, *, max_retries: int, timeout: float, requests_per_minute: float | None = None
    ) -> None:
        self.who = who
        self.gate = gate
        self.max_retries = max_retries
        self.timeout = timeout
        self.requests_per_minute = requests_per_minute
        self.answered = 0
        """How many tries reached the server, as far as is known."""
        self._last: ModelCallError | None = None

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """What `call` gives; it is repeated after failures that may be gone by then.

        Raises
        ------
        ModelCallError
            The last failure.
        """
        # Waiting for one's turn is no time of the call.
        if not await self.gate.turn(self.requests_per_minute, patience=self.timeout):
            raise self._closed()
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                return await self._repeated(call, limit)
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._too_late() from None

    async def _repeated(self, call: Callable[[], Awaitable[T]], limit: asyncio.Timeout) -> T:
        retries = 0
        while True:
            try:
                answer = await call()
            except ModelCallError as error:
                self.answered += error.kind != "network"
                retries += 1
                await self._before(retries, error, limit)
            else:
                self.answered += 1
                return answer

    async def _before(self, retries: int, error: ModelCallError, limit: asyncio.Timeout) -> None:
        """Wait for the next try, or give up."""
        self._last = error
        wait = error.retry_after or backoff(retries)
        if error.kind == "rate_limit":
            self.gate.close_for(wait, error.message)
        if not error.retryable or retries > self.max_retries:
            raise self._counted(error, retries)
        deadline, now = limit.when(), asyncio.get_running_loop().time()
        if deadline is not None and now + wait > deadline:
            error.message += f"; that is more than is left of the {self.timeout:g} s of the call"
            raise self._counted(error, retries)
        if error.kind != "rate_limit":
            await asyncio.sleep(wait)
            now = asyncio.get_running_loop().time()
        if not await self.gate.turn(self.requests_per_minute, patience=(deadline or math.inf) - now):
            raise self._closed()

    def _counted(self, error: ModelCallError, tries: int) -> ModelCallError:
        if tries > 1:
            error.message += f" ({tries} tries)"
        error.args = (error.message,)
        error.usage = Usage(calls=self.answered)
        return error

    def _too_late(self) -> ModelCallError:
        last = "" if self._last is None else f"; the try before ended so: {self._last.message}"
        return ModelCallError(
            f"{self.who} gave no answer within {self.timeout:g} s{last}",
            kind="timeout",
            usage=Usage(calls=self.answered + 1),
        )

    def _closed(self) -> ModelCallError:
        seconds = self.gate.closed_for
        return ModelCallError(
            f"{self.who} was not asked: it takes no calls for another {shown_seconds(seconds)}, and a call may take "
            f"{self.timeout:g} s; the last answer was: {self.gate.reason}",
            kind="rate_limit",
            retry_after=seconds,
            usage=Usage(calls=self.answered),
        )
