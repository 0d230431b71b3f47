"""A file as text that is read piece by piece."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Protocol

from giskard.checks.importers._sources import READ_ERRORS

__all__ = ["PieceByPiece"]

_PIECE = 1 << 18
_KEPT = 200
_MARKS = (  # the longest first
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What may stand between values; a record separator starts each one in RFC 7464, files that were joined have marks.
_BETWEEN = re.compile("[ \t\r\n,\x1e\ufeff]*")


class Readable(Protocol):
    """What bytes can be read of."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


class PieceByPiece:
    """The part of a text that is in memory, and where in the file we are.

    Attributes
    ----------
    text, at
        What was read and not let go of yet, and how far it was taken.
    line
        The line that `at` is on, from 1.
    ended
        Whether there is no more to read.
    skipped
        The last of what stood before the value that begins at `at`.
    problem
        Why the file could not be read to its end.
    """

    __slots__ = ("_decoder", "_read", "at", "ended", "line", "problem", "skipped", "text")

    def __init__(self, file: Readable, encoding: str | None = None, *, line: int = 1) -> None:
        self._read: Callable[[int], bytes] = getattr(file, "read1", file.read)
        self.text = ""
        self.at = 0
        self.line = line
        self.ended = False
        self.skipped = ""
        self.problem: str | None = None
        self._decoder: codecs.IncrementalDecoder | None = None if encoding is None else _decoder(encoding)

    def more(self) -> bool:
        """Read on, at least as much again as is left; whether there was more."""
        if self.ended:
            return False
        size = max(_PIECE, len(self.text) - self.at)
        pieces: list[str] = [self.text[self.at :]] if self.at < len(self.text) else []
        found = 0
        while not found:
            try:
                data: bytes = self._read(size)
                piece = self._decoded(data)
            except READ_ERRORS as error:
                self.problem = f"{type(error).__name__}: {error}"
                self.ended = True
                break
            except UnicodeDecodeError as error:
                pieces.append(error.object[: error.start].decode(error.encoding, "surrogatepass"))
                self.problem = f"{type(error).__name__}: {error}"
                self.ended = True
                break
            found += len(piece)
            pieces.append(piece)
            if not data:
                self.ended = True
                break
        self.text = "".join(pieces)
        self.at = 0
        return found > 0

    def _decoded(self, data: bytes) -> str:
        decoder = self._decoder
        if decoder is None:
            while data and len(data) < 4 and (more := self._read(4)):
                data += more
            encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
            decoder = self._decoder = _decoder(encoding)
            if encoding == "utf-8":
                data = data.removeprefix(codecs.BOM_UTF8)
        return decoder.decode(data, not data)

    def go_to(self, end: int) -> None:
        """Take the text up to `end`."""
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def skip_between(self) -> bool:
        """Skip what may stand between two values; whether there is anything after it."""
        self.skipped = ""
        while True:
            match = _BETWEEN.match(self.text, self.at)
            if match and match.end() > self.at:
                self.skipped = (self.skipped + match.group())[-_KEPT:]
                self.go_to(match.end())
            if self.at < len(self.text):
                return True
            if not self.more():
                return False

    def end_of_line(self, limit: int) -> int | None:
        """Where the current line ends; None when that is more than `limit` characters away."""
        searched = self.at
        while (end := self.text.find("\n", searched)) < 0:
            if self.ended:
                return len(self.text)
            if len(self.text) - self.at > limit:
                return None
            searched = len(self.text) - self.at
            self.more()
        return end

    def skip_line(self) -> bool:
        """Go to the beginning of the next line; whether there is one."""
        while (end := self.text.find("\n", self.at)) < 0:
            self.at = len(self.text)
            if not self.more():
                return False
        self.at = end + 1
        self.line += 1
        return True


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    # Bytes that are no text become lone surrogates, by which the records that hold them are known.
    wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    return codecs.getincrementaldecoder(encoding)("surrogatepass" if wide else "surrogateescape")
