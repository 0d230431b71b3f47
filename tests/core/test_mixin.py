"""Models, judges and embedding models as parts of checks: what is taken for one, and what is said of the rest."""

import pytest
from pydantic import ValidationError

from giskard.checks.core.mixin import (
    BaseEmbeddingModel,
    BaseGenerator,
    BaseJudge,
    WithEmbeddingMixin,
    WithGeneratorMixin,
    WithJudgeMixin,
    as_embedding_model,
    as_generator,
    as_judge,
)


class Model:
    async def complete(self, messages, params=None, metadata=None):
        raise NotImplementedError

    async def embed(self, texts, metadata=None):
        raise NotImplementedError


PARTS = [
    (as_generator, "generator", "complete"),
    (as_judge, "judge", "complete"),
    (as_embedding_model, "embedding model", "embed"),
]


@pytest.mark.parametrize(("part", "what", "method"), PARTS)
def test_what_is_taken_and_what_is_refused(part, what, method):
    model = Model()
    assert part(model) is model
    assert part("openai/gpt-4o-mini") == "openai/gpt-4o-mini"
    expected = f"expected an object with `async {method}(...)` or the name of a model, such as 'openai/gpt-4o-mini'"
    for given, hint in ((5, ""), ("  ", ""), (object, "; make one: object(...)"), (Model, "; make one: Model(...)")):
        with pytest.raises(ValueError) as refused:
            part(given)
        assert str(refused.value) == f"this {what} is {given!r}, {expected}{hint}"


@pytest.mark.parametrize(("part", "what", "method"), PARTS)
def test_saved_data_is_loaded_by_its_kind(part, what, method):
    with pytest.raises(ValidationError, match=f"no {what} of kind 'zzz'"):
        part({"kind": "zzz"})
    with pytest.raises(ValidationError, match=f"this {what} has no 'kind'"):
        part({})


def test_a_kind_of_this_package_is_known_before_its_module_was_imported(monkeypatch):
    monkeypatch.setattr(BaseJudge, "_kinds", {})
    assert BaseJudge.has_kind("llm_chat")
    assert not BaseGenerator.has_kind("llm_chat")
    assert not BaseJudge.has_kind(None)
    assert not BaseJudge.has_kind("equals")


@pytest.mark.parametrize(
    ("root", "call"),
    [
        (BaseGenerator, lambda made: made.complete([])),
        (BaseJudge, lambda made: made.complete([])),
        (BaseEmbeddingModel, lambda made: made.embed([])),
    ],
)
def test_what_a_subclass_has_to_write_is_said(root, call):
    class Unfinished(root):
        pass

    method = "embed(texts, metadata)" if root is BaseEmbeddingModel else "complete(messages, params, metadata)"
    with pytest.raises(NotImplementedError) as refused:
        call(Unfinished()).send(None)
    assert str(refused.value) == f"Unfinished does not implement {method}"


@pytest.mark.parametrize(
    ("cls", "name", "root"),
    [
        (WithGeneratorMixin, "generator", "BaseGenerator"),
        (WithJudgeMixin, "judge", "BaseGenerator"),
        (WithEmbeddingMixin, "embedding_model", "BaseEmbeddingModel"),
    ],
)
def test_a_part_that_cannot_be_saved_says_what_can(cls, name, root):
    assert cls(**{name: "openai/gpt-4o-mini"}).model_dump(mode="json")[name] == "openai/gpt-4o-mini"
    assert cls().model_dump(mode="json")[name] is None
    model = Model()
    assert cls(**{name: model}).model_dump()[name] is model
    with pytest.raises(ValueError) as refused:
        cls(**{name: model}).model_dump(mode="json")
    assert f"{name}={model!r} cannot be saved" in str(refused.value)
    assert f"giskard.checks.core.mixin.{root}, or leave it out" in str(refused.value)


def test_a_judge_and_its_older_spelling_are_one():
    with pytest.raises(ValidationError, match="judge and its older spelling generator are both given"):
        WithJudgeMixin(judge="a/b", generator="a/b")
