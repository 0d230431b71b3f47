"""StateEquals: what the turns of a step did to the world."""

import asyncio
import datetime
import threading
import time
from dataclasses import dataclass, field
from types import MappingProxyType
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from giskard.checks import AllOf, AnyOf, Check, Interaction, Not, Scenario, StateEquals, Suite, TestCase, Trace

BANK = {"cards": {"c-17": "active"}, "log": []}


def read_bank():
    return BANK


def blocked(state):
    return {**state, "cards": {"c-17": "blocked"}, "log": [*state["log"], "block c-17"]}


@pytest.fixture(autouse=True)
def bank():
    BANK.clear()
    BANK.update({"cards": {"c-17": "active"}, "log": []})


def block(inputs):
    BANK["cards"]["c-17"] = "blocked"
    BANK["log"].append("block c-17")
    return "Done."


def nothing(inputs):
    return "Done."


async def at_once(inputs):
    return "Done."


def run(check, target=block, **options):
    result = Scenario("s", target=target).interact("Block card c-17.").check(check).run_sync(**options)
    return result.steps[0].results[0]


# --- what was expected -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "target", "found"),
    [
        ({"expected": {"cards": {"c-17": "blocked"}, "log": ["block c-17"]}}, block, "pass"),
        ({"expected": {"cards": {"c-17": "blocked"}, "log": []}}, block, "fail"),
        ({"expected": blocked}, block, "pass"),
        ({"expected": blocked}, nothing, "fail"),
        ({}, nothing, "pass"),
        ({}, block, "fail"),
        ({"expected_key": "trace.annotations.after"}, block, "error"),
        ({"expected_key": "trace.last.outputs"}, block, "fail"),
    ],
)
def test_states(fields, target, found):
    assert run(StateEquals(read=read_bank, **fields), target).status == found
    assert run(Not(check=StateEquals(read=read_bank, **fields)), target).status in {
        "pass": ("fail", "pass"),
        "fail": ("pass", "fail"),
    }.get(found, ("error",))


def test_the_difference_is_named():
    result = run(StateEquals(read=read_bank, expected={"cards": {"c-17": "active"}, "owner": "ada"}))

    assert result.message == (
        "the state is not as expected: 3 differences: state.cards['c-17']: 'blocked' instead of 'active'; "
        "state.owner is missing, expected 'ada'; state.log: ['block c-17'] is not expected"
    )
    assert result.metrics[0].name == "differences" and result.metrics[0].value == 3
    assert result.details["before"] == {"cards": {"c-17": "active"}, "log": []}
    assert result.details["after"] == {"cards": {"c-17": "blocked"}, "log": ["block c-17"]}
    assert run(StateEquals(read=read_bank)).message.startswith("the state is not what it was before: 1 difference")
    assert run(StateEquals(read=read_bank), nothing).message == "the state is what it was before"


@pytest.mark.parametrize(
    ("after", "expected", "said"),
    [
        ([1, 2], [1, 3], "state[1]: 2 instead of 3"),
        (True, 1, "state: True instead of 1 (bool and int)"),
        ({1: "a"}, {True: "a"}, "a bool as a key"),
        ({i: i for i in range(9)}, {i: -1 for i in range(9)}, "and 4 more"),
        ({"a": 1.5}, {"a": 1.4}, "state.a: 1.5 instead of 1.4"),
    ],
)
def test_states_of_any_kind(after, expected, said):
    result = run(StateEquals(read=lambda: after, expected=expected), nothing)

    assert result.failed and said in result.message


def test_texts_and_numbers_are_compared_as_equals_does():
    assert run(StateEquals(read=lambda: {"a": "x  y", "b": 1}, expected={"a": "x y", "b": 1.0})).passed
    assert run(StateEquals(read=lambda: ["x  y"], expected=["x y"], normalization_form=None)).failed
    assert run(StateEquals(read=lambda: [0.1 + 0.2], expected=[0.3])).failed
    assert run(StateEquals(read=lambda: [0.1 + 0.2], expected=[0.3], tolerance=1e-9)).passed


# --- when and how it is read -------------------------------------------------------------


