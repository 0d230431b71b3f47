"""The measurement of judges: known verdicts in, the exact rates out; and what it says when nothing can be measured."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from evals.judges import main
from evals.judges_data import DataError, drawn, read_answers, read_pairs
from tests.llm.server import Behaviour, ModelServer, Received, Reply, answer_of, error, text

LABELS = {"none": "1_full_compliance", "full": "2_full_refusal", "partial": "3_partial_refusal"}
# What people say, what the judge says, how often; None is a reply that cannot be read.
ANSWERS: list[tuple[str, str | None, int]] = [
    ("full", "full", 5),
    ("full", "partial", 2),
    ("full", "none", 1),
    ("partial", "full", 1),
    ("partial", "none", 3),
    ("none", "none", 6),
    ("none", "full", 2),
    ("none", None, 1),
    ("full", None, 1),
]
# What two people prefer, what the judge says, how often; "stands first" is whatever does.
PAIRS: list[tuple[tuple[int, int], str | None, int]] = [
    ((-2, -1), "alpha", 4),
    ((-1, -1), "beta", 1),
    ((-1, -2), "stands first", 1),
    ((2, 2), "beta", 3),
    ((1, 2), "tie", 2),
    ((1, -1), "alpha", 1),
    ((0, 0), "tie", 2),
    ((0, 1), "beta", 1),
    ((2, 1), None, 1),
]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GISKARD_CHECKS_DEFAULT_MODEL", "GISKARD_CHECKS_DEFAULT_JUDGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)  # no .env


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with both kinds of data, and with files that are neither."""
    folder = tmp_path / "data"
    folder.mkdir()
    said = [(human, judge) for human, judge, count in ANSWERS for _ in range(count)]
    with (folder / "xstest_v2_completions_m_gpteval.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "prompt", "completion", "annotation_1", "annotation_2", "final_label", "gpt4_label"])
        for number, (human, judge) in enumerate(said):
            other = "2_full_refusal" if number == 0 else LABELS[human]
            rows.writerow(
                [
                    f"v2-{number}",
                    f"Do it, {number}!",
                    f"the judge says {judge}",
                    other,
                    LABELS[human],
                    LABELS[human],
                    "",
                ]
            )
    (folder / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")

    pairs = [(people, judge) for people, judge, count in PAIRS for _ in range(count)]
    written = [
        pair(number, f"Question {number}: the judge says {judge}", "alpha", "beta", label)
        for number, (people, judge) in enumerate(pairs)
        for label in people
    ]
    written += [pair(90, "?", " ", "beta", 2), pair(90, "?", " ", "beta", 2)]
    written += [pair(91, "?", "beta", "beta", 0), pair(91, "?", "beta", "beta", 0)]
    (folder / "human_labeled_data.json").write_text(json.dumps(written), encoding="utf-8")
    (folder / "other.json").write_text('{"a": 1}', encoding="utf-8")
    return folder


def pair(number: int, question: str, first: str, second: str, label: int) -> dict[str, Any]:
    models = {"model1": {"response": first}, "model2": {"response": second}}
    return {"instance_id": number, "query": question, "overall_label": label, **models}


def judge(request: Received) -> Reply:
    """Says what the item tells it to say."""
    prompt = next(words for words in request.texts if "the judge says" in words)
    told = re.findall(r"the judge says (\w+ ?\w*)", prompt)[-1].strip()
    wanted: Any
    if told == "None":
        return answer_of(text("Well, that depends."), request)
    if told in LABELS:
        wanted = {"reason": "as told", "refusal": told}
    else:
        first = "alpha" if prompt.rindex("alpha") < prompt.rindex("beta") else "beta"
        better = "tie" if told == "tie" else "first" if told in (first, "stands first") else "second"
        wanted = {"reason": "as told", "better": better}
    return answer_of(text(json.dumps(wanted)), request)


def run(server: ModelServer, out: Path, *options: str) -> dict[str, Any]:
    arguments = ["--model", "openai/gpt-4o-mini", "--base-url", server.url, "--json", str(out), *options]
    assert main(arguments) == 0
    return json.loads(out.read_text(encoding="utf-8"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "results" / "judges.json"


def figures(task: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["who"]: row for row in task["figures"]}


# --- known verdicts, exact rates -----------------------------------------------------------------


def test_refusals(data: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(judge) as server:
        report = run(server, out, "--data", str(data), "--limit", "all", "--tasks", "refusal")
    (task,) = report["tasks"]
    assert (task["drawn"], task["judged"], task["errors"]) == (22, 20, {"unreadable_verdict": 2})

    row = figures(task)["judge"]
    assert (row["true_positive"]["hits"], row["true_positive"]["n"]) == (8, 12)
    assert (row["true_negative"]["hits"], row["true_negative"]["n"]) == (6, 8)
    assert row["true_positive"]["rate"] == pytest.approx(8 / 12)
    assert (row["true_positive"]["low"], row["true_positive"]["high"]) == pytest.approx((0.3906, 0.8619), abs=1e-4)
    assert row["agreement"] == {"hits": 14, "n": 20, "rate": 0.7}
    # Expected by chance: 12/20 * 10/20 + 8/20 * 10/20 = 0.5.
    assert row["kappa"] == pytest.approx((0.7 - 0.5) / 0.5)
    assert task["notes"]["people_against_judge"] == {
        "full": {"full": 5, "partial": 2, "none": 1},
        "partial": {"full": 1, "none": 3},
        "none": {"none": 6, "full": 2},
    }
    assert (task["notes"]["full_refusals_seen"]["hits"], task["notes"]["full_refusals_seen"]["n"]) == (7, 8)
    assert (task["notes"]["partial_refusals_seen"]["hits"], task["notes"]["partial_refusals_seen"]["n"]) == (1, 4)
    people = figures(task)["two people"]
    assert (people["agreement"]["hits"], people["agreement"]["n"]) == (22, 22)
    assert people["true_positive"] is None

    # A reply that cannot be read is asked for once more.
    assert task["used"]["calls"] == {"known": 24, "items_unknown": 0}
    assert task["used"]["input_tokens"] == {"known": 24 * 500, "items_unknown": 0}
    assert task["used"]["cost"]["known"] == pytest.approx(24 * (500 * 0.15 + 20 * 0.60) / 1e6)

    shown = capsys.readouterr().out
    assert "66.7 % (39-86)" in shown
    assert "refusals seen" in shown
    assert "unreadable_verdict 2" in shown
    assert "The first error: the judge's reply could not be read" in shown


def test_pairs(data: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(judge) as server:
        report = run(server, out, "--data", str(data), "--limit", "all", "--tasks", "pairwise")
    (task,) = report["tasks"]
    assert task["data"]["left_out"] == {"an empty answer": 1, "the same answer twice": 1}
    assert (task["drawn"], task["judged"], task["errors"]) == (16, 15, {"unreadable_verdict": 1})

    row = figures(task)["judge"]
    # Of the pairs on which both people prefer one answer; a tie of the judge is no hit.
    assert (row["true_positive"]["hits"], row["true_positive"]["n"]) == (4, 6)
    assert (row["true_negative"]["hits"], row["true_negative"]["n"]) == (3, 5)
    # With each person: 8 + 6 where both prefer the same, 1 of 2 where they differ, 4 ties, 1 of 2 half-ties.
    assert row["agreement"] == {"hits": 20, "n": 30, "rate": pytest.approx(2 / 3)}
    assert task["notes"]["ties"] == 5
    assert task["notes"]["same_in_both_orders"]["hits"] == 14
    first = task["notes"]["prefers_what_stands_first"]
    # 10 steady preferences, each once for the first and once for the second; and two for what stands first.
    assert (first["hits"], first["n"]) == (12, 22)
    assert task["notes"]["people_against_judge"] == {
        "first": {"first": 9, "second": 2, "tie": 2},
        "tie": {"tie": 4, "second": 1},
        "second": {"second": 7, "tie": 4, "first": 1},
    }
    people = figures(task)["two people"]
    assert (people["agreement"]["hits"], people["agreement"]["n"]) == (14, 16)
    longer = figures(task)["longer answer"]
    assert (longer["true_positive"]["hits"], longer["true_negative"]["hits"]) == (6, 0)
    assert "1 with an empty answer, 1 with the same answer twice" in " ".join(capsys.readouterr().out.split())


def test_the_file_is_enough_to_do_it_again(data: Path, out: Path) -> None:
    with ModelServer(judge) as server:
        report = run(server, out, "--data", str(data), "--limit", "4", "--seed", "7", "--concurrency", "3")
        assert server.max_in_flight <= 3
        assert {request.body["temperature"] for request in server.requests} == {0}
        url = server.url
    assert report["judge"] == {
        "kind": "generator",
        "model": "openai/gpt-4o-mini",
        "base_url": url,
        "temperature": 0,
        "max_concurrency": 3,
    } | {
        name: report["judge"][name]
        for name in ("timeout", "max_retries", "headers", "extra")
        if name in report["judge"]
    }
    assert (report["seed"], report["limit"]) == (7, 4)
    refusal, pairwise = report["tasks"]
    (file,) = refusal["data"]["files"]
    path = data / file["name"]
    assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert file["rows"] == 22
    assert set(refusal["prompts"]) == {"refusal@1", "_system@1"}
    assert set(pairwise["prompts"]) == {"pairwise@1", "_system@1"}
    assert refusal["answered_as"] == ["gpt-4o-mini"]
    assert len(refusal["items"]) == len(pairwise["items"]) == 4
    assert {item["id"] for item in refusal["items"]} <= {f"m/v2-{number}" for number in range(22)}
    assert "giskard-checks" in refusal["packages"]


def test_what_is_unknown_is_said(data: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def silent(request: Received) -> Reply:
        answer = judge(request)
        del answer.content["usage"]
        return answer

    with ModelServer(silent) as server:
        report = run(server, out, "--data", str(data), "--limit", "3")
    for task in report["tasks"]:
        assert task["used"]["cost"] == {"known": None, "items_unknown": 3}
        assert task["used"]["calls"]["known"] is not None
    assert "tokens: unknown in, unknown out; cost: unknown" in capsys.readouterr().out


def test_it_goes_on_where_it_ended(data: Path, out: Path, tmp_path: Path) -> None:
    options = ("--data", str(data), "--limit", "5", "--cache", str(tmp_path / "cache"))
    with ModelServer(judge) as server:
        first = run(server, out, *options, "--tasks", "refusal")
        asked = len(server.requests)
        again = run(server, out, *options)
        assert len(server.requests) > asked  # the other task
        pairs = len(server.requests) - asked
        last = run(server, out, *options)
        assert len(server.requests) == asked + pairs
    assert first["from_cache"] == 0
    assert again["from_cache"] == asked
    assert last["from_cache"] == asked + pairs
    assert [task["figures"] for task in last["tasks"]] == [task["figures"] for task in again["tasks"]]


def test_no_key_is_written(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "sk-test-" + "0123456789abcdef" * 2
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with ModelServer(judge) as server:
        run(server, out, "--data", str(data), "--limit", "2", "--key-variable", "OPENAI_API_KEY")
        assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    shown = capsys.readouterr()
    assert key not in out.read_text(encoding="utf-8") + shown.out + shown.err


# --- when nothing can be measured ----------------------------------------------------------------


def test_without_a_judge_it_says_how_to_give_one(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", str(out)]) == 0
    shown = capsys.readouterr()
    assert "No judge, so nothing was measured" in shown.out
    assert "make judge-eval MODEL=ollama/llama3.2" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert shown.err == ""
    assert not out.exists()


def test_the_judge_of_the_environment(data: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(judge) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("GISKARD_CHECKS_DEFAULT_JUDGE", "openai/a-judge")
        assert main(["--data", str(data), "--limit", "1", "--json", str(out)]) == 0
        assert {request.body["model"] for request in server.requests} == {"a-judge"}
    report = json.loads(out.read_text(encoding="utf-8"))
    assert (report["judge"]["model"], report["judge"]["base_url"]) == ("openai/a-judge", server.url)


@pytest.mark.parametrize("behaviour", [error(401, "Incorrect API key provided", code="invalid_api_key")])
def test_it_stops_at_the_first_call_when_no_other_can_do_better(
    behaviour: Behaviour, data: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(behaviour) as server:
        assert main(["--model", "m", "--base-url", server.url, "--data", str(data), "--json", str(out)]) == 1
        assert len(server.requests) == 1
    assert "The judge cannot be asked: " in capsys.readouterr().err
    assert not out.exists()


def test_failed_calls_of_some_items_are_errors_apart(data: Path, out: Path) -> None:
    def failing(request: Received) -> Reply:
        return error(400, "no such thing") if "says none" in request.texts[-1] else judge(request)

    with ModelServer(failing) as server:
        report = run(server, out, "--data", str(data), "--limit", "all", "--tasks", "refusal")
    (task,) = report["tasks"]
    assert task["errors"] == {"model_error": 10, "unreadable_verdict": 2}
    assert figures(task)["judge"]["true_positive"]["n"] + figures(task)["judge"]["true_negative"]["n"] == 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--limit", "0"], "expected a number from 1 on, or 'all'"),
        (["--tasks", "refusals"], "tasks are refusal, pairwise"),
        (["--concurrency", "0"], "--concurrency must be at least 1"),
        (["--base-url", "http://localhost:1/v1"], "--base-url needs --model"),
    ],
)
def test_options_that_cannot_be_meant(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(options)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


# --- the data ------------------------------------------------------------------------------------


def test_the_samples_are_read() -> None:
    answers, pairs = read_answers(None), read_pairs(None)
    assert answers.is_sample
    assert pairs.is_sample
    assert len(answers.items) == 140
    assert len(pairs.items) + pairs.left_out.total() == 40
    assert all(len(pair.people) == 2 for pair in pairs.items)


def test_the_two_files_of_a_model_are_one(tmp_path: Path) -> None:
    columns = "id,prompt,completion,annotation_1,annotation_2,agreement,final_label,"
    row = "v2-1,Why?,No.,2_full_refusal,3_partial_refusal,False,2_full_refusal,"
    for kind, column, label in (("gpteval", "gpt4_label", "1_full_compliance"), ("streval", "strmatch_label", "x")):
        path = tmp_path / f"xstest_v2_completions_llama2new_{kind}.csv"
        path.write_text(f"{columns}{column}\n{row}{label}\n", encoding="utf-8")
    (item,) = read_answers(tmp_path).items
    assert (item.id, item.extent, item.people, item.gpt4) == ("llama2new/v2-1", "full", ("full", "partial"), "none")


@pytest.mark.parametrize("read", [read_answers, read_pairs])
def test_folders_without_the_data(read: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(DataError, match="expected"):
        read(tmp_path)
    assert main(["--model", "m", "--data", str(tmp_path)]) == 1


def test_labels_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,prompt,completion,final_label\nx,Why?,No.,maybe\n", encoding="utf-8")
    with pytest.raises(DataError, match="'x' is labelled 'maybe', expected one of 1_full_compliance"):
        read_answers(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps([pair(1, "?", "a", "b", 1)]), encoding="utf-8")
    with pytest.raises(DataError, match="instance 1 has 1 rows, expected two"):
        read_pairs(tmp_path)


def test_a_smaller_draw_is_a_part_of_a_larger_one() -> None:
    items = list(range(50))
    assert drawn(items, None, 3)[:10] == drawn(items, 10, 3)
    assert sorted(drawn(items, None, 3)) == items
    assert drawn(items, 10, 3) != drawn(items, 10, 4)
