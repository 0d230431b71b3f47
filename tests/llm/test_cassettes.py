"""Recording once and replaying: what is kept, what is found again, and what is said when it is not."""

import asyncio
import contextlib
import contextvars
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giskard.checks.llm._cassette_file import CassetteFile, Kept, News, Recording, _write, key_of
from giskard.checks.llm.cassettes import (
    Cassette,
    CassetteError,
    CassetteMismatchError,
    UnusedRecordingWarning,
    cassette,
)
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.fences import Fences
from giskard.checks.llm.recording import Asked, recorded
from giskard.checks.utils.files import locked


class Model:
    """Answers what it is told to, or with how often it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = 0

    async def ask(self, text="Hello!", *, kind="chat", sample=0, **request):
        async def call():
            self.calls += 1
            await asyncio.sleep(0)
            return self.answers.pop(0) if self.answers else {"text": f"answer {self.calls}"}

        request = {"model": "openai/m", "messages": [{"role": "user", "content": text}], **request}
        return await recorded(kind, request, call, sample)

    def __call__(self, *args, **options):
        """The text of the answer, and where it came from."""
        answer, source = asyncio.run(self.ask(*args, **options))
        return answer["text"], source


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cassettes" / "x.json"


@pytest.fixture
def model():
    return Model()


def written(path):
    return json.loads(path.read_text(encoding="utf-8"))["recordings"]


# --- the modes ---------------------------------------------------------------------------


def test_auto_records_what_is_missing_and_replays_what_is_there(path, model):
    with cassette(path) as first:
        assert model("a") == ("answer 1", "model")
    with cassette(path) as second:
        assert model("a") == ("answer 1", "cassette")
        assert model("b") == ("answer 2", "model")
    with cassette(path, "replay") as third:
        assert model("b") == ("answer 2", "cassette")
        assert model("a") == ("answer 1", "cassette")

    counts = [
        (len(tape.recorded), len(tape.replayed), len(tape.missing), len(tape.unused)) for tape in (first, second, third)
    ]
    assert counts == [(1, 0, 0, 0), (1, 1, 0, 0), (0, 2, 0, 0)]
    assert repr(second) == f"<Cassette '{path}' mode='auto': 1 recorded, 1 replayed, 0 missing, 0 unused>"


def test_record_asks_anew_and_replaces(path, model):
    with cassette(path):
        model("a")
        model("a")
        model("b")
    unused = pytest.warns(UnusedRecordingWarning, match="1 recording that nobody asked for:\n  chat openai/m: 'b'")
    with unused, cassette(path, "record") as tape:
        assert model("a") == ("answer 4", "model")
    assert len(tape.recorded) == 1

    with cassette(path, "strict"):
        assert model("a") == ("answer 4", "cassette")
        assert model("b") == ("answer 3", "cassette")


def test_replay_asks_nobody(path, model):
    with cassette(path, "replay") as tape, pytest.raises(ModelCallError) as caught:
        model("a")

    assert caught.value.kind == "config"
    assert not caught.value.retryable
    assert str(caught.value) == (
        f"the cassette '{path}' has no recording of this call of 'openai/m' (chat), and its mode is 'replay': there is "
        "no such file. When the change is meant, record it with mode='auto', or all anew with mode='record'"
    )
    assert model.calls == 0
    assert [str(call) for call in tape.missing] == ["chat openai/m: 'a' (there is no such file)"]
    assert not path.parent.exists()


def test_replay_changes_nothing(path, model):
    with cassette(path):
        model("a")
    before = path.read_bytes(), path.stat().st_mtime_ns

    with pytest.warns(UnusedRecordingWarning), cassette(path, "replay"), pytest.raises(ModelCallError):
        model("b")

    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert os.listdir(path.parent) == ["x.json"]


def test_strict_tells_what_is_not_used_and_what_is_missing(path, model):
    with cassette(path):
        model("Is it polite?")
        model("Is it true?")
    with pytest.raises(CassetteMismatchError) as caught, cassette(path, "strict"):
        model("Is it true?")
        with pytest.raises(ModelCallError):
            model("Is it short?")

    assert str(caught.value) == (
        f"the cassette '{path}' does not match what was asked:\n"
        "1 call without a recording:\n"
        "  chat openai/m: 'Is it short?' (the nearest recording differs in messages[0].content: recorded was "
        "'Is it true?', asked is 'Is it short?')\n"
        "1 recording that nobody asked for:\n"
        "  chat openai/m: 'Is it polite?'"
    )


def test_a_block_that_an_exception_ends_is_not_judged(path, model):
    with cassette(path):
        model("a")
    for mode in ("auto", "strict"):
        with pytest.raises(ZeroDivisionError), cassette(path, mode):
            _ = 1 / 0


def test_what_was_recorded_before_an_exception_is_kept(path, model):
    with pytest.raises(ZeroDivisionError), cassette(path):
        model("a")
        _ = 1 / 0

    with cassette(path, "strict"):
        assert model("a") == ("answer 1", "cassette")


def test_an_unknown_mode_is_refused(path):
    with pytest.raises(ValueError, match="mode is 'once', expected one of 'auto', 'record', 'replay', 'strict'"):
        cassette(path, "once")


def test_what_is_not_used_is_a_warning_that_points_at_the_block(path, model):
    with cassette(path):
        model("a")
    with pytest.warns(UnusedRecordingWarning) as caught, cassette(path):
        pass

    assert caught[0].filename == __file__


def test_the_list_of_what_is_not_used_is_short(path, model):
    with cassette(path):
        for number in range(13):
            model(f"question {number:02}")
    with pytest.warns(UnusedRecordingWarning, match="13 recordings") as caught, cassette(path):
        pass

    assert str(caught[0].message).splitlines()[-2:] == ["  chat openai/m: 'question 09'", "  … and 3 more"]


def test_pruning_takes_out_what_is_not_used(path, model):
    with cassette(path):
        model("a")
        model("b")
        model("b")
    with pytest.warns(UnusedRecordingWarning), cassette(path) as tape:
        with pytest.raises(RuntimeError, match="within the block"):
            tape.prune()
        model("b")
        model("c")
    assert [str(call) for call in tape.unused] == [
        "chat openai/m: 'a'",
        "chat openai/m: 'b' (1 of 2 recorded answers used)",
    ]
    tape.prune()
    tape.prune()

    assert [(item["request"]["messages"][0]["content"], len(item["answers"])) for item in written(path)] == [
        ("b", 2),
        ("c", 1),
    ]


# --- the same call more than once --------------------------------------------------------


def test_the_same_call_gives_its_recordings_in_the_order_of_the_calls(path, model):
    with cassette(path):
        assert [model("a")[0] for _ in range(3)] == ["answer 1", "answer 2", "answer 3"]
    for mode in ("auto", "replay", "strict"):
        with cassette(path, mode):
            assert [model("a")[0] for _ in range(3)] == ["answer 1", "answer 2", "answer 3"]
    assert model.calls == 3
    assert len(written(path)) == 1


@pytest.mark.parametrize("times", [1, 2])
def test_a_call_more_than_was_recorded_is_not_recorded(path, model, times):
    with cassette(path):
        for _ in range(times):
            model("a")
    note = f"it is recorded {'once' if times == 1 else '2 times'}, and asked for once more"
    with cassette(path, "replay") as tape:
        for _ in range(times):
            assert model("a")[1] == "cassette"
        for _ in range(2):
            with pytest.raises(ModelCallError, match=f"'replay': {note}. When the change is meant"):
                model("a")
    assert [str(call) for call in tape.missing] == [f"chat openai/m: 'a' ({note})"] * 2

    with pytest.raises(CassetteMismatchError, match=f"1 call without a recording:\n  .* \\({note}\\)$"):  # noqa: SIM117
        with cassette(path, "strict"):
            for _ in range(times):
                model("a")
            with pytest.raises(ModelCallError):
                model("a")
    assert model.calls == times


def test_a_call_more_than_was_recorded_is_made_and_recorded(path, model):
    with cassette(path):
        model("a")
        model("b")
    for more in (2, 3):
        with pytest.warns(UnusedRecordingWarning), cassette(path) as tape:
            assert [model("a")[1] for _ in range(more)] == ["cassette"] * (more - 1) + ["model"]
            assert len(CassetteFile(path).read()) == 2
        assert (len(tape.recorded), len(tape.replayed)) == (1, more - 1)

    with cassette(path, "strict"):
        assert [model("a")[0] for _ in range(3)] == ["answer 1", "answer 3", "answer 4"]
        assert model("b")[0] == "answer 2"


def test_a_call_more_that_two_record_at_once_is_recorded_once(path, model):
    with cassette(path):
        model("a")
    question = Asked("chat", {"model": "openai/m", "messages": [{"role": "user", "content": "a"}]})

    async def ask(tape):
        async def call():
            return {"text": f"of {tapes.index(tape)}"}, "model"

        return [(await tape.answer(question, call))[0]["text"] for _ in range(3)]

    tapes = [Cassette(path).open(), Cassette(path).open()]
    for number, tape in enumerate(tapes):
        assert asyncio.run(ask(tape)) == ["answer 1", f"of {number}", f"of {number}"]
    tapes[1].close()
    tapes[0].close()

    assert [[answer["text"] for answer in item["answers"]] for item in written(path)] == [["answer 1", "of 0", "of 0"]]


def test_two_of_the_same_at_the_same_time_are_two_recordings_in_the_order_of_the_calls(path):
    async def main():
        first_may_end = asyncio.Event()

        async def slow():
            await first_may_end.wait()
            return {"text": "first"}

        async def quick():
            return {"text": "second"}

        first = asyncio.create_task(recorded("chat", {"q": 1}, slow))
        await asyncio.sleep(0)
        second = await recorded("chat", {"q": 1}, quick)
        first_may_end.set()
        return await first, second

    with cassette(path):
        assert asyncio.run(main()) == (({"text": "first"}, "model"), ({"text": "second"}, "model"))

    assert [answer["text"] for answer in written(path)[0]["answers"]] == ["first", "second"]
    with cassette(path, "strict"):
        assert [answer["text"] for answer, _ in asyncio.run(main())] == ["first", "second"]


def test_a_call_that_failed_is_not_recorded(path):
    async def fails():
        raise ModelCallError("429", kind="rate_limit")

    async def answers():
        return {"text": "there"}

    with cassette(path) as tape:
        for call in (fails, answers, fails):
            try:
                asyncio.run(recorded("chat", {"q": 1}, call))
            except ModelCallError as error:
                assert error.kind == "rate_limit"
    assert len(tape.recorded) == 1
    assert [item["answers"] for item in written(path)] == [[{"text": "there"}]]


def test_what_one_caller_does_to_an_answer_is_its_own(path):
    model = Model({"list": [1]})
    with cassette(path):
        answer, _ = asyncio.run(model.ask())
        answer["list"].append(2)
    tape = cassette(path, "replay")
    for _ in range(2):
        with tape:
            answer, _ = asyncio.run(model.ask())
            assert answer == {"list": [1]}
            answer["list"].append(3)


# --- the key -----------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
REQUESTS = st.dictionaries(st.text(), JSON, max_size=4)


@given(st.text(), REQUESTS, st.integers(1, 9), st.integers(0, 9), st.randoms())
def test_the_key_does_not_depend_on_the_order_of_keys(kind, request, trial, sample, random):
    items = list(request.items())
    random.shuffle(items)

    assert key_of(Asked(kind, dict(items), trial, sample)) == key_of(Asked(kind, request, trial, sample))


@pytest.mark.parametrize(
    "other",
    [
        Asked("embeddings", {"model": "m", "messages": ["a"], "temperature": 0}),
        Asked("chat", {"model": "n", "messages": ["a"], "temperature": 0}),
        Asked("chat", {"model": "m", "messages": ["A"], "temperature": 0}),
        Asked("chat", {"model": "m", "messages": ["a", "a"], "temperature": 0}),
        Asked("chat", {"model": "m", "messages": ["a"], "temperature": 0.5}),
        Asked("chat", {"model": "m", "messages": ["a"], "temperature": False}),
        Asked("chat", {"model": "m", "messages": ["a"]}),
        Asked("chat", {"model": "m", "messages": ["a"], "temperature": 0, "schema": {}}),
        Asked("chat", {"model": "m", "messages": ["a"], "temperature": 0}, trial=2),
        Asked("chat", {"model": "m", "messages": ["a"], "temperature": 0}, sample=1),
    ],
)
def test_whatever_changes_the_answer_changes_the_key(other):
    assert key_of(other) != key_of(Asked("chat", {"model": "m", "messages": ["a"], "temperature": 0}))


def test_what_is_left_to_the_model_is_the_same_as_what_is_left_out():
    assert key_of(Asked("chat", {"seed": None, "temperature": 0})) == key_of(Asked("chat", {"temperature": 0.0}))


@settings(max_examples=60)
@given(st.lists(st.tuples(REQUESTS, JSON), min_size=1, max_size=4))
def test_any_request_finds_any_answer_again(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("cassette") / "x.json"

    async def ask(request, answer):
        async def call():
            return answer

        return (await recorded("chat", request, call))[0]

    with cassette(path):
        first = [asyncio.run(ask(request, answer)) for request, answer in pairs]
    with cassette(path, "strict"):
        again = [asyncio.run(ask(request, "of nobody")) for request, _ in pairs]

    assert repr(again) == repr(first)


@pytest.mark.parametrize(
    "text",
    [
        "\ud83d\ude00 and \ud800",
        "".join(map(chr, range(0x110))),
        "x" * 5_000_000,
        "line\r\n" * 100_000,
        "<<<<<<<\n>>>>>>>",
    ],
    ids=["surrogates", "controls", "huge", "lines", "conflict"],
)
def test_huge_and_hostile_answers_come_back(path, text):
    with cassette(path):
        asyncio.run(Model({"text": text}).ask(text))
    path.read_bytes().decode("utf-8")
    with cassette(path, "strict"):
        assert Model()(text) == (text, "cassette")


# --- what is said ------------------------------------------------------------------------


def missing(path, *args, **options):
    with cassette(path, "replay") as tape, pytest.raises(ModelCallError) as caught:
        Model()(*args, **options)
    tape._shelves.clear()  # what is not used is not the matter here
    assert tape.missing[0].note in str(caught.value)
    return tape.missing[0].note


@pytest.mark.filterwarnings("ignore::giskard.checks.llm.cassettes.UnusedRecordingWarning")
def test_the_nearest_recording_is_named_with_what_is_changed(path, model):
    with cassette(path):
        model("Is it polite?", temperature=0, schema={"properties": {"passed": {"type": "boolean"}}})
        model("x" * 500 + "rule one" + "y" * 500, temperature=0)
        model("twice", sample=0)
        model("twice", sample=1)
        model("a target", kind="target")

    assert missing(path, "Is it kind?", temperature=0, schema={"properties": {"passed": {"type": "boolean"}}}) == (
        "the nearest recording differs in messages[0].content: recorded was 'Is it polite?', asked is 'Is it kind?'"
    )
    assert missing(path, "x" * 500 + "rule two" + "y" * 500, temperature=0) == (
        "the nearest recording differs in messages[0].content: recorded was "
        f"'…{'x' * 25}rule one{'y' * 27}…', asked is '…{'x' * 25}rule two{'y' * 27}…'"
    )
    assert missing(path, "x" * 500 + "rule one" + "y" * 500, temperature=1, max_tokens=9) == (
        "the nearest recording differs in temperature (and 1 more places): recorded was 0, asked is 1"
    )
    assert missing(path, "twice", sample=3) == "the same is recorded for sample 0, 1, and not for sample 3"
    assert missing(path, "a vector", kind="embeddings") == "it holds no recording of kind 'embeddings'"
    assert missing(path, "twice", seed=10**5_000).startswith(
        "the nearest recording differs in seed: recorded was nothing"
    )


def test_another_trial_is_told(path):
    async def ask(trial):
        async def call():
            return {}

        from giskard.checks.core.attempt import Attempt, current_attempt

        current_attempt.set(Attempt(trial=trial))
        return await recorded("chat", {"model": "m"}, call)

    with cassette(path):
        for trial in (1, 2):
            contextvars.copy_context().run(asyncio.run, ask(trial))
    with cassette(path, "replay") as tape:
        for trial in (1, 2):
            contextvars.copy_context().run(asyncio.run, ask(trial))
        with pytest.raises(ModelCallError, match="the same is recorded for trial 1, 2, and not for trial 3"):
            contextvars.copy_context().run(asyncio.run, ask(3))
    assert tape.missing[0].trial == 3


def test_what_a_terminal_obeys_is_shown(path, model):
    with cassette(path) as tape:
        model("\x1b[31mred\u202e\n\n\ttext " + "x" * 100)

    assert str(tape.recorded[0]) == f"chat openai/m: '\\\\x1b[31mred\\\\u202e text {'x' * 45}…'"


@pytest.mark.parametrize("odd", [{"at": object()}, {"set": {1}}, {3: 4}], ids=["object", "set", "number as a key"])
def test_what_is_no_json_data_is_refused_and_says_where(path, odd):
    with cassette(path) as tape:
        with pytest.raises(
            ModelCallError, match=r"the answer of this call of 'openai/m'.* expected JSON data"
        ) as caught:
            asyncio.run(Model(odd).ask())
        assert caught.value.kind == "config"
        with pytest.raises(ModelCallError, match=r"the request of this call of 'openai/m'.* expected JSON data"):
            asyncio.run(Model().ask(odd=odd))
    assert tape.recorded == []
    assert not path.exists()


def test_what_is_nested_too_deeply_is_refused(path):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with cassette(path), pytest.raises(ModelCallError, match="nested"):
        asyncio.run(Model({"deep": deep}).ask())


# --- secrets -----------------------------------------------------------------------------


def test_secrets_are_never_written_and_the_call_is_found_all_the_same(path, monkeypatch):
    monkeypatch.setenv("SHOP_API_KEY", "hunter2hunter2")
    model = Model({"text": "Your key is sk-abcdef123456."})
    question = "My key is hunter2hunter2, and Bearer abc123def456"

    with cassette(path) as tape:
        assert model(question) == ("Your key is sk-abcdef123456.", "model")
        beside = (path.parent / "x.json.new").read_text()
    assert len(tape.scrubbed) == 1

    text = path.read_text()
    for place in (text, beside, repr(tape.recorded), repr(tape.scrubbed)):
        assert "hunter2" not in place
        assert "sk-abc" not in place
        assert "abc123" not in place
    assert written(path)[0]["secrets"] == ["request.messages[0].content", "answers[0].text"]
    with cassette(path, "strict") as tape:
        assert model(question) == ("Your key is [secret].", "cassette")
    assert len(tape.scrubbed) == 1


@pytest.mark.parametrize("key", ["another2key3", "none", ""])
def test_who_replays_may_have_another_key_or_none(path, monkeypatch, key):
    monkeypatch.setenv("SHOP_API_KEY", "hunter2hunter2")
    model = Model()
    with cassette(path):
        model("shop?key=hunter2hunter2&user=1")
        model("shop?key=hunter2hunter2&user=2")
    monkeypatch.setenv("SHOP_API_KEY", key)
    with cassette(path, "strict") as tape:
        assert model(f"shop?key={key}&user=2") == ("answer 2", "cassette")
        assert model(f"shop?key={key}&user=1") == ("answer 1", "cassette")
        with pytest.raises(ModelCallError):
            model(f"shop?key={key} and more&user=1")
        tape.missing.clear()


def test_what_is_a_secret_only_where_it_is_replayed_is_found(path, monkeypatch):
    model = Model()
    with cassette(path):
        model("ask blue7whale11 and green3parrot5")
    for name in ("A_KEY", "B_KEY", "C_KEY"):
        monkeypatch.setenv(name, "blue7whale11" if name < "C" else "green3parrot5")
        with cassette(path, "strict") as tape:
            assert model("ask blue7whale11 and green3parrot5") == ("answer 1", "cassette")
        assert len(tape.scrubbed) == 1

    with pytest.warns(UnusedRecordingWarning), cassette(path, "record"):  # nor is it written again
        model("ask blue7whale11 and green3parrot5")
    assert [item["request"]["messages"][0]["content"] for item in written(path)] == [
        "ask [secret] and [secret]",
        "ask blue7whale11 and green3parrot5",
    ]


def test_each_machine_may_have_a_secret_of_its_own(path, monkeypatch):
    model = Model()
    monkeypatch.setenv("SHOP_KEY", "blue7whale11")
    with cassette(path):
        model("ask blue7whale11 and green3parrot5")
    monkeypatch.setenv("SHOP_KEY", "green3parrot5")
    with cassette(path, "strict"):
        assert model("ask blue7whale11 and green3parrot5") == ("answer 1", "cassette")


@pytest.mark.parametrize("key", ["test", "", "None", "blue7whale12"])
def test_what_a_model_is_asked_about_a_recorded_secret_is_found(path, monkeypatch, key):
    """The judge's prompt has a fence, which depends on what the target said, and that is [secret] when replayed."""
    answers = Model({"text": "Your key is blue7whale11."})
    judge = Model({"text": "bad"})

    def conversation(text):
        said = answers(f"key={text}", kind="target")[0]
        fences = Fences()
        return judge(fences.close(f"Look at {fences.fence(said)}\n\nand {fences.fence(f'key={text}')}.\nIs it good?"))

    monkeypatch.setenv("SHOP_KEY", "blue7whale11")
    with cassette(path):
        assert conversation("blue7whale11") == ("bad", "model")
    with cassette(path, "strict"):
        assert conversation("blue7whale11") == ("bad", "cassette")
    monkeypatch.setenv("SHOP_KEY", key)
    with cassette(path, "strict"):
        assert conversation(key) == ("bad", "cassette")


