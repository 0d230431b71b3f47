"""The real client against a real server on loopback."""

import asyncio
import json
import os
import threading
import warnings
import weakref
from types import SimpleNamespace

import pytest
from pydantic import BaseModel

from giskard.checks.llm import _chat
from giskard.checks.llm._addresses import Address
from giskard.checks.llm._options import Options
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.generator import Generator, _open
from giskard.checks.llm.schemas import schema_text
from giskard.checks.llm.types import Completion, GenerationParams, Message
from tests.llm import server as serving
from tests.llm.server import ModelServer

KEY = "sk-test-0123456789abcdefghij"
HELLO = [Message("user", "Hello?")]


class Verdict(BaseModel):
    """What a judge says."""

    passed: bool
    reason: str | None = None


class Opaque(BaseModel, arbitrary_types_allowed=True):
    """A class that no JSON schema can be made of."""

    event: threading.Event


class Loose(BaseModel):
    """A schema that cannot be strict: any fields may stand in it."""

    scores: dict[str, float]


def asking(server: ModelServer, model: str = "openai/gpt-4o-mini", **fields) -> Generator:
    return Generator(model=model, **{"base_url": server.url, "api_key": KEY} | fields)


def ask(generator: Generator, messages=HELLO, **params) -> Completion:
    return asyncio.run(generator.complete(messages, GenerationParams(**params) if params else None))


def ask_all(generator: Generator, *formats: type[BaseModel]) -> list[Completion]:
    """The answers in these formats, one after the other in one loop."""

    async def all_of_them():
        return [await generator.complete(HELLO, GenerationParams(response_format=format)) for format in formats]

    return asyncio.run(all_of_them())


def failure(generator: Generator, **params) -> ModelCallError:
    with pytest.raises(ModelCallError) as caught:
        ask(generator, **params)
    assert KEY not in str(caught.value)
    return caught.value


# --- what is asked -----------------------------------------------------------------------


def test_a_conversation_is_asked_and_answered(server):
    server.script(serving.text("Paris."))
    messages = [
        Message("system", "Be short."),
        Message("user", "Hi — 🙂?"),
        Message("assistant", "Hi."),
        Message("user", "What is the capital of France?"),
    ]

    answer = ask(asking(server), messages)

    assert (answer.text, answer.finish_reason, answer.model, answer.source) == (
        "Paris.",
        "stop",
        "gpt-4o-mini",
        "model",
    )
    assert answer.raw["id"] == "chatcmpl-1"
    sent = server.requests[0]
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body["messages"] == [{"role": m.role, "content": m.content} for m in messages]
    assert set(sent.body) == {"model", "messages", "stream"}


def test_nothing_about_the_machine_is_sent_along(server):
    ask(asking(server))

    assert not [name for name in server.requests[0].headers if name.startswith("x-stainless")]


def test_a_lone_surrogate_in_a_prompt_costs_no_call(server):
    assert ask(asking(server), [Message("user", "half a smile: \ud83d")]).text
    assert server.requests[0].texts == ["half a smile: \ud83d"]


def test_the_fields_say_how_to_answer_and_a_call_says_otherwise(server):
    generator = asking(server, temperature=0.2, max_tokens=50, seed=7)

    ask(generator)
    ask(generator, temperature=0.9, seed=8)
    ask(generator, max_tokens=5)

    bodies = [request.body for request in server.requests]
    assert [(b["temperature"], b["max_completion_tokens"], b["seed"]) for b in bodies] == [
        (0.2, 50, 7),
        (0.9, 50, 8),
        (0.2, 5, 7),
    ]


def test_what_a_model_does_not_take_is_left_out(server):
    ask(asking(server, "openai/gpt-5-mini", temperature=0.0, max_tokens=50))

    assert "temperature" not in server.requests[0].body
    assert server.requests[0].body["max_completion_tokens"] == 50


@pytest.mark.parametrize(
    ("effort", "sent"), [(None, True), ("none", True), ("low", False)], ids=["by default", "none", "low"]
)
def test_a_temperature_goes_to_a_model_that_may_think_when_it_does_not(server, effort, sent):
    extra = {} if effort is None else {"reasoning_effort": effort}

    ask(asking(server, "openai/gpt-5.1", temperature=0.3, top_p=0.9, extra=extra))

    body = server.requests[0].body
    assert ("temperature" in body, "top_p" in body) == (sent, sent)
    assert body.get("reasoning_effort") == effort


