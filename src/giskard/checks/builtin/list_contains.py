"""A check of what is in a list."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, Generic, Literal, Self, cast

from pydantic import model_validator

from giskard.checks.builtin._assignment import assignment
from giskard.checks.builtin._closeness import (
    CompareOptions,
    RelativeToleranceField,
    ToleranceField,
    is_exact,
    is_nan,
)
from giskard.checks.builtin._compare import Incomparable, values_equal
from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.builtin._texts import exactly_one, listed, unanswered
from giskard.checks.core.check import Check, CodeCheck, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.check_result import CheckStatus, Metric, Verdict
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.frozen import freeze
from giskard.checks.utils.normalization import NormalizationForm, normalize_string
from giskard.checks.utils.plain import SCALARS

__all__ = ["ListContains"]

_COLLECTIONS: tuple[type[Any], ...] = (list, tuple, set, frozenset)
# Values that are no plain texts or numbers are compared in pairs: this many take about two seconds.
_MOST_PAIRS: Final = 500_000


@Check.register("list_contains")
class ListContains(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a list contains some values.

    Parameters
    ----------
    values, values_key
        The values: texts, numbers, dicts, whatever may be an item; or the path of a list of them in the trace; exactly
        one of the two.
    match
        Whether ``"all"``, ``"any"`` or ``"none"`` of the values must be in the list.
    each_once
        Whether each value needs an item of its own, so that ``["a", "a"]`` asks for two of them; with "all" only.
    target_key
        The path of the list; a tuple or a set will do.
    normalization_form, tolerance, relative_tolerance
        How closely a value and an item are compared: as `Equals` does.

    Notes
    -----
    Items are compared whole: of dicts that only share some keys, compare those: with
    ``target_key="trace.last.outputs.items[*].id"``.

    The metric is ``values_found``.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, ListContains, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Tags?", outputs=["fees", "cards"])])
    >>> asyncio.run(ListContains(values=["fees", "loans", "rates"]).run(trace)).message
    "2 of 3 values are missing in the list of 2 items at 'trace.last.outputs': 'loans', 'rates'"
    """

    values: list[Any] | None = None
    values_key: JSONPathStr | None = None
    match: Literal["all", "any", "none"] = "all"
    each_once: bool = False
    target_key: JSONPathStr = "trace.last.outputs"
    normalization_form: NormalizationForm | None = "NFKC"
    tolerance: ToleranceField = None
    relative_tolerance: RelativeToleranceField = None

    @model_validator(mode="after")
    def _demands(self) -> Self:
        exactly_one("values", self.values, self.values_key)
        if self.values is not None:
            if not self.values:
                raise ValueError("values is empty: give at least one")
            vars(self)["values"] = freeze(self.values)  # later changes of the caller's objects do not reach the check
        if self.each_once and self.match != "all":
            raise ValueError(f"each_once asks for an item for each value; it goes with match='all', not {self.match!r}")
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the values are in the list, else FAIL."""
        items = self._collection(lookup(trace, self.target_key), "target_key", self.target_key, trace)
        values: list[Any] | None = self.values
        if values is None:
            key = self.values_key or ""
            values = self._collection(lookup(trace, key, "values_key"), "values_key", key, trace)
            if not values:
                raise NoVerdict(f"no values at {key!r} (values_key)", kind="missing_value", details={"values_key": key})
        details: dict[str, Any] = {"items": items, "values": values}
        options = CompareOptions(self.normalization_form, self.tolerance, self.relative_tolerance)
        try:
            places = _places(values, items, options)
        except (Incomparable, _TooMany) as error:
            message = f"cannot tell which values are in the list at {self.target_key!r}: {error}"
            raise NoVerdict(message, kind="bad_type", details=details) from error
        taken = _one_each(places, len(items)) if self.each_once else [bool(there) for there in places]
        return self._judged(values, taken, len(items), details)

    def _judged(self, values: Sequence[Any], taken: Sequence[bool], size: int, details: dict[str, Any]) -> Verdict:
        found = [value for value, is_there in zip(values, taken, strict=True) if is_there]
        missing = [value for value, is_there in zip(values, taken, strict=True) if not is_there]
        details |= {"found": found, "missing": missing}
        metrics = [Metric(name="values_found", value=len(found))]
        where = f"in the list of {size:,} {'item' if size == 1 else 'items'} at {self.target_key!r}"
        total = f"{len(values):,} {'value' if len(values) == 1 else 'values'}"
        passed = {"all": not missing, "any": bool(found), "none": not found}[self.match]
        if passed is (self.match == "none"):
            named, message = missing, f"{len(missing):,} of {total} {_are(missing)} missing {where}: "
        else:
            named, message = found, f"{len(found):,} of {total} {_are(found)} {where}: "
        status = CheckStatus.PASS if passed else CheckStatus.FAIL
        wanted = "" if passed or self.match == "all" else f"; {self.match} was expected"
        return Verdict(status, message + listed(named) + wanted, details, metrics)

    def _collection(self, value: Any, field: str, key: str, trace: Any) -> list[Any]:
        if isinstance(value, _COLLECTIONS):
            return list(cast("Sequence[Any]", value))
        raise NoVerdict(
            f"expected a list at {key!r} ({field}), got {type_name(value)}: {shown(value)}"
            f"{unanswered(trace, key, value)}",
            kind="bad_type",
            details={field: key, "value": value},
        )


def _are(values: Sequence[Any]) -> str:
    return "is" if len(values) == 1 else "are"


class _TooMany(ValueError):
    """There are more pairs to compare than can be in bounded time."""


def _places(values: Sequence[Any], items: Sequence[Any], options: CompareOptions) -> list[list[int]]:
    """For each value the places of items that equal it: all, or more than there are values.

    Plain texts and numbers are looked up; the rest is compared in pairs.
    """
    by_key: dict[Hashable, list[int]] = {}
    others: list[int] = []
    for place, item in enumerate(items):
        key = _key(item, options)
        if key is None:
            others.append(place)
        elif len(known := by_key.setdefault(key, [])) <= len(values):
            known.append(place)
    keys = [_key(value, options) for value in values]
    pairs = sum(len(items) if key is None else len(others) for key in keys)
    if pairs > _MOST_PAIRS:
        raise _TooMany(f"{len(values):,} values and {len(items):,} items are too many to be compared in pairs")
    return [
        [*by_key.get(key, []), *(place for place in others if values_equal(items[place], value, options))]
        if key is not None
        else [place for place, item in enumerate(items) if values_equal(item, value, options)]
        for value, key in zip(values, keys, strict=True)
    ]


def _key(value: Any, options: CompareOptions) -> Hashable | None:
    """What two plain texts, numbers, bools or Nones have in common if and only if they are equal; else None."""
    kind = cast("type[Any]", type(value))
    if kind not in SCALARS or not is_exact(options) or (kind is float and is_nan(value)):
        return None
    if kind is str:
        return "text", normalize_string(value, options.form)
    return "number" if kind is float or kind is int else kind.__name__, value


def _one_each(places: Sequence[Sequence[int]], items: int) -> list[bool]:
    """Which values get an item of their own when as many as possible do."""
    free = set(range(items))
    taken: list[bool] = []
    for row in places:
        place = next((place for place in row if place in free), None)
        free.discard(-1 if place is None else place)
        taken.append(place is not None)
    if all(taken) or not any(row for row, got in zip(places, taken, strict=True) if not got):
        return taken
    # Some went away empty-handed and may have been served otherwise: the best of all ways decides.
    columns = {place: column for column, place in enumerate(sorted({place for row in places for place in row}))}
    if len(places) * (len(columns) + len(places)) > _MOST_PAIRS:
        raise NoVerdict(f"{len(places):,} values are too many for each_once", kind="bad_type")
    costs = [[1] * (len(columns) + len(places)) for _ in places]
    for line, row in zip(costs, places, strict=True):
        for place in row:
            line[columns[place]] = 0
    return [line[column] == 0 for line, column in zip(costs, assignment(costs), strict=True)]
