"""Checks of which tools an agent called, how often, and with what."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import starmap
from typing import Annotated, Any, Generic, Self, cast

from pydantic import PlainValidator, model_validator

from giskard.checks.builtin._call_patterns import NAMES_ONLY, ArgumentMatch, CallPattern, Values, check_arguments
from giskard.checks.builtin._calls import (
    AtLeastZero,
    Called,
    Calls,
    CallsCheck,
    KeptCall,
    Name,
    counted,
    decided,
    listed,
    metric,
    one_of,
    text_or_lookup,
    turn_noted,
)
from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.builtin.fn import is_numpy_bool
from giskard.checks.core.check import Check, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.result import CheckStatus, Verdict
from giskard.checks.core.tool_calls import AnyCall, whole_call
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.core.usage import ToolCall
from giskard.checks.utils.codec import import_callable
from giskard.checks.utils.frozen import is_safe
from giskard.checks.utils.normalization import NormalizationForm

__all__ = ["ToolCalled", "ToolNotCalled"]

_ANY = "a tool"
_MOST_NEAR = 3
_MOST_DIFFERENCES = 4
_MOST_NAMES = 8


def _predicate(value: Any) -> Callable[[ToolCall], Any] | None:
    if value is None or callable(value):
        return value
    if isinstance(value, str):
        return import_callable(value)
    raise ValueError(f"expected a function of a call, or its import path, got {type_name(value)}: {value!r:.200}")


class _CertainCalls(CallsCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """What the checks of certain calls share; `ToolCalled` tells of the fields."""

    tool: Name | None = None
    tool_key: JSONPathStr | None = None
    arguments: Any = None
    arguments_key: JSONPathStr | None = None
    match: ArgumentMatch = "subset"
    predicate: Annotated[Callable[[ToolCall], Any] | None, PlainValidator(_predicate)] = None
    failed: bool | None = None
    normalization_form: NormalizationForm | None = "NFKC"

    @model_validator(mode="after")
    def _check_what_is_meant(self) -> Self:
        one_of(self, "tool")
        one_of(self, "arguments")
        vars(self)["arguments"] = check_arguments(self.arguments, self.match)
        return self

    def verdict(self, trace: TraceT) -> Verdict | Awaitable[Verdict]:
        """PASS when as many calls are found as were expected, else FAIL."""
        calls = self._calls(trace)
        pattern = self._pattern(trace)
        found = [called for called in calls if self._is_meant(called.call, pattern)]
        if self.predicate is None:
            return self._judged(found, calls, pattern)
        answers = [self.predicate(_own(whole_call(called.call))) for called in found]
        if any(map(inspect.isawaitable, answers)):
            return self._awaited(answers, found, calls, pattern)
        return self._judged(self._chosen(found, answers), calls, pattern)

    async def _awaited(self, answers: list[Any], found: list[Called], calls: Calls, pattern: CallPattern) -> Verdict:
        settled = [await answer if inspect.isawaitable(answer) else answer for answer in answers]
        return self._judged(self._chosen(found, settled), calls, pattern)

    def _chosen(self, found: list[Called], answers: Sequence[Any]) -> list[Called]:
        for answer in answers:
            if not isinstance(answer, bool) and not is_numpy_bool(answer):
                raise NoVerdict(
                    f"the predicate returned {shown(answer)} ({type_name(answer)}), expected True or False",
                    kind="bad_type",
                )
        return [called for called, answer in zip(found, answers, strict=True) if answer]

    def _pattern(self, trace: Any) -> CallPattern:
        arguments = self.arguments
        if arguments is None and self.arguments_key is not None:
            try:
                found = lookup(trace, self.arguments_key, "arguments_key")
                arguments = check_arguments({} if found is None else found, self.match, repr(self.arguments_key))
            except ValueError as error:
                raise NoVerdict(str(error), kind="bad_type", details={"arguments_key": self.arguments_key}) from error
        name = text_or_lookup(trace, self.tool, self.tool_key, "tool_key")
        values = NAMES_ONLY if arguments is None else Values(self.normalization_form)
        return CallPattern(name, arguments, self.match, values)

    def _is_meant(self, call: AnyCall, pattern: CallPattern) -> bool:
        if pattern.name is not None and pattern.name != call.name:  # what most calls are
            return False
        if self.failed is not None and self.failed is not (call.error is not None):
            return False
        return pattern.matches(call)

    def _judged(self, found: list[Called], calls: Calls, pattern: CallPattern) -> Verdict:
        raise NotImplementedError


def _own(call: ToolCall) -> ToolCall:
    """A call that its reader cannot change for the others."""
    return call if is_safe(call.arguments) and is_safe(call.result) else copy.deepcopy(call)


_WITH = {"subset": "with", "exact": "with exactly", "schema": "by the schema", "regex": "matching"}


def _named(predicate: Any) -> str | None:
    """What a predicate is called, at the time of the run: it may be called otherwise later."""
    return None if predicate is None else getattr(predicate, "__name__", None) or shown(predicate)


def _meant(pattern: CallPattern, predicate: str | None, failed: bool | None) -> str:
    """The calls that are meant, in words."""
    parts = [_ANY if pattern.name is None else pattern.name]
    if pattern.arguments is not None:
        parts.append(f"{_WITH[pattern.match]} {shown(pattern.arguments)}")
    if predicate is not None:
        parts.append(f"for which {predicate} is True")
    if failed is not None:
        parts.append("(calls that failed)" if failed else "(calls that did not fail)")
    return " ".join(parts)


def _times(meant: str, count: int) -> str:
    return f"{meant} was called {counted(count, 'time')}"


def _made(calls: Sequence[Called]) -> str:
    return f"the calls: {listed(calls)}" if calls else "no tool was called"


def _details(found: Sequence[Called | KeptCall], calls: Sequence[Called | KeptCall]) -> dict[str, Any]:
    return {"found": [called.noted for called in found], "calls": [called.noted for called in calls]}


def _passed(pattern: CallPattern, predicate: Any, found: Sequence[Called], calls: Calls) -> Verdict:
    """A PASS with the number of calls that were found."""
    metrics = [metric("calls", len(found))]
    told = (pattern, _named(predicate), calls.places(found), calls.kept())
    return Verdict(CheckStatus.PASS, metrics=metrics, found=told)


@Check.register("tool_called")
class ToolCalled(_CertainCalls[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a tool was called, with certain arguments, so many times.

    Parameters
    ----------
    tool, tool_key
        The name of the tool, or the path of one in the trace; left out, any tool is meant.
    arguments, arguments_key
        What must hold of the arguments, or the path of that; left out, any arguments are meant.
    match
        How `arguments` are compared.  ``"subset"``: those that are given must be there, and equal; there may be others.
        ``"exact"``: the same, and no others.  ``"schema"``: they are a JSON Schema of all the arguments together.
        ``"regex"``: they are a regular expression for each argument that is given, searched in its text.
    predicate
        A function of the `ToolCall`, sync or async, that is True for the calls that are meant; in data, an import path.
    failed
        True: only calls that failed are meant; False: only those that did not.
    times
        How often exactly.
    min_times, max_times
        How often at least and at most; at least once unless it is said otherwise.
    target_key, turn, require_recording
        Which calls are looked at: see `docs/tool-calls.md`.
    normalization_form
        Texts in the arguments are compared in this Unicode normal form, as in `Equals`.

    Notes
    -----
    A turn whose metadata says nothing of tools made no call; with `require_recording` it is an ERROR.  The result
    carries the number of calls as the metric ``calls``.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, ToolCalled, Trace
    >>> calls = [{"name": "get_fee", "arguments": {"item": "card"}}]
    >>> trace = Trace(interactions=[Interaction(inputs="?", outputs="Free.", metadata={"tool_calls": calls})])
    >>> print(asyncio.run(ToolCalled(tool="get_fee", arguments={"item": "loan"}).run(trace)).message)
    get_fee with {'item': 'loan'} was called 0 times, expected at least 1; get_fee(item="card") in turn 1: \
arguments.item: 'card' instead of 'loan'
    """

    times: AtLeastZero | None = None
    min_times: AtLeastZero | None = None
    max_times: AtLeastZero | None = None

    @model_validator(mode="after")
    def _check_that_it_says_which(self) -> Self:
        which = (self.tool, self.tool_key, self.arguments, self.arguments_key, self.predicate, self.failed)
        how_many = (self.times, self.min_times, self.max_times)
        if all(value is None for value in (*which, *how_many)):
            about = "" if self.name is None else f"name={self.name!r} is what reports call the check; "
            tool = "..." if self.name is None else repr(self.name)
            raise ValueError(f"{about}say which call is meant: tool={tool}; or how many of any tool: min_times=1")
        return self

    @model_validator(mode="after")
    def _check_times(self) -> Self:
        if self.times is not None and (self.min_times is not None or self.max_times is not None):
            raise ValueError("give times, or min_times and max_times")
        low, high = self._bounds()
        if high is not None and low > high:
            raise ValueError(f"min_times is {low} and max_times is {high}: no number of calls can pass")
        return self

    def _bounds(self) -> tuple[int, int | None]:
        if self.times is not None:
            return self.times, self.times
        low = 1 if self.min_times is None else self.min_times
        return (min(low, self.max_times) if self.min_times is None and self.max_times == 0 else low), self.max_times

    def _judged(self, found: list[Called], calls: Calls, pattern: CallPattern) -> Verdict:
        low, high = self._bounds()
        count = len(found)
        if low <= count and (high is None or count <= high):
            return _passed(pattern, self.predicate, found, calls)
        meant = _meant(pattern, _named(self.predicate), self.failed)
        wanted = f"exactly {low}" if low == high else f"at least {low}" if count < low else f"at most {high}"
        near = self._near(calls, pattern) if count < low else []
        said = f": {listed(found)}" if count >= low else f"; {_told(near, pattern) or _made(calls)}"
        message = f"{_times(meant, count)}, expected {wanted}{said}"
        shown_one = found[high] if high is not None and count > high else next(iter(near or found), None)
        details = {**_details(found, calls), **turn_noted(shown_one)}
        return decided(False, message, details, [metric("calls", count)])

    @classmethod
    def passed(cls, values: Mapping[str, Any], found: Any) -> tuple[str, dict[str, Any]]:
        """How often it was called, and the calls."""
        pattern, predicate, places, kept = found
        calls = list(starmap(KeptCall, kept))
        those = [calls[place] for place in cast("Sequence[int]", places)]
        message = _times(_meant(pattern, predicate, values["failed"]), len(those))
        return f"{message}: {listed(those)}" if those else message, _details(those, calls)

    def _near(self, calls: Calls, pattern: CallPattern) -> list[Called]:
        """The calls of this tool with other arguments, the nearest first."""
        near = [called for called in calls if called.call.name == pattern.name and not pattern.matches(called.call)]
        return sorted(near, key=lambda called: pattern.distance(called.call))