def test_a_temperature_is_left_out_for_a_model_of_anthropic_that_takes_none(server):
    ask(asking(server, "anthropic:claude-opus-4-7", base_url=server.root, temperature=0.3, max_tokens=50))

    assert "temperature" not in server.requests[0].body


def test_warnings_of_others_are_not_lost_while_a_request_is_written(server):
    async def warned():
        call = asyncio.create_task(asking(server, "openai/gpt-5-mini", temperature=0.5).complete(HELLO))
        count = 0
        while not call.done():
            warnings.warn("mine", UserWarning, stacklevel=1)
            count += 1
            await asyncio.sleep(0)
        return count

    asyncio.run(asking(server).complete(HELLO))  # the library is imported
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        count = asyncio.run(warned())
        assert warnings.filters == filters

    assert {str(warning.message) for warning in seen} == {"mine"}
    assert len(seen) == count


def count_forms(monkeypatch) -> list[str]:
    """The models of which a request is written from now on."""
    models: list[str] = []
    write = _chat._new_form

    def counted(address, *key):
        models.append(address.model)
        return write(address, *key)

    monkeypatch.setattr(_chat, "_new_form", counted)
    return models


def test_first_calls_at_one_time_write_their_request_once(server, monkeypatch):
    models = count_forms(monkeypatch)
    generator = asking(server)

    async def fifty():
        await generator._opened(_open)  # so that all of them come to the request at once
        return await asyncio.gather(*[generator.complete(HELLO) for _ in range(50)])

    assert all(answer.text for answer in asyncio.run(fifty()))
    assert models == ["gpt-4o-mini"]


def test_a_request_that_is_being_written_is_there_for_the_others_when_one_gives_up(server, monkeypatch):
    models = count_forms(monkeypatch)
    generator = asking(server)

    async def some():
        await generator._opened(_open)  # so that all of them come to the request at once
        tasks = [asyncio.create_task(generator.complete(HELLO)) for _ in range(5)]
        while not models:
            await asyncio.sleep(0)
        tasks[0].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, *others = asyncio.run(some())

    assert isinstance(first, asyncio.CancelledError)
    assert all(answer.text for answer in others)
    assert models == ["gpt-4o-mini"]


def test_a_request_that_cannot_be_written_fails_all_that_wait_and_is_tried_anew_by_the_next(server, monkeypatch):
    models = count_forms(monkeypatch)
    generator = asking(server)
    params = GenerationParams(response_format=Opaque)

    async def some():
        await generator._opened(_open)  # so that all of them come to the request at once
        failed = await asyncio.gather(*[generator.complete(HELLO, params) for _ in range(5)], return_exceptions=True)
        assert models == ["gpt-4o-mini"]
        return failed + await asyncio.gather(generator.complete(HELLO, params), return_exceptions=True)

    errors = asyncio.run(some())

    assert all(isinstance(error, ModelCallError) and "JsonSchema" in error.message for error in errors)
    assert len(set(map(id, errors))) == 6
    assert len(models) == 2


def test_extra_and_top_p_are_sent_as_they_are(server):
    generator = asking(server, top_p=0.5, extra={"reasoning_effort": "low", "provider": {"order": ["a"]}})

    ask(generator)
    ask(generator, temperature=0.1)

    for request in server.requests:
        assert request.body["top_p"] == 0.5
        assert request.body["provider"] == {"order": ["a"]}
        assert request.body["reasoning_effort"] == "low"
    assert server.requests[1].body["temperature"] == 0.1


def test_extra_and_headers_go_to_anthropic_too(server):
    headers = {"anthropic-beta": "one"}
    generator = asking(
        server, "anthropic:claude-sonnet-5-5", base_url=server.root, extra={"service_tier": "auto"}, headers=headers
    )

    ask(generator)

    assert server.requests[0].body["service_tier"] == "auto"
    assert "one" in server.requests[0].headers["anthropic-beta"]


@pytest.mark.parametrize(("setting", "field"), [("extra_body", "extra"), ("extra_headers", "headers")])
def test_what_a_provider_has_no_place_for_is_a_failure_and_is_not_lost(setting, field):
    from giskard.checks.llm._asking import settings_of

    model = SimpleNamespace(profile={}, unsupported_settings=frozenset({setting, "seed", "max_retries"}))
    options, address = Options(seed=1, extra='{"a": 1}'), Address("some", "model", headers=(("X-A", "1"),))

    with pytest.raises(ModelCallError, match=f"takes no {field}") as caught:
        settings_of(model, options, address)  # type: ignore[arg-type]
    assert caught.value.kind == "config"
    assert settings_of(model, Options(seed=1, top_p=0.1), Address("some", "model")) == {"top_p": 0.1}  # type: ignore[arg-type]


