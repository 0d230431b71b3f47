"""Results as JSON text: what pydantic writes for them, to the byte, at a fraction of the cost.

A suite of thousands of scenarios is written after every run.  So the results of many scenarios are written at once,
level by level (all checks, then the steps that they belong to, then the attempts), each field as a column; and straight
from what the run kept: neither objects nor dicts are made for it, which would cost most of the time.

Only results of exactly the classes here are written like this, and only what is plain in them: texts, numbers, flags
and small dicts of these.  Other recorded values become JSON data first, and models in them are pydantic's to write.
Whatever is still left (a field more, a metric of a class of one's own, half of a surrogate pair in a name) makes the
whole result pydantic's; its batch is then written in halves, and again in halves, until it is alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from types import NoneType
from typing import Any, Final, TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

from giskard.checks.core.check_result import CheckResult, CheckStatus, Metric, worded
from giskard.checks.core.findings import Findings, are_metrics, make_result
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import plain_class
from giskard.checks.core.result import ScenarioAttempt, ScenarioResult, TestCaseError, TestCaseResult, roll_up
from giskard.checks.core.timing import Timing, start_texts
from giskard.checks.core.types import MISSING
from giskard.checks.core.usage import Usage
from giskard.checks.export._columns import (
    Column,
    Texts,
    Unusual,
    are_atoms,
    atoms,
    data_text,
    flat,
    joined,
    objects,
    only,
    or_null,
    regrouped,
    values,
    whole,
)
from giskard.checks.utils.completed import completed
from giskard.checks.utils.deferred import settled
from giskard.checks.utils.frozen import FrozenList
from giskard.checks.utils.json_safe import is_utf8, json_safe

__all__ = ["Written", "attempt_columns", "case_columns", "in_batches", "result_text", "result_texts"]

T = TypeVar("T")
W = TypeVar("W")
# A text and the status of each.
Written = tuple[list[str], list[str]]

# So many results are written at once: more would be no faster, and take memory.
_BATCH: Final = 250


def result_text(result: Any) -> str:
    """A result of a scenario, of an attempt or of a test case as JSON text, without ``schema_version``."""
    try:
        return _written([result])[0][0]
    except Exception:
        return _text_of_anything(result)


def result_texts(results: Sequence[Any]) -> tuple[list[str] | None, list[str]]:
    """Results of scenarios as JSON texts, and their statuses; no texts when one is of a class of one's own."""
    if any(plain_class(kind) is not ScenarioResult for kind in set(map(type, results))):
        return None, []
    written = in_batches(results, _pairs, lambda result: (_text_of_anything(result), result.status.value))
    return [text for text, _ in written], [status for _, status in written]


def in_batches(items: Sequence[T], write: Callable[[Sequence[T]], Iterable[W]], other: Callable[[T], W]) -> list[W]:
    """What `write` makes of `items`, many of them at once; of one for which it raises, what `other` makes."""
    batches = (items[first : first + _BATCH] for first in range(0, len(items), _BATCH))
    return [written for batch in batches for written in _batch(batch, write, other)]


def _batch(items: Sequence[T], write: Callable[[Sequence[T]], Iterable[W]], other: Callable[[T], W]) -> list[W]:
    try:
        return list(write(items))
    except Exception:
        half = len(items) // 2
        if not half:
            return [other(items[0])]
        return _batch(items[:half], write, other) + _batch(items[half:], write, other)


def _pairs(results: Sequence[Any]) -> Iterable[tuple[str, str]]:
    return zip(*_written(results), strict=True)


def _written(results: Sequence[Any]) -> Written:
    """Results of one class; it raises an exception when there is something in one that has to be left to pydantic."""
    return _cases(results) if type(results[0]) is TestCaseResult else _attempts(results)


def _text_of_anything(result: BaseModel) -> str:
    try:
        return BaseModel.model_dump_json(result)
    except Exception:  # a trace of one's own that raises
        return to_json(json_safe(result)).decode()


def _fields(results: Sequence[Any]) -> tuple[type[Any], dict[str, Column]]:
    """The class of results, and a column for each of its fields."""
    kinds = {plain_class(kind) for kind in set(map(type, results))}
    kind = kinds.pop()
    names = _NAMES.get(kind)
    stored = [it.__dict__ for it in results]
    if names is None or kinds or set(map(len, stored)) != {len(names)}:
        raise Unusual  # a class of one's own, or one that was given a value more
    read: Any = itemgetter(*names)  # pyright: ignore[reportUnknownVariableType]
    return kind, dict(zip(names, zip(*map(read, stored), strict=True), strict=True))


