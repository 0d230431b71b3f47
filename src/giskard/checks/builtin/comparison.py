"""Checks that compare a value with another one."""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, cast, get_args

from pydantic import model_validator

from giskard.checks.builtin._closeness import CompareOptions, RelativeToleranceField, ToleranceField
from giskard.checks.builtin._compare import Difference, Incomparable, find_difference, same_leaf
from giskard.checks.builtin._order import compare_order
from giskard.checks.builtin._shown import json_path, shown, type_name
from giskard.checks.core.check import Check, CodeCheck, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.check_result import CheckStatus, Verdict, passed_with
from giskard.checks.core.extraction import compile_path
from giskard.checks.core.types import MISSING, In, Out, TraceT
from giskard.checks.utils.frozen import freeze
from giskard.checks.utils.normalization import NormalizationForm
from giskard.checks.utils.plain import SCALARS

__all__ = [
    "ComparisonCheck",
    "Equals",
    "GreaterThan",
    "GreaterThanEquals",
    "LessThan",
    "LessThanEquals",
    "NotEquals",
]


_EXACT = {form: CompareOptions(form) for form in (None, *get_args(NormalizationForm))}


class _Both(NamedTuple):
    """An actual value and an expected one that stood in the trace too."""

    actual: Any
    expected: Any


def _details(actual: Any, expected: Any) -> dict[str, Any]:
    return {"actual_value": actual, "expected_value": expected}


