"""MaxLatency, MaxTokens, MaxCost and Latency: figures of turns, and an ERROR where there is none."""

import asyncio
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from giskard.checks import (
    Check,
    Interact,
    Interaction,
    Latency,
    MaxCost,
    MaxLatency,
    MaxTokens,
    Not,
    Scenario,
    Trace,
    Usage,
    WithSpy,
)
from giskard.checks.targets import AgentTarget


def T(*turns):
    return Trace(interactions=[Interaction(inputs="q", outputs="a", metadata=metadata) for metadata in turns])


def run(check, trace):
    return asyncio.run(check.run(trace))


def status(check, trace):
    return run(check, trace).status.value


def metrics(result):
    return {metric.name: metric.value for metric in result.metrics}


# Of each: the check, and what the metadata of a turn holds; the figures of the second are too high.
ROWS = [
    (MaxLatency(per_turn_ms=500), {"latency_ms": 500}, {"latency_ms": 500.5}),
    (MaxLatency(total_ms=900), {"latency_ms": 450}, {"latency_ms": 451}),
    (MaxLatency(per_turn_ms=500), {"target": {"latency_ms": 12.5}}, {"target": {"latency_ms": 501}}),
    (MaxTokens(per_turn=100), {"usage": {"total_tokens": 100}}, {"usage": {"total_tokens": 101}}),
    (MaxTokens(total=200), {"usage": {"input_tokens": 60, "output_tokens": 40}}, {"usage": {"total_tokens": 101}}),
    (MaxTokens(per_turn=60, count="input"), {"usage": Usage(input_tokens=60)}, {"usage": Usage(input_tokens=61)}),
    (MaxTokens(per_turn=60, count="output"), {"usage": {"output_tokens": 0}}, {"usage": {"output_tokens": 61}}),
    (MaxCost(per_turn=0.01), {"cost_usd": 0.01}, {"cost_usd": 0.011}),
    (MaxCost(total=0.02), {"usage": Usage(cost=0.01)}, {"usage": {"cost_usd": 0.011}}),
    (Latency(max_ms=500), {"latency_ms": 500}, {"latency_ms": 501}),
    (Latency(max_ms=500, which="first_chunk"), {"ttft_ms": 500}, {"ttft_ms": 501}),
    (Latency(max_ms=500, which="first_chunk"), {"time_to_first_chunk": 0.5}, {"time_to_first_chunk": 0.501}),
]
ROWS = [pytest.param(*row, id=f"{row[0].kind}-{place}") for place, row in enumerate(ROWS)]
CHECKS = [MaxLatency(per_turn_ms=1), MaxTokens(total=1), MaxCost(total=1), Latency(max_ms=1)]


@pytest.mark.parametrize(("check", "good", "bad"), ROWS)
def test_within_the_limit_and_above_it(check, good, bad):
    assert status(check, T(good, good)) == "pass" and status(Not(check=check), T(good, good)) == "fail"
    assert status(check, T(bad, bad)) == "fail" and status(Not(check=check), T(bad, bad)) == "pass"


@pytest.mark.parametrize(("check", "good", "bad"), ROWS)
def test_a_turn_without_a_figure_is_named_and_never_taken_for_nothing(check, good, bad):
    for empty in ({}, {"usage": None, "latency_ms": None}, {"usage": {"cached_tokens": 3}}, {"target": {}}):
        result = run(check, T(good, empty, good))
        assert result.errored and result.error_kind == "missing_value" and result.message.startswith("turn 2 has no ")
        assert status(Not(check=check), T(good, empty)) == "error"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.kind)
def test_without_turns_there_is_nothing_to_measure(check):
    result = run(check, Trace())
    assert result.errored and result.error_kind == "missing_value" and status(Not(check=check), Trace()) == "error"


