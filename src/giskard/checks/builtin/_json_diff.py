"""Two pieces of data, and where they differ, key by key."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeGuard, cast

from giskard.checks.builtin._assignment import assignment
from giskard.checks.builtin._closeness import EXACT, CompareOptions, is_exact
from giskard.checks.builtin._compare import values_equal
from giskard.checks.builtin._json_patterns import Pattern, pattern_matches
from giskard.checks.builtin._shown import json_path, shown
from giskard.checks.utils.normalization import normalize_string
from giskard.checks.utils.plain import SCALARS

__all__ = ["CannotDiff", "DiffRules", "JsonDifference", "JsonDifferences", "diff_json"]

_Steps: TypeAlias = tuple["str | int", ...]
_AnyMapping: TypeAlias = Mapping[Any, Any]
_Tolerances: TypeAlias = Sequence[tuple[Pattern, float]]

_DEEPEST: Final = 500
_DEEPEST_UNORDERED: Final = 50
# Some seconds.
_MOST_PLACES: Final = 3_000_000
_MOST_UNORDERED: Final = 250
_LONGEST_SHOWN: Final = 80


class CannotDiff(ValueError):
    """The data is too deep, or too large, to be compared in bounded time."""


@dataclass(frozen=True, slots=True)
class DiffRules:
    """What counts as a difference.

    Parameters
    ----------
    options
        How closely texts and numbers are compared where no pattern says otherwise.
    tolerances, relative_tolerances
        Tolerances at the places of a pattern, and below them; the first pattern that matches a place counts.
    ignored
        Places that are not looked at.
    unordered
        Lists whose items may stand in any order; True for all.
    extra_keys, missing_keys
        Whether an object may have keys that are not expected, and lack those that are.
    """

    options: CompareOptions = EXACT
    tolerances: _Tolerances = ()
    relative_tolerances: _Tolerances = ()
    ignored: Sequence[Pattern] = ()
    unordered: Sequence[Pattern] | Literal[True] = ()
    extra_keys: bool = False
    missing_keys: bool = False

    def at(self, steps: _Steps, options: CompareOptions) -> CompareOptions:
        """The options at a place, given those above it."""
        absolute = _first(self.tolerances, steps)
        relative = _first(self.relative_tolerances, steps)
        if absolute is not None:
            options = options._replace(tolerance=absolute)
        return options if relative is None else options._replace(relative_tolerance=relative)

    @property
    def exact(self) -> bool:
        """Whether there is no tolerance anywhere."""
        return is_exact(self.options) and not self.tolerances and not self.relative_tolerances


def _first(tolerances: _Tolerances, steps: _Steps) -> float | None:
    return next((value for pattern, value in tolerances if pattern_matches(pattern, steps)), None)


class JsonDifference(NamedTuple):
    """A place at which the data is not as expected."""

    steps: _Steps
    problem: Literal["changed", "missing", "unexpected"]
    expected: Any
    got: Any
    keys: int
    """How many values lie there, on the side that has more of them."""

    @property
    def path(self) -> str:
        """The place as a JSONPath."""
        return json_path(self.steps)

    def __str__(self) -> str:
        many = f" ({self.keys:,} keys)" if self.keys > 1 else ""
        if self.problem == "missing":
            return f"{self.path} is missing, expected {_short(self.expected)}{many}"
        if self.problem == "unexpected":
            return f"{self.path} is not expected: {_short(self.got)}{many}"
        return f"{self.path}: expected {_short(self.expected)}, got {_short(self.got)}{many}"


def _short(value: object) -> str:
    text = shown(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


class _Pair(NamedTuple):
    """Two values at one place, and how closely they are compared."""

    got: Any
    expected: Any
    steps: _Steps
    options: CompareOptions

    def step(self, name: Any) -> _Steps:
        """The place of something in it."""
        return (*self.steps, name if isinstance(name, (str, int)) else repr(name))

    def below(self, got: Any, expected: Any, name: Any) -> _Pair:
        """The pair at that place."""
        return _Pair(got, expected, self.step(name), self.options)


@dataclass(slots=True)
class JsonDifferences:
    """How many values are equal, and where the others are."""

    equal: int = 0
    found: list[JsonDifference] = field(default_factory=list[JsonDifference])

    @property
    def different(self) -> int:
        """How many values differ."""
        return sum(difference.keys for difference in self.found)


def diff_json(got: Any, expected: Any, rules: DiffRules) -> JsonDifferences:
    """Where `got` is not as expected.

    Each value that is neither an object nor a list counts as a key, and so do an empty object and an empty list.  Of
    lists in any order those items are compared with each other which make the fewest differences.

    Raises
    ------
    CannotDiff
        When the data is too deep or too large.
    Incomparable
        When the ``==`` of an object in it gives no verdict.

    Examples
    --------
    >>> found = diff_json({"fee": 4, "tags": ["a"]}, {"fee": 3, "tags": ["a", "b"]}, DiffRules())
    >>> found.equal, [str(difference) for difference in found.found]
    (1, ['$.fee: expected 3, got 4', "$.tags[1] is missing, expected 'b'"])
    """
    return _Walk(rules, _Budget()).diff(got, expected, (), rules.options)


class _Budget:
    """How many places may still be looked at."""

    def __init__(self) -> None:
        self.left = _MOST_PLACES

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise CannotDiff(f"there are more than {_MOST_PLACES:,} places to look at")


class _Walk:
    """Through two pieces of data at once; `nested` is the number of lists in any order around them."""

    def __init__(self, rules: DiffRules, budget: _Budget, nested: int = 0) -> None:
        self.rules = rules
        self.budget = budget
        self.nested = nested
        self.out = JsonDifferences()
        self.patterns = bool(rules.tolerances or rules.relative_tolerances or rules.ignored)

    def diff(self, got: Any, expected: Any, steps: _Steps, options: CompareOptions) -> JsonDifferences:
        """The differences of one pair."""
        pending: list[_Pair] = [_Pair(got, expected, steps, options)]
        while pending:
            pair = pending.pop()
            left, right, steps, options = pair
            self.budget.spend()
            if len(steps) > _DEEPEST:
                raise CannotDiff(f"it is nested deeper than {_DEEPEST} levels")
            if self.patterns:
                if self.ignores(steps):
                    continue
                pair = pair._replace(options=self.rules.at(steps, options))
            if _same_scalar(left, right):
                self.out.equal += 1
            elif _is_mapping(left) and _is_mapping(right):
                pending.extend(reversed(self.of_objects(left, right, pair)))
            elif _is_list(left) and _is_list(right):
                if not left and not right:
                    self.out.equal += 1
                compare = self.of_unordered if self.is_unordered(steps) else self.of_lists
                pending.extend(reversed(compare(left, right, pair)))
            elif values_equal(left, right, pair.options):
                self.out.equal += 1
            else:
                keys = max(self.leaves(left), self.leaves(right))
                self.out.found.append(JsonDifference(steps, "changed", right, left, keys))
        return self.out

    def of_objects(self, got: _AnyMapping, expected: _AnyMapping, pair: _Pair) -> list[_Pair]:
        """The pairs of values that both have."""
        if not expected and (not got or self.rules.extra_keys):
            self.out.equal += 1
        pairs: list[_Pair] = []
        for name, value in expected.items():
            if name in got:
                self.pair_up(got[name], value, pair, name, pairs)
            elif not self.rules.missing_keys:
                self.note("missing", value, pair.step(name))
        for name, value in () if self.rules.extra_keys else got.items():
            if name not in expected:
                self.note("unexpected", value, pair.step(name))
        return pairs

    def of_lists(self, got: Sequence[Any], expected: Sequence[Any], pair: _Pair) -> list[_Pair]:
        """The pairs of items at the same place."""
        shared = min(len(got), len(expected))
        for place in range(shared, len(expected)):
            self.note("missing", expected[place], pair.step(place))
        for place in range(shared, len(got)):
            self.note("unexpected", got[place], pair.step(place))
        pairs: list[_Pair] = []
        for place in range(shared):
            self.pair_up(got[place], expected[place], pair, place, pairs)
        return pairs

    def pair_up(self, got: Any, expected: Any, pair: _Pair, name: Any, pairs: list[_Pair]) -> None:
        """Add the two values below a pair to those that are still to be compared, unless they are plainly equal."""
        if not self.patterns and _same_scalar(got, expected):
            self.budget.spend()
            self.out.equal += 1
        else:
            pairs.append(pair.below(got, expected, name))

    def note(self, problem: Literal["missing", "unexpected"], value: Any, place: _Steps) -> None:
        """A value that one of the two does not have."""
        if not (self.patterns and self.ignores(place)):
            expected, got = (value, None) if problem == "missing" else (None, value)
            self.out.found.append(JsonDifference(place, problem, expected, got, self.leaves(value)))

    # --- lists in any order ------------------------------------------------------------------

    def is_unordered(self, steps: _Steps) -> bool:
        unordered = self.rules.unordered
        return unordered is True or any(pattern_matches(pattern, steps) for pattern in unordered)

    def of_unordered(self, got: Sequence[Any], expected: Sequence[Any], pair: _Pair) -> list[_Pair]:
        """The pairs of items that are equal to the letter; those of all others are compared here."""
        if self.nested >= _DEEPEST_UNORDERED:
            raise CannotDiff(f"more than {_DEEPEST_UNORDERED} lists in any order lie within each other")
        same: list[tuple[int, int]] = []
        ours, theirs = [*range(len(got))], [*range(len(expected))]
        if self.rules.exact:
            same, ours, theirs = self.same_items(got, expected)
        size = max(len(ours), len(theirs))
        if size > _MOST_UNORDERED:
            raise CannotDiff(
                f"{size:,} items of the list in any order at {json_path(pair.steps)} have no equal: "
                f"{_MOST_UNORDERED} can be compared with each other"
            )
        tried = [[self.beside(got[mine], expected[its], pair, its) for mine in ours] for its in theirs]
        # Who finds no partner costs all of its values.
        alone = [self.leaves(got[mine]) for mine in ours]
        costs = [
            [one.different for one in row] + [self.leaves(expected[its])] * (size - len(ours))
            for its, row in zip(theirs, tried, strict=True)
        ] + [alone] * (size - len(theirs))
        for row, column in enumerate(assignment(costs)):
            if row < len(theirs) and column < len(ours):
                self.out.equal += tried[row][column].equal
                self.out.found += tried[row][column].found
            elif row < len(theirs):
                self.note("missing", expected[theirs[row]], pair.step(theirs[row]))
            else:
                self.note("unexpected", got[ours[column]], pair.step(ours[column]))
        return [pair.below(got[mine], expected[its], its) for mine, its in same]

    def beside(self, got: Any, expected: Any, pair: _Pair, place: int) -> JsonDifferences:
        """The differences of two items of lists in any order."""
        return _Walk(self.rules, self.budget, self.nested + 1).diff(got, expected, pair.step(place), pair.options)

    def same_items(
        self, got: Sequence[Any], expected: Sequence[Any]
    ) -> tuple[list[tuple[int, int]], list[int], list[int]]:
        """Pairs of places with equal items, and the places that are left of both."""
        waiting: dict[Hashable, list[int]] = {}
        for mine in reversed(range(len(got))):
            waiting.setdefault(self.spelt(got[mine]), []).append(mine)
        pairs: list[tuple[int, int]] = []
        theirs: list[int] = []
        for its, value in enumerate(expected):
            same = waiting.get(self.spelt(value))
            if same:
                pairs.append((same.pop(), its))
            else:
                theirs.append(its)
        return pairs, sorted(mine for places in waiting.values() for mine in places), theirs

    def spelt(self, value: Any) -> Hashable:
        """What two values have in common only if they are equal; an object of its own where that cannot be told."""
        self.budget.spend()
        if isinstance(value, str):
            return normalize_string(value, self.rules.options.form)
        if value is None or isinstance(value, bool):
            return repr(value), None
        if isinstance(value, (int, float)) and value == value:  # noqa: PLR0124 - not for NaN
            return "number", value
        try:
            if _is_mapping(value):
                return frozenset((name, self.spelt(item)) for name, item in value.items())
            if _is_list(value):
                return tuple([self.spelt(item) for item in value])
        except RecursionError:
            pass
        return object()

    # --- counting ----------------------------------------------------------------------------

    def ignores(self, steps: _Steps) -> bool:
        return any(pattern_matches(pattern, steps) for pattern in self.rules.ignored)

    def leaves(self, value: Any) -> int:
        """How many values lie in a value."""
        pending: list[Iterable[Any]] = [(value,)]
        count = 0
        while pending:
            for item in pending.pop():
                self.budget.spend()
                if _is_mapping(item) and item:
                    pending.append(item.values())
                elif _is_list(item) and item:
                    pending.append(item)
                else:
                    count += 1
        return count


def _same_scalar(one: Any, other: Any) -> bool:
    kind = cast("type[Any]", type(one))
    return kind is type(other) and kind in SCALARS and one == other


def _is_mapping(value: object) -> TypeGuard[_AnyMapping]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple))