def test_a_recording_stays_as_it_is_when_a_call_is_recorded_without_the_secret(path, monkeypatch):
    model = Model()
    monkeypatch.setenv("SHOP_KEY", "blue7whale11")
    with cassette(path):
        model("key=blue7whale11")
    monkeypatch.delenv("SHOP_KEY")
    with cassette(path):
        assert [model("key=")[1], model("key=")[1]] == ["cassette", "model"]

    (item,) = written(path)
    assert item["request"]["messages"][0]["content"] == "key=[secret]"
    assert item["secrets"] == ["request.messages[0].content"]
    assert len(item["answers"]) == 2


def test_a_secret_stands_for_no_sentence_and_no_lines(path, monkeypatch):
    monkeypatch.setenv("SHOP_KEY", "blue7whale11")
    with cassette(path):
        Model()("key blue7whale11 end")
    monkeypatch.delenv("SHOP_KEY")
    with pytest.warns(UnusedRecordingWarning), cassette(path, "replay"):
        for text in ("key a b end", "key a\nb end", 'key a"b end', "key a end of it", "a key a end"):
            with pytest.raises(ModelCallError):
                Model()(text)


def test_a_missing_call_shows_no_secret(path, model, monkeypatch):
    monkeypatch.setenv("SHOP_API_KEY", "hunter2hunter2")
    with cassette(path):
        model("a")
    with pytest.warns(UnusedRecordingWarning), cassette(path, "replay"), pytest.raises(ModelCallError) as caught:
        model("hunter2hunter2 is mine")

    assert "hunter2" not in str(caught.value)
    assert "asked is '[secret] is mine'" in str(caught.value)