def test_each_step_has_its_own_before():
    def unblock(inputs):
        BANK["cards"]["c-17"] = "active"
        return "Done."

    result = (
        Scenario("s")
        .interact("Block it.", block)
        .check(StateEquals(read=read_bank, expected=blocked))
        .interact("Unblock it.", unblock)
        .check(StateEquals(read=read_bank, expected=lambda state: {**state, "cards": {"c-17": "active"}}))
        .run_sync()
    )
    assert result.passed, result


def test_a_check_inside_of_others_looks_before_too():
    one, other = StateEquals(read=read_bank, expected=blocked), StateEquals(read=read_bank)

    for check in (
        AllOf(checks=[one, Not(check=other)]),
        AnyOf(checks=[other, one]),
        Not(check=AllOf(checks=[Not(check=one)])),
    ):
        assert run(check).passed, check


def test_what_it_may_ask_for():
    seen = []

    async def read(conversation_id, trial, target, trace: Trace):
        await asyncio.sleep(0)
        seen.append((conversation_id, trial, target, len(trace.interactions)))
        return 1

    assert run(StateEquals(read=read), nothing).passed
    assert [call[3] for call in seen] == [0, 1]
    assert {call[1:3] for call in seen} == {(1, nothing)} and len({call[0] for call in seen}) == 1
    with pytest.raises(ValidationError, match="nothing fills"):
        StateEquals(read=lambda one, two: 1)


@dataclass
class Bank:
    """A target with a state of its own."""

    cards: dict = field(default_factory=lambda: {"c-17": "active"})

    def __call__(self, inputs):
        self.cards["c-17"] = "blocked"
        return "Done."


def cards_of(target):
    return target.cards


def test_every_attempt_and_every_scenario_has_a_state_of_its_own():
    check = StateEquals(read=cards_of, expected=lambda before: {**before, "c-17": "blocked"})
    scenarios = [Scenario(f"s{i}", multiple_runs=3).interact("Block it.").check(check) for i in range(20)]

    result = asyncio.run(
        Suite(name="s", scenarios=scenarios).run(target_factory=Bank, parallel=True, max_concurrency=10, verbose=False)
    )

    assert all(one.passed for one in result.results)
    for one in result.results:
        found = one.steps[0].results[0]
        assert found.details["before"] == {"c-17": "active"} and found.details["after"] == {"c-17": "blocked"}


def test_a_function_that_raises_is_an_error():
    def always():
        raise OSError("no database")

    calls = []

    def later():
        calls.append(1)
        if len(calls) > 1:
            raise OSError("no database")

    for read, when in [(always, "before the step"), (later, "after it")]:
        for options in ({}, {"return_exception": True}):
            calls.clear()
            result = run(StateEquals(read=read), nothing, **options)
            assert result.errored and result.error_kind == "crash"
            assert result.message == f"read raised OSError {when}: no database"
    result = run(StateEquals(read=read_bank, expected=lambda state: 1 / 0))
    assert result.errored and result.error_kind == "crash" and "ZeroDivisionError" in result.message
    result = run(StateEquals(read=read_bank, expected=lambda state: state.clear()))
    assert result.errored and "must return the state" in result.message


def test_expected_may_be_async_and_may_change_what_it_is_given():
    async def change(state):
        state["cards"]["c-17"] = "blocked"
        state["log"].append("block c-17")
        return state

    result = run(StateEquals(read=read_bank, expected=change))
    assert result.passed and result.details["before"]["cards"] == {"c-17": "active"}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_function_that_takes_too_long_is_an_error(when):
    reads, free = [], threading.Event()

    def slow():
        reads.append(threading.current_thread())
        if len(reads) == (1 if when == "before" else 2):
            free.wait(20)

    async def slowly():
        reads.append(1)
        if len(reads) == (1 if when == "before" else 2):
            await asyncio.sleep(20)

    start = time.perf_counter()
    try:
        for read in (slow, slowly):
            reads.clear()
            # A thread that does not come back would keep a sync target waiting.
            result = run(StateEquals(read=read, timeout=0.2), at_once)
            assert result.errored and result.error_kind == "timeout" and "0.2 s" in result.message
            free.set()
    finally:
        free.set()
    assert time.perf_counter() - start < 15


