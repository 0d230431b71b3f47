"""The labelled data that judges are measured on: XSTest's answers and RAGChecker's pairs of answers.

Neither is shipped in full.  Without a folder of theirs, the small samples in ``tests/data`` are read.
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["SOURCES", "DataError", "DataFile", "Labelled", "Pair", "drawn", "read_answers", "read_pairs"]

T = TypeVar("T")

SAMPLES = Path(__file__).resolve().parent.parent / "tests" / "data"
SOURCES = """\
  XSTest (CC BY 4.0), the CSV files of evaluation/automated_evaluation_labels in
  https://github.com/paul-rottger/exaggerated-safety
  RAGChecker (Apache-2.0), data/meta_evaluation/human_labeled_data.json in
  https://github.com/amazon-science/RAGChecker"""

_HUMAN = {"1_full_compliance": "none", "2_full_refusal": "full", "3_partial_refusal": "partial"}
_ANSWER_COLUMNS = {"id", "prompt", "completion", "final_label"}
_PAIR_KEYS = {"instance_id", "query", "model1", "model2", "overall_label"}


class DataError(ValueError):
    """A file that is not the data that it should be; the message names it."""


@dataclass(frozen=True)
class DataFile:
    """A file that was read."""

    name: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class Labelled:
    """An answer, and what people called it.

    Parameters
    ----------
    extent
        How far it refuses, after two people's differences were settled: ``"full"``, ``"partial"`` or ``"none"``.
    people
        What each of the two called it; empty where the file does not say.
    gpt4
        What GPT-4 called it, asked by those who made the data; None where it gave no label.
    """

    id: str
    question: str
    answer: str
    extent: str
    people: tuple[str, ...] = ()
    gpt4: str | None = None


@dataclass(frozen=True)
class Pair:
    """Two answers to a question, and what two people found.

    Parameters
    ----------
    people
        Which answer each of them prefers: ``"first"``, ``"second"`` or ``"tie"``.  The data does not name them: who is
        first here need not be the one who is first in another pair.
    """

    id: str
    question: str
    first: str
    second: str
    people: tuple[str, ...] = ()


@dataclass
class Read:
    """What was read of a kind of data.

    Parameters
    ----------
    left_out
        How many items were not taken, by reason.
    is_sample
        Whether it is the sample of this repository.
    """

    items: list[Any] = field(default_factory=list[Any])
    files: list[DataFile] = field(default_factory=list[DataFile])
    left_out: Counter[str] = field(default_factory=Counter[str])
    is_sample: bool = False


def drawn(items: Sequence[T], limit: int | None, seed: int) -> list[T]:
    """So many of the items, by chance; those of a smaller limit are among those of a larger one."""
    order = list(items)
    random.Random(seed).shuffle(order)
    return order if limit is None else order[:limit]


# --- XSTest ------------------------------------------------------------------------------


def read_answers(folder: Path | None) -> Read:
    """Answers with the labels of people, from all CSV files of a folder that hold such; without one, the sample.

    The files of the data's own repository are read, two for each model, and one file with all of them.

    Raises
    ------
    DataError
        When there are none, or a label is none.
    """
    found = Read(is_sample=folder is None)
    by_id: dict[str, Labelled] = {}
    for path in _files(folder or SAMPLES / "xstest", "*.csv"):
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        if not rows or not rows[0].keys() >= _ANSWER_COLUMNS:
            continue  # other data
        found.files.append(_file(path, len(rows)))
        model = path.stem.removeprefix("xstest_v2_completions_").rpartition("_")[0]
        for row in rows:
            answer = _answer(row, row.get("model") or model, path)
            before = by_id.get(answer.id)
            # A model's two files differ in whose label beside the people's they hold.
            by_id[answer.id] = before if before is not None and answer.gpt4 is None else answer
    if not by_id:
        raise DataError(
            f"no labelled answers in {str(folder)!r}: expected CSV files with the columns "
            f"{', '.join(sorted(_ANSWER_COLUMNS))}"
        )
    found.items = list(by_id.values())
    _leave_out(found, "an empty answer", lambda item: not item.answer.strip())
    return found


def _answer(row: dict[str, str], model: str, path: Path) -> Labelled:
    label = row["final_label"]
    if label not in _HUMAN:
        raise DataError(f"{path}: {row['id']!r} is labelled {label!r}, expected one of {', '.join(_HUMAN)}")
    people = [_HUMAN[name] for name in (row.get("annotation_1"), row.get("annotation_2")) if name in _HUMAN]
    gpt4 = row.get("judge_gpt4") or row.get("gpt4_label") or row.get("gpt_label") or ""
    return Labelled(
        id=f"{model}/{row['id']}",
        question=row["prompt"],
        answer=row["completion"],
        extent=_HUMAN[label],
        people=tuple(people) if len(people) == 2 else (),
        gpt4=_HUMAN.get(gpt4),
    )


# --- RAGChecker --------------------------------------------------------------------------


def read_pairs(folder: Path | None) -> Read:
    """Pairs of answers with the preferences of two people, from the JSON file of a folder; without one, the sample.

    Raises
    ------
    DataError
        When there are none, or one is not what two people said of the same two answers.
    """
    found = Read(is_sample=folder is None)
    rows_of: dict[Any, list[dict[str, Any]]] = {}
    for path in _files(folder or SAMPLES / "ragchecker", "*.json"):
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{path} is no JSON: {error}") from error
        if not (isinstance(rows, list) and rows and isinstance(rows[0], dict) and rows[0].keys() >= _PAIR_KEYS):
            continue  # other data
        found.files.append(_file(path, len(rows)))
        for row in rows:
            rows_of.setdefault(row["instance_id"], []).append(row)
    if not rows_of:
        raise DataError(
            f"no pairs of answers in {str(folder)!r}: expected a JSON file with a list of objects that have "
            f"{', '.join(sorted(_PAIR_KEYS))}"
        )
    found.items = [_pair(instance, rows) for instance, rows in rows_of.items()]
    _leave_out(found, "an empty answer", lambda pair: not (pair.first.strip() and pair.second.strip()))
    _leave_out(found, "the same answer twice", lambda pair: pair.first.strip() == pair.second.strip())
    return found


def _pair(instance: Any, rows: list[dict[str, Any]]) -> Pair:
    seen = {(row["query"], row["model1"]["response"], row["model2"]["response"]) for row in rows}
    if len(rows) != 2 or len(seen) != 1:
        raise DataError(f"instance {instance!r} has {len(rows)} rows, expected two, of the same two answers")
    ((question, first, second),) = seen
    return Pair(str(instance), question, first, second, tuple(_preference(row["overall_label"]) for row in rows))


def _preference(label: int) -> str:
    """Labels run from -2, the first is much better, to 2, the second is: an empty first answer has a 2."""
    return "tie" if label == 0 else "first" if label < 0 else "second"


# --- files -------------------------------------------------------------------------------


def _files(folder: Path, pattern: str) -> Iterator[Path]:
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}")
    yield from sorted(folder.glob(pattern))


def _file(path: Path, rows: int) -> DataFile:
    return DataFile(path.name, hashlib.sha256(path.read_bytes()).hexdigest(), rows)


def _leave_out(found: Read, reason: str, is_out: Any) -> None:
    kept = [item for item in found.items if not is_out(item)]
    found.left_out[reason] += len(found.items) - len(kept)
    found.items = kept
