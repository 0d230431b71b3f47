"""Checks of what a conversation took: time, tokens and money, per turn and in all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, cast

from pydantic import BeforeValidator, Field, StrictInt, model_validator

from giskard.checks.builtin._calls import counted, decided
from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.core.attempt import current_attempt
from giskard.checks.core.check import Check, CodeCheck, NoVerdict
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.result import Metric, Verdict
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.core.usage import value_of
from giskard.checks.llm.cost import cost_of
from giskard.checks.utils.deferred import settled

__all__ = ["Latency", "MaxCost", "MaxLatency", "MaxTokens"]

AnyTurn = Interaction[Any, Any]
_TOO_MUCH = 1e300  # a sum of more is no number


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"expected a number, got {value}")
    return value


_Limit = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(_no_bool)]
_WholeLimit = Annotated[int, Field(ge=0), BeforeValidator(_no_bool)]


def _exceeds(figure: float, limit: float) -> bool:
    """Whether a figure is above its limit by more than the rounding of a sum."""
    if figure <= limit:
        return False
    return (isinstance(figure, int) and isinstance(limit, int)) or not math.isclose(figure, limit, rel_tol=1e-9)


class _Measured(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """What the checks of figures of turns share."""

    turn: StrictInt | None = None

    def _figures(self, trace: Any) -> dict[int, float]:
        """The figure of each turn that is looked at, by its position.

        Raises
        ------
        NoVerdict
            When there is no turn, or one of them has no figure: that is never taken for 0.
        """
        turns: Sequence[AnyTurn] = trace.interactions
        if not turns:
            raise NoVerdict("the trace has no turns: there is nothing to measure", kind="missing_value")
        if self.turn is None:
            return {number: self._figure(turn, number) for number, turn in enumerate(turns)}
        if not -len(turns) <= self.turn < len(turns):
            raise NoVerdict(f"turn={self.turn}: the trace has {counted(len(turns), 'turn')}", kind="missing_value")
        number = self.turn % len(turns)
        return {number: self._figure(turns[number], number)}

    def _figure(self, turn: AnyTurn, number: int) -> float:
        raise NotImplementedError


def _number(value: Any, what: str, number: int, *, whole: bool = False) -> float:
    """`value` as the figure of a turn, when it is one."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and value > _TOO_MUCH and value != math.inf:
        raise NoVerdict(f"turn {number + 1}: {what} is too great to be counted: more than 1e300", kind="bad_type")
    if not is_number or not 0 <= value < math.inf or (whole and value != int(value)):
        raise NoVerdict(
            f"turn {number + 1}: {what} is {shown(value)} ({type_name(value)}), expected a "
            f"{'whole ' if whole else ''}number that is not negative",
            kind="bad_type",
        )
    return value


def _noted(turn: AnyTurn, *names: str) -> tuple[str, Any]:
    """The first of these that the metadata holds, and its name; dots lead into what is below."""
    metadata = settled(turn.__dict__, "metadata")
    for name in names:
        value = metadata
        for part in name.split("."):
            value = value_of(value, part)
        if value is not None:
            return f"metadata.{name}", value
    return "", None