def test_one_conversation_after_another_gets_its_own_messages(server):
    generator = asking(server)

    async def several():
        for words in ("one", "two", "three"):
            await generator.complete([Message("user", words)])
        await generator.complete([Message("system", "s"), Message("user", "four")])

    asyncio.run(several())

    assert [request.texts for request in server.requests] == [["one"], ["two"], ["three"], ["s", "four"]]


# --- structured output -------------------------------------------------------------------


def test_a_schema_is_asked_for_strictly_where_it_can_be(server):
    answer = ask(asking(server), response_format=Verdict)

    wanted = server.requests[0].body["response_format"]["json_schema"]
    assert wanted["name"] == "Verdict"
    assert wanted["strict"] is True
    assert wanted["schema"]["required"] == ["passed", "reason"]
    assert wanted["schema"]["additionalProperties"] is False
    assert "What a judge says." not in json.dumps(wanted)
    assert Verdict.model_validate_json(answer.text or "").passed is True


def test_a_schema_with_free_fields_is_not_asked_for_strictly(server):
    ask(asking(server), response_format=Loose)

    assert server.requests[0].body["response_format"]["json_schema"]["strict"] is False


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "anthropic:claude-sonnet-5-5"])
def test_a_class_without_a_schema_is_a_failure_that_says_so(server, model):
    error = failure(asking(server, model), response_format=Opaque)

    assert "JsonSchema" in str(error)
    assert server.requests == []


def test_no_messages_are_a_failure_or_an_answer_but_nothing_else(server):
    try:
        ask(asking(server), [])
    except ModelCallError as error:
        assert error.message


def test_the_text_is_given_as_it_came_whether_it_fits_or_not(server):
    server.script(serving.text("I would rather not say."))

    assert ask(asking(server), response_format=Verdict).text == "I would rather not say."


def test_a_server_that_takes_no_schema_finds_it_in_the_prompt_and_is_not_asked_for_it_again(server):
    server.script(serving.error(400, "Unsupported parameter: 'response_format' of type 'json_schema'"))
    generator = asking(server, "qwen3:8b")

    first, _ = ask_all(generator, Verdict, Loose)

    refused, prompted, later = server.requests
    assert "response_format" in refused.body
    assert "response_format" not in prompted.body
    assert prompted.texts[-1].startswith("Hello?\n\n")
    assert schema_text(Verdict) in prompted.texts[-1]
    assert "response_format" not in later.body
    assert schema_text(Loose) in later.texts[-1]
    assert first.usage is not None
    assert first.usage.calls == 2


def test_a_schema_that_is_refused_itself_leaves_the_others_as_they_are(server):
    server.script(serving.error(400, "Invalid schema for response_format 'Loose': 'additionalProperties' is required"))

    ask_all(asking(server), Loose, Verdict, Loose)

    assert ["response_format" in request.body for request in server.requests] == [True, False, True, False]


def test_a_schema_is_given_up_only_when_there_is_an_answer_without_it(server):
    quoted = serving.error(400, "cannot read: 'is response_format a guided grammar?'")
    server.script(quoted, serving.error(400, "cannot read it either"))
    generator = asking(server)

    async def both():
        with pytest.raises(ModelCallError, match="cannot read it either"):
            await generator.complete(HELLO, GenerationParams(response_format=Verdict))
        await generator.complete(HELLO, GenerationParams(response_format=Verdict))

    asyncio.run(both())

    assert ["response_format" in request.body for request in server.requests] == [True, False, True]


@pytest.mark.parametrize(
    "words", ["I read: 'a guided tour of English grammar'", "a JSON schema is what you ask about; I read no such thing"]
)
def test_words_of_a_prompt_that_a_server_quotes_are_no_reason_to_give_up_schemas(server, words):
    server.script(serving.error(400, words))

    failure(asking(server), response_format=Verdict)

    assert len(server.requests) == 1


def test_classes_that_were_refused_are_not_kept_alive(server):
    server.script(serving.error(400, "Invalid schema for response_format 'Verdict'"))

    async def refused():
        generator = asking(server)
        await generator.complete(HELLO, GenerationParams(response_format=Verdict))
        client, _ = await generator._opened(_open)
        return client._refused

    found = asyncio.run(refused())
    assert set(found) == {Verdict}
    assert isinstance(found, weakref.WeakSet)


