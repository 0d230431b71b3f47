"""What a report is laid out with: rows of styled text, wrapped, cut to the width and framed.

The rows are made here and not by rich's panels and tables, which take a hundred times as long: a run of
thousands of scenarios is reported at once.  rich still knows the terminal, its colours and its width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style

from giskard.checks.settings import get_settings
from giskard.checks.utils.text import cut, visible

__all__ = ["WIDEST", "Glyphs", "Page", "Row", "Span", "fit", "size", "wrap"]

Span = tuple[str, str | Style]
"""A text that is fit to be printed, and its style or the name of it."""
Row = list[Span]

WIDEST = 160
"""Columns that a report has at most; longer lines are hard to read."""
_NARROWEST = 30

_STYLES: dict[str | Style, Style | None] = {
    "": None,
    "pass": Style.parse("green"),
    "fail": Style.parse("bold red"),
    "error": Style.parse("bold magenta"),
    "skip": Style.parse("yellow"),
    "nothing": Style.parse("cyan"),
    "bold": Style.parse("bold"),
    "dim": Style.parse("dim"),
    "label": Style.parse("dim"),
    "frame": Style.parse("dim"),
    "frame fail": Style.parse("red"),
    "frame error": Style.parse("magenta"),
    "expected": Style.parse("green"),
    "got": Style.parse("red"),
    "tool": Style.parse("cyan"),
}


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters beside plain letters."""

    passed: str = "."
    failed: str = "✗"
    errored: str = "!"
    skipped: str = "-"
    nothing: str = "?"
    check: str = "✓"
    corners: str = "╭╮╰╯"
    line: str = "─"
    side: str = "│"
    dash: str = "—"
    dot: str = "·"
    arrow: str = "→"
    more: str = "…"
    full: str = "█"
    empty: str = "░"


_ASCII = Glyphs(
    failed="x",
    check="+",
    corners="++++",
    line="-",
    side="|",
    dash="-",
    dot="|",
    arrow="->",
    more="~",
    full="#",
    empty=".",
)


