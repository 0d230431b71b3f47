"""ToolCallOrder and ToolCallsMatch: what they say of calls that are not as expected."""

import asyncio

import pytest
from pydantic import ValidationError

from giskard.checks import Interaction, ToolCall, ToolCallOrder, ToolCallsMatch, Trace
from giskard.checks.core import tool_calls


def call(tool, /, *, index=None, **arguments):
    noted = {"name": tool, "arguments": arguments}
    return noted if index is None else {**noted, "message_index": index}


def T(*turns, **annotations):
    return Trace(
        interactions=[Interaction(inputs="q", outputs="a", metadata={"tool_calls": calls}) for calls in turns],
        annotations=annotations,
    )


def run(check, trace):
    return asyncio.run(check.run(trace))


def status(check, trace):
    return run(check, trace).status.value


def metrics(result):
    return {metric.name: metric.value for metric in result.metrics}


# --- ToolCallOrder -----------------------------------------------------------------------

TRIP = T(
    [call("search", index=1), call("weather", index=1)],
    [call("book", index=1), call("pay", index=2)],
)


@pytest.mark.parametrize(
    ("tools", "exact", "found"),
    [
        (["search", "pay"], False, "pass"),
        (["weather", "search"], False, "pass"),
        (["search", "weather", "book", "pay"], True, "pass"),
        (["weather", "search", "book", "pay"], True, "pass"),
        (["search", "weather", "pay", "book"], True, "fail"),
        (["search", "pay"], True, "fail"),
        (["pay", "search"], False, "fail"),
        (["search", "search"], False, "fail"),
        (["delete"], False, "fail"),
        ([], True, "fail"),
    ],
)
def test_orders(tools, exact, found):
    assert status(ToolCallOrder(tools=tools, exact=exact), TRIP) == found


def test_calls_of_two_turns_have_an_order_also_with_the_same_index():
    trace = T([call("a", index=0)], [call("b", index=0)])

    assert status(ToolCallOrder(tools=["b", "a"]), trace) == "fail"
    assert status(ToolCallsMatch(expected_calls=[call("b"), call("a")]), trace) == "fail"


def test_calls_without_an_index_have_an_order():
    assert status(ToolCallOrder(tools=["b", "a"]), T([call("a"), call("b")])) == "fail"


def test_a_message_says_how_far_it_came():
    result = run(ToolCallOrder(tools=["search", "book", "search"]), TRIP)

    assert result.message == (
        "expected search, book, search; search was not called after search, book; the calls: search() in turn 1, "
        "weather() in turn 1, book() in turn 2, pay() in turn 2"
    )
    assert metrics(result) == {"in_order": 2}
    assert [found["name"] for found in result.details["found"]] == ["search", "book"]
    assert run(ToolCallOrder(tools=["a"]), T([])).message == "expected a; a was not called; no tool was called"
    assert run(ToolCallOrder(tools=[], exact=True), T([])).message == "called in this order: no call"


def test_names_from_the_trace():
    trace = TRIP.with_annotations({"tools": ["search", "pay"], "none": [], "odd": [1], "text": "search"})

    assert status(ToolCallOrder(tools_key="trace.annotations.tools"), trace) == "pass"
    for key in ("none", "odd", "text", "absent"):
        result = run(ToolCallOrder(tools_key=f"trace.annotations.{key}"), trace)
        assert result.errored and f"trace.annotations.{key}" in result.message and "tools_key" in result.message


@pytest.mark.parametrize(
    "fields",
    [{}, {"tools": []}, {"tools": ["a"], "tools_key": "trace.annotations.tools"}, {"tools": [""]}, {"tools": "a"}],
)
def test_orders_that_are_refused(fields):
    with pytest.raises(ValidationError):
        ToolCallOrder(**fields)


# --- ToolCallsMatch ----------------------------------------------------------------------

MADE = T(
    [call("search", index=1, q="x"), call("get_fee", index=1, item="card")],
    [call("book", date="2025-06-02", seats=2), call("pay"), call("pay")],
)
WANTED = [
    call("get_fee", item="card"),
    call("search", q="x"),
    call("book", date="2025-06-01", seats=2),
    call("pay"),
    call("mail", to="a"),
]
CHANGED = (
    "  changed: book(date=\"2025-06-02\", seats=2) in turn 2: arguments.date: '2025-06-02' instead of '2025-06-01'\n"
)
MISSING, UNEXPECTED = '  missing: mail(to="a")', "  unexpected: pay() in turn 2"


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("strict", f"5 calls, 5 expected: 1 changed, 1 missing, 1 unexpected\n{CHANGED}{MISSING}\n{UNEXPECTED}"),
        ("unordered", f"5 calls, 5 expected: 1 changed, 1 missing, 1 unexpected\n{CHANGED}{MISSING}\n{UNEXPECTED}"),
        ("subset", f"5 calls, 5 expected: 1 changed, 1 unexpected\n{CHANGED}{UNEXPECTED}"),
        ("superset", f"5 calls, 5 expected: 1 changed, 1 missing\n{CHANGED}{MISSING}"),
    ],
)
def test_the_difference_in_lines(mode, message):
    result = run(ToolCallsMatch(expected_calls=WANTED, mode=mode), MADE)

    assert result.failed and result.message == message
    allowed = {"unexpected"} if mode == "superset" else set()
    counted = {"matched": 3, "changed": 1, "missing": 1, "unexpected": 1}
    assert metrics(result) == {name: number for name, number in counted.items() if name not in allowed}
    assert result.details["difference"] == [line.strip() for line in message.splitlines()[1:]]
    assert len(result.details["calls"]) == len(result.details["expected_calls"]) == 5