_NAMES: Final[dict[type[Any], tuple[str, ...]]] = {
    CheckResult: (
        *("status", "message", "details", "metrics", "check_id", "severity"),
        *("error_kind", "retryable", "usage", "timing"),
    ),
    TestCaseResult: (
        *("results", "duration_ms", "last_interaction_index", "error", "name"),
        *("run_id", "timing", "recorded_at"),
    ),
    ScenarioAttempt: ("steps", "duration_ms", "final_trace", "trial", "conversation_id", "timing"),
    ScenarioResult: (
        *("steps", "duration_ms", "final_trace", "trial", "conversation_id", "timing"),
        *("scenario_name", "multiple_runs", "runs_executed", "tags", "scenario_id", "run_id", "earlier_attempts"),
    ),
}


def _attempts(attempts: Sequence[Any]) -> Written:
    """Attempts, or results of scenarios."""
    kind, fields = _fields(attempts)
    found, statuses = _found(fields)
    parts: list[str | Texts] = [
        *('{"steps":', found["steps"], ',"duration_ms":', found["duration_ms"]),
        *(',"final_trace":', found["final_trace"], ',"trial":', whole(fields["trial"])),
        *(',"conversation_id":', found["conversation_id"], ',"timing":', found["timing"]),
    ]
    if kind is ScenarioResult:
        parts += _of_scenarios(fields)
    return joined(*parts, ',"status":"', statuses, '"}'), statuses


def attempt_columns(attempts: Sequence[Any]) -> dict[str, Texts]:
    """What attempts found, as a column of texts for each field."""
    _, fields = _fields(attempts)
    return _found(fields)[0]


def case_columns(cases: Sequence[TestCaseResult]) -> dict[str, Texts]:
    """The same of results of test cases: each is a step by itself, and tells of no conversation."""
    _, fields = _fields(cases)
    nothing = ["null"] * len(cases)
    return {
        "steps": joined("[", _cases(cases)[0], "]"),
        "final_trace": nothing,
        "conversation_id": nothing,
        "duration_ms": whole(fields["duration_ms"]),
        "timing": _timings(fields["timing"]),
    }


def _found(fields: Mapping[str, Column]) -> tuple[dict[str, Texts], list[str]]:
    only(fields["steps"], list)
    counts = list(map(len, fields["steps"]))
    steps, words = _cases(flat(fields["steps"]))
    found: dict[str, Texts] = {
        "steps": regrouped(steps, counts),
        "final_trace": _traces(fields["final_trace"]),
        "conversation_id": atoms(fields["conversation_id"]),
        "duration_ms": whole(fields["duration_ms"]),
        "timing": _timings(fields["timing"]),
    }
    return found, _rolled_up(words, counts)


def _rolled_up(words: Sequence[str], counts: Sequence[int]) -> list[str]:
    """What the statuses of the parts come to: ``counts[0]`` of them in the first whole, and so on."""
    statuses: list[str] = []
    first = 0
    for count in counts:
        last = first + count
        statuses.append(words[first] if count == 1 else roll_up(words[first:last]))
        first = last
    return statuses


def _of_scenarios(fields: Mapping[str, Column]) -> list[str | Texts]:
    """What the results of scenarios have beside an attempt."""
    tags, earlier = fields["tags"], fields["earlier_attempts"]
    only([*tags, *earlier], list)
    all_earlier = flat(earlier)
    return [
        *(',"scenario_name":', atoms(fields["scenario_name"]), ',"multiple_runs":', whole(fields["multiple_runs"])),
        *(',"runs_executed":', whole(fields["runs_executed"])),
        *(',"tags":', regrouped(atoms(flat(tags)), list(map(len, tags)))),
        *(',"scenario_id":', atoms(fields["scenario_id"]), ',"run_id":', atoms(fields["run_id"])),
        *(',"earlier_attempts":', regrouped(_attempts(all_earlier)[0] if all_earlier else [], list(map(len, earlier)))),
    ]


