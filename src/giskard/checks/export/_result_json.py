"""Results as JSON text: what pydantic writes for them, to the byte, at a fraction of the cost.

A suite of thousands of scenarios is written after every run, and nearly all of its text is the same from scenario to
scenario: names of fields, and values that are seldom other ones.  So the text is put together here from templates, and
straight from what the run kept: neither objects nor dicts are made for it, which would cost most of the time.

Only results of exactly the classes here are written like this, and only what is plain in them: texts, numbers, flags
and small dicts of these.  Other recorded values become JSON data first, and models in them are pydantic's to write.
Whatever is still left (a field more, a number that JSON has no form for, half of a surrogate pair) makes the whole
result pydantic's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring
from math import inf
from types import NoneType
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import to_json

from giskard.checks.core.check_result import CheckResult, CheckStatus, worded
from giskard.checks.core.findings import Findings, are_metrics, make_result
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import plain_class
from giskard.checks.core.result import ScenarioAttempt, ScenarioResult, TestCaseResult, roll_up, word_of_case
from giskard.checks.core.timing import Timing, start_text
from giskard.checks.core.types import MISSING
from giskard.checks.utils.completed import completed
from giskard.checks.utils.deferred import settled
from giskard.checks.utils.frozen import FrozenDict
from giskard.checks.utils.json_safe import holds_odd_numbers, json_data, json_safe

__all__ = [
    "ResultWriter",
    "atom_text",
    "checked",
    "data_text",
    "result_text",
    "result_texts",
    "timing_text",
    "trace_text",
]


_type_of: Callable[[Any], type[Any]] = type
_quoted = encode_basestring


class _Unusual(Exception):
    """A result is not written here."""


def result_text(result: Any) -> str:
    """A result of a scenario, of an attempt or of a test case as JSON text, without ``schema_version``."""
    return _text_and_status(result, ResultWriter())[0]


def result_texts(results: Sequence[Any]) -> tuple[list[str] | None, list[str]]:
    """Results of scenarios as JSON texts, and their statuses; no texts when one is of a class of one's own."""
    if any(plain_class(kind) is not ScenarioResult for kind in set(map(_type_of, results))):
        return None, []
    writer = ResultWriter()
    written = [_text_and_status(result, writer) for result in results]
    return [text for text, _ in written], [status for _, status in written]


def _text_and_status(result: Any, writer: ResultWriter) -> tuple[str, str]:
    try:
        text, status = writer.case(result) if type(result) is TestCaseResult else writer.attempt(result)
        return checked(text), status
    except Exception:
        return _text_of_anything(result), result.status.value


def _text_of_anything(result: BaseModel) -> str:
    try:
        return BaseModel.model_dump_json(result)
    except Exception:  # a trace of one's own that raises
        return to_json(json_safe(result)).decode()


def checked(text: str) -> str:
    """`text`, in which there is no half of a surrogate pair.

    Raises
    ------
    UnicodeEncodeError
        When there is one.
    """
    if not text.isascii():
        try:
            text.encode("latin-1")  # a mere copy: a tenth of the cost of the other one
        except UnicodeEncodeError:
            text.encode()
    return text


