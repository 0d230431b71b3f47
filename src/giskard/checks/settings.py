"""The environment's settings, and the models that are taken where none is given."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, field_validator

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.mixin import as_embedding_model, as_generator, as_judge
from giskard.checks.utils.lazy import LazyModule

# A suite without models has settings too, and does not pay for the models' clients.
if TYPE_CHECKING:
    from giskard.checks.llm import embedding_model as embedding_models
    from giskard.checks.llm import generator as generators
    from giskard.checks.llm import local_embeddings
else:
    embedding_models = LazyModule("giskard.checks.llm.embedding_model")
    generators = LazyModule("giskard.checks.llm.generator")
    local_embeddings = LazyModule("giskard.checks.llm.local_embeddings")

__all__ = [
    "Settings",
    "find_embedding_model",
    "find_generator",
    "find_judge",
    "get_default_embedding_model",
    "get_default_generator",
    "get_default_judge",
    "get_settings",
    "set_default_embedding_model",
    "set_default_generator",
    "set_default_judge",
]

_PREFIX = "GISKARD_CHECKS_"
_OPENAI_MODEL = "openai/gpt-4o-mini"
_YES = ("1", "true", "t", "yes", "y", "on")


class Settings(BaseModel):
    """What the environment says, at the moment of `get_settings`.

    Parameters
    ----------
    default_model, default_judge, default_embedding_model
        Names of models.
    disable_rich_pretty
        Whether reports are plain: without colours (a console of yours has its own say), and conversations turn by
        turn also where their class renders itself for rich.  What is not yes or no is no.
    max_reported_failures
        How many failures a report shows in full; None, also for what is not a whole number from 0 on, shows all.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    default_model: str | None = None
    default_judge: str | None = None
    default_embedding_model: str | None = None
    disable_rich_pretty: bool = False
    max_reported_failures: int | None = None

    @field_validator("default_model", "default_judge", "default_embedding_model")
    @classmethod
    def _none_for_blank(cls, value: str | None) -> str | None:
        return (value.strip() or None) if value is not None else None

    # A slip in these two must not cost anybody a report.

    @field_validator("disable_rich_pretty", mode="before")
    @classmethod
    def _yes_or_no(cls, value: Any) -> bool:
        return value is True or str(value).strip().lower() in _YES

    @field_validator("max_reported_failures", mode="before")
    @classmethod
    def _count(cls, value: Any) -> int | None:
        text = str(value).strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def get_settings() -> Settings:
    """The settings of this moment: variables ``GISKARD_CHECKS_…``, else those of ``.env`` in the working folder."""
    return _reader()()


@functools.cache
def _reader() -> Callable[[], Settings]:
    """The one door to pydantic-settings, which is imported when settings are first read."""
    from pydantic_settings import BaseSettings, SettingsConfigDict  # noqa: PLC0415

    class FromEnvironment(Settings, BaseSettings):
        model_config = SettingsConfigDict(
            env_prefix=_PREFIX, env_file=".env", env_file_encoding="utf-8", extra="ignore", title="Settings"
        )

    def read() -> Settings:
        return Settings.model_construct(**FromEnvironment().model_dump())

    return read


def _settings() -> Settings:
    """What `get_settings` gives, read only when the environment, the folder or its ``.env`` is another than before.

    A check that is given no judge asks for it each time it runs.
    """
    prefix = _PREFIX.lower()
    variables = tuple([item for item in os.environ.items() if item[0].lower().startswith(prefix)])
    try:
        file = os.stat(".env")
    except OSError:
        return _read_for(variables, os.getcwd(), None)
    return _read_for(variables, os.getcwd(), (file.st_mtime_ns, file.st_size, file.st_ino))


@functools.lru_cache(maxsize=8)
def _read_for(variables: tuple[tuple[str, str], ...], folder: str, file: tuple[int, int, int] | None) -> Settings:
    return get_settings()


class _Defaults:
    """The models set for the whole process: all of its state that this package keeps."""

    generator: Any = None
    judge: Any = None
    embedding_model: Any = None


_defaults = _Defaults()


