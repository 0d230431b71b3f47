"""What the name of a model means."""

import pytest

from giskard.checks.llm._addresses import find_address

URL = "http://localhost:1/v1"


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai/gpt-5-mini", "openai", "gpt-5-mini"),
        ("openai:gpt-5-mini", "openai", "gpt-5-mini"),
        ("gpt-5-mini", "openai", "gpt-5-mini"),
        (" gpt-5-mini ", "openai", "gpt-5-mini"),
        ("ft:gpt-4o-mini-2024-07-18:org::id", "openai", "ft:gpt-4o-mini-2024-07-18:org::id"),
        ("OpenAI/GPT-5", "openai", "GPT-5"),
        ("anthropic/claude-sonnet-5-5", "anthropic", "claude-sonnet-5-5"),
        ("gemini/gemini-2.5-pro", "google", "gemini-2.5-pro"),
        ("openrouter/openai/gpt-5", "openrouter", "openai/gpt-5"),
        ("ollama/llama3.2:1b", "ollama", "llama3.2:1b"),
        ("ollama:llama3.2:1b", "ollama", "llama3.2:1b"),
        ("bedrock/anthropic.x:0", "bedrock", "anthropic.x:0"),
        ("llama_cpp/model", "llama.cpp", "model"),
        ("together_ai/meta/llama", "together", "meta/llama"),
    ],
)
def test_a_name_says_who_serves_the_model(name, provider, model):
    found = find_address(name, None, None)

    assert (found.provider, found.model) == (provider, model)


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("vllm/Qwen/Qwen3-8B", "vllm", "Qwen/Qwen3-8B"),
        ("openai/openai/gpt-oss-20b", "openai", "openai/gpt-oss-20b"),
        ("Qwen/Qwen3-8B", "compatible", "Qwen/Qwen3-8B"),
        ("google/gemma-3-4b-it", "compatible", "google/gemma-3-4b-it"),
        ("mistral:7b", "compatible", "mistral:7b"),
        ("llama3.2:1b", "compatible", "llama3.2:1b"),
        ("anthropic:claude-sonnet-5-5", "anthropic", "claude-sonnet-5-5"),
    ],
)
def test_with_a_base_url_the_rest_of_the_name_is_the_servers(name, provider, model):
    found = find_address(name, URL, None)

    assert (found.provider, found.model, found.base_url) == (provider, model, URL)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("ollama/m", "http://localhost:11434/v1"),
        ("vllm/m", "http://localhost:8000/v1"),
        ("llama.cpp/m", "http://localhost:8080/v1"),
        ("lmstudio/m", "http://localhost:1234/v1"),
        ("litellm/m", "http://localhost:4000/v1"),
        ("openai/m", None),
        ("anthropic/m", None),
    ],
)
def test_local_servers_are_where_they_usually_are(monkeypatch, name, url):
    for variable in ("OLLAMA", "VLLM", "LLAMA_CPP", "LMSTUDIO", "LITELLM", "OPENAI"):
        monkeypatch.delenv(f"{variable}_BASE_URL", raising=False)

    assert find_address(name, None, None).base_url == url


def test_a_local_server_may_be_given_without_its_path(monkeypatch):
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://gpu:11434/")

    assert find_address("ollama/m", None, None).base_url == "http://gpu:11434/v1"
    assert find_address("ollama/m", "http://gpu:11434/api/v1", None).base_url == "http://gpu:11434/api/v1"
    assert find_address("m", "http://gpu:11434", None).base_url == "http://gpu:11434"


def test_the_key_is_in_no_text(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")

    found = find_address("openai/m", None, None)

    assert found.key == "sk-very-secret-0123456789"
    assert "secret" not in repr(found) + str(found)
    assert find_address("openai/m", None, "given").key == "given"
    assert find_address("m", URL, None).key is None


@pytest.mark.parametrize(
    ("name", "url", "is_own"),
    [
        ("openai/m", None, True),
        ("openai/m", "https://api.openai.com/v1", True),
        ("openai/m", "https://eu.api.openai.com/v1/", True),
        ("openai/m", "http://api.openai.com/v1", False),
        ("openai/m", "https://api.openai.com.evil.example/v1", False),
        ("openai/m", "https://evilapi.openai.com/v1", False),
        ("openai/m", "http://localhost:1/v1", False),
        ("openai/m", "https://proxy.example/v1/", True),
        ("ollama/m", "http://localhost:11434", True),
        ("ollama/m", "https://ollama.com/v1", True),
        ("ollama/m", "http://gpu:11434", False),
        ("anthropic:m", "https://api.anthropic.com", True),
        ("anthropic:m", "https://elsewhere.example", False),
    ],
)
def test_the_environments_key_is_for_the_providers_server_and_for_the_one_that_it_names(monkeypatch, name, url, is_own):
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example/v1")
    for variable in ("OPENAI_API_KEY", "OLLAMA_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, " sk-very-secret-0123456789\n")
    for variable in ("OLLAMA_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)

    found = find_address(name, url)

    assert (found.is_own, found.key) == (is_own, "sk-very-secret-0123456789" if is_own else None)
    assert find_address(name, url, "${OPENAI_API_KEY}").key == "sk-very-secret-0123456789"
