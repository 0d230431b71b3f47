"""Models for tests: they answer what they are told to, at once, without a key and without a network."""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from pydantic import BaseModel

from giskard.checks.core.usage import Usage
from giskard.checks.llm.types import Completion, Embeddings, GenerationParams, Message

__all__ = ["FakeEmbeddingModel", "FakeGenerator", "Reply"]

Reply: TypeAlias = (
    str | Mapping[str, Any] | BaseModel | Completion | BaseException | type[BaseException] | Callable[[str], Any] | None
)
"""What a `FakeGenerator` can be told to answer."""


def _no_reply(given: Any) -> str:
    return (
        f"a reply of FakeGenerator is {given!r:.200}, expected a text, None, a mapping, a pydantic object, a "
        "Completion, an exception, or a function that gives one of them"
    )


class FakeGenerator:
    """A generator that gives the replies that it was made with, in turn; the last one repeats.

    Parameters
    ----------
    *replies
        A reply is a text; None, for an answer without text; a mapping or a pydantic object, which is sent as JSON; an
        exception, which is raised; a `Completion`, which is given as it is; or a function of the prompt, sync or
        async, that gives one of these.
    model
        What it is called in results and recordings.
    usage
        What every reply costs; left out, that is unknown.

    Attributes
    ----------
    prompts
        The text of every request up to now: the contents of its messages, with an empty line between them.
    requests
        The messages of every request up to now.
    params
        The parameters of every request up to now.

    Examples
    --------
    >>> from giskard.checks import Conformity, Interaction, Trace
    >>> import asyncio
    >>> llm = FakeGenerator('{"reason": "It is an insult.", "passed": false}')
    >>> check = Conformity(rule="Be polite.", judge=llm)
    >>> trace = Trace(interactions=[Interaction(inputs="Hello!", outputs="Go away.")])
    >>> asyncio.run(check.run(trace)).status
    <CheckStatus.FAIL: 'fail'>
    >>> "Be polite." in llm.prompts[0]
    True
    """

    def __init__(self, *replies: Reply, model: str = "fake", usage: Usage | None = None) -> None:
        if not replies:
            raise TypeError("FakeGenerator() needs at least one reply, such as FakeGenerator('{\"passed\": true}')")
        for reply in replies:
            if isinstance(reply, (list, tuple)):
                raise TypeError(f"{_no_reply(cast(Any, reply))}; give them one by one: FakeGenerator(a, b)")
            if isinstance(reply, (bytes, int, float)):
                raise TypeError(_no_reply(cast("Any", reply)))
        self.model = model
        self.prompts: list[str] = []
        self.requests: list[list[Message]] = []
        self.params: list[GenerationParams | None] = []
        self._replies = replies
        self._usage = usage
        self._lock = threading.Lock()

    @property
    def cache_key(self) -> str:
        """What a cache knows it by: one with other replies is another model."""
        return f"{self.model}: {self._replies!r}"

    async def complete(
        self,
        messages: Sequence[Message],
        params: GenerationParams | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The next reply."""
        prompt = "\n\n".join(str(message.content) for message in messages)
        with self._lock:
            reply = self._replies[min(len(self.prompts), len(self._replies) - 1)]
            self.prompts.append(prompt)
            self.requests.append(list(messages))
            self.params.append(params)
        if _is_function(reply):
            reply = cast("Callable[[str], Any]", reply)(prompt)
            if inspect.isawaitable(reply):
                reply = await reply
        return self._completion(reply)

    def _completion(self, reply: Any) -> Completion:
        if isinstance(reply, BaseException) or (isinstance(reply, type) and issubclass(reply, BaseException)):
            raise reply
        if isinstance(reply, Completion):
            return reply
        if isinstance(reply, BaseModel):
            reply = reply.model_dump_json()
        elif isinstance(reply, Mapping):
            reply = json.dumps(dict(cast("Mapping[str, Any]", reply)), ensure_ascii=False)
        if reply is not None and not isinstance(reply, str):
            raise TypeError(_no_reply(cast("Any", reply)))
        return Completion(reply, finish_reason="stop", usage=self._usage, model=self.model)

    def __repr__(self) -> str:
        return f"FakeGenerator({', '.join(f'{reply!r:.60}' for reply in self._replies)})"


def _is_function(reply: Any) -> bool:
    return callable(reply) and not isinstance(reply, (type, BaseModel))


class FakeEmbeddingModel:
    """An embedding model whose vectors are those of a table, or what a function of the text gives.

    Parameters
    ----------
    vectors
        A mapping from texts to vectors, or a function that gives the vector of a text.
    model
        What it is called in results and recordings.

    Attributes
    ----------
    texts
        The texts of every request up to now.

    Examples
    --------
    >>> import asyncio
    >>> model = FakeEmbeddingModel({"yes": [1.0, 0.0], "no": [0.0, 1.0]})
    >>> asyncio.run(model.embed(["no"])).vectors
    [[0.0, 1.0]]
    """

    def __init__(
        self,
        vectors: Mapping[str, Sequence[float]] | Callable[[str], Sequence[float]],
        *,
        model: str = "fake",
    ) -> None:
        self.model = model
        self.texts: list[list[str]] = []
        self._vectors = vectors

    @property
    def cache_key(self) -> str:
        """What a cache knows it by: one with other vectors is another model."""
        return f"{self.model}: {self._vectors!r}"

    async def embed(self, texts: Sequence[str], metadata: Mapping[str, Any] | None = None) -> Embeddings:
        """The vectors of `texts`.

        Raises
        ------
        KeyError
            When the table has none for a text.
        """
        self.texts.append(list(texts))
        return Embeddings([self._vector(text) for text in texts], model=self.model)

    def _vector(self, text: str) -> Sequence[float]:
        if callable(self._vectors):
            return self._vectors(text)
        if text not in self._vectors:
            raise KeyError(
                f"FakeEmbeddingModel has no vector for {text!r:.200}; it has some for {list(self._vectors)!r:.400}"
            )
        return self._vectors[text]

    def __repr__(self) -> str:
        return f"FakeEmbeddingModel({self._vectors!r:.200})"
