"""Inputs that a model makes: built, saved, loaded; the ones that need no model work."""

import asyncio
import json
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NewType, TypedDict

import pytest
from pydantic import BaseModel, ValidationError

from giskard.checks import generators
from giskard.checks.core.exceptions import ConfigurationError, InputGenerationException
from giskard.checks.core.input_generator import InputGenerator
from giskard.checks.core.interaction.interact import Interact
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.mixin import BaseGenerator
from giskard.checks.core.scenario import Scenario
from giskard.checks.generators import (
    PERSONAS,
    BaseLLMGenerator,
    DatasetInputGenerator,
    LLMGenerator,
    LLMGeneratorOutput,
    UserSimulator,
)

NAMES = [
    "helpful_user",
    "confused_user",
    "novice_user",
    "frustrated_customer",
    "impatient_user",
    "verbose_user",
    "non_native_speaker",
    "detail_oriented_user",
]


class Model:
    async def complete(self, messages, params=None, metadata=None):
        raise AssertionError("asked")


@BaseGenerator.register("test_generators_generator")
class SavedModel(BaseGenerator):
    model: str = "m"


ALL = [
    LLMGenerator(prompt="Ask for a refund."),
    LLMGenerator(prompt="{{ trace.last }}", as_template=True, max_steps=7, max_retries=0),
    LLMGenerator(prompt_path="my_app::users/refund.txt", generator="openai/gpt-5-mini"),
    UserSimulator(persona="novice_user"),
    UserSimulator(persona="A man in a hurry", context="wants a refund", generator=SavedModel(model="n")),
    DatasetInputGenerator(prompt="What is the fee?"),
    DatasetInputGenerator(prompt="What is the fee?", generator=SavedModel()),
]


@pytest.mark.parametrize("generator", ALL, ids=repr)
def test_save_and_load(generator):
    text = generator.model_dump_json()
    loaded = InputGenerator.model_validate_json(text)

    assert type(loaded) is type(generator)
    assert loaded == generator
    assert InputGenerator.model_validate(generator.model_dump()) == generator

    spec = Interact(inputs=generator, outputs="a")
    again = Scenario.model_validate_json(Scenario("s").add_interaction(spec).model_dump_json())
    assert again.steps[0].interacts[0].inputs == generator


def test_kinds_fields_and_defaults():
    common = {"generator": None, "max_steps": 3, "max_retries": 2}
    assert LLMGenerator(prompt="p").model_dump() == {
        "kind": "llm_generator",
        **common,
        "prompt": "p",
        "prompt_path": None,
        "as_template": False,
    }
    assert UserSimulator(persona="p").model_dump() == {
        "kind": "user_simulator",
        **common,
        "persona": "p",
        "context": None,
    }
    assert DatasetInputGenerator(prompt="p").model_dump() == {"kind": "dataset_input", "generator": None, "prompt": "p"}


@pytest.mark.parametrize(
    ("cls", "fields", "words"),
    [
        (LLMGenerator, {}, "exactly one of prompt and prompt_path; neither"),
        (LLMGenerator, {"prompt": "p", "prompt_path": "a::b"}, "both"),
        (LLMGenerator, {"prompt": ""}, "prompt is empty"),
        (LLMGenerator, {"prompt_path": "a:b"}, "namespace::path"),
        (UserSimulator, {}, "persona"),
        (UserSimulator, {"persona": " "}, "persona is empty.*novice_user"),
        (UserSimulator, {"persona": "p", "max_steps": -1}, "max_steps"),
        (UserSimulator, {"persona": "p", "max_steps": True}, "max_steps"),
        (UserSimulator, {"persona": "p", "max_retries": -1}, "max_retries"),
        (UserSimulator, {"persona": "p", "max_step": 1}, "did you mean 'max_steps'"),
        (UserSimulator, {"persona": "p", "generator": 3}, "name of a model"),
        (DatasetInputGenerator, {"prompt": " "}, "prompt is empty"),
    ],
)
def test_what_is_refused_when_it_is_built(cls, fields, words):
    with pytest.raises(ValidationError, match=words):
        cls(**fields)


def test_objects_are_kept_and_refused_only_when_they_are_saved():
    model = Model()
    user = UserSimulator(persona="p", generator=model)

    assert user.generator is model
    assert user.model_dump()["generator"] is model
    with pytest.raises(ValueError, match=r"generator=.*cannot be saved"):
        user.model_dump_json()


# ------------------------------------------------------------------ models come later


