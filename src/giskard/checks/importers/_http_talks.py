"""Requests to model APIs and their answers, put together to the conversations that they are steps of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast
from urllib.parse import unquote

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers import anthropic, bedrock, gemini, openai_chat, openai_responses
from giskard.checks.importers._contents import plain
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._exchanges import keep_apart, lacks_figures
from giskard.checks.importers._http_log import HttpExchange
from giskard.checks.importers._json import json_or_text
from giskard.checks.importers._lenient import first, listed, mapping, text
from giskard.checks.importers._messages import Message
from giskard.checks.importers.base import BadRecord, ReadOptions
from giskard.checks.utils.text import cut

__all__ = ["Api", "Talks", "api_of"]


class Api(Protocol):
    """What the module of an API reads."""

    def messages_of_request(self, body: Mapping[str, Any]) -> list[Message]: ...
    def annotations_of_request(self, body: Mapping[str, Any]) -> dict[str, Any]: ...
    def messages_of_response(self, body: Any) -> list[list[Message]]: ...


_ENDINGS: Final[tuple[tuple[tuple[str, ...], Any], ...]] = (
    (("/chat/completions", "/completions"), openai_chat),
    (("/responses",), openai_responses),
    ((":generateContent", ":streamGenerateContent"), gemini),
    (("/converse", "/converse-stream"), bedrock),
)
# Where other clouds serve Anthropic's models; they serve others there too.
_OF_ANTHROPIC: Final = (":rawPredict", ":streamRawPredict", "/invoke", "/invoke-with-response-stream")
_MODEL: Final = re.compile(r"/(?:models?|deployments)/([^/]+?)(?::[a-zA-Z]+)?(?:/|$)")


def api_of(exchange: HttpExchange) -> Api | None:
    """The API that a request was made to, by its address; None when it was none of a model."""
    path = unquote(exchange.path)
    if exchange.method not in ("POST", ""):
        return None
    request = mapping(exchange.request)
    for endings, api in _ENDINGS:
        if path.endswith(endings):
            return cast("Api", api)
    is_messages = path.endswith("/messages") and isinstance(request.get("messages"), list)
    if is_messages or (path.endswith(_OF_ANTHROPIC) and "anthropic_version" in request):
        return cast("Api", anthropic)
    return None


# --- conversations -----------------------------------------------------------------------

Atom = tuple[Any, ...]
"""One thing that was said or done, in a form in which it is the same wherever it is repeated; its last item is the id
of the call."""


@dataclass(slots=True)
class _Talk:
    annotations: dict[str, Any]
    messages: list[Message] = field(default_factory=list[Message])
    atoms: list[Atom] = field(default_factory=list[Atom])
    prompts: set[str] = field(default_factory=set[str])
    error: str | None = None  # why the last request got no answer
    lacks: bool = False  # whether the turn that goes on has calls of the model that were not recorded


class Talks:
    """Takes requests with their answers one by one."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._talks: list[_Talk] = []
        self._by_response: dict[str, _Talk] = {}
        self._by_start: dict[Atom, list[_Talk]] = {}

    def add(self, exchange: HttpExchange, api: Api, source: dict[str, Any]) -> None:
        """The next request.

        Raises
        ------
        BadRecord
            When it holds no messages.
        """
        request = mapping(exchange.request)
        if not request:
            raise BadRecord("the body of the request is no JSON object")
        asked = api.messages_of_request(request)
        error = _error_of(exchange)
        answers = api.messages_of_response(exchange.response) if error is None else []
        if error is None and not any(answers):
            error = "the response holds no answer"
        known = api.annotations_of_request(request)
        for answer in answers or [[]]:
            talk = self._continued(asked, request) or self._begun(source, api)
            is_new = not talk.atoms
            self._extend(talk, asked, answer, error, exchange)
            if is_new and talk.atoms:
                self._by_start.setdefault(talk.atoms[0][:-1], []).append(talk)
            _add_annotations(talk.annotations, known)
            response = first(mapping(exchange.response), "id")
            for name in (response, *(mapping(message.metadata).get("response_id") for message in answer)):
                if isinstance(name, str):
                    self._by_response[name] = talk

    def traces(self) -> Iterator[Trace[Any, Any]]:
        """The conversations, in the order of their beginnings."""
        for talk in self._talks:
            yield to_trace(talk.messages, talk.annotations, self._options)

    def _begun(self, source: dict[str, Any], api: Api) -> _Talk:
        name = str(getattr(api, "__name__", "")).rpartition(".")[2]
        talk = _Talk({"source": source, "api": name})
        self._talks.append(talk)
        return talk

    def _continued(self, asked: list[Message], request: dict[str, Any]) -> _Talk | None:
        """The conversation that a request goes on with."""
        earlier = request.get("previous_response_id")
        if isinstance(earlier, str):
            return self._by_response.get(earlier)
        atoms = [atom for message in asked for atom in _atoms(message)]
        starting = self._by_start.get(atoms[0][:-1], []) if atoms else []
        open_ones = [talk for talk in starting if talk.error is not None or len(talk.atoms) < len(atoms)]
        for same in (_same, _alike):
            fits = [talk for talk in open_ones if _begins_with(atoms, talk.atoms, same)]
            if fits:
                return max(reversed(fits), key=lambda talk: len(talk.atoms))
        return None

    def _extend(
        self, talk: _Talk, asked: list[Message], answer: list[Message], error: str | None, exchange: HttpExchange
    ) -> None:
        is_linked = isinstance(mapping(exchange.request).get("previous_response_id"), str)
        known = 0 if is_linked else len(talk.atoms)
        retries: list[dict[str, Any]] = []
        if talk.error is not None:
            failed = talk.messages.pop()
            retries = [*listed(mapping(failed.metadata).get("retries")), {"error": talk.error}]
        passed = 0
        added: list[Message] = []
        for message in asked:
            if message.role == "system":
                prompt = _written(message.content)
                if prompt not in talk.prompts:
                    talk.prompts.add(prompt)
                    added.append(message)
                continue
            atoms = list(_atoms(message))
            if passed >= known or passed + len(atoms) > known:
                added.append(message)
                talk.atoms += atoms
            passed += len(atoms)
        talk.error = error
        if error is not None:
            answer = [Message("assistant", metadata={"error": error})]
        else:
            talk.atoms += [atom for message in answer for atom in _atoms(message)]
        talk.lacks = lacks_figures(added, talk.lacks, follows=bool(talk.messages))
        if answer:
            _note(answer[-1], exchange, retries)
            if talk.lacks:
                keep_apart(answer)
        for messages in (added, answer):
            talk.messages += _numbered(messages, talk.messages)


