"""When something happened and how long it took."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, PlainSerializer
from pydantic_core import CoreSchema, core_schema

__all__ = ["Clock", "Timing", "TimingField", "TimingOf", "clock_since", "milliseconds", "start_of_run", "start_texts"]

# A reading of `time.perf_counter` at the start, the seconds it took, and, of what streamed, those to the first chunk:
# what a result keeps while it stays in its process.  The garbage collector need not look into it.
Clock = tuple[float, float] | tuple[float, float, float | None]


class Timing:
    """A start in UTC and a duration in seconds.

    Parameters
    ----------
    started_at
        An aware datetime.
    seconds
        How long it took.
    time_to_first_chunk
        Seconds from the call of a target to the first chunk of its stream, None when nothing was streamed. A step has
        that of its first turn that was streamed, a scenario that of its first step that has one.
    """

    __slots__ = ("seconds", "started_at", "time_to_first_chunk")

    def __init__(self, started_at: datetime, seconds: float, time_to_first_chunk: float | None = None) -> None:
        self.started_at = started_at
        self.seconds = seconds
        self.time_to_first_chunk = time_to_first_chunk

    def __eq__(self, other: object) -> bool:
        return self.dump() == other.dump() if isinstance(other, Timing) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.started_at, self.seconds))

    def __repr__(self) -> str:
        first = "" if self.time_to_first_chunk is None else f", time_to_first_chunk={self.time_to_first_chunk!r}"
        return f"Timing(started_at={self.started_at.isoformat()!r}, seconds={self.seconds!r}{first})"

    def dump(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "started_at": self.started_at.isoformat(),
            "seconds": self.seconds,
            "time_to_first_chunk": self.time_to_first_chunk,
        }

    @classmethod
    def of(cls, clock: Clock) -> Timing:
        """The timing that readings of this process's clock stand for."""
        first_chunk = clock[2] if len(clock) == 3 else None
        return cls(datetime.fromtimestamp(_wall.time_of(clock[0]), UTC), clock[1], first_chunk)

    @classmethod
    def load(cls, data: Any) -> Timing:
        """What `dump` gave, turned back; a timing or a `Clock` as well.

        Raises
        ------
        ValueError
            When it is anything else.
        """
        if isinstance(data, Timing):
            return data
        if isinstance(data, tuple):
            return cls.of(data)  # pyright: ignore[reportUnknownArgumentType]
        try:
            started = datetime.fromisoformat(data["started_at"]).astimezone(UTC)
            return cls(started, float(data["seconds"]), data.get("time_to_first_chunk"))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"expected started_at (ISO 8601) and seconds, got {data!r}: {error}") from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.load)


class _WallClock:
    """Tells what time it was at a reading of `time.perf_counter`, whose durations are exact.

    While a machine sleeps that counter stands still, and a clock that is set does not move it: how far the two are
    apart is looked at again whenever a run starts, and each reading goes by what was found last before it.
    """

    def __init__(self) -> None:
        self._since = [-math.inf]
        self._apart = [time.time() - time.perf_counter()]

    def look(self) -> float:
        """Look at both clocks; the reading of the counter."""
        now = time.perf_counter()
        apart = time.time() - now
        if abs(apart - self._apart[-1]) > 1:
            self._since.append(now)
            self._apart.append(apart)
        return now

    def time_of(self, reading: float) -> float:
        """Seconds since 1970 at a reading of the counter."""
        if len(self._apart) == 1:
            return reading + self._apart[0]
        return reading + self._apart[bisect_right(self._since, reading) - 1]

    def times_of(self, readings: Sequence[float]) -> list[float]:
        """`time_of` each of the readings."""
        if len(self._apart) == 1:
            apart = self._apart[0]
            return [reading + apart for reading in readings]
        return list(map(self.time_of, readings))


_wall = _WallClock()

start_of_run = _wall.look
"""A reading of `time.perf_counter`, for what starts now; it also keeps the wall clock right."""


def start_texts(readings: Sequence[float]) -> list[str]:
    """What `Timing.of` would dump as the starts, for readings of this process's clock."""
    moments = _wall.times_of(readings)
    second = int(min(moments))
    if max(moments) < second + 1:  # what happens close together is written together
        micros = [round((moment - second) * 1_000_000) for moment in moments]  # half to even, as datetime has it
        if min(micros) > 0 and max(micros) < 1_000_000:
            text = datetime.fromtimestamp(second, UTC).isoformat()[:19]
            return ((f"{text}.%06d+00:00 " * len(micros)) % tuple(micros)).split()
    return [datetime.fromtimestamp(moment, UTC).isoformat() for moment in moments]


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


def clock_since(start: float) -> tuple[float, float]:
    """From `start`, a reading of `time.perf_counter`, until now."""
    return start, time.perf_counter() - start


def milliseconds(clock: Clock) -> int:
    """The duration in whole milliseconds."""
    return int(clock[1] * 1000)
