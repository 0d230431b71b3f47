"""Why a call failed, in words that a tester can act upon."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from giskard.checks.core.error_kinds import ErrorKind
from giskard.checks.llm._addresses import Address
from giskard.checks.llm._secrets import SECRET, without_secrets
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.retry_after import retry_after
from giskard.checks.utils.lazy import json

__all__ = [
    "failed_call",
    "in_short",
    "no_connection",
    "no_key",
    "not_understood",
    "refused",
    "refuses_format",
    "shown_seconds",
]

_LIMIT: Final = 300  # characters of a server's text in a message

_NO_CREDIT: Final = re.compile(
    r"insufficient[_ ]quota|exceeded your current quota|credit balance|insufficient[_ ](?:credits?|balance|funds)|"
    r"billing[_ ](?:error|hard|not)|out of credits?",
    re.IGNORECASE,
)
_BAD_KEY: Final = re.compile(
    r"api[_ ]key[_ ](?:not[_ ]valid|invalid)|(?:invalid|incorrect)[_ ]api[_ ]key", re.IGNORECASE
)
_FILTERED: Final = re.compile(
    r"content[_ ]?filter|content[_ ](?:management[_ ])?policy|responsible ?ai ?policy|flagged as potentially",
    re.IGNORECASE,
)
# The names of parameters, and what servers say that have none for it: prompts, which servers quote, have other words.
_REFUSED_FORMAT: Final = re.compile(
    r"response[_ ]format|json_schema|response_(?:json_)?schema|responseSchema|structured_outputs?|"
    r"output_(?:config|format)|guided_(?:json|decoding|grammar)|failed to parse grammar|json schema conversion failed|"
    r"json schema contains features|invalid json schema in format"
)
_RETRYABLE_STATUS: Final = frozenset({408, 409, 425, 429})


def failed_call(
    address: Address, status: int, body: Any, headers: Mapping[str, str] | None = None, wait: float | None = None
) -> ModelCallError:
    """What an answer with an HTTP status of failure means.

    Parameters
    ----------
    address
        The model that was asked.
    status
        The HTTP status.
    body
        The body: a text, bytes, or JSON data.
    headers
        The headers, by their names in lower case.
    wait
        Seconds that the server asks to wait, where that is known already.
    """
    headers = headers or {}
    said = in_short(_text_of(body), address)
    kind = _kind(status, json.dumps(body, default=str) if isinstance(body, (dict, list)) else str(body))
    retryable = kind == "rate_limit" or (kind in ("model_error", "timeout") and _is_retryable(status, headers))
    wait = retry_after(headers) if wait is None else wait
    message = f"{address} {_words(address, status, kind, headers.get('location'))}"
    if wait:
        message += f"; it asks to wait {shown_seconds(wait)}"
    message += f" (HTTP {status})"
    if said:
        message += f". It says: {said}"
    return ModelCallError(message, kind=kind, retryable=retryable, retry_after=wait, status=status)


def refuses_format(error: ModelCallError) -> bool:
    """Whether a server does not take the JSON schema of the answer."""
    return error.status in (400, 415, 422, 501) and _REFUSED_FORMAT.search(error.message) is not None


def shown_seconds(seconds: float) -> str:
    """A time in a message."""
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"


def no_key(address: Address) -> ModelCallError:
    """There is no key to ask with."""
    return ModelCallError(
        f"{address} cannot be asked without a key: {address.key_hint}",
        kind="authentication",
    )


def no_connection(address: Address, error: BaseException) -> ModelCallError:
    """The server could not be reached, or the connection ended before the answer did."""
    words = in_short(str(error) or type(error).__name__, address)
    begun = any(word in words for word in ("disconnected", "peer closed", "without sending"))
    what = "broke off the connection before its answer was complete" if begun else "cannot be reached"
    hint = (
        "" if begun else "; is the server running?" if address.base_url else "; is there a connection to the internet?"
    )
    return ModelCallError(f"{address} {what}: {words}{hint}", kind="network")


def not_understood(address: Address, content: str, what: str = "no chat completion") -> ModelCallError:
    """An answer came that is none."""
    said = in_short(content, address) if content.strip() else "nothing at all"
    return ModelCallError(f"{address} sent {what}, but: {said}", kind="model_error", retryable=False)


def refused(address: Address, words: str | None, *, by_filter: bool = False) -> ModelCallError:
    """The model, or a filter, did not want to answer."""
    who = "a content filter ended the answer" if by_filter else "it refused to answer"
    said = f": {in_short(words, address)}" if words else ""
    return ModelCallError(f"{address}: {who}{said}", kind="refused", retryable=False)


def in_short(text: str, address: Address | None = None) -> str:
    """A server's text on one line, cut off, and without what may be a secret in it."""
    if address is not None:
        for secret in sorted({address.key or "", *address.hidden} - {""}, key=len, reverse=True):
            text = text.replace(secret, SECRET)
    text = " ".join(cast("str", without_secrets(text[: 4 * _LIMIT])[0]).split())
    return text if len(text) <= _LIMIT else f"{text[:_LIMIT]}…"


