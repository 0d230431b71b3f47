"""Values that are worked out when somebody first reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["Deferred", "settled"]


class Deferred:
    """Stands in the storage of a model for a value that is worked out when it is first read.

    Whoever reads that storage past the model's own attributes asks `settled`.  A subclass says in `make` what the value
    is: the same each time, since two threads may ask at once.
    """

    __slots__ = ("_value",)  # not there before it is known

    def make(self) -> Any:
        """The value."""
        raise NotImplementedError(f"{type(self).__name__} does not implement make()")

    def glance(self, name: str) -> Any:
        """What can be told of one part of the value at less cost than all of it; None when that is nothing.

        What it is is agreed on between who asks and who made this: it need not be what the value holds.
        """
        return None

    @property
    def value(self) -> Any:
        """The value, worked out once."""
        try:
            return self._value
        except AttributeError:
            pass  # `make` is called out here: what goes wrong in it has no other cause
        value = self._value = self.make()
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, (self.value,)

    def __repr__(self) -> str:
        return repr(self.value)


def _same(value: Any) -> Any:
    return value


def settled(stored: Mapping[str, Any], name: str) -> Any:
    """``stored[name]``, worked out if nobody has read it yet, and kept there.

    Raises
    ------
    KeyError
        When there is nothing of that name.
    """
    value = stored[name]
    if isinstance(value, Deferred):
        value = cast("dict[str, Any]", stored)[name] = value.value
    return value
