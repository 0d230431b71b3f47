"""One way to ask for values, whatever makes them: a constant, a function, a generator; sync or async."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Generator
from typing import Any, Generic, TypeVar, cast

__all__ = ["ValueGenerator", "ValueProvider", "a_generator"]

T = TypeVar("T")


class ValueProvider(Generic[T]):
    """An async function around a value, or around a function that makes one.

    Parameters
    ----------
    source
        The value; or a callable, sync or async, which is called with the arguments of each call.

    Examples
    --------
    >>> import asyncio
    >>> asyncio.run(ValueProvider[int](3)())
    3
    >>> asyncio.run(ValueProvider[int](lambda x: x + 1)(3))
    4
    """

    __slots__ = ("source",)

    def __init__(self, source: Any) -> None:
        self.source = source

    async def __call__(self, *args: Any, **kwargs: Any) -> T:
        """The value."""
        value = self.source(*args, **kwargs) if callable(self.source) else self.source
        return cast("T", await value if inspect.isawaitable(value) else value)

    def __repr__(self) -> str:
        return f"ValueProvider({self.source!r})"


class ValueGenerator(Generic[T]):
    """An async generator function around a value, a generator, or a function that makes either.

    Parameters
    ----------
    source
        A value, which is yielded once; a generator; or a callable, sync or async, which is called with the arguments
        of each call and returns one of these.

    Examples
    --------
    >>> import asyncio
    >>> async def read(values): return [value async for value in values]
    >>> asyncio.run(read(ValueGenerator[int](lambda n: (i for i in range(n)))(3)))
    [0, 1, 2]
    """

    __slots__ = ("source",)

    def __init__(self, source: Any) -> None:
        self.source = source

    async def __call__(self, *args: Any, **kwargs: Any) -> AsyncGenerator[T, Any]:
        """Yield the values; what is sent in reaches the generator that makes them."""
        values: AsyncGenerator[T, Any] = a_generator(await ValueProvider[Any](self.source)(*args, **kwargs))
        try:
            value = await values.asend(None)
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    raise
                except BaseException as error:  # thrown in by the reader: it goes on to the generator
                    value = await values.athrow(error)
                else:
                    value = await values.asend(sent)
        except StopAsyncIteration:
            return
        finally:
            await values.aclose()

    def __repr__(self) -> str:
        return f"ValueGenerator({self.source!r})"


def a_generator(source: Any) -> AsyncGenerator[Any, Any]:
    """An async generator over `source`, which receives what is sent to it.

    Parameters
    ----------
    source
        An async generator, which is returned as it is; a generator, which is driven and closed with the result; or
        any other value, which is yielded once: lists and other iterables are one value.

    Examples
    --------
    >>> import asyncio
    >>> def count():
    ...     number = 0
    ...     while True:
    ...         number += yield number
    >>> async def main():
    ...     numbers = a_generator(count())
    ...     return [await numbers.asend(None), await numbers.asend(5), await numbers.asend(2)]
    >>> asyncio.run(main())
    [0, 5, 7]
    """
    if hasattr(source, "asend"):
        return source
    return _driven(cast("Generator[Any, Any, Any]", source)) if inspect.isgenerator(source) else _once(source)


async def _once(value: Any) -> AsyncGenerator[Any, Any]:
    yield value


async def _driven(generator: Generator[Any, Any, Any]) -> AsyncGenerator[Any, Any]:
    try:
        value = generator.send(None)
        while True:
            try:
                sent = yield value
            except GeneratorExit:
                raise
            except BaseException as error:  # thrown in by the reader: it goes on to the generator
                value = generator.throw(error)
            else:
                value = generator.send(sent if _takes_what_is_sent(generator) else None)
    except StopIteration:
        return
    finally:
        generator.close()


def _takes_what_is_sent(generator: Any) -> bool:
    """Whether something can be sent into it: not while it does ``yield from`` a list."""
    inner = generator.gi_yieldfrom
    while inspect.isgenerator(inner):
        inner = inner.gi_yieldfrom
    return inner is None or hasattr(inner, "send")