def _kind(status: int, body: str) -> ErrorKind:
    if status == 402 or (status in (400, 403, 429) and _NO_CREDIT.search(body)):
        return "quota"
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(body)):
        return "refused" if _FILTERED.search(body) else "authentication"
    if status == 429:
        return "rate_limit"
    if status in (404, 405) or status < 400:
        return "config"
    if status == 408:
        return "timeout"
    return "refused" if status in (400, 422) and _FILTERED.search(body) else "model_error"


def _words(address: Address, status: int, kind: ErrorKind, location: str | None) -> str:
    if kind == "authentication":
        return f"does not take {'calls without a key' if address.key is None else 'the key'}: {address.key_hint}"
    if location is not None and status < 400:  # it may be anybody's: prompts and keys are not sent there unasked
        return f"is elsewhere: it points to {in_short(location, address)!r}; give the right address as base_url"
    if kind == "config":
        hint = "; a name without a provider is OpenAI's" if address.provider == "openai" else ""
        if address.base_url is not None:
            hint = "; most such servers have one that ends in /v1"
        return f"is not there: check the name of the model and the address{hint}"
    fixed = {
        "quota": "cannot be asked: no credit is left on the account",
        "rate_limit": "takes no more calls for now",
        "refused": "did not answer: a content filter stopped it",
        "timeout": "gave up waiting",
    }
    if kind in fixed:
        return fixed[kind]
    return "failed on the server's side" if status >= 500 else "did not accept the request"


def _is_retryable(status: int, headers: Mapping[str, str]) -> bool:
    told = headers.get("x-should-retry", "").strip().lower()
    if told in ("true", "false"):
        return told == "true"
    return status in _RETRYABLE_STATUS or (status >= 500 and status != 501)


def _text_of(body: Any) -> str:
    """The words in the body of a failure: providers put them in different places."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if isinstance(body, str):
        stripped = body.strip()
        if stripped[:1] in ("{", "["):
            try:
                return _text_of(json.loads(stripped))
            except (ValueError, RecursionError):
                return stripped
        if stripped[:1] == "<":  # a page: of a proxy, mostly
            title = re.search(r"<title[^>]*>(.*?)</title>", stripped, re.IGNORECASE | re.DOTALL)
            return f"(an HTML page) {title[1] if title else re.sub(r'<[^>]*>', ' ', stripped)}"
        return stripped
    if isinstance(body, list) and body:
        return _text_of(cast("list[Any]", body)[0])
    if isinstance(body, Mapping):
        data = cast("Mapping[str, Any]", body)
        for name in ("error", "message", "detail", "error_message"):
            if data.get(name):
                return _text_of(data[name])
    return "" if body is None else json.dumps(body, default=str, ensure_ascii=False)
