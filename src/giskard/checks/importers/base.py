"""What a format of recorded conversations is: how it is recognised, and how its records become traces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar, cast

from pydantic import BaseModel

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._failures import told
from giskard.checks.importers.report import ImportReport

__all__ = ["BadRecord", "FileFormat", "Format", "ReadOptions", "Reading", "Record", "RecordFormat"]


class BadRecord(ValueError):
    """Raised by a format for a record that holds no conversation: it is skipped, and the report says why."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What whoever loads a file wants of it.

    Parameters
    ----------
    stop_markers
        What a simulated user says to hang up, such as ``"###STOP###"``: taken out of user messages, and a message that
        says nothing else is left out.
    keep_raw
        Whether each turn keeps its messages as they were recorded, opaque parts included, under ``metadata["raw"]``.
    columns
        For tables: what each column holds, as in ``{"input": "question", "output": "answer"}``.
    sidechains
        Whether the side conversations of coding agents are read too.
    encoding
        Of text files that do not say it themselves; None for UTF-8.
    """

    stop_markers: tuple[str, ...] = ()
    keep_raw: bool = False
    columns: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sidechains: bool = False
    encoding: str | None = None


@dataclass(slots=True)
class Record:
    """A value of a file, and where it stands there.

    Parameters
    ----------
    value
        JSON data: an object, or the list that a whole array is.
    path
        Of the file, as it was given or found; None for what came from memory.
    line
        From 1: the line on which the value begins.
    """

    value: Any
    path: str | None = None
    line: int | None = None


class Reading:
    """One load: its options, and the report that it fills.

    Parameters
    ----------
    options, report
        Of the load.

    Attributes
    ----------
    more_files
        Whether other files follow the one that is read.
    kept
        By the name of a format: what it keeps of the files so far, whose conversations may go on in the next ones.
    """

    def __init__(self, options: ReadOptions | None = None, report: ImportReport | None = None) -> None:
        self.options = options or ReadOptions()
        self.report = report or ImportReport()
        self.more_files = False
        self.kept: dict[str, Any] = {}

    def skip(self, record: Record, format: str | None, reason: str) -> None:
        """Note that nothing was read of a record, and why."""
        self.report.skip(record.path, record.line, format, reason)

    def failed(self, record: Record, format: Format | type[Format], error: Exception) -> None:
        """Note that a format could make nothing of a record: it said so, or its shape is one that nobody thought of."""
        self.skip(record, format.name, str(error) if isinstance(error, BadRecord) else told(error, format))

    def source(self, record: Record, format: str) -> dict[str, Any]:
        """The ``annotations["source"]`` of what is read of a record."""
        source: dict[str, Any] = {"format": format}
        if record.path is not None:
            source["path"] = record.path
        if record.line is not None:
            source["line"] = record.line
        return source


class Format(ABC):
    """A format of recorded conversations.

    Parameters
    ----------
    name
        What ``format=`` calls it.
    aliases
        Other names of it.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def detect(self, value: Any) -> bool:
        """Whether `value` is a record of this format, by its shape; cheap, and never raises on JSON data.

        A value is one record: an object of a file of objects, or a list when a whole array is one conversation.  Of a
        long list only the first items may be shown.
        """

    @abstractmethod
    def read(self, records: Iterator[Record], reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The traces of `records`, as a stream; what cannot be read is told to ``reading.skip``."""

    def rest(self, reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The traces of what was kept in ``reading.kept``, once all files were read."""
        return iter(())


class RecordFormat(Format):
    """A format in which each record is read by itself: subclasses write ``convert``."""

    @abstractmethod
    def convert(
        self, value: Any, source: dict[str, Any], options: ReadOptions
    ) -> Trace[Any, Any] | Iterable[Trace[Any, Any]]:
        """The trace of a record, or its traces.

        Parameters
        ----------
        source
            What goes into ``annotations["source"]``.

        Raises
        ------
        BadRecord
            When it holds no conversation.
        """

    def read(self, records: Iterator[Record], reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The traces of each record; a record that cannot be read does not stop the others."""
        for record in records:
            try:
                made = self.convert(record.value, reading.source(record, self.name), reading.options)
                traces = [made] if isinstance(made, Trace) else _traces_in(made)
            except Exception as error:  # the others are read all the same
                reading.failed(record, self, error)
            else:
                yield from traces


def _traces_in(made: Any) -> list[Trace[Any, Any]]:
    """What ``convert`` gave, when it is several traces."""
    expected = "expected a Trace or an iterable of traces"
    kind = cast("type[Any]", type(made))
    if not issubclass(kind, Iterable) or issubclass(kind, (str, bytes, Mapping, BaseModel)):
        raise BadRecord(f"convert returned {kind.__name__}, {expected}")
    traces: list[Any] = list(made)
    for trace in traces:
        if not isinstance(trace, Trace):
            raise BadRecord(f"convert returned {type(trace).__name__} among its traces, {expected}")
    return traces


class FileFormat(Format):
    """A format whose files are read as a whole, and not as a stream of JSON records: tables, YAML.

    A file goes to the format that has its suffix among its ``suffixes``; where the suffix says nothing, as with
    standard input, to the first whose ``recognises`` likes its first bytes, if these are not JSON.  JSON values are
    offered to ``detect`` and ``read`` as to any other format.

    Parameters
    ----------
    suffixes
        Of its files, in lower case and with the dot, as they are once a ``.gz`` is taken off.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()

    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins with `head`, some kilobytes, is of this format; cheap, and never raises."""
        return False

    def read_as(
        self, format: Format | None, stream: BinaryIO, path: str | None, reading: Reading
    ) -> Iterator[tuple[Trace[Any, Any], str]]:
        """The traces of a file, each with the name of the format that reads it; else as ``read_file``.

        Parameters
        ----------
        format
            The one that was asked for; None when that was left open.  A format whose files may hold records of others
            overrides this.
        """
        if format is not None and format.name != self.name:
            raise BadRecord(f"the format {format.name!r} reads JSON, and this file is of the format {self.name!r}")
        for trace in self.read_file(stream, path, reading):
            yield trace, self.name

    @abstractmethod
    def read_file(self, stream: BinaryIO, path: str | None, reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The traces of a file, as a stream; what cannot be read is told to ``reading.skip``.

        Parameters
        ----------
        stream
            The bytes, unpacked, from their start; it need not be seekable, and is not closed here.
        path
            Of the file, as it was given or found; None for what has none.

        Raises
        ------
        BadRecord
            When nothing of the file can be read; the message says what to do.
        """