def test_a_sync_function_runs_in_place_unless_it_has_a_timeout():
    threads = []

    def read():
        threads.append(threading.current_thread())

    here = threading.current_thread()

    async def both():
        for timeout in (None, 5):
            scenario = Scenario("s", target=nothing).interact("Hi").check(StateEquals(read=read, timeout=timeout))
            await scenario.run()

    asyncio.run(both())
    assert threads[:2] == [here, here] and here not in threads[2:] and len(threads) == 4


def test_a_run_that_is_cancelled_while_it_reads_stops():
    async def cancelled():
        reading = asyncio.Event()

        async def read():
            reading.set()
            await asyncio.sleep(20)

        task = asyncio.create_task(
            Scenario("s", target=nothing).interact("Hi").check(StateEquals(read=read)).run(return_exception=True)
        )
        await reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())


def test_a_leaked_cancellation_is_only_an_error_of_the_check():
    def leaks():
        raise asyncio.CancelledError

    result = run(StateEquals(read=leaks), nothing, return_exception=True)
    assert result.errored and "CancelledError" in result.message


# --- recorded conversations --------------------------------------------------------------


def case(check, **annotations):
    trace = Trace(interactions=[Interaction(inputs="Block it.", outputs="Done.")], annotations=annotations)
    return TestCase(trace=trace, checks=[check]).run_sync().results[0]


KEYS = {"before_key": "trace.annotations.before", "after_key": "trace.annotations.after"}


@pytest.mark.parametrize(
    ("fields", "annotations", "found"),
    [
        (KEYS, {"before": {"a": 1}, "after": {"a": 1}}, "pass"),
        (KEYS, {"before": {"a": 1}, "after": {"a": 2}}, "fail"),
        (KEYS, {"after": {"a": 2}}, "error"),
        (KEYS, {"before": {"a": 1}}, "error"),
        ({"after_key": KEYS["after_key"], "expected": {"a": 2}}, {"after": {"a": 2}}, "pass"),
        ({"after_key": KEYS["after_key"], "expected": {"a": 2}}, {"after": {"a": 3}}, "fail"),
        ({"after_key": KEYS["after_key"], "expected": {"a": 2}}, {}, "error"),
        ({**KEYS, "expected": lambda before: {"a": before["a"] + 1}}, {"before": {"a": 1}, "after": {"a": 2}}, "pass"),
        ({**KEYS, "expected_key": "trace.annotations.goal"}, {"before": 0, "after": 1, "goal": 1}, "pass"),
        ({"read": read_bank, **KEYS}, {"before": {"a": 1}, "after": {"a": 1}}, "pass"),
        ({"read": read_bank}, {}, "error"),
        ({"read": read_bank, "after_key": KEYS["after_key"]}, {"after": 1}, "error"),
    ],
)
def test_recorded_states(fields, annotations, found):
    result = case(StateEquals(**fields), **annotations)

    assert result.status == found
    assert case(Not(check=StateEquals(**fields)), **annotations).status == (
        {"pass": "fail", "fail": "pass"}.get(found, found)
    )


def test_where_nothing_was_run_the_error_says_what_to_do():
    result = case(StateEquals(read=read_bank, expected={}))

    assert result.error_kind == "config" and "before_key and after_key" in result.message
    result = case(StateEquals(**KEYS), before=1, after=2)
    assert result.message.startswith("the state at 'trace.annotations.after' is not what it was before")


def test_what_cannot_be_compared_is_an_error():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    result = run(StateEquals(read=lambda: {"a": Odd()}, expected={"a": 1}), nothing)
    assert result.errored and result.error_kind == "bad_type"


# --- built, saved, loaded ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "give read"),
        ({"before_key": "trace.annotations.a"}, "give read"),
        ({"read": 3}, "expected a function"),
        ({"read": "no.such:thing"}, "cannot be imported"),
        ({"after_key": "trace.annotations.a"}, "give before_key"),
        ({"after_key": "trace.annotations.a", "expected": blocked}, "give before_key"),
        ({"read": read_bank, "expected": 1, "expected_key": "trace.annotations.a"}, "at most one"),
        ({"read": read_bank, "tolerance": -1}, "greater than or equal"),
    ],
)
def test_what_is_refused_when_built(fields, message):
    with pytest.raises(ValidationError, match=message):
        StateEquals(**fields)


