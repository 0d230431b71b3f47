"""The options of an `HTTPTarget`, ready to be used, and what its answers hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from giskard.checks.core.extraction import NoMatch
from giskard.checks.targets._conversation import as_json, to_json_text
from giskard.checks.targets._http_reply import Reply, Rules
from giskard.checks.targets._place import Place
from giskard.checks.targets._reply import ValuePath, parse_json
from giskard.checks.targets._secrets import REFERENCE, holds_key, is_address, shown_url
from giskard.checks.targets._template import Template
from giskard.checks.targets.errors import TargetError

if TYPE_CHECKING:
    from giskard.checks.targets.http import HTTPTarget

__all__ = ["Parts", "check_address", "compiled", "read_outputs", "written"]

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS", "DELETE", "TRACE"})
_DEFAULT_BODY: Final = {"inputs": "{{ inputs }}"}
_CARRY_INPUTS: Final = frozenset({"inputs", "messages"})


class Parts(NamedTuple):
    """The options of a target."""

    url: Template
    params: Template
    body: Template | None
    names: frozenset[str]
    send_id: Place | None
    take_id: Place | None
    response_path: ValuePath | None
    stream_path: ValuePath | None
    rules: Rules


def check_address(url: str) -> None:
    """Refuse what is no address, or has a key in a place where it cannot be hidden.

    Raises
    ------
    ValueError
        Saying what is expected.
    """
    shown = shown_url(url)
    if not is_address(url):
        raise ValueError(f"url is {shown!r}, expected one that begins with http:// or https://")
    address = urlsplit(url)
    if address.username or address.password:
        raise ValueError(
            f"url has a name or a password in it ({shown!r} is left of it); send them as a header: "
            "headers={'Authorization': 'Basic ${CREDENTIALS}'}"
        )
    if holds_key(address.path):
        raise ValueError(
            "url has what looks like a key in its path, which is shown and saved: write the name of a variable of the "
            "environment there, 'https://host/${API_KEY}/path'"
        )
    if REFERENCE.search(address.netloc):
        raise ValueError(
            f"url is {shown!r}, and a variable can stand in its path or its query, not for the host: put the address "
            "together where the target is made"
        )


def compiled(target: HTTPTarget) -> Parts:
    """The options of `target`.

    Raises
    ------
    ValueError
        When they are none that a target can have, or do not go together.
    """
    has_body = target.body is not None or target.method not in _WITHOUT_BODY
    data = _DEFAULT_BODY if target.body is None else target.body
    url = Template(target.url, "url", quoted=True, references=True)
    params = Template(target.params, "params", references=True)
    body = Template(data, "body", references=True) if has_body else None
    names = url.names | params.names | (frozenset[str]() if body is None else body.names)
    if not names & _CARRY_INPUTS:
        raise ValueError(
            "nothing in url, params or body says where the inputs go: put '{{ inputs }}' or '{{ messages }}' there"
        )
    whole = None if target.response_path is None else ValuePath(target.response_path)
    return Parts(
        url,
        params,
        body,
        names,
        *_places(target, data if has_body else None, names),
        whole,
        whole if target.stream_path is None else ValuePath(target.stream_path),
        Rules(target.timeout, target.max_retries, target.max_bytes, target.verify, frozenset(target.accept)),
    )


def _places(target: HTTPTarget, body: Any, names: frozenset[str]) -> tuple[Place | None, Place | None]:
    """Where the id of a conversation is sent, and where it is taken from."""
    send, take = target.conversation_id, target.conversation_id_from
    send_id = None if send is None else Place(send, "conversation_id")
    take_id = None if take is None else Place(take, "conversation_id_from")
    if send_id is not None and send_id.kind == "body" and not isinstance(body, Mapping):
        kind = "empty" if body is None else f"of the type {type(body).__name__}"
        raise ValueError(f"conversation_id is {send!r}, and the body is no dictionary: it is {kind}")
    if take_id is not None and take_id.kind != "cookie" and send_id is None and "conversation_id" not in names:
        raise ValueError(
            f"conversation_id_from is {take!r}, and what it finds is sent nowhere: give conversation_id=… too, or put "
            "'{{ conversation_id }}' into url, params or body"
        )
    return send_id, take_id


def read_outputs(text: str, reply: Reply, parts: Parts) -> tuple[Any, Any]:
    """The outputs in the body of an answer, and the service's id of the conversation if it is there too."""
    path = parts.response_path
    id_path = None if parts.take_id is None else parts.take_id.path
    is_json = reply.content_type == "application/json" or reply.content_type.endswith("+json")
    if not text.strip() and (path is not None or (is_json and reply.status != 204)):
        raise TargetError(f"{reply.place} answered {reply.status} with an empty body", status=reply.status)
    if not (is_json or path is not None or id_path is not None):
        return None if reply.status == 204 else text, None
    if not text.strip():
        return None, None
    data = parse_json(text, f"the answer of {reply.place}")
    found = None if id_path is None else id_path.search(data)
    outputs = data if path is None else path.find(data, f"the answer of {reply.place}")
    return outputs, None if isinstance(found, NoMatch) else found


def written(body: Any) -> tuple[bytes | None, str | None]:
    """The body as bytes, and what kind of content it is."""
    if body is None:
        return None, None
    if isinstance(body, str):
        return body.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    return to_json_text(as_json(body, "the body")).encode(), "application/json"
