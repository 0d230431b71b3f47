"""Options that no target can have are refused when it is built."""

import pytest

from giskard.checks.targets import AgentTarget, CommandTarget, HTTPTarget, OpenAITarget


def http(**options):
    return HTTPTarget(**{"url": "http://localhost:1", **options})


def model(**options):
    return OpenAITarget(**{"model": "m", **options})


def command(**options):
    return CommandTarget(**{"command": ["x"], **options})


def agent(**options):
    return AgentTarget(len, **options)


@pytest.mark.parametrize(
    ("make", "name", "value", "expected"),
    [
        (http, "url", 5, "an address"),
        (http, "url", None, "an address"),
        (http, "method", None, "a method such as 'POST'"),
        (http, "headers", {"X": 5}, "a text"),
        (http, "headers", ["X"], "a dictionary of texts"),
        (http, "params", [1], "a dictionary"),
        (http, "params", {1: 2}, "a dictionary"),
        (http, "response_path", 1, "a text, or None"),
        (http, "conversation_id", 1, "a text, or None"),
        (http, "max_retries", "3", "a whole number from 0 on"),
        (http, "max_retries", 1.5, "a whole number from 0 on"),
        (http, "max_retries", True, "a whole number from 0 on"),
        (http, "timeout", "5", "seconds"),
        (http, "timeout", None, "seconds"),
        (http, "accept", 404, "a list of statuses"),
        (http, "accept", ["404"], "a list of statuses"),
        (http, "keep_headers", "content-type", "a list of names"),
        (http, "keep_headers", [1], "a list of names"),
        (http, "max_bytes", 1e6, "a whole number from 1 on"),
        (http, "verify", 1, "True, False, or a file"),
        (model, "model", 1, "the name of a model"),
        (model, "base_url", 1, "an address"),
        (model, "api_key", 5, "a text, or None"),
        (model, "system", 1, "a text, or None"),
        (model, "tools", "x", "a list of tools"),
        (model, "tools", ["x"], "a list of tools"),
        (model, "params", [1], "a dictionary"),
        (model, "stream", 1, "True or False"),
        (model, "headers", {"X": None}, "a text"),
        (model, "max_retries", None, "a whole number from 0 on"),
        (command, "command", 5, "a program and its arguments"),
        (command, "command", ["x", 5], "a program and its arguments"),
        (command, "input", 5, "one of 'stdin', 'argument', 'json'"),
        (command, "env", {"X": 5}, "a text"),
        (command, "cwd", 5, "a folder, or None"),
        (command, "shell", "yes", "True or False"),
        (command, "timeout", True, "seconds"),
        (command, "end_of_options", "--", "True, False or None"),
        (agent, "method", 5, "a text, or None"),
        (agent, "output", 5, "a JSONPath, a function"),
        (agent, "options", [1], "a dictionary"),
    ],
)
def test_values_of_another_type(make, name, value, expected):
    with pytest.raises(TypeError) as caught:
        make(**{name: value})

    assert str(caught.value).startswith(name)
    assert expected in str(caught.value)
    shown = next(iter(value.values())) if isinstance(value, dict) else value
    assert f"is {shown!r} ({type(shown).__name__})" in str(caught.value) or "is of the type" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "name", "value", "expected"),
    [
        (http, "method", "GE T", "a method such as 'POST'"),
        (http, "max_retries", -1, "a whole number from 0 on"),
        (http, "max_bytes", 0, "a whole number from 1 on"),
        (http, "timeout", 0, "a positive, finite number of seconds"),
        (http, "timeout", float("nan"), "a positive, finite number of seconds"),
        (http, "accept", [40], "from 100 to 599"),
        (http, "headers", {"X Y": "a"}, "the name 'X Y'"),
        (model, "model", " ", "the name of a model"),
        (model, "max_retries", -1, "a whole number from 0 on"),
        (model, "timeout", float("inf"), "a positive, finite number of seconds"),
        (command, "command", [], "a program and its arguments"),
        (command, "input", "file", "one of 'stdin', 'argument', 'json'"),
        (command, "max_bytes", 0, "a whole number from 1 on"),
    ],
)
def test_values_that_cannot_be(make, name, value, expected):
    with pytest.raises(ValueError) as caught:
        make(**{name: value})

    assert str(caught.value).startswith(name)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (http, {"headers": {"Authorization": ["s3cr3t"]}}),
        (http, {"headers": {"X-Api-Key": 31337}}),
        (http, {"headers": "s3cr3t"}),
        (http, {"params": ["s3cr3t"]}),
        (http, {"url": b"http://localhost/?key=s3cr3t"}),
        (model, {"api_key": ["s3cr3t"]}),
        (model, {"api_key": b"s3cr3t"}),
        (command, {"env": {"TOKEN": 31337}}),
        (command, {"env": ["TOKEN=s3cr3t"]}),
    ],
)
def test_what_may_be_a_key_is_not_shown(make, options):
    with pytest.raises(TypeError) as caught:
        make(**options)

    assert "s3cr3t" not in str(caught.value)
    assert "31337" not in str(caught.value)


def test_the_defaults_are_those_of_a_generator():
    from giskard.checks.llm import Generator

    fields = Generator.model_fields
    for target in (http(), model()):
        assert target.max_retries == fields["max_retries"].default
        assert target.timeout == fields["timeout"].default
    assert command().timeout == fields["timeout"].default
