"""The small model that knows attacks on prompts: found in its package, loaded once, asked about any text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, cast

from giskard.checks.core.exceptions import ConfigurationError, MissingExtraError
from giskard.checks.utils.json_safe import utf8

__all__ = ["LONGEST", "Finding", "look_into", "model_label"]

_PACKAGE: Final = "securevector-guardian-model"
_EXTRA: Final = "security"
_FILE: Final = "guardian.runtime.json.gz"

# Of its eight classes those that are about prompts. Personal data, harm and fraud are others' business, and summing
# them up too, as the library does, takes a third of all ordinary requests to a help desk for suspicious.
_ATTACKS: Final = frozenset({"prompt_injection", "jailbreak"})

LONGEST: Final = 200_000
"""The longest text that is looked into: it takes some seconds."""

# The library looks at the first 300 passages of a text only: longer ones are cut into pieces that overlap.
_PIECE: Final = 12_000
_OVERLAP: Final = 400


@dataclass(frozen=True, slots=True)
class Finding:
    """How much a text looks like an attack on a prompt.

    Parameters
    ----------
    score
        From 0 to 1: that of the passage which looks most like it.
    passage
        That passage; it may be the whole text, or what was hidden in it as base64 or hex.
    category
        ``prompt_injection`` or ``jailbreak``, whichever it looks more like.
    """

    score: float
    passage: str
    category: str


def look_into(text: str) -> Finding:
    """How much a text of at most `LONGEST` characters looks like an attack; it may take seconds.

    Raises
    ------
    MissingExtraError
        When the extra is not installed.
    ConfigurationError
        When the package is there, and its model cannot be read.
    """
    model = _model()
    if not text.strip():
        return Finding(0.0, text, "prompt_injection")
    found = [model.scan(piece) for piece in _pieces(utf8(text))]
    return max(found, key=lambda finding: finding.score)


def model_label() -> str:
    """The package with its version, which stands beside every score that it gave."""
    return f"{_PACKAGE}=={version(_PACKAGE)}"


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, max(len(text) - _OVERLAP, 1), _PIECE - _OVERLAP):
        yield text[start : start + _PIECE]


@dataclass(frozen=True, slots=True)
class _Model:
    """The library's model, in the shape that its own scan of passages asks for; any score is one that is reported."""

    predictor: Any
    scanner: Callable[..., dict[str, Any]]
    threshold: float = 0.0
    window_min_score: float = 0.0

    def predict(self, text: str) -> dict[str, Any]:
        """The score of one passage."""
        likeliest = {name: share for name, share in self.predictor.predict(text)["top3"] if name in _ATTACKS}
        category = max(likeliest, key=lambda name: likeliest[name], default="prompt_injection")
        score = min(sum(likeliest.values()), 1.0)
        return {"verdict": "malicious", "malicious_score": score, "category": category, "passage": text}

    def scan(self, text: str) -> Finding:
        """The finding of the passage with the highest score: the whole, its parts, what is encoded in it."""
        found = self.scanner(self, text)
        return Finding(round(found["malicious_score"], 4), found["passage"], found["category"])


class _Loaded:
    """The model of this process, once it is loaded; nothing changes it, so threads share it."""

    lock = threading.Lock()
    model: _Model | None = None


def _model() -> _Model:
    if _Loaded.model is None:
        with _Loaded.lock:
            if _Loaded.model is None:
                _Loaded.model = _load()
    return _Loaded.model


def _load() -> _Model:
    """The one door to the library: opened by the first text, never by an import."""
    try:
        import svguardian  # noqa: PLC0415  # pyright: ignore
        from svguardian.model.pure_infer import PureGuardian  # noqa: PLC0415  # pyright: ignore
        from svguardian.window import predict_windowed  # noqa: PLC0415  # pyright: ignore
    except ImportError:
        raise MissingExtraError(_PACKAGE, _EXTRA) from None
    # Not by the library's own search, which may end with a download, or with another model.
    path = Path(str(cast("Any", svguardian).__file__)).parent / "_runtime" / _FILE
    try:
        predictor = cast("Any", PureGuardian).load(str(path))  # it compares the file with its hash
    except Exception as error:
        raise ConfigurationError(
            f"the model of {model_label()} cannot be read: {type(error).__name__}: {error}; install it anew with: "
            f"pip install --force-reinstall {_PACKAGE}"
        ) from error
    return _Model(predictor, cast("Any", predict_windowed))
