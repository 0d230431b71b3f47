"""When something happened and how long it took."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated, Any, cast

from pydantic import Field, GetCoreSchemaHandler, PlainSerializer
from pydantic_core import CoreSchema, core_schema

__all__ = ["Clock", "Timing", "TimingField", "TimingOf", "clock_since", "milliseconds"]

# The wall clock at the monotonic clock's zero: durations are exact, and starts agree with each other.
_EPOCH = time.time() - time.perf_counter()


class Timing:
    """A start in UTC and a duration in seconds.

    Parameters
    ----------
    start
        A reading of `time.perf_counter`, in seconds.
    seconds
        How long it took.
    time_to_first_chunk
        Seconds from the start to the first chunk of a stream, None when nothing was streamed.
    """

    __slots__ = ("_start", "seconds", "time_to_first_chunk")

    def __init__(self, start: float, seconds: float, time_to_first_chunk: float | None = None) -> None:
        self._start = start
        self.seconds = seconds
        self.time_to_first_chunk = time_to_first_chunk

    @property
    def started_at(self) -> datetime:
        """The start, as an aware datetime in UTC."""
        return datetime.fromtimestamp(_EPOCH + self._start, UTC)

    def __eq__(self, other: object) -> bool:
        return self.dump() == other.dump() if isinstance(other, Timing) else NotImplemented

    def __hash__(self) -> int:
        return hash((self._start, self.seconds))

    def __repr__(self) -> str:
        return f"Timing(started_at={self.started_at.isoformat()!r}, seconds={self.seconds!r})"

    def dump(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "started_at": self.started_at.isoformat(),
            "seconds": self.seconds,
            "time_to_first_chunk": self.time_to_first_chunk,
        }

    @classmethod
    def load(cls, data: Any) -> Timing:
        """What `dump` gave, turned back.

        Raises
        ------
        ValueError
            When it is anything else.
        """
        if isinstance(data, Timing):
            return data
        if isinstance(data, tuple):
            return cls(*cast("Clock", data))
        try:
            started = datetime.fromisoformat(data["started_at"]).timestamp()
            return cls(started - _EPOCH, float(data["seconds"]), data.get("time_to_first_chunk"))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"expected started_at (ISO 8601) and seconds, got {data!r}: {error}") from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.load)


Clock = tuple[float, float]
"""A start and a duration, as a result holds them: the garbage collector need not look into it."""


def _dump(timing: Any) -> dict[str, Any] | None:
    return None if timing is None else Timing.load(timing).dump()


TimingField = Annotated[Timing | None, PlainSerializer(_dump), Field(repr=False)]


class TimingOf:
    """Reads the ``timing`` of a result, which is made when it is asked for."""

    def __get__(self, instance: Any, owner: Any = None) -> Timing | None:
        if instance is None:  # pydantic looks for defaults on the class: there are none
            raise AttributeError("timing")
        clock = instance.__dict__.get("timing")
        return None if clock is None else Timing.load(clock)

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError("timing of a result cannot be set")


def clock_since(start: float) -> Clock:
    """From `start`, a reading of `time.perf_counter`, until now."""
    return start, time.perf_counter() - start


def milliseconds(clock: Clock) -> int:
    """The duration in whole milliseconds."""
    return int(clock[1] * 1000)
