"""What a turn took in tokens and money: the sum over its calls of models, or what a span around all of them says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from giskard.checks.importers._messages import Message
from giskard.checks.importers._span import Span
from giskard.checks.importers._span_tree import Unit, spans_above

__all__ = ["Figures", "figures_of"]

Counts = dict[str, Any]

# What models leave out when there is none of it: parts of the other numbers of tokens.
_PARTS = frozenset({"reasoning_tokens", "cached_tokens"})


@dataclass(slots=True)
class Figures:
    """The figures of a turn.

    Parameters
    ----------
    partial
        Sums over some of the calls only, of what is not known of all: they are no figures of the turn.
    """

    usage: Counts | None = None
    cost_usd: float | None = None
    ttft_ms: float | None = None
    partial: Counts = field(default_factory=Counts)


def figures_of(units: list[Unit], told: Iterable[Message]) -> Figures:
    """The figures of the turn that some pieces of work make.

    Parameters
    ----------
    told
        What assistants said in the turn by calls of models that were not recorded.
    """
    told = list(told)
    usage, some_usage = _spent(units, _usage_of, [dict(message.usage or {}) for message in told])
    cost, some_cost = _spent(units, _cost_of, [_cost(message.cost_usd) for message in told])
    ttft, some_ttft = _first_token(units)
    return Figures(usage or None, cost.get("cost_usd"), ttft, {**some_usage, **some_cost, **_ttft(some_ttft)})


def _spent(units: list[Unit], of: Callable[[Span], Counts], told: list[Counts]) -> tuple[Counts, Counts]:
    """What is known of the whole turn, and the sums of the rest."""
    parts: list[Counts] = []
    seen = list(told)
    for place, unit in enumerate(units):
        single = [of(span) for span, _ in unit.models]
        asides = [(span, of(span)) for span in unit.asides]
        seen += [*single, *(counted for _, counted in asides)]
        found, teller = _of_unit(unit, single, told if place == 0 else [], of)
        if found or single or unit.root is not None:  # tools alone took no tokens
            parts.append(found)
        parts += [counted for span, counted in asides if teller is None or teller not in spans_above(span)]
    known = _sum(parts)
    left = {name for counted in seen for name in counted} - set(known)
    return known, {name: sum(counted.get(name, 0) for counted in seen) for name in sorted(left)}


def _of_unit(
    unit: Unit, single: list[Counts], told: list[Counts], of: Callable[[Span], Counts]
) -> tuple[Counts, Span | None]:
    """What a piece of work took in all, and the span that says so, when it is not the sum of the calls in it."""
    calls = [*single, *told]
    total = _sum(calls)
    if calls and all(calls) and {name for counted in calls for name in counted} <= set(total):
        return total, None
    for span in (*([] if unit.root is None else [unit.root]), *unit.frames):
        counted = of(span) if span.kind != "llm" else {}
        if counted and not _is_too_little(counted, calls):
            return counted, span
    # What a history tells may be an example in a prompt as well: without counts it is not taken for a call.
    return (_sum([*single, *filter(None, told)]) if single else total), None


def _is_too_little(counted: Counts, single: list[Counts]) -> bool:
    """Whether what a span says is not the whole: calls in it took more, so it counts its own only."""
    return any(
        sum(of_call.get(name, 0) for of_call in single) > figure * (1 + 1e-9) for name, figure in counted.items()
    )


def _sum(parts: list[Counts]) -> Counts:
    """The sums of what is known of each part."""
    parts = _with_totals(parts)
    names = dict.fromkeys(name for counted in parts for name in counted)
    known = [name for name in names if name not in _PARTS and all(name in counted for counted in parts)]
    if any("input_tokens" in counted or "output_tokens" in counted for counted in parts):
        whole = {"input_tokens", "output_tokens"} <= set(known)
    else:
        whole = bool(known)
    known += [name for name in names if name in _PARTS and (whole or all(name in counted for counted in parts))]
    return {name: sum(counted.get(name, 0) for counted in parts) for name in names if name in known}


def _with_totals(parts: list[Counts]) -> list[Counts]:
    """The parts with a total in each, when one of them has it: it is what was sent and what was written."""
    if not any("total_tokens" in counted for counted in parts):
        return parts
    return [
        {**counted, "total_tokens": counted["input_tokens"] + counted["output_tokens"]}
        if "total_tokens" not in counted and {"input_tokens", "output_tokens"} <= set(counted)
        else counted
        for counted in parts
    ]


def _usage_of(span: Span) -> Counts:
    """The tokens that a span tells of, or else those of the messages that it gave."""
    return span.usage or (_sum([dict(message.usage or {}) for message in span.outputs if message.role == "assistant"]))


def _cost_of(span: Span) -> Counts:
    return _cost(span.cost_usd)


def _cost(dollars: float | None) -> Counts:
    return {} if dollars is None else {"cost_usd": dollars}


def _ttft(milliseconds: float | None) -> Counts:
    return {} if milliseconds is None else {"ttft_ms": milliseconds}


def _first_token(units: list[Unit]) -> tuple[float | None, float | None]:
    """How long the first word took, and how long it took in some call, when that of the first one is not known."""
    models = sorted((span for unit in units for span, _ in unit.models), key=lambda span: span.order)
    if models and models[0].ttft_ms is not None:
        return models[0].ttft_ms, None
    near = [span for unit in units[:1] for span in (unit.root, *unit.frames) if span is not None and span.kind != "llm"]
    told = next((span.ttft_ms for span in near if span.ttft_ms is not None), None)
    if told is not None:
        return told, None
    return None, next((span.ttft_ms for span in models if span.ttft_ms is not None), None)