class ResultWriter:
    """Writes results one after the other.

    Each method raises an exception when there is something in a result that has to be left to pydantic.  The texts are
    to be `checked`.
    """

    def __init__(self) -> None:
        # What was written of a check's configuration, by the identity of its values, which are kept beside: suites
        # are run with the same few checks.
        self._checks: dict[int, tuple[Any, str, str]] = {}

    def attempt(self, result: Any) -> tuple[str, str]:
        """An attempt, or the result of a scenario, and its status."""
        kind, fields = plain_class(_type_of(result)), result.__dict__
        if len(fields) != _COUNTS.get(kind):
            raise _Unusual
        steps, status = self.steps(fields["steps"])
        trial, conversation, timing = fields["trial"], fields["conversation_id"], fields["timing"]
        text = (
            f'{{"steps":{steps},"duration_ms":{_integer(fields["duration_ms"])},'
            f'"final_trace":{trace_text(fields["final_trace"])},"trial":{_integer(trial)},"conversation_id":'
            f'{"null" if conversation is None else _quoted(conversation)},"timing":{timing_text(timing)},'
        )
        if kind is ScenarioResult:
            text += self._scenario(fields)
        return f'{text}"status":"{status}"}}', status

    def _scenario(self, fields: Mapping[str, Any]) -> str:
        """What the result of a scenario has beside an attempt."""
        name, identity, run = fields["scenario_name"], fields["scenario_id"], fields["run_id"]
        tags, earlier = fields["tags"], fields["earlier_attempts"]
        return (
            f'"scenario_name":{_quoted(name)},"multiple_runs":{_integer(fields["multiple_runs"])},'
            f'"runs_executed":{_integer(fields["runs_executed"])},'
            f'"tags":[{",".join(map(_quoted, tags)) if tags else ""}],'
            f'"scenario_id":{"null" if identity is None else _quoted(identity)},'
            f'"run_id":{"null" if run is None else _quoted(run)},'
            f'"earlier_attempts":[{",".join([self.attempt(it)[0] for it in earlier]) if earlier else ""}],'
        )

    def steps(self, results: Sequence[TestCaseResult]) -> tuple[str, str]:
        """The results of the steps of an attempt, and the status that they come to."""
        if len(results) == 1:  # most have one
            text, status = self.case(results[0])
            return f"[{text}]", status
        steps = list(map(self.case, results))
        return f"[{','.join([text for text, _ in steps])}]", roll_up([status for _, status in steps])

    def case(self, result: TestCaseResult) -> tuple[str, str]:
        """The result of a test case, and its status."""
        fields = result.__dict__
        if type(result) is not TestCaseResult or len(fields) != _COUNTS[TestCaseResult]:
            raise _Unusual
        kept, last, error = fields["results"], fields["last_interaction_index"], fields["error"]
        name, run, place = fields["name"], fields["run_id"], fields["recorded_at"]
        status = word_of_case(result)
        recorded_at = "" if place is None else f'"recorded_at":{_quoted(place)},'
        checks = map(self._row, kept.rows()) if type(kept) is Findings else map(_check, kept)
        text = (
            f'{{"results":[{",".join(checks)}],"duration_ms":{_integer(fields["duration_ms"])},'
            f'"last_interaction_index":{"null" if last is None else _integer(last)},'
            f'"error":{"null" if error is None else data_text(error)},'
            f'"name":{"null" if name is None else _quoted(name)},"run_id":{"null" if run is None else _quoted(run)},'
            f'"timing":{timing_text(fields["timing"])},'
            f'{recorded_at}"status":"{status}"}}'
        )
        return text, status

    def _row(self, row: Sequence[Any]) -> str:
        """The result of a check that is kept as a row of `Findings`."""
        status, message, details, metrics, error_kind, retryable, found, kind, values, check_id, start, seconds = row
        if kind is None:
            return _check(status)
        if found is not MISSING:
            message, details = worded(kind, values, found, message, details)
        is_plain = (message is None or type(message) is str) and are_metrics(metrics)
        if not is_plain or (details and not _OWN.isdisjoint(details)):
            return _check(make_result(row))
        _, about, severity = self._checks.get(id(values)) or self._remember(kind, values)
        own = ""
        for key, value in (details or {}).items():
            own += f"{_KEYS[type(key)](key)}:{_quoted(value) if type(value) is str else _value(value, 1)},"
        return (
            f'{{"status":{_STATUSES[status]},"message":{"null" if message is None else _quoted(message)},'
            f'"details":{{{own}"duration_ms":{int(seconds * 1000)},{about},'
            f'"metrics":{data_text(list(metrics)) if metrics else "[]"},"check_id":{_quoted(check_id)},{severity},'
            f'"error_kind":{"null" if error_kind is None else _quoted(error_kind)},'
            f'"retryable":{"false" if retryable is False else atom_text(retryable)},"usage":null,"timing":'
            f'{{"started_at":"{start_text(start)}","seconds":{_number(seconds)},"time_to_first_chunk":null}}}}'
        )

    def _remember(self, kind: Any, values: Mapping[str, Any]) -> tuple[Any, str, str]:
        """The end of the details of a check, which tells of its configuration, and its severity."""
        about = (
            f'"check_kind":{atom_text(kind.kind or kind.__name__)},"check_name":{atom_text(values["name"])},'
            f'"check_description":{atom_text(values["description"])},"check_spec":{_value(kind.spec_of(values), 1)}}}'
        )
        if len(self._checks) >= _MOST_CHECKS:
            self._checks.clear()
        known = self._checks[id(values)] = values, about, f'"severity":{atom_text(values["severity"])}'
        return known