class _Budget(_Measured[In, Out, TraceT], Generic[In, Out, TraceT]):
    _names: ClassVar[tuple[str, str]] = ("per_turn", "total")
    _noun: ClassVar[str] = ""

    def _limits(self) -> tuple[float | None, float | None]:
        one, all_ = self._names
        return getattr(self, one), getattr(self, all_)

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self._limits() == (None, None):
            raise ValueError(f"give {self._names[0]}, {self._names[1]}, or both")
        return self

    def _show(self, figure: float) -> str:
        raise NotImplementedError

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when no limit is exceeded, else FAIL."""
        by_turn = self._figures(trace)
        figures = list(by_turn.values())
        per_turn, total = self._limits()
        most, whole = max(figures), math.fsum(figures)
        if all(isinstance(figure, int) for figure in figures):
            whole = sum(cast("list[int]", figures))
        worst = max(by_turn, key=by_turn.__getitem__)
        details: dict[str, Any] = {"per_turn": figures, "total": whole}
        metrics = [Metric(name=f"{self._noun}_total", value=whole), Metric(name=f"{self._noun}_max", value=most)]
        problems: list[str] = []
        if per_turn is not None and _exceeds(most, per_turn):
            over = sum(_exceeds(figure, per_turn) for figure in figures)
            others = f", and {counted(over - 1, 'other turn')} over the limit too" if over > 1 else ""
            problems.append(
                f"turn {worst + 1} took {self._show(most)}, at most {self._show(per_turn)} were expected in a turn"
                f"{others}"
            )
        if total is not None and _exceeds(whole, total):
            problems.append(
                f"{counted(len(figures), 'turn')} took {self._show(whole)}, at most {self._show(total)} were "
                "expected in all"
            )
        if problems:
            details["turn"] = worst
            return decided(False, "; ".join(problems), details, metrics)
        message = (
            f"{counted(len(figures), 'turn')} took {self._show(whole)}, turn {worst + 1} the most: {self._show(most)}"
        )
        return decided(True, message, details, metrics)


def _milliseconds(turn: AnyTurn, number: int) -> float:
    """How long the answer took, as it was recorded, or as the run that goes on has measured it."""
    name, value = _noted(turn, "latency_ms", "target.latency_ms")
    if value is not None:
        return _number(value, name, number)
    attempt = current_attempt.get()
    seconds = None if attempt is None else attempt.seconds_of(number, turn)
    if seconds is None:
        raise NoVerdict(
            f"turn {number + 1} has no latency: its metadata has no 'latency_ms' (milliseconds), and no target was "
            "asked for it in this run",
            kind="missing_value",
        )
    return round(seconds * 1000, 3)


@Check.register("max_latency")
class MaxLatency(_Budget[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks how long the answers took.

    Parameters
    ----------
    per_turn_ms
        The most milliseconds that any turn may take.
    total_ms
        The most milliseconds that all turns may take together.
    turn
        Looks at one turn only: its index, as in ``trace.interactions``; negative ones count from the end.
        ``turn=-1`` is for conversations that are replayed turn by turn: the turns before have no figure.

    Notes
    -----
    The figure of a turn is ``metadata["latency_ms"]``, or what a target noted there (``metadata["target"]``), or what
    the run measured when it called your function.  A turn without one is an ERROR.  The result carries the metrics
    ``latency_ms_total`` and ``latency_ms_max``.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, MaxLatency, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="Hi", outputs="Hello", metadata={"latency_ms": 912})])
    >>> asyncio.run(MaxLatency(per_turn_ms=800).run(trace)).message
    'turn 1 took 912 ms, at most 800 ms were expected in a turn'
    """

    _names = ("per_turn_ms", "total_ms")
    _noun = "latency_ms"

    per_turn_ms: _Limit | None = None
    total_ms: _Limit | None = None

    def _figure(self, turn: AnyTurn, number: int) -> float:
        return _milliseconds(turn, number)

    def _show(self, figure: float) -> str:
        return f"{figure:,.6g} ms" if figure < 1e6 else f"{figure:,.0f} ms"


