"""JsonValid."""

import asyncio
import copy
import json
import math
import pickle

import pytest
from pydantic import BaseModel, ValidationError

from giskard.checks import Check, Interaction, JsonValid, Not, TestCase, Trace

KEY = "trace.last.outputs"
FEE = {"type": "object", "properties": {"fee": {"type": "number"}}, "required": ["fee"]}


def T(outputs=None, **metadata):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])


def run(check, outputs=None):
    return asyncio.run(check.run(T(outputs)))


def status(check, outputs=None):
    return run(check, outputs).status.value


@pytest.mark.parametrize(
    "text", ["{}", "null", '"a"', " [1, 2.5e3] ", '{"a": {"b": []}}', "1e999", "9" * 5000, '"\\ud800"']
)
def test_texts_that_are_json(text):
    result = run(JsonValid(), text)
    assert result.passed and result.details["value"] == text and "parsed_value" in result.details


@pytest.mark.parametrize(
    "text", ["", "hello", '{"score": NaN}', "[Infinity]", "[1, -Infinity]", "{'a': 1}", "[1,]", "01"]
)
def test_texts_that_are_not_json(text):
    result = run(JsonValid(), text)
    assert result.failed and KEY in result.message and "is not JSON" in result.message
    assert result.details == {"value": text} | {k: v for k, v in result.details.items() if k != "value"}
    assert status(Not(check=JsonValid()), text) == "pass"


def test_a_failure_says_where():
    assert "NaN is not JSON (line 2, column 11)" in run(JsonValid(), '{\n "score": NaN}').message


@pytest.mark.parametrize("output", [None, {"a": 1}, [1], 5, True, b"{}"])
def test_parsing_what_is_no_text_is_an_error(output):
    for schema in (None, FEE):
        result = run(JsonValid(schema=schema), output)
        assert result.errored and result.error_kind == "bad_type"
        assert type(output).__name__ in result.message and "parse=False" in result.message


def test_a_missing_value_is_an_error():
    for parse in (True, False):
        result = run(JsonValid(parse=parse, target_key="trace.last.outputs.typo"), {"a": 1})
        assert result.errored and "trace.last.outputs.typo" in result.message
        assert asyncio.run(JsonValid(parse=parse).run(Trace(interactions=[]))).errored


class Model(BaseModel):
    a: int = 1


@pytest.mark.parametrize("value", ["hello", None, 1, {"a": [1, (2, None)]}, [], True, Model(), math.pi])
def test_values_that_are_json(value):
    assert status(JsonValid(parse=False), value) == "pass"


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({1, 2}, "$: set"),
        (math.nan, "$: nan"),
        ({"a": [{1: 2}]}, "$.a[0]: the key 1"),
        (b"x", "bytes"),
        (object(), "object"),
    ],
)
def test_values_that_are_not_json(value, where):
    result = run(JsonValid(parse=False), value)
    assert result.failed and where in result.message


def test_arrays_are_no_json():
    np = pytest.importorskip("numpy")
    assert status(JsonValid(parse=False), np.array([1])) == "fail"


# --- schemas -----------------------------------------------------------------------------


def test_a_schema():
    check = JsonValid(schema=FEE)
    assert status(check, '{"fee": 3}') == "pass"
    result = run(check, '{"fee": "three"}')
    assert result.failed and '$.fee: "three" is not of type "number"' in result.message
    assert result.details["problems"] == ['$.fee: "three" is not of type "number"']
    assert result.details["parsed_value"] == {"fee": "three"}
    assert status(check, "{}") == "fail"
    assert status(check, "{") == "fail"
    assert status(JsonValid(schema=FEE, parse=False), {"fee": 3.0}) == "pass"
    assert status(JsonValid(schema=FEE, parse=False), {"fee": True}) == "fail"
    assert status(JsonValid(schema=FEE, parse=False), Model()) == "fail"


def test_numbers_and_bools_as_json_schema_has_them():
    schema = {"properties": {"n": {"type": "integer"}}}
    assert status(JsonValid(schema=schema), '{"n": true}') == "fail"
    assert status(JsonValid(schema=schema), '{"n": 1.0}') == "pass"
    assert status(JsonValid(schema={"const": 1}), "true") == "fail"
    assert status(JsonValid(schema={"const": 1}), "1.0") == "pass"
    assert status(JsonValid(schema={"maximum": 10}), "1e999") == "fail"
    assert status(JsonValid(schema=True), "1") == "pass"
    assert status(JsonValid(schema=False), "1") == "fail"


@pytest.mark.parametrize("schema", [{"type": "strnig"}, {"enum": {1}}, {"pattern": "("}, "{}", 5, [FEE], {1: {}}])
def test_bad_schemas_are_refused_when_built(schema):
    with pytest.raises(ValidationError):
        JsonValid(schema=schema)
    with pytest.raises(ValidationError):
        JsonValid(expected_schema=schema)


