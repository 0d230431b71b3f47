"""Generators of any package are asked in one way, and what they give is read."""

import asyncio
from types import SimpleNamespace

import pytest

from giskard.checks.core.usage import Usage
from giskard.checks.llm import Completion, Embeddings, Message, ModelCallError
from giskard.checks.llm.calls import complete, embed, model_name
from giskard.checks.testing import FakeEmbeddingModel, FakeGenerator

ASKED = [Message("user", "hello")]


class Foreign:
    """A generator of another package."""

    model = "foreign/model"

    def __init__(self, answer):
        self.answer = answer

    async def complete(self, messages, params=None, metadata=None):
        return self.answer


class Sync(Foreign):
    def complete(self, messages, params=None, metadata=None):
        return self.answer


def completed(generator):
    return asyncio.run(complete(generator, ASKED))


def choice(message, reason="stop"):
    return SimpleNamespace(message=message, finish_reason=reason)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("text", "text"),
        (None, None),
        (SimpleNamespace(choices=[choice(SimpleNamespace(content="hi"))]), "hi"),
        (SimpleNamespace(choices=[choice(SimpleNamespace(text="hi"))]), "hi"),
        (SimpleNamespace(choices=[choice(SimpleNamespace(content=None))]), None),
        (SimpleNamespace(choices=[choice({"content": [{"type": "text", "text": "h"}, {"text": "i"}]})]), "hi"),
        ({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}, "hi"),
        (SimpleNamespace(message=SimpleNamespace(content="hi")), "hi"),
        (SimpleNamespace(text="hi"), "hi"),
    ],
)
@pytest.mark.parametrize("make", [Foreign, Sync])
def test_completions_of_other_packages(answer, text, make):
    completion = completed(make(answer))

    assert completion.text == text
    assert completion.model == "foreign/model"


def test_their_usage_and_reason_are_read():
    usage = SimpleNamespace(prompt_tokens=3, completion_tokens=4)
    answer = SimpleNamespace(choices=[choice(SimpleNamespace(content="x"), "length")], usage=usage, model="m-1")
    completion = completed(Foreign(answer))

    assert completion.usage == Usage(input_tokens=3, output_tokens=4, total_tokens=7, calls=1)
    assert (completion.finish_reason, completion.model) == ("length", "m-1")
    assert completion.raw is answer
    assert completed(Foreign("x")).usage is None


@pytest.mark.parametrize("answer", [42, [], {}, SimpleNamespace(choices=[]), object()])
def test_what_is_no_completion(answer):
    with pytest.raises(ModelCallError, match=r"the generator Foreign gave .*expected a Completion") as caught:
        completed(Foreign(answer))
    assert caught.value.kind == "bad_type"


def test_an_exception_that_cannot_be_printed():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    with pytest.raises(ModelCallError, match="the call of 'fake' failed: Broken"):
        completed(FakeGenerator(Broken()))


def test_names():
    assert model_name(Foreign("x")) == "foreign/model"
    assert model_name(SimpleNamespace(generator="openai/x")) == "openai/x"
    assert model_name(SimpleNamespace(generator=Foreign("x"))) == "foreign/model"
    assert model_name(object()) == "object"


def test_a_name_that_names_no_model_is_an_error_of_the_call():
    with pytest.raises(ModelCallError) as caught:
        completed("no-such-provider-xyz/model")
    assert caught.value.kind == "config"


# ------------------------------------------------------------------ embeddings


def test_embeddings():
    model = FakeEmbeddingModel({"a": [1.0]})
    assert asyncio.run(embed(model, ["a"])) == Embeddings([[1.0]], model="fake")
    with pytest.raises(ModelCallError, match="has no vector for 'b'"):
        asyncio.run(embed(model, ["b"]))


@pytest.mark.parametrize(
    "answer", [[[1.0]], SimpleNamespace(vectors=[[1.0]]), SimpleNamespace(embeddings=[[1.0]], model="m")]
)
def test_embeddings_of_other_packages(answer):
    class Other:
        async def embed(self, texts, metadata=None):
            return answer

    assert asyncio.run(embed(Other(), ["a"])).vectors == [[1.0]]


# ------------------------------------------------------------------ doubles


def test_the_fake_generator_gives_its_replies_in_turn_and_repeats_the_last():
    llm = FakeGenerator("one", {"a": 1}, lambda prompt: prompt.upper(), Completion("four"), None)
    texts = [completed(llm).text for _ in range(6)]

    assert texts == ["one", '{"a": 1}', "HELLO", "four", None, None]
    assert llm.prompts == ["hello"] * 6
    assert llm.requests[0] == ASKED


def test_the_fake_generator_takes_async_functions_and_exceptions():
    async def reply(prompt):
        return ValueError("later")

    with pytest.raises(ModelCallError, match="ValueError: later"):
        completed(FakeGenerator(reply))
    with pytest.raises(TypeError, match="at least one reply"):
        FakeGenerator()
    with pytest.raises(ModelCallError, match="a reply of FakeGenerator is 3"):
        completed(FakeGenerator(lambda prompt: 3))
    with pytest.raises(TypeError, match=r"is \[.*one by one"):
        FakeGenerator([{"passed": True}])


def test_the_fake_generator_counts_calls_from_many_tasks():
    async def main():
        llm = FakeGenerator(*[str(number) for number in range(50)])
        texts = [completion.text for completion in await asyncio.gather(*[complete(llm, ASKED) for _ in range(50)])]
        return sorted(map(int, texts))

    assert asyncio.run(main()) == list(range(50))
