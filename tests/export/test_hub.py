"""Results as JSON data."""

import json

import pytest

from giskard.checks import CheckResult, FnCheck, Metric, Scenario, Suite
from giskard.checks.export import to_hub_format


def check(result=None, name="rule", **fields):
    return FnCheck(fn=lambda trace: CheckResult.success() if result is None else result, name=name, **fields)


def scenario(name="s", *checks, inputs="in", outputs="out", **fields):
    return Scenario(name, **fields).interact(inputs, outputs).checks(*checks)


def run(*scenarios, name="support"):
    return Suite(name=name, scenarios=list(scenarios)).run_sync(verbose=False, return_exception=True)


def as_json(data):
    """Also proves that there is nothing but JSON in it."""
    return json.loads(json.dumps(data, allow_nan=False, ensure_ascii=False).encode("utf-8"))


def only_json_types(value):
    if type(value) is dict:
        return all(type(key) is str and only_json_types(item) for key, item in value.items())
    if type(value) is list:
        return all(map(only_json_types, value))
    return type(value) in {str, int, float, bool, type(None)}


def test_counts_rate_and_results_with_their_steps_and_checks():
    result = run(
        scenario("a", check(), tags=["Topic:x"]),
        scenario("b", check(CheckResult.failure("no", metrics=[Metric(name="score", value=0.5)]))),
        scenario("c", check(), outputs=lambda inputs: 1 / 0),
        scenario("d", check(CheckResult.skip("no key"))),
    ).model_copy(update={"recommendation": "fix it"})

    data = to_hub_format(result)
    assert as_json(data) == data
    assert only_json_types(data)
    assert data["schema_version"] == "1.0"
    assert data["suite_name"] == "support"
    assert data["duration_ms"] == result.duration_ms
    assert data["recommendation"] == "fix it"
    assert [data[f"{state}_count"] for state in ("passed", "failed", "errored", "skipped")] == [1, 1, 1, 1]
    assert data["total"] == 4
    assert data["pass_rate"] == pytest.approx(1 / 3)
    assert [item["status"] for item in data["results"]] == ["pass", "fail", "error", "skip"]
    failed = data["results"][1]
    assert failed["scenario_name"] == "b"
    assert failed["steps"][0]["last_interaction_index"] == 0
    found = failed["steps"][0]["results"][0]
    assert (found["status"], found["message"]) == ("fail", "no")
    assert found["metrics"] == [{"name": "score", "value": 0.5}]
    assert found["details"]["check_name"] == "rule"
    assert failed["final_trace"]["interactions"][0] == {"inputs": "in", "outputs": "out", "metadata": {}}
    assert data["results"][2]["steps"][0]["error"]["exception_type"] == "ZeroDivisionError"


def test_pass_rate_is_none_when_nothing_counts():
    assert to_hub_format(run())["pass_rate"] is None
    assert to_hub_format(run(scenario("a", check(CheckResult.skip("x")))))["pass_rate"] is None


class Silent:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("text", ["plain", "\ud83d \x00 \ufffe"])
def test_any_object_and_any_text(text):
    cyclic: list = []
    cyclic.append(cyclic)
    details = {"silent": Silent(), text: cyclic, "nan": float("nan")}
    data = to_hub_format(
        run(
            scenario(text, check(CheckResult.failure(text, details), text), outputs={text: Silent(), "cyclic": cyclic}),
            scenario("fine", check()),
            name=text,
        )
    )

    assert only_json_types(data)
    assert as_json(data) == data
    assert [item["status"] for item in data["results"]] == ["fail", "pass"]


def test_a_single_scenario_is_a_suite_of_one():
    data = to_hub_format(scenario("alone", check()).run_sync())

    assert (data["suite_name"], data["total"], data["pass_rate"]) == ("alone", 1, 1.0)