@Check.register("max_tokens")
class MaxTokens(_Budget[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks how many tokens the turns used.

    Parameters
    ----------
    per_turn
        The most tokens of any turn.
    total
        The most tokens of all turns together.
    count
        ``"total"``: what was sent and what was written; ``"input"``: what was sent; ``"output"``: what was written.
    turn
        Looks at one turn only: its index, as in ``trace.interactions``; negative ones count from the end.

    Notes
    -----
    The figures are those of ``metadata["usage"]``: ``input_tokens``, ``output_tokens`` and ``total_tokens``.  A turn
    without the figure is an ERROR.  The result carries the metrics ``tokens_total`` and ``tokens_max``.
    """

    _noun = "tokens"

    per_turn: _WholeLimit | None = None
    total: _WholeLimit | None = None
    count: Literal["total", "input", "output"] = "total"

    def _figure(self, turn: AnyTurn, number: int) -> float:
        figure = _tokens(turn, number, self.count)
        if figure is None:
            names = "'total_tokens', and not both 'input_tokens' and 'output_tokens'"
            missing = names if self.count == "total" else repr(f"{self.count}_tokens")
            raise NoVerdict(
                f"turn {number + 1} has no number of tokens: its metadata['usage'] has no {missing}",
                kind="missing_value",
            )
        return figure

    def _show(self, figure: float) -> str:
        return counted(int(figure), "token")


def _tokens(turn: AnyTurn, number: int, which: str) -> float | None:
    name, value = _noted(turn, f"usage.{which}_tokens")
    if value is not None:
        return _number(value, name, number, whole=True)
    if which != "total":
        return None
    parts = [_tokens(turn, number, part) for part in ("input", "output")]
    return None if None in parts else sum(cast("list[float]", parts))


@Check.register("max_cost")
class MaxCost(_Budget[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks what the turns cost, in US dollars.

    Parameters
    ----------
    per_turn
        The most that any turn may cost.
    total
        The most that all turns may cost together.
    estimate
        Whether the cost of a turn that has no figure is worked out of its model and its tokens, by the price lists that
        come with the extra ``llm``.
    provider
        Who serves the model, for `estimate`, where its name does not say so: ``"openai"``, ``"anthropic"``, ….
    turn
        Looks at one turn only: its index, as in ``trace.interactions``; negative ones count from the end.

    Notes
    -----
    The figure of a turn is ``metadata["cost_usd"]``, or the ``cost`` of its usage.  A turn without one is an ERROR,
    also one whose model is in no price list.  The result carries the metrics ``cost_usd_total`` and ``cost_usd_max``.
    """

    _noun = "cost_usd"

    per_turn: _Limit | None = None
    total: _Limit | None = None
    estimate: bool = False
    provider: str | None = None

    def _figure(self, turn: AnyTurn, number: int) -> float:
        name, value = _noted(turn, "cost_usd", "usage.cost", "usage.cost_usd")
        if value is not None:
            return _number(value, name, number)
        if self.estimate:
            return self._estimated(turn, number)
        raise NoVerdict(
            f"turn {number + 1} has no cost: its metadata has no 'cost_usd' and no usage with a 'cost'; estimate=True "
            "works it out of the model and the tokens",
            kind="missing_value",
        )

    def _estimated(self, turn: AnyTurn, number: int) -> float:
        _, model = _noted(turn, "model", "target.model")
        sent, made = (_tokens(turn, number, which) for which in ("input", "output"))
        if not isinstance(model, str) or sent is None or made is None:
            lacks = "no 'model'" if not isinstance(model, str) else "no usage with 'input_tokens' and 'output_tokens'"
            raise NoVerdict(f"turn {number + 1} has no cost, and its metadata has {lacks}", kind="missing_value")
        if find_spec("genai_prices") is None:
            raise NoVerdict(
                "estimate=True needs the price lists of an extra: pip install 'giskard-checks[llm]'", kind="config"
            )
        served, _, name = model.partition("/")
        provider = self.provider or (served if name else None)
        name_, cached = _noted(turn, "usage.cached_tokens")
        kept = 0 if cached is None else int(_number(cached, name_, number))
        cost = cost_of(cast("str", provider), name or model, int(sent), int(made), kept)
        if cost is None:
            hint = "" if provider else "; provider= says who serves it"
            raise NoVerdict(
                f"turn {number + 1} has no cost, and no price list has the model {model!r}{hint}", kind="missing_value"
            )
        return cost

    def _show(self, figure: float) -> str:
        return f"${figure:,.6f}".rstrip("0").rstrip(".") if figure else "$0"


@Check.register("latency")
class Latency(_Measured[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Checks a percentile of how long the answers of a conversation took.

    Parameters
    ----------
    max_ms
        The most milliseconds that are allowed.
    percentile
        Which one, above 0 and up to 100: 50 is the median, 100 the slowest turn.
    which
        ``"total"``: to the end of the answer; ``"first_chunk"``: to the first chunk of a stream.
    turn
        Looks at one turn only: its index, as in ``trace.interactions``; negative ones count from the end.

    Notes
    -----
    The percentile is the least figure that is not less than so many percent of all (nearest rank): one that was
    measured, also of a few turns.  For the first chunk it is ``metadata["ttft_ms"]`` (milliseconds), or the
    ``time_to_first_chunk`` (seconds) of a stream that was run; else see `MaxLatency`.  The result carries the metric
    ``latency_ms_p95``, or ``first_chunk_ms_p95``, with the number of the percentile.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, Latency, Trace
    >>> turns = [Interaction(inputs="?", outputs="!", metadata={"latency_ms": ms}) for ms in (300, 420, 980)]
    >>> asyncio.run(Latency(max_ms=500, percentile=50).run(Trace(interactions=turns))).message
    'latency_ms_p50 of 3 turns is 420 ms, at most 500 ms were expected'
    """

    max_ms: _Limit
    percentile: Annotated[float, Field(gt=0, le=100)] = 95
    which: Literal["total", "first_chunk"] = "total"

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the percentile is within the limit, else FAIL."""
        by_turn = self._figures(trace)
        figures = list(by_turn.values())
        rank = max(math.ceil(len(figures) * self.percentile / 100 - 1e-9), 1)
        value = sorted(figures)[rank - 1]
        noun = "latency_ms" if self.which == "total" else "first_chunk_ms"
        name = f"{noun}_p{self.percentile:g}"
        message = (
            f"{name} of {counted(len(figures), 'turn')} is {value:,.6g} ms, at most {self.max_ms:,.6g} ms were expected"
        )
        details: dict[str, Any] = {"per_turn": figures, "percentile": self.percentile, "value": value}
        holds = not _exceeds(value, self.max_ms)
        if not holds:
            details["turn"] = next(number for number, figure in by_turn.items() if figure == value)
        return decided(holds, message, details, [Metric(name=name, value=value)])

    def _figure(self, turn: AnyTurn, number: int) -> float:
        if self.which == "total":
            return _milliseconds(turn, number)
        name, value = _noted(turn, "ttft_ms")
        if value is not None:
            return _number(value, name, number)
        name, value = _noted(turn, "time_to_first_chunk")
        if value is not None:
            return round(_number(value, name, number) * 1000, 3)
        raise NoVerdict(
            f"turn {number + 1} has no time to the first chunk: its metadata has no 'ttft_ms' (milliseconds), and its "
            "target gave no stream",
            kind="missing_value",
        )
