"""Where a model is: what its name, the fields of a generator and the environment say together."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

__all__ = ["Address", "check_name", "find_address"]


class _Server(NamedTuple):
    """A server that speaks as OpenAI's chat completions do, by the names that its users know."""

    url_variable: str
    url: str | None
    key_variable: str


SERVERS: Final = {
    "openai": _Server("OPENAI_BASE_URL", None, "OPENAI_API_KEY"),
    "ollama": _Server("OLLAMA_BASE_URL", "http://localhost:11434/v1", "OLLAMA_API_KEY"),
    "vllm": _Server("VLLM_BASE_URL", "http://localhost:8000/v1", "VLLM_API_KEY"),
    "llama.cpp": _Server("LLAMA_CPP_BASE_URL", "http://localhost:8080/v1", "LLAMA_CPP_API_KEY"),
    "lmstudio": _Server("LMSTUDIO_BASE_URL", "http://localhost:1234/v1", "LMSTUDIO_API_KEY"),
    "litellm": _Server("LITELLM_BASE_URL", "http://localhost:4000/v1", "LITELLM_API_KEY"),
}
COMPATIBLE: Final = "compatible"  # the provider of a model at some base URL, when its name says nothing of one

_ALIASES: Final = {
    "openai-chat": "openai",
    "llamacpp": "llama.cpp",
    "llama-cpp": "llama.cpp",
    "llama_cpp": "llama.cpp",
    "lm-studio": "lmstudio",
    "lm_studio": "lmstudio",
    "gemini": "google",
    "vertex_ai": "google-cloud",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
}
_KEYS: Final = {
    "google": "GOOGLE_API_KEY",
    "together": "TOGETHER_API_KEY",
    "huggingface": "HF_TOKEN",
    "cohere": "CO_API_KEY",
}
# Whose own protocol is meant when a base URL is given too.  Names of models at other servers begin with those of
# providers as well, as in mistral:7b, and are left as they are.
_OWN_PROTOCOL: Final = frozenset({"anthropic", "google", "groq"})
_NAME: Final = re.compile(r"([^/:]+)([/:])(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Address:
    """A model at a server.

    Parameters
    ----------
    provider
        The provider's name, as the library behind this package knows it.
    model
        What the server calls the model.
    base_url
        Where the server is; None is the provider's own place.
    key
        The API key; None when there is none, or the library is to find it.
    """

    provider: str
    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)

    @property
    def speaks_openai(self) -> bool:
        """Whether the server is known to speak as OpenAI's chat completions do."""
        return self.provider in SERVERS or self.provider == COMPATIBLE

    @property
    def needs_key(self) -> bool:
        """Whether nothing can be asked without a key."""
        return self.provider == "openai" and self.base_url is None and self.key is None

    @property
    def key_hint(self) -> str:
        """How a key is given."""
        if self.provider == COMPATIBLE:
            return "pass api_key=…"
        server = SERVERS.get(self.provider)
        variable = f"{self.provider.upper().replace('-', '_')}_API_KEY" if server is None else server.key_variable
        return f"set {_KEYS.get(self.provider, variable)} in the environment, or pass api_key=…"

    @property
    def server(self) -> str:
        """What calls to the same server have in common."""
        return self.base_url or self.provider

    @property
    def shown_url(self) -> str | None:
        """The base URL without what may be secret in it."""
        if self.base_url is None:
            return None
        parts = urlsplit(self.base_url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def __str__(self) -> str:
        """What a message calls the model."""
        url = self.shown_url
        return f"{self.provider}/{self.model}" if url is None else f"the model {self.model!r} at {url}"


def find_address(name: str, base_url: str | None, key: str | None) -> Address:
    """The address that a name stands for at this moment: what is not given is looked for in the environment."""
    provider, model = _split(name, base_url is not None)
    server = SERVERS.get(provider)
    if server is None:
        return Address(provider, model, base_url, key)
    if base_url is None:
        base_url = os.environ.get(server.url_variable) or server.url
    if base_url is not None and server.url is not None:
        base_url = _with_path(base_url)
    return Address(provider, model, base_url, key or os.environ.get(server.key_variable) or None)


def check_name(name: str) -> None:
    """Raise for what cannot be a model's name.

    Raises
    ------
    ValueError
        Saying what is expected.
    """
    provider, model = _split(name, has_url=False)
    if not provider.strip() or not model.strip() or name.strip()[-1:] in ("/", ":"):
        raise ValueError(
            f"the model is {name!r}, expected a name with its provider, such as 'openai/gpt-5-mini', "
            f"'anthropic/claude-sonnet-5-5' or 'ollama/llama3.2'; a name without one is OpenAI's"
        )


@functools.lru_cache(maxsize=256)
def _split(name: str, has_url: bool) -> tuple[str, str]:
    """The provider and the model of a name; without a provider it is OpenAI's, or of the server at the base URL."""
    name = name.strip()
    found = _NAME.fullmatch(name)
    default = COMPATIBLE if has_url else "openai"
    if found is None or found[1] == "ft":  # a fine-tuned model of OpenAI
        return default, name
    prefix = found[1].strip().lower()
    provider = _ALIASES.get(prefix, prefix)
    if has_url and provider not in SERVERS and not (found[2] == ":" and provider in _OWN_PROTOCOL):
        return default, name
    return provider, found[3].strip()


@functools.lru_cache(maxsize=256)
def _with_path(base_url: str) -> str:
    """The base URL of a local server, with the path that they all have when it has none."""
    base_url = base_url.strip().rstrip("/")
    return base_url if urlsplit(base_url).path else f"{base_url}/v1"
