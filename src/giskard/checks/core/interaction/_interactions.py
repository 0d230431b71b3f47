"""The turns of a trace: a sequence that grows in constant time and never changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar, Generic, TypeVar, cast, get_args, overload

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from giskard.checks.utils.completed import completed
from giskard.checks.utils.frozen import FrozenList

__all__ = ["Interactions", "InteractionsSchema"]

T = TypeVar("T", covariant=True)

_new: Callable[[type[Any]], Any] = object.__new__


class Interactions(Sequence[T], Generic[T]):
    """An immutable sequence of turns, equal to a list or tuple of equal turns.

    A trace with one turn more shares the storage of the trace before it, which still ends where it
    ended: appending costs the same at any length.

    Attributes
    ----------
    calls
        What a check worked out of the calls of tools in these turns, for the checks after it; not there before.
    """

    __slots__ = ("_items", "_length", "calls")
    calls: Any
    _plain_when_saved: ClassVar[bool] = True  # tells utils.codec to write it as a list

    def __init__(self, items: Iterable[T] = ()) -> None:
        # A list that may grow at its end, and how much of it belongs to this sequence.
        self._items: list[T] = list(items)
        self._length = len(self._items)

    def appended(self, item: Any) -> Interactions[T]:
        """This sequence and `item` after it, as a new sequence."""
        items, length = self._items, self._length
        if length and len(items) == length:
            items.append(item)
        if len(items) == length or items[length] is not item:  # another trace, or thread, went on from here
            items = [*items[:length], item]
        new: Interactions[T] = _new(Interactions)
        new._items = items
        new._length = length + 1
        return new

    @property
    def last(self) -> T | None:
        """The last turn, or None when there is none."""
        return self._items[self._length - 1] if self._length else None

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._items[i] for i in range(*index.indices(self._length))]
        length = self._length
        position = index + length if index < 0 else index
        if 0 <= position < length:
            return self._items[position]
        raise IndexError(f"interaction {index} of a trace of {length}")

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._items[: self._length])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Interactions, list, tuple)):
            others = cast("Sequence[object]", other)
            return self._length == len(others) and all(a == b for a, b in zip(self, others, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: Iterable[Any]) -> list[Any]:
        return [*other, *self]

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Interactions, (list(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Interactions[T]:
        return self  # it holds frozen turns only


class InteractionsSchema:
    """Annotates a ``Sequence[Turn]`` field: validated as a list, kept as a frozen one or as `Interactions`."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        item = (get_args(source) or (Any,))[0]
        items = core_schema.list_schema(handler.generate_schema(item))
        return core_schema.no_info_wrap_validator_function(
            cls._validate,
            items,
            # Each turn is dumped as what it is, whatever the parameters of the trace say.
            serialization=core_schema.wrap_serializer_function_ser_schema(
                lambda value, dump: dump([completed(turn) for turn in value]), schema=core_schema.list_schema()
            ),
        )

    @staticmethod
    def _validate(value: Any, validate: core_schema.ValidatorFunctionWrapHandler) -> Sequence[Any]:
        given = list(cast("Iterable[Any]", value)) if isinstance(value, Interactions) else value
        checked = validate(given)
        same = isinstance(value, Interactions) and checked == given
        return cast("Interactions[Any]", value) if same else FrozenList(checked)
