"""Systems under test behind a URL."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlencode, urlsplit

from giskard.checks.core.extraction import NoMatch
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.options import positive_seconds
from giskard.checks.llm import recording
from giskard.checks.targets import _http
from giskard.checks.targets._chunks import Chunks
from giskard.checks.targets._conversation import as_json, as_text, conversation_values, history_of, to_json_text, turn
from giskard.checks.targets._place import Place
from giskard.checks.targets._reply import ValuePath, parse_json
from giskard.checks.targets._secrets import Secret, is_address, protected, redacted, resolved, shown_url
from giskard.checks.targets._template import Template
from giskard.checks.targets.errors import TargetError

__all__ = ["HTTPTarget"]

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS", "DELETE", "TRACE"})
_DEFAULT_BODY: Final = {"inputs": "{{ inputs }}"}
_MAX_CONVERSATIONS: Final = 20_000
_CARRY_INPUTS: Final = frozenset({"inputs", "messages"})
_STANDS_FOR_THE_ID: Final = "<conversation>"


class _Conversation:
    """What the service gave for one conversation."""

    __slots__ = ("cookies", "id")

    def __init__(self, id: Any, cookies: Any) -> None:
        self.id = id
        self.cookies = cookies


class _Parts(NamedTuple):
    """The options of a target, ready to be used."""

    url: Template
    params: Template
    body: Template | None
    names: frozenset[str]
    send_id: Place | None
    take_id: Place | None
    response_path: ValuePath | None
    stream_path: ValuePath | None
    rules: _http.Rules


@dataclass(frozen=True, repr=False)
class HTTPTarget:
    r"""A service that is asked over HTTP, one request a turn.

    Placeholders in `url`, `params` and `body` are replaced as values, so that no input can break out of its place:
    ``{{ inputs }}``, ``{{ inputs.question }}``, ``{{ history }}`` (the turns up to now, as messages with ``role`` and
    ``content``), ``{{ messages }}`` (the same with the inputs), ``{{ conversation_id }}``, ``{{ trial }}``,
    ``{{ annotations.customer }}``.

    Parameters
    ----------
    url
        Where it is.
    method
        ``"POST"``, ``"GET"``, …
    headers
        Sent with each request.  ``"Bearer ${API_KEY}"`` takes the environment's variable when the request is sent.
    params
        The query of the URL.
    body
        JSON data with placeholders, or a text; by default ``{"inputs": "{{ inputs }}"}`` where the method has a body.
    response_path
        A JSONPath to the outputs in the answer, such as ``"$.choices[0].message.content"``; else they are the JSON
        data, or the text, that came back.
    stream_path
        The same in each event of a stream (``text/event-stream`` or lines of JSON), whose texts are joined; else
        `response_path`.
    conversation_id
        Where the conversation's id is sent: ``"header:X-Session"``, ``"cookie:session"`` or ``"body:session.id"``.
    conversation_id_from
        Where the first answer holds an id of the service's own, sent in its place from then on:
        ``"header:X-Session"``, ``"cookie:session"`` or ``"body:$.session.id"``.
    retries
        How often a request is sent again: when no connection was made, or after 429 and 503, for as long as
        ``Retry-After`` asks for.  After a lost answer, 502 or 504 only with methods that may be sent twice (not POST).
    timeout
        Seconds for a turn, with all tries and the whole answer.
    accept
        Statuses beside 2xx that are answers.
    keep_headers
        The headers of the answer that are noted in the turn's metadata.
    max_bytes
        The largest answer.
    verify
        False to accept any certificate, or the path of a file with those to trust.

    Raises
    ------
    ValueError
        When an option is none that a target can have.

    Notes
    -----
    Cookies that the service sets are sent back in the same conversation.  A target is a dataclass, so that a scenario
    with one can be saved and loaded; not when it holds a key as such: name a variable of the environment.
    """

    url: str
    method: str = "POST"
    _: KW_ONLY
    headers: Mapping[str, str | Secret] = field(default_factory=dict[str, "str | Secret"])
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Any = None
    response_path: str | None = None
    stream_path: str | None = None
    conversation_id: str | None = None
    conversation_id_from: str | None = None
    retries: int = 2
    timeout: float = 60.0
    accept: tuple[int, ...] = ()
    keep_headers: tuple[str, ...] = ("content-type",)
    max_bytes: int = 10_000_000
    verify: bool | str = True
    _parts: _Parts = field(init=False, compare=False)
    _conversations: OrderedDict[str, _Conversation] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__  # it is frozen from here on
        put(self, "method", self.method.upper())
        put(self, "headers", {name: protected(name, value) for name, value in self.headers.items()})
        put(self, "accept", tuple(self.accept))
        put(self, "keep_headers", tuple(name.lower() for name in self.keep_headers))
        put(self, "_conversations", OrderedDict())
        put(self, "_parts", self._compiled())

    def _compiled(self) -> _Parts:
        shown = shown_url(self.url)
        if not is_address(self.url):
            raise ValueError(f"url is {shown!r}, expected one that begins with http:// or https://")
        address = urlsplit(self.url)
        if address.username or address.password:
            raise ValueError(
                f"url has a name or a password in it ({shown!r} is left of it); send them as a header: "
                "headers={'Authorization': 'Basic ${CREDENTIALS}'}"
            )
        positive_seconds(self.timeout)
        body = _DEFAULT_BODY if self.body is None and self.method not in _WITHOUT_BODY else self.body
        url = Template(self.url, "url", quoted=True)
        params = Template(self.params, "params")
        sent = None if body is None else Template(body, "body")
        names = url.names | params.names | (frozenset[str]() if sent is None else sent.names)
        if not names & _CARRY_INPUTS:
            raise ValueError(
                "nothing in url, params or body says where the inputs go: put '{{ inputs }}' or '{{ messages }}' there"
            )
        send_id = None if self.conversation_id is None else Place(self.conversation_id, "conversation_id")
        take_id = (
            None if self.conversation_id_from is None else Place(self.conversation_id_from, "conversation_id_from")
        )
        if send_id is not None and send_id.kind == "body" and not isinstance(body, Mapping):
            raise ValueError(
                f"conversation_id is {self.conversation_id!r}, and the body is no dictionary: {body!r:.100}"
            )
        if take_id is not None and take_id.kind != "cookie" and send_id is None and "conversation_id" not in names:
            raise ValueError(
                f"conversation_id_from is {self.conversation_id_from!r}, and what it finds is sent nowhere: give "
                "conversation_id=… too, or put '{{ conversation_id }}' into url, params or body"
            )
        whole = None if self.response_path is None else ValuePath(self.response_path)
        return _Parts(
            url,
            params,
            sent,
            names,
            send_id,
            take_id,
            whole,
            whole if self.stream_path is None else ValuePath(self.stream_path),
            _http.Rules(self.timeout, self.retries, self.max_bytes, self.verify, frozenset(self.accept)),
        )

    def __hash__(self) -> int:
        return hash((type(self), self.url))

    def __repr__(self) -> str:
        shown = [repr(shown_url(self.url)), repr(self.method)]
        if self.headers:
            shown.append(f"headers={', '.join(self.headers)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    async def __call__(
        self, inputs: Any, trace: Trace | None = None, conversation_id: str = "", trial: int = 1
    ) -> Interaction:
        """The turn that the service makes of `inputs`.

        Parameters
        ----------
        trace
            The turns up to now.
        conversation_id
            Calls with the same one belong together; without one a call stands alone.
        trial
            Which attempt at the scenario this is, from 1.

        Raises
        ------
        TargetError
            When the service gives no answer that can be used.
        LimitExceededError
            When the time is over.
        """
        conversation = self._conversation(conversation_id)

        async def call() -> dict[str, Any]:
            values = conversation_values(inputs, trace, conversation.id, trial, self._parts.names)
            return await self._asked(self._outgoing(values, conversation), conversation)

        if recording.active():
            answer, _ = await recording.recorded("target", self._meaning(inputs, trace, trial), call)
        else:
            answer = await call()
        if answer.get("conversation_id") is not None:
            conversation.id = answer["conversation_id"]
        metadata = {name: answer.get(name) for name in ("http", "latency_ms")}
        metadata["conversation_id"] = None if _is_secret(self._parts.take_id) else answer.get("conversation_id")
        return turn(inputs, answer["outputs"], metadata, answer.get("time_to_first_chunk"))

    def _conversation(self, conversation_id: str) -> _Conversation:
        own = None if self._parts.take_id is not None else conversation_id or None
        if not conversation_id:
            return _Conversation(own, _http.new_cookies())
        found = self._conversations.get(conversation_id)
        if found is None:
            found = self._conversations[conversation_id] = _Conversation(own, _http.new_cookies())
            while len(self._conversations) > _MAX_CONVERSATIONS:
                self._conversations.popitem(last=False)
        return found

    # --- the request -------------------------------------------------------------------------

    def _outgoing(self, values: Mapping[str, Any], conversation: _Conversation) -> _http.Outgoing:
        parts = self._parts
        secrets: list[str] = []
        headers = resolved(self.headers, "the header", secrets)
        if "conversation_id" in parts.url.names and conversation.id is None:
            raise TargetError(f"{self!r} needs a conversation_id for its url, and there is none yet", kind="config")
        url, body = self._filled(values)
        if parts.send_id is not None and conversation.id is not None:
            parts.send_id.put(conversation.id, headers, conversation.cookies, body, url)
        content, kind = _written(body)
        if kind is not None and not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = kind
        return _http.Outgoing(self.method, url, headers, content, tuple(secrets))

    def _filled(self, values: Mapping[str, Any]) -> tuple[str, Any]:
        url: str = self._parts.url.fill(values)
        params: dict[str, Any] = self._parts.params.fill(values)
        several = {name: cast("list[Any]", v if isinstance(v, list) else [v]) for name, v in params.items()}
        pairs = [(name, as_text(item)) for name, items in several.items() for item in items if item is not None]
        if pairs:
            url += ("&" if urlsplit(url).query else "?") + urlencode(pairs, errors="replace")
        body = None if self._parts.body is None else self._parts.body.fill(values)
        return url, body

    def _meaning(self, inputs: Any, trace: Trace | None, trial: int) -> dict[str, Any]:
        """What the call means, whatever the ids of this run and the keys of this machine."""
        values = conversation_values(inputs, trace, _STANDS_FOR_THE_ID, trial, self._parts.names)
        url, body = self._filled(values)
        return {
            "target": "http",
            "method": self.method,
            "url": url,
            "headers": {name: "" if isinstance(value, Secret) else value for name, value in self.headers.items()},
            "body": body,
            "paths": [self.response_path, self.stream_path],
            "history": history_of(trace),
        }

    # --- the answer --------------------------------------------------------------------------

    async def _asked(self, outgoing: _http.Outgoing, conversation: _Conversation) -> dict[str, Any]:
        _http.get_ready(self._parts.rules)
        start = time.perf_counter()
        parts = self._parts

        async def read(reply: _http.Reply) -> tuple[Any, Any, float | None]:
            if reply.content_type == "text/event-stream" or reply.content_type in _LINES_OF_JSON:
                return await self._read_stream(reply, start)
            return *_outputs(await reply.text(), reply, parts.response_path, parts.take_id), None

        try:
            (outputs, found, first_chunk), reply = await _http.ask(outgoing, parts.rules, read, conversation.cookies)
        except TargetError as error:
            error.message = redacted(error.message, outgoing.secrets)
            raise
        if parts.take_id is not None and conversation.id is None and found is None:
            found = parts.take_id.take(reply.headers, conversation.cookies)
            if found is None:
                raise TargetError(f"{reply.place} gave no conversation id at {self.conversation_id_from!r}")
        kept = {name: reply.headers[name] for name in self.keep_headers if name in reply.headers}
        return {
            "outputs": outputs,
            "conversation_id": found,
            "http": {"status": reply.status, "headers": kept, "tries": reply.tries},
            "latency_ms": round((time.perf_counter() - start) * 1000, 3),
            "time_to_first_chunk": first_chunk,
        }

    async def _read_stream(self, reply: _http.Reply, start: float) -> tuple[Any, Any, float | None]:
        """The outputs, the service's id of the conversation, and the seconds to the first chunk."""
        parts = self._parts
        chunks = Chunks(reply.place, parts.stream_path, parts.take_id)
        if reply.content_type == "text/event-stream":
            async with aclosing(reply.events()) as events:
                async for kind, data in events:
                    if data.strip() == "[DONE]":
                        break
                    chunks.add(data, time.perf_counter() - start, kind)
        else:
            async with aclosing(reply.lines()) as lines:
                async for line in lines:
                    chunks.add(line, time.perf_counter() - start)
        return chunks.joined(), chunks.conversation_id, chunks.first_chunk


