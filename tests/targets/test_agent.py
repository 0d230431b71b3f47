"""Agents of other packages: small fakes that are called as the real ones are, and pydantic-ai itself."""

import asyncio
import gc
import sys
import threading
import types
from dataclasses import dataclass, field
from typing import Any

import pytest

from giskard.checks import Scenario, Suite, Trace
from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.usage import ToolCall, Usage
from giskard.checks.targets import AgentTarget, HTTPTarget, TargetError, as_target


def ask(target, inputs="hello", **context):
    return asyncio.run(target(inputs, **context))


def talk(target, *turns, **options):
    case = Scenario("talk")
    for text in turns:
        case.interact(text)
    return asyncio.run(case.run(target=target, **options))


def outputs_of(result):
    return [turn.outputs for turn in result.final_trace.interactions]


def of_package(name, **members):
    """A class that says that it comes from another package."""
    return type("Agent", (), {"__module__": name, **members})


@dataclass
class Message:
    type: str
    content: Any
    tool_calls: list[Any] = field(default_factory=list)
    tool_call_id: str | None = None
    status: str = "success"
    usage_metadata: dict[str, int] | None = None


# --- LangChain and LangGraph -------------------------------------------------------------


class Graph:
    """Takes and gives the state of a graph; with a checkpointer it remembers its threads."""

    def __init__(self, checkpointer=None):
        self.checkpointer = checkpointer
        self.seen = []
        self.threads = {}

    async def ainvoke(self, input, config=None, **kwargs):
        self.seen.append((input, config))
        thread = (config or {}).get("configurable", {}).get("thread_id")
        before = self.threads.get(thread, []) if self.checkpointer else []
        new = [Message("human" if m["role"] == "user" else "ai", m["content"]) for m in input["messages"]]
        call = {"name": "look_up", "args": {"q": 1}, "id": "c1", "type": "tool_call"}
        made = [
            Message("ai", "", [call], usage_metadata={"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}),
            Message("tool", "found", tool_call_id="c1"),
            Message("ai", f"{len(before) + len(new)} messages", usage_metadata={"input_tokens": 5, "output_tokens": 3}),
        ]
        self.threads[thread] = [*before, *new, made[-1]]
        return {"messages": [*before, *new, *made]}

    def invoke(self, input, config=None):
        raise AssertionError("the async one comes first")


def test_a_graph_gets_the_conversation_as_messages():
    graph = Graph()
    result = talk(AgentTarget(graph), "a", "b")

    # What its tools gave in the turn before is a part of it.
    assert outputs_of(result) == ["1 messages", "5 messages"]
    sent = graph.seen[1][0]["messages"]
    assert [(m["role"], m["content"]) for m in sent] == [
        ("user", "a"),
        ("assistant", None),
        ("tool", "found"),
        ("assistant", "1 messages"),
        ("user", "b"),
    ]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "look_up", "arguments": '{"q": 1}'}
    assert graph.seen[0][1] == {"configurable": {"thread_id": result.conversation_id}}


def test_a_graph_that_remembers_gets_what_is_new():
    graph = Graph(checkpointer=object())
    first, second = talk(AgentTarget(graph), "a", "b"), talk(AgentTarget(graph), "a", "b")

    assert outputs_of(first) == outputs_of(second) == ["1 messages", "3 messages"]
    assert [[m["content"] for m in state["messages"]] for state, _ in graph.seen] == [["a"], ["b"]] * 2


def test_the_tools_and_the_tokens_of_a_turn_are_noted():
    last = talk(AgentTarget(Graph(checkpointer=object())), "a", "b").final_trace.last

    call = ToolCall(id="c1", name="look_up", arguments={"q": 1}, result="found", message_index=0)
    assert last.metadata["tool_calls"] == [call]
    assert last.metadata["usage"] == Usage(input_tokens=15, output_tokens=5, total_tokens=20, calls=2)


def test_a_config_of_ones_own_is_added():
    graph = Graph()
    ask(AgentTarget(graph, options={"config": {"configurable": {"user": "u"}, "tags": ["t"]}}), conversation_id="c")

    assert graph.seen[0][1] == {"configurable": {"thread_id": "c", "user": "u"}, "tags": ["t"]}


def test_a_runnable_gets_a_dict_as_it_is_and_what_it_is_told():
    class Chain:
        def invoke(self, input, config=None):
            return Message("ai", [{"type": "text", "text": str(input["question"])}])

    assert ask(AgentTarget(Chain()), {"question": 1}).outputs == "1"
    assert ask(AgentTarget(Chain(), input={"question": "Q: {{ inputs }}"}), "x").outputs == "Q: x"


def test_a_chat_model_gets_a_list():
    class BaseChatModel:
        async def ainvoke(self, input, config=None):
            return Message("ai", f"{input[-1]['role']}: {input[-1]['content']}")

    assert ask(AgentTarget(type("Chat", (BaseChatModel,), {})())).outputs == "user: hello"


def test_an_executor_answers_under_output():
    class Executor:
        def invoke(self, input):
            return {"input": input["input"], "output": "done", "intermediate_steps": []}

    assert ask(AgentTarget(Executor(), input={"input": "{{ inputs }}"})).outputs == "done"


# --- pydantic-ai, itself -----------------------------------------------------------------


@pytest.fixture
def assistant():
    pydantic_ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages, info):
        asked = [part.content for message in messages for part in message.parts if part.part_kind == "user-prompt"]
        returned = [part for part in messages[-1].parts if part.part_kind == "tool-return"]
        if asked[-1] == "weather" and not returned:
            return ModelResponse(parts=[ToolCallPart("weather_in", {"city": "Rome"}, tool_call_id="t1")])
        return ModelResponse(parts=[TextPart(" / ".join(asked))])

    agent = pydantic_ai.Agent(FunctionModel(answer))

    @agent.tool_plain
    def weather_in(city: str) -> str:
        return f"sunny in {city}"

    return agent


