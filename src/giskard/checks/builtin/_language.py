"""Which language a text is in, told by a model that comes inside its package."""

from __future__ import annotations

import re
import threading
from importlib.metadata import version
from typing import Any, Final, NamedTuple, cast

from giskard.checks.core.exceptions import MissingExtraError

__all__ = ["SAME_LANGUAGE", "Language", "find_language", "known_languages", "language_model", "prose_of"]

_PACKAGE: Final = "py3langid"

SAME_LANGUAGE: Final = {"arb": "ar", "cmn": "zh", "fil": "tl", "in": "id", "iw": "he", "nb": "no", "pes": "fa"}
"""Other codes of languages that the model knows."""

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_INLINE: Final = re.compile(r"`[^`\n]+`")


class Language(NamedTuple):
    """A language, and how sure the model is of it."""

    code: str
    """Of ISO 639; ``zxx`` when there is no language in the text."""
    confidence: float
    """From 0 to 1."""


def find_language(text: str) -> Language:
    """The language that a text is in.

    Raises
    ------
    MissingExtraError
        When the extra ``lang`` is not installed.
    """
    code, confidence = _model().classify(text)
    return Language(str(code), round(float(confidence), 4))


def known_languages() -> list[str]:
    """The codes of the languages that the model tells apart."""
    return sorted({str(code) for code in _model().nb_classes} - {"zxx"})


def language_model() -> str:
    """The package with its version: what it says means something for one model only."""
    return f"{_PACKAGE}=={version(_PACKAGE)}"


def prose_of(text: str, *, code: bool, urls: bool) -> str:
    """`text` without what is in no language.

    Parameters
    ----------
    code
        Whether what stands in backquotes is left out.
    urls
        Whether addresses of the web and of e-mail are.
    """
    if code:
        text = _INLINE.sub(" ", _FENCED.sub(" ", text))
    if urls:
        text = " ".join(
            word for word in text.split() if "://" not in word and "@" not in word and not word.startswith("www.")
        )
    return text


class _Loaded:
    """The model of this process, once it is loaded; nothing changes it, so threads share it."""

    lock = threading.Lock()
    model: Any = None


def _model() -> Any:
    if _Loaded.model is None:
        with _Loaded.lock:
            if _Loaded.model is None:
                _Loaded.model = _load()
    return _Loaded.model


def _load() -> Any:
    """The one door to the library: opened by the first text, never by an import."""
    try:
        from py3langid import langid  # noqa: PLC0415  # pyright: ignore
    except ImportError:
        raise MissingExtraError(_PACKAGE, "lang") from None
    library = cast("Any", langid)
    # Not the library's shared one, whose languages anybody may restrict.
    return library.LanguageIdentifier.from_model_file(library.MODEL_FILE, norm_probs=True)