def _cases(cases: Sequence[TestCaseResult]) -> Written:
    """Results of test cases."""
    if not cases:
        return [], []
    _, fields = _fields(cases)
    only(fields["results"], Findings, list)
    kept, counts = Findings(), list[int]()
    for results in fields["results"]:
        if type(results) is Findings:
            kept.extend(results)
            counts.append(results.count())
        else:
            for result in results:
                kept.add_result(result)
            counts.append(len(results))
    checks, words = _checks(kept)
    errors = fields["error"]
    rolled_up = _rolled_up(words, counts)
    statuses = ["error" if error is not None else word for error, word in zip(errors, rolled_up, strict=True)]
    texts = joined(
        *('{"results":', regrouped(checks, counts), ',"duration_ms":', whole(fields["duration_ms"])),
        *(
            ',"last_interaction_index":',
            whole(fields["last_interaction_index"]),
            ',"error":',
            or_null(errors, TestCaseError),
        ),
        *(',"name":', atoms(fields["name"]), ',"run_id":', atoms(fields["run_id"])),
        *(',"timing":', _timings(fields["timing"]), ",", _recorded(fields["recorded_at"])),
        *('"status":"', statuses, '"}'),
    )
    return texts, statuses


def _recorded(column: Column) -> list[str]:
    """Where cases were recorded, which is only there when it is known."""
    return ["" if text == "null" else f'"recorded_at":{text},' for text in atoms(column)]


def _checks(kept: Findings) -> Written:
    """The results of checks, as a run keeps them, and their statuses as they count."""
    if not kept:
        return [], []
    rows = list(kept.rows())
    groups: dict[Any, list[int]] = {}
    for place, row in enumerate(rows):
        key = (row[_KIND], row[0]) if row[_KIND] is not None else None
        if key in groups:
            groups[key].append(place)
        else:
            groups[key] = [place]
    texts = [""] * len(rows)
    for places in groups.values():
        alike = [rows[place] for place in places]
        written = _rows_of_a_sort(alike) or _results_of_checks(list(map(make_result, alike)))
        for place, text in zip(places, written, strict=True):
            texts[place] = text
    return texts, kept.statuses()


_KIND: Final = 7  # where in a row the class of the check stands
# What a check is not to have in its own details, as it would stand in another place there.
_OWN: Final = frozenset({"duration_ms", "check_kind", "check_name", "check_description", "check_spec"})


def _rows_of_a_sort(rows: Sequence[Sequence[Any]]) -> list[str] | None:
    """The results of checks of one class and one status that are kept as rows of `Findings`.

    None when there are objects for them, or have to be.
    """
    statuses, messages, details, metrics, error_kind, retryable, found, kinds, config, check_id, start, seconds = zip(
        *rows, strict=True
    )
    kind = kinds[0]
    if kind is None:
        return None
    messages, details = _told(kind, config, found, messages, details)
    keys = flat(details)
    if (
        not set(map(type, messages)) <= _MESSAGES
        or set(map(type, details)) != _DICT
        or not set(map(type, keys)) <= _TEXT
        or not _OWN.isdisjoint(keys)
        or not is_utf8("".join(keys))
        or (any(metrics) and not all(map(are_metrics, metrics)))
    ):
        return None
    about, severity = _configurations(kind, config)
    if not are_atoms(flat([it.values() for it in details])):
        details = list(map(dict, details))  # as in `make_result`: what holds itself is met a level later
    own = [f"{text[:-1]}," if len(text) > 2 else "{" for text in values(details)]
    return joined(
        *(f'{{"status":{_STATUSES[statuses[0]]},"message":', atoms(messages), ',"details":', own, '"duration_ms":'),
        *(atoms([int(it * 1000) for it in seconds]), ",", about, ',"metrics":', _metrics(metrics)),
        *(',"check_id":', atoms(check_id), ',"severity":', severity, ',"error_kind":', atoms(error_kind)),
        *(',"retryable":', atoms(retryable), ',"usage":null,"timing":{"started_at":"', start_texts(start)),
        *('","seconds":', atoms(seconds), ',"time_to_first_chunk":null}}'),
    )


_DICT: Final[set[type[Any]]] = {dict}
_TEXT: Final[set[type[Any]]] = {str}
_MESSAGES: Final[set[type[Any]]] = {str, NoneType}


