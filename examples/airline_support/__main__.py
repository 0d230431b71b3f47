"""Replays the conversations, prints what the rules found and writes it to files."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from giskard.checks import ScenarioResult, Suite, SuiteResult, TestCase

from . import show
from .conversations import SupportTrace, load_conversations
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
    options = parser.parse_args()

    # A rule that crashes is an ERROR of its conversation, and not the end of the run.
    suite = suite_of(load_conversations()).run_sync(return_exception=True, verbose=False)
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
    _title(console, "Rule by rule")
    console.print(show.rules_table(suite, console.width))
    console.print(show.summary(suite))
    _title(console, "Rules and rewards")
    console.print(show.rewards(suite))
    _title(console, "Written")
    console.print(show.files([report, junit]))


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
