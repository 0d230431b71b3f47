"""What the pages of the documentation show: what their samples print, and the commands that a reader types.

- A block of ``text`` is what the Python block before it prints.
- A Python block with a title is a file, ``console`` blocks are commands with what they print: whoever follows the page
  from top to bottom writes these files and types these commands.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from giskard.checks import Check, InputGenerator, InteractionSpec
from tests.samples import FENCE, Sample, needed_by

TITLE = re.compile(r'title="([^"]+)"')
TIMES = [(r"(Duration +)\S.*", r"\1…"), (r"\bin [\d.,]+ ?m?s\b", "in …")]


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with the place of its text."""

    language: str
    title: str | None
    text: str
    line: int
    start: int
    end: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            match["language"],
            title[1] if (title := TITLE.search(text[match.start() : match.start("text")])) else None,
            match["text"],
            text[: match.start("text")].count("\n") + 1,
            match.start("text"),
            match.end("text"),
        )
        for match in FENCE.finditer(text)
    ]


def samples_of(page: Path) -> list[Sample]:
    """The Python blocks that share a namespace: all but the files."""
    found = (block for block in blocks_of(page) if block.language == "python" and block.title is None)
    return [Sample(page, block.line, block.text) for block in found]


def shown_in(page: Path) -> dict[Sample, Block]:
    """The samples whose output the page shows, each with the block that shows it."""
    shown: dict[Sample, Block] = {}
    last: Sample | None = None
    for block in blocks_of(page):
        if block.language == "python":
            last = Sample(page, block.line, block.text) if block.title is None else None
        elif block.language == "text" and last is not None and not last.has_tests:
            shown[last] = block
            last = None
    return shown


def printed_by(sample: Sample) -> str:
    """What a sample prints when those that it needs have run before it."""
    module = ModuleType("page")
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module  # where pydantic looks up what annotations name
    printed = io.StringIO()
    try:
        with kinds_taken_back(), contextlib.redirect_stdout(printed):
            for earlier in needed_by(sample, samples_of(sample.path)):
                earlier.run(vars(module))
            printed.seek(0)
            printed.truncate()
            sample.run(vars(module))
    finally:
        sys.modules.pop(module.__name__)
        if before is not None:
            sys.modules[module.__name__] = before
    return tidy(printed.getvalue())


@contextlib.contextmanager
def kinds_taken_back() -> Iterator[None]:
    """What is registered meanwhile is forgotten afterwards."""
    families = (Check, InteractionSpec, InputGenerator)
    before = [dict(family._kinds) for family in families]
    try:
        yield
    finally:
        for family, known in zip(families, before, strict=True):
            family._kinds.clear()
            family._kinds.update(known)


def tidy(text: str) -> str:
    """`text` without spaces at the ends of its lines, and without empty lines around it."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def without_times(text: str) -> str:
    """`text` without what differs from run to run."""
    for pattern, instead in TIMES:
        text = re.sub(pattern, instead, text)
    return tidy(text)


def followed(page: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Write the files of a page into `folder` and type its commands there: each block of them, and as it came out."""
    for block in blocks_of(page):
        if block.title is not None:
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            commands = [line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ ")]
            yield block, "".join(f"$ {command}\n{tidy(typed(command, folder))}" for command in commands)


# What would change the output: readers have their own terminal, and pytest without the plugins of this project.
LEFT_OUT = ("PYTEST_", "COV_", "COVERAGE_", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "CI")
GIVEN = {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def typed(command: str, folder: Path) -> str:
    """What a command of Python or pytest prints."""
    program, *arguments = shlex.split(command)
    programs = {"python": [], "pytest": ["-m", "pytest", "-p", "no:cacheprovider"]}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
    done = subprocess.run(
        [sys.executable, "-B", *programs[program], *arguments],
        cwd=folder,
        env=environment | GIVEN,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert done.stdout, done.stderr
    return done.stdout


def refreshed(page: Path, folder: Path, run: Callable[[Sample], str] = printed_by) -> str:
    """The text of a page with what its blocks show made anew; what differs in times only stays."""
    news: dict[Block, str] = {block: run(sample) for sample, block in shown_in(page).items()}
    news.update(followed(page, folder))
    return _with(page.read_text(encoding="utf-8"), news)


def _with(text: str, news: Mapping[Block, str]) -> str:
    for block, new in sorted(news.items(), key=lambda item: -item[0].start):
        if without_times(new) != without_times(block.text):
            text = text[: block.start] + new + text[block.end :]
    return text
