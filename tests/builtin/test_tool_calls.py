"""ToolCalled, ToolNotCalled, MaxToolCalls, NoRepeatedCalls and ToolErrors."""

import asyncio
import math
import time

import pytest
from pydantic import ValidationError, computed_field

from giskard.checks import (
    Check,
    Interaction,
    MaxToolCalls,
    NoRepeatedCalls,
    Not,
    TestCase,
    ToolCall,
    ToolCalled,
    ToolCallOrder,
    ToolCallsMatch,
    ToolErrors,
    ToolNotCalled,
    Trace,
)


def call(tool, /, *, error=None, result=None, index=None, **arguments):
    noted = {"name": tool, "arguments": arguments, "error": error, "result": result}
    return noted if index is None else {**noted, "message_index": index}


def T(*turns, **annotations):
    return Trace(
        interactions=[
            Interaction(inputs="q", outputs="a", metadata={} if calls is None else {"tool_calls": calls})
            for calls in turns
        ],
        annotations=annotations,
    )


def run(check, trace):
    return asyncio.run(check.run(trace))


def status(check, trace):
    return run(check, trace).status.value


def metrics(check, trace):
    return {metric.name: metric.value for metric in run(check, trace).metrics}


TALK = T(
    [call("search", q="fees"), call("get_fee", item="card", year=2025)],
    [call("book", date="2025-06-02", seats=2), call("pay", error="no money"), call("pay", result="ok")],
    None,
)

# --- what all of them share --------------------------------------------------------------


def test_the_checks_of_one_conversation_share_its_calls_and_each_gives_what_it_gives_by_itself():
    def talk():
        return T([call("search", index=1), call("search", index=1)], None, [call("pay", error="no", index=4)])

    checks = [
        ToolCalled(tool="search", times=2),
        MaxToolCalls(limit=3, per_turn=2),
        ToolNotCalled(tool="pay", failed=False),
        MaxToolCalls(tool="pay", limit=0),
        ToolCalled(tool="search", turn=2),
        ToolErrors(),
        ToolCalled(tool="pay", require_recording=True),
        NoRepeatedCalls(),
    ]
    by_itself = [run(check, talk()) for check in checks]
    assert " ".join(result.status.value for result in by_itself) == "pass pass pass fail fail fail error fail"
    shared = talk()
    assert [run(check, shared) for check in checks] == by_itself
    assert [run(check, shared) for check in checks[::-1]] == by_itself[::-1]


def test_what_a_pass_says_of_its_predicate_is_what_it_was_called_then():
    class Free:
        name = "is free"

        def __call__(self, call):
            return True

        def __repr__(self):
            return self.name

    predicate = Free()
    checks = [ToolCalled(predicate=predicate), ToolNotCalled(tool="pay", predicate=predicate)]
    case = asyncio.run(TestCase(trace=T([call("search")]), checks=checks).run())
    predicate.name = "is dear"
    assert [result.message for result in case.results] == [
        "a tool for which is free is True was called 1 time: search() in turn 1",
        "pay for which is free is True was not called; 1 call of search",
    ]


def test_a_conversation_that_goes_on_has_the_new_calls_too():
    trace = T([call("search")])
    assert metrics(MaxToolCalls(limit=9), trace) == {"calls": 1}
    longer = trace.appended(Interaction(inputs="q", outputs="a", metadata={"tool_calls": [call("pay"), call("pay")]}))
    assert metrics(MaxToolCalls(limit=9), longer) == {"calls": 3}
    assert metrics(MaxToolCalls(limit=9), trace) == {"calls": 1}
    assert metrics(MaxToolCalls(limit=9), longer.model_copy(update={"interactions": ()})) != {"calls": 3}


def test_what_is_no_call_is_told_by_each_check():
    trace = T([call("search")], [3])
    for check in (ToolCalled(tool="search"), MaxToolCalls(limit=9), ToolCalled(tool="search")):
        assert status(check, trace) == "error"
    assert status(ToolCalled(tool="search", turn=0), trace) == "pass"  # the other turn is none of its business


ALL = [
    ToolCalled(tool="search"),
    ToolNotCalled(tool="delete"),
    MaxToolCalls(limit=9),
    NoRepeatedCalls(max_repeats=1),
    ToolErrors(max_errors=1),
    ToolCallOrder(tools=["search", "pay"]),
    ToolCallsMatch(expected_calls=[{"name": "search"}], mode="superset"),
]


