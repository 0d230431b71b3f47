"""Messages of LangChain, and states and checkpoints of LangGraph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._contents import plain
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._lenient import dicts, first, known, listed, mapping, part_type, text, usage_of, within
from giskard.checks.importers._messages import Call, Message, Result, Role
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["LangChain"]

_ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}

# Where the messages may stand, and the thread that they belong to.
_MESSAGES = (
    ("messages",),
    ("values", "messages"),
    ("kwargs", "messages"),
    ("channel_values", "messages"),
    ("checkpoint", "channel_values", "messages"),
)
_THREADS = (("config", "configurable", "thread_id"), ("metadata", "thread_id"), ("thread_id",))

_CALL_BLOCKS = {"tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta", "invalid_tool_call"}
_SERVER_CALLS = {"server_tool_call", "server_tool_use"}
_SERVER_RESULTS = {"server_tool_result", "web_search_tool_result"}


class LangChain(RecordFormat):
    """Messages as ``messages_to_dict``, ``dumpd`` or ``model_dump`` write them, alone or in a state of LangGraph."""

    name = "langchain"
    aliases = ("langgraph",)

    def detect(self, value: Any) -> bool:
        """Whether it is a list of such messages, or holds one."""
        if isinstance(value, dict):
            return any(_are_messages(within(value, *path)) for path in _MESSAGES)
        return _are_messages(value)

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """The conversation of a list of messages, a state or a checkpoint."""
        path = next((path for path in _MESSAGES if isinstance(within(value, *path), list)), None)
        if not isinstance(value, list) and path is None:
            raise BadRecord(
                "expected a list of messages, or an object with 'messages' in it, as in a state of LangGraph"
            )
        messages = dicts(value if path is None else within(value, *path), "the messages")
        return to_trace(_read(messages), {"source": source, **_annotations(value, path)}, options)


def _annotations(value: Any, path: tuple[str, ...] | None) -> dict[str, Any]:
    """What a state says beside its messages."""
    if path is None:
        return {}
    holder = mapping(within(value, *path[:-1])) if len(path) > 1 else {}
    state = {key: other for key, other in holder.items() if key != "messages"}
    return known(
        conversation_id=next((found for place in _THREADS if (found := text(within(value, *place)))), None),
        checkpoint_id=text(within(value, "config", "configurable", "checkpoint_id")),
        next=within(value, "next") or None,
        state=state if state and path != ("kwargs", "messages") else None,
    )


def _fields(item: Any) -> tuple[str, dict[str, Any]] | None:
    """The kind of a message and its fields, however it was written; None when it is no message."""
    record = mapping(item)
    kind = record.get("type")
    if record.get("lc") == 1 and isinstance(record.get("kwargs"), dict):
        fields = mapping(record["kwargs"])
        names = listed(record.get("id"))
        kind = fields.get("type") or (names[-1] if names else None)
    elif isinstance(record.get("data"), dict):
        fields = mapping(record["data"])
    else:
        fields = record
        if kind is None and isinstance(record.get("role"), str):
            kind = record["role"]  # a state may hold messages in OpenAI's form
    if not isinstance(kind, str) or ("content" not in fields and "tool_calls" not in fields):
        return None
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
    if kind == "chat":
        kind = str(fields.get("role", "chat")).lower()
    return kind, fields


def _are_messages(value: Any) -> bool:
    some = listed(value)[:3]
    return bool(some) and all(_is_message(item) for item in some)


def _is_message(item: Any) -> bool:
    """Whether it is surely a message of LangChain: one in OpenAI's form could be anybody's."""
    record = mapping(item)
    if record.get("lc") != 1 and (not isinstance(record.get("type"), str) or "sessionId" in record or "role" in record):
        return False
    found = _fields(item)
    return found is not None and (found[0] in _ROLES or record.get("lc") == 1)


def _read(items: list[dict[str, Any]]) -> Iterator[Message]:
    for place, item in enumerate(_merged(items)):
        found = _fields(item)
        role = _ROLES.get(found[0]) if found else None
        if found is None or role is None:
            kind = first(item, "type", "role")
            raise BadRecord(f"message {place}: expected a human, ai, system or tool message, got type {kind!r}")
        fields = found[1]
        if role == "assistant":
            yield _answer(fields, item)
        elif role == "tool":
            yield Message("tool", results=[_result(fields)], raw=item)
        else:
            yield Message(role, plain(fields.get("content"), "\n"), name=text(fields.get("name")), raw=item)


def _result(fields: dict[str, Any]) -> Result:
    return Result(
        plain(fields.get("content")),
        id=text(fields.get("tool_call_id")),
        name=text(fields.get("name")),
        error=True if fields.get("status") == "error" else None,
    )


def _answer(fields: dict[str, Any], raw: Any) -> Message:
    extra, response = mapping(fields.get("additional_kwargs")), mapping(fields.get("response_metadata"))
    agent = text(fields.get("name"))
    content, reasoning, block_calls, results = _blocks(fields.get("content"))
    refusal = text(extra.get("refusal")) or next(
        (said for part in listed(content) if part_type(part) == "refusal" and (said := text(part.get("refusal")))), None
    )
    calls = _calls(fields, extra) or block_calls
    for call in calls:
        call.agent = agent
    if said := text(extra.get("reasoning_content")):
        reasoning.append(said)
    reasoning += _summaries(extra.get("reasoning"))
    return Message(
        "assistant",
        refusal if refusal is not None and (content is None or not isinstance(content, str)) else content,
        calls=[*calls, *results],
        reasoning=reasoning,
        name=agent,
        refusal=refusal is not None,
        usage=_usage(fields, response),
        model=text(first(response, "model_name", "model", "model_id")),
        finish_reason=text(first(response, "finish_reason", "stop_reason", "done_reason", "stopReason")),
        raw=raw,
    )


def _usage(fields: dict[str, Any], response: dict[str, Any]) -> dict[str, Any] | None:
    return usage_of(
        fields.get("usage_metadata"),
        input_tokens="input_tokens",
        output_tokens="output_tokens",
        reasoning_tokens="output_token_details.reasoning",
        cached_tokens="input_token_details.cache_read",
    ) or usage_of(
        first(response, "token_usage", "usage"),
        input_tokens=("prompt_tokens", "input_tokens"),
        output_tokens=("completion_tokens", "output_tokens"),
        reasoning_tokens="completion_tokens_details.reasoning_tokens",
        cached_tokens="prompt_tokens_details.cached_tokens",
    )


def _calls(fields: dict[str, Any], extra: dict[str, Any]) -> list[Call]:
    calls = [_call(call) for call in listed(fields.get("tool_calls"))]
    for call in map(mapping, listed(fields.get("invalid_tool_calls"))):
        # What the model wrote could not be read as arguments: no tool ever saw it.
        failure = text(call.get("error")) or "the arguments could not be read"
        calls.append(_call(call, error=failure))
    if calls:
        return calls
    # Old dumps have the provider's own form only.
    legacy = extra.get("function_call")
    return [_call(call) for call in listed(extra.get("tool_calls")) + ([legacy] if isinstance(legacy, dict) else [])]


def _call(value: Any, error: str | None = None) -> Call:
    call = mapping(value)
    function = mapping(call.get("function")) or call
    name = function.get("name")
    return Call(
        name if isinstance(name, str) else "",
        first(function, "args", "arguments", "input"),
        id=text(call.get("id")),
        error=error,
        has_result=error is not None,
    )


def _blocks(content: Any) -> tuple[Any, list[str], list[Call], list[Call]]:
    """What is said of a content, what was only thought, the calls in it, and those that the provider made itself."""
    if not isinstance(content, list):
        return content, [], [], []
    said: list[Any] = []
    reasoning: list[str] = []
    calls: list[Call] = []
    served: list[Call] = []
    for part in listed(content):
        kind = part_type(part)
        if kind in ("reasoning", "thinking", "reasoning_content"):
            reasoning += _thoughts(part)
        elif kind in _CALL_BLOCKS:
            if part.get("name"):
                calls.append(_call(part))
        elif kind in _SERVER_CALLS:
            served.append(_call(part))
        elif kind in _SERVER_RESULTS:
            _serve(served, part)
        elif kind != "redacted_thinking":
            said.append(part)
    return plain(said), reasoning, calls, served


def _serve(served: list[Call], part: dict[str, Any]) -> None:
    """Give the result of a tool that the provider ran to its call."""
    asked = first(part, "tool_call_id", "tool_use_id")
    for call in served:
        if call.id == asked and not call.has_result:
            call.result, call.has_result = first(part, "output", "content"), True
            return
    served.append(Call("", id=text(asked), result=first(part, "output", "content"), has_result=True))


def _thoughts(part: dict[str, Any]) -> list[str]:
    nested = part.get("reasoning_content")
    said = text(first(part, "thinking", "reasoning", "text")) or text(within(nested, "text")) or text(nested)
    return [said] if said else _summaries(part)


def _summaries(value: Any) -> list[str]:
    return [said for part in listed(within(value, "summary")) if (said := text(within(part, "text")))]


def _merged(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages, with the pieces of a streamed one put together."""
    pieces: list[dict[str, Any]] = []
    for item in items:
        key = _stream_key(item)
        if pieces and (key is None or key != _stream_key(pieces[-1])):
            yield _whole(pieces)
            pieces = []
        if key is None:
            yield item
        else:
            pieces.append(item)
    if pieces:
        yield _whole(pieces)


