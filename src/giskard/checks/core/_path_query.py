"""What a path may select many values with: selectors, descent, filters and their functions.

An own evaluation of the parsed path over live objects.  It is iterative, so that deep data is no
danger; it visits nothing twice on one way down, so that cycles are none; and it is bounded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from giskard.checks.core._path_views import ABSENT, view_of, walk
from giskard.checks.utils.plain import SCALARS, to_plain

if TYPE_CHECKING:
    import regex

__all__ = [
    "MAX_VISITED",
    "REGEX_SECONDS",
    "Filter",
    "Index",
    "Name",
    "Query",
    "Scope",
    "Segment",
    "Slice",
    "Test",
    "Value",
    "Wildcard",
    "before",
    "compile_pattern",
    "length",
    "matches",
    "same",
]

MAX_VISITED = 5_000_000
REGEX_SECONDS = 2.0


class Scope:
    """One evaluation of one path: where it started, and how much it has visited."""

    __slots__ = ("key", "root", "visited")

    def __init__(self, root: Any, key: str) -> None:
        self.root = root
        self.key = key
        self.visited = 0

    def visit(self, count: int = 1) -> None:
        """Count visited values, and stop an evaluation that has no end in sight."""
        self.visited += count
        if self.visited > MAX_VISITED:
            raise ValueError(
                f"path {self.key!r} visited more than {MAX_VISITED:,} values and was stopped; "
                "name more of the way in place of '..' and '*'"
            )


Value: TypeAlias = Callable[[Any, Scope], Any]
"""An operand of a filter: from the current item to a value, or to ABSENT."""
Test: TypeAlias = Callable[[Any, Scope], bool]
"""A filter, or a part of one: from the current item to whether it is selected."""


class Selector(Protocol):
    """One selector in brackets: adds to `out` what it selects below `node`."""

    def select(self, node: object, scope: Scope, out: list[Any]) -> None: ...


@dataclass(frozen=True, slots=True)
class Name:
    """``.name`` or ``['name']``."""

    name: str

    def select(self, node: object, scope: Scope, out: list[Any]) -> None:
        found = view_of(type(node)).get(node, self.name)
        if found is not ABSENT:
            out.append(found)


@dataclass(frozen=True, slots=True)
class Index:
    """``[0]``, or ``[-1]`` from the end."""

    index: int

    def select(self, node: object, scope: Scope, out: list[Any]) -> None:
        found = view_of(type(node)).at(node, self.index)
        if found is not ABSENT:
            out.append(found)


@dataclass(frozen=True, slots=True)
class Slice:
    """``[start:stop:step]``; a step of 0 selects nothing."""

    part: slice

    def select(self, node: object, scope: Scope, out: list[Any]) -> None:
        if self.part.step != 0:
            out.extend(view_of(type(node)).cut(node, self.part))


@dataclass(frozen=True, slots=True)
class Wildcard:
    """``*``."""

    def select(self, node: object, scope: Scope, out: list[Any]) -> None:
        out.extend(view_of(type(node)).children(node))


@dataclass(frozen=True, slots=True)
class Filter:
    """``[?...]``."""

    test: Test

    def select(self, node: object, scope: Scope, out: list[Any]) -> None:
        for child in view_of(type(node)).children(node):
            scope.visit()
            if self.test(child, scope):
                out.append(child)


@dataclass(frozen=True, slots=True)
class Segment:
    """The selectors between one pair of brackets, for a node or for everything below it too."""

    selectors: tuple[Selector, ...]
    descends: bool

    def select(self, nodes: Iterable[Any], scope: Scope) -> list[Any]:
        """What the selectors select, node by node."""
        out: list[Any] = []
        for node in nodes:
            for target in _descend(node, scope) if self.descends else (node,):
                before_it = len(out)
                for selector in self.selectors:
                    selector.select(target, scope, out)
                scope.visit(len(out) - before_it)
        return out


@dataclass(frozen=True, slots=True)
class Query:
    """A path: the names and indices that it begins with, then segments that may select many."""

    steps: tuple[str | int, ...]
    segments: tuple[Segment, ...] = ()

    def select(self, start: Any, scope: Scope) -> list[Any]:
        """Everything that the path selects below `start`."""
        found = walk(start, self.steps)
        return [] if found is ABSENT else self._below(found, scope)

    def select_below(self, found: Any, trace: Any, key: str) -> list[Any]:
        """Everything that the segments select below `found`, which the leading steps led to in `trace`."""
        return self._below(found, Scope(trace, key))

    def _below(self, found: Any, scope: Scope) -> list[Any]:
        nodes = [found]
        for segment in self.segments:
            nodes = segment.select(nodes, scope)
        return nodes


def _descend(node: object, scope: Scope) -> Iterator[Any]:
    """`node` and every container below it, each before what is in it."""
    scope.visit()
    yield node
    way: list[Any] = [node]  # holds the objects, so that the ids of the way stay theirs
    on_way = {id(node)}
    stack: list[Iterator[object]] = [iter(view_of(type(node)).children(node))]
    while stack:
        for child in stack[-1]:
            cls = type(child)
            if cls in SCALARS or id(child) in on_way:
                continue
            view = view_of(cls)
            if view.leaf:
                continue
            scope.visit()
            yield child
            way.append(child)
            on_way.add(id(child))
            stack.append(iter(view.children(child)))
            break
        else:
            stack.pop()
            on_way.discard(id(way.pop()))


# --- comparisons -------------------------------------------------------------------------


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal as JSON: true is not 1, a model equals its plain data."""
    if left is ABSENT or right is ABSENT:
        return left is right
    pairs: list[tuple[Any, Any]] = [(_native(left), _native(right))]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            ours, theirs = cast("Mapping[Any, Any]", a), cast("Mapping[Any, Any]", b)
            if ours.keys() != theirs.keys():
                return False
            pairs += [(item, theirs[key]) for key, item in ours.items()]
        elif _is_sequence(a) and _is_sequence(b):
            items, others = cast("Sequence[Any]", a), cast("Sequence[Any]", b)
            if len(items) != len(others):
                return False
            pairs += zip(items, others, strict=True)
        elif isinstance(a, bool) is not isinstance(b, bool) or not _equal(a, b):
            return False
    return True


