"""Systems under test that speak the chat completions protocol: OpenAI's, and the many servers that do as it does."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice, takewhile
from typing import Any, Final
from urllib.parse import urlsplit

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.usage import usage_of
from giskard.checks.llm import recording
from giskard.checks.targets import _options
from giskard.checks.targets._chat import ChatStream, content_text, read_completion, tool_calls_of
from giskard.checks.targets._conversation import as_json, messages_of, to_json_text, turn
from giskard.checks.targets._history import NO_RESULT, history_of
from giskard.checks.targets._http import ask
from giskard.checks.targets._http_client import client_of
from giskard.checks.targets._http_reply import Outgoing, Reply, Rules
from giskard.checks.targets._recorded import recorded
from giskard.checks.targets._reply import parse_json
from giskard.checks.targets._secrets import (
    WITHHELD,
    FromEnvironment,
    Keys,
    Known,
    Secret,
    holds_key,
    is_address,
    protected,
    protected_data,
    redacted,
    resolved,
    resolved_data,
    resolved_text,
    shown_url,
)
from giskard.checks.targets.errors import TargetError

__all__ = ["OpenAITarget"]

_OPENAI: Final = "https://api.openai.com/v1"
_OF_OPENAI: Final = re.compile(r"openai(?:-chat)?[/:](?=.)", re.IGNORECASE)
_OF_ANOTHER: Final = re.compile(r"(?!ft:)[^/:]+[/:](.+)")  # ft:… is a model of OpenAI that was trained further


@dataclass(frozen=True, repr=False)
class OpenAITarget:
    """A model, or an assistant, behind ``/chat/completions``.

    The conversation is sent with each turn: it is read from the trace, so that attempts never mix, and turns that were
    written down in the scenario are a part of it.  Inputs are a text, a message (``{"role": …}``), a list of messages,
    or a list of parts (``{"type": …}``).

    Parameters
    ----------
    model
        The name of the model, as the server at `base_url` calls it.  Without one it may say that it is OpenAI's
        (``"openai/gpt-5-mini"``), as for a `Generator`; other servers have to be given.
    base_url
        Where it is served; else ``OPENAI_BASE_URL``, else OpenAI's own address.
    api_key
        The key, best as the name of a variable: ``"${MY_KEY}"``.  Left out, ``OPENAI_API_KEY`` is sent to the address
        that the environment names, or to OpenAI, and no key to any other `base_url`.
    system
        The text of the system message.
    tools
        The tools that the model may call, in the words of the protocol.
    params
        What else goes into the request, ``{"temperature": 0}`` say; None leaves one of the target's own out.
        ``${NAME}`` is a variable of the environment, as in `headers`.
    stream
        Whether the answer comes in pieces; the time to the first one is measured then.
    headers, max_retries, timeout, max_bytes, verify
        As of `HTTPTarget`.

    Raises
    ------
    TypeError, ValueError
        When an option is none that a target can have.

    Notes
    -----
    The outputs are the text of the answer, or the whole message when tools are called.  Calls of tools, as `ToolCall`,
    and the `Usage` are in the turn's metadata, and what is known of the call itself under ``"target"``: the model, the
    ``finish_reason``, the tries, the time.  When the next inputs do not answer the calls (``{"role": "tool",
    "tool_call_id": …}``), ``"(no result)"`` is sent for them: the protocol asks for an answer.
    """

    model: str
    base_url: str | None = None
    api_key: str | Secret | None = None
    _: KW_ONLY
    system: str | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False
    headers: Mapping[str, str | Secret] = field(default_factory=dict[str, "str | Secret"])
    max_retries: int = 3
    timeout: float = 120.0
    max_bytes: int = 10_000_000
    verify: bool | str = True
    _rules: Rules = field(init=False, compare=False)
    _name: str = field(init=False, compare=False)
    _known: Known = field(init=False, compare=False)

    def __post_init__(self) -> None:
        _options.check_options(self, **_OPTIONS)
        put = object.__setattr__  # it is frozen from here on
        if self.base_url is not None:
            _checked_address(self.base_url, "base_url")
        if isinstance(self.api_key, str):
            put(self, "api_key", protected("api_key", self.api_key))
        put(self, "headers", {name: protected(name, value) for name, value in self.headers.items()})
        put(self, "params", protected_data(self.params))
        put(self, "verify", self.verify if isinstance(self.verify, bool) else os.fspath(self.verify))
        put(self, "_known", Known(self.api_key, self.headers, self.params))
        put(self, "_rules", Rules(self.timeout, self.max_retries, self.max_bytes, self.verify))
        put(self, "_name", self.model if self.base_url is not None else _OF_OPENAI.sub("", self.model.strip(), count=1))

    def __hash__(self) -> int:
        return hash((type(self), self.model))

    def __repr__(self) -> str:
        where = "" if self.base_url is None else f", base_url={shown_url(self.base_url)!r}"
        return f"{type(self).__name__}({self.model!r}{where})"

    async def __call__(self, inputs: Any, trace: Trace | None = None) -> Interaction:
        """The turn that the model makes of `inputs`, after those of `trace`.

        Raises
        ------
        TargetError
            When it gives no answer.
        LimitExceededError
            When the time is over.
        """
        messages = self._messages(inputs, trace)

        async def call() -> dict[str, Any]:
            return await self._asked(messages)

        if recording.active():
            request = self._request(messages, WITHHELD)
            meaning = {name: value for name, value in request.items() if not name.startswith("stream")}
            own = ["OPENAI_API_KEY"] if self._asks_for_own_key else []
            answer = await recorded({"target": "openai", **meaning}, call, self._known.now(*own))
        else:
            answer = await call()
        return _turn(inputs, answer)

    @property
    def _asks_for_own_key(self) -> bool:
        """Whether the key is that of the environment's address."""
        return self.api_key is None and self.base_url is None

    def _messages(self, inputs: Any, trace: Trace | None) -> list[dict[str, Any]]:
        system = [] if self.system is None else [{"role": "system", "content": self.system}]
        return _answered([*system, *history_of(trace), *messages_of(inputs, "user")])

    def _request(self, messages: list[dict[str, Any]], keys: Keys) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._name, "messages": messages}
        if self.tools:
            body["tools"] = as_json(list(self.tools), "tools")
        if self.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        body |= as_json(resolved_data(self.params, "params", keys), "params")
        return {name: value for name, value in body.items() if value is not None}

    async def _asked(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        client_of(self._rules.verify)  # so that the time of the first call is its own
        start = time.perf_counter()
        outgoing = self._outgoing(messages)

        async def read(reply: Reply) -> tuple[dict[str, Any], float | None]:
            if reply.content_type != "text/event-stream":
                what = f"the answer of {reply.place}"
                return read_completion(parse_json(await reply.text(), what), what), None
            stream = ChatStream(reply.place)
            async with aclosing(reply.events()) as events:
                async for _, data in events:
                    if data.strip() == "[DONE]":
                        break
                    stream.add(data, time.perf_counter() - start)
            return stream.completed(), stream.first_chunk

        try:
            (answer, first_chunk), reply = await ask(outgoing, self._rules, read)
        except TargetError as error:
            raise self._explained(error, outgoing) from error.__cause__
        return {
            **answer,
            "http": {"status": reply.status, "tries": reply.tries},
            "latency_ms": round((time.perf_counter() - start) * 1000, 3),
            "time_to_first_chunk": first_chunk,
        }

    def _explained(self, error: TargetError, outgoing: Outgoing) -> TargetError:
        error.message = redacted(error.message, outgoing.secrets)
        status = error.status
        if error.kind == "crash":
            refused = status == 400 and "content_filter" in error.message
            error.kind = "refused" if refused else "model_error"
            error.retryable = status is not None and status >= 500
        if error.kind == "authentication" and "Authorization" not in outgoing.headers:
            error.message += "; no key was sent: give api_key='${NAME}', the name of a variable of the environment" + (
                ", or set OPENAI_API_KEY" if self.base_url is None else ""
            )
        return error

    def _outgoing(self, messages: list[dict[str, Any]]) -> Outgoing:
        base = self.base_url or _from_environment() or _OPENAI
        elsewhere = _OF_ANOTHER.fullmatch(self._name) if base == _OPENAI else None
        if elsewhere is not None:
            raise ConfigurationError(
                f"the model {self.model!r} is not one of OpenAI's, and nothing says where it is: give the address of "
                f"its server, OpenAITarget({elsewhere[1]!r}, base_url='http://…/v1')"
            )
        keys = FromEnvironment()
        headers = {"Content-Type": "application/json", **resolved(self.headers, "the header", keys)}
        key = self.api_key
        if key is not None:
            key = resolved_text(key, "api_key", keys)
        elif self._asks_for_own_key:
            key = keys.noted(os.environ.get("OPENAI_API_KEY", ""))
        if key and not any(name.lower() == "authorization" for name in headers):
            headers["Authorization"] = f"Bearer {key}"
        content = to_json_text(self._request(messages, keys)).encode()
        return Outgoing("POST", f"{base.rstrip('/')}/chat/completions", headers, content, tuple(keys.secrets))


def _from_environment() -> str | None:
    base = os.environ.get("OPENAI_BASE_URL")
    return _checked_address(base, "OPENAI_BASE_URL") if base else None


def _checked_address(url: str, what: str) -> str:
    if not is_address(url) or "@" in urlsplit(url).netloc or "?" in url or "${" in url or holds_key(url):
        raise ValueError(
            f"{what} is {shown_url(url)!r}, expected an address such as 'http://localhost:8000/v1', without a name, a "
            "password, a key, a variable or a query in it"
        )
    return url


def _answered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`messages` in which each call of a tool has an answer."""
    out: list[dict[str, Any]] = []
    for position, message in enumerate(messages):
        out.append(message)
        if position == len(messages) - 1:
            break
        calls = message.get("tool_calls") or ()
        # Ids may come again later in a conversation: only what follows at once answers these.
        following = islice(messages, position + 1, None) if calls else ()
        answers = takewhile(lambda other: other.get("role") == "tool", following)
        answered = {answer.get("tool_call_id") for answer in answers}
        for call in calls:
            if call.get("id") not in answered:
                out.append({"role": "tool", "tool_call_id": call.get("id"), "content": NO_RESULT})
    return out


def _turn(inputs: Any, answer: Mapping[str, Any]) -> Interaction:
    message = answer["message"]
    calls = tool_calls_of(message)
    refusal = message.get("refusal")
    outputs = message if calls else content_text(message.get("content"))
    if outputs is None:
        outputs = refusal if refusal is not None else ""
    call = {
        "kind": "openai",
        "finish_reason": answer.get("finish_reason"),
        "refusal": refusal,
        **{name: answer.get(name) for name in ("model", "http", "latency_ms")},
    }
    notes = {"tool_calls": calls or None, "usage": usage_of(answer.get("usage"))}
    return turn(inputs, outputs, call, notes, answer.get("time_to_first_chunk"))


_OPTIONS: Final = {
    "model": _options.NAME,
    "base_url": _options.MAYBE_ADDRESS,
    "api_key": _options.KEY,
    "system": _options.MAYBE_TEXT,
    "tools": _options.TOOLS,
    "params": _options.MAPPING,
    "stream": _options.FLAG,
    "headers": _options.HEADERS,
    "max_retries": _options.whole_number(0),
    "timeout": _options.SECONDS,
    "max_bytes": _options.whole_number(1),
    "verify": _options.VERIFY,
}
