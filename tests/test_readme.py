"""Every example of the README, of docs/ and of the docstrings runs, and the output that they show is the real one."""

import doctest
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import giskard.checks
from giskard.checks import Check, InputGenerator, InteractionSpec
from giskard.checks.core import late
from tests.pages import blocks_of, samples_of, shown_in, without_times
from tests.samples import needed_by

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("**/*.md"))]
SAMPLES = {page: samples_of(page) for page in PAGES}
ALL_SAMPLES = [sample for page in PAGES for sample in SAMPLES[page]]
SHOWN = {sample: block.text for page in PAGES for sample, block in shown_in(page).items()}
SOURCES = ROOT / "src"
WITH_EXAMPLES = [
    ".".join(path.relative_to(SOURCES).with_suffix("").parts)
    for path in sorted(SOURCES.rglob("*.py"))
    if re.search(r"^\s*>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.fixture(autouse=True)
def kinds():
    """What a block registers is taken back after it."""
    for name in giskard.checks.__all__:  # what registers when it is loaded does so now
        getattr(giskard.checks, name)
    families = (Check, InteractionSpec, InputGenerator)
    before = [dict(family._kinds) for family in families]
    yield
    for family, known in zip(families, before, strict=True):
        family._kinds.clear()
        family._kinds.update(known)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_found(page):
    text = page.read_text(encoding="utf-8")
    files = text.count("```python title=")  # tests/test_docs.py writes them

    assert len(SAMPLES[page]) + files == text.count("```python") > 0


# How the tests of a block end, for the blocks that hold tests: by the first of them.
OUTCOMES = {
    "test_the_agent_takes_up_the_word": "2 passed",
    "test_the_fee_is_told": "1 passed",
    "test_a_lost_card_is_understood": "2 passed",
    "test_scenario": "2 passed",
    "test_scenario_of_the_suite": "3 passed",
    "test_all": "1 passed",
    "test_against_the_real_assistant": "1 skipped",
    "test_the_right_fee": "1 failed",
    "test_the_right_fee_in_short": "1 failed",
    "test_the_bank_is_polite": "2 passed",
}


def test_the_blocks_with_tests_are_known():
    assert {sample.tests[0] for sample in ALL_SAMPLES if sample.has_tests} == set(OUTCOMES)


def test_most_pages_show_what_their_samples_print():
    assert len(SHOWN) > 40


@pytest.mark.parametrize("sample", ALL_SAMPLES, ids=lambda sample: sample.id)
def test_block(sample, tmp_path, capsys, monkeypatch):
    earlier = needed_by(sample, SAMPLES[sample.path])
    if sample.has_tests:
        outcome = OUTCOMES[sample.tests[0]]
        printed = sample.run_by_pytest(tmp_path, earlier, fails="failed" in outcome)
        assert outcome in printed
        if "failed" in outcome:
            after = (it for it in blocks_of(sample.path) if it.language == "text" and it.line > sample.line)
            assert failure_in(printed) == next(after).text
        return
    monkeypatch.chdir(tmp_path)  # some write files
    monkeypatch.setenv("COLUMNS", "80")
    module = ModuleType("readme")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where pydantic looks up what annotations name
    namespace = vars(module)
    for needed in earlier:
        needed.run(namespace)
    capsys.readouterr()

    sample.run(namespace)

    printed = capsys.readouterr().out
    if sample in SHOWN:  # .ci/refresh-docs writes it anew
        assert without_times(printed) == without_times(SHOWN[sample])
    if "without a verdict" in sample.text:
        assert printed == "1 of 3 passed, 1 without a verdict\n"
    if "never_at_ten" in sample.text:
        assert "trace.last.outputs.opens" in printed


def failure_in(printed):
    """The line that failed, and what pytest says of it."""
    return "".join(f"{line}\n" for line in printed.splitlines() if re.match(r"[>E]  ", line))


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_the_examples_of_the_docstrings(module):
    found = doctest.testmod(import_module(module))

    assert found.attempted > 0
    assert found.failed == 0


def rows_of_checks():
    """The rows of the README's table of checks: the name, the rest of the first cell, and the names of the fields."""
    text = README.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)`(.*?) \|.*\| (.*) \|$", text, re.MULTILINE)
    return {name: (mark.strip(), re.findall(r"`(\w+)`", fields)) for name, mark, fields in rows}


def test_the_table_has_every_check_and_names_fields_that_there_are():
    rows = rows_of_checks()
    checks = {name: getattr(giskard.checks, name) for name in rows}

    assert {check.kind for check in checks.values()} == set(late.kinds("check"))
    for name, (_, fields) in rows.items():
        assert fields
        assert set(fields) <= {*checks[name].model_fields, "Equals"}, name


def test_the_table_marks_the_checks_that_need_a_model():
    models = {"SemanticSimilarity", *giskard.checks.judges.__all__}

    assert all((mark == "†") == (name in models) for name, (mark, _) in rows_of_checks().items())


def test_the_commands_are_those_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    for command in ("demo", "test", "bench"):
        assert f"make {command}" in README.read_text(encoding="utf-8")
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_the_files_that_the_readme_names_are_there():
    text = README.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:docs|examples)/[\w./-]+|[A-Z]+\.md)`", text))

    assert named >= {f"docs/{page.name}" for page in PAGES[1:]}
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