def before(left: Any, right: Any) -> bool:
    """Whether `left` comes before `right`: texts by code point, numbers by value, else never."""
    a, b = _native(left), _native(right)
    if isinstance(a, str) and isinstance(b, str):
        return a < b
    if isinstance(a, bool) or isinstance(b, bool):
        return False
    if isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
        try:
            return bool(cast("Any", a) < cast("Any", b))
        except (TypeError, ArithmeticError):  # a fraction and a decimal, a signalling NaN
            return False
    return False


_NUMBERS = (int, float, Decimal, Fraction)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except (TypeError, ValueError, ArithmeticError):  # foreign objects may refuse: not equal then
        return False


def _native(value: Any) -> Any:
    return value if type(value) in SCALARS else to_plain(value, opaque=_from_numpy)


def _from_numpy(value: Any) -> Any:
    numpy = sys.modules.get("numpy")
    is_numpy = numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))
    return value.tolist() if is_numpy else value


# --- functions ---------------------------------------------------------------------------


def length(value: object) -> Any:
    """``length(...)``: of a text or a container; of anything else ABSENT."""
    if isinstance(value, str):
        return len(value)
    size = view_of(type(value)).size(value)
    return ABSENT if size is None else size


def matches(text: Any, pattern: Any, scope: Scope, *, full: bool) -> bool:
    """``match(...)``, which is about the whole text, or ``search(...)``.

    Raises
    ------
    TimeoutError
        When the pattern takes longer than `REGEX_SECONDS` on the text.
    """
    if not isinstance(text, str) or not isinstance(pattern, str):
        return False
    compiled = compile_pattern(pattern)
    if compiled is None:
        return False
    try:
        find = compiled.fullmatch if full else compiled.search
        return find(text, timeout=REGEX_SECONDS) is not None
    except TimeoutError:
        raise TimeoutError(
            f"path {scope.key!r}: the pattern {pattern!r} took longer than {REGEX_SECONDS:g} "
            f"seconds on a text of {len(text):,} characters"
        ) from None


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> regex.Pattern[str] | None:
    """An interoperable regular expression (RFC 9485), compiled; None when it is none."""
    import regex  # noqa: PLC0415 - it is heavy, and few paths need it

    try:
        return regex.compile(_with_portable_dots(pattern))
    except (regex.error, ValueError, OverflowError, RecursionError):
        return None


def _with_portable_dots(pattern: str) -> str:
    """RFC 9485: a dot is anything but a line feed or a carriage return."""
    parts: list[str] = []
    escaped = in_class = False
    for char in pattern:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in "[]":
            in_class = char == "["
        elif char == "." and not in_class:
            char = r"[^\n\r]"  # noqa: PLW2901
        parts.append(char)
    return "".join(parts)
