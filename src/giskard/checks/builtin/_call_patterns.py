"""Which calls of tools are meant: a name, and what must hold of the arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast, get_args

from giskard.checks.builtin._closeness import CompareOptions
from giskard.checks.builtin._compare import Difference, Incomparable, find_difference
from giskard.checks.builtin._json import JsonTooDeep, find_not_json
from giskard.checks.builtin._json_schema import Undecidable, compile_schema, prepared
from giskard.checks.builtin._regex import compile_pattern, find
from giskard.checks.builtin._shown import json_path, shown, type_name
from giskard.checks.core.check import NoVerdict
from giskard.checks.core.tool_calls import AnyCall, NotedCall
from giskard.checks.core.types import MISSING
from giskard.checks.utils.frozen import freeze, thaw
from giskard.checks.utils.normalization import NormalizationForm, normalize_string
from giskard.checks.utils.text import plain_text

__all__ = [
    "MATCHES",
    "NAMES_ONLY",
    "NOTHING_ALIKE",
    "ArgumentMatch",
    "CallPattern",
    "Values",
    "check_arguments",
    "check_size",
    "read_once",
]

ArgumentMatch: TypeAlias = Literal["subset", "exact", "schema", "regex"]
"""How expected arguments are compared with those of a call.

``subset``: those that are given must be there, and equal; there may be others.  ``exact``: the same, and no others.
``schema``: they are a JSON Schema of all the arguments together.  ``regex``: they are a regular expression for each
argument that is given, searched in its text (of what is no text, in its JSON); there may be others.
"""

MATCHES: Final[tuple[str, ...]] = get_args(ArgumentMatch)
NOTHING_ALIKE: Final = 1000
"""The `CallPattern.distance` of a call that is no more like the pattern than none at all."""
_SECONDS: Final = 2.0
_MOST: Final = 20
_MOST_PAIRS: Final = 1_000_000


def check_arguments(arguments: Any, match: str, field: str = "arguments") -> Any:
    """`arguments` as a check keeps them, when they can be compared in this way.

    Raises
    ------
    ValueError
        When they cannot; the message says why.
    """
    if arguments is None:
        return None
    if match == "schema":
        return compile_schema(thaw(arguments)).schema  # one copy for all, which nobody changes
    if not isinstance(arguments, Mapping):
        raise ValueError(f"{field} with match={match!r} are a dict of values by name, got {type_name(arguments)}")
    known = cast("Mapping[str, Any]", arguments)
    for name, pattern in known.items() if match == "regex" else ():
        if not isinstance(pattern, str):
            raise ValueError(f"{field}[{name!r}] is {shown(pattern)}, and match='regex' needs a regular expression")
        compile_pattern(pattern)
    return freeze(dict(known))


def check_size(expected: int, made: int) -> None:
    """Refuse what cannot be compared in bounded time."""
    if expected * made > _MOST_PAIRS:
        raise NoVerdict(
            f"{made:,} calls and {expected:,} expected ones are too many to be compared with one another: at most "
            "1,000 of each can be; turn= or target_key= takes fewer",
            kind="config",
        )


class _ReadCall(NotedCall):
    """A call whose arguments are at hand."""

    __slots__ = ("_read",)

    def __init__(self, call: AnyCall) -> None:
        super().__init__(call.name, call.id, call.message_index, None)
        self._read = call.arguments

    @property
    def arguments(self) -> Any:
        return self._read


def read_once(call: AnyCall) -> AnyCall:
    """A call to be compared with many patterns: some parse their arguments whenever they are asked for them."""
    return _ReadCall(call)


class _Wrong(NamedTuple):
    """An argument that is not as it was meant."""

    name: str
    given: Any
    wanted: Any
    difference: Difference | None = None


class Values:
    """How values are compared, and what is known of arguments: they are looked at once, and compared with many others.

    Parameters
    ----------
    form
        The normal form of texts.
    """

    __slots__ = ("_keys", "_plain", "form", "options")

    def __init__(self, form: NormalizationForm | None = None) -> None:
        self.form: NormalizationForm | None = form
        self.options = CompareOptions(form)
        # By the identity of the arguments, which are kept too, so that it stays theirs.
        self._keys: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._plain: dict[int, tuple[Any, Any]] = {}

    def keys(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A key for each argument: two of them are equal if and only if the arguments are; None where there is none."""
        known = self._keys.get(id(arguments))
        if known is None:
            keys = {name: self._key(value) for name, value in arguments.items()}
            known = self._keys[id(arguments)] = arguments, keys
        return known[1]

    def _key(self, value: Any) -> Any:
        kind = cast("object", type(value))
        if kind is str:
            return normalize_string(value, self.form)
        if kind is bool or value is None:
            return kind, value
        if kind is int or kind is float:
            return value if value == value else None  # noqa: PLR0124 - NaN equals nothing
        return None

    def plain(self, arguments: Any) -> tuple[Any, str | None]:
        """The arguments as JSON data that a schema can be held against, or what in them is no JSON."""
        known = self._plain.get(id(arguments))
        if known is None:
            found = find_not_json(arguments)
            plain = (prepared(arguments), None) if found is None else (None, f"{_place(*found.path)}: {found.reason}")
            known = self._plain[id(arguments)] = arguments, plain
        return known[1]