ODD = [-1, "3", True, math.nan, math.inf, [1], -0.5]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_what_is_no_figure_is_an_error(value):
    for check, metadata in [
        (MaxLatency(per_turn_ms=9), {"latency_ms": value}),
        (MaxLatency(per_turn_ms=9), {"target": {"latency_ms": value}}),
        (MaxTokens(per_turn=9), {"usage": {"total_tokens": value}}),
        (MaxTokens(per_turn=9), {"usage": {"input_tokens": value, "output_tokens": 1}}),
        (MaxCost(per_turn=9), {"cost_usd": value}),
        (Latency(max_ms=9, which="first_chunk"), {"ttft_ms": value}),
        (Latency(max_ms=9, which="first_chunk"), {"time_to_first_chunk": value}),
    ]:
        result = run(check, T(metadata))
        assert result.errored and result.error_kind == "bad_type" and "turn 1: metadata." in result.message


def test_the_figures_are_in_the_message_and_in_metrics():
    trace = T({"latency_ms": 300}, {"latency_ms": 1200}, {"latency_ms": 900.25})

    result = run(MaxLatency(per_turn_ms=800, total_ms=2000), trace)
    assert result.message == (
        "turn 2 took 1,200 ms, at most 800 ms were expected in a turn, and 1 other turn over the limit too; "
        "3 turns took 2,400.25 ms, at most 2,000 ms were expected in all"
    )
    assert metrics(result) == {"latency_ms_total": 2400.25, "latency_ms_max": 1200}
    assert result.details["per_turn"] == [300, 1200, 900.25]
    assert run(MaxLatency(total_ms=3000), trace).message == "3 turns took 2,400.25 ms, turn 2 the most: 1,200 ms"


def test_tokens_and_dollars_in_words():
    trace = T({"usage": {"total_tokens": 1}, "cost_usd": 0.0021}, {"usage": {"total_tokens": 1500}, "cost_usd": 0})

    assert run(MaxTokens(total=9999), trace).message == "2 turns took 1,501 tokens, turn 2 the most: 1,500 tokens"
    assert metrics(run(MaxTokens(total=1), trace)) == {"tokens_total": 1501, "tokens_max": 1500}
    assert type(metrics(run(MaxTokens(total=1), trace))["tokens_total"]) is int
    assert run(MaxCost(total=1), trace).message == "2 turns took $0.0021, turn 1 the most: $0.0021"
    assert run(MaxCost(total=0.002), trace).message == ("2 turns took $0.0021, at most $0.002 were expected in all")
    assert metrics(run(MaxCost(total=1), trace)) == {"cost_usd_total": 0.0021, "cost_usd_max": 0.0021}


# --- what is being run -------------------------------------------------------------------


async def slow(inputs):
    await asyncio.sleep(0.05)
    return "a"


def blocking(inputs):
    return "a"


async def streaming(inputs):
    await asyncio.sleep(0.05)
    yield "a"
    yield "b"


def live(target, *checks, spec=None):
    scenario = Scenario("s", target=target)
    scenario = scenario.interact("q").interact("r") if spec is None else scenario.append(spec)
    return scenario.check(checks[0]).checks(*checks[1:]).run_sync(return_exception=True)


def test_a_run_knows_how_long_its_targets_took():
    for target, least in [(slow, 50), (blocking, 0), (streaming, 50)]:
        result = live(target, MaxLatency(per_turn_ms=60_000), Latency(max_ms=60_000))
        assert result.passed, result
        assert metrics(result.steps[0].results[0])["latency_ms_max"] >= least * 0.9
        assert all("latency_ms" not in turn.metadata for turn in result.final_trace.interactions)
    assert live(slow, MaxLatency(per_turn_ms=10)).failed
    assert live(streaming, Latency(max_ms=60_000, which="first_chunk")).passed
    assert live(slow, Latency(max_ms=60_000, which="first_chunk")).errored


def test_turns_that_metadata_was_added_to_keep_their_time():
    spied = WithSpy(interaction_generator=Interact(inputs="q"), target="textwrap.dedent")
    result = live(slow, MaxLatency(per_turn_ms=60_000), spec=spied)

    assert "textwrap.dedent" in result.final_trace.last.metadata and result.passed, result


def test_turns_that_no_target_was_asked_for_have_no_time():
    result = Scenario("s").interact("q", outputs="a").check(MaxLatency(per_turn_ms=1)).run_sync()

    assert result.errored and "no target was asked" in result.steps[0].results[0].message
    finished = live(slow, MaxLatency(per_turn_ms=60_000)).final_trace
    assert status(MaxLatency(per_turn_ms=60_000), finished) == "error"