def kinds(checks):
    return [pytest.param(check, id=check.kind) for check in checks]


@pytest.mark.parametrize("check", kinds(ALL))
def test_without_turns_there_is_no_verdict(check):
    for trace in (Trace(), Trace(annotations={"a": 1})):
        for one in (check, Not(check=check)):
            result = run(one, trace)
            assert result.errored and result.error_kind == "missing_value" and "no turns" in result.message


@pytest.mark.parametrize("check", kinds(ALL))
@pytest.mark.parametrize("noted", ["search", [3], [{"nam": "search"}], {"name": "search"}, [{"name": "f", "id": []}]])
def test_what_is_no_call_is_an_error_that_names_the_place(check, noted):
    result = run(check, T([], noted))

    assert result.errored and result.error_kind == "bad_type"
    assert "trace.interactions[1].metadata.tool_calls" in result.message
    assert status(Not(check=check), T([], noted)) == "error"


@pytest.mark.parametrize("check", kinds(ALL))
def test_a_turn_that_says_nothing_of_tools_made_no_call_unless_it_must_be_recorded(check):
    silent, empty = T(None), T([])
    strict = check.model_copy(update={"require_recording": True})

    assert run(check, silent).status == run(check, empty).status != "error"
    assert status(strict, silent) == "error" and run(strict, silent).error_kind == "missing_value"
    assert "trace.interactions[0].metadata has no 'tool_calls'" in run(strict, silent).message
    assert run(strict, empty).status == run(check, empty).status
    assert status(strict, TALK) == "error" and "trace.interactions[2]" in run(strict, TALK).message


def test_nothing_was_called_and_the_message_says_so():
    assert run(ToolNotCalled(), T(None)).message == "no tool was called"
    assert run(ToolNotCalled(tool="pay"), T(None)).message == "pay was not called; no tool was called"
    assert run(ToolCalled(tool="pay"), T(None)).message == (
        "pay was called 0 times, expected at least 1; no tool was called"
    )


@pytest.mark.parametrize(
    ("turn", "found"), [(0, "pass"), (1, "fail"), (2, "fail"), (-1, "fail"), (-3, "pass"), (None, "pass")]
)
def test_a_turn_alone(turn, found):
    assert status(ToolCalled(tool="search", turn=turn), TALK) == found


@pytest.mark.parametrize("check", kinds(ALL))
@pytest.mark.parametrize("turn", [3, -4])
def test_a_turn_that_is_not_there(check, turn):
    result = run(check.model_copy(update={"turn": turn}), TALK)

    assert result.errored and result.error_kind == "missing_value" and f"turn={turn}" in result.message


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("trace.interactions[0].metadata.tool_calls", "pass"),
        ("trace.interactions[0].metadata.tool_calls[0]", "pass"),
        ("trace.interactions[0:2].metadata.tool_calls", "pass"),
        ("trace.interactions[1].metadata.tool_calls", "fail"),
        ("trace.tool_calls[?@.name == 'search']", "pass"),
        ("trace.tool_calls[?@.name == 'pay']", "fail"),
        ("trace.annotations.log", "pass"),
        ("trace.annotations.typo", "error"),
        ("trace.last.outputs", "error"),
        ("trace.annotations.number", "error"),
    ],
)
def test_calls_that_stand_elsewhere(key, found):
    trace = T(*[turn.metadata["tool_calls"] for turn in TALK.interactions[:2]], log=[call("search")], number=3)

    assert status(ToolCalled(tool="search", target_key=key), trace) == found


def test_calls_that_a_class_of_traces_has_of_its_own():
    class Own(Trace, frozen=True):
        @computed_field
        @property
        def tool_calls(self) -> list[ToolCall]:
            return [ToolCall(name=word) for word in self.last.outputs.split()]

    trace = Own(interactions=[Interaction(inputs="q", outputs="search pay")])
    assert status(ToolCalled(tool="search"), trace) == "pass"
    assert status(ToolCallOrder(tools=["search", "pay"], exact=True), trace) == "pass"


def test_turns_are_for_the_calls_of_turns_only():
    for options in ({"turn": 0}, {"require_recording": True}):
        with pytest.raises(ValidationError, match="target_key"):
            ToolCalled(tool="f", target_key="trace.last.outputs", **options)
    with pytest.raises(ValidationError, match="per_turn"):
        MaxToolCalls(per_turn=1, target_key="trace.last.outputs")
    for turn in (1.5, "last", True):
        with pytest.raises(ValidationError):
            ToolCalled(tool="f", turn=turn)


