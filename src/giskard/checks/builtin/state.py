"""A check of what a conversation did to the world: a database, files, whatever your function reads."""

from __future__ import annotations

import datetime
import decimal
import inspect
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Generic, Self, cast

from pydantic import Field, PlainValidator, model_validator

from giskard.checks.builtin._calls import counted, decided
from giskard.checks.builtin._closeness import CompareOptions
from giskard.checks.builtin._compare import Difference, Incomparable, find_difference
from giskard.checks.builtin._shown import json_path, shown, type_name
from giskard.checks.core.attempt import Attempt, current_attempt, off_the_loop
from giskard.checks.core.before import seen_before
from giskard.checks.core.check import Check, CodeCheck, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.result import Metric, Verdict
from giskard.checks.core.types import MISSING, In, Out, TraceT
from giskard.checks.utils.codec import import_callable
from giskard.checks.utils.frozen import freeze, is_safe, thaw
from giskard.checks.utils.injectable import Injectable
from giskard.checks.utils.normalization import NormalizationForm

__all__ = ["StateEquals"]

_NAMES = ("trace", "trial", "conversation_id", "target")
_MOST_SHOWN = 5
# Nobody changes these, though a copy of one may be itself.
_UNCHANGING = (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal)


def _reader(value: Any) -> Callable[..., Any] | None:
    if value is None:
        return None
    function = import_callable(value) if isinstance(value, str) else value
    if not callable(function):
        raise ValueError(f"expected a function, or its import path, got {type_name(value)}: {value!r:.200}")
    try:
        _bound(function)
    except TypeError as error:
        raise ValueError(str(error)) from None
    return function


def _bound(function: Callable[..., Any]) -> Injectable:
    return Injectable(function, _NAMES, default="trace", types={Trace: "trace"})