def _told(near: Sequence[Called], pattern: CallPattern) -> str:
    """What these calls had otherwise."""
    parts: list[str] = []
    for one in near[:_MOST_NEAR]:
        problems = pattern.differences(one.call)[:_MOST_DIFFERENCES]
        parts.append(f"{one.shown_with(pattern.named_in(problems, one.call))}: {', '.join(problems)}")
    if len(near) > _MOST_NEAR:
        parts.append(f"and {counted(len(near) - _MOST_NEAR, 'more call')} of it")
    return "; ".join(parts)


@Check.register("tool_not_called")
class ToolNotCalled(_CertainCalls[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that a tool was not called, or not with certain arguments; without fields, that none was called.

    The fields are those of `ToolCalled`, without the numbers.

    Notes
    -----
    With `arguments`, a call of the tool whose own arguments cannot be read is an ERROR.

    A turn whose metadata says nothing of tools made no call.  Whose recordings may lack what was called gives
    ``require_recording=True``: then such a turn is an ERROR.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, ToolNotCalled, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="?", outputs="Free.")])
    >>> asyncio.run(ToolNotCalled(tool="block_card").run(trace)).message
    'block_card was not called; no tool was called'
    """

    def _judged(self, found: list[Called], calls: Calls, pattern: CallPattern) -> Verdict:
        if not found:
            self._check_readable(calls, pattern)
            return _passed(pattern, self.predicate, found, calls)
        meant = _meant(pattern, _named(self.predicate), self.failed)
        message = f"{_times(meant, len(found))}: {listed(found)}"
        details = {**_details(found, calls), **turn_noted(found[0])}
        return decided(False, message, details, [metric("calls", len(found))])

    def _check_readable(self, calls: Calls, pattern: CallPattern) -> None:
        """Refuse to say that no call had these arguments when those of one cannot be read."""
        if pattern.arguments is None:
            return
        for called in calls:
            call = called.call
            of_it = pattern.name in (None, call.name) and self.failed in (None, call.error is not None)
            if of_it and isinstance(call.arguments, str):
                raise NoVerdict(
                    f"whether it was called with {shown(pattern.arguments)} cannot be told: the arguments of "
                    f"{called.shown} cannot be read",
                    kind="bad_type",
                    details={**_details((), calls), **turn_noted(called)},
                )

    @classmethod
    def passed(cls, values: Mapping[str, Any], found: Any) -> tuple[str, dict[str, Any]]:
        """What was called instead."""
        pattern, predicate, _, kept = found
        meant, calls = _meant(pattern, predicate, values["failed"]), list(starmap(KeptCall, kept))
        if not calls:
            message = "no tool was called" if meant == _ANY else f"{meant} was not called; no tool was called"
        else:
            names = list(dict.fromkeys(called.name for called in calls))
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            message = f"{meant} was not called; {counted(len(calls), 'call')} of {', '.join(names[:_MOST_NAMES])}{more}"
        return message, _details((), calls)
