"""Results as JSON files: one that can be loaded again, and lines for whoever reads one attempt at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from pydantic_core import to_json

from giskard.checks.core.models import SCHEMA_VERSION
from giskard.checks.core.result import ScenarioResult, TestCaseResult
from giskard.checks.export._result_json import (
    ResultWriter,
    atom_text,
    checked,
    data_text,
    result_text,
    timing_text,
    trace_text,
)
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
    suite, writer = as_suite(result), ResultWriter()
    text = "".join([line for member in suite.members for line in _lines(suite, member, writer)])
    if path is not None:
        write_atomically(path, text)
    return text


def _lines(suite: SuiteView, member: Member, writer: ResultWriter) -> Iterator[str]:
    scenario = member.scenario
    attempts: list[Any] = [member.source] if scenario is None else scenario.attempts
    identity = {"schema_version": SCHEMA_VERSION, "suite_name": suite.name, **_identity(member)}
    for trial, attempt in enumerate(attempts, 1):
        head = {**identity, "trial": trial, "status": attempt.status.value}
        try:
            line = checked(f"{data_text(head)[:-1]},{_found(attempt, writer)}}}")
        except Exception:  # one broken object must not cost the results of all others
            line = to_json(json_safe({**head, **_found_data(attempt)})).decode()
        yield f"{line}\n"


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


def _found(attempt: Any, writer: ResultWriter) -> str:
    """What an attempt found, or a test case, as the inner part of a JSON object: `_FOUND` in their order."""
    fields = attempt.__dict__
    if isinstance(attempt, TestCaseResult):
        steps, trace, conversation = f"[{writer.case(attempt)[0]}]", "null", "null"
    else:
        steps, _ = writer.steps(fields["steps"])
        trace, conversation = trace_text(fields["final_trace"]), atom_text(fields["conversation_id"])
    return (
        f'"steps":{steps},"final_trace":{trace},"conversation_id":{conversation},'
        f'"duration_ms":{atom_text(fields["duration_ms"])},"timing":{timing_text(fields["timing"])}'
    )


# What of an attempt stands in a line beside its identity.
_FOUND = ("steps", "final_trace", "conversation_id", "duration_ms", "timing")


def _found_data(attempt: Any) -> dict[str, Any]:
    """What `_found` writes, as JSON data."""
    data = json.loads(result_text(attempt))
    if isinstance(attempt, TestCaseResult):
        data = {**data, "steps": [data], "final_trace": None, "conversation_id": None}
    return {name: data[name] for name in _FOUND}
