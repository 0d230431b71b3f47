"""Spies: what a function was called with while an interaction was made."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Any, Final, Generic, Self, cast
from unittest.mock import AsyncMock, MagicMock

from pydantic import PlainSerializer, PlainValidator, field_validator, model_validator

from giskard.checks.core.interaction.base import InteractionSpec
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.testing._dispatch import Patch, patched, unspied, watching
from giskard.checks.utils.frozen import freeze

__all__ = ["WithSpy"]


def _validate_spec(value: Any) -> InteractionSpec[Any, Any, Any]:
    if isinstance(value, InteractionSpec):
        return cast("InteractionSpec[Any, Any, Any]", value)
    if isinstance(value, dict):
        return InteractionSpec.model_validate(value)
    raise ValueError(f"expected an interaction spec such as Interact(...), got {type(value).__name__}: {value!r:.200}")


@InteractionSpec.register("with_spy")
class WithSpy(InteractionSpec[In, Out, TraceT], Generic[In, Out, TraceT]):
    """Makes the interactions of another spec, and keeps what a function was called with meanwhile.

    Each interaction's ``metadata[target]`` holds the calls of that turn: ``call_count``, ``call_args``,
    ``call_args_list`` and ``mock_calls``, as `unittest.mock` has them, with the arguments as they were at the call.

    Parameters
    ----------
    interaction_generator
        The spec whose interactions are made.
    target
        The import path of the function, as `unittest.mock.patch` takes it: ``"myapp.db.fetch_orders"``; also of
        a method, ``"myapp.db.Client.fetch"``.
    passthrough
        Whether the real function is called.  Otherwise it is replaced by a ``MagicMock`` (async functions by an
        ``AsyncMock``), so that nothing of it happens.

    Notes
    -----
    Only calls that come out of this scenario are seen and replaced, also those made in its tasks and in threads that
    copy the context (as ``asyncio.to_thread`` does); scenarios side by side may spy on the same function.  A
    thread that the target starts with an empty context (``threading.Thread``) reaches the real function.
    """

    interaction_generator: Annotated[
        InteractionSpec[Any, Any, Any], PlainValidator(_validate_spec), PlainSerializer(lambda spec: spec)
    ]
    target: str
    passthrough: bool = False

    @field_validator("target")
    @classmethod
    def _check_target(cls, value: str) -> str:
        parts = value.split(".")
        if len(parts) < 2 or parts[0] == "trace" or not all(part.isidentifier() for part in parts):
            what = "is a path into the trace" if parts[0] == "trace" else "is no import path"
            raise ValueError(
                f"target {value!r} {what}; expected the import path of a function, as unittest.mock.patch takes it, "
                "such as 'myapp.db.fetch_orders'"
            )
        return value

    @model_validator(mode="after")
    def _check_nested(self) -> Self:
        inner = self.interaction_generator
        while isinstance(inner, WithSpy):
            if inner.target == self.target:
                raise ValueError(f"target {self.target!r} is spied on by the inner WithSpy already")
            inner = inner.interaction_generator
        return self

    async def generate(self, trace: TraceT) -> AsyncGenerator[Interaction[In, Out], TraceT]:
        """Yield the inner spec's interactions, each with the calls of its turn."""
        __tracebackhide__ = True
        with patched(self.target) as patch:
            spy = _Recorder(self.target, patch, self.passthrough)
            turns = self.interaction_generator.generate(trace)
            updated: Any = None
            try:
                while True:
                    with watching(patch, spy):
                        interaction = await turns.asend(updated)
                    updated = yield self._with_calls(interaction, spy)
            except StopAsyncIteration:
                return
            finally:
                try:
                    with watching(patch, spy):
                        await turns.aclose()
                finally:
                    spy.closed = True

    def _with_calls(self, interaction: Interaction[Any, Any], spy: _Recorder) -> Interaction[Any, Any]:
        if not isinstance(interaction, Interaction):  # pyright: ignore[reportUnnecessaryIsInstance]
            name = type(self.interaction_generator).__name__
            raise TypeError(f"{name}.generate yielded {type(interaction).__name__}, expected an Interaction")
        metadata = {**interaction.metadata, self.target: spy.take()}
        return interaction.model_copy(update={"metadata": metadata})


# One for all: a mock counts its calls without a lock, and to make an AsyncMock parses code, which two threads at a
# time must not do in Python 3.11 ("AST constructor recursion depth mismatch").
_lock: Final = threading.Lock()


class _Recorder:
    """Records the calls of one scenario in a mock."""

    def __init__(self, target: str, patch: Patch, passthrough: bool) -> None:
        # A real async function is awaited itself: there the mock only records.
        kind = AsyncMock if patch.is_async and not passthrough else MagicMock
        with unspied(), _lock:
            self._mock: Any = kind(name=target)
        self._passthrough = passthrough
        self.closed = False

    def call(self, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call, with the arguments as they are now, and answer it."""
        with unspied():
            frozen_args = [freeze(value) for value in args]
            frozen_kwargs = {name: freeze(value) for name, value in kwargs.items()}
            with _lock:
                answer = self._mock(*frozen_args, **frozen_kwargs)
                if isinstance(self._mock, AsyncMock):
                    _ = self._mock.return_value  # it is made here, and not by whoever awaits the answer
        return real(*args, **kwargs) if self._passthrough else answer

    def attribute(self, real: Any, name: str) -> Any:
        """An attribute of the mock, or of what it stands for."""
        return getattr(real if self._passthrough else self._mock, name)

    def take(self) -> dict[str, Any]:
        """The calls since the last time."""
        with unspied(), _lock:
            mock = self._mock
            calls = {
                "call_count": mock.call_count,
                "call_args": mock.call_args,
                "call_args_list": list(mock.call_args_list),
                "mock_calls": list(mock.mock_calls),
            }
            mock.reset_mock()
        return calls
