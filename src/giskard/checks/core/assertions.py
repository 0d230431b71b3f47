r"""What a result says where it is asserted: its ``repr``, and the message of `assert_passed`.

A failed ``assert result`` shows the repr, in one line; pytest cuts its middle after 240 characters unless it is run
with ``-v``.  So it is short, and begins with what matters most.  Both show text from outside so that no terminal
obeys it, and neither grows with the size of what was tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, cast

from giskard.checks.core.call_lines import lines_of_calls
from giskard.checks.core.places import raised_at, recorded_at, sections, turn_of_check
from giskard.checks.utils.json_safe import describe
from giskard.checks.utils.text import cut, visible

if TYPE_CHECKING:
    from giskard.checks.core.check_result import CheckResult
    from giskard.checks.core.interaction.trace import Trace
    from giskard.checks.core.result import TestCaseError, TestCaseResult

__all__ = [
    "assertion",
    "bracketed",
    "causes",
    "expects_it",
    "lines_of_check",
    "lines_of_place",
    "lines_of_run",
    "lines_of_steps",
    "named",
    "one_line",
    "shortened",
    "tally",
    "told_of",
]

# Characters of a name, of a reason in a repr, of a message, and of a value; lines of a message.
_NAME, _REASON, _MESSAGE, _VALUE, _LINES = 80, 200, 1_000, 300, 12
# Reasons in a repr; checks of a scenario, and turns of it, in a message.
_REASONS, _CHECKS, _TURNS = 5, 30, 3
_CONTEXT = 30


def one_line(text: str, limit: int) -> str:
    r"""`text` without line ends and hidden characters, which are written as in a Python literal."""
    return visible(cut(text, limit)).replace("\n", "\\n").replace("\t", "\\t")


def named(name: str) -> str:
    """A name in quotes, as in a Python literal."""
    text = one_line(name, _NAME)
    return f'"{text}"' if "'" in text and '"' not in text else "'" + text.replace("'", "\\'") + "'"


def tally(statuses: Iterable[str], noun: str, status: str) -> str:
    """How many ended in which state, of how many: ``"1 of 3 checks passed, 2 failed"``.

    Nothing when `status`, that of all together, says as much: of a single check that did not pass, and of none.
    """
    counts = {"pass": 0, "fail": 0, "error": 0, "skip": 0}
    for each in statuses:
        counts[each] += 1
    total = sum(counts.values())
    if total < 2 and noun == "check" and not counts["pass"]:
        return "nothing was checked" if status == "pass" else ""
    text = f"{counts['pass']:,} of {total:,} {noun}{'' if total == 1 else 's'} passed"
    return text + "".join(f", {counts[each]:,} {word}" for each, word in _WORDS.items() if counts[each])


_WORDS = {"fail": "failed", "error": "errored", "skip": "skipped"}


def bracketed(result: object, status: str, about: Sequence[str], reasons: Iterable[str]) -> str:
    """``<ScenarioResult FAIL 'refund': 1 of 2 checks passed, 1 failed; polite: FAIL: rude>``.

    Parameters
    ----------
    about
        A name, and counts; those that are empty are left out.
    reasons
        Why it did not pass; the first few are shown, and that there are more.
    """
    reasons = iter(reasons)
    told = [one_line(reason, _REASON) for reason in islice(reasons, _REASONS)]
    if next(reasons, None) is not None:
        told.append("...")
    name, *rest = about
    head = f"{type(result).__name__.partition('[')[0]} {status.upper()}" + (f" {name}" if name else "")
    body = "; ".join([*(text for text in rest if text), *told])
    return f"<{head}: {body}>" if body else f"<{head}>"


def causes(steps: Iterable[TestCaseResult], status: str) -> Iterator[str]:
    """Why a result of these steps has this status, a text each; what was skipped because of that is left out."""
    for step in steps:
        if step.error is not None:
            yield step.error.summary()
        if status == "skip" or not step.passed:
            yield from (_summary(check) for check in step.results if _is_cause(check, status))


def _summary(check: CheckResult) -> str:
    """The check's own, in which a long name is cut."""
    text, name = check.summary(), check.name
    return text if len(name) <= _NAME else one_line(name, _NAME) + text[len(name) :]


def _is_cause(check: CheckResult, status: str) -> bool:
    if check.skipped:
        return status == "skip"
    return check.errored or (check.failed and check.severity == "error")


# --- messages ----------------------------------------------------------------------------


def assertion(what: str, status: str, about: str, lines: Iterable[str]) -> AssertionError:
    """The error that `assert_passed` raises."""
    head = f"{what}: {status.upper()}" + (f" ({about})" if about else "")
    return AssertionError("\n".join([head, *(f"  {line}" for line in lines)]))


def shortened(lines: Iterable[str], limit: int, noun: str) -> Iterator[str]:
    """The first `limit` of `lines`, and how many more there are."""
    lines = iter(lines)
    yield from islice(lines, limit)
    left_out = sum(1 for _ in lines)
    if left_out:
        yield f"… and {left_out:,} more {noun}{'' if left_out == 1 else 's'}"


def lines_of_place(recorded_at: str | None) -> Iterator[str]:
    """Where the conversation was recorded, in a form that terminals and editors follow; nothing when nobody knows."""
    if recorded_at:
        yield f"recorded at {visible(cut(recorded_at, _MESSAGE))}"