@pytest.mark.parametrize("generator", ALL[:5], ids=repr)
def test_running_one_is_an_error_that_says_that_models_come_later(generator):
    scenario = Scenario("s").interact(inputs=generator, outputs="a")

    result = asyncio.run(scenario.run(return_exception=True))

    error = result.steps[0].error
    assert result.errored
    assert error.error_kind == "config"
    assert error.phase == "input_generation"
    assert type(generator).__name__ in error.message
    assert "models are not available yet in this version" in error.message
    assert len(result.final_trace.interactions) == 0
    for kind in (InputGenerationException, ConfigurationError):
        with pytest.raises(kind):
            asyncio.run(scenario.run())


def test_no_steps_ask_nothing():
    user = UserSimulator(persona="p", max_steps=0, generator=Model())

    result = asyncio.run(Scenario("s").interact(inputs=user, outputs="a").run())

    assert result.passed
    assert len(result.final_trace.interactions) == 0


def test_personas():
    assert list(PERSONAS) == NAMES
    assert all("\n" not in text and len(text) > 30 for text in PERSONAS.values())
    assert UserSimulator(persona="novice_user").persona_text == PERSONAS["novice_user"]
    assert UserSimulator(persona="A novice").persona_text == "A novice"
    inputs = asyncio.run(UserSimulator(persona="A novice", context="c").get_inputs(Trace()))
    assert inputs == {"persona": "A novice", "context": "c"}


def test_prompts_and_hooks():
    assert LLMGenerator(prompt="p").get_prompt() == "p"
    assert LLMGenerator(prompt="p").output_type is LLMGeneratorOutput
    assert asyncio.run(LLMGenerator(prompt="p").get_inputs(Trace())) == {}
    with pytest.raises(ConfigurationError, match="not available yet"):
        LLMGenerator(prompt_path="a::b").get_prompt()
    with pytest.raises(NotImplementedError, match="BaseLLMGenerator"):
        BaseLLMGenerator().get_prompt()


def test_the_output_type():
    output = LLMGeneratorOutput.model_validate_json('{"goal_reached": false, "message": {"a": 1}}')
    assert output.message == {"a": 1} and output.schema_issue is None
    with pytest.raises(ValidationError):
        LLMGeneratorOutput(goal_reached="no")


# ------------------------------------------------------------------ inputs out of a data set


class Inputs(BaseModel):
    text: str


@dataclass
class Record:
    text: str


class Typed(TypedDict):
    text: str


class Colour(Enum):
    RED = "What is the fee?"


class Opaque:
    pass


def target_of(hint):
    def target(inputs):
        return f"answer to {inputs}"

    target.__annotations__["inputs"] = hint
    return target


def untyped(inputs):
    return f"answer to {inputs}"


@pytest.mark.parametrize(
    "hint",
    [
        None,
        Any,
        object,
        str,
        str | None,
        str | list[Inputs],
        Annotated[str, "note"],
        NewType("Name", str),
        Literal["What is the fee?"],
        "str",
        "NoSuchName",
    ],
    ids=repr,
)
def test_text_targets_get_the_prompt_word_for_word(hint):
    prompt = "What is the fee?"
    target = untyped if hint is None else target_of(hint)
    generator = DatasetInputGenerator(prompt=prompt, generator=Model())

    result = asyncio.run(Scenario("s").interact(inputs=generator, outputs=target).run())

    assert [turn.inputs for turn in result.final_trace.interactions] == [prompt]
    assert result.final_trace.last.outputs == f"answer to {prompt}"


def test_templates_in_a_prompt_are_only_text():
    prompt = "  {{ 7 * 7 }} {% for %}\n"
    result = asyncio.run(Scenario("s").interact(DatasetInputGenerator(prompt=prompt), untyped).run())

    assert result.final_trace.last.inputs == prompt


@pytest.mark.parametrize("hint", [Inputs, Record, Typed, dict[str, str], list[str], int, bytes, Colour, Opaque])
def test_targets_that_take_no_text_need_a_model(hint):
    generator = DatasetInputGenerator(prompt="What is the fee?", generator=Model())
    scenario = Scenario("s").interact(inputs=generator, outputs=target_of(hint))

    result = asyncio.run(scenario.run(return_exception=True))

    assert result.errored
    assert result.steps[0].error.error_kind == "config"
    assert getattr(hint, "__name__", "") in result.steps[0].error.message
    assert "structured inputs come with the next version" in result.steps[0].error.message
    with pytest.raises(InputGenerationException):
        asyncio.run(scenario.run())


def test_the_folder_hands_out_its_names():
    assert all(getattr(generators, name) for name in generators.__all__)
    assert json.loads(ALL[0].model_dump_json())["kind"] == "llm_generator"