def _stream_key(item: dict[str, Any]) -> str | None:
    """The id that the pieces of one streamed answer share."""
    found = _fields(item)
    names = (item.get("type"), (found or ("", {}))[1].get("type"), (listed(item.get("id")) or [None])[-1])
    return text(found[1].get("id")) if found and "AIMessageChunk" in names else None


def _whole(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    if len(pieces) == 1:
        return pieces[0]
    all_fields = [found[1] for piece in pieces if (found := _fields(piece))]
    content: list[Any] = []
    fragments: dict[Any, dict[str, Any]] = {}
    merged: dict[str, Any] = {"type": "ai", "id": all_fields[0].get("id")}
    for fields in all_fields:
        said = fields.get("content")
        content += listed(said) if isinstance(said, list) else [said] if isinstance(said, str) else []
        for chunk in map(mapping, listed(fields.get("tool_call_chunks"))):
            whole = fragments.setdefault(str(chunk.get("index")), {"args": ""})
            whole["args"] += chunk["args"] if isinstance(chunk.get("args"), str) else ""
            whole.update(known(name=chunk.get("name"), id=chunk.get("id")))
        for key in ("response_metadata", "additional_kwargs"):
            merged[key] = {**merged.get(key, {}), **mapping(fields.get(key))}
        merged.update(known(name=fields.get("name"), usage_metadata=_added(merged, fields)))
    calls = list(fragments.values())
    if not calls:
        calls = [call for fields in all_fields for call in listed(fields.get("tool_calls"))]
    return {**merged, "content": content, "tool_calls": calls}


def _added(merged: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any] | None:
    """The tokens so far and those of one more piece: each piece tells what it added."""
    before, more = merged.get("usage_metadata"), fields.get("usage_metadata")
    if not isinstance(before, dict) or not isinstance(more, dict):
        return mapping(more or before) or None
    counts = dict(mapping(before))
    for key, value in mapping(more).items():
        old = counts.get(key)
        if isinstance(value, int | float) and isinstance(old, int | float):
            counts[key] = old + value
        elif value is not None:
            counts[key] = value
    return counts