def lines_of_run(steps: Sequence[TestCaseResult], trace: Trace) -> Iterator[str]:
    """Where a conversation was recorded, and what did not pass in it."""
    yield from lines_of_place(recorded_at(trace.annotations))
    yield from lines_of_steps(steps, trace.interactions)


def lines_of_steps(steps: Sequence[TestCaseResult], turns: Sequence[Any] | None) -> Iterator[str]:
    """What did not pass in each step, and the turns that it is about.

    Parameters
    ----------
    turns
        Those of the conversation; None when it was not kept.
    """
    shown: set[int] = set()
    total = len(turns or ())
    left = _CHECKS
    not_shown = 0
    for number, (step, added) in enumerate(zip(steps, sections(steps, total), strict=True), 1):
        blamed = [check for check in step.results if not check.passed]
        blamed.sort(key=lambda check: check.skipped)
        place = f", step {number} of {len(steps)}" if len(steps) > 1 else ""
        if step.error is not None:
            yield from _lines_of_error(step.error)
            if turns and added and len(shown) < _TURNS:
                shown.add(added[-1])
                yield from _lines_of_turn(turns, added[-1], place, "after turn")  # the one that failed is not kept
        where = {id(check): turn_of_check(check, added) for check in blamed if not check.skipped}
        for index, check in enumerate(blamed):
            if not left:
                not_shown += len(blamed) - index
                break
            left -= 1
            yield from lines_of_check(check)
            turn = where.get(id(check))
            following = where.get(id(blamed[index + 1])) if index + 1 < len(blamed) else None
            if turns and turn is not None and turn != following and turn not in shown and len(shown) < _TURNS:
                shown.add(turn)
                yield from _lines_of_turn(turns, turn, place)
    if not_shown:
        yield f"… and {not_shown:,} more check{'' if not_shown == 1 else 's'} that did not pass"


def lines_of_check(check: CheckResult) -> Iterator[str]:
    """State and reason of a check; below it what was expected and got, and where it crashed."""
    head, *rest = _lines(_summary(check))
    yield head
    yield from (f"  {line}" for line in rest)
    message = check.message or ""
    if not check.skipped:
        yield from (f"  {line}" for line in _compared(check.details, message))
    traceback = check.details.get("traceback")
    if isinstance(traceback, str):
        yield from _raised_at(traceback)


def _lines_of_error(error: TestCaseError) -> Iterator[str]:
    head, *rest = _lines(error.summary())
    yield head
    yield from (f"  {line}" for line in rest)
    if error.traceback:
        yield from _raised_at(error.traceback)


def _raised_at(traceback: str) -> Iterator[str]:
    place = raised_at(traceback)
    if place is not None:
        yield f"  raised at {one_line(place, _VALUE)}"


def _lines(text: str) -> list[str]:
    lines = text.split("\n", _LINES)
    rest = lines[_LINES:]
    shown = visible(cut("\n".join(lines[:_LINES]), _MESSAGE)).split("\n")
    return [*shown, f"… [{rest[0].count(chr(10)) + 1:,} more lines cut]"] if rest else shown


def expects_it(details: Mapping[str, Any]) -> bool:
    """Whether what stands as ``expected_value`` was expected to come: not as unwanted, nor as a bound."""
    spec = details.get("check_spec")
    wanted = not (isinstance(spec, Mapping) and cast("Mapping[str, Any]", spec).get("match") == "none")
    return wanted and details.get("check_kind") not in _NOT_EXPECTED


# Kinds of checks whose messages say how the two values were to relate.
_NOT_EXPECTED = frozenset(
    {"not_equals", "not", "less_than", "less_than_equals", "greater_than", "greater_than_equals", "any_of"}
)


def told_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What people are told of a turn's metadata: without what says once more what the turn says."""
    return {name: value for name, value in metadata.items() if name not in _SAID_AGAIN}


_SAID_AGAIN = frozenset({"messages", "raw"})


def _compared(details: Mapping[str, Any], message: str) -> Iterator[str]:
    """What was expected and got, unless the message says so; of long texts the part from where they differ."""
    if "expected_value" not in details or "actual_value" not in details or not expects_it(details):
        return
    shown = [describe(details[key]) for key in ("expected_value", "actual_value")]
    if all(text in message for text in shown):
        return
    same = len(commonprefix(shown)) - _CONTEXT  # noqa: RUF071 - of texts, not of paths
    if same > _CONTEXT:
        yield f"their first {same:,} characters are the same"
        shown = [f"…{text[same:]}" for text in shown]
    for label, text in zip(("expected: ", "got:      "), shown, strict=True):
        yield label + one_line(text, _VALUE)


def _lines_of_turn(turns: Sequence[Any], index: int, place: str, word: str = "turn") -> Iterator[str]:
    turn = turns[index]
    yield f"{word} {index + 1} of {len(turns)}{place}:"
    yield f"  inputs:  {one_line(describe(turn.inputs), _VALUE)}"
    for line in lines_of_calls(turn.metadata, lambda text: one_line(text, _VALUE)):
        yield f"  {line}"
    yield f"  outputs: {one_line(describe(turn.outputs), _VALUE)}"
