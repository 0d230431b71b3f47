"""Results as JSON text: what pydantic writes for them, at a fifth of the cost.

A suite of thousands of scenarios is written after every run.  Most of what its results hold is JSON data already, so
they are put together from their own dicts, and written in one go.  A result that is not of exactly one of the classes
here is left to pydantic, and so is one that cannot be written like this: it has half of a surrogate pair in it, say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from giskard.checks.core.check_result import CheckResult
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import plain_class
from giskard.checks.core.result import ScenarioAttempt, ScenarioResult, TestCaseResult, roll_up, word_of_case
from giskard.checks.core.timing import Timing, clock_data
from giskard.checks.utils.completed import completed
from giskard.checks.utils.deferred import settled
from giskard.checks.utils.json_safe import holds_odd_numbers, json_data, json_safe

__all__ = ["attempt_data", "case_data", "data_text", "result_text", "result_texts"]


_type_of: Callable[[Any], type[Any]] = type


class _Unusual(Exception):
    """A result is not written here."""


def result_text(result: Any) -> bytes:
    """A result of a scenario, of an attempt or of a test case as JSON text, without ``schema_version``."""
    return _text_and_status(result)[0]


def result_texts(results: Sequence[Any]) -> tuple[list[bytes] | None, list[str]]:
    """Results of scenarios as JSON texts, and their statuses; no texts when one is of a class of one's own."""
    if any(plain_class(_type_of(result)) is not ScenarioResult for result in results):
        return None, []
    written = [_text_and_status(result) for result in results]  # one by one: what is put together goes at once
    return [text for text, _ in written], [status for _, status in written]


def _text_and_status(result: Any) -> tuple[bytes, str]:
    try:
        data = case_data(result) if type(result) is TestCaseResult else attempt_data(result)
        return data_text(data), data["status"]
    except Exception:
        return _text_of_anything(result), result.status.value


def _text_of_anything(result: BaseModel) -> bytes:
    try:
        return BaseModel.model_dump_json(result).encode()
    except Exception:  # a trace of one's own that raises
        return to_json(json_safe(result))


def data_text(data: dict[str, Any]) -> bytes:
    """The JSON text of what the functions below give.

    Raises
    ------
    Exception
        When there is something in it that has to be left to pydantic.
    """
    text = to_json(data)
    if holds_odd_numbers(text):
        raise _Unusual
    return text


def attempt_data(result: Any) -> dict[str, Any]:
    """The fields of an attempt, or of a scenario's result, as JSON data, models in it that pydantic is to write."""
    if plain_class(_type_of(result)) not in _ATTEMPTS:
        raise _Unusual
    fields = result.__dict__
    steps = [case_data(step) for step in fields["steps"]]
    data = {
        **fields,
        "steps": steps,
        "final_trace": _trace(fields["final_trace"]),
        "timing": _timing(fields["timing"]),
        "status": roll_up([step["status"] for step in steps]),
    }
    if data.get("earlier_attempts"):
        data["earlier_attempts"] = [attempt_data(attempt) for attempt in data["earlier_attempts"]]
    return data


_ATTEMPTS = (ScenarioAttempt, ScenarioResult)


def case_data(result: TestCaseResult) -> dict[str, Any]:
    """The result of a test case as JSON data, models in it that pydantic is to write."""
    if type(result) is not TestCaseResult:
        raise _Unusual
    results = [_check(check) for check in result.results]
    fields = result.__dict__
    data = {**fields, "results": results, "timing": _timing(fields["timing"]), "status": word_of_case(result)}
    if data["recorded_at"] is None:
        del data["recorded_at"]
    return data


def _check(result: CheckResult) -> dict[str, Any]:
    if type(result) is not CheckResult:
        raise _Unusual
    fields = result.__dict__
    metrics = fields["metrics"]
    return {
        **fields,
        "status": str.__str__(fields["status"]),  # of plain texts, dicts and lists pydantic writes twice as many
        "details": json_data(fields["details"]),
        "metrics": list(metrics) if metrics else [],
        "timing": _timing(fields["timing"]),
    }


def _trace(trace: Trace) -> Any:
    """A trace, with its last turn beside; one of another class as that class has it."""
    if type(trace) is not Trace:
        return completed(trace)
    fields = trace.__dict__
    turns = list(map(_turn, fields["interactions"]))
    annotations = fields["annotations"]
    return {
        "interactions": turns,
        "annotations": json_data(annotations) if annotations else {},
        "last": turns[-1] if turns else None,
    }


def _turn(turn: Interaction) -> Any:
    if type(turn) is not Interaction:
        return completed(turn)
    fields = turn.__dict__
    metadata = settled(fields, "metadata")
    return {
        "inputs": json_data(fields["inputs"]),
        "outputs": json_data(fields["outputs"]),
        "metadata": json_data(metadata) if metadata else {},
    }


def _timing(timing: Any) -> Any:
    if timing is None:
        return None
    return timing.dump() if isinstance(timing, Timing) else clock_data(timing)
