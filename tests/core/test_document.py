"""The dumps of results: with their version first, whatever options of pydantic's are given."""

import json

import pytest

from giskard.checks import (
    CheckResult,
    FnCheck,
    Scenario,
    ScenarioResult,
    Suite,
    SuiteResult,
    TestCase,
    TestCaseResult,
    Trace,
)
from giskard.checks.core.models import SCHEMA_VERSION

ok = FnCheck(fn=lambda trace: True, name="ok")
SCENARIO = Scenario("s").interact("q", "é").check(ok)


def results() -> list[ScenarioResult | SuiteResult | TestCaseResult]:
    return [
        SCENARIO.run_sync(),
        Suite("all", [SCENARIO]).run_sync(verbose=False),
        TestCase(trace=Trace(), checks=[ok], name="case").run_sync(),
    ]


@pytest.mark.parametrize("result", results(), ids=lambda result: type(result).__name__)
def test_the_version_comes_first_in_every_dump(result):
    part = {"duration_ms"}
    dumps = [result.model_dump(), result.model_dump(mode="json"), result.model_dump(exclude=part)]
    texts = [
        result.model_dump_json(**options)
        for options in ({}, {"indent": 2}, {"exclude": part}, {"exclude": part, "indent": 2}, {"exclude_none": True})
    ]

    for dump in [*dumps, *map(json.loads, texts)]:
        assert next(iter(dump.items())) == ("schema_version", SCHEMA_VERSION)
    assert [part < dump.keys() for dump in dumps] == [True, True, False]
    assert [part < json.loads(text).keys() for text in texts] == [True, True, False, False, True]


@pytest.mark.parametrize("indent", [None, 0, 2, 4])
def test_a_part_of_a_result_is_written_as_the_whole_is(indent):
    result = TestCaseResult(results=[CheckResult(status="fail", message="é")], name="case", duration_ms=1)
    text = result.model_dump_json(exclude={"name"}, indent=indent)
    data = {name: value for name, value in json.loads(result.model_dump_json()).items() if name != "name"}

    assert json.loads(text) == data
    separators = (",", ":") if indent is None else (",", ": ")
    assert text == json.dumps(data, ensure_ascii=False, indent=indent, separators=separators)


def test_a_result_of_which_nothing_is_written_is_json_with_a_version():
    result = SCENARIO.run_sync()
    every = {*type(result).model_fields, *type(result).model_computed_fields}

    for indent in (None, 2):
        assert json.loads(result.model_dump_json(exclude=every, indent=indent)) == {"schema_version": SCHEMA_VERSION}


def test_fields_that_were_chosen_come_alone():
    result = SCENARIO.run_sync()

    assert result.model_dump(include={"scenario_name"}) == {"scenario_name": "s"}
    assert result.model_dump_json(include={"scenario_name"}) == '{"scenario_name":"s"}'
    for exclude in ({"schema_version"}, {"schema_version": True}):
        assert "schema_version" not in result.model_dump(exclude=exclude)
        assert "schema_version" not in json.loads(result.model_dump_json(exclude=exclude))
