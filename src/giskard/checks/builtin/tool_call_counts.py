"""Checks of how many tools were called, how often the same call was made, and how many calls failed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise, starmap
from typing import Annotated, Any, Generic, Self, cast

from pydantic import Field, model_validator

from giskard.checks.builtin._calls import (
    ALL_CALLS,
    AtLeastZero,
    Called,
    Calls,
    CallsCheck,
    KeptCall,
    Name,
    counted,
    decided,
    keep,
    listed,
    metric,
    one_of,
    show_call,
    text_or_lookup,
    turn_noted,
)
from giskard.checks.builtin._closeness import CompareOptions
from giskard.checks.builtin._compare import Incomparable, values_equal
from giskard.checks.builtin._regex import compile_pattern, find
from giskard.checks.builtin._shown import shown
from giskard.checks.core.check import Check, JSONPathStr, NoVerdict
from giskard.checks.core.result import CheckStatus, Verdict
from giskard.checks.core.tool_calls import NotedCall
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.deferred import settled
from giskard.checks.utils.frozen import known_type
from giskard.checks.utils.normalization import NormalizationForm, normalize_string
from giskard.checks.utils.text import plain_text

__all__ = ["MaxToolCalls", "NoRepeatedCalls", "ToolErrors"]

_MOST_SHOWN = 3


class _CountedCalls(CallsCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    tool: Name | None = None
    tool_key: JSONPathStr | None = None

    @model_validator(mode="after")
    def _one_tool(self) -> Self:
        one_of(self, "tool")
        return self

    def _counted(self, trace: Any) -> tuple[str | None, list[Called]]:
        """The name of the tool, None for any, and its calls."""
        name = text_or_lookup(trace, self.tool, self.tool_key, "tool_key")
        calls = self._calls(trace)
        return name, calls if name is None else [called for called in calls if called.call.name == name]


@Check.register("max_tool_calls")
class MaxToolCalls(_CountedCalls[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that no more tools were called than a limit allows.

    Parameters
    ----------
    limit
        The most calls of all turns together.
    per_turn
        The most calls of any one turn.
    tool, tool_key
        Counts the calls of this tool only.
    target_key, turn, require_recording
        Which calls are looked at: see `docs/tool-calls.md`.

    Notes
    -----
    The result carries the metrics ``calls`` and, with `per_turn`, ``most_calls_in_a_turn``.
    """

    limit: AtLeastZero | None = None
    per_turn: AtLeastZero | None = None

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if self.limit is None and self.per_turn is None:
            raise ValueError("give limit (of all turns together), per_turn, or both")
        if self.per_turn is not None and self.target_key != ALL_CALLS:
            raise ValueError(f"per_turn is about the calls of the turns: leave target_key={self.target_key!r} out")
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when there are at most so many calls, else FAIL."""
        name, calls = self._counted(trace)
        what = "call" if name is None else f"call of {name}"
        metrics = [metric("calls", len(calls))]
        total = f"{counted(len(calls), 'call')}{'' if name is None else f' of {name}'}"
        problems: list[str] = []
        over: Called | None = None  # the call that a reader wants to see
        if self.limit is not None and len(calls) > self.limit:
            over = calls[self.limit]
            problems.append(f"{total}, at most {self.limit} were expected: {listed(calls)}")
        if self.per_turn is not None:
            turns = Counter(called.turn for called in calls)
            busiest = max(turns, key=turns.__getitem__, default=None)
            most = turns[busiest]
            metrics.append(metric("most_calls_in_a_turn", most))
            if busiest is not None and most > self.per_turn:
                own = [called for called in calls if called.turn == busiest]
                over = own[self.per_turn]
                problems.append(
                    f"{most} {what}s in turn {busiest + 1}, at most {self.per_turn} were expected in a turn: "
                    f"{listed(own)}"
                )
        if problems:
            details = {"calls": [called.noted for called in calls], **turn_noted(over)}
            return decided(False, "; ".join(problems), details, metrics)
        kept = calls.kept() if isinstance(calls, Calls) else list(map(keep, calls))
        return Verdict(CheckStatus.PASS, metrics=metrics, found=(total, kept))

    @classmethod
    def passed(cls, values: Mapping[str, Any], found: Any) -> tuple[str, dict[str, Any]]:
        """How many there are, the limits, and the calls."""
        total, calls = found[0], starmap(KeptCall, found[1])
        limits = [] if values["limit"] is None else [f"at most {values['limit']} were expected"]
        if values["per_turn"] is not None:
            limits.append(f"at most {values['per_turn']} in a turn")
        return f"{total}, {' and '.join(limits)}", {"calls": [called.noted for called in calls]}


@Check.register("no_repeated_calls")
class NoRepeatedCalls(_CountedCalls[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that no call was made again with the same arguments: an agent that does so goes round in circles.

    Parameters
    ----------
    max_repeats
        How often a call may come again.
    ignore
        Names of tools that may be asked again and again, such as one that tells whether something is ready.
    allow_after_error
        Whether a call may come again when it failed the time before.
    allow_new_results
        Whether a call may come again when it gives another result than the time before.
    tool, tool_key
        Looks at the calls of this tool only.
    target_key, turn, require_recording
        Which calls are looked at: see `docs/tool-calls.md`.
    normalization_form
        Texts in the arguments are compared in this Unicode normal form, as in `Equals`.

    Notes
    -----
    The result carries the metric ``repeats``: how often the call that came most often came again.
    """

    max_repeats: AtLeastZero = 0
    ignore: list[Name] = []
    allow_after_error: bool = False
    allow_new_results: bool = False
    normalization_form: NormalizationForm | None = "NFKC"

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when no call came again more often than it may, else FAIL."""
        _, calls = self._counted(trace)
        kept = [called for called in calls if called.call.name not in self.ignore]
        series = self._series(kept)
        repeats = [1 + sum(map(self._is_a_repeat, same, same[1:])) for same in series]
        most = max(repeats, default=1) - 1
        metrics = [metric("repeats", most)]
        details: dict[str, Any] = {"repeats": most, "calls": [called.noted for called in calls]}
        if most <= self.max_repeats:
            allowed = "" if most == 0 else f", at most {counted(self.max_repeats, 'time')} were allowed"
            none = f"{counted(len(kept), 'call')}, none of them repeated"
            message = none if most == 0 else f"a call came again {counted(most, 'time')}"
            return decided(True, message + allowed, details, metrics)
        over = [(count, same) for count, same in zip(repeats, series, strict=True) if count - 1 > self.max_repeats]
        over.sort(key=lambda item: -item[0])
        details |= turn_noted(self._one_too_many(over[0][1]))
        parts = [_told(count, same) for count, same in over[:_MOST_SHOWN]]
        if len(over) > _MOST_SHOWN:
            parts.append(f"and {counted(len(over) - _MOST_SHOWN, 'more call')}")
        allowed = f"; a call may come again {counted(self.max_repeats, 'time')}" if self.max_repeats else ""
        return decided(False, "; ".join(parts) + allowed, details, metrics)

    def _series(self, calls: Sequence[Called]) -> list[list[Called]]:
        """The calls of the same tool with the same arguments, each series in order."""
        options = CompareOptions(self.normalization_form)
        by_name: dict[str, list[list[Called]]] = {}
        by_key: defaultdict[str, dict[Hashable, list[Called]]] = defaultdict(dict)
        without: defaultdict[str, list[list[Called]]] = defaultdict(list)  # to be compared in pairs
        for called in calls:
            known = by_name.setdefault(called.call.name, [])
            arguments = called.call.arguments
            key = _key(arguments, self.normalization_form)
            keyed, others = by_key[called.call.name], without[called.call.name]
            try:
                same = keyed.get(key) if key is not None else None
                if same is None:
                    rest = known if key is None else others
                    same = next((one for one in rest if values_equal(arguments, one[0].call.arguments, options)), None)
            except Incomparable as error:
                raise NoVerdict(
                    f"cannot compare the arguments of calls of {called.call.name!r}: {error}", kind="bad_type"
                ) from error
            if same is None:
                same = [called]
                known.append(same)
                if key is None:
                    others.append(same)
                else:
                    keyed[key] = same
            else:
                same.append(called)
        return [same for known in by_name.values() for same in known]

    def _one_too_many(self, same: Sequence[Called]) -> Called:
        """The first of these calls that came again more often than it may."""
        again = [after for before, after in pairwise(same) if self._is_a_repeat(before, after)]
        return again[self.max_repeats]

    def _is_a_repeat(self, before: Called, after: Called) -> bool:
        if self.allow_after_error and before.call.error is not None:
            return False
        if not self.allow_new_results:
            return True
        try:
            return before.call.error == after.call.error and values_equal(before.call.result, after.call.result)
        except Incomparable:
            return True


def _key(value: Any, form: NormalizationForm | None) -> Hashable | None:
    """What two values have in common if and only if they are equal; None where there is nothing of the kind."""
    kind = known_type(value)
    if kind is str:
        return normalize_string(value, form)
    if kind is bool or value is None:
        return kind, value
    if kind is int or kind is float:
        return value if value == value else None  # noqa: PLR0124 - NaN equals nothing
    if kind is list:
        keys = [_key(item, form) for item in cast("list[Any]", value)]
        return None if None in keys else (list, tuple(keys))
    if kind is not dict:
        return None
    items = {name: _key(item, form) for name, item in cast("dict[Any, Any]", value).items()}
    is_plain = all(type(name) is str and name.isascii() for name in items) and None not in items.values()
    return (dict, frozenset(items.items())) if is_plain else None


def _told(count: int, same: Sequence[Called]) -> str:
    call = same[0].call
    turns = [str(turn + 1) for turn in dict.fromkeys(called.turn for called in same) if turn is not None]
    where = f" (turn{'s' if len(turns) > 1 else ''} {', '.join(turns[:10])})" if turns else ""
    return f"{show_call(call.name, call.arguments)} was called {counted(count, 'time')}{where}"


@Check.register("tool_errors")
class ToolErrors(_CountedCalls[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that calls of tools did not fail, or not too often.

    Parameters
    ----------
    max_errors
        The most calls that may fail: none, unless `max_share` is given in its place.
    max_share
        The greatest share of the calls that may fail, from 0 to 1.
    error_pattern
        A regular expression: a call failed, too, when it is found in the text of its result.
    tool, tool_key
        Looks at the calls of this tool only.
    target_key, turn, require_recording
        Which calls are looked at: see `docs/tool-calls.md`.

    Notes
    -----
    A call failed when its ``error`` is set.  Some formats, such as OpenAI chat, have no flag for that: there a failure
    is a result like any other, and only `error_pattern` finds it.  Calls that have no recorded result are named in the
    message; when there are no others, it is an ERROR.

    The result carries the metrics ``errors`` and ``error_share``; without calls there is no share.
    """

    max_errors: AtLeastZero | None = None
    max_share: Annotated[float, Field(ge=0, le=1)] | None = None
    error_pattern: str | None = None

    @model_validator(mode="after")
    def _check_pattern(self) -> Self:
        if self.error_pattern is not None:
            compile_pattern(self.error_pattern)
        return self

    def _failure(self, called: Called) -> Any:
        """What the call failed with; None when it did not."""
        error, result = called.call.error, called.call.result
        if error is not None or self.error_pattern is None or result is None:
            return error
        try:
            return None if find(self.error_pattern, plain_text(result)) is None else result
        except TimeoutError as problem:
            raise NoVerdict(
                f"timeout: error_pattern took longer than 2 s for the result of {called.shown}", kind="timeout"
            ) from problem

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when at most so many calls failed, else FAIL."""
        _, calls = self._counted(trace)
        failures = [(called, failure) for called in calls if (failure := self._failure(called)) is not None]
        failed = [called for called, _ in failures]
        noted = {"calls": [called.noted for called in calls]}
        unknown = _without_result(trace, calls) if calls else 0
        if unknown and unknown == len(calls):
            raise NoVerdict(
                f"{_have(unknown)} no recorded result: whether they failed is not known",
                kind="missing_value",
                details=noted,
            )
        metrics = [metric("errors", len(failed))]
        details: dict[str, Any] = {
            "errors": [
                called.noted if called.call.error is not None else {**called.noted, "result": failure}
                for called, failure in failures
            ],
            **noted,
        }
        message = f"{len(failed)} of {counted(len(calls), 'call')} failed"
        unread = sum(isinstance(called.call.arguments, str) for called in calls)
        also = [f"{_have(unknown)} no recorded result"] if unknown else []
        also += [f"{_have(unread)} arguments that cannot be read"] if unread else []
        message += f" ({', '.join(also)})" if also else ""
        most = 0 if self.max_errors is None and self.max_share is None else self.max_errors
        problems: list[str] = []
        if most is not None and len(failed) > most:
            problems.append(f"at most {most} may fail")
        if calls:
            share = len(failed) / len(calls)
            metrics.append(metric("error_share", share))
            if self.max_share is not None and share > self.max_share:
                problems.append(f"at most {self.max_share:.1%} may fail, and {share:.1%} did")
        if not problems:
            return decided(True, message, details, metrics)
        said = "; ".join(f"{called.shown}: {shown(failure)}" for called, failure in failures[:_MOST_SHOWN])
        more = f"; and {len(failed) - _MOST_SHOWN} more" if len(failed) > _MOST_SHOWN else ""
        details |= turn_noted(failed[0])
        return decided(False, f"{message}, {', '.join(problems)}: {said}{more}", details, metrics)


def _have(number: int) -> str:
    return f"{counted(number, 'call')} {'has' if number == 1 else 'have'}"


def _without_result(trace: Any, calls: Sequence[Called]) -> int:
    """How many of these calls say that no result of them was recorded.

    A call that was read whole does not say so: its entry in the metadata does, which goes by its id.
    """
    silent: dict[int, set[Any]] = {}
    count = 0
    for called in calls:
        call = called.call
        if call.error is not None or call.result is not None:
            continue
        if isinstance(call, NotedCall):
            count += call.entry.get("answered") is False
        elif called.turn is not None:
            if called.turn not in silent:
                noted = settled(trace.interactions[called.turn].__dict__, "metadata").get("tool_calls")
                entries = [cast("Mapping[str, Any]", one) for one in noted or () if isinstance(one, Mapping)]
                silent[called.turn] = {_place_of(one) for one in entries if one.get("answered") is False}
            count += (call.id, call.name, call.message_index, call.step) in silent[called.turn]
    return count


def _place_of(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(entry.get(name) for name in ("id", "name", "message_index", "step"))
