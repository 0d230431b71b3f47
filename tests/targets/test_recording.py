"""Whole runs against live targets, recorded and replayed."""

import asyncio
import json
import os
import sys

import pytest

from giskard.checks import Scenario, StringMatching
from giskard.checks.llm import cassette
from giskard.checks.llm.cassettes import UnusedRecordingWarning
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.targets import AgentTarget, CommandTarget, HTTPTarget, OpenAITarget, TargetError
from tests.llm import server as model
from tests.targets.server import Server, json_reply, sse


def run(target, **options):
    case = (
        Scenario("talk")
        .interact("yes")
        .interact("yes")
        .check(StringMatching(keyword="2", target_key="trace.last.outputs"))
    )
    return asyncio.run(case.run(target=target, **options))


def counted():
    numbers = iter(range(1, 100))
    return lambda request: json_reply({"text": f"answer {next(numbers)}", "sid": "s-1"}, headers={"X-Request-Id": "r"})


def test_a_run_over_http_is_replayed_without_the_service(tmp_path):
    def target(url):
        return HTTPTarget(
            url,
            headers={"Authorization": "Bearer key-1234"},
            body={"q": "{{ inputs }}", "id": "{{ conversation_id }}"},
            conversation_id_from="body:sid",
            response_path="text",
        )

    with Server(default=counted()) as server:
        with cassette(tmp_path / "tape.json"):
            recorded = run(target(server.url))
        assert len(server.requests) == 2
        with cassette(tmp_path / "tape.json", "strict"):
            replayed = run(target(server.url))
        assert len(server.requests) == 2

    assert recorded.passed and replayed.passed
    assert replayed.final_trace == recorded.final_trace
    assert replayed.final_trace.last.outputs == "answer 2"  # the same words, at another turn
    assert "key-1234" not in (tmp_path / "tape.json").read_text(encoding="utf-8")


def test_what_is_asked_for_is_what_is_recorded(tmp_path):
    with Server(default=counted()) as server:
        target = HTTPTarget(server.url + "/a", response_path="text")
        with cassette(tmp_path / "tape.json"):
            run(target)
        for other in (
            HTTPTarget(server.url + "/b", response_path="text"),
            HTTPTarget(server.url + "/a", response_path="text", body={"x": "{{ inputs }}"}),
            HTTPTarget(server.url + "/a", response_path="text", headers={"X-Tenant": "2"}),
            HTTPTarget(server.url + "/a?lang=en", response_path="text"),
            HTTPTarget(server.url + "/a", params={"lang": "en"}, response_path="text"),
            HTTPTarget(server.url + "/a", "PUT", response_path="text"),
        ):
            tape = cassette(tmp_path / "tape.json", "replay")
            with pytest.warns(UnusedRecordingWarning), tape, pytest.raises(ModelCallError):
                run(other)
        assert len(server.requests) == 2


def test_each_attempt_is_recorded(tmp_path):
    with Server(default=counted()) as server:
        case = Scenario("s").interact("hi").check(StringMatching(keyword="answer"))
        target = HTTPTarget(server.url, conversation_id="header:X-Id", response_path="text")
        with cassette(tmp_path / "tape.json"):
            asyncio.run(case.run(target=target, multiple_runs=3))
        with cassette(tmp_path / "tape.json", "strict"):
            again = asyncio.run(case.run(target=target, multiple_runs=3))

    assert [attempt.final_trace.last.outputs for attempt in again.earlier_attempts] == ["answer 1", "answer 2"]
    assert again.final_trace.last.outputs == "answer 3"


def test_a_run_against_a_model_is_replayed(tmp_path):
    with model.ModelServer() as server:
        server.script(model.tool_calls(), model.text("turn 2"))
        target = OpenAITarget("m", server.url, "sk-abcdefghijkl")
        with cassette(tmp_path / "tape.json"):
            recorded = run(target)
        with cassette(tmp_path / "tape.json", "strict"):
            replayed = run(target)

    assert replayed.final_trace == recorded.final_trace
    assert replayed.final_trace.interactions[0].metadata["tool_calls"][0].name == "look_up"
    assert replayed.final_trace.last.metadata["usage"].total_tokens == 520


def test_a_stream_is_replayed_as_it_was(tmp_path):
    chunk = json.dumps({"t": "a 2"})
    with Server(sse(chunk), sse(chunk, chunk)) as server:
        target = HTTPTarget(server.url, stream_path="t")
        with cassette(tmp_path / "tape.json"):
            recorded = run(target)
        with cassette(tmp_path / "tape.json", "strict"):
            replayed = run(target)

    assert replayed.final_trace == recorded.final_trace
    assert replayed.final_trace.last.metadata["time_to_first_chunk"] > 0


