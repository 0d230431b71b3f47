"""The spans of one trace as a tree, and the pieces of work in it that answer somebody."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from giskard.checks.importers._span import Span
from giskard.checks.importers._span_history import comparable

__all__ = ["Unit", "spans_above", "units_of"]


@dataclass(slots=True, eq=False)
class Unit:
    """A span that answers somebody, and the work that was done for the answer.

    Parameters
    ----------
    root
        The span: an agent, a chain around models, or one call of a model.  None when only tools were recorded.
    frames
        The spans around it that hold no other piece of work, the innermost first: they know how long it took.
    models, tools
        The calls of models and tools for it, with the agent in the midst of it that made them, None for its own.
    """

    trace_id: str
    root: Span | None
    frames: list[Span] = field(default_factory=list[Span])
    models: list[tuple[Span, Span | None]] = field(default_factory=list[tuple[Span, "Span | None"]])
    tools: list[tuple[Span, Span | None]] = field(default_factory=list[tuple[Span, "Span | None"]])
    retrievers: list[Span] = field(default_factory=list[Span])
    asides: list[Span] = field(default_factory=list[Span])  # calls of models beside it: the title of a chat, say
    conversation: str | None = None

    @property
    def spans(self) -> list[Span]:
        """All of its spans."""
        own = [] if self.root is None else [self.root]
        worked = [span for span, _ in (*self.models, *self.tools)]
        return list(dict.fromkeys((*self.frames[::-1], *own, *worked, *self.retrievers, *self.asides)))

    @property
    def start(self) -> float:
        """When it began, in nanoseconds since 1970; infinite when that is not known."""
        if self.root is not None and self.root.start is not None:
            return self.root.start
        return min((span.start for span in self.spans if span.start is not None), default=float("inf"))


def units_of(spans: Iterable[Span]) -> list[Unit]:
    """The pieces of work in the spans of one trace that answer somebody, in the order of time."""
    ordered = _in_tree_order(spans)
    _open_wrappers(ordered)
    if not any(span.kind in ("agent", "llm", "tool", "retriever") or span.speaks for span in ordered):
        return []
    roots = _roots_of_units(ordered)
    places = _Places(ordered)
    unit_of = places.unit_of
    units = [Unit(root.trace_id, root) for root in roots]
    known = {unit.root: unit for unit in units}
    strays: list[Span] = []
    for span in ordered:
        unit = known.get(span) or (unit_of.get(span.up) if span.up is not None else None)
        if unit is None:
            strays.append(span)
        else:
            unit_of[span] = unit
            _add(unit, span, places)
    units.sort(key=lambda unit: (unit.start, () if unit.root is None else unit.root.order))
    units = _with_strays(units, strays, places)
    _add_frames(units, ordered)
    somewhere = next((span.conversation for span in ordered if span.conversation), None)
    around = _nearest(ordered, lambda span: bool(span.conversation))
    for unit in units:
        root = unit.root
        above = None if root is None else root if root.conversation else around[root]
        near = unit.spans if above is None else [above]
        unit.conversation = next((span.conversation for span in near if span.conversation), somewhere)
    return units


def _in_tree_order(spans: Iterable[Span]) -> list[Span]:
    """The spans with their parents before them, siblings in the order of time; links that go in a circle are cut."""
    by_id = {span.span_id: span for span in spans}
    for span in by_id.values():
        span.below = []
    for span in by_id.values():
        span.up = None if span.parent_id == span.span_id else by_id.get(span.parent_id or "")
        if span.up is not None:
            span.up.below.append(span)
    pending = sorted(by_id.values(), key=lambda span: span.order)
    ordered: list[Span] = []
    reached: set[Span] = set()
    for root in (*[span for span in pending if span.up is None], *pending):
        if root in reached:
            continue
        if root.up is not None:
            root = _cut_circle(root)  # noqa: PLW2901
        stack = [root]
        while stack:
            span = stack.pop()
            reached.add(span)
            ordered.append(span)
            span.below.sort(key=lambda child: child.order, reverse=True)
            stack += span.below
    return ordered


def _cut_circle(span: Span) -> Span:
    """Cut the circle of parents that is around a span: at its earliest span, which is then a root.

    Its calls of models are cut from each other as well: in a call they would be taken for the same one once more.
    """
    seen: dict[Span, None] = {}
    while span not in seen and span.up is not None:
        seen[span] = None
        span = span.up
    path = list(seen)
    circle = sorted(path[path.index(span) :], key=lambda one: one.order)
    for one in circle:
        up = one.up
        if up is not None and (one is circle[0] or (one.kind == "llm" and up.kind == "llm")):
            up.below.remove(one)
            one.up = None
    return circle[0]


def _open_wrappers(ordered: list[Span]) -> None:
    """Take a call of a model that says nothing itself, and holds several others, for a step around them."""
    above = _nearest(ordered, lambda span: span.kind == "llm")
    held = Counter(above[span] for span in ordered if span.kind == "llm")
    for span, count in held.items():
        if span is not None and count > 1 and not span.outputs and not span.usage and span.cost_usd is None:
            span.kind = "chain"


def _nearest(ordered: list[Span], is_one: Callable[[Span], bool]) -> dict[Span, Span | None]:
    """Of each span, the closest one above it for which `is_one`."""
    found: dict[Span, Span | None] = {}
    for span in ordered:
        up = span.up
        found[span] = None if up is None else up if is_one(up) else found[up]
    return found


def _counted_above(ordered: list[Span], wanted: Iterable[Span]) -> Counter[Span]:
    """How many of the wanted spans are inside of each span that has any."""
    own = Counter(wanted)
    found: Counter[Span] = Counter()
    for span in reversed(ordered):
        if span.up is not None and (count := own[span] + found[span]):
            found[span.up] += count
    return found


def spans_above(span: Span | None) -> list[Span]:
    """The spans around one, the innermost first."""
    found: list[Span] = []
    while span is not None and span.up is not None:
        span = span.up
        found.append(span)
    return found


# --- which spans answer somebody -----------------------------------------------------------


def _roots_of_units(ordered: list[Span]) -> list[Span]:
    models = [span for span in ordered if span.kind == "llm"]
    agents = _outermost_agents(ordered, models)
    whole = ordered[0] if sum(span.up is None for span in ordered) == 1 else None
    if agents:
        is_workflow = len(agents) > 1 and whole is not None and whole.kind == "chain" and _tells_all(whole)
        return [whole] if is_workflow and whole is not None else agents
    with_models = set(_counted_above(ordered, models))
    chains = {span for span in ordered if span.kind == "chain" and _tells(span) and (span in with_models or not models)}
    if not chains and not models:
        chains = {span for span in ordered if span.speaks and span.kind in ("chain", "agent")}
    return _outermost(ordered, chains | set(models))


def _outermost(ordered: list[Span], wanted: set[Span]) -> list[Span]:
    above = _nearest(ordered, wanted.__contains__)
    return [span for span in ordered if span in wanted and above[span] is None]


def _outermost_agents(ordered: list[Span], models: list[Span]) -> list[Span]:
    """The agents that no other agent called, without those that only wrap another and say nothing themselves."""
    above = _nearest(ordered, lambda span: span.kind == "agent")
    agents = [span for span in ordered if span.kind == "agent"]
    with_models = {above[model] for model in models}
    with_agents = {above[agent] for agent in agents}
    hollow = {agent for agent in agents if not agent.speaks and agent not in with_models and agent in with_agents}
    return _outermost(ordered, set(agents) - hollow)


def _tells(span: Span) -> bool:
    """Whether it says in words what was asked, or what was answered, rather than as the state of a program."""
    return any(not isinstance(message.content, dict) for message in (*span.inputs, *span.outputs))


def _tells_all(span: Span) -> bool:
    return all(any(not isinstance(m.content, dict) for m in side) for side in (span.inputs, span.outputs))


# --- what belongs to them ------------------------------------------------------------------


class _Places:
    """What is around each span."""

    def __init__(self, ordered: list[Span]) -> None:
        self.unit_of: dict[Span, Unit] = {}
        self._models = _nearest(ordered, lambda span: span.kind == "llm")
        self._tools = _nearest(ordered, lambda span: span.kind == "tool")
        self._agents = _nearest(ordered, lambda span: span.kind == "agent")

    def model(self, span: Span, unit: Unit) -> Span | None:
        """The closest call of a model around a span, as far as it lies in the unit and is not its root."""
        return self._inside(self._models[span], span, unit)

    def agent(self, span: Span, unit: Unit) -> Span | None:
        """The closest agent around it, likewise."""
        return self._inside(self._agents[span], span, unit)

    def tools(self, span: Span, unit: Unit) -> Iterator[Span]:
        """The calls of tools around it, likewise, from the closest on."""
        up = self._inside(self._tools[span], span, unit)
        while up is not None:
            yield up
            up = self._inside(self._tools[up], span, unit)

    def _inside(self, up: Span | None, span: Span, unit: Unit) -> Span | None:
        if up is None or span is unit.root or up is unit.root:
            return None
        return up if self.unit_of.get(up) is self.unit_of.get(span) else None


def _add(unit: Unit, span: Span, places: _Places) -> None:
    """Add a span that lies in a unit, or is its root."""
    outer: Span | None = None
    if span.kind == "llm":
        outer = places.model(span, unit)  # two instrumentations, or a client in a client: one call
    elif span.kind == "tool":
        outer = next((up for up in places.tools(span, unit) if _same_call(up, span)), None)
    if outer is not None:
        _fill(outer, span)
        return
    agent = places.agent(span, unit)
    if span.kind == "llm":
        if span is not unit.root and unit.root is not None and unit.root.kind == "llm":
            _fill(unit.root, span)
        else:
            unit.models.append((span, agent))
    elif span.kind == "tool":
        unit.tools.append((span, agent))
    elif span.kind == "retriever":
        unit.retrievers.append(span)


def _same_call(outer: Span, inner: Span) -> bool:
    """Whether the span in a tool's span is the same call once more: on the side of the server, say."""
    if outer.call is None or inner.call is None:
        return False
    if outer.call.name != inner.call.name:
        return False
    if outer.call.id is not None and inner.call.id is not None:
        return outer.call.id == inner.call.id
    if outer.call.id is None and inner.call.id is not None:
        return True
    asked: Any = comparable(outer.call.arguments)
    ran: Any = comparable(inner.call.arguments)
    if not isinstance(asked, dict) or not isinstance(ran, dict):
        return True
    # A tool that calls itself asks for something else; the server's side may only have filled in defaults.
    wanted, had = cast("dict[str, Any]", asked), cast("dict[str, Any]", ran)
    return all(name in had and had[name] == value for name, value in wanted.items())


