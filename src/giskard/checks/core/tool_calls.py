"""Calls of tools as data: what the turns of a conversation noted of them.

A turn holds its calls under ``metadata["tool_calls"]``, in the order in which they were made.  Each of them is a
`ToolCall`, a dict of its fields, or a call as OpenAI writes it, ``{"id": …, "function": {"name": …, "arguments": …}}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, cast

from pydantic import ValidationError
from pydantic_core import from_json

from giskard.checks.core.usage import ToolCall
from giskard.checks.utils.deferred import Deferred, settled
from giskard.checks.utils.frozen import type_name, view
from giskard.checks.utils.json_safe import describe
from giskard.checks.utils.plain import to_plain
from giskard.checks.utils.text import plain_text

if TYPE_CHECKING:
    from giskard.checks.core.interaction.interaction import Interaction

__all__ = [
    "AnyCall",
    "BadToolCall",
    "NotedCall",
    "noted_calls",
    "read_call",
    "read_calls",
    "tool_calls_in",
    "tool_calls_of",
    "whole_call",
]

_KEY: Final = "tool_calls"
# What the arguments are called by those who write calls; the first that is there counts.
_ARGUMENTS: Final = ("arguments", "args", "input", "kwargs")
_REST: Final = ("result", "message_index", "step", "agent", "started_at", "latency_ms")
_TEXT_OR_NONE: Final = frozenset({str, type(None)})
_INT_OR_NONE: Final = frozenset({int, type(None)})
# What a call may have beside, and has to be looked at.
_UNUSUAL: Final = frozenset({"function", "started_at", "latency_ms", "step"})
_EXPECTED: Final = 'expected a call such as {"name": "search", "arguments": {"query": "fees"}}'


class BadToolCall(ValueError):
    """What stands where a call of a tool should be is none; the message names the place."""


def tool_calls_of(turn: Interaction[Any, Any], number: int | None = None) -> list[ToolCall]:
    """The calls of tools that a turn made, in order; none when its metadata has no ``tool_calls``.

    Parameters
    ----------
    number
        The position of the turn in its conversation, from 0, for the message of an error.

    Raises
    ------
    BadToolCall
        When an entry is no call.

    Examples
    --------
    >>> from giskard.checks import Interaction
    >>> calls = [{"name": "get_fee", "arguments": {"item": "card"}, "result": 0.0}]
    >>> [call.name for call in tool_calls_of(Interaction(inputs="?", outputs="!", metadata={"tool_calls": calls}))]
    ['get_fee']
    """
    return _calls_at(turn, number)


def tool_calls_in(turns: Sequence[Interaction[Any, Any]]) -> list[ToolCall]:
    """The calls of tools of all `turns`, in order.

    Raises
    ------
    BadToolCall
        When an entry is no call.
    """
    return [call for number, turn in enumerate(turns) for call in tool_calls_of(turn, number)]


class NotedCall:
    """A call as the turn holds it, with the attributes of a `ToolCall`: read it, do not change what it holds.

    Parameters
    ----------
    entry
        Its entry in the metadata; None in a subclass that finds it when it is asked for.
    """

    __slots__ = ("_entry", "id", "message_index", "name")
    step: ClassVar[int | None] = None  # those with one are read whole

    def __init__(self, name: str, id: str | None, message_index: int | None, entry: Mapping[str, Any] | None) -> None:
        self.name = name
        self.id = id
        self.message_index = message_index
        self._entry = entry

    @property
    def entry(self) -> Mapping[str, Any]:
        """Its entry in the metadata."""
        return cast("Mapping[str, Any]", self._entry)

    @property
    def arguments(self) -> Any:
        """As those of a `ToolCall`."""
        return _arguments_in(self.entry)

    @property
    def result(self) -> Any:
        """As that of a `ToolCall`."""
        return self.entry.get("result")

    @property
    def error(self) -> str | None:
        """As that of a `ToolCall`."""
        return self.entry.get("error")

    def kept(self, turn: int | None) -> tuple[int | None, str, Callable[[], Any], str | None]:
        """The turn, the name, what gives the arguments, and the error: no more of the conversation is kept alive."""
        return turn, self.name, partial(_same, self.arguments), self.error


AnyCall: TypeAlias = ToolCall | NotedCall


def noted_calls(turn: Interaction[Any, Any], number: int) -> Sequence[AnyCall] | None:
    """As `tool_calls_of`, with each value as the turn holds it, and without models where they can be done without.

    None when the metadata of the turn says nothing of tools; an empty list says that none was called.

    Parameters
    ----------
    number
        The position of the turn in its conversation, from 0.

    Raises
    ------
    BadToolCall
        When an entry is no call.
    """
    metadata = turn.__dict__["metadata"]
    if isinstance(metadata, Deferred) and (glanced := metadata.glance(_KEY)) is not None:
        return glanced
    noted = settled(turn.__dict__, "metadata").get(_KEY)
    if noted is None:
        return None
    place = f"trace.interactions[{number}].metadata.{_KEY}"
    calls = [_noted_call(entry) for entry in cast("list[Any]", noted)] if isinstance(noted, list) else [None]
    return cast("Any", calls) if None not in calls else cast("Any", read_calls(noted, place))


def _noted_call(entry: Any) -> NotedCall | None:
    """A call that is noted as importers note it; None for whatever else."""
    if not isinstance(entry, dict):
        return None
    known = cast("dict[str, Any]", entry)
    name, own_id, index = known.get("name"), known.get("id"), known.get("message_index")
    is_usual = (
        type(name) is str
        and name != ""
        and type(own_id) in _TEXT_OR_NONE
        and type(index) in _INT_OR_NONE
        and type(known.get("error")) in _TEXT_OR_NONE
        and known.get("error") != ""
        and type(known.get("agent")) in _TEXT_OR_NONE
        and _UNUSUAL.isdisjoint(known)
    )
    return NotedCall(cast("str", name), own_id, index, known) if is_usual else None


def whole_call(call: AnyCall) -> ToolCall:
    """The `ToolCall` that a call is."""
    return call if isinstance(call, ToolCall) else read_call(view(call.entry), call.name)


def _same(value: Any) -> Any:
    return value


def _calls_at(turn: Interaction[Any, Any], number: int | None) -> list[ToolCall]:
    noted = settled(turn.__dict__, "metadata").get(_KEY)
    if noted is None:
        return []
    place = "metadata" if number is None else f"trace.interactions[{number}].metadata"
    return read_calls(view(noted), f"{place}.{_KEY}")


def read_calls(noted: Any, place: str) -> list[ToolCall]:
    """The calls in a list of them.

    Parameters
    ----------
    place
        Where the list stands, for the message of an error.

    Raises
    ------
    BadToolCall
        When it is no list, or an item of it is no call.
    """
    if not isinstance(noted, (list, tuple)):
        raise BadToolCall(f"{place} is {type_name(noted)}: {describe(noted):.200}; expected a list of calls")
    items = cast("Sequence[Any]", noted)
    return [read_call(item, f"{place}[{index}]") for index, item in enumerate(items)]


def read_call(entry: object, place: str) -> ToolCall:
    """A call, in any of the forms that it may be noted in; see `read_calls`."""
    if isinstance(entry, ToolCall):
        return entry
    known = _as_mapping(entry)
    if known is None:
        raise BadToolCall(f"{place} is {type_name(entry)}: {describe(entry):.200}; {_EXPECTED}")
    function: Any = known.get("function")
    source = cast("Mapping[str, Any]", function) if isinstance(function, Mapping) else known
    name: object = source.get("name")
    if not isinstance(name, str) or not name:
        problem = f"has the name {name!r:.100}" if "name" in source else "has no 'name'"
        raise BadToolCall(f"{place} {problem}: {describe(entry):.200}; {_EXPECTED}")
    values = {key: known[key] for key in _REST if known.get(key) is not None}
    values["arguments"] = _arguments_in(source)
    own_id = known.get("id")
    values["id"] = str(own_id) if isinstance(own_id, int) else own_id
    failed = known.get("error")
    if failed is not None and failed is not False and failed != "":
        values["error"] = "the tool failed" if failed is True else plain_text(failed)
    try:
        return ToolCall(name=name, **values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        given = describe(first["input"])
        raise BadToolCall(f"{place}.{field} is {given:.200}: {first['msg']}") from None


def _as_mapping(entry: object) -> Mapping[str, Any] | None:
    """An entry as a mapping; models and dataclasses as their fields."""
    data = cast("object", entry if isinstance(entry, Mapping) else to_plain(entry))
    return cast("Mapping[str, Any]", data) if isinstance(data, Mapping) else None


def _arguments_in(source: Mapping[str, Any]) -> Any:
    given: Any = next((source[key] for key in _ARGUMENTS if source.get(key) is not None), None)
    if given is None:
        return {}
    if isinstance(given, Mapping) and not isinstance(given, dict):
        return dict(cast("Mapping[str, Any]", given))
    if not isinstance(given, str):
        return cast("Any", given)
    try:
        parsed: object = from_json(given)
    except ValueError:
        return given  # as it was written: what the model sent cannot be read
    if parsed is None:  # how some write a call without arguments
        return {}
    return cast("Any", parsed) if isinstance(parsed, dict) else given