def test_pydantic_ai_goes_on_from_its_own_messages(assistant):
    target = AgentTarget(assistant)

    assert outputs_of(talk(target, "a", "weather", "c")) == ["a", "a / weather", "a / weather / c"]
    assert outputs_of(talk(target, "x")) == ["x"]


def test_pydantic_ai_is_told_of_turns_that_were_written_down(assistant):
    case = Scenario("s").interact("a", "b").interact("c")

    assert asyncio.run(case.run(target=AgentTarget(assistant))).final_trace.last.outputs == "a / c"


def test_pydantic_ai_tells_of_its_tools(assistant):
    turn = talk(AgentTarget(assistant), "a", "weather").final_trace.last

    (call,) = turn.metadata["tool_calls"]
    assert (call.id, call.name, call.arguments, call.result) == ("t1", "weather_in", {"city": "Rome"}, "sunny in Rome")
    assert turn.metadata["usage"].calls == 2
    assert turn.metadata["usage"].input_tokens > 0


def test_conversations_with_one_agent_do_not_mix(assistant):
    suite = Suite("s", [Scenario(f"{n}").interact(f"{n}a").interact(f"{n}b") for n in range(10)])
    result = asyncio.run(suite.run(target=AgentTarget(assistant), parallel=True, verbose=False))

    assert [each.final_trace.last.outputs for each in result.results] == [f"{n}a / {n}b" for n in range(10)]


# --- OpenAI's Agents SDK -----------------------------------------------------------------


def test_the_agents_sdk_is_asked_by_its_runner(monkeypatch):
    class Result:
        def __init__(self, items):
            self.items = items
            call = {"type": "function_call", "name": "f", "arguments": '{"x": 1}', "call_id": "c1"}
            done = {"type": "function_call_output", "call_id": "c1", "output": "2"}
            self.new_items = [types.SimpleNamespace(raw_item=call), types.SimpleNamespace(raw_item=done)]
            self.final_output = f"{len(items)} items"
            usage = types.SimpleNamespace(input_tokens=1, output_tokens=2, total_tokens=3, requests=2)
            self.context_wrapper = types.SimpleNamespace(usage=usage)

        def to_input_list(self):
            return [*self.items, {"role": "assistant", "content": "x"}]

    class Runner:
        @classmethod
        async def run(cls, agent, input, **options):
            assert isinstance(agent, kind)
            return Result([{"role": "user", "content": input}] if isinstance(input, str) else input)

    module = types.ModuleType("agents")
    module.Runner = Runner
    monkeypatch.setitem(sys.modules, "agents", module)
    kind = of_package("agents.agent")
    result = talk(AgentTarget(kind()), "a", "b")

    assert outputs_of(result) == ["1 items", "3 items"]
    (call,) = result.final_trace.last.metadata["tool_calls"]
    assert (call.id, call.name, call.arguments, call.result) == ("c1", "f", {"x": 1}, "2")
    assert result.final_trace.last.metadata["usage"].calls == 2


# --- others ------------------------------------------------------------------------------


def test_a_crew_is_kicked_off_with_named_inputs():
    class Crew:
        def kickoff(self, inputs=None, input_files=None):
            return types.SimpleNamespace(raw=f"about {inputs}", token_usage=None)

    assert ask(AgentTarget(Crew()), {"topic": "x"}).outputs == "about {'topic': 'x'}"
    assert ask(AgentTarget(Crew()), "x").outputs == "about {'input': 'x'}"


