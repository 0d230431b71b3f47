"""One way to ask for values, whatever makes them."""

import asyncio
import functools

import pytest

from giskard.checks.utils.generator import ValueGenerator, ValueProvider, a_generator


async def collected(values, *sent):
    found = []
    answers = iter(sent)
    try:
        value = await values.asend(None)
        while True:
            found.append(value)
            value = await values.asend(next(answers, None))
    except StopAsyncIteration:
        return found


def read(values, *sent):
    return asyncio.run(collected(values, *sent))


async def plus(x, y=1):
    return x + y


class Adder:
    async def __call__(self, x):
        return x + 1


@pytest.mark.parametrize(
    ("source", "args", "expected"),
    [
        (3, (), 3),
        (None, (), None),
        ([1], (), [1]),
        (lambda: 4, (), 4),
        (lambda x: x * 2, (4,), 8),
        (plus, (1,), 2),
        (functools.partial(plus, y=5), (1,), 6),
        (Adder(), (1,), 2),
        (dict, (), {}),
    ],
)
def test_values(source, args, expected):
    provider = ValueProvider(source)

    assert asyncio.run(provider(*args)) == expected
    assert asyncio.run(provider(*args)) == expected


def test_keyword_arguments_and_errors_go_through():
    assert asyncio.run(ValueProvider(plus)(1, y=9)) == 10
    with pytest.raises(ZeroDivisionError):
        asyncio.run(ValueProvider(lambda: 1 / 0)())
    assert repr(ValueProvider(3)) == "ValueProvider(3)"


def count(start=0):
    number = start
    for _ in range(3):
        got = yield number
        number += got or 1


async def acount(start=0):
    number = start
    for _ in range(3):
        got = yield number
        number += got or 1


async def make(start):
    return count(start)


@pytest.mark.parametrize(
    ("source", "args", "sent", "expected"),
    [
        (3, (), (), [3]),
        ([1, 2], (), (), [[1, 2]]),
        (lambda: 3, (), (), [3]),
        (plus, (1,), (), [2]),
        (count, (), (), [0, 1, 2]),
        (count, (5,), (10, 20), [5, 15, 35]),
        (acount, (5,), (10, 20), [5, 15, 35]),
        (make, (5,), (10,), [5, 15, 16]),
        (lambda: count(7), (), (), [7, 8, 9]),
    ],
)
def test_generators(source, args, sent, expected):
    generator = ValueGenerator(source)

    assert read(generator(*args), *sent) == expected
    assert read(generator(*args), *sent) == expected


def test_generator_objects():
    assert read(ValueGenerator(count(1))()) == [1, 2, 3]
    assert read(a_generator(count(1)), 5) == [1, 6, 7]
    agenerator = acount(1)
    assert a_generator(agenerator) is agenerator
    assert read(agenerator, 5) == [1, 6, 7]
    assert read(a_generator({"a": 1})) == [{"a": 1}]
    assert read(a_generator(iter([]) is None)) == [False]
    assert repr(ValueGenerator(3)) == "ValueGenerator(3)"


@pytest.mark.parametrize("wrap", [lambda g: a_generator(g()), lambda g: ValueGenerator(g)()])
def test_errors_and_the_end_reach_the_generator(wrap):
    log = []

    def source():
        try:
            try:
                yield 1
            except KeyError as error:
                log.append(repr(error))
                yield 2
            yield 3
        finally:
            log.append("closed")

    async def main():
        values = wrap(source)
        found = [await values.asend(None), await values.athrow(KeyError("k"))]
        await values.aclose()
        return found

    assert asyncio.run(main()) == [1, 2]
    assert log == ["KeyError('k')", "closed"]


@pytest.mark.parametrize("wrap", [lambda g: a_generator(g()), lambda g: ValueGenerator(g)()])
def test_what_the_generator_raises_comes_out(wrap):
    def source():
        yield 1
        raise ValueError("broken")

    async def main():
        values = wrap(source)
        await values.asend(None)
        with pytest.raises(ValueError, match="broken"):
            await values.asend(None)

    asyncio.run(main())


@pytest.mark.parametrize("wrap", [lambda g: a_generator(g()), lambda g: ValueGenerator(g)()])
def test_nothing_is_sent_into_a_list_that_is_yielded_from(wrap):
    got = []

    def inner():
        got.append((yield 3))

    def source():
        yield from [1, 2]
        yield from inner()

    assert read(wrap(source), "a", "b", "c") == [1, 2, 3]
    assert got == ["c"]
