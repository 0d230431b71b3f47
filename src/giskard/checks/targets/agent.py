"""Systems under test that are an agent of another package, or anything else that can be asked."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Final, cast

from giskard.checks.core.attempt import off_the_loop
from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.targets import _options
from giskard.checks.targets._agents import Asked, Method, find_method, memory_of
from giskard.checks.targets._conversation import turn
from giskard.checks.targets._history import conversation_values, history_of
from giskard.checks.targets._kept import Kept
from giskard.checks.targets._reply import ValuePath
from giskard.checks.targets._results import output_of, tool_calls_in, usage_in
from giskard.checks.targets._template import Template
from giskard.checks.targets.errors import TargetError
from giskard.checks.utils.plain import to_plain

__all__ = ["AgentTarget", "as_target"]

_MAX_CONVERSATIONS: Final = 1_000


@dataclass(frozen=True, repr=False)
class AgentTarget:
    """An agent that another package made: it is called in the way of that package.

    Known are the runnables and graphs of LangChain and LangGraph, the agents of pydantic-ai, of OpenAI's Agents SDK, of
    LlamaIndex, CrewAI, Haystack, smolagents, AutoGen and Agno, and whatever has such a method, async or not: ``ainvoke
    arun achat aquery kickoff_async run invoke chat query kickoff complete``; else it is called itself.

    Parameters
    ----------
    agent
        The agent; or where it is found: ``"package.module:name"``, with which the target can be saved.
    method
        The name of the method to call.
    input
        What it is given in the place of the inputs: data with placeholders, ``{"question": "{{ inputs }}"}`` say; see
        `HTTPTarget`.
    output
        Where the answer is in its result: a JSONPath such as ``"$.answer.text"``, or a function of the result.
    options
        Further arguments for each call, by name.

    Raises
    ------
    TypeError, ValueError
        When the object has no such method, and cannot be called, or an option is none that a target can have.

    Notes
    -----
    The conversation goes with each call, or its id, in whichever way the agent takes it.  An agent that keeps a
    conversation in itself, and takes neither, would mix those of several attempts: give the run a
    ``target_factory=lambda: AgentTarget(make_agent())``, which makes one for each attempt.

    What can be read of calls of tools and of usage is in the turn's metadata.

    A cassette does not record it: what such an agent gives back are objects of its package, and it asks its models by
    itself.  What it calls through this package is recorded.
    """

    agent: Any
    method: str | None = None
    _: KW_ONLY
    input: Any = None
    output: str | Callable[[Any], Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _ways: list[Method] = field(init=False, compare=False, default_factory=list[Method])
    _input: Template | None = field(init=False, compare=False)
    _path: ValuePath | None = field(init=False, compare=False)
    _memories: Kept[tuple[int, Any]] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        _options.check_options(self, **_OPTIONS)
        put = object.__setattr__  # it is frozen from here on
        put(self, "_input", None if self.input is None else Template(self.input, "input"))
        put(self, "_path", ValuePath(self.output) if isinstance(self.output, str) else None)
        put(self, "_memories", Kept(_MAX_CONVERSATIONS))
        if not isinstance(self.agent, str):
            self._ways.append(_way_to(self.agent, self.method))
        elif ":" not in self.agent:
            raise TypeError(f"agent is {self.agent!r}, expected an agent, or where it is: 'package.module:name'")

    def __hash__(self) -> int:
        return hash((type(self), self.method))

    def __repr__(self) -> str:
        agent = repr(self.agent) if isinstance(self.agent, str) else type(self.agent).__name__
        return f"{type(self).__name__}({agent}{'' if self.method is None else f', {self.method!r}'})"

    async def __call__(
        self, inputs: Any, trace: Trace | None = None, conversation_id: str = "", trial: int = 1
    ) -> Interaction:
        """The turn that the agent makes of `inputs`."""
        if not self._ways:
            self._ways.append(_way_to(_imported(self.agent), self.method))
        way = self._ways[0]
        turns = 0 if trace is None else len(trace.interactions)
        known, memory = self._memories.get(conversation_id) or (0, None)
        history = history_of(trace)
        asked = Asked(
            inputs,
            history,
            trace,
            conversation_id,
            trial,
            memory if known == turns else None,  # of the turn before, when all turns were its own
            unknown=history_of(trace, since=known) if known else history,
            given=None if self._input is None else self._filled(self._input, inputs, trace, conversation_id, trial),
            is_given=self._input is not None,
        )
        result = await self._result(way, asked)
        self._remember(conversation_id, turns + 1, memory_of(result))
        noted = {"tool_calls": _read_from(result, tool_calls_in) or None, "usage": _read_from(result, usage_in)}
        return turn(inputs, self._output(result, way), {"kind": "agent", "method": way.name or None}, noted)

    def _filled(self, template: Template, inputs: Any, trace: Trace | None, conversation_id: str, trial: int) -> Any:
        return template.fill(conversation_values(inputs, trace, conversation_id, trial, template.names))

    async def _result(self, way: Method, asked: Asked) -> Any:
        __tracebackhide__ = True
        arguments, keywords = way.arguments(asked)
        keywords = _merged(keywords, self.options)
        call = partial(way.function, *arguments, **keywords)
        in_place = way.is_async or getattr(way.owner, "__giskard_thread_bound__", False)
        result = call() if in_place else await off_the_loop(lambda: _read(call()))
        if inspect.isawaitable(result):
            result = await result
        if inspect.iscoroutine(result):
            result.close()
            raise TargetError(
                f"{self!r} gave the coroutine {result.__qualname__!r} that nobody awaited; await it in the agent",
                kind="bad_type",
            )
        if inspect.isasyncgen(result):
            result = _joined([chunk async for chunk in cast("AsyncIterator[Any]", result)])
        return result

    def _output(self, result: Any, way: Method) -> Any:
        if self._path is not None:
            return self._path.find(_as_data(result), f"the result of {self!r}")
        if callable(self.output):
            return self.output(result)
        return output_of(result) if way.name else result

    # --- what an agent gave to go on from -----------------------------------------------------

    def _remember(self, conversation_id: str, turns: int, memory: Any) -> None:
        """Keep how many turns the agent knows, and what it gave to go on from them."""
        if conversation_id:
            self._memories.put(conversation_id, (turns, memory))


_OPTIONS: Final = {
    "method": _options.MAYBE_TEXT,
    "output": _options.PATH_OR_FUNCTION,
    "options": _options.MAPPING,
}


def as_target(agent: Any, **options: Any) -> Any:
    """`agent` as a target: an `AgentTarget`, or the very object when it is a function or a target already.

    Parameters
    ----------
    options
        Those of `AgentTarget`.
    """
    kind = cast("type[Any]", type(agent))
    is_function = inspect.isroutine(agent) or issubclass(kind, (type, partial))
    if not options and (is_function or kind.__module__.startswith("giskard.checks.targets.")):
        return cast("Any", agent)
    return AgentTarget(agent, **options)


def _way_to(agent: Any, name: str | None) -> Method:
    found = find_method(agent, name)
    if found is None:
        asked = "no method of an agent, and cannot be called" if name is None else f"no method {name!r}"
        methods = [item for item in dir(agent) if not item.startswith("_") and callable(getattr(agent, item, None))]
        raise TypeError(f"{type(agent).__name__} has {asked}; it has: {', '.join(methods[:20]) or 'none'}")
    return found


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"the agent {path!r} cannot be imported: {error}") from error
    return found


def _read_from(result: Any, read: Callable[[Any], Any]) -> Any:
    """What can be read of a result; nothing when it resists: the answer is there all the same."""
    try:
        return read(result)
    except Exception:
        return None


def _merged(keywords: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Both, and what both say of a dict of dicts, such as a runnable's config."""
    merged = {**keywords, **options}
    for name in keywords.keys() & options.keys():
        mine, given = keywords[name], options[name]
        if isinstance(mine, dict) and isinstance(given, Mapping):
            merged[name] = _merged(cast("dict[str, Any]", mine), cast("Mapping[str, Any]", given))
    return merged


def _read(result: Any) -> Any:
    """A result, or all of it when it is a generator: read where it was made."""
    return _joined(list(cast("Iterator[Any]", result))) if inspect.isgenerator(result) else result


def _joined(chunks: list[Any]) -> Any:
    return "".join(chunks) if all(isinstance(chunk, str) for chunk in chunks) else chunks


def _as_data(result: Any) -> Any:
    """A result as data that a path can be walked into."""
    plain = to_plain(result)
    is_object = plain is result and not isinstance(plain, (Mapping, list, tuple, str))
    parts: dict[str, Any] | None = getattr(cast("object", result), "__dict__", None)
    if not is_object or parts is None:
        return cast("Any", plain)
    return {name: value for name, value in parts.items() if not name.startswith("_")}
