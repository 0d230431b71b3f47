"""Functions called with what their parameters ask for."""

import functools
from typing import Optional

import pytest

from giskard.checks.utils.injectable import Injectable, class_in, is_async_callable, matches, resolved_hints


class Trace:
    pass


class Shop(Trace):
    pass


def bind(function):
    return Injectable(function, ("inputs", "trace", "trial"), default="inputs", types={Trace: "trace"})


VALUES = {"inputs": "I", "trace": "T", "trial": 1}


def by_name(trace, inputs):
    return (trace, inputs)


def one_of_any_name(question):
    return question


def keyword_only(*, inputs, trial):
    return (inputs, trial)


def positional_only(trace, inputs, /):
    return (trace, inputs)


def kept_default(temperature=0.5, inputs=None):
    return (temperature, inputs)


def variadic(inputs, *args, trial, **kwargs):
    return (inputs, args, trial, kwargs)


def hinted(history: Trace, message):
    return (history, message)


def hinted_subclass(message, history: "Shop"):
    return (message, history)


def hinted_optional(message, history: Optional[Shop] = None):  # noqa: UP045
    return (message, history)


def hinted_union(message, history: "Shop | None" = None):
    return (message, history)


def nothing():
    return ()


class WithInit:
    def __init__(self, inputs):
        self.inputs = inputs

    def __eq__(self, other):
        return self.inputs == other

    def method(self, message, trace):
        return (message, trace)

    def __call__(self, trace, message):
        return (trace, message)


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (by_name, ("T", "I")),
        (one_of_any_name, "I"),
        (keyword_only, ("I", 1)),
        (positional_only, ("T", "I")),
        (kept_default, (0.5, "I")),
        (variadic, ("I", (), 1, {})),
        (hinted, ("T", "I")),
        (hinted_subclass, ("I", "T")),
        (hinted_optional, ("I", "T")),
        (hinted_union, ("I", "T")),
        (nothing, ()),
        (lambda trial, x: (trial, x), (1, "I")),
        (WithInit, "I"),
        (WithInit("x").method, ("I", "T")),
        (WithInit("x"), ("T", "I")),
        (functools.partial(by_name, "P"), ("P", "I")),
        (functools.partial(by_name, trace="P"), ("P", "I")),
        (str, "I"),
    ],
)
def test_parameters_get_what_they_ask_for(function, answer):
    assert bind(function)(VALUES) == answer


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda a, b: 1, "parameters 'a', 'b'"),
        (lambda inputs, other: 1, "parameter 'other'"),
        (lambda *, a, b: 1, "'a', 'b'"),
    ],
)
def test_what_nothing_fills_is_named(function, words):
    with pytest.raises(TypeError, match=rf"{words} that nothing fills.*inputs, trace, trial"):
        bind(function)


def test_a_positional_only_parameter_behind_a_default_is_refused():
    def function(temperature=0.5, inputs=None, /):
        return inputs

    with pytest.raises(TypeError, match="reorder"):
        bind(function)


def test_what_it_asks_for():
    bound = bind(hinted)

    assert bound.asks_for("trace")
    assert bound.asks_for("inputs")
    assert not bound.asks_for("trial")
    assert (bound.parameter_of("trace"), bound.parameter_of("inputs")) == ("history", "message")
    assert bound.parameter_of("trial") is None


async def coroutine(inputs):
    return inputs


async def generator(inputs):
    yield inputs


class AsyncCall:
    async def __call__(self, inputs):
        return inputs


@pytest.mark.parametrize(
    ("function", "is_async"),
    [
        (coroutine, True),
        (generator, True),
        (AsyncCall(), True),
        (functools.partial(coroutine), True),
        (functools.partial(AsyncCall()), True),
        (by_name, False),
        (lambda inputs: coroutine(inputs), False),
        (AsyncCall, False),
        (str, False),
    ],
)
def test_whether_it_is_async(function, is_async):
    assert is_async_callable(function) is is_async
    assert bind(function).is_async is is_async if function is not by_name else True


def test_hints_that_cannot_be_resolved_are_left_out():
    def function(a: "Nowhere", b: int, c: "Shop") -> "Elsewhere":  # noqa: F821
        return a

    assert resolved_hints(function) == {"b": int, "c": Shop}
    assert resolved_hints(functools.partial(function, 1)) == {"b": int, "c": Shop}
    assert resolved_hints(WithInit) == {}
    assert resolved_hints(str) == {}


def test_the_class_in_a_hint():
    assert class_in(Shop, Trace) is Shop
    assert class_in(Shop | None, Trace) is Shop
    assert class_in(list[Shop], Trace) is None
    assert class_in(int, Trace) is None
    assert class_in(None, Trace) is None
    assert matches(Optional[Trace], Trace)  # noqa: UP045