def _fill(outer: Span, inner: Span) -> None:
    """Take from the inner of two spans of one call what the outer does not know."""
    for name in ("inputs", "outputs", "usage", "cost_usd", "ttft_ms", "model", "finish_reason", "agent", "error"):
        if getattr(outer, name) in (None, [], {}):
            setattr(outer, name, getattr(inner, name))
    if outer.call is not None and inner.call is not None and not outer.call.has_result:
        outer.call.result, outer.call.has_result = inner.call.result, inner.call.has_result
    for name, value in inner.annotations.items():
        outer.annotations.setdefault(name, value)


def _with_strays(units: list[Unit], strays: list[Span], places: _Places) -> list[Unit]:
    """The units with the work that lies beside them: what was looked up before, tools that ran after."""
    work = [span for span in strays if span.kind in ("llm", "tool", "retriever")]
    if not work:
        return units
    if not units:
        units = [Unit(work[0].trace_id, None)]
    starts = [unit.start for unit in units]
    for span in sorted(work, key=lambda span: span.order):
        start = float("inf") if span.start is None else span.start
        begun = bisect_right(starts, start)
        before, after = units[max(begun - 1, 0)], units[min(begun, len(units) - 1)]
        if span.kind == "tool":
            _add(before, span, places)
        elif span.kind == "retriever":
            _add(after, span, places)
        elif span.up is None or span.up.kind != "llm":
            after.asides.append(span)
    return units


def _add_frames(units: list[Unit], ordered: list[Span]) -> None:
    """Note which spans around a unit are around no other one."""
    held = _counted_above(ordered, [unit.root for unit in units if unit.root is not None])
    whole = ordered[0] if sum(span.up is None for span in ordered) == 1 else None
    for unit in units:
        if unit.root is None:
            if whole is not None and whole.kind in ("agent", "chain"):
                unit.frames.append(whole)
            continue
        above = unit.root.up
        while above is not None and held[above] == 1:
            if above.kind in ("agent", "chain"):
                unit.frames.append(above)
            above = above.up
