"""What is loaded on first use: the names of a package (PEP 562), and a module that is heavy to import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["LazyModule", "asyncio", "difflib", "json", "lazy_names", "logging", "traceback"]


def lazy_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package that hands out the names of its modules.

    Parameters
    ----------
    package
        The ``__name__`` of the package.
    homes
        For each module, relative to the package, the public names that live in it.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


class LazyModule:
    """Stands for a module, which is imported when the first of its names is read; each name is looked up once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(import_module(self._name), name)
        return value


# Every run needs asyncio, and importing this package does not: it costs a third of what pydantic does.
if TYPE_CHECKING:
    import asyncio
    import difflib
    import json
    import logging
    import traceback
else:
    asyncio = LazyModule("asyncio")
    difflib = LazyModule("difflib")
    json = LazyModule("json")
    logging = LazyModule("logging")
    traceback = LazyModule("traceback")
