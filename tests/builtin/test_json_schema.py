"""JSON Schema without a network."""

import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from giskard.checks.builtin import _json_schema
from giskard.checks.builtin._json import JsonTooDeep, parse_json
from giskard.checks.builtin._json_schema import BadSchema, Undecidable, compile_schema
from giskard.checks.utils.frozen import freeze


def meets(schema, value, **options):
    return compile_schema(schema, **options).problems(value) == []


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [1, 1.0, 2**70, -5], [True, 1.5, "1", None]),
        ({"type": "number"}, [1, 1.5], [True, "1"]),
        ({"type": "boolean"}, [True], [1, 0, "true"]),
        ({"const": 1}, [1, 1.0], [True, "1"]),
        ({"const": True}, [True], [1]),
        ({"const": False}, [False], [0, None]),
        ({"enum": [0, "a"]}, [0, 0.0, "a"], [False, None]),
        ({"uniqueItems": True}, [[1, True], [0, False]], [[1, 1.0]]),
        ({"multipleOf": 0.01}, [4.35], [4.355]),
        ({"type": "array", "items": {"type": "string"}}, [[], ["a"], ("a",)], [[1], "a"]),
        ({"prefixItems": [{"const": 1}]}, [[1], []], [[2]]),
        ({"minLength": 2}, ["😀😀", 5], ["😀"]),
        (True, [None, {}], []),
        (False, [], [None, {}]),
        ({}, [None], []),
    ],
)
def test_as_json_schema_says(schema, good, bad):
    assert [meets(schema, value) for value in good] == [True] * len(good)
    assert [meets(schema, value) for value in bad] == [False] * len(bad)


def test_another_draft():
    tuple_of = {"items": [{"type": "string"}]}
    assert meets({"$schema": "http://json-schema.org/draft-07/schema#", **tuple_of}, ["a", 1])
    assert not meets({"$schema": "http://json-schema.org/draft-07/schema#", **tuple_of}, [1])
    with pytest.raises(BadSchema):  # in 2020-12 it is no list
        compile_schema(tuple_of)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "strnig"}, "$.type"),
        ({"properties": {"a": {"minLength": -1}}}, "$.properties.a.minLength"),
        ({"pattern": "("}, "$.pattern"),
        ({"enum": {1, 2}}, "$.enum: set is not a type of JSON"),
        ({"const": float("nan")}, "$.const: nan"),
        ({1: {}}, "the key 1 is int"),
        ("{}", "a dict or a bool, not str"),
        (None, "not NoneType"),
        ([], "not list"),
        ({"$schema": 5}, "$['$schema']"),
    ],
)
def test_what_is_no_schema(schema, reason):
    with pytest.raises(BadSchema) as caught:
        compile_schema(schema)
    assert reason in str(caught.value)


def test_schemas_that_contain_themselves_or_go_too_deep():
    loop: dict = {}
    loop["not"] = loop
    with pytest.raises(BadSchema, match="contains itself"):
        compile_schema(loop)
    deep: dict = {}
    for _ in range(3000):
        deep = {"not": deep}
    with pytest.raises(BadSchema, match="500"):
        compile_schema(deep)


REFS = [
    "http://127.0.0.1:9/schema.json",
    "https://example.com/schema.json",
    "file:///etc/passwd",
    "other.json",
    "#/$defs/absent",
    "#anchor",
    "urn:example:x",
]


@pytest.mark.parametrize("ref", REFS)
def test_nothing_is_fetched(ref, monkeypatch, tmp_path):
    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    for schema in ({"$ref": ref}, {"properties": {"a": {"$ref": ref}}}):
        compiled = compile_schema(schema)
        with pytest.raises(Undecidable, match="reference") as caught:
            compiled.problems({"a": 1})
        assert ref.removeprefix("#/").removeprefix("#").partition(":")[2][:12] in str(caught.value)