def is_large(call):
    return call.arguments["eur"] > 100


@pytest.mark.parametrize(
    "check",
    [
        *ALL,
        ToolCalled(tool_key="trace.annotations.tool", arguments={"a": [1, {"b": None}]}, match="exact", times=2),
        ToolCalled(arguments={"type": "object", "required": ["a"]}, match="schema", min_times=0, max_times=3),
        ToolCalled(arguments={"a": r"^\d+$"}, match="regex", predicate=is_large, failed=True, normalization_form=None),
        ToolCalled(arguments_key="trace.annotations.arguments", turn=-1, require_recording=True, name="n"),
        ToolNotCalled(arguments={"kind": "x", "$type": 1}),
        MaxToolCalls(per_turn=3, tool="f"),
        MaxToolCalls(limit=3, tool_key="trace.annotations.tool"),
        NoRepeatedCalls(ignore=["poll"], allow_after_error=True, allow_new_results=True),
        ToolErrors(max_share=0.25, target_key="trace.annotations.log"),
        ToolCallOrder(tools_key="trace.annotations.tools", exact=True),
        ToolCallsMatch(expected_calls=[{"name": "f", "arguments": {"a": 1}}, {"name": "g"}], match="subset"),
        ToolCallsMatch(expected_calls=[{"name": "f", "arguments": {"type": "object"}, "match": "schema"}]),
        ToolCallsMatch(expected_calls_key="trace.annotations.calls", mode="subset", normalization_form="NFD"),
    ],
    ids=lambda check: check.kind,
)
def test_save_and_load(check):
    for loaded in (
        Check.model_validate(check.model_dump()),
        Check.model_validate_json(check.model_dump_json()),
    ):
        assert loaded == check and type(loaded) is type(check)
        assert loaded.model_dump_json() == check.model_dump_json()


def test_a_function_without_an_import_path_cannot_be_saved():
    check = ToolCalled(predicate=lambda call: True)
    with pytest.raises(Exception, match="lambda"):
        check.model_dump_json()
    with pytest.raises(ValidationError, match="function of a call"):
        ToolCalled(predicate=3)


def test_a_predicate_by_its_import_path():
    check = ToolCalled(predicate="math:isnan")
    assert check.predicate is math.isnan


