"""Calls of targets in a recording, which holds none of the secrets that a target knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from giskard.checks.llm import recording
from giskard.checks.targets._secrets import without

__all__ = ["recorded"]


async def recorded(
    meaning: Mapping[str, Any],
    call: Callable[[], Awaitable[dict[str, Any]]],
    secrets: Iterable[str],
    unwritten: str | None = None,
) -> dict[str, Any]:
    """The answer to a call: as it came, or as it was recorded.

    What is written has ``[secret]`` in the place of each of `secrets`, the conversation up to now included: a service
    may say a key back, and whoever replays the recording has another one, or none.

    Parameters
    ----------
    meaning
        What the call means, as JSON data.
    call
        Makes the call.
    secrets
        What is not to be written, as far as it is set on this machine.
    unwritten
        What of the answer is not written at all.
    """
    clean = without(secrets)
    live: list[dict[str, Any]] = []

    async def cleaned() -> dict[str, Any]:
        live.append(await call())
        return {name: clean(value) for name, value in live[-1].items() if name != unwritten}

    answer, _ = await recording.recorded("target", clean(meaning), cleaned)
    return live[-1] if live else answer