def set_default_generator(generator: Any) -> None:
    """Take `generator` where none is given: an object with ``async complete``, or a model's name; None resets it.

    Raises
    ------
    ValueError
        When it is no generator.
    """
    _defaults.generator = None if generator is None else as_generator(generator)


def set_default_judge(judge: Any) -> None:
    """Take `judge` where checks are given none: a judge, a generator, or a model's name; None resets it.

    Raises
    ------
    ValueError
        When it is no judge.
    """
    _defaults.judge = None if judge is None else as_judge(judge)


def set_default_embedding_model(embedding_model: Any) -> None:
    """Take `embedding_model` where none is given: an object with ``async embed``, or a model's name; None resets it.

    Raises
    ------
    ValueError
        When it is no embedding model.
    """
    _defaults.embedding_model = None if embedding_model is None else as_embedding_model(embedding_model)


def get_default_generator() -> Any:
    """The generator that is taken where none is given; a name stands for a `Generator`, the same one each time.

    The default one, else the environment's, else OpenAI's when its variables are set.

    Raises
    ------
    ConfigurationError
        When there is none; the message says how to give one.
    """
    found = _defaults.generator
    if found is None:
        found = _settings().default_model or _openai_model()
    return _checked(
        found,
        "model",
        "generator=…",
        call="set_default_generator(…)",
        variable="DEFAULT_MODEL",
        named=generators.generator_of,
    )


def get_default_judge() -> Any:
    """The judge, or the generator, that is taken where a check is given none.

    The first that there is of: the default judge, the default generator, the environment's judge, its model, OpenAI's
    when its variables are set.

    Raises
    ------
    ConfigurationError
        When there is none; the message says how to give one.
    """
    found = _first(_defaults.judge, _defaults.generator)
    if found is None:
        settings = _settings()
        found = settings.default_judge or settings.default_model or _openai_model()
    return _checked(
        found, "judge", "judge=…", call="set_default_judge(…)", variable="DEFAULT_JUDGE", named=generators.generator_of
    )


def get_default_embedding_model() -> Any:
    """The embedding model that is taken where none is given.

    The default one, else the environment's, else the local one when its extra is installed.

    Raises
    ------
    ConfigurationError
        When there is none; the message says how to give one.
    """
    found = _defaults.embedding_model
    if found is None:
        found = _settings().default_embedding_model or local_embeddings.local_embedding_model()
    return _checked(
        found,
        "embedding model",
        "embedding_model=…",
        call="set_default_embedding_model(…)",
        variable="DEFAULT_EMBEDDING_MODEL",
        named=embedding_models.embedding_model_of,
        otherwise="; the local one needs no key: pip install 'giskard-checks[embeddings]'",
    )


def find_generator(given: Any = None) -> Any:
    """The generator to ask: `given`, else `get_default_generator`."""
    return get_default_generator() if given is None else given


def find_judge(given: Any = None, generator: Any = None) -> Any:
    """The judge to ask: `given`, else `generator`, else `get_default_judge`."""
    found = _first(given, generator)
    return get_default_judge() if found is None else found


def find_embedding_model(given: Any = None) -> Any:
    """The embedding model to ask: `given`, else `get_default_embedding_model`."""
    return get_default_embedding_model() if given is None else given


def _first(*choices: Any) -> Any:
    return next((choice for choice in choices if choice is not None), None)


def _openai_model() -> str | None:
    return _OPENAI_MODEL if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL") else None


_FOR_OPENAI = "; or, for OpenAI's, set OPENAI_API_KEY or OPENAI_BASE_URL in the environment"


def _checked(
    found: Any,
    what: str,
    argument: str,
    *,
    call: str,
    variable: str,
    named: Callable[[str], Any],
    otherwise: str = _FOR_OPENAI,
) -> Any:
    if isinstance(found, str):
        try:
            return named(found)
        except ValueError as error:
            raise ConfigurationError(f"the default {what} is {found!r}, which names no model: {error}") from None
    if found is None:
        raise ConfigurationError(
            f"no {what} is given: pass {argument}, call giskard.checks.{call}, or set {_PREFIX}{variable} in the "
            f"environment or in .env{otherwise}"
        )
    return found