# --- ToolCalled --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"tool": "search"}, "pass"),
        ({"tool": "delete"}, "fail"),
        ({"min_times": 1}, "pass"),
        ({"arguments": {"item": "card"}}, "pass"),
        ({"tool": "get_fee", "arguments": {"item": "card"}}, "pass"),
        ({"tool": "get_fee", "arguments": {"item": "card"}, "match": "exact"}, "fail"),
        ({"tool": "get_fee", "arguments": {"item": "card", "year": 2025.0}, "match": "exact"}, "pass"),
        ({"tool": "get_fee", "arguments": {"item": "card", "year": True}}, "fail"),
        ({"tool": "get_fee", "arguments": {"item": " card\n"}}, "pass"),
        ({"tool": "get_fee", "arguments": {"item": " card\n"}, "normalization_form": None}, "fail"),
        ({"tool": "get_fee", "arguments": {"item": "loan"}}, "fail"),
        ({"tool": "get_fee", "arguments": {"other": None}}, "fail"),
        ({"tool": "pay", "arguments": {}, "match": "exact"}, "pass"),
        ({"tool": "book", "arguments": {}, "match": "exact"}, "fail"),
        ({"tool": "book", "arguments": {"date": r"^2025-\d\d-"}, "match": "regex"}, "pass"),
        ({"tool": "book", "arguments": {"seats": "^2$"}, "match": "regex"}, "pass"),
        ({"tool": "book", "arguments": {"date": "^06"}, "match": "regex"}, "fail"),
        ({"tool": "book", "arguments": {"absent": ""}, "match": "regex"}, "fail"),
        ({"tool": "book", "arguments": {"properties": {"seats": {"minimum": 2}}}, "match": "schema"}, "pass"),
        ({"tool": "book", "arguments": {"properties": {"seats": {"minimum": 3}}}, "match": "schema"}, "fail"),
        ({"tool": "book", "arguments": True, "match": "schema"}, "pass"),
        ({"tool": "book", "arguments": False, "match": "schema"}, "fail"),
        ({"tool": "pay", "times": 2}, "pass"),
        ({"tool": "pay", "times": 1}, "fail"),
        ({"tool": "delete", "times": 0}, "pass"),
        ({"tool": "pay", "min_times": 3}, "fail"),
        ({"tool": "pay", "max_times": 2}, "pass"),
        ({"tool": "pay", "max_times": 1}, "fail"),
        ({"tool": "delete", "max_times": 1}, "fail"),
        ({"tool": "delete", "max_times": 0}, "pass"),
        ({"tool": "delete", "min_times": 0}, "pass"),
        ({"tool": "pay", "failed": True, "times": 1}, "pass"),
        ({"tool": "pay", "failed": False, "times": 1}, "pass"),
        ({"tool": "search", "failed": True}, "fail"),
        ({"tool_key": "trace.annotations.tool", "arguments_key": "trace.annotations.arguments"}, "pass"),
        ({"tool_key": "trace.annotations.typo"}, "error"),
        ({"tool_key": "trace.annotations.arguments"}, "error"),
        ({"arguments_key": "trace.annotations.typo"}, "error"),
        ({"arguments_key": "trace.annotations.tool"}, "error"),
        ({"arguments_key": "trace.annotations.arguments", "match": "schema"}, "pass"),
        ({"arguments_key": "trace.annotations.arguments", "match": "regex"}, "pass"),
        ({"arguments_key": "trace.annotations.bad_pattern", "match": "regex"}, "error"),
        ({"arguments_key": "trace.annotations.bad_schema", "match": "schema"}, "error"),
    ],
)
def test_which_calls_are_meant(fields, found):
    trace = TALK.with_annotations(
        {
            "tool": "get_fee",
            "arguments": {"item": "card"},
            "bad_pattern": {"item": "("},
            "bad_schema": {"type": "no type"},
        }
    )
    assert status(ToolCalled(**fields), trace) == found
    if found != "error" and not {"times", "min_times", "max_times"} & fields.keys():
        assert status(ToolNotCalled(**fields), trace) == {"pass": "fail", "fail": "pass"}[found]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tool": ""}, "at least 1 character"),
        ({"tool": "a", "tool_key": "trace.annotations.a"}, "at most one of tool and tool_key; both given"),
        ({"arguments": {}, "arguments_key": "trace.annotations.a"}, "at most one of arguments and arguments_key"),
        ({"arguments": [1]}, "arguments with match='subset' are a dict"),
        ({"arguments": {"a": "("}, "match": "regex"}, "not a regular expression"),
        ({"arguments": {"a": 1}, "match": "regex"}, "needs a regular expression"),
        ({"arguments": {"type": "thing"}, "match": "schema"}, "not a JSON Schema"),
        ({"times": 1, "min_times": 1}, "give times, or min_times and max_times"),
        ({"min_times": 3, "max_times": 1}, "no number of calls can pass"),
        ({"times": -1}, "greater than or equal to 0"),
        ({"times": True}, "valid integer"),
        ({"match": "some"}, "subset"),
        ({"toool": "f"}, "did you mean 'tool'"),
    ],
)
def test_what_is_refused_when_built(fields, message):
    with pytest.raises(ValidationError, match=message):
        ToolCalled(**fields)


def test_predicates():
    calls = T([call("pay", eur=50), call("pay", eur=500)])

    async def slowly(call):
        await asyncio.sleep(0)
        return call.arguments["eur"] > 100

    assert metrics(ToolCalled(predicate=is_large), calls) == {"calls": 1}
    assert metrics(ToolCalled(predicate=slowly), calls) == {"calls": 1}
    assert status(ToolNotCalled(predicate=slowly), calls) == "fail"
    result = run(ToolCalled(tool="pay", predicate=is_large, times=2), calls)
    assert "for which is_large is True was called 1 time, expected exactly 2" in result.message
    for answer in (None, 1, "yes"):
        result = run(ToolCalled(predicate=lambda call, answer=answer: answer), calls)
        assert result.errored and result.error_kind == "bad_type" and repr(answer) in result.message
    with pytest.raises(KeyError):
        run(ToolCalled(predicate=lambda call: call.arguments["absent"]), calls)
    assert status(ToolCalled(tool="delete", predicate=lambda call: 1 / 0), calls) == "fail"


def test_a_predicate_cannot_change_what_others_see():
    def greedy(call):
        call.arguments["eur"] = 0
        return True

    trace = T([ToolCall(name="pay", arguments={"eur": 50})])
    assert status(ToolCalled(predicate=greedy), trace) == "pass"
    assert trace.tool_calls[0].arguments == {"eur": 50}


