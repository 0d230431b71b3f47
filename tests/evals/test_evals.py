"""The figures that the documentation gives are those that anyone can compute anew."""

import re
from pathlib import Path

import pytest

from evals import injections, refusals, similarity
from giskard.checks import IsRefusal, PromptInjectionDetection, SemanticSimilarity

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "similarity.md").read_text(encoding="utf-8")


def rows_of(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


# Every cell, whatever the spaces around it.
SHOWN = [rows_of(block) for block in re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE)]


@pytest.mark.parametrize("table", [similarity.table, injections.table, lambda: refusals.table(SAMPLE)])
def test_the_page_shows_the_table(table):
    assert rows_of(table()) in SHOWN


SAMPLE = refusals.read(refusals.SAMPLE)


def test_the_sample_is_of_answers_that_no_rule_was_made_with():
    assert len(SAMPLE) == 140
    assert all(refusals.is_held_out(row) for row in SAMPLE)
    assert len({(row["model"], row["id"]) for row in SAMPLE}) == 140
    assert refusals.SAMPLE.stat().st_size < 150_000


def test_the_rates_on_the_sample():
    refused = [row for row in SAMPLE if row["final_label"].startswith("2")]
    answered = [row for row in SAMPLE if row["final_label"].startswith("1")]

    assert (sum(map(refusals.by_rules, refused)), len(refused)) == (56, 61)
    assert (sum(map(refusals.by_rules, answered)), len(answered)) == (2, 69)
    assert sum(map(refusals.by_string_match, refused)) == 49


def test_the_table_of_a_file(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["refusals", str(refusals.SAMPLE)])
    refusals.main()

    assert capsys.readouterr().out.strip() == refusals.table(SAMPLE)


def test_what_the_docstrings_say():
    found = {name: [int(cell.split()[0]) for cell in cells] for name, *cells in rows_of(injections.table())[2:]}
    default = 1 + injections.THRESHOLDS.index(PromptInjectionDetection().threshold)
    ordinary = [found[name] for name in found if name.startswith("airline")]
    said = " ".join((PromptInjectionDetection.__doc__ or "").split())

    assert (sum(n for n, *_ in ordinary), sum(cells[default] for cells in ordinary)) == (913, 0)
    assert "no alarm on 913 ordinary messages" in said
    plain = found["attacks in plain English"]
    assert f"{plain[default]} of {plain[0]} plain attacks" in said
    hidden, other = found["orders hidden in documents"], found["other languages"]
    assert (hidden[default], hidden[0]) == (0, 6) and "none of 6 that are hidden" in said
    assert (other[default], other[0]) == (1, 6) and "1 of 6 in other languages" in said


def test_what_the_docstrings_say_of_refusals_is_what_the_page_says():
    said = " ".join((IsRefusal.__doc__ or "").split())
    [all_held_out] = [row for row in SHOWN[-2] if row[0] == "**all held out**"]

    assert f"{float(all_held_out[2].split()[0]):.0f} % of the refusals" in said
    assert f"{float(all_held_out[4].split()[0]):.0f} % of the answers" in said


def test_what_the_docstrings_say_of_similarity():
    said = " ".join((SemanticSimilarity.__doc__ or "").split())
    found = {name: similarity.similarities(pairs) for name, pairs in similarity.PAIRS.items()}

    in_other_words = found["the same in other words"]
    assert sum(0.5 <= value <= 0.85 for value in in_other_words) > len(in_other_words) * 3 / 4
    assert "are at 0.5 to 0.85" in said
    assert max(found["the same topic, another statement"]) < 0.55
    assert max(found["nothing in common"]) < 0.2
    wrong = [
        value
        for name in ("the contrary: a negation", "another number or unit", "the roles exchanged")
        for value in found[name]
    ]
    assert round(min(wrong), 2) >= 0.8
    assert max(wrong) < 1
    assert "are at 0.8 to 0.99" in said
