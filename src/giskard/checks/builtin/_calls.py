"""What the checks of calls of tools share: which calls they look at, and how these are shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Generic, NamedTuple, Self, cast

from pydantic import Field, StrictInt, model_validator

from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.core.check import CodeCheck, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.extraction import compile_path
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import construct
from giskard.checks.core.result import CheckStatus, Metric, Verdict
from giskard.checks.core.tool_calls import AnyCall, BadToolCall, NotedCall, noted_calls, read_call, read_calls
from giskard.checks.core.types import In, Out, TraceT
from giskard.checks.utils.text import quoted

__all__ = [
    "ALL_CALLS",
    "AtLeastZero",
    "Called",
    "Calls",
    "CallsCheck",
    "KeptCall",
    "Name",
    "counted",
    "decided",
    "keep",
    "listed",
    "metric",
    "one_of",
    "show_call",
    "text_or_lookup",
    "turn_noted",
]

ALL_CALLS = "trace.tool_calls"
_LONGEST_CALL = 160
_LONGEST_VALUE = 40  # in a call that is too long
_MOST_LISTED = 5

AtLeastZero = Annotated[StrictInt, Field(ge=0)]
Name = Annotated[str, Field(min_length=1)]


class KeptCall(NamedTuple):
    """What is kept of a call."""

    turn: int | None
    name: str
    tell_arguments: Callable[[], Any]
    error: str | None

    @property
    def noted(self) -> dict[str, Any]:
        """What the details of a result hold of it."""
        return {"turn": self.turn, "name": self.name, "arguments": self.tell_arguments(), "error": self.error}

    @property
    def shown(self) -> str:
        """As that of `Called`."""
        return self.shown_with(())

    def shown_with(self, keep: Collection[Any]) -> str:
        """As that of `Called`."""
        where = "" if self.turn is None else f" in turn {self.turn + 1}"
        return f"{show_call(self.name, self.tell_arguments(), keep)}{where}"


class Called(NamedTuple):
    """A call, and where it stands in the conversation."""

    call: AnyCall
    turn: int | None
    """From 0; None when it is not known."""
    group: int
    """Calls of one group were made by one message: none of them came before the other."""

    @property
    def shown(self) -> str:
        """The call, and the turn that it was made in: ``get_fee(item="card") in turn 1``."""
        return self.kept.shown

    def shown_with(self, keep: Collection[Any]) -> str:
        """As `shown`, but however long the call is, the arguments of these names are in it."""
        return self.kept.shown_with(keep)

    @property
    def noted(self) -> dict[str, Any]:
        """What the details of a result keep of it."""
        return self.kept.noted

    @property
    def kept(self) -> KeptCall:
        """What a PASS keeps of it until somebody reads its details: the conversation is not kept alive for that."""
        return KeptCall(*keep(self))


class Calls(list[Called]):
    """All calls that a check looks at.  The checks of one conversation share them: they are never changed.

    Attributes
    ----------
    unknown_in
        The first turn that says nothing of tools; None when all do.
    """

    __slots__ = ("_kept", "unknown_in")

    def __init__(self) -> None:
        super().__init__()
        self.unknown_in: int | None = None
        self._kept: list[tuple[Any, ...]] | None = None

    def take(self, calls: Sequence[AnyCall], turn: int | None) -> None:
        """Add the calls of one turn; neighbours of one message, and of one step in it, are of one group."""
        group = self[-1].group + 1 if self else 0
        before: AnyCall | None = None
        for call in calls:
            if before is not None and (
                call.message_index is None or call.message_index != before.message_index or call.step != before.step
            ):
                group += 1
            self.append(Called(call, turn, group))
            before = call

    def kept(self) -> list[tuple[Any, ...]]:
        """What a `KeptCall` of each is made of."""
        if self._kept is None:
            self._kept = list(map(keep, self))
        return self._kept

    def places(self, some: Sequence[Called]) -> list[int]:
        """Which of them `some` are."""
        wanted = set(map(id, some))
        return [place for place, called in enumerate(self) if id(called) in wanted]


def keep(called: Called) -> tuple[int | None, str, Callable[[], Any], str | None]:
    """What `KeptCall` is made of."""
    turn, call = called.turn, called.call
    if isinstance(call, NotedCall):
        return call.kept(turn)
    return turn, call.name, partial(getattr, call, "arguments"), call.error


def show_call(name: str, arguments: Any, keep: Collection[Any] = ()) -> str:
    """A call as it would be written in Python.  When it is long, its values are cut, and then arguments left out.

    Parameters
    ----------
    keep
        Names of arguments that are never left out.

    Examples
    --------
    >>> show_call("get_fee", {"item": "card", "year": 2025})
    'get_fee(item="card", year=2025)'
    """
    if isinstance(arguments, Mapping):
        values = {key: quoted(value) for key, value in cast("Mapping[Any, Any]", arguments).items()}
        text = f"{name}({', '.join(f'{key}={value}' for key, value in values.items())})"
        return text if len(text) <= _LONGEST_CALL else _shortened(name, values, keep)
    text = f"{name}({quoted(arguments)})"
    return text if len(text) <= _LONGEST_CALL else f"{text[:_LONGEST_CALL]}…)"


def _shortened(name: str, values: Mapping[Any, str], keep: Collection[Any]) -> str:
    """A long call: its arguments with their values cut, as many as there is room for beside those of `keep`."""
    parts = {key: f"{_cut(str(key), _LONGEST_VALUE)}={_cut(value, _LONGEST_VALUE)}" for key, value in values.items()}
    room = _LONGEST_CALL - len(name) - sum(len(part) + 2 for key, part in parts.items() if key in keep)
    shown_ones: list[str] = []
    for key, part in parts.items():
        if key not in keep:
            room -= len(part) + 2
        if key in keep or room >= 0:
            shown_ones.append(part)
        elif not shown_ones or shown_ones[-1] != "…":
            shown_ones.append("…")
    return f"{name}({', '.join(shown_ones)})"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def listed(calls: Sequence[Called | KeptCall]) -> str:
    """The first of the calls, with the number of the others."""
    text = ", ".join(called.shown for called in calls[:_MOST_LISTED])
    return text if len(calls) <= _MOST_LISTED else f"{text} and {len(calls) - _MOST_LISTED} more"


def counted(number: int, noun: str) -> str:
    """``"1 call"``, ``"2 calls"``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def turn_noted(called: Called | None) -> dict[str, int]:
    """What the details of a FAIL say of the turn that it is about: reports show that one."""
    return {} if called is None or called.turn is None else {"turn": called.turn}


