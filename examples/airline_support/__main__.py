"""Replays the conversations, prints what the rules found and writes it to files."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from rich.console import Console

from giskard.checks import Suite, SuiteResult, TestCase

from . import show
from .conversations import SupportTrace, load_conversations
from .rules import rules
from .tally import by_rule, shortest_failing

OUT = Path("build") / "airline_support"


def suite_of(traces: list[SupportTrace]) -> Suite:
    """A test case for each conversation, every rule on each."""
    suite = Suite(name="airline support")
    for trace in traces:
        name = trace.annotations["conversation_id"]
        suite.append(TestCase(name=name, trace=trace, checks=rules()))
    return suite


async def replay() -> SuiteResult:
    """Run every rule on every conversation. A rule that crashes is an ERROR, not the end."""
    return await suite_of(load_conversations()).run(return_exception=True, verbose=False)


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="python -m examples.airline_support", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help=f"folder for the files ({OUT})")
    parser.add_argument("--show", metavar="TASK.TRIAL", help="the conversation to print in full")
    options = parser.parse_args()

    suite = asyncio.run(replay())
    options.out.mkdir(parents=True, exist_ok=True)
    report, junit = options.out / "report.json", options.out / "junit.xml"
    report.write_text(suite.model_dump_json(indent=2), encoding="utf-8")
    suite.to_junit_xml(junit)

    console = Console(highlight=False)
    console.rule("[bold]Airline support")
    console.print(show.header(suite), "")
    console.print(show.rules_table(suite, console.width))
    console.print(show.worst(suite))
    shown = _chosen(suite, options.show)
    if shown is not None:
        console.print()
        console.rule(f"[bold]One conversation in full: {shown.scenario_name}")
        console.print(show.conversation(shown))
    console.print()
    console.rule("[bold]Rules and rewards")
    console.print(show.rewards(suite), "")
    console.rule("[bold]Written")
    console.print(show.files([report, junit]))


def _chosen(suite: SuiteResult, wanted: str | None):
    if wanted is not None:
        task, _, trial = wanted.partition(".")
        name = f"task {task}, trial {trial or 0}"
        found = [result for result in suite.results if result.scenario_name == name]
        if not found:
            raise SystemExit(f"no conversation {name!r}; tasks are 0 to 9, trials 0 to 3")
        return found[0]
    counted = [tally for tally in by_rule(suite) if not tally.warns]
    worst = max(counted, key=lambda tally: tally.counts["fail"])
    return shortest_failing(suite, worst.name)


if __name__ == "__main__":
    main()
