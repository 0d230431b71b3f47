"""Chat completions, asked on loopback."""

import asyncio
import json

import pytest

from giskard.checks import Scenario, Suite, from_fn
from giskard.checks.core.exceptions import ConfigurationError, LimitExceededError
from giskard.checks.core.usage import ToolCall, Usage
from giskard.checks.targets import OpenAITarget, TargetError
from tests.llm import server as model
from tests.targets.server import PAUSE, Server, chunked, json_reply, sse


@pytest.fixture
def server():
    with model.ModelServer() as running:
        yield running


def ask(target, inputs="hello", **context):
    return asyncio.run(target(inputs, **context))


def failure_of(target, inputs="hello"):
    with pytest.raises(TargetError) as caught:
        ask(target, inputs)
    return caught.value


def sent(server, position=-1):
    return [(m["role"], m["content"]) for m in server.requests[position].body["messages"]]


def test_a_text_is_answered_with_a_text(server):
    server.script(model.text("Good day."))
    turn = ask(OpenAITarget("some-model", server.url, system="Be kind."))

    assert turn.outputs == "Good day."
    assert turn.metadata["usage"] == Usage(input_tokens=500, output_tokens=20, total_tokens=520, calls=1)
    call = turn.metadata["target"]
    assert (call["kind"], call["model"], call["finish_reason"]) == ("openai", "some-model", "stop")
    assert call["http"] == {"status": 200, "tries": 1}
    assert set(turn.metadata) == {"target", "usage"}
    assert "tool_calls" not in turn.metadata
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].body == {
        "model": "some-model",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hello"}],
    }
    assert "authorization" not in {name.lower() for name in server.requests[0].headers}


def test_the_conversation_goes_with_each_turn(server):
    server.script(model.text("A1"), model.text("A2"))
    target = OpenAITarget("m", server.url)
    case = Scenario("s").interact("Q0", "A0").interact("Q1").interact("Q2").interact("Q3", "A3")
    result = asyncio.run(case.run(target=target))

    assert [turn.outputs for turn in result.final_trace.interactions] == ["A0", "A1", "A2", "A3"]
    assert sent(server) == [("user", "Q0"), ("assistant", "A0"), ("user", "Q1"), ("assistant", "A1"), ("user", "Q2")]


def test_attempts_that_run_at_once_do_not_mix(server):
    server.default = lambda request: model.answer_of(model.text(f"re {request.texts[-1]}"), request)
    suite = Suite("many", [Scenario(f"{n}").interact(f"{n}a").interact(f"{n}b").interact(f"{n}c") for n in range(20)])
    asyncio.run(suite.run(target=OpenAITarget("m", server.url), parallel=True, verbose=False))

    for request in server.requests:
        assert len({text.removeprefix("re ")[:-1] for text in request.texts}) == 1
    assert sorted(len(request.texts) for request in server.requests) == [1] * 20 + [3] * 20 + [5] * 20


def test_each_attempt_starts_anew(server):
    server.default = model.text("again")
    case = Scenario("s").interact("Q").check(from_fn(lambda trace: True))
    asyncio.run(case.run(target=OpenAITarget("m", server.url), multiple_runs=3))

    assert [sent(server, n) for n in range(3)] == [[("user", "Q")]] * 3


