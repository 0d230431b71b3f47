"""How the agents of other packages are called: told from what they are and what their methods ask for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.usage import value_of
from giskard.checks.targets._conversation import as_text, messages_of
from giskard.checks.utils.injectable import is_async_callable

__all__ = ["Asked", "Method", "find_method", "memory_of", "roots_of"]

# Async ones first: nobody waits for them.
_NAMES: Final = (
    "ainvoke",
    "arun",
    "achat",
    "aquery",
    "akickoff",
    "kickoff_async",
    "invoke_async",
    "get_response",
    "acompletion",
    "acomplete",
    "run",
    "invoke",
    "chat",
    "query",
    "kickoff",
    "completion",
    "complete",
)
_INVOKE: Final = frozenset({"ainvoke", "invoke"})
_KICKOFF: Final = frozenset({"akickoff", "kickoff_async", "kickoff"})
# The parameters that take the inputs, in this order; else it is the first one.
_FOR_INPUTS: Final = (
    "user_msg",
    "user_prompt",
    "task",
    "messages",
    "prompt",
    "query",
    "question",
    "message",
    "input",
    "inputs",
    "data",
    "text",
)
_SESSIONS: Final = ("conversation_id", "session_id", "thread_id")


@dataclass(frozen=True, slots=True)
class Asked:
    """What an agent may be told of a turn."""

    inputs: Any
    history: list[dict[str, Any]]
    trace: Trace | None = None
    conversation_id: str = ""
    trial: int = 1
    memory: Any = None
    """What the agent gave for this after the turn before, in its own classes."""
    given: Any = None
    """What stands in the place of the inputs, when that was said."""
    is_given: bool = False
    unknown: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The turns that the agent was not asked in, nor told of: written down, or replayed."""

    @property
    def new(self) -> list[dict[str, Any]]:
        """The inputs as messages."""
        return messages_of(self.inputs, "user")

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation with the inputs."""
        return [*self.history, *self.new]


@dataclass(frozen=True, slots=True)
class Method:
    """A way to call an agent."""

    function: Callable[..., Any]
    name: str
    roots: frozenset[str]
    parameters: Mapping[str, inspect.Parameter] = field(default_factory=dict[str, inspect.Parameter])
    owner: Any = None
    is_runner: bool = False
    """Whether it is the Runner of OpenAI's Agents SDK."""

    @property
    def is_async(self) -> bool:
        """Whether it is called in the event loop: it does not block it, or cannot do without it."""
        return is_async_callable(self.function) or "llama_index" in self.roots

    def arguments(self, asked: Asked) -> tuple[list[Any], dict[str, Any]]:
        """What to call it with."""
        taken = next((name for name in _FOR_INPUTS if name in self.parameters), None)
        if taken is None:
            taken = next((name for name, parameter in self.parameters.items() if _takes_values(parameter)), None)
        value = asked.given if asked.is_given else self._inputs(taken, asked)
        keywords = {name: it for name, it in self._context(asked).items() if name in self.parameters and name != taken}
        is_first = taken is None or taken == next(iter(self.parameters))
        if is_first and (taken is None or not _by_keyword(self.parameters[taken])):
            return [value], keywords
        return [], {str(taken): value, **keywords}

    def _inputs(self, parameter: str | None, asked: Asked) -> Any:
        inputs = asked.inputs
        is_mapping = isinstance(asked.inputs, Mapping)
        if self.is_runner:
            return [*(asked.memory or _as_items(asked.history)), *asked.new] if asked.history else inputs
        if self.name == "" or (is_mapping and (parameter == "data" or self.name in _KICKOFF)):
            return inputs
        if self.name in _INVOKE:
            return self._for_a_runnable(asked)
        if parameter == "messages":
            return asked.messages
        return {"input": inputs} if self.name in _KICKOFF else as_text(inputs)

    def _for_a_runnable(self, asked: Asked) -> Any:
        inputs: Any = asked.inputs
        if "chat_model" in self.roots:
            return asked.messages
        if isinstance(inputs, Mapping) and "role" not in inputs:
            return cast("Any", inputs)
        # With a checkpointer the thread remembers what came before, as far as the graph was told of it.
        remembers = bool(getattr(self.owner, "checkpointer", None))
        return {"messages": [*asked.unknown, *asked.new] if remembers else asked.messages}

    def _context(self, asked: Asked) -> dict[str, Any]:
        """What some agents take beside the inputs, by name."""
        context: dict[str, Any] = {"trial": asked.trial, "reset": not asked.history}
        if self.name == "":
            context["trace"] = asked.trace
        if asked.conversation_id:
            context |= dict.fromkeys(_SESSIONS, asked.conversation_id)
            if self.name in _INVOKE:
                context["config"] = {"configurable": {"thread_id": asked.conversation_id}}
        if asked.history:
            if "message_history" in self.parameters:
                context["message_history"] = asked.memory or _as_pydantic_ai(asked.history)
            if "chat_history" in self.parameters:
                context["chat_history"] = (
                    _as_llama_index(asked.history) if "llama_index" in self.roots else asked.history
                )
        return context


