"""The state that a live target goes on from: replayed turns, with the tools that were called in them."""

import asyncio
import json
import sys
import types
from dataclasses import dataclass, field
from typing import Any

import pytest

from examples.airline_support.conversations import DATA
from giskard.checks import Interaction, Scenario, ToolCall, Trace, load_traces, scenario_from_trace
from giskard.checks.targets import AgentTarget, CommandTarget, HTTPTarget, OpenAITarget
from giskard.checks.targets._conversation import as_text
from giskard.checks.targets._history import history_of
from tests.llm import server as model
from tests.targets.server import Server


def call(own, name, at=None, result=None, error=None, **arguments):
    return {
        "id": own,
        "name": name,
        "arguments": arguments,
        "result": result,
        "error": error,
        **({} if at is None else {"message_index": at}),
    }


def turn(inputs, outputs, *calls, **metadata):
    return Interaction(inputs=inputs, outputs=outputs, metadata={"tool_calls": list(calls), **metadata})


def asked(*calls, content=None):
    made = [{"id": own, "type": "function", "function": {"name": name, "arguments": args}} for own, name, args in calls]
    return {"role": "assistant", "content": content, "tool_calls": made}


def gave(own, content):
    return {"role": "tool", "tool_call_id": own, "content": content}


def said(role, content):
    return {"role": role, "content": content}


# Two calls at once, after a text; then one that failed.
RECORDED = Trace(
    interactions=[
        Interaction(inputs=None, outputs="Hello, I am Ada."),
        turn(
            "What do cards cost?",
            "Both are free.",
            call("c1", "get_fee", 3, {"eur": 0.0}, item="gold"),
            call("c2", "get_fee", 3, {"eur": 0.0}, item="blue"),
            call("c1", "log", 6, error="Error: no such log"),
            intermediate=[
                {"message_index": 3, "text": "Let me look."},
                {"message_index": 9, "text": "One more thing."},
            ],
            messages=["of", "no", "use"],
        ),
        turn("Block mine.", None, call("c3", "block", 12, id="c-17"), incomplete=True),
        Interaction(inputs="Is it blocked?", outputs="Yes."),
    ],
    annotations={"system_prompt": "Be kind."},
)
STATE = [
    said("assistant", "Hello, I am Ada."),
    said("user", "What do cards cost?"),
    asked(("c1", "get_fee", '{"item": "gold"}'), ("c2", "get_fee", '{"item": "blue"}'), content="Let me look."),
    gave("c1", '{"eur": 0.0}'),
    gave("c2", '{"eur": 0.0}'),
    asked(("c1_1", "log", "{}")),
    gave("c1_1", "Error: no such log"),
    said("assistant", "One more thing."),
    said("assistant", "Both are free."),
    said("user", "Block mine."),
    asked(("c3", "block", '{"id": "c-17"}')),
    gave("c3", "(no result)"),
    said("user", "Is it blocked?"),
]


def replayed():
    return scenario_from_trace(RECORDED, replay_until=3)


# --- each target -------------------------------------------------------------------------


def test_a_model_goes_on_from_the_recorded_state():
    with model.ModelServer() as server:
        server.script(model.text("It is."))
        target = OpenAITarget("m", server.url, system=RECORDED.annotations["system_prompt"])
        result = replayed().run_sync(target=target)

    assert server.requests[0].body["messages"] == [said("system", "Be kind."), *STATE]
    assert result.final_trace.last.outputs == "It is."
    assert result.final_trace.last.metadata["recorded"]["outputs"] == "Yes."


def test_each_call_has_one_result_that_follows_it():
    messages = STATE
    for position, message in enumerate(messages):
        own = [each["id"] for each in message.get("tool_calls", ())]
        following = messages[position + 1 : position + 1 + len(own)]
        assert [answer.get("tool_call_id") for answer in following] == own


def test_a_service_is_sent_the_recorded_state():
    body = {"history": "{{ history }}", "all": "{{ messages }}", "system": "{{ annotations.system_prompt }}"}
    with Server() as server:
        replayed().run_sync(target=HTTPTarget(server.url, body=body))

    sent = server.requests[0].json
    assert sent == {"history": STATE[:-1], "all": STATE, "system": "Be kind."}


def test_a_command_is_told_the_recorded_state():
    program = "import json, sys; print(json.dumps(json.load(sys.stdin)['history']))"
    target = CommandTarget([sys.executable, "-c", program], input="json", output="json")

    assert replayed().run_sync(target=target).final_trace.last.outputs == STATE[:-1]


class Graph:
    """As LangGraph's are called."""

    def __init__(self, checkpointer=None):
        self.checkpointer = checkpointer
        self.seen = []

    async def ainvoke(self, state, config=None):
        self.seen.append(state["messages"])
        return {"messages": [*state["messages"], said("assistant", "It is.")]}


def test_a_graph_gets_the_recorded_state():
    graph = Graph()
    replayed().run_sync(target=AgentTarget(graph))

    assert graph.seen == [STATE]


