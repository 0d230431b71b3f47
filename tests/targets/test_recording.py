"""Whole runs against live targets, recorded and replayed."""

import asyncio
import json

import pytest

from giskard.checks import Scenario, StringMatching
from giskard.checks.llm import cassette
from giskard.checks.llm.cassettes import UnusedRecordingWarning
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.targets import HTTPTarget, OpenAITarget
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
