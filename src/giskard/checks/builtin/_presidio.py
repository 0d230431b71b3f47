"""Names and places in a text, found by Presidio with a pipeline of spaCy."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from giskard.checks.builtin._pii import Found
from giskard.checks.core.exceptions import ConfigurationError, MissingExtraError

__all__ = ["LONGEST_FOR_PRESIDIO", "NAME_CATEGORIES", "NameCategory", "find_names"]

NameCategory: TypeAlias = Literal["name", "place"]
NAME_CATEGORIES: Final[tuple[NameCategory, ...]] = get_args(NameCategory)

LONGEST_FOR_PRESIDIO: Final = 50_000
"""How many characters a text may have: the time it takes grows with the square of them."""

# Only these are asked for. Of what Presidio finds by rules this package has its own, and to check an e-mail address
# Presidio would fetch a list of domains from the network.
_CATEGORIES: Final[dict[str, NameCategory]] = {"PERSON": "name", "LOCATION": "place"}
_LEAST_SCORE: Final = 0.5
_lock: Final = threading.Lock()


def find_names(text: str, categories: Sequence[NameCategory], model: str) -> list[Found]:
    """The names of people and of places in a text.

    Parameters
    ----------
    model
        The name of a pipeline of spaCy that is installed, or its folder.

    Raises
    ------
    MissingExtraError
        When the extra ``presidio`` is not installed.
    ConfigurationError
        When the pipeline is not; nothing is downloaded.
    """
    entities = [entity for entity, category in _CATEGORIES.items() if category in categories]
    with _lock:
        engine, language = _engine(model)
    results = engine.analyze(text=text, language=language, entities=entities, score_threshold=_LEAST_SCORE)
    return [
        Found(_CATEGORIES[result.entity_type], text[result.start : result.end], result.start, result.end)
        for result in sorted(results, key=lambda result: result.start)
    ]


@functools.cache
def _engine(model: str) -> tuple[Any, str]:
    """The analyser with a pipeline, which is loaded once, and the pipeline's language."""
    presidio, spacy = _libraries()
    try:
        pipeline = spacy.load(model)
    except OSError as error:
        raise ConfigurationError(
            f"the pipeline {model!r} of spaCy is not installed; install it with: python -m spacy download {model}"
        ) from error
    language = str(pipeline.lang)
    # Given its pipeline: to load one itself it may download it.
    engine = presidio.nlp_engine.SpacyNlpEngine(models=[{"lang_code": language, "model_name": model}])
    engine.nlp = {language: pipeline}
    registry = presidio.RecognizerRegistry(supported_languages=[language])
    registry.load_predefined_recognizers(languages=[language], nlp_engine=engine)
    return presidio.AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=[language]), language


def _libraries() -> tuple[Any, Any]:
    """The one door to the libraries: opened by the first text, never by an import."""
    try:
        import presidio_analyzer  # noqa: PLC0415  # pyright: ignore
        import spacy  # noqa: PLC0415  # pyright: ignore
    except ImportError:
        raise MissingExtraError("presidio-analyzer", "presidio") from None
    return cast("Any", presidio_analyzer), cast("Any", spacy)
