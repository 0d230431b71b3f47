"""Prompts out of a data set: sent word for word, in whatever form the target takes, and never shown to a model."""

import asyncio
import json
import threading
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NewType, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from giskard.checks import DatasetInputGenerator, InputGenerationException, Scenario, Suite, Trace
from giskard.checks.core.usage import Usage
from giskard.checks.generators.dataset import PLACEHOLDER
from giskard.checks.llm import Completion, ModelCallError
from giskard.checks.llm.cassettes import cassette
from giskard.checks.testing import FakeGenerator
from tests.generators.talks import sent, talk

PROMPT = "What is the fee?"


class Message(BaseModel):
    role: Literal["user", "assistant"]
    content: str


class Request(BaseModel):
    messages: list[Message]
    top_k: int = 3


@dataclass
class Record:
    text: str


class Typed(TypedDict):
    text: str


class Colour(Enum):
    RED = "What is the fee?"


def target_of(hint):
    def target(inputs):
        return "reply"

    target.__annotations__["inputs"] = hint
    return target


def filled(value):
    return json.dumps({"input": value})


REQUEST = filled({"messages": [{"role": "user", "content": PLACEHOLDER}]})


def use(llm, hint, prompt=PROMPT):
    return talk(user=DatasetInputGenerator(prompt=prompt, generator=llm), target=target_of(hint))[0]


# --- targets that take text ---------------------------------------------------------------


@pytest.mark.parametrize(
    "hint",
    [
        None,
        Any,
        object,
        str,
        str | None,
        str | list[Request],
        Annotated[str, "note"],
        NewType("Name", str),
        Literal["What is the fee?"],
        "str",
        "NoSuchName",
    ],
    ids=repr,
)
def test_text_targets_get_the_prompt_word_for_word(hint):
    llm = FakeGenerator(AssertionError("asked"))
    result = use(llm, hint)

    assert result.passed
    assert sent(result) == [PROMPT]
    assert result.final_trace.last.metadata == {}
    assert llm.prompts == []


def test_templates_in_a_prompt_are_only_text():
    prompt = "  {{ 7 * 7 }} {% for %}\n"
    result = asyncio.run(Scenario("s").interact(DatasetInputGenerator(prompt=prompt), lambda inputs: "x").run())

    assert result.final_trace.last.inputs == prompt


# --- targets that take something else -------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "template", "value"),
    [
        (
            Request,
            {"messages": [{"role": "user", "content": PLACEHOLDER}]},
            Request(messages=[Message(role="user", content=PROMPT)]),
        ),
        (Record, {"text": PLACEHOLDER}, Record(PROMPT)),
        (Typed, {"text": PLACEHOLDER}, {"text": PROMPT}),
        (dict[str, str], {"question": PLACEHOLDER, "lang": "en"}, {"question": PROMPT, "lang": "en"}),
        (dict, {"a": {"b": [1, PLACEHOLDER]}}, {"a": {"b": [1, PROMPT]}}),
        (list[str], [PLACEHOLDER], [PROMPT]),
        (bytes, PLACEHOLDER, PROMPT.encode()),
    ],
    ids=repr,
)
def test_the_prompt_is_put_where_the_model_put_the_placeholder(hint, template, value):
    llm = FakeGenerator(filled(template), usage=Usage(input_tokens=7))
    result = use(llm, hint)

    assert sent(result) == [value]
    assert result.final_trace.last.metadata == {
        "simulation": {"calls": 1, "usage": {"input_tokens": 7}, "model": "fake", "prompt": "dataset_input@1"}
    }


@settings(max_examples=50, deadline=None)
@given(st.text(min_size=1).filter(lambda text: text.strip() and text.isprintable()))
def test_any_prompt_arrives_as_it_is_and_no_model_sees_it(prompt):
    llm = FakeGenerator(REQUEST)
    result = use(llm, Request, f"§{prompt}§")

    assert sent(result)[0].messages[0].content == f"§{prompt}§"
    assert "§" not in llm.prompts[0]


def test_a_model_is_asked_once_for_each_form():
    llm = FakeGenerator(REQUEST, filled({"text": PLACEHOLDER}))
    other = FakeGenerator(REQUEST)

    for number in range(3):
        result = use(llm, Request, f"prompt {number}")
        assert sent(result)[0].messages[0].content == f"prompt {number}"
    assert use(llm, Record).passed and use(llm, Typed).errored is False
    assert use(other, Request).passed

    # A dataclass and a TypedDict of one field have one schema but for their names.
    assert len(llm.prompts) in (2, 3)
    assert len(other.prompts) == 1