def test_a_graph_that_remembers_is_told_what_it_was_not_asked():
    graph = Graph(checkpointer=object())
    case = scenario_from_trace(RECORDED, replay_until=2).interact("And now?").interact("Hm?", "Hm!").interact("Bye")
    case.run_sync(target=AgentTarget(graph))

    assert graph.seen == [
        [*STATE[:-4], said("user", "Block mine.")],
        [said("user", "Is it blocked?")],
        [said("user", "And now?")],
        [said("user", "Hm?"), said("assistant", "Hm!"), said("user", "Bye")],
    ]


def test_pydantic_ai_gets_its_own_parts():
    pydantic_ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    seen: list[Any] = []

    def answer(messages, info):
        seen.extend(messages)
        return ModelResponse(parts=[TextPart("It is.")])

    replayed().run_sync(target=AgentTarget(pydantic_ai.Agent(FunctionModel(answer))))
    parts = [(part.part_kind, getattr(part, "tool_name", None), part) for message in seen for part in message.parts]

    assert [(kind, name) for kind, name, _ in parts] == [
        ("text", None),
        ("user-prompt", None),
        ("text", None),
        ("tool-call", "get_fee"),
        ("tool-call", "get_fee"),
        ("tool-return", "get_fee"),
        ("tool-return", "get_fee"),
        ("tool-call", "log"),
        ("tool-return", "log"),
        ("text", None),
        ("text", None),
        ("user-prompt", None),
        ("tool-call", "block"),
        ("tool-return", "block"),
        ("user-prompt", None),
    ]
    assert parts[3][2].args_as_dict() == {"item": "gold"}
    assert (parts[3][2].tool_call_id, parts[5][2].tool_call_id, parts[5][2].content) == ("c1", "c1", '{"eur": 0.0}')
    assert len(seen[3].parts) == 2


def test_the_agents_sdk_gets_items(monkeypatch):
    seen = []

    class Runner:
        @classmethod
        async def run(cls, agent, input, **options):
            seen.append(input)
            return types.SimpleNamespace(final_output="It is.")

    module = types.ModuleType("agents")
    module.Runner = Runner
    monkeypatch.setitem(sys.modules, "agents", module)
    kind = type("Agent", (), {"__module__": "agents.agent"})
    replayed().run_sync(target=AgentTarget(kind()))

    (items,) = seen
    assert items[2:6] == [
        said("assistant", "Let me look."),
        {"type": "function_call", "call_id": "c1", "name": "get_fee", "arguments": '{"item": "gold"}'},
        {"type": "function_call", "call_id": "c2", "name": "get_fee", "arguments": '{"item": "blue"}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"eur": 0.0}'},
    ]
    assert all("tool_calls" not in item and item.get("role") != "tool" for item in items)
    assert items[-1] == said("user", "Is it blocked?")


def test_llama_index_gets_its_own_messages(monkeypatch):
    @dataclass
    class ChatMessage:
        role: str
        content: str
        additional_kwargs: dict = field(default_factory=dict)

    seen = []

    class Engine:
        __module__ = "llama_index.core.chat_engine"

        async def achat(self, message, chat_history=None):
            seen.extend(chat_history)
            return types.SimpleNamespace(response="It is.")

    module = types.ModuleType("llama_index.core.llms")
    module.ChatMessage = ChatMessage
    monkeypatch.setitem(sys.modules, "llama_index.core.llms", module)
    replayed().run_sync(target=AgentTarget(Engine()))

    assert [(m.role, m.content) for m in seen] == [(m["role"], m["content"] or "") for m in STATE[:-1]]
    assert seen[2].additional_kwargs == {"tool_calls": STATE[2]["tool_calls"]}
    assert seen[3].additional_kwargs == {"tool_call_id": "c1"}
    assert seen[1].additional_kwargs == {}


# --- forms of calls ----------------------------------------------------------------------


def sent_of(*calls, **metadata):
    return history_of(Trace(interactions=[turn("q", "a", *calls, **metadata)]))[1:-1]


@pytest.mark.parametrize(
    ("made", "own", "arguments", "result"),
    [
        (ToolCall(id="x", name="f", arguments={"a": 1}, result=[1]), "x", '{"a": 1}', "[1]"),
        ({"id": "x", "function": {"name": "f", "arguments": '{"a": 1}'}}, "x", '{"a": 1}', "(no result)"),
        ({"name": "f"}, "call_1", "{}", "(no result)"),
        ({"name": "f", "arguments": "{broken", "result": "é"}, "call_1", "{broken", "é"),
        ({"name": "f", "result": 0.0, "error": "e"}, "call_1", "{}", "0.0"),
        ({"name": "f", "error": "e"}, "call_1", "{}", "e"),
        ({"name": "f", "result": ""}, "call_1", "{}", ""),
        ({"id": 7, "name": "f", "args": {"a": 1}, "result": "r"}, "7", '{"a": 1}', "r"),
    ],
)
def test_a_call_of_any_form(made, own, arguments, result):
    assert sent_of(made) == [asked((own, "f", arguments)), gave(own, result)]


