"""Embedding models, asked over a real connection."""

import asyncio
import json

import pytest

from giskard.checks.core.mixin import BaseEmbeddingModel
from giskard.checks.llm.embedding_model import EmbeddingModel, embedding_model_of
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.types import EmbeddingModelLike, Embeddings
from tests.llm import server as serving
from tests.llm.server import ModelServer

KEY = "sk-test-0123456789abcdefghij"


def asking(server: ModelServer, model: str = "openai/text-embedding-3-small", **fields) -> EmbeddingModel:
    return EmbeddingModel(**{"model": model, "base_url": server.url, "api_key": KEY} | fields)


def embed(model: EmbeddingModel, *texts: str) -> Embeddings:
    return asyncio.run(model.embed(texts))


def test_texts_become_vectors_in_one_call(server):
    found = embed(asking(server), "hello", "a")

    assert found.vectors == [[5.0, 2.0], [1.0, 1.0]]
    assert found.model == "text-embedding-3-small"
    assert found.usage is not None
    assert (found.usage.input_tokens, found.usage.output_tokens, found.usage.total_tokens) == (10, 0, 10)
    assert found.usage.calls == 1
    assert found.usage.cost == pytest.approx(2e-07)
    (request,) = server.requests
    assert (request.path, request.body["input"]) == ("/v1/embeddings", ["hello", "a"])
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_vectors_are_in_the_order_of_the_texts(server):
    rows = [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1]}]
    server.script(serving.Reply({"data": rows, "model": "m"}))

    found = embed(asking(server), "one", "two")

    assert found.vectors == [[1.0], [2.0]]
    assert found.usage is not None
    assert (found.usage.calls, found.usage.input_tokens, found.usage.cost) == (1, None, None)


def test_no_texts_ask_nobody(server):
    assert embed(asking(server)).vectors == []
    assert server.requests == []


@pytest.mark.parametrize(
    "reply",
    [
        serving.Reply({"data": []}),
        serving.Reply({"data": [{"index": 0, "embedding": "AAAA"}]}),
        serving.Reply({"data": [{"index": 0, "embedding": [None]}]}),
        serving.Reply({"vectors": [[1.0]]}),
        serving.Reply([]),
        serving.malformed(),
        serving.page(200),
    ],
)
def test_what_is_no_vector_is_a_failure(server, reply):
    server.script(reply)

    with pytest.raises(ModelCallError) as caught:
        embed(asking(server), "one")

    assert (caught.value.kind, caught.value.retryable) == ("model_error", False)


def test_failures_are_told_and_tried_as_those_of_generators(server):
    server.script(serving.rate_limited(0.2), serving.error(500), serving.embeddings([[1.0]]))

    assert embed(asking(server), "x").usage.calls == 3  # type: ignore[union-attr]

    server.script(serving.error(401, f"bad key {KEY}"))
    with pytest.raises(ModelCallError, match="check the api_key") as caught:
        embed(asking(server), "x")
    assert caught.value.kind == "authentication"
    assert KEY not in str(caught.value)


def test_headers_go_along_and_no_key_goes_where_none_was_meant_to(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_TOKEN", "a-token-012345")
    model = asking(server, api_key=None, headers={"X-Gateway": "${MY_TOKEN}"})

    embed(model, "x")

    sent = server.requests[0].headers
    assert sent["x-gateway"] == "a-token-012345"
    assert "authorization" not in sent
    assert model.request_options == {"headers": ["x-gateway"]}
    assert json.loads(model.model_dump_json())["headers"] == {"X-Gateway": "${MY_TOKEN}"}


def test_local_servers_are_one_line(server, monkeypatch):
    monkeypatch.setenv("OLLAMA_BASE_URL", server.root)

    found = embed(EmbeddingModel(model="ollama/nomic-embed-text"), "abc")

    assert found.vectors == [[3.0, 1.0]]
    assert found.usage is not None
    assert found.usage.cost is None


def test_the_pace_and_the_places_are_those_of_the_model(server):
    server.script(*[serving.held(serving.embeddings())] * 2)
    model = asking(server, max_concurrency=2)

    async def five():
        calls = asyncio.gather(*[model.embed([str(n)]) for n in range(5)])
        await server.arrival(2)
        server.release()
        return await calls

    assert len(asyncio.run(five())) == 5
    assert server.max_in_flight == 2


def test_an_unknown_provider_is_a_mistake_of_the_configuration():
    with pytest.raises(ModelCallError) as caught:
        embed(EmbeddingModel(model="no_such_provider/m"), "x")
    assert caught.value.kind == "config"


def test_it_is_saved_and_loaded_without_its_key(server):
    model = asking(server)

    saved = model.model_dump_json()

    assert KEY not in saved + repr(model)
    loaded = BaseEmbeddingModel.model_validate(json.loads(saved))
    assert isinstance(loaded, EmbeddingModel)
    assert loaded == model.model_copy(update={"api_key": None})


def test_the_local_model_has_a_name_too():
    from giskard.checks.llm.local_embeddings import LocalEmbeddingModel

    assert isinstance(embedding_model_of("local"), LocalEmbeddingModel)
    assert embedding_model_of("local") is embedding_model_of("local")


def test_one_name_is_one_object():
    assert embedding_model_of("openai/x") is embedding_model_of("openai/x")
    assert isinstance(embedding_model_of("openai/x"), EmbeddingModelLike)
