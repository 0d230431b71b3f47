"""A generator as an object: what it takes, saves and shows; its keys and headers, and where they go."""

import asyncio
import copy
import json
import pickle

import pytest
from pydantic import ValidationError

from giskard.checks.core.mixin import BaseGenerator
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.generator import Generator, generator_of
from giskard.checks.llm.types import Completion, GenerationParams, GeneratorLike, Message
from tests.llm import server as serving
from tests.llm.server import ModelServer

KEY = "sk-test-0123456789abcdefghij"
HELLO = [Message("user", "Hello?")]


def asking(server: ModelServer, model: str = "openai/gpt-4o-mini", **fields) -> Generator:
    return Generator(model=model, **{"base_url": server.url, "api_key": KEY} | fields)


def ask(generator: Generator, messages=HELLO, **params) -> Completion:
    return asyncio.run(generator.complete(messages, GenerationParams(**params) if params else None))


def failure(generator: Generator, **params) -> ModelCallError:
    with pytest.raises(ModelCallError) as caught:
        ask(generator, **params)
    assert KEY not in str(caught.value)
    return caught.value


# --- as an object ------------------------------------------------------------------------


def test_it_is_saved_and_loaded_without_its_key(server):
    generator = asking(server, temperature=0.5, requests_per_minute=60.0)

    saved = generator.model_dump_json()
    loaded = BaseGenerator.model_validate(json.loads(saved))

    assert isinstance(loaded, Generator)
    assert loaded.api_key is None
    assert loaded == generator.model_copy(update={"api_key": None})
    for text in (saved, json.dumps(generator.model_dump()), repr(generator), str(generator)):
        assert KEY not in text
    assert json.loads(saved)["kind"] == "generator"


def test_the_name_of_a_variable_is_saved_and_a_secret_is_not():
    fields = {
        "api_key": "${MY_KEY}",
        "top_p": 0.5,
        "extra": {"reasoning_effort": "low"},
        "headers": {"X-Title": "my evals", "Authorization": "Basic ${MY_LOGIN}"},
    }
    generator = Generator(model="gpt-5", **fields)
    secret = Generator(
        model="gpt-5",
        api_key=KEY,
        headers={"X-Title": "my evals", "X-Session": "words-that-nobody-sees", "X-Odd": KEY, "X-Half": f"{KEY} ${{A}}"},
    )

    saved = json.loads(generator.model_dump_json())
    assert {name: saved[name] for name in fields} == fields
    assert BaseGenerator.model_validate(saved) == generator
    kept = json.loads(secret.model_dump_json())
    assert "api_key" not in kept
    assert kept["headers"] == {"X-Title": "my evals"}
    for text in (repr(secret), str(secret), json.dumps(kept), json.dumps(secret.model_dump())):
        assert KEY not in text
        assert "nobody" not in text
    assert "my evals" not in repr(secret)


def test_what_changes_an_answer_is_plain_data():
    generator = Generator(
        model="gpt-5", temperature=0, seed=3, top_p=1, extra={"a": [1]}, headers={"X-B": "1", "X-A": "${A}"}
    )

    assert generator.request_options == {
        "temperature": 0,
        "seed": 3,
        "top_p": 1,
        "extra": {"a": [1]},
        "headers": ["x-a", "x-b"],
    }
    assert Generator(model="gpt-5").request_options == {}


