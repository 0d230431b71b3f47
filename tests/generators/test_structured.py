"""Inputs that are no texts: the model is told their form, and what does not fit is asked for again."""

import asyncio
import re
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, TypeVar

import pytest
from pydantic import BaseModel, Field

from giskard.checks import Interact, Scenario, Trace, UserSimulator
from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.generators._forms import LLMGeneratorOutput, NextMessage, adapter_of, form_of, name_of, takes_text
from giskard.checks.testing import FakeGenerator
from giskard.checks.utils.frozen import known_type
from tests.generators.talks import DONE, ending, says, sent, talk


class Line(BaseModel):
    text: str
    day: date | None = None


@dataclass
class Record:
    text: str
    count: int = 1


class Typed(TypedDict):
    text: str
    nested: Optional["Inner"]


class Inner(TypedDict, total=False):
    n: int


class Colour(Enum):
    RED = "red"


class Opaque:
    pass


class Broken(BaseModel):
    value: Opaque

    model_config = {"arbitrary_types_allowed": True}


def target_of(hint):
    def target(inputs):
        return "reply"

    target.__annotations__["inputs"] = hint
    return target


@pytest.mark.parametrize(
    ("hint", "data", "value"),
    [
        (Line, {"text": "Hi", "day": "2026-11-30"}, Line(text="Hi", day=date(2026, 11, 30))),
        (Record, {"text": "Hi"}, Record("Hi")),
        (Typed, {"text": "Hi", "nested": {"n": 3}}, {"text": "Hi", "nested": {"n": 3}}),
        (list[Typed], [{"text": "Hi", "nested": None}], [{"text": "Hi", "nested": None}]),
        (dict, {"a": [1, "x"]}, {"a": [1, "x"]}),
        (dict[str, Any], {"a": {"b": None}}, {"a": {"b": None}}),
        (list, ["a", 1], ["a", 1]),
        (list[Line], [{"text": "a"}], [Line(text="a")]),
        (tuple[str, int], ["a", 1], ("a", 1)),
        (int, 3, 3),
        (Colour, "red", Colour.RED),
        (Literal["yes", "no"], "no", "no"),
        (Line | None, {"text": "Hi"}, Line(text="Hi")),
        (Optional[list[int]], [1], [1]),  # noqa: UP045
        (Annotated[dict, Field(min_length=1)], {"a": 1}, {"a": 1}),
    ],
    ids=repr,
)
def test_the_model_fills_in_what_the_target_takes(hint, data, value):
    result, llm = talk(says(data), DONE, target=target_of(hint))

    assert sent(result) == [value]
    assert known_type(sent(result)[0]) is type(value)
    assert '"properties"' in llm.requests[0][0].content
    assert ending(result)["ended"] == "goal"
    assert llm.params[0].response_format is form_of(hint)


@pytest.mark.parametrize(
    "hint",
    [None, Any, object, str, str | None, str | list[Line], NewType("Name", str), TypeVar("T"), "NoSuchName"],
    ids=repr,
)
def test_a_target_that_takes_text_gets_text(hint):
    target = target_of(hint) if hint is not None else (lambda inputs: "reply")
    result, llm = talk(says("Hello"), DONE, target=target)

    assert sent(result) == ["Hello"]
    assert llm.params[0].response_format is NextMessage


def test_what_takes_text():
    assert takes_text(TypeVar("T", bound=str)) and not takes_text(TypeVar("T", bound=int))
    assert not takes_text(Literal["a"]) and not takes_text(Annotated[str, Field(max_length=3)])
    assert not takes_text(Line) and not takes_text(bytes) and not takes_text(int | None)


def test_a_value_that_does_not_fit_is_asked_for_again_with_the_error():
    good, llm = talk(
        says({"text": 3}), says({"text": "Hi", "day": "soon"}), says({"text": "Hi"}), DONE, target=target_of(Line)
    )
    assert sent(good) == [Line(text="Hi")]
    assert "message.text" in llm.prompts[1]
    assert "message.day" in llm.prompts[2]

    result, llm = talk(says({"text": 3}), target=target_of(Line))
    assert len(llm.prompts) == 6
    assert re.search(r"after 3 tries: '?message\.text'? is 3", result.steps[0].error.message)


def test_no_value_is_silence_and_an_empty_one_is_sent():
    assert ending(talk(says({}), says(None), target=target_of(dict))[0])["ended"] == "silence"


def test_thoughts_are_left_out_of_the_texts_in_it():
    result, _ = talk(says({"text": "<think>x</think>Hi"}), DONE, target=target_of(Line))

    assert sent(result) == [Line(text="Hi")]


def test_repeats_are_noticed_in_it():
    result, llm = talk(says({"text": "Hi"}), says({"text": "Hi"}), says({"text": "So?"}), DONE, target=target_of(Line))

    assert sent(result) == [Line(text="Hi"), Line(text="So?")]
    assert len(llm.prompts) == 4


@pytest.mark.parametrize("hint", [Opaque, Broken, list[Opaque]], ids=repr)
def test_a_type_of_which_no_data_can_be_made(hint):
    result, llm = talk(DONE, target=target_of(hint))
    error = result.steps[0].error

    assert error.error_kind == "config"
    assert f"UserSimulator, turn 1: the target takes {name_of(hint)}, of which a model cannot be told" in error.message
    assert llm.prompts == []


@pytest.mark.parametrize(("hint", "first"), [(Line, {"text": "Hi"}), (dict, {"text": "Hi"}), (int, 3)])
def test_a_first_message_of_the_targets_form(hint, first):
    result, llm = talk(DONE, target=target_of(hint), first_message=first)

    assert len(result.final_trace.interactions) == 1
    assert isinstance(sent(result)[0], hint)
    assert len(llm.prompts) == 1


@pytest.mark.parametrize(("hint", "first"), [(Line, "Hi"), (str, {"text": "Hi"}), (Opaque, "Hi")])
def test_a_first_message_of_another_form(hint, first):
    result, llm = talk(DONE, target=target_of(hint), first_message=first)
    error = result.steps[0].error

    assert error.error_kind == "config"
    assert f"turn 1: first_message is no input of the target, which takes {hint.__name__}" in error.message
    assert llm.prompts == []


def test_a_first_message_for_a_target_without_a_hint():
    assert sent(talk(DONE, first_message={"a": 1})[0]) == [{"a": 1}]


def test_the_form_is_made_once_for_each_type():
    assert form_of(Line) is form_of(Line)
    assert form_of(dict[str, int]) is form_of(dict[str, int])
    unhashable = Annotated[dict, {}]
    assert adapter_of(unhashable).validate_python({"a": 1}) == {"a": 1}
    with pytest.raises(ConfigurationError, match="Opaque"):
        form_of(Opaque)


def test_inputs_survive_in_the_result_of_a_scenario_and_of_a_trace():
    async def target(inputs: Line) -> str:
        return inputs.text

    user = UserSimulator(persona="p", generator=FakeGenerator(says({"text": "Hi"}), DONE))
    trace = asyncio.run(Trace.from_interactions(Interact(inputs=user, outputs=target)))
    result = asyncio.run(Scenario("s", target=target).interact(user).run())

    assert trace.last.outputs == "Hi"
    assert trace.last.metadata["simulator_output"] == LLMGeneratorOutput(goal_reached=True)
    assert type(result).model_validate_json(result.model_dump_json()).final_trace is not None
