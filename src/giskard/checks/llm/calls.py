"""The one way in which judges, simulated users and similarity ask models, whoever made the model's object."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic import ValidationError

from giskard.checks.core.discriminated import Discriminated
from giskard.checks.core.exceptions import ConfigurationError, MissingExtraError
from giskard.checks.core.usage import Usage, usage_of, value_of
from giskard.checks.llm import recording
from giskard.checks.llm.embedding_model import embedding_model_of
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.generator import generator_of
from giskard.checks.llm.schemas import schema_of
from giskard.checks.llm.types import Completion, Embeddings, GenerationParams, Message

_PARAMETERS = ("temperature", "max_tokens", "seed")
_WRAPPED = 5  # judges around judges around a model, and no cycle of them

__all__ = ["complete", "embed", "model_name"]


async def complete(
    generator: Any,
    messages: Sequence[Message],
    params: GenerationParams | None = None,
    metadata: Mapping[str, Any] | None = None,
    *,
    sample: int = 0,
) -> Completion:
    """A model's completion of `messages`, or the one that a recording or the cache holds.

    Parameters
    ----------
    generator
        A model's name, or an object with ``complete``, of this package or of another.
    messages
        The conversation up to now.
    params, metadata
        What is passed on to the generator.
    sample
        Which answer to the same question this is, from 0: recordings and the cache keep them apart.

    Raises
    ------
    ModelCallError
        When there is no completion; the message names the cause.
    """
    generator = _generator(generator)
    if not recording.active() or not getattr(generator, "recorded", True):
        return await _complete(generator, messages, params, metadata)

    async def call() -> dict[str, Any]:
        return _as_data(await _complete(generator, messages, params, metadata))

    request = _request(generator, messages, params)
    data, source = await recording.recorded("chat", request, call, sample=sample, identity=_identity(generator))
    return _as_completion(data, source)


async def embed(model: Any, texts: Sequence[str], metadata: Mapping[str, Any] | None = None) -> Embeddings:
    """The vectors of `texts`, in one call, or those that a recording or the cache holds.

    Parameters
    ----------
    model
        A model's name, or an object with ``embed``, of this package or of another.
    texts
        The texts.
    metadata
        What is passed on to the model.

    Raises
    ------
    ModelCallError
        When there are none; the message names the cause.
    """
    model = _embedding_model(model)
    if not recording.active() or not getattr(model, "recorded", True):
        return await _embed(model, texts, metadata)

    async def call() -> dict[str, Any]:
        found = await _embed(model, texts, metadata)
        try:
            vectors = [[float(number) for number in vector] for vector in found.vectors]
        except (TypeError, ValueError) as error:
            raise ModelCallError(f"{model_name(model)!r} gave no vectors of numbers: {error}") from None
        return {"vectors": vectors, "model": found.model, "usage": _usage_data(found.usage)}

    request = {**_options(model), "model": model_name(model), "texts": list(texts)}
    data, source = await recording.recorded("embeddings", request, call, identity=_identity(model))
    if not isinstance(data.get("vectors"), list):
        raise _damaged(source)
    return Embeddings(data["vectors"], _usage(data.get("usage"), source), data.get("model"), source)


def model_name(model: Any) -> str:
    """What a generator or an embedding model is called in recordings, results and messages; a name is its own."""
    asked: Any = model
    for _ in range(_WRAPPED):
        if isinstance(asked, str):
            return asked
        try:
            name: Any = asked.model
        except Exception:  # it has none, or one that raises
            name = None
        if isinstance(name, str) and name:
            return name
        inner = getattr(asked, "__dict__", {}).get("generator")
        if inner is None:
            break
        asked = inner
    return str(type(cast("object", asked)).__name__)


def _generator(given: Any) -> Any:
    return _named(generator_of, given) if isinstance(given, str) else given


def _embedding_model(given: Any) -> Any:
    return _named(embedding_model_of, given) if isinstance(given, str) else given


def _named(find: Any, name: str) -> Any:
    try:
        return find(name)
    except (ConfigurationError, MissingExtraError, ValueError) as error:
        raise ModelCallError(str(error), kind="config") from error


async def _complete(
    generator: Any, messages: Sequence[Message], params: GenerationParams | None, metadata: Mapping[str, Any] | None
) -> Completion:
    try:
        answer = generator.complete(messages, params, metadata)
        if inspect.isawaitable(answer):
            answer = await answer
        return _checked(generator, answer if type(answer) is Completion else _read(generator, answer))
    except Exception as error:
        raise _failure(generator, error) from error


async def _embed(model: Any, texts: Sequence[str], metadata: Mapping[str, Any] | None) -> Embeddings:
    try:
        answer = model.embed(texts, metadata)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:
        raise _failure(model, error) from error
    if isinstance(answer, Embeddings):
        return answer
    vectors = getattr(answer, "vectors", None)
    if vectors is None:
        vectors = getattr(answer, "embeddings", answer)
    return Embeddings(vectors, _usage_told(answer), getattr(answer, "model", None))


def _checked(generator: Any, completion: Completion) -> Completion:
    """A completion whose text is one."""
    if type(completion.text) is str or completion.text is None:
        return completion
    if isinstance(completion.text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - what others fill in
        return replace(completion, text=str.__str__(completion.text))
    raise ModelCallError(
        f"{model_name(generator)!r} gave a completion whose text is {completion.text!r:.200}, expected a text or None",
        kind="bad_type",
    )


def _failure(model: Any, error: Exception) -> Exception:
    if isinstance(error, ModelCallError):
        return error
    who = f"the call of {model_name(model)!r} failed"
    if isinstance(error, (ConfigurationError, MissingExtraError)):
        return ModelCallError(f"{who}: {error}", kind="config")
    try:
        said = f"{type(error).__name__}: {error}"
    except Exception:  # an exception that cannot be printed
        said = type(error).__name__
    if isinstance(error, TimeoutError):
        return ModelCallError(f"{who}: {said}", kind="timeout")
    if isinstance(error, ConnectionError):
        return ModelCallError(f"{who}: {said}", kind="network")
    return ModelCallError(f"{who}: {said}", kind="model_error")


# --- completions of other packages -------------------------------------------------------


def _read(generator: Any, answer: Any) -> Completion:
    """A completion out of what another package's generator gives."""
    if isinstance(answer, Completion):
        return answer
    if answer is None or isinstance(answer, str):
        return Completion(answer, model=model_name(generator))
    choices = value_of(answer, "choices")
    first: Any = cast("Any", choices)[0] if isinstance(choices, Sequence) and choices else None
    message = value_of(answer, "message") if first is None else value_of(first, "message")
    source = answer if message is None else message
    reason = value_of(answer if first is None else first, "finish_reason")
    text = _text(source)
    if text is None and not _says_nothing(source):
        raise ModelCallError(
            f"the generator {type(generator).__name__} gave {type(answer).__name__}: {answer!r:.200}; expected a "
            "Completion, a text, or an object with .choices[0].message",
            kind="bad_type",
        )
    model = value_of(answer, "model")
    return Completion(
        text,
        finish_reason=str(reason) if reason is not None else None,
        usage=_usage_told(answer),
        model=model if isinstance(model, str) else model_name(generator),
        raw=answer,
    )