def test_the_server_is_told_without_secrets(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)
    generator = Generator(model="gpt-5", api_key="${NO_SUCH_KEY}", headers={"X-A": "${NO_SUCH_KEY}"})

    assert generator.server == "openai"
    assert Generator(model="mistral/small").server == "mistral"
    assert Generator(model="ollama/m").server == "http://localhost:11434/v1"
    assert Generator(model="m", base_url="https://host/v1").server == "https://host/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://me:{KEY}@host/v1?key={KEY}")
    assert generator.server == "https://host/v1"


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (" http://localhost:8000/v1\n", "http://localhost:8000/v1"),
        ("HTTP://localhost:8000", "HTTP://localhost:8000"),
        ("https://host/a@b/v1", "https://host/a@b/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_addresses_are_taken_and_stored_without_blanks(given, stored):
    assert Generator(model="m", base_url=given).base_url == stored


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("localhost:8000", "base_url is 'localhost:8000', which is no address"),
        ("ftp://host/v1", "base_url is 'ftp://host/v1'"),
        ("http:///v1", "base_url is 'http:///v1'"),
        ("http://host:port/v1", "base_url is 'http://host:port/v1'"),
        ("http://my host/v1", "base_url is 'http://my host/v1'"),
        ("", "base_url is ''"),
        (f"http://me:{KEY}@host/v1", "a login"),
        (f"http://host/v1?key={KEY}", "a query"),
        ("http://host/v1?api-version=1", "a query"),
        ("http://host/v1#part", "a query or a fragment"),
        (f"host/v1?key={KEY}", "not shown"),
        (f"me:{KEY}@host", "not shown"),
        (f"host/{KEY}/v1", "not shown"),
        (f"http://[::1/{KEY}", "not shown"),
    ],
)
def test_what_is_no_address_is_shown_unless_it_may_hold_a_secret(given, words):
    with pytest.raises(ValidationError) as caught:
        Generator(model="m", base_url=given)
    assert words in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"headers": {"X Y": "a"}}, "the name 'X Y'"),
        ({"headers": {"Host": "a"}}, "'Host', which the HTTP client sets"),
        ({"headers": {"X-Key": "se\r\ncret"}}, "the header 'X-Key' has characters"),
        ({"headers": {"X-Key": "secrét"}}, "the header 'X-Key' has characters"),
        ({"extra": {"messages": []}}, "extra has 'messages', which a call sets"),
        ({"extra": {"temperature": 1}}, "extra has 'temperature', which the field temperature sets"),
        ({"extra": {"a": float("nan")}}, "plain JSON"),
        ({"extra": {"a": object()}}, "plain JSON"),
        ({"extra": {"metadata": {"api_key": "abc"}}}, "a secret, in 'metadata.api_key'"),
        ({"top_p": 1.5}, "top_p"),
    ],
)
def test_headers_and_extra_that_cannot_be_sent_are_refused(fields, words):
    with pytest.raises(ValidationError) as caught:
        Generator(model="m", **fields)
    assert words in str(caught.value)
    assert "se\r" not in str(caught.value)
    assert "secrét" not in str(caught.value)


def test_a_mistake_in_its_fields_shows_no_key():
    with pytest.raises(ValidationError) as caught:
        Generator(model="gpt-5", api_key=12345678901234567890)  # type: ignore[arg-type]
    assert "123456789" not in str(caught.value)
    with pytest.raises(ValidationError) as caught:
        Generator(model="gpt-5", base_url=f"http://me:{KEY}@localhost/v1")
    assert KEY not in str(caught.value)
    assert "api_key" in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"model": ""},
        {"model": "  "},
        {"model": "openai/"},
        {"model": "gpt-5", "base_url": "localhost:8000"},
        {"model": "gpt-5", "timeout": 0},
        {"model": "gpt-5", "max_retries": -1},
        {"model": "gpt-5", "requests_per_minute": 0},
        {"model": "gpt-5", "max_concurrency": 0},
        {"model": "gpt-5", "temperature": -0.1},
        {"model": "gpt-5", "temprature": 0.1},
    ],
)
def test_fields_that_make_no_sense_are_refused(fields):
    with pytest.raises(ValidationError):
        Generator(**fields)


def test_one_name_is_one_object():
    assert generator_of("openai/gpt-5-mini") is generator_of("openai/gpt-5-mini")
    assert generator_of("openai/gpt-5-mini") == Generator(model="openai/gpt-5-mini")
    assert isinstance(generator_of("gpt-5"), GeneratorLike)
    with pytest.raises(ValidationError, match="a name without one is OpenAI's"):
        generator_of(" ")


def test_copies_ask_as_well(server):
    generator = asking(server)
    ask(generator)

    for other in (copy.copy(generator), copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))):
        assert ask(other).text
    assert len(server.requests) == 4


