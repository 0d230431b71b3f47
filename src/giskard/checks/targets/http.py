"""Systems under test behind a URL."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlencode, urlsplit

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.llm import recording
from giskard.checks.targets import _options
from giskard.checks.targets._chunks import Chunks
from giskard.checks.targets._conversation import CONVERSATION, as_text, turn
from giskard.checks.targets._history import conversation_values, history_of
from giskard.checks.targets._http import ask
from giskard.checks.targets._http_client import client_of, new_cookies
from giskard.checks.targets._http_parts import Parts, check_address, compiled, read_outputs, written
from giskard.checks.targets._http_reply import Outgoing, Reply
from giskard.checks.targets._kept import Kept
from giskard.checks.targets._place import Place
from giskard.checks.targets._recorded import recorded
from giskard.checks.targets._secrets import (
    WITHHELD,
    FromEnvironment,
    Keys,
    Known,
    Secret,
    protected,
    protected_data,
    protected_query,
    redacted,
    resolved,
    shown_url,
)
from giskard.checks.targets.errors import TargetError

__all__ = ["HTTPTarget"]

_MAX_CONVERSATIONS: Final = 20_000


class _Conversation:
    """What the service gave for one conversation."""

    __slots__ = ("cookies", "id")

    def __init__(self, id: Any, cookies: Any) -> None:
        self.id = id
        self.cookies = cookies


@dataclass(frozen=True, repr=False)
class HTTPTarget:
    r"""A service that is asked over HTTP, one request a turn.

    Placeholders in `url`, `params` and `body` are replaced as values, so that no input can break out of its place:
    ``{{ inputs }}``, ``{{ inputs.question }}``, ``{{ history }}`` (the turns up to now, as messages with ``role`` and
    ``content``), ``{{ messages }}`` (the same with the inputs), ``{{ conversation_id }}``, ``{{ trial }}``,
    ``{{ annotations.customer }}``.  In the same places, and in `headers`, ``${API_KEY}`` is a variable of the
    environment, read when the request is sent; what is to arrive as ``${…}`` is written ``$${…}``.

    Parameters
    ----------
    url
        Where it is.
    method
        ``"POST"``, ``"GET"``, …
    headers
        Sent with each request: ``{"Authorization": "Bearer ${API_KEY}"}``.
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
    max_retries
        How often a request is sent again: when no connection was made, or after 429 and 503, for as long as
        ``Retry-After`` asks for.  After a lost answer, 502 or 504 only with methods that may be sent twice (not POST).
    timeout
        Seconds for a turn, with all tries and the whole answer.
    accept
        Statuses beside 2xx that are answers.
    keep_headers
        The headers of the answer that are noted in the turn's metadata.
    max_bytes
        The largest answer, unpacked.
    verify
        False to accept any certificate, or the path of a file with those to trust.

    Raises
    ------
    TypeError, ValueError
        When an option is none that a target can have.

    Notes
    -----
    Cookies that the service sets are sent back in the same conversation.  A target is a dataclass, so that a scenario
    with one can be saved and loaded; not when it holds a key as such: name a variable of the environment.  What looks
    like a key is taken for one, and what goes by the name of one: ``authorization``, ``token``, ``api_key``, ….

    What the turn's metadata tells of the call is under ``"target"``: the status, the kept headers, the tries, the time.

    A cassette keeps answers by method, path, query, headers, body and history, and not by the host.  It has
    ``[secret]`` in the place of the keys that the target knows, also where the service said one back.

    Redirects are followed on the same server only.
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
    max_retries: int = 3
    timeout: float = 120.0
    accept: tuple[int, ...] = ()
    keep_headers: tuple[str, ...] = ("content-type",)
    max_bytes: int = 10_000_000
    verify: bool | str = True
    _parts: Parts = field(init=False, compare=False)
    _conversations: Kept[_Conversation] = field(init=False, compare=False)
    _known: Known = field(init=False, compare=False)

    def __post_init__(self) -> None:
        _options.check_options(self, **_OPTIONS)
        check_address(self.url)
        put = object.__setattr__  # it is frozen from here on
        url, in_query = protected_query(self.url)
        put(self, "url", url)
        put(self, "method", self.method.upper())
        put(self, "headers", {name: protected(name, value) for name, value in self.headers.items()})
        params = cast("dict[str, Any]", protected_data(self.params))
        put(self, "params", params | {name: [*found, *_listed(params.get(name))] for name, found in in_query.items()})
        put(self, "body", protected_data(self.body))
        put(self, "accept", tuple(self.accept))
        put(self, "keep_headers", tuple(name.lower() for name in self.keep_headers))
        put(self, "verify", self.verify if isinstance(self.verify, bool) else os.fspath(self.verify))
        put(self, "_conversations", Kept(_MAX_CONVERSATIONS))
        put(self, "_parts", compiled(self))
        put(self, "_known", Known(self.url, self.headers, self.params, self.body))

    def __hash__(self) -> int:
        return hash((type(self), self.url))

    def __repr__(self) -> str:
        shown = [repr(shown_url(self.url)), repr(self.method)]
        shown += [f"{name}={', '.join(each)}" for name in ("headers", "params") if (each := getattr(self, name))]
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
            unwritten = "conversation_id" if _is_secret(self._parts.take_id) else None
            answer = await recorded(self._meaning(inputs, trace, trial), call, self._known.now(), unwritten)
        else:
            answer = await call()
        if answer.get("conversation_id") is not None:
            conversation.id = answer["conversation_id"]
        known = None if _is_secret(self._parts.take_id) else answer.get("conversation_id")
        of_call = {"kind": "http", **{name: answer.get(name) for name in ("http", "latency_ms")}}
        first_chunk = answer.get("time_to_first_chunk")
        return turn(inputs, answer["outputs"], of_call, {"conversation_id": known}, first_chunk)

    def _conversation(self, conversation_id: str) -> _Conversation:
        own = None if self._parts.take_id is not None else conversation_id or None

        def make() -> _Conversation:
            return _Conversation(own, new_cookies())

        return self._conversations.get_or_make(conversation_id, make) if conversation_id else make()

    # --- the request -------------------------------------------------------------------------

    def _outgoing(self, values: Mapping[str, Any], conversation: _Conversation) -> Outgoing:
        parts = self._parts
        keys = FromEnvironment()
        headers = resolved(self.headers, "the header", keys)
        if "conversation_id" in parts.url.names and conversation.id is None:
            raise TargetError(f"{self!r} needs a conversation_id for its url, and there is none yet", kind="config")
        url, body = self._filled(values, keys)
        if parts.send_id is not None and conversation.id is not None:
            parts.send_id.put(conversation.id, headers, conversation.cookies, body, url)
        content, kind = written(body)
        if kind is not None and not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = kind
        return Outgoing(self.method, url, headers, content, tuple(keys.secrets))

    def _filled(self, values: Mapping[str, Any], keys: Keys) -> tuple[str, Any]:
        url: str = self._parts.url.fill(values, keys)
        params: dict[str, Any] = self._parts.params.fill(values, keys)
        pairs = [(name, as_text(item)) for name, v in params.items() for item in _listed(v) if item is not None]
        if pairs:
            url += ("&" if urlsplit(url).query else "?") + urlencode(pairs, errors="replace")
        body = None if self._parts.body is None else self._parts.body.fill(values, keys)
        return url, body

    def _meaning(self, inputs: Any, trace: Trace | None, trial: int) -> dict[str, Any]:
        """What the call means, whatever the ids of this run, the keys of this machine and the place of the service."""
        values = conversation_values(inputs, trace, CONVERSATION, trial, self._parts.names)
        url, body = self._filled(values, WITHHELD)
        address = urlsplit(url)
        return {
            "target": "http",
            "method": self.method,
            "path": address.path or "/",
            "query": parse_qs(address.query, keep_blank_values=True),
            "headers": resolved(self.headers, "the header", WITHHELD),
            "body": body,
            "paths": [self.response_path, self.stream_path],
            "history": history_of(trace),
        }

    # --- the answer --------------------------------------------------------------------------

    async def _asked(self, outgoing: Outgoing, conversation: _Conversation) -> dict[str, Any]:
        client_of(self._parts.rules.verify)  # so that the time of the first call is its own
        start = time.perf_counter()
        parts = self._parts

        async def read(reply: Reply) -> tuple[Any, Any, float | None]:
            if reply.content_type == "text/event-stream" or reply.content_type in _LINES_OF_JSON:
                return await self._read_stream(reply, start)
            return *read_outputs(await reply.text(), reply, parts), None

        try:
            (outputs, found, first_chunk), reply = await ask(outgoing, parts.rules, read, conversation.cookies)
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

    async def _read_stream(self, reply: Reply, start: float) -> tuple[Any, Any, float | None]:
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


def _listed(value: Any) -> list[Any]:
    """The values of a name in a query: one, several, or none."""
    if value is None:
        return []
    return list(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else [value]


def _is_secret(place: Place | None) -> bool:
    """Whether an id is one that lets others into the conversation: it is not noted then."""
    return place is not None and place.kind == "cookie"


_OPTIONS: Final = {
    "url": _options.ADDRESS,
    "method": _options.METHOD,
    "headers": _options.HEADERS,
    "params": _options.MAPPING,
    "response_path": _options.MAYBE_TEXT,
    "stream_path": _options.MAYBE_TEXT,
    "conversation_id": _options.MAYBE_TEXT,
    "conversation_id_from": _options.MAYBE_TEXT,
    "max_retries": _options.whole_number(0),
    "timeout": _options.SECONDS,
    "accept": _options.STATUSES,
    "keep_headers": _options.NAMES,
    "max_bytes": _options.whole_number(1),
    "verify": _options.VERIFY,
}