# --- the file ----------------------------------------------------------------------------


def test_the_file_can_be_read_by_a_person(path):
    with cassette(path):
        asyncio.run(Model({"text": "It is.\nYes."}).ask("Be polite.\n\nIs it?", temperature=0))

    assert path.read_text(encoding="utf-8") == textwrap.dedent(
        """\
        {
          "tool": "giskard-checks",
          "format": "cassette",
          "version": 1,
          "recordings": [
            {
              "kind": "chat",
              "trial": 1,
              "sample": 0,
              "request": {
                "model": "openai/m",
                "messages": [
                  {
                    "role": "user",
                    "content": {
                      "$lines": [
                        "Be polite.",
                        "",
                        "Is it?"
                      ]
                    }
                  }
                ],
                "temperature": 0
              },
              "answers": [
                {
                  "text": {
                    "$lines": [
                      "It is.",
                      "Yes."
                    ]
                  }
                }
              ]
            }
          ]
        }
        """
    )


def test_the_file_does_not_depend_on_the_order_of_the_calls(tmp_path):
    for name, texts in {"one": "abcd", "other": "dbca"}.items():
        with cassette(tmp_path / name):
            for text in texts:
                asyncio.run(Model({"text": text}).ask(text))

    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_recording_more_is_a_few_lines_more(path, model):
    with cassette(path):
        for text in "ace":
            model(text)
    before = path.read_text().splitlines()
    with pytest.warns(UnusedRecordingWarning), cassette(path):
        model("b")
    after = path.read_text().splitlines()

    start = next(i for i, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
    added = len(after) - len(before)
    assert after[:start] + after[start + added :] == before


def test_it_may_be_edited_by_hand(path, model):
    with cassette(path):
        model("a")
    path.write_text("\ufeff" + path.read_text().replace("answer 1", "mine").replace('"a"', '"A"').replace("\n", "\r\n"))
    with cassette(path, "strict"):
        assert model("A") == ("mine", "cassette")


def test_recordings_of_two_branches_are_joined(path, model):
    with cassette(path):
        model("a")
    data = json.loads(path.read_text())
    data["recordings"] *= 2
    path.write_text(json.dumps(data))

    with cassette(path, "strict"):
        assert [model("a")[0], model("a")[0]] == ["answer 1", "answer 1"]


BAD = {
    "empty": ("", "is no JSON file: it is empty"),
    "text": ("no json", "is no JSON file: Expecting value"),
    "torn": ('{"tool": "giskard-checks", "form', "is no JSON file: Unterminated string"),
    "deep": ("[" * 100_000, "is no JSON file"),
    "conflict": ('{\n<<<<<<< ours\n"a": 1\n=======\n"a": 2\n>>>>>>> theirs\n}', "it has a merge conflict in it"),
    "foreign": ('{"interactions": []}', "it does not say {'tool': 'giskard-checks', 'format': 'cassette'}"),
    "list": ("[]", "it does not say"),
    "newer": (
        '{"tool": "giskard-checks", "format": "cassette", "version": 2}',
        "is of version 2, this package reads up to 1",
    ),
    "odd": ('{"tool": "giskard-checks", "format": "cassette", "version": "x"}', "is of version 'x', expected 1"),
    "none": ('{"tool": "giskard-checks", "format": "cassette", "version": 1}', "has no list of recordings"),
}
ITEM = {"kind": "chat", "trial": 1, "sample": 0, "request": {}, "answers": [{}]}
BAD_ITEMS = [
    3,
    {},
    ITEM | {"request": []},
    ITEM | {"answers": []},
    ITEM | {"answers": {}},
    ITEM | {"trial": "1"},
    ITEM | {"kind": None},
    ITEM | {"request": {"a": {"$float": "x"}}},
    ITEM | {"secrets": [3]},
]


@pytest.mark.parametrize(("text", "problem"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("mode", ["auto", "record", "replay", "strict"])
def test_a_file_that_is_no_cassette_is_refused_and_left_alone(path, text, problem, mode):
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(CassetteError) as caught, cassette(path, mode):
        pytest.fail("not reached")

    assert str(caught.value).startswith(f"the cassette '{path}' ")
    assert problem in str(caught.value)
    assert path.read_text() == text
    assert os.listdir(path.parent) == ["x.json"]


@pytest.mark.parametrize("item", BAD_ITEMS, ids=repr)
def test_a_recording_that_cannot_be_read_is_named(path, item):
    path.parent.mkdir()
    path.write_text(
        json.dumps({"tool": "giskard-checks", "format": "cassette", "version": 1, "recordings": [ITEM, item]})
    )

    with pytest.raises(CassetteError, match=r"cannot be read at recordings\[1\]: "), cassette(path):
        pytest.fail("not reached")


def test_a_folder_is_no_cassette(tmp_path):
    with pytest.raises(CassetteError, match="cannot be read"), cassette(tmp_path):
        pytest.fail("not reached")


def test_a_file_that_broke_meanwhile_is_left_alone_and_the_news_are_kept(path, model):
    with pytest.raises(CassetteError, match="no JSON"), cassette(path):
        model("a")
        path.write_text("broken")
    assert path.read_text() == "broken"

    path.unlink()
    with cassette(path, "strict"):
        assert model("a") == ("answer 1", "cassette")


def test_a_file_in_the_way_is_left_alone(path, model):
    path.parent.mkdir()
    news = path.with_name("x.json.new")
    news.write_text("mine")
    with pytest.raises(CassetteError, match=r"x\.json\.new' is in the way"), cassette(path):
        pytest.fail("not reached")
    assert news.read_text() == "mine"


def test_what_cannot_be_written_costs_no_answer_and_is_told_at_the_end(tmp_path, model):
    folder = tmp_path / "folder"
    with pytest.raises(OSError), cassette(folder / "x.json"):
        folder.write_text("no folder")
        assert model("a") == ("answer 1", "model")
    folder.unlink()
    with pytest.raises(ZeroDivisionError) as caught, cassette(folder / "x.json"):
        folder.write_text("no folder")
        model("a")
        _ = 1 / 0
    assert caught.value.__notes__[0].startswith("The cassette was not written: ")


def test_what_could_not_be_written_is_tried_again_at_the_end(tmp_path, model):
    folder = tmp_path / "folder"
    with cassette(folder / "x.json"):
        folder.write_text("no folder yet")
        model("a")
        folder.unlink()
    with cassette(folder / "x.json", "strict"):
        model("a")


def test_what_fails_in_the_middle_is_not_half_written(tmp_path):
    class Full:
        """A file on a disk that is full after ten bytes."""

        def __init__(self, data):
            self.data = data

        def seek(self, *_):
            return len(self.data)

        def write(self, data):
            room = 10 - len(self.data)
            if room <= 0:
                raise OSError("No space left on device")
            self.data += bytes(data[:room])
            return room

        def truncate(self, size):
            self.data = self.data[:size]

    file = Full(b"before\n")
    with pytest.raises(OSError, match="No space"):
        _write(file, b"a line and more\n")
    assert file.data == b"before\n"


def test_the_folder_may_be_changed_within_the_block(tmp_path, model, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with cassette("x.json"):
        os.chdir("other")
        model("a")
        os.chdir("..")
        model("b")
        os.chdir("other")
    assert os.listdir(tmp_path / "other") == []
    assert len(written(tmp_path / "x.json")) == 2


# --- crashes -----------------------------------------------------------------------------

CRASH = """
import asyncio, os, sys
from giskard.checks.llm.cassettes import cassette
from giskard.checks.llm.recording import recorded

async def main():
    async def call():
        return {"text": "kept"}
    for text in "ab":
        await recorded("chat", {"model": "m", "text": text}, call)

with cassette(sys.argv[1]):
    asyncio.run(main())
    os._exit(3)
"""


async def two():
    async def call():
        return {"text": "anew"}

    return [(await recorded("chat", {"model": "m", "text": text}, call)) for text in "ab"]


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_a_crash_loses_nothing(path, mode):
    done = subprocess.run([sys.executable, "-c", CRASH, str(path)], check=False)
    assert done.returncode == 3
    assert os.listdir(path.parent) == ["x.json.new"]

    with cassette(path, mode):
        assert asyncio.run(two()) == [({"text": "kept"}, "cassette")] * 2
    assert os.listdir(path.parent) == (["x.json"] if mode == "auto" else ["x.json.new"])


@pytest.mark.parametrize("left", [1, 40, -1, -30])
def test_what_was_being_written_in_a_crash_is_left_out(path, left):
    subprocess.run([sys.executable, "-c", CRASH, str(path)], check=False)
    news = path.with_name("x.json.new")
    news.write_bytes(news.read_bytes()[:left])

    for _ in range(2):
        with cassette(path):
            answers = asyncio.run(two())
    assert [source for _, source in answers] == ["cassette"] * 2
    assert len(written(path)) == 2
    assert os.listdir(path.parent) == ["x.json"]


# --- the loop ----------------------------------------------------------------------------


async def until_it_waits(tape):
    """Go on until the answer of a call is to be written, and then for a while."""
    while not tape._unwritten:
        await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)


def test_no_loop_waits_for_the_lock_of_the_file(path, model):
    async def main():
        with cassette(path) as tape:
            with locked(path):
                tasks = [asyncio.create_task(model.ask(text)) for text in "ab"]
                await until_it_waits(tape)
                assert not any(task.done() for task in tasks)  # a crash now would lose the answers
                assert not path.with_name("x.json.new").exists()
            await asyncio.gather(*tasks)
            assert len(path.with_name("x.json.new").read_bytes().splitlines()) == 3

    asyncio.run(main())
    with cassette(path, "strict"):
        assert [model(text)[1] for text in "ab"] == ["cassette"] * 2


def test_who_is_cancelled_loses_no_answer(path, model):
    async def main():
        with cassette(path) as tape:
            with locked(path):
                task = asyncio.create_task(model.ask("a"))
                await until_it_waits(tape)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert (await model.ask("a"))[0] == {"text": "answer 2"}
            assert len(path.with_name("x.json.new").read_bytes().splitlines()) == 3

    asyncio.run(main())
    with cassette(path, "strict"):
        assert [model("a")[0] for _ in "ab"] == ["answer 1", "answer 2"]


def test_a_loop_that_ends_meanwhile_loses_no_answer(path, model):
    async def main():
        task = asyncio.create_task(model.ask("a"))
        await until_it_waits(tape)
        return task

    with cassette(path) as tape, contextlib.ExitStack() as stack:
        stack.enter_context(locked(path))
        assert asyncio.run(main()).cancelled()
        stack.close()
    with cassette(path, "strict"):
        assert model("a")[0] == "answer 1"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_and_its_parent_may_both_record(path):
    code = textwrap.dedent(
        """
        import asyncio, os, sys
        from giskard.checks.llm.cassettes import cassette
        from giskard.checks.llm.recording import recorded

        def ask(text):
            async def call():
                return {"text": text}
            asyncio.run(recorded("chat", {"q": text}, call))

        with cassette(sys.argv[1]):
            ask("before")
            child = os.fork()
            ask("both")
            ask("child" if child == 0 else "parent")
            if child:
                os.waitpid(child, 0)
        """
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, path], check=True)

    assert {item["request"]["q"]: len(item["answers"]) for item in written(path)} == {
        "before": 1,
        "both": 1,
        "child": 1,
        "parent": 1,
    }


# --- big ones ----------------------------------------------------------------------------

MANY = 10_000


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A cassette with ten thousand calls, of which each has a secret in it."""
    path = tmp_path_factory.mktemp("big") / "x.json"
    text = "some words of a conversation that a judge reads, " * 10
    file = CassetteFile(path)
    file.append(
        *(
            News(
                "run",
                0,
                Recording(
                    Asked("chat", {"model": "m", "text": f"{n} [secret] {text}"}), [Kept({"text": str(n)})], ("text",)
                ),
            )
            for n in range(MANY)
        )
    )
    file.merge()
    return path, text


def test_a_big_cassette_is_read_and_replayed_in_seconds(big, monkeypatch):
    path, text = big
    monkeypatch.setenv("SHOP_KEY", "blue7whale11")

    async def main(key, numbers):
        return [(await recorded("chat", {"model": "m", "text": f"{n} {key} {text}"}, nobody))[0] for n in numbers]

    start = time.perf_counter()
    with cassette(path, "strict"):
        assert asyncio.run(main("blue7whale11", range(MANY))) == [{"text": str(n)} for n in range(MANY)]
    with cassette(path, "replay") as tape:
        assert asyncio.run(main("none", range(0, MANY, 100))) == [{"text": str(n)} for n in range(0, MANY, 100)]
        for _ in range(20):
            with pytest.raises(ModelCallError, match="the nearest recording differs in text"):
                asyncio.run(main("none", [MANY]))
        tape._shelves.clear()
    assert time.perf_counter() - start < 40


def test_a_big_cassette_is_added_to_in_seconds(big, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(big[0].read_bytes())

    async def main():
        async def call():
            return {"text": "new"}

        for n in range(500):
            await recorded("chat", {"model": "m", "text": f"new {n}"}, call)

    start = time.perf_counter()
    with pytest.warns(UnusedRecordingWarning), cassette(path):
        asyncio.run(main())
    assert time.perf_counter() - start < 40
    assert len(written(path)) == MANY + 500


def test_the_same_call_made_often_is_not_told_at_ever_greater_length(path, model):
    with cassette(path):
        for _ in range(300):
            model("a")
        lines = path.with_name("x.json.new").read_bytes().splitlines()
    assert len(lines) == 301
    assert len(lines[-1]) < len(lines[2]) + 10
    with cassette(path, "strict"):
        assert [model("a")[0] for _ in range(300)] == [f"answer {n}" for n in range(1, 301)]


async def nobody():
    raise AssertionError("nobody is to be asked")


# --- many at once ------------------------------------------------------------------------


def test_many_tasks(path):
    async def main():
        return await asyncio.gather(
            *(model.ask(f"question {number % 50}", sample=number // 50) for number in range(200))
        )

    model = Model()
    with cassette(path) as tape:
        first = asyncio.run(main())
    assert (len(tape.recorded), model.calls) == (200, 200)
    with cassette(path, "strict"):
        again = asyncio.run(main())
    assert [answer for answer, _ in again] == [answer for answer, _ in first]


def test_many_threads(path):
    def work(number):
        return Model({"text": str(number)})(f"question {number}")

    for mode, source in (("auto", "model"), ("strict", "cassette")):
        with cassette(path, mode), ThreadPoolExecutor(8) as pool:
            waiting = [pool.submit(contextvars.copy_context().run, work, number) for number in range(100)]
            assert [one.result() for one in waiting] == [(str(number), source) for number in range(100)]


def test_many_threads_with_cassettes_of_their_own_on_one_file(path):
    together = threading.Barrier(6)

    def work(number):
        with cassette(path) as tape:
            together.wait()
            for question in range(5):
                Model({"text": f"{number}.{question}"})(f"question {number}.{question}")
        return len(tape.recorded)

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(work, range(6))) == 30
    assert len(written(path)) == 30
    assert os.listdir(path.parent) == ["x.json"]


RECORD = """
import asyncio, sys
from giskard.checks.llm.cassettes import cassette
from giskard.checks.llm.recording import recorded

path, number, mode = sys.argv[1:]

async def main():
    async def call():
        return {"text": number}
    for question in range(10):
        for text in (f"{number} {question}", f"shared {question}"):
            await recorded("chat", {"model": "m", "text": text}, call)

with cassette(path, mode):
    print("ready", flush=True)
    input()
    asyncio.run(main())
"""


@pytest.mark.parametrize("mode", ["auto", "record"])
def test_many_processes_write_one_file_and_nothing_is_lost(path, mode):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RECORD, path, str(number), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in range(4)
    ]
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()

    assert [process.returncode for process in processes] == [0] * 4
    texts = {item["request"]["text"]: item["answers"] for item in written(path)}
    assert len(texts) == 4 * 10 + 10
    assert all(len(answers) == 1 for answers in texts.values())
    assert os.listdir(path.parent) == ["x.json"]


def test_who_closes_first_does_not_lose_what_another_records_again(path):
    with cassette(path):
        asyncio.run(Model({"text": "old"}).ask("a"))

    slow, quick = Cassette(path, "record").open(), Cassette(path, "auto").open()

    async def ask(tape, text, answer):
        async def call():
            return {"text": answer}, "model"

        return await tape.answer(
            Asked("chat", {"model": "openai/m", "messages": [{"role": "user", "content": text}]}), call
        )

    asyncio.run(ask(slow, "a", "new 1"))
    asyncio.run(ask(quick, "b", "b"))
    quick.close()
    assert [answer["text"] for answer in written(path)[0]["answers"]] == ["new 1"]
    asyncio.run(ask(slow, "a", "new 2"))
    slow.close()

    assert [[answer["text"] for answer in item["answers"]] for item in written(path)] == [["new 1", "new 2"], ["b"]]


def test_a_merge_writes_nothing_when_there_are_no_news(path, model):
    with cassette(path):
        model("a")
    before = path.stat().st_mtime_ns

    CassetteFile(path).merge()
    CassetteFile(path).merge(drop=["of nothing"])

    assert path.stat().st_mtime_ns == before


# --- the object --------------------------------------------------------------------------


def test_it_is_entered_once_at_a_time_and_again_afterwards(path, model):
    tape = cassette(path)
    with tape:
        model("a")
        with pytest.raises(RuntimeError, match="is entered already"):
            tape.__enter__()
    with tape:
        assert model("a")[1] == "cassette"
    assert (len(tape.recorded), len(tape.replayed)) == (0, 1)


def test_it_is_a_decorator(path, model):
    @cassette(path)
    def twice(text):
        """Says so."""
        return model(text)

    @cassette(path)
    async def later(text):
        return await model.ask(text)

    assert (twice.__name__, twice.__doc__) == ("twice", "Says so.")
    assert [twice("a"), twice("a")] == [("answer 1", "model"), ("answer 1", "cassette")]
    assert asyncio.run(later("a")) == ({"text": "answer 1"}, "cassette")


def test_a_generator_is_refused(path):
    def fixture():
        yield

    async def later():
        yield

    for function in (fixture, later):
        with pytest.raises(TypeError, match="is a generator, which runs after the call: use `with cassette"):
            cassette(path)(function)
