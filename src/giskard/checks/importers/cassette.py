"""Recorded HTTP traffic with model APIs: cassettes of vcrpy and its kin, and HAR."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar, Final

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._http_bodies import BadBody
from giskard.checks.importers._http_log import entries_of, exchange_in, is_recording
from giskard.checks.importers._http_talks import Talks, api_of
from giskard.checks.importers._json import loads
from giskard.checks.importers._lenient import mapping
from giskard.checks.importers._yaml import LINE, BadYAML, load_yaml
from giskard.checks.importers.base import BadRecord, FileFormat, Reading, Record

__all__ = ["Cassette"]

# Comments, the mark of a document and the version may come first.
_START: Final = re.compile(rb"(?:\xef\xbb\xbf)?(?:(?:#|---|version:)[^\n]*\n|\s)*(?:http_)?interactions:")


class Cassette(FileFormat):
    """Cassettes of vcrpy and Ruby's VCR, in YAML or JSON, and HAR files.

    Requests to the APIs of models are told by the path of their address: chat completions and completions, Responses,
    Anthropic's messages, Gemini's ``generateContent``, Bedrock's ``converse``.  Others are counted in the report.

    Notes
    -----
    - A request whose messages begin with all that was said in a conversation before continues it, and so does one that
      names the response before it by its id: they are one trace.  Any other request begins a new one.
    - A request that failed leaves ``metadata["error"]`` and an incomplete turn, unless it was made again and answered:
      then the error is among ``metadata["retries"]``.
    - Latency and the time to the first token are known of HAR only.
    - A file is held in memory as a whole.
    """

    name = "cassette"
    aliases: ClassVar[tuple[str, ...]] = ("vcr", "vcrpy", "har")
    suffixes: ClassVar[tuple[str, ...]] = (".yaml", ".yml")

    def detect(self, value: Any) -> bool:
        """Whether it is a recording, or one request and response of it."""
        return is_recording(value)

    def recognises(self, head: bytes) -> bool:
        """Whether it begins as a cassette in YAML."""
        return _START.match(head) is not None

    def read_file(self, stream: BinaryIO, path: str | None, reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The conversations of a file, in the order of their beginnings."""
        data = stream.read()
        try:
            value = _json(data)
            if value is None:
                value = load_yaml(data)
        except BadYAML as error:
            raise BadRecord(f"the file cannot be read as YAML: {error}") from None
        if not is_recording(value):
            raise BadRecord("it is no recording of requests and responses: there are no interactions in it")
        yield from self.read(iter([Record(value, path)]), reading)

    def read(self, records: Iterator[Record], reading: Reading) -> Iterator[Trace[Any, Any]]:
        """The conversations of recordings, or of single requests with their responses."""
        talks = Talks(reading.options)
        others: Counter[str] = Counter()
        for record in records:
            for number, entry in _numbered(record.value):
                place = Record(entry, record.path, _line(entry) or record.line)
                source = reading.source(place, self.name) | ({} if number is None else {"entry": number})
                try:
                    exchange = exchange_in(entry)
                    if (api := api_of(exchange)) is None:
                        others[exchange.path or "/"] += 1
                    else:
                        talks.add(exchange, api, source)
                except Exception as problem:  # the others are read all the same
                    kind = "" if isinstance(problem, BadRecord | BadBody) else f"{type(problem).__name__}: "
                    where = "" if number is None else f"entry {number}: "
                    reading.skip(place, self.name, f"{where}{kind}{problem}")
        yield from talks.traces()
        if others:
            listed = ", ".join(f"{path} ({count:,})" for path, count in others.most_common(5))
            total = sum(others.values())
            were = "request was" if total == 1 else "requests were"
            reading.report.note(f"{total:,} recorded {were} to no API of a model that is known: {listed}")


def _numbered(value: Any) -> Iterator[tuple[int | None, Any]]:
    """The entries of a recording, from 1; or the one that a value is."""
    entries = entries_of(value)
    if entries is None:
        yield None, value
    else:
        yield from enumerate(entries, 1)


def _line(entry: Any) -> int | None:
    return mapping(entry).get(LINE)


def _json(data: bytes) -> Any:
    """The data of a text in JSON, which is YAML too, and is read a hundred times as fast so; None for other texts."""
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return None
    try:
        return loads(data.decode("utf-8-sig"))
    except ValueError:
        return None
