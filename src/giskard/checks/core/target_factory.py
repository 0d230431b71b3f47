"""Targets that are made for one attempt, and closed after it."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, cast

from giskard.checks.core.failures import must_stop, original_of, text_of

__all__ = ["with_made_target"]


async def with_made_target(factory: Any, use: Callable[[Any], Awaitable[None]]) -> None:
    """Await `use` with the target that `factory` makes, and close the target.

    What `use` raises comes out, whatever closing the target makes of it: a context manager may suppress what happens
    in it, or fail in its turn, and the attempt has failed nevertheless.

    Parameters
    ----------
    factory
        A callable that gives a target, a context manager, or an awaitable of one of these; or a context manager.
    """
    failure: BaseException | None = None
    try:
        async with _opened(factory) as target:
            try:
                await use(target)
            except BaseException as error:
                failure = error
                raise
    except BaseException as error:
        if failure is None or error is failure or must_stop(error):
            raise
        original_of(failure).add_note(f"Closing the target failed too: {type(error).__name__}: {text_of(error)}")
    if failure is not None:
        raise failure


@contextlib.asynccontextmanager
async def _opened(factory: Any) -> AsyncGenerator[Any, None]:
    # A context manager made by `contextlib` can be called too, but only to decorate a function.
    made = factory() if callable(factory) and not hasattr(type(factory), "__aenter__") else factory
    if inspect.isawaitable(made):
        made = await made
    if hasattr(made, "__aenter__"):
        async with cast("contextlib.AbstractAsyncContextManager[Any]", made) as target:
            yield target
    elif hasattr(made, "__enter__"):
        with cast("contextlib.AbstractContextManager[Any]", made) as target:
            yield target
    else:
        try:
            yield made
        finally:
            close = getattr(made, "aclose", None) or getattr(made, "close", None)
            closing = close() if callable(close) else None
            if inspect.isawaitable(closing):
                await closing