def find_method(agent: Any, name: str | None) -> Method | None:
    """The way to call `agent`: its method of that name, or the best of those that are known; None without one."""
    roots = roots_of(agent)
    runner = getattr(sys.modules.get("agents"), "Runner", None)
    if name is None and "agents" in roots and runner is not None and not hasattr(agent, "run"):
        function = runner.run
        return Method(_with_agent(function, agent), "run", roots, {"input": _POSITIONAL}, agent, is_runner=True)
    names = [name] if name is not None else [*_NAMES, ""]
    for known in names:
        function = getattr(agent, known, None) if known else agent
        if callable(function):
            return Method(function, known, roots, _parameters(function), agent)
    return None


def _with_agent(run: Callable[..., Any], agent: Any) -> Callable[..., Any]:
    async def ask(value: Any, **keywords: Any) -> Any:
        return await run(agent, value, **keywords)

    return ask


_POSITIONAL: Final = inspect.Parameter("input", inspect.Parameter.POSITIONAL_ONLY)


def roots_of(agent: Any) -> frozenset[str]:
    """The packages that its classes come from, and ``chat_model`` for a model of LangChain."""
    bases = type(agent).__mro__
    roots = {base.__module__.partition(".")[0] for base in bases}
    if any(base.__name__ in ("BaseChatModel", "BaseLLM") for base in bases):
        roots.add("chat_model")
    return frozenset(roots)


def memory_of(result: Any) -> Any:
    """What an agent's result holds to go on from, in the agent's own classes; None when it holds nothing such."""
    for name in ("all_messages", "to_input_list"):
        method = getattr(result, name, None)
        if callable(method):
            return method()
    return None


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins have none
        return {}


def _takes_values(parameter: inspect.Parameter) -> bool:
    return parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _by_keyword(parameter: inspect.Parameter) -> bool:
    return parameter.kind is inspect.Parameter.KEYWORD_ONLY


# --- histories in the classes of other packages, which are there when an agent of theirs is ---


def _as_items(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of OpenAI's Responses, in which calls and results stand by themselves."""
    items: list[dict[str, Any]] = []
    for message in history:
        if message.get("role") == "tool":
            output = as_text(message.get("content"))
            items.append({"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": output})
            continue
        calls = message.get("tool_calls") or ()
        if not calls or message.get("content"):
            items.append({name: value for name, value in message.items() if name != "tool_calls"})
        for own, name, arguments in _calls_of(message):
            items.append({"type": "function_call", "call_id": own, "name": name, "arguments": arguments})
    return items


def _calls_of(message: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The id, the name and the arguments, as JSON, of each call in a message."""
    calls = [(call, value_of(call, "function")) for call in message.get("tool_calls") or ()]
    return [
        (str(value_of(call, "id")), str(value_of(function, "name")), as_text(value_of(function, "arguments")))
        for call, function in calls
    ]


def _as_pydantic_ai(history: list[dict[str, Any]]) -> Any:
    messages: Any = sys.modules.get("pydantic_ai.messages")
    if messages is None:
        return history
    made: list[Any] = []
    names: dict[Any, Any] = {}
    for message in history:
        role, content = message.get("role"), message.get("content")
        text = as_text(content)
        if role == "assistant":
            parts = [messages.TextPart(content=text)] if text or not message.get("tool_calls") else []
            for own, name, arguments in _calls_of(message):
                names[own] = name
                parts.append(messages.ToolCallPart(tool_name=name, args=arguments, tool_call_id=own))
            made.append(messages.ModelResponse(parts=parts))
        elif role == "tool":
            own = message.get("tool_call_id")
            part = messages.ToolReturnPart(tool_name=names.get(own, ""), content=text, tool_call_id=own)
            if made and isinstance(made[-1], messages.ModelRequest):  # results of calls of one message
                made[-1].parts.append(part)
            else:
                made.append(messages.ModelRequest(parts=[part]))
        else:
            made.append(messages.ModelRequest(parts=[messages.UserPromptPart(content=text)]))
    return made


def _as_llama_index(history: list[dict[str, Any]]) -> Any:
    message: Any = getattr(sys.modules.get("llama_index.core.llms"), "ChatMessage", None)
    if message is None:
        return history
    made: list[Any] = []
    for item in history:
        further = {name: item[name] for name in ("tool_calls", "tool_call_id") if name in item}
        options = {"additional_kwargs": further} if further else {}
        made.append(message(role=item.get("role"), content=as_text(item.get("content")), **options))
    return made