def test_another_order():
    wanted = [WANTED[3], WANTED[3], WANTED[0], WANTED[1], call("book", date="2025-06-02", seats=2)]

    result = run(ToolCallsMatch(expected_calls=wanted), MADE)
    assert result.message == (
        '5 calls, 5 expected: 2 in another place\n  order: get_fee(item="card") in turn 1 came before pay() in turn 2'
    )
    assert status(ToolCallsMatch(expected_calls=wanted, mode="unordered"), MADE) == "pass"


@pytest.mark.parametrize(
    ("wanted", "made", "line"),
    [
        (call("f", a=1), call("f", a=2), "changed: f(a=2) in turn 1: arguments.a: 2 instead of 1"),
        (call("f", a=1), call("f", a="1"), "arguments.a: '1' instead of 1 (str and int)"),
        (call("f", a=1), call("f", a=True), "arguments.a: True instead of 1 (bool and int)"),
        (call("f", a=1, b=2), call("f", a=1), "arguments.b is missing, expected 2"),
        (call("f", a=1), call("f", a=1, b=2), "arguments.b: 2 is not expected"),
        (call("f", a={"b": [1]}), call("f", a={"b": [2]}), "arguments.a.b[0]: 2 instead of 1"),
        (call("f", **{"a b": 1}), call("f", **{"a b": 2}), "arguments['a b']: 2 instead of 1"),
        (call("f", a=1), {"name": "f", "arguments": "{"}, "arguments: '{' instead of values by name"),
        ({"name": "f", "arguments": {"a": "^x"}, "match": "regex"}, call("f", a="y"), "'y' does not match '^x'"),
    ],
)
def test_what_differs_is_named(wanted, made, line):
    result = run(ToolCallsMatch(expected_calls=[wanted]), T([made]))

    assert result.failed and result.message.startswith("1 call, 1 expected: 1 changed\n") and line in result.message


@pytest.mark.parametrize(
    ("wanted", "made"),
    [(call("f", a=1), call("g", b=2)), (call("f"), call("g")), (call("f", a=1), call("g", a=1))],
)
def test_what_has_nothing_in_common_is_not_put_side_by_side(wanted, made):
    result = run(ToolCallsMatch(expected_calls=[wanted]), T([made]))

    assert metrics(result) == {"matched": 0, "changed": 0, "missing": 1, "unexpected": 1}


def test_the_nearest_are_put_side_by_side():
    wanted = [call("f", a=1, b=1, c=1), call("f", a=2, b=2, c=2)]
    made = [call("f", a=2, b=2, c=9), call("f", a=1, b=9, c=1)]

    message = run(ToolCallsMatch(expected_calls=wanted, mode="unordered"), T(made)).message

    assert "f(a=1, b=9, c=1) in turn 1: arguments.b: 9 instead of 1\n" in message
    assert message.endswith("f(a=2, b=2, c=9) in turn 1: arguments.c: 9 instead of 2")


def test_a_call_is_for_one_expected_call_only_and_the_pairing_is_the_best():
    wide, narrow = {"name": "f", "arguments": {}}, {"name": "f", "arguments": {"a": 1}}

    for wanted in ([wide, narrow], [narrow, wide]):
        check = ToolCallsMatch(expected_calls=wanted, mode="unordered", match="subset")
        assert status(check, T([call("f", a=1), call("f", a=2)])) == "pass"
        assert status(check, T([call("f", a=2), call("f", a=1)])) == "pass"
        assert status(check, T([call("f", a=2), call("f", a=2)])) == "fail"
        assert status(check, T([call("f", a=1)])) == "fail"


def test_texts_are_compared_as_equals_does():
    wanted = [call("f", text="Caf\u00e9  au lait", n=1)]
    made = T([call("f", text=" Cafe\u0301 au\u00a0lait", n=1.0)])

    assert status(ToolCallsMatch(expected_calls=wanted), made) == "pass"
    assert status(ToolCallsMatch(expected_calls=wanted, normalization_form=None), made) == "fail"