def _told(kind: Any, configs: Column, found: Column, messages: Column, details: Column) -> tuple[Column, Column]:
    """The messages and the details of checks, worded where they pass; see `worded`."""
    rows = zip(configs, found, messages, details, strict=True)
    told: list[tuple[Any, Any]]
    if set(map(type, chain(messages, details))) == {NoneType} and id(MISSING) not in set(map(id, found)):
        try:
            told = [kind.passed(config, it) for config, it in zip(configs, found, strict=True)]
        except Exception:  # one cannot be told as it is
            told = [worded(kind, config, it, message, own) for config, it, message, own in rows]
    else:
        told = [
            (message, own) if it is MISSING else worded(kind, config, it, message, own)
            for config, it, message, own in rows
        ]
    return [message for message, _ in told], [own or {} for _, own in told]


def _metrics(column: Column) -> list[str]:
    only(column, list, tuple, FrozenList)
    only(flat(column), Metric)
    return [data_text(list(metrics)) if metrics else "[]" for metrics in column]


def _configurations(kind: Any, configs: Column) -> tuple[list[str], list[str]]:
    """The end of the details of checks, which tells of their configuration, and their severities."""
    apart = {id(config): config for config in configs}  # like checks share one
    distinct = list(apart.values())
    columns = kind._spec_columns(distinct)
    specs = values([kind.spec_of(config) for config in distinct], 1) if columns is None else objects(columns)
    names, descriptions, severities = (
        atoms([config[name] for config in distinct]) for name in ("name", "description", "severity")
    )
    head = f'"check_kind":{atoms([kind.kind or kind.__name__])[0]},"check_name":'
    abouts = joined(head, names, ',"check_description":', descriptions, ',"check_spec":', specs, "}")
    if len(distinct) == len(configs):
        return abouts, severities
    place = {known: number for number, known in enumerate(apart)}
    places = [place[id(config)] for config in configs]
    return [abouts[it] for it in places], [severities[it] for it in places]


_STATUSES: Final = {status: f'"{status.value}"' for status in CheckStatus}


def _results_of_checks(results: Sequence[CheckResult]) -> list[str]:
    """Results of checks that are objects already."""
    _, fields = _fields(results)
    return joined(
        *('{"status":', [_STATUSES[status] for status in fields["status"]], ',"message":', atoms(fields["message"])),
        *(',"details":', values(fields["details"]), ',"metrics":', _metrics(fields["metrics"])),
        *(',"check_id":', atoms(fields["check_id"]), ',"severity":', atoms(fields["severity"])),
        *(',"error_kind":', atoms(fields["error_kind"]), ',"retryable":', atoms(fields["retryable"])),
        *(',"usage":', or_null(fields["usage"], Usage), ',"timing":', _timings(fields["timing"]), "}"),
    )


def _traces(traces: Sequence[Trace]) -> list[str]:
    """Traces, with their last turn beside; one of another class as that class has it."""
    if set(map(type, traces)) != {Trace}:
        return [_traces([it])[0] if type(it) is Trace else data_text(completed(it)) for it in traces]
    fields = [trace.__dict__ for trace in traces]
    interactions = [it["interactions"] for it in fields]
    counts = list(map(len, interactions))
    turns = _turns(flat(interactions))
    end, last = 0, list[str]()
    for count in counts:
        end += count
        last.append(turns[end - 1] if count else "null")
    annotations = values([it["annotations"] for it in fields])
    return joined('{"interactions":', regrouped(turns, counts), ',"annotations":', annotations, ',"last":', last, "}")


def _turns(turns: Sequence[Interaction]) -> list[str]:
    kinds = set(map(type, turns))
    if kinds - {Interaction}:
        return [_turns([it])[0] if type(it) is Interaction else data_text(completed(it)) for it in turns]
    fields = [turn.__dict__ for turn in turns]
    metadata = values([settled(it, "metadata") for it in fields])
    inputs, outputs = (values([it[name] for it in fields]) for name in ("inputs", "outputs"))
    return joined('{"inputs":', inputs, ',"outputs":', outputs, ',"metadata":', metadata, "}")


def _timings(timings: Column) -> list[str]:
    """The ``timing`` of results, as they keep it."""
    only(timings, tuple, Timing, NoneType)
    if set(map(type, timings)) != {tuple}:
        return [_timings([it])[0] if type(it) is tuple else data_text(it and it.dump()) for it in timings]
    return joined(
        *('{"started_at":"', start_texts([it[0] for it in timings]), '","seconds":', atoms([it[1] for it in timings])),
        *(',"time_to_first_chunk":', atoms([it[2] if len(it) == 3 else None for it in timings]), "}"),
    )
