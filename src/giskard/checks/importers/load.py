"""Recorded conversations of any format, as a stream of traces."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, BinaryIO, Literal, NoReturn, Self, TypeAlias, cast

from giskard.checks.core.exceptions import ConfigurationError, MissingExtraError
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.types import TraceT
from giskard.checks.importers._detection import Detector, UnknownFormatError, advice, beginning, shape_of
from giskard.checks.importers._failures import told
from giskard.checks.importers._lines import values_in
from giskard.checks.importers._records import recognised
from giskard.checks.importers._registry import check_format, file_formats, format_named, third_party
from giskard.checks.importers._routing import Router
from giskard.checks.importers._sources import (
    DAMAGED,
    JSON_SUFFIXES,
    READ_ERRORS,
    PathLike,
    Source,
    find_sources,
    opened,
)
from giskard.checks.importers._stop_markers import StopMarkers
from giskard.checks.importers._values import Unread
from giskard.checks.importers.base import BadRecord, FileFormat, Format, Reading, ReadOptions
from giskard.checks.importers.report import ImportReport
from giskard.checks.utils.deferred import Deferred

__all__ = ["OnSkip", "SkippedRecordsWarning", "TraceStream", "load_traces"]

OnSkip: TypeAlias = Literal["warn", "raise", "ignore"]
_HEAD = 4096
_BLANK = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
_ON_SKIP = ("warn", "raise", "ignore")


class SkippedRecordsWarning(UserWarning):
    """Something of the files was not read; the report of the load says what, and why."""


def load_traces(
    path: PathLike | IO[Any] | Iterable[PathLike | IO[Any]],
    format: str | Format = "auto",
    *,
    stop_markers: Sequence[str] = (),
    keep_raw: bool = False,
    columns: Mapping[str, Any] | None = None,
    sidechains: bool = False,
    on_skip: OnSkip = "warn",
    encoding: str | None = None,
    trace_type: type[TraceT] = Trace,
) -> TraceStream[TraceT]:
    """Read recorded conversations as traces, one at a time: files of any size take little memory.

    Parameters
    ----------
    path
        A file; a folder, of which the files of a known kind are read, those in folders below too; a glob such as
        ``"logs/**/*.jsonl.gz"``; ``"-"`` for standard input; an open file; or a list of these.  What is packed with
        gzip is unpacked, whatever it is called.
    format
        The name of the format, or one of your own; ``"auto"`` tells by the shape of each record, so that one file may
        hold several.
    stop_markers
        What a simulated user says to hang up, such as ``"###STOP###"``: it is taken out of the messages.
    keep_raw
        Whether each turn keeps its messages as they were recorded, under ``metadata["raw"]``.
    columns
        For tables: what each column holds, as in ``{"input": "question", "output": "answer"}``.
    sidechains
        Whether the side conversations of coding agents are read too.
    on_skip
        What happens when something cannot be read: ``"warn"`` reads all the rest and gives a `SkippedRecordsWarning` at
        the end; ``"raise"`` raises `BadRecord` at the first; ``"ignore"`` leaves it to the report.
    encoding
        Of text files that are neither UTF-8 nor marked as UTF-16, ``"cp1252"`` say.
    trace_type
        What the traces are made of: a subclass of `Trace` with computed fields of its own.

    Returns
    -------
    TraceStream
        An iterator of the traces; its ``report`` tells what was read, and what was not and why.

    Raises
    ------
    FileNotFoundError
        When a path is not there, or a glob or a folder holds no file to read.
    ValueError
        When there is no such format.
    TypeError
        When a format of your own has no name.
    MissingExtraError
        From the first ``next()``: when the file needs a package that is not installed.  Of several files, those that do
        are skipped.
    UnknownFormatError
        From the first ``next()``: when no record at all is of a known format.

    Examples
    --------
    >>> import io
    >>> row = '{"interactions": [{"inputs": "Hello", "outputs": "Hi!"}]}'
    >>> traces = load_traces(io.StringIO(row))
    >>> [trace.last.outputs for trace in traces]
    ['Hi!']
    >>> print(traces.report)
    1 conversation read from 1 file: giskard 1
    """
    only = _format(format)
    if on_skip not in _ON_SKIP:
        raise ValueError(f"on_skip is {on_skip!r}; expected one of {', '.join(map(repr, _ON_SKIP))}")
    if isinstance(cast("Any", stop_markers), str):
        stop_markers = (cast("str", stop_markers),)
    options = ReadOptions(tuple(stop_markers), keep_raw, dict(columns or {}), sidechains, encoding)
    suffixes = {suffix for other in file_formats() for suffix in other.suffixes}
    left_out: Counter[str] = Counter()
    sources = find_sources(path, suffixes, left_out)
    stream = TraceStream(sources, only, options, on_skip, encoding=encoding, trace_type=trace_type)
    if count := left_out.total():
        kinds = ", ".join(sorted(left_out, key=lambda kind: (-left_out[kind], kind))[:10])
        kinds += ", …" if len(left_out) > 10 else ""
        stream.report.note(f"{count:,} file{'s' if count > 1 else ''} of other kinds left out: {kinds}")
    return stream


def _format(format: str | Format) -> Format | None:
    if isinstance(format, Format):
        return check_format(format)
    if isinstance(cast("Any", format), type) and issubclass(cast("Any", format), Format):
        return check_format(cast("Any", format)())
    return None if format == "auto" else format_named(format)


class TraceStream(Iterator[TraceT]):
    """The traces of the files of one load, in their order; `load_traces` makes it.

    It can be gone through once: what was taken is not kept, and a second time is an error.  Files are closed when it
    ends, when it is closed, or when nobody holds it any more; it may be used in a ``with`` statement.

    Attributes
    ----------
    report
        What was read so far, and what was not; complete at the end.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        only: Format | None,
        options: ReadOptions,
        on_skip: OnSkip = "warn",
        *,
        encoding: str | None = None,
        trace_type: type[TraceT] = Trace,
    ) -> None:
        self.report = ImportReport()
        self._sources = sources
        self._only = only
        self._reading = Reading(options, self.report)
        self._on_skip = on_skip
        self._encoding = encoding
        self._trace_type = trace_type
        self._recognised = 0
        self._strange: list[Any] = []
        self._unread: Unread | None = None
        self._unknown_at: str | None = None
        self._head = b""
        self._markers = StopMarkers()
        self._traces = self._all()
        self._ended = False
        self._is_taken = False

    def __iter__(self) -> Self:
        if self._is_taken:
            count = self.report.read
            taken = f"its {count:,} traces were" if count != 1 else "its 1 trace was"
            raise RuntimeError(f"{taken} taken already: call load_traces again, or keep them with list(...)")
        return self

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError("traces come one at a time, and have no places: take them all with list(...), then [index]")

    def __next__(self) -> TraceT:
        try:
            return next(self._traces)
        except StopIteration:
            if not self._ended:
                self._ended = self._is_taken = True
                self._warn()
            raise

    def close(self) -> None:
        """Close the files; there are no further traces."""
        self._traces.close()
        self._ended = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "ended" if self._ended else "not at its end"
        return f"<TraceStream of {len(self._sources)} file(s), {self.report.read} traces taken, {state}>"

    def _warn(self) -> None:
        count = self.report.skipped_count
        if count and self._on_skip == "warn":
            first = self.report.skipped[0]
            warnings.warn(
                f"{count:,} record{'s were' if count > 1 else ' was'} skipped, the first at {first.place}: "
                f"{first.reason}; the report of these traces lists them (print(traces.report)), and "
                "on_skip='ignore' keeps this quiet",
                SkippedRecordsWarning,
                stacklevel=3,
            )

    # --- reading -------------------------------------------------------------------

    def _all(self) -> Generator[TraceT]:
        report = self.report
        for problem in third_party()[1] if self._only is None else ():
            report.note(problem)
        for place, source in enumerate(self._sources):
            self._reading.more_files = place + 1 < len(self._sources)
            before = report.read + report.skipped_count
            for trace, name in self._of_source(source):
                yield self._counted(trace, name)
            if report.read + report.skipped_count == before and not self._reading.kept:
                report.skip(source.path, None, None, "there is no conversation in it")
            self._refuse_skips()
        for trace, name in self._rest():
            yield self._counted(trace, name)
        self._refuse_skips()
        if marker := self._markers.note(report.read):
            report.note(marker)
        if not self._recognised and (self._strange or self._unread) and not report.read:
            raise self._unknown()

    def _counted(self, trace: Trace[Any, Any], name: str) -> TraceT:
        self._refuse_skips()
        report = self.report
        report.read += 1
        report.formats[name] += 1
        if _is_incomplete(trace):
            report.incomplete += 1
            self._markers.see(trace)
        if self._trace_type is Trace:
            return cast("TraceT", trace)
        return self._trace_type(interactions=trace.interactions, annotations=trace.annotations)

    def _rest(self) -> Iterator[tuple[Trace[Any, Any], str]]:
        """What formats kept of all files, because a conversation may stand in several."""
        for name in list(self._reading.kept):
            try:
                for trace in format_named(name).rest(self._reading):
                    yield trace, name
            except Exception as error:
                self.report.skip(None, None, name, told(error, format_named(name)))

    def _refuse_skips(self) -> None:
        if self._on_skip == "raise" and self.report.skipped_count:
            first = self.report.skipped[0]
            raise BadRecord(f"{first.place}: {first.reason}")

    def _of_source(self, source: Source) -> Iterator[tuple[Trace[Any, Any], str]]:
        try:
            with opened(source) as file:
                self.report.files += 1
                yield from self._of_file(file, source)
        except DAMAGED as error:
            reason = f"the packed file is damaged or cut off, and cannot be read ({type(error).__name__}: {error})"
            self.report.skip(source.path, None, None, reason)
            self._unread = self._unread or Unread(0, reason)
            self._unknown_at = self._unknown_at or self.report.skipped[-1].place
        except MissingExtraError as error:
            if len(self._sources) == 1:
                raise
            self.report.skip(source.path, None, None, str(error))
        except OSError as error:
            if len(self._sources) == 1:
                raise
            self.report.skip(source.path, None, None, f"the file cannot be read: {error}")

    def _of_file(self, file: BinaryIO, source: Source) -> Iterator[tuple[Trace[Any, Any], str]]:
        special = self._special(file, source)
        if special is not None:
            return self._of_special(special, file, source)
        return self._of_json(file, source)

    def _of_json(self, file: BinaryIO, source: Source) -> Iterator[tuple[Trace[Any, Any], str]]:
        detector = Detector(self._only)
        before = self.report.skipped_count
        try:
            head = _peek(file)
        except DAMAGED:  # from its very beginning
            raise
        except READ_ERRORS:  # it is read as far as it goes
            head = b""
        entries = values_in(file, self._encoding, lambda value: detector.of(value) is not None)
        router = Router(recognised(entries, source.path, detector), source.path, self._reading)
        try:
            yield from router
        finally:
            self._recognised += router.recognised
            self._strange += router.strange[: 3 - len(self._strange)]
            self._unread = self._unread or router.unread
            if self._unknown_at is None and (router.strange or router.unread):
                self._unknown_at = self.report.skipped[before].place if before < len(self.report.skipped) else None
                self._head = head

    def _special(self, file: BinaryIO, source: Source) -> FileFormat | None:
        """The format that reads a file which is not JSON; None for JSON."""
        formats = file_formats()
        for format in formats:
            if source.suffix in format.suffixes:
                return format
        if source.suffix in JSON_SUFFIXES:
            return None
        head = _peek(file)
        if head.lstrip(_BLANK)[:1] in (b"{", b"[", b""):
            return None
        if isinstance(self._only, FileFormat):
            return self._only
        return next((format for format in formats if format.recognises(head)), None)

    def _of_special(self, format: FileFormat, file: BinaryIO, source: Source) -> Iterator[tuple[Trace[Any, Any], str]]:
        try:
            for made in format.read_as(self._only, file, source.path, self._reading):
                self._recognised += 1
                yield made
            self._recognised += 1
        except (ConfigurationError, MissingExtraError, *DAMAGED):  # of the call, or of all that is packed
            raise
        except BadRecord as problem:
            self.report.skip(source.path, None, format.name, str(problem))
            if len(self._sources) == 1:
                raise UnknownFormatError(f"{self.report.skipped[-1].place}: {problem}") from None
        except Exception as error:
            self.report.skip(source.path, None, format.name, told(error, format))

    def _unknown(self) -> UnknownFormatError:
        where = self._unknown_at or self.report.skipped[0].place
        # What begins as a date does may be read as some numbers.
        if not self._strange or (self._unread and not any(isinstance(value, (dict, list)) for value in self._strange)):
            if self._unread and (begins := beginning(self._head)) is not None:
                return UnknownFormatError(f"{where}: this is no JSON: the file begins with {begins}")
            return UnknownFormatError(f"{where}: no JSON was found here: {cast('Unread', self._unread).reason}")
        return UnknownFormatError(
            f"{where}: no record is of a known format; the first is {shape_of(self._strange[0])}; "
            + advice(self._strange)
        )


def _peek(file: BinaryIO) -> bytes:
    """The first bytes of a file, which are read again."""
    return cast("io.BufferedReader", file).peek(_HEAD)[:_HEAD]


def _is_incomplete(trace: Trace[Any, Any]) -> bool:
    turns: list[Interaction[Any, Any]] = trace.__dict__["interactions"]
    for turn in turns:
        metadata = turn.__dict__["metadata"]
        if isinstance(metadata, Deferred):
            if metadata.glance("incomplete"):
                return True
        elif "incomplete" in metadata:
            return True
    return False
