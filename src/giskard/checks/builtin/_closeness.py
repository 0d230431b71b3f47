"""How close two numbers, or two times, are."""

from __future__ import annotations

import datetime
import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from numbers import Rational
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import PlainValidator
from pydantic_core import SchemaValidator, core_schema

from giskard.checks.builtin._shown import type_name
from giskard.checks.utils.normalization import NormalizationForm

__all__ = [
    "EXACT",
    "PLAIN_NUMBERS",
    "TIMES",
    "CompareOptions",
    "RelativeToleranceField",
    "ToleranceField",
    "is_exact",
    "is_nan",
    "numbers_equal",
    "times_equal",
]

Tolerance: TypeAlias = float | Decimal | datetime.timedelta


class CompareOptions(NamedTuple):
    """How closely two values are compared."""

    form: NormalizationForm | None = None
    """The normal form of the texts on both sides."""
    tolerance: Tolerance | None = None
    """The greatest absolute difference of two equal numbers; a timedelta: of two equal times."""
    relative_tolerance: float | Decimal | None = None
    """The greatest difference of two equal numbers, as a share of the greater magnitude (as `math.isclose`)."""


EXACT = CompareOptions()
"""Texts as they are, numbers and times without a tolerance."""
PLAIN_NUMBERS: frozenset[type] = frozenset({int, float})
TIMES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
_SOME_DAY = datetime.date(2000, 1, 1)


def is_exact(options: CompareOptions) -> bool:
    """Whether no tolerance is set."""
    return options.tolerance is None and options.relative_tolerance is None


def is_nan(number: Any) -> bool:
    """Whether a number is NaN; a signalling one of decimal too, which raises when it is compared."""
    return number.is_nan() if isinstance(number, Decimal) else bool(number != number)  # noqa: PLR0124


def numbers_equal(one: Any, other: Any, options: CompareOptions) -> bool:
    """Whether two numbers are equal, or within a tolerance."""
    if is_nan(one) or is_nan(other):
        return False
    if one == other:
        return True
    if is_exact(options):
        return False
    absolute = options.tolerance
    if isinstance(absolute, datetime.timedelta):
        absolute = None
    relative = options.relative_tolerance
    if isinstance(one, complex) or isinstance(other, complex):
        one, other = complex(one), complex(other)
        largest = max(abs(one), abs(other))
        return abs(one - other) <= max(float(absolute or 0), float(relative or 0) * largest) < math.inf
    return _close(_decimal(one), _decimal(other), absolute, relative)


def _close(one: Decimal, other: Decimal, absolute: float | Decimal | None, relative: float | Decimal | None) -> bool:
    """Whether two numbers are within a tolerance, counted in decimal so that the bound itself is within.

    In binary, ``0.3 - 0.29 <= 0.01`` is False.
    """
    if not (one.is_finite() and other.is_finite()):
        return False
    context = _exact_context()
    distance = context.abs(context.subtract(one, other))
    if absolute is not None and distance <= _decimal(absolute):
        return True
    if relative is None:
        return False
    largest = max(context.abs(one), context.abs(other))
    return distance <= context.multiply(_decimal(relative), largest)


def _exact_context() -> Context:
    return Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def _decimal(number: Any) -> Decimal:
    """A real number as the decimal that it is written as."""
    if isinstance(number, float):
        return Decimal(float.__repr__(number))
    if isinstance(number, (int, Decimal)):
        return Decimal(number)
    if isinstance(number, Rational):
        return _exact_context().divide(Decimal(int(number.numerator)), Decimal(int(number.denominator)))
    return Decimal(float.__repr__(float(number)))


def times_equal(one: Any, other: Any, options: CompareOptions) -> bool:
    """Whether two times are equal, or within a tolerance of time."""
    if one == other:
        return True
    if not isinstance(options.tolerance, datetime.timedelta):
        return False
    if isinstance(one, datetime.time) and isinstance(other, datetime.time):
        one, other = (datetime.datetime.combine(_SOME_DAY, time) for time in (one, other))
    try:
        return abs(one - other) <= options.tolerance
    except (TypeError, OverflowError):  # a date and a datetime; a time zone on one side only
        return False


# --- fields of checks --------------------------------------------------------------------


def _tolerance(value: Any) -> float | Decimal | datetime.timedelta | None:
    if value is None:
        return None
    if isinstance(value, str):  # from a file: an ISO 8601 duration, such as "PT5M"
        value = SchemaValidator(core_schema.timedelta_schema()).validate_python(value)
    if isinstance(value, datetime.timedelta):
        if value < datetime.timedelta(0):
            raise ValueError(f"a tolerance is not negative, got {value!r}")
        return value
    return _non_negative(value)


def _non_negative(value: Any) -> float | Decimal | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ValueError(f"a tolerance is a number, got {type_name(value)}: {value!r:.100}")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"a tolerance is finite and not negative, got {value!r}")
    return value


ToleranceField: TypeAlias = Annotated[float | Decimal | datetime.timedelta | None, PlainValidator(_tolerance)]
"""The type of a check's field: the greatest absolute difference of two equal numbers, or times."""
RelativeToleranceField: TypeAlias = Annotated[float | Decimal | None, PlainValidator(_non_negative)]
"""The type of a check's field: the greatest difference as a share."""