def test_what_a_target_noted_counts():
    class Agent:
        def run(self, inputs):
            return {"output": "a", "usage": {"input_tokens": 7, "output_tokens": 3}}

    target = AgentTarget(Agent(), output="$.output")
    result = live(target, MaxTokens(total=20), MaxLatency(per_turn_ms=60_000))
    assert result.passed, result
    assert metrics(result.steps[0].results[0])["tokens_total"] == 20


# --- what a model costs ------------------------------------------------------------------

USED = {"model": "gpt-5-mini-2025-08-07", "usage": {"input_tokens": 1000, "output_tokens": 100}}


@pytest.mark.parametrize(
    "metadata",
    [
        USED,
        {**USED, "model": "openai/gpt-5-mini"},
        {"usage": USED["usage"], "target": {"model": "gpt-5-mini"}},
    ],
)
def test_an_estimate_of_the_cost(metadata):
    pytest.importorskip("genai_prices")
    result = run(MaxCost(total=1, estimate=True), T(metadata))

    assert result.passed and 0.0001 < metrics(result)["cost_usd_total"] < 0.01
    assert status(MaxCost(total=1), T(metadata)) == "error"
    assert status(MaxCost(total=0.0000001, estimate=True), T(metadata)) == "fail"
    assert metrics(run(MaxCost(total=1, estimate=True, provider="openai"), T(USED))) == metrics(
        run(MaxCost(total=1, estimate=True), T(USED))
    )


def test_what_was_cached_costs_less():
    pytest.importorskip("genai_prices")
    check = MaxCost(total=1, estimate=True)
    cached = {**USED, "usage": {**USED["usage"], "cached_tokens": 900}}

    assert metrics(run(check, T(cached)))["cost_usd_total"] < metrics(run(check, T(USED)))["cost_usd_total"]


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"usage": USED["usage"]}, "no 'model'"),
        ({"model": "gpt-5-mini"}, "no usage with"),
        ({"model": "gpt-5-mini", "usage": {"total_tokens": 3}}, "no usage with"),
        ({**USED, "model": "no-such-model-anywhere"}, "no price list has the model 'no-such-model-anywhere'"),
    ],
)
def test_without_an_estimate_it_is_an_error(metadata, said):
    pytest.importorskip("genai_prices")
    result = run(MaxCost(total=1, estimate=True), T({"cost_usd": 1}, metadata))

    assert result.errored and result.error_kind == "missing_value"
    assert result.message.startswith("turn 2 has no cost") and said in result.message


def test_without_the_price_lists_it_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    result = run(MaxCost(total=1, estimate=True), T(USED))

    assert result.errored and result.error_kind == "config" and "giskard-checks[llm]" in result.message


# --- percentiles -------------------------------------------------------------------------


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=50), st.integers(1, 100))
def test_a_percentile_is_the_least_figure_that_so_many_are_not_above(figures, percentile):
    check = Latency(max_ms=1000, percentile=percentile)
    value = run(check, T(*[{"latency_ms": figure} for figure in figures])).details["value"]

    def share(figure):
        return sum(one <= figure for one in figures) * 100

    assert value in figures and share(value) >= percentile * len(figures)
    assert all(share(one) < percentile * len(figures) for one in figures if one < value)


def test_percentiles_by_name():
    trace = T(*[{"latency_ms": n} for n in range(1, 101)])

    for percentile, value in [(50, 50), (95, 95), (99.5, 100), (100, 100), (0.1, 1)]:
        result = run(Latency(max_ms=value, percentile=percentile), trace)
        assert result.passed and metrics(result) == {f"latency_ms_p{percentile:g}": value}
        assert status(Latency(max_ms=value - 1, percentile=percentile), trace) == "fail"