NAMES_ONLY: Final = Values()
"""Of patterns that compare no arguments."""


@dataclass(slots=True)  # not frozen: that takes four times as long to make
class CallPattern:
    """What a call must be like.

    Parameters
    ----------
    name
        Of the tool; None for any.
    arguments
        What must hold of the arguments, as `check_arguments` gives it; None for any.
    match
        How the two are compared: an `ArgumentMatch`.
    values
        How values are compared; patterns that are compared with the same calls share it.
    """

    name: str | None
    arguments: Any
    match: str
    values: Values

    def matches(self, call: AnyCall) -> bool:
        """Whether `call` is meant.

        Raises
        ------
        NoVerdict
            When it cannot be told.
        """
        return (self.name is None or self.name == call.name) and self._count(call, 1) == 0

    def differences(self, call: AnyCall) -> list[str]:
        """What in `call` is not as it was meant, each in a line; empty when all is."""
        lines: list[str] = []
        if self.name is not None and self.name != call.name:
            lines.append(f"name: {call.name!r} instead of {self.name!r}")
        try:
            return (
                lines
                + (self._schema_problems(call.arguments, _MOST) if self.match == "schema" else [])
                + [self._line(wrong) for wrong in self._wrong(call.arguments)]
            )
        except _UNDECIDED as error:
            raise _no_verdict(call, error) from error

    def distance(self, call: AnyCall, *, rough: bool = False) -> int:
        """How far `call` is from what was meant: 0 when nothing differs, `NOTHING_ALIKE` when it is of another tool.

        With `rough` a schema that is not met counts by the names of the arguments: to list what is wrong takes long.
        """
        if self.name not in (None, call.name):
            return NOTHING_ALIKE
        given = _by_name(call.arguments)
        wanted = {} if self.match == "schema" else _by_name(self.arguments)
        total = max(len(given) + sum(1 for name in wanted if name not in given), 1)
        off = self._by_names(call, given) if rough and self.match == "schema" else self._count(call, total)
        return -(-min(off, total) * (NOTHING_ALIKE - 1) // total)

    def named_in(self, differences: Iterable[str], call: AnyCall) -> set[str]:
        """The names of the arguments of `call` that these `differences` are about."""
        lines = tuple(differences)
        return {name for name in _by_name(call.arguments) if any(line.startswith(_place(name)) for line in lines)}

    def _count(self, call: AnyCall, most: int) -> int:
        """How many arguments are wrong, counted up to `most`."""
        if self.arguments is None:
            return 0
        try:
            if self.match == "schema":
                return len(self._schema_problems(call.arguments, most))
            return sum(1 for _ in islice(self._wrong(call.arguments), most))
        except _UNDECIDED as error:
            raise _no_verdict(call, error) from error

    def _by_names(self, call: AnyCall, given: Mapping[str, Any]) -> int:
        plain, problem = self.values.plain(call.arguments)
        if self.arguments is None or (problem is None and compile_schema(self.arguments).accepts(plain)):
            return 0
        schema = _by_name(self.arguments)
        known = schema.get("properties", {})
        return max(1, len(given.keys() - known) + sum(1 for name in schema.get("required", ()) if name not in given))

    def _schema_problems(self, arguments: Any, limit: int) -> list[str]:
        if self.arguments is None:
            return []
        compiled, (plain, problem) = compile_schema(self.arguments), self.values.plain(arguments)
        if problem is not None:
            return [problem]
        if compiled.accepts(plain):
            return []
        return [f"arguments{line.removeprefix('$')}" for line in compiled.problems(plain, limit=limit)]

    def _wrong(self, arguments: Any) -> Iterator[_Wrong]:
        if self.arguments is None or self.match == "schema":
            return
        if not isinstance(arguments, dict):
            yield _Wrong("", arguments, MISSING)
            return
        given_ones, expected = cast("dict[str, Any]", arguments), cast("dict[str, Any]", self.arguments)
        if self.match == "regex":
            for name, pattern in expected.items():
                given = given_ones.get(name, MISSING)
                if given is MISSING or find(pattern, plain_text(given), seconds=_SECONDS) is None:
                    yield _Wrong(name, given, pattern)
            return
        yield from self._unequal(given_ones, expected)
        if self.match == "exact":
            for name, given in given_ones.items():
                if name not in expected:
                    yield _Wrong(name, given, MISSING)

    def _unequal(self, given_ones: dict[str, Any], expected: dict[str, Any]) -> Iterator[_Wrong]:
        keys, wanted_keys = self.values.keys(given_ones), self.values.keys(expected)
        for name, wanted in wanted_keys.items():
            if name not in keys:
                yield _Wrong(name, MISSING, expected[name])
            elif keys[name] is None or keys[name] != wanted:
                difference = None
                if keys[name] is None or wanted is None:
                    difference = find_difference(given_ones[name], expected[name], self.values.options)
                    if difference is None:
                        continue
                yield _Wrong(name, given_ones[name], expected[name], difference)

    def _line(self, wrong: _Wrong) -> str:
        name, given, wanted, difference = wrong
        if not name and wanted is MISSING:
            return f"arguments: {shown(given)} instead of values by name"
        if given is MISSING:
            return f"{_place(name)} is missing, expected {shown(wanted)}"
        if wanted is MISSING:
            return f"{_place(name)}: {shown(given)} is not expected"
        if self.match == "regex":
            return f"{_place(name)}: {shown(given)} does not match {shown(wanted)}"
        path, reason, actual, expected = difference or Difference((), "", given, wanted)
        text = reason or f"{shown(actual)} instead of {shown(expected)}"
        if not reason and type(actual) is not type(expected):
            text += f" ({type_name(actual)} and {type_name(expected)})"
        return f"{_place(name, *path)}: {text}"


_UNDECIDED: Final = (Incomparable, Undecidable, JsonTooDeep, TimeoutError)


def _no_verdict(call: AnyCall, error: Exception) -> NoVerdict:
    """The ERROR that says what keeps the arguments of a call from being compared."""
    if isinstance(error, TimeoutError):
        problem = f"timeout: a pattern for the arguments of {call.name!r} took longer than {_SECONDS:g} s"
        return NoVerdict(problem, kind="timeout")
    kind = "bad_type" if isinstance(error, Incomparable) else "config"
    return NoVerdict(f"cannot compare the arguments of a call of {call.name!r}: {error}", kind=kind)


def _by_name(arguments: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}


def _place(*path: Any) -> str:
    return "arguments" + json_path([step if isinstance(step, int) else str(step) for step in path])[1:]