def size(text: str) -> int:
    """How many columns `text` takes."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, width: int, more: str = "…") -> str:
    """`text`, or as much of it as fits, with a mark at its end."""
    if size(text) <= width:
        return text
    return text[: _fitting(text, max(1, width - size(more)))] + more


def _fitting(text: str, width: int) -> int:
    """How many characters of `text` fit; at least one."""
    end = min(len(text), max(1, width))
    if text.isascii():
        return end
    while end > 1 and cell_len(text[:end]) > width:
        end -= max(1, (cell_len(text[:end]) - width) // 2)
    return max(1, end)


def wrap(text: str, width: int) -> list[str]:
    """The lines of `text`, broken between words so that none is wider than `width`."""
    lines: list[str] = []
    for line in text.split("\n"):
        if size(line) <= width:
            lines.append(line)
        else:
            lines.extend(_broken(line, width))
    return lines


def _broken(line: str, width: int) -> Iterator[str]:
    while size(line) > width:
        end = _fitting(line, width)
        space = end if line[end : end + 1] == " " else line.rfind(" ", 0, end)
        if space > 0 and line[:space].strip():
            yield line[:space].rstrip()
            line = line[space:].lstrip(" ")
        else:
            yield line[:end]
            line = line[end:]
    if line:
        yield line


class Page:
    """The rows of a report, for one console.

    Parameters
    ----------
    console
        Where it will be printed; on stdout when it is None.

    Attributes
    ----------
    is_plain
        Whether neither colours nor what other classes render of themselves are wanted; see `Settings`.
    """

    def __init__(self, console: Console | None) -> None:
        self.is_plain = get_settings().disable_rich_pretty
        colours = None if self.is_plain else "auto"
        self.console = Console(highlight=False, color_system=colours) if console is None else console
        self.width = max(_NARROWEST, min(self.console.width, WIDEST))
        self._encoding = None if self.console.encoding.startswith("utf") else self.console.encoding
        self.glyphs = _ASCII if self._encoding else Glyphs()
        self._segments: list[Segment] = []

    # --- text from outside ---------------------------------------------------------------

    def text(self, value: str, limit: int) -> str:
        """`value`, from outside, fit to be printed: bounded, its hidden characters shown."""
        shown = visible(cut(value, limit))
        if "\t" in shown:
            shown = shown.expandtabs(4)
        if self._encoding and not shown.isascii():
            shown = shown.encode(self._encoding, "backslashreplace").decode(self._encoding)
        return shown

    def line(self, value: str, limit: int = 300) -> str:
        r"""As `text`, in one line: line feeds are shown as ``\n``."""
        shown = self.text(value, limit)
        return shown.replace("\n", "\\n") if "\n" in shown else shown

    # --- rows ----------------------------------------------------------------------------

    def add(self, *spans: Span) -> None:
        """A row of its own."""
        self._put(spans)
        self._segments.append(_NEW_LINE)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Rows, as they are."""
        for row in rows:
            self.add(*row)

    def paragraph(self, text: str, style: str = "", indent: int = 2) -> None:
        """`text`, wrapped."""
        for line in wrap(text, self.width - indent):
            self.add((" " * indent, ""), (line, style))

    def rule(self, title: str, right: str = "", style: str = "frame") -> None:
        """A line across the page with a title in it."""
        line = self.glyphs.line
        right = f" {right} {line * 2}" if right else ""
        title = fit(title, self.width - size(right) - 6, self.glyphs.more)
        fill = line * (self.width - size(title) - size(right) - 4)
        self.add((f"{line * 2} ", style), (title, "bold"), (f" {fill}{right}", style))

    def panel(self, title: Row, right: str, rows: Sequence[Row], style: str) -> None:
        """`rows`, none wider than `inner`, in a frame; the title's first span stays whole."""
        line, side, corners = self.glyphs.line, self.glyphs.side, self.glyphs.corners
        frame = f"frame {style}"
        (mark, mark_style), (name, name_style) = title
        name = fit(name, self.width - size(mark) - size(right) - 11, self.glyphs.more)
        fill = line * (self.width - size(mark) - size(name) - size(right) - 9)
        self.add(
            (f"{corners[0]}{line} ", frame),
            (f"{mark} ", mark_style),
            (name, name_style),
            (f" {fill} ", frame),
            (right, style),
            (f" {line}{corners[1]}", frame),
        )
        inner = self.inner
        put, append = self._put, self._segments.append
        left, end = Segment(f"{side} ", _STYLES[frame]), Segment(f" {side}\n", _STYLES[frame])
        for row in rows:
            append(left)
            put(row)
            rest = inner - sum([size(text) for text, _ in row])
            if rest > 0:
                append(Segment(" " * rest))
            append(end)
        self.add((f"{corners[2]}{line * (self.width - 2)}{corners[3]}", frame))

    @property
    def inner(self) -> int:
        """The columns inside of a panel."""
        return self.width - 4

    def _put(self, spans: Iterable[Span]) -> None:
        self._segments += [Segment(text, _STYLES.get(style, style)) for text, style in spans]  # pyright: ignore

    # --- printing ------------------------------------------------------------------------

    def flush(self) -> None:
        """Print what was added so far."""
        if self._segments:
            self.console.print(_Ready(self._segments), crop=False, end="")
            self._segments = []

    def show(self, renderable: Any) -> None:
        """Print something that rich lays out."""
        self.flush()
        self.console.print(renderable, width=self.width)

    def rendered(self, renderable: Any, width: int, limit: int) -> list[Row] | None:
        """The rows that rich makes of somebody else's object, cleaned; None when it cannot be rendered.

        Parameters
        ----------
        limit
            How many rows are kept.
        """
        try:
            lines = self.console.render_lines(
                renderable, self.console.options.update(width=width, height=None), pad=False
            )
        except Exception:  # a broken rendering must not cost the report
            return None
        rows = [_cleaned(self, line, width) for line in lines[:limit]]
        if len(lines) > limit:
            rows.append([(f"{self.glyphs.more} {len(lines) - limit:,} more lines", "dim")])
        return rows


_NEW_LINE = Segment("\n")


def _cleaned(page: Page, line: Iterable[Segment], width: int) -> Row:
    row: Row = []
    left = width
    for text, style, control in line:
        if control or not text:
            continue
        shown = fit(page.line(text, 2_000), left, "") if left > 0 else ""
        left -= size(shown)
        row.append((shown, style or ""))
    return row


class _Ready:
    """Segments that are laid out already."""

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return iter(self._segments)