def test_calls_of_tools_are_noted_and_answered(server):
    server.script(model.tool_calls(), model.text("It is 21 degrees."), model.text("Bye."))
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    answer = {"role": "tool", "tool_call_id": "call_1", "content": "21"}
    case = Scenario("s").interact("Weather?").interact(answer).interact("Thanks")
    result = asyncio.run(case.run(target=OpenAITarget("m", server.url, tools=tools)))

    first = result.final_trace.interactions[0]
    assert first.outputs["tool_calls"][0]["function"] == {"name": "look_up", "arguments": '{"q": 1}'}
    assert first.metadata["tool_calls"] == [ToolCall(id="call_1", name="look_up", arguments={"q": 1})]
    assert server.requests[0].body["tools"] == tools
    assert [m["role"] for m in server.requests[2].body["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert server.requests[2].body["messages"][1]["tool_calls"][0]["id"] == "call_1"


def test_a_call_that_nobody_answers_does_not_end_the_conversation(server):
    server.script(model.tool_calls("One moment."), model.text("Fine."))
    case = Scenario("s").interact("Weather?").interact("Never mind")
    asyncio.run(case.run(target=OpenAITarget("m", server.url)))

    assert server.requests[1].body["messages"][2] == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "(no result)",
    }


def test_a_stream_is_put_together(server):
    server.script(model.stream("Hel", "lo"))
    turn = ask(OpenAITarget("m", server.url, stream=True))

    assert turn.outputs == "Hello"
    assert turn.metadata["time_to_first_chunk"] > 0
    assert turn.metadata["usage"].total_tokens == 520
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


def test_calls_of_tools_in_a_stream():
    def chunk(delta, reason=None):
        return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    pieces = [
        {"role": "assistant", "content": None},
        {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]},
        {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"x": '}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]},
    ]
    with Server(sse(*map(chunk, pieces), chunk({}, "tool_calls"))) as server:
        turn = ask(OpenAITarget("m", server.url, stream=True))

    calls = turn.metadata["tool_calls"]
    assert [(call.id, call.name, call.arguments) for call in calls] == [("a", "f", {"x": 1}), ("b", "g", {})]
    assert turn.outputs["content"] is None


def test_a_stream_that_breaks_off_is_an_error():
    chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": "Hel"}}]})
    with Server(sse(chunk, done=False), sse(json.dumps({"error": {"message": "overloaded"}}))) as server:
        target = OpenAITarget("m", server.url, stream=True)
        assert "ended its stream without a finish_reason, after: 'Hel'" in str(failure_of(target))
        assert "overloaded" in str(failure_of(target))


def test_a_stream_that_only_says_that_it_is_done_is_an_error():
    chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": "Hel"}}]})
    with Server(sse(chunk), sse(), sse('{"choices": []}', done=False)) as server:
        target = OpenAITarget("m", server.url, stream=True)
        for so_far in ("'Hel'", "nothing", "nothing"):
            error = failure_of(target)
            assert f"ended its stream without a finish_reason, after: {so_far}" in str(error)
            assert error.kind == "network"


def test_an_endless_stream_of_a_model_ends_with_the_timeout():
    chunk = "data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": "x"}}]}) + "\n\n"
    with Server(chunked(*[chunk, PAUSE] * 1000)) as server:
        with pytest.raises(LimitExceededError, match=r"timeout after 0\.3 s"):
            ask(OpenAITarget("m", server.url, stream=True, timeout=0.3))
        assert server.gone.wait(10)