def metric(name: str, value: float) -> Metric:
    """`Metric(...)` without validation: each check of calls gives one, and millions of conversations are checked."""
    return construct(Metric, {"name": name, "value": value})


def decided(holds: bool, message: str, details: dict[str, Any], metrics: Sequence[Metric] = ()) -> Verdict:
    """PASS or FAIL."""
    return Verdict(CheckStatus.PASS if holds else CheckStatus.FAIL, message, details, metrics)


def one_of(check: Any, name: str, *, needed: bool = False) -> None:
    """Refuse a literal together with its key; with `needed` also neither of them."""
    given = [getattr(check, field) is not None for field in (name, f"{name}_key")]
    if all(given) or (needed and not any(given)):
        amount = "exactly" if needed else "at most"
        raise ValueError(f"give {amount} one of {name} and {name}_key; {'both' if all(given) else 'neither'} given")


def text_or_lookup(trace: Any, literal: str | None, key: str | None, field: str) -> str | None:
    """A literal name, else the one that stands at `key`, None when there is no key either."""
    if literal is not None or key is None:
        return literal
    value = lookup(trace, key, field)
    if not isinstance(value, str) or not value:
        raise NoVerdict(
            f"expected the name of a tool at {key!r} ({field}), got {type_name(value)}: {shown(value)}",
            kind="bad_type",
            details={field: key, "value": value},
        )
    return str.__str__(value)


