"""What models add to the airline example: small local ones, and judges when there are any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from examples.airline_support import show_models
from examples.airline_support.conversations import SupportTrace, load_conversations
from examples.airline_support.judging import Spent, judge, judge_name, spent
from examples.airline_support.local_models import Alike, Read, SearchedTrace
from giskard.checks import CheckResult, SuiteResult, Usage, set_default_judge
from giskard.checks.llm import ModelCallError
from giskard.checks.testing import FakeGenerator
from tests.examples.test_airline_support import run_demo
from tests.llm.server import ModelServer, Received, Reply, answer_of, error, text


@pytest.fixture
def traces() -> list[SupportTrace]:
    return load_conversations()


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GISKARD_CHECKS_DEFAULT_MODEL", "GISKARD_CHECKS_DEFAULT_JUDGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)  # no .env
    yield
    set_default_judge(None)


def shown(what: Any, width: int = 80) -> str:
    out = StringIO()
    Console(file=out, width=width).print(what)
    return " ".join(out.getvalue().split())


# --- the demo, against a server ------------------------------------------------------------------


def say_yes_to_consent(request: Received) -> Reply:
    passed = "this rule" in request.texts[-1]
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    return answer_of(text(json.dumps({"reason": "as told", "passed": passed}), usage=usage), request)


def test_the_demo_with_judges(tmp_path: Path) -> None:
    options = ("--without", "local", "--judged", "4", "--out", str(tmp_path))
    with ModelServer(say_yes_to_consent) as server:
        seen = run_demo(*options, OPENAI_BASE_URL=server.url)
        assert len(server.requests) == 8
        assert "confirm" not in server.requests[0].body["model"]
        prompts = [request.texts[-1] for request in server.requests]
    # No judge sees what the benchmark found.
    assert not any("expected_actions" in prompt or '"reward"' in prompt for prompt in prompts)

    assert "openai/gpt-4o-mini is asked 2 questions about each of 4 conversations: about 8 calls" in seen
    # 1,000 tokens at $0.15 and 100 at $0.60 a million.
    assert "The first one: 2 calls, 2,200 tokens, cost $0.0004, 3 more: about $0.0013" in seen
    assert "Spent: 8 calls, 8,800 tokens, cost $0.0017" in seen
    rows = {line.split()[0]: line.split()[1:6] for line in seen.splitlines() if line[:1].isalpha() and "%" in line}
    assert rows["yes_before_change"] == ["4", "·", "·", "·", "4/4"]
    assert rows["goal_reached"] == ["·", "4", "·", "·", "0/4"]
    assert "Pass rate 55%: 22 of 40 conversations break no rule" in seen

    report = json.loads((tmp_path / "judged.json").read_text(encoding="utf-8"))
    assert len(report["results"]) == 4
    assert (tmp_path / "report.json").exists()


def test_the_demo_with_a_key_that_is_refused(tmp_path: Path) -> None:
    with ModelServer(error(401, "Incorrect API key provided", code="invalid_api_key")) as server:
        seen = run_demo("--without", "local", "--out", str(tmp_path), OPENAI_BASE_URL=server.url)
        assert len(server.requests) == 2
    assert "39 conversations were left out: the judge cannot be asked" in seen
    assert "Pass rate 55%: 22 of 40 conversations break no rule" in seen


# --- judging -------------------------------------------------------------------------------------


def test_nobody_is_asked_when_nobody_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge_name() is None
    monkeypatch.setenv("GISKARD_CHECKS_DEFAULT_JUDGE", "ollama/llama3.2")
    assert judge_name() == "ollama/llama3.2"
    set_default_judge(FakeGenerator("?", model="mine"))
    assert judge_name() == "mine"


def test_the_budget_ends_it(traces: list[SupportTrace]) -> None:
    set_default_judge(FakeGenerator('{"passed": true}', usage=Usage(calls=1, total_tokens=10, cost=0.01)))
    said: list[tuple[Spent, int]] = []
    found = judge(traces, 0.35, lambda *first: said.append(first))
    assert said == [(Spent(2, 20, 0.02), 39)]
    # Two cents each: nine are 18, eight more would be 34, eight more again 50.
    assert len(found.results) == 17
    assert found.left == 23
    assert spent(found.results).cost == pytest.approx(0.34)
    assert "more would cost more than the budget of $0.35" in found.why


def test_a_model_without_a_price_has_no_budget(traces: list[SupportTrace]) -> None:
    set_default_judge(FakeGenerator('{"passed": true}'))
    found = judge(traces[:10], 0.01, lambda *first: None)
    assert (len(found.results), found.left, found.why) == (10, 0, "")
    assert spent(found.results) == Spent(calls=0, tokens=None, cost=None, unknown=20)


def test_a_judge_that_cannot_be_asked_is_asked_once(traces: list[SupportTrace]) -> None:
    model = FakeGenerator(ModelCallError("no key", kind="authentication", retryable=False))
    set_default_judge(model)
    found = judge(traces, 1, lambda *first: pytest.fail("there is no price to tell"))
    assert (len(found.results), found.left) == (1, 39)
    assert "the judge cannot be asked: no key" in found.why
    assert len(model.prompts) == 2


def test_errors_are_counted_and_the_first_is_told(traces: list[SupportTrace]) -> None:
    set_default_judge(FakeGenerator("no idea"))
    found = judge(traces[:1], 1, lambda *first: None)
    seen = shown(show_models.judged(found, SuiteResult(), 80))
    assert "No verdict, 2 times; the first: the judge's reply could not be read" in seen
    assert "agrees with" not in seen


# --- small models --------------------------------------------------------------------------------


def test_texts_of_tools_can_be_searched(traces: list[SupportTrace]) -> None:
    for trace in traces[:3]:
        searched = SearchedTrace(interactions=trace.interactions)
        calls = trace.tool_calls
        assert len(searched.tool_texts) == len(calls)
        assert all(isinstance(text, str) for text in searched.tool_texts)


def test_without_the_packages_it_says_so() -> None:
    missing = CheckResult.error("needs x: pip install 'giskard-checks[embeddings]'", error_kind="config")
    seen = shown(show_models.alike([Alike(0, 1, missing)]))
    assert "Skipped: needs x: pip install 'giskard-checks[embeddings]'" in seen
    assert "Skipped: needs x" in shown(show_models.attacks([Read("texts", [missing])]))


def test_scores_stand_beside_their_models() -> None:
    close = CheckResult.success("", {"similarity": 0.91, "embedding_model": "tiny==1"})
    far = CheckResult.failure("", {"similarity": 0.4, "embedding_model": "tiny==1"})
    broken = CheckResult.error("it broke", error_kind="model_error")
    seen = shown(show_models.alike([Alike(0, 1, close), Alike(0, 2, far), Alike(1, 1, broken)]))
    assert "by tiny==1." in seen
    assert "0 0.91 0.40 1 error ·" in seen
    assert "1 of 3 are at 0.7 or above" in seen
    assert "task 0, trial 2 (0.40)" in seen

    details = {
        "score": 0.25,
        "text": "Hello \x1b[31m there",
        "texts": 3,
        "attacks": 0,
        "model": "m==2",
        "threshold": 0.8,
    }
    seen = shown(show_models.attacks([Read("texts", [CheckResult.success("", details), broken])]))
    assert "by m==2, attacks are those from 0.8 on" in seen
    assert "texts 3 0 0.25" in seen
    assert "(1 could not be looked into)" in seen
    assert "\x1b" not in seen
