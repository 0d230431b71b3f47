"""Recorded conversations, of whatever format, as traces; and traces as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giskard.checks.utils.lazy import lazy_names

if TYPE_CHECKING:
    from giskard.checks.importers._detection import UnknownFormatError
    from giskard.checks.importers.base import BadRecord, FileFormat, Format, Reading, ReadOptions, Record, RecordFormat
    from giskard.checks.importers.load import SkippedRecordsWarning, TraceStream, load_traces
    from giskard.checks.importers.report import ImportReport
    from giskard.checks.importers.save import save_traces

__all__ = [
    "BadRecord",
    "FileFormat",
    "Format",
    "ImportReport",
    "ReadOptions",
    "Reading",
    "Record",
    "RecordFormat",
    "SkippedRecordsWarning",
    "TraceStream",
    "UnknownFormatError",
    "load_traces",
    "save_traces",
]

__getattr__ = lazy_names(
    __name__,
    {
        "_detection": ["UnknownFormatError"],
        "base": ["BadRecord", "FileFormat", "Format", "ReadOptions", "Reading", "Record", "RecordFormat"],
        "load": ["SkippedRecordsWarning", "TraceStream", "load_traces"],
        "report": ["ImportReport"],
        "save": ["save_traces"],
    },
)
