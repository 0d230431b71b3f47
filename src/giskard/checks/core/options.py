"""What a run is given, looked at before anything starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from giskard.checks.core.types import MISSING

__all__ = ["GivenTarget", "Seconds", "check_options", "positive_int", "positive_seconds", "valid_target"]


def check_options(
    *,
    target: Any = MISSING,
    multiple_runs: int | None = None,
    max_concurrency: int | None = None,
    timeout: float | None = None,
    parallel: bool = False,
) -> None:
    """Refuse options that a run cannot have; None stands for "not given", but for the target, of which it is a value.

    Raises
    ------
    TypeError, ValueError
        Naming the option, its value, and what was expected.
    """
    valid_target(target)
    if not isinstance(parallel, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - people write a number
        raise TypeError(f"parallel is {parallel!r}, expected True or False; how many at once is max_concurrency")
    positive_int("multiple_runs", multiple_runs, "the scenario's own")
    positive_int("max_concurrency", max_concurrency, "no limit")
    if timeout is not None:
        positive_seconds(timeout)


def valid_target(target: Any, name: str = "target") -> Any:
    """`target`, unless it is what an async function, or a generator function, gave back when it was called.

    Parameters
    ----------
    name
        The argument that it was given for.

    Raises
    ------
    TypeError
        When it is.
    """
    if not isinstance(target, _CALLED):
        return target
    function, kind = target.__name__, type(target).__name__
    if isinstance(target, CoroutineType):
        target.close()  # it was never awaited, and is not meant to be
    raise TypeError(f"{name} is the {kind} of {function}(…): pass the function itself, not its call: {name}={function}")


_CALLED: tuple[type[Any], ...] = (CoroutineType, AsyncGeneratorType, GeneratorType)


def positive_seconds(value: Any) -> float:
    """`value` as seconds.

    Raises
    ------
    TypeError, ValueError
        When it is no number, or not a positive finite one.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"timeout is {value!r} ({type(value).__name__}), expected a positive number of seconds or None")
    if not 0 < value < math.inf:
        raise ValueError(f"timeout is {value!r}, expected a positive, finite number of seconds, or None for no limit")
    return value


def positive_int(name: str, value: Any, none: str) -> None:
    """Refuse a `value` of the option `name` that is no positive whole number; None stands for `none`.

    Raises
    ------
    TypeError, ValueError
        Naming the option, its value, and what was expected.
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}), expected a positive whole number or None")
    if value < 1:
        raise ValueError(f"{name} is {value}, expected at least 1, or None for {none}")


def _as_value_error(check: Callable[[Any], Any]) -> BeforeValidator:
    """`check` for a field: its TypeError becomes one of the lines of a ValidationError."""

    def checked(value: Any) -> Any:
        try:
            return check(value)
        except TypeError as error:
            raise ValueError(str(error)) from None

    return BeforeValidator(checked)


Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False), _as_value_error(positive_seconds)]
"""A field that holds a positive, finite number of seconds."""

GivenTarget = Annotated[Any, _as_value_error(valid_target)]
"""A field that holds a target."""
