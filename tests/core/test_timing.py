"""When something happened and how long it took."""

import copy
import pickle
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from giskard.checks import CheckResult, FnCheck, Interact, Scenario, Suite, TestCase, Timing, Trace
from giskard.checks.core import timing
from giskard.checks.core.timing import start_of_run, start_texts

ok = FnCheck(fn=lambda trace: True, name="ok")
NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)


async def streaming(inputs):
    yield "a"
    yield "b"


def test_a_timing():
    one = Timing(NOON, 1.5, 0.25)

    assert one == Timing(NOON, 1.5, 0.25) != Timing(NOON, 1.5)
    assert hash(one) == hash(Timing(NOON, 1.5, 0.25))
    assert one != "another thing"
    assert Timing.load(one.dump()) == one
    assert Timing.load(one) is one
    assert repr(one) == ("Timing(started_at='2025-01-01T12:00:00+00:00', seconds=1.5, time_to_first_chunk=0.25)")
    assert repr(Timing(NOON, 1.5)) == "Timing(started_at='2025-01-01T12:00:00+00:00', seconds=1.5)"
    elsewhere = NOON.astimezone(timezone(timedelta(hours=3)))
    assert Timing.load({"started_at": elsewhere.isoformat(), "seconds": 1}).dump() == Timing(NOON, 1.0).dump()


@pytest.mark.parametrize("data", [3, {}, {"started_at": "then", "seconds": 1}, {"started_at": 3, "seconds": 1}])
def test_what_is_no_timing_is_refused(data):
    with pytest.raises(ValueError, match="started_at"):
        Timing.load(data)


def test_a_run_starts_now():
    before = datetime.now(UTC)
    result = Scenario("s").interact("q", "a").check(ok).run_sync()
    after = datetime.now(UTC)

    near = timedelta(milliseconds=50)  # the wall clock may be set a little, all the time
    assert before - near <= result.timing.started_at <= result.steps[0].timing.started_at <= after + near
    assert result.steps[0].timing.started_at <= result.steps[0].results[0].timing.started_at
    assert result.seconds == result.timing.seconds >= result.steps[0].seconds >= result.steps[0].results[0].seconds


def test_seconds_where_no_clock_was_kept():
    assert CheckResult.success().seconds == 0
    result = TestCase(trace=Trace(), checks=[ok]).run_sync()
    assert result.model_copy(update={"timing": None, "duration_ms": 1500}).seconds == 1.5


# --- the first chunk of a stream --------------------------------------------------------------------------


def test_the_first_chunk_reaches_the_step_the_attempt_and_the_scenario():
    streamed = (
        Scenario("s")
        .interact("q", "a")
        .check(ok)
        .interact("q", "a")
        .interact("q", streaming)
        .interact("q", streaming)
        .check(ok)
        .interact("q", streaming)
        .check(ok)
    )
    result = streamed.run_sync(multiple_runs=2)

    plain, first, second = result.steps
    turns = [turn.metadata.get("time_to_first_chunk") for turn in result.final_trace.interactions]
    assert plain.timing.time_to_first_chunk is None
    assert first.timing.time_to_first_chunk == turns[2] > 0
    assert second.timing.time_to_first_chunk == turns[4] > 0
    assert result.timing.time_to_first_chunk == turns[2]
    earlier, last = result.attempts
    assert earlier.timing.time_to_first_chunk > 0
    assert earlier.timing.time_to_first_chunk != last.timing.time_to_first_chunk == turns[2]
    loaded = type(result).model_validate_json(result.model_dump_json())
    assert loaded.timing == result.timing
    assert loaded.steps[1].timing == first.timing


def test_a_step_that_ends_early_keeps_its_first_chunk():
    def crash(inputs):
        raise ConnectionError("gone")

    result = Scenario("s").interact("q", streaming).interact("q", crash).run_sync(return_exception=True)

    assert result.errored
    assert result.steps[0].timing.time_to_first_chunk == result.timing.time_to_first_chunk > 0


def test_without_a_stream_there_is_no_first_chunk():
    result = Scenario("s").append(Interact(inputs="q", outputs=lambda inputs: "a")).check(ok).run_sync()

    assert result.timing.time_to_first_chunk is None
    assert result.steps[0].timing.time_to_first_chunk is None


# --- the wall clock ---------------------------------------------------------------------------------------


def test_a_machine_that_slept_does_not_move_what_was_before_nor_what_comes_after(monkeypatch):
    clocks = {"counter": 100.0, "wall": 1_000_000.0}
    monkeypatch.setattr(time, "perf_counter", lambda: clocks["counter"])
    monkeypatch.setattr(time, "time", lambda: clocks["wall"])
    wall = timing._WallClock()

    first = wall.look()
    clocks["counter"] += 10
    clocks["wall"] += 10 + 3600  # it slept for an hour, in which the counter stood still
    second = wall.look()
    clocks["counter"] += 5
    clocks["wall"] += 5.2  # a clock that is set a little is no reason to look anew
    third = wall.look()

    assert [wall.time_of(reading) for reading in (first, second, third)] == [1_000_000, 1_003_610, 1_003_615]


def test_the_start_of_a_run_is_a_reading_of_the_counter():
    before = time.perf_counter()

    assert before <= start_of_run() <= time.perf_counter()


def test_a_pickled_result_holds_the_time_of_day(tmp_path):
    case = TestCase(name="t", trace=Trace(), checks=[ok])
    result = Suite("all", [Scenario("s").interact("q", "a").check(ok), case]).run_sync(verbose=False)
    result = result.model_copy(update={"suite": None})
    (tmp_path / "result").write_bytes(pickle.dumps(result))
    code = (
        "import pickle, sys\n"
        "result = pickle.load(open(sys.argv[1], 'rb'))\n"
        "for scenario in result.results:\n"
        "    step = scenario.steps[0]\n"
        "    for timing in (result.timing, scenario.timing, step.timing, step.results[0].timing):\n"
        "        print(timing.started_at.isoformat(), timing.seconds)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "result")]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()

    expected = [
        f"{timing.started_at.isoformat()} {timing.seconds}"
        for scenario in result.results
        for timing in (
            result.timing,
            scenario.timing,
            scenario.steps[0].timing,
            scenario.steps[0].results[0].timing,
        )
    ]
    assert printed == expected
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be changed here")
def test_a_start_is_written_in_utc_wherever_the_run_is(monkeypatch):
    reading = time.perf_counter() + 1000  # of a second that was not written yet
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        [written] = start_texts([reading])
    finally:
        monkeypatch.undo()
        time.tzset()
    assert written == Timing.of((reading, 1.0)).dump()["started_at"]


@pytest.mark.parametrize("parts", [[0.0, 0.25], [0.9999999, 0.5], [0.1, 1.1], [0.5, 0.25, 0.000001], [0.0000004, 0.2]])
def test_starts_are_written_as_datetime_has_them_around_a_whole_second(parts, monkeypatch):
    moments = [1_700_000_000 + part for part in parts]
    monkeypatch.setattr(timing._wall, "times_of", lambda readings: readings)
    assert start_texts(moments) == [datetime.fromtimestamp(moment, UTC).isoformat() for moment in moments]
