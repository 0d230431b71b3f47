"""What stands in a function's place while somebody spies on it.

A patch is a change of the whole process, and scenarios run side by side.  So the function is replaced once, however
many spies there are, by something that looks at the context of each call: a call that comes out of a spied
scenario goes to that scenario's spy, any other call to the real function.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol
from unittest.mock import DEFAULT

from giskard.checks.core.exceptions import ConfigurationError

__all__ = ["Patch", "Spy", "patched", "unspied", "watching"]


class Spy(Protocol):
    """Who is told of the calls."""

    def call(self, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call in place of the function `real`."""
        ...

    def attribute(self, real: Any, name: str) -> Any:
        """An attribute in place of that of `real`, which is a class or an object."""
        ...

    @property
    def closed(self) -> bool:
        """Whether its scenario is over: then the real function is called."""
        ...


_spies: ContextVar[Mapping[Patch, Spy] | None] = ContextVar("giskard_checks_spies", default=None)


@contextmanager
def watching(patch: Patch, spy: Spy) -> Generator[None, None, None]:
    """Send the calls of the current context, and of tasks and threads that copy it, to `spy`."""
    token = _spies.set({**(_spies.get() or {}), patch: spy})
    try:
        yield
    finally:
        with suppress(ValueError):  # an abandoned generator is closed in another context, where nothing was set
            _spies.reset(token)


@contextmanager
def unspied() -> Generator[None, None, None]:
    """Send the calls of the current context to the real functions: those of the spy's own work."""
    token = _spies.set(None)
    try:
        yield
    finally:
        _spies.reset(token)


def _spy_on(patch: Patch) -> Spy | None:
    spies = _spies.get()
    spy = spies.get(patch) if spies else None
    return None if spy is None or spy.closed else spy


class Patch:
    """The replacement of one attribute; make it with `patched`.

    Parameters
    ----------
    owner, name
        The module, class or object that holds the function, and under which name.
    target
        The import path that was given.
    """

    def __init__(self, owner: Any, name: str, target: str) -> None:
        self.owner = owner
        self.name = name
        self.users = 0
        original: Any = getattr(owner, name)
        if not callable(original):
            kind = type(original).__name__
            raise ConfigurationError(f"WithSpy target {target!r} is {kind}, expected a function, a method or a class")
        self.is_async = is_async(original)
        self._held = self._present()
        if isinstance(owner, type):
            self._stand_in: Any = _Attribute(self, inspect.getattr_static(owner, name))
        else:
            self._stand_in = _routed(self, original)
        try:
            setattr(owner, name, self._stand_in)
        except (AttributeError, TypeError) as error:
            raise ConfigurationError(f"WithSpy target {target!r} cannot be replaced: {error}") from error

    def _present(self) -> Any:
        """What the owner itself holds under the name, DEFAULT when it is inherited or made on the fly."""
        owner = self.owner
        held: Mapping[str, Any] | None = getattr(owner, "__dict__", None)
        return getattr(owner, self.name, DEFAULT) if held is None else held.get(self.name, DEFAULT)

    def restore(self) -> None:
        """Put the original back, unless somebody else has put another thing there meanwhile."""
        if self._present() is not self._stand_in:
            return
        if self._held is DEFAULT:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self._held)


_patches: Final[dict[tuple[int, str], Patch]] = {}
_lock: Final = threading.Lock()


@contextmanager
def patched(target: str) -> Generator[Patch, None, None]:
    """Keep the function at an import path replaced, together with all others who want it replaced.

    Raises
    ------
    ConfigurationError
        When there is no such function; the message says what is missing.
    """
    owner, name = _owner_of(target)
    key = (id(owner), name)
    with _lock:
        patch = _patches.get(key)
        if patch is None:
            patch = _patches[key] = Patch(owner, name, target)
        patch.users += 1
    try:
        yield patch
    finally:
        with _lock:
            patch.users -= 1
            if not patch.users:
                del _patches[key]
                patch.restore()


def _owner_of(target: str) -> tuple[Any, str]:
    """What holds the function, and the function's name; found as `unittest.mock.patch` finds it."""
    *path, name = target.split(".")
    owner: Any = None
    for index, part in enumerate(path):
        dotted = ".".join(path[: index + 1])
        found = _module(dotted) if index == 0 or isinstance(owner, ModuleType) else None
        owner = _attribute(owner, part, target, ".".join(path[:index])) if found is None else found
        if isinstance(owner, _StandIn):  # a class that is spied on as well
            owner = owner.__wrapped__
        if owner is None:
            raise ConfigurationError(f"WithSpy target {target!r}: there is no module {dotted!r}")
    _attribute(owner, name, target, ".".join(path))
    return owner, name


def _module(dotted: str) -> ModuleType | None:
    try:
        return import_module(dotted)
    except ModuleNotFoundError as error:
        if error.name != dotted:  # the module is there, and misses another one
            raise
        return None


def _attribute(owner: Any, name: str, target: str, dotted: str) -> Any:
    if not dotted:
        return None
    try:
        return getattr(owner, name)
    except AttributeError:
        close = difflib.get_close_matches(name, dir(owner), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ConfigurationError(f"WithSpy target {target!r}: {dotted!r} has no attribute {name!r}{hint}") from None


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine, as far as can be told."""
    return any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))


def _routed(patch: Patch, real: Any) -> Any:
    """What is called in the place of `real`."""
    if not inspect.isroutine(real):
        return _StandIn(patch, real)
    if is_async(real):

        @functools.wraps(real)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            spy = _spy_on(patch)
            return await (real(*args, **kwargs) if spy is None else spy.call(real, args, kwargs))

        return call_async

    @functools.wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        spy = _spy_on(patch)
        return real(*args, **kwargs) if spy is None else spy.call(real, args, kwargs)

    return call


class _Attribute:
    """Stands in a class for a function, which is then called with or without the instance, as the function would."""

    def __init__(self, patch: Patch, raw: Any) -> None:
        self._patch = patch
        self._raw = raw

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        raw = self._raw
        bind: Callable[[Any, Any], Any] | None = None if isinstance(raw, type) else getattr(raw, "__get__", None)
        return _routed(self._patch, raw if bind is None else bind(instance, owner))


class _StandIn:
    """Stands for a class, or for an object that can be called."""

    def __init__(self, patch: Patch, real: Any) -> None:
        self._patch = patch
        self.__wrapped__ = real

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        spy = _spy_on(self._patch)
        return self.__wrapped__(*args, **kwargs) if spy is None else spy.call(self.__wrapped__, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in ("_patch", "__wrapped__"):  # a copy is being made, and has no attributes yet
            raise AttributeError(name)
        spy = _spy_on(self._patch)
        return getattr(self.__wrapped__, name) if spy is None else spy.attribute(self.__wrapped__, name)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self.__wrapped__)

    def __subclasscheck__(self, subclass: type[Any]) -> bool:
        return issubclass(subclass, self.__wrapped__)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.__wrapped__,)
