"""`plain_chat`: the usual chats are cut into turns at once, and read as far as somebody asks."""

import asyncio
import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks import Interaction, MaxToolCalls, TestCase, ToolCalled, ToolErrors, Trace, resolve
from giskard.checks.core.tool_calls import noted_calls
from giskard.checks.export.json_files import to_report_json
from giskard.checks.importers._chat_messages import add_messages, messages_of
from giskard.checks.importers._conversation import Turns, to_trace
from giskard.checks.importers._detection import Detector
from giskard.checks.importers._plain_chats import is_plain_row, plain_chat
from giskard.checks.importers.base import ReadOptions
from giskard.checks.utils.deferred import Deferred

texts = st.sampled_from(["", "Hello", "One moment.", "STOP", "Bye STOP", "{}"]) | st.text(max_size=5)
ids = st.sampled_from(["c1", "c2", "c3"])
names = st.sampled_from(["get_fee", "block"])
arguments = st.sampled_from(['{"item": "card"}', "{not json", "", "[1]", '"{}"', "null"]) | st.text(max_size=4)
calls = st.builds(
    lambda id, name, given: {"id": id, "type": "function", "function": {"name": name, "arguments": given}},
    *(ids, names, arguments),
)
messages = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts),
    st.builds(lambda text: {"role": "assistant", "content": text}, texts),
    st.builds(
        lambda text, made: {"role": "assistant", "content": text, "tool_calls": made},
        st.none() | texts,
        st.lists(calls, min_size=1, max_size=3),
    ),
    st.builds(lambda id, text: {"role": "tool", "tool_call_id": id, "content": text}, ids, texts | arguments),
    st.builds(
        lambda id, name, text: {"role": "tool", "tool_call_id": id, "name": name, "content": text},
        *(ids, names, st.sampled_from(['{"fee": 0.0}', "Error: no such card", "[1, 2]", "free"])),
    ),
)
prompts = st.lists(st.builds(lambda text: {"role": "system", "content": text}, texts), max_size=2)
chats = st.builds(lambda first, rest: [*first, *rest], prompts, st.lists(messages, min_size=1, max_size=12))
options = st.sampled_from([ReadOptions(), ReadOptions(stop_markers=("STOP",))])


def fails(content):
    return content.startswith("Error")


def failing(chat):
    """As `messages_of`, with the results that tell of a failure marked as such."""
    made = messages_of(chat)
    for message in made:
        for result in message.results:
            result.error = True if fails(result.content) else result.error
    return made


CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What does it cost?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "get_fee", "arguments": '{"item": "card"}'}},
            {"id": "c2", "type": "function", "function": {"name": "block", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"fee": 0.0}'},
    {"role": "tool", "tool_call_id": "c2", "content": "Error: no such card"},
    {"role": "assistant", "content": "Nothing."},
    {"role": "user", "content": "Thanks."},
]


def chat():
    return plain_chat(copy.deepcopy(CHAT), {"source": {"line": 1}}, ReadOptions(), fails)


@given(chat=chats, options=options)
def test_it_is_what_all_other_chats_are_read_to(chat, options):
    expected = to_trace(failing(copy.deepcopy(chat)), {"tier": 1}, options)
    trace = plain_chat(copy.deepcopy(chat), {"tier": 1}, options, fails)

    if trace is None:  # what is said by nobody has no turns, and is told by the others
        assert not expected.interactions
    else:
        assert trace == expected
        assert trace.model_dump() == expected.model_dump()
        assert [turn.metadata.get("incomplete", False) for turn in expected.interactions] == [
            turn.outputs is None for turn in trace.interactions
        ]


repeated = st.builds(
    lambda id, text: [{"role": "tool", "tool_call_id": id, "content": text}] * 2, ids, texts | arguments
)
markers = st.sampled_from(["STOP", " STOP ", "STOP STOP", "Bye STOP"]).map(
    lambda text: [{"role": "user", "content": text}]
)
same_ids = st.builds(
    lambda text, call: [{"role": "assistant", "content": text, "tool_calls": [call, {**call}]}],
    st.none() | texts,
    calls,
)
odd_chats = st.builds(
    lambda first, parts: [*first, *(message for part in parts for message in part)],
    prompts,
    st.lists(st.one_of(repeated, markers, same_ids, messages.map(lambda message: [message])), min_size=1, max_size=8),
)


@given(chat=odd_chats, options=options, failing_ones=st.booleans())
def test_all_three_ways_to_read_a_chat_agree(chat, options, failing_ones):
    chat = json.loads(json.dumps(chat))  # each message is an object of its own
    tells = fails if failing_ones else None
    one_by_one = Turns(options)
    for place, message in enumerate((failing if failing_ones else messages_of)(copy.deepcopy(chat))):
        one_by_one.add(message, place)
    at_once = Turns(options)
    assert add_messages(at_once, copy.deepcopy(chat), 0, tells) == len(chat)
    expected, trace = one_by_one.trace({"tier": 1}), at_once.trace({"tier": 1})

    assert trace == expected and trace.model_dump() == expected.model_dump()
    trace = plain_chat(copy.deepcopy(chat), {"tier": 1}, options, tells)
    if trace is None:
        assert not expected.interactions
        return
    noted = [noted_calls(turn, number) for number, turn in enumerate(trace.interactions)]  # before they are read
    whole = [noted_calls(turn, number) for number, turn in enumerate(expected.interactions)]
    assert [[(c.name, c.id, c.message_index, c.arguments, c.error) for c in made] for made in noted] == [
        [(c.name, c.id, c.message_index, c.arguments, c.error) for c in made] for made in whole
    ]
    assert trace == expected and trace.model_dump() == expected.model_dump()