def test_llama_index_gets_its_own_messages(monkeypatch):
    @dataclass
    class ChatMessage:
        role: str
        content: str

    module = types.ModuleType("llama_index.core.llms")
    module.ChatMessage = ChatMessage
    monkeypatch.setitem(sys.modules, "llama_index.core.llms", module)

    async def achat(self, message, chat_history=None):
        return types.SimpleNamespace(response=f"{message} after {[m.content for m in chat_history or []]}")

    engine = of_package("llama_index.core.chat_engine", achat=achat)()

    assert outputs_of(talk(AgentTarget(engine), "a", "b"))[1] == "b after ['a', 'a after []']"


def test_a_workflow_gives_a_handler_to_await():
    def run(self, user_msg=None, chat_history=None, **kwargs):
        loop = asyncio.get_running_loop()  # it cannot do without
        handler = loop.create_future()
        message = types.SimpleNamespace(role="assistant", content=f"re {user_msg}")
        handler.set_result(types.SimpleNamespace(response=message))
        return handler

    assert ask(AgentTarget(of_package("llama_index.core.agent", run=run)())).outputs == "re hello"


def test_haystack_pipelines_get_data():
    class Pipeline:
        def run(self, data, include_outputs_from=None):
            return {"llm": {"replies": [f"re {data['prompt']['q']}"], "meta": []}}

    assert ask(AgentTarget(Pipeline(), input={"prompt": {"q": "{{ inputs }}"}})).outputs == "re hello"


def test_smolagents_starts_anew_with_each_conversation():
    class CodeAgent:
        def __init__(self):
            self.memory = []

        def run(self, task, stream=False, reset=True, images=None):
            self.memory = [task] if reset else [*self.memory, task]
            return "/".join(self.memory)

    target = AgentTarget(CodeAgent())

    assert outputs_of(talk(target, "a", "b")) == ["a", "a/b"]
    assert outputs_of(talk(target, "c")) == ["c"]


def test_autogen_takes_its_task_by_name():
    class Team:
        async def run(self, *, task=None, cancellation_token=None):
            call = types.SimpleNamespace(id="1", name="f", arguments="{}")
            done = types.SimpleNamespace(call_id="1", name="f", content="no", is_error=True)
            messages = [
                types.SimpleNamespace(source="user", content=task),
                types.SimpleNamespace(source="a", content=[call]),
                types.SimpleNamespace(source="a", content=[done]),
                types.SimpleNamespace(source="a", content="done"),
            ]
            return types.SimpleNamespace(messages=messages, stop_reason=None)

    turn = ask(AgentTarget(Team()))

    assert turn.outputs == "done"
    assert turn.metadata["tool_calls"] == [ToolCall(id="1", name="f", error="no", message_index=1)]