# How many values each of them has: a result with a value more, or of a class that was given a field more, is left to
# pydantic.
_COUNTS: Final[dict[type[Any], int]] = {CheckResult: 10, TestCaseResult: 8, ScenarioAttempt: 6, ScenarioResult: 13}
_MOST_CHECKS: Final = 500
# What a check is not to have in its own details, as it would stand in another place there.
_OWN: Final = frozenset({"duration_ms", "check_kind", "check_name", "check_description", "check_spec"})


def _check(result: CheckResult) -> str:
    """The result of a check that is an object already."""
    fields = result.__dict__
    if type(result) is not CheckResult or len(fields) != _COUNTS[CheckResult]:
        raise _Unusual
    metrics, usage = fields["metrics"], fields["usage"]
    return (
        f'{{"status":{_STATUSES[fields["status"]]},"message":{atom_text(fields["message"])},'
        f'"details":{_value(fields["details"])},"metrics":{data_text(list(metrics)) if metrics else "[]"},'
        f'"check_id":{atom_text(fields["check_id"])},"severity":{atom_text(fields["severity"])},'
        f'"error_kind":{atom_text(fields["error_kind"])},"retryable":{atom_text(fields["retryable"])},'
        f'"usage":{"null" if usage is None else data_text(usage)},"timing":{timing_text(fields["timing"])}}}'
    )


def trace_text(trace: Trace) -> str:
    """A trace, with its last turn beside; one of another class as that class has it."""
    if type(trace) is not Trace:
        return data_text(completed(trace))
    fields = trace.__dict__
    turns = list(map(_turn, fields["interactions"]))
    annotations = fields["annotations"]
    return (
        f'{{"interactions":[{",".join(turns)}],"annotations":{_value(annotations) if annotations else "{}"},'
        f'"last":{turns[-1] if turns else "null"}}}'
    )


def _turn(turn: Interaction) -> str:
    if type(turn) is not Interaction:
        return data_text(completed(turn))
    fields = turn.__dict__
    metadata = settled(fields, "metadata")
    return (
        f'{{"inputs":{_value(fields["inputs"])},"outputs":{_value(fields["outputs"])},'
        f'"metadata":{_value(metadata) if metadata else "{}"}}}'
    )


def timing_text(timing: Any) -> str:
    """The ``timing`` of a result, as it is kept."""
    if timing is None:
        return "null"
    if isinstance(timing, Timing):
        return data_text(timing.dump())
    first = atom_text(timing[2]) if len(timing) == 3 else "null"
    return f'{{"started_at":"{start_text(timing[0])}","seconds":{_number(timing[1])},"time_to_first_chunk":{first}}}'


def data_text(data: Any) -> str:
    """Models, or JSON data, that pydantic writes."""
    text = to_json(data)
    if holds_odd_numbers(text):
        raise _Unusual
    return text.decode()


def _value(value: Any, depth: int = 0) -> str:
    """Any value, as `json_safe` has it.

    Parameters
    ----------
    depth
        How many levels of a recorded value it lies below.
    """
    kind = _type_of(value)
    write = _ATOMS.get(kind)
    if write is not None:
        return write(value)
    if (kind is dict or kind is FrozenDict) and len(value) <= _FEW:
        try:
            text = ""
            for key, item in value.items():
                text += f",{_KEYS[type(key)](key)}:{_ATOMS[type(item)](item)}"
            return f"{{{text[1:]}}}"
        except KeyError:  # a key that is no text, or a value that is no atom
            pass
    return data_text(json_data(value, depth))


# From so many items on a dict is written by pydantic at less cost.
_FEW: Final = 10


def atom_text(value: Any) -> str:
    """A text, a number, a flag or None.

    Raises
    ------
    Exception
        When it is anything else, or a number that JSON has no form for.
    """
    return _ATOMS[type(value)](value)


def _null(value: None) -> str:
    return "null"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _integer(value: int) -> str:
    if type(value) is int and -_HUGE < value < _HUGE:
        return repr(value)
    raise _Unusual


def _number(value: float) -> str:
    if not -inf < value < inf:
        raise _Unusual
    text = repr(value)
    return text if "e" not in text else to_json(value).decode()  # whose exponents are written in another way


_HUGE: Final = 10**3_000
_ATOMS: Final[dict[type[Any], Callable[[Any], str]]] = {
    str: _quoted,
    NoneType: _null,
    bool: _flag,
    int: _integer,
    float: _number,
}
_KEYS: Final = {str: _quoted}
_STATUSES: Final = {status: f'"{status.value}"' for status in CheckStatus}
