"""The standard way to make turns: inputs from here, outputs from there."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, Generic, Self, cast

from pydantic import Field

from giskard.checks.core.attempt import Attempt, current_attempt, off_the_loop
from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.failures import TargetFailure, must_stop
from giskard.checks.core.input_generator import InputGenerator
from giskard.checks.core.interaction.base import InteractionSpec
from giskard.checks.core.interaction.interaction import Interaction, record
from giskard.checks.core.interaction.reply import Reply
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.limits import Limit
from giskard.checks.core.options import Seconds, valid_target
from giskard.checks.core.types import MISSING, In, Out, TraceT
from giskard.checks.utils.frozen import freeze, thaw
from giskard.checks.utils.generator import a_generator
from giskard.checks.utils.injectable import Injectable, resolved_hints

__all__ = ["Interact", "bind_target", "thread_bound"]

TARGET_NAMES = ("inputs", "trace", "trial", "conversation_id")
INPUT_NAMES = ("trace", "input_type")


def thread_bound(function: Any) -> Any:
    """Mark a sync target that must run in the thread of the event loop.

    Use it as a decorator, for a target that holds a SQLite connection, say; the other scenarios wait while it runs.
    """
    function.__giskard_thread_bound__ = True
    return function


def bind_target(target: Callable[..., Any]) -> Injectable:
    """A target, ready to be called with what its parameters ask for."""
    return Injectable(target, TARGET_NAMES, default="inputs", types={Trace: "trace"})


def _input_type_of(target: Any) -> Any:
    """What the target's hint says of its inputs; None when it says nothing that can be resolved."""
    if not callable(target):
        return None
    parameter = bind_target(target).parameter_of("inputs")
    return None if parameter is None else resolved_hints(target).get(parameter)