def test_another_bad_request_is_no_reason_to_ask_differently(server):
    server.script(serving.error(400, "messages: too many of them"))

    error = failure(asking(server), response_format=Verdict)

    assert (error.kind, error.retryable, error.status, len(server.requests)) == ("model_error", False, 400, 1)
    assert "too many of them" in str(error)


# --- what comes back ---------------------------------------------------------------------


def test_usage_and_cost_are_what_the_provider_says(server):
    used = {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "total_tokens": 18,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    server.script(serving.text("x", usage=used))

    usage = ask(asking(server)).usage

    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.calls) == (11, 7, 18, 1)
    assert usage.cost == pytest.approx(0.00000555)


def test_no_usage_is_unknown_and_never_zero(server):
    server.script(serving.text("x", usage=None))

    usage = ask(asking(server)).usage

    assert usage is not None
    assert usage.calls == 1
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.cost) == (None, None, None, None)


@pytest.mark.parametrize("model", ["openai/gpt-99-nobody-knows", "ollama/llama3.2", "llama3.2:1b"])
def test_the_cost_of_a_model_without_a_price_is_unknown(server, model):
    usage = ask(asking(server, model)).usage

    assert usage is not None
    assert usage.input_tokens == 500
    assert usage.cost is None


def test_tools_are_ignored_and_the_text_is_taken(server):
    server.script(serving.tool_calls("It is sunny."), serving.tool_calls(None))
    generator = asking(server)

    assert ask(generator).text == "It is sunny."
    assert (ask(generator).text, ask(generator).text) == (None, "Hello from the test server.")


def test_texts_in_parts_are_put_together(server):
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]
    server.script(serving.completion({"content": parts}))

    assert ask(asking(server)).text == "ab"


def test_an_answer_that_was_cut_says_so(server):
    server.script(serving.text("It is", finish_reason="length"))

    answer = ask(asking(server))

    assert (answer.text, answer.finish_reason) == ("It is", "length")


def test_a_stream_that_nobody_asked_for_is_read(server):
    server.script(serving.stream("It ", "is ", "so."))

    answer = ask(asking(server))

    assert (answer.text, answer.finish_reason, answer.model) == ("It is so.", "stop", "gpt-4o-mini")
    assert answer.usage is not None
    assert answer.usage.total_tokens == 520


def test_a_huge_body_and_a_slow_one_are_read_to_their_end(server):
    server.script(serving.text("x" * 3_000_000), serving.drip(0.01, 30))
    generator = asking(server)

    assert len(ask(generator).text or "") == 3_000_000
    assert ask(generator).text == "slowly, slowly"


# --- providers ---------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["ollama", "vllm", "llama.cpp", "llamacpp", "lmstudio", "litellm"])
def test_a_local_server_is_one_line_and_needs_no_key(server, monkeypatch, prefix):
    variable = {"llamacpp": "LLAMA_CPP", "llama.cpp": "LLAMA_CPP"}.get(prefix, prefix.upper())
    monkeypatch.setenv(f"{variable}_BASE_URL", server.root)

    answer = ask(Generator(model=f"{prefix}/llama3.2:1b"), response_format=Verdict)

    assert answer.text
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].body["model"] == "llama3.2:1b"
    assert "json_schema" in server.requests[0].body["response_format"]


def test_the_environment_is_read_when_the_model_is_asked(server, monkeypatch):
    generator = Generator(model="gpt-4o-mini")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "first-key")

    async def twice():
        await generator.complete(HELLO)
        monkeypatch.setenv("OPENAI_API_KEY", "second-key")
        await generator.complete(HELLO)

    asyncio.run(twice())

    assert [r.headers["authorization"] for r in server.requests] == ["Bearer first-key", "Bearer second-key"]


def test_anthropic_streams_when_its_answer_may_be_long_and_does_not_when_it_is_short(server):
    server.default = serving.claude("Bonjour.")
    generator = asking(server, "anthropic:claude-sonnet-5-5", base_url=server.root)

    long, short = ask(generator), ask(generator, max_tokens=100)

    assert [request.path.partition("?")[0] for request in server.requests] == ["/v1/messages"] * 2
    assert [request.body["stream"] for request in server.requests] == [True, False]
    for answer in (long, short):
        assert (answer.text, answer.finish_reason, answer.model) == ("Bonjour.", "end_turn", "claude-sonnet-5-5")
        assert answer.usage is not None
        assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (500, 20, 520)
        assert answer.usage.cost is not None


