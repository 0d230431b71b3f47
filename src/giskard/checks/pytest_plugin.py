"""pytest's door: tests that are marked with ``cassette`` record what models answer, or replay it.

`giskard.checks_pytest` loads this module when a test has the marker.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any, cast, get_args
from unittest import TestCase

import pytest

from giskard.checks.llm.cassettes import Cassette, CassetteError, CassetteMismatchError, CassetteMode
from giskard.checks.llm.recording import enter, leave

__all__ = ["CassettePlugin", "file_name"]

_MODES = get_args(CassetteMode)
_MOST_LISTED = 10
_MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a test's marker asks for."""

    path: Path
    mode: CassetteMode
    alone: bool
    """Whether no other test uses the file, so that what this one does not use is used by none."""


_PLAN = pytest.StashKey["_Plan | str"]()
_TAPE = pytest.StashKey[dict[str, Any]]()


class CassettePlugin:
    """Runs the tests with the marker, each with its cassette, and reports on what was recorded and not used."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._told: dict[str, list[dict[str, Any]]] = {}

    def adopt(self, items: Iterable[pytest.Item]) -> None:
        """Look at the markers of all tests, also of those that will be left out."""
        marked = [(item, marker) for item in items if (marker := item.get_closest_marker("cassette")) is not None]
        given = [_given(item, marker) for item, marker in marked]
        users = Counter(os.path.realpath(one[0]) for one in given if not isinstance(one, str))
        all_are_here = not any("::" in str(argument) for argument in self._config.args)
        for (item, marker), one in zip(marked, given, strict=True):
            if isinstance(one, str):
                item.stash[_PLAN] = one
                continue
            path, mode = one
            own = not marker.args and "path" not in marker.kwargs
            alone = own or (all_are_here and users[os.path.realpath(path)] == 1)
            found = self._config.getoption("--cassette-mode") or mode or self._config.getini("cassette_mode")
            item.stash[_PLAN] = _Plan(path, found, alone) if found in _MODES else _no_mode(found)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run a test with its cassette."""
        plan = item.stash.get(_PLAN, None)
        if plan is None:
            return (yield)
        if isinstance(plan, str):
            pytest.fail(f"{item.nodeid}: {plan}", pytrace=False)
        tape = Cassette(plan.path, plan.mode)
        with _failing():
            tape.open()
        try:
            with _played(tape, item):
                result = yield
        except BaseException as error:
            with _noted_on(error):
                tape.close()
            item.stash[_TAPE] = self._account(plan, tape, ended=False)
            raise
        with _failing():
            tape.close()
        item.stash[_TAPE] = self._account(plan, tape, ended=True)
        if plan.mode == "strict":
            with _failing():
                tape.assert_matched(unused=plan.alone)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put what happened to the cassette into the report, which also comes from other processes."""
        report = yield
        if call.when == "call" and _TAPE in item.stash:
            cast("Any", report).giskard_cassette = item.stash[_TAPE]
            del item.stash[_TAPE]
        return report

    def collect(self, report: pytest.TestReport) -> None:
        """Take note of what happened to a cassette."""
        told = cast("Any", report).giskard_cassette
        self._told.setdefault(told["path"], []).append(told)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was recorded, what is missing, and what no test asked for."""
        lines = [line for path in sorted(self._told) for line in _summary(path, self._told[path])]
        if lines:
            terminalreporter.section("cassettes")
            for line in lines:
                terminalreporter.write_line(line)

    def _account(self, plan: _Plan, tape: Cassette, *, ended: bool) -> dict[str, Any]:
        """What happened, as plain data."""
        return {
            "path": _shown_path(plan.path, self._config.rootpath),
            "recorded": len(tape.recorded),
            "scrubbed": len(tape.scrubbed),
            "missing": [str(one) for one in tape.missing],
            "unused": {key: str(one) for key, one in tape.unused_by_key().items()},
            # A test that failed may not have come to ask for the rest; one in strict mode fails because of it.
            "judged": ended and not (plan.mode == "strict" and plan.alone),
        }


def _shown_path(path: PurePath, root: PurePath) -> str:
    """A path from the root of the tests on; the whole of it when it is elsewhere, such as on another drive."""
    whole = type(path)(os.path.normpath(path))
    return str(whole.relative_to(root) if whole.is_relative_to(root) else whole)