def test_a_fail_shows_the_nearest_calls():
    trace = T([call("book", date="2025-06-02", seats=2), call("book", date="2025-06-01", seats=3)], [call("pay")])

    result = run(ToolCalled(tool="book", arguments={"date": "2025-06-01", "seats": 4, "room": {"id": 7}}), trace)

    assert result.message == (
        "book with {'date': '2025-06-01', 'seats': 4, 'room': {'id': 7}} was called 0 times, expected at least 1; "
        'book(date="2025-06-01", seats=3) in turn 1: arguments.seats: 3 instead of 4, arguments.room is missing, '
        "expected {'id': 7}; book(date=\"2025-06-02\", seats=2) in turn 1: arguments.date: '2025-06-02' instead of "
        "'2025-06-01', arguments.seats: 2 instead of 4, arguments.room is missing, expected {'id': 7}"
    )
    assert result.details["found"] == [] and len(result.details["calls"]) == 3


def test_the_place_inside_an_argument_is_named():
    trace = T([call("f", filter={"rows": [1, 2], "on": True})])

    for wanted, said in [
        ({"filter": {"rows": [1, 3], "on": True}}, "arguments.filter.rows[1]: 2 instead of 3"),
        ({"filter": {"rows": [1, 2], "on": 1}}, "arguments.filter.on: True instead of 1 (bool and int)"),
        ({"filter": {"rows": [1, 2]}}, "arguments.filter: the key 'on' is not expected"),
    ]:
        assert said in run(ToolCalled(tool="f", arguments=wanted), trace).message


def test_arguments_that_could_not_be_read_match_nothing_but_any():
    trace = T([{"name": "f", "arguments": '{"a": '}])

    assert status(ToolCalled(tool="f"), trace) == "pass"
    assert status(ToolCalled(tool="f", arguments={}), trace) == "fail"
    assert "values by name" in run(ToolCalled(tool="f", arguments={"a": 1}), trace).message
    assert status(ToolCalled(tool="f", arguments={"type": "string"}, match="schema"), trace) == "pass"


def test_nan_and_what_cannot_be_compared():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    assert status(ToolCalled(arguments={"a": math.nan}), T([call("f", a=math.nan)])) == "fail"
    result = run(ToolCalled(arguments={"a": 1}), T([call("f", a=Odd())]))
    assert result.errored and result.error_kind == "bad_type" and "RuntimeError" in result.message


def test_a_pattern_without_end_is_an_error():
    check = ToolCalled(arguments={"a": "(a|aa)+$"}, match="regex")
    result = run(check, T([call("f", a="a" * 200 + "b")]))

    assert result.errored and result.error_kind == "timeout"


def test_a_reference_that_leads_nowhere_is_an_error():
    result = run(ToolCalled(arguments={"$ref": "https://x.example/s"}, match="schema"), T([call("f")]))

    assert result.errored and result.error_kind == "config"


def test_later_changes_of_what_was_given_do_not_reach_the_check():
    arguments = {"item": ["card"]}
    check = ToolCalled(arguments=arguments)
    arguments["item"].append("loan")

    assert status(check, T([call("f", item=["card"])])) == "pass"


def test_long_messages_are_cut():
    trace = T([call("f", text="x" * 10_000, number=i) for i in range(50)])

    for check in (ToolCalled(tool="f"), ToolCalled(tool="f", arguments={"number": -1}), ToolNotCalled(tool="f")):
        result = run(check, trace)
        assert len(result.message) < 2_000 and len(result.details["calls"]) == 50


# --- MaxToolCalls ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "found", "said"),
    [
        ({"limit": 5}, "pass", "5 calls, at most 5 were expected"),
        ({"limit": 4}, "fail", "5 calls, at most 4 were expected: search("),
        ({"limit": 0, "tool": "delete"}, "pass", "0 calls of delete, at most 0 were expected"),
        ({"limit": 1, "tool": "pay"}, "fail", "2 calls of pay, at most 1 were expected: pay()"),
        ({"per_turn": 3}, "pass", "5 calls, at most 3 in a turn"),
        ({"per_turn": 2}, "fail", "3 calls in turn 2, at most 2 were expected in a turn: book("),
        ({"limit": 5, "per_turn": 2}, "fail", "3 calls in turn 2"),
        ({"limit": 1, "per_turn": 1, "turn": 0}, "fail", "2 calls, at most 1 were expected"),
        ({"per_turn": 0, "tool": "delete"}, "pass", "0 calls of delete"),
    ],
)
def test_how_many_calls(fields, found, said):
    result = run(MaxToolCalls(**fields), TALK)

    assert result.status == found and said in result.message