def test_no_call_is_not_the_same_as_no_recording_of_calls():
    trace = chat()
    check = MaxToolCalls(limit=2, require_recording=True)
    assert asyncio.run(check.run(trace)).passed  # before the metadata were read
    assert trace.interactions[1].metadata["tool_calls"] == []
    assert asyncio.run(check.run(trace)).passed
    unknown = to_trace(messages_of(copy.deepcopy(CHAT)), {}, ReadOptions(), records_calls=False)
    assert "tool_calls" not in unknown.interactions[1].metadata
    assert asyncio.run(check.run(unknown)).status.value == "error"


@given(chat=chats)
def test_checks_say_the_same_before_and_after_the_metadata_were_read(chat):
    checks = [
        ToolCalled(tool="get_fee", arguments={"item": "card"}),
        MaxToolCalls(limit=1),
        ToolErrors(),
    ]
    trace = plain_chat(copy.deepcopy(chat), {}, ReadOptions(), fails)
    if trace is None:
        return
    read = to_trace(failing(copy.deepcopy(chat)), {}, ReadOptions())
    for check in checks:
        found, expected = asyncio.run(check.run(trace)), asyncio.run(check.run(read))
        assert (found.status, found.message, found.details) == (expected.status, expected.message, expected.details)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        {"role": "user", "content": "Hello", "name": "u"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": "Hello", "reasoning_content": "Think."},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": ""}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": None, "function": {"name": "f"}}]},
        {"role": "tool", "content": "x"},
        {"role": "tool", "content": "x", "tool_call_id": 3},
        {"role": "system", "content": "Be brief."},
        {"role": "function", "content": "x", "name": "f"},
        "Hello",
    ],
)
def test_whatever_else_is_in_a_chat_is_left_to_others(message):
    assert plain_chat([{"role": "user", "content": "Hi"}, message], {}, ReadOptions()) is None


def test_nothing_is_read_before_somebody_asks():
    trace = chat()
    stored = trace.interactions[0].__dict__

    assert isinstance(stored["metadata"], Deferred)
    assert trace.interactions[0].outputs == "Nothing."
    assert asyncio.run(ToolCalled(tool="get_fee", arguments={"item": "card"}).run(trace)).passed
    assert isinstance(stored["metadata"], Deferred)
    assert trace.tool_calls[1].error == "Error: no such card"
    assert not isinstance(stored["metadata"], Deferred)


@pytest.mark.parametrize(
    "look",
    [
        lambda trace: trace.interactions[0].metadata,
        lambda trace: trace.model_dump()["interactions"][0]["metadata"],
        lambda trace: json.loads(trace.model_dump_json())["interactions"][0]["metadata"],
        lambda trace: dict(trace.interactions[0])["metadata"],
        lambda trace: pickle.loads(pickle.dumps(trace)).interactions[0].metadata,
        lambda trace: copy.deepcopy(trace).interactions[0].metadata,
        lambda trace: trace.interactions[0].model_copy(update={"outputs": "x"}).metadata,
        lambda trace: trace.appended(Interaction(inputs=1, outputs=2)).interactions[0].metadata,
        lambda trace: resolve(trace, "trace.interactions[0].metadata"),
        lambda trace: resolve(trace, "trace.interactions[*].metadata")[0],
        lambda trace: {"tool_calls": resolve(trace, "trace.interactions[0]..tool_calls")[0]},
        lambda trace: Trace.model_validate(trace.model_dump()).interactions[0].metadata,
        lambda trace: (
            TestCase.model_validate(TestCase(trace=trace, checks=[]).model_dump(mode="json"))
            .trace.interactions[0]
            .metadata
        ),
        lambda trace: (
            TestCase.model_validate(TestCase(trace=trace, checks=[]).model_dump()).trace.interactions[0].metadata
        ),
    ],
)
def test_whoever_reads_the_metadata_finds_them(look):
    assert look(chat())["tool_calls"] == [
        {
            "id": "c1",
            "name": "get_fee",
            "arguments": {"item": "card"},
            "result": {"fee": 0.0},
            "error": None,
            "message_index": 2,
        },
        {
            "id": "c2",
            "name": "block",
            "arguments": {},
            "result": None,
            "error": "Error: no such card",
            "message_index": 2,
        },
    ]


def test_reports_and_texts_show_the_metadata():
    assert "no such card" in repr(chat())
    result = TestCase(name="fees", trace=chat(), checks=[MaxToolCalls(limit=1)]).run_sync()
    assert result.failed
    assert "MaxToolCalls" in to_report_json(result) or "max_tool_calls" in to_report_json(result)


def test_what_was_read_cannot_be_changed():
    turn = chat().interactions[0]
    with pytest.raises(TypeError, match="recorded"):
        turn.metadata["tool_calls"][0]["arguments"]["item"] = "x"


rows = st.builds(lambda chat, more: {"messages": chat, **more}, chats, st.sampled_from([{}, {"tools": []}, {"id": 1}]))


@given(row=rows)
def test_a_plain_row_is_of_openai_whoever_else_is_asked(row):
    long_way = Detector()
    long_way._plain = None

    assert is_plain_row(row) is (row.keys() <= {"messages", "tools"})
    assert Detector().of(row) is long_way.of(row)