_LINES_OF_JSON: Final = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines"}
)


def _outputs(text: str, reply: _http.Reply, path: ValuePath | None, take_id: Place | None) -> tuple[Any, Any]:
    """The outputs in the body of an answer, and the service's id of the conversation if it is there too."""
    is_json = reply.content_type == "application/json" or reply.content_type.endswith("+json")
    wants_id = take_id is not None and take_id.path is not None
    if not text.strip() and (path is not None or (is_json and reply.status != 204)):
        raise TargetError(f"{reply.place} answered {reply.status} with an empty body", status=reply.status)
    if not (is_json or path is not None or wants_id):
        return None if reply.status == 204 else text, None
    if not text.strip():
        return None, None
    data = parse_json(text, f"the answer of {reply.place}")
    found = take_id.path.search(data) if take_id is not None and take_id.path is not None else None
    outputs = data if path is None else path.find(data, f"the answer of {reply.place}")
    return outputs, None if isinstance(found, NoMatch) else found


def _written(body: Any) -> tuple[bytes | None, str | None]:
    """The body as bytes, and what kind of content it is."""
    if body is None:
        return None, None
    if isinstance(body, str):
        return body.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    return to_json_text(as_json(body, "the body")).encode(), "application/json"


def _is_secret(place: Place | None) -> bool:
    """Whether an id is one that lets others into the conversation: it is not noted then."""
    return place is not None and place.kind == "cookie"