def test_a_service_may_be_anywhere(tmp_path):
    def target(url):
        return HTTPTarget(f"{url}/ask?lang=en", params={"n": "{{ trial }}"}, response_path="text")

    with Server(default=counted()) as server, cassette(tmp_path / "tape.json"):
        recorded = run(target(server.url))
    with cassette(tmp_path / "tape.json", "strict"):
        replayed = run(target("https://shop.example.com"))

    assert replayed.final_trace == recorded.final_trace
    assert "127.0.0.1" not in (tmp_path / "tape.json").read_text(encoding="utf-8")


def test_a_model_may_be_anywhere(tmp_path):
    with model.ModelServer() as server, cassette(tmp_path / "tape.json"):
        server.script(model.text("1"), model.text("2"))
        recorded = run(OpenAITarget("m", server.url))
    with cassette(tmp_path / "tape.json", "strict"):
        assert run(OpenAITarget("m", "https://models.example.com/v1")).final_trace == recorded.final_trace


# --- commands ----------------------------------------------------------------------------

COUNTS = """
import os, sys
with open(os.environ["LOG"], "a+") as log:
    log.write("x")
    log.seek(0)
    print("answer", len(log.read()))
print("noise", file=sys.stderr)
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    path = tmp_path / "agent.py"
    path.write_text(COUNTS, encoding="utf-8")
    return path


def times_run(script):
    return len((script.parent / "log").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("how", "arguments"),
    [("stdin", []), ("json", ["{{ trial }}", "{{ conversation_id }}"]), ("argument", ["--q={{ inputs }}"])],
)
def test_a_command_is_replayed_without_being_run(how, arguments, script, tmp_path):
    target = CommandTarget([sys.executable, str(script), *arguments], how, env={"API_KEY": "s3cr3t-value"})
    with cassette(tmp_path / "tape.json"):
        recorded = run(target)
    with cassette(tmp_path / "tape.json", "strict"):
        replayed = run(target)

    assert times_run(script) == 2
    assert recorded.passed
    assert replayed.passed
    assert replayed.final_trace == recorded.final_trace
    assert replayed.final_trace.last.metadata["target"]["exit_code"] == 0
    assert replayed.final_trace.last.metadata["target"]["stderr"] == "noise\n"
    tape = (tmp_path / "tape.json").read_text(encoding="utf-8")
    assert "s3cr3t" not in tape
    assert str(tmp_path) not in tape


def test_a_command_is_found_on_another_machine(script, tmp_path, monkeypatch):
    with cassette(tmp_path / "tape.json"):
        recorded = run(CommandTarget([sys.executable, script]))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with cassette(tmp_path / "tape.json", "strict"):
        assert run(CommandTarget(["/opt/bin/python", str(elsewhere / "agent.py")])).final_trace == recorded.final_trace


def test_another_command_is_another_call(script, tmp_path):
    command = [sys.executable, str(script)]
    with cassette(tmp_path / "tape.json"):
        run(CommandTarget(command))
    for other in (
        CommandTarget([*command, "--fast"]),
        CommandTarget([sys.executable, "other.py"]),
        CommandTarget(command, "argument"),
        CommandTarget(command, env={"MODE": "fast"}),
        CommandTarget(command, output="json"),
        CommandTarget(os.fspath(script), shell=True),
    ):
        tape = cassette(tmp_path / "tape.json", "replay")
        with pytest.warns(UnusedRecordingWarning), tape, pytest.raises(ModelCallError):
            run(other)
    assert times_run(script) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="the shell is that of POSIX")
def test_a_command_that_fails_is_not_recorded(tmp_path):
    tape = cassette(tmp_path / "tape.json")
    for _ in range(2):
        with tape, pytest.raises(TargetError, match="exit code 3"):
            run(CommandTarget("exit 3", shell=True))
        assert not tape.recorded


def test_an_agent_is_not_recorded(tmp_path):
    asked = []
    target = AgentTarget(lambda inputs: asked.append(inputs) or f"answer {len(asked)}")
    tape = cassette(tmp_path / "tape.json")
    for number in (2, 4):
        with tape:
            assert run(target).final_trace.last.outputs == f"answer {number}"
    assert not tape.recorded
