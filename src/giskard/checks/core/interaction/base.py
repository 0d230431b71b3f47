"""Specs: how a turn will be made, and the one place where they are driven."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any, Generic, TypeVar, cast

from giskard.checks.core import late
from giskard.checks.core.discriminated import Discriminated
from giskard.checks.core.exceptions import InteractionGenerationError
from giskard.checks.core.failures import must_stop, original_of, text_of
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.notes import with_notes
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import plain_class
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.pause import is_due, pause

__all__ = ["InteractionSpec", "extend"]

AnyTraceT = TypeVar("AnyTraceT", bound=Trace)


class InteractionSpec(Discriminated, Generic[In, Out, TraceT], family="interaction spec"):
    """How one or more turns of a conversation are made.

    ``InteractionSpec(inputs=…, outputs=…, metadata=…)`` makes an `Interact`.  Subclass it, implement `generate`
    and register a kind to make turns in another way.

    Examples
    --------
    Each ``yield`` gives back the trace with the new turn in it:

    >>> from giskard.checks import Interaction, InteractionSpec, Scenario
    >>> @InteractionSpec.register("ask_again")
    ... class AskAgain(InteractionSpec):
    ...     question: str
    ...
    ...     async def generate(self, trace):
    ...         trace = yield Interaction(inputs=self.question, outputs="Which account?")
    ...         if trace.last.outputs.endswith("?"):
    ...             yield Interaction(inputs="The first one.", outputs="It costs 3.00 EUR.")
    >>> result = Scenario("fee").append(AskAgain(question="What does it cost?")).run_sync()
    >>> result.final_trace.last.outputs
    'It costs 3.00 EUR.'
    """

    def __new__(cls, *_: Any, **__: Any) -> InteractionSpec[In, Out, TraceT]:
        """An `Interact` when the class itself is called."""
        if plain_class(cls) is InteractionSpec:
            interact = cast("type[InteractionSpec[In, Out, TraceT]]", late.resolve_late("interact"))
            return object.__new__(interact)
        return super().__new__(cls)

    def generate(self, trace: TraceT) -> AsyncGenerator[Interaction[In, Out], TraceT]:
        """Yield interactions; each ``yield`` gives back the trace that the interaction was added to."""
        raise NotImplementedError(f"{type(self).__name__} does not implement generate(trace)")


async def extend(
    trace: AnyTraceT,
    spec: InteractionSpec,
    on_turn: Callable[[AnyTraceT], None] | None = None,
) -> AnyTraceT:
    """`trace` and all the turns that `spec` makes.

    Parameters
    ----------
    on_turn
        Called with the trace after each turn.

    Raises
    ------
    InteractionGenerationError
        When the spec fails; ``partial_trace`` holds what was completed and ``__cause__`` is the failure.
    TypeError
        When it is no spec.
    """
    if not isinstance(spec, InteractionSpec):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected an Interaction or an InteractionSpec, got {type(spec).__name__}: {spec!r:.200}")
    turns = spec.generate(trace)
    try:
        try:
            interaction = await turns.asend(cast("Any", None))
            while True:
                trace = trace.appended(_checked(interaction, spec))
                if on_turn is not None:
                    on_turn(trace)
                if is_due():
                    await pause()
                interaction = await turns.asend(trace)
        except StopAsyncIteration:  # the end; one that the spec's code leaks comes out as a RuntimeError
            return with_notes(trace)
        finally:
            await turns.aclose()
    except InteractionGenerationError:
        raise
    except BaseException as error:
        if must_stop(error):
            raise
        original = original_of(error)
        message = _describe(spec, original, len(trace.interactions) + 1)
        raise InteractionGenerationError(message, with_notes(trace)) from original


def _checked(interaction: Any, spec: InteractionSpec) -> Interaction:
    if isinstance(interaction, Interaction):
        return cast("Interaction", interaction)
    name = type(spec).__name__
    raise TypeError(
        f"{name}.generate yielded {type(interaction).__name__}, expected an Interaction: {interaction!r:.200}"
    )


def _describe(spec: InteractionSpec, error: BaseException, turn: int) -> str:
    return f"{type(spec).__name__} failed in turn {turn}: {type(error).__name__}: {text_of(error)}"