def test_completions_get_messages():
    async def acompletion(messages, model="m", **kwargs):
        message = {"role": "assistant", "content": messages[-1]["content"].upper()}
        return {"choices": [{"message": message}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}

    turn = ask(AgentTarget(types.SimpleNamespace(acompletion=acompletion)))

    assert turn.outputs == "HELLO"
    assert turn.metadata["usage"].total_tokens == 2


def test_sessions_are_passed_by_name():
    class Agent:
        async def arun(self, input, session_id=None):
            return types.SimpleNamespace(content=f"{input} in {session_id}")

    assert ask(AgentTarget(Agent()), conversation_id="c1").outputs == "hello in c1"


# --- whatever can be asked ---------------------------------------------------------------


def test_sync_ones_run_off_the_loop():
    class Agent:
        def run(self, text):
            return threading.current_thread().name

    assert ask(AgentTarget(Agent())).outputs != threading.main_thread().name


def test_an_object_that_can_be_called():
    class Agent:
        async def __call__(self, inputs, trace, conversation_id, trial):
            return {"inputs": inputs, "turns": len(trace.interactions), "trial": trial}

    assert talk(AgentTarget(Agent()), "a", "b").final_trace.last.outputs == {"inputs": "b", "turns": 1, "trial": 1}


def test_a_dict_of_an_agent_that_nobody_knows_stays_whole():
    class Agent:
        def run(self, text):
            return {"answer": text, "sources": [1]}

    assert ask(AgentTarget(Agent())).outputs == {"answer": "hello", "sources": [1]}
    assert ask(AgentTarget(Agent(), output="$.answer")).outputs == "hello"
    assert ask(AgentTarget(Agent(), output=len)).outputs == 2
    with pytest.raises(TargetError, match="did you mean 'answer'"):
        ask(AgentTarget(Agent(), output="answr"))


def test_a_path_into_an_object():
    class Agent:
        def run(self, text):
            return types.SimpleNamespace(reply={"text": text}, _private=1)

    assert ask(AgentTarget(Agent(), output="reply.text")).outputs == "hello"


def test_streams_are_read_to_their_end():
    class Agent:
        def chat(self, text):
            yield from text

        async def arun(self, text):
            async def stream():
                for letter in text:
                    yield letter

            return stream()

    assert ask(AgentTarget(Agent(), "chat")).outputs == "hello"
    assert ask(AgentTarget(Agent())).outputs == "hello"


@pytest.mark.parametrize("is_async", [True, False])
def test_a_coroutine_that_an_agent_forgot_to_await_is_an_error_and_closed(is_async):
    async def inner():
        return "never"

    async def outer():
        return inner()

    class Forgets:
        if is_async:

            async def arun(self, question):
                return inner()
        else:

            def run(self, question):
                return outer()

    with pytest.raises(TargetError, match=r"gave the coroutine '.*inner' that nobody awaited") as caught:
        ask(AgentTarget(Forgets()))
    assert caught.value.kind == "bad_type"
    gc.collect()  # a warning that something was never awaited would be an error


def test_an_agent_of_its_own_for_each_attempt():
    class Agent:
        def __init__(self):
            self.memory = []

        def run(self, text):
            self.memory.append(text)
            return list(self.memory)

    result = talk(None, "a", "b", target_factory=lambda: AgentTarget(Agent()), multiple_runs=2)

    assert result.runs_executed == 2
    assert outputs_of(result) == [["a"], ["a", "b"]]


def test_what_an_agent_raises_comes_out():
    class Agent:
        def run(self, text):
            raise LookupError("no such order")

    with pytest.raises(LookupError, match="no such order"):
        talk(AgentTarget(Agent()), "a")


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(TypeError, match=r"no method of an agent, and cannot be called; it has: .*keys"):
        AgentTarget({})
    with pytest.raises(TypeError, match="no method 'ask'"):
        AgentTarget(Graph(), "ask")
    with pytest.raises(TypeError, match=r"'package\.module:name'"):
        AgentTarget("some agent")
    with pytest.raises(ConfigurationError, match="cannot be imported"):
        ask(AgentTarget("tests.targets.no_such:agent"))


THE_AGENT = Graph()


def test_an_agent_that_is_named_is_saved_and_loaded():
    target = AgentTarget("tests.targets.test_agent:THE_AGENT", options={"config": {"tags": []}})
    case = Scenario("s", target=target).interact("hi")
    loaded = Scenario.model_validate_json(case.model_dump_json())

    assert loaded.target == target
    assert asyncio.run(loaded.run()).final_trace.last.outputs == "1 messages"
    with pytest.raises(Exception, match="cannot be saved"):
        Scenario("s", target=AgentTarget(Graph())).model_dump_json()


def test_memories_are_bounded(monkeypatch, assistant):
    monkeypatch.setattr("giskard.checks.targets.agent._MAX_CONVERSATIONS", 2)
    target = AgentTarget(assistant)
    for number in range(5):
        ask(target, conversation_id=f"c{number}")

    assert list(target._memories) == ["c3", "c4"]
    trace = Trace(interactions=[{"inputs": "hello", "outputs": "hello"}])
    assert ask(target, "on", trace=trace, conversation_id="c0").outputs == "hello / on"


def test_a_result_that_resists_to_be_read_is_an_answer():
    class Result:
        output = "fine"

        @property
        def messages(self):
            raise RuntimeError("not now")

        @property
        def usage(self):
            raise RuntimeError("not now")

    turn = ask(AgentTarget(types.SimpleNamespace(run=lambda text: Result())))

    assert (turn.outputs, turn.metadata) == ("fine", {"target": {"kind": "agent", "method": "run"}})


def test_functions_and_targets_are_targets_already():
    target = HTTPTarget("http://localhost:1")

    assert as_target(len) is len
    assert as_target(target) is target
    assert isinstance(as_target(Graph()), AgentTarget)
    assert ask(as_target(len, output="$")).outputs == 5


def test_it_shows_what_it_asks():
    assert repr(AgentTarget(Graph(), "ainvoke")) == "AgentTarget(Graph, 'ainvoke')"
    assert repr(AgentTarget("a.b:c")) == "AgentTarget('a.b:c')"
    assert hash(AgentTarget("a.b:c")) == hash(AgentTarget("a.b:c"))