@pytest.mark.parametrize("ref", ["http://127.0.0.1:9/x", "file:///etc/passwd", "other.json", "#/$defs/no"])
def test_a_reference_that_leads_nowhere_is_an_error(ref):
    check = JsonValid(schema={"properties": {"a": {"$ref": ref}}})
    for text in ('{"a": 1}', "{}"):
        result = run(check, text)
        assert result.errored and "reference" in result.message
    assert status(Not(check=check), "{}") == "error"
    assert status(check, "{") == "fail"


def test_references_within_the_schema():
    schema = {"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}
    assert status(JsonValid(schema=schema), "[1]") == "pass"
    assert status(JsonValid(schema=schema), '["a"]') == "fail"


def test_deep_nesting_gives_a_result():
    for depth in (300, 1_000, 100_000):
        text = "[" * depth + "]" * depth
        assert status(JsonValid(), text) == "pass"
        assert status(JsonValid(), text[1:]) == "fail"
        assert status(JsonValid(schema={"type": "array"}), text) == ("pass" if depth == 300 else "error")
        assert status(JsonValid(unique_keys=True), text) == ("pass" if depth == 300 else "error")
    value: list = []
    for _ in range(5_000):
        value = [value]
    assert status(JsonValid(parse=False), value) == "pass"
    assert status(JsonValid(parse=False, schema={}), value) == "error"


def test_formats_keys_and_fences_on_demand():
    date = {"format": "date"}
    assert status(JsonValid(schema=date), '"soon"') == "pass"
    assert status(JsonValid(schema=date, check_formats=True), '"soon"') == "fail"
    assert status(JsonValid(schema=date, check_formats=True), '"2024-01-02"') == "pass"
    twice = '{"a": 1, "a": 1}'
    assert status(JsonValid(), twice) == "pass"
    assert "stands twice" in run(JsonValid(unique_keys=True), twice).message
    assert status(JsonValid(unique_keys=True), '{"a": 1, "b": 1}') == "pass"
    for fenced in ('```json\n{"a": 1}\n```', "```\n[]\n```\n", "\n  ```JSON \n1```"):
        assert status(JsonValid(), fenced) == "fail"
        assert status(JsonValid(accept_fence=True), fenced) == "pass"
    assert status(JsonValid(accept_fence=True), "[]") == "pass"
    assert status(JsonValid(accept_fence=True), "Here: ```json\n[]\n```") == "fail"
    assert status(JsonValid(accept_fence=True), "```json\nNaN\n```") == "fail"


def test_a_schema_that_is_changed_later_and_one_that_is_replaced():
    schema = copy.deepcopy(FEE)
    check = JsonValid(schema=schema)
    schema["properties"]["fee"]["type"] = "string"
    assert status(check, '{"fee": 3}') == "pass"
    assert check.expected_schema == FEE
    other = check.model_copy(update={"expected_schema": {"const": 5}})
    assert status(other, "5") == "pass" and status(check, "5") == "fail"
    check.expected_schema = {"const": 6}
    assert status(check, "6") == "pass"
    for same in (copy.copy(other), copy.deepcopy(other), pickle.loads(pickle.dumps(other))):
        assert status(same, "5") == "pass" and status(same, "6") == "fail"


def test_equal_schemas_share_one_copy():
    checks = [JsonValid(schema=copy.deepcopy(FEE)) for _ in range(3)]
    assert len({id(check.expected_schema) for check in checks}) == 1


# --- saving ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "check",
    [
        JsonValid(),
        JsonValid(schema=FEE),
        JsonValid(expected_schema=False, parse=False),
        JsonValid(schema={"kind": {}, "$ref": "#"}, check_formats=True, unique_keys=True, accept_fence=True, name="n"),
        JsonValid(schema={"const": {"kind": "equals"}}),
        JsonValid(schema={"$ref": "http://127.0.0.1:9/x"}),
    ],
)
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert type(loaded) is JsonValid and loaded == check


def test_the_schema_is_dumped_under_its_short_name():
    check = JsonValid(expected_schema=FEE)
    assert check.model_dump()["schema"] == FEE
    assert "expected_schema" not in check.model_dump() and "expected_schema" not in check.model_dump_json()
    assert json.loads(TestCase(trace=T("{}"), checks=[check]).model_dump_json())["checks"][0]["schema"] == FEE


def test_both_spellings_at_once_are_refused():
    with pytest.raises(ValidationError):
        JsonValid(schema=FEE, expected_schema=FEE)
    with pytest.raises(ValidationError, match="did you mean"):
        JsonValid(shcema=FEE)


def test_messages_stay_short():
    assert len(run(JsonValid(), "x" * 100_000).message) < 600
    assert len(run(JsonValid(schema={"items": {"type": "integer"}}), json.dumps(["x" * 9_000] * 50)).message) < 4_000