@pytest.mark.parametrize("made", [{"arguments": {}}, {"name": ""}, {"name": 1}, "f()", None])
def test_what_is_no_call_is_left_out(made):
    assert sent_of(made) == []


@pytest.mark.parametrize("calls", [None, "f", {"name": "f"}, 3])
def test_what_is_no_list_of_calls_is_left_out(calls):
    trace = Trace(interactions=[Interaction(inputs="q", outputs="a", metadata={"tool_calls": calls})])

    assert history_of(trace) == [said("user", "q"), said("assistant", "a")]


def test_calls_without_a_position_come_one_after_the_other():
    sent = sent_of({"name": "f", "result": 1}, {"name": "g", "result": 2}, intermediate=["First.", {"text": "Then."}])

    assert sent == [
        said("assistant", "First."),
        said("assistant", "Then."),
        asked(("call_1", "f", "{}")),
        gave("call_1", "1"),
        asked(("call_2", "g", "{}")),
        gave("call_2", "2"),
    ]


def test_ids_that_come_again_are_told_apart():
    trace = Trace(interactions=[turn("q", "a", call("x", "f", result=1)), turn("q", "b", call("x", "f", result=2))])
    own = [message["tool_call_id"] for message in history_of(trace) if message["role"] == "tool"]

    assert own == ["x", "x_1"]
    assert [message["tool_call_id"] for message in history_of(trace, since=1) if message["role"] == "tool"] == ["x_1"]


def test_outputs_that_are_messages_tell_of_their_calls_themselves():
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "function": {"name": "f"}}]}
    trace = Trace(
        interactions=[
            Interaction(inputs="q", outputs=message, metadata={"tool_calls": [ToolCall(id="x", name="f")]}),
            turn(gave("x", "1"), [said("assistant", "a"), said("assistant", "b")]),
            turn("q", "a", call("x", "g", result=1)),
        ]
    )
    sent = history_of(trace)

    assert [message["role"] for message in sent] == [
        *("user", "assistant", "tool", "assistant", "assistant"),
        *("user", "assistant", "tool", "assistant"),
    ]
    assert sent[-2] == gave("x_1", "1")


def test_what_was_not_answered_and_what_was_answered_with_nothing():
    trace = Trace(
        interactions=[
            Interaction(inputs="a", outputs=None, metadata={"incomplete": True}),
            Interaction(inputs="b", outputs=None),
        ]
    )
    assert history_of(trace) == [said("user", "a"), said("user", "b"), said("assistant", "")]
    assert history_of(None) == []


def test_a_call_whose_id_comes_again_is_answered_where_it_was_made():
    """The answer to a call of the same id, later on, is not the answer to this one."""
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "function": {"name": "f"}}]}
    case = Scenario("s").interact("q", message).interact("never mind", message).interact(gave("x", "1"))
    with model.ModelServer() as server:
        server.script(model.text("Fine."))
        asyncio.run(case.run(target=OpenAITarget("m", server.url)))

    assert [m["content"] for m in server.requests[0].body["messages"] if m["role"] == "tool"] == ["(no result)", "1"]


def test_the_state_of_a_long_conversation_is_json():
    trace = Trace(interactions=[turn(f"q{n}", f"a{n}", call("x", "f", result={"n": n})) for n in range(500)])
    sent = history_of(trace)

    assert len(sent) == 2_000
    assert len({message["tool_call_id"] for message in sent if message["role"] == "tool"}) == 500
    json.dumps(sent)


def test_recordings_of_a_real_agent_go_on_from_where_they_stood():
    traces = load_traces(DATA, format="tau_bench", stop_markers=["###STOP###"])
    trace = next(trace for trace in traces if len({call.id for call in trace.tool_calls}) < len(trace.tool_calls))
    until = len(trace.interactions) - 1
    with model.ModelServer() as server:
        server.script(model.text("Goodbye."))
        result = scenario_from_trace(trace, replay_until=until).run_sync(target=OpenAITarget("m", server.url))
    sent = server.requests[0].body["messages"]

    assert result.final_trace.interactions[:until] == trace.interactions[:until]
    recorded = [call for turn in trace.interactions[:until] for call in turn.metadata.get("tool_calls", ())]
    calling = [(position, message) for position, message in enumerate(sent) if "tool_calls" in message]
    made = [(each["id"], message, position) for position, message in calling for each in message["tool_calls"]]
    assert len(made) == len(recorded) == len({own for own, _, _ in made})
    for (own, message, position), call in zip(made, recorded, strict=True):
        assert sent[position + 1] == gave(own, as_text(call["result"] if call["error"] is None else call["error"]))
        assert message["tool_calls"][0]["function"]["name"] == call["name"]
    said_of_it = [m["content"] for m in sent if m["role"] == "assistant" and "tool_calls" not in m]
    assert said_of_it == [turn.outputs for turn in trace.interactions[:until]]