def test_anthropic_is_asked_for_a_schema_in_its_own_way(server):
    ask(asking(server, "anthropic:claude-sonnet-5-5", base_url=server.root), response_format=Verdict)

    assert server.requests[0].body["output_config"]["format"]["type"] == "json_schema"


def test_failures_of_anthropic_are_told_apart_too(server):
    generator = asking(server, "anthropic:claude-sonnet-5-5", base_url=server.root, max_retries=0)
    server.script(
        serving.error(400, "Your credit balance is too low to access the Anthropic API."),
        serving.error(401, f"invalid x-api-key {KEY}"),
        serving.error(429, "slow down", headers={"Retry-After": "7"}),
        serving.error(529, "Overloaded"),
        serving.claude("I won't.", stop_reason="refusal"),
        serving.dropped(),
        serving.malformed(),
        serving.page(502),
    )

    errors = [failure(generator) for _ in range(8)]

    assert [error.kind for error in errors] == [
        "quota",
        "authentication",
        "rate_limit",
        "model_error",
        "refused",
        "network",
        "model_error",
        "model_error",
    ]
    assert [error.retryable for error in errors] == [False, False, True, True, False, True, False, True]
    assert errors[2].retry_after == 7


@pytest.mark.parametrize("name", ["llama3.2:1b", "no_such_provider/model"])
def test_an_unknown_provider_is_a_mistake_of_the_configuration(name):
    error = failure(Generator(model=name))

    assert (error.kind, error.retryable) == ("config", False)
    assert "'openai/…'" in str(error)
    assert "base_url" in str(error)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("azure/gpt-5", "AZURE_OPENAI_ENDPOINT"),
        ("bedrock/anthropic.claude", "pip install 'pydantic-ai-slim[bedrock]'"),
        ("cohere/command-r", "pip install 'pydantic-ai-slim[cohere]'"),
    ],
)
def test_a_provider_that_is_not_configured_or_not_installed_is_not_an_unknown_one(monkeypatch, name, words):
    for variable in [name for name in os.environ if name.startswith(("AZURE_", "AWS_", "CO_"))]:
        monkeypatch.delenv(variable)

    error = failure(Generator(model=name))

    assert (error.kind, error.retryable) == ("config", False)
    assert words in str(error)
    assert "no provider" not in str(error)


def test_a_provider_without_its_key_says_which_variable_that_is(monkeypatch):
    for variable in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://example.openai.azure.com/openai/v1")

    error = failure(Generator(model="azure/gpt-5"))

    assert error.kind == "authentication"
    assert "set AZURE_OPENAI_API_KEY" in str(error)


@pytest.mark.parametrize(
    ("name", "variable"), [("gpt-5-mini", "OPENAI_API_KEY"), ("anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY")]
)
def test_without_a_key_the_message_says_which_variable_to_set(monkeypatch, name, variable):
    monkeypatch.delenv(variable, raising=False)

    error = failure(Generator(model=name))

    assert (error.kind, error.retryable) == ("authentication", False)
    assert f"set {variable}" in str(error)


# --- time --------------------------------------------------------------------------------


def test_the_timeout_holds_for_the_call_and_its_tries(server):
    server.default = serving.held()

    error = failure(asking(server, timeout=0.3))

    assert (error.kind, error.retryable) == ("timeout", True)
    assert "0.3 s" in str(error)
    assert error.usage is not None
    assert error.usage.calls == 1


def test_the_timeout_of_a_call_goes_first(server):
    server.script(serving.held())

    assert failure(asking(server, timeout=60), timeout=0.2).kind == "timeout"


def test_a_body_that_drips_for_too_long_is_a_timeout(server):
    server.script(serving.drip(0.2, 50))
    generator = asking(server)

    async def both():
        with pytest.raises(ModelCallError) as caught:
            await generator.complete(HELLO, GenerationParams(timeout=0.5))
        assert caught.value.kind == "timeout"
        return await generator.complete(HELLO)  # over another connection: that one was given up

    assert asyncio.run(both()).text == "Hello from the test server."
    assert server.connections == 2


def test_a_call_that_is_cancelled_ends_at_once_and_the_next_one_works(server):
    server.script(serving.held())
    generator = asking(server)

    async def cancelled():
        task = asyncio.create_task(generator.complete(HELLO))
        await server.arrival(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task  # the server still holds its answer
        return await generator.complete(HELLO)

    assert asyncio.run(cancelled()).text