# --- keys and headers --------------------------------------------------------------------

OF_OPENAI = {
    "OPENAI_API_KEY": KEY,
    "OPENAI_ORG_ID": f"org-{KEY}",
    "OPENAI_PROJECT_ID": f"proj-{KEY}",
    "OPENAI_CUSTOM_HEADERS": f"X-Custom: {KEY}",
    "OLLAMA_API_KEY": f"ollama-{KEY}",
}


@pytest.mark.parametrize("name", ["openai/gpt-4o-mini", "gpt-4o-mini", "Qwen/Qwen3-8B", "vllm/Qwen3", "ollama/qwen3"])
def test_what_the_environment_holds_for_openai_goes_to_no_other_server(server, monkeypatch, name):
    for variable, value in OF_OPENAI.items():
        monkeypatch.setenv(variable, value)

    ask(Generator(model=name, base_url=server.url))

    assert KEY not in json.dumps(server.requests[0].headers)
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-5-5", "groq:llama", "google:gemini-2.5-flash"])
def test_nor_do_the_keys_of_others(server, monkeypatch, name):
    for variable in ("ANTHROPIC_API_KEY", "GROQ_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, KEY)

    error = failure(Generator(model=name, base_url=server.root))

    assert error.kind == "authentication"
    assert "pass api_key=…, such as api_key='${" in str(error)
    assert server.requests == []


def test_a_key_that_is_meant_for_a_server_is_named(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    ask(Generator(model="openai/gpt-4o-mini", base_url=server.url, api_key="${OPENAI_API_KEY}"))

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_server_that_wants_the_key_which_it_is_not_sent_is_told_with_what_to_do(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.script(serving.error(401, "no key"))

    error = failure(Generator(model="openai/gpt-4o-mini", base_url=server.url))

    assert "does not take calls without a key: pass api_key=…, such as api_key='${OPENAI_API_KEY}'" in str(error)


def test_the_server_that_the_environment_names_gets_what_the_environment_holds(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    for variable, value in OF_OPENAI.items():
        monkeypatch.setenv(variable, value)

    ask(Generator(model="openai/gpt-4o-mini"))
    ask(Generator(model="openai/gpt-4o-mini", base_url=f"{server.url}/"))

    for request in server.requests:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.headers["openai-organization"] == f"org-{KEY}"


def test_headers_are_sent_and_name_variables_of_the_environment(server, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "first-token-012345")
    headers = {"X-Title": "my evals", "X-Gateway": "Bearer ${MY_TOKEN}"}
    generator = asking(server, headers=headers)

    async def twice():
        await generator.complete(HELLO)
        monkeypatch.setenv("MY_TOKEN", "second-token-012345")
        await generator.complete(HELLO)

    asyncio.run(twice())

    sent = [request.headers for request in server.requests]
    assert [each["x-gateway"] for each in sent] == ["Bearer first-token-012345", "Bearer second-token-012345"]
    assert [each["x-title"] for each in sent] == ["my evals"] * 2
    assert sent[0]["authorization"] == f"Bearer {KEY}"


def test_a_header_may_be_the_key(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    ask(Generator(model="openai/gpt-4o-mini", headers={"Authorization": "Basic bWU6c2VjcmV0"}))

    assert server.requests[0].headers["authorization"] == "Basic bWU6c2VjcmV0"


def test_a_header_that_a_server_echoes_is_taken_out(server):
    server.script(serving.error(400, "I got X-Gateway: very-secret-gateway-words"))

    error = failure(asking(server, headers={"X-Gateway": "very-secret-gateway-words"}))

    assert "very-secret" not in str(error)


def test_a_variable_that_is_not_set_is_named(server, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)

    for fields in ({"api_key": "${NO_SUCH_KEY}"}, {"headers": {"X-Key": "${NO_SUCH_KEY}"}}):
        error = failure(asking(server, **fields))
        assert error.kind == "authentication"
        assert "NO_SUCH_KEY" in str(error)
    assert server.requests == []
