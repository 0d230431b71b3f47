"""How servers are asked that speak as OpenAI's chat completions do.

The library writes each kind of request once, and from then on it is sent from here with other messages.  A call
through the library costs 25 times the CPU of a bare client, one through OpenAI's SDK 18 times, this one 10: what is
left is the HTTP client's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from giskard.checks.llm._addresses import Address
from giskard.checks.llm._asking import LibraryClient, output_parameters, settings_of, usage_of
from giskard.checks.llm._failures import failed_call, in_short, no_connection, not_understood, refused
from giskard.checks.llm._options import Options
from giskard.checks.llm._pydantic_ai import (
    NO_KEY,
    Model,
    ModelSettings,
    OpenAIChatModel,
    check_allow_model_requests,
    explained,
    httpx2,
    make_chat_model,
    make_model,
    written_request,
)
from giskard.checks.llm._tries import Tries
from giskard.checks.llm.cost import cost_of
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.types import Completion, Message, Role
from giskard.checks.utils.lazy import asyncio, json
from giskard.checks.utils.text import EVENT_LINE_END

__all__ = ["open_client", "send"]

_MOST_FORMS: Final = 256
# What the HTTP client says for itself, and what describes the SDK that does not send the request.
_OWN_HEADERS: Final = ("host", "content-length", "connection", "accept-encoding", "x-stainless-")


@dataclass(frozen=True, slots=True)
class _Form:
    """A request without its messages: `start` is its body up to them, `roles` what the server calls who says them."""

    url: httpx2.URL
    headers: list[tuple[str, str]]
    start: bytes
    roles: tuple[str, ...]


def open_client(address: Address, http: httpx2.AsyncClient) -> LibraryClient:
    """What asks the model at an address.

    Raises
    ------
    ModelCallError
        When there is no such provider, or no key for it.
    MissingExtraError
        When the package of the provider is not installed.
    """
    if address.speaks_openai:
        return _ChatClient(address, make_chat_model(address, http), http)
    return LibraryClient(address, make_model(address, http))


_Key: TypeAlias = tuple[tuple[Role, ...], Options]


class _ChatClient(LibraryClient):
    """Asks a server that speaks as OpenAI's chat completions do."""

    def __init__(self, address: Address, model: OpenAIChatModel, http: httpx2.AsyncClient) -> None:
        super().__init__(address, model)
        self._http = http
        self._forms: dict[_Key, _Form | None] = {}
        self._being_written: dict[_Key, asyncio.Task[_Form | None]] = {}

    async def ask(self, messages: Sequence[Message], options: Options, tries: Tries) -> Completion:
        """The model's answer.

        Raises
        ------
        ModelCallError
            When it gives none.
        """
        key: _Key = tuple([message.role for message in messages]), options
        form = self._forms.get(key) or await self._form(key)
        if form is None:
            return await super().ask(messages, options, tries)
        said = [{"role": role, "content": m.content} for role, m in zip(form.roles, messages, strict=True)]
        content = b"%s%s}" % (form.start, json.dumps(said).encode())
        data = await send(self.address, self._http, form.url, form.headers, content)
        return _read(self.address, data, tries.answered + 1)

    async def _form(self, key: _Key) -> _Form | None:
        """The form of such requests: written once, however many wait for it, and whoever of them gives up."""
        if key in self._forms:
            return self._forms[key]
        task = self._being_written.get(key)
        if task is None:
            task = self._being_written[key] = asyncio.create_task(self._write(key))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # also when nobody waits any more
        await asyncio.wait([task])  # which leaves the task alone when this call is cancelled
        try:
            return task.result()
        except Exception as error:  # a class without a JSON schema, for one
            raise explained(self.address, error) from error

    async def _write(self, key: _Key) -> _Form | None:
        try:
            form = await asyncio.to_thread(_new_form, self.address, *key)
        finally:
            del self._being_written[key]
        if len(self._forms) >= _MOST_FORMS:
            self._forms.clear()
        self._forms[key] = form
        return form


def _new_form(address: Address, roles: Sequence[Role], options: Options) -> _Form | None:
    """The form of such requests; None when the library does more with messages than to pass them on."""
    messages = [Message(role, f"message {number}") for number, role in enumerate(roles)]

    def settings(model: Model) -> ModelSettings:
        return settings_of(model, options, address)

    request = written_request(address, messages, settings, output_parameters(options.response_format, strict=True))
    body: dict[str, Any] = json.loads(request.content)
    written: list[dict[str, Any]] = body.pop("messages")
    if [(message.get("content"), len(message)) for message in written] != [(m.content, 2) for m in messages]:
        return None
    headers = [
        (name, value)
        for name, value in request.headers.items()
        if not name.startswith(_OWN_HEADERS) and NO_KEY not in value
    ]
    start = f'{json.dumps(body)[:-1]}, "messages": '.encode()
    return _Form(request.url, headers, start, tuple(message["role"] for message in written))