def test_many_at_once_wait_for_the_one_that_asks():
    async def slow(prompt):
        await asyncio.sleep(0.01)
        return REQUEST

    llm = FakeGenerator(slow)
    suite = Suite(name="many", target=target_of(Request))
    for number in range(30):
        suite.append(Scenario(f"s{number}").interact(DatasetInputGenerator(prompt=f"p{number}", generator=llm)))
    results = asyncio.run(suite.run(parallel=True, verbose=False)).results

    assert [sent(result)[0].messages[0].content for result in results] == [f"p{number}" for number in range(30)]
    assert len(llm.prompts) == 1


def test_in_several_event_loops_at_once():
    llm = FakeGenerator(REQUEST)
    found = []

    def work(number):
        found.append(sent(use(llm, Request, f"p{number}"))[0].messages[0].content)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == [f"p{number}" for number in range(8)]
    assert len(llm.prompts) <= 8


def test_a_failure_is_not_kept_and_holds_up_nobody():
    llm = FakeGenerator(ConnectionError("gone"), REQUEST)

    async def main():
        def one(number):
            user = DatasetInputGenerator(prompt=f"p{number}", generator=llm)
            return Scenario("s").interact(user, target_of(Request)).run(return_exception=True)

        return await asyncio.gather(*(one(number) for number in range(3)))

    results = asyncio.run(main())

    assert [result.errored for result in results] == [True, False, False]
    error = results[0].steps[0].error
    assert error.error_kind == "network"
    assert "DatasetInputGenerator, turn 1: the call of 'fake' failed: ConnectionError: gone" in error.message
    assert len(llm.prompts) == 2


def test_a_cancelled_one_lets_the_next_one_ask():
    async def main():
        started = asyncio.Event()

        async def hangs(prompt):
            started.set()
            await asyncio.Event().wait()

        llm = FakeGenerator(hangs, REQUEST)

        async def first(number):
            messages = DatasetInputGenerator(prompt=f"p{number}", generator=llm)(Trace(), Request)
            try:
                return await messages.asend(None)
            finally:
                await messages.aclose()

        one = asyncio.create_task(first(1))
        await started.wait()
        two = asyncio.create_task(first(2))
        await asyncio.sleep(0)
        one.cancel()
        return (await two).messages[0].content

    assert asyncio.run(main()) == "p2"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (filled({"messages": [{"role": "user", "content": "hello"}]}), "does not stand in it"),
        (filled({"messages": [{"role": "user", "content": f"Q: {PLACEHOLDER}"}]}), "does not stand alone"),
        (filled({"messages": [{"role": "cat", "content": PLACEHOLDER}]}), "role"),
        ("no JSON", "no JSON object"),
        (None, "empty"),
    ],
)
def test_a_template_that_cannot_be_used_is_asked_for_again_and_then_an_error(bad, why):
    llm = FakeGenerator(bad, bad, REQUEST)
    assert sent(use(llm, Request))[0].messages[0].content == PROMPT

    llm = FakeGenerator(bad)
    error = use(llm, Request).steps[0].error
    assert len(llm.prompts) == 6
    assert "no usable input after 3 tries" in error.message and why in error.message
    assert error.error_kind == "input_generation"


def test_a_refusal_is_asked_for_again_and_then_an_error():
    refusal = Completion(None, finish_reason="content_filter")
    assert use(FakeGenerator(refusal, REQUEST), Request).passed
    assert use(FakeGenerator(ModelCallError("no", kind="refused")), Request).steps[0].error.error_kind == "refused"


@pytest.mark.parametrize("hint", [int, Colour, Literal["a"]], ids=repr)
def test_a_form_without_a_place_for_a_text_is_an_error(hint):
    result = use(FakeGenerator(filled(3), filled("a"), filled(PLACEHOLDER)), hint, "something else")

    assert result.errored
    assert "no usable input after 3 tries" in result.steps[0].error.message


def test_a_prompt_that_the_form_does_not_take():
    class Short(BaseModel):
        text: Annotated[str, Field(max_length=15)]

    result = use(FakeGenerator(filled({"text": PLACEHOLDER})), Short, "x" * 16)

    assert result.steps[0].error.error_kind == "config"
    assert "the prompt does not fit the target's inputs, Short" in result.steps[0].error.message


def test_without_a_model(monkeypatch, tmp_path):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GISKARD_CHECKS_DEFAULT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    scenario = Scenario("s").interact(DatasetInputGenerator(prompt=PROMPT), target_of(Request))

    with pytest.raises(InputGenerationException, match=r"DatasetInputGenerator, turn 1: no model is given"):
        asyncio.run(scenario.run())


def test_recordings_see_every_call(tmp_path):
    path = str(tmp_path / "dataset.json")
    llm = FakeGenerator(REQUEST)
    assert use(llm, Request).passed
    with cassette(path, mode="record"):
        assert use(llm, Request).passed
    assert len(llm.prompts) == 2
    with cassette(path, mode="replay"):
        assert use(FakeGenerator(RuntimeError("asked")), Request).passed