def test_a_file_that_exists_is_not_read(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text("true")
    compiled = compile_schema({"$ref": path.as_uri()})
    assert compiled.unresolved
    with pytest.raises(Undecidable, match="nothing is fetched"):
        compiled.problems(1)


def test_an_unknown_meta_schema_is_not_fetched():
    with pytest.raises(Undecidable, match=r"example\.com"):
        compile_schema({"$schema": "https://example.com/mine"}).problems(1)


def test_published_meta_schemas_are_known():
    schema = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert meets(schema, {"type": "string"}) and not meets(schema, {"type": 5})


def test_problems_say_where_and_why():
    schema = compile_schema(
        {
            "properties": {"items": {"items": {"properties": {"unit price": {"minimum": 0}}}}},
            "required": ["id"],
        }
    )
    value = {"items": [{"unit price": 1}, {"unit price": -1}]}
    assert set(schema.problems(value)) == {
        "$.items[1]['unit price']: -1 is less than the minimum of 0",
        '$: "id" is a required property',
    }


def test_the_number_and_the_length_of_problems_are_bounded():
    schema = compile_schema({"items": {"type": "integer"}})
    assert schema.problems(["x"] * 100, limit=2) == [
        '$[0]: "x" is not of type "integer"',
        '$[1]: "x" is not of type "integer"',
        "and more",
    ]
    assert len(schema.problems(["x"] * 5)) == 5
    (line,) = schema.problems(["x" * 100_000])
    assert len(line) < 600 and 'is not of type "integer"' in line


def test_formats_are_asserted_on_demand():
    schema = {"type": "string", "format": "date"}
    assert meets(schema, "2024-01-02") and meets(schema, "soon")
    assert meets(schema, "2024-01-02", check_formats=True)
    assert not meets(schema, "soon", check_formats=True)


def test_equal_schemas_are_compiled_once_and_share_a_copy():
    def schema():
        return {"type": "object", "properties": {"a": {"const": "shared"}}}

    one, other = compile_schema(schema()), compile_schema(schema())
    assert one is other
    assert one is not compile_schema(schema(), check_formats=True)
    assert compile_schema({"const": 1}) is not compile_schema({"const": True})
    assert compile_schema({"const": 1}) is not compile_schema({"const": 1.0})


def test_a_schema_that_is_changed_later():
    schema = {"properties": {"a": {"type": "string"}}}
    before = compile_schema(schema)
    schema["properties"]["a"]["type"] = "integer"
    assert before.problems({"a": 1}) and not before.problems({"a": "x"})
    assert before.schema == {"properties": {"a": {"type": "string"}}}
    assert compile_schema(schema).problems({"a": "x"})


def test_the_memory_of_schemas_is_bounded():
    oldest = compile_schema({"const": "oldest"})
    assert compile_schema(oldest.schema) is oldest
    for i in range(1000):
        compile_schema({"const": i})
    assert len(_json_schema._cache) == len(_json_schema._by_copy) == 512
    again = compile_schema(oldest.schema)
    assert again is not oldest and again.problems("oldest") == []


def test_schemas_that_are_no_plain_data():
    assert meets(freeze({"properties": {"a": {"const": (1,)}}}), {"a": [1]})


def test_many_threads():
    def work(i):
        return compile_schema({"const": i % 7}).problems(i % 7)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(500))) == [[]] * 500


# --- odd values --------------------------------------------------------------------------


def test_numbers_beyond_float():
    for text, schema, good in [
        ("1e999", {"type": "integer"}, True),
        ("1e999", {"maximum": 10}, False),
        ("-1e999", {"maximum": 10}, True),
        ('{"a": [1, 1e400]}', {"properties": {"a": {"items": {"minimum": 0}}}}, True),
        ("9" * 5000, {"type": "integer", "minimum": 5}, True),
        ("9" * 5000, {"maximum": 5}, False),
        ("1e" + "9" * 30, {"maximum": 5}, False),
    ]:
        assert (compile_schema(schema).problems(parse_json(text), text=text) == []) is good
    assert meets({"minimum": 5}, 10**5000) and not meets({"maximum": 5}, 10**5000)


def test_halves_of_surrogate_pairs():
    schema = compile_schema({"additionalProperties": {"maxLength": 1}})
    assert schema.problems({"a": "\ud800", "\udc00": "b"}) == []
    assert schema.problems({"a": "\ud800\ud800"}) != []


def test_subclasses_of_the_types_of_json():
    class Text(str):
        __slots__ = ()

    class Number(int):
        pass

    schema = compile_schema({"properties": {"a": {"const": "x"}, "b": {"const": 1}}})
    assert schema.problems({"a": Text("x"), Text("b"): Number(1)}) == []
    assert schema.problems({"a": Text("y")}) == ['$.a: "x" was expected']
    np = pytest.importorskip("numpy")
    assert schema.problems({"b": np.float64(1)}) == []


def test_frozen_values():
    assert compile_schema({"properties": {"a": {"minItems": 1}}}).problems(freeze({"a": [1]})) == []


def nested(depth):
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


def test_deep_values():
    schema = compile_schema({"type": "array", "items": {"$ref": "#"}})
    assert schema.problems(nested(499)) == []
    for depth in (501, 100_000):
        with pytest.raises(JsonTooDeep):
            schema.problems(nested(depth))


def test_a_pattern_that_does_not_end():
    schema = compile_schema({"items": {"pattern": r"^(a*)*\1$"}})
    with pytest.raises(Undecidable, match=r"\$\[0\]: a pattern"):
        schema.problems(["a" * 4000 + "!"])
    assert meets({"pattern": "^(a|a)*$"}, "b") is False


def test_decimals_of_the_slow_parser():
    assert compile_schema({"type": "integer"}).problems([Decimal(1)]) != []


def test_the_library_is_loaded_on_first_use():
    code = "import sys, giskard.checks.builtin._json_schema; print('jsonschema_rs' in sys.modules)"
    import subprocess

    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert got.stdout == "False\n"
