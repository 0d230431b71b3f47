"""What a turn's tools did: the spans of tools, and the calls that models made of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, cast

from giskard.checks.importers._messages import Call, Message, Result
from giskard.checks.importers._span import Span
from giskard.checks.importers._span_history import comparable
from giskard.checks.importers._span_values import iso

__all__ = ["Step", "settle_calls"]


@dataclass(slots=True, eq=False)
class Step:
    """A message of a turn, and where it comes from.

    Parameters
    ----------
    start
        When it was begun, in nanoseconds since 1970.
    span
        The call of the model that gave it.
    """

    message: Message
    start: int | None = None
    span: Span | None = None


def settle_calls(steps: list[Step], tools: list[tuple[Span, Span | None]]) -> None:
    """Give the calls in `steps` what the spans of tools tell of them; one that no model made becomes a step.

    Parameters
    ----------
    tools
        Each with the agent that used it, None for the one whose turn it is.
    """
    calls = [call for step in steps for call in step.message.calls]
    free = set(map(id, calls))
    left = sorted(tools, key=lambda pair: pair[0].order)
    ids_tell = False
    for by in (_by_id_and_name, _by_id, _by_arguments, _by_name):
        by_id = by in (_by_id_and_name, _by_id)
        waiting: dict[Hashable, deque[Call]] = {}
        for call in calls:
            if id(call) in free and not (by_id and call.id is None):
                waiting.setdefault(by(call), deque()).append(call)
        unpaired: list[tuple[Span, Span | None]] = []
        for span, agent in left:
            called = None if span.call is None else _first_of(waiting.get(by(span.call)), span.call, ids_tell)
            if called is None:
                unpaired.append((span, agent))
            else:
                free.discard(id(called))
                _tell(called, span, agent, steps)
        left = unpaired
        # Ids that tell nothing of any call are of another kind; where some tell, the others are true as well.
        ids_tell = ids_tell or (by is _by_id and len(free) < len(calls))
    for span, agent in left:
        if span.call is not None:
            _add(steps, span, agent)
    _drop_told_twice(steps)


def _first_of(same: deque[Call] | None, ran: Call, ids_tell: bool) -> Call | None:
    """Take the first call that may be the one that `ran`."""
    for place, call in enumerate(same or ()):
        if not (ids_tell and call.id is not None and ran.id is not None):
            del cast("deque[Call]", same)[place]
            return call
    return None


def _by_id_and_name(call: Call) -> Hashable:
    return call.id, call.name


def _by_id(call: Call) -> Hashable:
    return call.id


def _by_arguments(call: Call) -> Hashable:
    return call.name, repr(_ordered(comparable(call.arguments)))


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return [(name, fields[name]) for name in sorted(fields, key=str)]
    return value


def _by_name(call: Call) -> Hashable:
    return call.name


def _tell(call: Call, span: Span, agent: Span | None, steps: list[Step]) -> None:
    """Write what is known of a tool's run into the call of it."""
    ran = span.call
    if ran is None:
        return
    call.name = call.name or ran.name
    call.id = call.id or ran.id
    if call.arguments is None:
        call.arguments = ran.arguments
    call.latency_ms, call.started_at = span.duration_ms, iso(span.start)
    call.agent = call.agent or span.agent or _name(agent)
    call.result, call.error, call.has_result = ran.result, ran.error, ran.has_result
    if call.error is not None and not call.has_result:
        told = next((r for step in steps for r in step.message.results if r.id is not None and r.id == call.id), None)
        if told is None:
            call.has_result = True
        else:  # what the model was told of the failure
            told.error = call.error


def _name(agent: Span | None) -> str | None:
    return None if agent is None else agent.agent or agent.name or None


def _add(steps: list[Step], span: Span, agent: Span | None) -> None:
    """Make a call of a tool's run that no message holds."""
    call = Call("")
    _tell(call, span, agent, steps)
    start = span.start
    before = [step for step in steps if step.start is not None and start is not None and step.start <= start]
    asked = next((step for step in reversed(before) if step.span is not None), None)
    if asked is not None and asked.span is not None and not asked.span.outputs and asked.span.kind == "llm":
        asked.message.calls.append(call)  # the model's words were not recorded: it is the one that asked for this
        return
    place = next((i for i, step in enumerate(steps) if start is not None and (step.start or 0) > start), len(steps))
    if steps and not steps[-1].message.calls and steps[-1].message.content not in (None, ""):
        place = min(place, len(steps) - 1)  # the answer stays the last
    steps.insert(place, Step(Message("assistant", calls=[call]), start))


def _drop_told_twice(steps: list[Step]) -> None:
    """Take out the results in messages of calls whose result the span of the tool holds."""
    calls = [call for step in steps for call in step.message.calls]
    if not any(call.has_result for call in calls):
        return
    for step in list(steps):
        message = step.message
        if message.results:
            message.results = [result for result in message.results if not _is_told(result, calls)]
            if not message.results and message.role == "tool" and message.content is None:
                steps.remove(step)


def _is_told(result: Result, calls: list[Call]) -> bool:
    same: list[Any] = [call for call in calls if result.id is not None and call.id == result.id]
    same = same or [call for call in calls if result.name is not None and call.name == result.name]
    return all(call.has_result for call in same or calls)
