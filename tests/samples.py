"""Code samples of the documents: found in their text, and run as they are printed."""

import ast
import asyncio
import builtins
import inspect
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What a line of prose never looks like; in a document without fences it marks code that was not found.
LOOKS_LIKE_CODE = re.compile(
    r"^(\s+[^\s\d]|from \w+(\.\w+)* import |import \w+$|@|#|.*\w\($|[\w.\[\]]+ = |await |async |\w+\(.*\)$)"
)


@dataclass(frozen=True)
class Sample:
    """A piece of Python, with the place where it begins."""

    path: Path
    line: int
    text: str

    @property
    def id(self) -> str:
        return f"{self.path.stem}-line-{self.line}"

    @property
    def has_tests(self) -> bool:
        """Whether it is a test module, which pytest is to run."""
        return bool(self.tests)

    @property
    def tests(self) -> list[str]:
        """The names of its tests."""
        return re.findall(r"^(?:async )?def (test_\w+)", self.text, re.MULTILINE)

    def run(self, namespace: dict[str, Any]) -> None:
        """Run it in `namespace`: in an event loop when it awaits at its top level, else as a script."""
        if self.awaits:
            asyncio.run(eval(self._compiled(), namespace))
        else:
            exec(self._compiled(), namespace)

    def run_by_pytest(self, folder: Path, earlier: Sequence["Sample"] = (), *, fails: bool = False) -> str:
        """Run it as a test module in `folder`, behind `earlier` ones, warnings as errors; what pytest prints.

        Parameters
        ----------
        fails
            Whether tests are to fail.
        """
        text = "\n\n".join(sample.text for sample in [*earlier, self])
        (folder / "test_sample.py").write_text(text, encoding="utf-8")
        (folder / "pytest.ini").write_text(
            "[pytest]\nasyncio_mode = strict\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
            "addopts = --strict-markers\nmarkers = model: asks a model\n"
        )
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(f"test_sample.py::{it}" for it in self.tests)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == int(fails), done.stdout + done.stderr
        return done.stdout

    @property
    def asks_for(self) -> set[str]:
        """The names that it uses and does not define."""
        names = [node for node in ast.walk(ast.parse(self._padded())) if isinstance(node, ast.Name)]
        stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        parameters = {node.arg for node in ast.walk(ast.parse(self._padded())) if isinstance(node, ast.arg)}
        return {node.id for node in names} - stored - parameters - self.defines - set(dir(builtins))

    @property
    def defines(self) -> set[str]:
        """The names that it leaves to the samples after it."""
        names: set[str] = set()
        for node in ast.parse(self._padded()).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.Assign):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        return names

    @property
    def awaits(self) -> bool:
        """Whether it awaits at its top level, so that it cannot be run as a script."""
        return bool(self._compiled().co_flags & inspect.CO_COROUTINE)

    def _compiled(self) -> Any:
        return compile(self._padded(), str(self.path), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    def _padded(self) -> str:
        """The text on the lines that it has in its document, so that a traceback shows them."""
        return "\n" * (self.line - 1) + self.text


def samples_in_plain_text(path: Path) -> list[Sample]:
    """The samples of a document that marks them in no way: paragraphs that are Python, as many as belong together.

    A paragraph is code when it can be parsed and does something: a title such as ``Trace`` is a name alone.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [i for i, line in enumerate(lines) if line.strip() and (i == 0 or not lines[i - 1].strip())]
    ends = [i + 1 for i, line in enumerate(lines) if line.strip() and (i + 1 == len(lines) or not lines[i + 1].strip())]
    found: list[Sample] = []
    first = 0
    while first < len(starts):
        last = next((n for n in reversed(range(first, len(starts))) if is_code(lines[starts[first] : ends[n]])), None)
        if last is None:
            first += 1
            continue
        found.append(Sample(path, starts[first] + 1, "\n".join(lines[starts[first] : ends[last]]) + "\n"))
        first = last + 1
    return found


def prose_in_plain_text(path: Path) -> list[str]:
    """The lines that belong to no sample."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for sample in samples_in_plain_text(path):
        for index in range(sample.text.count("\n")):
            lines[sample.line - 1 + index] = ""
    return [line for line in lines if line.strip()]


def is_code(lines: list[str]) -> bool:
    """Whether the lines are Python in which every statement does something."""
    try:
        module = compile("\n".join(lines), "<sample>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return False
    return bool(module.body) and all(map(_does_something, module.body))


def _does_something(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):  # "Module: giskard.checks" can be parsed too
        return statement.value is not None
    return not isinstance(statement, ast.Expr) or isinstance(statement.value, (ast.Call, ast.Await))


def needed_by(sample: Sample, samples: list[Sample]) -> list[Sample]:
    """The samples to run before `sample`, in order: those that defined, last before it, what it asks for."""
    before = samples[: samples.index(sample)]
    definers = {next((s for s in reversed(before) if name in s.defines), None) for name in sample.asks_for}
    needed = {s for definer in definers if definer is not None for s in [*needed_by(definer, samples), definer]}
    return [s for s in before if s in needed]


FENCE = re.compile(r"^```(?P<language>[\w-]*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def samples_in_markdown(path: Path, language: str = "python") -> list[Sample]:
    """The blocks that are fenced with `language`."""
    text = path.read_text(encoding="utf-8")
    return [
        Sample(path, text[: match.start("text")].count("\n") + 1, match["text"])
        for match in FENCE.finditer(text)
        if match["language"] == language
    ]
