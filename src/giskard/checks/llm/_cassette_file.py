"""A cassette on disk: a file that people read, and beside it, while something records, what is not in it yet.

Each new answer is appended to ``<name>.new`` at once, so that a crash loses none; whoever closes the cassette merges
that file into it.  Both happen under one lock, so that several processes can record the same cassette.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.llm._json_text import canonical, dumps, from_data, to_data
from giskard.checks.llm.recording import Asked
from giskard.checks.utils.files import locked, write_atomically

__all__ = ["CassetteError", "CassetteFile", "Kept", "News", "Recording", "Row", "key_of"]

_TOOL = "giskard-checks"
_VERSION = 1
_PLACE = re.compile(r"answers\[(\d+)\]\.?(.*)", re.DOTALL)


def _head(what: str) -> dict[str, Any]:
    return {"tool": _TOOL, "format": what, "version": _VERSION}


_HEAD_OF_NEWS = json.dumps(_head("cassette news")).encode("ascii") + b"\n"


class CassetteError(ConfigurationError):
    """A cassette cannot be read, or not be written; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer that was recorded, and the places in it where a secret was taken out."""

    answer: Any
    secrets: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return _hash(canonical(self.answer))


@dataclass(slots=True)
class Recording:
    """The answers that were given to a call, in the order in which it was made."""

    asked: Asked
    answers: list[Kept]
    secrets: tuple[str, ...] = ()
    """The places in the request where a secret was taken out."""
    key: str = field(init=False)

    def __post_init__(self) -> None:
        self.key = key_of(self.asked)


@dataclass(frozen=True, slots=True)
class Row:
    """Answers in a row, by how many they are and by a hash of them all: ten thousand are told in a line."""

    length: int = 0
    digest: str = ""

    def then(self, digest: str) -> Row:
        """The row with one more answer."""
        return Row(self.length + 1, _hash(f"{self.digest}{digest}"))

    @classmethod
    def of(cls, answers: Iterable[Kept]) -> Row:
        """The row that answers are."""
        row = cls()
        for kept in answers:
            row = row.then(kept.digest)
        return row


@dataclass(frozen=True, slots=True)
class News:
    """An answer that is not in the cassette yet.

    Parameters
    ----------
    run
        Who recorded it.
    number
        Which call of this meaning it was in that run, from 0.
    replaces
        The digests of the answers that it was recorded anew for.
    after
        The answers that it follows: those that the call had, and those that this run recorded before it, which another
        process may have merged.
    """

    run: str
    number: int
    recording: Recording
    replaces: tuple[str, ...] = ()
    after: Row = Row()


def key_of(asked: Asked) -> str:
    """What a call is found by: the same for all calls that mean the same.

    Raises
    ------
    TypeError, ValueError
        When the request is no JSON data.
    """
    meaning = {name: value for name, value in asked.request.items() if value is not None}  # left to the model
    return _hash(canonical([asked.kind, asked.trial, asked.sample, meaning]))


def _hash(text: str) -> str:
    return sha256(text.encode("ascii")).hexdigest()


class CassetteFile:
    """The file of a cassette, and that of its news."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._given = path
        self.path = Path(path).absolute()  # a test may change the folder that it runs in
        self.news_path = self.path.with_name(f"{self.path.name}.new")

    def read(self) -> dict[str, Recording]:
        """All that was recorded, what has not been merged yet included; empty when there is no file.

        Raises
        ------
        CassetteError
            When there is a file that is no cassette, or none that this version reads.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # where nothing can be written, nobody writes
                stack.enter_context(locked(self.path))
            return _merged(self._read(), self._read_news())

    def append(self, *all_news: News) -> None:
        """Keep answers, whatever happens from here on: all of them or, when it fails, none.

        Raises
        ------
        CassetteError
            When a file is in the way.
        OSError
            When it cannot be written.
        """
        data = b"".join(json.dumps(_news_data(news)).encode("ascii") + b"\n" for news in all_news)
        with locked(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.news_path, "a+b", buffering=0) as file:
                file.seek(0)
                head = file.read(len(_HEAD_OF_NEWS))
                self._check_news(head)
                if len(head) < len(_HEAD_OF_NEWS):
                    file.truncate(0)
                    data = _HEAD_OF_NEWS + data
                else:
                    file.seek(-1, os.SEEK_END)
                    data = data if file.read(1) == b"\n" else b"\n" + data  # somebody crashed in the middle of a line
                _write(file, data)

    def merge(self, drop: Iterable[str] = ()) -> None:
        """Write the news into the cassette.

        Parameters
        ----------
        drop
            The keys of recordings to leave out.

        Raises
        ------
        CassetteError
            When the file is no cassette; it is left as it is, and so are the news.
        OSError
            When it cannot be written.
        """
        dropped = set(drop)
        if not dropped and not self.news_path.exists():
            return
        with locked(self.path):
            before = self._read()
            merged = _merged(before, self._read_news())
            text = _text({key: recording for key, recording in merged.items() if key not in dropped}.values())
            if not self.path.exists() or self.path.read_bytes() != text.encode():
                write_atomically(self.path, text)
            self.news_path.unlink(missing_ok=True)

    # --- reading ---

    def _read(self) -> dict[str, Recording]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise CassetteError(f"the cassette {self._name} cannot be read: {error}") from error
        try:
            found: Any = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            conflict = b"<<<<<<<" in data and b">>>>>>>" in data
            why = "it has a merge conflict in it" if conflict else str(error) if data.strip() else "it is empty"
            raise self._error(f"is no JSON file: {why}") from None
        self._check_head(found, "cassette")
        recordings = found.get("recordings")
        if not isinstance(recordings, list):
            raise self._error("has no list of recordings")
        by_key: dict[str, Recording] = {}
        for index, item in enumerate(cast("list[Any]", recordings)):
            try:
                recording = _recording(item)
            except (TypeError, ValueError, KeyError, RecursionError) as error:
                raise self._error(f"cannot be read at recordings[{index}]: {error}") from None
            known = by_key.setdefault(recording.key, recording)
            if known is not recording:  # somebody merged two branches
                known.answers += recording.answers
        return by_key

    def _check_head(self, found: Any, what: str) -> None:
        data: Mapping[str, Any] = cast("Any", found) if isinstance(found, dict) else {}
        if data.get("tool") != _TOOL or data.get("format") != what:
            raise self._error(f"is none: it does not say {{'tool': {_TOOL!r}, 'format': {what!r}}}")
        version = data.get("version")
        if isinstance(version, int) and version > _VERSION:
            raise self._error(f"is of version {version}, this package reads up to {_VERSION}: update giskard-checks")
        if version != _VERSION:
            raise self._error(f"is of version {version!r}, expected {_VERSION}")

    def _read_news(self) -> list[News]:
        try:
            data = self.news_path.read_bytes()
        except FileNotFoundError:
            return []
        self._check_news(data[: len(_HEAD_OF_NEWS)])
        lines = data[len(_HEAD_OF_NEWS) :].split(b"\n")
        return [news for line in lines if (news := _news(line)) is not None]

    def _check_news(self, start: bytes) -> None:
        """Refuse a file that does not begin as news do, or as far as somebody came who crashed."""
        if not _HEAD_OF_NEWS.startswith(start):
            raise CassetteError(
                f"{os.fspath(self.news_path)!r} is in the way of the cassette beside it: it holds no news that this "
                "version of giskard-checks reads; move it away"
            )

    def _error(self, problem: str) -> CassetteError:
        return CassetteError(
            f"the cassette {self._name} {problem}. Nothing was changed in it; correct it, or move it away and record "
            "anew"
        )

    @property
    def _name(self) -> str:
        return repr(os.fspath(self._given))


def _write(file: io.FileIO, data: bytes) -> None:
    """Write all of it at the end, or nothing."""
    before = file.seek(0, os.SEEK_END)
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError:
        with contextlib.suppress(OSError):
            file.truncate(before)
        raise


def _news(line: bytes) -> News | None:
    """The news in a line; None when it is not whole, because whoever wrote it crashed."""
    try:
        data = json.loads(line)
        recording = _recording(data["recording"])
        return News(data["run"], data["number"], recording, tuple(data["replaces"]), Row(*data["after"]))
    except (TypeError, ValueError, KeyError, RecursionError):
        return None


def _recording(item: Any) -> Recording:
    request = from_data(item["request"])
    if not isinstance(request, dict):
        raise TypeError("its request is no mapping")
    kind, trial, sample, answers = item["kind"], item.get("trial", 1), item.get("sample", 0), item["answers"]
    if not isinstance(kind, str) or type(trial) is not int or type(sample) is not int:
        raise TypeError("its kind is no text, or its trial or its sample is no whole number")
    if not isinstance(answers, list) or not answers:
        raise TypeError("it has no list of answers")
    of_request: list[str] = []
    of_answers: dict[int, list[str]] = {}
    for place in item.get("secrets", ()):
        match = _PLACE.fullmatch(place)
        if match is None:
            of_request.append(place.removeprefix("request."))
        else:
            of_answers.setdefault(int(match[1]), []).append(match[2])
    kept = [
        Kept(from_data(answer), tuple(of_answers.get(index, ())))
        for index, answer in enumerate(cast("list[Any]", answers))
    ]
    return Recording(Asked(kind, cast("dict[str, Any]", request), trial, sample), kept, tuple(of_request))


# --- merging -----------------------------------------------------------------------------


def _merged(recordings: dict[str, Recording], all_news: list[News]) -> dict[str, Recording]:
    """The recordings with the news in them.

    What two runs recorded of one call at the same time is the same recording, made twice: the first one stays.
    """
    groups: dict[tuple[str, str], dict[int, News]] = {}
    for news in all_news:  # the same may stand there twice: a child of a fork writes what its parent did not yet
        groups.setdefault((news.run, news.recording.key), {}).setdefault(news.number, news)
    for (_, key), by_number in groups.items():
        group = list(by_number.values())
        known = recordings.get(key)
        replaced = {digest for news in group for digest in news.replaces}
        before = [] if known is None else [kept for kept in known.answers if kept.digest not in replaced]
        after = group[0].after  # they stand in the order in which they were recorded, which is not that of the calls
        mine = before[: after.length] if Row.of(before[: after.length]) == after else []
        if known is not None and len(before) > len(mine):
            known.answers = before
            continue
        group.sort(key=lambda news: news.number)
        first = group[0].recording if known is None else known
        answers = [*mine, *(kept for news in group for kept in news.recording.answers)]
        recordings[key] = Recording(first.asked, answers, first.secrets)
    return recordings


# --- writing -----------------------------------------------------------------------------


def _text(recordings: Iterable[Recording]) -> str:
    """The file: in an order that depends on nothing but what is in it, so that a diff shows what has changed."""
    in_order = sorted(recordings, key=_place)
    data = {**_head("cassette"), "recordings": [_recording_data(recording) for recording in in_order]}
    return dumps(data) + "\n"


def _place(recording: Recording) -> tuple[str, str, int, int]:
    asked = recording.asked
    return asked.kind, canonical(asked.request), asked.trial, asked.sample


def _recording_data(recording: Recording) -> dict[str, Any]:
    asked = recording.asked
    data: dict[str, Any] = {
        "kind": asked.kind,
        "trial": asked.trial,
        "sample": asked.sample,
        "request": to_data(asked.request),
        "answers": [to_data(kept.answer) for kept in recording.answers],
    }
    secrets = list(_secrets(recording))
    return {**data, "secrets": secrets} if secrets else data


def _secrets(recording: Recording) -> Iterator[str]:
    for place in recording.secrets:
        yield f"request.{place}"
    for index, kept in enumerate(recording.answers):
        for place in kept.secrets:
            yield f"answers[{index}].{place}".rstrip(".")


def _news_data(news: News) -> dict[str, Any]:
    return {
        "run": news.run,
        "number": news.number,
        "replaces": list(news.replaces),
        "after": [news.after.length, news.after.digest],
        "recording": _recording_data(news.recording),
    }