def test_a_refusal_is_an_answer(server):
    server.script(
        model.refusal("I cannot."),
        model.content_filter(),
        model.completion({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
    )
    target = OpenAITarget("m", server.url)
    refused, filtered, parts = ask(target), ask(target), ask(target)

    assert (refused.outputs, refused.metadata["target"]["refusal"]) == ("I cannot.", "I cannot.")
    assert (filtered.outputs, filtered.metadata["target"]["finish_reason"]) == ("", "content_filter")
    assert parts.outputs == "ab"


def test_params_go_into_the_request_and_none_takes_out(server):
    server.script(model.stream("x"))
    ask(OpenAITarget("m", server.url, stream=True, params={"temperature": 0, "stream_options": None}))

    assert server.requests[0].body["temperature"] == 0
    assert "stream_options" not in server.requests[0].body


def test_parts_and_messages_are_sent_as_they_are(server):
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    ask(OpenAITarget("m", server.url), parts)
    ask(OpenAITarget("m", server.url), [{"role": "system", "content": "x"}, {"role": "user", "content": "y"}])

    assert sent(server, 0) == [("user", parts)]
    assert sent(server, 1) == [("system", "x"), ("user", "y")]


@pytest.mark.parametrize(
    ("behaviour", "kind", "retryable", "message"),
    [
        (model.error(401, "Incorrect key"), "authentication", False, "no key was sent"),
        (model.out_of_credit(), "quota", False, "exceeded your current quota"),
        (model.error(400, "filtered", code="content_filter"), "refused", False, "filtered"),
        (model.error(404, "no such model"), "model_error", False, "no such model"),
        (model.error(500), "model_error", True, "something went wrong"),
        (model.malformed(), "bad_type", False, "is no JSON"),
        (model.Reply({"error": {"message": "odd"}}), "model_error", False, "no choices[0].message: '{"),
        (model.Reply({"choices": []}), "model_error", False, "no choices[0].message"),
        (model.dropped(), "network", True, "dropped the connection"),
    ],
)
def test_failures_are_told_apart(server, behaviour, kind, retryable, message):
    server.script(behaviour)
    error = failure_of(OpenAITarget("m", server.url, max_retries=0))

    assert message in str(error)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert len(server.requests) == 1


def test_rate_limits_are_waited_for(server):
    server.script(model.rate_limited(0), model.text("fine"))

    assert ask(OpenAITarget("m", server.url)).metadata["target"]["http"]["tries"] == 2


def test_a_server_that_does_not_answer(server):
    server.script(model.held())
    with pytest.raises(LimitExceededError, match=r"timeout after 0\.2 s"):
        ask(OpenAITarget("m", server.url, timeout=0.2))
    server.release()


# --- keys --------------------------------------------------------------------------------


def authorizations(server):
    return [{k.lower(): v for k, v in request.headers.items()}.get("authorization") for request in server.requests]


def test_the_key_of_the_environment_goes_to_the_address_of_the_environment(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    ask(OpenAITarget("m"))

    assert authorizations(server) == ["Bearer sk-environment"]
    assert server.requests[0].path == "/v1/chat/completions"


def test_it_goes_nowhere_else_unasked(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    ask(OpenAITarget("m", server.url))
    ask(OpenAITarget("m", server.url, "${OPENAI_API_KEY}"))
    ask(OpenAITarget("m", server.url, "sk-given"))
    ask(OpenAITarget("m", server.url, headers={"authorization": "Basic ${OPENAI_API_KEY}"}))

    assert authorizations(server) == [None, "Bearer sk-environment", "Bearer sk-given", "Basic sk-environment"]


def test_a_key_is_neither_shown_nor_saved(server):
    server.script(model.error(401, "Incorrect API key provided: sk-given"))
    target = OpenAITarget("m", server.url, "sk-given")

    assert "sk-given" not in repr(target) + str(failure_of(target))
    with pytest.raises(Exception, match="a secret; what is to be saved") as caught:
        Scenario("s", target=target).model_dump_json()
    assert "sk-given" not in str(caught.value)


def test_it_is_saved_and_loaded():
    target = OpenAITarget("m", "http://localhost:1/v1", "${KEY}", system="x", params={"temperature": 0})
    case = Scenario("s", target=target).interact("hi")

    assert Scenario.model_validate_json(case.model_dump_json()).target == target


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"model": "m", "base_url": "localhost"},
        {"model": "m", "base_url": "http://a:b@host/v1"},
        {"model": "m", "base_url": "http://host/v1?key=a:b"},
        {"model": "m", "base_url": "http://host/${A}"},
        {"model": "m", "timeout": -1},
    ],
)
def test_options_that_cannot_be_are_refused(options):
    with pytest.raises(ValueError, match="expected") as caught:
        OpenAITarget(**options)
    assert "a:b" not in str(caught.value)


def test_tokens_that_a_server_does_not_count_are_unknown():
    data = {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 3}}
    with Server(json_reply(data), json_reply({"choices": data["choices"]})) as server:
        some, none = ask(OpenAITarget("m", server.url)), ask(OpenAITarget("m", server.url))

    assert some.metadata["usage"] == Usage(input_tokens=3, calls=1)
    assert "usage" not in none.metadata


# --- names of models ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["openai/gpt-5-mini", "openai:gpt-5-mini", "OpenAI/gpt-5-mini", "gpt-5-mini"])
def test_a_name_may_say_that_it_is_of_openai(name, server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    ask(OpenAITarget(name))

    assert server.requests[0].body["model"] == "gpt-5-mini"


@pytest.mark.parametrize("name", ["openai/gpt-oss-20b", "meta-llama/Llama-3", "llama3:8b", "ft:gpt-5:me::x"])
def test_a_server_of_ones_own_has_names_of_its_own(name, server, monkeypatch):
    ask(OpenAITarget(name, server.url))
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    ask(OpenAITarget("meta-llama/Llama-3"))

    assert [request.body["model"] for request in server.requests] == [name, "meta-llama/Llama-3"]


@pytest.mark.parametrize(("name", "bare"), [("ollama/llama3", "llama3"), ("anthropic:claude-x", "claude-x")])
def test_a_model_of_another_server_is_not_asked_for_at_openai(name, bare, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigurationError) as caught:
        ask(OpenAITarget(name))

    assert f"the model {name!r} is not one of OpenAI's" in str(caught.value)
    assert f"OpenAITarget({bare!r}, base_url='http://…/v1')" in str(caught.value)


def test_a_user_who_notes_the_same_names_keeps_them(server):
    server.script(model.text("x"))
    noted = {"model": "mine", "finish_reason": "mine", "http": "mine"}
    case = Scenario("s").interact("q", OpenAITarget("m", server.url), metadata=noted)
    metadata = case.run_sync().final_trace.last.metadata

    assert {name: metadata[name] for name in noted} == noted
    assert metadata["target"]["model"] == "m"