def _given(item: pytest.Item, marker: pytest.Mark) -> tuple[Path, CassetteMode | None] | str:
    """The path and the mode in a marker, or what is wrong with it."""
    try:
        path, mode = _arguments(*marker.args, **marker.kwargs)
    except TypeError as error:
        return f"@pytest.mark.cassette({_shown(marker)}): {str(error).replace('_arguments()', 'cassette()')}"
    if path is not None and not isinstance(path, (str, os.PathLike)):
        return f"@pytest.mark.cassette({_shown(marker)}): the path is {path!r}, expected a text or None"
    if mode is not None and mode not in _MODES:
        return f"@pytest.mark.cassette({_shown(marker)}): {_no_mode(mode)}"
    if path is None:
        return item.path.parent / "cassettes" / item.path.stem / file_name(item), mode
    return item.path.parent / cast("str", path), mode


def _arguments(path: Any = None, mode: Any = None) -> tuple[Any, Any]:
    return path, mode


def _shown(marker: pytest.Mark) -> str:
    return ", ".join([*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items())])


def _no_mode(mode: object) -> str:
    return f"the mode of a cassette is {mode!r}, expected one of {', '.join(map(repr, _MODES))}"


def file_name(item: pytest.Item) -> str:
    """The name of a test's cassette: one that every file system takes, and that no other test of its module has."""
    _, _, inside = item.nodeid.partition("::")
    inside = inside or item.name
    function, bracket, parameters = inside.partition("[")
    name = function.replace("::", ".")
    if bracket:
        name += f".{parameters.removesuffix(']')}"
    safe = re.sub(r"[^A-Za-z0-9_.=+-]", "_", name)
    # Some file systems take "A" for "a": parameters may differ in nothing else.
    if safe != name or len(safe) > _MAX_NAME or parameters != parameters.lower() or ".." in safe:
        digest = sha256(inside.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        safe = f"{safe[:_MAX_NAME].rstrip('.')}-{digest}"
    return f"{safe}.json"


@contextmanager
def _failing() -> Generator[None]:
    """What is wrong with a cassette fails the test, with the message alone."""
    try:
        yield
    except (CassetteError, CassetteMismatchError, OSError) as error:
        pytest.fail(str(error), pytrace=False)


@contextmanager
def _noted_on(error: BaseException) -> Generator[None]:
    try:
        yield
    except (CassetteError, OSError) as problem:
        error.add_note(f"The cassette was not written: {problem}")


# --- running -----------------------------------------------------------------------------


@contextmanager
def _played(tape: Cassette, item: pytest.Item) -> Generator[None]:
    """The test of `item` asks `tape`, in whatever context it is run.

    Plugins run async tests in contexts of their own, some of which were made before this one: the cassette is entered
    where the test begins, not only here.
    """
    token = enter(tape)
    owner, name = _function_of(item)
    function = None if owner is None else getattr(owner, name)
    try:
        if inspect.iscoroutinefunction(function):
            setattr(owner, name, _with_tape(tape, function))
            try:
                yield
            finally:
                setattr(owner, name, function)
        else:
            yield
    finally:
        leave(token)


def _function_of(item: Any) -> tuple[Any, str]:
    """Where the test function is to be found and replaced."""
    function = getattr(item, "obj", None)
    if function is None:
        return None, ""
    instance = getattr(item, "instance", None)
    if isinstance(instance, TestCase):  # finds its async tests by their names
        return instance, item.name
    of_hypothesis = getattr(function, "hypothesis", None)
    return (item, "obj") if of_hypothesis is None else (of_hypothesis, "inner_test")


def _with_tape(tape: Cassette, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def run(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        token = enter(tape)
        try:
            return await function(*args, **options)
        finally:
            leave(token)

    return run


# --- the summary -------------------------------------------------------------------------


def _summary(path: str, told: list[dict[str, Any]]) -> Iterator[str]:
    recorded = sum(one["recorded"] for one in told)
    if recorded:
        yield f"{path}: {recorded} call{'s' if recorded > 1 else ''} recorded"
    missing = list(dict.fromkeys(call for one in told for call in one["missing"]))
    if missing:
        yield f"{path}: without a recording:"
        yield from _listed(missing)
    unused = _unused(told)
    if unused:
        yield f"{path}: recorded, and no test asked for it:"
        yield from _listed(unused)
    if any(one["scrubbed"] for one in told):
        yield f"{path}: has [secret] where a key stood; a check that looks for keys finds none there"


def _unused(told: list[dict[str, Any]]) -> list[str]:
    """What none of the tests asked for, when all of them came to their end."""
    if not all(one["judged"] for one in told):
        return []
    everywhere = set[str].intersection(*(set(one["unused"]) for one in told))
    return [text for key, text in told[0]["unused"].items() if key in everywhere]


def _listed(texts: list[str]) -> Iterator[str]:
    yield from (f"  {text}" for text in texts[:_MOST_LISTED])
    if len(texts) > _MOST_LISTED:
        yield f"  … and {len(texts) - _MOST_LISTED} more"