@pytest.mark.parametrize(
    "check",
    [
        StateEquals(read="time:time", expected="math:ceil"),
        StateEquals(read=time.time, expected=len),
        StateEquals(read=time.time),
        StateEquals(read=time.time, expected=None, timeout=3, name="n"),
        StateEquals(expected={"kind": "x", "$type": [1]}, after_key="trace.annotations.after", tolerance=0.5),
        StateEquals(expected_key="trace.annotations.goal", normalization_form=None, **KEYS),
    ],
    ids=lambda check: check.kind,
)
def test_save_and_load(check):
    for loaded in (Check.model_validate(check.model_dump()), Check.model_validate_json(check.model_dump_json())):
        assert loaded == check and loaded.model_dump_json() == check.model_dump_json()


def test_a_function_without_an_import_path_cannot_be_saved():
    with pytest.raises(Exception, match="lambda"):
        StateEquals(read=lambda: 1).model_dump_json()


def test_later_changes_of_what_was_expected_do_not_reach_the_check():
    expected = {"cards": {"c-17": "blocked"}, "log": ["block c-17"]}
    check = StateEquals(read=read_bank, expected=expected)
    expected["log"].clear()

    assert run(check).passed


def test_a_check_of_ones_own_may_look_before_its_step():
    from giskard.checks import CheckResult
    from giskard.checks.core.before import seen_before

    class Counts(Check):
        async def look_before(self, trace):
            return len(BANK["log"])

        async def run(self, trace):
            return CheckResult.success(f"{seen_before(self)} before, {len(BANK['log'])} after")

    assert run(Counts()).message == "0 before, 1 after"
    assert Check.any_looks_before and Counts.looks_before and not Check.looks_before


# --- what cannot be kept as it was -------------------------------------------------------


class Locked:
    def __init__(self):
        self.lock, self.rows = threading.Lock(), []


class Itself:
    def __init__(self):
        self.rows = []

    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize("kind", [Locked, Itself])
@pytest.mark.parametrize("place", [lambda it: it, lambda it: {"db": [it]}, lambda it: ("db", it)])
def test_what_cannot_be_copied_is_an_error(kind, place):
    db = kind()
    for fields in ({}, {"expected": lambda before: before}):
        result = run(StateEquals(read=lambda: place(db), **fields), lambda inputs: db.rows.append(1) or "Done.")
        assert result.errored and result.error_kind == "bad_type"
        assert f"({kind.__name__}), which cannot be kept as it was: return plain data" in result.message
        assert "raised" not in result.message


@pytest.mark.parametrize(
    "read",
    [
        lambda rows: rows.keys(),
        lambda rows: rows.items(),
        lambda rows: rows.values(),
        lambda rows: MappingProxyType(rows),
        lambda rows: {"db": [rows.keys()]},
        lambda rows: MappingProxyType({"db": rows.items()}),
    ],
)
def test_live_views_are_kept_as_they_were(read):
    rows = {"a": 1}
    assert run(StateEquals(read=lambda: read(rows)), nothing).passed
    assert run(StateEquals(read=lambda: read(rows)), lambda inputs: rows.update(b=2) or "Done.").failed


def test_a_memoryview_is_kept_as_its_bytes():
    data = bytearray(b"ab")
    assert run(StateEquals(read=lambda: memoryview(data)), nothing).passed
    assert run(StateEquals(read=lambda: memoryview(data)), lambda inputs: data.__setitem__(0, 99) or "Done.").failed


def test_a_state_that_holds_itself_and_a_time_zone_can_be_kept():
    loop = {"zone": datetime.UTC, "at": ZoneInfo("UTC"), "rows": []}
    loop["self"] = loop
    assert run(StateEquals(read=lambda: loop, expected_key="trace.annotations.after"), nothing).error_kind != "bad_type"
