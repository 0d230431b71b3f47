"""Every Python block of the README runs, and the output that it shows is the real one."""

import re
from pathlib import Path

import pytest

from tests.samples import needed_by, samples_in_markdown

README = Path(__file__).resolve().parent.parent / "README.md"
SAMPLES = samples_in_markdown(README)
[REPORT] = samples_in_markdown(README, "text")


def test_every_block_is_found():
    text = README.read_text(encoding="utf-8")

    assert len(SAMPLES) == text.count("```python") == 6
    assert sum(sample.has_tests for sample in SAMPLES) == 1


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
def test_block(sample, tmp_path, capsys):
    if sample.has_tests:
        assert "2 passed" in sample.run_by_pytest(tmp_path)
        return
    namespace = {"__name__": "readme"}
    for earlier in needed_by(sample, SAMPLES):
        earlier.run(namespace)
    capsys.readouterr()

    sample.run(namespace)

    printed = capsys.readouterr().out
    if "print_report" in sample.text:
        assert without_times(printed) == without_times(REPORT.text)
    if "without a verdict" in sample.text:
        assert printed == "1 of 3 passed, 1 without a verdict\n"
    if "never_at_ten" in sample.text:
        assert "trace.last.outputs.opens" in printed


def without_times(report):
    """The report without what differs from run to run, and without spaces at the ends of lines."""
    lines = re.sub(r"(Duration +)\S.*", r"\1", report).splitlines()
    return [line.rstrip() for line in lines]


def test_the_two_commands_are_those_of_the_makefile():
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")

    for command in ("demo", "test", "bench"):
        assert f"make {command}" in README.read_text(encoding="utf-8")
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)
