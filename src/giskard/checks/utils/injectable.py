"""Calling a user's function with what its parameters ask for."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Union, cast, get_origin

if sys.version_info >= (3, 14):
    import annotationlib

    # Names that are imported for type checkers only stay what they are: names.
    _UNEVALUATED: Final[dict[str, Any]] = {"annotation_format": annotationlib.Format.FORWARDREF}
else:
    annotationlib = None
    _UNEVALUATED: Final[dict[str, Any]] = {}

__all__ = ["Injectable", "is_async_callable"]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Injectable:
    """A callable whose parameters are filled by name, decided once and then called many times.

    Parameters
    ----------
    function
        Any callable.
    names
        What its parameters may ask for, by name.
    default
        The name of `names` that the one required parameter of another name gets.
    types
        A name of `names` for each class: a parameter annotated with the class, or a subclass, gets that.

    Raises
    ------
    TypeError
        When a required parameter asks for something that is not there.
    """

    __slots__ = ("_by_keyword", "_by_position", "_chosen", "function", "is_async")

    def __init__(
        self,
        function: Callable[..., Any],
        names: tuple[str, ...],
        default: str,
        types: Mapping[type, str] | None = None,
    ) -> None:
        self.function = function
        self.is_async = is_async_callable(function)
        self._by_position: list[str] = []
        self._by_keyword: dict[str, str] = {}
        self._chosen: dict[str, str] = {}  # parameter -> the name that it asks for
        try:
            signature = inspect.signature(function, **_UNEVALUATED)
        except (TypeError, ValueError, NameError):  # some builtins have none: they take the one thing there is
            self._by_position.append(default)
            return
        self._plan(signature, names, default, _annotated(function, signature, types or {}))

    def _plan(
        self, signature: inspect.Signature, names: tuple[str, ...], default: str, annotated: Mapping[str, str]
    ) -> None:
        chosen = self._chosen
        unresolved: list[str] = []
        given = _given_by_partial(self.function)
        for parameter in signature.parameters.values():
            if parameter.kind in _VARIADIC or parameter.name in given:
                continue
            if parameter.name in annotated:
                chosen[parameter.name] = annotated[parameter.name]
            elif parameter.name in names:
                chosen[parameter.name] = parameter.name
            elif parameter.default is inspect.Parameter.empty:
                unresolved.append(parameter.name)
        if len(unresolved) == 1 and default not in chosen.values():
            chosen[unresolved.pop()] = default
        if unresolved:
            raise TypeError(
                f"{self.function!r} has {_listed('parameter', unresolved)} that nothing fills; parameters can be "
                f"named {', '.join(names)}, or have a default"
            )
        self._assign(signature)

    def _assign(self, signature: inspect.Signature) -> None:
        by_position = True  # until a parameter keeps its default: what comes after it goes by keyword
        for parameter in signature.parameters.values():
            name = self._chosen.get(parameter.name)
            if name is None:
                by_position = by_position and parameter.kind in _VARIADIC
            elif by_position and parameter.kind in _POSITIONAL:
                self._by_position.append(name)
            elif parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                raise TypeError(
                    f"{self.function!r}: the positional-only parameter {parameter.name!r} stands behind one that "
                    "keeps its default; reorder them"
                )
            else:
                self._by_keyword[parameter.name] = name

    def asks_for(self, name: str) -> bool:
        """Whether a parameter gets `name`."""
        return name in self._by_position or name in self._by_keyword.values()

    def parameter_of(self, name: str) -> str | None:
        """The first parameter that gets `name`."""
        return next((parameter for parameter, chosen in self._chosen.items() if chosen == name), None)

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """Call the function with what it asks for out of `values`."""
        __tracebackhide__ = True
        return self.function(
            *[values[name] for name in self._by_position],
            **{parameter: values[name] for parameter, name in self._by_keyword.items()},
        )


def _given_by_partial(function: Any) -> Mapping[str, Any]:
    """The keyword arguments that a `functools.partial` brings."""
    return function.keywords if isinstance(function, functools.partial) else {}


def _listed(noun: str, names: list[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


def resolved_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The type hints of a callable; those that cannot be resolved are left out."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportFunctionMemberAccess]
    target = _annotated_part(function)
    module_names: dict[str, Any] = getattr(inspect.unwrap(target), "__globals__", {})
    raw = _annotations(target)
    return {name: hint for name, text in raw.items() if (hint := _evaluated(text, module_names)) is not None}


_HOLDS_HINTS = ("__annotations__", "__annotate__", "__wrapped__")


def _annotated_part(function: Any) -> Any:
    """What carries the hints of a callable: of a class its ``__init__``, of an object its ``__call__``."""
    if isinstance(function, type):
        return function.__init__
    if inspect.ismethod(function):
        return function.__func__
    if inspect.isroutine(function) or any(name in getattr(function, "__dict__", ()) for name in _HOLDS_HINTS):
        return function  # or what a decorator made of a function, with the hints of that
    return getattr(cast("type[Any]", type(function)), "__call__", function)  # noqa: B004 - it is wanted


def _annotations(target: Any) -> Mapping[str, Any]:
    """The hints of `target` as they are written; empty when they cannot be read."""
    try:
        if annotationlib is not None:
            return annotationlib.get_annotations(target, format=annotationlib.Format.FORWARDREF)
        return getattr(target, "__annotations__", None) or {}
    except (TypeError, NameError):
        return {}


def _evaluated(hint: Any, names: dict[str, Any]) -> Any:
    """A hint that is written as text, as the object it names; None when it cannot be resolved."""
    if not isinstance(hint, str):
        return None if type(hint).__name__ == "ForwardRef" else hint
    try:
        return eval(hint, names)
    except Exception:
        return None


def _annotated(function: Callable[..., Any], signature: inspect.Signature, types: Mapping[type, str]) -> dict[str, str]:
    if not types:
        return {}
    hints = resolved_hints(function)
    found: dict[str, str] = {}
    for parameter in signature.parameters.values():
        hint = hints.get(parameter.name)
        for base, name in types.items():
            if matches(hint, base):
                found[parameter.name] = name
    return found


def matches(hint: Any, base: type) -> bool:
    """Whether `hint` stands for `base` or a subclass, also as an optional or a parametrised one."""
    return class_in(hint, base) is not None


def class_in(hint: Any, base: type) -> type | None:
    """The class in `hint` that is `base` or a subclass of it, None when there is none."""
    if isinstance(hint, type) and issubclass(hint, base):
        return hint
    found = (class_in(item, base) for item in _alternatives(hint))
    return next((kind for kind in found if kind is not None), None)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The hints that `hint` stands for: the members of a union, what a type variable or a NewType is."""
    # The origin of a union is a class from Python 3.14 on, as that of ``list[str]`` is.
    if isinstance(hint, UnionType) or getattr(hint, "__origin__", None) is Union:
        return hint.__args__
    if get_origin(hint) is Annotated:
        return (hint.__origin__,)
    inner = getattr(hint, "__bound__", None) or getattr(hint, "__supertype__", None)  # a type variable, a NewType
    return () if inner is None else (inner,)


def is_async_callable(function: Any) -> bool:
    """Whether calling it gives a coroutine or an async generator, as far as can be told without calling it."""
    while isinstance(function, functools.partial):
        function = function.func
    call = getattr(cast("type[Any]", type(function)), "__call__", None)  # noqa: B004 - it is wanted
    return any(
        inspect.iscoroutinefunction(item) or inspect.isasyncgenfunction(item) for item in (function, call) if item
    )