@InteractionSpec.register("interact")
class Interact(InteractionSpec[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Turns made of inputs and outputs, each a value or something that makes values.

    Parameters
    ----------
    inputs
        A value; a callable, which may ask for ``trace`` and ``input_type``; a generator or generator function,
        which receives the updated trace after each turn; or an `InputGenerator`.
    outputs
        A value; or a target: a callable, which may ask for ``inputs``, ``trace``, ``trial`` and
        ``conversation_id``; it may be async, return a stream or a whole `Interaction`.  Left out, the target of
        the run is asked.
    metadata
        Kept with each turn.
    timeout
        Seconds for each call of the target.  A sync target cannot be ended: it keeps its thread until it returns.

    Raises
    ------
    TypeError
        When a callable has a parameter that nothing fills.
    """

    __slots__ = ("_bound",)

    inputs: Any
    outputs: Any = MISSING
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    timeout: Seconds | None = None

    @classmethod
    def _prepare(cls, data: dict[str, Any]) -> dict[str, Any]:
        for name in ("inputs", "outputs"):
            value = data.get(name)
            if name == "inputs" and not _TURNS.isdisjoint(type(value).__mro__):
                kind = type(value).__name__
                raise ValueError(
                    f"inputs are the {kind} {value!r:.200}, expected what is sent; a whole turn is added with "
                    f"scenario.add_interaction({kind}(...))"
                )
            if name == "outputs":
                valid_target(value, name)
            if callable(value) and not isinstance(value, InputGenerator):
                _bind(name, value)  # a parameter that nothing fills is refused now
        return data

    @classmethod
    def _loaded(cls, name: str, value: Any) -> Any:
        """A saved value; of the inputs also a generator of them: a user's dict with a kind is saved as a literal."""
        if name == "inputs" and isinstance(value, dict) and "kind" in value:
            return InputGenerator.model_validate(value)
        return super()._loaded(name, value)

    def set_outputs(self, outputs: Any) -> Self:
        """Put other outputs in place of its own; returns self."""
        if callable(valid_target(outputs, "outputs")):
            bind_target(outputs)
        self.outputs = outputs
        return self

    def static_turn(self) -> Interaction | None:
        """The one turn that it makes, when inputs and outputs are plain values; else None."""
        inputs, outputs = self.inputs, self.outputs
        if type(inputs) not in _PLAIN or type(outputs) not in _PLAIN:
            return None
        return record(inputs, outputs, self.metadata)

    async def generate(self, trace: TraceT) -> AsyncGenerator[Interaction[In, Out], TraceT]:
        """Yield a turn for each input."""
        inputs = await _values_of(self.inputs, trace, self._input_type)
        try:
            value = await inputs.asend(None)
            while True:
                trace = yield await self._turn(freeze(value), trace)
                value = await inputs.asend(trace)
        except StopAsyncIteration:  # the end of the inputs: a target cannot leak one into here
            return
        finally:
            await inputs.aclose()

    async def _turn(self, inputs: Any, trace: TraceT) -> Interaction:
        attempt = current_attempt.get() or Attempt()
        if attempt.on_turn_start is not None:
            attempt.on_turn_start()
        target = self.outputs
        if target is MISSING:
            target = attempt.target
        if target is MISSING:
            raise ConfigurationError(
                "outputs is MISSING and no target is bound: give outputs=… to the interaction, or target=… to the "
                "scenario, the suite or run()"
            )
        if not callable(target):
            return record(inputs, target, self.metadata)
        bound = target if isinstance(target, Injectable) else self._bound_target(target)
        values = {
            "inputs": thaw(inputs),
            "trace": trace,
            "trial": attempt.trial,
            "conversation_id": attempt.conversation_id,
        }
        number = len(trace.interactions)
        outputs, first_chunk, seconds = await _limited(bound, values, self.timeout, number + 1)
        if attempt.first_chunk is None:
            attempt.first_chunk = first_chunk
        turn = self._recorded(inputs, outputs, first_chunk)
        attempt.seconds[number] = turn, seconds
        return turn

    def _recorded(self, inputs: Any, outputs: Any, first_chunk: float | None) -> Interaction:
        """The turn of what the target gave back."""
        if isinstance(outputs, Interaction):
            turn = cast("Interaction", outputs)
            if isinstance(turn, Reply):
                return record(turn.inputs, turn.outputs, {**self.metadata, **turn.metadata})
            return turn
        metadata = self.metadata
        if first_chunk is not None:
            metadata = {**metadata, "time_to_first_chunk": first_chunk}
        return record(inputs, outputs, metadata)

    def _bound_target(self, target: Callable[..., Any]) -> Injectable:
        bound: Injectable | None = getattr(self, "_bound", None)
        if bound is None or bound.function is not target:
            bound = bind_target(target)
            object.__setattr__(self, "_bound", bound)
        return bound

    def _input_type(self) -> Any:
        if self.outputs is not MISSING:
            return _input_type_of(self.outputs)
        attempt = current_attempt.get()
        target = None if attempt is None else attempt.target
        return _input_type_of(target.function if isinstance(target, Injectable) else target)


_TURNS = frozenset({Interaction, InteractionSpec})
_PLAIN = frozenset({str, int, float, bool, type(None), bytes, dict, list, tuple})


async def _limited(
    bound: Injectable, values: dict[str, Any], timeout: float | None, turn: int
) -> tuple[Any, float | None, float]:
    """What the target gave back, the seconds to its first chunk if it was a stream, and those to the end."""
    if timeout is None:
        return await _called(bound, values)
    async with Limit(lambda: f"timeout after {timeout:g} s in the target, turn {turn}", seconds=timeout):
        answer = await _called(bound, values)
    return answer


async def _called(bound: Injectable, values: dict[str, Any]) -> tuple[Any, float | None, float]:
    __tracebackhide__ = True
    start = time.perf_counter()
    outputs: object
    try:
        if bound.is_async or getattr(bound.function, "__giskard_thread_bound__", False):
            outputs = bound(values)
        else:
            outputs = await off_the_loop(partial(_called_in_a_thread, bound, values, start))
        if inspect.isawaitable(outputs):
            outputs = await outputs
        outputs = _with_stream_read(outputs, start)
        if hasattr(type(outputs), "__aiter__") and not _is_mock(outputs):
            outputs = await _read_async(cast("AsyncIterator[Any]", outputs), start)
    except BaseException as error:
        if must_stop(error):
            raise
        raise TargetFailure from error
    seconds = time.perf_counter() - start
    if isinstance(outputs, _Stream):
        return outputs.joined(), outputs.first_chunk, seconds
    return outputs, None, seconds


def _called_in_a_thread(bound: Injectable, values: dict[str, Any], start: float) -> Any:
    __tracebackhide__ = True
    return _with_stream_read(bound(values), start)


class _Stream:
    """The chunks of a stream, read to its end."""

    def __init__(self, start: float) -> None:
        self.chunks: list[Any] = []
        self.first_chunk: float | None = None
        self._start = start

    def add(self, chunk: Any) -> None:
        if self.first_chunk is None:
            self.first_chunk = time.perf_counter() - self._start
        self.chunks.append(chunk)

    def joined(self) -> Any:
        """Text chunks as one text, others as a list."""
        if self.chunks and all(isinstance(chunk, str) for chunk in self.chunks):
            return "".join(self.chunks)
        return self.chunks


_Iterator: type[Any] = Iterator  # for the type checker: of any items


def _with_stream_read(outputs: Any, start: float) -> Any:
    """`outputs`, or all of it if it is a sync stream: read where the target runs."""
    if not isinstance(outputs, _Iterator) or inspect.isawaitable(outputs) or _is_mock(outputs):
        return outputs
    stream = _Stream(start)
    for chunk in outputs:
        stream.add(chunk)
    return stream


def _is_mock(value: object) -> bool:
    """Whether it is a mock, which has every method: it stands for a value, not for a stream."""
    return any(base.__module__ == "unittest.mock" for base in type(value).__mro__)


async def _read_async(outputs: AsyncIterator[Any], start: float) -> _Stream:
    stream = _Stream(start)
    try:
        async for chunk in outputs:
            stream.add(chunk)
    finally:
        close = getattr(outputs, "aclose", None) or getattr(outputs, "close", None)
        if close is not None:
            closing = close()
            if inspect.isawaitable(closing):
                await closing
    return stream


def _bind(name: str, function: Callable[..., Any]) -> Injectable:
    if name == "outputs":
        return bind_target(function)
    return Injectable(function, INPUT_NAMES, default="trace", types={Trace: "trace"})


async def _values_of(inputs: Any, trace: Any, input_type: Callable[[], Any]) -> AsyncGenerator[Any, Any]:
    """A generator of the inputs, whatever makes them; each is answered with the updated trace."""
    made = inputs
    if inspect.isgenerator(inputs) or inspect.isasyncgen(inputs):
        _refuse_used_up(inputs)
    elif callable(inputs):
        bound = _bind("inputs", inputs)
        made = bound({"trace": trace, "input_type": input_type() if bound.asks_for("input_type") else None})
        if inspect.isawaitable(made):
            made = await made
    return a_generator(made)


def _refuse_used_up(generator: Any) -> None:
    """A generator object can be read once; a second run over it would see no turn at all."""
    frame = generator.gi_frame if inspect.isgenerator(generator) else generator.ag_frame
    if frame is None:
        raise ConfigurationError(
            f"inputs is the generator object {generator.__name__!r}, which an earlier run has used up; pass the "
            "generator function itself, so that each run starts anew"
        )