class CallsCheck(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    """A check of the calls of tools that a conversation notes.

    Parameters
    ----------
    target_key
        The path of the calls.  ``trace.tool_calls`` are those of all turns; a list of calls that stands elsewhere can
        be named, and a filter: ``trace.tool_calls[?@.agent == 'billing']``.  What a path with a filter or a wildcard
        selects is taken to be in order, since the turns and messages of these calls are not known.
    turn
        Looks at one turn only: its index, as in ``trace.interactions``; negative ones count from the end.
    require_recording
        Whether a turn is an ERROR whose metadata has no ``tool_calls`` at all.  Otherwise it made no call.
    """

    target_key: JSONPathStr = ALL_CALLS
    turn: StrictInt | None = None
    require_recording: bool = False

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if self.target_key != ALL_CALLS and (self.turn is not None or self.require_recording):
            name = "turn" if self.turn is not None else "require_recording"
            raise ValueError(f"{name} is about the calls of the turns: leave target_key={self.target_key!r} out, or it")
        return self

    def _calls(self, trace: Any) -> Calls:
        """The calls that the check looks at.

        Raises
        ------
        NoVerdict
            When there is no turn, or something that is no call stands among the calls.
        """
        try:
            usual = self.target_key == ALL_CALLS and _has_usual_calls(trace)
            return self._of_turns(trace) if usual else self._at_key(trace)
        except BadToolCall as error:
            raise NoVerdict(str(error), kind="bad_type", details={"target_key": self.target_key}) from error

    def _of_turns(self, trace: Trace[Any, Any]) -> Calls:
        turns = trace.interactions
        if not turns:
            raise NoVerdict("the trace has no turns: nothing was done in it", kind="missing_value")
        if self.turn is None:
            found = _calls_in(turns)
        elif -len(turns) <= self.turn < len(turns):
            found = _calls_of([(self.turn % len(turns), turns[self.turn])])
        else:
            raise NoVerdict(f"turn={self.turn}: the trace has {counted(len(turns), 'turn')}", kind="missing_value")
        if self.require_recording and found.unknown_in is not None:
            raise NoVerdict(
                f"trace.interactions[{found.unknown_in}].metadata has no 'tool_calls' (require_recording): whether a "
                "tool was called is not known; an empty list says that none was",
                kind="missing_value",
            )
        return found

    def _at_key(self, trace: Any) -> Calls:
        key = self.target_key
        value: Any = lookup(trace, key)
        found = Calls()
        if compile_path(key).definite:
            calls = [read_call(cast("Any", value), key)] if isinstance(value, Mapping) else read_calls(value, key)
            found.take(calls, None)
            return found
        for index, item in enumerate(value):  # calls, or lists of them
            place = f"match {index} of {key}"
            calls = read_calls(item, place) if isinstance(item, (list, tuple)) else [read_call(item, place)]
            found.take(calls, None)
        return found


_USUAL = vars(Trace)["tool_calls"]


def _has_usual_calls(trace: Any) -> bool:
    """Whether the calls of a trace are those of its turns, and nothing that its class has of its own."""
    cls = cast("type[Any]", type(trace))
    if cls is Trace:
        return True
    owner = next(base for base in cls.__mro__ if "tool_calls" in vars(base))
    return vars(owner)["tool_calls"] is _USUAL and "tool_calls" not in (trace.__pydantic_extra__ or ())


def _calls_in(turns: Any) -> Calls:
    """The calls of all turns of a trace, looked up once for all its checks."""
    try:
        return turns.calls
    except AttributeError:
        turns.calls = found = _calls_of(enumerate(cast("Iterable[Any]", turns)))
        return found


def _calls_of(turns: Iterable[tuple[int, Interaction[Any, Any]]]) -> Calls:
    """The calls of these turns, each given with its number."""
    found = Calls()
    for number, turn in turns:
        noted = noted_calls(turn, number)
        if noted:
            found.take(noted, number)
        elif noted is None and found.unknown_in is None:
            found.unknown_in = number
    return found