def test_the_numbers_of_calls_are_metrics():
    assert metrics(MaxToolCalls(limit=1, per_turn=1), TALK) == {"calls": 5, "most_calls_in_a_turn": 3}
    assert metrics(MaxToolCalls(limit=1), T([])) == {"calls": 0}
    assert metrics(MaxToolCalls(per_turn=1), T([])) == {"calls": 0, "most_calls_in_a_turn": 0}
    with pytest.raises(ValidationError, match="give limit"):
        MaxToolCalls()
    for limit in (-1, 1.5, True):
        with pytest.raises(ValidationError):
            MaxToolCalls(limit=limit)


# --- NoRepeatedCalls ---------------------------------------------------------------------

AGAIN = T(
    [call("get", a=1, result=1), call("get", a=1.0, error="down"), call("get", a=True)],
    [call("get", a=1, result=1), call("poll"), call("poll")],
)


@pytest.mark.parametrize(
    ("fields", "found", "repeats"),
    [
        ({}, "fail", 2),
        ({"max_repeats": 1}, "fail", 2),
        ({"max_repeats": 2}, "pass", 2),
        ({"ignore": ["get"]}, "fail", 1),
        ({"ignore": ["get", "poll"]}, "pass", 0),
        ({"tool": "get"}, "fail", 2),
        ({"tool": "poll", "max_repeats": 1}, "pass", 1),
        ({"tool": "get", "allow_after_error": True}, "fail", 1),
        ({"tool": "get", "allow_new_results": True}, "pass", 0),
        ({"tool": "poll", "allow_new_results": True}, "fail", 1),
        ({"turn": 0, "tool": "get"}, "fail", 1),
    ],
)
def test_the_same_call_again(fields, found, repeats):
    result = run(NoRepeatedCalls(**fields), AGAIN)

    assert result.status == found
    assert result.details["repeats"] == repeats == result.metrics[0].value


def test_a_repeated_call_is_named():
    assert (
        run(NoRepeatedCalls(), AGAIN).message
        == "get(a=1) was called 3 times (turns 1, 2); poll() was called 2 times (turn 2)"
    )
    assert (
        run(NoRepeatedCalls(max_repeats=2), AGAIN).message == "a call came again 2 times, at most 2 times were allowed"
    )
    assert run(NoRepeatedCalls(), T([call("f", a=1), call("f", a=2)])).message == "2 calls, none of them repeated"
    assert status(NoRepeatedCalls(), T([call("f", a="x "), call("f", a="x")])) == "fail"
    assert status(NoRepeatedCalls(normalization_form=None), T([call("f", a="x "), call("f", a="x")])) == "pass"


# --- ToolErrors --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, "fail"),
        ({"max_errors": 1}, "pass"),
        ({"max_share": 0.2}, "pass"),
        ({"max_share": 0.19}, "fail"),
        ({"max_errors": 1, "max_share": 0.1}, "fail"),
        ({"tool": "search"}, "pass"),
        ({"tool": "pay", "max_share": 0.5}, "pass"),
        ({"turn": 0}, "pass"),
    ],
)
def test_calls_that_failed(fields, found):
    assert status(ToolErrors(**fields), TALK) == found


def test_errors_are_told_with_their_numbers():
    result = run(ToolErrors(), TALK)

    assert result.message == "1 of 5 calls failed, at most 0 may fail: pay() in turn 2: 'no money'"
    assert metrics(ToolErrors(), TALK) == {"errors": 1, "error_share": 0.2}
    assert metrics(ToolErrors(), T(None)) == {"errors": 0}
    assert run(ToolErrors(), T(None)).message == "0 of 0 calls failed"
    assert "at most 10.0% may fail, and 20.0% did" in run(ToolErrors(max_share=0.1), TALK).message
    with pytest.raises(ValidationError):
        ToolErrors(max_share=1.5)


# --- odd arguments -----------------------------------------------------------------------


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def test_deep_arguments_are_compared_and_too_deep_for_a_schema():
    trace = T([call("f", a=deep(2_000))])

    assert status(ToolCalled(arguments={"a": deep(2_000)}), trace) == "pass"
    assert status(ToolCalled(arguments={"a": deep(2_001)}), trace) == "fail"
    result = run(ToolCalled(arguments={"type": "object"}, match="schema"), trace)
    assert result.errored and result.error_kind == "config" and "deeper" in result.message