def _usage_told(answer: Any) -> Usage | None:
    usage = value_of(answer, "usage")
    return usage if usage is None or isinstance(usage, Usage) else usage_of(usage)


def _text(message: Any) -> str | None:
    for name in ("content", "text"):
        content = value_of(message, name)
        if isinstance(content, str):
            return content
        if isinstance(content, Sequence) and not isinstance(content, (bytes, bytearray)):
            texts = [
                part if isinstance(part, str) else value_of(part, "text") for part in cast("Sequence[Any]", content)
            ]
            return "".join(text for text in texts if isinstance(text, str))
    return None


def _says_nothing(message: Any) -> bool:
    """Whether a message has the place for a text, and none in it: a refusal, or only calls of tools."""
    names: Any = cast("Any", message) if isinstance(message, Mapping) else dir(message)
    return "content" in names or "text" in names


# --- recordings --------------------------------------------------------------------------


def _request(generator: Any, messages: Sequence[Message], params: GenerationParams | None) -> dict[str, Any]:
    """What a call means, whoever makes it and however it is sent."""
    request: dict[str, Any] = {
        **_options(generator),
        "model": model_name(generator),
        "messages": [{"role": message.role, "content": message.content} for message in messages],
    }
    for name in _PARAMETERS:  # they go before what the generator was made with
        value = getattr(params, name, None)
        if value is not None:
            request[name] = value
    if params is not None and params.response_format is not None:
        request["schema"] = schema_of(params.response_format)
    return request


def _options(model: Any) -> dict[str, Any]:
    """What a model was made with that changes its answers, where it says so."""
    options: Any = getattr(model, "request_options", None)
    if isinstance(options, Mapping):
        return dict(cast("Mapping[str, Any]", options))
    values = {name: getattr(model, name, None) for name in _PARAMETERS}
    return {name: value for name, value in values.items() if isinstance(value, (int, float))}


def _identity(model: Any) -> str | None:
    """Who is asked, for a cache that many projects share; None when that cannot be said, and nothing may be kept.

    Two objects with the same name may be two models: at different servers, or in different hands.
    """
    kind = cast("type[Any]", type(model))
    try:
        known: Any = getattr(model, "cache_key", None)
        server: Any = getattr(model, "server", None)
        if isinstance(model, Discriminated):
            known = [model.model_dump(mode="json"), server]
        elif isinstance(server, str):
            known = [server, model.model]
        if not known:
            return None
        return json.dumps([f"{kind.__module__}:{kind.__qualname__}", known], sort_keys=True)
    except Exception:  # it holds what cannot be told from another, or answers with an error
        return None


def _as_data(completion: Completion) -> dict[str, Any]:
    data = {"text": completion.text, "finish_reason": completion.finish_reason, "model": completion.model}
    return {**data, "usage": _usage_data(completion.usage)}


def _as_completion(data: Mapping[str, Any], source: Any) -> Completion:
    text, reason, model = data.get("text"), data.get("finish_reason"), data.get("model")
    if not all(part is None or isinstance(part, str) for part in (text, reason, model)):
        raise _damaged(source)
    return Completion(text, reason, _usage(data.get("usage"), source), model, None, source)


def _usage_data(usage: Usage | None) -> dict[str, Any] | None:
    return None if usage is None else usage.model_dump(exclude_none=True)


def _usage(data: Any, source: Any) -> Usage | None:
    try:
        return None if data is None else Usage.model_validate(data)
    except ValidationError:
        raise _damaged(source) from None


def _damaged(source: Any) -> ModelCallError:
    return ModelCallError(
        f"what the {source} holds is no answer of a model: it was changed; record it anew", kind="config"
    )