def test_calls_may_be_expected_in_the_forms_that_they_are_noted_in():
    openai = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    recorded = {**call("f", index=3, a=1), "id": "x", "result": 3, "error": None, "answered": True}
    made = T([call("f", a=1)])

    for wanted in (openai, recorded, ToolCall(name="f", arguments={"a": 1}), {"name": "f", "kwargs": {"a": 1}}):
        assert status(ToolCallsMatch(expected_calls=[wanted]), made) == "pass", wanted
    assert status(ToolCallsMatch(expected_calls=[{"name": "f"}]), made) == "pass"
    assert status(ToolCallsMatch(expected_calls=[{"name": "f", "arguments": {}}]), made) == "fail"


def test_expected_calls_from_the_trace():
    trace = MADE.with_annotations(
        {"wanted": [{"name": "pay"}], "none": [], "text": "pay", "odd": [{"nam": "pay"}], "pattern": [3]}
    )

    def check(key, mode="superset"):
        return ToolCallsMatch(expected_calls_key=f"trace.annotations.{key}", mode=mode)

    assert status(check("wanted"), trace) == "pass"
    assert status(check("none", "strict"), trace) == "fail"
    for key in ("none", "text", "odd", "pattern", "absent"):
        result = run(check(key), trace)
        assert (
            result.errored and f"trace.annotations.{key}" in result.message and "expected_calls_key" in result.message
        )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "exactly one of expected_calls and expected_calls_key; neither given"),
        ({"expected_calls": [], "expected_calls_key": "trace.annotations.a"}, "both given"),
        ({"expected_calls": [], "mode": "superset"}, "all conversations would pass"),
        ({"expected_calls": "f"}, "valid list"),
        ({"expected_calls": ["f"]}, r"expected_calls\[0\] is str: 'f'"),
        ({"expected_calls": [{"arguments": {}}]}, r"expected_calls\[0\] has no 'name'"),
        ({"expected_calls": [{"name": "f", "argument": {}}]}, "did you mean 'arguments'"),
        ({"expected_calls": [{"name": "f", "match": "some"}]}, "expected one of 'subset'"),
        ({"expected_calls": [{"name": "f", "arguments": [1]}]}, r"arguments of expected_calls\[0\]"),
        ({"expected_calls": [{"name": "f", "arguments": {"a": "("}, "match": "regex"}]}, "not a regular expression"),
        ({"expected_calls": [{"name": "f", "arguments": {"type": "x"}}], "match": "schema"}, "not a JSON Schema"),
        ({"expected_calls": [], "mode": "some"}, "strict"),
    ],
)
def test_what_is_refused_when_built(fields, message):
    with pytest.raises(ValidationError, match=message):
        ToolCallsMatch(**fields)


def test_no_calls_expected():
    for mode in ("strict", "unordered", "subset"):
        check = ToolCallsMatch(expected_calls=[], mode=mode)
        assert status(check, T([])) == "pass"
        assert run(check, T([call("f")])).message == "1 call, 0 expected: 1 unexpected\n  unexpected: f() in turn 1"


def test_many_differences_are_cut_and_counted():
    made = [call("f", number=i, text="x" * 500) for i in range(60)]
    wanted = [call("f", number=i, text="y" * 500) for i in range(100)]

    result = run(ToolCallsMatch(expected_calls=wanted), T(made))

    assert result.message.startswith("60 calls, 100 expected: 60 changed, 40 missing\n")
    assert len(result.message.splitlines()) == 12 and result.message.endswith("  and 90 more")
    assert len(result.message) < 12_000


def test_differences_of_one_call_are_cut():
    wanted, made = call("f", **{f"a{i}": i for i in range(9)}), call("f", **{f"a{i}": -1 - i for i in range(9)})

    assert "; and 5 more" in run(ToolCallsMatch(expected_calls=[wanted]), T([made])).message


def test_large_schemas_are_paired_by_the_names_of_their_arguments():
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"enum": [1]}}, "additionalProperties": False}
    wanted = [{"name": "f", "arguments": schema, "match": "schema"}] * 110
    made = [call("f", a=1)] * 109 + [call("f", a=2)]

    result = run(ToolCallsMatch(expected_calls=wanted, mode="unordered"), T(made))

    assert "  changed: f(a=2) in turn 1: arguments.a: 2 is not one of" in result.message
    assert metrics(result) == {"matched": 109, "changed": 1, "missing": 0, "unexpected": 0}