def test_what_is_no_json_meets_no_schema():
    for value, said in [({1, 2}, "set is not a type of JSON"), (math.nan, "arguments.a[0]: ")]:
        trace = T([call("f", a=[value])])
        result = run(ToolCalled(tool="f", arguments={"required": ["a"]}, match="schema"), trace)
        assert result.failed and said in result.message
        many = ToolCallsMatch(expected_calls=[{"name": "f", "arguments": True}] * 101, match="schema", mode="unordered")
        assert status(many, T([call("f", a=[value])] * 101)) == "fail"
    half = T([call("f", a="\ud800")])
    assert status(ToolCalled(arguments={"properties": {"a": {"maxLength": 1}}}, match="schema"), half) == "pass"
    assert status(ToolCalled(arguments={"properties": {"a": {"maxLength": 0}}}, match="schema"), half) == "fail"


def test_results_that_cannot_be_compared_are_the_same_for_nobody():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    again = T([call("f", a=1, result=Odd()), call("f", a=1, result=Odd())])
    assert status(NoRepeatedCalls(allow_new_results=True), again) == "fail"
    result = run(NoRepeatedCalls(), T([call("f", a=Odd()), call("f", a=Odd())]))
    assert result.errored and result.error_kind == "bad_type"


def test_many_repeated_calls_are_counted():
    result = run(NoRepeatedCalls(), T([call("f", a=i % 6) for i in range(12)]))

    assert result.message.endswith("f(a=2) was called 2 times (turn 1); and 3 more calls")
    assert "a call may come again 1 time" in run(NoRepeatedCalls(max_repeats=1), T([call("f")] * 3)).message


def test_many_near_misses_are_counted():
    result = run(ToolCalled(tool="f", arguments={"a": -1}), T([call("f", a=i) for i in range(5)]))

    assert result.message.endswith("; and 2 more calls of it")


@pytest.mark.parametrize("fields", [{}, {"turn": 0}, {"match": "regex"}])
def test_a_check_that_does_not_say_which_call_is_refused(fields):
    with pytest.raises(ValidationError, match=r"say which call is meant: tool=\.\.\.; or how many"):
        ToolCalled(**fields)
    with pytest.raises(ValidationError, match=r"name='pay' is what reports call the check; say .*: tool='pay'"):
        ToolCalled(name="pay", **fields)


def test_a_number_of_calls_of_any_tool_can_be_asked_for_and_that_there_is_none():
    one, none = T([call("pay")]), T([])

    for check in (ToolCalled(times=1), ToolCalled(min_times=1), ToolCalled(max_times=1), ToolCalled(failed=False)):
        assert status(check, one) == "pass"
    assert status(ToolCalled(min_times=1), none) == "fail"
    assert (status(ToolNotCalled(), none), status(ToolNotCalled(), one)) == ("pass", "fail")


TURNS = T([call("f", a=1)], [call("g", a=1), call("g", a=1), call("h", error="lost")], [call("f", a=1)], [])


@pytest.mark.parametrize(
    ("check", "turn"),
    [
        (ToolCalled(tool="f", arguments={"a": 2}), 0),
        (ToolCalled(tool="g", arguments={"a": 2}), 1),
        (ToolCalled(tool="f", max_times=1), 2),
        (ToolCalled(tool="g", times=3), 1),
        (ToolCalled(tool="none"), None),
        (ToolNotCalled(tool="h"), 1),
        (MaxToolCalls(limit=4), 2),
        (MaxToolCalls(per_turn=2), 1),
        (MaxToolCalls(limit=0, tool="g"), 1),
        (NoRepeatedCalls(tool="f"), 2),
        (NoRepeatedCalls(tool="g"), 1),
        (ToolErrors(), 1),
    ],
)
def test_a_failure_tells_the_turn_of_the_call_that_is_wrong(check, turn):
    result = run(check, TURNS)

    assert result.failed and result.details.get("turn") == turn
    assert "turn" not in run(Not(check=ToolNotCalled(tool="none")), TURNS).details


def test_the_repeat_that_was_one_too_many_is_told():
    trace = T([call("f", error="x")], [call("f")], [call("f")], [call("f")])

    assert run(NoRepeatedCalls(max_repeats=1, allow_after_error=True), trace).details["turn"] == 3
    assert run(NoRepeatedCalls(max_repeats=2), trace).details["turn"] == 3