# --- built, saved, loaded ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "fields"),
    [
        (MaxLatency, {}),
        (MaxLatency, {"per_turn_ms": -1}),
        (MaxLatency, {"per_turn_ms": math.inf}),
        (MaxLatency, {"per_turn": 3}),
        (MaxTokens, {}),
        (MaxTokens, {"total": 1.5}),
        (MaxTokens, {"total": 1, "count": "cached"}),
        (MaxCost, {}),
        (MaxCost, {"total": math.nan}),
        (Latency, {}),
        (Latency, {"max_ms": 1, "percentile": 0}),
        (Latency, {"max_ms": 1, "percentile": 101}),
    ],
)
def test_what_is_refused_when_built(cls, fields):
    with pytest.raises(ValidationError):
        cls(**fields)


@pytest.mark.parametrize(
    "check",
    [
        MaxLatency(per_turn_ms=1.5, total_ms=3),
        MaxTokens(per_turn=3, total=4, count="output", severity="warning"),
        MaxCost(per_turn=0.1, total=1, estimate=True, provider="openai"),
        Latency(max_ms=3, percentile=99, which="first_chunk", name="n"),
    ],
    ids=lambda check: check.kind,
)
def test_save_and_load(check):
    for loaded in (Check.model_validate(check.model_dump()), Check.model_validate_json(check.model_dump_json())):
        assert loaded == check and loaded.model_dump_json() == check.model_dump_json()


@pytest.mark.parametrize(
    "check",
    [
        MaxLatency(per_turn_ms=8),
        MaxLatency(total_ms=10),
        MaxTokens(per_turn=8),
        MaxCost(total=10),
        Latency(max_ms=8, percentile=100),
    ],
)
def test_a_failure_tells_the_turn_that_took_the_most(check):
    turns = [{"latency_ms": n, "usage": {"total_tokens": n}, "cost_usd": n} for n in (1, 9, 2)]

    assert run(check, T(*turns)).details["turn"] == 1
    assert "turn" not in run(check, T(turns[0])).details


# --- rounding, figures that are none, one turn -------------------------------------------


def test_the_rounding_of_a_sum_is_not_held_against_it():
    assert status(MaxCost(total=0.3), T(*[{"cost_usd": 0.1}] * 3)) == "pass"
    assert status(MaxCost(total=0.3), T({"cost_usd": 0.1}, {"cost_usd": 0.2000001})) == "fail"
    assert status(Latency(max_ms=0.3), T({"latency_ms": 0.1 + 0.2})) == "pass"
    assert status(MaxTokens(total=10**10), T({"usage": {"total_tokens": 10**10 + 1}})) == "fail"
    assert status(MaxCost(total=0), T({"cost_usd": 1e-12})) == "fail"


@pytest.mark.parametrize("value", [10.5, 10**400, 1e301, math.nan, math.inf, -1, True])
def test_what_is_no_number_of_tokens_is_an_error(value):
    result = run(MaxTokens(total=10), T({"usage": {"total_tokens": 1}}, {"usage": {"total_tokens": value}}))
    assert result.errored and result.error_kind == "bad_type"
    assert result.message.startswith("turn 2: metadata.usage.total_tokens is ")


def test_a_whole_float_is_a_number_of_tokens():
    assert status(MaxTokens(total=10), T({"usage": {"total_tokens": 10.0}})) == "pass"


@pytest.mark.parametrize("check", [MaxTokens, MaxCost])
def test_a_bool_is_no_limit(check):
    with pytest.raises(ValidationError, match="expected a number, got True"):
        check(total=True)


def test_one_turn():
    trace = T({}, {"latency_ms": 900, "usage": {"total_tokens": 5}, "cost_usd": 1})
    for check in (MaxLatency(per_turn_ms=900), Latency(max_ms=900), MaxTokens(total=5), MaxCost(total=1)):
        assert status(check, trace) == "error"
        assert status(check.model_copy(update={"turn": -1}), trace) == "pass"
        assert run(check.model_copy(update={"turn": 2}), trace).error_kind == "missing_value"
    result = run(MaxLatency(total_ms=800, turn=-1), trace)
    assert result.failed and result.details["turn"] == 1
    result = run(Latency(max_ms=800, turn=1), trace)
    assert result.failed and result.details["turn"] == 1