def test_each_expected_call_may_be_compared_in_its_own_way():
    wanted = [
        call("f", a=1),
        {"name": "f", "arguments": {"properties": {"a": {"const": 2}}}, "match": "schema"},
        {"name": "f", "arguments": {"a": "3"}, "match": "regex"},
        {"name": "f", "arguments": {"b": 4}, "match": "subset"},
        {"name": "f", "arguments": True, "match": "schema"},
    ]
    made = [call("f", a=9), call("f", a=4, b=4), call("f", a=3), call("f", a=2), call("f", a=1)]

    assert status(ToolCallsMatch(expected_calls=wanted, mode="unordered"), T(made)) == "pass"
    assert status(ToolCallsMatch(expected_calls=wanted[::-1]), T(made)) == "pass"
    result = run(ToolCallsMatch(expected_calls=wanted, mode="unordered"), T(made[:-1]))
    assert metrics(result) == {"matched": 4, "changed": 0, "missing": 1, "unexpected": 0}


def test_schemas_and_arguments_that_could_not_be_read_in_large_numbers():
    wanted = [{"name": "f", "arguments": {"type": "object"}, "match": "schema"}] * 120
    made = [call("f", a=1)] * 119 + [{"name": "f", "arguments": "{"}]

    result = run(ToolCallsMatch(expected_calls=wanted, mode="unordered"), T(made))
    assert metrics(result) == {"matched": 119, "changed": 1, "missing": 0, "unexpected": 0}


def test_only_calls_of_the_same_tool_stand_side_by_side():
    wanted = [call("get_fee", item="card"), call("pay", eur=1)]
    result = run(ToolCallsMatch(expected_calls=wanted, mode="unordered"), T([call("get_rate", item="card"), wanted[1]]))

    assert result.message.splitlines()[1:] == [
        '  missing: get_fee(item="card")',
        '  unexpected: get_rate(item="card") in turn 1',
    ]


def test_calls_that_superset_allows_are_not_counted():
    check = ToolCallsMatch(expected_calls=[call("f")], mode="superset")

    for result in (run(check, T([call("f"), call("g")])), run(check, T([call("g"), call("h")]))):
        assert "unexpected" not in metrics(result) and "unexpected" not in result.message


@pytest.mark.parametrize("match", ["exact", "schema"])
def test_a_long_call_is_shown_with_the_argument_that_differs(match):
    many = {f"field_{number}": "long text " * 20 for number in range(9)}
    expected = {**many, "seats": 2} if match == "exact" else {"properties": {"seats": {"const": 2}}}
    wanted = {"name": "book", "arguments": expected, "match": match}

    message = run(ToolCallsMatch(expected_calls=[wanted]), T([call("book", **many, seats=3)])).message
    [line] = [line for line in message.splitlines() if "changed: " in line]

    assert 'book(field_0="long text long text' in line and "…, seats=3) in turn 1: arguments.seats: " in line
    assert len(line.partition(" in turn 1")[0]) < 200


@pytest.mark.parametrize(
    ("check", "turn"),
    [
        (ToolCallsMatch(expected_calls=[call("f", a=1), call("g", a=2)]), 1),
        (ToolCallsMatch(expected_calls=[call("g", a=1)]), 0),
        (ToolCallsMatch(expected_calls=[call("g", a=1), call("f", a=1)]), 0),
        (ToolCallsMatch(expected_calls=[call("f", a=1), call("g", a=1), call("h")]), None),
        (ToolCallOrder(tools=["g", "f"]), 0),
        (ToolCallOrder(tools=["f", "g", "h"]), 1),
        (ToolCallOrder(tools=["f", "h"], exact=True), 1),
        (ToolCallOrder(tools=["h"]), None),
    ],
)
def test_the_turn_of_the_call_that_is_wrong(check, turn):
    assert run(check, T([call("f", a=1)], [call("g", a=1)], [])).details.get("turn") == turn


def test_more_calls_than_can_be_compared_are_refused():
    made = T([call("f", index=0, n=n) for n in range(1001)])
    wanted = [{"name": "f", "arguments": {"n": n}} for n in range(1000, -1, -1)]
    result = run(ToolCallsMatch(expected_calls=wanted, mode="unordered"), made)
    assert result.errored and "1,001 calls and 1,001 expected ones are too many" in result.message


def test_arguments_are_read_once_for_all_that_is_expected():
    calls = [{"name": "f", "arguments": f'{{"n": {n}}}', "message_index": 0} for n in range(300)]
    wanted = [{"name": "f", "arguments": {"n": n}} for n in range(299, -1, -1)]
    with pytest.MonkeyPatch.context() as patch:
        read = []
        usual = tool_calls._arguments_in
        patch.setattr(tool_calls, "_arguments_in", lambda source: read.append(1) or usual(source))
        assert status(ToolCallsMatch(expected_calls=wanted, mode="unordered"), T(calls)) == "pass"
    assert len(read) < 300 * 8