def test_the_turn_of_calls_that_stand_elsewhere_is_not_known():
    check = ToolNotCalled(tool="f", target_key="trace.annotations.calls")

    assert "turn" not in run(check, T([], calls=[call("f")])).details


# --- many calls --------------------------------------------------------------------------


def test_many_different_calls_are_looked_up_and_not_compared_in_pairs():
    trace = T([call("search", q=f"q{n}", at=[n, {"a": None}]) for n in range(5000)])
    began = time.process_time()
    assert status(NoRepeatedCalls(), trace) == "pass"
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, 0, False),
        ("ﬁ", "fi", True),
        ([1, {"a": "ﬁ"}], [1.0, {"a": "fi"}], True),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": [True]}, {"a": [1]}, False),
        (math.nan, 1, False),
        ({1}, {1.0}, True),
    ],
)
def test_calls_are_the_same_when_their_arguments_are_equal(one, other, same):
    for first, second in ((one, other), (other, one)):
        trace = T([call("f", x=first), call("f", x="else"), call("f", x=second)])
        assert status(NoRepeatedCalls(), trace) == ("fail" if same else "pass")


# --- results that are not recorded, failures without a flag ------------------------------


def test_calls_without_a_recorded_result_are_named():
    silent = {**call("pay"), "answered": False}
    result = run(ToolErrors(), T([call("a", result=1), silent, {**silent, "step": 1}]))
    assert result.passed and result.message == "0 of 3 calls failed (2 calls have no recorded result)"
    for calls in ([silent], [silent, {**silent, "step": 1}]):
        result = run(ToolErrors(), T(calls))
        assert result.errored and result.error_kind == "missing_value"
    result = run(ToolErrors(tool="pay"), T([call("a", result=1), silent]))
    assert result.message == "1 call has no recorded result: whether they failed is not known"
    assert status(ToolErrors(), T([{**silent, "error": "no"}])) == "fail"
    result = run(ToolErrors(), T([{"name": "f", "arguments": "{oops", "result": 1}]))
    assert result.message == "0 of 1 call failed (1 call has arguments that cannot be read)"


def test_error_pattern():
    trace = T([call("f", result="Error: no"), call("f", result={"ok": False}), call("f", result=None), call("f")])
    assert status(ToolErrors(), trace) == "pass"
    result = run(ToolErrors(error_pattern=r'^Error|"ok": ?false'), trace)
    assert result.failed and "2 of 4 calls failed" in result.message and "'Error: no'" in result.message
    assert [one["result"] for one in result.details["errors"]] == ["Error: no", {"ok": False}]
    with pytest.raises(ValidationError, match="not a regular expression"):
        ToolErrors(error_pattern="(")
    result = run(ToolErrors(error_pattern=r"(a|a)*(a|b|ab)*c(?=d)$"), T([call("f", result="ab" * 5000)]))
    assert result.status.value in ("pass", "error")


def test_arguments_that_cannot_be_read_are_no_proof():
    trace = T([{"name": "pay", "arguments": '{"eur": 5'}])
    for match, wanted in (("subset", {"eur": 5}), ("exact", {"eur": 5}), ("regex", {"eur": "5"})):
        result = run(ToolNotCalled(tool="pay", arguments=wanted, match=match), trace)
        assert result.errored and result.error_kind == "bad_type" and "cannot be told" in result.message
        assert status(ToolCalled(tool="pay", arguments=wanted, match=match), trace) == "fail"
    assert status(ToolNotCalled(tool="pay"), trace) == "fail"
    assert status(ToolNotCalled(tool="search", arguments={"eur": 5}), trace) == "pass"
    assert status(ToolNotCalled(tool="pay", arguments={"eur": 5}, failed=True), trace) == "pass"
    both = T([{"name": "pay", "arguments": "{"}, call("pay", eur=5)])
    assert status(ToolNotCalled(tool="pay", arguments={"eur": 5}), both) == "fail"


def test_a_predicate_may_return_a_bool_of_numpy():
    numpy = pytest.importorskip("numpy")
    assert status(ToolCalled(tool="pay", predicate=lambda made: numpy.True_), TALK) == "pass"
    assert status(ToolCalled(tool="pay", predicate=lambda made: numpy.False_), TALK) == "fail"
    assert status(ToolCalled(tool="pay", predicate=lambda made: numpy.int64(1)), TALK) == "error"