class ComparisonCheck(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """What the comparisons share: a value of the trace, an expected one, and how closely the two are compared.

    Parameters
    ----------
    expected_value, expected_value_key
        What to compare with: a value (None is one), or the path of a value in the trace; exactly one of them.
    target_key
        The path of the value that is checked.
    match
        With "any", "all" or "none" the value must be a list, a tuple or a set, and the comparison must hold for any,
        all or none of its items.  Over an empty one "any" is FAIL, "none" is PASS and "all" is ERROR.
    normalization_form
        Texts on both sides are compared in this Unicode normal form, with their white space collapsed and
        trimmed; None compares them as they are.
    tolerance
        The greatest absolute difference at which two numbers count as equal, also inside lists and dicts; a timedelta:
        at which two times do.  A value that is equal within the tolerance is neither less nor greater.
    relative_tolerance
        The same as a share of the greater one of the two magnitudes.

    Notes
    -----
    A value that cannot be compared with the expected one (another type, NaN) makes an ordering an ERROR.  What is equal
    to what is told at `Equals`.
    """

    _phrases: ClassVar[tuple[str, str, str]] = ("", "", "")
    """How a message says that the comparison holds, that it does not hold, and that it holds for several items."""

    expected_value: Any = MISSING
    expected_value_key: JSONPathStr | None = None
    target_key: JSONPathStr = "trace.last.outputs"
    match: Literal["any", "all", "none"] | None = None
    normalization_form: NormalizationForm | None = "NFKC"
    tolerance: ToleranceField = None
    relative_tolerance: RelativeToleranceField = None

    @model_validator(mode="after")
    def _one_expected_value(self) -> Self:
        expected, key = self.expected_value, self.expected_value_key
        if (expected is MISSING) is (key is None):
            given = "neither was" if key is None else "both were"
            raise ValueError(f"give exactly one of expected_value and expected_value_key; {given} given")
        if type(expected) not in SCALARS and expected is not MISSING:
            # Later changes of the caller's object do not reach the check.
            vars(self)["expected_value"] = freeze(expected)
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the comparison holds, else FAIL."""
        actual = lookup(trace, self.target_key)
        expected = self.expected_value
        if expected is MISSING:
            expected = lookup(trace, cast("str", self.expected_value_key), "expected_value_key")
        if self.match is not None:
            return self._match(actual, expected, self.match, _details(actual, expected))
        try:
            problem = self._problem(actual, expected)
        except Incomparable as error:
            raise self._no_verdict(actual, expected, error, _details(actual, expected)) from error
        if problem is None:
            return passed_with(actual if expected is self.expected_value else _Both(actual, expected))
        return Verdict(
            CheckStatus.FAIL,
            f"{shown(actual)} at {self.target_key!r} {self._phrases[1]} {shown(expected)}{problem}"
            f"{self._match_hint(expected)}",
            _details(actual, expected),
        )

    @classmethod
    def passed(cls, values: Mapping[str, Any], found: Any) -> tuple[str, dict[str, Any]]:
        """Both values, and how they relate."""
        actual, expected = found if type(found) is _Both else (found, values["expected_value"])
        return f"{shown(actual)} {cls._phrases[0]} {shown(expected)}", _details(actual, expected)

    def _problem(self, actual: Any, expected: Any) -> str | None:
        """None when the comparison holds; else what there is to add to the message of the FAIL.

        Raises
        ------
        Incomparable
            When it cannot be told.
        """
        raise NotImplementedError

    def _options(self) -> CompareOptions:
        if self.tolerance is None and self.relative_tolerance is None:
            return _EXACT[self.normalization_form]
        return CompareOptions(self.normalization_form, self.tolerance, self.relative_tolerance)

    def _match(self, actual: Any, expected: Any, match: str, details: dict[str, Any]) -> Verdict:
        if not isinstance(actual, (list, tuple, set, frozenset)):
            raise NoVerdict(
                f"match={match!r} needs a list, a tuple or a set, got {type_name(actual)} at "
                f"{self.target_key!r}: {shown(actual)}",
                kind="bad_type",
                details=details,
            )
        items = list(cast("list[Any]", actual))
        if not items and match == "all":
            raise NoVerdict(
                f"nothing at {self.target_key!r} to match: over an empty collection match='all' proves nothing",
                kind="missing_value",
                details=details,
            )
        holds: list[bool] = []
        for item in items:
            try:
                holds.append(self._problem(item, expected) is None)
            except Incomparable as error:
                raise self._no_verdict(item, expected, error, details) from error
        count = sum(holds)
        message = f"{count} of {len(items)} items at {self.target_key!r} {self._phrases[2]} {shown(expected)}"
        if match == "any":
            passed = count > 0
            wanted = "at least one"
        else:
            passed = count == (len(items) if match == "all" else 0)
            wanted = f"{match} of them"
            if not passed:
                odd = holds.index(match == "none")
                wanted += f", and item {odd} is {shown(items[odd])}"
        if passed:
            return Verdict(CheckStatus.PASS, message, details)
        return Verdict(CheckStatus.FAIL, f"{message}; expected {wanted}", details)

    def _match_hint(self, expected: Any) -> str:
        """What to do when a path that selects several values is compared with one."""
        if self.match is not None or isinstance(expected, (list, tuple)) or compile_path(self.target_key).definite:
            return ""
        return "; the path may select several values: use match='any', 'all' or 'none'"

    def _no_verdict(self, actual: Any, expected: Any, error: Incomparable, details: dict[str, Any]) -> NoVerdict:
        return NoVerdict(
            f"cannot tell whether {shown(actual)} at {self.target_key!r} {self._phrases[0]} {shown(expected)}: {error}"
            f"{self._match_hint(expected)}",
            kind="bad_type",
            details=details,
        )


@Check.register("equals")
class Equals(ComparisonCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a value equals the expected one.

    ``1 == 1.0``, a bool equals only a bool, NaN equals nothing.  A list equals a tuple of equal items; arrays compare
    by content; a model, a dataclass or an enum member equals its plain data.  See `ComparisonCheck` for the fields.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Equals, Interaction, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="fee?", outputs={"fee": 3.0})])
    >>> check = Equals(expected_value=4, target_key="trace.last.outputs.fee")
    >>> asyncio.run(check.run(trace)).message
    "3.0 at 'trace.last.outputs.fee' does not equal the expected 4 (float and int)"
    """

    _phrases = ("equals", "does not equal the expected", "equal")

    def _problem(self, actual: Any, expected: Any) -> str | None:
        if same_leaf(actual, expected):
            return None
        difference = find_difference(actual, expected, self._options())
        return None if difference is None else _described(difference)


@Check.register("not_equals")
class NotEquals(ComparisonCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a value does not equal the expected one; see `Equals`."""

    _phrases = ("does not equal", "equals the unwanted", "do not equal")

    def _problem(self, actual: Any, expected: Any) -> str | None:
        return "" if find_difference(actual, expected, self._options()) is None else None


def _described(difference: Difference) -> str:
    """What there is to say of a difference beyond the two values that are compared."""
    path, reason, actual, expected = difference
    if path:
        where = json_path([step if isinstance(step, int) else str(step) for step in path])
        return f"; first difference at {where}: {reason or f'{shown(actual)} instead of {shown(expected)}'}"
    if reason:
        return f": {reason}"
    if type(actual) is not type(expected):
        return f" ({type_name(actual)} and {type_name(expected)})"
    return ""


class _Ordering(ComparisonCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    _signs: ClassVar[tuple[int, ...]] = ()
    """What `compare_order` gives when the comparison holds."""

    def _problem(self, actual: Any, expected: Any) -> str | None:
        return None if compare_order(actual, expected, self._options()) in self._signs else ""


@Check.register("less_than")
class LessThan(_Ordering[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a value is less than the expected one.

    Numbers, texts (by code point, after normalisation), times and lists of such have an order; what has none,
    NaN too, is an ERROR.  See `ComparisonCheck` for the fields.
    """

    _phrases = ("is less than", "is not less than", "are less than")
    _signs = (-1,)


@Check.register("less_than_equals")
class LessThanEquals(_Ordering[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a value is less than the expected one, or equal; see `LessThan`."""

    _phrases = ("is at most", "is not at most", "are at most")
    _signs = (-1, 0)


@Check.register("greater_than")
class GreaterThan(_Ordering[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a value is greater than the expected one; see `LessThan`."""

    _phrases = ("is greater than", "is not greater than", "are greater than")
    _signs = (1,)


@Check.register("greater_than_equals")
class GreaterThanEquals(_Ordering[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a value is greater than the expected one, or equal; see `LessThan`."""

    _phrases = ("is at least", "is not at least", "are at least")
    _signs = (0, 1)
