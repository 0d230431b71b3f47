"""Messages become turns: what opens one, what is its answer, and which call a result belongs to."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.importers._conversation import Call, Message, Result, to_trace
from giskard.checks.importers.base import ReadOptions
from giskard.checks.utils.frozen import FrozenDict, FrozenList


def made(*messages, annotations=None, **options):
    return to_trace(messages, annotations or {}, ReadOptions(**options))


def turns(*messages, **options):
    return made(*messages, **options).interactions


def only(*messages, **options):
    (turn,) = turns(*messages, **options)
    return turn


def user(text, **more):
    return Message("user", text, **more)


def said(text=None, *calls, **more):
    return Message("assistant", text, list(calls), **more)


def gave(*results):
    return Message("tool", results=list(results))


def call(name="get_fee", id=None, **arguments):
    return Call(name, arguments, id)


# --- turns ---------------------------------------------------------------------------


def test_a_turn_begins_at_each_message_of_the_user():
    first, second = turns(user("a"), said("b"), user("c"), said("d"))
    assert (first.inputs, first.outputs) == ("a", "b")
    assert (second.inputs, second.outputs) == ("c", "d")
    assert "incomplete" not in first.metadata
    assert first.metadata["tool_calls"] == []


def test_messages_of_the_user_that_follow_each_other_are_one():
    turn = only(user("a"), user("b"), said("c"))
    assert turn.inputs == "a\n\nb"
    assert [message["content"] for message in turn.metadata["messages"]] == ["a", "b", "c"]


def test_messages_that_are_more_than_text_are_joined_as_parts():
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    turn = only(user("a"), user([image]), said("c"))
    assert turn.inputs == [{"type": "text", "text": "a"}, image]


def test_parts_that_are_all_text_are_a_text():
    parts = [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}]
    turn = only(user(parts), said([{"type": "output_text", "text": "c"}, {"text": "d"}]))
    assert turn.inputs == "a\n\nb"  # two things that were sent
    assert turn.outputs == "cd"  # one thing that was said, wherever it was cut


def test_a_part_of_an_odd_kind_is_kept_as_it_is():
    parts = [{"type": ["text"], "text": "a"}, 3, None, {"type": "text", "text": 5}]
    assert only(user(parts)).inputs == parts


def test_no_parts_are_no_content():
    turn = only(user("a"), said([]))
    assert turn.outputs is None
    assert turn.metadata["incomplete"] is True


def test_what_the_assistant_says_first_is_a_turn_without_inputs():
    first, second = turns(said("Hello."), user("a"), said("b"))
    assert (first.inputs, first.outputs) == (None, "Hello.")
    assert (second.inputs, second.outputs) == ("a", "b")


def test_a_structured_answer_is_the_answer():
    assert only(user("a"), said({"fee": 0})).outputs == {"fee": 0}


def test_no_messages_make_no_turns():
    assert list(turns()) == []


# --- answers -------------------------------------------------------------------------


def test_the_answer_is_the_last_thing_said():
    turn = only(user("a"), said("Let me see.", call(id="1")), gave(Result("{}", "1")), said("Free."))
    assert turn.outputs == "Free."
    assert turn.metadata["intermediate"] == [{"message_index": 1, "text": "Let me see."}]


def test_two_answers_without_a_call_between_them():
    turn = only(user("a"), said("One moment."), said("Free."))
    assert turn.outputs == "Free."
    assert turn.metadata["intermediate"] == [{"message_index": 1, "text": "One moment."}]


def test_what_was_said_before_may_be_more_than_text():
    parts = [{"type": "image", "data": "…"}]
    turn = only(user("a"), said(parts), said("Free."))
    assert turn.metadata["intermediate"] == [{"message_index": 1, "content": parts}]


@pytest.mark.parametrize(
    "rest",
    [
        [],
        [said(None, call(id="1"))],
        [said(None, call(id="1")), gave(Result("{}", "1"))],
        [said("Let me see.", call(id="1"))],
        [said("Done."), gave(Result("late"))],
        [said(None)],
    ],
    ids=["no reply", "a call", "a result", "a text with a call", "a result after the text", "nothing said"],
)
def test_a_turn_that_does_not_end_in_an_answer_is_incomplete(rest):
    turn = only(user("a"), *rest)
    assert turn.outputs is None
    assert turn.metadata["incomplete"] is True


def test_an_empty_answer_is_an_answer():
    turn = only(user("a"), said(""))
    assert turn.outputs == ""
    assert "incomplete" not in turn.metadata


def test_the_empty_text_beside_a_call_was_not_said():
    turn = only(user("a"), said("", call(id="1")), gave(Result("{}", "1")), said("Free."))
    assert "intermediate" not in turn.metadata
    assert "content" not in turn.metadata["messages"][1]


def test_a_message_that_says_nothing_does_not_unsay_the_answer():
    turn = only(user("a"), said("Free."), said(None, reasoning=["hm"], usage={"output_tokens": 3}))
    assert turn.outputs == "Free."
    assert turn.metadata["reasoning"] == ["hm"]
    assert turn.metadata["usage"] == {"output_tokens": 3}


def test_what_is_only_noted_begins_no_turn():
    note, spent = Message("tool", metadata={"notes": ["n"]}, raw=1), said(None, usage={"output_tokens": 3}, raw=2)
    turn = only(note, spent, user("x"), note, user("y"), said("z"), keep_raw=True)
    assert (turn.inputs, turn.outputs) == ("x\n\ny", "z")
    assert turn.metadata["notes"] == ["n", "n"]
    assert turn.metadata["usage"] == {"output_tokens": 3}
    assert turn.metadata["raw"] == [1, 2, 1]
    assert list(turns(note)) == []
    assert [turn.inputs for turn in turns(user("x"), said(None, reasoning=["hm"]), user("y"))] == ["x", "y"]


def test_an_assistant_that_says_nothing_at_all_is_a_turn():
    turn = only(said(None, finish_reason="content_filter"))
    assert (turn.inputs, turn.outputs, turn.metadata["finish_reason"]) == (None, None, "content_filter")


def test_a_call_that_holds_its_result_comes_before_the_text_of_its_message():
    done = Call("search", {"q": "fee"}, "1", result='["a"]', has_result=True)
    turn = only(user("a"), said("Free.", done))
    assert turn.outputs == "Free."
    assert turn.metadata["tool_calls"][0]["result"] == ["a"]
    assert [message["role"] for message in turn.metadata["messages"]] == ["user", "assistant", "tool", "assistant"]


def test_calls_of_which_one_waits_for_its_result_end_the_turn():
    done = Call("search", {}, "1", result="x", has_result=True)
    turn = only(user("a"), said("Free?", done, call(id="2")))
    assert turn.outputs is None
    assert [("answered" in entry) for entry in turn.metadata["tool_calls"]] == [False, True]


# --- the system ----------------------------------------------------------------------


def test_what_the_system_says_first_is_the_prompt():
    trace = made(Message("system", "Be kind."), user("a"), said("b"), annotations={"source": {"format": "x"}})
    assert trace.annotations == {"system_prompt": "Be kind.", "source": {"format": "x"}}
    assert next(iter(trace.annotations)) == "system_prompt"


def test_prompts_that_follow_each_other_are_joined_and_repeated_ones_are_not():
    trace = made(Message("system", "a"), Message("system", "b"), Message("system", "a\n\nb"), user("c"))
    assert trace.annotations["system_prompt"] == "a\n\nb"


def test_a_prompt_that_the_format_knows_comes_first():
    trace = made(Message("system", "b"), user("c"), annotations={"system_prompt": "a"})
    assert trace.annotations["system_prompt"] == "a\n\nb"


def test_what_the_system_says_later_stays_where_it_was():
    trace = made(Message("system", "a"), user("b"), Message("system", "a"), Message("system", "hurry"), said("c"))
    (turn,) = trace.interactions
    assert trace.annotations["system_prompt"] == "a"
    assert turn.metadata["messages"] == [
        {"role": "user", "content": "b"},
        {"role": "system", "content": "hurry"},
        {"role": "assistant", "content": "c"},
    ]


def test_the_only_prompt_is_one_wherever_it_stands():
    assert made(user("b"), Message("system", "a"), said("c")).annotations == {"system_prompt": "a"}


def test_annotations_that_are_none_are_left_out():
    assert made(user("b"), annotations={"tools": None, "labels": {}}).annotations == {"labels": {}}


# --- which call a result belongs to --------------------------------------------------


def results_of(*messages):
    return [(entry["id"], entry["result"]) for turn in turns(*messages) for entry in turn.metadata["tool_calls"]]


def test_a_result_belongs_to_the_call_of_its_id():
    calls = said(None, call("a", "1"), call("b", "2"))
    assert results_of(calls, gave(Result("two", "2"), Result("one", "1"))) == [("1", "one"), ("2", "two")]


def test_ids_that_repeat_are_answered_in_order():
    turn = [said(None, call("a", "1"), call("a", "1")), gave(Result("one", "1"), Result("two", "1"))]
    assert results_of(*turn) == [("1", "one"), ("1", "two")]
    again = [user("x"), said(None, call("a", "1")), gave(Result("one", "1"))] * 2
    assert results_of(*again) == [("1", "one"), ("1", "one")]


def test_a_result_without_an_id_belongs_to_the_call_of_its_name():
    calls = said(None, call("a", "1"), call("b", "2"))
    assert results_of(calls, gave(Result("two", name="b"), Result("one", name="a"))) == [("1", "one"), ("2", "two")]


def test_a_result_without_id_and_name_belongs_to_the_next_call():
    calls = said(None, call("a", "1"), call("b", "2"))
    assert results_of(calls, gave(Result("one"), Result("two"))) == [("1", "one"), ("2", "two")]


def test_ids_come_before_names_and_names_before_positions():
    calls = said(None, call("a", "1"), call("b", "2"), call("a", "3"))
    results = gave(Result("nameless"), Result("named", name="a"), Result("exact", "1"))
    assert results_of(calls, results) == [("1", "exact"), ("2", "nameless"), ("3", "named")]


def test_ids_of_another_kind_tell_nothing():
    assert results_of(said(None, call("a", "fc_1")), gave(Result("one", "call_1"))) == [("fc_1", "one")]


def test_a_result_of_an_unknown_id_belongs_to_the_call_that_waits():
    turn = only(user("x"), said(None, call("a", "1"), call("b", "2")), gave(Result("two", "9"), Result("one", "1")))
    assert [entry["result"] for entry in turn.metadata["tool_calls"]] == ["one", "two"]
    assert "orphan_results" not in turn.metadata


def test_a_result_answers_no_call_of_another_name():
    turn = only(user("x"), said(None, call("a", "1")), gave(Result("?", name="b")))
    assert turn.metadata["tool_calls"][0]["answered"] is False
    assert turn.metadata["orphan_results"][0]["name"] == "b"


def test_a_result_answers_no_call_that_came_after_it():
    turn = only(user("x"), gave(Result("early", "1")), said(None, call("a", "1")))
    assert turn.metadata["tool_calls"][0]["answered"] is False
    assert turn.metadata["orphan_results"] == [{"id": "1", "result": "early", "error": None, "message_index": 1}]


def test_a_result_belongs_to_a_call_of_its_own_turn():
    first, second = turns(user("x"), said(None, call("a", "1")), user("y"), gave(Result("late", "1")), said("z"))
    assert first.metadata["tool_calls"][0]["answered"] is False
    assert second.metadata["orphan_results"] == [{"id": "1", "result": "late", "error": None, "message_index": 3}]


def test_the_results_of_a_user_message_belong_to_the_turn_before_it():
    mixed = Message("user", "And now?", results=[Result("free", "1")])
    first, second = turns(user("x"), said(None, call("a", "1")), mixed, said("z"))
    assert first.metadata["tool_calls"][0]["result"] == "free"
    assert (second.inputs, second.outputs) == ("And now?", "z")


def test_results_alone_begin_no_turn():
    turn = only(user("x"), said(None, call("a", "1")), Message("user", results=[Result("free", "1")]), said("z"))
    assert (turn.inputs, turn.outputs) == ("x", "z")


def test_the_content_of_a_tool_message_is_a_result():
    turn = only(user("x"), said(None, call("a", "1")), Message("tool", "free", name="a"), said("z"))
    assert turn.metadata["tool_calls"][0]["result"] == "free"


def test_many_results_without_ids_are_paired_in_time():
    calls = [call("a", None) for _ in range(3000)]
    turn = only(user("x"), said(None, *calls), gave(*[Result(str(n), name="a") for n in range(3000)]))
    assert [entry["result"] for entry in turn.metadata["tool_calls"]] == list(range(3000))


# --- arguments and results -----------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        ("", {}),
        (" \n", {}),
        (None, None),
        (json.dumps('{"a": 1}'), {"a": 1}),
    ],
)
def test_arguments_are_an_object(given, arguments):
    entry = only(said(None, Call("f", given))).metadata["tool_calls"][0]
    assert entry["arguments"] == arguments
    assert "arguments_error" not in entry


@pytest.mark.parametrize(("given", "kept"), [('{"a": 1', '{"a": 1'), ("[1]", [1]), ("3", 3), ('"word"', '"word"')])
def test_arguments_that_cannot_be_read_are_kept_and_it_is_said_why(given, kept):
    entry = only(said(None, Call("f", given))).metadata["tool_calls"][0]
    assert entry["arguments"] == kept
    assert entry["arguments_error"]


def test_a_format_may_say_itself_what_is_wrong_with_arguments():
    entry = only(said(None, Call("f", "x", arguments_error="cut off"))).metadata["tool_calls"][0]
    assert (entry["arguments"], entry["arguments_error"]) == ("x", "cut off")


@pytest.mark.parametrize(
    ("content", "result"),
    [
        ('{"fee": 0.0}', {"fee": 0.0}),
        ("[1]", [1]),
        ("12", 12),
        ("true", True),
        ("null", None),
        ("Free of charge", "Free of charge"),
        ("{not JSON", "{not JSON"),
        ("007", "007"),
        ("", ""),
        (None, None),
        ({"a": "1"}, {"a": "1"}),
        (" 1", 1),
    ],
)
def test_results_are_read_as_json_where_they_are_some(content, result):
    turn = only(said(None, call("f", "1")), gave(Result(content, "1")))
    entry = turn.metadata["tool_calls"][0]
    assert entry["result"] == result
    assert entry["error"] is None
    assert "answered" not in entry
    assert turn.metadata["messages"][-1]["content"] == result


@pytest.mark.parametrize(
    ("result", "value", "error"),
    [
        (Result("no such card", "1", error=True), None, "no such card"),
        (Result('{"code": 404}', "1", error=True), None, '{"code": 404}'),
        (Result({"code": 404}, "1", error=True), {"code": 404}, '{"code": 404}'),
        (Result([{"type": "text", "text": "no card"}], "1", error=True), None, "no card"),
        (Result("half", "1", error="timeout"), "half", "timeout"),
        (Result(None, "1", error=True), None, "the tool failed; no text of it was recorded"),
        (Result("fine", "1", error=False), "fine", None),
        (Result("fine", "1", error=""), "fine", None),
    ],
)
def test_what_failed_has_an_error(result, value, error):
    turn = only(said(None, call("f", "1")), gave(result))
    entry = turn.metadata["tool_calls"][0]
    assert (entry["result"], entry["error"]) == (value, error)


def test_calls_of_one_message_share_its_index():
    turn = only(user("x"), said(None, call("a", "1"), call("b", "2")), said(None, call("c", "3")))
    assert [entry["message_index"] for entry in turn.metadata["tool_calls"]] == [1, 1, 2]


def test_a_format_may_count_its_messages_itself():
    turn = only(user("x"), said("Wait.", call("a", "1"), index=7), gave(Result("free", "1")))
    assert turn.metadata["tool_calls"][0]["message_index"] == 7
    assert turn.metadata["intermediate"][0]["message_index"] == 7


def test_what_is_known_of_a_call_is_kept_and_the_rest_is_missing():
    known = Call("a", {}, "1", agent="clerk", started_at="2025-01-01T00:00:00Z", latency_ms=5)
    timed = said(None, call("b", "2"), name="boss")
    turn = only(said(None, known), timed, gave(Result("x", "1", latency_ms=9), Result("y", "2", latency_ms=9)))
    first, second = turn.metadata["tool_calls"]
    assert first == {
        **{"id": "1", "name": "a", "arguments": {}, "result": "x", "error": None, "message_index": 0},
        **{"latency_ms": 5, "agent": "clerk", "started_at": "2025-01-01T00:00:00Z"},
    }
    assert second["agent"] == "boss"
    assert second["latency_ms"] == 9


# --- what else is known --------------------------------------------------------------


def test_messages_are_kept_in_order():
    turn = only(user("x"), said("Wait.", call("a", "1", q=1)), gave(Result("[2]", "1")), said("z", name="clerk"))
    assert turn.metadata["messages"] == [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "Wait.", "tool_calls": [{"id": "1", "name": "a", "arguments": {"q": 1}}]},
        {"role": "tool", "id": "1", "name": "a", "content": [2]},
        {"role": "assistant", "name": "clerk", "content": "z"},
    ]


def test_figures_are_summed_over_the_turn():
    turn = only(
        user("x", timestamp="t0"),
        said(None, call("a"), usage={"input_tokens": 1, "output_tokens": 2, "cached_tokens": None}, latency_ms=10),
        gave(Result("x")),
        said(
            "z",
            usage={"input_tokens": 4, "note": "x", "flag": True},
            latency_ms=5,
            ttft_ms=3,
            cost_usd=0.5,
            model="m",
            finish_reason="stop",
            timestamp="t1",
        ),
    )
    known = {key: value for key, value in turn.metadata.items() if key not in ("messages", "tool_calls")}
    assert known == {
        **{"usage": {"input_tokens": 5, "output_tokens": 2}, "latency_ms": 15, "ttft_ms": 3, "cost_usd": 0.5},
        **{"model": "m", "finish_reason": "stop", "timestamp": "t0"},
    }


def test_thoughts_labels_refusals_and_the_rest_are_merged():
    turn = only(
        user("x", labels={"tone": "rude"}),
        said(None, call("a"), reasoning=["one"], metadata={"retrieved": [1], "stage": "a", "latency_ms": 7}),
        said("No.", reasoning=["two"], refusal=True, labels={"ok": False}, metadata={"retrieved": [2], "stage": "b"}),
    )
    assert turn.metadata["reasoning"] == ["one", "two"]
    assert turn.metadata["refusal"] is True
    assert turn.metadata["labels"] == {"tone": "rude", "ok": False}
    assert turn.metadata["retrieved"] == [1, 2]
    assert turn.metadata["stage"] == "b"
    assert turn.metadata["latency_ms"] == 7


def test_metadata_cannot_take_the_place_of_what_was_recorded():
    odd = {"messages": 1, "tool_calls": 2, "usage": 3, "reasoning": 4, "labels": 5, "incomplete": None}
    turn = only(user("x"), said("y", call("a"), metadata=odd, usage={"input_tokens": 1}, reasoning=["r"]))
    assert len(turn.metadata["messages"]) == 2
    assert turn.metadata["usage"] == {"input_tokens": 1}
    assert turn.metadata["reasoning"] == ["r"]
    assert turn.metadata["labels"] == 5
    assert turn.metadata["incomplete"] is True


def test_messages_as_they_were_recorded_are_kept_when_asked_for():
    messages = [
        Message("system", "s", raw={"n": 0}),
        user("x", raw={"n": 1}),
        said("y", raw={"n": 2}),
        user("z", raw=3),
    ]
    first, second = turns(*messages, keep_raw=True)
    assert first.metadata["raw"] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert second.metadata["raw"] == [3]
    assert all("raw" not in turn.metadata for turn in turns(*messages))


# --- stop markers --------------------------------------------------------------------


STOP = "###STOP###"


def test_a_message_that_only_hangs_up_is_left_out():
    turn = only(user("x"), said("y"), user(STOP), stop_markers=(STOP,))
    assert (turn.inputs, turn.outputs) == ("x", "y")
    assert "incomplete" not in turn.metadata


def test_a_marker_is_taken_out_of_a_message():
    assert turns(user("x"), said("y"), user(f"Thanks! {STOP}"), stop_markers=(STOP,))[1].inputs == "Thanks!"
    parts = [{"type": "text", "text": STOP}, {"type": "text", "text": f"Bye {STOP}"}, {"type": "image"}]
    assert only(user(parts[:1]), user("x"), stop_markers=(STOP,)).inputs == "x"
    assert only(user(parts), stop_markers=(STOP, "")).inputs == [{"type": "text", "text": "Bye"}, {"type": "image"}]


def test_markers_are_kept_unless_they_are_named():
    assert turns(user("x"), said("y"), user(STOP))[1].inputs == STOP
    assert only(said(STOP), stop_markers=(STOP,)).outputs == STOP
    assert only(user("  x "), stop_markers=(STOP,)).inputs == "  x "


# --- what was recorded cannot be changed ---------------------------------------------


def test_nothing_of_it_is_shared_with_what_was_given():
    parts, arguments, content, raw = [{"type": "image"}], {"a": [1]}, {"b": [2]}, {"c": [3]}
    annotations = {"tools": [{"name": "f"}]}
    messages = [user(parts, raw=raw, labels=raw), said(None, Call("f", arguments, "1")), gave(Result(content, "1"))]
    trace = made(*messages, annotations=annotations, keep_raw=True)
    before = trace.model_dump_json()
    for value in (parts[0], arguments["a"], content["b"], raw["c"], annotations["tools"][0]):
        value.clear()
    assert trace.model_dump_json() == before
    turn = trace.interactions[0]
    for frozen in (turn.inputs, turn.metadata, turn.metadata["messages"], turn.metadata["tool_calls"][0]["arguments"]):
        assert type(frozen) in (FrozenDict, FrozenList)
        with pytest.raises(TypeError, match="recorded"):
            frozen.clear()


def test_objects_that_json_has_no_form_for_are_protected_as_well():
    class Odd:
        def __init__(self):
            self.items = [1]

    odd = Odd()
    turn = only(user([odd]), said(None, Call("f", {"x": odd}, "1")), gave(Result({"y": odd}, "1")))
    odd.items.clear()
    turn.metadata["tool_calls"][0]["arguments"]["x"].items.clear()
    turn.inputs[0].items.clear()
    assert turn.inputs[0].items == [1]
    assert turn.metadata["tool_calls"][0]["arguments"]["x"].items == [1]
    assert turn.metadata["tool_calls"][0]["result"]["y"].items == [1]


# --- for any messages ----------------------------------------------------------------

texts = st.text(min_size=1, max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
ids = st.sampled_from([None, "1", "2", "3"])
names = st.sampled_from(["a", "b"])
calls = st.builds(
    Call,
    names,
    json_values | texts,
    ids,
    result=json_values,
    error=st.none() | texts,
    has_result=st.booleans(),
    agent=st.none() | texts,
    latency_ms=st.none() | st.floats(0, 1e6),
)
results = st.builds(Result, json_values, ids, st.none() | names, st.none() | st.booleans() | texts)
contents = st.none() | st.text(max_size=8) | st.lists(json_values, max_size=3) | json_values
figures = st.dictionaries(st.sampled_from(["input_tokens", "output_tokens"]), json_values)
messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    contents,
    st.lists(calls, max_size=3),
    st.lists(results, max_size=3),
    st.lists(texts, max_size=2),
    name=st.none() | texts,
    refusal=st.booleans(),
    usage=st.none() | figures,
    latency_ms=st.none() | st.floats(0, 1e6),
    timestamp=st.none() | texts,
    metadata=st.none() | st.dictionaries(texts, json_values, max_size=3),
    labels=st.none() | st.dictionaries(texts, json_values, max_size=3),
    raw=json_values,
)


@given(st.lists(messages, max_size=8), st.booleans(), st.sampled_from([(), ("a",), ("",)]))
def test_any_messages_make_a_trace_of_plain_data(conversation, keep_raw, markers):
    trace = to_trace(conversation, {"source": {"format": "x"}}, ReadOptions(stop_markers=markers, keep_raw=keep_raw))
    assert json.loads(trace.model_dump_json())["annotations"]["source"] == {"format": "x"}
    for turn in trace.interactions:
        assert turn.metadata.get("incomplete", False) == (turn.outputs is None)
        assert turn.metadata["messages"] or turn.inputs is None


numbers = st.integers(0, 2**40)


@st.composite
def numbered_conversations(draw):
    """A conversation in which each text, call and result holds a number of its own, and these in their order."""
    count = 0

    def number():
        nonlocal count
        count += 1
        return f"#{count}"

    conversation, order = [], []
    for role in draw(st.lists(st.sampled_from(["user", "assistant", "call", "tool"]), max_size=14)):
        if role in ("user", "assistant"):
            conversation.append(Message(role, number()))
        elif role == "call":
            some = [Call(number(), {}, draw(ids)) for _ in range(draw(st.integers(1, 3)))]
            conversation.append(Message("assistant", draw(st.none() | st.just("")), some))
        else:
            named = st.none() | st.sampled_from(["#1", "#2", "#3", "#4", "#5"])
            some = [Result(number(), draw(ids), draw(named)) for _ in range(draw(st.integers(1, 2)))]
            conversation.append(Message("tool", results=some))
    order = [f"#{place}" for place in range(1, count + 1)]
    return conversation, order


@given(numbered_conversations())
def test_each_text_call_and_result_is_there_once_and_in_order(drawn):
    conversation, order = drawn
    trace = to_trace(conversation, {}, ReadOptions())
    shown, entries, orphans = [], [], []
    for turn in trace.interactions:
        for message in turn.metadata["messages"]:
            shown += [message["content"]] if "content" in message else []
            shown += [call["name"] for call in message.get("tool_calls", ())]
        entries += turn.metadata.get("tool_calls", ())
        orphans += turn.metadata.get("orphan_results", ())
    assert shown == order
    assert [entry["name"] for entry in entries] == [call.name for m in conversation for call in m.calls]
    answered = [entry["result"] for entry in entries if "answered" not in entry]
    given_back = [result.content for m in conversation for result in m.results]
    assert sorted([*answered, *(orphan["result"] for orphan in orphans)]) == sorted(given_back)
    said_texts = [m.content for m in conversation if m.content and m.role == "assistant"]
    kept = [turn.outputs for turn in trace.interactions if turn.outputs is not None]
    kept += [item["text"] for turn in trace.interactions for item in turn.metadata.get("intermediate", ())]
    assert sorted(kept) == sorted(said_texts)


@given(st.permutations(range(6)), st.lists(st.sampled_from("xyz"), min_size=6, max_size=6))
def test_as_many_results_as_can_be_are_paired_by_id(order, given_ids):
    conversation = [said(None, *[Call(f"f{n}", {}, given_ids[n]) for n in range(6)])]
    conversation += [gave(Result(given_ids[n], given_ids[n])) for n in order]
    (turn,) = turns(*conversation)
    assert [entry["result"] for entry in turn.metadata["tool_calls"]] == given_ids
    assert "orphan_results" not in turn.metadata


@given(st.permutations(range(6)), st.lists(st.sampled_from("xyz"), min_size=6, max_size=6))
def test_as_many_results_as_can_be_are_paired_by_name(order, given_names):
    conversation = [said(None, *[Call(name, {}, None) for name in given_names])]
    conversation += [gave(Result(given_names[n], name=given_names[n])) for n in order]
    (turn,) = turns(*conversation)
    assert [entry["result"] for entry in turn.metadata["tool_calls"]] == given_names


# --- what is known of calls ----------------------------------------------------------


def test_a_turn_without_calls_says_so_where_calls_would_be_recorded():
    messages = [user("a"), said("b"), user("c"), said(None, call())]
    first, second = made(*messages).interactions
    assert (first.metadata["tool_calls"], len(second.metadata["tool_calls"])) == ([], 1)
    first, second = to_trace(messages, {}, ReadOptions(), records_calls=False).interactions
    assert ("tool_calls" in first.metadata, len(second.metadata["tool_calls"])) == (False, 1)


@pytest.mark.parametrize("given", ["null", " null ", '"null"', "", "  ", None])
def test_no_arguments_are_written_in_many_ways(given):
    trace = made(user("a"), said(None, Call("f", given)))
    (noted,) = trace.last.metadata["tool_calls"]
    assert noted["arguments"] in ({}, None) and "arguments_error" not in noted
    assert trace.tool_calls[0].arguments == {}


def test_a_message_that_calls_again_when_it_has_results_makes_steps():
    done = Call("f", {}, "1", result=1, has_result=True)
    (turn,) = turns(
        user("a"),
        said(None, done, index=1),
        said(None, Call("g", {}, "2"), Call("h", {}, "3"), index=1),
        said(None, Call("i", {}, "4"), index=1),
        gave(Result("1", "2")),
        said(None, Call("j", {}, "5"), index=5),
    )
    assert [call.get("step") for call in turn.metadata["tool_calls"]] == [None, 1, 1, 1, None]
