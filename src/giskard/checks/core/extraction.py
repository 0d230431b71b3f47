"""Paths into a trace: JSONPath from ``trace.`` on, compiled once and walked lazily.

>>> from giskard.checks.core.interaction import Interaction, Trace
>>> trace = Trace(interactions=[Interaction(inputs="Hello", outputs={"tools": ["search"]})])
>>> resolve(trace, "trace.last.outputs.tools[0]")
'search'
>>> resolve(trace, "trace.interactions[*].inputs")
['Hello']
>>> resolve(trace, "trace.last.outputs.fee")
NoMatch('trace.last.outputs.fee')
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, is_dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, cast

from pydantic import AfterValidator, BaseModel

from giskard.checks.core._path_views import ABSENT, view_of, walk
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import did_you_mean
from giskard.checks.utils.deferred import settled
from giskard.checks.utils.frozen import type_name, view
from giskard.checks.utils.plain import SCALARS, record_items, to_plain

if TYPE_CHECKING:
    from giskard.checks.core._path_query import Query

__all__ = ["JSONPathStr", "NoMatch", "Path", "PathSyntaxError", "compile_path", "resolve"]

_PREFIX: Final = "trace."
# The types of traces seen so far: they pass a faster test than a look into their class.
_trace_types: set[type[Any]] = {Trace}


class PathSyntaxError(ValueError):
    """A text is not a path; the message says what was given, what is wrong and what is expected."""


@dataclass(frozen=True, slots=True)
class NoMatch:
    """What a path without a value gives: unlike None, it says that nothing is there.

    Parameters
    ----------
    key
        The path that matched nothing.
    """

    key: str

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"NoMatch({self.key!r})"


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled path; get one from `compile_path`.

    Parameters
    ----------
    key
        The path as it was written; two paths are equal when their keys are.
    definite
        Whether the path names at most one value.  If so it gives that value, or a `NoMatch`;
        otherwise (wildcards, slices, unions, filters and descent) always a list.
    """

    key: str
    definite: bool = field(compare=False)
    _steps: tuple[str | int, ...] = field(compare=False, repr=False)
    _query: Query | None = field(compare=False, repr=False)
    _no_match: NoMatch = field(compare=False, repr=False)
    # Of `trace.last.<field>` and `trace.interactions[<turn>].<field>`: the turn, the field, and what comes after it.
    _turn: int = field(default=-1, compare=False, repr=False)
    _field: str | None = field(default=None, compare=False, repr=False)
    _rest: tuple[str | int, ...] = field(default=(), compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return compile_path, (self.key,)

    def resolve(self, trace: Any) -> Any:
        """The value or values at this path, as plain data.

        Parameters
        ----------
        trace
            The trace that the path starts from.

        Returns
        -------
        Any
            The value, or `NoMatch` for a definite path without one; a list for an indefinite
            one.  Models, dataclasses and named tuples come out as plain data, other objects as
            private copies: what was recorded cannot be reached through them.

        Raises
        ------
        TimeoutError
            When a ``match()`` or ``search()`` of a filter takes longer than 2 seconds on a text.
        ValueError
            When a descent visits millions of values.
        """
        if self.definite:
            found = self._walk(trace)
            if type(found) is str or type(found) in SCALARS:
                return found
            return self._no_match if found is ABSENT else view(to_plain(found, opaque=view))
        return view(to_plain(self.raw(trace), opaque=view))

    def raw(self, trace: Any) -> Any:
        """As `resolve`, with each value as it is held by the trace: read it, do not change it."""
        found = self._walk(trace)
        if self.definite:
            return self._no_match if found is ABSENT else found
        if found is ABSENT:
            return []
        return cast("Query", self._query).select_below(found, trace, self.key)

    def grounded(self, trace: object) -> bool:
        """Whether it is right that this path matched nothing.

        Parameters
        ----------
        trace
            The trace in which the path matched nothing.

        Returns
        -------
        bool
            True when what stands before the first ``*``, slice, union, ``..`` or filter is there
            and is an empty container.  False when it is not empty, no container or absent: then
            the path is likely to be wrong.  For a definite path, whether it has a value.
        """
        found: object = self._walk(trace)
        if found is ABSENT or self.definite:
            return found is not ABSENT
        return view_of(type(found)).size(found) == 0

    def explain(self, trace: object) -> str:
        """Where in `trace` this path ends without a value, and what is there: for the message of an error.

        >>> from giskard.checks.core.interaction import Interaction, Trace
        >>> trace = Trace(interactions=[Interaction(inputs="Hello", outputs={"reply": "Hi"})])
        >>> compile_path("trace.last.outputs.replay").explain(trace)
        "trace.last.outputs has no 'replay'; did you mean 'reply'? It has: reply"
        """
        found, place = trace, "trace"
        for step in self._steps:
            below = walk(found, (step,))
            if below is ABSENT:
                empty = place == "trace.last" and found is None
                return f"{place} {_lacks(found, step)}" + (": the trace has no interactions" if empty else "")
            found = below
            place += f"[{step}]" if isinstance(step, int) else f".{step}" if step.isidentifier() else f"[{step!r}]"
        return f"nothing in {place} matches"

    def _walk(self, trace: object) -> Any:
        """What the leading names and indices lead to, or ABSENT."""
        if self._field is not None and type(trace) in _trace_types:
            # Nearly every path begins like this: read the storage of the models, past their
            # descriptors.  What is not there as expected takes the long way.
            try:
                turns = trace.__dict__["interactions"]
                stored = turns[self._turn].__dict__
                found = stored[self._field]
                if type(found) is not str:  # most are texts, which are there already
                    found = settled(stored, self._field)
            except (AttributeError, IndexError, KeyError):
                pass
            else:
                return walk(found, self._rest) if self._rest else found
        elif self._field is not None:
            seen = view_of(type(trace))
            if seen.is_trace and not seen.redefines_last:
                _trace_types.add(type(trace))
        return walk(trace, self._steps)


def _lacks(value: object, step: str | int) -> str:
    """What `value` is, or has, instead of what `step` asks for."""
    if value is None:
        return "is None"
    size = view_of(type(value)).size(value)
    if isinstance(step, int):
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            return f"has {size} item{'s' if size != 1 else ''}, and none at {step}"
        return f"is {type_name(value)}, which has no positions"
    names = _names_in(value)
    if names is None:
        return f"is {type_name(value)}, which has no names"
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return f"has no {step!r:.100}{did_you_mean(step, names) or '.'} It has: {shown or 'nothing'}"


def _names_in(value: object) -> list[str] | None:
    if isinstance(value, Mapping):
        return [str(name)[:50] for name in cast("Mapping[object, object]", value)]
    if view_of(type(value)).leaf or isinstance(value, (Sequence, Set)):
        return None
    if view_of(type(value)).is_trace:
        cls = cast("type[Trace]", type(value))
        return list(dict.fromkeys((*cls.model_fields, *cls.model_computed_fields, "tool_calls")))
    named = isinstance(value, (BaseModel, tuple)) or is_dataclass(value)
    return (
        [name for name, _ in record_items(cast("object", value))]
        if named
        else [n for n in vars(value) if not n.startswith("_")]
    )


def resolve(trace: Any, key: str) -> Any:
    """The value or values at a path into a trace.

    Parameters
    ----------
    trace
        The trace to look into.
    key
        A JSONPath (RFC 9535) in which ``trace.`` stands for the root:
        ``trace.last.outputs``, ``trace.interactions[0].metadata['user-id']``,
        ``trace.interactions[*].outputs``, ``trace.last.outputs.calls[?@.name == 'search'].args``.

    Returns
    -------
    Any
        For a path that names one value that value, None included, or `NoMatch`; for one that
        may name many always a list.  Models and dataclasses come out as plain data.

    Raises
    ------
    PathSyntaxError
        When `key` is not such a path.
    """
    return compile_path(key).resolve(trace)


def compile_path(key: str) -> Path:
    """The compiled form of a path, which is kept for the next time.

    Parameters
    ----------
    key
        A JSONPath that starts with ``trace.``, see `resolve`.

    Raises
    ------
    PathSyntaxError
        When `key` is not such a path.
    """
    if isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return _compiled(key)
    raise PathSyntaxError(f"{key!r} is not a path: {_EXPECTED}")


# ASCII names after dots and whole indices: no escapes, nothing that another reading could be given to.
_PLAIN_STEP: Final = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[(0|-?[1-9][0-9]{0,8})\]")
_PLAIN_PATH: Final = re.compile(rf"trace(?:{_PLAIN_STEP.pattern})+")

_EXPECTED: Final = (
    "expected a JSONPath that starts with 'trace.', such as 'trace.last.outputs' or 'trace.interactions[0].metadata'"
)


@lru_cache(maxsize=2048)
def _compiled(key: str) -> Path:
    if not key.startswith(_PREFIX):
        raise PathSyntaxError(f"{_shown(key)} is not a path{_prefix_hint(key)}: {_EXPECTED}")
    try:
        steps, query = _parsed(key)
    except ValueError as error:
        reason = str(error)[:300]
        raise PathSyntaxError(f"{_shown(key)} is not a path: {reason}{_syntax_hint(key)}; {_EXPECTED}") from None
    return Path(
        key,
        query is None,
        steps,
        query,
        NoMatch(key),
        **_short_way(steps),
    )


def _parsed(key: str) -> tuple[tuple[str | int, ...], Query | None]:
    """The names and indices that a path begins with, and the query when it may select many.

    Plain paths are split here; all others are for the JSONPath library.  That costs more to import than the
    rest of a small test run takes: it is loaded by the first path that needs it, never by an import.
    """
    if _PLAIN_PATH.fullmatch(key):
        steps = [int(index) if index else name for name, index in _PLAIN_STEP.findall(key, len(_PREFIX) - 1)]
        return tuple(steps), None
    from giskard.checks.core._path_grammar import parse  # noqa: PLC0415

    query = parse(key)
    return query.steps, query if query.segments else None


def _short_way(steps: tuple[str | int, ...]) -> dict[str, Any]:
    """The turn, the field and the rest of a path into a field of a turn; else nothing."""
    match steps:
        case ("last", str(name), *rest) if not name.startswith("_"):
            return {"_turn": -1, "_field": name, "_rest": tuple(rest)}
        case ("interactions", int(turn), str(name), *rest) if not name.startswith("_"):
            return {"_turn": turn, "_field": name, "_rest": tuple(rest)}
        case _:
            return {}


def _shown(key: str) -> str:
    return repr(key) if len(key) <= 200 else f"{key[:200]!r}… ({len(key):,} characters)"


def _prefix_hint(key: str) -> str:
    if key.startswith("$."):
        return f" (did you mean {_shown(_PREFIX + key[2:])}?)"
    if re.match(r"(last|interactions|annotations)\b", key):
        return f" (did you mean {_shown(_PREFIX + key)}?)"
    if key.startswith("trace["):
        return " (turns are in trace.interactions[...])"
    return ""


def _syntax_hint(key: str) -> str:
    if re.search(r"\.-?\d", key):
        return "; an index is written in brackets: [0]"
    if ".[" in key:
        return "; no dot stands before a bracket"
    return ""


def _checked(key: str) -> str:
    compile_path(key)
    return key


JSONPathStr: TypeAlias = Annotated[str, AfterValidator(_checked)]
"""The type of a field that holds a path: its prefix and syntax are checked on validation."""
