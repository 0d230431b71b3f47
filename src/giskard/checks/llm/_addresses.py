"""Where a model is: what its name, the fields of a generator and the environment say together."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from giskard.checks.llm._references import resolved
from giskard.checks.llm._secrets import without_secrets
from giskard.checks.llm.errors import ModelCallError

__all__ = ["Address", "check_name", "checked_url", "find_address"]


class _Server(NamedTuple):
    """A server: the variables of the environment that are meant for it, and where it is without them."""

    url_variable: str
    url: str | None
    key_variable: str
    host: str | None = None
    """The provider's own host, to which its key may be sent."""


# Those that speak as OpenAI's chat completions do, by the names that their users know.
SERVERS: Final = {
    "openai": _Server("OPENAI_BASE_URL", None, "OPENAI_API_KEY", "api.openai.com"),
    "ollama": _Server("OLLAMA_BASE_URL", "http://localhost:11434/v1", "OLLAMA_API_KEY", "ollama.com"),
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
    "huggingface": "HF_TOKEN",
    "cohere": "CO_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "voyageai": "VOYAGE_API_KEY",
    "github": "GITHUB_API_KEY",
}
# Whose own protocol is meant when a base URL is given too.  Names of models at other servers begin with those of
# providers as well, as in mistral:7b, and are left as they are.
_OWN_PROTOCOL: Final = {
    "anthropic": _Server("ANTHROPIC_BASE_URL", None, "ANTHROPIC_API_KEY", "api.anthropic.com"),
    "google": _Server("GOOGLE_GEMINI_BASE_URL", None, "GOOGLE_API_KEY", "generativelanguage.googleapis.com"),
    "groq": _Server("GROQ_BASE_URL", None, "GROQ_API_KEY", "api.groq.com"),
}
_TELLING: Final = 6  # what is shorter stands in any text
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
    headers
        What is sent along, beside what the protocol asks for.
    is_own
        Whether the server is the provider's own, or one that the environment names: what the environment holds for the
        provider is meant for it.
    hidden
        What is not to be shown, beside the key.
    """

    provider: str
    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    is_own: bool = True
    hidden: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def speaks_openai(self) -> bool:
        """Whether the server is known to speak as OpenAI's chat completions do."""
        return self.provider in SERVERS or self.provider == COMPATIBLE

    @property
    def lacks_key(self) -> bool:
        """Whether nothing can be asked without a key, and there is none."""
        if self.key is not None:
            return False
        if self.speaks_openai:
            has_header = any(name.lower() == "authorization" for name, _ in self.headers)
            return self.provider == "openai" and self.base_url is None and not has_header
        return not self.is_own

    @property
    def key_hint(self) -> str:
        """How a key is given."""
        if self.provider == COMPATIBLE and self.key is None:
            return "pass api_key=…, best as the name of a variable of the environment: api_key='${NAME}'"
        server = SERVERS.get(self.provider)
        variable = f"{self.provider.upper().replace('-', '_')}_API_KEY" if server is None else server.key_variable
        variable = _KEYS.get(self.provider, variable)
        if not self.is_own:
            if self.key is not None:
                return "check the api_key"
            return (
                f"pass api_key=…, such as api_key='${{{variable}}}'; the environment's key is not sent to a base_url "
                f"that is given in code, unless that is said"
            )
        return f"set {variable} in the environment, or pass api_key=…"

    @property
    def server(self) -> str:
        """What calls to the same server have in common."""
        return self.base_url or self.provider

    @property
    def shown_url(self) -> str | None:
        """The base URL without what may be secret in it."""
        if self.base_url is None:
            return None
        try:
            parts = urlsplit(self.base_url)
        except ValueError:
            return "(an address that cannot be read)"
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def __str__(self) -> str:
        """What a message calls the model."""
        url = self.shown_url
        return f"{self.provider}/{self.model}" if url is None else f"the model {self.model!r} at {url}"


def find_address(
    name: str, base_url: str | None, key: str | None = None, headers: Mapping[str, str] | None = None
) -> Address:
    """The address that a name stands for at this moment: what is not given is looked for in the environment.

    The environment's key goes to the provider's own server, and to the one that the environment names: at any other
    base URL somebody else would read it.

    Raises
    ------
    ModelCallError
        When the key or a header names a variable of the environment that is not set.
    """
    key = key or None
    provider, model = _split(name, base_url is not None)
    server = SERVERS.get(provider) or _OWN_PROTOCOL.get(provider)
    if server is None:
        address = Address(provider, model, base_url, key, is_own=base_url is None)
    else:
        said, is_own = _variable(server.url_variable), True
        if base_url is None:
            base_url = said or server.url
        else:
            is_own = _is_own(base_url, said, server)
        if base_url is not None and server.url is not None:
            base_url = _with_path(base_url)
        found = _variable(server.key_variable) if key is None and is_own else key
        address = Address(provider, model, base_url, found, is_own=is_own)
    if headers or (key is not None and "$" in key):
        return _with_given(address, key, headers or {})
    return address


def _variable(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def _with_given(address: Address, key: str | None, headers: Mapping[str, str]) -> Address:
    """An address with a key and with headers, their references resolved."""

    def missing(variable: str) -> ModelCallError:
        return ModelCallError(
            f"{address} cannot be asked: {what} names the variable {variable} of the environment, which is not set",
            kind="authentication",
        )

    what, hidden = "api_key", list[str]()
    key = address.key if key is None else resolved(key, missing)
    sent: list[tuple[str, str]] = []
    for name, value in headers.items():
        what = f"the header {name!r}"
        sent.append((name, resolved(value, missing, hidden)))
        hidden += [sent[-1][1], sent[-1][1].partition(" ")[2]]
    return replace(
        address, key=key, headers=tuple(sent), hidden=tuple(text for text in hidden if len(text) >= _TELLING)
    )


@functools.lru_cache(maxsize=256)
def _is_own(base_url: str, said: str | None, server: _Server) -> bool:
    """Whether a base URL that was given is the one that the environment names, or the provider's own."""
    known = {_bare(url) for url in (said, server.url) if url is not None}
    parts = urlsplit(base_url)
    host = f".{parts.hostname}"
    return _bare(base_url) in known or (
        parts.scheme == "https" and server.host is not None and host.endswith(f".{server.host}")
    )


def _bare(url: str) -> str:
    return url.strip().rstrip("/").removesuffix("/v1")


def checked_url(url: str) -> str:
    """`url` without blanks around it.

    Raises
    ------
    ValueError
        When it is no address of HTTP, or holds what may be a secret, which is not shown.
    """
    url = url.strip()
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        parts, is_address = urlsplit(""), False
    if "@" in parts.netloc:
        raise ValueError("base_url holds a login; give the key as api_key=…, which is never saved")
    if is_address and ("?" in url or "#" in url):
        raise ValueError(
            "base_url has a query or a fragment, and calls are made to paths below it; give a key as api_key=… or "
            "in headers=…"
        )
    if not is_address or any(character.isspace() for character in url):
        is_open = not any(mark in url for mark in "@?#") and not without_secrets(url)[1]
        shown = f"{url!r}, which is" if is_open else "(not shown, as it may hold a secret)"
        raise ValueError(f"base_url is {shown} no address; expected one such as 'http://localhost:8000/v1'")
    return url


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
