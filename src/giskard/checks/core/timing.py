"""When something happened and how long it took."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

__all__ = ["Timing"]

# The wall clock of the monotonic clock's zero: durations are exact, starts agree with each other.
_EPOCH = time.time() - time.perf_counter()


class Timing:
    """A start in UTC and a duration in seconds.

    It is small and made for every check and turn, so it holds clock readings, and makes the
    dates when they are asked for.
    """

    __slots__ = ("_start", "seconds", "time_to_first_chunk")

    seconds: float
    """How long it took, in seconds."""
    time_to_first_chunk: float | None
    """Seconds from the start to the first chunk of a stream, None when nothing was streamed."""

    def __init__(self, start: float, seconds: float, time_to_first_chunk: float | None = None) -> None:
        """`start` is a reading of `time.perf_counter`, in seconds."""
        self._start = _EPOCH + start
        self.seconds = seconds
        self.time_to_first_chunk = time_to_first_chunk

    @classmethod
    def since(cls, start: float) -> Timing:
        """From `start`, a reading of `time.perf_counter`, until now."""
        return cls(start, time.perf_counter() - start)

    @property
    def started_at(self) -> datetime:
        """The start, as an aware datetime in UTC."""
        return datetime.fromtimestamp(self._start, UTC)

    @property
    def milliseconds(self) -> int:
        """The duration in whole milliseconds."""
        return int(self.seconds * 1000)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Timing):
            return NotImplemented
        return self._dumped() == other._dumped()

    def __hash__(self) -> int:
        return hash((self._start, self.seconds))

    def __repr__(self) -> str:
        return f"Timing(started_at={self.started_at.isoformat()!r}, seconds={self.seconds!r})"

    def _dumped(self) -> dict[str, Any]:
        return {
            "started_at": self.started_at.isoformat(),
            "seconds": self.seconds,
            "time_to_first_chunk": self.time_to_first_chunk,
        }

    @classmethod
    def _load(cls, data: Any) -> Timing:
        if isinstance(data, Timing):
            return data
        if not isinstance(data, dict):
            raise ValueError(f"expected a mapping with started_at and seconds, got {data!r}")  # noqa: TRY004 - for pydantic
        try:
            started = datetime.fromisoformat(data["started_at"]).timestamp()
            return cls(started - _EPOCH, float(data["seconds"]), data.get("time_to_first_chunk"))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"expected started_at (ISO 8601) and seconds, got {data!r}: {error}") from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._load,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda timing: timing._dumped()),
        )
