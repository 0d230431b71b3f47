"""Similarity of texts: built, saved, loaded; embeddings come later."""

import asyncio

import pytest
from pydantic import ValidationError

from giskard.checks.builtin.composition import Not
from giskard.checks.builtin.semantic_similarity import SemanticSimilarity
from giskard.checks.core.check import Check
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.mixin import BaseEmbeddingModel


class Vectors:
    async def embed(self, texts, metadata=None):
        raise AssertionError("asked")


@BaseEmbeddingModel.register("test_similarity_vectors")
class SavedVectors(BaseEmbeddingModel):
    model: str = "m"


def T(outputs="a", **metadata):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])


def run(check, trace):
    return asyncio.run(check.run(trace))


ALL = [
    SemanticSimilarity(reference_text="r"),
    SemanticSimilarity(reference_text_key="trace.last.inputs", threshold=-1, target_key="trace.last.outputs.text"),
    SemanticSimilarity(reference_text="r", embedding_model="openai/text-embedding-3-small"),
    SemanticSimilarity(reference_text="r", embedding_model=SavedVectors(model="n"), name="n"),
]


@pytest.mark.parametrize("check", ALL, ids=repr)
def test_save_and_load(check):
    loaded = Check.model_validate_json(check.model_dump_json())

    assert type(loaded) is SemanticSimilarity
    assert loaded == check
    assert Check.model_validate(check.model_dump()) == check


def test_fields_and_defaults():
    dumped = SemanticSimilarity(reference_text="r").model_dump()

    assert dumped["kind"] == "semantic_similarity"
    assert dumped["threshold"] == 0.95
    assert dumped["target_key"] == "trace.last.outputs"
    assert dumped["reference_text_key"] is None and dumped["embedding_model"] is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "reference_text or reference_text_key"),
        ({"reference_text": "r", "threshold": 1.5}, "threshold"),
        ({"reference_text": "r", "threshold": float("nan")}, "threshold"),
        ({"reference_text_key": "last"}, "trace"),
        ({"reference_text": "r", "embedding_model": 3}, "async embed"),
        ({"reference_text": "r", "embedding_model": {"kind": "x"}}, "no embedding model of kind 'x'"),
        ({"reference": "r"}, "did you mean 'reference_text'"),
    ],
)
def test_what_is_refused_when_it_is_built(fields, words):
    with pytest.raises(ValidationError, match=words):
        SemanticSimilarity(**fields)


def test_objects_are_kept_and_refused_only_when_they_are_saved():
    vectors = Vectors()
    check = SemanticSimilarity(reference_text="r", embedding_model=vectors)

    assert check.embedding_model is vectors
    with pytest.raises(ValueError, match=r"embedding_model=.*cannot be saved.*BaseEmbeddingModel"):
        check.model_dump_json()
    with pytest.raises(NotImplementedError, match="SavedVectors"):
        asyncio.run(SavedVectors().embed(["a"]))


@pytest.mark.parametrize("check", [ALL[0], ALL[2], SemanticSimilarity(reference_text="r", embedding_model=Vectors())])
def test_running_it_is_an_error_that_says_that_embeddings_come_later(check):
    result = run(check, T())

    assert result.errored
    assert result.error_kind == "config"
    assert "embeddings come with the next version" in result.message
    assert run(Not(check=check), T()).errored


@pytest.mark.parametrize(
    ("check", "trace", "kind", "words"),
    [
        (ALL[0], Trace(), "missing_value", "trace.last.outputs"),
        (ALL[0], T(None), "missing_value", "trace.last.outputs"),
        (ALL[0], T(" \n"), "missing_value", "empty"),
        (ALL[0], T(["a"]), "bad_type", "got list"),
        (ALL[0], T(3), "bad_type", "got int"),
        (SemanticSimilarity(reference_text=""), T(), "missing_value", "reference_text is empty"),
        (SemanticSimilarity(reference_text_key="trace.last.metadata.r"), T(), "missing_value", "trace.last.metadata.r"),
        (SemanticSimilarity(reference_text_key="trace.last.metadata.r"), T(r=""), "missing_value", "is empty"),
        (SemanticSimilarity(reference_text_key="trace.last.metadata.r"), T(r={}), "bad_type", "reference_text_key"),
        (SemanticSimilarity(reference_text_key="trace.interactions[*].inputs"), T(), "bad_type", "got list"),
    ],
)
def test_texts_that_are_missing(check, trace, kind, words):
    result = run(check, trace)

    assert result.errored
    assert result.error_kind == kind
    assert words in result.message
    assert run(Not(check=check), trace).errored


def test_a_literal_reference_wins_and_its_key_is_not_looked_at():
    check = SemanticSimilarity(reference_text="r", reference_text_key="trace.last.nope")

    assert run(check, T()).error_kind == "config"


@pytest.mark.parametrize(
    ("check", "outputs", "kind", "details"),
    [
        (ALL[0], 5, "bad_type", {"target_key": "trace.last.outputs", "value": 5}),
        (ALL[0], " ", "missing_value", {"target_key": "trace.last.outputs", "value": " "}),
        (
            SemanticSimilarity(reference_text_key="trace.last.metadata.r"),
            "a",
            "bad_type",
            {"reference_text_key": "trace.last.metadata.r", "value": ["x"]},
        ),
    ],
)
def test_a_text_that_is_none_is_in_the_details(check, outputs, kind, details):
    result = run(check, T(outputs, r=["x"]))
    assert result.error_kind == kind
    assert result.details == details
