"""From failure to test: a recorded conversation as a scenario."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final, Generic, cast

from giskard.checks.core.check import Check, validate_checks
from giskard.checks.core.interaction.base import InteractionSpec
from giskard.checks.core.interaction.interact import Interact
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace, empty_trace
from giskard.checks.core.models import plain_class
from giskard.checks.core.places import recorded_at
from giskard.checks.core.scenario import Scenario, Step
from giskard.checks.core.types import MISSING, In, Out, TraceT
from giskard.checks.utils.equality import equal
from giskard.checks.utils.frozen import thaw

__all__ = ["RecordedInput", "scenario_from_trace"]

_RECORDED: Final = "recorded"

# What is known of a conversation that is true of its recording only, not of the conversation that goes on from it.
_OF_THE_RECORDING: Final = frozenset(
    {
        "agent_cost",
        "conversation_id",
        "cost_usd",
        "error",
        "finish_reason",
        "labels",
        "latency_ms",
        "model",
        "promptfoo",
        _RECORDED,
        "response",
        "reward",
        "reward_info",
        "scores",
        "simulation_id",
        "source",
        "task_state",
        "termination_reason",
        "timestamp",
        "trace_ids",
        "usage",
        "user_cost",
    }
)
# What of a recorded turn says again what the rest of it says, or is of an answer before that one.
_NOT_KEPT: Final = frozenset({"messages", "raw", _RECORDED})


@InteractionSpec.register("recorded_input")
class RecordedInput(Interact[In, Out, TraceT], Generic[In, Out, TraceT]):
    """An `Interact` whose metadata is kept with a turn also when the target gives the whole turn.

    It asks the live target what was asked in a recorded turn, and brings the recorded answer along.
    """

    async def generate(self, trace: TraceT) -> AsyncGenerator[Interaction[In, Out], TraceT]:
        """Yield the turn that the target makes of the inputs."""
        turns = super().generate(trace)
        try:
            turn = await turns.asend(cast("Any", None))
            while True:
                trace = yield self._with_metadata(turn)
                turn = await turns.asend(trace)
        except StopAsyncIteration:
            return
        finally:
            await turns.aclose()

    def _with_metadata(self, turn: Interaction[In, Out]) -> Interaction[In, Out]:
        noted = turn.metadata
        missing = {name: value for name, value in self.metadata.items() if name not in noted}
        return turn.model_copy(update={"metadata": {**missing, **noted}}) if missing else turn


def scenario_from_trace(
    trace: Trace[Any, Any],
    *,
    name: str | None = None,
    replay_until: int | None = None,
    target: Any = MISSING,
    checks: Sequence[Check[Any, Any, Any]] = (),
    each_turn: Sequence[Check[Any, Any, Any]] = (),
) -> Scenario[Any, Any, Any]:
    """A recorded conversation as a scenario: what the user said, put to a live target.

    The first turns may stay as they were, so that the target goes on from where the recording stood: their answers,
    their tool calls and their results are in the trace, and targets that send the conversation send all of it.

    Parameters
    ----------
    trace
        The recording.  Its type becomes the scenario's, and its annotations go with it; what they say of the recorded
        answers only (``labels``, ``source``, ``conversation_id``, ``usage``, …) is then in ``annotations["recorded"]``.
    name
        What reports call it; else the recording's conversation id, or the place where it was recorded.
    replay_until
        How many turns stay as they were; the others are live.  None and 0: all are live.  A turn at the beginning in
        which the assistant spoke first stays in any case: there is nothing to send.
    target
        What is asked in the live turns; it may also be given to the run.
    checks
        Run at the end of the conversation.
    each_turn
        Run after each live turn; the first that is not PASS ends the conversation.

    Returns
    -------
    Scenario
        Whose live turns hold the recorded answer in ``metadata["recorded"]``: its ``outputs``, its ``tool_calls``, and
        what else was noted with it, but for ``messages`` and ``raw``.  Checks can compare the new answer with it;
        judges and simulated users do not see it.

    Raises
    ------
    TypeError
        When `trace` is none, or `replay_until` is no whole number.
    ValueError
        When the trace has no turns, or not as many as are to be replayed; when a live turn has no inputs; when
        `each_turn` is given and no turn is live; when the trace holds a field that no scenario can start with.

    Warns
    -----
    UserWarning
        When no turn is live, so that no target is asked.

    Examples
    --------
    >>> from giskard.checks import Equals, Interaction, Trace, scenario_from_trace
    >>> recorded = Trace(
    ...     interactions=[
    ...         Interaction(inputs="What does it cost?", outputs="It is free."),
    ...         Interaction(inputs="Then I take it.", outputs="You have to pay first."),
    ...     ]
    ... )
    >>> same = Equals(expected_value_key="trace.last.metadata.recorded.outputs")
    >>> scenario = scenario_from_trace(recorded, replay_until=1, checks=[same])
    >>> result = scenario.run_sync(target=lambda inputs: "Thank you.")
    >>> [turn.outputs for turn in result.final_trace.interactions]
    ['It is free.', 'Thank you.']
    >>> result.passed
    False
    """
    if not isinstance(trace, Trace):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a Trace, got {type(trace).__name__}: {trace!r:.200}")
    turns = trace.interactions
    replayed = _replayed(turns, replay_until)
    each = validate_checks(each_turn)
    if replayed == len(turns):
        _tell_that_nothing_is_live(replayed, bool(each))
    live = [_live(turn, number) for number, turn in enumerate(turns[replayed:], replayed + 1)]
    annotations = dict(trace.annotations)
    return Scenario(
        name or _name_of(annotations),
        steps=_steps(turns[:replayed], live, validate_checks(checks), each),
        trace_type=_type_of(trace),
        annotations=_going_on(annotations) if live else annotations,
        target=target,
    )


def _replayed(turns: Sequence[Interaction], until: int | None) -> int:
    """How many turns stay as they were."""
    total = len(turns)
    if not total:
        raise ValueError("the trace has no turns: there is nothing to replay, and nothing to ask a target")
    if until is not None and (isinstance(until, bool) or not isinstance(until, int)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"replay_until is {until!r}, expected a whole number of turns, or None")
    if until is not None and not 0 <= until <= total:
        raise ValueError(
            f"replay_until is {until}, and the trace has {total} turn{'' if total == 1 else 's'}: expected a number "
            f"from 0 (all turns are live) to {total} (none is), or None"
        )
    opening = next((index for index, turn in enumerate(turns) if turn.inputs is not None), total)
    return max(until or 0, opening)


def _tell_that_nothing_is_live(total: int, is_checked_each_turn: bool) -> None:
    what = f"all turns of the trace are replayed ({total}): no turn is live"
    if is_checked_each_turn:
        raise ValueError(f"{what}, and the checks of each_turn would never run; give them as checks")
    warnings.warn(
        f"{what}, and no target is asked; TestCase(trace=trace, checks=[...]) checks a recording as it is",
        UserWarning,
        stacklevel=3,
    )


def _live(turn: Interaction, number: int) -> RecordedInput:
    """What asks the target anew."""
    if turn.inputs is None:
        raise ValueError(
            f"turn {number} of the trace has no inputs, so there is nothing to ask a target: the assistant spoke "
            f"first; give replay_until={number} or more, or leave the turn out"
        )
    noted = {name: thaw(value) for name, value in turn.metadata.items() if name not in _NOT_KEPT}
    recorded: dict[str, Any] = {"tool_calls": [], **noted, "outputs": thaw(turn.outputs)}
    return RecordedInput(inputs=thaw(turn.inputs), metadata={_RECORDED: recorded})


def _steps(
    replayed: Sequence[Interaction],
    live: Sequence[RecordedInput],
    checks: Sequence[Check],
    each_turn: Sequence[Check],
) -> list[Step[Any, Any, Any]]:
    """One step, or one for each live turn when something is checked after each."""
    if not each_turn:
        return [Step(interacts=[*replayed, *live], checks=list(checks))]
    steps: list[Step[Any, Any, Any]] = []
    for number, turn in enumerate(live):
        before = replayed if number == 0 else ()
        last = checks if number == len(live) - 1 else ()
        steps.append(Step(interacts=[*before, turn], checks=[*each_turn, *last]))
    return steps


def _going_on(annotations: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a conversation that goes on from the recording, and, apart from it, what is not true of it."""
    recorded = {name: value for name, value in annotations.items() if name in _OF_THE_RECORDING}
    known = {name: value for name, value in annotations.items() if name not in _OF_THE_RECORDING}
    return {**known, _RECORDED: recorded} if recorded else known


def _name_of(annotations: Mapping[str, Any]) -> str:
    own = annotations.get("conversation_id")
    if isinstance(own, (str, int)) and str(own):
        return str(own)
    return recorded_at(annotations) or "Recorded conversation"


def _type_of(trace: Trace[Any, Any]) -> type[Trace[Any, Any]] | None:
    """The type of the scenario's traces; None leaves it to the target's hints."""
    kind = type(trace)
    if plain_class(kind) is Trace:
        return None
    own = kind.model_fields.keys() - Trace.model_fields.keys()
    if own:
        fresh = empty_trace(kind, trace.annotations)
        lost = sorted(name for name in own if not equal(getattr(fresh, name), getattr(trace, name)))
        if lost:
            raise ValueError(
                f"{kind.__name__} holds {', '.join(map(repr, lost))} in fields of its own, and a scenario starts with "
                "annotations only: put what the conversation has to know into the trace's annotations"
            )
    return kind
