"""A check that JSON data is what was expected, key by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Generic, Literal, Self

from pydantic import Field, model_validator

from giskard.checks.builtin._closeness import CompareOptions
from giskard.checks.builtin._compare import Incomparable
from giskard.checks.builtin._json import JsonSyntaxError, JsonTooDeep, parse_json, unfenced
from giskard.checks.builtin._json_diff import CannotDiff, DiffRules, JsonDifferences, diff_json
from giskard.checks.builtin._json_patterns import PathPattern, Pattern, compile_pattern
from giskard.checks.builtin._shown import shown
from giskard.checks.builtin._texts import unanswered
from giskard.checks.core.check import Check, CodeCheck, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.check_result import CheckStatus, Metric, Verdict
from giskard.checks.core.types import MISSING, In, Out, TraceT
from giskard.checks.utils.frozen import freeze
from giskard.checks.utils.normalization import NormalizationForm
from giskard.checks.utils.plain import to_plain

__all__ = ["JsonDiff"]

_Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
_MOST_IN_MESSAGE: Final = 10
_MOST_IN_DETAILS: Final = 100


@Check.register("json_diff")
class JsonDiff(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that JSON data is what was expected, and says key by key where it is not.

    Parameters
    ----------
    expected, expected_key
        The data that is expected, or the path of it in the trace; exactly one of them.  A text is read as JSON.
    target_key
        The path of the data that is checked: a value, or a text that is read as JSON.
    tolerance, relative_tolerance
        The greatest difference at which two numbers count as equal, as `Equals` has it: one number for all, or one for
        each of some patterns of places.  It holds for all below a place; the first pattern that matches counts.
    ignore
        Patterns of places that are not looked at.
    unordered
        Whether lists may be in any order: True for all of them, or the patterns of some.  Items are then compared with
        those that they differ least from.
    extra_keys, missing_keys
        ``"refuse"`` or ``"allow"``: whether an object may have keys that are not expected, or lack some that are.
        Lists must have as many items as expected.
    min_score
        The share of equal keys that is enough, itself included; left out, all must be equal.
    accept_fence
        Whether a text may stand in a Markdown fence (three backquotes), as language models like to put it.
    normalization_form
        Texts are compared in this Unicode normal form, their white space collapsed and trimmed; None compares them as
        they are.

    Notes
    -----
    A pattern is ``$`` with names, indices and ``*``: ``$.total``, ``$.items[*].price``, ``$['unit price']``;
    ``$..id`` is each ``id``, however deep.

    Each value that is neither an object nor a list counts as a key.  An object of three values that is missing counts
    as three.  The metric ``equal_key_share`` is the share of equal ones, from 0 to 1.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, JsonDiff, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Order?", outputs='{"id": 7, "total": 9.99, "paid": "no"}')])
    >>> check = JsonDiff(expected={"id": 1, "total": 10, "paid": True}, tolerance={"$.total": 0.05}, ignore=["$.id"])
    >>> asyncio.run(check.run(trace)).message
    "1 of 2 keys differs: $.paid: expected True, got 'no'"
    """

    expected: Any = MISSING
    expected_key: JSONPathStr | None = None
    target_key: JSONPathStr = "trace.last.outputs"
    tolerance: _Tolerance | dict[PathPattern, _Tolerance] | None = None
    relative_tolerance: _Tolerance | dict[PathPattern, _Tolerance] | None = None
    ignore: list[PathPattern] = []
    unordered: bool | list[PathPattern] = False
    extra_keys: Literal["refuse", "allow"] = "refuse"
    missing_keys: Literal["refuse", "allow"] = "refuse"
    min_score: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    accept_fence: bool = False
    normalization_form: NormalizationForm | None = "NFKC"

    @model_validator(mode="after")
    def _one_expected(self) -> Self:
        expected, key = self.expected, self.expected_key
        if (expected is MISSING) is (key is None):
            given = "neither was" if key is None else "both were"
            raise ValueError(f"give exactly one of expected and expected_key; {given} given")
        if isinstance(expected, str):
            try:
                parse_json(expected)
            except ValueError as error:
                raise ValueError(f"expected {shown(expected)} is a text that is not JSON: {error}") from None
        elif expected is not MISSING:
            vars(self)["expected"] = freeze(expected)  # later changes of the caller's object do not reach the check
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the data is as expected, else FAIL."""
        value = lookup(trace, self.target_key)
        details: dict[str, Any] = {"value": value}
        if missing := unanswered(trace, self.target_key, value):
            message = f"expected JSON at {self.target_key!r} (target_key), got NoneType: None{missing}"
            raise NoVerdict(message, kind="missing_value", details=details)
        expected = self._expected(trace, details)
        details["expected"] = expected
        try:
            got = self._parsed(value)
        except JsonSyntaxError as error:
            message = f"{shown(value)} at {self.target_key!r} is not JSON: {error}"
            return Verdict(CheckStatus.FAIL, message, details)
        except JsonTooDeep as error:
            raise self._cannot(error, details) from error
        try:
            found = diff_json(got, expected, self._rules())
        except (CannotDiff, Incomparable) as error:
            raise self._cannot(error, details) from error
        return self._judged(found, details)

    def _judged(self, found: JsonDifferences, details: dict[str, Any]) -> Verdict:
        different = found.different
        total = found.equal + different
        if not total:
            message = f"nothing was compared at {self.target_key!r}: all of it is ignored, or may be missing"
            raise NoVerdict(message, kind="missing_value", details=details)
        share = found.equal / total
        details |= {
            "equal_keys": found.equal,
            "different_keys": different,
            "score": share,
            "min_score": self.min_score,
            "differences": [
                {"path": one.path, "problem": one.problem, "expected": one.expected, "got": one.got, "keys": one.keys}
                for one in found.found[:_MOST_IN_DETAILS]
            ],
        }
        metrics = [Metric(name="equal_key_share", value=share)]
        passed = not different if self.min_score is None else share >= self.min_score
        keys = f"{total:,} {'key' if total == 1 else 'keys'}"
        if not different:
            return Verdict(CheckStatus.PASS, f"all of {keys} {'is' if total == 1 else 'are'} equal", details, metrics)
        places = [str(one) for one in found.found[:_MOST_IN_MESSAGE]]
        if len(found.found) > _MOST_IN_MESSAGE:
            places.append(f"and {len(found.found) - _MOST_IN_MESSAGE:,} more")
        message = f"{different:,} of {keys} {'differs' if different == 1 else 'differ'}"
        if self.min_score is not None:
            number = f"{share:.2f}" if passed or round(share, 2) < self.min_score else f"{share:.6f}"
            message += f"; {number} of them are equal, at least {self.min_score:g} was expected"
        message += f": {'; '.join(places)}"
        return Verdict(CheckStatus.PASS if passed else CheckStatus.FAIL, message, details, metrics)

    def _expected(self, trace: Any, details: dict[str, Any]) -> Any:
        if self.expected is not MISSING:
            return parse_json(self.expected) if isinstance(self.expected, str) else to_plain(self.expected)
        key = self.expected_key or ""
        value = lookup(trace, key, "expected_key")
        try:
            return self._parsed(value)
        except (JsonSyntaxError, JsonTooDeep) as error:
            message = f"the text at {key!r} (expected_key) cannot be read as JSON: {error}"
            raise NoVerdict(message, kind="bad_type", details={**details, "expected": value}) from error

    def _parsed(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = str.__str__(value)
        return parse_json(unfenced(text) if self.accept_fence else text)

    def _cannot(self, error: Exception, details: dict[str, Any]) -> NoVerdict:
        return NoVerdict(f"cannot compare the JSON at {self.target_key!r}: {error}", kind="bad_type", details=details)

    def _rules(self) -> DiffRules:
        (absolute, absolutes), (relative, relatives) = _split(self.tolerance), _split(self.relative_tolerance)
        unordered = self.unordered
        return DiffRules(
            options=CompareOptions(self.normalization_form, absolute, relative),
            tolerances=absolutes,
            relative_tolerances=relatives,
            ignored=[compile_pattern(pattern) for pattern in self.ignore],
            unordered=True if unordered is True else [compile_pattern(it) for it in unordered or ()],
            extra_keys=self.extra_keys == "allow",
            missing_keys=self.missing_keys == "allow",
        )


def _split(given: float | Mapping[str, float] | None) -> tuple[float | None, Sequence[tuple[Pattern, float]]]:
    """A tolerance for all places, and those for some."""
    if isinstance(given, Mapping):
        return None, [(compile_pattern(pattern), value) for pattern, value in given.items()]
    return given, ()
