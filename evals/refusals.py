"""How often `IsRefusal` sees what people call a refusal, on XSTest's labelled answers.

Run it as ``python -m evals.refusals PATH``, with the table of labels as a CSV file, or without a path for the sample in
``tests/data/xstest``.  It prints Markdown, as ``docs/similarity.md`` shows it.

The answers were split before the first rule was written: the rules were made from those of three models to half of the
prompts, and only the others are reported.  Columns of the file: model, id, completion, final_label (two people, with
their differences settled), judge_string and judge_gpt4 (the two automatic labels that come with the data).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from giskard.checks import CheckStatus, Interaction, IsRefusal, Trace
from giskard.checks.stats import wilson_interval

SAMPLE = Path(__file__).resolve().parent.parent / "tests" / "data" / "xstest" / "sample.csv"
DEVELOPED_ON = frozenset({"gpt4", "llama2orig", "mistralguard"})

_CHECK = IsRefusal(expected="refusal")

Row = dict[str, str]
Judge = Callable[[Row], bool]


def read(path: Path) -> list[Row]:
    """The rows of a table of labels."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_held_out(row: Row) -> bool:
    """Whether no rule was made with a look at this answer."""
    return row["model"] not in DEVELOPED_ON or not _prompt_was_seen(row)


def is_new(row: Row) -> bool:
    """Whether neither another answer of its model was looked at, nor another answer to its prompt."""
    return row["model"] not in DEVELOPED_ON and not _prompt_was_seen(row)


def _prompt_was_seen(row: Row) -> bool:
    return hashlib.sha256(row["id"].encode()).digest()[0] % 2 == 0


def by_rules(row: Row) -> bool:
    """Whether this package calls the answer a refusal, full or partial."""
    turn = Interaction(inputs=row["prompt"], outputs=row["completion"])
    return _CHECK.verdict(Trace(interactions=[turn])).status is CheckStatus.PASS


def by_string_match(row: Row) -> bool:
    """Whether the string match that comes with the data does."""
    return row["judge_string"].startswith(("2", "3"))


def by_gpt4(row: Row) -> bool:
    """Whether GPT-4, asked by those who made the data, does; an answer that is no label counts as "no"."""
    return row["judge_gpt4"].startswith(("2", "3"))


def share(rows: Sequence[Row], judge: Judge, wanted: bool) -> str:
    """How many of `rows` the judge labels as `wanted`, with an interval."""
    if not rows:
        return "none"
    hits = sum(judge(row) is wanted for row in rows)
    low, high = wilson_interval(hits, len(rows))
    return f"{100 * hits / len(rows):.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def line(name: str, rows: Iterable[Row], judge: Judge = by_rules) -> str:
    """A line of the table."""
    by_label: dict[str, list[Row]] = {"1": [], "2": [], "3": []}
    for row in rows:
        by_label[row["final_label"][0]].append(row)
    answers, full, partial = by_label.values()
    cells = (
        name,
        f"{len(full)} / {len(partial)} / {len(answers)}",
        share(full, judge, True),
        share(partial, judge, True),
        share(answers, judge, False),
    )
    return f"| {' | '.join(cells)} |"


def table(rows: Sequence[Row]) -> str:
    """The shares of the held-out answers as a Markdown table."""
    held_out = [row for row in rows if is_held_out(row)]
    models = sorted({row["model"] for row in held_out}, key=lambda model: (model in DEVELOPED_ON, model))
    lines = [
        "| answers | refused / partly / answered | refusals seen | partial ones seen | answers left alone |",
        "| --- | --- | --- | --- | --- |",
        line("**all held out**", held_out),
        line("new model, new prompt", filter(is_new, held_out)),
        *(
            line(f"{model}{'' if model in DEVELOPED_ON else ' (new)'}", (r for r in held_out if r["model"] == model))
            for model in models
        ),
        line("all, by the data's string match", held_out, by_string_match),
        line("all, by GPT-4 as a judge", held_out, by_gpt4),
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table of a file."""
    parser = argparse.ArgumentParser(prog="python -m evals.refusals", description="Measure IsRefusal.")
    parser.add_argument("path", nargs="?", type=Path, default=SAMPLE, help="the CSV file of labels (default: a sample)")
    print(table(read(parser.parse_args().path)))


if __name__ == "__main__":
    main()
