"""The report of a load: exact counts in little memory, and a text that a person can read."""

import pytest

from giskard.checks.importers import ImportReport
from giskard.checks.importers.report import MOST_KEPT, Skipped


def test_it_counts_by_reason_and_keeps_the_first_places():
    report = ImportReport()
    for number in range(1, 6):
        report.skip("a.jsonl", number, "openai_chat", f"message {number} has no role")
    report.skip("b.jsonl", None, None, "there is no conversation in it")
    assert report.skipped_count == 6
    assert [(r.reason, r.format, r.count, r.places) for r in report.reasons] == [
        ("message 1 has no role", "openai_chat", 5, ["a.jsonl:1", "a.jsonl:2", "a.jsonl:3"]),
        ("there is no conversation in it", None, 1, ["b.jsonl"]),
    ]
    assert report.skipped[1] == Skipped("a.jsonl", 2, "openai_chat", "message 2 has no role")


def test_its_memory_is_bounded():
    report = ImportReport()
    for number in range(MOST_KEPT + 50):
        report.skip("a.jsonl", number, None, f"{'x' * (number % 300)}: " + "y" * 5_000)
    assert report.skipped_count == MOST_KEPT + 50
    assert len(report.skipped) == MOST_KEPT
    assert len(report.reasons) == 101
    assert report.reasons[-1].reason == "other reasons"
    assert sum(reason.count for reason in report.reasons) == MOST_KEPT + 50
    assert max(len(skip.reason) for skip in report.skipped) < 400
    for number in range(1_000):
        report.note(f"note {number}")
    assert len(report.notes) == 100


def test_it_reads_well():
    report = ImportReport(files=1, read=1_234, incomplete=40)
    report.formats.update({"tau_bench": 1_200, "openai_chat": 34})
    for number in (17, 18, 40, 51):
        report.skip("logs/a.jsonl", number, "openai_chat", "no message in it has a role; " * 4)
    report.skip("logs/a.jsonl", 99, None, "not JSON: \x1b[31m")
    report.note("a note")
    assert str(report).split("\n") == [
        "1,234 conversations read from 1 file: tau_bench 1,200, openai_chat 34",
        "40 incomplete: a turn in them has no answer",
        "5 records skipped:",
        "  4 x openai_chat: no message in it has a role; no message in it has a role; no",
        "    message in it has a role; no message in it has a role;",
        "      logs/a.jsonl:17, logs/a.jsonl:18, logs/a.jsonl:40 and 1 more",
        "  1 x not JSON: \\x1b[31m",
        "      logs/a.jsonl:99",
        "note: a note",
    ]


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (ImportReport(), "0 conversations read from 0 files"),
        (ImportReport(files=2, read=1), "1 conversation read from 2 files"),
    ],
)
def test_numbers_and_their_nouns(report, text):
    assert str(report) == text
