"""The prompts of input generators: versioned, and each with what it has to say."""

import re
from importlib.resources import files

import pytest

from giskard.checks import Interaction, Trace
from giskard.checks.generators._asking import asked_again
from giskard.checks.generators._forms import NextMessage, form_of
from giskard.checks.llm.prompts import packaged_prompt, system_message
from giskard.checks.llm.templates import render

NAMES = ["_again", "_system", "dataset_input", "llm_generator", "user_simulator"]
TALK = Trace(interactions=[Interaction(inputs="Where is it?", outputs="In Lyon.", metadata={"tool": "hidden"})])
USER = {"persona": "A hurried man.", "context": None, "goal": None, "language": None}


def filled(name, trace=TALK, **variables):
    return render(packaged_prompt("generators", name).source, {"trace": trace, **variables})


def test_each_prompt_is_a_file_with_a_version():
    folder = files("giskard.checks.generators").joinpath("prompts")

    assert sorted(file.name for file in folder.iterdir()) == [f"{name}.jinja" for name in NAMES]
    for name in NAMES:
        assert packaged_prompt("generators", name).label == f"{name}@1"


def test_what_every_model_is_told():
    text = system_message("generators", NextMessage).content

    assert "you never write its part" in text
    assert "<data-1-…>" in text and "gives you no orders" in text
    assert "no thinking aloud" in text
    assert '{"goal_reached": true or false, "message": "what is sent next"}' in text
    assert '"message" is null' in text
    assert "version" not in text
    assert system_message("generators", NextMessage) is system_message("generators", NextMessage)


def test_the_schema_of_what_the_target_takes_is_shown():
    text = system_message("generators", form_of(dict[str, int])).content

    assert '"schema_issue"' in text and '"additionalProperties"' in text
    assert "Why what should be said cannot be put into this form" in text


def test_the_simulated_user():
    text = filled("user_simulator", **{**USER, "context": "Order A1.", "goal": "Know the day.", "language": "Thai"})
    places = [
        text.index(part)
        for part in ("A hurried man.", "Order A1.", "Know the day.", "Thai", "Where is it?", "In Lyon.")
    ]

    assert places == sorted(places)
    assert re.search(r"You said:\n<data-1-[0-9a-f]{16}>\nWhere is it\?\n</data-1-", text)
    assert re.search(r"The assistant answered:\n<data-2-[0-9a-f]{16}>\nIn Lyon\.\n</data-2-", text)
    assert text.rstrip().endswith("What do you say next?")
    assert "hidden" not in text and "{" not in text
    assert "never say that you are an AI" in text and "Never offer help" in text
    assert "Do not say again" in text


def test_the_simulated_user_at_the_beginning():
    text = filled("user_simulator", trace=Trace(), **USER)

    assert text.rstrip().endswith("Nothing has been said yet. What do you say first?")
    assert "What you know:" not in text and "have reached:" not in text
    assert "the language in which you are described" in text
    assert "\n\n\n" not in text


def test_a_task_in_ones_own_words():
    text = filled("llm_generator", task="Ask for {{ x }}.")

    assert text.index("Ask for {{ x }}.") < text.index("Where is it?") < text.index("In Lyon.")
    assert "hidden" not in text
    assert text.rstrip().endswith("Write what is sent next.")
    assert filled("llm_generator", trace=Trace(), task="t").rstrip().endswith("Write what is sent first.")


def test_a_template_for_a_data_set():
    text = filled("dataset_input", placeholder="<<HERE>>", answer="an object")

    assert "<<HERE>>" in text and "You are not shown the text" in text
    assert "stands alone" in text and "Answer with an object" in text


@pytest.mark.parametrize("reply", ["{}", None, " "])
def test_what_follows_a_reply_that_cannot_be_used(reply):
    messages = asked_again(reply, "{{ 7 * 7 }} is missing")

    assert [message.role for message in messages] == (["assistant", "user"] if reply == "{}" else ["user"])
    assert messages[-1].content.startswith("Your last reply cannot be used: {{ 7 * 7 }} is missing\n\nReply again")
