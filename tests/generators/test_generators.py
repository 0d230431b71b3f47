"""Inputs that a model makes: built, saved, loaded."""

import asyncio
import json

import pytest
from pydantic import ValidationError

from giskard.checks import generators
from giskard.checks.core.exceptions import ConfigurationError
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
    UserSimulator(persona="novice_user", goal="a refund", first_message="Hi!", language="French", max_calls=4),
    UserSimulator(persona="novice_user", first_message={"text": "Hi!"}, guard_role=False, guard_repeats=False),
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
    common = {
        "generator": None,
        "max_steps": 3,
        "max_retries": 2,
        "max_calls": None,
        "guard_role": True,
        "guard_repeats": True,
    }
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
        "goal": None,
        "first_message": None,
        "language": None,
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
        (UserSimulator, {"persona": "p", "max_calls": 0}, "max_calls"),
        (UserSimulator, {"persona": "p", "goal": " "}, "goal is empty"),
        (UserSimulator, {"persona": "p", "first_message": ""}, "first_message is empty"),
        (UserSimulator, {"persona": "p", "language": ""}, "language is empty"),
        (LLMGenerator, {"prompt": "{% if %}", "as_template": True}, "no template"),
        (LLMGenerator, {"prompt": "{{ tracee }}", "as_template": True}, "did you mean 'trace'"),
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


def test_personas():
    assert list(PERSONAS) == NAMES
    assert all("\n" not in text and len(text) > 30 for text in PERSONAS.values())
    assert UserSimulator(persona="novice_user").persona_text == PERSONAS["novice_user"]
    assert UserSimulator(persona="A novice").persona_text == "A novice"
    inputs = asyncio.run(UserSimulator(persona="A novice", context="c").get_inputs(Trace()))
    assert inputs == {"persona": "A novice", "context": "c", "goal": None, "language": None}


def test_prompts_and_hooks():
    assert LLMGenerator(prompt="p").get_prompt() == "p"
    assert LLMGenerator(prompt="{% literal").get_prompt() == "{% literal"
    assert LLMGenerator(prompt="p").output_type is LLMGeneratorOutput
    assert asyncio.run(LLMGenerator(prompt="p").get_inputs(Trace())) == {}
    with pytest.raises(ConfigurationError, match="no_such_package"):
        LLMGenerator(prompt_path="no_such_package::b").get_prompt()
    with pytest.raises(NotImplementedError, match="BaseLLMGenerator"):
        BaseLLMGenerator().get_prompt()


@pytest.mark.parametrize(
    ("fields", "limit"),
    [({}, 18), ({"max_steps": 1, "max_retries": 0}, 2), ({"max_steps": 0}, 1), ({"max_calls": 5}, 5)],
)
def test_the_limit_of_calls_follows_from_the_others_unless_it_is_given(fields, limit):
    assert UserSimulator(persona="p", **fields).call_limit == limit


def test_the_output_type():
    output = LLMGeneratorOutput.model_validate_json('{"goal_reached": false, "message": {"a": 1}}')
    assert output.message == {"a": 1} and output.schema_issue is None
    with pytest.raises(ValidationError):
        LLMGeneratorOutput(goal_reached="no")


def test_the_folder_hands_out_its_names():
    assert all(getattr(generators, name) for name in generators.__all__)
    assert json.loads(ALL[0].model_dump_json())["kind"] == "llm_generator"
