"""Checks of the order of the calls of tools, and of all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Generic, Literal, Self, cast

from pydantic import BeforeValidator, model_validator

from giskard.checks.builtin._call_diff import call_diff, first_blamed, lines_of
from giskard.checks.builtin._call_matching import fits, longest_prefix, same_in_order
from giskard.checks.builtin._call_patterns import (
    MATCHES,
    NAMES_ONLY,
    ArgumentMatch,
    CallPattern,
    Values,
    check_arguments,
)
from giskard.checks.builtin._calls import Called, CallsCheck, Name, counted, decided, listed, metric, one_of, turn_noted
from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.core.check import Check, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.models import did_you_mean
from giskard.checks.core.result import Metric, Verdict
from giskard.checks.core.tool_calls import read_call
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.core.usage import ToolCall
from giskard.checks.utils.frozen import freeze
from giskard.checks.utils.normalization import NormalizationForm

__all__ = ["ToolCallOrder", "ToolCallsMatch"]


@Check.register("tool_call_order")
class ToolCallOrder(CallsCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that tools were called in an order.

    Parameters
    ----------
    tools, tools_key
        Their names, in order, or the path of such a list; a name may come more than once.
    exact
        Whether these are all the calls that there are.  Otherwise others may stand before, between and after them.
    target_key, turn, require_recording
        Which calls are looked at: see `docs/tool-calls.md`.

    Notes
    -----
    Calls that one message made (of one turn, with the same ``message_index``) have no order: any order of them will do.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, ToolCallOrder, Trace
    >>> calls = [{"name": name, "arguments": {}} for name in ("pay", "search")]
    >>> trace = Trace(interactions=[Interaction(inputs="?", outputs="!", metadata={"tool_calls": calls})])
    >>> asyncio.run(ToolCallOrder(tools=["search", "pay"]).run(trace)).message
    'expected search, pay; pay was not called after search; the calls: pay() in turn 1, search() in turn 1'
    """

    tools: list[Name] | None = None
    tools_key: JSONPathStr | None = None
    exact: bool = False

    @model_validator(mode="after")
    def _check_tools(self) -> Self:
        one_of(self, "tools", needed=True)
        if self.tools is not None and not self.tools and not self.exact:
            raise ValueError("tools is empty: any calls are in order; give names, or exact=True to expect no call")
        return self

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the calls can have been made in this order, else FAIL."""
        calls = self._calls(trace)
        tools = self.tools if self.tools is not None else self._tools_at(trace, cast("str", self.tools_key))
        done, found = longest_prefix(tools, calls)
        details: dict[str, Any] = {
            "tools": list(tools),
            "found": [called.noted for called in found],
            "calls": [called.noted for called in calls],
        }
        metrics = [metric("in_order", done)]
        wanted = ", ".join(tools) or "no call"
        made = f"the calls: {listed(calls)}" if calls else "no tool was called"
        if self.exact:
            patterns = [CallPattern(name, None, "subset", NAMES_ONLY) for name in tools]
            if same_in_order(patterns, calls):
                return decided(True, f"called in this order: {wanted}", details, metrics)
            details |= turn_noted(_first_other(tools, calls))
            return decided(False, f"expected exactly {wanted}; {made}", details, metrics)
        if done == len(tools):
            return decided(True, f"called in this order: {wanted}", details, metrics)
        after = f" after {', '.join(tools[:done])}" if done else ""
        taken = set(map(id, found))
        too_early = next((it for it in calls if it.call.name == tools[done] and id(it) not in taken), None)
        details |= turn_noted(too_early or (found[-1] if found else None))
        return decided(False, f"expected {wanted}; {tools[done]} was not called{after}; {made}", details, metrics)

    def _tools_at(self, trace: Any, key: str) -> list[str]:
        value = lookup(trace, key, "tools_key")
        items = cast("list[Any]", value) if isinstance(value, (list, tuple)) else []
        if not items or not all(isinstance(item, str) and item for item in items):
            raise NoVerdict(
                f"expected a list of names of tools at {key!r} (tools_key), got {shown(cast(object, value))}",
                kind="bad_type",
                details={"tools_key": key, "value": value},
            )
        return list(items)


def _first_other(tools: Sequence[str], calls: Sequence[Called]) -> Called | None:
    """The first call that is not the one that was expected in its place; the last one when more were expected."""
    for index, called in enumerate(calls):
        if index >= len(tools) or called.call.name != tools[index]:
            return called
    return calls[-1] if calls else None


_OWN_KEYS: Final = {"name", "arguments", "match"}
# What a recorded call holds beside; it is not compared.
_RECORDED: Final = {
    "args",
    "input",
    "kwargs",
    "type",
    "function",
    *ToolCall.model_fields,
    "answered",
    "arguments_error",
}


def _expected_call(given: Any, place: str) -> dict[str, Any]:
    """An expected call as a dict of its name, and of what it says of the arguments."""
    if isinstance(given, ToolCall):
        return {"name": given.name, "arguments": given.arguments}
    if not isinstance(given, Mapping):
        raise ValueError(f'{place} is {type_name(given)}: {shown(given)}; expected {{"name": …, "arguments": …}}')
    entry = cast("Mapping[str, Any]", given)
    unknown = [key for key in entry if key not in _OWN_KEYS | _RECORDED]
    if unknown:
        hint = did_you_mean(str(unknown[0]), sorted(_OWN_KEYS)) or "; expected name, arguments, match"
        raise ValueError(f"{place} has the key {unknown[0]!r}{hint}")
    match = entry.get("match")
    if match is not None and match not in MATCHES:
        known = ", ".join(map(repr, MATCHES))
        raise ValueError(f"{place} has match={match!r}; expected one of {known}")
    kept: dict[str, Any] = {"name": read_call({**entry, "arguments": {}}, place).name}
    if match == "schema" and isinstance(entry.get("arguments"), bool):
        kept["arguments"] = entry["arguments"]
    elif any(entry.get(key) is not None for key in ("arguments", "args", "input", "kwargs", "function")):
        kept["arguments"] = read_call(entry, place).arguments
    return kept if match is None else {**kept, "match": match}


def _expected_calls(value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    items = cast("Sequence[Any]", value)
    return [_expected_call(item, f"expected_calls[{index}]") for index, item in enumerate(items)]


@Check.register("tool_calls_match")
class ToolCallsMatch(CallsCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks that the calls of tools are those that were expected.

    Parameters
    ----------
    expected_calls, expected_calls_key
        A list of calls, or the path of one: dicts of a ``name``, of ``arguments`` (left out: any), and of a ``match``
        of its own where it is another one.  Recorded calls will do; only their names and arguments are compared.
    mode
        ``"strict"``: the same calls in the same order.  ``"unordered"``: the same calls.  ``"subset"``: no call that
        was not expected; some may be missing.  ``"superset"``: all that were expected, and perhaps others.
    match
        How the arguments are compared; see `ToolCalled`.
    target_key, turn, require_recording
        Which calls are looked at: see `docs/tool-calls.md`.
    normalization_form
        Texts in the arguments are compared in this Unicode normal form, as in `Equals`.

    Notes
    -----
    Each expected call is matched by one call, and no call matches two; which one is for which is worked out for all of
    them together.  Calls that one message made (of one turn, with the same ``message_index``) have no order.

    A FAIL lists what is changed (a call of the same tool with other arguments), missing and unexpected, with the
    nearest calls side by side.  The result carries the metrics ``matched``, ``changed``, ``missing`` and
    ``unexpected``; with ``mode="superset"``, which allows other calls, there is no ``unexpected``.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, ToolCallsMatch, Trace
    >>> calls = [{"name": "book", "arguments": {"date": "2025-06-02", "seats": 2}}]
    >>> trace = Trace(interactions=[Interaction(inputs="?", outputs="!", metadata={"tool_calls": calls})])
    >>> check = ToolCallsMatch(expected_calls=[{"name": "book", "arguments": {"date": "2025-06-01", "seats": 2}}])
    >>> print(asyncio.run(check.run(trace)).message)
    1 call, 1 expected: 1 changed
      changed: book(date="2025-06-02", seats=2) in turn 1: arguments.date: '2025-06-02' instead of '2025-06-01'
    """

    expected_calls: Annotated[list[dict[str, Any]] | None, BeforeValidator(_expected_calls)] = None
    expected_calls_key: JSONPathStr | None = None
    mode: Literal["strict", "unordered", "subset", "superset"] = "strict"
    match: ArgumentMatch = "exact"
    normalization_form: NormalizationForm | None = "NFKC"

    @model_validator(mode="after")
    def _check_expected_calls(self) -> Self:
        one_of(self, "expected_calls", needed=True)
        if self.expected_calls is not None:
            if not self.expected_calls and self.mode == "superset":
                raise ValueError("expected_calls is empty: with mode='superset' all conversations would pass")
            self._patterns(self.expected_calls)
            vars(self)["expected_calls"] = freeze(self.expected_calls)
        return self

    def _patterns(self, expected: Sequence[Mapping[str, Any]]) -> list[CallPattern]:
        values = Values(self.normalization_form)
        patterns: list[CallPattern] = []
        for index, call in enumerate(expected):
            match = call.get("match", self.match)
            arguments = check_arguments(call.get("arguments"), match, f"the arguments of expected_calls[{index}]")
            patterns.append(CallPattern(call["name"], arguments, match, values))
        return patterns

    def _expected(self, trace: Any) -> list[CallPattern]:
        if self.expected_calls is not None:
            return self._patterns(self.expected_calls)
        key = cast("str", self.expected_calls_key)
        value = lookup(trace, key, "expected_calls_key")
        details = {"expected_calls_key": key, "value": value}
        if not isinstance(value, (list, tuple)):
            raise NoVerdict(
                f"expected a list of calls at {key!r} (expected_calls_key), got {type_name(value)}: {shown(value)}",
                kind="bad_type",
                details=details,
            )
        if not value and self.mode == "superset":
            raise NoVerdict(
                f"the list at {key!r} (expected_calls_key) is empty: with mode='superset' it proves nothing",
                kind="missing_value",
                details=details,
            )
        try:
            return self._patterns(_expected_calls(value))
        except ValueError as error:
            raise NoVerdict(
                f"the expected calls at {key!r} (expected_calls_key): {error}", kind="bad_type", details=details
            ) from error

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the calls are the expected ones, else FAIL."""
        calls = self._calls(trace)
        patterns = self._expected(trace)
        details: dict[str, Any] = {
            "expected_calls": [{"name": one.name, "arguments": one.arguments, "match": one.match} for one in patterns],
            "calls": [called.noted for called in calls],
        }
        counts = f"{counted(len(calls), 'call')}, {len(patterns):,} expected"
        if self._holds(patterns, calls):
            matched = min(len(patterns), len(calls))
            figures = {"matched": matched, "changed": 0, "missing": len(patterns) - matched}
            figures["unexpected"] = len(calls) - matched
            rest = {"subset": "none of them unexpected", "superset": "all of these made"}.get(
                self.mode, "all as expected"
            )
            return decided(True, f"{counts}: {rest}", details, self._metrics(figures))
        diff = call_diff(patterns, calls, ordered=self.mode == "strict")
        counted_too = {"missing": self.mode != "subset", "unexpected": self.mode != "superset"}
        lines = lines_of(diff, patterns, calls, **counted_too)
        figures = {name: len(getattr(diff, name)) for name in ("changed", "missing", "unexpected")}
        details["difference"] = lines
        details |= turn_noted(first_blamed(diff, calls, unexpected=counted_too["unexpected"]))
        text = "\n".join(f"  {line}" for line in lines)
        message = f"{counts}: {diff.counts(**counted_too)}\n{text}"
        return decided(False, message, details, self._metrics({"matched": len(diff.same), **figures}))

    def _holds(self, patterns: Sequence[CallPattern], calls: Sequence[Called]) -> bool:
        if self.mode == "strict":
            return same_in_order(patterns, calls)
        if (self.mode != "superset" and len(calls) > len(patterns)) or (
            self.mode != "subset" and len(calls) < len(patterns)
        ):
            return False
        return fits(patterns, calls)

    def _metrics(self, figures: Mapping[str, int]) -> list[Metric]:
        allowed = "unexpected" if self.mode == "superset" else None  # others may be there: they are nobody's mistake
        return [metric(name, value) for name, value in figures.items() if name != allowed]
