"""Functions called with what their parameters ask for."""

import functools
import inspect
from typing import Annotated, Any, Optional, TypeVar

import pytest

from giskard.checks.utils import injectable
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


ShopT = TypeVar("ShopT", bound=Shop)


@pytest.mark.parametrize("hint", [Optional[Shop], None | Shop, Annotated[Shop, "x"], ShopT, Optional[ShopT]])  # noqa: UP045
def test_the_class_in_a_hint_around_it(hint):
    assert class_in(hint, Trace) is Shop
    assert class_in(list[hint], Trace) is None
    assert class_in(type[hint], Trace) is None


class NewUnion:
    """A union as Python 3.14 makes it: its origin is a class."""

    def __init__(self, *members):
        self.__args__ = members
        self.__origin__ = NewUnion


def test_the_origin_of_a_union_may_be_a_class(monkeypatch):
    monkeypatch.setattr(injectable, "Union", NewUnion)

    assert class_in(NewUnion(int, Shop), Trace) is Shop
    assert class_in(NewUnion(int, list[Shop]), Trace) is None


class Unresolved:
    """A function of Python 3.14 whose hints name something that is only there for type checkers."""

    @property
    def __annotations__(self):
        raise NameError("name 'OnlyForTypeCheckers' is not defined")

    def __call__(self, inputs: Any) -> Any:
        return inputs


def test_hints_that_cannot_be_evaluated_are_no_hints():
    target = Unresolved()
    target.__dict__["__annotate__"] = lambda format: {}

    assert resolved_hints(target) == {}


def test_a_signature_that_cannot_be_evaluated_takes_the_inputs(monkeypatch):
    def refuse(function, **options):
        raise NameError("name 'OnlyForTypeCheckers' is not defined")

    monkeypatch.setattr(inspect, "signature", refuse)

    assert bind(lambda question: question)(VALUES) == "I"


class Unevaluated:
    """`annotationlib` of Python 3.14, as far as it is used."""

    class Format:
        FORWARDREF = "forward references"

    class ForwardRef:
        pass

    @classmethod
    def get_annotations(cls, target, *, format):
        assert format == cls.Format.FORWARDREF
        return {"message": cls.ForwardRef(), "history": Shop}


def test_hints_that_are_not_evaluated_yet_are_left_out(monkeypatch):
    def target(message, history):
        return (message, history)

    monkeypatch.setattr(injectable, "annotationlib", Unevaluated)

    assert resolved_hints(target) == {"history": Shop}
    assert bind(target)(VALUES) == ("I", "T")


class Typed:
    """Its own hints say nothing of what it is called with."""

    inputs: Shop

    def __call__(self, inputs: int) -> int:
        return inputs


def test_the_hints_of_an_object_are_those_of_its_call():
    assert resolved_hints(Typed())["inputs"] is int
    assert resolved_hints(functools.lru_cache(hinted))["history"] is Trace
    assert resolved_hints(WithInit("x").method) == {}


@functools.wraps(hinted)
def decorated(*args):
    return hinted(*args)


def test_the_hints_of_a_decorated_function_are_those_of_the_function():
    assert resolved_hints(decorated)["history"] is Trace
    assert bind(decorated)(VALUES) == ("T", "I")