async def send(
    address: Address, http: httpx2.AsyncClient, url: httpx2.URL, headers: list[tuple[str, str]], content: bytes
) -> Any:
    """The JSON data that a server answers with.

    Raises
    ------
    ModelCallError
        When it cannot be reached, answers with a failure, or not with JSON.
    """
    try:
        check_allow_model_requests()
    except RuntimeError as error:  # somebody forbids all requests, in their tests
        raise ModelCallError(f"{address}: {error}", kind="config") from None
    extensions = {"timeout": http.timeout.as_dict()}
    request = httpx2.Request("POST", url, headers=headers, content=content, extensions=extensions)
    try:
        response = await http.send(request)
    except (httpx2.RequestError, httpx2.InvalidURL, UnicodeError) as error:
        raise no_connection(address, error) from None
    if response.status_code >= 300:
        raise failed_call(address, response.status_code, response.text, dict(response.headers))
    try:
        if "event-stream" in response.headers.get("content-type", ""):
            return _joined(address, response.text)
        return json.loads(response.content)
    except (ValueError, RecursionError, TypeError, AttributeError):
        raise not_understood(address, response.text, "an answer that is not JSON") from None


def _joined(address: Address, text: str) -> dict[str, Any]:
    """The chat completion that came in pieces, though nobody asked for that.

    Raises
    ------
    ModelCallError
        When the server tells of a failure in it, or it ends before the answer does.
    """
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"content": [], "refusal": []}
    reason: Any = None
    chunks, is_done = _chunks(text)
    for chunk in chunks:
        if chunk.get("error") or chunk.get("object") == "error":
            raise _failed(address, chunk, chunk.get("error") or chunk)
        whole.update({name: value for name, value in chunk.items() if name != "choices" and value is not None})
        for choice in cast("list[dict[str, Any]]", chunk.get("choices") or []):
            delta: dict[str, Any] = choice.get("delta") or choice.get("message") or {}
            for name, parts in message.items():
                parts.append(delta.get(name) or "")
            reason = choice.get("finish_reason") or reason
    words = {name: "".join(parts) or None for name, parts in message.items()}
    if message["content"]:
        if reason is None and not is_done:
            said = f" after: {in_short(words['content'], address)}" if words["content"] else ""
            raise ModelCallError(f"{address} broke off its stream before the answer was complete{said}", kind="network")
        whole["choices"] = [{"finish_reason": reason, "message": words}]
    return whole


def _chunks(text: str) -> tuple[list[dict[str, Any]], bool]:
    """The data of a stream, and whether it says that it is at its end."""
    lines = [line[5:].strip() for line in EVENT_LINE_END.split(text) if line.startswith("data:")]
    chunks: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if line == "[DONE]":
            return chunks, True
        try:
            chunk: Any = json.loads(line) if line else None
        except ValueError:
            if number < len(lines):
                raise
            break  # it was cut off here
        if isinstance(chunk, dict):
            chunks.append(cast("dict[str, Any]", chunk))
    return chunks, False


def _read(address: Address, data: Any, calls: int) -> Completion:
    """A chat completion out of a server's data.

    Raises
    ------
    ModelCallError
        When it is none, or a refusal.
    """
    try:
        choice: Any = data["choices"][0]
        message: Any = choice["message"]
        text = _text(message.get("content"))
        refusal, reason = message.get("refusal"), _words(choice.get("finish_reason"))
        used: Any = data.get("usage") or {}
        details: Any = used.get("prompt_tokens_details") or {}
        given, made, total = (_count(used, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
        cached = _count(details, "cached_tokens") or 0
        model = _words(data.get("model")) or address.model
    except (LookupError, TypeError, AttributeError):
        raise _no_completion(address, data) from None
    if refusal:
        raise refused(address, str(refusal))
    if reason == "content_filter":
        raise refused(address, text, by_filter=True)
    cost = None
    if given is not None and made is not None:
        total = given + made if total is None else total
        cost = cost_of(address.provider, model, given, made, cached)
    return Completion(text, reason, usage_of(given, made, total, calls, cost), model, data)


def _no_completion(address: Address, data: Any) -> ModelCallError:
    failed: Any = cast("dict[str, Any]", data).get("error") if isinstance(data, dict) else None
    if not failed:
        return not_understood(address, json.dumps(data, ensure_ascii=False, default=str))
    return _failed(address, data, failed)


def _failed(address: Address, data: Any, failed: Any) -> ModelCallError:
    """A failure that a server puts into a success; without a status it is one of the server."""
    code: Any = cast("dict[str, Any]", failed).get("code") if isinstance(failed, dict) else None
    return failed_call(address, code if isinstance(code, int) and 400 <= code < 600 else 502, data)


def _text(content: Any) -> str | None:
    if isinstance(content, list):  # parts, of which the texts count
        parts = [cast("dict[str, Any]", part) for part in cast("list[Any]", content) if isinstance(part, dict)]
        return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return _words(content)


def _words(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(used: Any, name: str) -> int | None:
    value = used.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