@Check.register("state_equals")
class StateEquals(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks what the turns of a step did to a state outside of the conversation.

    Parameters
    ----------
    read
        A function that reads the state, sync or async; it may ask for ``trace``, ``trial``, ``conversation_id`` and
        ``target`` by these names.  It is called before the first turn of the step and again when the check runs.  In
        data, an import path.
    expected, expected_key
        The state that is expected then: a value, the path of one, or a function that makes it of the state before.
        Left out, the state must be what it was.
    before_key, after_key
        For recorded conversations, in which nothing is run: the paths of the state before and after.
    normalization_form, tolerance
        How texts and numbers in the state are compared, as in `Equals`.

    Notes
    -----
    What `read` gives is kept as it is at that moment: views of dicts as lists, a mapping proxy as a dict, a memoryview
    as bytes.  What cannot be copied, such as an object that holds a lock, is an ERROR.  An exception that it raises
    is an ERROR.  A sync function runs in place; with a `timeout` it runs in a thread, so that it can be given up.
    The result carries the number of differences as the metric ``differences``: for dicts, of keys that differ.

    Examples
    --------
    >>> from giskard.checks import Scenario, StateEquals
    >>> cards = {"c-17": "active"}
    >>> def block(inputs):
    ...     cards["c-17"] = "blocked"
    ...     return "Done."
    >>> check = StateEquals(read=lambda: cards, expected={"c-17": "blocked"})
    >>> Scenario("block").interact("Block card c-17.", block).check(check).run_sync().passed
    True
    """

    read: Annotated[Callable[..., Any] | None, PlainValidator(_reader)] = None
    expected: Any = MISSING
    expected_key: JSONPathStr | None = None
    before_key: JSONPathStr | None = None
    after_key: JSONPathStr | None = None
    normalization_form: NormalizationForm | None = "NFKC"
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _check_sources(self) -> Self:
        if self.read is None and self.after_key is None:
            raise ValueError("give read (a function that reads the state), or after_key for recorded conversations")
        if self.expected is not MISSING and self.expected_key is not None:
            raise ValueError("give at most one of expected and expected_key; both given")
        needs_before = self.expected_key is None and (self.expected is MISSING or callable(self.expected))
        if self.read is None and self.before_key is None and needs_before:
            raise ValueError("give before_key: what is expected hangs on the state before")
        if self.expected is not MISSING and not callable(self.expected):
            vars(self)["expected"] = freeze(_without_views(self.expected))
        return self

    async def look_before(self, trace: TraceT) -> Any:
        """The state before the turns of the step."""
        return MISSING if self.read is None else _kept(await self._read(trace))

    async def _read(self, trace: Any) -> Any:
        attempt = current_attempt.get() or Attempt()
        target = attempt.target.function if isinstance(attempt.target, Injectable) else attempt.target
        values = {
            "trace": trace,
            "trial": attempt.trial,
            "conversation_id": attempt.conversation_id,
            "target": None if target is MISSING else target,
        }
        bound = _bound(cast("Callable[..., Any]", self.read))
        if self.timeout is not None and not bound.is_async:
            state = await off_the_loop(partial(bound, values))
        else:
            state = bound(values)
        return await state if inspect.isawaitable(state) else state

    async def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the state is what was expected, else FAIL."""
        before, after, place = await self._states(trace)
        expected = await self._expected(trace, before)
        details: dict[str, Any] = {"after": after, "expected": expected}
        if before is not MISSING:
            details["before"] = before
        options = CompareOptions(self.normalization_form, self.tolerance)
        try:
            found = _differences(after, expected, options)
        except Incomparable as error:
            raise NoVerdict(f"cannot compare {place}: {error}", kind="bad_type", details=details) from error
        metrics = [Metric(name="differences", value=len(found))]
        same = self.expected is MISSING and self.expected_key is None
        if not found:
            message = f"{place} is what it was before" if same else f"{place} is as expected: {shown(after)}"
            return decided(True, message, details, metrics)
        lines = found[:_MOST_SHOWN] + ([f"and {len(found) - _MOST_SHOWN} more"] if len(found) > _MOST_SHOWN else [])
        problem = "is not what it was before" if same else "is not as expected"
        message = f"{place} {problem}: {counted(len(found), 'difference')}: {'; '.join(lines)}"
        return decided(False, message, details, metrics)

    async def _states(self, trace: Any) -> tuple[Any, Any, str]:
        """The state before and after, and what the latter is called."""
        before = MISSING if self.read is None else seen_before(self)
        if before is MISSING:
            if self.after_key is None:
                raise NoVerdict(
                    "nothing was run here, so the state before is not known: run it in a scenario, or give before_key "
                    "and after_key, the paths of the recorded states (in trace.annotations, say)",
                    kind="config",
                )
            after = lookup(trace, self.after_key, "after_key")
            noted = MISSING if self.before_key is None else lookup(trace, self.before_key, "before_key")
            return noted, after, f"the state at {self.after_key!r}"
        if isinstance(before, NoVerdict):
            raise before
        if isinstance(before, BaseException):
            raise _failed("before the step", before)
        try:
            after = await self._read(trace)
        except Exception as error:
            raise _failed("after it", error) from error
        return before, _kept(after), "the state"

    async def _expected(self, trace: Any, before: Any) -> Any:
        if self.expected_key is not None:
            return lookup(trace, self.expected_key, "expected_key")
        if self.expected is MISSING:
            return self._known(before)
        if not callable(self.expected):
            return self.expected
        known = thaw(self._known(before))
        try:
            made = self.expected(known)
            if inspect.isawaitable(made):
                made = await made
        except Exception as error:
            raise NoVerdict(f"expected raised {type(error).__name__}: {error}", kind="crash") from error
        if made is None:
            raise NoVerdict(
                "the function `expected` returned None; it must return the state that is expected", kind="bad_type"
            )
        return freeze(_without_views(made))

    def _known(self, before: Any) -> Any:
        if before is MISSING:
            raise NoVerdict(
                "the state before is not known, and what is expected hangs on it: give before_key", kind="config"
            )
        return before


def _kept(state: Any) -> Any:
    """The state as it is now.

    Raises
    ------
    NoVerdict
        When something in it could not be copied: it would be compared with itself.
    """
    plain = _without_views(state)
    kept = freeze(plain)
    todo: list[tuple[Any, Any]] = [(plain, kept)]
    seen: set[int] = set()
    while todo:
        given, copied = todo.pop()
        if id(copied) in seen or is_safe(copied):
            continue
        seen.add(id(copied))
        kind = cast("Any", type(copied))
        if issubclass(kind, dict) and type(given) is dict:
            todo.extend((item, copied[key]) for key, item in cast("dict[Any, Any]", given).items())
        elif issubclass(kind, (list, tuple)) and copied is not given:
            todo.extend(zip(given, copied, strict=False))
        elif copied is given and not isinstance(copied, _UNCHANGING):
            raise NoVerdict(
                f"read returned {shown(copied)} ({type_name(copied)}), which cannot be kept as it was: return plain "
                "data",
                kind="bad_type",
            )
    return kept


def _without_views(value: Any) -> Any:
    """`value` with copies in place of what shows another object as it is at any time."""
    try:
        return _copy_of_views(value, {})
    except RecursionError:  # what is a view in it cannot be copied, which is told then
        return value


def _copy_of_views(value: Any, known: dict[int, Any]) -> Any:
    if isinstance(value, (KeysView, ItemsView, ValuesView)):
        value = list(cast("KeysView[Any]", value))
    elif isinstance(value, MappingProxyType):
        value = dict(cast("Mapping[Any, Any]", value))
    elif isinstance(value, memoryview):
        return value.tobytes()
    kind = cast("Any", type(value))
    if kind is tuple:
        return tuple([_copy_of_views(item, known) for item in value])
    if kind is not dict and kind is not list:
        return value
    if id(value) in known:
        return known[id(value)][1]
    out = cast("Any", kind())
    known[id(value)] = value, out  # kept, so that its identity stays its own
    if kind is dict:
        out.update((key, _copy_of_views(item, known)) for key, item in value.items())
    else:
        out.extend(_copy_of_views(item, known) for item in value)
    return out


def _failed(when: str, error: BaseException) -> NoVerdict:
    kind = "timeout" if isinstance(error, TimeoutError) else "crash"
    return NoVerdict(f"read raised {type(error).__name__} {when}: {error}", kind=kind)


def _differences(after: Any, expected: Any, options: CompareOptions) -> list[str]:
    """What differs: of dicts the first difference below each key, else the first one."""
    if not (isinstance(after, Mapping) and isinstance(expected, Mapping)):
        difference = find_difference(cast("Any", after), expected, options)
        return [] if difference is None else [_described((), difference)]
    mine, theirs = cast("Mapping[Any, Any]", after), cast("Mapping[Any, Any]", expected)
    found: list[str] = []
    for key in dict.fromkeys((*theirs, *mine)):
        if key not in mine:
            found.append(f"{_place((key,))} is missing, expected {shown(theirs[key])}")
        elif key not in theirs:
            found.append(f"{_place((key,))}: {shown(mine[key])} is not expected")
        else:
            difference = find_difference(mine[key], theirs[key], options)
            if difference is not None:
                found.append(_described((key,), difference))
    if not found and find_difference(mine, theirs, options) is not None:  # True where the other one has 1, as a key
        found.append("one has a bool as a key where the other has a number")
    return found


def _described(place: tuple[Any, ...], difference: Difference) -> str:
    path, reason, actual, expected = difference
    text = reason or f"{shown(actual)} instead of {shown(expected)}"
    if not reason and type(actual) is not type(expected):
        text += f" ({type_name(actual)} and {type_name(expected)})"
    return f"{_place((*place, *path))}: {text}"


def _place(path: tuple[Any, ...]) -> str:
    return "state" + json_path([step if isinstance(step, int) else str(step) for step in path])[1:]
