"""Replays the conversations, prints what rules and models found and writes it to files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from giskard.checks import ScenarioResult, Suite, SuiteResult, TestCase

from . import show, show_models
from .conversations import SupportTrace, load_conversations
from .judging import judge, judge_name, judges
from .local_models import alike, attacks
from .rules import rules
from .tally import shortest_failing, worst

OUT = Path("build") / "airline_support"

# The report shows this many failures in full, unless the environment says otherwise.
FAILURES = ("GISKARD_CHECKS_MAX_REPORTED_FAILURES", "2")


def suite_of(traces: list[SupportTrace]) -> Suite:
    """A test case for each conversation, every rule on each."""
    suite = Suite(name="airline support")
    for trace in traces:
        known = trace.annotations
        case = TestCase(
            name=known["conversation_id"],
            trace=trace,
            checks=rules(),
            tags=[f"task:{known['task_id']}", f"reward:{known['reward']:g}"],
        )
        suite.append(case)
    return suite


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="python -m examples.airline_support", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help=f"folder for the files ({OUT})")
    parser.add_argument("--show", metavar="TASK.TRIAL", help="the conversation to print in full")
    parser.add_argument("--without", action="append", choices=("local", "judge"), default=[], help="leave models out")
    parser.add_argument("--judged", type=int, default=40, metavar="N", help="how many are judged at most (40)")
    parser.add_argument("--budget", type=float, default=1.0, metavar="USD", help="what the judge may cost (1)")
    options = parser.parse_args()

    # A rule that crashes is an ERROR of its conversation, and not the end of the run.
    traces = load_conversations()
    suite = suite_of(traces).run_sync(return_exception=True, verbose=False)
    shown = _chosen(suite, options.show)
    report, junit = options.out / "report.json", options.out / "junit.xml"
    suite.to_report_json(report, indent=2)
    suite.to_junit_xml(junit)

    # The longest first: what sums it up ends on the screen.
    console = Console(highlight=False)
    _title(console, "Airline support")
    console.print(show.header(suite), end="\n\n")
    os.environ.setdefault(*FAILURES)
    suite.print_report(console, group_by="task")
    if shown is not None:
        _title(console, f"One conversation in full: {shown.scenario_name}")
        console.print(show.conversation(shown))
    written = [report, junit]
    if "local" not in options.without:
        _title(console, "With small models, on this machine")
        console.print(show_models.alike(alike(traces)))
        console.print()
        console.print(show_models.attacks(attacks(traces)))
    if "judge" not in options.without:
        _title(console, "With a judge")
        written += _judge(console, suite, traces[: max(0, options.judged)], options)
    _title(console, "Rule by rule")
    console.print(show.rules_table(suite, console.width))
    console.print(show.summary(suite))
    _title(console, "Rules and rewards")
    console.print(show.rewards(suite))
    _title(console, "Written")
    console.print(show.files(written))


def _judge(
    console: Console, rules: SuiteResult, traces: Sequence[SupportTrace], options: argparse.Namespace
) -> list[Path]:
    """Ask the judge, when there is one; the file with what it said."""
    name = judge_name()
    if name is None or not traces:
        console.print(show_models.HOW_TO_JUDGE if name is None else "No judge was asked: --judged 0")
        return []
    console.print(show_models.before_judging(name, len(traces), len(judges()), options.budget))
    found = judge(traces, options.budget, lambda *spent: console.print(show_models.while_judging(*spent)))
    console.print(show_models.judged(found, rules, console.width))
    path = options.out / "judged.json"
    SuiteResult(suite_name="airline support, judged", results=found.results).to_report_json(path, indent=2)
    return [path]


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text.assemble("── ", (text, "bold"), " ", "─" * (console.width - len(text) - 4)))


def _chosen(suite: SuiteResult, wanted: str | None) -> ScenarioResult[Any] | None:
    """The conversation that was asked for, else the shortest that breaks the rule failing most."""
    if wanted is not None:
        task, _, trial = wanted.partition(".")
        name = f"task {task}, trial {trial or 0}"
        found = [result for result in suite.results if result.scenario_name == name]
        if not found:
            raise SystemExit(f"no conversation {name!r}; tasks are 0 to 9, trials 0 to 3")
        return found[0]
    most = worst(suite)
    return shortest_failing(suite, most.name) if most else None


if __name__ == "__main__":
    main()
