"""Results as JSON files: one that can be loaded again, and lines for whoever reads one attempt at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import to_json

from giskard.checks.core.models import SCHEMA_VERSION
from giskard.checks.core.result import ScenarioResult, TestCaseResult
from giskard.checks.export._columns import joined
from giskard.checks.export._result_json import attempt_columns, case_columns, in_batches, result_text
from giskard.checks.export._results import AnyResult, Member, SuiteView, as_suite, refuse_other
from giskard.checks.utils.files import write_atomically
from giskard.checks.utils.json_safe import json_safe

__all__ = ["to_json_lines", "to_report_json"]


def to_report_json(result: AnyResult, path: str | os.PathLike[str] | None = None, *, indent: int | None = None) -> str:
    """All of a result as JSON: what its own class loads again, with ``model_validate_json``.

    Parameters
    ----------
    result
        Of a suite, a scenario or a test case.
    path
        Where to write it too, ``report.json`` say: as UTF-8, as a whole or not at all; its folders are made.
    indent
        Spaces for each level; None writes one line.

    Raises
    ------
    TypeError
        When it is no result.
    OSError
        When the file cannot be written.
    """
    refuse_other(result)
    model: Any = result
    text: str = model.model_dump_json(indent=indent)
    if path is not None:
        write_atomically(path, text + "\n")
    return text


def to_json_lines(result: AnyResult, path: str | os.PathLike[str] | None = None) -> str:
    """The results as JSON lines: an object on each line, one for each attempt of each scenario.

    Parameters
    ----------
    result
        Of a suite; that of a single scenario or test case is written as a suite of one.
    path
        Where to write them too: as UTF-8, as a whole or not at all; its folders are made.

    Returns
    -------
    str
        Lines that end with a line feed.  Each one has ``schema_version``, ``suite_name``, ``run_id``, ``scenario_id``,
        ``scenario_name``, ``tags``, ``multiple_runs`` and ``runs_executed``, then what the attempt found: ``trial``
        (from 1), ``status``, ``steps`` with their check results, ``final_trace`` (None for a test case of which only
        the result is there), ``conversation_id``, ``duration_ms`` and ``timing``.

    Raises
    ------
    TypeError
        When it is no result.
    OSError
        When the file cannot be written.
    """
    suite = as_suite(result)
    lines = [line for member in suite.members for line in _heads(suite, member)]
    text = "".join(in_batches(lines, _written, _written_by_pydantic))
    if path is not None:
        write_atomically(path, text)
    return text


def _heads(suite: SuiteView, member: Member) -> Iterator[tuple[dict[str, Any], Any]]:
    """The beginning of each line of a member, and the attempt, or the test case, that it is about."""
    scenario = member.scenario
    attempts: list[Any] = [member.source] if scenario is None else scenario.attempts
    identity = {"schema_version": SCHEMA_VERSION, "suite_name": suite.name, **_identity(member)}
    for trial, attempt in enumerate(attempts, 1):
        yield {**identity, "trial": trial, "status": attempt.status.value}, attempt


def _written(lines: Sequence[tuple[dict[str, Any], Any]]) -> list[str]:
    heads, attempts = zip(*lines, strict=True)
    write = case_columns if isinstance(attempts[0], TestCaseResult) else attempt_columns
    found = write(attempts)
    parts = [part for name in _FOUND for part in (f',"{name}":', found[name])]
    return joined([to_json(head).decode()[:-1] for head in heads], *parts, "}\n")


def _written_by_pydantic(line: tuple[dict[str, Any], Any]) -> str:
    """One broken object must not cost the results of all others."""
    head, attempt = line
    return to_json(json_safe({**head, **_found_data(attempt)})).decode() + "\n"


def _identity(member: Member) -> dict[str, Any]:
    source = member.source
    scenario = source if isinstance(source, ScenarioResult) else None
    return {
        "run_id": source.run_id,
        "scenario_id": member.name if scenario is None else scenario.scenario_id,
        "scenario_name": member.name,
        "tags": [] if scenario is None else scenario.tags,
        "multiple_runs": 1 if scenario is None else scenario.multiple_runs,
        "runs_executed": 1 if scenario is None else scenario.runs_executed,
    }


# What of an attempt stands in a line beside its identity.
_FOUND = ("steps", "final_trace", "conversation_id", "duration_ms", "timing")


def _found_data(attempt: Any) -> dict[str, Any]:
    """What stands beside the head in a line, as JSON data."""
    data = json.loads(result_text(attempt))
    if isinstance(attempt, TestCaseResult):
        data = {**data, "steps": [data], "final_trace": None, "conversation_id": None}
    return {name: data[name] for name in _FOUND}