def _numbered(messages: list[Message], before: list[Message]) -> list[Message]:
    """`messages` with their places in the whole conversation; those that shared one in their recording still do."""
    place = (before[-1].index or 0) + 1 if before else 0
    last = None
    for position, message in enumerate(messages):
        key = message.index
        if position and (key is None or key != last):
            place += 1
        message.index, last = place, key
    return messages


def _note(message: Message, exchange: HttpExchange, retries: list[dict[str, Any]]) -> None:
    message.latency_ms = message.latency_ms if exchange.latency_ms is None else exchange.latency_ms
    message.ttft_ms = message.ttft_ms if exchange.ttft_ms is None else exchange.ttft_ms
    message.timestamp = message.timestamp or exchange.timestamp
    message.model = message.model or text(mapping(exchange.request).get("model")) or _model_in(exchange.path)
    if retries:
        message.metadata = {**(message.metadata or {}), "retries": retries}


def _model_in(path: str) -> str | None:
    """The model that an address names, as those of Google, Amazon and Azure do."""
    match = _MODEL.search(path)
    return None if match is None else unquote(match[1])


def _error_of(exchange: HttpExchange) -> str | None:
    """Why a request got no answer: what the server said of it."""
    response = exchange.response
    if exchange.status and exchange.status < 400:
        return None
    error = first(mapping(response), "error", "message", "detail") if isinstance(response, dict) else response
    said = first(mapping(error), "message") if isinstance(error, dict) else error
    if not exchange.status:
        return None if response is not None and error is None else "there was no response"
    words = "" if said is None else f": {cut(said if isinstance(said, str) else json.dumps(said, default=str), 500)}"
    return f"HTTP {exchange.status}{words}"


def _add_annotations(held: dict[str, Any], known: Mapping[str, Any]) -> None:
    """Add what a further request says: tools that are new go to those before."""
    for name, value in known.items():
        if name == "tools" and isinstance(value, list) and isinstance(held.get(name), list):
            held[name] = [*held[name], *(tool for tool in cast("list[Any]", value) if tool not in held[name])]
        else:
            held.setdefault(name, value)


# --- what is the same in two requests ----------------------------------------------------


def _atoms(message: Message) -> Iterable[Atom]:
    """What a message says and does, without what APIs leave out when it is repeated, such as reasoning."""
    if message.role == "system":
        return
    for result in message.results:
        content = result.content if result.error is None or result.error is True else result.error
        yield ("result", _written(content), result.id)
    if (said := _written(message.content)) != "":
        yield (message.role, said, None)
    for call in message.calls:
        yield ("call", call.name, _written(json_or_text(call.arguments)), call.id)
        if call.has_result:
            yield ("result", _written(call.result if call.error is None else call.error), call.id)


def _written(value: Any) -> str:
    value = plain(value) if isinstance(value, list) else value
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _begins_with(atoms: list[Atom], start: list[Atom], same: Any) -> bool:
    return len(start) <= len(atoms) and all(map(same, start, atoms))


def _same(one: Atom, other: Atom) -> bool:
    return one == other


def _alike(one: Atom, other: Atom) -> bool:
    """Whether two are the same but for their ids, which some clients make anew."""
    return one[:-1] == other[:-1]
