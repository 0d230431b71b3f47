"""Traces as files that can be loaded again."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, BinaryIO, Literal, cast

from pydantic import BaseModel

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import SCHEMA_VERSION, did_you_mean
from giskard.checks.importers._chat_rows import chat_row
from giskard.checks.importers._saveable import CannotBeSavedError, check_saveable
from giskard.checks.utils.files import atomic_writer
from giskard.checks.utils.json_safe import describe
from giskard.checks.utils.lazy import json

__all__ = ["save_traces"]


def save_traces(
    traces: Iterable[Trace[Any, Any]] | Trace[Any, Any],
    path: str | os.PathLike[str],
    format: Literal["giskard", "openai_chat"] = "giskard",
) -> int:
    """Write traces as JSON lines, which `load_traces` reads again; of any number, in constant memory.

    Parameters
    ----------
    traces
        Any iterable of them; the stream that `load_traces` gives is one.
    path
        Where to write them: as a whole or not at all, and packed when it ends in ``.gz``.  Its folders are made.
    format
        ``"giskard"`` keeps all of a trace: what is loaded is equal to what was saved.  ``"openai_chat"`` writes what
        others read too, a row of ``messages`` and ``tools`` for each conversation; see Notes.

    Returns
    -------
    int
        How many were written.

    Raises
    ------
    ValueError
        When a trace holds what would not come back as it was, such as a date: the message names the turn and the place.
        Then nothing is written.  Also when there is no such format, and when the name of the file says that it is of
        another kind, ``.csv`` say.
    TypeError
        When something is no trace.
    OSError
        When the file cannot be written; what was there before is as it was.

    Notes
    -----
    ``"openai_chat"`` keeps the inputs and outputs that are texts or lists of parts, what was said between, the calls of
    tools with their arguments, results and errors, and of the annotations ``system_prompt``, ``tools`` and
    ``conversation_id``.  It has no place for what else is known of a turn (usage, latency, model, labels, reasoning,
    times, what is in ``raw``), nor for other annotations, ``source`` among them.

    A trace of a class of your own comes back as a plain `Trace`; one with fields of its own is refused.

    Examples
    --------
    >>> import tempfile
    >>> from giskard.checks import Interaction, Trace, load_traces, save_traces
    >>> trace = Trace(interactions=[Interaction(inputs="Hello", outputs="Hi!")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count = save_traces([trace], f"{folder}/traces.jsonl.gz")
    ...     list(load_traces(f"{folder}/traces.jsonl.gz")) == [trace]
    True
    """
    _check_name(path)
    kind: type[Any] = cast("Any", type(cast("Any", traces)))
    if not issubclass(kind, Iterable) or (issubclass(kind, BaseModel) and not issubclass(kind, Trace)):
        raise TypeError(f"expected traces, got {kind.__name__}{_instead(traces)}")
    line = _LINES.get(format)
    if line is None:
        names = ", ".join(map(repr, _LINES))
        raise ValueError(
            f"traces cannot be saved as {format!r}{did_you_mean(format, _LINES) or '.'} There are: {names}"
        )
    items: Iterable[Any] = [traces] if isinstance(traces, Trace) else traces
    count = 0
    with _writer(path) as file:
        for count, trace in enumerate(items, 1):
            if not isinstance(trace, Trace):
                instead = _instead(trace) or f": {describe(trace):.100}"
                raise TypeError(f"item {count} is {type(trace).__name__}, not a Trace{instead}")
            try:
                file.write(line(cast("Trace[Any, Any]", trace)))
            except CannotBeSavedError as problem:
                raise ValueError(f"trace {count}, {problem}") from None
    return count


def _check_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name that says that something else is in the file: whoever reads it goes by that."""
    name: str = os.fspath(path)
    suffix = os.path.splitext(name.lower().removesuffix(".gz"))[1]
    if suffix in _OF_OTHERS:
        raise ValueError(
            f"{name!r} is named as a {suffix} file, and what is written is JSON lines: "
            "name it .jsonl, or .jsonl.gz to pack it"
        )


def _instead(given: object) -> str:
    """What to save of a result."""
    if isinstance(getattr(given, "final_trace", None), Trace):
        return ": use result.final_trace"
    if isinstance(getattr(given, "results", None), (list, tuple)):
        return ": use [result.final_trace for result in suite_result.results]"
    return ""


# Of files that are not read as JSON lines, or that are packed in another way.
_OF_OTHERS = frozenset(
    {".csv", ".tsv", ".tab", ".psv", ".parquet", ".pq", ".xlsx", ".xls", ".ods", ".yaml", ".yml", ".har", ".xml"}
    | {".html", ".md", ".pkl", ".zip", ".bz2", ".xz", ".zst", ".tar", ".tgz"}
)


@contextmanager
def _writer(path: str | os.PathLike[str]) -> Generator[BinaryIO]:
    with atomic_writer(path) as file:
        if not os.fspath(path).lower().endswith(".gz"):
            yield file
            return
        # Neither name nor time in it: the same traces give the same file.
        with gzip.GzipFile("", "wb", 6, file, 0) as packed:
            yield cast("BinaryIO", packed)


def _giskard(trace: Trace[Any, Any]) -> bytes:
    turns = [_turn(number, turn) for number, turn in enumerate(trace.interactions, 1)]
    _refuse_own_fields(trace, Trace, "the trace")
    annotations = trace.annotations
    if annotations:
        check_saveable(annotations, "annotations")
    return _text({"schema_version": SCHEMA_VERSION, "interactions": turns, "annotations": annotations})


def _turn(number: int, turn: Interaction[Any, Any]) -> dict[str, Any]:
    stored = {"inputs": turn.inputs, "outputs": turn.outputs, "metadata": turn.metadata}
    _refuse_own_fields(turn, Interaction, f"turn {number}")
    for name, value in stored.items():
        check_saveable(value, f"turn {number}, {name}")
    return stored


def _refuse_own_fields(model: BaseModel, base: type[BaseModel], place: str) -> None:
    kind = type(model)
    own = [name for name in kind.model_fields if name not in base.model_fields]
    if own:
        raise CannotBeSavedError(f"{place}: {kind.__name__} has fields of its own ({', '.join(own)})")


def _openai_chat(trace: Trace[Any, Any]) -> bytes:
    for number, turn in enumerate(trace.interactions, 1):
        _turn(number, turn)  # what JSON cannot hold is told by its place in the trace
    try:
        row = chat_row(trace)
    except ValueError as problem:
        raise CannotBeSavedError(str(problem)) from None
    check_saveable(row, "as messages")
    return _text(row)


_LINES: dict[str, Callable[[Trace[Any, Any]], bytes]] = {"giskard": _giskard, "openai_chat": _openai_chat}


def _text(data: Any) -> bytes:
    try:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # halves of surrogate pairs: there are escapes for them
        return json.dumps(data, separators=(",", ":")).encode() + b"\n"
